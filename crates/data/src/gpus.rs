//! The GPUs on which files were measured, from their sidecars.

use std::collections::{BTreeMap, BTreeSet};

use ck_select_types::vocab::Arch;
use serde_json::Value;

use crate::measurements::{DataError, Measurements};
use crate::sidecar::{Device, Session, Sidecar, sessions};

/// A GPU, and the first file that was measured on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileGpu {
    /// Its name in the runtime.
    pub gpu: String,
    /// The file.
    pub file: String,
}

/// The GPUs of the files of measurements; files without a sidecar are not counted. Rows that are taken for
/// those of another architecture are an error.
pub fn measured_on(measurements: &Measurements) -> Result<Vec<FileGpu>, DataError> {
    let mut gpus = BTreeMap::new();
    for source in measurements.sources().iter().filter(|source| source.rows > 0) {
        let file = source.path.display().to_string();
        let sessions = Sidecar::sessions_beside(&source.path)?;
        let devices = || sessions.iter().flat_map(Session::devices);
        let archs = devices().filter_map(Device::arch).collect();
        let left_out = source.other_arches.iter().map(|(arch, _)| *arch);
        check_archs(&file, &archs, &source.arches, left_out)?;
        for device in devices() {
            gpus.entry(device.name().to_owned()).or_insert_with(|| file.clone());
        }
    }
    Ok(gpus.into_iter().map(|(gpu, file)| FileGpu { gpu, file }).collect())
}

/// The architectures on which a file was measured, according to its sidecar.
pub(crate) fn archs_of(meta: &Value) -> BTreeSet<Arch> {
    sessions(Some(meta.clone())).iter().flat_map(Session::devices).filter_map(Device::arch).collect()
}

/// Refuses rows that are taken for those of another architecture than the sidecar names, and rows of a file
/// that was measured on several without saying on which. `left_out` are the architectures of other rows.
pub(crate) fn check_archs(
    file: &str,
    sidecar: &BTreeSet<Arch>,
    taken: &BTreeSet<Arch>,
    left_out: impl Iterator<Item = Arch>,
) -> Result<(), DataError> {
    let list =
        |archs: &mut dyn Iterator<Item = &Arch>| archs.map(Arch::to_string).collect::<Vec<_>>().join(", ");
    let found: BTreeSet<Arch> = taken.iter().copied().chain(left_out).collect();
    let has_other = taken.iter().any(|arch| !sidecar.contains(arch));
    let is_unsaid = !taken.is_empty() && sidecar.iter().any(|arch| !found.contains(arch));
    if sidecar.is_empty() || !(has_other || is_unsaid) {
        return Ok(());
    }
    let message = format!(
        "measured on {}, according to its .meta.json, but its rows are taken for measurements of {}",
        list(&mut sidecar.iter()),
        list(&mut taken.iter())
    );
    Err(DataError::Format { file: file.to_owned(), message })
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

    use ck_select_types::vocab::Op;

    use super::*;
    use crate::measurements::{ReadOptions, RowScope};

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
            Measurements::read(&files, RowScope { arch, ..RowScope::all(Op::Conv) }).unwrap()
        };
        let on = |names: &[&str], arch| measured_on(&read(names, arch));

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
