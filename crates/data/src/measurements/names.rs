//! The kernels that a file names, each name parsed once.

use std::collections::HashMap;
use std::rc::Rc;

use ck_select_types::kernel::{Kernel, KernelKind};
use ck_select_types::vocab::{Arch, Direction, Dtype, Op};

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

/// All names of a reader.
#[derive(Debug, Default)]
pub(super) struct Names {
    filter: Filter,
    /// The kernel of each name; `None` if it was not requested.
    known: HashMap<Box<str>, Option<Rc<Kernel>>>,
}

impl Names {
    pub(super) fn new(filter: Filter) -> Self {
        Self { filter, ..Self::default() }
    }

    pub(super) const fn filter(&self) -> &Filter {
        &self.filter
    }

    /// The kernel of a name, parsed or looked up; `None` if it was not requested.
    pub(super) fn get(&mut self, name: &str) -> Result<Option<Rc<Kernel>>, String> {
        if let Some(known) = self.known.get(name) {
            return Ok(known.clone());
        }
        if name.is_empty() {
            return Err("kernel name: found nothing".to_owned());
        }
        let kernel = Kernel::from_name(name).map_err(|error| error.to_string())?;
        let kernel = self.filter.takes(&kernel.kind).then(|| Rc::new(kernel));
        self.known.insert(name.into(), kernel.clone());
        Ok(kernel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_asked_for_is_taken() {
        let mut names = Names::new(Filter { direction: Some(Direction::BwdData), ..Filter::default() });
        assert_eq!(names.get("grouped_conv_forward_bf16_2d_16x64x64_compv3"), Ok(None));
        let name = "grouped_conv_bwd_data_bf16_2d_16x64x64_compv3_intrawave_gm2";
        for _ in 0..2 {
            assert_eq!(names.get(name).unwrap().unwrap().name, name);
        }
        assert!(names.get("conv").unwrap_err().contains("begins neither"));
        assert!(names.get("").is_err());
    }
}
