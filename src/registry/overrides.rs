//! Override files: which kernel to take for which problem, regardless of models.
//!
//! One rule per line, `problem -> kernel name`, with the problem as [`Problem::parse`] reads it; `#` begins a
//! comment.
//!
//! ```text
//! # the model is wrong about this layer
//! N=16,C=256,K=128,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1 -> grouped_conv_forward_bf16_2d_64x128x64_compv4_intrawave_dsb
//! M=128,N=1536,K=7168 -> gemm_universal_fp8_rcr_compv3_default_intrawave_False_False_False_True_128x128x64_2x2x1_32x32x16
//! seqlen_q=1,seqlen_k=4096,nhead_q=32,nhead_k=8,hdim_q=128 -> fmha_fwd_fp16_batch_h128_qr_t64x128x32x128x32x128_w16x16x32_pad1111_mask=no_bias=no_bpc=-1
//! ```

use std::collections::HashMap;
use std::path::Path;

use crate::files;
use crate::kernel::Kernel;
use crate::problem::{AUTO, MAX_EXTENT, Problem, ProblemDefaults};
use crate::vocab::{Arch, Op};

/// Which kernel to take for which problem.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// The kernel's name, and the parts into which the reduction is split.
    names: HashMap<Problem, (String, i32)>,
}

/// Why an override file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OverrideError {
    /// The file cannot be read.
    #[error("{file}: {source}")]
    Io {
        /// The file.
        file: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// A line that is not a rule.
    #[error("{file}: line {line}: {reason}")]
    Line {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: usize,
        /// The fault of the line.
        reason: String,
    },
}

impl Overrides {
    /// How many rules there are.
    pub fn count(&self) -> usize {
        self.names.len()
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, OverrideError> {
        let file = path.display().to_string();
        let text =
            files::read_to_string(path).map_err(|source| OverrideError::Io { file: file.clone(), source })?;
        Self::parse(&file, &text)
    }

    /// Reads the text of a file; `file` is its name in errors.
    pub fn parse(file: &str, text: &str) -> Result<Self, OverrideError> {
        let mut names = HashMap::new();
        for (index, line) in files::text_without_bom(text).lines().enumerate() {
            let rule = line.split('#').next().unwrap_or("").trim();
            if rule.is_empty() {
                continue;
            }
            let fault =
                |reason: String| OverrideError::Line { file: file.to_owned(), line: index + 1, reason };
            let (problem, kernel) =
                rule.split_once("->").ok_or_else(|| fault("expected 'problem -> kernel name'".to_owned()))?;
            let (problem, (kernel, parts)) = (problem.trim(), in_parts(kernel).map_err(fault)?);
            if kernel.is_empty() {
                return Err(fault("no kernel name after '->'".to_owned()));
            }
            let op = Problem::op_of(problem);
            let problem = Problem::parse(op, problem, &defaults(op, kernel))
                .map_err(|error| fault(error.to_string()))?;
            let split_k = match (parts, problem.split_k()) {
                (None, AUTO) => {
                    return Err(fault("expected ', split_k=NUMBER' after the kernel's name".to_owned()));
                }
                (Some(_), own) if own != AUTO => {
                    return Err(fault(
                        "the number of parts is the problem's, unless it has split_k=auto".to_owned(),
                    ));
                }
                (parts, own) => parts.unwrap_or(own),
            };
            if names.insert(problem, (kernel.to_owned(), split_k)).is_some() {
                return Err(fault("an earlier line has a rule for the same problem".to_owned()));
            }
        }
        Ok(Self { names })
    }

    /// The kernel to take for a problem, on `arch` if it names no architecture. A rule that names none is for
    /// all.
    pub fn get(&self, problem: &Problem, arch: Option<Arch>) -> Option<(&str, i32)> {
        if self.names.is_empty() {
            return None;
        }
        let on = |arch: Option<Arch>| self.names.get(&problem.on(arch));
        on(problem.arch().or(arch)).or_else(|| on(None)).map(|(name, split_k)| (name.as_str(), *split_k))
    }
}

/// A kernel's name, and the number of parts behind it.
fn in_parts(text: &str) -> Result<(&str, Option<i32>), String> {
    let written =
        text.rsplit_once(',').and_then(|(name, rest)| Some((name, rest.trim().strip_prefix("split_k=")?)));
    let Some((name, parts)) = written else { return Ok((text.trim(), None)) };
    match parts.parse() {
        Ok(number @ 1..) => Ok((name.trim(), Some(number))),
        _ => Err(format!("split_k: found '{parts}', expected 1 to {MAX_EXTENT}")),
    }
}

/// The defaults of a problem that names neither direction, types nor layout: those of the kernel's name.
fn defaults(op: Op, kernel: &str) -> ProblemDefaults {
    let kernel = Kernel::from_name(kernel).ok().filter(|kernel| kernel.op() == op);
    kernel.map_or_else(|| ProblemDefaults::new(op), |kernel| kernel.kind.defaults())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{ConvProblem, FmhaProblem, GemmProblem};
    use crate::vocab::{Direction, Dtype, FmhaMask};

    #[test]
    fn rules_are_found_by_problem() {
        let text = "# comment\n\nC=8,K=8,Hi=8,Wi=8,Y=1,X=1 -> conv_kernel # why\r\n\
             M=1,N=2,K=3 ->gemm_kernel\n\
             M=1,N=2,K=3,split_k=auto -> split_kernel, split_k=4\n\
             mask=top_left seqlen_q=8 nhead_q=2 hdim_q=64 -> fmha_kernel\n";
        let overrides = Overrides::parse("rules", text).unwrap();
        let gemm = GemmProblem::new(1, 2, 3);
        assert_eq!(overrides.get(&gemm.into(), None), Some(("gemm_kernel", 1)));
        assert_eq!(
            overrides.get(&GemmProblem { arch: "gfx950".parse().ok(), ..gemm }.into(), None),
            Some(("gemm_kernel", 1))
        );
        assert_eq!(overrides.get(&GemmProblem::new(1, 2, 4).into(), None), None);
        let auto = GemmProblem { split_k: AUTO, ..gemm };
        assert_eq!(overrides.get(&auto.into(), None), Some(("split_kernel", 4)));
        let causal = FmhaProblem { mask: FmhaMask::TopLeft, ..FmhaProblem::new([8, 8], 2, 64) };
        assert_eq!(overrides.get(&causal.into(), None), Some(("fmha_kernel", 1)));
        assert_eq!(overrides.get(&FmhaProblem { mask: FmhaMask::No, ..causal }.into(), None), None);
    }

    #[test]
    fn a_rule_may_be_copied_from_a_list() {
        let overrides = Overrides::parse("rules", "\u{feff}M=1,N=2,K=3,op=gemm_universal -> kernel").unwrap();
        assert_eq!(overrides.get(&GemmProblem::new(1, 2, 3).into(), None), Some(("kernel", 1)));
        assert!(Overrides::parse("rules", "M=1,N=2,K=3,op=fmha -> kernel").is_err());
    }

    #[test]
    fn a_rule_for_an_architecture_is_found_where_only_the_registry_names_it() {
        let overrides = Overrides::parse("rules", "M=1,N=2,K=3,arch=gfx950 -> kernel").unwrap();
        let gemm = Problem::from(GemmProblem::new(1, 2, 3));
        let arch = |word: &str| word.parse().ok();
        assert_eq!(overrides.get(&gemm, arch("gfx950")), Some(("kernel", 1)));
        assert_eq!((overrides.get(&gemm, arch("gfx942")), overrides.get(&gemm, None)), (None, None));
    }

    #[test]
    fn fields_absent_from_a_rule_come_from_its_kernels_name() {
        let rule = "C=8,K=8,Hi=8,Wi=8,Y=1,X=1 -> grouped_conv_bwd_data_fp16_2d_64x64x64_compv3";
        let conv = ConvProblem { c: 8, k: 8, ..ConvProblem::new_2d([8, 8], [1, 1]) };
        let (direction, dtype) = (Direction::BwdData, Dtype::Fp16);
        let conv = ConvProblem { direction, dtype_in: dtype, dtype_wei: dtype, dtype_out: dtype, ..conv };
        assert!(Overrides::parse("rules", rule).unwrap().get(&conv.into(), None).is_some());
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        for (text, message) in [
            ("\nM=1,N=2,K=3", "rules: line 2: expected 'problem -> kernel name'"),
            ("M=1,N=2,K=3 ->", "rules: line 1: no kernel name after '->'"),
            (
                "M=1,N=2,K=3,split_k=auto -> x",
                "rules: line 1: expected ', split_k=NUMBER' after the kernel's name",
            ),
            (
                "M=1,N=2,K=3 -> x, split_k=2",
                "rules: line 1: the number of parts is the problem's, unless it has split_k=auto",
            ),
            (
                "M=1,N=2,K=3,split_k=auto -> x, split_k=0",
                "rules: line 1: split_k: found '0', expected 1 to 2147483647",
            ),
            ("M=1,N=2 -> x", "rules: line 1: K: found nothing, expected a whole number"),
            (
                "M=1,N=2,K=3 -> x\nM=1,N=2,K=3 -> y",
                "rules: line 2: an earlier line has a rule for the same problem",
            ),
        ] {
            assert_eq!(Overrides::parse("rules", text).unwrap_err().to_string(), message);
        }
    }
}
