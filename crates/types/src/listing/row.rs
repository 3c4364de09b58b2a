//! Rows with a cell for each field of a problem: of a table, or objects of JSON.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{Fault, ListedProblem, ProblemLineFault, ReadProblem, Request, Skipped, StatedFields};
use crate::cells::{Cell, Fields};
use crate::field::InvalidField;
use crate::hardware::Hardware;
use crate::json::Strict;
use crate::kernel::Kernel;
use crate::operation::Operation;
use crate::problem::{Problem, text_keys};
use crate::sheet::json::{JsonFault, JsonText, columns_of};
use crate::sheet::{
    Columns, CsvRows, KernelColumns, Opened, ProblemColumns, Row, Text, check_columns, check_names,
};
use crate::vocab::{Op, UnknownWord};

/// The columns of rows that are problems.
struct ProblemHeader {
    kernel: KernelColumns,
    problem: ProblemColumns,
}

impl ProblemHeader {
    fn new(mut columns: Columns<'_>) -> Self {
        let (of_ops, beside) =
            (Op::ALL.iter().flat_map(|&op| text_keys(op)), ["op", "op_type", "problem_idx"]);
        let names: BTreeSet<&'static str> =
            of_ops.chain(&beside).chain(&Hardware::COLUMNS).copied().collect();
        Self { kernel: columns.kernel(), problem: columns.problem(names.into_iter()) }
    }

    /// The problem of a row; `None` for one of another operation.
    fn read(
        &self,
        row: &dyn Row,
        request: &Request,
        line: u64,
    ) -> Result<Option<ReadProblem>, ProblemLineFault> {
        let kernel = self.kernel.name(row).map_err(ProblemLineFault::Cells)?;
        let cells = self.problem.cells(row).map_err(ProblemLineFault::Cells)?;
        read(&cells, kernel.as_deref(), request, line).map_err(|fault| match fault {
            ProblemLineFault::Cells(wrong) => ProblemLineFault::Cells(self.problem.in_column(wrong)),
            fault => fault,
        })
    }
}

/// A table, and the row that was read last.
pub(super) struct ProblemTable<'a> {
    rows: CsvRows<Text<'a>>,
    header: ProblemHeader,
    /// Whether rows are measurements, so that a problem occurs once for each kernel.
    pub(super) has_kernels: bool,
}

impl<'a> ProblemTable<'a> {
    /// The columns of a header that may be ignored.
    pub(super) fn check_header(opened: &mut Opened<'_>, op: Op) -> Result<Vec<String>, Fault> {
        let mut header = CsvRows::new(opened.header().map_err(|error| (None, error.into()))?);
        header.read_header().map_err(ProblemLineFault::at)?;
        let names: Vec<&str> = header.header().iter().map(String::as_str).collect();
        let unknown = check_columns(op, &names, &[]);
        let mut unknown = unknown.map_err(|error| (Some(header.line()), ProblemLineFault::Header(error)))?;
        unknown.extend(names.into_iter().filter(is_constant).map(str::to_owned));
        Ok(unknown)
    }

    pub(super) fn new(text: Text<'a>) -> Result<Self, Fault> {
        let mut rows = CsvRows::new(text);
        rows.read_header().map_err(ProblemLineFault::at)?;
        let header = ProblemHeader::new(Columns::new("", rows.header()));
        let has_kernels = header.kernel.first().is_there();
        Ok(Self { rows, header, has_kernels })
    }

    pub(super) fn next(
        &mut self,
        request: &Request,
        passed: &mut Skipped,
    ) -> Result<Option<ReadProblem>, Fault> {
        while self.rows.next().map_err(ProblemLineFault::at)? {
            let line = self.rows.line();
            match self.header.read(&self.rows, request, line).map_err(|fault| (Some(line), fault))? {
                Some(read) => return Ok(Some(read)),
                None => passed.others += 1,
            }
        }
        Ok(None)
    }
}

/// Objects of a list, or one after the other, as in JSON lines.
pub(super) struct ProblemObjects<'a> {
    json: JsonText<'a>,
    is_in_list: bool,
    /// The keys of the last object of the operation, in the order of columns; usually all have the same.
    keys: Vec<String>,
    header: Option<ProblemHeader>,
}

impl<'a> ProblemObjects<'a> {
    pub(super) fn new(text: Text<'a>) -> Self {
        Self { json: JsonText::new(text), is_in_list: false, keys: Vec::new(), header: None }
    }

    pub(super) fn into_rest(self) -> (Text<'a>, u64) {
        self.json.into_rest()
    }

    pub(super) fn next(
        &mut self,
        request: &Request,
        passed: &mut Skipped,
    ) -> Result<Option<ReadProblem>, Fault> {
        while let Some((line, value)) = self.next_value().map_err(ProblemLineFault::in_json)? {
            let read = object(value).and_then(|object| self.read(&object, request, line, passed));
            match read.map_err(|fault| (Some(line), fault))? {
                Some(read) => return Ok(Some(read)),
                None => passed.others += 1,
            }
        }
        Ok(None)
    }

    /// The next value with the line where it begins.
    fn next_value(&mut self) -> Result<Option<(u64, Value)>, JsonFault> {
        while !(self.is_in_list && self.json.element(b']')?) {
            if self.json.peek()?.is_none() {
                return Ok(None);
            }
            self.is_in_list = self.json.opens(b'[')?;
            if !self.is_in_list {
                break;
            }
        }
        let line = self.json.line();
        let Strict(value) = self.json.value()?;
        Ok(Some((line, value)))
    }

    /// The problem of an object; `None` for one of another operation. Keys that are probably misspelt are refused.
    fn read(
        &mut self,
        object: &Map<String, Value>,
        request: &Request,
        line: u64,
        passed: &mut Skipped,
    ) -> Result<Option<ReadProblem>, ProblemLineFault> {
        let Request { op, hardware, .. } = *request;
        let has = |name: &str| object.contains_key(name);
        let is_of = |op: Op| Operation::missing_column(op, &has).is_none();
        if !is_of(op) && Op::ALL.iter().any(|&other| is_of(other)) {
            return Ok(None);
        }
        let names = columns_of(object, op);
        if !names.iter().eq(&self.keys) {
            self.keys.clear();
            let is_ignored = |name: &&str| hardware.is_none() && is_constant(name);
            let unknown = check_names(op, &names, text_keys(op)).map_err(ProblemLineFault::Header)?;
            let ignored = names.iter().copied().filter(is_ignored).map(str::to_owned);
            for name in unknown.into_iter().chain(ignored) {
                if !passed.unknown.contains(&name) {
                    passed.unknown.push(name);
                }
            }
            self.keys = names.iter().map(|&name| name.to_owned()).collect();
            self.header = None;
        }
        let header = || ProblemHeader::new(Columns::from_keys("", &self.keys));
        let row: Vec<&Value> = names.iter().filter_map(|&name| object.get(name)).collect();
        self.header.get_or_insert_with(header).read(&row, request, line)
    }
}

/// The fields of a row, none of which has more than a cell may hold.
fn object(value: Value) -> Result<Map<String, Value>, ProblemLineFault> {
    let fault = |reason| Err(ProblemLineFault::Row(reason));
    let is_more = |value: &Value| value.is_array() || value.is_object();
    let fields = match value {
        Value::Object(fields) => fields,
        other => {
            let found = if other.is_array() { "an array".to_owned() } else { other.to_string() };
            return fault(format!("found {found}, expected an object with the fields of a problem"));
        }
    };
    match fields.iter().find(|(_, value)| is_more(value)) {
        Some((name, value)) => fault(format!("{name}: found {value}, expected a number, a word or a flag")),
        None => Ok(fields),
    }
}

/// Models and devices have constants of their own.
fn is_constant(name: &&str) -> bool {
    Hardware::COLUMNS.contains(name)
}

/// The problem of a row; `None` for one of another operation.
fn read(
    row: &dyn Fields,
    kernel: Option<&str>,
    request: &Request,
    line: u64,
) -> Result<Option<ReadProblem>, ProblemLineFault> {
    let Request { op, ref defaults, hardware, by_kernels } = *request;
    if op_of(row).map_err(ProblemLineFault::Op)?.is_some_and(|stated| stated != op) {
        return Ok(None);
    }
    let written = Problem::from_fields(op, row, defaults).map_err(ProblemLineFault::Cells)?;
    if let Some(hardware) = hardware {
        check_hardware(&hardware, row).map_err(ProblemLineFault::Cells)?;
    }
    let stated = StatedFields::by(row);
    let kernel = kernel.filter(|_| by_kernels).and_then(|name| Kernel::from_name(name).ok());
    let completed = kernel.and_then(|kernel| stated.completed(&written, &kernel.kind));
    let number = number(row).map_err(ProblemLineFault::Cells)?;
    let listed = ListedProblem { number, problem: completed.unwrap_or(written), stated };
    Ok(Some(ReadProblem { listed, written, line }))
}

/// The row's operation. Upstream's converters write `grouped` where they could not read a kernel's name.
fn op_of(row: &dyn Fields) -> Result<Option<Op>, UnknownWord> {
    match (row.get("op"), row.get("op_type")) {
        (Some(word), _) => word.parse().map(Some),
        (None, word) => Ok(word.and_then(|word| word.parse().ok())),
    }
}

fn number(row: &dyn Fields) -> Result<Option<u64>, InvalidField> {
    let Some(cell) = row.cell("problem_idx") else { return Ok(None) };
    let number = cell.whole("problem_idx").ok().and_then(|number| number.try_into().ok());
    number.map(Some).ok_or_else(|| InvalidField::new("problem_idx", cell, "a whole number, 0 or more"))
}

fn check_hardware(hardware: &Hardware, row: &dyn Fields) -> Result<(), InvalidField> {
    for (name, column) in Hardware::NAMES.into_iter().zip(Hardware::COLUMNS) {
        let (Some(cell), Some(own)) = (row.cell(column), hardware.get(name)) else { continue };
        if cell.number(column) != Ok(own as f64) {
            let expected = format!("{own}, with which kernels are ranked (see --arch)");
            let found = match cell {
                Cell::Word(word) => word.to_owned(),
                number => number.to_string(),
            };
            return Err(InvalidField::new(column, found, expected));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::listing::ProblemList;
    use crate::problem::ProblemDefaults;
    use crate::vocab::Op;

    fn read(text: &str) -> Result<Vec<String>, String> {
        let list = ProblemList::parse("p.json", text.as_bytes(), Op::Fmha, &ProblemDefaults::new(Op::Fmha));
        let list = list.map_err(|error| error.to_string())?;
        Ok(list.problems.iter().map(|listed| listed.problem.to_string()).collect())
    }

    #[test]
    fn objects_are_problems() {
        let one =
            r#"{"seqlen_q": 128, "nhead_q": 8, "hdim_q": 64, "mask": "top_left", "lse": true, "bias": null}"#;
        let other = one.replace("128", "256");
        let expected = read(&format!("{one}\n{other}\n")).unwrap();
        assert_eq!(expected.len(), 2);
        assert!(
            expected[0].contains("seqlen_q=128") && expected[0].contains("mask=top_left,"),
            "{expected:?}"
        );
        for text in
            [format!("[{one}, {other}]"), format!("[\n{one},\n\n{other}\n]\n"), format!("{one}{other}")]
        {
            assert_eq!(read(&text).as_ref(), Ok(&expected), "{text}");
        }
    }

    #[test]
    fn mistakes_name_the_line() {
        let good = r#"{"seqlen_q": 128, "nhead_q": 8, "hdim_q": 64}"#;
        for (text, message) in [
            (format!("[{good},\n{}]", good.replace("seqlen_q", "seqlen")), "p.json: line 2: "),
            (
                format!("{good}\n{}", good.replace("64", "[64]")),
                "p.json: line 2: hdim_q: found [64], expected a",
            ),
            (
                format!("{good}\n{}", good.replace("64", "\"64,mask=no\"")),
                "p.json: line 2: hdim_q: found '64,mask=no', ex",
            ),
            (format!("{good}\n\n{{\"seqlen_q\": 1,"), "p.json: line 3: EOF while parsing"),
            (format!("[{good}] x"), "p.json: line 1: expected value"),
            (
                r#"{"seqlen_q": 1, "seqlen_q": 2, "nhead_q": 8, "hdim_q": 64}"#.to_owned(),
                "p.json: line 1: the key 'seqlen_q' appears twice",
            ),
            ("[]".to_owned(), "p.json: found no fmha problem"),
            ("[{},\n7]".to_owned(), "p.json: line 1: seqlen_q, nhead_q, hdim_q: found nothing, "),
            (format!("[{good},\n7]"), "p.json: line 2: found 7, expected an object with the fields of a"),
        ] {
            let error = read(&text).unwrap_err();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
