//! Rankings from a file, to be judged like a model's.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Display;
use std::path::Path;

use ck_select_types::kernel::Kernel;
use ck_select_types::operation::Operation;
use ck_select_types::problem::{Field, FieldSet, Problem, ProblemDefaults};
use ck_select_types::sheet::{Column, Columns, KernelColumns, Opened, ProblemColumns, Sheet};
use ck_select_types::vocab::{Arch, Op};

use crate::candidates::Trial;
use crate::judge::Order;
use ck_select_measurements::{DataError, Measurements, problem_of};

/// Kernels by problem, best first.
#[derive(Debug, Clone, Default)]
pub struct Predictions {
    rankings: HashMap<Problem, Vec<Ranking>>,
    unknown: Vec<String>,
}

/// The ranking for one problem number in a file.
#[derive(Debug, Clone)]
struct Ranking {
    number: Option<i64>,
    places: Vec<PredictedKernel>,
}

impl Ranking {
    /// Refuses a ranking without a rank 1, and ranks that two kernels share; with the line.
    fn check(&self) -> Result<(), (u64, String)> {
        if let Some(first) = self.places.first().filter(|first| first.rank != 1) {
            return Err((
                first.line,
                format!("rank: found {}, but no kernel of rank 1 for its problem", first.rank),
            ));
        }
        let shared = |pair: &&[PredictedKernel]| {
            pair[0].rank == pair[1].rank
                && (&pair[0].kernel, pair[0].split_k) != (&pair[1].kernel, pair[1].split_k)
        };
        match self.places.windows(2).find(shared) {
            Some([one, other]) => {
                let message = format!(
                    "rank: found {} for '{}', which '{}' in line {} has, too (without a rank, it is 1)",
                    other.rank, other.kernel.name, one.kernel.name, one.line
                );
                Err((other.line, message))
            }
            _ => Ok(()),
        }
    }
}

#[derive(Debug, Clone)]
struct PredictedKernel {
    rank: u64,
    kernel: Kernel,
    split_k: i32,
    /// The line of the choice in the file.
    line: u64,
}

/// Columns with the number of a problem.
const LABELS: [&str; 2] = ["problem_idx", "problem"];

/// A table of choices or of measurements that is being read.
struct Reader {
    sheet: Sheet<'static>,
    op: Op,
    arch: Option<Arch>,
    kernel: KernelColumns,
    /// Upstream's name of the chosen kernel's column, which counts where there is no other.
    predicted: Column,
    rank: Column,
    label: Column,
    problem: ProblemColumns,
    /// Whether rows describe their problem, and do not only have its number. Where some of its fields are
    /// missing, the error names them: those that are there are not passed over.
    has_problems: bool,
    /// Unknown columns.
    unknown: Vec<String>,
}

impl Reader {
    fn open(path: &Path, measurements: &Measurements) -> Result<Self, DataError> {
        let op = measurements.scope().op;
        // The architecture of choices that name none.
        let arch = measurements.scope().arch.or_else(|| measurements.common_arch().ok().flatten());
        let sheet = Sheet::with_header(Opened::file(path)?)?;
        let mut columns = Columns::new(sheet.file(), sheet.rows.header());
        let (kernel, predicted) = (columns.kernel(), columns.find("predicted_kernel"));
        let (rank, label) = (columns.find("rank"), columns.one_of(&LABELS));
        let fields = Problem::fields(op).iter().flat_map(Field::names);
        let others = Operation::get(op).extra_keys.iter().copied().chain(["arch", "hw_gfx_name"]);
        let problem = columns.problem(fields.chain(others));
        let has = |name: &str| columns.has(name);
        let required = Operation::get(op).required.iter();
        let has_problems = required.into_iter().any(|name| Operation::has_column(op, name, &has));
        let unknown = columns.finish(Some(op))?;
        if !has_problems {
            columns.need(label)?;
        }
        Ok(Self { sheet, op, arch, kernel, predicted, rank, label, problem, has_problems, unknown })
    }

    /// Refuses a table without a column of kernels.
    fn need_kernels(&self) -> Result<(), DataError> {
        let (first, columns) =
            (self.kernel.first(), Columns::new(self.sheet.file(), self.sheet.rows.header()));
        columns.need(if self.predicted.is_there() { self.predicted } else { first })?;
        Ok(())
    }

    /// Goes to the next row that is not of another library's kernel; false at the end.
    fn next(&mut self) -> Result<bool, DataError> {
        while self.sheet.next()? {
            if !self.kernel.is_elsewhere(&self.sheet.rows) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn fault(&self, message: impl Display) -> DataError {
        self.sheet.fault(message).into()
    }

    /// The name of the row's kernel.
    fn kernel(&self) -> Result<Cow<'_, str>, DataError> {
        let name = self.kernel.name(&self.sheet.rows).map_err(|error| self.fault(error))?;
        Ok(name.or_else(|| self.predicted.text(&self.sheet.rows)).unwrap_or_default())
    }

    /// The row's number of its problem. Tables that went through a data frame have whole numbers as floats.
    fn label(&self) -> Cow<'_, str> {
        match self.label.whole(&self.sheet.rows) {
            Ok(Some(number)) => number.to_string().into(),
            _ => self.label.text(&self.sheet.rows).unwrap_or_default(),
        }
    }

    /// The problem that the row describes. As in a row of measurements, the kernel says direction, types and
    /// layout.
    fn problem(&self, kernel: &str) -> Result<Problem, DataError> {
        let (op, arch) = (self.op, self.arch);
        let cells = self.problem.cells(&self.sheet.rows).map_err(|error| self.fault(error))?;
        let problem = match Kernel::from_name(kernel) {
            Ok(kernel) if kernel.op() == op => problem_of(&kernel, &cells, arch),
            _ => {
                let defaults = ProblemDefaults { arch, ..ProblemDefaults::new(op) };
                Problem::from_fields(op, &cells, &defaults).map_err(|error| error.to_string())
            }
        };
        problem.map_err(|message| self.fault(self.problem.own_name(message)))
    }

    /// The kernel's rank for the problem.
    fn place(&self, name: &str, split_k: i32) -> Result<PredictedKernel, DataError> {
        let kernel =
            Kernel::from_name(name).map_err(|error| self.fault(format!("kernel '{name}': {error}")))?;
        let rank = match self.rank.cell(&self.sheet.rows) {
            None if !self.rank.is_there() => 1,
            cell => {
                let rank = cell.and_then(|cell| cell.whole("rank").ok()?.try_into().ok());
                rank.filter(|rank| *rank > 0).ok_or_else(|| {
                    let found = cell.map_or_else(|| "''".to_owned(), |cell| cell.to_string());
                    self.fault(format!("rank: found {found}, expected a whole number from 1"))
                })?
            }
        };
        Ok(PredictedKernel { rank, kernel, split_k, line: self.sheet.rows.line() })
    }
}

/// Problems by their number in a table of measurements. A number for two different problems is an error, because
/// joining by it would be wrong.
fn labels(path: &Path, measurements: &Measurements) -> Result<HashMap<String, Problem>, DataError> {
    let mut reader = Reader::open(path, measurements)?;
    let mut labels = HashMap::new();
    while reader.next()? {
        let (problem, label) = (reader.problem(&reader.kernel()?)?, reader.label());
        if let Some(other) = labels.insert(label.clone().into_owned(), problem)
            && other != problem
        {
            let message = format!("problem {label} is {problem} here and {other} before");
            return Err(reader.fault(message));
        }
    }
    Ok(labels)
}

/// The problem of a number.
fn numbered(label: &str, labels: Option<&HashMap<String, Problem>>) -> Result<Problem, String> {
    let known = labels.and_then(|labels| labels.get(label));
    known.copied().ok_or_else(|| {
        let found = if labels.is_some() { "not in the measurements" } else { "only a number" };
        format!("problem {label} is {found}, expected one that is measured")
    })
}

impl Predictions {
    /// Reads a CSV of predictions: a kernel (`kernel_name`, `kernel` or `predicted_kernel`) and its `rank` (1
    /// if the column is missing) for a problem, which is described, or numbered as in the first file of the
    /// measurements.
    pub fn read(path: &Path, measurements: &Measurements) -> Result<Self, DataError> {
        let mut reader = Reader::open(path, measurements)?;
        reader.need_kernels()?;
        // Measurements need numbers only if the predictions use them, and then each row reports it.
        let first = measurements.sources().first().filter(|_| !reader.has_problems);
        let labels = first.and_then(|first| labels(&first.path, measurements).ok());
        let mut rankings: HashMap<Problem, Vec<Ranking>> = HashMap::new();
        while reader.next()? {
            let (name, label) = (reader.kernel()?, reader.label());
            let problem = if reader.has_problems {
                reader.problem(&name)?
            } else {
                numbered(&label, labels.as_ref()).map_err(|message| reader.fault(message))?
            };
            let (number, rank) = (label.parse().ok(), reader.place(&name, problem.split_k())?);
            let problem = if measurements.chooses_split() { problem.leaving_split() } else { problem };
            let rankings = rankings.entry(problem).or_default();
            match rankings.iter_mut().find(|ranking| ranking.number == number) {
                Some(ranking) => ranking.places.push(rank),
                None => rankings.push(Ranking { number, places: vec![rank] }),
            }
        }
        let unknown = reader.unknown;
        let sheet = reader.sheet;
        for ranking in rankings.values_mut().flatten() {
            ranking.places.sort_by_key(|predicted| predicted.rank);
            ranking.check().map_err(|(line, message)| {
                DataError::format(sheet.file(), format_args!("line {line}: {message}"))
            })?;
        }
        if rankings.is_empty() {
            let message = "found no row below the header, expected at least one";
            return Err(DataError::format(sheet.file(), message));
        }
        Ok(Self { rankings, unknown })
    }

    /// Unknown columns of the file that do not resemble a known one.
    pub fn unknown(&self) -> &[String] {
        &self.unknown
    }

    /// The ranking of a trial's problem; if there are several, the one with the trial's own number, otherwise
    /// the first.
    fn ranking(&self, measurements: &Measurements, trial: &Trial) -> Option<&[PredictedKernel]> {
        let rankings = self.rankings.get(&measurements.problems()[trial.problem as usize])?;
        let own = rankings.iter().find(|ranking| ranking.number == trial.number);
        own.or_else(|| rankings.first()).map(|ranking| ranking.places.as_slice())
    }

    /// The order that the file gives a trial's candidates; kernels that were not measured are left out.
    /// Kernels are compared by descriptor, because names of different age can describe one kernel.
    pub fn order(&self, measurements: &Measurements, trial: &Trial) -> Option<Order> {
        let places = self.ranking(measurements, trial)?;
        let find = |predicted: &PredictedKernel| {
            trial.candidates.iter().position(|candidate| {
                candidate.split_k == predicted.split_k
                    && measurements.kernels()[candidate.kernel as usize].kind == predicted.kernel.kind
            })
        };
        let unmeasured = places.first().filter(|first| find(first).is_none());
        Some(Order {
            signs: None,
            sure: None,
            places: places.iter().filter_map(find).collect(),
            unmeasured: unmeasured.map(|first| first.kernel.name.clone()),
            predicted: Vec::new(),
            outside: FieldSet::NONE,
        })
    }
}
