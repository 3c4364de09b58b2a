//! What a model was trained on: the problems' own fields, the kernels' pipelines and suffixes, the files.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::FeatureSpec;
use crate::kernel::KernelKind;
use crate::operation::Operation;
use crate::problem::{Field, FieldSet, InvalidField, MOST_FIELDS, Problem};
use crate::vocab::{Arch, Op};

/// The problems and kernels that a model was trained on, whether or not its features show them:
/// `ck_select.trained_on` of a spec.
///
/// ```json
/// {"ck_select": {"trained_on": {
///     "numbers": {"N": [1, 64], "G": [1, 1]}, "words": {"dtype_in": ["bf16"]},
///     "pipelines": ["compv3"], "suffixes": ["dsb"], "archs": ["gfx950"],
///     "files": [{"file": "sweep.csv", "rows": 3760, "sha256": "c89b4a06…"}]
/// }}}
/// ```
///
/// Fields that it does not list are not checked.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainedOn {
    /// The smallest and the largest value of each number.
    numbers: BTreeMap<String, [i64; 2]>,
    /// The words of each field that holds words.
    words: BTreeMap<String, BTreeSet<String>>,
    /// The pipelines of the kernels.
    pub pipelines: BTreeSet<String>,
    /// Properties of the kernels besides tile and pipeline, such as `dsb` or `gm2`.
    pub suffixes: BTreeSet<String>,
    /// The architectures on which the rows were measured, where the data say it.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    archs: BTreeSet<String>,
    /// The files of measurements.
    pub files: Vec<TrainedFile>,
}

/// The suffixes of kernels that tell their library. `default` is the epilogue of Triton's kernels with names of
/// the tile engine, which no kernel of CK for CUDA devices has.
const LIBRARY_SUFFIXES: [&str; 3] = ["triton", "aiter", "default"];

/// A file that a model was trained on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainedFile {
    /// The file's name, without folders.
    pub file: String,
    /// Rows taken from it.
    pub rows: usize,
    /// The file's SHA-256 in hexadecimal.
    pub sha256: String,
}

impl TrainedOn {
    /// The key inside `ck_select`.
    pub const KEY: &'static str = "trained_on";

    /// The record for rows of these problems and kernels, from these files. It has the fields of the first
    /// problem's operation; of other operations' problems, it has the element types.
    ///
    /// ```
    /// use ck_select_types::kernel::Kernel;
    /// use ck_select_model::directory::TrainedOn;
    /// use ck_select_types::problem::{ConvProblem, Problem};
    ///
    /// let problems = [1, 64].map(|n| Problem::from(ConvProblem { n, ..ConvProblem::new_2d([28, 28], [3, 3]) }));
    /// let kernel = Kernel::from_name("grouped_conv_forward_bf16_2d_64x128x64_compv3_intrawave_dsb")?;
    /// let trained = TrainedOn::new(&problems, [&kernel.kind], Vec::new());
    /// assert_eq!((trained.range("N"), trained.range("G")), (Some([1, 64]), Some([1, 1])));
    /// let other = Kernel::from_name("grouped_conv_forward_bf16_2d_64x128x64_compv5_intrawave_gm2_dsb")?;
    /// assert_eq!(trained.unmeasured(&other.kind).as_deref(), Some("compv5 gm2"));
    /// # Ok::<(), ck_select_types::kernel::NameError>(())
    /// ```
    pub fn new<'r>(
        problems: impl IntoIterator<Item = &'r Problem>,
        kernels: impl IntoIterator<Item = &'r KernelKind>,
        files: Vec<TrainedFile>,
    ) -> Self {
        let mut trained = Self { files, ..Self::default() };
        let mut own = None;
        for problem in problems {
            let op = problem.op();
            let own = *own.get_or_insert(op);
            for (field, value) in Problem::fields(op).iter().zip(problem.canonical().values()) {
                let Some(name) = name_for(op, own, field.name) else { continue };
                let name = name.to_owned();
                if field.is_number() {
                    let [min, max] = trained.numbers.entry(name).or_insert([value; 2]);
                    (*min, *max) = ((*min).min(value), (*max).max(value));
                } else if field.words().is_some() && value >= 0 {
                    trained.words.entry(name).or_default().insert(field.text(value));
                }
            }
        }
        for kernel in kernels {
            trained.pipelines.extend(kernel.pipeline().map(str::to_owned));
            trained.suffixes.extend(kernel.suffixes());
        }
        trained
    }

    /// The record of rows that were measured on these architectures.
    pub fn on(mut self, archs: impl IntoIterator<Item = Arch>) -> Self {
        self.archs.extend(archs.into_iter().map(|arch| arch.to_string()));
        self
    }

    /// The architectures on which the rows were measured; empty if that is not recorded.
    pub fn archs(&self) -> impl Iterator<Item = Arch> {
        self.archs.iter().filter_map(|arch| arch.parse().ok())
    }

    /// Whether rows were measured on an architecture; true if that is not recorded.
    pub fn has_seen(&self, arch: Option<Arch>) -> bool {
        self.archs.is_empty() || arch.is_some_and(|arch| self.archs.contains(arch.as_str()))
    }

    /// Whether rows are of kernels of this one's library, if that is not the GPU's own.
    pub fn has_seen_library(&self, kernel: &KernelKind) -> bool {
        let tells = |word: &&String| LIBRARY_SUFFIXES.contains(&word.as_str());
        kernel.suffixes().iter().filter(tells).any(|word| self.suffixes.contains(word))
    }

    /// The part that holds for problems of another operation, too: the element types, by the fields of that
    /// operation, the kernels and the files.
    pub(super) fn for_op(&self, own: Op, op: Op) -> Self {
        let words = self.words.iter();
        let words = words.filter_map(|(name, of)| Some((name_for(own, op, name)?.to_owned(), of.clone())));
        Self { numbers: BTreeMap::new(), words: words.collect(), ..self.clone() }
    }

    /// The smallest and the largest value of a number.
    pub fn range(&self, field: &str) -> Option<[i64; 2]> {
        self.numbers.get(field).copied()
    }

    /// The words of a field.
    pub fn words(&self, field: &str) -> impl Iterator<Item = &str> {
        self.words.get(field).into_iter().flatten().map(String::as_str)
    }

    /// The parts of a kernel's pipeline and suffixes that no measured kernel had; `None` if all were
    /// measured.
    pub fn unmeasured(&self, kernel: &KernelKind) -> Option<String> {
        if self.pipelines.is_empty() {
            return None;
        }
        let pipeline = kernel.pipeline().filter(|&pipeline| !self.pipelines.contains(pipeline));
        let mut missing = Vec::from_iter(pipeline.map(str::to_owned));
        missing.extend(kernel.suffixes().into_iter().filter(|suffix| !self.suffixes.contains(suffix)));
        (!missing.is_empty()).then(|| missing.join(" "))
    }

    /// Checks that each field is one of the operation's, with valid values.
    pub(super) fn validate(&self, op: Op) -> Result<(), InvalidField> {
        let names = |is: fn(&&Field) -> bool| -> Vec<&str> {
            Problem::fields(op).iter().filter(is).map(|field| field.name).collect()
        };
        let (numbers, words) = (names(|field| field.is_number()), names(|field| field.words().is_some()));
        let field = |name: &str| format!("ck_select.{}.{name}", Self::KEY);
        for (name, [min, max]) in &self.numbers {
            if !numbers.contains(&name.as_str()) {
                return Err(InvalidField::new(
                    field("numbers"),
                    name,
                    format!("one of {}", numbers.join(", ")),
                ));
            }
            if min > max {
                let found = format!("[{min}, {max}]");
                return Err(InvalidField::new(field(name), found, "the smallest value, then the largest"));
            }
        }
        if let Some(arch) = self.archs.iter().find(|arch| arch.parse::<Arch>().is_err()) {
            return Err(InvalidField::new(field("archs"), format_args!("'{arch}'"), "architectures"));
        }
        for (name, own_words) in &self.words {
            if !words.contains(&name.as_str()) {
                return Err(InvalidField::new(field("words"), name, format!("one of {}", words.join(", "))));
            }
            let known = Problem::fields(op).iter().find(|field| field.name == name);
            let is_known = |word: &String| known.is_some_and(|field| field.code(word).is_some());
            if let Some(word) = own_words.iter().find(|word| !is_known(word)) {
                return Err(InvalidField::new(field(name), format_args!("'{word}'"), "a word of the field"));
            }
        }
        Ok(())
    }
}

/// The name in one operation of a field of another; only element types mean the same.
fn name_for(own: Op, other: Op, name: &str) -> Option<&str> {
    if own == other {
        return Some(name);
    }
    let position = Operation::get(own).dtype_fields.iter().position(|known| *known == name)?;
    Operation::get(other).dtype_fields.get(position).copied()
}

/// The values that a model was trained on, for each field of its operation's problems, ready to be compared.
#[derive(Debug, Clone)]
pub(crate) struct TrainedFields {
    op: Op,
    fields: [Trained; MOST_FIELDS],
    /// The fields of which nothing is recorded, a bit each.
    unrecorded: u64,
    arch: Option<Arch>,
}

/// The values of a field that a model has seen.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Trained {
    low: i64,
    high: i64,
    /// The values between `low` and `high` that the model has seen, a bit each, for a field of words.
    words: u64,
}

impl Trained {
    const ANY: Self = Self { low: i64::MIN, high: i64::MAX, words: u64::MAX };

    /// Whether the model has seen a value. For a field without words, all bits are set.
    const fn has(self, value: i64) -> bool {
        value >= self.low && value <= self.high && self.words >> (value & 63) & 1 == 1
    }
}

impl TrainedFields {
    /// The fields as far as a spec records them.
    pub(crate) fn new(spec: &FeatureSpec) -> Self {
        let op = spec.op();
        let fields = [Trained::ANY; MOST_FIELDS];
        let mut trained = Self { op, fields, unrecorded: 0, arch: spec.arch };
        let by_spec = |name: &str| match name {
            "direction" => spec.direction.map(|direction| 1 << direction as u8),
            "dtype_in" | "dtype_a" | "dtype" => spec.dtype.map(|dtype| 1 << dtype as u8),
            _ => None,
        };
        let recorded = spec.trained_on.as_ref();
        for (field, known) in Problem::fields(op).iter().zip(&mut trained.fields) {
            if let Some([low, high]) = recorded.and_then(|recorded| recorded.range(field.name)) {
                (known.low, known.high) = (low, high);
            }
            let words = recorded.and_then(|recorded| recorded.words.get(field.name));
            let codes = words.map(|words| words.iter().filter_map(|word| field.code(word)));
            let bits = codes.map(|codes| codes.fold(0, |bits, code| bits | 1 << code));
            if let Some(bits) = bits.or_else(|| by_spec(field.name)) {
                // What is absent counts as -1, and whether it may be nobody recorded.
                known.words = bits | 1 << 63;
            }
        }
        let any = trained.fields.iter().enumerate().filter(|(_, known)| **known == Trained::ANY);
        trained.unrecorded = any.fold(0, |set, (bit, _)| set | 1 << bit);
        trained
    }

    /// The fields in which a problem differs from all that the model has seen, and what it does not say;
    /// `arch` is for problems that name none.
    pub(crate) fn outside(&self, problem: &Problem, arch: Option<Arch>) -> FieldSet {
        let values = problem.canonical().values();
        let known = values.into_iter().zip(self.fields).take(FieldSet::arch(self.op));
        let outside =
            known.enumerate().fold(0, |set, (bit, (value, known))| set | u64::from(!known.has(value)) << bit);
        let arch = problem.arch().or(arch);
        let foreign = matches!((arch, self.arch), (Some(asked), Some(own)) if asked != own);
        FieldSet::from_bits(outside | self.unknown(problem)).with(FieldSet::arch(self.op), foreign)
    }

    /// The fields that count, that the problem leaves open, and that the model has not learned to do without, a bit
    /// each.
    fn unknown(&self, problem: &Problem) -> u64 {
        problem.unknown().bits() & self.unrecorded
    }

    /// A problem's value of a field, and what the model has seen.
    pub(crate) fn describe(
        &self,
        problem: &Problem,
        arch: Option<Arch>,
        field_index: usize,
    ) -> (String, String) {
        if field_index == FieldSet::arch(self.op) {
            let text = |arch: Option<Arch>| arch.map_or_else(String::new, |arch| arch.to_string());
            return (text(problem.arch().or(arch)), text(self.arch));
        }
        if self.unknown(problem) >> field_index & 1 == 1 {
            return ("not known".to_owned(), "problems of which it is".to_owned());
        }
        let Some((field, known)) =
            Problem::fields(self.op).get(field_index).zip(self.fields.get(field_index))
        else {
            return Default::default();
        };
        let value = field.text(problem.canonical().values()[field_index]);
        let Some(words) = field.words() else {
            return (value, range_text(&known.low.to_string(), &known.high.to_string()));
        };
        let words = words.iter().enumerate().filter(|(code, _)| known.words >> code & 1 == 1);
        (value, words.map(|(_, word)| *word).collect::<Vec<_>>().join(", "))
    }
}

/// A range, readable for people.
pub(crate) fn range_text(min: &str, max: &str) -> String {
    if min == max { format!("{min} only") } else { format!("{min} to {max}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;
    use crate::problem::{ConvProblem, GemmProblem};
    use crate::vocab::Dtype;

    fn spec(trained: &TrainedOn, op: &str) -> FeatureSpec {
        let spec =
            serde_json::json!({ "op_type": op, "arch": "gfx950", "ck_select": { "trained_on": trained } });
        FeatureSpec::from_json("spec", spec.to_string().as_bytes()).unwrap()
    }

    fn problem(n: i64) -> ConvProblem {
        ConvProblem { n, c: 64, k: 64, ..ConvProblem::new_2d([28, 28], [3, 3]) }.padded([1, 1])
    }

    #[test]
    fn every_field_of_a_problem_is_held_to_what_was_trained() {
        let problems = [1, 16].map(|n| Problem::from(problem(n)));
        let trained = TrainedOn::new(&problems, [], Vec::new());
        let spec = spec(&trained, "grouped_conv");
        assert_eq!(spec.trained_on.as_ref(), Some(&trained), "it reads back as it was written");
        let fields = TrainedFields::new(&spec);
        let outside = |problem: ConvProblem, arch: &str| {
            let outside = fields.outside(&problem.into(), arch.parse().ok());
            outside.names(Op::Conv).collect::<Vec<_>>()
        };
        assert!(outside(problem(7), "").is_empty() && outside(problem(7), "gfx950").is_empty());
        let base = problem(7);
        for (other, names) in [
            (ConvProblem { n: i64::from(i32::MAX), ..base }, vec!["N"]),
            (ConvProblem { g: 32, ..base }, vec!["G"]),
            (ConvProblem { dilation: [1, 4, 4], ..base }, vec!["dilation_h", "dilation_w"]),
            (ConvProblem { split_k: 8, ..base }, vec!["split_k"]),
            (ConvProblem { pad_right: [0, 1, 100], ..base }, vec!["pad_w_right"]),
            (ConvProblem { ndim: 3, input: [4, 28, 28], ..base }, vec!["ndim", "Di"]),
            (ConvProblem { dtype_out: Dtype::Fp32, ..base }, vec!["dtype_out"]),
            (ConvProblem { layout: "ngchw".parse().unwrap(), ..base }, vec!["layout"]),
            (ConvProblem { direction: crate::vocab::Direction::BwdData, ..base }, vec!["direction"]),
        ] {
            assert_eq!(outside(other, ""), names);
        }
        assert_eq!(outside(base, "gfx942"), ["arch"]);
        let other = ConvProblem { g: 32, layout: "ngchw".parse().unwrap(), ..base };
        assert_eq!(fields.describe(&other.into(), None, 5), ("32".to_owned(), "1 only".to_owned()));
        assert_eq!(fields.describe(&other.into(), None, 28), ("ngchw".to_owned(), "nhwgc".to_owned()));
    }

    #[test]
    fn gemms_have_fields_of_their_own() {
        let trained = TrainedOn::new(&[GemmProblem::new(16, 1536, 7168).into()], [], Vec::new());
        let fields = TrainedFields::new(&spec(&trained, "gemm_universal"));
        let other =
            GemmProblem { layout: "rrr".parse().unwrap(), split_k: 2, ..GemmProblem::new(17, 1536, 7168) };
        let outside = fields.outside(&other.with_dtype(Dtype::Bf16).into(), "gfx942".parse().ok());
        let names: Vec<_> = outside.names(Op::Gemm).collect();
        assert_eq!(names, ["M", "split_k", "dtype_a", "dtype_b", "dtype_c", "layout", "arch"]);
        assert_eq!(fields.describe(&other.into(), None, 7), ("rrr".to_owned(), "rcr".to_owned()));
    }

    #[test]
    fn an_old_spec_holds_a_problem_to_what_it_is_for() {
        let spec = br#"{"op_type": "grouped_conv", "dtype": "bf16", "variant": "forward", "arch": "gfx950"}"#;
        let fields = TrainedFields::new(&FeatureSpec::from_json("spec", spec).unwrap());
        let other = ConvProblem { g: 64, dtype_in: Dtype::Fp16, ..problem(1 << 30) };
        let outside = fields.outside(&other.into(), None);
        assert_eq!(outside.names(Op::Conv).collect::<Vec<_>>(), ["dtype_in"]);
    }

    #[test]
    fn kernels_of_pipelines_and_suffixes_that_were_not_measured_are_known() {
        let kernel = |tail: &str| {
            Kernel::from_name(&format!("grouped_conv_forward_bf16_2d_64x64x64_{tail}")).unwrap().kind
        };
        let known = [kernel("compv3"), kernel("compv4_intrawave_dsb")];
        let trained = TrainedOn::new([], &known, Vec::new());
        assert_eq!(trained.unmeasured(&kernel("compv3_intrawave_dsb")), None);
        for (tail, missing) in [
            ("compv5", "compv5"),
            ("compv3_interwave", "interwave"),
            ("compv6_intrawave_gm2_dsb_si_2stage", "compv6 gm2 2stage si"),
        ] {
            assert_eq!(trained.unmeasured(&kernel(tail)).as_deref(), Some(missing));
        }
        assert_eq!(TrainedOn::default().unmeasured(&kernel("compv5")), None, "nobody wrote it down");
    }
}
