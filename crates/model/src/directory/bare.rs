//! Models without a spec: upstream stores attention's forest without a spec, and its columns have no names.

use std::path::Path;

use serde_json::{Value, json};

use super::{FeatureSpec, Model, ModelError, Target};
use crate::features::Engine;
use crate::vocab::Arch;

impl FeatureSpec {
    /// The spec that upstream's trainer would have written for a forest of these columns with the target
    /// ln(1 + TFLOPS), as a document; `None` where trainers write specs, which all but attention's do.
    ///
    /// `fmha68` names the columns, and so does `fmha68_python`.
    pub fn bare_document(engine: Engine, arch: Arch) -> Option<Value> {
        let ([key, word], op, hardware) = (engine.bare()?, engine.op(), engine.hardware());
        Some(json!({
            "op_type": op.as_str(),
            "feature_names": engine.feature_names(),
            "categorical_features": Engine::categories(op),
            "log_targets": [Target::Tflops.as_str()],
            "arch": arch.as_str(),
            "hardware": { "num_cus": hardware.num_cus, "lds_capacity": hardware.lds_capacity },
            "ck_select": { key: word },
        }))
    }
}

impl Model {
    /// Loads a directory that has a forest and no spec, or a forest's file, with the spec of
    /// [`FeatureSpec::bare_document`].
    pub fn load_bare(path: impl AsRef<Path>, spec: &Value) -> Result<Self, ModelError> {
        let path = path.as_ref();
        let label = path.display().to_string();
        let spec = FeatureSpec::from_document(&label, spec)?;
        let file =
            if path.is_dir() { Self::forest_file(path, Target::Tflops)? } else { Some(path.to_owned()) };
        let no_forest = || ModelError::NoForest { model: label, file: Target::Tflops.file_name() };
        Self::load_forest(Target::Tflops, file.ok_or_else(no_forest)?, spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::FmhaEncoding;
    use crate::forest::texts;
    use crate::kernel::Kernel;
    use crate::problem::FmhaProblem;
    use crate::vocab::Op;

    /// One split, at `tile_m0`, column 21.
    fn forest() -> String {
        let names: Vec<String> = (0..68).map(|column| format!("Column_{column}")).collect();
        texts::forest(&names, [texts::stump(21, 64.0, 2, [1.5, 2.5])])
    }

    #[test]
    fn a_forest_alone_is_a_model_of_attention() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("model_tflops.lgbm"), forest()).unwrap();
        let arch = "gfx950".parse().unwrap();
        let spec = FeatureSpec::bare_document(Engine::Fmha68, arch).unwrap();
        let model = Model::load_bare(folder.path(), &spec).unwrap();
        assert_eq!((model.spec().op(), model.spec().arch), (Op::Fmha, Some(arch)));
        assert_eq!(model.extractor().rules, Engine::Fmha68Python.rules());
        assert_eq!(model.extractor().hardware, Engine::Fmha68.hardware());
        assert_eq!(model.extractor().rules.fmha_encoding, FmhaEncoding::Python);
        // The written files give the same model.
        std::fs::write(folder.path().join("feature_spec.json"), spec.to_string()).unwrap();
        let again = Model::load(folder.path()).unwrap();
        assert_eq!(format!("{:?}", again.spec()), format!("{:?}", model.spec()));

        let name = |m0: u16| {
            format!(
                "fmha_fwd_fp16_batch_h128_qr_async_t{m0}x128x32x128x32x128_w32x32x16_pad1111_mask=no_bias=no\
                 _bpc=-1"
            )
        };
        let names = [name(64), name(128)].join("\n");
        let pool = crate::pool::Pool::from_bytes("pool.txt", names.as_bytes()).unwrap();
        let ranker = crate::ranking::Ranker::new(model.into(), pool.into()).unwrap();
        let ranked = ranker.rank(&FmhaProblem::new([2048, 2048], 32, 128).into()).unwrap();
        assert_eq!((ranked[0].index, ranked[0].score), (1, 2.5_f64.exp_m1()));
        assert_eq!(ranked[1].score, 1.5_f64.exp_m1());
        let other = FmhaProblem { dropout: true, ..FmhaProblem::new([2048, 2048], 32, 128) };
        let error = ranker.rank(&other.into()).unwrap_err().to_string();
        assert!(error.contains("attention (fwd, fp16)"), "{error}");
    }

    #[test]
    fn stages_that_are_not_forward_are_not_the_models() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model_tflops.lgbm");
        std::fs::write(&path, forest()).unwrap();
        let spec = FeatureSpec::bare_document(Engine::Fmha68Python, "gfx950".parse().unwrap()).unwrap();
        let key = crate::directory::ModelKey::new(Model::load_bare(&path, &spec).unwrap().spec());
        let forward = FmhaProblem::new([128, 128], 1, 64);
        assert!(key.fit(&forward.into(), None).is_some());
        let backward = FmhaProblem { api_family: crate::vocab::FmhaApi::Bwd, ..forward };
        let backward = backward.stage(crate::vocab::FmhaFamily::BwdDqDkDv);
        let misfits = crate::directory::listed(&key.misfits(&backward.into(), None));
        assert_eq!(misfits, "family is bwd_dq_dk_dv, the model is for forward");
        let combine = "fmha_fwd_splitkv_combine_fp16_batch_h128_splitkv_combine_t32x128x32x32x0x0_w16x16x16\
                       _pad0111_mask=no_bias=no_lse=1_bpc=-1";
        assert!(!key.fits_kernel(&Kernel::from_name(combine).unwrap()));
    }

    #[test]
    fn other_operations_write_specs() {
        assert_eq!(FeatureSpec::bare_document(Engine::Gemm72, "gfx950".parse().unwrap()), None);
    }
}
