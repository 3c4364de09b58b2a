//! Which GPUs measure, and the locks that keep others from measuring on them meanwhile.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use ck_select::files;

use crate::error::{MeasureError, at};
use crate::stop::{Stop, StopReason};

/// The environment variable that names the lock folder.
pub const LOCK_VARIABLE: &str = "CK_SELECT_LOCK_DIR";

/// A GPU of this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpu {
    /// The value of `HIP_VISIBLE_DEVICES` that shows a process only this GPU.
    pub visible: String,
    /// The host's name for it, as far as the environment tells; the lock is named after it.
    pub host: String,
}

impl Gpu {
    /// The GPUs at the requested places (`0,2`), or all that the environment names, or the first.
    ///
    /// `HIP_VISIBLE_DEVICES` (or `CUDA_VISIBLE_DEVICES`, which HIP also reads) and, below it,
    /// `ROCR_VISIBLE_DEVICES` list the usable GPUs, as batch systems set them; places are indices into these
    /// lists.
    pub fn choose(
        asked: Option<&str>,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Vec<Self>, MeasureError> {
        let list = |name: &str| {
            let text = environment(name).filter(|text| !text.trim().is_empty())?;
            Some(text.split(',').map(|item| item.trim().to_owned()).collect::<Vec<_>>())
        };
        let hip = list("HIP_VISIBLE_DEVICES").or_else(|| list("CUDA_VISIBLE_DEVICES"));
        let rocr = list("ROCR_VISIBLE_DEVICES");
        let named = hip.as_ref().or(rocr.as_ref()).map(Vec::len);
        let places: Vec<String> = match asked {
            Some(asked) => asked.split(',').map(|item| item.trim().to_owned()).collect(),
            None => (0..named.unwrap_or(1)).map(|gpu| gpu.to_string()).collect(),
        };
        let mut gpus: Vec<Self> = Vec::new();
        for item in places {
            let number: usize = item.parse().map_err(|_| {
                MeasureError::new(format!("--gpus: found '{item}', expected numbers joined by commas"))
            })?;
            let visible = match (&hip, named) {
                (_, Some(named)) if number >= named => {
                    let reason = format!("--gpus: found {number}, but the environment names {named} devices");
                    return Err(MeasureError::new(reason));
                }
                (Some(hip), _) => hip[number].clone(),
                (None, _) => number.to_string(),
            };
            let behind = visible.parse::<usize>().ok().and_then(|index| rocr.as_ref()?.get(index).cloned());
            let gpu = Self { host: behind.unwrap_or_else(|| visible.clone()), visible };
            if gpus.contains(&gpu) {
                return Err(MeasureError::new(format!("--gpus: {item} appears twice")));
            }
            gpus.push(gpu);
        }
        Ok(gpus)
    }

    /// Makes this GPU the only one that a process sees.
    pub fn show(&self, command: &mut Command) {
        command.env("HIP_VISIBLE_DEVICES", &self.visible).env("CUDA_VISIBLE_DEVICES", &self.visible);
    }

    /// Waits for the GPU's lock; the inner `Err` is the reason to stop waiting. `waiting` is called once if
    /// the lock is taken. The system releases the lock when the process ends, however it ends.
    pub fn lock(
        &self,
        folder: &Path,
        stop: &Stop,
        waiting: impl FnOnce(&Path),
    ) -> Result<Result<GpuLock, StopReason>, MeasureError> {
        let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let name: String = self.host.chars().map(safe).collect();
        let path = folder.join(format!("ck-select-gpu-{name}.lock"));
        let file = open(&path).map_err(at(&path))?;
        let mut waiting = Some(waiting);
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Ok(GpuLock(file))),
                Err(TryLockError::Error(error)) => return Err(MeasureError::file(&path, error)),
                Err(TryLockError::WouldBlock) => {}
            }
            if let Some(reason) = stop.reason() {
                return Ok(Err(reason));
            }
            if let Some(waiting) = waiting.take() {
                waiting(&path);
            }
            std::thread::sleep(Stop::INTERVAL);
        }
    }
}

/// The folder of the locks: `CK_SELECT_LOCK_DIR`, else `/tmp`. Not `TMPDIR`, which differs from user to user.
pub(crate) fn lock_folder() -> PathBuf {
    std::env::var_os(LOCK_VARIABLE).filter(|folder| !folder.is_empty()).map_or("/tmp".into(), PathBuf::from)
}

/// A held lock.
#[derive(Debug)]
pub struct GpuLock(#[expect(dead_code, reason = "the lock lives as long as the file is open")] File);

/// Opens or creates a lock file. Any user may create it, and every user may lock it: a lock needs no write
/// access.
fn open(path: &Path) -> std::io::Result<File> {
    // In a world-writable folder, anybody may leave a pipe.
    match files::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let mut options = OpenOptions::new();
            // Only a new file: in a world-writable folder, anybody may leave a link that makes somebody else
            // create its target.
            options.read(true).write(true).create_new(true).mode(0o666);
            let file = match files::open_with(&mut options, path) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => return files::open(path),
                opened => opened?,
            };
            // The umask may have removed permissions.
            let _ = file.set_permissions(std::fs::Permissions::from_mode(0o666));
            Ok(file)
        }
        opened => opened,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    fn chosen(asked: Option<&str>, environment: &[(&str, &str)]) -> Result<Vec<(String, String)>, String> {
        let look = |name: &str| {
            environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let gpus = Gpu::choose(asked, look).map_err(|error| error.to_string())?;
        Ok(gpus.into_iter().map(|gpu| (gpu.visible, gpu.host)).collect())
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|&(visible, host)| (visible.to_owned(), host.to_owned())).collect()
    }

    #[test]
    fn places_count_within_what_the_environment_names() {
        for (asked, environment, expected) in [
            (None, &[][..], &[("0", "0")][..]),
            (Some("0, 3"), &[], &[("0", "0"), ("3", "3")]),
            (None, &[("HIP_VISIBLE_DEVICES", "2,5")], &[("2", "2"), ("5", "5")]),
            (Some("1"), &[("CUDA_VISIBLE_DEVICES", "2,5")], &[("5", "5")]),
            (None, &[("ROCR_VISIBLE_DEVICES", "4,GPU-1f")], &[("0", "4"), ("1", "GPU-1f")]),
            (None, &[("ROCR_VISIBLE_DEVICES", "4,6"), ("HIP_VISIBLE_DEVICES", "1")], &[("1", "6")]),
        ] {
            assert_eq!(chosen(asked, environment), Ok(pairs(expected)), "{asked:?} {environment:?}");
        }
    }

    #[test]
    fn invalid_gpu_indices_are_rejected_with_the_reason() {
        for (asked, message) in [
            ("a", "--gpus: found 'a', expected numbers joined by commas"),
            ("0,0", "--gpus: 0 appears twice"),
            ("2", "--gpus: found 2, but the environment names 2 devices"),
        ] {
            let error = chosen(Some(asked), &[("HIP_VISIBLE_DEVICES", "0,1")]).unwrap_err();
            assert_eq!(error, message);
        }
    }

    #[test]
    fn a_link_to_nothing_makes_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let gpu = Gpu { visible: "0".into(), host: "0".into() };
        gpu.lock(folder.path(), &Stop::default(), |_| panic!()).unwrap().unwrap();
        let lock = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        std::fs::remove_file(&lock).unwrap();
        let target = folder.path().join("somebody's");
        std::os::unix::fs::symlink(&target, &lock).unwrap();
        assert!(gpu.lock(folder.path(), &Stop::default(), |_| panic!()).is_err());
        assert!(!target.exists());
    }

    #[test]
    fn waiting_for_a_gpu_lock_ends_with_the_sweep() {
        let folder = tempfile::tempdir().unwrap();
        let gpu = Gpu { visible: "0".into(), host: "GPU/1".into() };
        let held = gpu.lock(folder.path(), &Stop::default(), |_| panic!()).unwrap().unwrap();
        let stop = Stop::new(Arc::new(AtomicUsize::new(2)), None);
        let ended = gpu.lock(folder.path(), &stop, |_| {}).unwrap();
        assert_eq!(ended.unwrap_err(), StopReason::Signal(2));
        drop(held);
        // A process that another test starts has the file, too, until it runs its program.
        gpu.lock(folder.path(), &Stop::default(), |_| {}).unwrap().unwrap();
    }
}
