//! `rank` and `evaluate` without a model: the estimate, for devices of profiles and of files.

use crate::common::{Folder, POOL, PROBLEM, column};

const DATA: &str = "data/h200/forward.unseen11.parquet";

/// The ranking by the estimate on a GPU.
fn rank(folder: &Folder, arch: &str) -> String {
    let line = format!("rank --model estimate --pool {POOL} --problem {PROBLEM} --format csv --arch {arch}");
    folder.good(&line)
}

#[test]
fn rows_are_in_order_and_terms_add_up() {
    let folder = Folder::new();
    let table = rank(&folder, "gfx942");
    assert_eq!(table, rank(&folder, "gfx942"));
    let (header, rows) = table.split_once('\n').unwrap();
    assert!(header.starts_with("rank,kernel,time_us,slower,loss,launch,"), "{header}");
    let terms = header.split(',').position(|name| name == "tie").unwrap();
    let mut before = 0.0;
    // Six need waves of gfx950.
    assert_eq!(rows.lines().count(), 24);
    for row in rows.lines() {
        let cells: Vec<&str> = row.split(',').collect();
        let number = |cell: &&str| cell.parse::<f64>().unwrap();
        let (time, sum) = (number(&cells[2]), cells[5..terms].iter().map(number).sum::<f64>());
        assert!((sum / time - 1.0).abs() < 1e-6 && time >= before, "{row}");
        // No choice was judged on the architecture.
        assert_eq!(cells[4], "", "{row}");
        before = time;
    }
    assert_ne!(table, rank(&folder, "sm_90"));
}

/// `explain` took the estimate for a folder that does not exist.
#[test]
fn terms_of_two_kernels_are_explained() {
    let folder = Folder::new();
    let ranked = folder
        .json(&format!("rank --model estimate --pool {POOL} --problem {PROBLEM} --arch gfx942 --top 20"));
    let line = format!("explain --model estimate --pool {POOL} --problem {PROBLEM}");
    let (text, said) = folder.both(&format!("{line} --arch gfx942"));
    assert!(text.starts_with("term ") && text.contains("\n(time) "), "{text}");
    let rows = folder.json(&format!("{line} --arch gfx942"));
    let first = &ranked[0];
    let second = ranked.as_array().unwrap().iter().find(|row| row["time_us"] != first["time_us"]).unwrap();
    for name in [first, second].map(|row| row["kernel"].as_str().unwrap()) {
        assert!(said.contains(name), "{name}: {said}");
    }
    for row in rows.as_array().unwrap() {
        let term = row["term"].as_str().unwrap();
        let term = if term == "(time)" { "time_us" } else { term };
        for (column, ranked) in [("first_us", first), ("second_us", second)] {
            let [found, expected] = [&row[column], &ranked[term]].map(|value| value.as_f64().unwrap());
            assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{term}: {row}");
        }
    }
    assert_eq!(rows.as_array().unwrap().len(), 12);
    // The problem may name the GPU; without one, there is no estimate.
    assert_eq!(folder.json(&format!("{line},arch=gfx942")), rows);
    folder.refuses(&format!(
        "{line}
            2: the estimate needs a GPU: give --arch
        {line} --arch gfx942 --allow words
            2: --allow is for models, not for the estimate"
    ));
}

/// The first command needed a model that nobody has.
#[test]
fn the_first_commands_about_attention_run() {
    let folder = Folder::new();
    let page = std::fs::read_to_string(crate::common::root().join("docs/fmha.md")).unwrap();
    let (_, block) = page.split_once("```sh\n").unwrap();
    let block = block.split_once("```").unwrap().0.replace("\\\n", " ").replace("fmha.txt", "@fmha.txt");
    let commands: Vec<&str> = block.lines().filter_map(|line| line.strip_prefix("ckselect ")).collect();
    assert_eq!(commands.len(), 3);
    for command in commands {
        folder.good(command);
    }
}

#[test]
fn devices_are_files_too_and_faults_are_named() {
    let folder = Folder::new();
    folder.write("bare.json", r#"{"num_cus": 304}"#);
    folder.write("mi300x.json", r#"{"based_on": "gfx942", "num_cus": 304}"#);
    folder.write("none.json", r#"{"based_on": "gfx942", "num_cus": 0}"#);
    let larger = rank(&folder, "gfx942:@bare.json");
    assert_eq!(larger, rank(&folder, "@mi300x.json"));
    assert_ne!(larger, rank(&folder, "gfx942"));
    let rank = format!("rank --model estimate --pool {POOL} --problem {PROBLEM}");
    folder.refuses(&format!(
        "{rank}
            2: the estimate needs a GPU: give --arch
        {rank} --arch gfx900
            2: no profile of gfx900, only of gfx90a,
        {rank} --arch gfx942 --allow words
            2: --allow is for models, not for the estimate
        {rank} --arch @none.json
            1: num_cus: found 0, expected at least 1
        {rank} --arch @bare.json
            1: nothing names the GPU's architecture: give it (`arch`)
        {rank} --arch gfx1100:@bare.json --allow unbuildable
            1: simds_per_cu: found nothing
        evaluate --data {DATA}
            2: --model
        evaluate --model estimate --arch gfx942 --data {DATA}
            1: rows are of sm_90, not of gfx942"
    ));
}

/// A GPU in a file is of an architecture, which problems, rows and kernels must not contradict.
#[test]
fn a_gpu_from_a_file_has_one_architecture() {
    let folder = Folder::new();
    folder.write("mi300x.json", r#"{"based_on": "gfx942", "num_cus": 304}"#);
    folder.write("problems.csv", "N,C,K,Hi,Wi,Y,X,arch\n1,64,64,8,8,3,3,gfx950\n");
    let of_forward = format!("--where direction=forward --arch @mi300x.json --data {DATA}");
    let of_problem = format!("--pool {POOL} --arch @mi300x.json --problem {PROBLEM},arch=gfx950");
    let bench = format!("bench --pool {POOL} --problems @problems.csv --simulate analytic --output none.csv");
    folder.refuses(&format!(
        "evaluate --model estimate {of_forward}
            1: rows are of sm_90, not of gfx942
        evaluate --model estimate --pool {POOL} {of_forward}
            1: rows are of sm_90, not of gfx942
        evaluate --against estimate --model estimate {of_forward}
            1: rows are of sm_90, not of gfx942
        evaluate --model embedded:universal --arch @mi300x.json --data {DATA}
            1: rows are of sm_90, not of gfx942
        rank --model estimate {of_problem}
            1: gfx950
        rank {of_problem}
            1: gfx950
        explain --model embedded:universal {of_problem}
            1: gfx950
        {bench} --order estimate:1.35x --arch sm_90
            1: the problem's arch is gfx950, but the GPU of --arch is sm_90"
    ));

    // What is recorded of the GPU belongs to the architecture, too.
    let header = "kernel,C,K,Hi,Wi,Y,X,latency_ms,tflops";
    let row = "grouped_conv_forward_bf16_2d_16x64x64_compv3,64,64,8,8,3,3,0.5,10";
    let evaluate = "evaluate --model estimate --arch gfx950 --data @rows.csv";
    for (column, value, message) in [
        ("arch,hw_gfx_name", "gfx950,gfx942", "hw_gfx_name: found gfx942, expected gfx950 as in arch"),
        ("arch,hw_lds_capacity", "gfx950,160", "hw_lds_capacity: found 160, expected a number from 1024 to"),
        // `hw_gfx_name` is the architecture of rows that have no other.
        ("hw_gfx_name", "gfx942", "rows are of gfx942, not of gfx950"),
    ] {
        folder.write("rows.csv", format!("{header},{column}\n{row},{value}\n"));
        folder.refuses(&format!("{evaluate}\n1: {message}"));
    }
    let of_gfx950 = format!("{header},arch,hw_gfx_name\n{row},gfx950,gfx950:sramecc+:xnack-\n");
    folder.write("rows.csv", of_gfx950);
    folder.good(evaluate);
}

/// Without options, the GPU is that of the problem, else of all kernels.
#[test]
fn problem_and_kernels_name_the_gpu() {
    let folder = Folder::new();
    folder.good("enumerate configs/forward_bf16.json --arch gfx942 --output @pool.json");
    let named = |words: &str| folder.good(&format!("rank --model estimate --format csv {words}"));
    let asked = format!("--pool @pool.json --problem {PROBLEM}");
    assert_eq!(named(&format!("{asked} --arch gfx942")), named(&asked));
    folder.bad(&format!("rank --model estimate {asked} --arch gfx950"), 1);
    let by_problem = named(&format!("--pool {POOL} --problem {PROBLEM},arch=gfx942"));
    assert_eq!(rank(&folder, "gfx942"), by_problem);
}

#[test]
fn the_estimate_is_judged_with_all_outputs() {
    let folder = Folder::new();
    // The floors of the direction's mean.
    for (direction, file, least) in [
        ("forward", "forward.unseen11", 0.93),
        ("bwd_data", "bwd_data.unseen11", 0.93),
        ("bwd_weight", "bwd_weight.unseen11", 0.90),
        // GEMMs, for which no constant was fitted.
        ("forward", "gemm/gemm31", 0.93),
    ] {
        let printed = folder.json(&format!(
            "evaluate --model estimate --arch sm_90 --where direction={direction} --data \
             data/h200/{file}.parquet --output @a.json --output @a.html --output @a.csv"
        ));
        assert_eq!(folder.read_json("a.json"), printed);
        let figures = &printed["global_metrics"];
        let mean = figures["efficiency_mean"].as_f64().unwrap();
        assert!(mean > least && mean < 1.0, "{file}: {mean}");
        let count = figures["num_shapes"].as_u64().unwrap() as usize;
        assert_eq!(folder.read("a.csv").lines().count(), count + 1);
        let page = folder.read("a.html");
        assert!(page.contains("estimate: evaluation") && page.contains("the estimate"), "{direction}");
        assert!(!page.contains("ranking forest"), "{direction}");
    }
}

/// A kernel computes its own types and layout, on the architecture that is asked for, whoever ranks it.
#[test]
fn problems_of_other_types_layouts_and_architectures_are_refused() {
    let folder = Folder::new();
    let rows = ["bf16,nhwgc,", "fp32,nhwgc,", "bf16,nchw,", "bf16,nhwgc,gfx942", "bf16,nhwgc,gfx950"];
    let rows = rows.map(|row| format!("16,256,128,28,28,3,3,{row}\n")).concat();
    folder.write("problems.csv", format!("N,C,K,Hi,Wi,Y,X,dtype,layout,arch\n{rows}"));
    for model in ["", "--model estimate"] {
        let rank = format!("rank --pool {POOL} --arch gfx942 {model}");
        folder.refuses(&format!(
            "{rank} --problem {PROBLEM},dtype=fp32
                1: of the 24 kernels
            {rank} --problem {PROBLEM},dtype_out=fp32
                1: of the 24 kernels
            {rank} --problem {PROBLEM},layout=nchw
                1: of the 24 kernels
            {rank} --problem {PROBLEM},arch=gfx950
                1: gfx950"
        ));
        let (table, said) = folder.both(&format!("{rank} --problems @problems.csv --top 1 --format csv"));
        assert_eq!(column(&table, "problem"), ["0", "3"], "{said}");
        assert!(said.contains("left out") || said.contains("skipped"), "{said}");
    }
    // What is not said is what all kernels have.
    let body = "compv3_cshuffle_intrawave_True_True_True_False_128x128x64_2x2x1_32x32x16";
    folder.write("pool.txt", format!("gemm_universal_fp16_rrr_{body}\n"));
    let rank = "rank --pool @pool.txt --model estimate --arch gfx942 --problem M=128,N=1536,K=7168";
    folder.good(rank);
    folder.bad(&format!("{rank},layout=rcr"), 1);
}

/// A kernel that is not in the table is counted, with the reason.
#[test]
fn kernels_that_do_not_compute_the_problem_are_counted() {
    let folder = Folder::new();
    let body = "compv3_cshuffle_intrawave_False_False_False_False_128x128x64_2x2x1_32x32x16";
    let names = ["", "_streamk", "_streamk_tree", "_batched"].map(|end| format!("gemm_fp8_rcr_{body}{end}"));
    folder.write("pool.txt", names.join("\n"));
    let rank = "rank --pool @pool.txt --arch gfx950 --problem M=128,N=128,K=64,dtype=fp8";
    for more in ["", "--model estimate", "--top 1"] {
        let (_, said) = folder.both(&format!("{rank} {more}"));
        let reason = "3 of 4 kernels are not ranked for the problem: 1 (it is a Stream-K kernel";
        assert!(said.contains(reason) && said.contains("1 (it is for a batch (batch))"), "{said}");
    }
    let said = folder.run(&format!("{rank},stream_k=atomic")).stderr;
    assert!(said.contains("1 (it is not a Stream-K kernel (stream_k))"), "{said}");
}

/// Kernels that compute zeros on a GPU are not ranked for it, whoever names the GPU.
#[test]
fn kernels_of_other_instructions_are_left_out() {
    let folder = Folder::new();
    let name = |instruction: &str| {
        format!(
            "gemm_universal_fp8_rcr_compv3_cshuffle_intrawave_False_False_False_False_128x128x128_2x2x1_{instruction}\n"
        )
    };
    folder.write("pool.txt", name("16x16x128") + &name("32x32x16"));
    let rank = "rank --pool @pool.txt --problem M=512,N=512,K=512,dtype=fp8 --format csv --arch";
    for model in ["", "--model estimate"] {
        for (more, reason) in [
            (
                "",
                "cannot be built for gfx942, and are left out: 1 (instruction not of this architecture and types)",
            ),
            ("--allow unbuildable", "1 (it does not run on the architecture)"),
        ] {
            let (table, said) = folder.both(&format!("{rank} gfx942 {model} {more}"));
            assert_eq!(table.lines().count(), 2, "{model} {more}");
            assert!(said.contains(reason), "{said}");
        }
    }
    assert_eq!(folder.good(&format!("{rank} gfx950")).lines().count(), 3);
}
