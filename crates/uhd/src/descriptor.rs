//! The descriptor: which model scores candidates, on which features, and which way is better.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use ck_select_types::files;
use ck_select_types::json;
use ck_select_types::problem::InvalidField;
use serde_json::{Map, Value};

use crate::hgbm::{Hgbm, MAX_BYTES};
use crate::signature::{self, compact, features_hash, sha256};
use crate::{refused, require};

const MAX_DOCUMENT: usize = 8 << 20;

const ADAPTERS: [&str; 6] = ["static_order", "native", "tree_data", "table", "onnx", "custom_library"];

/// Each kind of object with its keys: `?` before those that may be absent, then the kind of what a key holds;
/// `=` before the words of a choice.
const OBJECTS: [(&str, &str); 8] = [
    (
        "descriptor",
        "version =1.0, id uuid, name text, adapter =static_order|native|tree_data|table|onnx|custom_library, \
         ?objective =max|min, ?features_signature list, ?features_hash text, ?categorical_encoding \
         vocabularies, ?score score, ?trained_against revisions, ?provenance any, ?static_order order, \
         ?native native, ?tree_data file, ?table file, ?onnx file, ?custom_library library",
    ),
    (
        "score",
        "?metric =tflops|time, ?units =tflops, ?calibrated flag, ?transform =identity|log1p|log|exp|sqrt",
    ),
    (
        "revisions",
        "?selector_revision text, ?feature_semantics_revision count, ?ued identity, ?kmd identity, ?umd \
         identities",
    ),
    ("identity", "id uuid, revision revision"),
    ("order", "?order list"),
    ("native", "symbol text"),
    ("file", "artifact path, ?hash digest"),
    ("library", "library path, symbol text, ?hash digest, ?config nothing"),
];

/// A checked descriptor.
#[derive(Debug, Clone, PartialEq)]
pub struct Descriptor {
    document: Value,
}

impl Descriptor {
    /// Reads and checks a document.
    pub fn parse(text: &[u8]) -> Result<Self, InvalidField> {
        let is_flat = text.get(4..8) == Some(b"HUHD");
        require(!is_flat, "document", "a FlatBuffer, as the first generation was", "JSON")?;
        let length = text.len();
        require(length <= MAX_DOCUMENT, "document", format_args!("{length} bytes"), "8 MiB at most")?;
        json::object(text)
            .or_else(|error| refused("document", format_args!("({error})"), "a JSON object"))
            .and_then(Self::new)
    }

    /// Checks the keys of a document.
    pub fn new(keys: Map<String, Value>) -> Result<Self, InvalidField> {
        check_object(&keys, "descriptor", "")?;
        let checked = Self { document: keys.into() };
        checked.check_features()?;
        checked.check_trained()?;
        checked.check_score()?;
        Ok(checked)
    }

    /// The keys that depend on one another.
    fn check_features(&self) -> Result<(), InvalidField> {
        let (adapter, has) = (self.adapter(), |key: &&str| self.document.get(key).is_some());
        let bodies: Vec<&str> = ADAPTERS.into_iter().filter(has).collect();
        let found = format_args!("'{adapter}' and the bodies {bodies:?}");
        require(bodies == [adapter], "adapter", found, "one body of its name")?;
        let is_ordered = adapter == "static_order" || has(&"objective");
        require(is_ordered, "objective", "nothing", "max or min")?;
        if !has(&"features_signature") {
            let reads_none = !["tree_data", "table", "onnx"].contains(&adapter);
            return require(reads_none, "features_signature", "nothing", "a list");
        }
        signature::check(self.signature())?;
        let (found, expected) = (&self.document["features_hash"], self.hash());
        let is_same = *found == *expected;
        require(is_same, "features_hash", found, format_args!("{expected}, of the signature"))?;
        require(has(&"trained_against"), "trained_against", "nothing", "an object")
    }

    fn check_trained(&self) -> Result<(), InvalidField> {
        let Some(trained) = self.document.get("trained_against") else { return Ok(()) };
        let named = ["ued", "kmd", "umd"].iter().filter(|key| trained.get(key).is_some()).count();
        let is_named = named == 3 || (named == 0 && trained.get("selector_revision").is_some());
        let mut ids = HashSet::new();
        let mut others = trained["umd"].as_array().into_iter().flatten();
        let is_named = is_named && others.all(|one| ids.insert(one["id"].to_string().to_lowercase()));
        let expected = "ued, kmd and umd with different ids, or selector_revision";
        require(is_named, "trained_against", trained, expected)
    }

    fn check_score(&self) -> Result<(), InvalidField> {
        let (score, objective) = (&self.document["score"], self.document["objective"].as_str());
        let Some(metric) = score["metric"].as_str().or(score["units"].as_str()) else {
            return require(score["calibrated"] != true, "score.calibrated", true, "a metric with it");
        };
        let is_same = matches!((metric, objective), ("tflops", Some("max")) | ("time", Some("min")));
        let expected = "tflops with objective max, or time with min";
        require(is_same, "score.metric", format_args!("'{metric}'"), expected)
    }

    /// Fields that only descriptors of an older generation have, which newer hipDNN refuses.
    pub fn old(&self) -> Vec<&'static str> {
        let hashless = self.adapter() == "custom_library" && self.body("hash").is_none();
        let old = [
            (self.document["score"].get("units").is_some(), "score.units"),
            (self.document["static_order"].get("order").is_some(), "static_order.order"),
            (hashless, "custom_library without hash"),
            (compact(&self.document["features_signature"]).contains(r#"{"all":"#), "the operator 'all'"),
        ];
        old.into_iter().filter_map(|(is_there, what)| is_there.then_some(what)).collect()
    }

    /// The document.
    pub const fn document(&self) -> &Value {
        &self.document
    }

    /// Who scores.
    pub fn adapter(&self) -> &str {
        self.document["adapter"].as_str().unwrap_or_default()
    }

    fn body(&self, key: &str) -> Option<&str> {
        self.document[self.adapter()][key].as_str()
    }

    /// The features, in the order of a row's values; none for adapters that read none.
    pub fn signature(&self) -> &[Value] {
        self.document["features_signature"].as_array().map_or(&[], Vec::as_slice)
    }

    fn hash(&self) -> String {
        features_hash(&self.document["features_signature"], self.document.get("categorical_encoding"))
    }

    /// The artifact or library of a descriptor at this path: a file in its folder or below, whatever links
    /// say.
    pub fn artifact(&self, at: &Path) -> Result<Option<PathBuf>, InvalidField> {
        let Some(name) = self.body("artifact").or(self.body("library")) else { return Ok(None) };
        let folder = files::folder_of(at);
        let real =
            |path: &Path| fs::canonicalize(path).or_else(|error| refused(path.display(), error, "a file"));
        let (within, path) = (real(folder)?, real(&folder.join(name))?);
        require(path.starts_with(within), name, path.display(), "a file in the descriptor's folder")?;
        Ok(Some(path))
    }

    /// Checks the bytes of its artifact, and reads those of `tree_data`.
    pub fn open(&self, bytes: &[u8]) -> Result<Option<Hgbm>, InvalidField> {
        let is_size = (1..=MAX_BYTES).contains(&(bytes.len() as u64));
        require(is_size, "artifact", format_args!("{} bytes", bytes.len()), "1 byte to 256 MiB")?;
        let digest = sha256(bytes);
        let recorded = self.body("hash").unwrap_or(&digest);
        let expected = format_args!("{recorded}, the descriptor's");
        require(recorded == digest, "artifact", format_args!("SHA-256 {digest}"), expected)?;
        if self.adapter() != "tree_data" {
            return Ok(None);
        }
        let within =
            |error: InvalidField| InvalidField { field: format!("artifact: {}", error.field), ..error };
        let model = Hgbm::read(bytes).map_err(within)?;
        let (digest, expected) = (model.num_features as usize, self.signature().len());
        let entries = format_args!("{expected}, the entries of the signature");
        require(digest == expected, "artifact: num_features", digest, entries)?;
        let (digest, expected) = (&model.features_hash, self.hash());
        let is_same = *digest == expected;
        let expected = format_args!("{expected}, the descriptor's");
        require(is_same, "artifact: features_hash", format_args!("'{digest}'"), expected)?;
        Ok(Some(model))
    }
}

/// Checks the keys of an object, and what they hold.
fn check_object(object: &Map<String, Value>, kind: &str, path: &str) -> Result<(), InvalidField> {
    let keys = OBJECTS.iter().find(|(known, _)| *known == kind).map_or("", |(_, keys)| keys);
    let at = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    let mut known = Vec::new();
    for (key, kind) in keys.split(", ").filter_map(|line| line.split_once(' ')) {
        let name = key.trim_start_matches('?');
        known.push(name);
        match object.get(name) {
            None if name != key => {}
            value => check(value.unwrap_or(&Value::Null), kind, &at(name))?,
        }
    }
    let is_known =
        |key: &&String| key.starts_with("x-") || key.starts_with('_') || known.contains(&key.as_str());
    match object.keys().find(|key| !is_known(key)) {
        Some(key) => refused(at(key), "an unknown key", known.join(", ")),
        None => Ok(()),
    }
}

/// Checks what a key holds.
fn check(value: &Value, kind: &str, path: &str) -> Result<(), InvalidField> {
    let text = value.as_str().unwrap_or_default();
    // The lengths of a text's parts, 0 for one with other characters.
    let lengths = |separator: char, is_allowed: fn(&u8) -> bool| -> Vec<usize> {
        let length = |part: &str| if part.bytes().all(|byte| is_allowed(&byte)) { part.len() } else { 0 };
        text.split(separator).map(length).collect()
    };
    let (holds, expected) = match kind {
        "any" => (true, ""),
        "list" | "identities" => (value.is_array(), "a list"),
        "flag" => (value.is_boolean(), "true or false"),
        "text" => (!text.is_empty(), "a string that is not empty"),
        "count" => (value.as_i64().is_some_and(|count| count > 0), "an integer from 1"),
        "nothing" => (value.as_object().is_some_and(Map::is_empty), "{}"),
        "uuid" => {
            let is_uuid = lengths('-', u8::is_ascii_hexdigit) == [8, 4, 4, 4, 12];
            (is_uuid, "a UUID, such as 5f2a7c14-9d3b-4e86-b0a1-6c4f21d8e370")
        }
        "revision" => (matches!(lengths('.', u8::is_ascii_digit)[..], [1..=9, 1..=9]), "major.minor"),
        "digest" => {
            let is_digest = lengths('\0', |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) == [64];
            (is_digest, "64 lowercase hexadecimal digits")
        }
        "path" => {
            let leads_out = text.starts_with('/')
                || text.contains(['\\', ':', '\0'])
                || text.split('/').any(|part| part == "..");
            let is_file = !matches!(text.rsplit('/').next(), Some("" | "."));
            (is_file && !leads_out, "a path in the descriptor's folder")
        }
        "vocabularies" => {
            let is_code = |code: &Value| code.as_i64().is_some_and(|code| i32::try_from(code).is_ok());
            let are_words = |words: &Map<String, Value>| !words.is_empty() && words.values().all(is_code);
            let is_one = |(name, words): (&String, &Value)| {
                name.starts_with('$') && words.as_object().is_some_and(are_words)
            };
            let holds = value.as_object().is_some_and(|all| all.iter().all(is_one));
            (holds, "names with words, each with a 32-bit integer")
        }
        kind => match kind.strip_prefix('=') {
            Some(words) => {
                let is_word = words.split('|').any(|word| word == text);
                return require(is_word, path, value, words.replace('|', ", "));
            }
            None => (value.is_object(), "an object"),
        },
    };
    require(holds, path, value, expected)?;
    match value {
        Value::Object(object) if OBJECTS.iter().any(|(known, _)| *known == kind) => {
            check_object(object, kind, path)
        }
        Value::Array(all) if kind == "identities" => {
            all.iter().try_for_each(|one| check(one, "identity", &format!("{path}[]")))
        }
        _ => Ok(()),
    }
}
