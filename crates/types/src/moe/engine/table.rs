//! A table: a configuration for each token count, read strictly and written as the engines write it.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;

use serde_json::{Map, Value};

use super::config::TritonConfig;
use crate::invalid::InvalidField;
use crate::{files, json};

/// The key beside the token counts that vLLM's tables have.
const TRITON_VERSION: &str = "triton_version";

/// A table's configurations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigTable {
    /// The version of Triton that compiled the configurations, if the table says it.
    pub triton: Option<String>,
    /// The configuration of each token count.
    pub rows: BTreeMap<u32, TritonConfig>,
}

/// A number above 0 in its usual digits.
pub(super) fn whole(text: &str) -> Option<u32> {
    let number: u32 = text.parse().ok()?;
    (number > 0 && number.to_string() == text).then_some(number)
}

/// A file that cannot be read, or that is something else than expected.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {reason}")]
pub struct TableError {
    /// The file.
    pub file: String,
    /// Why: the key, what it holds and what it may hold.
    pub reason: String,
}

/// Reads the object of a JSON file.
pub(super) fn read_object<T>(
    path: &Path,
    parse: impl FnOnce(&Map<String, Value>) -> Result<T, InvalidField>,
) -> Result<T, TableError> {
    let fault =
        |reason: &dyn Display| TableError { file: path.display().to_string(), reason: reason.to_string() };
    let bytes = files::read(path).map_err(|error| fault(&error))?;
    let object = json::object(&bytes).map_err(|error| fault(&error))?;
    parse(&object).map_err(|error| fault(&error))
}

impl ConfigTable {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, TableError> {
        read_object(path, Self::from_json)
    }

    /// Reads the object of a file.
    fn from_json(object: &Map<String, Value>) -> Result<Self, InvalidField> {
        let mut table = Self::default();
        for (key, value) in object {
            match (whole(key), value) {
                (None, Value::String(version)) if key == TRITON_VERSION => {
                    table.triton = Some(version.clone());
                }
                (None, _) => {
                    let expected = format!("token counts such as \"64\", and perhaps {TRITON_VERSION}");
                    return Err(InvalidField::new("key", format_args!("'{key}'"), expected));
                }
                (Some(tokens), entry) => {
                    let config = TritonConfig::from_json(entry).map_err(|fault| InvalidField {
                        field: format!("{key}: {}", fault.field),
                        ..fault
                    })?;
                    table.rows.insert(tokens, config);
                }
            }
        }
        if table.rows.is_empty() {
            return Err(InvalidField::new("keys", "no token count", "at least one"));
        }
        Ok(table)
    }

    /// The file's text, as the engines' tuners write it.
    pub fn to_text(&self) -> String {
        let version = self
            .triton
            .iter()
            .map(|version| format!("    \"{TRITON_VERSION}\": {}", Value::from(version.as_str())));
        let entries = self.rows.iter().map(|(tokens, config)| {
            let keys: Vec<String> =
                config.entries().map(|(key, value)| format!("        \"{key}\": {value}")).collect();
            format!("    \"{tokens}\": {{\n{}\n    }}", keys.join(",\n"))
        });
        let all: Vec<String> = version.chain(entries).collect();
        format!("{{\n{}\n}}\n", all.join(",\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ConfigKey, Engine, TableKey};
    use super::*;

    const ENTRY: &str = r#""BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 128, "GROUP_SIZE_M": 1"#;

    fn parse(text: &str) -> Result<ConfigTable, String> {
        let object = json::object(text.as_bytes()).map_err(|error| error.to_string())?;
        ConfigTable::from_json(&object).map_err(|error| error.to_string())
    }

    /// A table as SGLang's tuner wrote it.
    #[test]
    fn a_table_is_written_as_it_was_read() {
        let text = "{\n    \"1\": {\n        \"BLOCK_SIZE_M\": 16,\n        \"BLOCK_SIZE_N\": 64,\n        \
            \"BLOCK_SIZE_K\": 128,\n        \"GROUP_SIZE_M\": 16,\n        \"num_warps\": 4,\n        \
            \"num_stages\": 3,\n        \"USE_TMA\": true\n    },\n    \"24\": {\n        \"BLOCK_SIZE_M\": 16,\n        \
            \"BLOCK_SIZE_N\": 64,\n        \"BLOCK_SIZE_K\": 128,\n        \"GROUP_SIZE_M\": 1,\n        \
            \"num_warps\": 4,\n        \"num_stages\": 2,\n        \"waves_per_eu\": 0,\n        \
            \"matrix_instr_nonkdim\": 16,\n        \"kpack\": 2\n    }\n}\n";
        let table = parse(text).unwrap();
        assert_eq!(table.to_text(), text);
        assert_eq!(table.rows[&24].get(ConfigKey::Kpack), Some(2));
        let versioned = text.replacen("{\n", "{\n    \"triton_version\": \"3.6.0\",\n", 1);
        let table = parse(&versioned).unwrap();
        assert_eq!((table.triton.as_deref(), table.to_text()), (Some("3.6.0"), versioned));
    }

    #[test]
    fn what_is_no_table_is_refused_by_its_key() {
        for (text, expected) in [
            (
                r#"{"version": {"cutedsl": "4.6"}}"#.to_owned(),
                "key: found 'version', expected token counts such as \"64\"",
            ),
            ("{}".to_owned(), "keys: found no token count, expected at least one"),
            (r#"{"triton_version": "3.6.0"}"#.to_owned(), "keys: found no token count"),
            (format!("{{\"08\": {{{ENTRY}}}}}"), "key: found '08'"),
            (format!("{{\"8\": {{{ENTRY}}}, \"8\": {{{ENTRY}}}}}"), "the key '8' appears twice"),
            (r#"{"8": 64}"#.to_owned(), "8: entry: found 64, expected an object"),
            (r#"{"8": {"block_size": 448}}"#.to_owned(), "8: key: found 'block_size', expected a known one"),
            (
                r#"{"8": {"BLOCK_SIZE_M": 16}}"#.to_owned(),
                "8: BLOCK_SIZE_N: found nothing, expected a number",
            ),
            (
                format!("{{\"8\": {{{ENTRY}, \"num_warps\": 3}}}}"),
                "8: num_warps: found 3, expected 1, 2, 4, 8, 16 or 32",
            ),
            (format!("{{\"8\": {{{ENTRY}, \"num_warps\": 4.0}}}}"), "8: num_warps: found 4.0, expected 1, 2"),
            (
                format!("{{\"8\": {{{ENTRY}, \"USE_TMA\": 1}}}}"),
                "8: USE_TMA: found 1, expected true or false",
            ),
            (format!("{{\"8\": {{{ENTRY}, \"kpack\": true}}}}"), "8: kpack: found true, expected 1 or 2"),
            (
                format!("{{\"8\": {{{}}}}}", ENTRY.replace("16", "48")),
                "8: BLOCK_SIZE_M: found 48, expected a power of two",
            ),
        ] {
            let error = parse(&text).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn entries_that_an_engine_would_take_otherwise_are_refused() {
        let check = |name: &str, engine, more: &str| {
            let (_, key) = TableKey::from_path(Path::new(name)).unwrap();
            let table = parse(&format!("{{\"8\": {{{ENTRY}{more}}}}}")).unwrap();
            key.check(engine, &table).map_err(|error| error.to_string())
        };
        let nvidia = "E=8,N=64,device_name=NVIDIA_H200.json";
        let amd = "E=8,N=64,device_name=AMD_Instinct_MI300X.json";
        let blocks = "E=8,N=64,device_name=NVIDIA_H200,dtype=fp8_w8a8,block_shape=[64,64].json";
        for engine in [Engine::Vllm, Engine::Sglang] {
            assert_eq!(check(nvidia, engine, ", \"num_warps\": 4"), Ok(()));
            assert_eq!(check(amd, engine, ", \"waves_per_eu\": 0"), Ok(()));
            let error = check(nvidia, engine, ", \"waves_per_eu\": 0").unwrap_err();
            assert_eq!(error, "8: waves_per_eu: found 0, expected none: only AMD's GPUs have it");
            let error = check(blocks, engine, "").unwrap_err();
            assert_eq!(
                error,
                "8: BLOCK_SIZE_K: found 128, expected a divisor of 64, the depth of a block of weights"
            );
        }
        assert!(check(nvidia, Engine::Vllm, ", \"USE_TMA\": true").unwrap_err().contains("USE_TMA: found 1"));
        assert!(check(nvidia, Engine::Sglang, ", \"SPLIT_K\": 1").unwrap_err().contains("SPLIT_K: found 1"));
        let (_, key) = TableKey::from_path(Path::new(nvidia)).unwrap();
        let table = ConfigTable {
            triton: Some("3.6.0".to_owned()),
            ..parse(&format!("{{\"8\": {{{ENTRY}}}}}")).unwrap()
        };
        assert!(key.check(Engine::Sglang, &table).unwrap_err().to_string().starts_with("triton_version: "));
    }
}
