//! Names of the tile engine's `gemm_quant` kernels, whose profile says what has scales and which pipeline
//! reads them.
//!
//! ```text
//! name := "gemm_quant_" types "_" [rc]{3} "_" profile "_" epilogue "_" scheduler 4("_" ("True" | "False"))
//!         "_" group_a "_" group_b "_" tile "_" waves "_" instruction
//! ```
//!
//! `gemm_quant` kernels are also named by [`GemmKernel::name`], without the profile.

use super::parts::{EPILOGUE, LAYOUT, PADS, PERSISTENT, SCHEDULER, SHAPES};
use super::{GemmKernel, GemmVariant, Quant, quant_name};
use crate::grammar::NameReader;
use crate::scan::{NameError, Scan};
use crate::shape::Mnk;
use crate::vocab::{Pipeline, QuantMode};

/// The beginning of names.
pub(super) const PREFIX: &str = "gemm_quant_";

/// Profiles: what has scales, the pipeline, and whether scales of A and of B are stored as they are read.
const PROFILES: [(&str, QuantMode, Pipeline, [bool; 2]); 9] = [
    ("aquantdecode", QuantMode::A, Pipeline::Mem, [false; 2]),
    ("aquantprefill", QuantMode::A, Pipeline::Mem, [false; 2]),
    ("aquantpreshufflequant", QuantMode::A, Pipeline::CompV3, [true, false]),
    ("bquantdecode", QuantMode::B, Pipeline::CompV3, [false; 2]),
    ("bquantprefill", QuantMode::B, Pipeline::CompV3, [false; 2]),
    ("bquantpreshufflequant", QuantMode::B, Pipeline::CompV3, [false, true]),
    ("bquantpreshufflequantprefill", QuantMode::B, Pipeline::CompV3, [false, true]),
    ("rowcol", QuantMode::RowCol, Pipeline::CompV3, [false; 2]),
    ("tensor", QuantMode::Tensor, Pipeline::CompV3, [false; 2]),
];

/// The group in names for operands without groups.
const NO_GROUP: Mnk = Mnk::new(1, 1, 1);

/// Reads a name after its prefix.
pub(super) fn parse(scan: &mut Scan<'_>) -> Result<GemmKernel, NameError> {
    let (microscale, dtype_a, dtype_b) = quant_name::types(scan)?;
    if microscale {
        return Err(scan.fail("'mx_' before the types, but no profile has pipeline microscale"));
    }
    let mut reader = NameReader::new(scan, &GemmKernel { dtype_a, ..GemmKernel::USUAL });
    reader.all(&[LAYOUT])?;
    reader.scan.separator("the profile")?;
    let word = reader.scan.token();
    let Some(&(_, mode, pipeline, shuffled_scales)) = PROFILES.iter().find(|profile| profile.0 == word)
    else {
        let known: Vec<&str> = PROFILES.iter().map(|profile| profile.0).collect();
        let message = format!("unknown profile '{word}', expected one of: {}", known.join(", "));
        return Err(reader.scan.fail(message));
    };
    reader.scan.eat(word);
    reader.all(&[EPILOGUE, SCHEDULER])?;
    reader.all(&PADS)?;
    reader.all(&[PERSISTENT])?;
    let mut quant = Quant::usual(mode);
    // Upstream builds none, and no other spelling could say it.
    if reader.get(&PERSISTENT) && (quant.group_a.is_some() || quant.group_b.is_some()) {
        let message = format!("found True for persistent, expected False with profile {word}");
        return Err(reader.scan.fail(message));
    }
    for (what, group) in [("the group of A", &mut quant.group_a), ("the group of B", &mut quant.group_b)] {
        reader.scan.separator(what)?;
        let shape = reader.scan.shape(what)?;
        match group {
            Some(group) => *group = shape,
            None if shape == NO_GROUP => {}
            None => {
                let expected = format!("expected {NO_GROUP}, as profile {word} has none");
                return Err(reader.scan.fail(format!("found {shape} for {what}, {expected}")));
            }
        }
    }
    reader.all(&SHAPES)?;
    reader.scan.end("the end of the name")?;
    let read = GemmKernel { pipeline, ..reader.kernel(&GemmKernel::USUAL) }.completed();
    let variant = GemmVariant { quant: Some(quant), shuffled_scales, ..GemmVariant::USUAL };
    Ok(GemmKernel { dtype_b, dtype_c: dtype_a.scaled_result(), variant, ..read })
}

#[cfg(test)]
mod tests {
    use crate::gemm::named;
    use crate::kernel::{Kernel, KernelKind};
    use crate::vocab::{Dtype, Pipeline, QuantMode};

    #[test]
    fn a_profile_says_what_has_scales() {
        let name = |profile: &str, a: &str, b: &str| {
            format!(
                "gemm_quant_fp8_rcr_{profile}_cshuffle_intrawave_False_False_True_False_{a}_{b}_128x128x128_1x4x1\
                 _16x16x64"
            )
        };
        let kernel = named(&name("bquantprefill", "1x1x1", "1x32x128"));
        let quant = kernel.variant.quant.unwrap();
        assert_eq!((quant.mode, quant.group_a, quant.group_b.unwrap().n), (QuantMode::B, None, 32));
        assert_eq!((kernel.pipeline, kernel.dtype_c, kernel.pad[2]), (Pipeline::CompV3, Dtype::Fp16, true));
        let kernel = named(&name("aquantpreshufflequant", "1x1x128", "1x1x1"));
        assert_eq!((kernel.variant.shuffled_scales, kernel.pad), ([true, false], [false, false, true]));
        // The other spelling is the same kernel.
        assert_eq!(named(&kernel.name()), kernel);
        assert_eq!(named(&name("tensor", "1x1x1", "1x1x1")).variant.quant.unwrap().mode, QuantMode::Tensor);
        let error = Kernel::from_name(&name("cquant", "1x1x1", "1x1x1")).unwrap_err();
        assert!(
            error.reason.starts_with("unknown profile 'cquant', expected one of: aquantdecode, "),
            "{error}"
        );
    }

    /// Also what no builder of upstream gives.
    #[test]
    fn parsed_profile_names_print_back() {
        let shapes = "64x128x128_1x4x1_16x16x32";
        let flag = |set: bool| if set { "True" } else { "False" };
        let mut names = Vec::new();
        for bits in 0..32 {
            let flags: Vec<&str> = (0..5).map(|bit| flag(bits >> bit & 1 == 1)).collect();
            let (four, five) = (flags[..4].join("_"), flags.join("_"));
            for pipeline in Pipeline::WORDS.iter().filter(|word| **word != "microscale") {
                names.push(format!("gemm_abquant_fp8i4_rrr_{pipeline}_default_auto_{five}_gsn32_{shapes}"));
                for family in ["aquant", "bquant"] {
                    names.push(format!("gemm_{family}_fp8_rcr_{pipeline}_default_auto_{four}_{shapes}"));
                }
            }
            for (word, mode, ..) in super::PROFILES {
                let group = |has: bool| if has { "1x32x128" } else { "1x1x1" };
                let (a, b) = (group(mode == QuantMode::A), group(mode == QuantMode::B));
                if a != b && bits >> 3 & 1 == 1 {
                    continue;
                }
                names.push(format!("gemm_quant_bf16fp4_rcr_{word}_default_auto_{four}_{a}_{b}_{shapes}"));
            }
        }
        let wrong: Vec<String> = names
            .into_iter()
            .filter_map(|name| {
                let kernel = match Kernel::from_name(&name) {
                    Ok(kernel) => kernel.kind,
                    Err(error) => return Some(format!("{name}: {error}")),
                };
                let KernelKind::Gemm(kernel) = kernel else { return Some(name) };
                let printed = kernel.name();
                let again = Kernel::from_name(&printed).map(|again| again.kind == KernelKind::Gemm(kernel));
                (!again.unwrap_or(false)).then(|| format!("{name}: {printed}"))
            })
            .collect();
        assert!(wrong.is_empty(), "{} such as {:#?}", wrong.len(), &wrong[..wrong.len().min(5)]);
    }

    #[test]
    fn errors_name_the_offending_part() {
        let flags = "cshuffle_intrawave_False_False_True_False";
        let tile = "64x64x64_1x4x1_16x16x32";
        for (middle, reason) in [
            (
                format!("bquantprefill_{flags}_1x1x128_1x1x128"),
                "found 1x1x128 for the group of A, expected 1x1x1, as profile bquantprefill has none",
            ),
            (
                format!("tensor_{flags}_1x1x1_1x32x128"),
                "found 1x32x128 for the group of B, expected 1x1x1, as profile tensor has none",
            ),
            (
                "bquantprefill_cshuffle_intrawave_False_False_True_True_1x1x1_1x1x128".to_owned(),
                "found True for persistent, expected False with profile bquantprefill",
            ),
        ] {
            let error = Kernel::from_name(&format!("gemm_quant_fp8_rcr_{middle}_{tile}")).unwrap_err();
            assert!(error.reason.starts_with(reason), "{error}");
        }
        let error = Kernel::from_name("gemm_quant_fp64_rcr_tensor_x").unwrap_err();
        assert!(error.reason.starts_with("found 'fp64' for the types"), "{error}");
    }

    /// Kernels with scales have in their names which scales are shuffled, where other kernels have `persistent`.
    #[test]
    fn flags_of_the_tile_engine_are_about_scales() {
        let tile = "128x128x128_2x2x1_16x16x64";
        let ab = named(&format!(
            "gemm_abquant_fp8_rcr_compv3_cshuffle_intrawave_False_False_False_False_True_gsn128_{tile}"
        ));
        let quant = ab.variant.quant.unwrap();
        assert_eq!((ab.variant.shuffled_scales, ab.persistent), ([false, true], false));
        assert_eq!(
            (quant.group_a.unwrap().n, quant.group_b.unwrap().n, quant.group_b.unwrap().k),
            (1, 128, 128)
        );
        assert_eq!(named(&ab.name()), ab);
        for (family, scales) in [("gemm_aquant", [true, false]), ("gemm_bquant", [false, true])] {
            let name = format!("{family}_fp8_rcr_compv3_cshuffle_intrawave_False_False_False_True_{tile}");
            let kernel = named(&name);
            assert_eq!((kernel.variant.shuffled_scales, kernel.persistent), (scales, false), "{name}");
            assert_eq!(named(&kernel.name()), kernel);
        }
        let error = Kernel::from_name(&format!(
            "gemm_aquant_fp8_rcr_compv3_cshuffle_intrawave_False_False_False_True_gsn4_{tile}"
        ));
        assert!(error.unwrap_err().reason.contains("'_gsn'"));
    }
}
