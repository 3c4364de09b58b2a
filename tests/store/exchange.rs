//! Winners as text: what is exported reads back to the same bits, and mistakes are named with their line.

use ck_select::problem::{ConvProblem, GemmProblem, Problem};
use ck_select::tuning::store::{
    Mode, PoolHash, Record, Scope, Store, Winner, WinnerSource, json_lines, read_records,
};
use proptest::prelude::*;

/// Whose texts read back, as `crates/types` tests.
fn problem() -> impl Strategy<Value = Problem> {
    (1..=i64::from(i32::MAX), 0..=64_i32).prop_map(|(n, split_k)| match split_k % 2 {
        0 => GemmProblem { split_k, ..GemmProblem::new(n, 64, 9) }.into(),
        _ => ConvProblem { split_k, ..crate::common::conv(1 + n % 512) }.into(),
    })
}

fn record() -> impl Strategy<Value = Record> {
    let scope = ("gfx9[0-9][0-9a-c]", "[^\\p{Cc}]{1,40}", any::<[u8; 2]>(), "[^\\p{Cc}]{0,20}");
    let winner = (
        "[^\\p{Cc}]{1,40}",
        any::<f64>().prop_map(f64::abs).prop_filter("a time", |time| *time > 0.0 && time.is_finite()),
        0.0..10.0_f64,
        1..=u32::MAX,
        1..=u32::MAX,
        0..4_102_444_800_u64,
        0..3_usize,
    );
    (scope, problem(), winner).prop_map(
        |(
            (arch, device, pool, driver),
            problem,
            (kernel, median_ms, cv, repeats, candidates, measured_at, source),
        )| {
            let pool = PoolHash::from_names([format!("{pool:?}").as_str()]);
            let winner = Winner {
                kernel: kernel.into(),
                split_k: if problem.chooses_split() { 8 } else { problem.split_k() },
                median_ms,
                cv,
                repeats,
                candidates,
                measured_at,
                source: WinnerSource::ALL[source],
            };
            Record::new(Scope::new(arch.parse().unwrap(), device, pool, driver), &problem, winner).unwrap()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn what_is_exported_and_stored_reads_back(records in prop::collection::vec(record(), 1..12)) {
        prop_assert_eq!(&read_records("x", &json_lines(&records)).unwrap(), &records);
        let folder = tempfile::tempdir().unwrap();
        let one = Store::open(folder.path().join("one"), Mode::ReadWrite).unwrap();
        one.merge(&records).unwrap();
        let (stored, unreadable) = one.records().unwrap();
        prop_assert_eq!(unreadable, 0);
        let other = Store::open(folder.path().join("other"), Mode::ReadWrite).unwrap();
        let exported = json_lines(&stored);
        let merged = other.merge(&read_records("x", &exported).unwrap()).unwrap();
        prop_assert_eq!(merged.added, stored.len());
        prop_assert_eq!(json_lines(&other.records().unwrap().0), exported);
    }

    #[test]
    fn no_text_makes_reading_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0..400_usize) {
        let _ = read_records("x", &bytes);
        let mut text = json_lines(&[one()]);
        text.truncate(cut);
        text.extend(&bytes);
        let _ = read_records("x", &text);
    }
}

fn one() -> Record {
    let winner = Winner { median_ms: 0.1, cv: 0.0, repeats: 20, ..crate::common::winner("kernel_a") };
    let pool = PoolHash::from_names(["kernel_a"]);
    let scope =
        Scope { library: "0.1.0".into(), ..Scope::new("gfx950".parse().unwrap(), "MI355X", pool, "") };
    Record::new(scope, &GemmProblem::new(1, 2, 3).into(), winner).unwrap()
}

#[test]
fn the_format_is_frozen() {
    let json = "{\"arch\":\"gfx950\",\"device\":\"MI355X\",\"pool\":\"POOL\",\"library\":\"0.1.0\",\
                \"driver\":\"\",\"op\":\"gemm_universal\",\"problem\":\"M=1,N=2,K=3,split_k=1,dtype_a=fp8,\
                dtype_b=fp8,dtype_c=fp16,layout=rcr\",\"kernel\":\"kernel_a\",\"median_ms\":0.1,\"cv\":0.0,\
                \"repeats\":20,\"candidates\":30,\"measured_at\":1800000000,\"source\":\"search\"}\n";
    let text = json.replace("POOL", &one().scope.pool.to_string());
    assert_eq!(String::from_utf8(json_lines(&[one()])).unwrap(), text);
    assert_eq!(read_records("x", text.as_bytes()).unwrap(), [one()]);
    let windows = format!("\u{feff}{text}").replace('\n', "\r\n");
    assert_eq!(read_records("x", windows.as_bytes()).unwrap(), [one()]);
    assert_eq!(read_records("x", b"").unwrap(), []);
    // What is exported is a store.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("exported.jsonl");
    std::fs::write(&path, text).unwrap();
    assert_eq!(Store::open(&path, Mode::ReadOnly).unwrap().records().unwrap(), (vec![one()], 0));
}

#[test]
fn optional_fields_have_one_default_and_problems_become_canonical() {
    let pool = one().scope.pool;
    let text = format!(
        "{{\"kernel\": \"kernel_a\", \"arch\": \"gfx950:xnack-\", \"device\": \"MI355X\", \"pool\": \
         \"{pool}\", \"library\": \"0.1.0\", \"op\": \"gemm_universal\", \"problem\": \"m=1 n=2 k=3 \
         arch=gfx950\", \"median_ms\": 0.1, \"cv\": 0, \"repeats\": 20, \"candidates\": 30, \"measured_at\": \
         1800000000}}"
    );
    let mut expected = one();
    expected.winner.source = WinnerSource::Import;
    assert_eq!(read_records("x", text.as_bytes()).unwrap(), [expected]);
}

#[test]
fn every_mistake_names_file_and_line() {
    let good = String::from_utf8(json_lines(&[one()])).unwrap();
    for (from, to, message) in [
        ("\"kernel_a\"", "\"\"", "kernel: found 0 bytes, expected 1 to 1024 bytes"),
        ("gfx950", "mi355x", "unknown arch 'mi355x', expected one of: gfx950"),
        (
            "gemm_universal",
            "gemm",
            "unknown operation 'gemm', expected one of: gemm_universal, grouped_conv, fmha, moe",
        ),
        ("M=1", "M=0", "problem: M: found 0, expected 1 to 2147483647"),
        ("M=1,", "", "problem: M: found nothing, expected a whole number"),
        ("M=1", "M=1,arch=gfx942", "arch: found gfx942, expected gfx950, the scope's"),
        (":0.1,", ":-0.1,", "median_ms: found -0.1, expected a finite time above 0"),
        (":20,", ":2.5,", "invalid type: floating point `2.5`, expected u32 (column "),
        ("search", "guess", "unknown source 'guess', expected one of: search, refine, import"),
        ("\"cv\"", "\"dv\"", "unknown field `dv`"),
        ("\"source\":\"search\"}", "\"source\":\"search\"", "EOF while parsing an object (column "),
        ("\"pool\":\"", "\"pool\":\"0", "pool: found '0"),
        (
            "{\"arch\":",
            "arch,device\n{\"arch\":",
            "expected a JSON object, as `ckselect store export` writes",
        ),
        ("MI355X", &"x".repeat(20_000), "2032"),
    ] {
        let bad = good.replacen(from, to, 1);
        assert_ne!(bad, good);
        let error =
            read_records("winners.jsonl", format!("{good}\n{bad}").as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(&format!("winners.jsonl: line 3: {message}")), "{error}");
    }
    let error = read_records("w.jsonl", b"\n{\"arch\":\"\xff\"}\n").unwrap_err().to_string();
    assert_eq!(error, "w.jsonl: line 2: invalid unicode code point (column 10)");
}
