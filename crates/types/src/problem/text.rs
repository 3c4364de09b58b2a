//! Problems from text: `N=16,C=256,…` on a command line, or the named cells of a CSV row.

use std::fmt;
use std::sync::LazyLock;

use super::Problem;
use crate::cells::{Cell, Fields, NamedCells};
use crate::defaults::ProblemDefaults;
use crate::each_operation;
use crate::field::{Field, InvalidField};
use crate::nearest::OneOf;
use crate::operation::{Operation, OperationProblem as _};
use crate::vocab::Op;

/// A text that is not a problem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProblemError {
    /// A part that is not `key=value`.
    #[error("'{0}' is not of the form key=value")]
    NotAPair(String),
    /// A key that no problem of the operation has.
    #[error("{op} problems have no field '{key}'{}", OneOf::new(key, accepted))]
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

/// All names that the fields of an operation's problems may have in text and tables.
pub(crate) fn keys(op: Op) -> &'static [&'static str] {
    static KEYS: LazyLock<Vec<Vec<&'static str>>> = LazyLock::new(|| {
        let of = |&op: &Op| {
            let names = Problem::fields(op).iter().flat_map(Field::names);
            names.chain(Operation::get(op).extra_keys.iter().copied()).chain(["arch"]).collect()
        };
        Op::ALL.iter().map(of).collect()
    });
    &KEYS[op as usize]
}

/// All keys that text may have.
pub(crate) fn text_keys(op: Op) -> &'static [&'static str] {
    static KEYS: LazyLock<Vec<Vec<&'static str>>> = LazyLock::new(|| {
        let shared = |op| Operation::get(op).shared_keys.iter().map(|(key, _)| *key);
        Op::ALL.iter().map(|&op| keys(op).iter().copied().chain(shared(op)).collect()).collect()
    });
    &KEYS[op as usize]
}

/// Whether a character separates pairs.
pub(crate) fn separates(c: char) -> bool {
    c == ',' || c.is_whitespace()
}

impl Problem {
    /// Reads `key=value` pairs, separated by commas or blanks, and validates the problem.
    ///
    /// A convolution needs `C`, `K`, `Wi`, `X`, and `Hi`, `Y` unless `ndim=1`; a GEMM needs `M`, `N`, `K`, or
    /// a list of GEMMs as `groups=128x512x1024*3+64x512x1024`; attention needs `seqlen_q`, `nhead_q`,
    /// `hdim_q`. Everything else has a neutral default. `stride`, `dilation` and `pad` are those of all axes.
    ///
    /// ```
    /// use ck_select_types::problem::{Problem, ProblemDefaults};
    /// use ck_select_types::vocab::Op;
    ///
    /// let defaults = ProblemDefaults::new(Op::Conv);
    /// let problem = Problem::parse(Op::Conv, "N=16,C=256,K=128,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1", &defaults)?;
    /// assert_eq!(problem.flops(), 7_398_752_256.0);
    /// # Ok::<(), ck_select_types::problem::ProblemError>(())
    /// ```
    pub fn parse(op: Op, text: &str, defaults: &ProblemDefaults) -> Result<Self, ProblemError> {
        let accepted = text_keys(op);
        let mut pairs = NamedCells::default();
        for part in text.split(separates).filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').ok_or_else(|| ProblemError::NotAPair(part.to_owned()))?;
            // Lists of several operations have it, and a line may be copied from one.
            if key == "op" {
                if value.parse() == Ok(op) {
                    continue;
                }
                return Err(InvalidField::new("op", format_args!("'{value}'"), op.to_string()).into());
            }
            if !accepted.contains(&key) {
                return Err(ProblemError::UnknownKey { op, key: key.to_owned(), accepted });
            }
            // The extents of a GEMM are accepted in either case; no two fields of a problem differ only in
            // case.
            if pairs.iter().any(|(known, _)| known.eq_ignore_ascii_case(key)) {
                return Err(ProblemError::Twice(key.to_owned()));
            }
            // A cell may be empty, but whoever writes a key has a value in mind.
            if value.is_empty() {
                return Err(ProblemError::NoValue(key.to_owned()));
            }
            pairs.push(key, Cell::Word(value));
        }
        Ok(Self::from_fields(op, &pairs, defaults)?)
    }

    /// The operation of pairs that need not include `op=…`: `M` is a GEMM's, queries are attention's.
    /// The reader of [`Operation::UNSTATED`] reports what anything else lacks.
    pub fn op_of(text: &str) -> Op {
        let mut keys = text.split(separates).filter_map(|part| part.split_once('=')).map(|(key, _)| key);
        let tells = |key| Op::ALL.iter().find(|op| Operation::get(**op).identifying_keys.contains(&key));
        keys.find_map(tells).copied().unwrap_or(Operation::UNSTATED)
    }

    /// Reads a problem from named cells, such as a row of a benchmark CSV, and validates it: of attention
    /// without a signature, only the sizes. Other cells are ignored.
    pub fn from_fields(
        op: Op,
        fields: &dyn Fields,
        defaults: &ProblemDefaults,
    ) -> Result<Self, InvalidField> {
        each_operation!(op, Own => Own::read_cells(fields, defaults).map(Self::from))
    }
}

/// All fields in a fixed order: equal problems have equal texts, different ones have different texts, and
/// [`Problem::parse`] reads a text back to an equal problem. The direction and types are always included.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        each_operation!(self, Self(problem) => problem.fmt(f))?;
        self.arch().map_or(Ok(()), |arch| write!(f, ",arch={arch}"))
    }
}

/// The cells of a line that is a problem, `key=value` pairs.
pub(crate) fn cells_of_line(line: &str) -> NamedCells<'_> {
    let pairs = line.split(separates).filter_map(|part| part.split_once('='));
    pairs.map(|(key, value)| (key, Cell::Word(value))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::field::Kind;
    use crate::gemm::GemmRequest;
    use crate::problem::{ConvProblem, FmhaProblem, GemmProblem, MAX_EXTENT, MoeProblem};
    use crate::routing::Routing;
    use crate::shape::Mnk;
    use crate::vocab::{Direction, Dtype};
    use crate::{conv, fmha, gemm, moe};

    fn conv(text: &str) -> Result<Problem, ProblemError> {
        Problem::parse(Op::Conv, text, &ProblemDefaults::new(Op::Conv))
    }

    fn gemm(text: &str) -> Result<Problem, ProblemError> {
        Problem::parse(Op::Gemm, text, &ProblemDefaults::new(Op::Gemm))
    }

    /// One at a time, it took six attempts to write a convolution (7c11414f).
    #[test]
    fn absent_fields_are_named_at_once() {
        for (op, text, absent) in [
            (Op::Conv, "N=1", "C, K, Hi, Wi, Y, X"),
            (Op::Conv, "ndim=1,C=8,X=3", "K, Wi"),
            (Op::Gemm, "K=8", "M, N"),
            (Op::Fmha, "batch=2,hdim_q=128", "seqlen_q, nhead_q"),
        ] {
            let error = Problem::parse(op, text, &ProblemDefaults::new(op)).unwrap_err().to_string();
            assert_eq!(error, format!("{absent}: found nothing, expected a value for each"));
        }
    }

    const RESNET: &str = "N=16,C=256,K=128,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1";

    #[test]
    fn pairs_become_problems() {
        let expected =
            ConvProblem { n: 16, c: 256, k: 128, ..ConvProblem::new_2d([28, 28], [3, 3]) }.padded([1, 1]);
        assert_eq!(conv(RESNET), Ok(expected.into()));
        assert_eq!(conv(&RESNET.replace(',', " ")), Ok(expected.into()));
        assert_eq!(
            gemm("m=1,N=2,K=3,dtype=fp16"),
            Ok(GemmProblem::new(1, 2, 3).with_dtype(Dtype::Fp16).into())
        );
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

    /// A page shows `pad=1`, which could not be typed.
    #[test]
    fn one_key_stands_for_all_axes() {
        let sizes = "C=8,K=8,Hi=9,Wi=9,Y=3,X=3";
        let long = "stride_h=2,stride_w=2,pad_h=1,pad_w=1,dilation_h=2,dilation_w=2";
        assert_eq!(conv(&format!("{sizes},stride=2,pad=1,dilation=2")), conv(&format!("{sizes},{long}")),);
        let deep = conv(&format!("{sizes},Di=5,Z=3,pad=1,stride=2"));
        let Ok(Problem::Conv(problem)) = deep else { panic!("{deep:?}") };
        assert_eq!((problem.pad_left, problem.pad_right, problem.stride), ([1; 3], [1; 3], [2; 3]));
        let Ok(Problem::Conv(problem)) = conv("ndim=1,C=8,K=8,Wi=100,X=5,pad=2") else { panic!() };
        assert_eq!((problem.pad_left, problem.pad_right), ([0, 0, 2], [0, 0, 2]));
        assert_eq!(conv(&format!("{sizes},pad=1,pad_h=1,pad_w_right=1")), conv(&format!("{sizes},pad=1")));
        for (more, message) in [
            ("pad=1,pad_h=2", "pad: found 1, expected 2 as in pad_h_left"),
            ("pad_w_right=0,pad=1", "pad: found 1, expected 0 as in pad_w_right"),
            ("stride=0", "stride_h: found 0, expected 1 to 2147483647"),
            ("stride=two", "stride: found 'two', expected a whole number"),
        ] {
            assert_eq!(conv(&format!("{sizes},{more}")).unwrap_err().to_string(), message);
        }
        assert!(gemm("M=1,N=2,K=3,pad=1").is_err());
    }

    #[test]
    fn every_mistake_is_named() {
        for (text, message) in [
            ("N=16,C", "'C' is not of the form key=value"),
            ("N=1,N=2", "'N' is given twice"),
            ("N=,C=8", "N: found nothing after '=', expected a value"),
            (
                "C=8,K=8,Hi=8,Wi=8,Y=1,X=1,dtype=fp16,dtype_in=bf16",
                "dtype: found 'fp16', expected 'bf16' as in dtype_in",
            ),
            (
                "C=8,K=8,Hi=8,Wi=8,Y=1,X=1,pad_h=1,pad_h_left=2",
                "pad_h: found '1', expected '2' as in pad_h_left",
            ),
            ("C=8,K=8,Hi=8,Wi=8,Y=1", "X: found nothing, expected a whole number"),
            ("C=8,K=8,Hi=8,Wi=8,Y=1,X=one", "X: found 'one', expected a whole number"),
            ("op=gemm_universal,C=8", "op: found 'gemm_universal', expected grouped_conv"),
            ("C=8,K=8,Hi=8,Wi=8,Y=1,X=1,stride_d=2", "stride_d: found 2, expected 1 in a 2D problem"),
            (
                "C=8,K=8,Hi=8,Wi=8,Y=1,X=1,split_k=9999999999",
                "split_k: found 9999999999, expected auto, or 1 to 2147483647",
            ),
        ] {
            assert_eq!(conv(text).unwrap_err().to_string(), message);
        }
        assert_eq!(gemm("M=1,N=2,K=3,m=4").unwrap_err().to_string(), "'m' is given twice");
        let error = conv("M=5").unwrap_err().to_string();
        assert!(
            error.starts_with("grouped_conv problems have no field 'M', expected one of: direction, "),
            "{error}"
        );
        let error = conv("n=5").unwrap_err().to_string();
        assert!(
            error.starts_with(
                "grouped_conv problems have no field 'n'; did you mean 'N'? (one of: direction, variant, "
            ),
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
            "M=1,N=2,K=3,split_k=1,dtype_a=fp8,dtype_b=fp8,dtype_c=fp16,layout=rcr,preshuffle=1,\
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
            ("M=1,N=2,K=-4", "K: found -4, expected 1 to 2147483647"),
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
        // A problem that was not read from text was taken for one without scales.
        let request = GemmRequest { group_b: Some(Mnk::new(1, 1, 128)), ..GemmRequest::NONE };
        let error = GemmProblem { request, ..GemmProblem::new(1, 2, 3) }.validate().unwrap_err();
        assert_eq!(
            error.to_string(),
            "group_b: found '1x1x128', expected nothing, or a 'quant' that has such groups"
        );
    }

    /// Any valid problem of an operation: random fields, and what contradicts others made neutral.
    fn problems(op: Op) -> impl Strategy<Value = Problem> {
        let value = |field: &Field| match field.kind {
            Kind::Number => prop_oneof![Just(field.least.max(1)), 1..200_i64, Just(MAX_EXTENT)].boxed(),
            Kind::Flag => (0..2_i64).boxed(),
            Kind::Word(_) => (0..field.words().unwrap().len() as i64).boxed(),
            Kind::Shape => Just(crate::shape::Mnk::new(1, 2, 128).bits()).boxed(),
        };
        let fields = Problem::fields(op);
        let pairs = fields.iter().map(value).collect::<Vec<_>>();
        pairs.prop_filter_map("not valid", move |values| {
            let given = fields
                .iter()
                .zip(&values)
                .filter(|(field, _)| !["family", "quant", "group_a", "group_b"].contains(&field.name));
            let text: Vec<(&str, String)> =
                given.map(|(field, value)| (field.name, field.text(*value))).collect();
            let pairs: NamedCells<'_> = text.iter().map(|(name, value)| (*name, Cell::Word(value))).collect();
            let defaults = ProblemDefaults::new(op);
            let problem = match op {
                Op::Conv => {
                    settled(conv::from_given(ConvProblem::given(&pairs).ok()?, &defaults).ok()?).into()
                }
                Op::Gemm => gemm::from_given(GemmProblem::given(&pairs).ok()?, &defaults).ok()?.into(),
                Op::Fmha => {
                    let problem =
                        fmha::from_given(FmhaProblem::given(&pairs).ok()?, &defaults).ok()?.settled();
                    // Few random numbers of heads divide another.
                    let shared = problem.nhead_q % problem.nhead_k == 0;
                    Problem::from(FmhaProblem {
                        nhead_k: if shared { problem.nhead_k } else { 1 },
                        ..problem
                    })
                }
                Op::Moe => routed(moe::from_given(&MoeProblem::given(&pairs).ok()?, &defaults).ok()?).into(),
            };
            problem.validate().is_ok().then_some(problem)
        })
    }

    /// A problem with whole groups, neutral axes where the problem has none, and a filter that fits.
    fn settled(mut problem: ConvProblem) -> ConvProblem {
        problem.ndim = problem.ndim.clamp(1, 3);
        problem.g = problem.g.min(7);
        (problem.c, problem.k) = (problem.c.min(999) * problem.g, problem.k.min(999) * problem.g);
        for axis in 0..3 {
            problem.dilation[axis] = problem.dilation[axis].min(2);
            problem.filter[axis] = problem.filter[axis].min(problem.input[axis] / 2 + 1);
            if axis < 3 - usize::from(problem.ndim) {
                let one =
                    [&mut problem.input, &mut problem.filter, &mut problem.stride, &mut problem.dilation];
                for extents in one {
                    extents[axis] = 1;
                }
                (problem.pad_left[axis], problem.pad_right[axis]) = (0, 0);
            }
        }
        problem
    }

    /// A mixture of few experts without blocks of scales, whose routing is possible or not known.
    fn routed(problem: MoeProblem) -> MoeProblem {
        let (tokens, experts) = (problem.tokens.min(1 << 20), problem.experts.min(99));
        let (topk, n, skew) = (problem.topk.min(experts), problem.n & !1 | 2, problem.active % 3);
        let routing = Routing::skewed(tokens, experts, topk, skew as f64);
        let problem = MoeProblem { tokens, experts, topk, n, block_n: 0, block_k: 0, ..problem };
        let unknown = MoeProblem { active: 0, largest: 0, tiles: [0; 5], ..problem };
        if problem.has_routing() { problem.routed(routing) } else { unknown }
    }

    proptest! {
        /// Texts with fields in the order in which they are printed, as logs and stores hold them, and in any other.
        #[test]
        fn texts_read_back_and_words_tell_problems_apart(
            pair in (0..Op::ALL.len()).prop_flat_map(|op| (problems(Op::ALL[op]), problems(Op::ALL[op]))),
        ) {
            let (problem, other) = pair;
            let (op, text) = (problem.op(), problem.to_string());
            let parse = |text: &str| Problem::parse(op, text, &ProblemDefaults::new(op));
            prop_assert_eq!(parse(&text), Ok(problem));
            let (first, others) = text.split_once(',').unwrap();
            prop_assert_eq!(parse(&format!("{others},{first}")), Ok(problem));
            let same = problem.words() == other.words();
            prop_assert_eq!(same, problem == other || problem.words().is_none());
        }
    }
}
