//! What a training leaves out to be judged: folds of problems, or a device, a direction, a type, a network or a file, to
//! judge a model on kinds that it has not seen.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use ck_select_measurements::Measurements;

use super::data::Item;
use super::error::TrainError;

/// The parts into which the problems of a training are divided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Folds {
    /// So many of about the same size; fewer than 2 for none.
    Count(usize),
    /// One for each value of what is left out: each is left out once, while training on all others.
    Each(Holdout),
}

impl FromStr for Folds {
    type Err = String;

    /// Reads a number, `device`, `direction`, `dtype`, `model` or the path of a file.
    fn from_str(word: &str) -> Result<Self, String> {
        match word.parse() {
            Ok(count @ 1..=100) => return Ok(Self::Count(count)),
            _ if word.parse::<f64>().is_ok() => return Err("expected 1 to 100 folds".to_owned()),
            _ => {}
        }
        Ok(Self::Each(match word {
            "device" => Holdout::Device,
            "direction" => Holdout::Direction,
            "dtype" => Holdout::Dtype,
            "model" => Holdout::Model,
            file => Holdout::File(PathBuf::from(file)),
        }))
    }
}

/// The kind of group that each fold leaves out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holdout {
    /// Each GPU: architectures, and GPUs of one architecture whose recorded constants differ.
    Device,
    /// Each direction of convolutions.
    Direction,
    /// Each type of inputs.
    Dtype,
    /// Each network that tables name as `model`.
    Model,
    /// The problems of one file, and of no other.
    File(PathBuf),
}

/// The folds of a [`Holdout`].
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HoldoutFolds {
    /// The fold of each problem.
    pub(super) fold_of: Vec<Option<usize>>,
    /// The name of each fold: its architecture, direction, type or file.
    pub(super) names: Vec<String>,
}

impl Holdout {
    fn value(&self, item: &Item, measurements: &Measurements) -> String {
        let unknown = || "none".to_owned();
        let problem = &measurements.problems()[item.problem as usize];
        match self {
            Self::Device => {
                problem.arch().map_or_else(unknown, |arch| measurements.gpu_of_file(item.file, arch))
            }
            Self::Direction => problem.direction().map_or_else(unknown, |direction| direction.to_string()),
            Self::Dtype => problem.dtype().to_string(),
            Self::Model => measurements.model_of(item.problem).map_or_else(unknown, str::to_owned),
            Self::File(_) => unknown(),
        }
    }

    /// The fold of each problem, and what each fold leaves out. Problems that are never judged are in the
    /// training part of each fold, except that of their own value.
    pub(super) fn folds(
        &self,
        measurements: &Measurements,
        items: &[Item],
    ) -> Result<HoldoutFolds, TrainError> {
        let fault = |found: String, expected: &str| {
            TrainError::refused(format_args!("--folds {self}: found {found}, expected {expected}"))
        };
        if let Self::File(path) = self {
            let held = problems_of(path, measurements).map_err(|found| match found {
                0 => fault(path.display().to_string(), "device, direction, dtype, model or a file of --data"),
                _ => fault(
                    format!("{found} files of the name {}", path.display()),
                    "the path of one of them, as in --data",
                ),
            })?;
            let fold_of: Vec<_> =
                items.iter().map(|item| held.contains(&item.problem).then_some(0)).collect();
            if fold_of.iter().all(Option::is_some) {
                return Err(fault("no other problem".to_owned(), "problems of other files to train on"));
            }
            let is_judged = |(fold, item): (&Option<usize>, &Item)| fold.is_some() && !item.only_trains;
            if !fold_of.iter().zip(items).any(is_judged) {
                return Err(fault(
                    "no valid row in it that is not only trained on".to_owned(),
                    "problems to judge by",
                ));
            }
            return Ok(HoldoutFolds { fold_of, names: vec![self.to_string()] });
        }
        let value = |item: &Item| self.value(item, measurements);
        let values: BTreeSet<String> = items.iter().map(value).collect();
        if values.len() < 2 {
            let value = values.into_iter().next().unwrap_or_default();
            return Err(fault(format!("only {value}"), "data of at least two"));
        }
        let fold = |item| values.iter().position(|one| *one == value(item));
        Ok(HoldoutFolds { fold_of: items.iter().map(fold).collect(), names: values.into_iter().collect() })
    }
}

impl fmt::Display for Holdout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device => f.write_str("device"),
            Self::Direction => f.write_str("direction"),
            Self::Dtype => f.write_str("dtype"),
            Self::Model => f.write_str("model"),
            Self::File(path) => path.file_name().unwrap_or(path.as_os_str()).display().fmt(f),
        }
    }
}

/// The problems of the file of the measurements with this path, else with this name. An error is the number
/// of files with the name: none, or several.
fn problems_of(path: &Path, measurements: &Measurements) -> Result<BTreeSet<u32>, usize> {
    let sources = measurements.sources();
    let places = |is_meant: &dyn Fn(&Path) -> bool| -> Vec<usize> {
        (0..sources.len()).filter(|&source| is_meant(&sources[source].path)).collect()
    };
    let mut meant = places(&|source| source == path);
    if meant.is_empty() {
        meant = places(&|source| source.file_name() == Some(path.as_os_str()));
    }
    let &[source] = meant.as_slice() else { return Err(meant.len()) };
    let rows = measurements.rows_of_files().nth(source).unwrap_or_default();
    Ok(measurements.rows()[rows].iter().map(|row| row.problem).collect())
}

#[cfg(test)]
mod tests {
    use ck_select_types::vocab::Op;

    use super::*;
    use ck_select_measurements::RowScope;

    /// Files of rows, each a problem by its direction and channels.
    fn measured(files: &[(&str, &[(&str, u32)])]) -> (Measurements, Vec<Item>) {
        let mut measurements = Measurements::new(RowScope::all(Op::Conv));
        for (name, rows) in files {
            let row = |(direction, channels): &(&str, u32)| {
                format!("grouped_conv_{direction}_bf16_2d_16x64x64_compv3,{channels},64,8,8,3,3,0.5,10\n")
            };
            let header = "kernel,C,K,Hi,Wi,Y,X,latency_ms,tflops\n".to_owned();
            let text = rows.iter().map(row).fold(header, |text, row| text + &row);
            measurements.add_text(name, text.as_bytes()).unwrap();
        }
        let item = |problem| Item { problem, arch: None, file: 0, span: 0..1, only_trains: false };
        let items = (0..measurements.problems().len() as u32).map(item).collect();
        (measurements, items)
    }

    const TWO: &[(&str, &[(&str, u32)])] =
        &[("a.csv", &[("forward", 16), ("bwd_data", 16)]), ("b.csv", &[("forward", 32)])];

    #[test]
    fn each_value_is_left_out_once() {
        let (measurements, items) = measured(TWO);
        let left_out = Holdout::Direction.folds(&measurements, &items).unwrap();
        assert_eq!(left_out.fold_of, [Some(1), Some(0), Some(1)]);
        assert_eq!(left_out.names, ["bwd_data", "forward"]);
        let left_out = Holdout::File("b.csv".into()).folds(&measurements, &items).unwrap();
        assert_eq!(left_out.fold_of, [None, None, Some(0)]);
        assert_eq!(left_out.names, ["b.csv"]);
    }

    #[test]
    fn a_name_of_two_files_is_not_enough() {
        let files: [(&str, &[(&str, u32)]); 2] =
            [("a/x.csv", &[("forward", 16)]), ("b/x.csv", &[("forward", 32)])];
        let (measurements, items) = measured(&files);
        let folds = |file: &str| Holdout::File(file.into()).folds(&measurements, &items);
        assert_eq!(folds("b/x.csv").unwrap().fold_of, [None, Some(0)]);
        let error = folds("x.csv").unwrap_err().to_string();
        assert!(error.contains("found 2 files of the name x.csv, expected the path of one"), "{error}");
    }
}
