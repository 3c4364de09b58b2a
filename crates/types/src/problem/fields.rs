//! A problem field by field: its numbers, its words, and sets of them.

use super::{Problem, fmha};
use crate::vocab::{ConvLayout, Direction, Dtype, GemmLayout, Major, Op};

/// Maximum number of numeric fields of a problem.
pub const NUMBERS: usize = fmha::NUMBERS;
/// Maximum number of fields with words, apart from the architecture.
pub const CODES: usize = fmha::CODES;

const CONV_FIELDS: &[&str] = &[
    "N",
    "C",
    "K",
    "G",
    "Di",
    "Hi",
    "Wi",
    "Z",
    "Y",
    "X",
    "stride_d",
    "stride_h",
    "stride_w",
    "dilation_d",
    "dilation_h",
    "dilation_w",
    "pad_d_left",
    "pad_h_left",
    "pad_w_left",
    "pad_d_right",
    "pad_h_right",
    "pad_w_right",
    "split_k",
    "ndim",
    "direction",
    "dtype_in",
    "dtype_wei",
    "dtype_out",
    "layout",
    "arch",
    "features",
];
const GEMM_FIELDS: &[&str] =
    &["M", "N", "K", "split_k", "dtype_a", "dtype_b", "dtype_c", "layout", "arch", "features"];

/// A set of a problem's fields.
///
/// The field `features` stands for what a model's features derive from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct FieldSet(u64);

impl FieldSet {
    /// The empty set.
    pub const NONE: Self = Self(0);

    /// The fields that an operation's problems have; a field's place is its bit in [`FieldSet::bits`].
    pub const fn fields(op: Op) -> &'static [&'static str] {
        match op {
            Op::GroupedConv => CONV_FIELDS,
            Op::Gemm => GEMM_FIELDS,
            Op::Fmha => fmha::FIELDS,
        }
    }

    /// One bit per field.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The set with these bits.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Whether it is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The fields of the set, in the order of [`FieldSet::fields`].
    pub fn names(self, op: Op) -> impl Iterator<Item = &'static str> {
        let fields = Self::fields(op).iter().enumerate();
        fields.filter(move |(place, _)| self.0 >> place & 1 == 1).map(|(_, &name)| name)
    }

    /// The set, with the field at a place of [`FieldSet::fields`] added if `set`.
    pub const fn with(self, place: usize, set: bool) -> Self {
        Self(self.0 | (set as u64) << place)
    }
}

/// How many of an operation's fields are numbers, which come first; then [`words`] words, the architecture,
/// and `features` follow.
pub const fn numbers(op: Op) -> usize {
    match op {
        Op::GroupedConv => 24,
        Op::Gemm => 4,
        Op::Fmha => fmha::NUMBERS,
    }
}

/// How many of an operation's fields are words, without the architecture.
pub const fn words(op: Op) -> usize {
    match op {
        Op::GroupedConv => 5,
        Op::Gemm => 4,
        Op::Fmha => fmha::CODES,
    }
}

/// The place of `arch`; that of `features` is the next one.
pub const fn arch_place(op: Op) -> usize {
    numbers(op) + words(op)
}

impl Problem {
    /// Its numbers, in the order of [`FieldSet::fields`]; those that its operation lacks are 0.
    pub fn numbers(&self) -> [i64; NUMBERS] {
        match self {
            Self::Conv(p) => {
                let [i, f, s, d, l, r] = [p.input, p.filter, p.stride, p.dilation, p.pad_left, p.pad_right];
                let mut numbers = [0; NUMBERS];
                numbers[..24].copy_from_slice(&[
                    p.n,
                    p.c,
                    p.k,
                    p.g,
                    i[0],
                    i[1],
                    i[2],
                    f[0],
                    f[1],
                    f[2],
                    s[0],
                    s[1],
                    s[2],
                    d[0],
                    d[1],
                    d[2],
                    l[0],
                    l[1],
                    l[2],
                    r[0],
                    r[1],
                    r[2],
                    p.split_k.into(),
                    p.ndim.into(),
                ]);
                numbers
            }
            Self::Gemm(p) => {
                let mut numbers = [0; NUMBERS];
                numbers[..4].copy_from_slice(&[p.m, p.n, p.k, p.split_k.into()]);
                numbers
            }
            Self::Fmha(p) => p.numbers(),
        }
    }

    /// Its words as numbers below 32, in the order of [`FieldSet::fields`]; those that its operation lacks
    /// are 0.
    pub fn codes(&self) -> [u8; CODES] {
        let mut codes = [0; CODES];
        match self {
            Self::Conv(p) => codes[..5].copy_from_slice(&[
                p.direction as u8,
                p.dtype_in as u8,
                p.dtype_wei as u8,
                p.dtype_out as u8,
                p.layout.order() as u8,
            ]),
            Self::Gemm(p) => {
                let GemmLayout { a, b, c } = p.layout;
                let layout = a as u8 * 9 + b as u8 * 3 + c as u8;
                codes[..4].copy_from_slice(&[p.dtype_a as u8, p.dtype_b as u8, p.dtype_c as u8, layout]);
            }
            Self::Fmha(p) => codes = p.codes(),
        }
        codes
    }
}

/// The number of a field's word; `None` when it has none.
pub fn code(field: &str, op: Op, word: &str) -> Option<u8> {
    Some(match (field, op) {
        (_, Op::Fmha) => fmha::code(field, word)?,
        ("direction", _) => word.parse::<Direction>().ok()? as u8,
        ("layout", Op::GroupedConv) => word.parse::<ConvLayout>().ok()?.order() as u8,
        ("layout", Op::Gemm) => {
            let GemmLayout { a, b, c } = word.parse().ok()?;
            a as u8 * 9 + b as u8 * 3 + c as u8
        }
        _ => word.parse::<Dtype>().ok()? as u8,
    })
}

/// The word of a field's number.
pub fn word(field: &str, op: Op, code: u8) -> String {
    let at = usize::from(code);
    let plain = |words: &[&str]| words.get(at).copied().unwrap_or_default().to_owned();
    match (field, op) {
        (_, Op::Fmha) => {
            let place = fmha::FIELDS[fmha::NUMBERS..].iter().position(|name| *name == field);
            place
                .filter(|&place| place < fmha::CODES)
                .map_or_else(String::new, |place| plain(fmha::words(place)))
        }
        ("direction", _) => plain(Direction::WORDS),
        ("layout", Op::GroupedConv) => plain(ConvLayout::WORDS),
        ("layout", Op::Gemm) => [at / 9, at / 3 % 3, at % 3]
            .map(|major| Major::WORDS.get(major).copied().unwrap_or_default())
            .concat(),
        _ => plain(Dtype::WORDS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{ConvProblem, GemmProblem};

    #[test]
    fn every_field_has_a_name_and_words_read_back() {
        for (op, problem) in [
            (Op::GroupedConv, Problem::from(ConvProblem::new_2d([8, 8], [1, 1]))),
            (Op::Gemm, GemmProblem { layout: "crp".parse().unwrap(), ..GemmProblem::new(1, 2, 3) }.into()),
            (Op::Fmha, crate::problem::FmhaProblem::new([8, 8], 1, 64).into()),
        ] {
            let fields = FieldSet::fields(op);
            assert_eq!(fields.len(), arch_place(op) + 2);
            assert_eq!(fields[arch_place(op)..], ["arch", "features"]);
            for (place, &code_of) in problem.codes()[..words(op)].iter().enumerate() {
                let field = fields[numbers(op) + place];
                assert_eq!(code(field, op, &word(field, op, code_of)), Some(code_of), "{field}");
                assert!(code_of < 32);
            }
        }
        assert_eq!(word("layout", Op::Gemm, 11), "crp");
    }

    #[test]
    fn sets_name_their_fields() {
        let set = FieldSet::NONE.with(3, true).with(0, false).with(30, true);
        assert_eq!(set.names(Op::GroupedConv).collect::<Vec<_>>(), ["G", "features"]);
        assert!(!set.is_empty() && FieldSet::from_bits(set.bits()) == set);
    }
}
