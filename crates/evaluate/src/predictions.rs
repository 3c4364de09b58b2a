//! Rankings from a file, to be judged like a model's.

use std::collections::HashMap;
use std::path::Path;

use ck_select_types::kernel::Kernel;
use ck_select_types::operation::Operation;
use ck_select_types::problem::{FieldSet, Problem, ProblemDefaults};
use ck_select_types::sheet::{Opened, Sheet};
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
    places: Vec<Place>,
}

impl Ranking {
    /// Refuses one without a first place, and places that two kernels share; with the line.
    fn check(&self) -> Result<(), (u64, String)> {
        if let Some(first) = self.places.first().filter(|first| first.rank != 1) {
            return Err((
                first.line,
                format!("rank: found {}, but no kernel of rank 1 for its problem", first.rank),
            ));
        }
        let shared = |pair: &&[Place]| {
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
struct Place {
    rank: u64,
    kernel: Kernel,
    split_k: i32,
    /// Where it stands.
    line: u64,
}

/// Columns that name the kernel, in order of preference: upstream's validators write different ones.
const KERNEL_COLUMNS: [&str; 3] = ["kernel_name", "kernel", "predicted_kernel"];
/// Columns with the number of a problem.
const LABEL_COLUMNS: [&str; 2] = ["problem_idx", "problem"];

/// Opens a CSV of choices or of measurements; also returns its unknown columns.
fn open(path: &Path, op: Op) -> Result<(Sheet<'static>, Vec<String>), DataError> {
    let sheet = Sheet::with_header(Opened::file(path)?)?;
    let read = [&KERNEL_COLUMNS[..], &LABEL_COLUMNS, &["rank"]].concat();
    let unknown = sheet.check_header(op, &read)?;
    Ok((sheet, unknown))
}

/// Whether rows describe their problem, and do not only have its number. Where some of its fields are
/// missing, the error names them: those that are there are not passed over.
fn has_problems(sheet: &Sheet<'_>, op: Op) -> bool {
    let has = |name: &str| sheet.rows.column(name).is_some();
    Operation::get(op).required.iter().any(|name| Operation::has_column(op, name, &has))
}

/// The architecture of choices that name none.
fn usual_arch(measurements: &Measurements) -> Option<Arch> {
    measurements.scope().arch.or_else(|| measurements.common_arch().ok().flatten())
}

/// The problem that a row describes.
fn problem(sheet: &Sheet<'_>, kernel: &str, op: Op, arch: Option<Arch>) -> Result<Problem, DataError> {
    // As in a row of measurements, the kernel says direction, types and layout.
    let problem = match Kernel::from_name(kernel) {
        Ok(kernel) if kernel.op() == op => problem_of(&kernel, &sheet.rows, arch),
        _ => {
            let defaults = ProblemDefaults { arch, ..ProblemDefaults::new(op) };
            Problem::from_fields(op, &sheet.rows, &defaults).map_err(|error| error.to_string())
        }
    };
    problem.map_err(|message| sheet.fault(message).into())
}

/// Problems by their number in a benchmark CSV. A number for two different problems is an error, because
/// joining by it would be wrong.
fn labels(path: &Path, measurements: &Measurements) -> Result<HashMap<String, Problem>, DataError> {
    let (op, arch) = (measurements.scope().op, usual_arch(measurements));
    let (mut sheet, _) = open(path, op)?;
    let label_column = sheet.need(&LABEL_COLUMNS)?;
    let kernel_column = sheet.column(&KERNEL_COLUMNS);
    let mut labels = HashMap::new();
    while sheet.next()? {
        let kernel = kernel_column.map_or("", |column| sheet.rows.text(column));
        let problem = problem(&sheet, kernel, op, arch)?;
        let label = sheet.rows.text(label_column);
        if let Some(other) = labels.insert(label.to_owned(), problem)
            && other != problem
        {
            return Err(sheet.fault(format!("problem {label} is {problem} here and {other} before")).into());
        }
    }
    Ok(labels)
}

/// A file of predictions that is being read.
struct Reader {
    sheet: Sheet<'static>,
    op: Op,
    arch: Option<Arch>,
    kernel_column: usize,
    rank_column: Option<usize>,
    label_column: Option<usize>,
    /// Whether rows describe their problem, and do not only have its number.
    has_problems: bool,
    /// The problems by number, if there are any.
    labels: Option<HashMap<String, Problem>>,
}

impl Reader {
    /// Also returns the unknown columns.
    fn open(path: &Path, measurements: &Measurements) -> Result<(Self, Vec<String>), DataError> {
        let (op, arch) = (measurements.scope().op, usual_arch(measurements));
        let (sheet, unknown) = open(path, op)?;
        let has_problems = has_problems(&sheet, op);
        // Measurements need numbers only if the predictions use them, and then each row reports it.
        let numbered = measurements.sources().first().filter(|_| !has_problems);
        let labels = numbered.and_then(|first| labels(&first.path, measurements).ok());
        let kernel_column = sheet.need(&KERNEL_COLUMNS)?;
        let rank_column = sheet.column(&["rank"]);
        let label_column =
            if has_problems { sheet.column(&LABEL_COLUMNS) } else { Some(sheet.need(&LABEL_COLUMNS)?) };
        Ok((
            Self { sheet, op, arch, kernel_column, rank_column, label_column, has_problems, labels },
            unknown,
        ))
    }

    /// The next row: a problem, its number if it has one, and a kernel's place for it.
    fn next(&mut self) -> Result<Option<(Problem, Option<i64>, Place)>, DataError> {
        if !self.sheet.next()? {
            return Ok(None);
        }
        let Self { sheet, op, arch, labels, .. } = self;
        let name = sheet.rows.text(self.kernel_column);
        let kernel =
            Kernel::from_name(name).map_err(|error| sheet.fault(format!("kernel '{name}': {error}")))?;
        let rank = match self.rank_column.map(|column| sheet.rows.text(column)) {
            None => 1,
            Some(text) => text.parse().ok().filter(|rank| *rank > 0).ok_or_else(|| {
                sheet.fault(format!("rank: found '{text}', expected a whole number from 1"))
            })?,
        };
        let label = self.label_column.map_or("", |column| sheet.rows.text(column));
        let problem = if self.has_problems {
            problem(sheet, name, *op, *arch)?
        } else {
            let known = labels.as_ref().and_then(|labels| labels.get(label));
            *known.ok_or_else(|| {
                let found = if labels.is_some() { "not in the measurements" } else { "only a number" };
                sheet.fault(format!("problem {label} is {found}, expected one that is measured"))
            })?
        };
        let place = Place { rank, kernel, split_k: problem.split_k(), line: sheet.rows.line() };
        Ok(Some((problem, label.parse().ok(), place)))
    }
}

impl Predictions {
    /// Reads a CSV of predictions: a kernel (`kernel_name`, `kernel` or `predicted_kernel`) and its `rank` (1
    /// if the column is missing) for a problem, which is described, or numbered as in the first file of the
    /// measurements.
    pub fn read(path: &Path, measurements: &Measurements) -> Result<Self, DataError> {
        let (mut reader, unknown) = Reader::open(path, measurements)?;
        let mut rankings: HashMap<Problem, Vec<Ranking>> = HashMap::new();
        while let Some((problem, number, place)) = reader.next()? {
            let problem = if measurements.chooses_split() { problem.leaving_split() } else { problem };
            let rankings = rankings.entry(problem).or_default();
            match rankings.iter_mut().find(|ranking| ranking.number == number) {
                Some(ranking) => ranking.places.push(place),
                None => rankings.push(Ranking { number, places: vec![place] }),
            }
        }
        let sheet = reader.sheet;
        for ranking in rankings.values_mut().flatten() {
            ranking.places.sort_by_key(|place| place.rank);
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
    fn ranking(&self, measurements: &Measurements, trial: &Trial) -> Option<&[Place]> {
        let rankings = self.rankings.get(&measurements.problems()[trial.problem as usize])?;
        let own = rankings.iter().find(|ranking| ranking.number == trial.number);
        own.or_else(|| rankings.first()).map(|ranking| ranking.places.as_slice())
    }

    /// The order that the file gives a trial's candidates; kernels that were not measured are left out.
    /// Kernels are compared by descriptor, because names of different age can describe one kernel.
    pub fn order(&self, measurements: &Measurements, trial: &Trial) -> Option<Order> {
        let places = self.ranking(measurements, trial)?;
        let find = |place: &Place| {
            trial.candidates.iter().position(|candidate| {
                candidate.split_k == place.split_k
                    && measurements.kernels()[candidate.kernel as usize].kind == place.kernel.kind
            })
        };
        let unmeasured = places.first().filter(|first| find(first).is_none());
        Some(Order {
            places: places.iter().filter_map(find).collect(),
            unmeasured: unmeasured.map(|first| first.kernel.name.clone()),
            predicted: Vec::new(),
            outside: FieldSet::NONE,
        })
    }
}
