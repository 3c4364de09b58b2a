//! The bench's models: its own, trained on what the estimate makes of seeded problems, with the real feature
//! engines; and those that the repository ships.

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use ck_select::directory::{Model, Target};
use ck_select::estimate::{Device, Estimator};
use ck_select::features::Engine;
use ck_select::kernel::Kernel;
use ck_select_parity::{Booster, Matrix};
use ck_select_testing::{Numbers as _, Random};
use flate2::read::MultiGzDecoder;
use serde_json::json;

use crate::machine::{self, Setting};

/// Raised when what the models are trained on changes, so that old ones are not used.
const VERSION: u32 = 3;

/// What to train, on what.
pub(crate) struct Recipe {
    pub(crate) name: &'static str,
    pub(crate) setting: fn() -> Setting,
    /// Problems to train on, and kernels of each, drawn from the pool.
    problems: usize,
    kernels: usize,
    pub(crate) trees: usize,
    pub(crate) leaves: usize,
}

pub(crate) const CONV_30: Recipe = Recipe {
    name: "conv97",
    setting: machine::conv_30,
    problems: 600,
    kernels: 30,
    trees: 2000,
    leaves: 255,
};
pub(crate) const CONV_SMALL: Recipe = Recipe { name: "conv97 small", trees: 800, leaves: 15, ..CONV_30 };
pub(crate) const CONV_310: Recipe =
    Recipe { name: "conv113", setting: machine::conv_310, problems: 300, kernels: 310, ..CONV_30 };
pub(crate) const GEMM: Recipe =
    Recipe { name: "gemm72", setting: machine::gemm_4608, problems: 700, kernels: 150, ..CONV_30 };
pub(crate) const GEMM_500: Recipe = Recipe { name: "gemm72 500", trees: 500, leaves: 127, ..GEMM };
/// As large as the forest that upstream ships for attention.
pub(crate) const FMHA: Recipe =
    Recipe { name: "fmha68", setting: machine::fmha_30, problems: 700, trees: 500, ..CONV_30 };

/// A model of `models/`, and the kernels that it is for.
pub(crate) struct Shipped {
    name: &'static str,
    pool: fn() -> Vec<Kernel>,
}

pub(crate) const GFX950: Shipped =
    Shipped { name: "grouped_conv_forward_bf16_gfx950", pool: || machine::conv_30().pool };
pub(crate) const SM90: Shipped = Shipped { name: "grouped_conv_forward_bf16_sm90", pool: machine::sm_90 };

impl Shipped {
    fn load(&self) -> (Setting, Arc<Model>, String) {
        let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../models").join(self.name);
        let model = Model::load(&directory).unwrap_or_else(|error| panic!("{error}"));
        let forest =
            std::fs::File::open(directory.join("model_relative.lgbm.gz")).expect("a forest that ranks");
        let mut text = String::new();
        MultiGzDecoder::new(forest).read_to_string(&mut text).expect("a compressed forest");
        let setting = Setting {
            extractor: model.extractor().clone(),
            pool: (self.pool)(),
            problem: machine::conv_30().problem,
        };
        (setting, Arc::new(model), text)
    }
}

/// Where a case's model is from.
pub(crate) enum ModelSource {
    Trained(&'static Recipe),
    Shipped(&'static Shipped),
}

impl ModelSource {
    /// The setting, the model, and the text of the forest that ranks.
    pub(crate) fn load(&self) -> (Setting, Arc<Model>, String) {
        match self {
            Self::Trained(recipe) => {
                let setting = (recipe.setting)();
                let text = recipe.text();
                let model = recipe.model(&setting, &text);
                (setting, model, text)
            }
            Self::Shipped(shipped) => shipped.load(),
        }
    }
}

impl Recipe {
    /// The file of the model's text, trained now or earlier.
    pub(crate) fn file(&self) -> PathBuf {
        let target = std::env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target"), PathBuf::from);
        let name = self.name.replace(' ', "_");
        let file = target.join(format!("bench-models/{VERSION}_{name}_{}x{}.txt", self.trees, self.leaves));
        if file.exists() {
            return file;
        }
        eprintln!("training {} ...", file.display());
        let setting = (self.setting)();
        let data = self.data(&setting);
        let names = setting.extractor.schema.names();
        let categories = Engine::categories(setting.extractor.schema.op());
        let categorical = (0..names.len())
            .filter(|&column| categories.contains(&names[column]))
            .map(|column| column.to_string());
        let (depth, rate) = if self.leaves > 100 { (15, 0.02) } else { (-1, 0.05) };
        let params = format!(
            "objective=regression num_leaves={} max_depth={depth} learning_rate={rate} min_child_samples=10 \
             feature_fraction=0.85 lambda_l1=0.05 lambda_l2=0.5 seed=42 deterministic=true \
             categorical_feature={}",
            self.leaves,
            categorical.collect::<Vec<_>>().join(",")
        );
        let text = Booster::train(&data, &params, self.trees, None)
            .and_then(|booster| booster.to_text())
            .expect("LightGBM trains");
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a writable target directory");
        // Under its own name only once it is whole: a bench that was stopped leaves nothing that looks
        // trained.
        let part = file.with_extension("part");
        std::fs::write(&part, text)
            .and_then(|()| std::fs::rename(&part, &file))
            .expect("a writable target directory");
        file
    }

    pub(crate) fn text(&self) -> String {
        std::fs::read_to_string(self.file()).expect("a model that was written")
    }

    /// The model with its spec.
    pub(crate) fn model(&self, setting: &Setting, text: &str) -> Arc<Model> {
        let model =
            Model::from_bytes(self.name, spec(setting).as_bytes(), &[(Target::Tflops, text.as_bytes())]);
        let rules = setting.extractor.rules;
        Arc::new(model.unwrap_or_else(|error| panic!("{error}")).with_rules(rules))
    }

    /// The estimate's TFLOPS on an MI355X, with 6 % of noise.
    fn data(&self, setting: &Setting) -> Matrix<'static> {
        let device = Device::for_arch("gfx950".parse().expect("an architecture")).expect("its profile");
        let estimator = Estimator::new(device);
        let mut random = Random(u64::from(VERSION));
        let mut data = Matrix { width: setting.extractor.schema.len(), ..Matrix::default() };
        let mut block = Vec::new();
        for _ in 0..self.problems {
            let problem = (setting.problem)(&mut random);
            for number in 0..self.kernels {
                let all = self.kernels >= setting.pool.len();
                let kernel = &setting.pool[if all { number } else { random.below(setting.pool.len()) }].kind;
                block.extend(setting.extractor.row(&problem, kernel).expect("a described kernel"));
                let shape = estimator.shape(kernel).expect("a type that the GPU multiplies");
                let us = estimator.time(&estimator.load(&problem), &shape);
                let noise = 1.0 + 0.06 * (random.unit() + random.unit() + random.unit() - 1.5);
                data.labels.push((problem.flops() / us * 1e-6 * noise).ln_1p() as f32);
            }
        }
        data.blocks.push(block.into());
        data
    }
}

/// The `feature_spec.json` of a setting's models.
pub(crate) fn spec(setting: &Setting) -> String {
    let op = setting.pool[0].op().as_str();
    let names = setting.extractor.schema.names();
    json!({ "op_type": op, "feature_names": names, "log_targets": ["tflops"] }).to_string()
}
