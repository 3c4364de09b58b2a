//! `ckselect report` on the command line: figures, pools, what is refused.

use serde_json::Value;

use crate::common::{Folder, PROBLEM, root};

/// A table of the repository.
fn data(name: &str) -> String {
    root().join("data").join(name).to_str().unwrap().to_owned()
}

/// The value and the share of a figure.
fn figure(rows: &Value, section: &str, name: &str) -> [f64; 2] {
    let row = rows.as_array().unwrap().iter().find(|row| row["section"] == section && row["name"] == name);
    let row = row.unwrap_or_else(|| panic!("{section}: {name}"));
    ["value", "share"].map(|column| row[column].as_f64().unwrap_or(f64::NAN))
}

#[test]
fn a_real_sweep_has_its_figures() {
    let line = format!("report {} --format json", data("h200/forward.parquet"));
    let (printed, said) = Folder::new().both(&line);
    assert_eq!(said, "");
    let rows: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(figure(&rows, "coverage", "problems")[0], 500.0);
    assert_eq!(figure(&rows, "coverage", "pairs measured"), [15000.0, 1.0]);
    // The session of the sidecar beside the table.
    assert_eq!(figure(&rows, "time", "session of 15000 rows in s")[0], 186.0);
    let shares: Vec<f64> = ["2 kernels", "4 kernels", "8 kernels", "16 kernels"]
        .map(|name| figure(&rows, "pool", name)[1])
        .to_vec();
    assert!(shares.is_sorted() && shares[0] > 0.9 && shares[3] < 1.0, "{shares:?}");
    assert_eq!(figure(&rows, "roofline", "memory in GB/s")[0], 4800.0);
}

/// Attention, of which the operation is found, and whose file names no device.
#[test]
fn the_operation_is_that_of_the_first_row() {
    let line = format!("report {}", data("h100/attention.csv.gz"));
    let rows = Folder::new().json(&line);
    assert_eq!(figure(&rows, "coverage", "kernels")[0], 168.0);
    let reason = "none: the data does not say what it was measured on: give it with --arch";
    let none = figure(&rows, "roofline", reason);
    assert!(none.iter().all(|number| number.is_nan()));
    let rows = Folder::new().json(&format!("{line} --arch sm_90"));
    assert_eq!(figure(&rows, "roofline", "memory in GB/s")[0], 4800.0);
}

#[test]
fn a_pool_is_written_that_other_commands_read() {
    let folder = Folder::new();
    let report = format!("report {} --output @pool.txt", data("h200/forward.parquet"));
    let (_, said) = folder.both(&format!("{report} --keep 4"));
    let kept = "pool.txt: 4 of 30 kernels keep 96.98 % of the fastest ones' speed on 500 problems\n";
    assert_eq!(said, format!("ckselect: {}", folder.located(&format!("@{kept}"))));
    let four = folder.read("pool.txt");
    assert!(four.starts_with("# 4 of 30 kernels keep 96.98 %"), "{four}");
    folder.good(&format!("{report} --keep 98%"));
    let more = folder.read("pool.txt");
    let names = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert!(names(&more).len() == 7 && names(&more)[..4] == names(&four)[..4], "{more}");
    let rank = "rank --model estimate --arch gfx950 --format csv --pool @pool.txt --problem";
    assert_eq!(folder.good(&format!("{rank} {PROBLEM}")).lines().count(), 8);
}

#[test]
fn a_logs_details_stand_for_the_log() {
    let folder = Folder::new();
    let kernel = "grouped_conv_forward_bf16_2d_64x64x64_compv3";
    let rows = format!(
        "kernel,problem_idx,C,K,Hi,Wi,Y,X,latency_ms,tflops,non_zero,error_msg\n\
         {kernel},0,64,64,8,8,1,1,0.5,10.0,-1,\n{kernel}_dsb,0,64,64,8,8,1,1,N/A,0.0,0,crash: signal 11\n"
    );
    folder.write("sweep.csv", rows);
    let line = |cv: f64, unstable: bool| {
        format!(
            "{{\"problem_idx\":0,\"kernel\":\"{kernel}\",\"outcome\":{{\"measured\":{{\"latency_ms\":0.5,\
             \"tflops\":10.0,\"samples\":5,\"cv\":{cv},\"timed\":3}}}},\"unstable\":{unstable},\"gpu\":0}}\n"
        )
    };
    folder.write("sweep.csv.details.jsonl", line(0.5, true) + &line(0.25, true));
    let printed = folder.good("report @sweep.csv.details.jsonl --format csv");
    for row in [
        "noise,\"coefficient of variation, median\",0.25,\n",
        "noise,unsteady rows,1,1.0\n",
        "noise,rows measured again as unsteady,1,\n",
        "noise,rows written again,1,\n",
        "failures,crash,1,0.5\n",
    ] {
        assert!(printed.contains(row), "{row}{printed}");
    }
}

#[test]
fn unreportable_data_is_refused_with_the_reason() {
    let folder = Folder::new();
    let row = "grouped_conv_forward_bf16_2d_64x64x64_compv3,64,64,8,8,1,1,N/A,0";
    folder.write("failed.csv", format!("kernel,C,K,Hi,Wi,Y,X,latency_ms,tflops\n{row}\n"));
    let sweep = data("h200/forward.parquet");
    folder.refuses(&format!(
        "report @failed.csv
            1: ckselect: nothing to report: none of 1 rows has a time
        report /nowhere.csv
            1: ckselect: /nowhere.csv: No such file or directory (os error 2)
        report {sweep} --keep 4
            2: --output <FILE>
        report {sweep} --output x.txt --keep 0
            2: expected a number of kernels, such as 8
        report {sweep} --output x.txt --keep 101%
            2: expected a number of kernels, such as 8"
    ));
}
