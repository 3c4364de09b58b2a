//! Feature inputs from named cells: a row of a CSV, or a mapping as upstream's Python tools take it.
//!
//! Upstream looks every input up by name and silently takes a default if it is absent or unknown.
//! [`Upstream`](super::Uncoded::Upstream) does exactly that, for parity; [`Error`](super::Uncoded::Error) refuses
//! both.

use super::aliases;
use super::conv::{ConvInputs, ConvKernelTerms, ConvTerms, PipelineFlags};
use super::gemm::vector::{ACCESS_DTYPES, VectorProblem, VectorWidths};
use super::gemm::{GemmBuild, GemmInputs, GemmKernelTerms, GemmTerms};
use super::named::Named;
use super::reader::Reader;
use super::rules::{coded_element_bytes, coded_word};
use super::schema::{EPILOGUES, SCHEDULERS};
use super::tile_cells::TILE_CELLS;
use super::{Extractor, FieldError, KTile, KernelTerms, ProblemTerms, SideError};
use crate::cells::{self, Cell, Fields};
use crate::hardware::Hardware;
use crate::inputs;
use crate::problem::{Groups, InvalidField};
use crate::vocab::{Arch, Direction, Dtype, Epilogue, GemmLayout, Op, Pipeline};

/// The inputs of one feature row.
#[derive(Debug, Clone, PartialEq)]
pub struct RowInputs {
    /// What features know about the problem.
    pub problem: ProblemTerms,
    /// What they know about the kernel.
    pub kernel: KernelTerms,
    /// The constants of the GPU.
    pub hardware: Hardware,
}

impl RowInputs {
    /// Reads the inputs of an extractor's features from named cells.
    ///
    /// The hardware is the extractor's, overridden by `hw_*` cells.
    pub fn read(extractor: &Extractor, fields: &dyn Fields) -> Result<Self, FieldError> {
        let (problem, kernel) = sides(extractor, fields)?;
        let reader = Reader::new(extractor, fields);
        // Upstream's C++ header for attention assumes a profile of zeros.
        let zeros = extractor.schema.op() == Op::Fmha && reader.is_lenient();
        let least = i64::from(!zeros);
        Ok(Self { problem, kernel, hardware: reader.hardware(extractor.hardware, least)? })
    }
}

/// Reads both sides of a row: the kernel from its name if it has one, otherwise from its cells.
pub(crate) fn sides(
    extractor: &Extractor,
    row: &dyn Fields,
) -> Result<(ProblemTerms, KernelTerms), FieldError> {
    named_sides(extractor, row, Named::read(extractor, row)?)
}

/// The same for a row of which it is known whether it names its kernel.
pub(crate) fn named_sides(
    extractor: &Extractor,
    row: &dyn Fields,
    named: Option<Named>,
) -> Result<(ProblemTerms, KernelTerms), FieldError> {
    match named {
        Some(named) => {
            named.check_variant(extractor, row)?;
            let kernel = named.side(extractor)?;
            Ok((named.into_problem().complete(extractor, row)?, kernel))
        }
        None => Ok((ProblemTerms::read(extractor, row)?, KernelTerms::read_cells(extractor, row)?)),
    }
}

impl ProblemTerms {
    /// Reads what an extractor's features know about a problem from named cells.
    pub fn read(extractor: &Extractor, fields: &dyn Fields) -> Result<Self, FieldError> {
        let reader = Reader::new(extractor, fields);
        if !reader.is_lenient() {
            return Self::read_strict(extractor, fields);
        }
        Ok(match extractor.schema.op() {
            Op::Conv => Self::Conv(reader.conv_problem(extractor)?),
            Op::Gemm => Self::Gemm(reader.gemm_problem(extractor)?),
            Op::Fmha => Self::Fmha(reader.fmha_problem(extractor)?),
        })
    }

    /// The same if absent cells are errors: invalid values, and values that the features would ignore, are
    /// errors, too. Padding after an axis, for which upstream has no cell, counts.
    fn read_strict(extractor: &Extractor, fields: &dyn Fields) -> Result<Self, FieldError> {
        let row = aliases::AliasedFields { op: extractor.schema.op(), row: fields };
        let reader = Reader::new(extractor, &row);
        aliases::check_op(extractor.schema.op(), fields)?;
        match extractor.schema.op() {
            Op::Conv => {
                reader.require_conv()?;
                extractor.problem_side(&aliases::read(extractor, fields)?).map_err(|error| match error {
                    SideError::Field(error) => error,
                    other => InvalidField::new("features", other, "those of a row"),
                })
            }
            Op::Gemm => {
                let side = reader.gemm_problem(extractor)?;
                aliases::read(extractor, fields)?;
                Ok(Self::Gemm(side))
            }
            // A row has the kernel's flags under the problem's names.
            Op::Fmha => Ok(Self::Fmha(reader.fmha_problem(extractor)?)),
        }
    }
}

impl KernelTerms {
    /// Reads what an extractor's features know about a kernel from named cells: from its name if there is one
    /// ([`NAME_COLUMNS`](super::NAME_COLUMNS)), with which the other cells must agree, otherwise from the
    /// others.
    pub fn read(extractor: &Extractor, fields: &dyn Fields) -> Result<Self, FieldError> {
        match Named::read(extractor, fields)? {
            Some(named) => named.side(extractor),
            None => Self::read_cells(extractor, fields),
        }
    }

    /// The same for a row that names no kernel.
    pub(crate) fn read_cells(extractor: &Extractor, fields: &dyn Fields) -> Result<Self, FieldError> {
        let reader = Reader::new(extractor, fields);
        Ok(match extractor.schema.op() {
            Op::Conv => Self::Conv(reader.conv_kernel(extractor)?),
            Op::Gemm => Self::Gemm(reader.gemm_kernel(extractor)?),
            Op::Fmha => Self::Fmha(reader.fmha_kernel(extractor)?),
        })
    }
}

/// The cells without which a convolution is not known, each with the dimensions from which on it counts.
const CONV_NEEDED: [(&str, i64); 17] = [
    ("N", 1),
    ("C", 1),
    ("K", 1),
    ("G", 1),
    ("Di", 3),
    ("Hi", 2),
    ("Wi", 1),
    ("Z", 3),
    ("Y", 2),
    ("X", 1),
    ("stride_d", 3),
    ("stride_h", 2),
    ("stride_w", 1),
    ("pad_d", 3),
    ("pad_h", 2),
    ("pad_w", 1),
    ("dtype", 1),
];

impl<'a> Reader<'a> {
    /// Refuses a convolution without cells that have no neutral value. Dilation has one, as everywhere, and
    /// an axis that the problem does not have.
    fn require_conv(&self) -> Result<(), FieldError> {
        let above = |name, bound| Ok(self.opt_int(name)?.is_some_and(|value| value > bound));
        let ndim = match self.opt_int("ndim")? {
            Some(ndim) => ndim,
            None if above("Di", 1)? || above("Z", 1)? || above("pad_d", 0)? => 3,
            None => 2,
        };
        let needed: Vec<_> =
            CONV_NEEDED.into_iter().filter(|&(_, least)| ndim >= least).map(|(name, _)| name).collect();
        self.require(needed.iter().copied())?;
        match needed.iter().find(|name| !self.has(name)) {
            Some(&name) => Err(Self::absent(name, if name == "dtype" { "a word" } else { "a whole number" })),
            None => Ok(()),
        }
    }

    /// With upstream's defaults.
    fn conv_problem(&self, extractor: &Extractor) -> Result<ConvTerms, FieldError> {
        let pad = self.axes(["pad_d", "pad_h", "pad_w"], 0)?;
        let inputs = ConvInputs {
            direction: self.direction(extractor.direction)?,
            n: self.int("N", 1)?,
            c: self.int("C", 64)?,
            k: self.int("K", 64)?,
            g: self.int("G", 1)?,
            input: [self.int("Di", 1)?, self.int("Hi", 32)?, self.int("Wi", 32)?],
            filter: self.axes(["Z", "Y", "X"], 1)?,
            stride: self.axes(["stride_d", "stride_h", "stride_w"], 1)?,
            dilation: self.axes(["dilation_d", "dilation_h", "dilation_w"], 1)?,
            pad,
            pad_both: pad.map(|side| side.saturating_mul(2)),
            element_bytes: coded_element_bytes(Op::Conv, self.word("dtype", "bf16")?, extractor.rules)?,
        };
        for (axis, name) in ["stride_d", "stride_h", "stride_w"].into_iter().enumerate() {
            if inputs.stride[axis] == 0 {
                return Err(InvalidField::new(name, 0, "a number other than 0"));
            }
        }
        Ok(ConvTerms::new(&inputs))
    }

    fn conv_kernel(&self, extractor: &Extractor) -> Result<ConvKernelTerms, FieldError> {
        let rules = &extractor.rules;
        self.require(TILE_CELLS[..3].iter().copied().chain(["pipeline"]))?;
        let [block_size, gemm_m_per_block, gemm_n_per_block, gemm_k_per_block] =
            extractor.read_blocks(self)?;
        let pipeline = self.word("pipeline", "compv3")?;
        Ok(ConvKernelTerms {
            block_size,
            gemm_m_per_block,
            gemm_n_per_block,
            gemm_k_per_block,
            k_tile: match rules.k_tile {
                KTile::BlockSize => block_size,
                KTile::GemmKPerBlock => gemm_k_per_block,
            },
            pipeline_code: self.pipeline_code(extractor, pipeline)?,
            pipeline: PipelineFlags::of(pipeline),
            // As in a name that leaves them out.
            intrawave: self.scheduler("wave_mode")? == "intrawave",
            has_dsb: self.opt_int("has_dsb")?.unwrap_or(0),
            has_si: self.opt_int("has_si")?.unwrap_or(0),
            two_stage: self.opt_int("two_stage")?.is_some_and(|flag| flag != 0),
        })
    }

    /// Number of a pipeline. Features without it are those of any word, but a misspelt one is an error.
    fn pipeline_code(&self, extractor: &Extractor, word: &str) -> Result<f64, FieldError> {
        let code = extractor.pipeline_code(word)?;
        match word.parse::<Pipeline>() {
            Err(error) if !self.is_lenient() => Err(InvalidField::word("pipeline", &error)),
            _ => Ok(code),
        }
    }

    /// Upstream's tables have none, because a model is for one direction.
    fn direction(&self, default: Direction) -> Result<Direction, FieldError> {
        let Some(cell) = self.fields.cell("direction") else { return Ok(default) };
        let read = match cell {
            Cell::Word(word) => word.parse().ok(),
            Cell::Whole(_) | Cell::Number(_) => None,
        };
        match read {
            Some(direction) => Ok(direction),
            None if self.is_lenient() => Ok(default),
            None => Err(InvalidField::new("direction", cell, "forward, bwd_data or bwd_weight")),
        }
    }

    fn scheduler(&self, name: &str) -> Result<&'a str, FieldError> {
        let word = cells::text(self.fields, name)?.unwrap_or("intrawave");
        if self.is_lenient() || SCHEDULERS.contains(&word) {
            return Ok(word);
        }
        Err(InvalidField::new(name, format_args!("'{word}'"), format!("one of {}", SCHEDULERS.join(", "))))
    }

    /// An extent; the lower-case name takes precedence over the upper-case one.
    fn extent(&self, lower: &str, upper: &str) -> Result<i64, FieldError> {
        match self.opt_int(lower)? {
            Some(value) => Ok(value),
            None => self.int(upper, 0).map_err(|error| InvalidField { field: lower.to_owned(), ..error }),
        }
    }

    fn gemm_problem(&self, extractor: &Extractor) -> Result<GemmTerms, FieldError> {
        let rules = &extractor.rules;
        let absent = ["m", "n", "k"].into_iter().zip(["M", "N", "K"]).filter(|(_, upper)| !self.has(upper));
        self.require(absent.map(|(lower, _)| lower).chain(["split_k", "dtype", "layout"]))?;
        let extents = [self.extent("m", "M")?, self.extent("n", "N")?, self.extent("k", "K")?];
        let with_vector = extractor.schema.needs_vector();
        let (batch, count) = (self.opt_int("batch")?, self.opt_int("batch_count")?);
        let batch = batch.or(count).unwrap_or(0);
        let batch = u32::try_from(batch).map_err(|_| InvalidField::new("batch", batch, "0 or more GEMMs"))?;
        Ok(GemmTerms::new(&GemmInputs {
            m: extents[0],
            n: extents[1],
            k: extents[2],
            split_k: self.int("split_k", 1)?,
            element_bytes: coded_element_bytes(Op::Gemm, self.word("dtype", "fp8")?, *rules)?,
            layout_code: coded_word(
                "layout",
                self.word("layout", "rcr")?,
                GemmLayout::TRAINED,
                rules.uncoded,
            )?,
            integers: self.word("dtype", "fp8")? == Dtype::Int8.as_str(),
            vector: if with_vector { Some(self.vector_problem(extents)?) } else { None },
            batch,
            groups: cells::text(self.fields, "groups")?.map_or(Ok(Groups::NONE), str::parse)?,
        }))
    }

    fn gemm_kernel(&self, extractor: &Extractor) -> Result<GemmKernelTerms, FieldError> {
        let rules = &extractor.rules;
        let with_vector = extractor.schema.needs_vector();
        if extractor.schema.needs_build() {
            return Err(Self::absent("kernel", "the kernel's name, which says what no cells say"));
        }
        // All but the widths, which only some engines read.
        self.require(inputs::of_kernel(Op::Gemm).iter().copied().filter(|name| !name.starts_with("vec_")))?;
        let triple = |names: [&str; 3], default: [i64; 3]| -> Result<[i64; 3], FieldError> {
            let value = |axis: usize| match self.opt_int(names[axis])? {
                Some(value) => Ok(value),
                // The engine with vector widths never had defaults for these.
                None if self.is_lenient() && !with_vector => Ok(default[axis]),
                None => Err(Self::absent(names[axis], "a whole number")),
            };
            Ok([value(0)?, value(1)?, value(2)?])
        };
        // An absent pipeline is numbered as compv4 but has all of the shared memory.
        let pipeline = cells::text(self.fields, "pipeline")?;
        let (pipeline_code, half_lds) = match pipeline {
            None if self.is_lenient() => (1.0, false),
            None => return Err(Self::absent("pipeline", "a word")),
            Some(word) => (self.pipeline_code(extractor, word)?, PipelineFlags::of(word).half_lds),
        };
        let epilogue = self.word("epilogue", "cshuffle")?;
        let vector = if with_vector { Some(self.vector_widths()?) } else { None };
        Ok(GemmKernelTerms {
            tile: triple(["tile_m", "tile_n", "tile_k"], [128, 128, 64])?,
            wave: triple(["warp_m", "warp_n", "warp_k"], [2, 2, 1])?,
            warp_tile: triple(["warp_tile_m", "warp_tile_n", "warp_tile_k"], [32, 32, 16])?,
            pipeline_code,
            half_lds,
            scheduler_code: coded_word(
                "scheduler",
                self.word("scheduler", "intrawave")?,
                SCHEDULERS,
                rules.uncoded,
            )?,
            epilogue_code: match vector {
                Some(VectorWidths { epilogue: Epilogue::Tdm, .. }) => 0.0,
                _ => coded_word("epilogue", epilogue, EPILOGUES, rules.uncoded)?,
            },
            pad: rules.mem_pads.of(
                pipeline.unwrap_or_default(),
                [self.flag("pad_m")?, self.flag("pad_n")?, self.flag("pad_k")?],
            ),
            persistent: self.flag("persistent")?,
            vector,
            build: GemmBuild::default(),
        })
    }

    /// A word that the engine with vector widths requires even in upstream mode.
    fn strict<T>(&self, name: &str, accepted: &[&str]) -> Result<T, FieldError>
    where
        T: std::str::FromStr,
    {
        let expected = || format!("one of {}", accepted.join(", "));
        let word = cells::text(self.fields, name)?.ok_or_else(|| Self::absent(name, &expected()))?;
        let known = accepted.contains(&word) || name == "arch";
        word.parse()
            .ok()
            .filter(|_| known)
            .ok_or_else(|| InvalidField::new(name, format_args!("'{word}'"), expected()))
    }

    fn vector_problem(&self, extents: [i64; 3]) -> Result<VectorProblem, FieldError> {
        let layout: GemmLayout = self.strict("layout", GemmLayout::TRAINED)?;
        let dtype: Dtype = self.strict("dtype", ACCESS_DTYPES)?;
        let arch: Arch = self.strict("arch", &["gfx9xx", "gfx10xx", "gfx11xx", "gfx12xx", "sm_NN"])?;
        for (name, extent) in ["m", "n", "k"].into_iter().zip(extents) {
            if extent < 1 {
                let said =
                    [name, &name.to_ascii_uppercase()].iter().any(|name| self.fields.cell(name).is_some());
                let found = if said { extent.to_string() } else { "nothing".to_owned() };
                return Err(InvalidField::new(name, found, "at least 1"));
            }
        }
        VectorProblem::new(extents, layout, dtype, arch.wave_size())
            .ok_or_else(|| InvalidField::new("dtype", dtype, format!("one of {}", ACCESS_DTYPES.join(", "))))
    }

    fn vector_widths(&self) -> Result<VectorWidths, FieldError> {
        let width = |name: &str| match self.opt_int(name)? {
            Some(width) if width >= 0 => Ok(width),
            Some(width) => Err(InvalidField::new(name, width, "0 (native) or a width")),
            None => Err(Self::absent(name, "0 (native) or a width")),
        };
        let widths = [width("vec_a")?, width("vec_b")?, width("vec_c")?];
        Ok(VectorWidths { widths, epilogue: self.strict("epilogue", &["default", "cshuffle", "tdm"])? })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::features::{Engine, Rules, Uncoded};
    use crate::kernel::Kernel;
    use crate::problem::{CONV_COLUMNS, ConvProblem};

    /// Cells that record which names were read.
    #[derive(Default)]
    struct Asked {
        cells: BTreeMap<&'static str, String>,
        names: RefCell<BTreeSet<String>>,
    }

    impl Fields for Asked {
        fn get(&self, name: &str) -> Option<&str> {
            self.names.borrow_mut().insert(name.to_owned());
            self.cells.get(name).map(String::as_str)
        }
    }

    #[test]
    fn inputs_of_convolutions_are_the_cells_that_are_read() {
        let of_engine = Extractor::of_engine(Engine::ConvWork);
        let extractor =
            Extractor { rules: Rules { uncoded: Uncoded::Upstream, ..of_engine.rules }, ..of_engine };
        let listed = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<BTreeSet<_>>();
        let (problem, kernel) = (Asked::default(), Asked::default());
        ProblemTerms::read(&extractor, &problem).unwrap();
        let mut read = problem.names.into_inner();
        // Features do not use it: it tells to which problems a model applies.
        read.insert("arch".to_owned());
        assert_eq!(read, listed(&crate::inputs::of_problem(Op::Conv)));
        KernelTerms::read_cells(&extractor, &kernel).unwrap();
        assert_eq!(kernel.names.into_inner(), listed(crate::inputs::of_kernel(Op::Conv)));
    }

    #[test]
    fn rows_without_a_direction_have_the_models() {
        let problem = ConvProblem { c: 48, k: 96, ..ConvProblem::new_2d([14, 14], [3, 3]) }.padded([1, 1]);
        let problem = ConvProblem { direction: Direction::BwdWeight, ..problem };
        let name = "grouped_conv_bwd_weight_bf16_2d_64x64x64_compv3_intrawave_2stage";
        let mut extractor = Extractor::of_engine(Engine::ConvWork);
        let expected = extractor.row(&problem.into(), &Kernel::from_name(name).unwrap().kind).unwrap();
        let cells = CONV_COLUMNS.into_iter().zip(problem.columns().map(|value| value.to_string()));
        let mut fields = Asked { cells: cells.collect(), ..Asked::default() };
        for (column, text) in [
            ("dtype", "bf16"),
            ("block_size", "256"),
            ("gemm_m_per_block", "64"),
            ("gemm_n_per_block", "64"),
            ("gemm_k_per_block", "64"),
            ("pipeline", "compv3"),
            ("wave_mode", "intrawave"),
            ("has_dsb", "0"),
            ("has_si", "0"),
            ("two_stage", "1"),
        ] {
            fields.cells.insert(column, text.to_owned());
        }
        let row = |extractor: &Extractor, fields: &Asked| {
            let sides = (ProblemTerms::read(extractor, fields), KernelTerms::read(extractor, fields));
            let mut row = vec![0.0; extractor.schema.len()];
            extractor.fill(&sides.0.unwrap(), &sides.1.unwrap(), &mut row);
            row
        };
        assert_ne!(row(&extractor, &fields), expected, "a model of no direction is one of forward");
        fields.cells.insert("direction", "sideways".to_owned());
        let error = ProblemTerms::read(&extractor, &fields).unwrap_err().to_string();
        assert!(error.contains("'sideways'") && error.contains("bwd_data"), "{error}");
        fields.cells.remove("direction");
        extractor.direction = Direction::BwdWeight;
        let by_model = row(&extractor, &fields);
        fields.cells.insert("direction", "bwd_weight".to_owned());
        extractor.direction = Direction::Forward;
        let by_cell = row(&extractor, &fields);
        assert_eq!((&by_model, &by_cell), (&expected, &expected));
    }
}
