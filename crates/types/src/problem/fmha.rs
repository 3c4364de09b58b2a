//! Attention as a plain value, with every field of upstream's problem.
//!
//! One table declares the fields: text, tables, ranges and comparisons are derived from it.

use std::fmt;

use super::text::Cells;
use super::{FMHA_MORE_COLUMNS, InvalidField, MAX_EXTENT, ProblemDefaults};
use crate::cells::Fields;
use crate::vocab::{
    Arch, Dtype, FmhaApi, FmhaBias, FmhaFamily, FmhaKvLayout, FmhaKvLookup, FmhaMask, FmhaMode, FmhaQscale,
    FmhaRope,
};

/// Declares the fields. A number has a minimum and, in text, a default; without a default it must be given,
/// or is taken from another field (see [`read`]). Upstream's other names of a field are in brackets.
macro_rules! fields {
    (
        words { $($word:ident: $type:ty = $wusual:expr, [$($walias:literal),*], $wdoc:literal;)+ }
        numbers {
            $($number:ident: $least:literal = $nusual:literal, [$($nalias:literal),*], $ndoc:literal;)+
        }
        flags { $($flag:ident = $fusual:literal, [$($falias:literal),*], $fdoc:literal;)+ }
    ) => {
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
        pub struct FmhaProblem {
            $(#[doc = $wdoc] pub $word: $type,)+
            $(#[doc = $ndoc] pub $number: i64,)+
            $(#[doc = $fdoc] pub $flag: bool,)+
            /// The architecture that will run it, when known.
            pub arch: Option<Arch>,
        }

        /// Names of the fields: numbers, flags, words, then those of every operation.
        pub(super) const FIELDS: &[&str] =
            &[$(stringify!($number),)+ $(stringify!($flag),)+ $(stringify!($word),)+ "arch", "features"];
        /// All names that text and tables may use.
        pub(super) const KEYS: &[&str] = &[
            $(stringify!($word), $($walias,)*)+
            $(stringify!($number), $($nalias,)*)+
            $(stringify!($flag), $($falias,)*)+
            "arch",
        ];
        /// The names of words and flags.
        const WORDS_AND_FLAGS: &[&str] =
            &[$(stringify!($word), $($walias,)*)+ $(stringify!($flag), $($falias,)*)+];
        pub(super) const NUMBERS: usize = [$(stringify!($number),)+ $(stringify!($flag),)+].len();
        pub(super) const CODES: usize = [$(stringify!($word),)+].len();
        const EXTENTS: usize = [$(stringify!($number),)+].len();

        impl FmhaProblem {
            /// What a text without any field but the sizes describes.
            pub const USUAL: Self = Self {
                $($word: $wusual,)+ $($number: $nusual,)+ $($flag: $fusual,)+ arch: None,
            };

            /// Numbers, then flags as 0 and 1.
            pub(super) const fn numbers(&self) -> [i64; NUMBERS] {
                [$(self.$number,)+ $(self.$flag as i64,)+]
            }

            /// Words as numbers.
            pub(super) const fn codes(&self) -> [u8; CODES] {
                [$(self.$word as u8,)+]
            }

            /// Everything but the architecture in machine words; `None` when a number needs more than 31
            /// bits.
            pub(super) fn packed(&self) -> Option<[u64; 11]> {
                let mut packed = [0; 11];
                let mut any = 0;
                for (at, number) in [$(self.$number,)+].into_iter().enumerate() {
                    // Windows start at -1.
                    let number = (number as u64).wrapping_add(1);
                    any |= number;
                    packed[at / 2] |= number << (32 * (at % 2));
                }
                for flag in [$(self.$flag,)+] {
                    packed[8] = packed[8] << 1 | u64::from(flag);
                }
                for code in self.codes() {
                    packed[9] = packed[9] << 5 | u64::from(code);
                }
                (any >> 32 == 0).then_some(packed)
            }

            fn limits(&self) -> [(&'static str, i64, i64); EXTENTS] {
                [$((stringify!($number), self.$number, $least),)+]
            }
        }

        /// The number of a word; `None` when the field does not have it.
        pub(super) fn code(field: &str, word: &str) -> Option<u8> {
            Some(match field {
                $(stringify!($word) => word.parse::<$type>().ok()? as u8,)+
                _ => return None,
            })
        }

        /// The words of a field.
        pub(super) const fn words(place: usize) -> &'static [&'static str] {
            const ALL: [&[&str]; CODES] = [$(<$type>::WORDS,)+];
            ALL[place]
        }

        fn fill(cells: &Cells<'_>, problem: &mut FmhaProblem) -> Result<(), InvalidField> {
            $(if let Some(value) = cells.word_of(&[stringify!($word), $($walias),*])? {
                problem.$word = value;
            })+
            $(if let Some(value) = cells.int_of(&[stringify!($number), $($nalias),*])? {
                problem.$number = value;
            })+
            $(if let Some(value) = cells.flag_of(&[stringify!($flag), $($falias),*])? {
                problem.$flag = value;
            })+
            Ok(())
        }

        /// The first word or flag in which cells differ from a signature. Masks from either corner are
        /// equivalent, as for kernels, and only batch prefill has kernels of an order and a look-up of pages.
        fn differs(cells: &Cells<'_>, signed: &FmhaProblem) -> Result<Option<&'static str>, InvalidField> {
            $({
                let said: Option<$type> = cells.word_of(&[stringify!($word), $($walias),*])?;
                let counts = has_pages_of_an_order(signed) || !stringify!($word).starts_with("kv_");
                if counts && said.is_some_and(|said| corner(said.as_str()) != corner(signed.$word.as_str())) {
                    return Ok(Some(stringify!($word)));
                }
            })+
            $({
                let said = cells.flag_of(&[stringify!($flag), $($falias),*])?;
                let of_kernels = !FMHA_MORE_COLUMNS.contains(&stringify!($flag));
                if of_kernels && said.is_some_and(|said| said != signed.$flag) {
                    return Ok(Some(stringify!($flag)));
                }
            })+
            Ok(None)
        }

        fn write_rest(problem: &FmhaProblem, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            let usual = FmhaProblem::USUAL;
            $(if problem.$word != usual.$word && !SAID.contains(&stringify!($word)) {
                write!(f, concat!(",", stringify!($word), "={}"), problem.$word)?;
            })+
            $(if problem.$number != usual.$number && !SAID.contains(&stringify!($number)) {
                write!(f, concat!(",", stringify!($number), "={}"), problem.$number)?;
            })+
            $(if problem.$flag != usual.$flag {
                write!(f, concat!(",", stringify!($flag), "={}"), u8::from(problem.$flag))?;
            })+
            Ok(())
        }
    };
}

/// The fields that text always contains.
const SAID: &[&str] = &[
    "api_family",
    "family",
    "dtype",
    "batch",
    "seqlen_q",
    "seqlen_k",
    "nhead_q",
    "nhead_k",
    "hdim_q",
    "hdim_v",
];

fields! {
    words {
        api_family: FmhaApi = FmhaApi::Fwd, [], "The requested operation.";
        family: FmhaFamily = FmhaFamily::Fwd, ["requested_family"], "The stage for which a kernel is chosen.";
        dtype: Dtype = Dtype::Fp16, ["data_type"],
            "Element types of operands and, for the mixed words, of the result.";
        mode: FmhaMode = FmhaMode::Batch, ["group_mode", "is_group_mode"],
            "Whether all sequences have the same length, or each its own.";
        mask: FmhaMask = FmhaMask::No, ["mask_type"], "Which keys a query does not attend to.";
        bias: FmhaBias = FmhaBias::No, ["bias_type"], "What is added to the scores.";
        qscale: FmhaQscale = FmhaQscale::No, ["qscale_type"], "How 8-bit operands are scaled.";
        rope: FmhaRope = FmhaRope::None, ["rope_type"], "How appended keys are rotated.";
        kv_layout: FmhaKvLayout = FmhaKvLayout::Vectorized, ["kv_memory_layout"],
            "Memory order of a paged cache.";
        kv_lookup: FmhaKvLookup = FmhaKvLookup::Vllm, ["kv_lookup_table"], "How pages are found.";
    }
    numbers {
        batch: 1 = 1, [], "Sequences.";
        seqlen_q: 0 = 0, [], "Queries per sequence.";
        seqlen_k: 0 = 0, [], "Keys per sequence.";
        nhead_q: 1 = 1, [], "Query heads.";
        nhead_k: 1 = 1, [], "Key and value heads; fewer than query heads if these share them.";
        hdim_q: 1 = 0, [], "Head size of queries and keys, in elements.";
        hdim_v: 1 = 0, [], "Head size of values, in elements.";
        max_seqlen_q: 0 = 0, [], "Queries of the longest sequence; 0: `seqlen_q`.";
        max_seqlen_k: 0 = 0, [], "Keys of the longest sequence; 0: `seqlen_k`.";
        page_size: 1 = 1, [], "Keys per page.";
        num_splits: 1 = 1, [], "Parts into which the keys of a sequence are split.";
        window_left: -1 = 0, ["window_size_left"],
            "Keys that a query attends to before its own position; -1 for all. With a mask from a corner, 0 also \
             means all.";
        window_right: -1 = 0, ["window_size_right"],
            "Keys that a query attends to after its own position; -1 for all.";
        sink_size: 0 = 0, [], "Number of first keys that every query attends to.";
        min_seqlen_q: 0 = 0, [], "Sequences with fewer queries are skipped.";
        rotary_dim: 0 = 0, [], "Number of elements that are rotated.";
    }
    flags {
        v_rowmajor = true, ["is_v_rowmajor"], "Values are row-major.";
        logits = false, ["logits_soft_cap", "has_logits_soft_cap"], "Scores have a soft cap.";
        lse = false, ["has_lse"], "The log-sum-exp is stored.";
        dropout = false, ["has_dropout"], "Dropout is applied.";
        paged_kv = false, ["use_paged_kv"], "Keys and values are paged.";
        fp8_static_quant = false, ["do_fp8_static_quant"], "Scales of 8-bit operands are static.";
        skip = false, ["skip_min_seqlen_q"], "Short sequences are skipped.";
        sink = false, ["has_sink"], "Every query attends to the first keys.";
        dbias = false, ["has_dbias"], "The gradient of the bias is computed.";
        store_randval = false, ["is_store_randval"], "The random numbers of dropout are stored.";
        deterministic = false, ["is_deterministic"], "The order of summation is fixed.";
        has_seqstart_q_ptr = false, [], "The call passes where the queries of each sequence start.";
        has_seqstart_k_ptr = false, [], "The call passes where the keys of each sequence start.";
        has_seqlen_q_ptr = false, [], "The call passes the number of queries of each sequence.";
        has_seqlen_k_ptr = false, [], "The call passes the number of keys of each sequence.";
        has_cu_seqlen_q_ptr = false, [], "The call passes cumulative numbers of queries.";
        has_cu_seqlen_k_ptr = false, [], "The call passes cumulative numbers of keys.";
        has_block_table_ptr = false, [], "The call passes the pages of each sequence.";
        has_cache_batch_idx = false, [], "The call passes the cache index of each sequence.";
        is_gappy = false, [], "There are gaps between the keys of neighbouring sequences.";
        has_rotary_cos_sin = false, [], "The call passes sines and cosines.";
    }
}

impl FmhaProblem {
    /// Forward fp16 attention of one sequence of lengths `[queries, keys]`, with as many heads of keys as of
    /// queries; set the other fields by struct update.
    pub const fn new([seqlen_q, seqlen_k]: [i64; 2], heads: i64, hdim: i64) -> Self {
        Self { seqlen_q, seqlen_k, nhead_q: heads, nhead_k: heads, hdim_q: hdim, hdim_v: hdim, ..Self::USUAL }
    }

    /// The same for the kernels of another stage.
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

    /// The same with neutral values for sizes that contradict this stage and signature.
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

    /// The same call, written in one way: a longest sequence that is `seqlen_q` is 0, as are windows of -1
    /// without a mask. Whatever reads problems returns them so, because equal calls must be equal problems.
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

    /// Lets a generic mask for which no window is given leave everything, as CK's tools do for -1, instead of
    /// each query's own key, which is what windows of 0 mean.
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
        for ((field, value, _), (_, used, _)) in self.limits().into_iter().zip(consistent.limits()) {
            if value != used {
                let expected = match field {
                    "max_seqlen_q" => format!("{used} as seqlen_q, or mode=group"),
                    "max_seqlen_k" => format!("{used} as seqlen_k, or mode=group"),
                    "page_size" => "1 unless keys and values are paged (paged_kv)".to_owned(),
                    "num_splits" => "1 unless api_family is fwd_splitkv".to_owned(),
                    "window_left" | "window_right" => "-1 or 0 without a mask".to_owned(),
                    "sink_size" => "0 without sink".to_owned(),
                    "min_seqlen_q" => "0 without skip".to_owned(),
                    _ => "0 without rope".to_owned(),
                };
                return Err(InvalidField::new(field, value, expected));
            }
        }
        Ok(())
    }

    /// The checks of sizes whose signature is a kernel's, not yet known: what one kernel does not use,
    /// another may.
    pub(super) fn validate_sizes(&self) -> Result<(), InvalidField> {
        for (field, value, least) in self.limits() {
            if !(least..=MAX_EXTENT).contains(&value) {
                return Err(InvalidField::new(field, value, format!("{least} to {MAX_EXTENT}")));
            }
        }
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
        if !self.dtype.is_of_fmha() {
            let words: Vec<&str> =
                Dtype::ALL.iter().filter(|dtype| dtype.is_of_fmha()).map(|dtype| dtype.as_str()).collect();
            let expected = format!("one of {}", words.join(", "));
            return Err(InvalidField::new("dtype", format_args!("'{}'", self.dtype), expected));
        }
        Ok(())
    }

    /// Multiplications and additions as upstream counts them: of the whole rectangle of queries and keys,
    /// masked or not, and of a forward pass even if another is asked for.
    pub fn flops(&self) -> f64 {
        let [sq, sk] = [self.longest_q(), self.longest_k()].map(|length| length as f64);
        2.0 * self.batch as f64 * self.nhead_q as f64 * sq * sk * (self.hdim_q as f64 + self.hdim_v as f64)
    }
}

/// Reads a problem from named cells. `seqlen_q`, `nhead_q` and `hdim_q` are required; those of keys and
/// values default to the same numbers. The API and the stage follow from each other.
pub(super) fn read(cells: &Cells<'_>, defaults: &ProblemDefaults) -> Result<FmhaProblem, InvalidField> {
    let mut problem = FmhaProblem { dtype: defaults.dtype, arch: defaults.arch, ..FmhaProblem::USUAL };
    problem.seqlen_q = cells.needed("seqlen_q")?;
    problem.nhead_q = cells.needed("nhead_q")?;
    problem.hdim_q = cells.needed("hdim_q")?;
    (problem.seqlen_k, problem.nhead_k) = (problem.seqlen_q, problem.nhead_q);
    problem.hdim_v = problem.hdim_q;
    let api: Option<FmhaApi> = cells.word_of(&["api_family"])?;
    let family: Option<FmhaFamily> = cells.word_of(&["family", "requested_family"])?;
    problem.api_family = api.or(family.map(FmhaFamily::api)).unwrap_or(FmhaApi::Fwd);
    problem.family = problem.api_family.main_stage();
    fill(cells, &mut problem)?;
    let window = [["window_left", "window_size_left"], ["window_right", "window_size_right"]];
    if cells.int_of(&window[0])?.is_none() && cells.int_of(&window[1])?.is_none() {
        problem.open_window();
    }
    if let Some(arch) = cells.word_of(&["arch"])? {
        problem.arch = Some(arch);
    }
    Ok(problem)
}

fn has_pages_of_an_order(problem: &FmhaProblem) -> bool {
    problem.api_family == FmhaApi::BatchPrefill
}

fn corner(word: &str) -> &str {
    if word == "bottom_right" { "top_left" } else { word }
}

/// The first field in which cells, under any of their names, differ from a signature
/// ([`FmhaKernel::sign`](crate::kernel::FmhaKernel::sign)); `None` if none does.
pub fn fmha_signature_differs(
    cells: &dyn Fields,
    signed: &FmhaProblem,
) -> Result<Option<&'static str>, InvalidField> {
    differs(&Cells(cells), signed)
}

/// Whether a problem's text contains more than sizes and type, that is, fields that kernels are made for.
pub(super) fn says_signature(has: impl Fn(&str) -> bool) -> bool {
    let of_kernels =
        |name: &&&str| !["dtype", "data_type"].contains(*name) && !FMHA_MORE_COLUMNS.contains(*name);
    WORDS_AND_FLAGS.iter().filter(of_kernels).any(|name| has(name))
}

/// Fields with defaults are left out, apart from those in `SAID`.
impl fmt::Display for FmhaProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "api_family={},family={},dtype={}", self.api_family, self.family, self.dtype)?;
        write!(f, ",batch={},seqlen_q={},seqlen_k={}", self.batch, self.seqlen_q, self.seqlen_k)?;
        write!(f, ",nhead_q={},nhead_k={}", self.nhead_q, self.nhead_k)?;
        write!(f, ",hdim_q={},hdim_v={}", self.hdim_q, self.hdim_v)?;
        write_rest(self, f)?;
        // Windows that are not given mean something else with this mask.
        if self.mask == FmhaMask::Generic && self.window_left == 0 && self.window_right == 0 {
            f.write_str(",window_left=0,window_right=0")?;
        }
        self.arch.map_or(Ok(()), |arch| write!(f, ",arch={arch}"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::problem::Problem;
    use crate::problem::text::Pairs;
    use crate::vocab::Op;

    fn parse(text: &str) -> Result<FmhaProblem, String> {
        match Problem::parse(Op::Fmha, text, &ProblemDefaults::of(Op::Fmha)) {
            Ok(Problem::Fmha(problem)) => Ok(problem),
            Ok(_) => unreachable!("the operation was given"),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn what_is_not_said_follows() {
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

    /// Any valid problem.
    fn problems() -> impl Strategy<Value = FmhaProblem> {
        let numbers = prop::collection::vec(prop_oneof![Just(1), 1..300_i64, Just(MAX_EXTENT)], EXTENTS);
        let flags = prop::collection::vec(any::<bool>(), NUMBERS - EXTENTS);
        let words = prop::collection::vec(any::<prop::sample::Index>(), CODES);
        (numbers, flags, words).prop_filter_map("not valid", |(numbers, flags, words)| {
            let (flag_names, word_names) = FIELDS[EXTENTS..].split_at(NUMBERS - EXTENTS);
            let mut text: Vec<String> =
                FIELDS.iter().zip(numbers).map(|(name, value)| format!("{name}={value}")).collect();
            text.extend(flag_names.iter().zip(flags).map(|(name, value)| format!("{name}={value}")));
            let word = |place: usize, index: &prop::sample::Index| *index.get(super::words(place));
            text.extend(
                words
                    .iter()
                    .enumerate()
                    .filter(|(place, _)| *place > 0)
                    .map(|(place, index)| format!("{}={}", word_names[place], word(place, index))),
            );
            let pairs: Vec<(&str, &str)> = text.iter().filter_map(|pair| pair.split_once('=')).collect();
            let problem = read(&Cells(&Pairs(pairs)), &ProblemDefaults::of(Op::Fmha)).ok()?.settled();
            // Few random numbers of heads divide another.
            let shared = problem.nhead_q % problem.nhead_k == 0;
            let problem = FmhaProblem { nhead_k: if shared { problem.nhead_k } else { 1 }, ..problem };
            problem.validate().is_ok().then_some(problem)
        })
    }

    proptest! {
        #[test]
        fn texts_read_back_and_words_tell_problems_apart(problem in problems(), other in problems()) {
            prop_assert_eq!(parse(&problem.to_string()).unwrap(), problem);
            let words = |problem| Problem::Fmha(problem).words();
            prop_assert_eq!(words(problem) == words(other), problem == other || words(problem).is_none());
        }
    }
}
