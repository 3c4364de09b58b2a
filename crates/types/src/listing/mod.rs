//! Files of problems: lists of `key=value` lines, and tables with a column per field.
//!
//! ```text
//! # layers of a network
//! op=grouped_conv N=16,C=256,K=128,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1
//! M=128,N=1536,K=7168,op=gemm_universal
//! ```
//!
//! Blank lines and lines that begin with `#` are skipped. A writer that may be killed puts the operation
//! last, so that a truncated line lacks it, or has only part of it, and can be recognised.

mod aiter_log;
mod fault;
mod line;
mod lines;
mod row;
mod seen;
mod stated;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io::BufRead;

pub use fault::ProblemLineFault;
pub use line::{ProblemLine, problem_line};
pub use stated::StatedFields;

use aiter_log::AiterLog;
use lines::PairLines;
use row::{ProblemObjects, ProblemTable};
use seen::SeenProblems;

use crate::each_operation;
use crate::hardware::Hardware;
use crate::operation::OperationProblem as _;
use crate::problem::{Problem, ProblemDefaults};
use crate::sheet::{Format, Opened, Text};
pub use crate::sheet::{HeaderError, UnknownColumn, check_columns, check_names};
use crate::vocab::Op;

/// The problems of a file, in its order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProblemList {
    /// The problems, at least one. Repeated ones count once, except in a table without kernels, where each
    /// row counts.
    pub problems: Vec<ListedProblem>,
    /// The problems and lines that were skipped.
    pub passed: Skipped,
}

/// Counts of what a reader of a file of problems skipped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Skipped {
    /// Problems of other operations.
    pub others: u64,
    /// Problems that a log names for another table.
    pub of_other_tables: u64,
    /// Problems of a log with an extent of 0.
    pub empty: u64,
    /// Truncated lines: they lack their operation, or end in the middle.
    pub torn: u64,
    /// The first truncated line, counted from 1.
    pub first_torn: u64,
    /// Unknown columns that do not resemble a known one.
    pub unknown: Vec<String>,
}

/// A problem of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedProblem {
    /// The number that the file gives it (`problem_idx`).
    pub number: Option<u64>,
    /// The problem, with defaults for what the file does not specify.
    pub problem: Problem,
    /// Which of its words the file specifies.
    pub stated: StatedFields,
}

/// An invalid list of problems.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{list}: {}{fault}", line.map_or(String::new(), |line| format!("line {line}: ")))]
pub struct ProblemListError {
    /// The name of the file.
    pub list: String,
    /// The line, from 1, if the error is in one line.
    pub line: Option<u64>,
    /// The fault in the file or line.
    pub fault: ProblemLineFault,
}

impl ProblemList {
    /// Reads all problems of an operation; see [`ProblemReader`].
    ///
    /// ```
    /// use ck_select_types::listing::ProblemList;
    /// use ck_select_types::problem::ProblemDefaults;
    /// use ck_select_types::vocab::Op;
    ///
    /// let text = "op=gemm_universal M=1,N=2,K=3\nM=4,N=5,K=6,op=gemm_univ";
    /// let defaults = ProblemDefaults::new(Op::Gemm);
    /// let list = ProblemList::parse("seen.txt", text.as_bytes(), Op::Gemm, &defaults)?;
    /// assert_eq!((list.problems.len(), list.passed.first_torn), (1, 2));
    /// # Ok::<(), ck_select_types::listing::ProblemListError>(())
    /// ```
    pub fn parse(
        label: &str,
        text: &[u8],
        op: Op,
        defaults: &ProblemDefaults,
    ) -> Result<Self, ProblemListError> {
        let mut reader = ProblemReader::new(label, Box::new(text), op, *defaults)?;
        let mut problems = Vec::new();
        while let Some(problem) = reader.next()? {
            problems.push(problem);
        }
        Ok(Self { problems, passed: reader.passed })
    }
}

impl Skipped {
    fn tear(&mut self, line: u64) {
        if self.torn == 0 {
            self.first_torn = line;
        }
        self.torn += 1;
    }

    /// A sentence for each kind, for the user.
    pub fn notes(&self) -> Vec<String> {
        let Self { others, of_other_tables, empty, torn, first_torn, unknown } = self;
        let mut notes = Vec::new();
        if !unknown.is_empty() {
            notes.push(format!("ignored columns, which are not fields of a problem: {}", unknown.join(", ")));
        }
        if *torn > 0 {
            notes.push(format!(
                "{torn} incomplete lines are skipped, the first is line {first_torn}: they have no op=…"
            ));
        }
        if *others > 0 {
            notes.push(format!("{others} problems are skipped: they are of another operation"));
        }
        if *of_other_tables > 0 {
            notes.push(format!(
                "{of_other_tables} lines are skipped: they are about another table of AITER's"
            ));
        }
        if *empty > 0 {
            notes.push(format!("{empty} lines are skipped: their GEMM is empty (an extent is 0)"));
        }
        notes
    }
}

/// Reads the problems of an operation from a file of any length, one after the other. The format is detected:
///
/// * A **list** has one problem per line, as `key=value` pairs. If any line names its operation as `op=…`,
///   as captured ones do, a line that does not was truncated and is skipped. A last line without a line end
///   that is not a problem was torn by a crash of its writer, and is skipped, too.
/// * **JSON** has the same fields: an array of objects, or one after the other, each of which is a row.
/// * A **log** of a program that uses AITER names the GEMMs that none of AITER's tables has.
/// * A **table** is a CSV with a column per field, and optionally `problem_idx` and `op`. `variant` and
///   `ndim_spatial`, which upstream's tables have, give direction and dimensions; the columns of a tuned table of
///   AITER's are known.
pub struct ProblemReader<'a> {
    label: String,
    request: Request,
    source: ProblemSource<'a>,
    seen: SeenProblems,
    /// The problem of each number, as its hashes.
    numbers: HashMap<u64, [u64; 2]>,
    /// Whether there was a problem.
    any: bool,
    /// The problems and lines that were skipped so far.
    pub passed: Skipped,
}

/// The problems to read from a file, and their defaults.
struct Request {
    op: Op,
    defaults: ProblemDefaults,
    /// The constants that rows must have been measured with.
    hardware: Option<Hardware>,
    /// Whether rows lack what their kernel says.
    by_kernels: bool,
}

/// The reader of problems for the format of the file.
#[allow(clippy::large_enum_variant)] // a reader has one
enum ProblemSource<'a> {
    Lines(PairLines<'a>),
    Objects(ProblemObjects<'a>),
    Table(ProblemTable<'a>),
    Log(AiterLog<'a>),
}

/// A problem as it was read.
struct ReadProblem {
    listed: ListedProblem,
    /// The problem before a kernel completed it.
    written: Problem,
    line: u64,
}

/// A fault and its line, if it has one.
type Fault = (Option<u64>, ProblemLineFault);

impl<'a> ProblemReader<'a> {
    /// Reads the head of a file; `label` names it in errors. `defaults` supplies what the file does not
    /// specify.
    pub fn new(
        label: &str,
        text: Box<dyn BufRead + 'a>,
        op: Op,
        defaults: ProblemDefaults,
    ) -> Result<Self, ProblemListError> {
        let request = Request { op, defaults, hardware: None, by_kernels: false };
        let mut passed = Skipped::default();
        let fault = |(line, fault)| ProblemListError { list: label.to_owned(), line, fault };
        let opened = Opened::new(label, text).map_err(|error| fault((None, error.fault.into())))?;
        let source = ProblemSource::new(opened, op, &mut passed).map_err(fault)?;
        let (label, seen, numbers) = (label.to_owned(), SeenProblems::default(), HashMap::new());
        Ok(Self { label, request, source, seen, numbers, any: false, passed })
    }

    /// Refuses rows of a table that were measured with other hardware constants (`hw_num_cus` and the like)
    /// than these. Without this call, such columns are ignored, and reported as ignored.
    #[must_use]
    pub fn on(mut self, hardware: Hardware) -> Self {
        self.request.hardware = Some(hardware);
        self.passed.unknown.retain(|name| !Hardware::COLUMNS.contains(&name.as_str()));
        self
    }

    /// Takes what the rows of a benchmark do not specify (direction, types, layout, the signature of
    /// attention) from the row's kernel, instead of the defaults. Without this call, the kernels that will
    /// run the problems determine it.
    #[must_use]
    pub const fn by_kernels(mut self) -> Self {
        self.request.by_kernels = true;
        self
    }

    /// The next problem; `None` at the end. A file without problems is an error.
    #[allow(clippy::should_implement_trait)] // an iterator would go on after an error
    pub fn next(&mut self) -> Result<Option<ListedProblem>, ProblemListError> {
        let next = self.next_of_source().or_else(|fault| self.next_of_log(fault));
        let fault = |(line, fault)| ProblemListError { list: self.label.clone(), line, fault };
        let next = next.map_err(fault)?;
        if next.is_none() && !self.any {
            return Err(fault((None, ProblemLineFault::None(self.request.op, self.passed.clone()))));
        }
        self.any = true;
        Ok(next)
    }

    fn next_of_source(&mut self) -> Result<Option<ListedProblem>, Fault> {
        while let Some(read) = self.source.next(&self.request, &mut self.passed)? {
            let ListedProblem { number, problem, stated } = read.listed;
            if problem.op() != self.request.op {
                self.passed.others += 1;
                continue;
            }
            if self.source.lists_once() && !self.seen.insert(&(problem, stated)) {
                continue;
            }
            if let Some(number) = number {
                let written = each_operation!(read.written, Problem(own) => own.as_numbered().into());
                let what = self.seen.hashes_of(&(written, stated));
                if *self.numbers.entry(number).or_insert(what) != what {
                    return Err((Some(read.line), ProblemLineFault::Number(number)));
                }
            }
            return Ok(Some(read.listed));
        }
        Ok(None)
    }

    /// Logs begin with anything: where the first problem of a file is faulty, lines of a log may follow, which
    /// are read instead.
    fn next_of_log(&mut self, fault: Fault) -> Result<Option<ListedProblem>, Fault> {
        if self.any {
            return Err(fault);
        }
        let source = std::mem::replace(&mut self.source, ProblemSource::Log(AiterLog::default()));
        let Some(log) = source.log_into_rest()? else { return Err(fault) };
        (self.source, self.passed) = (ProblemSource::Log(log), Skipped::default());
        self.next_of_source()
    }
}

impl<'a> ProblemSource<'a> {
    fn new(opened: Opened<'a>, op: Op, passed: &mut Skipped) -> Result<Self, Fault> {
        let first = &opened.beginning;
        match opened.format {
            Format::Objects => Ok(Self::Objects(ProblemObjects::new(opened.text()))),
            Format::Lines if first.is_empty() || first.contains('=') => {
                PairLines::new(opened).map(Self::Lines)
            }
            Format::Lines | Format::Table => Self::table(opened, op, passed),
        }
    }

    /// A table; or a log, whose first line is no header.
    fn table(mut opened: Opened<'a>, op: Op, passed: &mut Skipped) -> Result<Self, Fault> {
        match ProblemTable::check_header(&mut opened, op) {
            Ok(unknown) => {
                passed.unknown = unknown;
                ProblemTable::new(opened.text()).map(Self::Table)
            }
            Err(fault) => AiterLog::find(opened.text(), 0)?.map(Self::Log).ok_or(fault),
        }
    }

    /// Whether a repeated problem counts once: rows may be measurements, one for each kernel.
    const fn lists_once(&self) -> bool {
        match self {
            Self::Table(table) => table.has_kernels,
            _ => true,
        }
    }

    /// The next problem of any operation; `None` at the end.
    fn next(&mut self, request: &Request, passed: &mut Skipped) -> Result<Option<ReadProblem>, Fault> {
        match self {
            Self::Lines(lines) => lines.next(request, passed),
            Self::Objects(objects) => objects.next(request, passed),
            Self::Table(table) => table.next(request, passed),
            Self::Log(log) => log.next(request, passed),
        }
    }

    /// The log that begins in the line that was read last, or behind it. The header of a table says that it is
    /// none.
    fn log_into_rest(self) -> Result<Option<AiterLog<'a>>, Fault> {
        let (text, before): (Text<'a>, u64) = match self {
            Self::Lines(lines) => lines.into_rest(),
            Self::Objects(objects) => objects.into_rest(),
            Self::Table(_) | Self::Log(_) => return Ok(None),
        };
        AiterLog::find(text, before)
    }
}
