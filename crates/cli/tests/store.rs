//! `ckselect store` as its users meet it.

mod common;

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use common::{Ran, command_in};

const POOL: &str = "a2614723f16bd69ba226a46b42cdb49a";

fn ckselect(folder: &Path, args: &[&str]) -> Ran {
    on("winners.jsonl", folder, args)
}

fn on(store: &str, folder: &Path, args: &[&str]) -> Ran {
    let mut command = command_in(folder, &[&["store"], args].concat());
    command.env("CK_SELECT_STORE", store).output().unwrap().into()
}

fn done(folder: &Path, args: &[&str]) -> String {
    let ran = ckselect(folder, args);
    assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.stderr);
    ran.stdout
}

fn failed(folder: &Path, args: &[&str]) -> (Option<i32>, String) {
    let ran = ckselect(folder, args);
    assert_eq!(ran.stdout, "", "{args:?}");
    (ran.code, ran.stderr)
}

fn line(m: u32, kernel: &str, measured_at: u64) -> String {
    format!(
        "{{\"arch\":\"gfx950\",\"device\":\"MI355X\",\"pool\":\"{POOL}\",\"library\":\"0.1.0\",\
         \"driver\":\"hip 7\",\"op\":\"gemm_universal\",\"problem\":\"M={m},N=2,K=3\",\
         \"kernel\":\"{kernel}\",\"median_ms\":0.25,\"cv\":0.01,\"repeats\":20,\"candidates\":30,\
         \"measured_at\":{measured_at},\"source\":\"search\"}}\n"
    )
}

fn folder_with(winners: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("in.jsonl"), winners).unwrap();
    done(folder.path(), &["import", "in.jsonl"]);
    folder
}

#[test]
fn winners_are_imported_listed_and_exported() {
    let folder = folder_with(&(line(1, "kernel_a", 1_800_000_000) + &line(2, "kernel_b", 1_800_000_001)));
    let folder = folder.path();
    let listed = done(folder, &["list"]);
    assert!(listed.starts_with("kernel    median_ms    cv  repeats  candidates  measured_at"), "{listed}");
    assert!(listed.contains("kernel_a       0.25  0.01       20          30  2027-01-15 08:00:00Z  search"));
    let csv = done(folder, &["list", "--where", "kernel=kernel_b", "--format", "csv"]);
    assert_eq!(csv.lines().count(), 2);
    assert!(csv.contains(",1800000001,search,gfx950,MI355X,"), "{csv}");

    let exported = done(folder, &["export", "--where", "op=gemm_universal"]);
    assert_eq!(exported.lines().count(), 2);
    done(folder, &["export", "--output", "out.jsonl"]);
    let other = on("other.jsonl", folder, &["import", "out.jsonl"]);
    assert_eq!(other.stdout, "added  same  replaced  kept\n    2     0         0     0\n");
    assert_eq!(on("other.jsonl", folder, &["export"]).stdout, exported);
    // What is exported is a store.
    assert_eq!(fs::read_to_string(folder.join("other.jsonl")).unwrap(), exported);
    assert_eq!(on("out.jsonl", folder, &["export"]).stdout, exported);
}

#[test]
fn an_export_never_replaces_the_store() {
    let folder = folder_with(&line(1, "kernel_a", 1));
    let folder = folder.path();
    std::os::unix::fs::symlink("winners.jsonl", folder.join("link")).unwrap();
    for output in ["winners.jsonl", "link", "./winners.jsonl"] {
        let (code, message) = failed(folder, &["export", "--output", output]);
        assert_eq!(code, Some(2), "{message}");
        assert!(message.contains(&format!("--output {output}: this file is also read, as ")), "{message}");
    }
    assert_eq!(done(folder, &["list", "--format", "csv"]).lines().count(), 2);
}

#[test]
fn an_import_is_whole_or_not_at_all() {
    let folder = folder_with(&line(1, "kernel_a", 1));
    let bad = line(2, "kernel_a", 1) + &line(3, "kernel_a", 1).replace("0.25", "0");
    fs::write(folder.path().join("bad.jsonl"), bad).unwrap();
    let (code, message) = failed(folder.path(), &["import", "in.jsonl", "bad.jsonl"]);
    assert_eq!(code, Some(1));
    assert_eq!(message, "ckselect: bad.jsonl: line 2: median_ms: found 0, expected a finite time above 0\n");
    assert_eq!(done(folder.path(), &["list", "--format", "csv"]).lines().count(), 2);
}

#[test]
fn a_time_in_milliseconds_is_refused() {
    let folder = folder_with(&line(1, "kernel_a", 1));
    fs::write(folder.path().join("ms.jsonl"), line(1, "kernel_b", 1_800_000_000_000)).unwrap();
    let (code, message) = failed(folder.path(), &["import", "ms.jsonl"]);
    assert_eq!(code, Some(1));
    assert!(
        message.contains("measured_at: found 1800000000000, expected seconds since 1970, before"),
        "{message}"
    );
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
    let theirs = theirs.path().join("winners.jsonl");
    let counts = done(ours.path(), &["merge", theirs.to_str().unwrap()]);
    assert_eq!(counts, "added  same  replaced  kept\n    1     1         1     1\n");
    let (code, message) = failed(ours.path(), &["merge", "nowhere.jsonl"]);
    assert_eq!((code, message.as_str()), (Some(1), "ckselect: nowhere.jsonl: no such file\n"));
    fs::write(ours.path().join("winners.db"), "SQLite format 3\0").unwrap();
    let (_, message) = failed(ours.path(), &["merge", "winners.db"]);
    assert!(message.contains("not a store of winners: an SQLite file, as earlier builds kept"), "{message}");
}

#[test]
fn pruning_needs_a_condition_and_can_be_tried() {
    let folder = folder_with(&(line(1, "kernel_a", 5) + &line(2, "kernel_a", 4_000_000_000)));
    let folder = folder.path();
    let (code, message) = failed(folder, &["prune"]);
    assert_eq!(code, Some(2));
    assert!(message.contains("give at least one condition"), "{message}");
    assert_eq!(failed(folder, &["prune", "--where", "older_than=90"]).0, Some(2));
    assert_eq!(done(folder, &["prune", "--where", &format!("pool!={POOL}")]), "removed\n      0\n");
    let old = ["prune", "--where", "older_than=90d,arch=gfx950"];
    assert_eq!(done(folder, &[&old[..], &["--dry-run"]].concat()), "would_remove\n           1\n");
    assert_eq!(done(folder, &old), "removed\n      1\n");
    assert_eq!(done(folder, &old), "removed\n      0\n");
}

#[test]
fn the_path_follows_the_environment() {
    let folder = folder_with("");
    let folder = folder.path();
    assert_eq!(done(folder, &["path"]), "winners.jsonl\n");
    assert_eq!(on("off", folder, &["path"]).stdout, "off\n");
    let checked = ckselect(folder, &["path", "--check"]);
    assert_eq!(checked.stderr, "ckselect: winners.jsonl: sound, 0 winners\n");
    let off = on("off", folder, &["list"]);
    assert!(off.code == Some(1) && off.stderr.contains("switched off"), "{off:?}");
    let missing = on("x.jsonl", folder, &["list", "--format", "json"]);
    assert_eq!((missing.stdout.as_str(), missing.code), ("[]\n", Some(0)));
    assert!(!folder.join("x.jsonl").exists());
}

/// Winners of two pools stand in one store; the time of a table is in microseconds.
#[test]
fn winners_of_a_family_become_a_table_of_aiters() {
    let rows = "a8w8_rowwise_256x256x256x128_32x32_4x4_8x32x1_8x32x1_1x32x1x8_8x8x1_1x1_intrawave_v3";
    let folder = folder_with(&(line(1, rows, 1_800_000_000) + &line(2, "kernel_b", 1_800_000_001)));
    let options = ["export", "--where", "arch=gfx950", "--family", "a8w8_rowwise", "--num-cus", "256"];
    let ran = ckselect(folder.path(), &options);
    assert_eq!(
        ran.stdout,
        format!(
            "gfx,cu_num,M,N,K,q_dtype_w,kernelId,splitK,us,kernelName,tflops,bw,errRatio\n\
             gfx950,256,1,2,3,torch.float8_e4m3fn,1,0,250.0,{rows},0,0,0\n"
        )
    );
    assert!(ran.stderr.contains("1 winners are left out: they are not of a8w8_rowwise"), "{}", ran.stderr);
    let (code, error) = failed(folder.path(), &["export", "--family", "a8w8_rowwise"]);
    assert!(code == Some(2) && error.contains("--num-cus"), "{error}");
}
