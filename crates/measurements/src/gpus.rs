//! The GPUs on which files were measured, from their sidecars.

use std::collections::{BTreeMap, BTreeSet};

use crate::read::{DataError, Measurements};
use crate::sidecar::{Session, Sidecar};

/// A GPU, and the first file that was measured on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileGpu {
    /// The GPU's name in the runtime.
    pub gpu: String,
    /// The file.
    pub file: String,
}

/// The GPUs of the files of measurements; files without a sidecar are not counted.
pub fn measured_on(measurements: &Measurements) -> Result<Vec<FileGpu>, DataError> {
    let mut gpus = BTreeMap::new();
    for source in measurements.sources().iter().filter(|source| source.rows > 0) {
        let file = source.path.display().to_string();
        let sessions = Sidecar::sessions_beside(&source.path)?;
        for device in sessions.iter().flat_map(Session::devices) {
            gpus.entry(device.name().to_owned()).or_insert_with(|| file.clone());
        }
    }
    Ok(gpus.into_iter().map(|(gpu, file)| FileGpu { gpu, file }).collect())
}

/// Refuses measurements of several GPUs, which may have one architecture.
pub fn check_one_gpu(gpus: &[FileGpu]) -> Result<(), DataError> {
    if gpus.len() < 2 {
        return Ok(());
    }
    let found = gpus.iter().map(|FileGpu { gpu, file }| format!("{gpu} ({file})")).collect();
    let files: BTreeSet<&str> = gpus.iter().map(|one| one.file.as_str()).collect();
    let advice = if files.len() == gpus.len() {
        "give the files of one"
    } else {
        "give those of one that it was made of"
    };
    Err(DataError::Mixed { what: "GPUs", found, advice: advice.to_owned() })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ck_select_types::vocab::{Arch, Op};

    use super::*;
    use crate::read::{ReadOptions, RowScope};

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
        let read = |names: &[&str], arch: Option<&str>| {
            let files: Vec<_> = names.iter().map(|name| file(name)).collect();
            let arch = arch.map(|word| word.parse::<Arch>().unwrap());
            Measurements::read(&files, RowScope { arch, ..RowScope::all(Op::Conv) })
        };
        let on = |names: &[&str], arch| measured_on(&read(names, arch)?);

        // The rows have the sidecar's architecture; it was ignored.
        for (file, arch) in [("a.csv", Some("sm_90")), ("c.csv", Some("gfx942")), ("none.csv", None)] {
            let common = read(&[file], None).unwrap().common_arch().unwrap();
            assert_eq!(common.map(|arch| arch.to_string()).as_deref(), arch);
        }
        for arch in [None, Some("sm_90")] {
            let one = on(&["a.csv", "none.csv"], arch).unwrap();
            assert_eq!((one.len(), one[0].gpu.as_str()), (1, "NVIDIA H100"));
            check_one_gpu(&one).unwrap();
        }
        let error = on(&["none.csv", "a.csv"], Some("gfx950")).unwrap_err().to_string();
        assert!(error.contains("a.csv: measured on sm_90, according to its .meta.json, but"), "{error}");
        assert!(error.ends_with("measurements of gfx950"), "{error}");

        let error = check_one_gpu(&on(&["a.csv", "b.csv"], Some("sm_90")).unwrap()).unwrap_err().to_string();
        assert!(error.starts_with("the data mixes GPUs: NVIDIA H100 ("), "{error}");
        assert_eq!(on(&["c.csv"], Some("gfx942")).unwrap()[0].gpu, "MI300X");
        assert!(on(&["none.csv"], Some("gfx942")).unwrap().is_empty());
        fs::write(file("c.csv.meta.json"), "{").unwrap();
        let damaged = on(&["c.csv"], None).unwrap_err().to_string();
        assert!(damaged.contains("c.csv.meta.json: "), "{damaged}");
    }

    /// A universal training takes the architecture of the command line only for rows that record none.
    #[test]
    fn rows_of_several_architectures_have_their_own_gpus() {
        let folder = tempfile::TempDir::new().unwrap();
        let files = ["a.csv", "b.csv"].map(|name| folder.path().join(name));
        fs::write(&files[0], ROWS.replace('\n', ",sm_90\n").replacen(",sm_90", ",arch", 1)).unwrap();
        fs::write(folder.path().join("a.csv.meta.json"), meta("NVIDIA H200", "sm_90")).unwrap();
        fs::write(&files[1], ROWS).unwrap();
        let mut measurements = Measurements::with(
            RowScope::all(Op::Conv),
            ReadOptions { assumed: "gfx950".parse().ok(), ..ReadOptions::default() },
        );
        measurements.add_all(&files).unwrap();
        assert_eq!(measured_on(&measurements).unwrap()[0].gpu, "NVIDIA H200");
    }
}
