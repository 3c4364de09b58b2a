//! The kernels that a file names, each name parsed once.

use std::collections::HashMap;

use ck_select_types::each_operation;
use ck_select_types::kernel::{Kernel, KernelKind};
use ck_select_types::vocab::{Arch, Direction, Dtype, Op};

use crate::operation::OperationData as _;

/// What to take; `None` accepts any value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    pub(crate) op: Option<Op>,
    pub(crate) direction: Option<Direction>,
    pub(crate) dtype: Option<Dtype>,
    /// Also used for rows that do not record an architecture.
    pub(crate) arch: Option<Arch>,
    /// Used for those rows if any architecture is accepted.
    pub(crate) assumed: Option<Arch>,
}

impl Filter {
    /// The architecture of rows that record none.
    pub(crate) fn unrecorded(&self) -> Option<Arch> {
        self.arch.or(self.assumed)
    }

    fn takes(&self, kernel: &KernelKind) -> bool {
        self.op.is_none_or(|op| op == kernel.op())
            && self.dtype.is_none_or(|dtype| dtype == kernel.dtype())
            && (self.direction.is_none() || kernel.direction().is_none_or(|own| Some(own) == self.direction))
    }
}

/// A parsed name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    /// A kernel whose rows are used.
    Taken {
        /// Index into [`Names::kernels`].
        id: u32,
        /// For kernels of one class, equal cells are equal problems.
        class: u32,
    },
    /// A kernel that was not requested.
    Other,
}

/// All names of a reader.
#[derive(Debug, Default)]
pub(super) struct Names {
    filter: Filter,
    kernels: Vec<Kernel>,
    known: HashMap<Box<str>, Named>,
    classes: HashMap<(Op, String), u32>,
}

impl Names {
    pub(super) fn new(filter: Filter) -> Self {
        Self { filter, ..Self::default() }
    }

    pub(super) const fn filter(&self) -> &Filter {
        &self.filter
    }

    pub(super) fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    pub(super) fn kernel(&self, id: u32) -> &Kernel {
        &self.kernels[id as usize]
    }

    /// Parses a name, or looks it up.
    pub(super) fn get(&mut self, name: &str) -> Result<Named, String> {
        if let Some(&named) = self.known.get(name) {
            return Ok(named);
        }
        if name.is_empty() {
            return Err("kernel name: found nothing".to_owned());
        }
        let kernel = Kernel::from_name(name).map_err(|error| error.to_string())?;
        let named = if self.filter.takes(&kernel.kind) {
            let next = self.classes.len() as u32;
            let class = each_operation!(&kernel.kind, KernelKind(kernel) as Own => Own::class(kernel));
            let class = *self.classes.entry((kernel.op(), class)).or_insert(next);
            let id = self.kernels.len() as u32;
            self.kernels.push(kernel);
            Named::Taken { id, class }
        } else {
            Named::Other
        };
        self.known.insert(name.into(), named);
        Ok(named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_asked_for_gets_an_id() {
        let mut names = Names::new(Filter { direction: Some(Direction::BwdData), ..Filter::default() });
        assert_eq!(names.get("grouped_conv_forward_bf16_2d_16x64x64_compv3"), Ok(Named::Other));
        let taken = names.get("grouped_conv_bwd_data_bf16_2d_16x64x64_compv3_intrawave_gm2").unwrap();
        assert_eq!(taken, Named::Taken { id: 0, class: 0 });
        assert_eq!(names.get("grouped_conv_bwd_data_bf16_2d_16x64x64_compv3_intrawave_gm2"), Ok(taken));
        assert!(names.get("conv").unwrap_err().contains("begins neither"));
        assert!(names.get("").is_err());
    }
}
