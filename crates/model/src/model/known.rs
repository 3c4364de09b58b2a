//! Models from elsewhere whose specs omit what they were trained with: recognised by name, and completed with
//! a reason.

use std::path::Path;

use serde_json::{Map, Value};

use super::FeatureSpec;
use crate::features::KernelMapping;
use crate::hardware::Hardware;
use crate::vocab::{Direction, Op};

/// A value that a spec lacks, and its substitute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filled {
    /// The key of the spec.
    pub field: &'static str,
    /// The assumed value.
    pub value: String,
    /// The source of that value.
    pub reason: &'static str,
}

/// A model of CK's DSL provider for convolutions, forward and fp16. Its converter of measurements writes the
/// hardware, 256 threads per workgroup and the tile into the training rows; its trainer records none of that
/// in the spec.
struct Known {
    name: &'static str,
    arch: &'static str,
    hardware: Hardware,
}

/// What engines assume by default.
const BASE: Hardware = Hardware {
    num_cus: 256,
    simds_per_cu: 4,
    shader_engines: 32,
    max_clock_mhz: 2400,
    max_waves_per_cu: 32,
    wavefront_size: 64,
    lds_capacity: 65536,
    l1_cache_kb: 32,
    l2_cache_kb: 4096,
    l3_cache_kb: 262_144,
    num_xcd: 8,
};

const KNOWN: [Known; 3] = [
    Known {
        name: "grouped_conv_forward_fp16_gfx90a",
        arch: "gfx90a",
        hardware: Hardware {
            num_cus: 104,
            shader_engines: 4,
            max_clock_mhz: 1700,
            l1_cache_kb: 16,
            l2_cache_kb: 8192,
            l3_cache_kb: 0,
            num_xcd: 1,
            ..BASE
        },
    },
    Known {
        name: "grouped_conv_forward_fp16_gfx942",
        arch: "gfx942",
        hardware: Hardware { num_cus: 228, shader_engines: 28, max_clock_mhz: 2100, ..BASE },
    },
    Known {
        name: "grouped_conv_forward_fp16_gfx950",
        arch: "gfx950",
        hardware: Hardware { num_cus: 304, shader_engines: 38, ..BASE },
    },
];

const CONVERTER: &str = "CK DSL's convert_dsl_csv_to_parquet.py, by the model's name";
const CONSTRUCTOR: &str = "upstream's constructor, as the spec says none; --hardware takes others";

impl FeatureSpec {
    /// Fills in what the spec of a model omits; `file` is the spec's. Hardware and direction that it has are
    /// kept. A model's name is that of its directory, whatever path leads there.
    pub(super) fn fill_in(&mut self, file: &str, says_hardware: bool) {
        let file = Path::new(file);
        let whole = file.is_file().then(|| file.canonicalize().ok()).flatten();
        let name_of = |file: &Path| Some(file.parent()?.file_name()?.to_str()?.to_owned());
        let names = [name_of(file), whole.as_deref().and_then(name_of)];
        let known = KNOWN.iter().find(|known| {
            names.iter().flatten().any(|name| name == known.name)
                && self.op() == Op::GroupedConv
                && self.arch.is_some_and(|arch| arch.as_str() == known.arch)
                && self.dtype.is_some_and(|dtype| dtype.as_str() == "fp16")
        });
        let mut fill = |field, value: String, reason| self.filled.push(Filled { field, value, reason });
        match known {
            Some(known) if !says_hardware => {
                self.extractor.hardware = known.hardware;
                fill("hardware", short(&known.hardware), CONVERTER);
            }
            _ if !says_hardware => fill("hardware", short(&self.extractor.hardware), CONSTRUCTOR),
            _ => {}
        }
        let (Some(_), None) = (known, self.direction) else { return };
        fill("variant", Direction::Forward.to_string(), CONVERTER);
        fill("ck_select.kernel_mapping", "tile".to_owned(), CONVERTER);
        self.direction = Some(Direction::Forward);
        self.extractor.rules.kernel_mapping = KernelMapping::Tile;
    }
}

impl FeatureSpec {
    /// The constants that were assumed for lack of better ones, if features depend on them and the model is
    /// not for the GPU whose constants upstream assumes. Upstream asks it with the same, but it was probably
    /// trained with others.
    pub fn assumed_hardware(&self) -> Option<&str> {
        let assumed = self.filled.iter().find(|filled| filled.reason == CONSTRUCTOR)?;
        let foreign = self.arch.is_some_and(|arch| arch.as_str() != "gfx950");
        let names = self.extractor.schema.names();
        let depends = names.iter().any(|name| name.starts_with("hw_") || name.contains("cu_"));
        (foreign && depends).then_some(assumed.value.as_str())
    }

    /// The document of this spec with what was filled in written down, so that it does not depend on the name
    /// of its directory any more.
    pub fn completed(&self, mut document: Value) -> Value {
        let Some(object) = document.as_object_mut() else { return document };
        for filled in &self.filled {
            match filled.field {
                "hardware" if filled.reason == CONVERTER => {
                    let hardware = &self.extractor.hardware;
                    let constants = Hardware::NAMES.map(|name| (name.to_owned(), hardware.get(name).into()));
                    object.insert("hardware".to_owned(), Value::Object(constants.into_iter().collect()));
                }
                "variant" => {
                    object.insert("variant".to_owned(), filled.value.clone().into());
                }
                "ck_select.kernel_mapping" => {
                    let ours = object.entry("ck_select").or_insert_with(|| Value::Object(Map::new()));
                    if let Some(ours) = ours.as_object_mut() {
                        ours.insert("kernel_mapping".to_owned(), filled.value.clone().into());
                    }
                }
                _ => {}
            }
        }
        document
    }
}

fn short(hardware: &Hardware) -> String {
    let Hardware { num_cus, shader_engines, max_clock_mhz, .. } = hardware;
    format!("{num_cus} compute units, {shader_engines} shader engines, {max_clock_mhz} MHz")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(folder: &str, more: &str) -> FeatureSpec {
        let text = format!(
            r#"{{"op_type": "grouped_conv", "dtype": "fp16", "arch": "gfx942",
                "feature_names": ["N", "K_per_C", "hw_num_cus"], "categorical_features": ["pipeline"],
                "tflops_log_transform": true, "feature_indices": [0, 1, 2]{more}}}"#
        );
        FeatureSpec::from_json(&format!("{folder}/feature_spec.json"), text.as_bytes()).unwrap()
    }

    #[test]
    fn known_models_are_asked_with_what_they_were_trained_with() {
        let spec = spec("models/grouped_conv_forward_fp16_gfx942", "");
        let hardware = spec.extractor.hardware;
        assert_eq!((hardware.num_cus, hardware.shader_engines, hardware.max_clock_mhz), (228, 28, 2100));
        assert_eq!(
            (spec.direction, spec.extractor.rules.kernel_mapping),
            (Some(Direction::Forward), KernelMapping::Tile)
        );
        let fields: Vec<&str> = spec.filled.iter().map(|filled| filled.field).collect();
        assert_eq!(fields, ["categorical_features", "hardware", "variant", "ck_select.kernel_mapping"]);
        assert_eq!(spec.filled[1].value, "228 compute units, 28 shader engines, 2100 MHz");
        assert!(spec.categorical_features.is_empty(), "pipeline is no feature of it");
    }

    #[test]
    fn a_name_alone_fills_nothing_and_what_a_spec_says_stays() {
        for other in ["grouped_conv_forward_fp16_gfx950", "mine"] {
            let spec = spec(other, "");
            assert_eq!((spec.extractor.hardware, spec.direction), (Hardware::default(), None), "{other}");
            assert!(spec.filled.iter().any(|filled| filled.reason == CONSTRUCTOR));
        }
        let said = spec("grouped_conv_forward_fp16_gfx942", r#", "hardware": {"num_cus": 100}"#);
        assert_eq!(said.extractor.hardware.num_cus, 100);
        assert!(said.filled.iter().all(|filled| filled.field != "hardware"));
    }

    #[test]
    fn other_paths_lead_to_the_same_model_and_a_copy_can_say_it_all() {
        let place = tempfile::tempdir().unwrap();
        let named = place.path().join("grouped_conv_forward_fp16_gfx942");
        std::fs::create_dir(&named).unwrap();
        let text = r#"{"op_type": "grouped_conv", "dtype": "fp16", "arch": "gfx942",
            "feature_names": ["N", "K_per_C", "hw_num_cus"], "ck_select": {"rank_by": "tflops"}}"#;
        std::fs::write(named.join("feature_spec.json"), text).unwrap();
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&named, &link).unwrap();
        let read =
            |file: &Path| FeatureSpec::from_json(&file.display().to_string(), text.as_bytes()).unwrap();
        let spec = read(&named.join("feature_spec.json"));
        assert_eq!((spec.extractor.hardware.num_cus, spec.assumed_hardware()), (228, None));
        for other in [
            link.join("feature_spec.json"),
            named.join("../grouped_conv_forward_fp16_gfx942/./feature_spec.json"),
        ] {
            assert_eq!(read(&other).extractor.hardware, spec.extractor.hardware, "{}", other.display());
        }
        // A renamed one is another model, of which that is said.
        let renamed = read(&place.path().join("mine/feature_spec.json"));
        assert_eq!(renamed.assumed_hardware(), Some("256 compute units, 32 shader engines, 2400 MHz"));
        let whole = spec.completed(serde_json::from_str(text).unwrap()).to_string();
        let copy = FeatureSpec::from_json("mine/feature_spec.json", whole.as_bytes()).unwrap();
        let all = |spec: &FeatureSpec| (spec.extractor.hardware, spec.extractor.rules, spec.direction);
        assert_eq!(all(&copy), all(&spec));
    }

    #[test]
    fn the_base_is_upstreams_constructor() {
        assert_eq!(BASE, Hardware::default());
    }
}
