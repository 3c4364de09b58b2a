//! Attention as a plain value, with every field of upstream's problem.

use std::fmt;

use super::{DTYPES, dtype_words};
use crate::cells::Fields;
use crate::defaults::ProblemDefaults;
use crate::field::{self, Field, InvalidField, Kind, Record, fields, values};
use crate::given::{FieldName, Given};
use crate::vocab::{
    Arch, Dtype, FmhaApi, FmhaBias, FmhaFamily, FmhaKvLayout, FmhaKvLookup, FmhaMask, FmhaMode, FmhaQscale,
    FmhaRope,
};

fields! {
    /// Attention: `softmax(Q·Kᵀ)·V` for each sequence and head, with all options.
    ///
    /// ```
    /// use ck_select_types::problem::FmhaProblem;
    ///
    /// let prefill = FmhaProblem { batch: 2, nhead_k: 8, ..FmhaProblem::new([2048, 2048], 32, 128) };
    /// prefill.validate()?;
    /// assert_eq!(prefill.flops(), 2.0 * 2.0 * 32.0 * 2048.0 * 2048.0 * 256.0);
    /// # Ok::<(), ck_select_types::problem::InvalidField>(())
    /// ```
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    FmhaProblem by fmha_problem {
        api_family: FmhaApi = FmhaApi::Fwd, min: 0, names: ["api_family"], "The requested operation.";
        family: FmhaFamily = FmhaFamily::Fwd, min: 0, names: ["family" | "requested_family"],
            "The stage for which a kernel is chosen.";
        dtype: Dtype = Dtype::Fp16, min: 0, names: ["dtype" | "data_type"],
            "Element types of operands and, for the mixed words, of the result.";
        batch: i64 = 1, min: 1, names: ["batch"], "Sequences.";
        seqlen_q: i64 = 0, min: 0, names: ["seqlen_q"], "Queries per sequence.";
        seqlen_k: i64 = 0, min: 0, names: ["seqlen_k"], "Keys per sequence.";
        nhead_q: i64 = 1, min: 1, names: ["nhead_q"], "Query heads.";
        nhead_k: i64 = 1, min: 1, names: ["nhead_k"],
            "Key and value heads; fewer than query heads if these share them.";
        hdim_q: i64 = 0, min: 1, names: ["hdim_q"], "Head size of queries and keys, in elements.";
        hdim_v: i64 = 0, min: 1, names: ["hdim_v"], "Head size of values, in elements.";
        mode: FmhaMode = FmhaMode::Batch, min: 0, names: ["mode" | "group_mode" | "is_group_mode"] omit,
            "Whether all sequences have the same length, or each its own.";
        mask: FmhaMask = FmhaMask::No, min: 0, names: ["mask" | "mask_type"] omit,
            "Which keys a query does not attend to.";
        bias: FmhaBias = FmhaBias::No, min: 0, names: ["bias" | "bias_type"] omit,
            "What is added to the scores.";
        qscale: FmhaQscale = FmhaQscale::No, min: 0, names: ["qscale" | "qscale_type"] omit,
            "How 8-bit operands are scaled.";
        rope: FmhaRope = FmhaRope::None, min: 0, names: ["rope" | "rope_type"] omit,
            "How appended keys are rotated.";
        kv_layout: FmhaKvLayout = FmhaKvLayout::Vectorized, min: 0,
            names: ["kv_layout" | "kv_memory_layout"] omit,
            "Memory order of a paged cache.";
        kv_lookup: FmhaKvLookup = FmhaKvLookup::Vllm, min: 0, names: ["kv_lookup" | "kv_lookup_table"] omit,
            "How pages are found.";
        max_seqlen_q: i64 = 0, min: 0, names: ["max_seqlen_q"] omit,
            "Queries of the longest sequence; 0: `seqlen_q`.";
        max_seqlen_k: i64 = 0, min: 0, names: ["max_seqlen_k"] omit,
            "Keys of the longest sequence; 0: `seqlen_k`.";
        page_size: i64 = 1, min: 1, names: ["page_size"] omit, "Keys per page.";
        num_splits: i64 = 1, min: 1, names: ["num_splits"] omit,
            "Parts into which the keys of a sequence are split.";
        window_left: i64 = 0, min: -1, names: ["window_left" | "window_size_left"] omit,
            "Keys that a query attends to before its own position; -1 for all. With a mask from a corner, 0 \
             also means all.";
        window_right: i64 = 0, min: -1, names: ["window_right" | "window_size_right"] omit,
            "Keys that a query attends to after its own position; -1 for all.";
        sink_size: i64 = 0, min: 0, names: ["sink_size"] omit,
            "Number of first keys that every query attends to.";
        min_seqlen_q: i64 = 0, min: 0, names: ["min_seqlen_q"] omit,
            "Sequences with fewer queries are skipped.";
        rotary_dim: i64 = 0, min: 0, names: ["rotary_dim"] omit, "Number of elements that are rotated.";
        v_rowmajor: bool = true, min: 0, names: ["v_rowmajor" | "is_v_rowmajor"] omit,
            "Values are row-major.";
        logits: bool = false, min: 0, names: ["logits" | "logits_soft_cap" | "has_logits_soft_cap"] omit,
            "Scores have a soft cap.";
        lse: bool = false, min: 0, names: ["lse" | "has_lse"] omit, "The log-sum-exp is stored.";
        dropout: bool = false, min: 0, names: ["dropout" | "has_dropout"] omit, "Dropout is applied.";
        paged_kv: bool = false, min: 0, names: ["paged_kv" | "use_paged_kv"] omit,
            "Keys and values are paged.";
        fp8_static_quant: bool = false, min: 0, names: ["fp8_static_quant" | "do_fp8_static_quant"] omit,
            "Scales of 8-bit operands are static.";
        skip: bool = false, min: 0, names: ["skip" | "skip_min_seqlen_q"] omit,
            "Short sequences are skipped.";
        sink: bool = false, min: 0, names: ["sink" | "has_sink"] omit,
            "Every query attends to the first keys.";
        dbias: bool = false, min: 0, names: ["dbias" | "has_dbias"] omit,
            "The gradient of the bias is computed.";
        store_randval: bool = false, min: 0, names: ["store_randval" | "is_store_randval"] omit,
            "The random numbers of dropout are stored.";
        deterministic: bool = false, min: 0, names: ["deterministic" | "is_deterministic"] omit,
            "The order of summation is fixed.";
        has_seqstart_q_ptr: bool = false, min: 0, names: ["has_seqstart_q_ptr"] omit,
            "The call passes where the queries of each sequence start.";
        has_seqstart_k_ptr: bool = false, min: 0, names: ["has_seqstart_k_ptr"] omit,
            "The call passes where the keys of each sequence start.";
        has_seqlen_q_ptr: bool = false, min: 0, names: ["has_seqlen_q_ptr"] omit,
            "The call passes the number of queries of each sequence.";
        has_seqlen_k_ptr: bool = false, min: 0, names: ["has_seqlen_k_ptr"] omit,
            "The call passes the number of keys of each sequence.";
        has_cu_seqlen_q_ptr: bool = false, min: 0, names: ["has_cu_seqlen_q_ptr"] omit,
            "The call passes cumulative numbers of queries.";
        has_cu_seqlen_k_ptr: bool = false, min: 0, names: ["has_cu_seqlen_k_ptr"] omit,
            "The call passes cumulative numbers of keys.";
        has_block_table_ptr: bool = false, min: 0, names: ["has_block_table_ptr"] omit,
            "The call passes the pages of each sequence.";
        has_cache_batch_idx: bool = false, min: 0, names: ["has_cache_batch_idx"] omit,
            "The call passes the cache index of each sequence.";
        is_gappy: bool = false, min: 0, names: ["is_gappy"] omit,
            "There are gaps between the keys of neighbouring sequences.";
        has_rotary_cos_sin: bool = false, min: 0, names: ["has_rotary_cos_sin"] omit,
            "The call passes sines and cosines.";
    }
    nested {}
    beside { arch: Option<Arch> = None, "The architecture that will run it, when known."; }
}

/// The sizes of attention: upstream's seven, then those that its tables lack.
pub const FMHA_COLUMNS: [&str; 13] = [
    "batch", "seqlen_q", "seqlen_k", "nhead_q", "nhead_k", "hdim_q", "hdim_v", "max_seqlen_q",
    "max_seqlen_k", "page_size", "num_splits", "window_left", "window_right",
];

/// Further columns of a call of an attention kernel, for tables in which problems would otherwise be equal.
pub const FMHA_MORE_COLUMNS: [&str; 13] = [
    "sink_size", "min_seqlen_q", "rotary_dim", "has_seqstart_q_ptr", "has_seqstart_k_ptr",
    "has_seqlen_q_ptr", "has_seqlen_k_ptr", "has_cu_seqlen_q_ptr", "has_cu_seqlen_k_ptr",
    "has_block_table_ptr", "has_cache_batch_idx", "is_gappy", "has_rotary_cos_sin",
];

/// Each of [`FMHA_MORE_COLUMNS`] by itself.
pub(super) const MORE_COLUMNS: [&[&str]; 13] = {
    let (mut alone, mut at) = ([[].as_slice(); 13], 0);
    while at < 13 {
        alone[at] = std::slice::from_ref(&FMHA_MORE_COLUMNS[at]);
        at += 1;
    }
    alone
};

impl FmhaProblem {
    /// Forward fp16 attention of one sequence of lengths `[queries, keys]`, with as many heads of keys as of
    /// queries; set the other fields by struct update.
    pub const fn new([seqlen_q, seqlen_k]: [i64; 2], heads: i64, hdim: i64) -> Self {
        Self { seqlen_q, seqlen_k, nhead_q: heads, nhead_k: heads, hdim_q: hdim, hdim_v: hdim, ..Self::USUAL }
    }

    /// The problem for the kernels of another stage.
    pub const fn stage(self, family: FmhaFamily) -> Self {
        Self { family, ..self }
    }

    /// Queries of the longest sequence.
    pub const fn longest_q(&self) -> i64 {
        if self.max_seqlen_q > 0 { self.max_seqlen_q } else { self.seqlen_q }
    }

    /// Keys of the longest sequence.
    pub const fn longest_k(&self) -> i64 {
        if self.max_seqlen_k > 0 { self.max_seqlen_k } else { self.seqlen_k }
    }

    /// Whether sequences have different numbers of keys, as far as the call shows.
    pub const fn has_variable_keys(&self) -> bool {
        self.has_seqstart_k_ptr || self.has_seqlen_k_ptr || self.has_cu_seqlen_k_ptr || self.is_gappy
    }

    /// The problem with neutral values for sizes that contradict this stage and signature.
    const fn consistent(mut self) -> Self {
        let batch = matches!(self.mode, FmhaMode::Batch);
        if !self.has_variable_queries() && self.max_seqlen_q > 0 && self.seqlen_q > 0 {
            self.max_seqlen_q = self.seqlen_q;
        }
        if batch && !self.has_variable_keys() && self.max_seqlen_k > 0 && self.seqlen_k > 0 {
            self.max_seqlen_k = self.seqlen_k;
        }
        if !self.has_pages() && self.page_size > 1 {
            self.page_size = 1;
        }
        if !matches!(self.api_family, FmhaApi::FwdSplitkv) && self.num_splits > 1 {
            self.num_splits = 1;
        }
        if matches!(self.mask, FmhaMask::No) {
            if self.window_left > 0 {
                self.window_left = -1;
            }
            if self.window_right > 0 {
                self.window_right = -1;
            }
        }
        if !self.sink && self.sink_size > 0 {
            self.sink_size = 0;
        }
        if !self.skip && self.min_seqlen_q > 0 {
            self.min_seqlen_q = 0;
        }
        if matches!(self.rope, FmhaRope::None) && self.rotary_dim > 0 {
            self.rotary_dim = 0;
        }
        self
    }

    /// The call, written in one way: a longest sequence that is `seqlen_q` is 0, as are windows of -1 without
    /// a mask. Whatever reads problems returns them so, because equal calls must be equal problems.
    /// Contradictions stay, for [`FmhaProblem::validate`].
    #[must_use]
    pub const fn canonical(mut self) -> Self {
        if !self.has_variable_queries() && self.max_seqlen_q == self.seqlen_q && self.seqlen_q > 0 {
            self.max_seqlen_q = 0;
        }
        let same_keys = matches!(self.mode, FmhaMode::Batch) && !self.has_variable_keys();
        if same_keys && self.max_seqlen_k == self.seqlen_k && self.seqlen_k > 0 {
            self.max_seqlen_k = 0;
        }
        if matches!(self.mask, FmhaMask::No) {
            if self.window_left == -1 {
                self.window_left = 0;
            }
            if self.window_right == -1 {
                self.window_right = 0;
            }
        }
        // Only these kernels are made for one or the other.
        if !matches!(self.api_family, FmhaApi::BatchPrefill) {
            (self.kv_layout, self.kv_lookup) = (Self::USUAL.kv_layout, Self::USUAL.kv_lookup);
        }
        self
    }

    /// Lets a generic mask without a given window hide nothing, as CK's tools do for -1, instead of leaving
    /// each query only its own key, which is what windows of 0 mean.
    pub(crate) const fn open_window(&mut self) {
        if matches!(self.mask, FmhaMask::Generic) {
            (self.window_left, self.window_right) = (-1, -1);
        }
    }

    /// The canonical problem without sizes that contradict its stage and signature: splits without split
    /// keys, a window without a mask, a page size without pages, a longest sequence where all have the same
    /// length.
    ///
    /// ```
    /// use ck_select_types::problem::FmhaProblem;
    ///
    /// let problem = FmhaProblem { num_splits: 8, ..FmhaProblem::new([1, 4096], 32, 128) };
    /// let error = problem.validate().unwrap_err().to_string();
    /// assert_eq!(error, "num_splits: found 8, expected 1 unless api_family is fwd_splitkv");
    /// assert_eq!(problem.settled().num_splits, 1);
    /// ```
    #[must_use]
    pub const fn settled(self) -> Self {
        self.consistent().canonical()
    }

    const fn has_variable_queries(&self) -> bool {
        let pointers = self.has_seqstart_q_ptr || self.has_seqlen_q_ptr || self.has_cu_seqlen_q_ptr;
        pointers || !matches!(self.mode, FmhaMode::Batch)
    }

    const fn has_pages(&self) -> bool {
        let always = matches!(self.api_family, FmhaApi::FwdPagedkv | FmhaApi::BatchPrefill);
        always || self.paged_kv || self.has_block_table_ptr
    }

    /// Checks every field. Stricter than upstream, which only requires a type, a batch, heads and head sizes:
    /// without queries or keys there is nothing to compute, key heads must be shared evenly, and a size that
    /// the call does not use (see [`FmhaProblem::settled`]) means that another problem was meant.
    pub fn validate(&self) -> Result<(), InvalidField> {
        self.validate_sizes()?;
        let consistent = self.consistent();
        if consistent == *self {
            return Ok(());
        }
        for ((field, value), used) in Self::FIELDS.iter().zip(values(self)).zip(values(&consistent)) {
            if value != used {
                let expected = match field.name {
                    "max_seqlen_q" => format!("{used} as seqlen_q, or mode=group"),
                    "max_seqlen_k" => format!("{used} as seqlen_k, or mode=group"),
                    "page_size" => "1 unless keys and values are paged (paged_kv)".to_owned(),
                    "num_splits" => "1 unless api_family is fwd_splitkv".to_owned(),
                    "window_left" | "window_right" => "-1 or 0 without a mask".to_owned(),
                    "sink_size" => "0 without sink".to_owned(),
                    "min_seqlen_q" => "0 without skip".to_owned(),
                    _ => "0 without rope".to_owned(),
                };
                return Err(InvalidField::new(field.name, value, expected));
            }
        }
        Ok(())
    }

    /// Checks the sizes while the signature, which will be a kernel's, is not known: what one kernel does not
    /// use, another may.
    pub(crate) fn validate_sizes(&self) -> Result<(), InvalidField> {
        field::validate_numbers(self)?;
        if self.longest_q() < 1 {
            return Err(InvalidField::new("seqlen_q", self.seqlen_q, "at least 1, or a max_seqlen_q"));
        }
        // Appending may only rotate, without new keys.
        if self.longest_k() < 1 && self.api_family != FmhaApi::FwdAppendkv {
            return Err(InvalidField::new("seqlen_k", self.seqlen_k, "at least 1, or a max_seqlen_k"));
        }
        if self.nhead_q % self.nhead_k != 0 {
            let expected = format!("a divisor of nhead_q, which is {}", self.nhead_q);
            return Err(InvalidField::new("nhead_k", self.nhead_k, expected));
        }
        if self.mode == FmhaMode::Group && self.max_seqlen_q < 1 {
            return Err(InvalidField::new("max_seqlen_q", self.max_seqlen_q, "at least 1 in group mode"));
        }
        if self.family.api() != self.api_family {
            let stages: Vec<&str> = self.api_family.stages().iter().map(|family| family.as_str()).collect();
            let expected = format!("a stage of {}: {}", self.api_family, stages.join(", "));
            return Err(InvalidField::new("family", format_args!("'{}'", self.family), expected));
        }
        if !DTYPES.contains(&self.dtype) {
            let expected = format!("one of {}", dtype_words());
            return Err(InvalidField::new("dtype", format_args!("'{}'", self.dtype), expected));
        }
        Ok(())
    }

    /// Multiplications and additions as upstream counts them: of the whole rectangle of queries and keys, masked or
    /// not, and of a forward pass even if the problem is another one.
    pub fn flops(&self) -> f64 {
        let [sq, sk] = [self.longest_q(), self.longest_k()].map(|length| length as f64);
        2.0 * self.batch as f64 * self.nhead_q as f64 * sq * sk * (self.hdim_q as f64 + self.hdim_v as f64)
    }
}

/// The problem of which these fields are given. `seqlen_q`, `nhead_q` and `hdim_q` are required; those of
/// keys and values default to the same numbers. The API and the stage follow from each other.
pub(crate) fn from_given(
    mut given: Given<FmhaProblem>,
    defaults: &ProblemDefaults,
) -> Result<FmhaProblem, InvalidField> {
    given.need(&["seqlen_q", "nhead_q", "hdim_q"])?;
    for (queries, keys) in [("seqlen_q", "seqlen_k"), ("nhead_q", "nhead_k"), ("hdim_q", "hdim_v")] {
        if let Some(number) = given.get(queries) {
            given.or(keys, number);
        }
    }
    let family: Option<FmhaFamily> = given.value("family");
    let api = given.value("api_family").or(family.map(FmhaFamily::api)).unwrap_or(FmhaApi::Fwd);
    let usual = FmhaProblem {
        api_family: api,
        family: api.main_stage(),
        dtype: defaults.dtype,
        arch: given.arch().or(defaults.arch),
        ..FmhaProblem::USUAL
    };
    let mut problem = given.complete(&usual);
    if given.get("window_left").is_none() && given.get("window_right").is_none() {
        problem.open_window();
    }
    Ok(problem)
}

fn has_pages_of_an_order(problem: &FmhaProblem) -> bool {
    problem.api_family == FmhaApi::BatchPrefill
}

fn corner(word: &str) -> &str {
    if word == "bottom_right" { "top_left" } else { word }
}

/// Fields that kernels are made for, and not only calls: words, and flags of the signature.
fn is_of_kernels(field: &Field) -> bool {
    !matches!(field.kind, Kind::Number) && !FMHA_MORE_COLUMNS.contains(&field.name)
}

/// Fields that kernels are made for, beside the type, which problems without a signature have, too.
fn is_of_signature(field: &Field) -> bool {
    is_of_kernels(field) && field.name != "dtype"
}

impl Given<FmhaProblem> {
    /// Reads the fields that kernels are made for, and not only calls.
    pub fn signature(cells: &dyn Fields) -> Result<Self, InvalidField> {
        let is_one = |one: &FieldName| {
            field::position(FmhaProblem::FIELDS, one.name)
                .is_some_and(|index| is_of_kernels(&FmhaProblem::FIELDS[index]))
        };
        Self::strict(cells, FieldName::all::<FmhaProblem>().filter(is_one))
    }

    /// The first of the fields that kernels are made for in which this differs from a signature
    /// ([`FmhaKernel::sign`](super::FmhaKernel::sign)); `None` if none does. Masks from either corner are
    /// equivalent, as for kernels, and only batch prefill has kernels of an order and a look-up of pages.
    pub fn differs_from_signature(&self, signed: &FmhaProblem) -> Option<&'static str> {
        let own = values(signed);
        let differs = |(field, found): (&'static Field, i64)| {
            let own = own[field::position(FmhaProblem::FIELDS, field.name)?];
            let counts = has_pages_of_an_order(signed) || !field.name.starts_with("kv_");
            let differs = corner(&field.text(found)) != corner(&field.text(own));
            (counts && differs).then_some(field.name)
        };
        self.fields().filter(|(field, _)| is_of_kernels(field)).find_map(differs)
    }

    /// Whether more than sizes and type are given, that is, fields that kernels are made for.
    pub fn has_signature(&self) -> bool {
        self.fields().any(|(field, _)| is_of_signature(field))
    }
}

/// Whether named cells contain more than sizes and type, that is, fields that kernels are made for.
pub(super) fn has_signature(has: impl Fn(&str) -> bool) -> bool {
    let fields = FmhaProblem::FIELDS.iter().filter(|field| is_of_signature(field));
    fields.flat_map(Field::names).any(has)
}

impl fmt::Display for FmhaProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        field::write_pairs(self, f)?;
        // Windows that are not given mean something else with this mask.
        if self.mask == FmhaMask::Generic && self.window_left == 0 && self.window_right == 0 {
            f.write_str(",window_left=0,window_right=0")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Problem;
    use crate::vocab::Op;

    fn parse(text: &str) -> Result<FmhaProblem, String> {
        match Problem::parse(Op::Fmha, text, &ProblemDefaults::new(Op::Fmha)) {
            Ok(Problem::Fmha(problem)) => Ok(problem),
            Ok(_) => unreachable!("the operation was given"),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn absent_fields_follow_from_the_others() {
        let problem = parse("seqlen_q=1024,nhead_q=16,hdim_q=64").unwrap();
        assert_eq!(problem, FmhaProblem::new([1024, 1024], 16, 64));
        let text = "api_family=fwd,family=fwd,dtype=fp16,batch=1,seqlen_q=1024,seqlen_k=1024,nhead_q=16,\
                    nhead_k=16,hdim_q=64,hdim_v=64";
        assert_eq!(problem.to_string(), text);
        // A window that nobody gave leaves all keys; one of 0 leaves one.
        let base = "seqlen_q=8,nhead_q=1,hdim_q=32,mask=generic";
        for (more, windows) in [("", (-1, -1)), (",window_left=3", (3, 0)), (",window_right=0", (0, 0))] {
            let problem = parse(&format!("{base}{more}")).unwrap();
            assert_eq!((problem.window_left, problem.window_right), windows);
            assert_eq!(parse(&problem.to_string()).unwrap(), problem);
        }
        let split = parse(
            "family=fwd_splitkv_combine seqlen_q=1 seqlen_k=4096 nhead_q=32 nhead_k=8 \
             hdim_q=128 num_splits=8 has_lse=1",
        )
        .unwrap();
        assert_eq!((split.api_family, split.num_splits, split.lse), (FmhaApi::FwdSplitkv, 8, true));
        assert_eq!(
            parse("api_family=bwd,seqlen_q=8,nhead_q=1,hdim_q=32").unwrap().family,
            FmhaFamily::BwdDqDkDv
        );
    }

    #[test]
    fn upstreams_names_and_numbers_are_understood() {
        let ours = parse(
            "seqlen_q=8,nhead_q=1,hdim_q=32,mask=top_left,bias=alibi,dtype=bf16,mode=group,\
             max_seqlen_q=8,lse=1",
        )
        .unwrap();
        let upstreams = parse(
            "seqlen_q=8,nhead_q=1,hdim_q=32,mask_type=1,bias_type=2,data_type=bf16,is_group_mode=true,\
             max_seqlen_q=8,has_lse=true",
        );
        assert_eq!(upstreams.unwrap(), ours);
        // One call in other words.
        let base = "seqlen_q=8,nhead_q=1,hdim_q=32,mask=no";
        let same = parse(&format!("{base},window_left=-1,window_right=-1,max_seqlen_q=8,max_seqlen_k=8"));
        assert_eq!(same, parse(base));
        let twice = parse("seqlen_q=8,nhead_q=1,hdim_q=32,mask=no,mask_type=1").unwrap_err();
        assert_eq!(twice, "mask_type: found '1', expected 'no' as in mask");
    }

    #[test]
    fn every_mistake_is_named() {
        for (text, message) in [
            ("nhead_q=1,hdim_q=32", "seqlen_q: found nothing, expected a whole number"),
            ("seqlen_q=0,nhead_q=1,hdim_q=32", "seqlen_q: found 0, expected at least 1, or a max_seqlen_q"),
            (
                "seqlen_q=8,seqlen_k=0,nhead_q=1,hdim_q=32",
                "seqlen_k: found 0, expected at least 1, or a max_seqlen_k",
            ),
            ("seqlen_q=8,nhead_q=0,hdim_q=32", "nhead_q: found 0, expected 1 to 2147483647"),
            (
                "seqlen_q=8,nhead_q=8,nhead_k=3,hdim_q=32",
                "nhead_k: found 3, expected a divisor of nhead_q, which is 8",
            ),
            (
                "seqlen_q=8,nhead_q=1,hdim_q=32,max_seqlen_q=16,mask=no",
                "max_seqlen_q: found 16, expected 8 as seqlen_q, or mode=group",
            ),
            (
                "seqlen_q=8,nhead_q=1,hdim_q=32,window_left=4,mask=no",
                "window_left: found 4, expected -1 or 0 without a mask",
            ),
            (
                "seqlen_q=8,nhead_q=1,hdim_q=32,page_size=64,lse=1",
                "page_size: found 64, expected 1 unless keys and values are paged (paged_kv)",
            ),
            (
                "seqlen_q=8,nhead_q=1,hdim_q=32,num_splits=4,api_family=fwd",
                "num_splits: found 4, expected 1 unless api_family is fwd_splitkv",
            ),
            (
                "seqlen_q=8,nhead_q=1,hdim_q=32,rotary_dim=4,rope=none",
                "rotary_dim: found 4, expected 0 without rope",
            ),
            (
                "seqlen_q=8,nhead_q=1,hdim_q=32,mode=group",
                "max_seqlen_q: found 0, expected at least 1 in group mode",
            ),
            (
                "seqlen_q=8,nhead_q=1,hdim_q=32,mask=7",
                "mask: found '7', expected one of no, top_left, bottom_right, generic",
            ),
            ("seqlen_q=8,nhead_q=1,hdim_q=32,lse=maybe", "lse: found 'maybe', expected 0, 1, true or false"),
            (
                "seqlen_q=8,nhead_q=1,hdim_q=32,api_family=bwd,family=fwd",
                "family: found 'fwd', expected a stage of bwd: bwd_dot_do_o, bwd_dq_dk_dv, bwd_convert_dq",
            ),
            (
                "seqlen_q=8,nhead_q=1,hdim_q=32,dtype=int8",
                "dtype: found 'int8', expected one of fp16, bf16, fp32, fp8, bf8, fp8fp16, fp8bf16, fp8fp32, \
                 mxfp8, mxfp4",
            ),
        ] {
            assert_eq!(parse(text).unwrap_err(), message);
        }
    }
}
