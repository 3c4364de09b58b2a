//! Rows of convolutions and of their kernels.

pub(super) mod tile;

use super::operation::NameCell;
use super::operation::{CellsInName, OperationRows};
use crate::cells::Fields;
use crate::features::{Extractor, KernelMapping, Uncoded};
use crate::given::Given;
use crate::kernel::{ConvKernel, Mnk};
use crate::problem::{ConvProblem, InvalidField};
use crate::vocab::ConvLayout;
use tile::TILE_CELLS;

impl OperationRows for ConvProblem {
    const BESIDE: &'static [&'static str] = &["variant", "ndim_spatial"];
    const IN_NAME: CellsInName = CellsInName {
        upstream: &["dtype", "direction", "variant", "ndim_spatial"],
        strict_only: &["dtype_wei", "dtype_out", "layout"],
    };
    const CONVERTED: &'static [&'static str] = &["dtype"];

    /// The cells that have no neutral value, and the type, which callers that know the model's default to.
    fn needs(given: &Given<Self>) -> &'static [&'static str] {
        match given.get("ndim") {
            Some(1) => &["C", "K", "Wi", "X", "dtype"],
            _ => &["C", "K", "Hi", "Wi", "Y", "X", "dtype"],
        }
    }

    /// CK's tools use `nhwgc` and `ndhwgc` for 3D.
    fn is_same(field: &str, values: [i64; 2]) -> bool {
        let order = |value: i64| ConvLayout::ALL.get(usize::try_from(value).ok()?).map(|one| one.order());
        values[0] == values[1] || field == "layout" && order(values[0]) == order(values[1])
    }

    fn needs_of_kernel(extractor: &Extractor) -> Result<Vec<&'static str>, InvalidField> {
        let cells = TILE_CELLS[..3].iter().copied().chain(["pipeline"]);
        Ok(cells.filter(|_| extractor.rules.uncoded == Uncoded::Error).collect())
    }

    fn kernel_of_cells(
        extractor: &Extractor,
        given: &Given<ConvKernel>,
        cells: &dyn Fields,
    ) -> Result<ConvKernel, InvalidField> {
        let (tile, wave) = tile::meant(extractor, tile::numbers(cells, false)?)?;
        Ok(ConvKernel { tile, wave, ..given.complete(&ConvKernel::USUAL) })
    }

    /// Tables have the numbers of a tile in two ways: in the order of the name, as upstream's converters and
    /// ours write them, or by their meaning. The column names do not tell which; both agree with the name.
    fn agree(
        extractor: &Extractor,
        kernel: &ConvKernel,
        cells: &dyn Fields,
        name: NameCell<'_>,
    ) -> Result<(), InvalidField> {
        let numbers = tile::numbers(cells, extractor.rules.uncoded == Uncoded::Upstream)?;
        let readings =
            [KernelMapping::NameOrder, KernelMapping::Tile].map(|way| extractor.blocks(kernel, way));
        let agrees = |blocks: &[i64; 4]| {
            numbers.iter().zip(blocks).all(|(number, block)| number.is_none_or(|number| number == *block))
        };
        if readings.iter().any(agrees) {
            return Ok(());
        }
        let given = TILE_CELLS.iter().zip(numbers).filter_map(|(field, cell)| Some((*field, cell?)));
        let (fields, found): (Vec<_>, Vec<_>) = given.map(|(field, cell)| (field, cell.to_string())).unzip();
        let [ordered, meant] = readings.map(|blocks| {
            let blocks = blocks.iter().zip(numbers).filter(|(_, cell)| cell.is_some());
            blocks.map(|(number, _)| number.to_string()).collect::<Vec<_>>().join(", ")
        });
        let expected = format!("{ordered} (in the order of the name) or {meant}, as {}", name.says());
        Err(InvalidField::new(fields.join(", "), found.join(", "), expected))
    }

    fn absent_axes(kernel: &ConvKernel) -> &'static [(&'static str, i64)] {
        let depth = &[("Di", 1), ("Z", 1), ("stride_d", 1), ("pad_d", 0), ("dilation_d", 1)];
        if kernel.ndim < 3 { depth } else { &[] }
    }

    fn converted(kernel: &ConvKernel) -> Vec<(&'static str, i64)> {
        let Mnk { m, n, k } = kernel.tile;
        TILE_CELLS.into_iter().zip([m, n, k]).map(|(cell, number)| (cell, number.into())).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value};

    use super::*;
    use crate::features::Engine;
    use crate::kernel::Kernel;
    use crate::problem::CONV_COLUMNS;
    use crate::rows::{Entrance, Object};
    use crate::vocab::Direction;

    #[test]
    fn rows_without_a_direction_have_the_models() {
        let problem = ConvProblem { c: 48, k: 96, ..ConvProblem::new_2d([14, 14], [3, 3]) }.padded([1, 1]);
        let problem = ConvProblem { direction: Direction::BwdWeight, ..problem };
        let name = "grouped_conv_bwd_weight_bf16_2d_64x64x64_compv3_intrawave_2stage";
        let mut extractor = Extractor::for_engine(Engine::ConvWork);
        let expected = extractor.row(&problem.into(), &Kernel::from_name(name).unwrap().kind).unwrap();
        let mut cells = Map::new();
        for (column, value) in CONV_COLUMNS.into_iter().zip(problem.columns()) {
            cells.insert(column.to_owned(), value.into());
        }
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
            cells.insert(column.to_owned(), text.into());
        }
        let row = |extractor: &Extractor, cells: &Map<String, Value>| {
            let cells = Object::from_json(Value::Object(cells.clone()).to_string().as_bytes()).unwrap();
            let mut row = vec![0.0; extractor.schema.len()];
            let filled = Entrance::new(extractor).fill(&cells, &mut row);
            filled.map(|()| row).map_err(|error| error.to_string())
        };
        assert_ne!(row(&extractor, &cells).unwrap(), expected, "a model of no direction is one of forward");
        cells.insert("direction".to_owned(), "sideways".into());
        let error = row(&extractor, &cells).unwrap_err();
        assert!(error.contains("'sideways'") && error.contains("bwd_data"), "{error}");
        cells.remove("direction");
        extractor.direction = Direction::BwdWeight;
        let by_model = row(&extractor, &cells).unwrap();
        cells.insert("direction".to_owned(), "bwd_weight".into());
        extractor.direction = Direction::Forward;
        let by_cell = row(&extractor, &cells).unwrap();
        assert_eq!((&by_model, &by_cell), (&expected, &expected));
    }
}
