//! Models from elsewhere whose specs omit what they were trained with: recognised by name, and completed with
//! a reason.

use std::path::Path;

use super::FeatureSpec;
use crate::estimate::Device;
use crate::features::{KernelMapping, Uncoded};
use crate::hardware::Hardware;
use crate::problem::InvalidField;
use crate::vocab::Direction;

/// A value that a spec lacks, and its substitute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Substitute {
    /// The key of the spec.
    pub field: &'static str,
    /// The assumed value.
    pub value: String,
    /// The source of that value.
    pub reason: &'static str,
}

/// A model of CK's DSL provider for convolutions, forward and fp16, or a copy in rocKE, which has models of
/// the same names and, where that is recorded, of as many rows. Its converter of measurements writes the
/// hardware, 256 threads per workgroup and the tile into the training rows; its trainer records none of that
/// in the spec.
struct Known {
    name: &'static str,
    arch: &'static str,
    hardware: Hardware,
}

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
            ..Hardware::USUAL
        },
    },
    Known {
        name: "grouped_conv_forward_fp16_gfx942",
        arch: "gfx942",
        hardware: Hardware { num_cus: 228, shader_engines: 28, max_clock_mhz: 2100, ..Hardware::USUAL },
    },
    Known {
        name: "grouped_conv_forward_fp16_gfx950",
        arch: "gfx950",
        hardware: Hardware { num_cus: 304, shader_engines: 38, ..Hardware::USUAL },
    },
];

/// The architecture whose constants are those of upstream's constructor.
const OF_CONSTRUCTOR: &str = "gfx950";

const CONVERTER: &str = "CK DSL's convert_dsl_csv_to_parquet.py, by the model's name";
const CONSTRUCTOR: &str = "upstream's constructor, as the spec says none; --arch takes others";
const PROFILE: &str = "the profile of its architecture, as the spec says none; --arch takes others";
const NOT_ASKED_WITH: &str = "upstream's constructor, whose constants are gfx950's, so that the model does \
                              not rank until --arch gives those that it was trained with";

impl FeatureSpec {
    /// The name in the table of known models by which missing values were filled in. A copy under another
    /// name has to say it as `model_name`.
    pub const fn known_as(&self) -> Option<&'static str> {
        self.known_as
    }

    /// Fills in what the spec of a model with one of these names omits. Hardware and direction that it has
    /// are kept.
    pub(super) fn fill_in(&mut self, names: &[String]) {
        let says_hardware = self.own_hardware.is_some();
        let known = KNOWN.iter().find(|known| {
            names.iter().any(|name| known.name == name)
                && known.name.starts_with(self.op().as_str())
                && self.arch.is_some_and(|arch| arch.as_str() == known.arch)
                && self.dtype.is_some_and(|dtype| dtype.as_str() == "fp16")
        });
        self.known_as = known.map(|known| known.name);
        let mut fill = |field, value: String, reason| self.filled.push(Substitute { field, value, reason });
        match known {
            Some(known) if !says_hardware => {
                self.extractor.hardware = known.hardware;
                fill("hardware", short(&known.hardware), CONVERTER);
            }
            // With the estimate, constants are those of the GPU for which it ranks.
            _ if !says_hardware && self.prior.is_some() => {
                if let Some(Ok(device)) = self.arch.map(Device::for_arch) {
                    self.extractor.hardware = device.hardware;
                    fill("hardware", short(&device.hardware), PROFILE);
                }
            }
            _ if !says_hardware => {
                let other = self.arch.is_some_and(|arch| arch.as_str() != OF_CONSTRUCTOR);
                self.asks_hardware = other && self.extractor.schema.reads_hardware();
                let reason = if self.asks_hardware { NOT_ASKED_WITH } else { CONSTRUCTOR };
                fill("hardware", short(&self.extractor.hardware), reason);
            }
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
    /// Whether the hardware that the model was trained with is known, if its features depend on the hardware.
    /// Upstream's constants are gfx950's: a model of another architecture was trained with others, unless upstream's
    /// defaults are requested ([`Uncoded::Upstream`]).
    pub fn check_hardware(&self) -> Result<(), InvalidField> {
        if !self.asks_hardware || self.extractor.rules.uncoded == Uncoded::Upstream {
            return Ok(());
        }
        let arch = self.arch.map_or_else(String::new, |arch| format!(" ({arch})"));
        let expected = format!(
            "the constants of the GPU that the model was trained on{arch}, such as num_cus, on which its \
             features depend: in the spec, or from the caller (`--arch` of ckselect, `hardware` of \
             ck_model_options and of Python's Predictor, `Model::with_hardware`)"
        );
        Err(InvalidField::new("hardware", "nothing", expected))
    }
}

/// The names of a model's directory: as it was given, and without links and `.`.
pub(crate) fn names_of(directory: &Path) -> Vec<String> {
    let resolved = directory.canonicalize().ok();
    let name = |path: &Path| path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    [Some(directory), resolved.as_deref()].into_iter().flatten().filter_map(name).collect()
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
    fn known_models_get_the_constants_they_were_trained_with() {
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
            assert!(spec.filled.iter().any(|filled| filled.reason == NOT_ASKED_WITH));
        }
        let said = spec("grouped_conv_forward_fp16_gfx942", r#", "hardware": {"num_cus": 100}"#);
        assert_eq!(said.extractor.hardware.num_cus, 100);
        assert!(said.filled.iter().all(|filled| filled.field != "hardware"));
        let named = spec("mine", r#", "model_name": "grouped_conv_forward_fp16_gfx942""#);
        assert_eq!(named.extractor.hardware.num_cus, 228);
        assert_eq!(named.known_as(), Some("grouped_conv_forward_fp16_gfx942"));
        // A key of a trainer's own.
        assert_eq!(spec("mine", r#", "model_name": 3"#).known_as(), None);
    }

    #[test]
    fn unknown_hardware_has_to_be_given() {
        let read = |arch: &str, features: &str, more: &str| {
            let text = format!(
                r#"{{"op_type": "grouped_conv", "feature_names": [{features}], "arch": "{arch}"{more}}}"#
            );
            FeatureSpec::from_json("mine/feature_spec.json", text.as_bytes()).unwrap()
        };
        let asks = |spec: FeatureSpec| spec.check_hardware().is_err();
        assert!(asks(read("gfx942", r#""N", "hw_num_cus""#, "")));
        assert!(asks(read("gfx90a", r#""N", "log_cu_fill""#, "")));
        assert!(!asks(read("gfx942", r#""N", "C""#, "")), "no feature depends on it");
        assert!(!asks(read("gfx950", r#""hw_num_cus""#, "")), "upstream's constants are gfx950's");
        assert!(!asks(read("gfx942", r#""hw_num_cus""#, r#", "hardware": {"num_cus": 304}"#)));
        assert!(!asks(read("gfx942", r#""hw_num_cus""#, r#", "ck_select": {"uncoded": "upstream"}"#)));
        let error = read("gfx942", r#""hw_num_cus""#, "").check_hardware().unwrap_err().to_string();
        assert!(error.starts_with("hardware: found nothing, expected the constants of the GPU"), "{error}");
        assert!(error.contains("(gfx942)") && error.contains("`--arch` of ckselect"), "{error}");
    }

    #[test]
    fn a_directory_has_the_name_of_its_target_and_of_its_link() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        std::fs::create_dir(&target).unwrap();
        std::os::unix::fs::symlink(&target, folder.path().join("link")).unwrap();
        assert_eq!(names_of(&folder.path().join("link")), ["link", "target"]);
        assert_eq!(names_of(&folder.path().join("link/../target/.")), ["target", "target"]);
        assert_eq!(
            names_of(Path::new(".")),
            [std::env::current_dir().unwrap().file_name().unwrap().to_str().unwrap()]
        );
    }
}
