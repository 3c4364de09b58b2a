//! `ckselect rank --format aiter`: the best kernel of each problem as a tuned table of AITER's.
//!
//! AITER finds a row by device, extents and type, and takes the kernel by its name; older modules take it by its
//! number, so both are written. Of several tables it keeps the row with the least time: with `inf`, any measured
//! one replaces these.

use std::collections::{HashMap, HashSet};

use ck_select::kernel::Kernel;
use ck_select::pool::Pool;
use ck_select::problem::{GemmProblem, Problem};
use ck_select::select::{Ranked, Ranker};
use ck_select::vocab::{Arch, Dtype, Op};
use ck_select_enumerate::rules::Rules;

use super::super::load_model;
use super::{Args, Format, Problems, Rows};
use crate::error::CliError;
use crate::output::Output;
use crate::table::Cell;

/// The architecture whose kernels are asked for.
pub(super) fn arch(args: &Args) -> Result<Arch, CliError> {
    let own = match (&args.ranker.model, args.estimate.arch) {
        (Some(model), None) => load_model(model, None)?.key().arch,
        (_, asked) => asked,
    };
    match own {
        Some(arch) => Ok(arch),
        None if args.ranker.hardware.is_given() => Ok(args.estimate.device(&args.ranker.hardware)?.arch),
        None => Err(CliError::usage("--family: give --arch")),
    }
}

/// A family's kernels with their numbers.
pub(super) fn kernels(family: &str, arch: Arch) -> Result<Vec<(Kernel, Option<usize>)>, CliError> {
    let kernels = Rules::built_in()?.aiter.kernels(family, arch);
    kernels.map_err(|error| CliError::usage(format!("--family: {error}")))
}

/// The kernels, each once.
pub(super) fn pool(kernels: &[(Kernel, Option<usize>)]) -> Result<Pool, CliError> {
    let mut names = HashSet::new();
    let once = kernels.iter().filter(|(kernel, _)| names.insert(kernel.name.as_str()));
    Ok(Pool::new(once.map(|(kernel, _)| kernel.clone()).collect())?)
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let Some(family) = &args.family else {
        return Err(CliError::usage("--format aiter: give the --family whose table it is"));
    };
    let arch = arch(args)?;
    let kernels = kernels(family, arch)?;
    let pool = pool(&kernels)?;
    let (ranker, defaults) = match super::model(args)? {
        Some(model) => args.ranker.load_other(&model, &args.estimate, || Ok(pool))?,
        None => super::super::ranker(args.estimate.model(Op::Gemm, &args.ranker.hardware)?, pool)?,
    };
    let model = ranker.model();
    if arch.as_str() == "gfx942" && model.device().is_some() && !args.ranker.hardware.is_given() {
        return Err(CliError::usage(
            "--format aiter: rows are for a number of compute units, and gfx942's GPUs have different ones: give \
             --hardware FILE with {\"based_on\": \"gfx942\", \"num_cus\": 304} (MI300X, MI325X; MI308X has 80)",
        ));
    }
    let hardware = model.device().map_or(model.extractor().hardware, |(device, _)| device.hardware);
    let table = |output| TunedTable::new(family, &kernels, (arch, hardware.num_cus), output);
    if let Some(text) = &args.problem {
        let problem = super::super::parse_problem(&ranker, text, &defaults)?;
        let mut table = table(Output::create(args.output.as_deref())?);
        table.push(&ranker, &problem, &ranker.rank(&problem)?)?;
        return table.finish();
    }
    let Some(path) = &args.problems else { return Err(CliError::usage("give --problem or --problems")) };
    let mut problems = Problems::open(path, Op::Gemm, &defaults, Some(hardware))?;
    let mut table = table(Output::create(args.output.as_deref())?);
    while let Some((_, problem)) = problems.next()? {
        let ranked = ranker.rank(&problem);
        let ranked =
            ranked.map_err(|error| CliError::failed(format!("{}: {problem}: {error}", path.display())))?;
        table.push(&ranker, &problem, &ranked)?;
    }
    problems.finish();
    table.finish()
}

/// The columns of a family's table, as AITER's newest have them.
fn columns(family: &str) -> Vec<&'static str> {
    let batched = family.ends_with("_batched");
    let typed = family.starts_with("a8w8_bpreshuffle") || family == "a8w8_rowwise";
    let several = typed && family != "a8w8_rowwise" || family.starts_with("a8w8_blockscale");
    let mut columns = vec!["gfx", "cu_num"];
    columns.extend(batched.then_some("B"));
    columns.extend(["M", "N", "K"]);
    columns.extend(typed.then_some("q_dtype_w"));
    columns.extend(several.then_some("libtype"));
    columns.extend(["kernelId", "splitK", "us", "kernelName", "tflops", "bw", "errRatio"]);
    columns
}

/// A table under construction.
struct TunedTable<'a> {
    arch: Arch,
    cu_num: i64,
    columns: Vec<&'static str>,
    /// The least number of each kernel that a table can name.
    numbers: HashMap<&'a str, usize>,
    seen: HashSet<GemmProblem>,
    rows: Rows,
}

impl<'a> TunedTable<'a> {
    /// A table of a family, whose kernels have these numbers.
    fn new(
        family: &str,
        kernels: &'a [(Kernel, Option<usize>)],
        (arch, cu_num): (Arch, i64),
        output: Output,
    ) -> Self {
        let mut numbers = HashMap::new();
        for (kernel, number) in kernels {
            if let Some(number) = number {
                numbers.entry(kernel.name.as_str()).or_insert(*number);
            }
        }
        let columns = columns(family);
        let rows = Rows::new(Format::Csv, output, columns.clone());
        Self { arch, cu_num, columns, numbers, seen: HashSet::new(), rows }
    }

    /// Adds the best kernel of a problem, once.
    fn push(&mut self, ranker: &Ranker, problem: &Problem, ranked: &[Ranked]) -> Result<(), CliError> {
        let Problem::Gemm(problem) = problem else { return Ok(()) };
        let numbered = |index| self.numbers.get_key_value(ranker.name(index));
        let Some((name, number)) = ranked.iter().find_map(|one| numbered(one.index)) else {
            return Err(CliError::failed(format!("{problem}: no kernel that a table can name")));
        };
        if !self.seen.insert(*problem) {
            return Ok(());
        }
        let row = self.columns.iter().map(|column| match *column {
            "gfx" => self.arch.as_str().into(),
            "cu_num" => whole(self.cu_num),
            "B" => whole(problem.request.batch.into()),
            "M" => whole(problem.m),
            "N" => whole(problem.n),
            "K" => whole(problem.k),
            "q_dtype_w" => torch_type(problem.dtype_b, self.arch).into(),
            "libtype" => if name.contains("_cktile_") { "cktile" } else { "ck" }.into(),
            "kernelId" => (*number).into(),
            // AITER's splits are powers of two, of which the table has the exponent.
            "splitK" => (problem.split_k.max(1).ilog2() as usize).into(),
            "us" => f64::INFINITY.into(),
            "kernelName" => (*name).into(),
            _ => 0_usize.into(),
        });
        self.rows.push(row.collect())
    }

    /// Writes what is left.
    fn finish(self) -> Result<(), CliError> {
        self.rows.finish()
    }
}

fn whole(number: i64) -> Cell {
    Cell::Count(number.unsigned_abs())
}

/// The type as torch names it on the architecture.
fn torch_type(dtype: Dtype, arch: Arch) -> &'static str {
    match (dtype, arch.as_str()) {
        (Dtype::Int8, _) => "torch.int8",
        (_, "gfx942") => "torch.float8_e4m3fnuz",
        _ => "torch.float8_e4m3fn",
    }
}
