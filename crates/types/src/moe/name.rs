//! The names of kernels of mixtures of experts.
//!
//! ```text
//! triton_moe_{a}[_w{b}]_{m}x{n}x{k}_group{n}_{n}warps_{n}stages[_wpe{n}][_nonkdim{n}][_kpack{n}][_splitk{n}][_tma]
//! moe_ck2stages_gemm{1|2}_{threads}x{m}x{n}x{k}_{waves m}x{waves n}_{epilogue}_v{n}_Nswizzle{0|1}_Quant{0..4}
//!   _MulRoutedWeight{0|1}[_{activation}]_{A}_{B}_{C}
//! ```
//!
//! `w` is the weights' type where it is not the rows', as `triton_moe_bf16_wint4_…`. The second grammar is
//! AITER's, with CK's words of types; only stage 1 has an activation. Each kernel has one name.

use super::MoeKernel;
use crate::field::{InvalidField, Record as _};
use crate::grammar::PartForm::{Joined, Mark, Number, Word};
use crate::grammar::{NameReader, NameWriter, Part, PartForm};
use crate::scan::{NameError, Scan};
use crate::vocab::{Dtype, GemmLibrary, MoeStage};

/// The beginning of the names of Triton's kernels.
const TRITON: &str = "triton_moe_";
/// The beginning of the names of CK's kernels, before the number of the stage.
const CK: &str = "moe_ck2stages_gemm";
/// Threads of a wave of CK's kernels.
const WAVE: u32 = 64;

/// The beginnings of names, for messages.
pub(super) const BEGINNINGS: &str = "'triton_moe_' or 'moe_ck2stages_'";

const fn part(tag: &'static str, field: &'static str, form: PartForm) -> Part {
    Part::new(MoeKernel::FIELDS, tag, field, form)
}

/// The parts of Triton's names behind the types. `stages` ends the last one.
const TRITON_PARTS: [Part; 4] = [
    part("_", "tile_m", Joined(3)).called("the tile"),
    part("_group", "group_m", Number),
    part("_", "wave_m", Number).called("the number of warps"),
    part("warps_", "stages", Number).from(1),
];
const TRITON_SUFFIXES: [Part; 5] = [
    part("_wpe", "waves_per_eu", Number).from(1),
    part("_nonkdim", "nonkdim", Number).from(1),
    part("_kpack", "kpack", Number).from(2),
    part("_splitk", "split_k", Number).from(2),
    part("_tma", "tma", Mark),
];
/// The parts of CK's names behind the number of threads.
const CK_PARTS: [Part; 7] = [
    part("x", "tile_m", Joined(3)).called("the tile"),
    part("_", "wave_m", Joined(2)).called("waves"),
    part("_", "epilogue", Word),
    part("_v", "version", Number).from(1),
    part("_Nswizzle", "nswizzle", Number),
    part("_Quant", "quant", Number),
    part("_MulRoutedWeight", "weighted", Number),
];
const ACTIVATION: [Part; 1] = [part("_", "activation", Word)];
/// CK's words of types.
const TYPES: [(&str, Dtype); 6] = [
    ("B16", Dtype::Bf16),
    ("F16", Dtype::Fp16),
    ("F8", Dtype::Fp8),
    ("I8", Dtype::Int8),
    ("FP4X2", Dtype::PkFp4),
    ("I4", Dtype::PkInt4),
];

/// The record of one of CK's kernels, before its name is read: it has none of Triton's words.
const CK_KERNEL: MoeKernel = MoeKernel { library: GemmLibrary::Aiter, ..MoeKernel::USUAL };

impl MoeKernel {
    /// Whether a text begins like a name of one of these kernels.
    pub(crate) fn begins_a_name(text: &str) -> bool {
        text.starts_with(TRITON) || text.starts_with(CK)
    }

    /// Reads a kernel's name.
    ///
    /// ```
    /// use ck_select_types::kernel::MoeKernel;
    ///
    /// let name = "triton_moe_bf16_64x128x64_group8_4warps_3stages";
    /// let kernel = MoeKernel::parse_name(name)?;
    /// assert_eq!((kernel.tile.n, kernel.waves(), kernel.stages), (128, 4, 3));
    /// assert_eq!(kernel.name(), name);
    /// # Ok::<(), ck_select_types::kernel::NameError>(())
    /// ```
    pub fn parse_name(name: &str) -> Result<Self, NameError> {
        let scan = &mut Scan::whole(name)?;
        let kernel = if scan.eat(TRITON) {
            triton(scan)?
        } else if scan.eat(CK) {
            ck(scan)?
        } else {
            return Err(scan.fail(format!("expected {BEGINNINGS}")));
        };
        match validate(&kernel) {
            Ok(()) => Ok(kernel),
            Err(InvalidField { field, found, expected }) => {
                Err(scan.fail(format!("{field} is {found}, expected {expected}")))
            }
        }
    }

    /// The kernel's name.
    pub fn name(&self) -> String {
        let Self { dtype_a, dtype_b, .. } = self;
        if self.library == GemmLibrary::Triton {
            let weights = if dtype_a == dtype_b { String::new() } else { format!("_w{dtype_b}") };
            let name = NameWriter::new(self, format!("{TRITON}{dtype_a}{weights}")).all(&TRITON_PARTS);
            return name.with("stages").other(&TRITON_SUFFIXES, &Self::USUAL).text;
        }
        let word = |dtype: Dtype| TYPES.iter().find(|(_, own)| *own == dtype).map_or("", |(word, _)| word);
        let [a, b, c] = [*dtype_a, *dtype_b, self.dtype_c].map(word);
        let stage = self.stage.map_or("", MoeStage::as_str);
        let begin = format!("{CK}{stage}_{}", WAVE * self.waves());
        let name = NameWriter::new(self, begin).all(&CK_PARTS).other(&ACTIVATION, &Self::USUAL);
        name.with(format_args!("_{a}_{b}_{c}")).text
    }
}

fn triton(scan: &mut Scan<'_>) -> Result<MoeKernel, NameError> {
    let dtype_a = scan.element()?;
    let dtype_b = if scan.eat("_w") { scan.element()? } else { dtype_a };
    let mut reader = NameReader::new(scan, &MoeKernel { dtype_a, dtype_b, ..MoeKernel::USUAL });
    reader.all(&TRITON_PARTS)?;
    if !reader.scan.eat("stages") {
        return Err(reader.scan.fail(format!("found '{}', expected 'stages'", reader.scan.ahead())));
    }
    reader.any(&TRITON_SUFFIXES)?;
    reader.scan.end(
        "the end or, in this order and only when not the default, _wpe{N}, _nonkdim{N}, _kpack{N}, _splitk{N}, \
         _tma",
    )?;
    Ok(reader.kernel(&MoeKernel::USUAL))
}

fn ck(scan: &mut Scan<'_>) -> Result<MoeKernel, NameError> {
    let stage = match scan.token() {
        "1" => MoeStage::One,
        "2" => MoeStage::Two,
        found => return Err(scan.fail(format!("found '{found}' for the stage, expected 1 or 2"))),
    };
    scan.eat(stage.as_str());
    scan.separator("the number of threads")?;
    let threads = scan.number("the number of threads", WAVE.into(), 1024)?;
    let kernel = MoeKernel { stage: Some(stage), ..CK_KERNEL };
    let mut reader = NameReader::new(scan, &kernel);
    reader.all(&CK_PARTS)?;
    if stage == MoeStage::One {
        reader.all(&ACTIVATION)?;
    }
    let kernel: MoeKernel = reader.kernel(&kernel);
    let [dtype_a, dtype_b, dtype_c] = [ck_type(scan)?, ck_type(scan)?, ck_type(scan)?];
    scan.end("the end of the name")?;
    if threads != i64::from(WAVE * kernel.waves()) {
        let expected = format!("{} for {} waves", WAVE * kernel.waves(), kernel.waves());
        return Err(scan.fail(format!("the number of threads is {threads}, expected {expected}")));
    }
    Ok(MoeKernel { dtype_a, dtype_b, dtype_c, ..kernel })
}

/// Reads `_` and CK's word of a type.
fn ck_type(scan: &mut Scan<'_>) -> Result<Dtype, NameError> {
    scan.separator("a type")?;
    let token = scan.token();
    let Some((word, dtype)) = TYPES.into_iter().find(|(word, _)| *word == token) else {
        let words = TYPES.map(|(word, _)| word).join(", ");
        return Err(scan.fail(format!("found '{token}', expected a type: {words}")));
    };
    scan.eat(word);
    Ok(dtype)
}

/// Checks that a kernel has what its library's names say, and nothing else.
pub(super) fn validate(kernel: &MoeKernel) -> Result<(), InvalidField> {
    let MoeKernel { library, stage, wave, stages, version, kpack, .. } = kernel;
    let fault = |field: &str, found: String, expected: &str| Err(InvalidField::new(field, found, expected));
    let is_triton = *library == GemmLibrary::Triton;
    if is_triton && let Some(word) = words_of_ck(kernel).first() {
        return fault("library", library.to_string(), &format!("aiter for {word}"));
    }
    if !is_triton && let Some(word) = words_of_triton(kernel).first() {
        return fault("library", library.to_string(), &format!("triton for {word}"));
    }
    if is_triton {
        return match (wave[1], stages, kpack) {
            (1, 0, _) => fault("stages", stages.to_string(), "1 to 255"),
            (1, _, 1) => fault("kpack", kpack.to_string(), "none for 1"),
            (1, ..) => Ok(()),
            (columns, ..) => fault("wave_n", columns.to_string(), "1: warps are along rows"),
        };
    }
    let has_activation = kernel.activation.is_some();
    match (library, stage, version) {
        (GemmLibrary::Ck, ..) => fault("library", library.to_string(), "triton or aiter"),
        (_, None | Some(MoeStage::Both), _) => fault("stage", "another".to_owned(), "1 or 2"),
        (.., 0) => fault("version", version.to_string(), "1 to 9"),
        _ if kernel.epilogue.is_none() => fault("epilogue", "nothing".to_owned(), "a word"),
        _ if kernel.quant.is_none() => fault("quant", "nothing".to_owned(), "a word"),
        (_, Some(MoeStage::One), _) if !has_activation => {
            fault("activation", "nothing".to_owned(), "a word for stage 1")
        }
        (_, Some(MoeStage::Two), _) if has_activation => {
            fault("activation", "a word".to_owned(), "nothing for stage 2")
        }
        _ => Ok(()),
    }
}

/// The words of traits that only Triton's kernels have.
fn words_of_triton(kernel: &MoeKernel) -> Vec<String> {
    let own = [part("_group", "group_m", Number), part("_stages", "stages", Number)];
    NameWriter::words(kernel, own.into_iter().chain(TRITON_SUFFIXES), &MoeKernel::USUAL)
}

/// The words of traits that only CK's kernels have.
fn words_of_ck(kernel: &MoeKernel) -> Vec<String> {
    let [.., epilogue, version, nswizzle, quant, weighted] = CK_PARTS;
    let own = [part("_gemm", "stage", Word), epilogue, version, nswizzle, quant, weighted, ACTIVATION[0]];
    let mut words = NameWriter::words(kernel, own, &MoeKernel::USUAL);
    words.extend((kernel.dtype_c != Dtype::Bf16).then(|| format!("dtype_c={}", kernel.dtype_c)));
    words
}

/// The words that set a kernel apart besides types and shapes.
pub(super) fn words(kernel: &MoeKernel) -> Vec<String> {
    if kernel.library == GemmLibrary::Triton {
        NameWriter::words(kernel, TRITON_SUFFIXES, &MoeKernel::USUAL)
    } else {
        words_of_ck(kernel)
    }
}
