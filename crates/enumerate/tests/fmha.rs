//! How many forward attention kernels there are: figures that were counted apart from these rules, the first
//! of them upstream's own.

use ck_select_enumerate::config::Config;
use ck_select_enumerate::rules::Rules;
use ck_select_enumerate::{Enumeration, Request, enumerate};
use ck_select_types::kernel::{Kernel, KernelKind};
use ck_select_types::vocab::Op;

fn kernels(arch: &str, config: &str, rules: &Rules) -> Result<Enumeration, String> {
    let config = Config::from_json("sweep.json", config.as_bytes(), Some(Op::Fmha));
    let config = config.map_err(|error| error.to_string())?;
    enumerate(rules, &config, &Request::new(arch)).map_err(|error| error.to_string())
}

fn count(arch: &str, ours: &str, rules: &Rules) -> usize {
    let text = format!(r#"{{"variant": "fwd", "ck_select": {ours}}}"#);
    let found = kernels(arch, &text, rules).unwrap();
    assert_eq!(found.repeated, 0);
    found.kernels.len()
}

#[test]
fn tables_give_as_many_kernels_as_upstreams() {
    let rules = Rules::built_in().unwrap();
    for (receipt, gfx942, gfx950) in [
        (0, 10_812, 11_116),
        (2, 642, 714),
        (3, 1944, 2104),
        (4, 2568, 2864),
        (100, 6864, 7160),
        (200, 3624, 3632),
        (600, 10_488, 10_792),
        (888, 324, 324),
    ] {
        let ours = format!(r#"{{"receipt": {receipt}}}"#);
        assert_eq!(
            [count("gfx942", &ours, &rules), count("gfx950", &ours, &rules)],
            [gfx942, gfx950],
            "{receipt}"
        );
    }
    for (receipt, gfx942, gfx950) in [(0, 15_516, 15_820), (3, 2880, 3040)] {
        let ours = format!(r#"{{"receipt": {receipt}, "tuning_tiles": true}}"#);
        assert_eq!(
            [count("gfx942", &ours, &rules), count("gfx950", &ours, &rules)],
            [gfx942, gfx950],
            "{receipt}"
        );
    }
    // Without the rule for latent heads, as upstream's builder was when it stated its figure.
    let mut older = rules;
    older.fmha.refused.truncate(1);
    assert_eq!([count("gfx942", "{}", &older), count("gfx950", "{}", &older)], [11_676, 11_980]);
}

/// Tiles by rules give as many kernels as were counted apart from these rules.
#[test]
fn swept_tiles_give_nearly_a_million_kernels() {
    let rules = Rules::built_in().unwrap();
    let count = |arch: &str, dtype: &str, receipt: u32| {
        let text = format!(
            r#"{{"variant": "fwd", "trait_config": {{"data_type": {{"values": [{dtype}]}}}},
                "ck_select": {{"tiles": "sweep", "receipt": {receipt}}}}}"#
        );
        let found = kernels(arch, &text, &rules).unwrap();
        assert_eq!(found.repeated, 0);
        found.kernels.len()
    };
    for (dtypes, receipt, gfx942, gfx950) in [
        (r#""fp8bf16""#, 0, 23_544, 18_360),
        (r#""fp8fp32""#, 0, 324, 324),
        (r#""fp8bf16", "fp8fp32""#, 888, 23_868, 18_684),
        (r#""bf16", "fp8bf16", "fp8fp32""#, 2, 186_768 / 2, 144_168 / 2),
        (r#""fp16", "fp8fp32""#, 4, 270_336 / 2, 255_408 / 2),
    ] {
        let found = [count("gfx942", dtypes, receipt), count("gfx950", dtypes, receipt)];
        assert_eq!(found, [gfx942, gfx950], "{dtypes} {receipt}");
    }
    // With the other of fp16 and bf16, and with 8 bits: 1,062,588 and 864,300.
    assert_eq!(count("gfx950", r#""fp16""#, 0), (864_300 - 18_360 - 324) / 2);
}

#[test]
fn names_read_back_but_for_what_they_leave_out() {
    let rules = Rules::built_in().unwrap();
    let found = kernels("gfx950", r#"{"variant": "fwd"}"#, &rules).unwrap();
    for Kernel { name, kind } in &found.kernels {
        let (KernelKind::Fmha(own), KernelKind::Fmha(read)) = (kind, Kernel::from_name(name).unwrap().kind)
        else {
            panic!("{name}")
        };
        assert_eq!(read.config_name(), *name);
        assert_eq!(
            (read.tile, read.pipeline, read.pad, read.mask),
            (own.tile, own.pipeline, own.pad, own.mask)
        );
        assert_eq!(Kernel::from_name(&own.identifier()).unwrap().kind.suffixes(), kind.suffixes());
    }
}

#[test]
fn a_sweep_narrows_what_there_is() {
    let rules = Rules::built_in().unwrap();
    let ci = r#"{"variant": "fwd", "trait_config": {"data_type": {"values": ["fp16"]},
        "pipeline": {"values": ["qr_async"]}, "mode": {"values": ["batch"]}, "mask": {"values": ["no"]},
        "bias": {"values": ["no"]}, "lse": {"values": [false]},
        "dropout": {"values": [false]}, "logits": {"values": [false]}, "sink": {"values": [false]}}}"#;
    let found = kernels("gfx942", ci, &rules).unwrap();
    // Both values of skip and two paddings for each tile that the pipeline takes.
    assert_eq!(found.kernels.len() % 4, 0);
    assert!(found.kernels.iter().all(|kernel| kernel.name.starts_with("fmha_fwd_fp16_batch_h")));
    for (text, message) in [
        (r#"{"variant": "bwd"}"#, "sweep.json, variant: found 'bwd', expected fwd"),
        (r#"{"variant": "fwd", "trait_config": {"dtype": {}}}"#, "the key for types is 'data_type'"),
        (
            r#"{"variant": "fwd", "trait_config": {"mask": {"values": ["diagonal"]}}}"#,
            "unknown attention mask 'diagonal'",
        ),
        (
            r#"{"variant": "fwd", "ck_select": {"receipt": 7}}"#,
            "no build has the receipt 7, expected one of: 0, 1, 100",
        ),
        (
            r#"{"variant": "fwd", "ck_select": {"tiles": "sweep", "receipt": 3}}"#,
            "no build has the receipt 3, expected one of: 0, 1, 100, 2, 200, 4, 600, 888",
        ),
        (
            r#"{"variant": "fwd", "ck_select": {"tiles": "all"}}"#,
            "found 'all', expected one of: table, sweep",
        ),
        (
            r#"{"variant": "fwd", "ck_select": {"tiles": "sweep", "tuning_tiles": true}}"#,
            "found sweep, expected table beside tuning_tiles",
        ),
    ] {
        let error = kernels("gfx942", text, &rules).unwrap_err();
        assert!(error.contains(message), "{error}");
    }
    let error = kernels("gfx90a", r#"{"variant": "fwd"}"#, &rules).unwrap_err();
    assert_eq!(error, "no attention kernels for gfx90a; the rules cover gfx942, gfx950");
}
