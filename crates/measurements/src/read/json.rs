//! Results of `generate_benchmark_data`: one object, or, while it runs, the bare list of its results; those
//! of `fmha_benchmark`; and lists of the objects that benchmarks of GEMMs print.
//!
//! Results are read one kernel at a time, so the file may be larger than memory.

use ck_select_types::json::Strict;
use ck_select_types::sheet::Text;
use ck_select_types::sheet::json::{JsonFault, JsonText};
use serde::de::IgnoredAny;
use serde_json::Value;

use super::DataError;
use super::objects::{Objects, flat};
use super::record::SourceFile;
use super::rows::{Fault, FileRows, RowOutcome};

/// Reads all results. The file does not record bandwidth, which is computed from the problem and the time.
pub(super) fn read(text: Text<'_>, rows: FileRows<'_>) -> Result<SourceFile, DataError> {
    let mut results = Results { objects: Objects::new(rows), arch: None };
    match results.document(&mut JsonText::new(text)) {
        Ok(()) => {}
        Err(Stop::Sink(error)) => return Err(error),
        Err(Stop::Json(fault)) if results.objects.rows.counts == SourceFile::default() => {
            return Err(DataError::format(results.objects.rows.file, fault));
        }
        Err(Stop::Json(fault)) => {
            // What came before is good: the benchmark was stopped while writing.
            let position = format!("line {}, column {}", fault.line, fault.column);
            results.objects.rows.reject(position, format!("{fault}; the rest of the file is not read"))?;
        }
    }
    Ok(results.objects.rows.counts)
}

/// Why reading ended early.
enum Stop {
    Json(JsonFault),
    Sink(DataError),
}

impl From<JsonFault> for Stop {
    fn from(fault: JsonFault) -> Self {
        Self::Json(fault)
    }
}

impl From<DataError> for Stop {
    fn from(error: DataError) -> Self {
        Self::Sink(error)
    }
}

struct Results<'a> {
    objects: Objects<'a>,
    /// The architecture of all results, as in the file.
    arch: Option<Value>,
}

impl Results<'_> {
    /// The whole file: an object with `results`, or the list itself.
    fn document(&mut self, json: &mut JsonText<'_>) -> Result<(), Stop> {
        if json.opens(b'[')? {
            self.list(json)?;
        } else if !json.opens(b'{')? {
            return Err(json.fault("expected an object with 'results', or a list of results").into());
        } else if !self.members(json)? {
            return Err(json.fault("missing field `results`").into());
        }
        match json.peek()? {
            None => Ok(()),
            Some(_) => Err(json.fault("trailing characters").into()),
        }
    }

    /// The members of the object; whether results are among them.
    fn members(&mut self, json: &mut JsonText<'_>) -> Result<bool, Stop> {
        let mut any = false;
        while let Some(key) = json.key()? {
            if key == "results" {
                any = true;
                if !json.opens(b'[')? {
                    return Err(json.fault("results: expected a list of results").into());
                }
                self.list(json)?;
            } else if key == "metadata" {
                let Strict(metadata) = json.value()?;
                self.arch = metadata.get("arch").filter(|arch| !arch.is_null()).cloned();
                if any && self.arch.is_some() {
                    // The results were taken without it.
                    let reason = "metadata: found after the results, expected before them: it has their arch";
                    return Err(DataError::format(self.objects.rows.file, reason).into());
                }
            } else {
                json.value::<IgnoredAny>()?;
            }
        }
        Ok(any)
    }

    fn list(&mut self, json: &mut JsonText<'_>) -> Result<(), Stop> {
        let mut index = 0;
        while json.element(b']')? {
            let Strict(result) = json.value()?;
            self.result(index, &result)?;
            index += 1;
        }
        Ok(())
    }

    /// One result: a row if it has its problem in an object, otherwise all benchmarks of a kernel.
    fn result(&mut self, index: usize, result: &Value) -> Result<(), DataError> {
        if result.get("problem").is_some_and(Value::is_object) {
            let taken = self.row(result, &Value::Null);
            return self.objects.rows.count(taken, || format!("results[{index}]"));
        }
        let Some(benchmarks) = result.get("benchmarks").and_then(Value::as_array) else {
            return self.objects.rows.reject(
                format!("results[{index}]"),
                "benchmarks: found nothing, expected a list".to_owned(),
            );
        };
        for (position, benchmark) in benchmarks.iter().enumerate() {
            let taken = self.row(benchmark, result);
            self.objects.rows.count(taken, || format!("results[{index}].benchmarks[{position}]"))?;
        }
        Ok(())
    }

    /// One kernel on one problem, in the list of an object that may say kernel and architecture.
    fn row(&mut self, result: &Value, around: &Value) -> Result<RowOutcome, Fault> {
        let mut row = flat(result)?;
        if let Some(name) = around.pointer("/kernel_config/name") {
            row.entry("kernel_name").or_insert_with(|| name.clone());
        }
        // The innermost object that has an architecture says it, and outer ones must agree.
        for arch in [around.get("arch"), self.arch.as_ref()].into_iter().flatten() {
            let own = &*row.entry("arch").or_insert_with(|| arch.clone());
            if own != arch {
                let [own, arch] = [own, arch].map(|arch| arch.as_str().unwrap_or_default());
                return Err(
                    format!("arch: found '{own}', expected '{arch}' as for the results around it").into()
                );
            }
        }
        self.objects.take(&row)
    }
}
