//! Problems from text: `N=16,C=256,…` on a command line, or the named cells of a CSV row.

use std::fmt;
use std::str::FromStr;

use super::{
    ConvProblem, GemmProblem, GemmRequest, Groups, InvalidField, MAX_EXTENT, Problem, fmha, in_order,
};
use crate::cells::{self, Fields};
use crate::kernel::Quant;
use crate::nearest::Hint;
use crate::vocab::{Arch, ConvLayout, Direction, Dtype, GemmLayout, Op, UnknownWord};

/// Values of fields that the text omits: usually what a model was trained for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProblemDefaults {
    /// Direction of a convolution.
    pub direction: Direction,
    /// Element type of the inputs.
    pub dtype: Dtype,
    /// Architecture, if any.
    pub arch: Option<Arch>,
    /// Memory order of a convolution's tensors.
    pub conv_layout: ConvLayout,
    /// Memory orders of a GEMM's operands.
    pub gemm_layout: GemmLayout,
}

impl ProblemDefaults {
    /// Upstream's defaults: forward, `bf16` for convolutions, `fp8` for GEMMs, `fp16` for attention, no
    /// architecture, `nhwgc`, `rcr`.
    pub const fn of(op: Op) -> Self {
        let dtype = match op {
            Op::GroupedConv => Dtype::Bf16,
            Op::Gemm => Dtype::Fp8,
            Op::Fmha => Dtype::Fp16,
        };
        Self {
            direction: Direction::Forward,
            dtype,
            arch: None,
            conv_layout: ConvLayout::Nhwgc,
            gemm_layout: GemmLayout::RCR,
        }
    }
}

/// A text that is not a problem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProblemError {
    /// A part that is not `key=value`.
    #[error("'{0}' is not of the form key=value")]
    NotAPair(String),
    /// A key that no problem of the operation has.
    #[error(
        "{op} problems have no field '{key}', expected one of: {}{}",
        accepted.join(", "),
        Hint::new(key, accepted.iter().copied())
    )]
    UnknownKey {
        /// The operation.
        op: Op,
        /// The unknown key.
        key: String,
        /// The accepted keys.
        accepted: &'static [&'static str],
    },
    /// A duplicate key.
    #[error("'{0}' is given twice")]
    Twice(String),
    /// A key without a value.
    #[error("{0}: found nothing after '=', expected a value")]
    NoValue(String),
    /// A missing or invalid field.
    #[error(transparent)]
    Field(#[from] InvalidField),
}

const CONV_KEYS: &[&str] = &[
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
    "pad_d",
    "pad_h",
    "pad_w",
    "pad_d_left",
    "pad_h_left",
    "pad_w_left",
    "pad_d_right",
    "pad_h_right",
    "pad_w_right",
    "dilation_d",
    "dilation_h",
    "dilation_w",
    "ndim",
    "split_k",
    "direction",
    "dtype",
    "dtype_in",
    "dtype_wei",
    "dtype_out",
    "layout",
    "arch",
];

const GEMM_KEYS: &[&str] = &[
    "M",
    "N",
    "K",
    "m",
    "n",
    "k",
    "split_k",
    "dtype",
    "dtype_a",
    "dtype_b",
    "dtype_c",
    "layout",
    "batch",
    "batch_count",
    "groups",
    "stream_k",
    "num_d",
    "preshuffle",
    "quant",
    "group_a",
    "group_b",
    "arch",
];

/// The fields that a problem of an operation has in text.
pub(crate) const fn keys(op: Op) -> &'static [&'static str] {
    match op {
        Op::GroupedConv => CONV_KEYS,
        Op::Gemm => GEMM_KEYS,
        Op::Fmha => fmha::KEYS,
    }
}

impl Problem {
    /// Reads `key=value` pairs, separated by commas or blanks, and validates the problem.
    ///
    /// A convolution needs `C`, `K`, `Wi`, `X`, and `Hi`, `Y` unless `ndim=1`; a GEMM needs `M`, `N`, `K`, or
    /// a list of GEMMs as `groups=128x512x1024*3+64x512x1024`; attention needs `seqlen_q`, `nhead_q`,
    /// `hdim_q`. Everything else has a neutral default.
    ///
    /// ```
    /// use ck_select_types::problem::{Problem, ProblemDefaults};
    /// use ck_select_types::vocab::Op;
    ///
    /// let defaults = ProblemDefaults::of(Op::GroupedConv);
    /// let problem = Problem::parse(Op::GroupedConv, "N=16,C=256,K=128,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1", &defaults)?;
    /// assert_eq!(problem.flops(), 7_398_752_256.0);
    /// # Ok::<(), ck_select_types::problem::ProblemError>(())
    /// ```
    pub fn parse(op: Op, text: &str, defaults: &ProblemDefaults) -> Result<Self, ProblemError> {
        // What stores and logs contain was printed by us.
        if let Some(problem) = in_order::read(op, text) {
            problem.validate()?;
            return Ok(problem);
        }
        let accepted = keys(op);
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        for part in text.split(|c: char| c == ',' || c.is_whitespace()).filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').ok_or_else(|| ProblemError::NotAPair(part.to_owned()))?;
            // Lists of several operations have it, and a line may be copied from one.
            if key == "op" && value.parse() == Ok(op) {
                continue;
            }
            if !accepted.contains(&key) {
                return Err(ProblemError::UnknownKey { op, key: key.to_owned(), accepted });
            }
            // The extents of a GEMM are accepted in either case; no two fields of a problem differ only in
            // case.
            if pairs.iter().any(|&(known, _)| known.eq_ignore_ascii_case(key)) {
                return Err(ProblemError::Twice(key.to_owned()));
            }
            // A cell may be empty, but whoever writes a key has a value in mind.
            if value.is_empty() {
                return Err(ProblemError::NoValue(key.to_owned()));
            }
            pairs.push((key, value));
        }
        Ok(Self::from_fields(op, &Pairs(pairs), defaults)?)
    }

    /// The operation of pairs that need not include `op=…`: `M` is a GEMM's, queries are attention's.
    /// Anything else is taken for a convolution, whose reader reports what is missing.
    pub fn op_of(text: &str) -> Op {
        let mut keys = text
            .split(|c: char| c == ',' || c.is_whitespace())
            .filter_map(|part| part.split_once('=').map(|(key, _)| key));
        let shown = keys.find_map(|key| match key {
            "M" | "m" | "groups" => Some(Op::Gemm),
            "seqlen_q" => Some(Op::Fmha),
            _ => None,
        });
        shown.unwrap_or(Op::GroupedConv)
    }

    /// Reads a problem from named cells, such as a row of a benchmark CSV, and validates it: of attention
    /// without a signature, only the sizes. Other cells are ignored.
    pub fn from_fields(
        op: Op,
        fields: &dyn Fields,
        defaults: &ProblemDefaults,
    ) -> Result<Self, InvalidField> {
        let cells = Cells(fields);
        let problem = match op {
            Op::GroupedConv => Self::Conv(cells.conv(defaults)?),
            Op::Gemm => Self::Gemm(cells.gemm(defaults)?),
            Op::Fmha => {
                let problem = fmha::read(&cells, defaults)?;
                // Sizes alone are completed by a kernel's signature.
                if !fmha::says_signature(|name| fields.cell(name).is_some()) {
                    problem.validate_sizes()?;
                    return Ok(Self::Fmha(problem));
                }
                problem.validate()?;
                return Ok(Self::Fmha(problem.canonical()));
            }
        };
        problem.validate()?;
        Ok(problem)
    }
}

/// All fields in a fixed order: equal problems have equal texts, different ones have different texts, and
/// [`Problem::parse`] reads a text back to an equal problem. The direction and types are always included.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arch = |f: &mut fmt::Formatter<'_>, arch: Option<Arch>| {
            arch.map_or(Ok(()), |arch| write!(f, ",arch={arch}"))
        };
        match self {
            Self::Conv(p) => {
                write!(
                    f,
                    "direction={},ndim={},N={},C={},K={},G={}",
                    p.direction, p.ndim, p.n, p.c, p.k, p.g
                )?;
                let axes = [
                    (["Di", "Hi", "Wi"], p.input),
                    (["Z", "Y", "X"], p.filter),
                    (["stride_d", "stride_h", "stride_w"], p.stride),
                    (["dilation_d", "dilation_h", "dilation_w"], p.dilation),
                    (["pad_d_left", "pad_h_left", "pad_w_left"], p.pad_left),
                    (["pad_d_right", "pad_h_right", "pad_w_right"], p.pad_right),
                ];
                for (names, values) in axes {
                    for (name, value) in names.into_iter().zip(values) {
                        write!(f, ",{name}={value}")?;
                    }
                }
                write!(f, ",split_k={},dtype_in={},dtype_wei={}", p.split_k, p.dtype_in, p.dtype_wei)?;
                write!(f, ",dtype_out={},layout={}", p.dtype_out, p.layout)?;
                arch(f, p.arch)
            }
            Self::Gemm(p) => {
                write!(f, "M={},N={},K={},split_k={}", p.m, p.n, p.k, p.split_k)?;
                write!(
                    f,
                    ",dtype_a={},dtype_b={},dtype_c={},layout={}",
                    p.dtype_a, p.dtype_b, p.dtype_c, p.layout
                )?;
                write_request(f, &p.request)?;
                arch(f, p.arch)
            }
            Self::Fmha(p) => p.fmt(f),
        }
    }
}

/// What a plain GEMM lacks, so that its text stays unchanged.
fn write_request(f: &mut fmt::Formatter<'_>, request: &GemmRequest) -> fmt::Result {
    let GemmRequest { batch, groups, stream_k, num_d, preshuffle, quant } = request;
    if *batch > 0 {
        write!(f, ",batch={batch}")?;
    }
    if !groups.is_empty() {
        write!(f, ",groups={groups}")?;
    }
    if let Some(reduction) = stream_k {
        write!(f, ",stream_k={reduction}")?;
    }
    if *num_d > 0 {
        write!(f, ",num_d={num_d}")?;
    }
    if *preshuffle {
        write!(f, ",preshuffle=true")?;
    }
    let Some(Quant { mode, group_a, group_b }) = quant else { return Ok(()) };
    write!(f, ",quant={mode}")?;
    for (field, group) in [("group_a", group_a), ("group_b", group_b)] {
        if let Some(group) = group {
            write!(f, ",{field}={group}")?;
        }
    }
    Ok(())
}

pub(super) struct Pairs<'a>(pub(super) Vec<(&'a str, &'a str)>);

impl Fields for Pairs<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| *key == name).map(|&(_, value)| value)
    }
}

/// Named cells, read as typed values.
pub(super) struct Cells<'a>(pub(super) &'a dyn Fields);

impl Cells<'_> {
    /// The value of a field that has several names. All cells that are there must have the same value.
    fn one_of<T: PartialEq>(
        &self,
        names: &[&str],
        read: impl Fn(&str) -> Result<Option<T>, InvalidField>,
    ) -> Result<Option<T>, InvalidField> {
        let mut first: Option<(&str, T)> = None;
        for &name in names {
            let Some(value) = read(name)? else { continue };
            let Some((known, other)) = &first else {
                first = Some((name, value));
                continue;
            };
            if value != *other {
                let text = |name| self.0.cell(name).map_or_else(String::new, |cell| cell.to_string());
                let expected = format!("{} as in {known}", text(known));
                return Err(InvalidField::new(name, text(name), expected));
            }
        }
        Ok(first.map(|(_, value)| value))
    }

    /// A number under one of several names.
    pub(super) fn int_of(&self, names: &[&str]) -> Result<Option<i64>, InvalidField> {
        self.one_of(names, |name| self.int(name))
    }

    /// A word under one of several names.
    pub(super) fn word_of<T: FromStr<Err = UnknownWord> + PartialEq>(
        &self,
        names: &[&str],
    ) -> Result<Option<T>, InvalidField> {
        self.one_of(names, |name| self.word(name))
    }

    /// Yes or no under one of several names.
    pub(super) fn flag_of(&self, names: &[&str]) -> Result<Option<bool>, InvalidField> {
        self.one_of(names, |name| self.flag(name))
    }

    fn flag(&self, name: &str) -> Result<Option<bool>, InvalidField> {
        use cells::Cell::{Number, Whole, Word};
        match self.0.cell(name) {
            None => Ok(None),
            Some(Word("1" | "true" | "True" | "1.0") | Whole(1) | Number(1.0)) => Ok(Some(true)),
            Some(Word("0" | "false" | "False" | "0.0") | Whole(0) | Number(0.0)) => Ok(Some(false)),
            Some(cell) => Err(InvalidField::new(name, cell, "0, 1, true or false")),
        }
    }

    fn int(&self, name: &str) -> Result<Option<i64>, InvalidField> {
        let Some(cell) = self.0.cell(name) else { return Ok(None) };
        // Tables that went through a data frame hold whole numbers as floats.
        let whole = |x: f64| (x.fract() == 0.0 && x.abs() < 9.0e15).then_some(x as i64);
        let value = match cell {
            cells::Cell::Whole(value) => Some(value),
            cells::Cell::Number(value) => whole(value),
            cells::Cell::Word(text) => text.parse().ok().or_else(|| whole(text.parse().ok()?)),
        };
        value.map(Some).ok_or_else(|| InvalidField::new(name, cell, "a whole number"))
    }

    /// A cell as text.
    fn text(&self, name: &str) -> Result<Option<&str>, InvalidField> {
        match self.0.cell(name) {
            None => Ok(None),
            Some(cells::Cell::Word(text)) => Ok(Some(text)),
            Some(number) => Err(InvalidField::new(name, number, "a word")),
        }
    }

    pub(super) fn needed(&self, name: &str) -> Result<i64, InvalidField> {
        self.int(name)?.ok_or_else(|| InvalidField::new(name, "nothing", "a whole number"))
    }

    fn or(&self, name: &str, default: i64) -> Result<i64, InvalidField> {
        Ok(self.int(name)?.unwrap_or(default))
    }

    fn word<T: FromStr<Err = UnknownWord>>(&self, name: &str) -> Result<Option<T>, InvalidField> {
        // Upstream's attention has numbers for words.
        let number = match self.0.cell(name) {
            Some(cells::Cell::Whole(number)) => Some(number.to_string()),
            _ => None,
        };
        let text = if number.is_some() { number.as_deref() } else { self.text(name)? };
        text.map(str::parse).transpose().map_err(|error| InvalidField::word(name, &error))
    }

    fn split_k(&self) -> Result<i32, InvalidField> {
        let value = self.or("split_k", 1)?;
        i32::try_from(value).map_err(|_| InvalidField::new("split_k", value, "a 32-bit number"))
    }

    fn axes(&self, names: [&str; 3], default: i64) -> Result<[i64; 3], InvalidField> {
        Ok([self.or(names[0], default)?, self.or(names[1], default)?, self.or(names[2], default)?])
    }

    fn conv(&self, defaults: &ProblemDefaults) -> Result<ConvProblem, InvalidField> {
        let pad = self.axes(["pad_d", "pad_h", "pad_w"], 0)?;
        let side = |names: [&str; 3]| -> Result<[i64; 3], InvalidField> {
            Ok([self.or(names[0], pad[0])?, self.or(names[1], pad[1])?, self.or(names[2], pad[2])?])
        };
        let left = ["pad_d_left", "pad_h_left", "pad_w_left"];
        let pad_left = side(left)?;
        // Tables have the padding before an axis as `pad_*`; that after it may differ.
        for (axis, name) in ["pad_d", "pad_h", "pad_w"].into_iter().enumerate() {
            if self.0.cell(name).is_some() && pad_left[axis] != pad[axis] {
                return Err(InvalidField::new(
                    left[axis],
                    pad_left[axis],
                    format!("{} as in {name}", pad[axis]),
                ));
            }
        }
        let (depth, filter_depth) = (self.or("Di", 1)?, self.or("Z", 1)?);
        let ndim = match self.int("ndim")? {
            Some(ndim) => u8::try_from(ndim).map_err(|_| InvalidField::new("ndim", ndim, "1, 2 or 3"))?,
            None if depth > 1 || filter_depth > 1 || pad[0] > 0 => 3,
            None => 2,
        };
        let height = |name: &str| if ndim == 1 { self.or(name, 1) } else { self.needed(name) };
        let dtype_in = self.word_of(&["dtype", "dtype_in"])?.unwrap_or(defaults.dtype);
        Ok(ConvProblem {
            direction: self.word("direction")?.unwrap_or(defaults.direction),
            ndim,
            n: self.or("N", 1)?,
            c: self.needed("C")?,
            k: self.needed("K")?,
            g: self.or("G", 1)?,
            input: [depth, height("Hi")?, self.needed("Wi")?],
            filter: [filter_depth, height("Y")?, self.needed("X")?],
            stride: self.axes(["stride_d", "stride_h", "stride_w"], 1)?,
            dilation: self.axes(["dilation_d", "dilation_h", "dilation_w"], 1)?,
            pad_left,
            pad_right: side(["pad_d_right", "pad_h_right", "pad_w_right"])?,
            split_k: self.split_k()?,
            dtype_in,
            dtype_wei: self.word("dtype_wei")?.unwrap_or(dtype_in),
            dtype_out: self.word("dtype_out")?.unwrap_or(dtype_in),
            layout: self.word("layout")?.unwrap_or(defaults.conv_layout),
            arch: self.word("arch")?.or(defaults.arch),
        })
    }

    fn gemm(&self, defaults: &ProblemDefaults) -> Result<GemmProblem, InvalidField> {
        let request = self.request()?;
        let largest = request.groups.largest().map(|group| group.extents.map(i64::from));
        let extent = |upper: &str, lower: &str, axis: usize| match (self.int_of(&[upper, lower])?, largest) {
            (Some(value), _) => Ok(value),
            (None, Some(largest)) => Ok(largest[axis]),
            (None, None) => self.needed(upper),
        };
        let dtype_a: Dtype = self.word_of(&["dtype", "dtype_a"])?.unwrap_or(defaults.dtype);
        Ok(GemmProblem {
            m: extent("M", "m", 0)?,
            n: extent("N", "n", 1)?,
            k: extent("K", "k", 2)?,
            split_k: self.split_k()?,
            dtype_a,
            dtype_b: self.word("dtype_b")?.unwrap_or(dtype_a),
            dtype_c: self.word("dtype_c")?.unwrap_or(match request.quant {
                Some(_) => dtype_a.scaled_result(),
                None => dtype_a.result(),
            }),
            layout: self.word("layout")?.unwrap_or(defaults.gemm_layout),
            request,
            arch: self.word("arch")?.or(defaults.arch),
        })
    }

    fn request(&self) -> Result<GemmRequest, InvalidField> {
        // The tile engine's problems spell it out.
        let batch = self.int_of(&["batch", "batch_count"])?.unwrap_or(0);
        let least_batch = |_| InvalidField::new("batch", batch, format!("0 to {MAX_EXTENT}"));
        let num_d = self.or("num_d", 0)?;
        Ok(GemmRequest {
            batch: u32::try_from(batch).map_err(least_batch)?,
            groups: self.text("groups")?.map_or(Ok(Groups::NONE), str::parse)?,
            stream_k: self.word("stream_k")?,
            num_d: u8::try_from(num_d).map_err(|_| InvalidField::new("num_d", num_d, "0 to 255"))?,
            preshuffle: self.flag("preshuffle")?.unwrap_or(false),
            quant: self.quant()?,
        })
    }

    fn quant(&self) -> Result<Option<Quant>, InvalidField> {
        let mode = self.word("quant")?;
        let mut quant = mode.map(Quant::usual);
        for (field, b) in [("group_a", false), ("group_b", true)] {
            let Some(text) = self.text(field)? else { continue };
            let place = quant
                .as_mut()
                .and_then(|quant| if b { quant.group_b.as_mut() } else { quant.group_a.as_mut() });
            let Some(place) = place else {
                let found = format!("'{text}'");
                return Err(InvalidField::new(field, found, "nothing, or a 'quant' that has such groups"));
            };
            let expected = "three numbers joined by 'x', such as 1x1x128";
            *place =
                text.parse().map_err(|_| InvalidField::new(field, format_args!("'{text}'"), expected))?;
        }
        Ok(quant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conv(text: &str) -> Result<Problem, ProblemError> {
        Problem::parse(Op::GroupedConv, text, &ProblemDefaults::of(Op::GroupedConv))
    }

    fn gemm(text: &str) -> Result<Problem, ProblemError> {
        Problem::parse(Op::Gemm, text, &ProblemDefaults::of(Op::Gemm))
    }

    const RESNET: &str = "N=16,C=256,K=128,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1";

    #[test]
    fn pairs_become_problems() {
        let expected =
            ConvProblem { n: 16, c: 256, k: 128, ..ConvProblem::new_2d([28, 28], [3, 3]) }.padded([1, 1]);
        assert_eq!(conv(RESNET), Ok(expected.into()));
        assert_eq!(conv(&RESNET.replace(',', " ")), Ok(expected.into()));
        assert_eq!(gemm("m=1,N=2,K=3,dtype=fp16"), Ok(GemmProblem::new(1, 2, 3).of(Dtype::Fp16).into()));
    }

    #[test]
    fn depth_makes_a_problem_3d() {
        let Ok(Problem::Conv(problem)) =
            conv(&format!("{RESNET},Di=8,Z=3,pad_d_left=1,direction=bwd_weight"))
        else {
            panic!()
        };
        assert_eq!((problem.ndim, problem.pad_left, problem.pad_right), (3, [1, 1, 1], [0, 1, 1]));
        assert_eq!(problem.direction, Direction::BwdWeight);
        assert!(conv("ndim=1,C=8,K=8,Wi=100,X=5").is_ok());
    }

    #[test]
    fn every_mistake_is_named() {
        for (text, message) in [
            ("N=16,C", "'C' is not of the form key=value"),
            ("N=1,N=2", "'N' is given twice"),
            ("N=,C=8", "N: found nothing after '=', expected a value"),
            (
                "C=8,K=8,Hi=8,Wi=8,Y=1,X=1,dtype=fp16,dtype_in=bf16",
                "dtype_in: found 'bf16', expected 'fp16' as in dtype",
            ),
            ("C=8,K=8,Hi=8,Wi=8,Y=1,X=1,pad_h=1,pad_h_left=2", "pad_h_left: found 2, expected 1 as in pad_h"),
            ("C=8,K=8,Hi=8,Wi=8,Y=1", "X: found nothing, expected a whole number"),
            ("C=8,K=8,Hi=8,Wi=8,Y=1,X=one", "X: found 'one', expected a whole number"),
            ("C=8,K=8,Hi=8,Wi=8,Y=1,X=1,stride_d=2", "stride_d: found 2, expected 1 in a 2D problem"),
            (
                "C=8,K=8,Hi=8,Wi=8,Y=1,X=1,split_k=9999999999",
                "split_k: found 9999999999, expected a 32-bit number",
            ),
        ] {
            assert_eq!(conv(text).unwrap_err().to_string(), message);
        }
        assert_eq!(gemm("M=1,N=2,K=3,m=4").unwrap_err().to_string(), "'m' is given twice");
        let error = conv("M=5").unwrap_err().to_string();
        assert!(
            error.starts_with("grouped_conv problems have no field 'M', expected one of: N, C, K"),
            "{error}"
        );
        let error = conv(&format!("{RESNET},dtype=half")).unwrap_err().to_string();
        assert!(error.starts_with("dtype: found 'half', expected one of fp16, bf16"), "{error}");
    }

    #[test]
    fn texts_read_back() {
        let three_d = "ndim=3,C=8,K=16,G=4,Di=5,Hi=6,Wi=7,Z=2,Y=3,X=1,pad_h_left=2,stride_w=3,dtype_out=fp32,\
                       arch=gfx950";
        for problem in [conv(RESNET).unwrap(), conv(three_d).unwrap()] {
            assert_eq!(conv(&problem.to_string()), Ok(problem), "{problem}");
        }
        let problem = gemm("M=1,N=2,K=3,split_k=4,layout=ccr,dtype=int8").unwrap();
        assert_eq!(
            problem.to_string(),
            "M=1,N=2,K=3,split_k=4,dtype_a=int8,dtype_b=int8,dtype_c=int32,layout=ccr"
        );
        assert_eq!(gemm(&problem.to_string()), Ok(problem));
    }

    #[test]
    fn variants_read_back_and_their_mistakes_are_named() {
        for text in [
            "M=1,N=2,K=3,split_k=1,dtype_a=fp8,dtype_b=fp8,dtype_c=fp16,layout=rcr,batch=4,stream_k=tree,\
             num_d=2",
            "M=1,N=2,K=3,split_k=1,dtype_a=fp8,dtype_b=fp8,dtype_c=fp16,layout=rcr,preshuffle=true,\
             quant=abquant,group_a=1x1x128,group_b=1x128x128",
            "M=9,N=2,K=3,split_k=1,dtype_a=fp8,dtype_b=fp8,dtype_c=fp16,layout=rcr,groups=1x2x3*5+9x2x3,\
             arch=gfx950",
        ] {
            assert_eq!(gemm(text).unwrap().to_string(), text);
        }
        assert_eq!(gemm("groups=9x2x3+1x2x3*5").unwrap().flops(), 2.0 * (54.0 + 30.0));
        assert_eq!(gemm("M=1,N=2,K=3,batch_count=4").unwrap().flops(), 48.0);
        assert!(gemm("M=1,N=2,K=3,quant=tensorquant").is_ok());
        for (text, message) in [
            ("M=1,N=2,K=3,batch=-1", "batch: found -1, expected 0 to 2147483647"),
            ("M=1,N=2,K=3,batch=1,batch_count=2", "batch_count: found '2', expected '1' as in batch"),
            ("M=1,N=2,K=3,stream_k=none", "stream_k: found none, expected atomic, linear or tree"),
            ("M=1,N=2,K=3,num_d=256", "num_d: found 256, expected 0 to 255"),
            ("M=1,N=2,K=3,preshuffle=yes", "preshuffle: found 'yes', expected 0, 1, true or false"),
            ("M=1,groups=9x2x3", "M: found 1, expected 9 as in the largest of the groups"),
            ("batch=1,groups=9x2x3", "batch: found 1, expected 0 beside a list of groups"),
            (
                "M=1,N=2,K=3,group_a=1x1x128",
                "group_a: found '1x1x128', expected nothing, or a 'quant' that has such groups",
            ),
            (
                "M=1,N=2,K=3,quant=aquant,group_a=128",
                "group_a: found '128', expected three numbers joined by 'x', such as 1x1x128",
            ),
        ] {
            assert_eq!(gemm(text).unwrap_err().to_string(), message);
        }
    }
}
