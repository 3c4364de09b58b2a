//! Reads `feature_spec.json`: the file's keys, then what they mean together.
//!
//! A caller may know what a trainer did not write, such as the engine of upstream's oldest models. It changes the
//! keys ([`SpecFile::assume`]) before they become a [`FeatureSpec`], so that a spec is checked once, as a whole.

use std::error::Error;
use std::path::Path;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::{FeatureSpec, ModelError, Substitute, Target, TrainedOn, TrainedRange};
use crate::features::{
    ElementBytes, Engine, Extractor, FmhaEncoding, KTile, KernelMapping, MemPads, NamedEngine, PipelineCodes,
    Rules, Schema, Uncoded, named_engines,
};
use crate::files;
use crate::hardware::Hardware;
use crate::json::Strict;
use crate::problem::InvalidField;
use crate::vocab::{Arch, Direction, Op, UnknownWord};

/// The file's keys. Unknown ones are tolerated: trainers add their own.
#[derive(Deserialize)]
pub(crate) struct SpecFile {
    /// A name other than that of the directory, by which the table of known models knows the model.
    model_name: Option<Value>,
    op_type: Option<String>,
    op: Option<String>,
    feature_engine: Option<String>,
    #[serde(default, deserialize_with = "without_repeats")]
    hardware: Option<Map<String, Value>>,
    /// Another name for the hardware, of one of upstream's trainers.
    #[serde(default, deserialize_with = "without_repeats")]
    hw_profile: Option<Map<String, Value>>,
    feature_encoding_version: Option<i64>,
    feature_names: Option<Vec<String>>,
    #[serde(default)]
    categorical_features: Vec<String>,
    #[serde(default)]
    log_targets: Vec<String>,
    dtype: Option<String>,
    arch: Option<String>,
    variant: Option<String>,
    #[serde(default)]
    params: Value,
    ck_select: Option<Extension>,
}

/// Our own key, which upstream's tools ignore: the choices that upstream leaves implicit. Choices that it
/// does not name stay as in upstream's code.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Extension {
    k_tile: Option<KTile>,
    pipeline_codes: Option<PipelineCodes>,
    element_bytes: Option<ElementBytes>,
    kernel_mapping: Option<KernelMapping>,
    mem_pads: Option<MemPads>,
    fmha_encoding: Option<FmhaEncoding>,
    uncoded: Option<Uncoded>,
    rank_by: Option<String>,
    prior: Option<f64>,
    choose: Option<String>,
    library: Option<String>,
    #[serde(default, deserialize_with = "without_repeats")]
    trained_range: Option<TrainedRange>,
    #[serde(default, deserialize_with = "without_repeats")]
    trained_on: Option<TrainedOn>,
}

/// Reads an object whose keys are data. Of a key that is there twice, serde would keep the last value.
fn without_repeats<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let Strict(value) = Strict::deserialize(deserializer)?;
    serde_json::from_value(value).map_err(D::Error::custom)
}

impl FeatureSpec {
    /// Reads a spec; `file` is its name in errors, and its folder is the model's name.
    pub fn from_json(file: &str, text: &[u8]) -> Result<Self, ModelError> {
        let name = Path::new(file).parent().and_then(Path::file_name).and_then(|name| name.to_str());
        Self::from_json_of(&name.map(str::to_owned).into_iter().collect::<Vec<_>>(), file, text)
    }

    /// The spec of a document that no file holds; `name` is its name in errors.
    pub(super) fn from_document(name: &str, document: &Value) -> Result<Self, ModelError> {
        let keys = SpecFile::deserialize(document).map_err(Into::into);
        keys.and_then(|keys| keys.spec(&[])).map_err(|error| ModelError::invalid(name, error))
    }

    /// Reads the spec of a model that has these names.
    pub(crate) fn from_json_of(names: &[String], file: &str, text: &[u8]) -> Result<Self, ModelError> {
        let read = SpecFile::parse(text).and_then(|keys| keys.spec(names));
        read.map_err(|error| ModelError::invalid(file, error))
    }
}

impl SpecFile {
    pub(crate) fn parse(text: &[u8]) -> Result<Self, Box<dyn Error>> {
        let text = files::without_bom(text);
        // A list would be read as the keys' values in order.
        if !text.trim_ascii_start().starts_with(b"{") {
            let found = String::from_utf8_lossy(text.get(..20).unwrap_or(text)).into_owned();
            return Err(InvalidField::new("document", format_args!("'{found}'"), "a JSON object").into());
        }
        Ok(serde_json::from_slice(text)?)
    }

    /// Whether the file says what its columns are.
    pub(crate) const fn names_columns(&self) -> bool {
        self.feature_names.is_some()
    }

    /// Whether the file has our own key, which says by which rules features are computed.
    pub(crate) const fn has_rules(&self) -> bool {
        self.ck_select.is_some()
    }

    /// Takes an engine's operation and version, unless the file says what it is for.
    pub(crate) fn assume(&mut self, engine: Engine) {
        if self.op_type.is_some() || self.feature_engine.is_some() {
            return;
        }
        let named = named_engines().find(|named| named.engine == engine);
        self.op_type = Some(named.map_or_else(|| engine.op().as_str(), |named| named.op_type).to_owned());
        let version = named.map(|named| named.encoding_version).filter(|version| *version > 0);
        self.feature_encoding_version = self.feature_encoding_version.or(version);
    }

    /// Drops an architecture outside the vocabulary: upstream's predictor never reads it, so that it may be
    /// any word.
    pub(crate) fn drop_unknown_arch(&mut self) {
        self.arch.take_if(|word| word.parse::<Arch>().is_err());
    }

    /// The spec of a model that has these names.
    pub(crate) fn spec(mut self, names: &[String]) -> Result<FeatureSpec, Box<dyn Error>> {
        let kind = self.kind()?;
        self.check_version(kind)?;
        let (engine, op, is_ours) = (kind.engine, kind.engine.op(), self.has_rules());
        let extension = self.ck_select.take().unwrap_or_default();
        let schema = extension.schema(engine, self.feature_names.take())?;
        let columns = schema.names();
        let mut filled = Vec::new();
        let categorical_features = self.categories(op, &columns, &mut filled)?;
        let own_hardware = self.own_hardware(engine)?;
        extension.check(op, &columns)?;
        let (direction, arch) =
            (word("variant", self.variant.as_deref())?, word("arch", self.arch.as_deref())?);
        let log_target =
            |name: &String| name.parse().map_err(|error| InvalidField::word("log_targets", &error));
        let mut spec = FeatureSpec {
            log_targets: self.log_targets.iter().map(log_target).collect::<Result<_, _>>()?,
            rank_by: word("ck_select.rank_by", extension.rank_by.as_deref())?.unwrap_or(Target::Tflops),
            dtype: word("dtype", self.dtype.as_deref())?,
            library: word("ck_select.library", extension.library.as_deref())?,
            extractor: Extractor {
                rules: extension.rules(Rules::from_names(&columns)),
                schema,
                hardware: own_hardware.unwrap_or_else(|| engine.hardware()),
                arch,
                direction: direction.unwrap_or(Direction::Forward),
                is_ours,
            },
            categorical_features,
            direction,
            arch,
            trained_range: extension.trained_range,
            trained_on: extension.trained_on,
            prior: extension.prior,
            chooses_split: extension.choose.is_some(),
            params: self.params,
            filled,
            asks_hardware: false,
            own_hardware,
            known_as: None,
        };
        let own_name = self.model_name.as_ref().and_then(Value::as_str).map(|name| [name.to_owned()]);
        spec.fill_in(own_name.as_ref().map_or(names, |own| own));
        Ok(spec)
    }

    /// The class name decides, then the operation; a spec with neither is for GEMMs, as in upstream.
    fn kind(&self) -> Result<&'static NamedEngine, InvalidField> {
        let find = |field: &str, name: Option<&str>, word: fn(&NamedEngine) -> &'static str| match name {
            None => Ok(None),
            Some(name) => named_engines().find(|kind| word(kind) == name).map(Some).ok_or_else(|| {
                let accepted = named_engines().map(word).collect::<Vec<_>>().join(", ");
                InvalidField::new(field, format_args!("'{name}'"), format!("one of {accepted}"))
            }),
        };
        let by_class = find("feature_engine", self.feature_engine.as_deref(), |kind| kind.class)?;
        // A trainer may use the key `op`, with a word of its own for the operation.
        let ops = [("op_type", &self.op_type), ("op", &self.op)];
        let mut ops = ops.iter().filter_map(|(field, name)| Some((*field, name.as_deref()?)));
        let alias = ops.clone().find_map(|(_, name)| name.parse().ok().filter(|op: &Op| op.as_str() != name));
        let op_type = alias.map_or(self.op_type.as_deref(), |op| Some(op.as_str()));
        let by_op = find("op_type", op_type, |kind| kind.op_type)?;
        let Some(kind) = by_class.or(by_op).or_else(|| named_engines().next()) else {
            unreachable!("there are engines")
        };
        // Of an engine of another operation, the columns would be those of other problems.
        let own = kind.engine.op();
        match ops.find(|(_, word)| word.parse().is_ok_and(|op: Op| op != own)) {
            Some((field, word)) => {
                let expected = format!("{own}, the operation of {}", kind.class);
                Err(InvalidField::new(field, format_args!("'{word}'"), expected))
            }
            None => Ok(kind),
        }
    }

    fn check_version(&self, kind: &NamedEngine) -> Result<(), InvalidField> {
        let version = self.feature_encoding_version.unwrap_or(0);
        if version == kind.encoding_version {
            return Ok(());
        }
        let expected = format!("{}, the version of {}", kind.encoding_version, kind.class);
        Err(InvalidField::new("feature_encoding_version", version, expected))
    }

    /// The columns that are categories. A trainer that narrows its features may keep the list of all
    /// categories, but a name that no engine has is a mistake.
    fn categories(
        &mut self,
        op: Op,
        columns: &[&str],
        filled: &mut Vec<Substitute>,
    ) -> Result<Vec<String>, InvalidField> {
        let names = std::mem::take(&mut self.categorical_features);
        let (own, stray): (_, Vec<_>) = names.into_iter().partition(|name| columns.contains(&&**name));
        for stray in stray {
            if Schema::by_names(op, &[&stray]).is_err() {
                let expected = "names that are in feature_names";
                return Err(InvalidField::new("categorical_features", stray, expected));
            }
            let reason = "it is not in feature_names, so that no column can be it";
            filled.push(Substitute {
                field: "categorical_features",
                value: format!("without {stray}"),
                reason,
            });
        }
        Ok(own)
    }

    /// The constants of the GPU, if there are any, over those that the engine's tools assume.
    fn own_hardware(&self, engine: Engine) -> Result<Option<Hardware>, InvalidField> {
        if let (Some(hardware), Some(profile)) = (&self.hardware, &self.hw_profile)
            && hardware != profile
        {
            let found = Value::Object(profile.clone());
            return Err(InvalidField::new("hw_profile", found, "the same constants as in hardware"));
        }
        let fields = self.hardware.as_ref().or(self.hw_profile.as_ref());
        fields.map(|fields| engine.hardware().overridden_by(fields)).transpose()
    }
}

impl Extension {
    fn schema(&self, engine: Engine, names: Option<Vec<String>>) -> Result<Schema, Box<dyn Error>> {
        let op = engine.op();
        let schema = match (self.prior, names) {
            (Some(prior), _) if !(prior > 0.0 && prior <= 1e3) => {
                let expected = "a number above 0, 1000 at most";
                return Err(InvalidField::new("ck_select.prior", prior, expected).into());
            }
            (Some(_), names) => Schema::universal(op, names.as_deref()),
            (None, Some(names)) => Schema::by_names(op, &names),
            (None, None) => Ok(Schema::for_engine(engine)),
        };
        schema.map_err(|error| format!("feature_names: {error}").into())
    }

    /// Refuses what is not of a model with these columns.
    fn check(&self, op: Op, columns: &[&str]) -> Result<(), InvalidField> {
        if let Some(found) = self.choose.as_deref().filter(|field| *field != "split_k") {
            return Err(InvalidField::new("ck_select.choose", format_args!("'{found}'"), "split_k"));
        }
        self.trained_range.iter().try_for_each(|range| range.validate(columns))?;
        self.trained_on.iter().try_for_each(|trained| trained.validate(op))
    }

    fn rules(&self, upstream: Rules) -> Rules {
        Rules {
            k_tile: self.k_tile.unwrap_or(upstream.k_tile),
            pipeline_codes: self.pipeline_codes.unwrap_or(upstream.pipeline_codes),
            element_bytes: self.element_bytes.unwrap_or(upstream.element_bytes),
            kernel_mapping: self.kernel_mapping.unwrap_or(upstream.kernel_mapping),
            mem_pads: self.mem_pads.unwrap_or(upstream.mem_pads),
            fmha_encoding: self.fmha_encoding.unwrap_or(upstream.fmha_encoding),
            uncoded: self.uncoded.unwrap_or(upstream.uncoded),
        }
    }
}

fn word<T: std::str::FromStr<Err = UnknownWord>>(
    field: &str,
    text: Option<&str>,
) -> Result<Option<T>, InvalidField> {
    text.map(|text| text.parse().map_err(|error| InvalidField::word(field, &error))).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::Hardware;

    fn spec(json: &str) -> Result<FeatureSpec, String> {
        FeatureSpec::from_json("feature_spec.json", json.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn an_empty_spec_is_upstreams_gemm_engine() {
        let spec = spec("{}").unwrap();
        assert_eq!((spec.op(), spec.extractor.schema.len()), (Op::Gemm, 72));
        assert_eq!((spec.rank_by, spec.log_targets.len()), (Target::Tflops, 0));
    }

    #[test]
    fn names_decide_the_rules_and_our_key_overrides_them() {
        let conv = |more: &str| {
            spec(&format!(
                r#"{{"op_type":"grouped_conv","feature_names":["N","K_per_C","tile_volume"]{more}}}"#
            ))
            .unwrap()
            .extractor
            .rules
        };
        assert_eq!(conv(""), Rules::SUPERSET);
        let overridden = conv(r#","ck_select":{"k_tile":"block_size","kernel_mapping":"name_order"}"#);
        assert_eq!(overridden, Rules::CONV97);
    }

    #[test]
    fn hardware_is_the_models_own() {
        let spec = spec(r#"{"arch":"gfx950","hardware":{"lds_capacity":163840}}"#).unwrap();
        assert_eq!(spec.extractor.hardware, Hardware::for_arch(&"gfx950".parse().unwrap()).unwrap());
    }

    #[test]
    fn a_trained_range_reads_back_as_it_was_written() {
        let range = TrainedRange::from_rows(&["M", "N"], [[0.1, 3.0].as_slice(), &[1e300, 3.0]]);
        let written = serde_json::json!({ "ck_select": { "trained_range": range } });
        let read = spec(&written.to_string()).unwrap();
        assert_eq!(read.trained_range, Some(range));
        assert_eq!(spec("{}").unwrap().trained_range, None);
    }

    #[test]
    fn every_mistake_is_named() {
        for (json, message) in [
            ("[1]", "feature_spec.json: document: found '[1]', expected a JSON object"),
            (
                "{\n\"arch\": 3}",
                "feature_spec.json: invalid type: integer `3`, expected a string at line 2 column 9",
            ),
            (r#"{"hardware":{"num_cus":256,"num_cus":1}}"#, "the key 'num_cus' appears twice"),
            (r#"{"ck_select":{"trained_range":{"M":[1,2],"M":[1,3]}}}"#, "the key 'M' appears twice"),
            (r#"{"op_type":"grouped_conv","op":"gemm_universal"}"#, "op: found 'gemm_universal'"),
            (r#"{"hardware":{"num_cus":4},"hw_profile":{"num_cus":8}}"#, "hw_profile: found"),
            (
                r#"{"op_type":"softmax"}"#,
                "op_type: found 'softmax', expected one of gemm_universal, gemm_universal_vec, grouped_conv, \
                 fmha",
            ),
            (
                r#"{"feature_engine":"Magic"}"#,
                "feature_engine: found 'Magic', expected one of GemmUniversalFeatureEngine",
            ),
            (
                r#"{"op_type":"gemm_universal_vec"}"#,
                "feature_encoding_version: found 0, expected 1, the version of GemmUniversalVec",
            ),
            (r#"{"feature_names":["M","magic"]}"#, "feature_names: no gemm_universal feature is named magic"),
            (
                r#"{"feature_names":["M"],"categorical_features":["layouts"]}"#,
                "categorical_features: found layouts, expected names that are in feature_names",
            ),
            (
                r#"{"log_targets":["speed"]}"#,
                "log_targets: found 'speed', expected one of tflops, latency, bandwidth, relative",
            ),
            (r#"{"hardware":{"cus":3}}"#, "hardware: found cus, expected one of num_cus"),
            (r#"{"ck_select":{"k_tiles":"x"}}"#, "unknown field `k_tiles`, expected one of `k_tile`"),
            (r#"{"arch":"mi355x"}"#, "arch: found 'mi355x', expected one of gfx950"),
            (
                r#"{"ck_select":{"trained_range":{"magic":[1,2]}}}"#,
                "ck_select.trained_range.magic: found a range, expected none, \
                 as feature_names does not have it",
            ),
            (
                r#"{"ck_select":{"trained_range":{"M":[3,2]}}}"#,
                "ck_select.trained_range.M: found [3, 2], expected the smallest value, then the largest",
            ),
            (
                r#"{"ck_select":{"trained_range":{"M":[3]}}}"#,
                "invalid length 1, expected an array of length 2",
            ),
            (
                r#"{"op_type":"grouped_conv","ck_select":{"trained_on":{"numbers":{"H":[1,2]}}}}"#,
                "ck_select.trained_on.numbers: found H, expected one of ndim, N, C, K, G",
            ),
            (
                r#"{"op_type":"grouped_conv","ck_select":{"trained_on":{"numbers":{"N":[2,1]}}}}"#,
                "ck_select.trained_on.N: found [2, 1], expected the smallest value",
            ),
            (
                r#"{"op_type":"grouped_conv","ck_select":{"trained_on":{"words":{"dtype":["bf16"]}}}}"#,
                "ck_select.trained_on.words: found dtype, expected one of direction",
            ),
            (
                r#"{"op_type":"grouped_conv","ck_select":{"trained_on":{"words":{"layout":["x"]}}}}"#,
                "ck_select.trained_on.layout: found 'x', expected a word of the field",
            ),
            (
                r#"{"op_type":"grouped_conv","ck_select":{"trained_on":{"number":{}}}}"#,
                "unknown field `number`",
            ),
        ] {
            let error = spec(json).unwrap_err();
            assert!(error.contains(message), "{json}: {error}");
        }
    }
}
