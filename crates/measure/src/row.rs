//! Rows of the log: upstream's benchmark CSV, which its converters and `ckselect` read.
//!
//! Upstream's converter takes every unknown column for a column of the problem. Beyond its own columns there
//! is therefore only `error_msg`, which it ignores. Anything else about a measurement goes into the details
//! file.

use ck_select::operation::Operation;
use ck_select::problem::Problem;
use ck_select_measurements::outcome::{FailureClass, Outcome};
use ck_select_types::sheet::csv::CsvRows;

use crate::plan::{Pair, Plan};

/// Latency of a row without a time, as upstream writes it.
pub const NO_LATENCY: &str = "N/A";

/// The columns of a plan's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    problem: Vec<&'static str>,
    /// Whether there is a column for bytes a second.
    has_rate: bool,
}

impl Columns {
    /// The columns that the plan's problems need: upstream's, and those that upstream's schema lacks but without
    /// which some problems would be equal.
    pub fn new(plan: &Plan) -> Self {
        let op = plan.kernels().first().map_or(Operation::UNSTATED, |kernel| kernel.kind.op());
        let Operation { columns, optional_columns, .. } = Operation::get(op);
        let differs = |name: &&str| {
            plan.problems()
                .iter()
                .map(|planned| planned.requested.problem)
                .any(|problem| problem.cell(name) != problem.assumed().cell(name))
        };
        let needed = optional_columns.iter().filter(|names| names.iter().any(differs));
        let problem = columns.iter().chain(needed.copied().flatten()).copied().collect();
        let first = plan.problems().first().map(|planned| planned.requested.problem);
        Self { problem, has_rate: first.and_then(|problem| problem.bytes()).is_some() }
    }

    /// The columns' names.
    pub fn names(&self) -> Vec<&'static str> {
        let rate = self.has_rate.then_some("bandwidth_gb_s");
        let figures = ["latency_ms", "tflops"].into_iter().chain(rate).chain(["non_zero", "error_msg"]);
        ["kernel", "problem_idx"].into_iter().chain(self.problem.iter().copied()).chain(figures).collect()
    }

    /// A row, including its line end.
    pub fn line(&self, plan: &Plan, pair: Pair, outcome: &Outcome) -> Vec<u8> {
        let mut cells = vec![plan.kernel(pair).name.clone(), plan.requested(pair).idx.to_string()];
        let problem = plan.problem(pair);
        cells.extend(self.problem(&problem));
        let measured = outcome.measured();
        // The fewest digits that read back to the same bits.
        cells.push(measured.map_or(NO_LATENCY.to_owned(), |m| format!("{:?}", m.latency_ms)));
        cells.push(measured.map_or("0.0".to_owned(), |m| format!("{:?}", m.tflops)));
        if let Some(bytes) = problem.bytes() {
            // The least that it can move.
            let least = bytes / 1e6;
            let rate = measured.map(|m| m.bandwidth_gb_s.unwrap_or(least / m.latency_ms));
            cells.push(format!("{:?}", rate.unwrap_or(0.0)));
        }
        // Readers expect a whole number: -1 means that nobody looked at the result.
        let non_zero = measured.map_or(Some(0), |m| m.non_zero);
        cells.push(non_zero.map_or("-1".to_owned(), |count| count.to_string()));
        cells.push(match outcome {
            Outcome::Measured(_) => String::new(),
            Outcome::CutOff { fastest_ms } => format!("{CUT_OFF}: no run faster than {fastest_ms:?} ms"),
            Outcome::Failed(failure) => failure.to_string(),
        });
        csv_line(&cells)
    }

    /// A problem's cells.
    pub fn problem(&self, problem: &Problem) -> Vec<String> {
        self.problem.iter().map(|name| problem.cell(name)).collect()
    }

    /// The header, including its line end.
    pub fn header(&self) -> Vec<u8> {
        csv_line(&self.names())
    }
}

fn csv_line<T: AsRef<[u8]>>(cells: &[T]) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory cannot fail.
    let _ = writer.write_record(cells);
    writer.into_inner().unwrap_or_default()
}

/// A row of the log: its kernel and problem, and the result.
#[derive(Debug, Clone, PartialEq)]
pub struct LogRow {
    /// The kernel's name.
    pub kernel: String,
    /// The problem's number.
    pub problem_idx: u64,
    /// The problem's cells, as `name=value` pairs.
    pub problem: String,
    /// The row's time, if it has one.
    pub latency_ms: Option<f64>,
    /// The row's speed; 0 without a time.
    pub tflops: f64,
    /// Why the row has no time; empty if it has one.
    pub error: String,
}

/// The prefix of the log's `error_msg` for a kernel that was given up.
const CUT_OFF: &str = "cut_off";

impl LogRow {
    /// Whether the kernel was given up because it was slow.
    pub fn is_cut_off(&self) -> bool {
        self.latency_ms.is_none() && self.word() == CUT_OFF
    }

    /// Why the row has no time, unless the kernel was given up. A word from another version counts as `invalid`.
    pub fn failure(&self) -> Option<FailureClass> {
        let failed = self.latency_ms.is_none() && !self.is_cut_off();
        failed.then(|| self.word().parse().unwrap_or(FailureClass::Invalid))
    }

    fn word(&self) -> &str {
        self.error.split(':').next().unwrap_or_default()
    }

    /// Reads a row; the error names the column.
    pub(crate) fn read(rows: &CsvRows<&[u8]>) -> Result<Self, String> {
        let cell = |name: &str| rows.column(name).map_or("", |column| rows.text(column));
        let wrong =
            |name: &str, expected: &str| format!("{name}: found '{}', expected {expected}", cell(name));
        let latency_ms = match cell("latency_ms") {
            NO_LATENCY => None,
            text => Some(
                text.parse::<f64>()
                    .ok()
                    .filter(|ms| *ms > 0.0 && ms.is_finite())
                    .ok_or_else(|| wrong("latency_ms", "milliseconds or N/A"))?,
            ),
        };
        let of_problem = rows.header().iter().skip(2).take_while(|column| *column != "latency_ms");
        let problem: Vec<String> = of_problem.map(|column| format!("{column}={}", cell(column))).collect();
        Ok(Self {
            problem: problem.join(","),
            kernel: cell("kernel").to_owned(),
            problem_idx: cell("problem_idx").parse().map_err(|_| wrong("problem_idx", "a whole number"))?,
            latency_ms,
            tflops: cell("tflops").parse().map_err(|_| wrong("tflops", "a number"))?,
            error: cell("error_msg").to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;
    use ck_select_measurements::outcome::Measurement;

    fn lines(plan: &Plan, outcome: &Outcome) -> (String, String) {
        let columns = Columns::new(plan);
        let pair = plan.pairs().next().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (text(columns.header()), text(columns.line(plan, pair, outcome)))
    }

    const CONV_POOL: &str = "grouped_conv_forward_bf16_2d_64x64x64_compv3";

    #[test]
    fn convolutions_have_upstreams_columns_and_the_error() {
        let plan = plan(CONV_POOL, "problem_idx,N,C,K,Hi,Wi,Y,X,pad_h,pad_w\n5,2,64,128,28,29,3,3,1,1\n");
        let (header, row) = lines(
            &plan,
            &Outcome::Measured(Measurement { non_zero: Some(9), ..Measurement::new(0.25, 1e9) }),
        );
        assert_eq!(
            header,
            "kernel,problem_idx,N,C,K,G,Di,Hi,Wi,Z,Y,X,stride_d,stride_h,stride_w,pad_d,pad_h,pad_w,\
             dilation_d,dilation_h,dilation_w,latency_ms,tflops,non_zero,error_msg\n"
        );
        assert_eq!(row, format!("{CONV_POOL},5,2,64,128,1,1,28,29,1,3,3,1,1,1,0,1,1,1,1,1,0.25,4.0,9,\n"));
        let (_, row) = lines(&plan, &Outcome::failed(FailureClass::Crash, "signal 11, \"SIGSEGV\""));
        assert!(row.ends_with(",1,1,1,N/A,0.0,0,\"crash: signal 11, \"\"SIGSEGV\"\"\"\n"), "{row}");
        let (_, row) = lines(&plan, &Outcome::CutOff { fastest_ms: 12.5 });
        assert!(row.ends_with(",N/A,0.0,0,cut_off: no run faster than 12.5 ms\n"), "{row}");
    }

    #[test]
    fn fields_beyond_upstreams_columns_get_columns() {
        let plan = plan(CONV_POOL, "C,K,Hi,Wi,Y,X,split_k,pad_h_left\n64,64,8,8,3,3,2,1\n");
        let (header, row) = lines(&plan, &Outcome::Measured(Measurement::new(1.0, 1e9)));
        assert!(header.contains(",dilation_w,split_k,pad_d_right,pad_h_right,pad_w_right,latency_ms,"));
        assert!(row.ends_with(",1,1,1,2,0,0,0,1.0,1.0,-1,\n"), "{row}");
    }

    #[test]
    fn gemms_have_types_and_bandwidth() {
        let pool = "gemm_universal_fp16_rcr_compv3_cshuffle_intrawave_False_False_False_False_256x256x64\
                    _2x2x1_32x32x16";
        let plan = plan(pool, "m,n,k\n1000,500,100\n");
        let (header, row) = lines(&plan, &Outcome::Measured(Measurement::new(1.0, 1e8)));
        assert_eq!(
            header,
            "kernel,problem_idx,m,n,k,split_k,dtype,layout,latency_ms,tflops,bandwidth_gb_s,non_zero,\
             error_msg\n"
        );
        // (1000*100 + 100*500 + 1000*500) * 2 bytes in a millisecond
        assert!(row.ends_with(",0,1000,500,100,1,fp16,rcr,1.0,0.1,1.3,-1,\n"), "{row}");
    }

    #[test]
    fn every_field_that_distinguishes_attention_problems_has_a_column() {
        let pool =
            "fmha_fwd_fp16_batch_h128_qr_t64x32x32x128x32x128_w16x16x32_pad1111_mask=no_bias=no_bpc=-1";
        let plan = plan(pool, "seqlen_q,nhead_q,hdim_q,has_seqlen_k_ptr\n64,1,128,0\n64,1,128,1\n");
        let (header, line) = lines(&plan, &Outcome::CutOff { fastest_ms: 1.0 });
        assert!(header.contains(",window_right,has_seqlen_k_ptr,latency_ms,"), "{header}");
        let columns = Columns::new(&plan);
        let all: Vec<Vec<String>> = plan.pairs().map(|pair| columns.problem(&plan.problem(pair))).collect();
        assert!(all.len() == 2 && all[0] != all[1], "{line} {all:?}");
    }

    #[test]
    fn batches_and_lists_of_gemms_have_columns() {
        let pool =
            "batched_gemm_fp16_rcr_compv3_cshuffle_intrawave_False_False_False_128x128x64_2x2x1_32x32x16";
        let plan = plan(pool, "m,n,k,batch,dtype\n64,64,64,4,fp16\n64,64,64,8,fp16\n");
        let (header, line) = lines(&plan, &Outcome::CutOff { fastest_ms: 1.0 });
        assert!(header.contains(",layout,batch,groups,latency_ms,"), "{header}");
        assert!(line.contains(",fp16,rcr,4,,"), "{line}");
        // All of a batch moves; the log once counted one GEMM of it: 4 * 3 * 64 * 64 * 2 bytes in a
        // millisecond.
        let (_, line) = lines(&plan, &Outcome::Measured(Measurement::new(1.0, 1e8)));
        assert!(line.contains(",1.0,0.1,0.098304,"), "{line}");
    }

    #[test]
    fn rows_read_back() {
        let plan = plan(CONV_POOL, "C,K,Hi,Wi,Y,X\n64,64,8,8,3,3\n");
        for outcome in [
            Outcome::Measured(Measurement::new(0.1 + 0.2, 1e9)),
            Outcome::failed(FailureClass::Garbage, "a,\"b\""),
        ] {
            let (header, row) = lines(&plan, &outcome);
            let log = header + &row;
            let mut rows = CsvRows::new(log.as_bytes());
            assert!(rows.read_header().unwrap() && rows.next().unwrap());
            let logged = LogRow::read(&rows).unwrap();
            assert_eq!((logged.kernel.as_str(), logged.problem_idx), (CONV_POOL, 0));
            assert_eq!(logged.latency_ms, outcome.latency_ms());
            assert_eq!(logged.error.is_empty(), outcome.latency_ms().is_some());
        }
    }
}
