//! What the folder of measurements records besides rows, which do not say on which architecture they were
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

/// The text of a file; `None` if there is no file.
fn known(path: &Path) -> Result<Option<String>, CliError> {
    match ck_select::files::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some).map_err(CliError::io(path.display())),
    }
}

fn write(path: &Path, text: &str) -> Result<(), CliError> {
    ck_select::files::write(path, text.as_bytes()).map_err(CliError::io(path.display()))
}

/// Records the architecture and the number of kernels per problem that the folder is for. Refuses a folder of
/// other measurements.
pub(super) fn claim(work: &Path, arch: Arch, first: usize) -> Result<(), CliError> {
    fs::create_dir_all(work).map_err(CliError::io(work.display()))?;
    let path = work.join(FILE);
    let name = path.display();
    let Some(text) = known(&path)? else {
        // Measurements from elsewhere may be of any architecture.
        if work.join(FIRST).exists() {
            let work = work.display();
            fail!(
                "{work}: found {FIRST} and no {FILE}, which says on which architecture it was measured; \
                 expected a new folder, or one that this command made"
            );
        }
        return write(&path, &format!("{}\n", json!({ "arch": arch.as_str(), "first": first })));
    };
    let record: Value =
        serde_json::from_str(&text).map_err(|error| CliError::failed(format!("{name}: {error}")))?;
    for (field, expected) in [("arch", Value::from(arch.as_str())), ("first", Value::from(first))] {
        let value = record.get(field);
        if value != Some(&expected) {
            let value = value.map_or_else(|| "nothing".to_owned(), Value::to_string);
            fail!(
                "{name}: {field}: found {value}, expected {expected} as in --{field} or its default: other \
                 measurements need another folder"
            );
        }
    }
    Ok(())
}

/// Writes the list of a file's problems; refuses another one.
pub(super) fn claim_list(list: &Path, text: &str) -> Result<(), CliError> {
    match known(list)? {
        None => write(list, text),
        Some(known) if known == text => Ok(()),
        Some(_) => fail!(
            "{}: found other problems than --problems and --params seed give; expected those with which the \
             folder was begun, or a new folder",
            list.display()
        ),
    }
}

/// Forgets what a folder is for, because its first measuring did not even begin: another attempt may differ.
pub(super) fn unclaim(work: &Path) {
    let begins = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        name == FILE || name.to_str().is_some_and(|name| name.starts_with("0000."))
    };
    for entry in fs::read_dir(work).into_iter().flatten().flatten().filter(begins) {
        // Whatever stays is refused with its name.
        let _ = fs::remove_file(entry.path());
    }
}
