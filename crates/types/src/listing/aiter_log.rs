//! Problems in a log: what AITER writes about a GEMM that no table has.
//!
//! ```text
//! [aiter] shape is M:16, N:7168, K:2048, q_dtype_w:torch.int8, not found tuned config in …/a8w8_tuned_gemm.csv, …
//! ```

use std::collections::VecDeque;
use std::io::{BufRead as _, Read as _};

use super::line::parse_silent;
use super::{Fault, ListedProblem, ReadProblem, Request, Skipped, StatedFields};
use crate::gemm::GemmRequest;
use crate::problem::cells_of_line;
use crate::sheet::Text;
use crate::sheet::csv::LONGEST;
use crate::vocab::QuantMode;

/// The words behind the problem.
const UNTUNED: &str = "not found tuned config";
/// The words in front of the problem.
const SHAPE: &str = "shape is";

/// AITER's tables, and what the problems of each ask for: scales, a shuffled B, a batch.
const TABLES: [(&str, Option<QuantMode>, [bool; 2]); 9] = [
    ("a4w4_blockscale_tuned_gemm", Some(QuantMode::Mx), [true, false]),
    ("a8w8_blockscale_tuned_gemm", Some(QuantMode::AB), [false, false]),
    ("a8w8_blockscale_bpreshuffle_tuned_gemm", Some(QuantMode::AB), [true, false]),
    ("a8w8_bpreshuffle_tuned_gemm", Some(QuantMode::RowCol), [true, false]),
    ("a8w8_bpreshuffle_cktile_tuned_gemm", Some(QuantMode::RowCol), [true, false]),
    ("a8w8_tuned_gemm", Some(QuantMode::RowCol), [false, false]),
    ("a8w8_tuned_batched_gemm", Some(QuantMode::RowCol), [false, true]),
    ("bf16_tuned_batched_gemm", None, [false, true]),
    ("bf16_tuned_gemm", None, [false, false]),
];

/// Whether a line has a problem.
pub(super) fn has_problems(line: &str) -> bool {
    line.contains(UNTUNED)
}

/// The lines of a log, from the first with a problem on.
#[derive(Default)]
pub(super) struct AiterLog<'a> {
    text: Option<Text<'a>>,
    line: String,
    number: u64,
    /// Whether the line is to be read once more.
    again: bool,
    /// The problems of the line that were not taken yet, as pairs.
    pairs: VecDeque<String>,
}

impl<'a> AiterLog<'a> {
    /// Searches a text for a line with a problem, behind so many lines; `None` without one.
    pub(super) fn find(text: Text<'a>, before: u64) -> Result<Option<Self>, Fault> {
        let mut log = Self { text: Some(text), number: before, ..Self::default() };
        while log.next_line()? {
            if has_problems(&log.line) {
                log.again = true;
                return Ok(Some(log));
            }
        }
        Ok(None)
    }

    /// Goes to the next line; false at the end. What is no UTF-8 is replaced: other lines are anybody's.
    fn next_line(&mut self) -> Result<bool, Fault> {
        if std::mem::take(&mut self.again) {
            return Ok(true);
        }
        let Some(text) = &mut self.text else { return Ok(false) };
        let mut bytes = Vec::new();
        // Of a line without an end, the beginning is enough.
        let mut line = text.by_ref().take(LONGEST);
        let count = line.read_until(b'\n', &mut bytes).map_err(|error| (None, error.into()))?;
        if count as u64 == LONGEST && !bytes.ends_with(b"\n") {
            text.skip_until(b'\n').map_err(|error| (None, error.into()))?;
        }
        self.line = String::from_utf8_lossy(&bytes).into_owned();
        self.number += 1;
        Ok(count > 0)
    }

    /// The next problem that AITER looked up in the table of the requested ones. Those that name no table of
    /// AITER's are for any with a batch, or without one. Processes that share a log may write several on one
    /// line.
    pub(super) fn next(
        &mut self,
        request: &Request,
        passed: &mut Skipped,
    ) -> Result<Option<ReadProblem>, Fault> {
        while self.pairs.is_empty() {
            if !self.next_line()? {
                return Ok(None);
            }
            self.take_line(&request.defaults.gemm_request, passed);
        }
        let pairs = self.pairs.pop_front().unwrap_or_default();
        let problem = parse_silent(&pairs, request.op, &request.defaults);
        let problem = problem.map_err(|fault| (Some(self.number), fault))?;
        let stated = StatedFields::by(&cells_of_line(&pairs));
        let listed = ListedProblem { number: None, problem, stated };
        Ok(Some(ReadProblem { listed, written: problem, line: self.number }))
    }

    fn take_line(&mut self, request: &GemmRequest, passed: &mut Skipped) {
        let mut before = "";
        for (message, part) in self.line.split(UNTUNED).enumerate() {
            // The table of the message before, and the shape of the next one.
            let (after, next) = part.find(SHAPE).map_or((part, part), |shape| part.split_at(shape));
            if message > 0 {
                self.pairs.extend(wanted(pairs_of(before), after, request, passed));
            }
            before = next;
        }
    }
}

/// The pairs of a problem, if `after` names the table of the requested ones.
fn wanted(pairs: String, after: &str, request: &GemmRequest, passed: &mut Skipped) -> Option<String> {
    let requested = (request.quant, [request.preshuffle, request.batch > 0]);
    let table = TABLES.iter().find(|(table, ..)| after.contains(table));
    let is_of = |pair: &str, names: &str| pair.split_once('=').is_some_and(|(name, _)| names.contains(name));
    let has_batch = pairs.split(',').any(|pair| is_of(pair, "B"));
    let is_empty = |pair: &str| is_of(pair, "BMNK") && pair.ends_with("=0");
    if !table.map_or(has_batch == requested.1[1], |&(_, quant, more)| (quant, more) == requested) {
        passed.of_other_tables += 1;
    } else if pairs.split(',').any(is_empty) {
        passed.empty += 1;
    } else {
        return Some(pairs);
    }
    None
}

/// `shape is M:16, N:7168, K:2048, ` as `M=16,N=7168,K=2048`.
fn pairs_of(text: &str) -> String {
    let shape = text.rsplit_once(SHAPE).map_or(text, |(_, shape)| shape);
    let parts = shape.split([',', ' ']).filter(|part| part.contains([':', '=']));
    parts.map(|part| part.replacen(':', "=", 1)).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use crate::kernel::{Kernel, KernelKind};
    use crate::listing::{ProblemList, ProblemListError};
    use crate::problem::{Problem, ProblemDefaults};
    use crate::vocab::{Dtype, Op};

    const LOG: &str = "\
[2026-07-11 19:09:06] starting, \"quietly
[aiter] shape is M:6, N:6144, K:4096, not found tuned config in /tmp/a8w8_blockscale_tuned_gemm.csv, will \
use default config!
(EngineCore_DP1 pid=13) [aiter] shape is M:64, N:16384, K:5120, q_dtype_w:torch.int8, not found tuned config \
in /opt/a8w8_tuned_gemm.csv, will use default config!
[aiter] shape is M:64, N:16384, K:5120, q_dtype_w:torch.int8, not found tuned config in \
/opt/a8w8_tuned_gemm.csv, will
[aiter] shape is M:1, N:64, K:64 dtype='torch.bfloat16' bias=False, not found tuned config in \
/tmp/bf16_tuned_gemm.csv
loading: 50%|###\rloading: 100%
[aiter] shape is B:4, M:2, N:64, K:64, not found tuned config in CKGEMM, will use default config!
";

    fn read(text: impl AsRef<[u8]>, kernel: &str) -> Result<ProblemList, ProblemListError> {
        let KernelKind::Gemm(kernel) = Kernel::from_name(kernel).unwrap().kind else { panic!("{kernel}") };
        let defaults = ProblemDefaults {
            gemm_request: kernel.request(),
            dtype_c: Some(kernel.dtype_c),
            ..ProblemDefaults::new(Op::Gemm)
        };
        ProblemList::parse("vllm.log", text.as_ref(), Op::Gemm, &defaults)
    }

    const ROWS: &str = "a8w8_rowwise_256x128x128x128_32x32_2x2_8x32x1_8x32x1_1x32x1x8_8x8x1_1x1_intrawave_v3";

    #[test]
    fn a_log_lists_the_untuned_shapes_of_one_table_once() {
        let list = read(LOG, ROWS).unwrap();
        let extents = list.problems.iter().map(|listed| match listed.problem {
            Problem::Gemm(p) => (p.m, p.n, p.k, p.request.batch, p.dtype_a, p.dtype_c),
            other => panic!("{other}"),
        });
        assert_eq!(extents.collect::<Vec<_>>(), [(64, 16384, 5120, 0, Dtype::Int8, Dtype::Bf16)]);
        assert_eq!(list.passed.of_other_tables, 3);
        // From the first line of any kind, and behind a line with a key.
        for first in ["", "[aiter] loading\n", "{\n", "seed=4\n"] {
            assert_eq!(read(format!("{first}{LOG}"), ROWS).unwrap().problems.len(), 1, "{first}");
        }
    }

    /// A line that names no table was of tables with and without batches (8992ff24).
    #[test]
    fn only_tables_of_batches_take_lines_with_a_batch() {
        let batches = ROWS.replace("rowwise", "batched_rowwise");
        let list = read(LOG, &batches).unwrap();
        let [only] = list.problems.as_slice() else { panic!("{:?}", list.problems) };
        let Problem::Gemm(problem) = only.problem else { panic!("{only:?}") };
        assert_eq!((problem.m, problem.request.batch, list.passed.of_other_tables), (2, 4, 4));
    }

    /// A batch without tokens ended the reading of a log, and of two messages on one line the first was lost, or
    /// its shape was looked up in the table of the second.
    #[test]
    fn empty_shapes_are_skipped_and_a_line_may_have_several() {
        let of = |shape: &str, table: &str| {
            format!(
                "[aiter] shape is {shape}, not found tuned config in /tmp/{table}.csv, will use default config!"
            )
        };
        let (rows, other) = ("a8w8_tuned_gemm", "bf16_tuned_gemm");
        let empty = of("M:0, N:512, K:512", rows);
        let two =
            of("M:1, N:512, K:512", rows) + &of("M:2, N:512, K:512", other) + &of("M:3, N:512, K:512", rows);
        let log = format!("{empty}\n{two}\nloading\n{}\n{empty}\n", of("M:10, N:512, K:512", rows));
        let list = read(&log, ROWS).unwrap();
        let extents: Vec<i64> =
            list.problems.iter().map(|listed| listed.problem.value("M").unwrap().1).collect();
        assert_eq!(extents, [1, 3, 10]);
        assert_eq!((list.passed.empty, list.passed.of_other_tables), (2, 1));
        assert!(
            list.passed
                .notes()
                .contains(&"2 lines are skipped: their GEMM is empty (an extent is 0)".to_owned())
        );
        let error = read(&empty, ROWS).unwrap_err().to_string();
        assert!(error.ends_with("; 1 line is about an empty GEMM"), "{error}");
        // Lines keep their numbers.
        let error = read(log.replace("M:10", "M:x"), ROWS).unwrap_err().to_string();
        assert_eq!(error, "vllm.log: line 4: M: found 'x', expected a whole number");
    }

    /// One foreign byte in any line made a whole log unreadable, and an error was about line 1 (8992ff24).
    #[test]
    fn other_lines_of_a_log_may_have_any_bytes() {
        let log = LOG.replace("loading: 50%", "@").into_bytes();
        let foreign: Vec<u8> = log.iter().map(|&byte| if byte == b'@' { 0xff } else { byte }).collect();
        assert!(foreign.contains(&0xff));
        assert_eq!(read(&foreign, ROWS).unwrap().problems.len(), 1);
        for first in [&[0xff, b' ', b'\n'][..], b"loading\rdone\n"] {
            assert_eq!(read([first, LOG.as_bytes()].concat(), ROWS).unwrap().problems.len(), 1);
        }
        assert_eq!(read([0xff, b'\n', 0xff], ROWS).unwrap_err().to_string(), "vllm.log: line 1: not UTF-8");
        let list = [b"M=1,N=2,K=3\n\nM=1,N=2,K=".as_slice(), &[0xff, b'\n']].concat();
        assert_eq!(read(&list, ROWS).unwrap_err().to_string(), "vllm.log: line 3: not UTF-8");
    }

    #[test]
    fn a_log_about_other_tables_alone_says_so() {
        let error = read(LOG, &ROWS.replace("_32x32_2x2", "_16x16_32x32").replace("rowwise", "bpreshuffle"));
        let error = error.map_or_else(|error| error.to_string(), |list| format!("{list:?}"));
        assert!(error.ends_with("; 5 lines are about other tables of AITER's"), "{error}");
    }

    #[test]
    fn a_line_that_is_no_problem_is_named() {
        let text = LOG.replacen("M:64, N:16384", "M:64, N:many", 1);
        let error = read(&text, ROWS).unwrap_err().to_string();
        assert_eq!(error, "vllm.log: line 3: N: found 'many', expected a whole number");
    }
}
