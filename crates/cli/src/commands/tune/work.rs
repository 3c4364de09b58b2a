//! What the folder of measurements records besides them: rows do not say on which architecture they were
//! measured.

use std::fs;
use std::io;
use std::path::Path;

use ck_select::vocab::Arch;
use serde_json::{Value, json};

use crate::error::CliError;

/// The record.
const FILE: &str = "tune.json";
/// The measurements that every folder begins with.
const FIRST: &str = "0000.csv";

/// Makes the folder one of measurements on an architecture. Refuses one with measurements on another one.
pub(super) fn claim(work: &Path, arch: Arch) -> Result<(), CliError> {
    fs::create_dir_all(work).map_err(|error| CliError::io(work.display(), &error))?;
    let path = work.join(FILE);
    let name = path.display();
    let wrong = |found: String| {
        CliError::failed(format!(
            "{name}: arch: found {found}, expected {arch} as in --arch: the measurements of another \
             architecture need another folder"
        ))
    };
    match ck_select::files::read_to_string(&path) {
        Ok(text) => {
            let record: Value =
                serde_json::from_str(&text).map_err(|error| CliError::failed(format!("{name}: {error}")))?;
            match record.get("arch") {
                Some(Value::String(known)) if known == arch.as_str() => Ok(()),
                Some(Value::String(known)) => Err(wrong(known.clone())),
                Some(other) => Err(wrong(other.to_string())),
                None => Err(wrong("nothing".to_owned())),
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Measurements from elsewhere may be of any architecture.
            if work.join(FIRST).exists() {
                let work = work.display();
                return Err(CliError::failed(format!(
                    "{work}: found {FIRST} and no {FILE}, which says on which architecture it was measured; \
                     expected a new folder, or one that this command made"
                )));
            }
            let record = format!("{}\n", json!({ "arch": arch.as_str() }));
            ck_select::files::write(&path, record.as_bytes()).map_err(|error| CliError::io(name, &error))
        }
        Err(error) => Err(CliError::io(name, &error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_of_one_architecture() {
        let folder = tempfile::TempDir::new().unwrap();
        let work = folder.path().join("new/work");
        let claimed = |arch: &str| match claim(&work, arch.parse().unwrap()) {
            Err(CliError::Failed(message)) => Err(message),
            other => {
                other.unwrap();
                Ok(())
            }
        };
        assert_eq!(claimed("gfx942"), Ok(()));
        fs::write(work.join(FIRST), "kernel\n").unwrap();
        assert_eq!(claimed("gfx942"), Ok(()), "it goes on");
        let error = claimed("gfx950").unwrap_err();
        assert!(error.contains("tune.json: arch: found gfx942, expected gfx950 as in --arch"), "{error}");
        for (text, found) in [("{}", "found nothing"), ("{\"arch\": 942}", "found 942"), ("{", "EOF")] {
            fs::write(work.join(FILE), text).unwrap();
            let error = claimed("gfx942").unwrap_err();
            assert!(error.contains(found), "{error}");
        }
        fs::remove_file(work.join(FILE)).unwrap();
        let error = claimed("gfx942").unwrap_err();
        assert!(error.contains("found 0000.csv and no tune.json"), "{error}");
    }
}
