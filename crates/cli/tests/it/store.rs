//! `ckselect store` as its users meet it.

use crate::common::{Folder, Ran};

const POOL: &str = "a2614723f16bd69ba226a46b42cdb49a";

fn line(m: u32, kernel: &str, measured_at: u64) -> String {
    format!(
        "{{\"arch\":\"gfx950\",\"device\":\"MI355X\",\"pool\":\"{POOL}\",\"library\":\"0.1.0\",\
         \"driver\":\"hip 7\",\"op\":\"gemm_universal\",\"problem\":\"M={m},N=2,K=3\",\
         \"kernel\":\"{kernel}\",\"median_ms\":0.25,\"cv\":0.01,\"repeats\":20,\"candidates\":30,\
         \"measured_at\":{measured_at},\"source\":\"search\"}}\n"
    )
}

fn folder_with(winners: &str) -> Folder {
    let folder = Folder::inside().with("CK_SELECT_STORE", "winners.jsonl");
    folder.write("in.jsonl", winners);
    folder.good("store import in.jsonl");
    folder
}

/// Runs a command line in the folder with another store.
fn on(folder: &Folder, store: &str, line: &str) -> Ran {
    folder.command(line).env("CK_SELECT_STORE", store).output().unwrap().into()
}

/// The winners that are there.
fn count(folder: &Folder) -> usize {
    folder.good("store list --format csv").lines().count() - 1
}

#[test]
fn winners_are_imported_listed_and_exported() {
    let folder = folder_with(&(line(1, "kernel_a", 1_800_000_000) + &line(2, "kernel_b", 1_800_000_001)));
    let listed = folder.good("store list");
    assert!(listed.starts_with("kernel    median_ms    cv  repeats  candidates  measured_at"), "{listed}");
    assert!(listed.contains("kernel_a       0.25  0.01       20          30  2027-01-15 08:00:00Z  search"));
    let csv = folder.good("store list --where kernel=kernel_b --format csv");
    assert_eq!(csv.lines().count(), 2);
    assert!(csv.contains(",1800000001,search,gfx950,MI355X,"), "{csv}");

    let exported = folder.good("store export --where op=gemm_universal");
    assert_eq!(exported.lines().count(), 2);
    folder.good("store export --output out.jsonl");
    let other = on(&folder, "other.jsonl", "store import out.jsonl");
    assert_eq!(other.stdout, "added  same  replaced  kept\n    2     0         0     0\n");
    assert_eq!(on(&folder, "other.jsonl", "store export").stdout, exported);
    // What is exported is a store.
    assert_eq!(folder.read("other.jsonl"), exported);
    assert_eq!(on(&folder, "out.jsonl", "store export").stdout, exported);
}

#[test]
fn an_export_never_replaces_the_store() {
    let folder = folder_with(&line(1, "kernel_a", 1));
    std::os::unix::fs::symlink("winners.jsonl", folder.path("link")).unwrap();
    folder.refuses(
        "store export --output winners.jsonl
            2: --output winners.jsonl: this file is also read, as
        store export --output link
            2: --output link: this file is also read, as
        store export --output ./winners.jsonl
            2: --output ./winners.jsonl: this file is also read, as",
    );
    assert_eq!(count(&folder), 1);
}

#[test]
fn an_import_is_whole_or_not_at_all() {
    let folder = folder_with(&line(1, "kernel_a", 1));
    let bad = line(2, "kernel_a", 1) + &line(3, "kernel_a", 1).replace("0.25", "0");
    folder.write("bad.jsonl", bad);
    let message = folder.bad("store import in.jsonl bad.jsonl", 1);
    assert_eq!(message, "ckselect: bad.jsonl: line 2: median_ms: found 0, expected a finite time above 0\n");
    // A time in milliseconds.
    folder.write("ms.jsonl", line(1, "kernel_b", 1_800_000_000_000));
    folder.refuses(
        "store import ms.jsonl
            1: measured_at: found 1800000000000, expected seconds since 1970, before",
    );
    assert_eq!(count(&folder), 1);
}

#[test]
fn stores_are_merged_and_conflicts_counted() {
    let ours = folder_with(&(line(1, "kernel_a", 5) + &line(2, "kernel_a", 5) + &line(3, "kernel_a", 5)));
    let theirs = folder_with(
        &(line(1, "kernel_a", 5)
            + &line(2, "kernel_b", 6)
            + &line(3, "kernel_b", 4)
            + &line(4, "kernel_b", 1)),
    );
    let theirs = theirs.path("winners.jsonl");
    let counts = ours.good(&format!("store merge {}", theirs.display()));
    assert_eq!(counts, "added  same  replaced  kept\n    1     1         1     1\n");
    ours.write("winners.db", "SQLite format 3\0");
    ours.refuses(
        "store merge nowhere.jsonl
            1: ckselect: nowhere.jsonl: no such file
        store merge winners.db
            1: not a store of winners: it begins with \"SQLite f\"",
    );
}

#[test]
fn each_condition_is_about_one_field() {
    let folder = folder_with(&(line(1, "kernel_a", 5) + &line(2, "kernel_b", 4_000_000_000)));
    let count = |condition: &str| {
        let listed = folder.good(&format!("store list --format csv --where {condition}"));
        listed.lines().count() - 1
    };
    let counts = [
        ("arch=gfx950", 2),
        ("arch=gfx942", 0),
        ("device=MI355X", 2),
        ("device=MI300X", 0),
        (&format!("pool={POOL}"), 2),
        (&format!("pool!={POOL}"), 0),
        ("library=", 0),
        ("driver=none", 0),
        ("op=gemm_universal", 2),
        ("op=fmha", 0),
        ("kernel=kernel_a", 1),
        ("kernel=kernel", 0),
        ("older_than=90d", 1),
        ("kernel=kernel_b,older_than=90d", 0),
    ];
    for (condition, expected) in counts {
        assert_eq!(count(condition), expected, "{condition}");
    }
    let message = folder.bad("store list --where kernels=kernel_a", 2);
    let names = "arch, device, pool, library, driver, op, kernel, older_than";
    let expected = format!("found 'kernels'; did you mean 'kernel'? (one of: {names})");
    assert!(message.contains(&expected), "{message}");
}

#[test]
fn pruning_needs_a_condition_and_can_be_tried() {
    let folder = folder_with(&(line(1, "kernel_a", 5) + &line(2, "kernel_a", 4_000_000_000)));
    folder.refuses(
        "store prune
            2: give at least one condition
        store prune --where older_than=90
            2: older_than",
    );
    let prune = |words: &str| folder.good(&format!("store prune --where {words}"));
    assert_eq!(prune(&format!("pool!={POOL}")), "removed\n      0\n");
    assert_eq!(prune("older_than=90d,arch=gfx950 --dry-run"), "would_remove\n           1\n");
    assert_eq!(prune("older_than=90d,arch=gfx950"), "removed\n      1\n");
    assert_eq!(prune("older_than=90d,arch=gfx950"), "removed\n      0\n");
}

#[test]
fn the_path_follows_the_environment() {
    let folder = folder_with("");
    assert_eq!(folder.good("store path"), "winners.jsonl\n");
    assert_eq!(on(&folder, "off", "store path").stdout, "off\n");
    assert_eq!(folder.both("store path --check").1, "ckselect: winners.jsonl: sound, 0 winners\n");
    assert!(on(&folder, "off", "store list").bad("off", 1).contains("switched off"));
    let missing = on(&folder, "x.jsonl", "store list --format json");
    assert_eq!((missing.stdout.as_str(), missing.code), ("[]\n", Some(0)));
    assert!(!folder.path("x.jsonl").exists());
}

/// Winners of two pools stand in one store; the time of a table is in microseconds.
#[test]
fn winners_of_a_family_become_a_table_of_aiters() {
    let rows = "a8w8_rowwise_256x256x256x128_32x32_4x4_8x32x1_8x32x1_1x32x1x8_8x8x1_1x1_intrawave_v3";
    let folder = folder_with(&(line(1, rows, 1_800_000_000) + &line(2, "kernel_b", 1_800_000_001)));
    let (table, said) = folder.both("store export --where arch=gfx950 --family a8w8_rowwise --num-cus 256");
    assert_eq!(
        table,
        format!(
            "gfx,cu_num,M,N,K,q_dtype_w,kernelId,splitK,us,kernelName,tflops,bw,errRatio\n\
             gfx950,256,1,2,3,torch.float8_e4m3fn,1,0,250.0,{rows},0,0,0\n"
        )
    );
    assert!(
        said.contains("1 winners are left out: 1 (their kernels have no number in the family)"),
        "{said}"
    );
    let of = "store export --where arch=gfx950 --family a8w8_rowwise";
    folder.refuses(&format!(
        "store export --family a8w8_rowwise\n2: --num-cus
        {of} --num-cus 304\n2: num_cus: found 304, expected 128, 256:"
    ));
    // Winners of GPUs with other numbers of compute units stood in one table (8992ff24).
    let of_two = ["MI300X", "MI308X"]
        .map(|device| line(1, rows, 1_800_000_000).replace("gfx950", "gfx942").replace("MI355X", device));
    let folder = folder_with(&of_two.concat());
    let of = "store export --family a8w8_rowwise --num-cus 304 --where arch=gfx942";
    folder.refuses(&format!("{of}\n2: --num-cus: the winners are of MI300X, MI308X: choose one with"));
    assert_eq!(folder.good(&format!("{of},device=MI300X")).lines().count(), 2);
}
