//! What only names of Triton's kernels say: behind the tile engine's parts, each where it is unusual.
//!
//! ```text
//! name := "triton_gemm_" types "_" layout "_" pipeline … shapes [suffixes] ["_stages" int] ["_gm" int] ["_tma"]
//!         ["_ctas" int] ["_wpe" int] ["_kpack" int]
//! ```
//!
//! The pipelines `compv3` to `compv6` are two to five stages; one stage is `compv3_…_stages1`, more than five
//! are `compv6_…_stages6` and so on. `gm` is Triton's `GROUP_M`, 8 where no name says it, `wpe` AMD's
//! `waves_per_eu`. Its `matrix_instr_nonkdim` is the rows and columns of the warp tile: 16, or 32 as `32x32x8`. So
//! each kernel has one name, and the names of kernels without these parts are what they always were.

use super::GemmKernel;
use super::parts::part;
use crate::field::InvalidField;
use crate::grammar::PartForm::{Mark, Number};
use crate::grammar::{NameWriter, Part};
use crate::scan::{NameError, Scan};
use crate::vocab::{GemmLibrary, Pipeline};

/// Suffixes, in the order of names.
pub(super) const SUFFIXES: [Part; 6] = [
    part("_stages", "stages", Number).from(1),
    part("_gm", "group_m", Number).from(1),
    part("_tma", "tma", Mark),
    part("_ctas", "ctas", Number).from(2),
    part("_wpe", "waves_per_eu", Number).from(1),
    part("_kpack", "kpack", Number).from(2),
];

/// `GROUP_M` of names that do not say it.
const GROUP_M: u8 = 8;

/// Checks the kernel of a name and what follows its suffixes. Other libraries' names may go on with words of
/// their own, but every word of Triton's is ours.
pub(super) fn check_end(scan: &Scan<'_>, kernel: &GemmKernel) -> Result<(), NameError> {
    scan.clone().end(
        "the end or, in this order and only when not the default, _stages{N}, _gm{N}, _tma, _ctas{N}, \
         _wpe{N}, _kpack{N}",
    )?;
    validate(kernel).map_err(|InvalidField { field, found, expected }| {
        scan.fail(format!("{field} is {found}, expected {expected}"))
    })
}

/// Checks what only Triton's kernels have.
pub(super) fn validate(kernel: &GemmKernel) -> Result<(), InvalidField> {
    let variant = &kernel.variant;
    if variant.library != GemmLibrary::Triton {
        let own = NameWriter::words(kernel, SUFFIXES, &GemmKernel::USUAL);
        return match own.first() {
            Some(word) => Err(InvalidField::new("library", variant.library, format!("triton for {word}"))),
            None => Ok(()),
        };
    }
    let (field, found, expected) = match (variant.stages, kernel.pipeline) {
        (2..=5, _) => ("stages", variant.stages, "1, 6, 7 or 8: the pipeline says 2 to 5"),
        (1, pipeline) if pipeline != Pipeline::CompV3 => ("stages", 1, "1 only with pipeline compv3"),
        (6.., pipeline) if pipeline != Pipeline::CompV6 => {
            ("stages", variant.stages, "more than 5 only with pipeline compv6")
        }
        _ if variant.group_m == GROUP_M => ("group_m", GROUP_M, "none for 8"),
        _ if variant.ctas == 1 => ("ctas", 1, "none for 1"),
        _ if variant.kpack == 1 => ("kpack", 1, "none for 1"),
        _ => return Ok(()),
    };
    Err(InvalidField::new(field, found, expected))
}

/// The words for traits that nobody measures by default: besides the suffixes one warp, more than eight, sides that
/// are no powers of two, and instructions that are not 16 x 16.
pub(super) fn words(kernel: &GemmKernel) -> Vec<String> {
    if kernel.variant.library != GemmLibrary::Triton {
        return Vec::new();
    }
    let GemmKernel { tile, wave, warp_tile, .. } = kernel;
    let warps = wave.m.saturating_mul(wave.n).saturating_mul(wave.k);
    let mut words = NameWriter::words(kernel, SUFFIXES, &GemmKernel::USUAL);
    words.extend((!(2..=8).contains(&warps)).then(|| format!("warps{warps}")));
    let odd = [tile.m, tile.n, tile.k].into_iter().filter(|side| !side.is_power_of_two());
    words.extend(odd.map(|side| format!("side{side}")));
    words.extend((warp_tile.m != 16).then(|| format!("nonkdim{}", warp_tile.m)));
    words
}

impl GemmKernel {
    /// The stages of one of Triton's kernels.
    pub fn stages(&self) -> Option<u8> {
        match self.variant.stages {
            0 => self.pipeline.stages(),
            stages => Some(stages),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::gemm::named;
    use crate::kernel::GemmKernel;

    const NAME: &str =
        "triton_gemm_bf16_rcr_compv4_default_intrawave_False_False_False_False_128x64x64_4x1x1_16x16x16";

    #[test]
    fn everything_that_triton_compiles_has_a_name() {
        let (one, six) = (NAME.replace("compv4", "compv3"), NAME.replace("compv4", "compv6"));
        for (name, stages, words) in [
            (NAME.to_owned(), 3, vec![]),
            (format!("{one}_stages1"), 1, vec!["stages1"]),
            (format!("{six}_stages8"), 8, vec!["stages8"]),
            (format!("{NAME}_gm1"), 3, vec!["gm1"]),
            (
                format!("{}_gm16_tma_ctas2", NAME.replace("False_128", "True_128")),
                3,
                vec!["gm16", "tma", "ctas2"],
            ),
            (
                format!("{}_wpe2_kpack2", NAME.replace("16x16x16", "32x32x8")),
                3,
                vec!["wpe2", "kpack2", "nonkdim32"],
            ),
            (NAME.replace("4x1x1", "8x2x1"), 3, vec!["warps16"]),
            (NAME.replace("4x1x1", "1x1x1"), 3, vec!["warps1"]),
            (NAME.replace("128x64x64", "96x64x48"), 3, vec!["side96", "side48"]),
        ] {
            let kernel = named(&name);
            assert_eq!((kernel.name(), kernel.identifier()), (name.clone(), name.clone()));
            assert_eq!((kernel.stages(), kernel.validate()), (Some(stages), Ok(())), "{name}");
            let all = kernel.suffixes();
            let own: Vec<_> = all
                .into_iter()
                .filter(|word| !["triton", "default", "persistent"].contains(&&**word))
                .collect();
            assert_eq!(own, words, "{name}");
        }
    }

    #[test]
    fn each_kernel_has_one_name() {
        for (suffix, reason) in [
            ("_stages3", "stages is 3, expected 1, 6, 7 or 8: the pipeline says 2 to 5"),
            ("_stages1", "stages is 1, expected 1 only with pipeline compv3"),
            ("_stages6", "stages is 6, expected more than 5 only with pipeline compv6"),
            ("_stages9", "_stages is 9, expected 1 to 8"),
            ("_gm8", "group_m is 8, expected none for 8"),
            ("_gm0", "_gm is 0, expected 1 to 255"),
            ("_ctas1", "_ctas is 1, expected 2 to 16"),
            ("_kpack1", "_kpack is 1, expected 2 to 16"),
            ("_tma_gm4", "found '_gm4', expected the end or, in this order"),
            ("_fast", "found '_fast', expected the end or, in this order"),
        ] {
            let error = GemmKernel::parse_name(&format!("{NAME}{suffix}")).unwrap_err();
            assert!(error.reason.starts_with(reason), "{error}");
        }
    }

    #[test]
    fn other_libraries_kernels_have_none_of_it() {
        let mut kernel = named(&NAME.replace("triton_gemm", "gemm_universal"));
        kernel.variant.group_m = 4;
        let error = kernel.validate().unwrap_err().to_string();
        assert_eq!(error, "library: found ck, expected triton for gm4");
    }
}
