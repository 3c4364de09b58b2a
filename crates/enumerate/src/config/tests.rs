use super::*;

fn error(text: &str) -> String {
    Config::from_json("f.json", text.as_bytes(), None).unwrap_err().to_string()
}

#[test]
fn every_mistake_is_named_with_its_place() {
    for (text, message) in [
        ("{", "f.json: JSON: EOF while parsing an object at line 1 column 1"),
        (
            r#"{"variant": "forward",
                "trait_config": {"pipeline": {"values": ["mem"], "values": ["compv3"]}}}"#,
            "f.json: JSON: the key 'values' appears twice in one object",
        ),
        ("[1]", "f.json: found a list, expected an object"),
        ("{}", "f.json: neither 'variant' (a grouped convolution) nor 'tile_config' (a GEMM) is there"),
        (
            r#"{"tile_configs": [], "variant_keys": ["fp8"]}"#,
            "f.json, tile_configs: a key of the code generators, whose configurations are not enumerated",
        ),
        (
            r#"{"variant": "backward"}"#,
            "f.json, variant: unknown direction 'backward', expected one of: forward, bwd_data",
        ),
        (
            r#"{"variant": "forward", "trait_config": []}"#,
            "f.json, trait_config: found a list, expected an object",
        ),
        (
            r#"{"variant": "forward", "trait_config": {"pipeline": ["mem"]}}"#,
            "f.json, trait_config.pipeline: found a list, expected an object",
        ),
        (
            r#"{"variant": "forward", "trait_config": {"pipeline": {}}}"#,
            "f.json, trait_config.pipeline.values: found nothing, expected a list",
        ),
        (
            r#"{"variant": "forward", "trait_config": {"pipeline": {"values": ["mem", "compv9"]}}}"#,
            "f.json, trait_config.pipeline.values[1]: unknown pipeline 'compv9', expected one of: compv1",
        ),
        (
            r#"{"variant": "forward", "trait_config": {"ndim_spatial": {"values": [4]}}}"#,
            "f.json, trait_config.ndim_spatial.values[0]: found 4, expected a whole number of 1 to 3",
        ),
        (
            r#"{"variant": "forward", "trait_config": {"split_image": {"values": [0]}}}"#,
            "f.json, trait_config.split_image.values[0]: found 0, expected true or false",
        ),
        (
            r#"{"variant": "forward", "trait_config": {"split_image": {"value": [true], "values": [true]}}}"#,
            "f.json, trait_config.split_image.value: unknown key, expected one of: values",
        ),
        (
            r#"{"variant": "forward", "ck_select": {"names": "short"}}"#,
            "f.json, ck_select.names: found 'short', expected one of: full, without_intrawave",
        ),
        (
            r#"{"variant": "forward", "ck_select": {"tile": 1}}"#,
            "f.json, ck_select.tile: unknown key, expected one of: traits",
        ),
        (
            r#"{"tile_config": {}}"#,
            "f.json, tile_config.tile_m: found nothing, expected 'values', or 'min', 'max' and 'step'",
        ),
        (
            r#"{"tile_config": {"tile_m": {"min": 64, "max": 32, "step": 1}}}"#,
            "f.json, tile_config.tile_m: found min 64 above max 32",
        ),
        (
            r#"{"tile_config": {"tile_m": {"min": 64, "max": 128, "step": 0}}}"#,
            "f.json, tile_config.tile_m.step: found 0, expected a whole number of 1 to 65536",
        ),
        (
            r#"{"tile_config": {"tile_m": {"min": 1, "max": 65536, "step": 1}}}"#,
            "f.json, tile_config.tile_m: found 65536 values, expected at most 4096",
        ),
        (
            r#"{"ck_select": {"kernels": "all"}}"#,
            "f.json, ck_select.kernels: found 'all', expected one of: ranges, ml_sweep",
        ),
        (
            r#"{"variant": "forward", "trait_config": {"ndim": {"values": [2]}}}"#,
            "f.json, trait_config.ndim: unknown key, expected one of: data_type, ndim_spatial, \
             pipeline, scheduler, wave_mode, num_groups_to_merge, double_smem_buffer, split_image, \
             explicit_gemm, two_stage; the key for dimensions is 'ndim_spatial'",
        ),
        (
            r#"{"variant": "forward", "trait_config": {"scheduler": {"values": []}, "wave_mode": {"values": []}}}"#,
            "f.json, trait_config.wave_mode: found 'scheduler' and 'wave_mode', which are the same",
        ),
        (
            r#"{"variant": "forward", "datatype": "fp16"}"#,
            "f.json, datatype: unknown key, expected one of: variant, trait_config, ck_select; \
             types of a sweep are",
        ),
        (
            r#"{"ck_select": {"kernels": "ml_sweep"}, "tiles": 1}"#,
            "f.json, tiles: unknown key, expected one of: ck_select",
        ),
        // `num_d` was read, and changed nothing.
        (r#"{"ck_select": {"kernels": "ml_sweep", "num_d": 1}}"#, "f.json, ck_select.num_d: unknown key"),
        (r#"{"ck_select": {"kernels": "ranges"}}"#, "f.json, tile_config: found nothing, expected an object"),
    ] {
        let refusal = error(text);
        assert!(refusal.starts_with(message), "{text}\n{refusal}");
    }
}

/// Upstream's README spells the key for schedulers so.
#[test]
fn wave_modes_are_schedulers() {
    let config = |key: &str| {
        let text =
            format!(r#"{{"variant": "forward", "trait_config": {{"{key}": {{"values": ["interwave"]}}}}}}"#);
        Config::from_json("f.json", text.as_bytes(), None).unwrap()
    };
    assert_eq!(config("wave_mode"), config("scheduler"));
    let Config::Conv(ConvConfig::Sweep(conv)) = config("wave_mode") else { panic!() };
    assert_eq!(conv.schedulers.map(|all| all.len()), Some(1));
}

#[test]
fn ranges_hold_both_ends() {
    let text = include_str!("../../../../configs/gemm_default.json");
    let config = Config::from_json("gemm_default.json", text.as_bytes(), None).unwrap();
    let Config::Gemm(GemmConfig::Ranges(ranges)) = config else { panic!() };
    assert_eq!(ranges.tile[0], [128, 192, 256]);
    assert_eq!(ranges.tile[2].len(), 8);
    assert_eq!(ranges.wave[1], [4, 2, 1], "lists keep their order");
}

#[test]
fn the_operation_can_be_forced() {
    let both = r#"{"variant": "forward", "tile_config": {}}"#;
    let error = |op| Config::from_json("f", both.as_bytes(), op).unwrap_err().path;
    assert_eq!(error(None), "tile_config");
    assert_eq!(error(Some(Op::Conv)), "tile_config");
    assert_eq!(error(Some(Op::Gemm)), "tile_config.tile_m");
    let ours = br#"{"variant": "forward", "_note": 1, "comment": "c", "description": [], "$schema": ""}"#;
    assert_eq!(Config::from_json("f", ours, None).unwrap().op(), Op::Conv, "notes change nothing");
    assert!(
        Config::read(Path::new("/no/such/file"), None)
            .unwrap_err()
            .to_string()
            .starts_with("/no/such/file: ")
    );
}

#[test]
fn the_traits_tell_attention_from_convolutions() {
    let op = |text: &str| Config::from_json("f", text.as_bytes(), None).map(|config| config.op());
    let traits = |traits: &str| format!(r#"{{"variant": "fwd", "trait_config": {{{traits}}}}}"#);
    assert_eq!(op(&traits(r#""mask": {"values": ["no"]}"#)), Ok(Op::Fmha));
    assert_eq!(op(&traits(r#""pipeline": {"values": ["qr_async"]}"#)), Ok(Op::Fmha));
    assert_eq!(op(&traits(r#""pipeline": {"values": ["compv3"]}"#)), Ok(Op::Conv));
    assert_eq!(op(r#"{"variant": "forward"}"#), Ok(Op::Conv));
    for text in [r#"{"variant": "fwd"}"#.to_owned(), traits(r#""data_type": {"values": ["fp16"]}"#)] {
        let error = op(&text).unwrap_err().to_string();
        assert!(
            error.starts_with("f, variant: found fwd, which is attention or a forward convolution"),
            "{error}"
        );
    }
    let error = op(r#"{"variant": "splitkv"}"#).unwrap_err().to_string();
    assert!(error.starts_with("f, variant: found 'splitkv', expected fwd"), "{error}");
}
