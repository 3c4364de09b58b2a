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

mod fault;
mod header;
mod json;
mod log;
mod source;
mod stated;

pub use fault::ProblemLineFault;
pub use header::{HeaderError, UnknownColumn, check_columns, check_names};
pub use stated::StatedFields;

use std::io::{self, BufRead, Cursor, Read as _};

use self::source::{Lines, ProblemTable, SeenProblems, unreadable};
use crate::cells::Fields;
use crate::csv_rows::CsvRows;
use crate::each_operation;
use crate::field::InvalidField;
use crate::hardware::Hardware;
use crate::kernel::Kernel;
use crate::operation::Operation;
use crate::operation::OperationProblem as _;
use crate::problem::{Pairs, Problem, ProblemDefaults, ProblemError, separates};
use crate::vocab::Op;

/// The problems of a file, in its order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProblemList {
    /// The problems, at least one. Repeated ones count once, except in a table without kernels, where each
    /// row counts.
    pub problems: Vec<ListedProblem>,
    /// What was skipped.
    pub passed: Skipped,
}

/// What a reader of a file of problems skipped.
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
    /// The first of them, counted from 1.
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
    /// What is wrong.
    pub fault: ProblemLineFault,
}

/// The contents of a line of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)] // lives only while a line is read
pub enum ProblemLine {
    /// A blank line or a comment.
    Nothing,
    /// No operation, or the beginning of one: most likely the line was truncated.
    Incomplete,
    /// A problem.
    Problem(Problem),
    /// A problem behind the beginning of another line, whose writer was stopped while this one's wrote.
    Behind(Problem),
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
/// * **JSON** has the same fields: an array of objects, or an object on each line.
/// * A **log** of a program that uses AITER names the GEMMs that AITER found in no table.
/// * A **table** is a CSV with a column per field, and optionally `problem_idx` and `op`. `variant` and
///   `ndim_spatial`, which upstream's tables have, give direction and dimensions.
pub struct ProblemReader<'a> {
    label: String,
    op: Op,
    defaults: ProblemDefaults,
    lines: Lines<'a>,
    format: Format<'a>,
    seen: SeenProblems,
    any: bool,
    hardware: Option<Hardware>,
    by_kernels: bool,
    /// What was skipped so far.
    pub passed: Skipped,
}

#[allow(clippy::large_enum_variant)] // a reader has one
enum Format<'a> {
    Empty,
    List {
        /// Whether lines have to name their operation.
        all_say_op: bool,
    },
    ProblemTable(ProblemTable<'a>),
}

impl<'a> ProblemReader<'a> {
    /// Reads the head of a file; `label` names it in errors. `defaults` supplies what the file does not
    /// specify.
    pub fn new(
        label: &str,
        source: Box<dyn BufRead + 'a>,
        op: Op,
        defaults: ProblemDefaults,
    ) -> Result<Self, ProblemListError> {
        let mut reader = Self {
            label: label.to_owned(),
            op,
            defaults,
            lines: Lines::new(source),
            format: Format::Empty,
            seen: SeenProblems::default(),
            any: false,
            hardware: None,
            by_kernels: false,
            passed: Skipped::default(),
        };
        match reader.head() {
            Ok(format) => reader.format = format,
            Err(fault) => return Err(reader.fault(fault)),
        }
        Ok(reader)
    }

    /// Refuses rows of a table that were measured with other hardware constants (`hw_num_cus` and the like)
    /// than these. Without this call, such columns are ignored, and reported as ignored.
    #[must_use]
    pub fn on(mut self, hardware: Hardware) -> Self {
        self.hardware = Some(hardware);
        self.passed.unknown.retain(|name| !Hardware::COLUMNS.contains(&name.as_str()));
        self
    }

    /// Takes what the rows of a benchmark do not specify (direction, types, layout, the signature of
    /// attention) from the row's kernel, instead of the defaults. Without this call, the kernels that will
    /// run the problems determine it.
    #[must_use]
    pub const fn by_kernels(mut self) -> Self {
        self.by_kernels = true;
        self
    }

    fn fault(&self, fault: ProblemLineFault) -> ProblemListError {
        let line = match fault {
            ProblemLineFault::None(..) => None,
            _ => Some(self.line()).filter(|line| *line > 0),
        };
        ProblemListError { list: self.label.clone(), line, fault }
    }

    /// The number of the last line.
    fn line(&self) -> u64 {
        match &self.format {
            Format::ProblemTable(table) => table.rows.line(),
            _ => self.lines.number,
        }
    }

    fn head(&mut self) -> Result<Format<'a>, ProblemLineFault> {
        self.lines.expect_text()?;
        match self.lines.next() {
            Ok(true) => {}
            Ok(false) => return Ok(Format::Empty),
            // Logs begin with anything.
            Err(fault) => {
                let number = self.lines.number;
                let text = self.rest().ok().filter(|text| log::has_problems(text));
                self.lines.number = number;
                return text.map(|text| self.log(&text)).ok_or(fault);
            }
        }
        if log::has_problems(self.lines.line()) {
            return self.rest().map(|text| self.log(&text));
        }
        if json::is_json(self.lines.line()) {
            return self.json();
        }
        if !self.lines.line().contains('=') {
            return self.table();
        }
        self.lines.again = true;
        let mut all_say_op = op_of(self.lines.line()).is_some();
        if !all_say_op {
            // Either no line names it, or this one was truncated: the other lines tell.
            let rest = self.following()?;
            if log::has_problems(&rest) {
                return Ok(self.log(&(self.so_far() + &rest)));
            }
            all_say_op =
                rest.lines().any(|line| !line.trim_start().starts_with('#') && op_of(line).is_some());
            self.lines.source = Box::new(Cursor::new(rest));
        }
        Ok(Format::List { all_say_op })
    }

    /// A table whose header is the last line; or a log that begins like one.
    fn table(&mut self) -> Result<Format<'a>, ProblemLineFault> {
        self.lines.end_cell()?;
        let mut header = CsvRows::new(self.lines.line().as_bytes());
        let read = header.read_header().map_err(ProblemLineFault::from);
        let names: Vec<&str> = header.header().iter().map(String::as_str).collect();
        match read.and_then(|_| check_columns(self.op, &names, &[]).map_err(ProblemLineFault::Header)) {
            Ok(unknown) => self.passed.unknown = unknown,
            Err(fault) => {
                let text = self.rest()?;
                let is_log = log::has_problems(&text);
                return if is_log { Ok(self.log(&text)) } else { Err(fault) };
            }
        }
        // Models and devices have constants of their own.
        let hardware = names.iter().filter(|name| Hardware::COLUMNS.contains(name));
        self.passed.unknown.extend(hardware.map(|&name| name.to_owned()));
        let rest = std::mem::replace(&mut self.lines.source, Box::new(io::empty()));
        let table = ProblemTable::new(Box::new(Cursor::new(self.so_far()).chain(rest)))?;
        Ok(Format::ProblemTable(table))
    }

    /// Reads the whole file, whose first line was read.
    fn json(&mut self) -> Result<Format<'a>, ProblemLineFault> {
        let text = self.rest()?;
        if log::has_problems(&text) {
            return Ok(self.log(&text));
        }
        let lines = json::lines_of(&text).map_err(|(line, reason)| {
            self.lines.number = line;
            ProblemLineFault::Row(reason)
        })?;
        let all_say_op = lines.lines().any(|line| op_of(line).is_some());
        self.lines = Lines::new(Box::new(Cursor::new(lines)));
        Ok(Format::List { all_say_op })
    }

    /// The last line, at its place in the file.
    fn so_far(&self) -> String {
        "\n".repeat(self.lines.number.saturating_sub(1) as usize) + self.lines.whole_line()
    }

    /// The last line at its place, and all that follows.
    fn rest(&mut self) -> Result<String, ProblemLineFault> {
        Ok(self.so_far() + &self.following()?)
    }

    /// All that follows the last line. Of a log, whose other lines are anybody's, what is no UTF-8 is replaced.
    fn following(&mut self) -> Result<String, ProblemLineFault> {
        let mut bytes = Vec::new();
        self.lines.source.read_to_end(&mut bytes).map_err(unreadable)?;
        let text = match String::from_utf8(bytes) {
            Ok(text) => return Ok(text),
            Err(error) => error,
        };
        let (valid, text) = (text.utf8_error().valid_up_to(), String::from_utf8_lossy(text.as_bytes()));
        if log::has_problems(&text) || log::has_problems(self.lines.line()) {
            return Ok(text.into_owned());
        }
        self.lines.number += 1 + text[..valid].matches('\n').count() as u64;
        Err(ProblemLineFault::Row("not UTF-8".to_owned()))
    }

    /// Goes on with the problems of a log.
    fn log(&mut self, text: &str) -> Format<'a> {
        let found = log::problems_of(text, &self.defaults.gemm_request);
        (self.passed.of_other_tables, self.passed.empty) = (found.of_other_tables, found.empty);
        self.lines = Lines::new(Box::new(Cursor::new(found.pairs)));
        self.lines.numbers = found.numbers.into_iter();
        Format::List { all_say_op: false }
    }

    /// The next problem; `None` at the end. A file without problems is an error.
    #[allow(clippy::should_implement_trait)] // an iterator would go on after an error
    pub fn next(&mut self) -> Result<Option<ListedProblem>, ProblemListError> {
        let next = match &mut self.format {
            Format::Empty => Ok(None),
            Format::List { all_say_op } => {
                let all_say_op = *all_say_op;
                self.next_line(all_say_op)
            }
            Format::ProblemTable(_) => self.next_row(),
        };
        let next = next.map_err(|fault| self.fault(fault))?;
        if next.is_none() && !self.any {
            return Err(self.fault(ProblemLineFault::None(self.op, self.passed.clone())));
        }
        self.any = true;
        Ok(next)
    }

    fn next_line(&mut self, all_say_op: bool) -> Result<Option<ListedProblem>, ProblemLineFault> {
        while self.lines.next()? {
            let line = self.lines.line();
            let read = if all_say_op {
                parse_line(line, self.op, &self.defaults)
            } else {
                parse_silent_line(line, self.op, &self.defaults)
            };
            let torn = matches!(read, Ok(ProblemLine::Incomplete | ProblemLine::Behind(_)))
                || (read.is_err() && !all_say_op && !self.lines.whole);
            if torn {
                if self.passed.torn == 0 {
                    self.passed.first_torn = self.lines.number;
                }
                self.passed.torn += 1;
            }
            match read {
                Ok(ProblemLine::Problem(problem) | ProblemLine::Behind(problem))
                    if problem.op() == self.op =>
                {
                    let stated = StatedFields::by(&Pairs::from_line(line));
                    if self.seen.insert(&(problem, stated)) {
                        return Ok(Some(ListedProblem { number: None, problem, stated }));
                    }
                }
                Ok(ProblemLine::Problem(_) | ProblemLine::Behind(_)) => self.passed.others += 1,
                Err(fault) if !torn => return Err(fault),
                Ok(ProblemLine::Nothing | ProblemLine::Incomplete) | Err(_) => {}
            }
        }
        Ok(None)
    }

    fn next_row(&mut self) -> Result<Option<ListedProblem>, ProblemLineFault> {
        let Self {
            format: Format::ProblemTable(table),
            op,
            defaults,
            seen,
            passed,
            hardware,
            by_kernels,
            ..
        } = self
        else {
            return Ok(None);
        };
        while table.rows.next()? {
            if let Some(stated) = table.op().map_err(ProblemLineFault::Op)?
                && stated != *op
            {
                passed.others += 1;
                continue;
            }
            let problem =
                Problem::from_fields(*op, &table.rows, defaults).map_err(ProblemLineFault::Cells)?;
            if let Some(hardware) = hardware {
                check_hardware(hardware, &table.rows).map_err(ProblemLineFault::Cells)?;
            }
            let stated = StatedFields::by(&table.rows);
            let name = ["kernel", "kernel_name"].iter().find_map(|column| table.rows.get(column));
            let kernel = name.filter(|_| *by_kernels).and_then(|name| Kernel::from_name(name).ok());
            let completed = kernel.and_then(|kernel| stated.completed(&problem, &kernel.kind));
            let (written, problem) = (problem, completed.unwrap_or(problem));
            if table.once && !seen.insert(&(problem, stated)) {
                continue;
            }
            let number = table.number().map_err(ProblemLineFault::Cells)?;
            if let Some(number) = number {
                let written = each_operation!(written, Problem(own) => own.as_numbered().into());
                let what = seen.hashes_of(&(written, stated));
                if *table.numbers.entry(number).or_insert(what) != what {
                    return Err(ProblemLineFault::Number(number));
                }
            }
            return Ok(Some(ListedProblem { number, problem, stated }));
        }
        Ok(None)
    }
}

fn check_hardware(hardware: &Hardware, row: &dyn Fields) -> Result<(), InvalidField> {
    for (name, column) in Hardware::NAMES.into_iter().zip(Hardware::COLUMNS) {
        let (Some(cell), Some(own)) = (row.get(column), hardware.get(name)) else { continue };
        if cell.parse() != Ok(own as f64) {
            let expected = format!("{own}, with which kernels are ranked (see --arch)");
            return Err(InvalidField::new(column, cell, expected));
        }
    }
    Ok(())
}

/// The line of a problem, without its end.
pub fn problem_line(problem: &Problem) -> String {
    format!("{problem},op={}", problem.op())
}

impl ProblemLine {
    /// Reads a line that names its operation. A problem without types has upstream's defaults.
    pub fn parse(line: &str) -> Result<Self, ProblemLineFault> {
        parse_line(line, Operation::UNSTATED, &ProblemDefaults::new(Operation::UNSTATED))
    }
}

fn op_of(line: &str) -> Option<&str> {
    line.split(separates).find_map(|part| part.strip_prefix("op="))
}

/// Reads a line; `defaults` are for problems of the operation `mine`.
fn parse_line(line: &str, mine: Op, defaults: &ProblemDefaults) -> Result<ProblemLine, ProblemLineFault> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(ProblemLine::Nothing);
    }
    let read = parse_pairs(line, mine, defaults);
    match read {
        Err(_) => behind(line).map_or(read, |problem| Ok(ProblemLine::Behind(problem))),
        read => read,
    }
}

/// The problem at the end of a line if it stands there exactly as [`problem_line`] writes it, behind the
/// beginning of another such line.
fn behind(text: &str) -> Option<Problem> {
    const BEGINNINGS: [&str; 3] = ["direction=", "M=", "api_family="];
    let places = BEGINNINGS.iter().flat_map(|beginning| text.match_indices(beginning));
    places.filter(|(place, _)| *place > 0).find_map(|(place, _)| {
        let (start, end) = text.split_at(place);
        if !BEGINNINGS.iter().any(|begins| begins.starts_with(start) || start.starts_with(begins)) {
            return None;
        }
        match parse_pairs(end, Operation::UNSTATED, &ProblemDefaults::new(Operation::UNSTATED)) {
            Ok(ProblemLine::Problem(problem)) if problem_line(&problem) == end => Some(problem),
            _ => None,
        }
    })
}

fn parse_pairs(line: &str, mine: Op, defaults: &ProblemDefaults) -> Result<ProblemLine, ProblemLineFault> {
    let Some(word) = op_of(line) else { return Ok(ProblemLine::Incomplete) };
    let op: Op = match word.parse() {
        Ok(op) => op,
        Err(_) if Op::WORDS.iter().any(|op| op.starts_with(word)) => return Ok(ProblemLine::Incomplete),
        Err(unknown) => return Err(ProblemLineFault::Op(unknown)),
    };
    let defaults = if op == mine { *defaults } else { ProblemDefaults::new(op) };
    Problem::parse(op, line, &defaults).map(ProblemLine::Problem).map_err(ProblemLineFault::Problem)
}

/// Reads a line of a list that never names an operation.
fn parse_silent_line(
    line: &str,
    mine: Op,
    defaults: &ProblemDefaults,
) -> Result<ProblemLine, ProblemLineFault> {
    let by_another = || {
        let mut others = Op::ALL.iter().filter(|op| **op != mine);
        others.find_map(|&op| Problem::parse(op, line, &ProblemDefaults::new(op)).ok())
    };
    let read = match Problem::parse(mine, line, defaults) {
        Err(error @ ProblemError::UnknownKey { .. }) => by_another().ok_or(error),
        read => read,
    };
    read.map(ProblemLine::Problem).map_err(ProblemLineFault::Problem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{ConvProblem, GemmProblem};
    use crate::vocab::Direction;

    fn problems() -> [Problem; 3] {
        let conv = ConvProblem { n: 16, c: 256, k: 128, ..ConvProblem::new_2d([28, 28], [3, 3]) };
        let arch = "gfx950".parse().ok();
        [conv.into(), ConvProblem { arch, ..conv.padded([1, 1]) }.into(), GemmProblem::new(1, 2, 3).into()]
    }

    fn read(op: Op, text: &str) -> Result<ProblemList, String> {
        ProblemList::parse("l", text.as_bytes(), op, &ProblemDefaults::new(op))
            .map_err(|error| error.to_string())
    }

    fn conv(text: &str) -> Result<ProblemList, String> {
        read(Op::Conv, text)
    }

    #[test]
    fn lines_read_back() {
        let lines: Vec<String> = problems().iter().map(problem_line).collect();
        let text = lines.join("\r\n") + "\n\n# end";
        for (op, expected) in [(Op::Conv, &problems()[..2]), (Op::Gemm, &problems()[2..])] {
            let list = read(op, &text).unwrap();
            assert_eq!(list.problems.iter().map(|listed| listed.problem).collect::<Vec<_>>(), expected);
            assert_eq!((list.passed.others, list.passed.torn), (3 - expected.len() as u64, 0));
        }
    }

    /// However a line is cut off, it is not taken for another problem.
    #[test]
    fn no_beginning_of_a_line_is_a_problem() {
        for problem in problems() {
            let whole = problem_line(&problem);
            for end in 0..whole.len() {
                assert!(
                    !matches!(ProblemLine::parse(&whole[..end]), Ok(ProblemLine::Problem(_)) | Err(_)),
                    "{}",
                    &whole[..end]
                );
            }
        }
    }

    #[test]
    fn repeated_problems_count_once_and_mistakes_are_named() {
        let list = read(Op::Gemm, "op=gemm_universal m=1 N=2 K=3\nop=gemm_universal,M=1,N=2,K=3").unwrap();
        assert_eq!(list.problems.len(), 1);
        let list =
            read(Op::Gemm, "op=gemm_universal,M=1,N=2,K=3\nop=gemm,M=1,N=2,K=3\nM=4,N=4,K=4\n").unwrap();
        assert_eq!((list.problems.len(), list.passed.torn, list.passed.first_torn), (1, 2, 2));
        for (text, message) in [
            ("# a\nop=matmul", "l: line 2: unknown operation 'matmul', expected one of: gemm_universal"),
            ("op=gemm_universal,M=1,K=1", "l: line 1: N: found nothing, expected a whole number"),
            ("op=gemm_universal,M=1,N=1,K=1,X=2", "l: line 1: gemm_universal problems have no field 'X'"),
            (
                "# a\nop=gemm,M=1",
                "l: found no gemm_universal problem, expected at least one; 0 of another operation and 1",
            ),
        ] {
            let error = read(Op::Gemm, text).unwrap_err();
            assert!(error.starts_with(message), "{error}");
        }
    }

    /// A process is killed within its write, and another one, which saw nothing of it yet, writes behind it.
    #[test]
    fn a_line_behind_the_beginning_of_another_is_read() {
        let fmha = Problem::parse(
            Op::Fmha,
            "seqlen_q=5,nhead_q=2,hdim_q=64,page_size=16,api_family=fwd_pagedkv",
            &ProblemDefaults::new(Op::Fmha),
        );
        let all: Vec<Problem> = problems().into_iter().chain([fmha.unwrap()]).collect();
        for (torn, whole) in all.iter().flat_map(|torn| all.iter().map(move |whole| (torn, whole))) {
            let (torn, end) = (problem_line(torn), problem_line(whole));
            for cut in 1..=torn.len() {
                let text = format!("{}{end}\n", &torn[..cut]);
                let list = read(whole.op(), &text).unwrap_or_else(|error| panic!("{text}{error}"));
                assert_eq!(
                    list.problems.iter().map(|one| one.problem).collect::<Vec<_>>(),
                    [*whole],
                    "{text}"
                );
            }
        }
        let text = format!("{}{}\n", &problem_line(&all[0])[..8], problem_line(&all[1]));
        let list = conv(&text).unwrap();
        assert_eq!((list.passed.torn, list.passed.first_torn), (1, 1));
        // What somebody wrote is not repaired.
        let error = read(Op::Gemm, "X=1,M=1,N=2,K=3,op=gemm_universal").unwrap_err();
        assert!(error.contains("no field 'X'"), "{error}");
        let error = read(Op::Gemm, "M=7,X=1,M=1,N=2,K=3,op=gemm_universal").unwrap_err();
        assert!(error.starts_with("l: line 1: "), "{error}");
    }

    #[test]
    fn a_list_need_not_say_its_operation() {
        let text = "# layers\nC=64,K=64,Hi=8,Wi=8,Y=1,X=1\nM=1,N=2,K=3\nC=64,K=6";
        let list = conv(text).unwrap();
        assert_eq!((list.problems.len(), list.passed.others, list.passed.first_torn), (1, 1, 4));
        // The first line was truncated.
        let list = conv("C=64,K=6\nC=64,K=64,Hi=8,Wi=8,Y=1,X=1,op=grouped_conv").unwrap();
        assert_eq!((list.problems.len(), list.passed.torn, list.passed.first_torn), (1, 1, 1));
        let error = conv("C=64,K=64,Hi=8,Wi=8,Y=1,X=1\nC=64\n").unwrap_err();
        assert!(
            error.starts_with("l: line 2: K, Hi, Wi, Y, X: found nothing, expected a value for each"),
            "{error}"
        );
        let defaults = ProblemDefaults { direction: Direction::BwdData, ..ProblemDefaults::new(Op::Conv) };
        for text in ["C=64,K=64,Hi=8,Wi=8,Y=1,X=1", "C=64,K=64,Hi=8,Wi=8,Y=1,X=1,op=grouped_conv"] {
            let list = ProblemList::parse("l", text.as_bytes(), Op::Conv, &defaults).unwrap();
            let Problem::Conv(problem) = list.problems[0].problem else { panic!() };
            assert_eq!(problem.direction, Direction::BwdData);
            assert_eq!(list.problems[0].stated, StatedFields::default());
        }
    }

    #[test]
    fn tables_are_read_by_their_columns() {
        let text = "\u{feff}# shapes\n\nproblem_idx,C,K,Hi,Wi,Y,X,variant,note\n\
                    7,64,64,8,8,1,1,bwd_data,x\n\n\
                    7,64,64,8,8,1,1,bwd_data,\n9,64,64,8,8,3,3,forward,y\n";
        let list = conv(text).unwrap();
        let numbers: Vec<_> = list.problems.iter().map(|listed| listed.number.unwrap()).collect();
        assert_eq!((numbers, &list.passed.unknown[..]), (vec![7, 7, 9], &["note".to_owned()][..]));
        let Problem::Conv(problem) = list.problems[0].problem else { panic!() };
        assert_eq!((problem.direction, list.problems[0].stated.direction), (Direction::BwdData, true));
        assert_eq!(list.passed.notes(), ["ignored columns, which are not fields of a problem: note"]);
        let measured = "kernel,C,K,Hi,Wi,Y,X\na,64,64,8,8,1,1\nb,64,64,8,8,1,1\n";
        assert_eq!(conv(measured).unwrap().problems.len(), 1, "a row a kernel");
        let both = "op,m,n,k,C,K,Hi,Wi,Y,X\ngemm_universal,1,2,3,,,,,,\ngrouped_conv,,,,4,4,5,5,1,1\n";
        assert_eq!((conv(both).unwrap().passed.others, read(Op::Gemm, both).unwrap().problems.len()), (1, 1));
        let quoted = "\"C\",K,Hi,Wi,Y,X,note\n64,64,8,8,1,1,\"a,\n\"\"b\"\"\"\n64,64,8,8,1,\"one\",\n";
        assert_eq!(conv(quoted).unwrap_err(), "l: line 4: X: found 'one', expected a whole number");
    }

    /// The part of the name on the first line was taken for a misspelt column, or for the last one
    /// (61a85d2a).
    #[test]
    fn names_of_columns_may_span_lines() {
        let text =
            "# mine\n\"my\nnote\",N,C,K,Hi,Wi,Y,X,\"other\n\"\nx,1,8,8,4,4,1,1,\n\n,1,8,8,4,4,1,one,\n";
        let row = text.rfind("\n,").unwrap();
        let list = conv(&text[..row]).unwrap();
        assert_eq!(
            (list.problems.len(), &list.passed.unknown[..]),
            (1, &["my\nnote".to_owned(), "other".to_owned()][..])
        );
        assert_eq!(conv(text).unwrap_err(), "l: line 7: X: found 'one', expected a whole number");
        let open = "N,C,K,Hi,Wi,Y,X,\"note\n1,8,8,4,4,1,1,x\n";
        let expected = "l: line 1: found a quoted cell without an end, expected '\"' behind it";
        assert_eq!(conv(open).unwrap_err(), expected);
    }

    #[test]
    fn indented_comments_are_no_rows() {
        let text = "note,N,C,K,Hi,Wi,Y,X\nx,1,8,8,4,4,1,1\n  # off,2,8,8,4,4,1,1\n";
        assert_eq!(conv(text).unwrap().problems.len(), 1);
    }

    /// `split_k` of `N/A` was "found 'N/A', expected a whole number", as if it were no empty word.
    #[test]
    fn empty_words_are_absent_cells() {
        let listed = |cell: &str| {
            conv(&format!("op,N,C,K,Hi,Wi,Y,X,split_k,dtype\n{cell},1,8,8,4,4,1,1,{cell},{cell}\n")).unwrap()
        };
        let absent = listed("").problems;
        assert!(!absent[0].stated.dtype);
        for word in ["N/A", "nan", "NaN", "null", "None", "NULL"] {
            assert_eq!(listed(word).problems, absent, "{word}");
        }
    }

    #[test]
    fn a_header_in_the_middle_of_a_joined_table_is_no_row() {
        let text = "N,C,K,Hi,Wi,Y,X\n1,8,8,4,4,1,1\nN,C,K,Hi,Wi,Y,X\n2,8,8,4,4,1,1\n";
        assert_eq!(conv(text).unwrap().problems.len(), 2);
    }

    #[test]
    fn tables_without_a_problem_are_errors() {
        for (text, message) in [
            ("", "l: found no grouped_conv problem, expected at least one"),
            ("# only\n\n", "l: found no grouped_conv problem, expected at least one"),
            ("C,K,Hi,Wi,Y,X\n", "l: found no grouped_conv problem, expected at least one"),
            ("\nC;K;Hi\n1;2;3\n", "l: line 2: the columns are separated by ';', expected ','"),
            (
                "a,b\n1,2\n",
                "l: line 1: no column 'C', expected C, K, Hi, Wi, Y, X for a grouped_conv problem; \
                 the columns are a, b",
            ),
            ("PAR1", "l: found a Parquet file, expected UTF-8 text"),
            (
                "C,K,Hi,Wi,Y,X\r64,64,8,8,1,1\r",
                "l: line 1: found a carriage return, expected lines that end with a line feed",
            ),
            ("C,K,Hi,Wi,Y,X\n64,64,8,8,1\n", "l: line 2: found 5 cells, expected 6 as in the header"),
            ("C,K,Hi,Wi,Y,X\n# x\n64,64,8,8,1,\n", "l: line 3: X: found nothing, expected a whole number"),
            (
                "problem_idx,C,K,Hi,Wi,Y,X\n7,64,64,8,8,1,1\n7,64,64,8,8,3,3\n",
                "l: line 3: problem_idx 7 denotes two different problems",
            ),
            (
                "problem_idx,C,K,Hi,Wi,Y,X\n-1,64,64,8,8,1,1\n",
                "l: line 2: problem_idx: found '-1', expected a whole number, 0 or more",
            ),
        ] {
            let error = conv(text).unwrap_err();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
