//! The GPUs on which files were measured, from their sidecars.

use std::collections::BTreeMap;

use ck_select_types::vocab::Arch;

use super::sidecar::{Sidecar, SidecarError};
use crate::measurements::{DataError, Measurements};

/// A GPU, and the first file that was measured on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasuredOn {
    /// Its name in the runtime.
    pub gpu: String,
    /// Its architecture, if the sidecar has one.
    pub arch: Option<Arch>,
    /// The file.
    pub file: String,
}

/// The GPUs of the files of measurements; files without a sidecar are not counted.
pub fn measured_on(measurements: &Measurements) -> Result<Vec<MeasuredOn>, SidecarError> {
    let mut gpus = BTreeMap::new();
    for source in measurements.sources().iter().filter(|source| source.rows > 0) {
        for device in Sidecar::sessions_beside(&source.path)?.into_iter().flat_map(|session| session.devices)
        {
            let arch = device.target.as_deref().and_then(arch_of);
            gpus.entry((device.name, arch)).or_insert_with(|| source.path.display().to_string());
        }
    }
    Ok(gpus.into_iter().map(|((gpu, arch), file)| MeasuredOn { gpu, arch, file }).collect())
}

/// Refuses rows that are taken for those of one architecture and were measured on another.
pub fn check_arch(gpus: &[MeasuredOn], taken_for: Option<Arch>) -> Result<(), DataError> {
    let other = |gpu: &&MeasuredOn| gpu.arch.is_some() && taken_for.is_some() && gpu.arch != taken_for;
    match (gpus.iter().find(other), taken_for) {
        (Some(MeasuredOn { gpu, arch: Some(arch), file }), Some(taken_for)) => Err(DataError::Format {
            file: file.clone(),
            message: format!(
                "measured on {arch} ({gpu}, according to its .meta.json), expected measurements of {taken_for}"
            ),
        }),
        _ => Ok(()),
    }
}

/// Refuses measurements of several GPUs, which may have one architecture.
pub fn check_one_gpu(gpus: &[MeasuredOn]) -> Result<(), DataError> {
    if gpus.len() < 2 {
        return Ok(());
    }
    let found = gpus.iter().map(|MeasuredOn { gpu, file, .. }| format!("{gpu} ({file})")).collect();
    Err(DataError::Mixed { what: "GPUs", found, advice: "give the files of one".to_owned() })
}

/// The architecture of a target such as `gfx942:sramecc+:xnack-`.
fn arch_of(target: &str) -> Option<Arch> {
    target.split(':').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ck_select_types::vocab::Op;

    use super::*;
    use crate::measurements::Wanted;

    const ROWS: &str = "kernel,C,K,Hi,Wi,Y,X,latency_ms,tflops\n\
        grouped_conv_forward_bf16_2d_16x64x64_compv3,64,64,8,8,3,3,0.5,10\n";

    fn meta(name: &str, target: &str) -> String {
        format!(
            r#"{{"sessions": [{{"rows": 1, "gpus": {{"0": {{"name": "{name}", "target": "{target}"}}}}}}]}}"#
        )
    }

    #[test]
    fn sidecars_say_on_which_gpu_files_were_measured() {
        let folder = tempfile::TempDir::new().unwrap();
        let file = |name: &str| folder.path().join(name);
        for (name, gpu, target) in [
            ("a", "NVIDIA H100", "sm_90"),
            ("b", "NVIDIA H200", "sm_90"),
            ("c", "MI300X", "gfx942:sramecc+:xnack-"),
        ] {
            fs::write(file(&format!("{name}.csv")), ROWS).unwrap();
            fs::write(file(&format!("{name}.csv.meta.json")), meta(gpu, target)).unwrap();
        }
        fs::write(file("none.csv"), ROWS).unwrap();
        let on = |names: &[&str]| {
            let files: Vec<_> = names.iter().map(|name| file(name)).collect();
            measured_on(&Measurements::read(&files, Wanted::all(Op::GroupedConv)).unwrap()).unwrap()
        };
        let arch = |word: &str| Some(word.parse::<Arch>().unwrap());

        let one = on(&["a.csv", "none.csv"]);
        assert_eq!((one.len(), one[0].gpu.as_str(), one[0].arch), (1, "NVIDIA H100", arch("sm_90")));
        check_one_gpu(&one).unwrap();
        check_arch(&one, arch("sm_90")).unwrap();
        check_arch(&one, None).unwrap();
        let error = check_arch(&one, arch("gfx950")).unwrap_err().to_string();
        assert!(error.contains("a.csv: measured on sm_90 (NVIDIA H100"), "{error}");
        assert!(error.ends_with("expected measurements of gfx950"), "{error}");

        let error = check_one_gpu(&on(&["a.csv", "b.csv"])).unwrap_err().to_string();
        assert!(error.starts_with("the data mixes GPUs: NVIDIA H100 ("), "{error}");
        check_arch(&on(&["c.csv"]), arch("gfx942")).unwrap();
        assert!(on(&["none.csv"]).is_empty());
        fs::write(file("c.csv.meta.json"), "{").unwrap();
        let damaged = Measurements::read(&[file("c.csv")], Wanted::all(Op::GroupedConv)).unwrap();
        assert!(measured_on(&damaged).unwrap_err().to_string().contains("c.csv.meta.json: "));
    }
}
