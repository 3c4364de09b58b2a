//! What all names of attention kernels begin with.

use super::{DTYPES, FmhaKernel, FmhaTile, dtype_words};
use crate::field::Record as _;
use crate::grammar::{Part, PartForm};
use crate::scan::{NameError, Scan};
use crate::vocab::{Dtype, FmhaFamily, FmhaMode, FmhaPipeline};

pub(super) const fn part(tag: &'static str, field: &'static str, form: PartForm) -> Part {
    Part::new(FmhaKernel::FIELDS, tag, field, form)
}

pub(super) const PIPELINE: Part = part("_", "pipeline", PartForm::Word).called("the pipeline");
pub(super) const ORDER: Part = part("_", "v_rowmajor", PartForm::Choice(&["vc", "vr"]));

/// The kernel of a name, before its numbers are read.
pub(super) fn blank_kernel(family: FmhaFamily, dtype: Dtype, mode: FmhaMode) -> FmhaKernel {
    let plain = FmhaKernel::plain(family, [1, 1], FmhaPipeline::Qr, FmhaTile::default());
    FmhaKernel { dtype, mode, ..plain }
}

/// Reads `_{dtype}_{mode}`.
pub(super) fn types(scan: &mut Scan<'_>) -> Result<(Dtype, FmhaMode), NameError> {
    scan.separator("the dtype")?;
    let dtype: Dtype = scan.word(Dtype::WORDS)?;
    if !DTYPES.contains(&dtype) {
        return Err(scan.fail(format!("found '{dtype}', expected a type of attention: {}", dtype_words())));
    }
    scan.separator("the mode")?;
    let mode = match scan.token() {
        "batch" => FmhaMode::Batch,
        "group" => FmhaMode::Group,
        word => return Err(scan.fail(format!("found '{word}', expected batch or group"))),
    };
    scan.eat(mode.as_str());
    Ok((dtype, mode))
}
