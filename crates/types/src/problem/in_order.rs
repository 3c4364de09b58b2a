//! Texts as problems print them, with all fields in order, read in one pass: a store has thousands.

use std::str::FromStr;

use super::{ConvProblem, GemmProblem, GemmRequest, Problem};
use crate::vocab::{Arch, Op};

/// What is left of a text.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    /// The value of the next field, if it is this one.
    fn text(&mut self, key: &str) -> Option<&'a str> {
        let rest = self.0.strip_prefix(key)?.strip_prefix('=')?;
        let (value, rest) = rest.split_once(',').unwrap_or((rest, ""));
        self.0 = rest;
        Some(value)
    }

    fn read<T: FromStr>(&mut self, key: &str) -> Option<T> {
        self.text(key)?.parse().ok()
    }

    fn axes(&mut self, keys: [&str; 3]) -> Option<[i64; 3]> {
        Some([self.read(keys[0])?, self.read(keys[1])?, self.read(keys[2])?])
    }

    /// The problem on its architecture, which is last if there is one. Anything else is not in order.
    fn end(mut self, problem: Problem) -> Option<Problem> {
        let arch: Option<Arch> = if self.0.is_empty() { None } else { Some(self.read("arch")?) };
        self.0.is_empty().then(|| problem.on(arch))
    }
}

/// Reads a text of a convolution or of a plain GEMM, not yet validated; `None` for any other text.
pub(super) fn read(op: Op, text: &str) -> Option<Problem> {
    let mut rest = Rest(text);
    let problem = match op {
        Op::GroupedConv => Problem::Conv(ConvProblem {
            direction: rest.read("direction")?,
            ndim: rest.read("ndim")?,
            n: rest.read("N")?,
            c: rest.read("C")?,
            k: rest.read("K")?,
            g: rest.read("G")?,
            input: rest.axes(["Di", "Hi", "Wi"])?,
            filter: rest.axes(["Z", "Y", "X"])?,
            stride: rest.axes(["stride_d", "stride_h", "stride_w"])?,
            dilation: rest.axes(["dilation_d", "dilation_h", "dilation_w"])?,
            pad_left: rest.axes(["pad_d_left", "pad_h_left", "pad_w_left"])?,
            pad_right: rest.axes(["pad_d_right", "pad_h_right", "pad_w_right"])?,
            split_k: rest.read("split_k")?,
            dtype_in: rest.read("dtype_in")?,
            dtype_wei: rest.read("dtype_wei")?,
            dtype_out: rest.read("dtype_out")?,
            layout: rest.read("layout")?,
            arch: None,
        }),
        Op::Gemm => Problem::Gemm(GemmProblem {
            m: rest.read("M")?,
            n: rest.read("N")?,
            k: rest.read("K")?,
            split_k: rest.read("split_k")?,
            dtype_a: rest.read("dtype_a")?,
            dtype_b: rest.read("dtype_b")?,
            dtype_c: rest.read("dtype_c")?,
            layout: rest.read("layout")?,
            request: GemmRequest::NONE,
            arch: None,
        }),
        Op::Fmha => return None,
    };
    rest.end(problem)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::problem::ProblemDefaults;

    #[test]
    fn what_is_printed_is_in_order_and_read_as_any_text() {
        let arch: Option<Arch> = "gfx950".parse().ok();
        let conv =
            ConvProblem { n: 16, c: 64, k: 96, ..ConvProblem::new_2d([28, 30], [3, 5]) }.padded([1, 2]);
        for problem in [
            conv.into(),
            ConvProblem { arch, ..conv }.into(),
            GemmProblem::new(1, 2, 3).into(),
            Problem::from(GemmProblem { arch, ..GemmProblem::new(1, 2, 3) }),
        ] {
            let (op, text) = (problem.op(), problem.to_string());
            assert_eq!(read(op, &text), Some(problem), "{text}");
            // The same pairs in another order are read the other way.
            let (first, others) = text.split_once(',').unwrap();
            let turned = format!("{others},{first}");
            assert_eq!(read(op, &turned), None);
            assert_eq!(Problem::parse(op, &turned, &ProblemDefaults::of(op)), Ok(problem));
        }
        let text = Problem::from(conv).to_string();
        for other in [&text[..text.len() - 4], "", "N=1"] {
            assert_eq!(read(Op::GroupedConv, other), None, "{other}");
        }
        for more in [",split_k=2", ",arch=gfx950,N=1", " N=1", ",arch=nothing"] {
            assert_eq!(read(Op::GroupedConv, &format!("{text}{more}")), None, "{more}");
        }
    }

    proptest! {
        #[test]
        fn the_order_does_not_matter(numbers in prop::collection::vec(-1..9_i64, 24), ndim in 0..5_u8) {
            let axes = |at: usize| [numbers[at], numbers[at + 1], numbers[at + 2]];
            let problem = Problem::Conv(ConvProblem {
                ndim,
                n: numbers[0],
                c: numbers[1] * numbers[3],
                k: numbers[2] * numbers[3],
                g: numbers[3],
                input: axes(4),
                filter: axes(7),
                stride: axes(10),
                dilation: axes(13),
                pad_left: axes(16),
                pad_right: axes(19),
                ..ConvProblem::new_2d([1, 1], [1, 1])
            });
            let text = problem.to_string();
            let (first, others) = text.split_once(',').unwrap();
            let parse = |text: &str| Problem::parse(Op::GroupedConv, text, &ProblemDefaults::of(Op::GroupedConv));
            prop_assert_eq!(parse(&text).ok(), parse(&format!("{others},{first}")).ok());
        }
    }
}
