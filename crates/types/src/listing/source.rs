//! Parts of the readers of problem files: lines, rows of a table, and the problems seen so far.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, BufRead};

use super::fault::ProblemLineFault;
use super::stated::StatedFields;
use crate::cells::Fields as _;
use crate::csv_rows::{CsvFault, CsvRows, ENDLESS, LONGEST, UNCLOSED};
use crate::field::InvalidField;
use crate::files;
use crate::problem::Problem;
use crate::vocab::{Op, UnknownWord};

/// Lines that are neither blank nor comments.
pub(super) struct Lines<'a> {
    pub(super) source: Box<dyn BufRead + 'a>,
    text: String,
    /// Whether the last line has a line end.
    pub(super) whole: bool,
    /// Number of the last line, from 1.
    pub(super) number: u64,
    /// The numbers of the next lines, if they are not counted.
    pub(super) numbers: std::vec::IntoIter<u64>,
    /// Whether to return the last line once more.
    pub(super) again: bool,
}

#[allow(clippy::needless_pass_by_value)] // as `map_err` wants it
pub(super) fn unreadable(error: io::Error) -> ProblemLineFault {
    match error.kind() {
        io::ErrorKind::InvalidData => ProblemLineFault::Read("not UTF-8".to_owned()),
        _ => ProblemLineFault::Read(error.to_string()),
    }
}

impl<'a> Lines<'a> {
    pub(super) fn new(source: Box<dyn BufRead + 'a>) -> Self {
        Self {
            source,
            text: String::new(),
            whole: true,
            number: 0,
            numbers: Vec::new().into_iter(),
            again: false,
        }
    }

    /// Goes to the next line; false at the end.
    pub(super) fn next(&mut self) -> Result<bool, ProblemLineFault> {
        if std::mem::take(&mut self.again) {
            return Ok(true);
        }
        loop {
            let mut bytes = std::mem::take(&mut self.text).into_bytes();
            bytes.clear();
            self.number = self.numbers.next().unwrap_or(self.number + 1);
            if self.source.read_until(b'\n', &mut bytes).map_err(unreadable)? == 0 {
                return Ok(false);
            }
            self.text = String::from_utf8(bytes).map_err(|error| {
                self.text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                ProblemLineFault::Read("not UTF-8".to_owned())
            })?;
            self.whole = self.text.ends_with('\n');
            if self.number == 1 {
                self.text.drain(..self.text.len() - files::text_without_bom(&self.text).len());
            }
            let line = self.line();
            if line.contains('\r') {
                let fault = "found a carriage return, expected lines that end with a line feed";
                return Err(ProblemLineFault::Read(fault.to_owned()));
            }
            if !line.is_empty() && !line.starts_with('#') {
                return Ok(true);
            }
        }
    }

    /// Reads on to the end of a cell that spans lines. The line's number stays.
    pub(super) fn end_cell(&mut self) -> Result<(), ProblemLineFault> {
        let has_odd_quotes = |text: &str| text.matches('"').count() % 2 == 1;
        let mut is_open = has_odd_quotes(&self.text);
        while is_open && self.text.len() < LONGEST as usize {
            let end = self.text.len();
            if self.source.read_line(&mut self.text).map_err(unreadable)? == 0 {
                break;
            }
            is_open = !has_odd_quotes(&self.text[end..]);
        }
        Ok(())
    }

    /// Refuses a file that is not text.
    pub(super) fn expect_text(&mut self) -> Result<(), ProblemLineFault> {
        match files::not_text(self.source.fill_buf().map_err(unreadable)?) {
            Some(found) => Err(ProblemLineFault::Read(format!("found {found}, expected UTF-8 text"))),
            None => Ok(()),
        }
    }

    /// The last line with its end.
    pub(super) fn whole_line(&self) -> &str {
        &self.text
    }

    pub(super) fn line(&self) -> &str {
        self.text.trim()
    }
}

/// A table, and the row that was read last.
pub(super) struct ProblemTable<'a> {
    pub(super) rows: CsvRows<Box<dyn BufRead + 'a>>,
    /// Rows are measurements, so that a problem occurs once for each kernel.
    pub(super) once: bool,
    /// The problem of each number, as its hashes.
    pub(super) numbers: HashMap<u64, [u64; 2]>,
}

impl From<CsvFault> for ProblemLineFault {
    fn from(fault: CsvFault) -> Self {
        match fault {
            CsvFault::Unreadable(error) => unreadable(error),
            CsvFault::Row { reason, .. } => Self::Row(reason),
            CsvFault::Endless(_) => Self::Read(ENDLESS.to_owned()),
            CsvFault::Unclosed(_) => Self::Row(UNCLOSED.to_owned()),
        }
    }
}

impl<'a> ProblemTable<'a> {
    pub(super) fn new(source: Box<dyn BufRead + 'a>) -> Result<Self, ProblemLineFault> {
        let mut rows = CsvRows::new(source);
        rows.read_header()?;
        let once = ["kernel", "kernel_name"].iter().any(|name| rows.column(name).is_some());
        Ok(Self { rows, once, numbers: HashMap::new() })
    }

    /// The row's operation. Upstream's converters write `grouped` where they could not read a kernel's name.
    pub(super) fn op(&self) -> Result<Option<Op>, UnknownWord> {
        match (self.rows.get("op"), self.rows.get("op_type")) {
            (Some(word), _) => word.parse().map(Some),
            (None, word) => Ok(word.and_then(|word| word.parse().ok())),
        }
    }

    pub(super) fn number(&self) -> Result<Option<u64>, InvalidField> {
        let Some(column) = self.rows.column("problem_idx") else { return Ok(None) };
        let cell = self.rows.text(column);
        cell.parse().map(Some).map_err(|_| {
            InvalidField::new("problem_idx", format_args!("'{cell}'"), "a whole number, 0 or more")
        })
    }
}

/// The problems seen so far, as hashes of 128 bits, a tenth of what the problems take. Two of a million
/// problems collide once in 10^26 files.
#[derive(Default)]
pub(super) struct SeenProblems {
    keys: [RandomState; 2],
    hashes: HashSet<[u64; 2]>,
}

impl SeenProblems {
    pub(super) fn hashes_of(&self, asked: &(Problem, StatedFields)) -> [u64; 2] {
        self.keys.each_ref().map(|key| key.hash_one(asked))
    }

    /// Whether it is new.
    pub(super) fn insert(&mut self, asked: &(Problem, StatedFields)) -> bool {
        self.hashes.insert(self.hashes_of(asked))
    }
}
