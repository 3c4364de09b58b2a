//! Winners of the tables that vLLM and SGLang load: files of configurations, without times.
//!
//! A table's name says experts and width, its entries the tokens; hidden size and experts of a token are those
//! of the known model that has such ranks. A folder is read as one table: engines ship hundreds of files, and
//! several of one problem, tuned with different versions of Triton. What a folder has besides is left out and
//! counted with its reason; a single file that is none of an engine's is an error.

mod pairs;

use std::path::{Path, PathBuf};

use ck_select_types::kernel::{Kernel, KernelKind};
use ck_select_types::moe::engine::{ConfigTable, EngineDevice, KnownModel, TableKey};
use ck_select_types::problem::Problem;
use ck_select_types::vocab::Op;

pub(super) use pairs::has_pairs;

use super::shapes::{TunedConfig, TunedShape, Winners};
use crate::read::DataError;

/// A table of an engine: its file, and what the name says.
struct EngineFile {
    path: PathBuf,
    key: TableKey,
}

impl Winners {
    /// Adds a folder of tables or a table, if the path is one of those; returns whether it is.
    pub(super) fn add_engine(&mut self, path: &Path, op: Op) -> Result<bool, DataError> {
        if op != Op::Moe {
            return Ok(false);
        }
        match (path.is_dir(), path.extension().is_some_and(|end| end == "json")) {
            (true, _) => self.add_folder(path).map(|()| true),
            (_, true) => self.add_table(path).map(|()| true),
            _ => Ok(false),
        }
    }

    /// Adds the tables of a folder and of those in it.
    fn add_folder(&mut self, folder: &Path) -> Result<(), DataError> {
        self.begin_file(folder);
        let first = self.shapes.len();
        let mut first_fault = None;
        for path in json_files(folder)? {
            if let Err(LeftOut { what, fault }) =
                EngineFile::new(path).and_then(|file| self.add_entries(&file))
            {
                self.leave_out(what, &fault);
                first_fault.get_or_insert(fault);
            }
        }
        if self.shapes.len() > first {
            return Ok(());
        }
        let expected = "tables of vLLM or SGLang such as E=8,N=14336,device_name=NVIDIA_H200.json";
        let none = format!("found none, expected {expected}");
        Err(first_fault.unwrap_or_else(|| DataError::format(&folder.display().to_string(), none)))
    }

    /// Adds a table.
    fn add_table(&mut self, path: &Path) -> Result<(), DataError> {
        self.begin_file(path);
        let added = EngineFile::new(path.to_owned()).and_then(|file| self.add_entries(&file));
        added.map_err(|left_out| left_out.fault)
    }

    fn begin_file(&mut self, path: &Path) {
        self.of_engines.insert(self.files.len());
        self.ignored.push(Vec::new());
        self.files.push(path.to_owned());
    }

    fn leave_out(&mut self, what: &'static str, fault: &DataError) {
        let entry = self.left_out.entry(what).or_insert_with(|| (0, fault.to_string()));
        entry.0 += 1;
    }

    /// Adds the entries of a table, each as a shape of its own.
    fn add_entries(&mut self, EngineFile { path, key }: &EngineFile) -> Result<(), LeftOut> {
        let file = path.display().to_string();
        let table = ConfigTable::read(path)
            .map_err(|error| LeftOut::new("files that are no tables", &error.file, error.reason))?;
        let model = KnownModel::from_table(key).ok_or_else(|| {
            let entry =
                format!("E, N: found {} x {}, expected ranks of a known model", key.experts, key.width);
            LeftOut::new("tables of no known model's ranks", &file, entry)
        })?;
        let units = Some(key.device.units).filter(|&units| units > 0);
        for (&tokens, config) in &table.rows {
            let kernel = key.kernel(config).map_err(|fault| {
                LeftOut::new("tables with other kernels", &file, format!("{tokens}: {fault}"))
            })?;
            let kernel = self.kernel_of(&Kernel { name: kernel.name(), kind: KernelKind::Moe(kernel) });
            let config =
                TunedConfig { kernel, parts: 1, us: f64::NAN, line: u64::from(tokens), marked: true };
            self.shapes.push(TunedShape {
                problem: Problem::Moe(key.problem(&model, tokens)),
                units,
                configs: vec![config],
                winner: Some(0),
                stands_for: 1.0,
                file: self.files.len() - 1,
            });
        }
        Ok(())
    }
}

impl EngineFile {
    /// Reads the file's name.
    fn new(path: PathBuf) -> Result<Self, LeftOut> {
        let file = path.display().to_string();
        let (_, key) = TableKey::from_path(&path)
            .map_err(|fault| LeftOut::new("files that no engine names so", &file, fault))?;
        if let EngineDevice { name, arch: "", .. } = key.device {
            let found = format!("device_name: found {name}, expected the name of one GPU's");
            return Err(LeftOut::new("tables of GPUs that their names do not tell", &file, found));
        }
        Ok(Self { path, key })
    }
}

/// Why a file is left out.
struct LeftOut {
    what: &'static str,
    fault: DataError,
}

impl LeftOut {
    fn new(what: &'static str, file: &str, reason: impl std::fmt::Display) -> Self {
        Self { what, fault: DataError::format(file, reason) }
    }
}

/// The JSON files of a folder and of those in it, in the order of their names.
pub(crate) fn json_files(folder: &Path) -> Result<Vec<PathBuf>, DataError> {
    let fault = |error| DataError::io(folder.display(), error);
    let entries = std::fs::read_dir(folder).map_err(fault)?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, std::io::Error>>();
    let mut paths = paths.map_err(fault)?;
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        // A link to a folder above would not end.
        if path.is_dir() && !path.is_symlink() {
            all.extend(json_files(&path)?);
        } else if path.extension().is_some_and(|end| end == "json") {
            all.push(path);
        }
    }
    Ok(all)
}
