//! A problem of any operation.

mod checked;
mod fields;
mod limits;
mod splits;
mod text;

pub use crate::defaults::ProblemDefaults;
pub use crate::field::{AUTO, Field, InvalidField, MAX_EXTENT, MOST_FIELDS, place};
pub use crate::operations::problems::*;
pub use checked::Checked;
pub use fields::FieldSet;
pub use splits::Splits;
pub use text::ProblemError;
pub(crate) use text::keys;

use crate::each_operation;
use crate::field::{self, Key, Record};
use crate::operation::{Operation, OperationProblem as _};
use crate::vocab::{Arch, Direction, Dtype, FmhaFamily, Op};

/// Words of [`Problem::words`].
pub const WORDS: usize = Key::WORDS;

type Own<P> = P;

crate::operation_enum! {
    /// A problem of any operation.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Problem(Own);
}

impl Problem {
    /// Checks every field.
    pub fn validate(&self) -> Result<(), InvalidField> {
        each_operation!(self, Self(problem) => problem.validate())
    }

    /// Multiplications and additions of the whole problem, as f64.
    pub fn flops(&self) -> f64 {
        each_operation!(self, Self(problem) => problem.flops())
    }

    /// The architecture, when the problem names one.
    pub const fn arch(&self) -> Option<Arch> {
        each_operation!(self, Self(problem) => problem.arch)
    }

    /// The same problem on an architecture, or on none in particular.
    ///
    /// ```
    /// use ck_select_types::problem::{GemmProblem, Problem};
    ///
    /// let problem = Problem::from(GemmProblem::new(1, 2, 3));
    /// assert!(problem.on("gfx950".parse().ok()).to_string().ends_with(",arch=gfx950"));
    /// ```
    #[must_use]
    pub const fn on(mut self, arch: Option<Arch>) -> Self {
        each_operation!(&mut self, Self(problem) => problem.arch = arch);
        self
    }
}

impl Problem {
    /// The fields of an operation's problems, in the order of text; the architecture is none of them.
    pub const fn fields(op: Op) -> &'static [Field] {
        Operation::get(op).problem
    }

    /// The element type of its first input.
    pub fn dtype(&self) -> Dtype {
        each_operation!(self, Self(problem) => problem.dtype())
    }

    /// The direction of a convolution.
    pub const fn direction(&self) -> Option<Direction> {
        if let Self::Conv(problem) = self { Some(problem.direction) } else { None }
    }

    /// The stage of attention.
    pub const fn family(&self) -> Option<FmhaFamily> {
        if let Self::Fmha(problem) = self { Some(problem.family) } else { None }
    }

    /// A cell of a table, by any name of a field; empty where the problem has no such thing.
    pub fn cell(&self, name: &str) -> String {
        match self {
            Self::Gemm(problem) if name == "groups" => problem.request.groups.to_string(),
            problem => problem.value(name).map_or_else(String::new, |(field, value)| field.text(value)),
        }
    }

    /// The number of a field by any of its names.
    pub fn value(&self, name: &str) -> Option<(&'static Field, i64)> {
        let fields = Self::fields(self.op());
        field::place(fields, name).map(|place| (&fields[place], self.values()[place]))
    }

    /// What it asks for, in a few words for messages.
    pub fn summary(&self) -> String {
        each_operation!(self, Self(problem) => problem.summary())
    }

    /// Rows and depth of its (implicit) GEMM.
    pub fn gemm_extents(&self) -> [i128; 2] {
        each_operation!(self, Self(problem) => problem.gemm_extents())
    }

    /// The problem that a reader assumes who knows only what every table has.
    #[must_use]
    pub fn assumed(&self) -> Self {
        each_operation!(self, Self(problem) => problem.assumed().into())
    }

    /// The same problem, with these fields as problems usually have them.
    #[must_use]
    pub fn usual_in(&self, names: &[&str]) -> Self {
        each_operation!(self, Self(problem) => field::usual_in(problem, names).into())
    }

    /// The numbers of its fields, those of words being their places; behind the last field they are 0.
    pub fn values(&self) -> [i64; MOST_FIELDS] {
        each_operation!(self, Self(problem) => field::values(problem))
    }

    /// Its numbers and flags, with their fields.
    pub fn numbers(&self) -> impl Iterator<Item = (&'static Field, i64)> + use<> {
        Self::fields(self.op()).iter().zip(self.values()).filter(|(field, _)| field.is_number())
    }

    /// The same problem, written in one way where there are several.
    #[must_use]
    pub fn canonical(self) -> Self {
        each_operation!(self, Self(problem) => problem.normal().into())
    }

    /// The problem as machine words, to be compared and hashed fast: equal problems have equal words,
    /// different ones different words. `None` when a number needs more than 32 bits, which no valid problem
    /// does, and for a list of GEMMs, which needs more words.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "its caller compares the words at once, on the way of a repeated selection"
    )]
    pub fn words(&self) -> Option<[u64; WORDS]> {
        let mut key = Key::new();
        key.push(self.op() as i64, 3);
        each_operation!(self, Self(problem) => problem.pack(&mut key));
        // The longest architecture has 7 characters.
        key.short_text(self.arch().as_ref().map(Arch::as_str));
        let listed = matches!(self, Self::Gemm(problem) if !problem.request.groups.is_empty());
        if listed { None } else { key.finish() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_shows() {
        let base = ConvProblem::new_2d([8, 8], [1, 1]);
        let mut seen = std::collections::HashSet::new();
        let mut add = |problem: Problem| assert!(seen.insert(problem.words().unwrap()), "{problem}");
        add(base.into());
        add(ConvProblem { direction: crate::vocab::Direction::BwdData, ..base }.into());
        add(ConvProblem { ndim: 3, ..base }.into());
        add(ConvProblem { n: 2, ..base }.into());
        add(ConvProblem { c: 2, ..base }.into());
        add(ConvProblem { k: 2, ..base }.into());
        add(ConvProblem { g: 2, ..base }.into());
        add(ConvProblem { split_k: 2, ..base }.into());
        for dtype in ["fp16", "fp8"] {
            let dtype = dtype.parse().unwrap();
            add(ConvProblem { dtype_in: dtype, ..base }.into());
            add(ConvProblem { dtype_wei: dtype, ..base }.into());
            add(ConvProblem { dtype_out: dtype, ..base }.into());
        }
        add(ConvProblem { layout: "ngchw".parse().unwrap(), ..base }.into());
        for arch in ["gfx950", "gfx1250", "sm_90"] {
            add(ConvProblem { arch: arch.parse().ok(), ..base }.into());
        }
        for axis in 0..3 {
            let with = |values: [i64; 3]| {
                let mut values = values;
                values[axis] = MAX_EXTENT;
                values
            };
            add(ConvProblem { input: with(base.input), ..base }.into());
            add(ConvProblem { filter: with(base.filter), ..base }.into());
            add(ConvProblem { stride: with(base.stride), ..base }.into());
            add(ConvProblem { dilation: with(base.dilation), ..base }.into());
            add(ConvProblem { pad_left: with(base.pad_left), ..base }.into());
            add(ConvProblem { pad_right: with(base.pad_right), ..base }.into());
        }
        let gemm = GemmProblem::new(1, 1, 1);
        add(gemm.into());
        add(GemmProblem { m: 2, ..gemm }.into());
        add(GemmProblem { n: 2, ..gemm }.into());
        add(GemmProblem { k: 2, ..gemm }.into());
        add(GemmProblem { layout: "crr".parse().unwrap(), ..gemm }.into());
        add(GemmProblem { layout: "rrr".parse().unwrap(), ..gemm }.into());
        add(GemmProblem { layout: "rcc".parse().unwrap(), ..gemm }.into());
        let asked = [
            "batch=1", "batch=2", "stream_k=atomic", "stream_k=tree", "num_d=1", "preshuffle=1",
            "quant=aquant", "quant=bquant", "quant=abquant", "quant=abquant,group_a=1x1x64",
            "quant=abquant,group_b=1x128x128",
        ];
        for request in asked {
            let defaults = ProblemDefaults::of(crate::vocab::Op::Gemm);
            add(Problem::parse(crate::vocab::Op::Gemm, &format!("M=1,N=1,K=1,{request}"), &defaults).unwrap());
        }
        assert_eq!(Problem::from(gemm.grouped("1x1x1".parse().unwrap())).words(), None);
    }

    #[test]
    fn numbers_that_do_not_fit_have_no_words() {
        for n in [-2, 1 << 33] {
            assert_eq!(Problem::from(GemmProblem::new(n, 1, 1)).words(), None);
        }
    }
}
