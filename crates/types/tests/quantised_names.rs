//! Every name of upstream's manifest of quantised GEMM kernels is read, printed back, and has the manifest's
//! fields.

use std::collections::{BTreeMap, HashSet};

use ck_select_types::kernel::{GemmKernel, Kernel, KernelKind, Mnk};
use ck_select_types::vocab::{Dtype, QuantMode};

const MANIFEST: &str = include_str!("../../../tests/golden/names/quantised_gemm.tsv");

/// The types of A, B and C by upstream's word for them.
fn types(key: &str) -> [Dtype; 3] {
    match key {
        "fp8" => [Dtype::Fp8, Dtype::Fp8, Dtype::Fp16],
        "bf8" => [Dtype::Bf8, Dtype::Bf8, Dtype::Fp16],
        "fp4" => [Dtype::PkFp4, Dtype::PkFp4, Dtype::Fp16],
        "fp8i4" => [Dtype::Fp8, Dtype::PkInt4, Dtype::Fp16],
        "bf8i4" => [Dtype::Bf8, Dtype::PkInt4, Dtype::Fp16],
        "mx_bf16bf16" => [Dtype::Bf16; 3],
        "mx_bf16bf8" => [Dtype::Bf16, Dtype::Bf8, Dtype::Bf16],
        "mx_bf16fp4" => [Dtype::Bf16, Dtype::PkFp4, Dtype::Bf16],
        other => panic!("{other}"),
    }
}

/// The fields of a kernel, by the manifest's columns.
fn fields(kernel: &GemmKernel) -> BTreeMap<&'static str, String> {
    let variant = &kernel.variant;
    let quant = variant.quant.unwrap();
    let group = |group: Option<Mnk>| group.map_or("-".to_owned(), |group| group.to_string());
    let flag = |flag: bool| u8::from(flag).to_string();
    BTreeMap::from([
        ("pipeline", kernel.pipeline.to_string()),
        ("epilogue", kernel.epilogue.to_string()),
        ("scheduler", kernel.scheduler.to_string()),
        ("tile", kernel.tile.to_string()),
        ("wave", kernel.wave.to_string()),
        ("warp_tile", kernel.warp_tile.to_string()),
        ("group_a", group(quant.group_a)),
        ("group_b", group(quant.group_b)),
        ("preshuffle", flag(kernel.preshuffle)),
        ("scales_a", flag(variant.shuffled_scales[0])),
        ("scales_b", flag(variant.shuffled_scales[1])),
        ("pad_k", flag(kernel.pad[2])),
        ("transpose_c", flag(kernel.transpose_c)),
        ("double_buffer", flag(kernel.double_buffer)),
        ("block_per_cu", variant.block_per_cu.to_string()),
    ])
}

#[test]
fn every_name_of_the_manifest_is_read_and_printed_and_means_what_it_says() {
    let mut lines = MANIFEST.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t'));
    let header: Vec<&str> = lines.next().unwrap().collect();
    let (mut cases, mut names, mut seen) = (0, HashSet::new(), HashSet::new());
    for line in lines {
        let row: BTreeMap<&str, &str> = header.iter().copied().zip(line).collect();
        let name = row["name"];
        let KernelKind::Gemm(kernel) = Kernel::from_name(name).unwrap_or_else(|error| panic!("{error}")).kind
        else {
            panic!("{name}")
        };
        assert_eq!((kernel.name().as_str(), kernel.identifier().as_str()), (name, name));
        assert_eq!(GemmKernel::parse_identifier(name).as_ref(), Ok(&kernel));
        let [a, b, c] = types(row["types"]);
        assert_eq!(
            [kernel.dtype_a, kernel.dtype_b, kernel.dtype_c, kernel.dtype_acc],
            [a, b, c, Dtype::Fp32]
        );
        let module = row["case"].split("::").next().unwrap();
        assert_eq!(kernel.grouped, module.starts_with("grouped_"), "{name}");
        let mode =
            module.trim_start_matches("grouped_").trim_start_matches("gemm_").trim_end_matches("_utils");
        assert_eq!(kernel.variant.quant.unwrap().mode, mode.parse::<QuantMode>().unwrap());
        assert_eq!(kernel.layout.to_string(), "rcr");
        for (field, found) in fields(&kernel) {
            if row[field] != "-" || field.starts_with("group") {
                assert_eq!(found, row[field], "{field} of {name}");
            }
        }
        cases += 1;
        names.insert(name);
        seen.insert(kernel);
    }
    assert_eq!((cases, names.len()), (140, 109));
    assert_eq!(seen.len(), names.len(), "kernels with different names differ");
}

#[test]
fn names_that_no_generator_gives_are_refused() {
    for (name, reason) in [
        ("gemm_abquant_fp9_rcr", "found 'fp9' for the types, expected one or two of: bf16"),
        ("gemm_bquant_mx_bf16_rcr", "found 'bf16' for the types, expected two of"),
        (
            "gemm_bquant_mx_bf16bf8_rcr_compv3_cshuffle",
            "'mx_' before the types and pipeline microscale go together",
        ),
        (
            "gemm_aquant_fp8_rcr_mem_cshuffle_interwave_16x64x256_1x4x1_16x16x32",
            "found '', expected _aqg or _qg and a shape",
        ),
        (
            "gemm_abquant_fp8_rcr_compv3_cshuffle_intrawave_16x64x256_1x4x1_16x16x32_aqg1x1x128",
            "found '', expected _bqg and a shape",
        ),
        (
            "gemm_abquant_fp8_rcr_compv3_cshuffle_intrawave_16x64x256_1x4x1_16x16x32_aqg1x1x128_bqg1x1x128\
             _eightwaves",
            "found '_eightwaves' in a name of pipeline compv3",
        ),
    ] {
        let error = Kernel::from_name(name).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}
