//! A GEMM as a plain value.

use std::fmt;

use super::{GemmRequest, Groups, Quant};
use crate::defaults::ProblemDefaults;
use crate::field::{self, InvalidField, fields};
use crate::given::Given;
use crate::valid::element;
use crate::vocab::{Arch, Dtype, GemmLayout, StreamKReduction};

fields! {
    /// A GEMM: C (M x N) = A (M x K) times B (K x N).
    ///
    /// ```
    /// use ck_select_types::problem::GemmProblem;
    ///
    /// let problem = GemmProblem::new(128, 1536, 7168);
    /// problem.validate()?;
    /// assert_eq!(problem.layout.to_string(), "rcr");
    /// # Ok::<(), ck_select_types::problem::InvalidField>(())
    /// ```
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    GemmProblem by gemm_problem {
        m: i64 = 1, min: 1, names: ["M" | "m"], "Rows of A and C.";
        n: i64 = 1, min: 1, names: ["N" | "n"], "Columns of B and C.";
        k: i64 = 1, min: 1, names: ["K" | "k"], "Columns of A, rows of B.";
        split_k: i32 = 1, min: 0, names: ["split_k" (0 is "auto")],
            "Parts into which K is split, 1 for none, 0 to choose them with the kernel (`k_batch` of the CK \
             dispatcher).";
        dtype_a: Dtype = Dtype::Fp8, min: 0, names: ["dtype_a" | "dtype" | "q_dtype_w"], "Element type of A.";
        dtype_b: Dtype = Dtype::Fp8, min: 0, names: ["dtype_b"], "Element type of B.";
        dtype_c: Dtype = Dtype::Fp16, min: 0, names: ["dtype_c"], "Element type of C.";
        layout: GemmLayout = GemmLayout::RCR, min: 0, names: ["layout"], "Memory orders of the operands.";
    }
    nested {
        request: GemmRequest, "What it asks for besides one plain GEMM.";
    }
    beside { arch: Option<Arch> = None, "The architecture that will run it, when known."; }
}

impl GemmProblem {
    /// An fp8 `rcr` GEMM, upstream's defaults; set the other fields by struct update.
    pub const fn new(m: i64, n: i64, k: i64) -> Self {
        Self { m, n, k, ..Self::USUAL }
    }

    /// The problem for a list of GEMMs in one launch.
    pub fn grouped(mut self, groups: Groups) -> Self {
        if let Some(largest) = groups.largest() {
            [self.m, self.n, self.k] = largest.extents.map(i64::from);
        }
        self.request.groups = groups;
        self
    }

    /// The problem's GEMMs: extents, and how many of each.
    pub fn gemms(&self) -> impl Iterator<Item = ([i64; 3], f64)> + '_ {
        let listed = self.request.groups.as_slice();
        let one = listed.is_empty().then(|| ([self.m, self.n, self.k], f64::from(self.request.batch.max(1))));
        let each = listed.iter().map(|group| (group.extents.map(i64::from), f64::from(group.count)));
        one.into_iter().chain(each)
    }

    /// The problem with A and B of one type, and C of the resulting type.
    pub const fn with_dtype(mut self, dtype: Dtype) -> Self {
        self.dtype_a = dtype;
        self.dtype_b = dtype;
        self.dtype_c = dtype.result();
        self
    }

    /// Checks every field.
    pub fn validate(&self) -> Result<(), InvalidField> {
        field::validate_numbers(self)?;
        element("dtype_a", self.dtype_a)?;
        element("dtype_b", self.dtype_b)?;
        element("dtype_c", self.dtype_c)?;
        if self.request.is_none() { Ok(()) } else { self.validate_request() }
    }

    fn validate_request(&self) -> Result<(), InvalidField> {
        let GemmRequest { batch, groups, stream_k, .. } = self.request;
        if let Some(largest) = groups.largest() {
            if batch > 0 {
                return Err(InvalidField::new("batch", batch, "0 beside a list of groups"));
            }
            let extents = largest.extents.map(i64::from);
            for (field, found, expected) in
                [("M", self.m, extents[0]), ("N", self.n, extents[1]), ("K", self.k, extents[2])]
            {
                if found != expected {
                    let expected = format!("{expected} as in the largest of the groups");
                    return Err(InvalidField::new(field, found, expected));
                }
            }
        }
        if stream_k == Some(StreamKReduction::None) {
            return Err(InvalidField::new("stream_k", "none", "atomic, linear or tree"));
        }
        self.request.validate_groups()
    }

    /// Multiplications and additions of the whole problem, as f64.
    pub fn flops(&self) -> f64 {
        if self.request.batch == 0 && self.request.groups.is_empty() {
            return 2.0 * self.m as f64 * self.n as f64 * self.k as f64;
        }
        self.gemms().map(|([m, n, k], count)| 2.0 * m as f64 * n as f64 * k as f64 * count).sum()
    }
}

/// The problem of which these fields are given. `M`, `N`, `K` are required, or a list of GEMMs as `groups`.
pub(crate) fn from_given(
    mut given: Given<GemmProblem>,
    defaults: &ProblemDefaults,
) -> Result<GemmProblem, InvalidField> {
    let groups = given.groups().unwrap_or(Groups::NONE);
    if let Some(largest) = groups.largest() {
        for (name, extent) in ["M", "N", "K"].into_iter().zip(largest.extents) {
            given.or(name, extent.into());
        }
    }
    given.need(&["M", "N", "K"])?;
    let dtype = given.value("dtype_a").unwrap_or(defaults.dtype);
    let mut usual = GemmProblem {
        layout: defaults.gemm_layout,
        arch: given.arch().or(defaults.arch),
        request: defaults.gemm_request,
        ..GemmProblem::USUAL.with_dtype(dtype)
    };
    usual.dtype_c = defaults.dtype_c.unwrap_or(usual.dtype_c);
    usual.request.groups = groups;
    if let Some(mode) = given.value("quant") {
        usual.request = usual.request.scaled(Quant::usual(mode));
        usual.dtype_c = dtype.scaled_result();
    }
    Ok(given.complete(&usual))
}

/// The text of a problem, without the fields that a plain GEMM lacks, so that a plain GEMM's text stays unchanged.
impl fmt::Display for GemmProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        field::write_pairs(self, f)?;
        if self.request.groups.is_empty() { Ok(()) } else { write!(f, ",groups={}", self.request.groups) }
    }
}
