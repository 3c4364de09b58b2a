//! What all names of attention kernels begin with, and how they are reader apart.

use super::{FmhaKernel, FmhaTile};
use crate::field::Record as _;
use crate::grammar::{Form, Part};
use crate::scan::{NameError, Scan};
use crate::vocab::{Dtype, FmhaFamily, FmhaMode, FmhaPipeline};

/// The beginning of every name.
const PREFIX: &str = "fmha_";

pub(super) const fn part(tag: &'static str, field: &'static str, form: Form) -> Part {
    Part::new(FmhaKernel::FIELDS, tag, field, form)
}

pub(super) const PIPELINE: Part = part("_", "pipeline", Form::Word).called("the pipeline");

/// Reads `fmha_{family}_{dtype}_{mode}_`: a kernel of that, whose other fields are to be read.
pub(super) fn head(scan: &mut Scan<'_>) -> Result<FmhaKernel, NameError> {
    let family = family(scan)?;
    scan.separator("the dtype")?;
    let (dtype, mode) = types(scan)?;
    scan.separator("what follows the mode")?;
    Ok(started(family, dtype, mode))
}

/// The kernel of a name, before its numbers are read.
pub(super) fn started(family: FmhaFamily, dtype: Dtype, mode: FmhaMode) -> FmhaKernel {
    let plain = FmhaKernel::plain(family, [1, 1], FmhaPipeline::Qr, FmhaTile::default());
    FmhaKernel { dtype, mode, ..plain }
}

/// Reads `fmha_{family}`.
pub(super) fn family(scan: &mut Scan<'_>) -> Result<FmhaFamily, NameError> {
    if !scan.eat(PREFIX) {
        return Err(scan.fail("expected 'fmha_'"));
    }
    scan.word(FmhaFamily::WORDS)
}

/// Reads `{dtype}_{mode}`.
pub(super) fn types(scan: &mut Scan<'_>) -> Result<(Dtype, FmhaMode), NameError> {
    let dtype: Dtype = scan.word(Dtype::WORDS)?;
    if !dtype.is_of_fmha() {
        let words: Vec<&str> =
            Dtype::ALL.iter().filter(|dtype| dtype.is_of_fmha()).map(|dtype| dtype.as_str()).collect();
        return Err(scan.fail(format!("found '{dtype}', expected a type of attention: {}", words.join(", "))));
    }
    scan.separator("the mode")?;
    let mode = match scan.token() {
        "batch" => FmhaMode::Batch,
        "group" => FmhaMode::Group,
        found => return Err(scan.fail(format!("found '{found}', expected batch or group"))),
    };
    scan.eat(mode.as_str());
    Ok((dtype, mode))
}

impl FmhaKernel {
    /// Reads a kernel's name in any of the grammars that say what it is.
    ///
    /// | after `fmha_` | grammar |
    /// |---|---|
    /// | family, dtype, mode, `vr` or `vc` | [`FmhaKernel::parse_identifier`]: the registry's key |
    /// | family, dtype, mode, `h…`, and a tile | [`FmhaKernel::parse_config_name`]: library files and tables |
    /// | `fwd_d` and a number | [`FmhaKernel::parse_ck_name`]: CK's example and the libraries made by it |
    ///
    /// The generator's names, which end in a hash, and the names of declarations contain too little: both are
    /// refused with that reason.
    pub fn parse_name(name: &str) -> Result<Self, NameError> {
        let mut scan = Scan::whole(name)?;
        let family = family(&mut scan)?;
        let after = scan.rest().strip_prefix('_').unwrap_or_default();
        if matches!(family, FmhaFamily::Fwd | FmhaFamily::BatchPrefill)
            && after.strip_prefix('d').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        {
            return Self::parse_ck_name(name);
        }
        scan.separator("the dtype")?;
        types(&mut scan)?;
        scan.separator("'vr', 'vc' or 'h' and the head size")?;
        let rest = scan.rest();
        if rest.starts_with("vr_") || rest.starts_with("vc_") {
            return Self::parse_identifier(name);
        }
        if rest.starts_with("dq") {
            return Err(scan.fail(
                "the name of a declaration, which omits tile and flags; expected the registry's identifier",
            ));
        }
        let last = rest.rsplit('_').next().unwrap_or_default();
        let is_hash = last.len() == 12 && last.bytes().all(|byte| byte.is_ascii_hexdigit());
        if rest.starts_with('h') && is_hash && !rest.contains('=') {
            return Err(scan.fail(
                "a generated name, whose hash cannot be read back; expected the registry's identifier or the \
                 configuration's name",
            ));
        }
        if rest.starts_with('h') {
            return Self::parse_config_name(name);
        }
        Err(scan.fail(format!("found '{}', expected 'vr', 'vc' or 'h' and the head size", scan.token())))
    }
}
