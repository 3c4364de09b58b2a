//! A tuned table of AITER's.
//!
//! AITER finds a row by device, extents and type, and takes the kernel by its name; older modules take it by
//! its number, so both are written.

use std::collections::{HashMap, HashSet};

use ck_select::hardware::Hardware;
use ck_select::kernel::Kernel;
use ck_select::problem::Problem;
use ck_select::sheet::aiter;
use ck_select::vocab::{Arch, Dtype};

use crate::error::CliError;
use crate::output::Output;
use crate::table::{Cell, Format, StreamedTable};

/// The columns of a family's table, as AITER's newest have them.
fn columns(family: &str) -> Vec<&'static str> {
    let batched = family.ends_with("_batched");
    let typed = family.starts_with("a8w8_bpreshuffle") || family == "a8w8_rowwise";
    let several = typed && family != "a8w8_rowwise" || family.starts_with("a8w8_blockscale");
    let has = |column: &&str| match *column {
        "B" => batched,
        "q_dtype_w" => typed,
        "libtype" => several,
        _ => true,
    };
    aiter::COLUMNS.into_iter().filter(has).collect()
}

/// A table under construction.
pub(super) struct TunedTable<'a> {
    arch: Arch,
    cu_num: i64,
    columns: Vec<&'static str>,
    /// The least number of each kernel that a table can name.
    numbers: HashMap<&'a str, usize>,
    seen: HashSet<Key>,
    rows: StreamedTable,
}

/// The key by which AITER looks up a row, besides the device: batch, extents and type.
type Key = ([i64; 4], Dtype);

impl<'a> TunedTable<'a> {
    /// A table of a family, whose kernels have these numbers.
    pub(super) fn new(
        family: &str,
        kernels: &'a [(Kernel, Option<usize>)],
        (arch, cu_num): (Arch, i64),
        output: Output,
    ) -> Result<Self, CliError> {
        Hardware::check_units(arch, "num_cus", cu_num).map_err(|error| CliError::usage(error.to_string()))?;
        let mut numbers = HashMap::new();
        for (kernel, number) in kernels {
            if let Some(number) = number {
                numbers.entry(kernel.name.as_str()).or_insert(*number);
            }
        }
        let columns = columns(family);
        let rows = StreamedTable::new(Format::Csv, output, columns.clone());
        Ok(Self { arch, cu_num, columns, numbers, seen: HashSet::new(), rows })
    }

    /// Whether a table can name a kernel.
    pub(super) fn names(&self, kernel: &str) -> bool {
        self.numbers.contains_key(kernel)
    }

    /// Adds a row for a problem, or returns why the table cannot have it.
    pub(super) fn push(
        &mut self,
        problem: &Problem,
        kernel: &str,
        us: f64,
    ) -> Result<Option<String>, CliError> {
        let (Problem::Gemm(problem), Some(number)) = (problem, self.numbers.get(kernel)) else {
            return Ok(Some("their kernels have no number in the family".to_owned()));
        };
        // The table has the exponent of the number of parts.
        if !problem.split_k.unsigned_abs().is_power_of_two() {
            let split = problem.split_k;
            return Ok(Some(format!(
                "split_k: found {split}, expected a power of two as AITER's splits are"
            )));
        }
        let key = ([problem.request.batch.into(), problem.m, problem.n, problem.k], problem.dtype_b);
        if !self.seen.insert(key) {
            let reason = "a row before is for the same extents and type, and AITER asks for no more";
            return Ok(Some(reason.to_owned()));
        }
        let row = self.columns.iter().map(|column| match *column {
            "gfx" => self.arch.as_str().into(),
            "cu_num" => whole(self.cu_num),
            "B" => whole(problem.request.batch.into()),
            "M" => whole(problem.m),
            "N" => whole(problem.n),
            "K" => whole(problem.k),
            "q_dtype_w" => torch_type(problem.dtype_b, self.arch).into(),
            "libtype" => if kernel.contains("_cktile_") { "cktile" } else { "ck" }.into(),
            "kernelId" => (*number).into(),
            "splitK" => (problem.split_k.max(1).ilog2() as usize).into(),
            "us" => us.into(),
            "kernelName" => kernel.into(),
            _ => 0_usize.into(),
        });
        self.rows.push(row.collect()).map(|()| None)
    }

    /// Writes what is left.
    pub(super) fn finish(self) -> Result<(), CliError> {
        self.rows.finish()
    }
}

fn whole(number: i64) -> Cell {
    Cell::Count(number.unsigned_abs())
}

/// The type as torch names it on the architecture.
pub(super) fn torch_type(dtype: Dtype, arch: Arch) -> &'static str {
    match (dtype, arch.as_str()) {
        (Dtype::Bf16, _) => "torch.bfloat16",
        (Dtype::Fp16, _) => "torch.float16",
        (Dtype::Int4 | Dtype::PkInt4, _) => "torch.int4",
        (Dtype::PkFp4 | Dtype::Mxfp4, _) => "torch.float4_e2m1fn_x2",
        (Dtype::Int8, _) => "torch.int8",
        (_, "gfx942") => "torch.float8_e4m3fnuz",
        _ => "torch.float8_e4m3fn",
    }
}
