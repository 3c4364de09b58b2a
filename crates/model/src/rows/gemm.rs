//! Rows of GEMMs and of their kernels.

use super::name::agree_with;
use super::operation::NameCell;
use super::operation::{CellsInName, OperationRows};
use super::upstream::Upstream as _;
use crate::cells::{self, Fields};
use crate::features::{ACCESS_DTYPES, Extractor, Uncoded};
use crate::given::Given;
use crate::kernel::GemmKernel;
use crate::problem::{GemmProblem, InvalidField};
use crate::vocab::{Dtype, Epilogue, GemmLayout, Pipeline};

const PADS: [&str; 3] = ["pad_m", "pad_n", "pad_k"];

/// The fields of a problem that tell kernels of one variant from those of another.
macro_rules! variant {
    () => {
        "batch, groups, stream_k, num_d, preshuffle and quant"
    };
}

impl OperationRows for GemmProblem {
    const SERVED_BY: Option<&'static str> = Some(concat!("kernels for its ", variant!()));
    const VARIANT: Option<&'static str> = Some(variant!());
    const SEVERAL_READINGS: &'static [&'static str] = &PADS;
    const IN_NAME: CellsInName =
        CellsInName { upstream: &["dtype", "layout"], strict_only: &["dtype_b", "dtype_c"] };
    const CONVERTED: &'static [&'static str] = &["pad_m", "pad_n", "pad_k", "dtype", "layout"];

    fn needs(_: &Given<Self>) -> &'static [&'static str] {
        &["m", "n", "k", "split_k", "dtype", "layout"]
    }

    /// Vector widths need the words even where absent ones have defaults.
    fn check(extractor: &Extractor, given: &Given<Self>) -> Result<(), InvalidField> {
        if !extractor.schema.needs_vector() {
            return Ok(());
        }
        let layout = given.value("layout").map(|layout: GemmLayout| layout.to_string());
        let dtype = given.value("dtype").map(|dtype: Dtype| dtype.as_str().to_owned());
        for (name, word, accepted) in
            [("layout", layout, GemmLayout::TRAINED), ("dtype", dtype, ACCESS_DTYPES)]
        {
            if !word.as_ref().is_some_and(|word| accepted.contains(&word.as_str())) {
                let word = word.map_or_else(|| "nothing".to_owned(), |word| format!("'{word}'"));
                return Err(InvalidField::new(name, word, format!("one of {}", accepted.join(", "))));
            }
        }
        if given.arch().is_none() {
            let expected = "one of gfx9xx, gfx10xx, gfx11xx, gfx12xx, sm_NN";
            return Err(InvalidField::new("arch", "nothing", expected));
        }
        for name in ["m", "n", "k"] {
            let extent = given.get(name);
            if extent.is_none_or(|extent| extent < 1) {
                let extent = extent.map_or_else(|| "nothing".to_owned(), |extent| extent.to_string());
                return Err(InvalidField::new(name, extent, "at least 1"));
            }
        }
        Ok(())
    }

    fn is_served_by(&self, kernel: Result<&GemmKernel, &Given<Self>>, _: bool) -> bool {
        kernel.is_ok_and(|kernel| kernel.matches_request(self)) || kernel.is_err()
    }

    fn needs_of_kernel(extractor: &Extractor) -> Result<Vec<&'static str>, InvalidField> {
        if extractor.schema.needs_build() {
            let expected = "the kernel's name, which says what no cells say";
            return Err(InvalidField::new("kernel", "nothing", expected));
        }
        let (with_vector, is_strict) =
            (extractor.schema.needs_vector(), extractor.rules.uncoded == Uncoded::Error);
        let is_needed = |name: &&str| match *name {
            // The engine with vector widths never had defaults for tiles.
            "pipeline" | "scheduler" | "persistent" | "pad_m" | "pad_n" | "pad_k" => is_strict,
            name if name.starts_with("vec_") => with_vector,
            _ => with_vector || is_strict,
        };
        Ok(Self::KERNEL.iter().map(|names| names[0]).filter(is_needed).collect())
    }

    fn check_kernel(
        extractor: &Extractor,
        given: &Given<GemmKernel>,
        cells: &dyn Fields,
    ) -> Result<(), InvalidField> {
        let epilogue = given.value::<Epilogue>("epilogue").filter(|_| !given.is_unknown("epilogue"));
        let is_known = matches!(epilogue, Some(Epilogue::Default | Epilogue::CShuffle | Epilogue::Tdm));
        match cells::text(cells, "epilogue")? {
            Some(word) if extractor.schema.needs_vector() && !is_known => {
                let expected = "one of default, cshuffle, tdm";
                Err(InvalidField::new("epilogue", format_args!("'{word}'"), expected))
            }
            _ => Ok(()),
        }
    }

    fn kernel_of_cells(
        _: &Extractor,
        given: &Given<GemmKernel>,
        _: &dyn Fields,
    ) -> Result<GemmKernel, InvalidField> {
        Ok(given.complete(&GemmKernel::USUAL))
    }

    /// Tables record what kernels of pipeline `mem` do, which is to pad, whatever their names say.
    fn agree(
        extractor: &Extractor,
        kernel: &GemmKernel,
        cells: &dyn Fields,
        name: NameCell<'_>,
    ) -> Result<(), InvalidField> {
        let padded = GemmKernel { pad: [true; 3], ..kernel.clone() };
        if kernel.pipeline == Pipeline::Mem && agree_with(extractor, &padded, PADS, cells, name).is_ok() {
            return Ok(());
        }
        agree_with(extractor, kernel, PADS, cells, name)
    }
}
