//! The problems of `--problems`, one after the other, from a CSV or a list of any length.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, Cursor, Read};
use std::path::Path;

use ck_select::problem::{Problem, ProblemDefaults, ProblemLine, ProblemList, ProblemListError};
use ck_select::vocab::Op;
use csv::StringRecord;

use crate::error::CliError;
use crate::input::{self, CsvFile, NamedRow};

/// A file of problems being read.
pub(crate) struct Problems<'a> {
    op: Op,
    defaults: &'a ProblemDefaults,
    source: Source,
    seen: Seen,
    /// How many problems were read.
    place: usize,
}

enum Source {
    List(List),
    Csv(Csv),
}

/// Problems as `key=value` pairs, one a line.
struct List {
    name: String,
    lines: Box<dyn BufRead>,
    line: usize,
    /// Lines that are passed over: how many do not say their operation, and which is the first; how many say another.
    incomplete: usize,
    first_incomplete: usize,
    others: usize,
}

/// Problems as rows.
struct Csv {
    file: CsvFile,
    columns: HashMap<String, usize>,
    label: Option<usize>,
    /// One row a measurement: a problem stands there once for each kernel.
    measurements: bool,
    record: StringRecord,
}

impl<'a> Problems<'a> {
    /// Opens a file. What a row of a CSV does not say is taken from `defaults`.
    pub(crate) fn open(path: &Path, op: Op, defaults: &'a ProblemDefaults) -> Result<Self, CliError> {
        let (name, mut reader) = input::open(path)?;
        // The first line that is no comment tells which of both it is.
        let mut head = String::new();
        loop {
            let before = head.len();
            let count = reader.read_line(&mut head).map_err(|error| CliError::io(&name, &error))?;
            let line = head[before..].trim_start_matches('\u{feff}').trim();
            if count == 0 || !(line.is_empty() || line.starts_with('#')) {
                break;
            }
        }
        let is_list = ProblemList::recognizes(&head);
        let lines = Box::new(Cursor::new(head).chain(reader));
        let source = if is_list {
            Source::List(List { name, lines, line: 0, incomplete: 0, first_incomplete: 0, others: 0 })
        } else {
            let mut file = CsvFile::new(name, lines, true);
            let columns = file.columns()?;
            let measurements = columns.contains_key("kernel") || columns.contains_key("kernel_name");
            let label = columns.get("problem_idx").copied();
            Source::Csv(Csv { file, columns, label, measurements, record: StringRecord::new() })
        };
        Ok(Self { op, defaults, source, seen: Seen::default(), place: 0 })
    }

    /// The next problem with its `problem_idx`, else with its place; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<(String, Problem)>, CliError> {
        loop {
            let (label, problem, once) = match &mut self.source {
                Source::List(list) => match list.next(self.op)? {
                    Some(problem) => (String::new(), problem, true),
                    None => return Ok(None),
                },
                Source::Csv(csv) => match csv.next(self.op, self.defaults)? {
                    Some((label, problem)) => (label, problem, csv.measurements),
                    None => return Ok(None),
                },
            };
            if once && !self.seen.insert(&problem) {
                continue;
            }
            let label = if label.is_empty() { self.place.to_string() } else { label };
            self.place += 1;
            return Ok(Some((label, problem)));
        }
    }

    /// Says what was passed over.
    pub(crate) fn finish(self) {
        let Source::List(List { name, incomplete, first_incomplete, others, .. }) = self.source else {
            return;
        };
        let op = self.op;
        if incomplete > 0 {
            say!(
                "ckselect: warning: {name}: {incomplete} incomplete lines are passed over, the first is line \
                 {first_incomplete}: they do not say op={op}"
            );
        }
        if others > 0 {
            say!("ckselect: {name}: {others} problems are passed over: they are not {op}");
        }
    }
}

impl List {
    fn next(&mut self, op: Op) -> Result<Option<Problem>, CliError> {
        let mut text = String::new();
        loop {
            text.clear();
            let count = self.lines.read_line(&mut text).map_err(|error| CliError::io(&self.name, &error))?;
            if count == 0 {
                return Ok(None);
            }
            self.line += 1;
            let line = ProblemLine::parse(text.trim_start_matches('\u{feff}'))
                .map_err(|fault| ProblemListError { list: self.name.clone(), line: self.line, fault })?;
            match line {
                ProblemLine::Nothing => {}
                ProblemLine::Incomplete => {
                    self.incomplete += 1;
                    if self.incomplete == 1 {
                        self.first_incomplete = self.line;
                    }
                }
                ProblemLine::Problem(problem) if problem.op() == op => return Ok(Some(problem)),
                ProblemLine::Problem(_) => self.others += 1,
            }
        }
    }
}

impl Csv {
    fn next(&mut self, op: Op, defaults: &ProblemDefaults) -> Result<Option<(String, Problem)>, CliError> {
        let Self { file, columns, label, record, .. } = self;
        if !file.next(record)? {
            return Ok(None);
        }
        let fields = NamedRow { columns, record };
        let problem =
            Problem::from_fields(op, &fields, defaults).map_err(|error| file.fault(record, error))?;
        let label = label.and_then(|column| record.get(column)).unwrap_or_default();
        Ok(Some((label.to_owned(), problem)))
    }
}

/// Which problems were there before: by 128 bits of hash, a tenth of what the problems take. That two of a million
/// share theirs happens once in 10^26 files.
#[derive(Default)]
struct Seen {
    keys: [RandomState; 2],
    hashes: HashSet<[u64; 2]>,
}

impl Seen {
    /// Whether it is new.
    fn insert(&mut self, problem: &Problem) -> bool {
        let [first, second] = &self.keys;
        self.hashes.insert([first.hash_one(problem), second.hash_one(problem)])
    }
}
