//! Problem sets: a CSV with a column for each field, or text with one problem a line.

use std::collections::HashSet;
use std::path::Path;

use ck_select::features::Fields;
use ck_select::kernel::{Kernel, KernelKind};
use ck_select::problem::{ConvProblem, GemmProblem, Problem, ProblemDefaults, ProblemError, ProblemLine};
use ck_select::vocab::Op;
use csv::StringRecord;

use crate::error::{MeasureError, at};

/// A problem as a file asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedProblem {
    /// Its number in the log: the file's `problem_idx`, else its place among the file's distinct problems.
    pub idx: u64,
    /// The problem; what the file does not say has upstream's defaults.
    pub problem: Problem,
    /// Which of its words the file says.
    pub said: Said,
}

/// Words that a file says itself. What it does not say is the kernel's: upstream's problem sets leave direction, types
/// and layouts out, because the kernels' names have them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Said {
    /// The direction of a convolution.
    pub direction: bool,
    /// The element types.
    pub dtype: bool,
    /// The memory order.
    pub layout: bool,
}

impl AskedProblem {
    /// The problem as this kernel would run it; `None` when the kernel computes something else.
    pub fn for_kernel(&self, kernel: &Kernel) -> Option<Problem> {
        match (&self.problem, &kernel.kind) {
            (Problem::Conv(asked), KernelKind::Conv(own)) => {
                let mut problem: ConvProblem = *asked;
                if !self.said.direction {
                    problem.direction = own.direction;
                }
                if !self.said.dtype {
                    (problem.dtype_in, problem.dtype_wei, problem.dtype_out) =
                        (own.dtype_in, own.dtype_wei, own.dtype_out);
                }
                if !self.said.layout {
                    problem.layout = own.layout;
                }
                let fits = problem.ndim == own.ndim
                    && problem.direction == own.direction
                    && problem.dtype_in == own.dtype_in;
                fits.then_some(problem.into())
            }
            (Problem::Gemm(asked), KernelKind::Gemm(own)) => {
                let mut problem: GemmProblem = *asked;
                if !self.said.dtype {
                    (problem.dtype_a, problem.dtype_b, problem.dtype_c) =
                        (own.dtype_a, own.dtype_b, own.dtype_c);
                }
                if !self.said.layout {
                    problem.layout = own.layout;
                }
                let fits = problem.layout == own.layout
                    && (problem.dtype_a, problem.dtype_b) == (own.dtype_a, own.dtype_b);
                fits.then_some(problem.into())
            }
            _ => None,
        }
    }
}

/// The distinct problems of a file, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProblemSet {
    /// The problems, at least one.
    pub problems: Vec<AskedProblem>,
    /// What was passed over, for the user.
    pub notes: Vec<String>,
}

impl ProblemSet {
    /// Reads the problems of an operation from a file; see [`ProblemSet::from_bytes`].
    pub fn read(path: &Path, op: Op) -> Result<Self, MeasureError> {
        let bytes = ck_select::files::read(path).map_err(at(path))?;
        Self::from_bytes(path, &bytes, op)
    }

    /// Reads a file's contents; `label` names it in errors. The format shows itself:
    ///
    /// * **Text** has one problem a line, as `key=value` pairs, the way that problems are printed and captured. `#`
    ///   begins a comment line. Problems of the other operation are passed over. When a line says its operation as
    ///   `op=…`, as captured ones do, a line that does not was cut off and is passed over. A last line without an end that
    ///   is no problem was torn by a crash of whoever wrote it, and is passed over, too.
    /// * **CSV** has a column for each field, as for `ckselect rank`. Rows that repeat a problem count once.
    pub fn from_bytes(label: &Path, bytes: &[u8], op: Op) -> Result<Self, MeasureError> {
        let text = std::str::from_utf8(bytes)
            .map_err(|error| MeasureError::file(label, format!("byte {}: not UTF-8", error.valid_up_to())))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
        let mut reading =
            Reading { label, op, seen: HashSet::new(), problems: Vec::new(), notes: Vec::new() };
        match first {
            None => {}
            Some(line) if line.contains('=') => reading.text(text)?,
            Some(_) => reading.csv(text)?,
        }
        if reading.problems.is_empty() {
            return Err(MeasureError::file(label, format!("found no {op} problem, expected at least one")));
        }
        Ok(Self { problems: reading.problems, notes: reading.notes })
    }

    /// At most `count` of the problems, evenly over the file.
    #[must_use]
    pub fn thinned(mut self, count: usize) -> Self {
        let len = self.problems.len();
        if count < len {
            let kept: HashSet<usize> = (0..count).map(|place| place * len / count).collect();
            let mut place = 0;
            self.problems.retain(|_| {
                place += 1;
                kept.contains(&(place - 1))
            });
        }
        self
    }
}

struct Reading<'a> {
    label: &'a Path,
    op: Op,
    seen: HashSet<(Problem, Said)>,
    problems: Vec<AskedProblem>,
    notes: Vec<String>,
}

impl Reading<'_> {
    fn text(&mut self, text: &str) -> Result<(), MeasureError> {
        let other = match self.op {
            Op::GroupedConv => Op::Gemm,
            Op::Gemm => Op::GroupedConv,
        };
        let mut others = 0;
        let says_op = |line: &str| matches!(ProblemLine::parse(line), Ok(ProblemLine::Problem(_)));
        let all_say_op = text.lines().any(says_op);
        for (number, raw) in (1_u64..).zip(text.split_inclusive('\n')) {
            let line = raw.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if all_say_op {
                match ProblemLine::parse(line) {
                    Ok(ProblemLine::Problem(problem)) if problem.op() == self.op => {
                        self.push(None, problem, said_in_line(line));
                    }
                    Ok(ProblemLine::Problem(_)) => others += 1,
                    Ok(ProblemLine::Nothing | ProblemLine::Incomplete) => {
                        let file = self.label.display();
                        self.notes.push(format!("{file}: line {number}: passed over: it is torn"));
                    }
                    Err(fault) => {
                        return Err(MeasureError::file(self.label, format!("line {number}: {fault}")));
                    }
                }
                continue;
            }
            match Problem::parse(self.op, line, &ProblemDefaults::of(self.op)) {
                Ok(problem) => self.push(None, problem, said_in_line(line)),
                Err(ProblemError::UnknownKey { .. })
                    if Problem::parse(other, line, &ProblemDefaults::of(other)).is_ok() =>
                {
                    others += 1;
                }
                Err(error) if raw.ends_with('\n') => {
                    return Err(MeasureError::file(self.label, format!("line {number}: {error}")));
                }
                Err(_) => {
                    let file = self.label.display();
                    self.notes.push(format!("{file}: line {number}: passed over: it is torn"));
                }
            }
        }
        if others > 0 {
            let (file, op) = (self.label.display(), self.op);
            self.notes.push(format!("{file}: {others} lines passed over: no {op} problems"));
        }
        Ok(())
    }

    fn csv(&mut self, text: &str) -> Result<(), MeasureError> {
        let malformed = |error: csv::Error| MeasureError::file(self.label, error);
        let mut reader =
            csv::ReaderBuilder::new().comment(Some(b'#')).trim(csv::Trim::All).from_reader(text.as_bytes());
        let header = reader.headers().map_err(malformed)?.clone();
        let mut record = StringRecord::new();
        let mut numbers: HashSet<u64> = HashSet::new();
        while reader.read_record(&mut record).map_err(malformed)? {
            let line = record.position().map_or(0, csv::Position::line);
            let fault = |reason: String| MeasureError::file(self.label, format!("line {line}: {reason}"));
            let row = Row { header: &header, record: &record };
            let problem = Problem::from_fields(self.op, &row, &ProblemDefaults::of(self.op))
                .map_err(|error| fault(error.to_string()))?;
            let said = said_by(|name| row.get(name).is_some());
            if self.seen.contains(&(problem, said)) {
                continue;
            }
            let idx = match row.get("problem_idx") {
                None => None,
                Some(cell) => Some(cell.parse::<u64>().map_err(|_| {
                    fault(format!("problem_idx: found '{cell}', expected a whole number, 0 or more"))
                })?),
            };
            let number = idx.unwrap_or(self.problems.len() as u64);
            if !numbers.insert(number) {
                return Err(fault(format!("problem_idx {number} stands for two different problems")));
            }
            self.push(Some(number), problem, said);
        }
        Ok(())
    }

    fn push(&mut self, idx: Option<u64>, problem: Problem, said: Said) {
        if self.seen.insert((problem, said)) {
            let idx = idx.unwrap_or(self.problems.len() as u64);
            self.problems.push(AskedProblem { idx, problem, said });
        }
    }
}

pub(crate) fn said_by(has: impl Fn(&str) -> bool) -> Said {
    Said {
        direction: has("direction"),
        dtype: ["dtype", "dtype_in", "dtype_a"].into_iter().any(&has),
        layout: has("layout"),
    }
}

fn said_in_line(line: &str) -> Said {
    let keys: HashSet<&str> = line
        .split(|c: char| c == ',' || c.is_whitespace())
        .filter_map(|pair| pair.split_once('=').map(|(key, _)| key))
        .collect();
    said_by(|name| keys.contains(name))
}

/// One CSV row by column names.
pub(crate) struct Row<'a> {
    pub(crate) header: &'a StringRecord,
    pub(crate) record: &'a StringRecord,
}

impl Fields for Row<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        let place = self.header.iter().position(|column| column == name)?;
        self.record.get(place).filter(|cell| !cell.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conv(text: &str) -> Result<ProblemSet, String> {
        ProblemSet::from_bytes(Path::new("p"), text.as_bytes(), Op::GroupedConv)
            .map_err(|error| error.to_string())
    }

    fn numbers(set: &ProblemSet) -> Vec<u64> {
        set.problems.iter().map(|asked| asked.idx).collect()
    }

    #[test]
    fn csv_rows_that_repeat_a_problem_count_once() {
        let set = conv(
            "kernel,problem_idx,C,K,Hi,Wi,Y,X\na,7,64,64,8,8,1,1\nb,7,64,64,8,8,1,1\na,9,64,64,8,8,3,3\n",
        );
        assert_eq!(numbers(&set.unwrap()), [7, 9]);
        let set = conv("C,K,Hi,Wi,Y,X\n64,64,8,8,1,1\n64,64,8,8,1,1\n64,64,8,8,3,3\n").unwrap();
        assert_eq!(numbers(&set), [0, 1]);
    }

    #[test]
    fn one_number_for_two_problems_is_an_error() {
        let error = conv("problem_idx,C,K,Hi,Wi,Y,X\n7,64,64,8,8,1,1\n7,64,64,8,8,3,3\n").unwrap_err();
        assert_eq!(error, "p: line 3: problem_idx 7 stands for two different problems");
        let error = conv("problem_idx,C,K,Hi,Wi,Y,X\n-1,64,64,8,8,1,1\n").unwrap_err();
        assert_eq!(error, "p: line 2: problem_idx: found '-1', expected a whole number, 0 or more");
    }

    #[test]
    fn captured_lines_pass_over_the_other_operation_and_a_torn_end() {
        let text =
            "# captured\nC=64,K=64,Hi=8,Wi=8,Y=1,X=1\nM=1,N=2,K=3\nC=64,K=64,Hi=8,Wi=8,Y=3,X=3\nC=64,K=6";
        let set = conv(text).unwrap();
        assert_eq!(numbers(&set), [0, 1]);
        assert_eq!(
            set.notes,
            ["p: line 5: passed over: it is torn", "p: 1 lines passed over: no grouped_conv problems"]
        );
        let error = conv("C=64,K=64,Hi=8,Wi=8,Y=1,X=1\nC=64\n").unwrap_err();
        assert!(error.starts_with("p: line 2: K: found nothing"), "{error}");
        assert_eq!(
            conv("# nothing\n").unwrap_err(),
            "p: found no grouped_conv problem, expected at least one"
        );
    }

    /// A line of which only the end is missing would read as another problem, were it not for the operation.
    #[test]
    fn captured_lines_say_their_operation() {
        let text = "N=1,C=64,K=64,Hi=8,Wi=8,Y=1,X=1,op=grouped_conv\nop=gemm_universal M=1,N=2,K=3\n\
                    N=1,C=64,K=64,Hi=8,Wi=8,Y=1,X=1,stride_w=1\nC=64,K=64,Hi=8,Wi=8,Y=3,X=3,op=grouped_conv";
        let set = conv(text).unwrap();
        assert_eq!(numbers(&set), [0, 1]);
        assert_eq!(
            set.notes,
            ["p: line 3: passed over: it is torn", "p: 1 lines passed over: no grouped_conv problems"]
        );
        let error = conv("C=64,K=64,Hi=8,Wi=8,Y=1,X=1,op=grouped_conv\nC=64,op=grouped_conv\n").unwrap_err();
        assert!(error.starts_with("p: line 2: K: found nothing"), "{error}");
    }

    #[test]
    fn what_is_not_said_is_the_kernels() {
        let kernel = |name: &str| Kernel::from_name(name).unwrap();
        let backward = kernel("grouped_conv_bwd_data_fp16_2d_64x64x64_compv3_intrawave");
        let silent = conv("C,K,Hi,Wi,Y,X\n64,64,8,8,1,1\n").unwrap();
        let Some(Problem::Conv(problem)) = silent.problems[0].for_kernel(&backward) else { panic!() };
        assert_eq!((problem.direction.as_str(), problem.dtype_out.as_str()), ("bwd_data", "fp16"));
        let said = conv("C=64 K=64 Hi=8 Wi=8 Y=1 X=1 direction=forward").unwrap();
        assert_eq!(said.problems[0].for_kernel(&backward), None);
        let deep = conv("C=64 K=64 Hi=8 Wi=8 Y=1 X=1 Di=4 Z=3 pad_d=1").unwrap();
        assert_eq!(deep.problems[0].for_kernel(&backward), None);
    }

    #[test]
    fn thinning_keeps_an_even_spread() {
        let mut text = String::from("C,K,Hi,Wi,Y,X\n");
        for extent in 1..=10 {
            text.push_str("64,64,");
            text.push_str(&extent.to_string());
            text.push_str(",8,1,1\n");
        }
        let set = conv(&text).unwrap();
        assert_eq!(numbers(&set.clone().thinned(3)), [0, 3, 6]);
        assert_eq!(set.clone().thinned(99), set);
    }
}
