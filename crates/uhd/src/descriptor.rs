//! The descriptor: which model scores candidates, on which features, and which way is better.

use std::fs;
use std::path::{Path, PathBuf};

use ck_select_types::files;
use ck_select_types::json::Strict;
use ck_select_types::problem::InvalidField;
use serde_json::{Map, Value};

use crate::hgbm::{Hgbm, MAX_BYTES};
use crate::refused;
use crate::signature::{self, features_hash, sha256};

const MAX_DOCUMENT: usize = 8 << 20;
const ADAPTERS: [&str; 6] = ["static_order", "native", "tree_data", "table", "onnx", "custom_library"];

/// Every key: `?` before those that may be absent, then what it holds; `=` before the words of a choice.
/// Members of a list have its key and `[]`. Keys of objects without a line here are not looked at.
const KEYS: &str = "
    version =1.0
    id uuid
    name text
    adapter =static_order|native|tree_data|table|onnx|custom_library
    ?objective =max|min
    ?features_signature list
    ?features_hash text
    ?categorical_encoding vocabularies
    ?provenance any
    ?score object
    ?score.metric =tflops|time
    ?score.units =tflops
    ?score.calibrated flag
    ?score.transform =identity|log1p|log|exp|sqrt
    ?trained_against object
    ?trained_against.selector_revision text
    ?trained_against.feature_semantics_revision count
    ?trained_against.ued object
    trained_against.ued.id uuid
    trained_against.ued.revision revision
    ?trained_against.kmd object
    trained_against.kmd.id uuid
    trained_against.kmd.revision revision
    ?trained_against.umd list
    trained_against.umd[].id uuid
    trained_against.umd[].revision revision
    ?static_order object
    ?static_order.order list
    ?native object
    native.symbol text
    ?tree_data object
    tree_data.artifact path
    ?tree_data.hash digest
    ?table object
    table.artifact path
    ?table.hash digest
    ?onnx object
    onnx.artifact path
    ?onnx.hash digest
    ?custom_library object
    custom_library.library path
    custom_library.symbol text
    ?custom_library.hash digest
    ?custom_library.config nothing
";

/// A checked descriptor.
#[derive(Debug, Clone, PartialEq)]
pub struct Descriptor {
    keys: Map<String, Value>,
    /// What only descriptors of an older generation have, which newer hipDNN refuses.
    old: Vec<&'static str>,
}

impl Descriptor {
    /// Reads and checks a document.
    pub fn parse(text: &[u8]) -> Result<Self, InvalidField> {
        if text.get(4..8) == Some(b"HUHD") {
            return refused("document", "a FlatBuffer, as the first generation was", "JSON");
        }
        if text.len() > MAX_DOCUMENT {
            return refused("document", format_args!("{} bytes", text.len()), "8 MiB at most");
        }
        match serde_json::from_slice(text) {
            Ok(Strict(Value::Object(keys))) => Self::new(keys),
            Ok(_) => refused("document", "another value", "an object"),
            Err(error) => refused("document", error, "JSON"),
        }
    }

    /// Checks the keys of a document.
    pub fn new(keys: Map<String, Value>) -> Result<Self, InvalidField> {
        check(&keys, "")?;
        let mut checked = Self { keys, old: Vec::new() };
        let adapter = checked.adapter();
        let bodies: Vec<&str> = ADAPTERS.into_iter().filter(|body| checked.has(body)).collect();
        if bodies != [adapter] {
            return refused(
                "adapter",
                format_args!("'{adapter}' and the bodies {bodies:?}"),
                "one body of its name",
            );
        }
        if adapter != "static_order" && !checked.has("objective") {
            return refused("objective", "nothing", "max or min");
        }
        checked.check_features()?;
        checked.check_score()?;
        let trained = &checked.keys.get("trained_against");
        if let Some(Value::Object(trained)) = trained {
            let named = ["ued", "kmd", "umd"].iter().filter(|key| trained.contains_key(**key)).count();
            let is_named = named == 3 || (named == 0 && trained.contains_key("selector_revision"));
            let ids = trained.get("umd").and_then(Value::as_array).into_iter().flatten();
            let mut ids: Vec<String> = ids.map(|one| one["id"].to_string().to_lowercase()).collect();
            ids.sort();
            if !is_named || ids.windows(2).any(|pair| pair[0] == pair[1]) {
                let expected = "ued, kmd and umd with different ids, or selector_revision";
                return refused("trained_against", Value::Object(trained.clone()), expected);
            }
        }
        let hashless = adapter == "custom_library" && checked.body("hash").is_none();
        let old = [
            (checked.score("units").is_some(), "score.units"),
            (checked.body("order").is_some(), "static_order.order"),
            (hashless, "custom_library without hash"),
            (signature::has_old(checked.signature()), "the operator 'all'"),
        ];
        checked.old = old.into_iter().filter_map(|(is_there, what)| is_there.then_some(what)).collect();
        Ok(checked)
    }

    fn check_features(&self) -> Result<(), InvalidField> {
        if !self.has("features_signature") {
            let reads = ["tree_data", "table", "onnx"].contains(&self.adapter());
            return if reads { refused("features_signature", "nothing", "a list") } else { Ok(()) };
        }
        signature::check(self.signature())?;
        let (found, expected) = (self.keys.get("features_hash").unwrap_or(&Value::Null), self.hash());
        if found != &expected {
            return refused("features_hash", found, &format!("{expected}, of the signature"));
        }
        if self.has("trained_against") { Ok(()) } else { refused("trained_against", "nothing", "an object") }
    }

    fn check_score(&self) -> Result<(), InvalidField> {
        let metric = self.score("metric").or(self.score("units"));
        let objective = self.keys.get("objective").and_then(Value::as_str);
        let is_calibrated =
            self.keys.get("score").and_then(|score| score.get("calibrated")) == Some(&true.into());
        match (metric, objective) {
            (Some("tflops"), Some("max")) | (Some("time"), Some("min")) => Ok(()),
            (None, _) if !is_calibrated => Ok(()),
            (None, _) => refused("score.calibrated", true, "a metric with it"),
            (Some(metric), _) => refused(
                "score.metric",
                format_args!("'{metric}'"),
                "tflops with objective max, or time with min",
            ),
        }
    }

    /// The keys of the document.
    pub const fn keys(&self) -> &Map<String, Value> {
        &self.keys
    }

    /// See [`Descriptor`]; empty for the newest generation.
    pub fn old(&self) -> &[&'static str] {
        &self.old
    }

    fn has(&self, key: &str) -> bool {
        self.keys.contains_key(key)
    }

    /// Who scores.
    pub fn adapter(&self) -> &str {
        self.keys.get("adapter").and_then(Value::as_str).unwrap_or_default()
    }

    fn body(&self, key: &str) -> Option<&Value> {
        self.keys.get(self.adapter())?.get(key)
    }

    /// The features, in the order of a row's values; none for adapters that read none.
    pub fn signature(&self) -> &[Value] {
        self.keys.get("features_signature").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// A string of `score`.
    pub fn score(&self, key: &str) -> Option<&str> {
        self.keys.get("score")?.get(key)?.as_str()
    }

    fn hash(&self) -> String {
        features_hash(&self.keys["features_signature"], self.keys.get("categorical_encoding"))
    }

    /// The artifact or library of a descriptor at this path: a file in its folder or below, whatever links
    /// say.
    pub fn artifact(&self, at: &Path) -> Result<Option<PathBuf>, InvalidField> {
        let Some(name) = self.body("artifact").or(self.body("library")).and_then(Value::as_str) else {
            return Ok(None);
        };
        let folder = files::folder_of(at);
        let real = |path: &Path| {
            fs::canonicalize(path).or_else(|error| refused(path.display().to_string(), error, "a file"))
        };
        let (within, path) = (real(folder)?, real(&folder.join(name))?);
        if path.starts_with(within) {
            return Ok(Some(path));
        }
        refused(name, path.display(), "a file in the descriptor's folder")
    }

    /// Checks the bytes of its artifact, and reads those of `tree_data`.
    pub fn open(&self, bytes: &[u8]) -> Result<Option<Hgbm>, InvalidField> {
        if bytes.is_empty() || bytes.len() as u64 > MAX_BYTES {
            return refused("artifact", format_args!("{} bytes", bytes.len()), "1 byte to 256 MiB");
        }
        let (found, recorded) = (sha256(bytes), self.body("hash").and_then(Value::as_str));
        if let Some(recorded) = recorded.filter(|recorded| *recorded != found) {
            return refused(
                "artifact",
                format_args!("SHA-256 {found}"),
                &format!("{recorded}, the descriptor's"),
            );
        }
        if self.adapter() != "tree_data" {
            return Ok(None);
        }
        let within =
            |error: InvalidField| InvalidField { field: format!("artifact: {}", error.field), ..error };
        let model = Hgbm::read(bytes).map_err(within)?;
        let (found, expected) = (model.num_features as usize, self.signature().len());
        if found != expected {
            return refused(
                "artifact: num_features",
                found,
                &format!("{expected}, the entries of the signature"),
            );
        }
        if model.features_hash != self.hash() {
            let expected = format!("{}, the descriptor's", self.hash());
            return refused("artifact: features_hash", format_args!("'{}'", model.features_hash), &expected);
        }
        Ok(Some(model))
    }
}

/// Checks the keys of an object at a place, and all objects in it.
fn check(object: &Map<String, Value>, place: &str) -> Result<(), InvalidField> {
    let mut known = Vec::new();
    for line in KEYS.lines().map(str::trim) {
        let (is_optional, line) = line.strip_prefix('?').map_or((false, line), |line| (true, line));
        let Some((path, kind)) = line.split_once(' ') else { continue };
        let (within, key) = path.rsplit_once('.').unwrap_or(("", path));
        if within != place {
            continue;
        }
        known.push(key);
        let value = object.get(key).unwrap_or(&Value::Null);
        let is_absent = is_optional && !object.contains_key(key);
        match kind.strip_prefix('=') {
            _ if is_absent || holds(kind, value) => {}
            Some(words) => return refused(path, value, &words.replace('|', ", ")),
            None => return refused(path, value, expected(kind)),
        }
        match value {
            Value::Object(inner) if kind == "object" => check(inner, path)?,
            Value::Array(all) if place == "trained_against" => {
                for one in all {
                    let none = Map::new();
                    check(one.as_object().unwrap_or(&none), &format!("{path}[]"))?;
                }
            }
            _ => {}
        }
    }
    let is_known = |key: &str| key.starts_with("x-") || key.starts_with('_') || known.contains(&key);
    match object.keys().find(|key| !is_known(key)) {
        Some(key) => {
            refused(format!("{place}.{key}").trim_start_matches('.'), "an unknown key", &known.join(", "))
        }
        None => Ok(()),
    }
}

fn expected(kind: &str) -> &'static str {
    match kind {
        "uuid" => "a UUID, such as 5f2a7c14-9d3b-4e86-b0a1-6c4f21d8e370",
        "text" => "a string that is not empty",
        "flag" => "true or false",
        "count" => "an integer from 1",
        "revision" => "major.minor",
        "path" => "a path in the descriptor's folder",
        "digest" => "64 lowercase hexadecimal digits",
        "nothing" => "{}",
        "vocabularies" => "names with words, each with a 32-bit integer",
        "list" => "a list",
        _ => "an object",
    }
}

/// Whether a value is of a kind.
fn holds(kind: &str, value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    match kind {
        "any" => true,
        "list" => value.is_array(),
        "object" => value.is_object(),
        "flag" => value.is_boolean(),
        "text" => !text.is_empty(),
        "count" => value.as_i64().is_some_and(|count| count > 0),
        "nothing" => value.as_object().is_some_and(Map::is_empty),
        "uuid" => {
            let is_hex = |part: &&str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
            text.split('-').filter(is_hex).map(str::len).eq([8, 4, 4, 4, 12]) && text.len() == 36
        }
        "revision" => {
            let is_number =
                |part: &str| (1..=9).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
            text.split_once('.').is_some_and(|(major, minor)| is_number(major) && is_number(minor))
        }
        "digest" => text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')),
        "path" => {
            let leads_out = text.starts_with('/') || text.contains(['\\', ':', '\0']);
            !leads_out
                && text.split('/').all(|part| part != "..")
                && !matches!(text.rsplit('/').next(), Some("" | "."))
        }
        "vocabularies" => {
            let is_code = |code: &Value| code.as_i64().is_some_and(|code| i32::try_from(code).is_ok());
            let is_words = |words: &Value| {
                words.as_object().is_some_and(|words| !words.is_empty() && words.values().all(is_code))
            };
            value
                .as_object()
                .is_some_and(|all| all.iter().all(|(name, words)| name.starts_with('$') && is_words(words)))
        }
        choice => choice.strip_prefix('=').is_some_and(|words| words.split('|').any(|word| word == text)),
    }
}
