//! Winners of AITER's tables of fused mixtures of experts, of which a row has a kernel of each stage.
//!
//! A stage is a shape of its own: the kernels of one compete among themselves, for as many rows as a table has,
//! with the time of the stage. Where a stage was won by another library's kernel (assembly, `FlyDSL`, one for both
//! stages), the row says nothing of CK's.

use ck_select_types::cells::{Cell, NamedCells};
use ck_select_types::hardware::Hardware;
use ck_select_types::kernel::Kernel;
use ck_select_types::operation::OperationProblem as _;
use ck_select_types::problem::{MoeProblem, Problem, ProblemDefaults};
use ck_select_types::sheet::aiter::{FMOE_COLUMNS, FMOE_KERNELS};
use ck_select_types::sheet::{Column, Columns, Row, Sheet};
use ck_select_types::vocab::{Arch, Op};

use super::super::adding::{Key, arch_with, text};
use super::super::shapes::{TunedConfig, TunedGpu, Winners, row_error};
use crate::read::DataError;

/// The columns with the times of the stages.
const TIMES: [&str; 2] = ["us1", "us2"];
/// The columns that are fields of problems, under AITER's names. AITER's `dtype` is the type of results.
const FIELDS: [&str; 8] =
    ["token", "expert", "topk", "q_dtype_a", "q_dtype_w", "q_type", "act_type", "doweight_stage1"];

/// Whether a table is one of these.
pub(in super::super) fn has_pairs(op: Op, header: &[String]) -> bool {
    op == Op::Moe && FMOE_KERNELS.iter().all(|name| header.iter().any(|own| own == name))
}

/// The columns of a table.
struct PairColumns {
    kernels: [Column; 2],
    times: [Column; 2],
    fields: [Column; FIELDS.len()],
    /// Hidden size, intermediate size, and whether there are gate weights beside it.
    sizes: [Column; 3],
    units: Column,
    arch: Column,
}

impl PairColumns {
    /// The columns, and the unknown ones that may be ignored.
    fn new(file: &str, names: &[String]) -> Result<(Self, Vec<String>), DataError> {
        let mut columns = Columns::new(file, names);
        let all = FMOE_COLUMNS.map(|name| columns.find(name));
        let of = |name: &str| all.iter().find(|column| column.name == name).copied().unwrap_or(all[0]);
        let own = Self {
            kernels: FMOE_KERNELS.map(of),
            times: TIMES.map(of),
            fields: FIELDS.map(of),
            sizes: ["model_dim", "inter_dim", "use_g1u1"].map(of),
            units: of("cu_num"),
            arch: columns.find("gfx"),
        };
        let ignored = columns.finish(None)?;
        own.fields.iter().chain(&own.sizes).try_for_each(|column| columns.need(*column).map(|_| ()))?;
        Ok((own, ignored))
    }
}

impl PairColumns {
    /// The problem of a row's stage, 0 or 1, and the compute units of its GPU.
    fn shape(&self, row: &dyn Row, stage: usize, assumed: TunedGpu) -> Result<Key, String> {
        let whole = |column: Column| {
            let number = column.whole(row).map_err(text)?;
            number.ok_or_else(|| format!("{}: found nothing, expected a number", column.name))
        };
        let [hidden, inter, gated] = self.sizes.map(whole);
        let (hidden, inter, gated) = (hidden?, inter?, gated?);
        let [n, k] = [[inter.saturating_mul(1 + gated), hidden], [hidden, inter]][stage];
        let own = [("stage", stage as i64 + 1), ("n", n), ("k", k)]
            .map(|(name, number)| (name, Cell::Whole(number)));
        let units = self.units.whole(row).map_err(text)?;
        let named = self.arch.text(row).map(|word| word.parse::<Arch>());
        let named = named.transpose().map_err(|error| format!("gfx: {error}"))?;
        let defaults = ProblemDefaults {
            arch: named.or_else(|| arch_with(units, assumed.arch)),
            ..ProblemDefaults::new(Op::Moe)
        };
        let columns = self.fields.iter().filter_map(|column| Some((column.name, column.cell(row)?)));
        let cells: NamedCells<'_> = own.into_iter().chain(columns).collect();
        let problem = MoeProblem::read_cells(&cells, &defaults).map_err(text)?;
        if let (Some(arch), Some(units)) = (problem.arch, units) {
            Hardware::check_units(arch, self.units.name, units).map_err(text)?;
        }
        Ok((Problem::Moe(problem), units.or(assumed.units)))
    }

    /// Microseconds of a row's stage; NaN where it was not timed.
    fn us(&self, row: &dyn Row, stage: usize) -> Result<f64, String> {
        let us = self.times[stage].time(row).map_err(text)?;
        Ok(if us > 0.0 { us } else { f64::NAN })
    }
}

impl Winners {
    /// Adds the rows of a table; the shapes are of its file.
    pub(in super::super) fn add_pairs(
        &mut self,
        sheet: &mut Sheet<'_>,
        assumed: TunedGpu,
    ) -> Result<(), DataError> {
        let file = sheet.file().to_owned();
        let (columns, ignored) = PairColumns::new(&file, sheet.rows.header())?;
        self.begin_table(&file, ignored);
        let mut known = std::collections::HashMap::new();
        while sheet.next()? {
            let row = &sheet.rows;
            for stage in 0..FMOE_KERNELS.len() {
                let name = columns.kernels[stage].text(row).unwrap_or_default();
                if !Kernel::begins_a_name(&name) {
                    self.others += 1;
                    continue;
                }
                let added = self.stage(&columns, (row, stage), &name, assumed).and_then(|(key, config)| {
                    let shape = *known.entry(key).or_insert_with(|| self.add_shape(key));
                    self.shapes[shape].add(TunedConfig { line: row.line(), ..config })
                });
                added.map_err(|message| row_error(&file, row.line(), message))?;
            }
        }
        Ok(())
    }

    /// The shape and the configuration of a row's stage.
    fn stage(
        &mut self,
        columns: &PairColumns,
        (row, stage): (&dyn Row, usize),
        name: &str,
        assumed: TunedGpu,
    ) -> Result<(Key, TunedConfig), String> {
        let kernel = self.kernel(name, Op::Moe)?;
        let (problem, units) = columns.shape(row, stage, assumed)?;
        if let Some(reason) = self.kernels[kernel as usize].misfit(&problem) {
            return Err(format!("{}: '{name}' does not compute it: {reason}", FMOE_KERNELS[stage]));
        }
        let us = columns.us(row, stage)?;
        Ok(((problem, units), TunedConfig { kernel, parts: 1, us, line: 0, marked: false }))
    }
}
