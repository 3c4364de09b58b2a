//! What features know about a convolution and its kernels, from values and from cells.

use super::super::claims::{Claims, NameClaim};
use super::super::operation::OperationTerms;
use super::super::reader::Reader;
use super::super::rules::coded_element_bytes;
use super::super::sides::{KernelFeatures, NameCell};
use super::super::{
    ElementBytes, Extractor, Feature, FieldError, KTile, KernelMapping, Rules, SideError, asked_problem,
};
use super::tile_cells::{self, TILE_CELLS};
use super::{ConvKernelTerms, ConvTerms, PipelineFlags};
use crate::cells::{Cell, Fields};
use crate::kernel::{ConvKernel, Mnk};
use crate::problem::{ConvProblem, InvalidField, Problem};
use crate::vocab::{Direction, Scheduler};

impl OperationTerms for ConvProblem {
    type Terms = ConvTerms;
    type KernelTerms = ConvKernelTerms;
    const SERVED_BY: Option<&'static str> = None;

    fn is_served_by(&self, _: Option<&ConvKernel>, _: &dyn Fields, _: bool) -> Result<bool, InvalidField> {
        Ok(true)
    }

    fn features() -> impl Iterator<Item = &'static Feature<ConvTerms, ConvKernelTerms>> {
        super::all()
    }

    fn terms(&self, extractor: &Extractor) -> Result<ConvTerms, InvalidField> {
        if let Some(axis) = self.stride.iter().position(|&stride| stride < 1) {
            let field = ["stride_d", "stride_h", "stride_w"][axis];
            return Err(InvalidField::new(field, self.stride[axis], "at least 1"));
        }
        let element_bytes = element_bytes(self.dtype_in.as_str(), extractor.rules)?;
        Ok(ConvTerms::new(self, element_bytes))
    }

    fn terms_of_cells(extractor: &Extractor, row: &dyn Fields) -> Result<ConvTerms, FieldError> {
        let reader = Reader::new(extractor, row);
        let pad = reader.axes(["pad_d", "pad_h", "pad_w"], 0)?;
        let problem = Self {
            direction: direction(&reader, extractor.direction)?,
            n: reader.int("N", 1)?,
            c: reader.int("C", 64)?,
            k: reader.int("K", 64)?,
            g: reader.int("G", 1)?,
            input: [reader.int("Di", 1)?, reader.int("Hi", 32)?, reader.int("Wi", 32)?],
            filter: reader.axes(["Z", "Y", "X"], 1)?,
            stride: reader.axes(["stride_d", "stride_h", "stride_w"], 1)?,
            dilation: reader.axes(["dilation_d", "dilation_h", "dilation_w"], 1)?,
            pad_left: pad,
            pad_right: pad,
            ..Self::USUAL
        };
        let element_bytes = element_bytes(reader.word("dtype", "bf16")?, extractor.rules)?;
        for (axis, name) in ["stride_d", "stride_h", "stride_w"].into_iter().enumerate() {
            if problem.stride[axis] == 0 {
                return Err(InvalidField::new(name, 0, "a number other than 0"));
            }
        }
        Ok(ConvTerms::new(&problem, element_bytes))
    }

    /// Padding after an axis, for which upstream has no cell, counts.
    fn terms_of_strict_cells(
        extractor: &Extractor,
        row: &dyn Fields,
        aliased: &dyn Fields,
    ) -> Result<ConvTerms, FieldError> {
        require(&Reader::new(extractor, aliased))?;
        let problem = asked_problem(extractor, row)?;
        problem.check_split()?;
        match problem {
            Problem::Conv(problem) if extractor.schema.universal_columns().is_none() => {
                problem.terms(extractor)
            }
            _ => Err(InvalidField::new("features", SideError::Universal, "those of a row")),
        }
    }
}

impl KernelFeatures for ConvKernel {
    type Terms = ConvKernelTerms;
    const BESIDE: &'static [&'static str] = &["variant", "ndim_spatial"];
    const OF_PROBLEMS: [&'static [&'static str]; 2] =
        [&["dtype", "direction", "variant", "ndim_spatial"], &["dtype_wei", "dtype_out", "layout"]];

    fn terms(&self, extractor: &Extractor) -> Result<ConvKernelTerms, InvalidField> {
        let (blocks, pipeline) =
            (extractor.blocks(self, extractor.rules.kernel_mapping), self.pipeline.as_str());
        Ok(ConvKernelTerms {
            intrawave: self.scheduler == Scheduler::Intrawave,
            has_dsb: self.double_smem_buffer.into(),
            has_si: self.split_image.into(),
            two_stage: self.two_stage,
            ..plain(extractor.rules.k_tile, blocks, (pipeline, extractor.pipeline_code(pipeline)?))
        })
    }

    fn terms_of_cells(extractor: &Extractor, row: &dyn Fields) -> Result<ConvKernelTerms, FieldError> {
        let reader = Reader::new(extractor, row);
        reader.require(TILE_CELLS[..3].iter().copied().chain(["pipeline"]))?;
        let (blocks, pipeline) = (extractor.read_blocks(&reader)?, reader.word("pipeline", "compv3")?);
        let code = reader.pipeline_code(extractor, pipeline)?;
        Ok(ConvKernelTerms {
            // As in a name that leaves them out.
            intrawave: reader.scheduler("wave_mode")? == "intrawave",
            has_dsb: reader.opt_int("has_dsb")?.unwrap_or(0),
            has_si: reader.opt_int("has_si")?.unwrap_or(0),
            two_stage: reader.opt_int("two_stage")?.is_some_and(|flag| flag != 0),
            ..plain(extractor.rules.k_tile, blocks, (pipeline, code))
        })
    }

    /// Tables have the numbers of a tile in two ways: in the order of the name, as upstream's converters and
    /// ours write them, or by their meaning. The column names do not tell which; both agree with the name.
    fn agree(&self, extractor: &Extractor, row: &dyn Fields, name: NameCell<'_>) -> Result<(), FieldError> {
        let found = tile_cells::found(&Reader::new(extractor, row))?;
        let readings = [KernelMapping::NameOrder, KernelMapping::Tile].map(|way| extractor.blocks(self, way));
        let agrees =
            |said: &[i64; 4]| found.iter().zip(said).all(|(found, said)| found.is_none_or(|x| x == *said));
        if readings.iter().any(agrees) {
            return Ok(());
        }
        let given = TILE_CELLS.iter().zip(found).filter_map(|(field, cell)| Some((*field, cell?)));
        let (fields, numbers): (Vec<_>, Vec<_>) =
            given.map(|(field, cell)| (field, cell.to_string())).unzip();
        let said = readings.map(|said| {
            let said = said.iter().zip(found).filter(|(_, cell)| cell.is_some());
            said.map(|(number, _)| number.to_string()).collect::<Vec<_>>().join(", ")
        });
        let expected = format!("{} (in the order of the name) or {}, as {}", said[0], said[1], name.says());
        Err(InvalidField::new(fields.join(", "), numbers.join(", "), expected))
    }

    fn absent_axes(&self) -> &'static [(&'static str, i64)] {
        let depth = &[("Di", 1), ("Z", 1), ("stride_d", 1), ("pad_d", 0), ("dilation_d", 1)];
        if self.ndim < 3 { depth } else { &[] }
    }

    fn converted(&self) -> Claims {
        let Mnk { m, n, k } = self.tile;
        let numbers = [("block_size", m), ("gemm_m_per_block", n), ("gemm_n_per_block", k)];
        let numbers = numbers.map(|(cell, number)| (cell, NameClaim::Number(number.into())));
        numbers.into_iter().chain([("dtype", NameClaim::Word(self.dtype_in.as_str()))]).collect()
    }
}

fn element_bytes(word: &str, rules: Rules) -> Result<f64, InvalidField> {
    match (word, rules.element_bytes) {
        ("int4", ElementBytes::Header) => Ok(2.0),
        _ => coded_element_bytes(2.0, word, rules.uncoded),
    }
}

/// A kernel with this tile and this pipeline, of which the features know the number, and nothing else.
fn plain(k_tile: KTile, blocks: [i64; 4], (pipeline, pipeline_code): (&str, f64)) -> ConvKernelTerms {
    let [block_size, gemm_m_per_block, gemm_n_per_block, gemm_k_per_block] = blocks;
    ConvKernelTerms {
        block_size,
        gemm_m_per_block,
        gemm_n_per_block,
        gemm_k_per_block,
        k_tile: if k_tile == KTile::BlockSize { block_size } else { gemm_k_per_block },
        pipeline_code,
        pipeline: PipelineFlags::new(pipeline),
        intrawave: false,
        has_dsb: 0,
        has_si: 0,
        two_stage: false,
    }
}

impl Extractor {
    /// `block_size`, `gemm_m_per_block`, `gemm_n_per_block` and `gemm_k_per_block` of a kernel.
    pub(super) fn blocks(&self, kernel: &ConvKernel, mapping: KernelMapping) -> [i64; 4] {
        let [m, n, k] = [kernel.tile.m, kernel.tile.n, kernel.tile.k].map(i64::from);
        match mapping {
            // The name's first number is both the block size and, if a model uses it, the depth of a step.
            KernelMapping::NameOrder => [m, n, k, m],
            KernelMapping::Tile => [self.threads(kernel.wave, kernel.arch), m, n, k],
        }
    }
}

/// The cells that a convolution needs everywhere, each with the dimensions from which on it counts; and the
/// type, which callers that know the model's default to.
const NEEDED: [(&str, i64); 7] = [("C", 1), ("K", 1), ("Hi", 2), ("Wi", 1), ("Y", 2), ("X", 1), ("dtype", 1)];

/// Refuses a convolution without cells that have no neutral value.
fn require(reader: &Reader<'_>) -> Result<(), FieldError> {
    let ndim = reader.opt_int("ndim")?.unwrap_or(2);
    let needed: Vec<_> =
        NEEDED.into_iter().filter(|&(_, least)| ndim >= least).map(|(name, _)| name).collect();
    reader.require(needed.iter().copied())?;
    match needed.iter().find(|name| !reader.has(name)) {
        Some(&name) => Err(Reader::absent(name, if name == "dtype" { "a word" } else { "a whole number" })),
        None => Ok(()),
    }
}

/// Upstream's tables have none, because a model is for one direction.
fn direction(reader: &Reader<'_>, default: Direction) -> Result<Direction, FieldError> {
    let Some(cell) = reader.cell("direction") else { return Ok(default) };
    let read = match cell {
        Cell::Word(word) => word.parse().ok(),
        Cell::Whole(_) | Cell::Number(_) => None,
    };
    match read {
        Some(direction) => Ok(direction),
        None if reader.is_lenient() => Ok(default),
        None => Err(InvalidField::new("direction", cell, "forward, bwd_data or bwd_weight")),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::features::{Engine, KernelTerms, ProblemTerms, Uncoded};
    use crate::kernel::Kernel;
    use crate::problem::{CONV_COLUMNS, ConvProblem};
    use crate::vocab::Op;

    /// Cells that record which names were read.
    #[derive(Default)]
    struct RecordingCells {
        cells: BTreeMap<&'static str, String>,
        names: RefCell<BTreeSet<String>>,
    }

    impl Fields for RecordingCells {
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
        let (problem, kernel) = (RecordingCells::default(), RecordingCells::default());
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
        let mut fields = RecordingCells { cells: cells.collect(), ..RecordingCells::default() };
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
        let row = |extractor: &Extractor, fields: &RecordingCells| {
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
