//! Rows of attention and of its kernels.

use super::operation::NameCell;
use super::operation::{CellsInName, OperationRows};
use super::upstream::Upstream as _;
use crate::cells::Fields;
use crate::features::{Extractor, Uncoded};
use crate::given::Given;
use crate::kernel::FmhaKernel;
use crate::problem::{FmhaProblem, InvalidField};

impl OperationRows for FmhaProblem {
    const SERVED_BY: Option<&'static str> =
        Some("kernels that support its type, mask, bias, lengths and the like");
    const BESIDE: &'static [&'static str] = &["dtype"];
    const SEVERAL_READINGS: &'static [&'static str] = &["qscale"];
    const IN_NAME: CellsInName = CellsInName { upstream: &["dtype"], strict_only: &[] };
    const CONVERTED: &'static [&'static str] = &[];

    fn needs(_: &Given<Self>) -> &'static [&'static str] {
        &["dtype", "batch", "seqlen_q", "seqlen_k", "nhead_q", "nhead_k", "hdim_q", "hdim_v"]
    }

    fn is_served_by(&self, kernel: Result<&FmhaKernel, &Given<Self>>, is_signed: bool) -> bool {
        match kernel {
            Ok(kernel) => kernel.matches_request(&if is_signed { *self } else { kernel.sign(self) }),
            Err(given) => !is_signed || given.differs_from_signature(self).is_none(),
        }
    }

    fn is_signed(given: &Given<Self>) -> bool {
        given.has_signature()
    }

    fn needs_of_kernel(extractor: &Extractor) -> Result<Vec<&'static str>, InvalidField> {
        let cells = Self::KERNEL.iter().chain(Self::KERNEL_WORDS).map(|names| names[0]);
        let is_strict = extractor.rules.uncoded == Uncoded::Error;
        Ok(cells.filter(|name| is_strict && *name != "qscale").collect())
    }

    fn kernel_of_cells(
        _: &Extractor,
        given: &Given<FmhaKernel>,
        _: &dyn Fields,
    ) -> Result<FmhaKernel, InvalidField> {
        Ok(given.complete(&FmhaKernel::USUAL))
    }

    fn agree(
        extractor: &Extractor,
        kernel: &FmhaKernel,
        cells: &dyn Fields,
        name: NameCell<'_>,
    ) -> Result<(), InvalidField> {
        if extractor.rules.uncoded == Uncoded::Error
            && let Some(field) =
                Given::signature(cells)?.differs_from_signature(&kernel.sign(&FmhaProblem::USUAL))
        {
            let expected = format!("the {field} of the row's cells");
            return Err(InvalidField::new(name.0, format_args!("'{}'", name.1), expected));
        }
        Ok(())
    }
}
