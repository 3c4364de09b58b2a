//! Configurations and what they give.

#![allow(dead_code, reason = "of several programs")]

use std::collections::BTreeMap;

use ck_select_enumerate::config::Config;
use ck_select_enumerate::rules::Rules;
use ck_select_enumerate::{Enumeration, Request, enumerate};
use ck_select_types::kernel::{Kernel, KernelKind};
use ck_select_types::vocab::Dtype;

pub(crate) fn rules() -> Rules {
    Rules::built_in().unwrap()
}

pub(crate) fn on(arch: &str) -> Request {
    Request::new(arch)
}

pub(crate) fn request(arch: &str, dtype: Dtype) -> Request {
    Request { dtype: Some(dtype), ..on(arch) }
}

/// What a configuration gives, or why none.
pub(crate) fn tried(text: &str, request: &Request) -> Result<Enumeration, String> {
    let config = Config::from_json("f.json", text.as_bytes(), None).map_err(|error| error.to_string())?;
    enumerate(&rules(), &config, request).map_err(|error| error.to_string())
}

/// What a configuration gives. Every name is that of one kernel, which reads back as the value.
pub(crate) fn run(text: &str, request: &Request) -> Enumeration {
    let found = tried(text, request).unwrap();
    for kernel in &found.kernels {
        assert_eq!(read_back(kernel), kernel.kind, "{}", kernel.name);
    }
    found
}

pub(crate) fn count(text: &str, arch: &str, dtype: Dtype) -> usize {
    run(text, &request(arch, dtype)).kernels.len()
}

/// What the name says, with what no name says: the architecture, and the sweep's one word for layouts of all
/// dimensions.
pub(crate) fn read_back(kernel: &Kernel) -> KernelKind {
    let mut kind = Kernel::from_name(&kernel.name).unwrap().kind;
    match (&mut kind, &kernel.kind) {
        (KernelKind::Conv(read), KernelKind::Conv(made)) => {
            assert_eq!(read.layout.order(), made.layout.order());
            (read.layout, read.arch) = (made.layout, made.arch);
        }
        (KernelKind::Gemm(read), KernelKind::Gemm(made)) => read.set_arch(made.arch.unwrap()),
        (KernelKind::Moe(read), KernelKind::Moe(made)) => read.arch = made.arch,
        _ => panic!("{}", kernel.name),
    }
    kind
}

/// A configuration: tiles, waves and instructions along m, n and k, then `trait_config` and the rest.
pub(crate) fn config(shapes: [[&str; 3]; 3], traits: &[(&str, &str)], rest: &str) -> String {
    let names = ["tile", "warp", "warp_tile"];
    let keys = names.iter().flat_map(|name| ["m", "n", "k"].map(|axis| format!("{name}_{axis}")));
    let tiles = keys.zip(shapes.as_flattened()).map(|(key, values)| match values.strip_prefix("min ") {
        Some(range) => {
            let [min, max, step] = range.split(' ').collect::<Vec<_>>().try_into().unwrap();
            format!(r#""{key}": {{"min": {min}, "max": {max}, "step": {step}}}"#)
        }
        None => format!(r#""{key}": {{"values": [{values}]}}"#),
    });
    let tiles: Vec<String> = tiles.collect();
    let usual = [
        ("pipeline", r#""compv3""#),
        ("scheduler", r#""intrawave""#),
        ("epilogue", r#""cshuffle""#),
        ("pad_m", "false"),
        ("pad_n", "false"),
        ("pad_k", "false"),
        ("persistent", "false"),
    ];
    let mut all: BTreeMap<&str, &str> = BTreeMap::from(usual);
    all.extend(traits.iter().copied());
    let traits: Vec<String> = all
        .iter()
        .filter(|(_, values)| !values.is_empty())
        .map(|(key, values)| format!(r#""{key}": {{"values": [{values}]}}"#))
        .collect();
    format!(
        r#"{{"tile_config": {{{}}}, "trait_config": {{{}}}, "k_block_per_cu": 1{rest}}}"#,
        tiles.join(", "),
        traits.join(", ")
    )
}
