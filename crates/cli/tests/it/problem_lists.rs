//! `ckselect rank --problems` over lists of problems, which `CK_SELECT_CAPTURE` writes.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use crate::common::{Folder, column};

const RANK: &str =
    "rank --model tests/golden/models/conv_small --pool configs/forward_bf16.txt --top 1 --format csv";

/// Ranks a list of problems: the numbers of those that are ranked, and messages.
fn ranked(text: &str) -> (Vec<String>, String) {
    let folder = Folder::new();
    folder.write("problems", text);
    let (table, said) = folder.both(&format!("{RANK} --problems @problems"));
    (column(&table, "problem"), said.replace(&folder.located("@problems"), "problems"))
}

/// The messages for a list that cannot be ranked.
fn refused(text: &str) -> String {
    let folder = Folder::new();
    folder.write("problems", text);
    let said = folder.bad(&format!("{RANK} --problems @problems"), 1);
    said.replace(&folder.located("@problems"), "problems")
}

#[test]
fn captured_problems_can_be_ranked() {
    let conv = "N=16,C=256,K=128,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1";
    let text = format!(
        "# seen\n{conv},op=grouped_conv\nop=gemm_universal M=1,N=2,K=3\nop=grouped_conv {conv}\n\
         op=grouped_conv N=1,C=64,K=64,Hi=56,Wi=56,Y=1,X=1\nN=16,C=256,K=128,Hi=28,op=grouped_c"
    );
    let (problems, said) = ranked(&text);
    assert_eq!(problems, ["0", "1"], "a repeated problem counts once: {said}");
    assert!(said.contains("1 incomplete lines are skipped, the first is line 6"), "{said}");
    assert!(said.contains("1 problems are skipped: they are of another operation"), "{said}");
    assert!(refused(&format!("{text}onv,X=1\n")).contains(": line 6: "));
}

#[test]
fn unknown_columns_are_named_once() {
    let row = "16,256,128,28,28,3,3,2,1";
    let (problems, said) = ranked(&format!("N,C,K,Hi,Wi,Y,X,layer,remark\n{row}\n{row}\n"));
    let ignored = "ignored columns, which are not fields of a problem: layer, remark";
    assert_eq!((problems.len(), said), (2, format!("ckselect: warning: problems: {ignored}\n")));
}

#[test]
fn problems_outside_the_pool_are_left_out_and_counted() {
    let conv = "N=16,C=256,K=128,Hi=28,Wi=28,Y=3,X=3,op=grouped_conv";
    let (problems, error) = ranked(&format!("{conv}\ndirection=bwd_data,{conv}\nG=2,{conv}\n"));
    assert_eq!(problems, ["0", "2"], "{error}");
    let none = "none of the 30 kernels computes a 2D bwd_data convolution";
    assert!(error.starts_with(&format!("ckselect: problems: 1 problems are skipped: {none}")), "{error}");
    let error = refused(&format!("direction=bwd_data,{conv}\n"));
    assert!(error.starts_with(&format!("ckselect: problems: no problem can be ranked: {none}")), "{error}");
}

/// A CSV and a list, of any length: rows come out while problems still go in.
#[test]
fn rows_are_written_while_problems_are_read() {
    const PROBLEMS: usize = 9000;
    let csv = |row: usize| format!("{},{},64,28,28,3,3\n", 1 + row % 64, 8 * (1 + row / 64));
    let list = |row: usize| {
        format!("N={},C={},K=64,Hi=28,Wi=28,Y=3,X=3,op=grouped_conv\n", 1 + row % 64, 8 * (1 + row / 64))
    };
    for (header, line) in [("N,C,K,Hi,Wi,Y,X\n", &csv as &dyn Fn(usize) -> String), ("# seen\n\n", &list)] {
        let mut child = Folder::new()
            .command(&format!("{RANK} --problems -"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut text = header.to_owned();
        (0..PROBLEMS).for_each(|row| text += &line(row));
        let last = line(PROBLEMS);
        let (seen, first_row) = mpsc::channel();
        // Keeps the pipe open until a row has come out.
        let writer = std::thread::spawn(move || {
            stdin.write_all(text.as_bytes()).unwrap();
            let in_time = first_row.recv_timeout(Duration::from_secs(120)).is_ok();
            stdin.write_all(last.as_bytes()).unwrap();
            in_time
        });
        let header = lines.next().unwrap().unwrap();
        assert!(header.starts_with("problem,rank,kernel,time_us,"), "{header}");
        let first = lines.next().unwrap().unwrap();
        assert!(first.starts_with("0,1,grouped_conv_forward_bf16_2d_"), "{first}");
        let _ = seen.send(());
        assert_eq!(lines.count(), PROBLEMS);
        assert!(writer.join().unwrap(), "no row came before the input ended");
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn rows_of_other_hardware_are_refused() {
    let header = "N,C,K,Hi,Wi,Y,X,hw_num_cus";
    let (_, said) = ranked(&format!("{header}\n1,64,64,56,56,1,1,256\n"));
    assert!(!said.contains("ignored"), "{said}");
    let error = refused(&format!("{header}\n1,64,64,56,56,1,1,304\n"));
    assert!(error.contains("line 2: hw_num_cus: found 304, expected 256, with which kernels"), "{error}");
}

/// What a benchmark's row does not specify is its kernel's.
#[test]
fn rows_of_a_sweep_are_problems_of_their_kernels() {
    let folder = Folder::new();
    let first = |name: &str| {
        let line = "rank --model estimate --arch gfx950 --top 1 --format csv";
        let rows = folder.good(&format!("{line} --pool @{name}.txt --problems @{name}.csv"));
        column(&rows, "kernel")
    };
    let kernel = "grouped_conv_bwd_data_fp16_2d_64x64x64_compv3";
    folder.write("conv.txt", format!("{kernel}\ngrouped_conv_forward_bf16_2d_64x64x64_compv3\n"));
    let row = "0,16,256,128,28,28,3,3,1,1,0.1,9.5";
    let header = "kernel,problem_idx,N,C,K,Hi,Wi,Y,X,pad_h,pad_w,latency_ms,tflops";
    folder.write("conv.csv", format!("{header}\n{kernel},{row}\n"));
    assert_eq!(first("conv"), [kernel]);
    let name = |dtype: &str, mode: &str, mask: &str| {
        format!(
            "fmha_fwd_{dtype}_{mode}_h128_qr_t64x32x32x128x32x128_w16x16x32_pad1111_mask={mask}_bias=no_bpc=-1"
        )
    };
    let causal = [name("bf16", "batch", "top_left"), name("bf16", "group", "top_left")];
    folder.write("fmha.txt", format!("{}\n{}\n{}\n", name("fp16", "batch", "no"), causal[0], causal[1]));
    let header = "kernel,problem_idx,batch,seqlen_q,nhead_q,hdim_q,max_seqlen_q,latency_ms,tflops";
    let row = "0,1,777,8,128";
    let rows = format!("{},{row},0,0.1,9.5\n{},{row},777,0.1,9.5\n", causal[0], causal[1]);
    folder.write("fmha.csv", format!("{header}\n{rows}"));
    assert_eq!(first("fmha"), causal, "one number, two modes");
}

/// `enumerate` made GEMMs of fp8 and `shapes` of fp16, and `bench` did not say that this was why it measured
/// none (e8b14064).
#[test]
fn enumerated_gemms_compute_listed_ones() {
    let folder = Folder::new();
    let gemms = "configs/gemm_ci.json --params op=gemm_universal --arch gfx950";
    folder.good(&format!("enumerate {gemms} --output @pool.txt"));
    let simulated = "--simulate analytic --overwrite --output @log.csv";
    let bench = format!("bench --pool @pool.txt --problems @problems.csv {simulated}");
    folder.good("shapes --set edge --output @problems.csv");
    folder.good(&bench);
    folder.good("shapes --set edge --dtype fp16 --output @problems.csv");
    let said = folder.bad(&bench, 1);
    for part in ["any of the problems; the first, gemm_universal_fp8_rcr_", "are fp8 fp8 fp16 rcr, not fp16"]
    {
        assert!(said.contains(part), "{said}");
    }
}

/// The columns are those of AITER's newest tables; its loader takes a row by `gfx`, `cu_num`, extents and
/// type.
#[test]
fn untuned_shapes_become_a_table_of_aiters() {
    let folder = Folder::new();
    folder.write("gpu.json", r#"{"based_on": "gfx942", "num_cus": 80}"#);
    let line = |shape: &str, table: &str| {
        format!("[aiter] shape is {shape}, not found tuned config in /x/{table}.csv, will")
    };
    folder.write(
        "log",
        [
            "a server starts".to_owned(),
            line("M:16, N:7168, K:2048, q_dtype_w:torch.int8", "a8w8_tuned_gemm"),
            line("M:16, N:7168, K:2048, q_dtype_w:torch.int8", "a8w8_tuned_gemm"),
            line("M:16, N:7168, K:2048", "a8w8_blockscale_tuned_gemm"),
        ]
        .join("\n"),
    );
    let table = |family: &str, options: &str| {
        folder.good(&format!("rank --model estimate --format aiter --pool {family} {options}"))
    };
    let tuned = table("a8w8_rowwise", "--arch @gpu.json --problems @log");
    // What `rank` writes is read: as problems, as a tuned table and as a pool, whose kernel has no time.
    folder.write("tuned.csv", &tuned);
    assert_eq!(table("a8w8_rowwise", "--arch @gpu.json --problems @tuned.csv"), tuned);
    let judged = folder.good("evaluate --model estimate --winners @tuned.csv --pool a8w8_rowwise");
    assert!(judged.contains("gfx942/80"), "{judged}");
    folder.good(
        "rank --model estimate --arch gfx942 --pool @tuned.csv --problem M=16,N=7168,K=2048,dtype=int8",
    );
    let rows: Vec<&str> = tuned.lines().collect();
    assert_eq!(rows[0], "gfx,cu_num,M,N,K,q_dtype_w,kernelId,splitK,us,kernelName,tflops,bw,errRatio");
    let cells: Vec<&str> = rows[1].split(',').collect();
    assert_eq!(rows.len(), 2);
    assert_eq!(cells[..6], ["gfx942", "80", "16", "7168", "2048", "torch.int8"]);
    assert!(cells[7..9] == ["0", "inf"] && cells[9].starts_with("a8w8_rowwise_256x16x"), "{cells:?}");

    folder.write("untuned.csv", "M,N,K\n1,7168,2048\n");
    for (family, extents, between, kernel) in [
        ("a8w8_bpreshuffle", "M,N,K,q_dtype_w", "libtype,", "torch.float8_e4m3fn,"),
        ("a8w8_blockscale", "M,N,K", "libtype,", ",a8w8_blockscale_"),
        ("a4w4_blockscale", "M,N,K", "", ",a4w4_blockscale_"),
        ("bf16_batched", "B,M,N,K", "", "gfx950,256,1,1,7168,"),
    ] {
        let rest = "kernelId,splitK,us,kernelName,tflops,bw,errRatio";
        let header = format!("gfx,cu_num,{extents},{between}{rest}");
        let rows = table(family, "--arch gfx950 --problems @untuned.csv");
        let rows: Vec<&str> = rows.lines().collect();
        assert!(rows.len() == 2 && rows[0] == header && rows[1].contains(kernel), "{rows:?}");
    }
    // What no kernel computes, or the table cannot tell apart, is counted, and the rest has its rows (07238670).
    folder
        .write("some.csv", "M,N,K,split_k\n16,7000,2040,1\n16,7168,2048,1\n16,7168,2048,2\n16,7168,2048,3\n");
    let some =
        "rank --model estimate --format aiter --pool a8w8_bpreshuffle --arch gfx950 --problems @some.csv";
    let (rows, said) = folder.both(some);
    assert_eq!(rows.lines().count(), 2, "{rows}");
    for part in ["does not divide N and K", "the same extents and type", "split_k: found 3"] {
        assert!(said.contains(part), "{said}");
    }
    folder.write("base.json", r#"{"based_on": "gfx942"}"#);
    folder.write("odd.json", r#"{"based_on": "gfx942", "num_cus": 81}"#);
    folder.refuses(
        "rank --model estimate --format aiter --pool a8w8_rowwise --arch @odd.json --problems @some.csv
            2: num_cus: found 81, expected 80, 228, 304: the compute units of GPUs of gfx942
        rank --model estimate --format aiter --pool a8w8_rowwise --arch @base.json --problems @some.csv
            2: (80, 228, 304): give --arch a product such as MI300X, or a FILE with",
    );
    // The shipped model of the family's kernels on the GPU chooses, unless another is given.
    let with = |model: &str| {
        folder.good(&format!(
            "rank --format aiter --pool a8w8_rowwise {model} --arch @gpu.json --problems @log"
        ))
    };
    let own = "embedded:gemm_fp8_gfx942";
    if ck_select::embedded::find("gemm_fp8_gfx942").is_ok() {
        assert_eq!(with(""), with(&format!("--model {own}")));
        folder.refuses(&format!(
            "rank --format aiter --pool a8w8_rowwise --model {own} --problems @log
                2: (80, 228, 304): give --arch a product such as MI300X, or a FILE with {{\"based_on\": \"gfx942\", \"num_cus\": 304}}"
        ));
    }
    folder.write("bad.csv", "M,N,K\n16,7168,20.5\n");
    folder.refuses(
        "rank --model estimate --format aiter --pool a8w8_rowwise --arch gfx950 --problems @bad.csv
            1: bad.csv: line 2: K: found '20.5'
        rank --model estimate --format aiter --pool a8w8_rowwise --arch gfx942 --problems @log
            2: (80, 228, 304): give --arch a product such as MI300X, or a FILE with {\"based_on\": \"gfx942\", \"num_cus\": 304}
        rank --model estimate --format aiter --pool a8w8_rowwise --problems @log
            2: a8w8_rowwise: no such file; if it is a family of AITER's kernels, give --arch
        rank --model estimate --format aiter --pool @log --arch gfx950 --problems @log
            2: --format aiter: --pool has to be the family
        rank --model estimate --format aiter --pool a8w8_bpreshuffle --arch gfx950 --problems @log
            1: found no gemm_universal problem",
    );
}

/// Only `rank` and what reads winners took a family; the others said that the file cannot be read (262de2d8).
#[test]
fn a_family_of_aiters_is_a_pool_of_every_command() {
    let folder = Folder::new();
    folder.write("problems.csv", "M,N,K\n16,7168,2048\n64,7168,2048\n");
    let asked = "--pool a8w8_rowwise --problem M=16,N=7168,K=2048";
    for line in [
        "rank --arch gfx950",
        "rank --model estimate --arch gfx950",
        "explain --model embedded:universal --arch gfx950",
        "explain --model embedded:gemm_fp8_gfx950",
    ] {
        folder.good(&format!("{line} {asked}"));
    }
    let bench = "bench --problems @problems.csv --simulate analytic --output @log.csv --pool";
    folder.good(&format!("{bench} a8w8_rowwise --arch gfx950 --order estimate:8"));
    let mean = |pool: &str| {
        let line = format!("evaluate --model estimate --arch gfx950 --pool {pool} --data @log.csv");
        folder.json(&line)["best_of_top_k"][0].as_f64()
    };
    // Kernels of a family were none of those that had been measured (b103192d).
    folder.write("names.txt", folder.good("enumerate a8w8_rowwise --arch gfx950"));
    assert!(mean("a8w8_rowwise") > Some(0.5) && mean("a8w8_rowwise") == mean("@names.txt"));
    // `tune` measured for hours, and then said it (b103192d).
    #[cfg(feature = "train")]
    folder.refuses(
        "tune --arch gfx950 --pool a8w8_rowwise --problems @problems.csv --runner @none.so --work @work --output @tuned
            1: its features cannot be learned from: pipeline: found 'compv",
    );
    folder.refuses(&format!(
        "explain --model embedded:universal {asked}
            2: a8w8_rowwise: no such file; if it is a family of AITER's kernels, give --arch
        {bench} a8w8 --arch gfx950
            2: bf16_batched; or moe, of vLLM's and SGLang's tuners
        {bench} a4w4_blockscale --arch gfx942
            2: AITER's a4w4_blockscale is not for gfx942, expected gfx950"
    ));
}

/// A kernel that CK refuses to launch came first: extents were not compared with pads, loads and stores.
#[test]
fn kernels_that_cannot_be_launched_are_left_out_with_the_reason() {
    let folder = Folder::new();
    let name = |pads: &str| {
        format!("gemm_universal_bf16_rcr_compv3_cshuffle_intrawave_{pads}_False_128x128x64_2x2x1_32x32x16\n")
    };
    folder.write("pads.txt", name("False_False_False") + &name("True_True_True"));
    for model in ["", "--model estimate"] {
        let rank = |problem: &str| format!("rank {model} --arch gfx942 --pool @pads.txt --problem {problem}");
        let (table, said) = folder.both(&rank("M=64,N=104,K=4088"));
        assert!(!table.contains("False_False_False_False") && table.contains("True_True_True"), "{table}");
        let reason = "1 of 2 kernels are not ranked for the problem: 1 (its tiles do not divide N, which it \
                      does not pad)";
        assert!(said.contains(reason), "{said}");
        // Nothing completes a load, and this is no kernel's problem.
        let said = folder.bad(&rank("M=64,N=101,K=4095"), 1);
        assert!(said.contains("its tiles do not divide N, which it does not pad"), "{said}");
        // Parts have whole steps: 64 of K; none has more parts than steps.
        let said = folder.bad(&rank("M=128,N=128,K=4096,split_k=65"), 1);
        assert!(said.contains("split_k is more than its steps along the reduction"), "{said}");
        folder.good(&rank("M=128,N=128,K=4096,split_k=64"));
    }
    let auto =
        "rank --model estimate --arch gfx942 --pool @pads.txt --problem M=128,N=128,K=192,split_k=auto";
    let parts = column(&folder.good(&format!("{auto} --format csv --splits 1,2,3,4,8")), "split_k");
    let count = |wanted: &str| parts.iter().filter(|parts| *parts == wanted).count();
    // Only the padded kernel takes half of three steps.
    assert_eq!(["1", "2", "3", "4", "8"].map(count), [2, 1, 2, 0, 0]);
}
