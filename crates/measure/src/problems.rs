//! Problem sets: a CSV with one column per field, or text with one problem per line.

use std::collections::HashSet;
use std::path::Path;

use ck_select::kernel::Kernel;
use ck_select::listing::{ListedProblem, ProblemListError, ProblemReader, StatedFields};
use ck_select::pool::Pool;
use ck_select::problem::{Problem, ProblemDefaults};
use ck_select::vocab::Op;

use crate::error::{MeasureError, at};

/// A problem as a file specifies it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedProblem {
    /// The problem's number in the log: the file's `problem_idx`, else its index among the file's distinct problems.
    pub idx: u64,
    /// The problem; what the file does not specify has upstream's defaults.
    pub problem: Problem,
    /// Which of its words the file specifies.
    pub stated: StatedFields,
}

impl RequestedProblem {
    /// The problem as this kernel would run it; `None` when the kernel computes something else.
    pub fn for_kernel(&self, kernel: &Kernel) -> Option<Problem> {
        self.stated.completed(&self.problem, &kernel.kind)
    }
}

/// The distinct problems of a file, in file order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProblemSet {
    /// The problems, at least one.
    pub problems: Vec<RequestedProblem>,
    /// Notes for the user about what was skipped.
    pub notes: Vec<String>,
}

impl ProblemSet {
    /// Reads the problems of an operation from a file; see [`ProblemSet::from_bytes`].
    pub fn read(path: &Path, op: Op) -> Result<Self, MeasureError> {
        let bytes = ck_select::files::read(path).map_err(at(path))?;
        Self::from_bytes(path, &bytes, op)
    }

    /// Reads a file's contents with [`ProblemReader`], which documents the formats; `label` names the file in
    /// errors. Repeated problems count once.
    pub fn from_bytes(label: &Path, bytes: &[u8], op: Op) -> Result<Self, MeasureError> {
        let name = label.display().to_string();
        let of_file = |error: ProblemListError| {
            let line = error.line.map_or(String::new(), |line| format!("line {line}: "));
            MeasureError::file(label, format!("{line}{}", error.fault))
        };
        let mut reader =
            ProblemReader::new(&name, Box::new(bytes), op, ProblemDefaults::new(op)).map_err(of_file)?;
        let mut seen = HashSet::new();
        let mut problems = Vec::new();
        while let Some(ListedProblem { number, problem, stated }) = reader.next().map_err(of_file)? {
            problem
                .check_split()
                .map_err(|error| MeasureError::file(label, format!("{problem}: {error}")))?;
            if seen.insert((problem, stated)) {
                let idx = number.unwrap_or(problems.len() as u64);
                problems.push(RequestedProblem { idx, problem, stated });
            }
        }
        let notes = reader.passed.notes().into_iter().map(|note| format!("{name}: {note}")).collect();
        Ok(Self { problems, notes })
    }

    /// Why no kernel of a pool computes any of the problems, by the first of each.
    pub fn misfit(&self, pool: &Pool) -> String {
        let why = pool.get(0).zip(self.problems.first()).and_then(|(kernel, requested)| {
            let problem =
                requested.stated.filled(&requested.problem, &kernel.kind).unwrap_or(requested.problem);
            Some(format!(
                "; the first, {}, does not compute {problem}: {}",
                kernel.name,
                kernel.misfit(&problem)?
            ))
        });
        format!("no kernel of the pool computes any of the problems{}", why.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conv(text: &str) -> Result<ProblemSet, String> {
        ProblemSet::from_bytes(Path::new("p"), text.as_bytes(), Op::Conv).map_err(|error| error.to_string())
    }

    fn numbers(set: &ProblemSet) -> Vec<u64> {
        set.problems.iter().map(|requested| requested.idx).collect()
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
        assert_eq!(error, "p: line 3: problem_idx 7 denotes two different problems");
    }

    /// A whole sweep ran, and then each of its rows was refused (2a125051).
    #[test]
    fn a_number_of_parts_is_needed_to_measure() {
        let text = "M,N,K,split_k\n1,64,64,4\n1,64,64,auto\n";
        let error =
            ProblemSet::from_bytes(Path::new("p"), text.as_bytes(), Op::Gemm).unwrap_err().to_string();
        assert!(
            error.starts_with("p: ") && error.contains("split_k: found auto, expected the number"),
            "{error}"
        );
    }

    /// The first problem of a text as a kernel runs it; `None` if it computes something else.
    fn run_by(op: Op, text: &str, kernel: &str) -> Option<String> {
        let set = ProblemSet::from_bytes(Path::new("p"), text.as_bytes(), op).unwrap();
        set.problems[0].for_kernel(&Kernel::from_name(kernel).unwrap()).map(|problem| problem.to_string())
    }

    #[test]
    fn unstated_words_of_a_problem_are_those_of_its_kernel() {
        let (conv, forward) = ("C=64,K=64,Hi=8,Wi=8,Y=1,X=1", "grouped_conv_forward_bf16_2d_64x64x64_compv3");
        let backward = "grouped_conv_bwd_data_fp16_2d_64x64x64_compv3_intrawave";
        let silent = run_by(Op::Conv, "C,K,Hi,Wi,Y,X\n64,64,8,8,1,1\n", backward).unwrap();
        assert!(silent.contains("direction=bwd_data,") && silent.contains("dtype_out=fp16"), "{silent}");
        let gemm =
            "gemm_universal_fp8_rcr_compv3_default_intrawave_True_True_True_False_64x64x64_2x2x1_32x32x16";
        let fmha = |mask: &str| {
            format!(
                "fmha_fwd_bf16_batch_h128_qr_t64x128x32x128x32x128_w16x16x32_pad1111_mask={mask}_bias=no\
                 _bpc=-1"
            )
        };
        let (plain, causal) = (&*fmha("no"), &*fmha("top_left"));
        let sizes = "seqlen_q=64,nhead_q=8,hdim_q=128";
        for (op, kernel, text, refused) in [
            (
                Op::Gemm,
                gemm,
                "M=512,N=512,K=512",
                "quant=rowcolquant stream_k=tree num_d=1 preshuffle=1 batch=4",
            ),
            (Op::Gemm, gemm, "M=512,N=512,K=512", "dtype_c=fp32"),
            (Op::Conv, forward, conv, "layout=ngchw dtype_out=fp32 dtype_wei=fp32 dtype=fp16"),
            (Op::Conv, backward, conv, "direction=forward Di=4,Z=3,pad_d=1"),
            (Op::Fmha, plain, sizes, "mask=bottom_right dtype=fp16"),
            (Op::Fmha, causal, sizes, "mask=no"),
        ] {
            assert!(run_by(op, text, kernel).is_some(), "{kernel}");
            for more in refused.split(' ') {
                assert_eq!(run_by(op, &format!("{text},{more}"), kernel), None, "{kernel}: {more}");
            }
        }
        assert_eq!(run_by(Op::Fmha, "seqlen_q=64,nhead_q=8,hdim_q=256", plain), None);
        // One kernel is for the masks of both corners.
        let corner = run_by(Op::Fmha, &format!("{sizes},mask=bottom_right"), causal).unwrap();
        assert!(corner.contains(",mask=bottom_right"), "{corner}");
        let [of_plain, of_causal] = [plain, causal].map(|kernel| run_by(Op::Fmha, sizes, kernel).unwrap());
        assert!(of_plain.contains("dtype=bf16") && of_causal.contains(",mask=top_left"), "{of_causal}");
        assert_eq!(run_by(Op::Fmha, &of_causal, causal), Some(of_causal));
        // Recorded without its signature.
        assert_eq!(run_by(Op::Fmha, &format!("{sizes},mask=no"), plain), Some(of_plain));
    }
}
