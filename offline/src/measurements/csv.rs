//! Benchmark CSVs: one row a measured (problem, kernel), as upstream's harness writes them.

use std::collections::HashMap;
use std::path::Path;

use ck_select::features::Fields;
use ck_select::kernel::KernelKind;
use ck_select::problem::{Problem, ProblemDefaults};
use csv::StringRecord;

use super::{DataError, Measurements, Row, Source};

struct Cells<'a> {
    columns: &'a HashMap<String, usize>,
    record: &'a StringRecord,
}

impl Fields for Cells<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        let cell = self.record.get(*self.columns.get(name)?)?;
        (!cell.is_empty()).then_some(cell)
    }
}

pub(super) fn add(into: &mut Measurements, path: &Path) -> Result<(), DataError> {
    let file = path.display().to_string();
    let csv_error = |source| DataError::Csv { file: file.clone(), source };
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_path(path)
        .map_err(csv_error)?;
    let header = reader.headers().map_err(csv_error)?.clone();
    let columns: HashMap<String, usize> = header
        .iter()
        .enumerate()
        .map(|(index, name)| (name.trim_start_matches('\u{feff}').to_owned(), index))
        .collect();
    let need = |column: &'static str| {
        columns.get(column).copied().ok_or_else(|| DataError::NoColumn {
            file: file.clone(),
            column,
            found: header.iter().map(str::to_owned).collect(),
        })
    };
    let kernel_column = columns.get("kernel").copied().map_or_else(|| need("kernel_name"), Ok)?;
    let (tflops, latency) = (need("tflops")?, need("latency_ms")?);
    let mut source = Source { path: path.to_owned(), rows: 0, other: 0 };
    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(csv_error)? {
        let line = record.position().map_or(0, csv::Position::line);
        let fault = |message: String| DataError::Row { file: file.clone(), line, message };
        let kernel =
            into.kernel(&record[kernel_column]).map_err(|error| fault(format!("kernel: {error}")))?;
        let mut defaults = ProblemDefaults { arch: into.wanted.arch, ..ProblemDefaults::of(into.wanted.op) };
        if let KernelKind::Conv(conv) = &into.kernels[kernel as usize].kind {
            defaults.direction = conv.direction;
            defaults.dtype = conv.dtype_in;
        }
        let wanted = into.wanted;
        if wanted.direction.is_some_and(|direction| direction != defaults.direction)
            || wanted.dtype.is_some_and(|dtype| dtype != defaults.dtype)
        {
            source.other += 1;
            continue;
        }
        let problem =
            Problem::from_fields(wanted.op, &Cells { columns: &columns, record: &record }, &defaults)
                .map_err(|error| fault(error.to_string()))?;
        let number = |column: usize, name: &str| match record.get(column).unwrap_or_default() {
            "" | "N/A" | "nan" | "NaN" => Ok(f64::NAN),
            text => text
                .parse::<f64>()
                .map_err(|_| fault(format!("{name}: found '{text}', expected a number or N/A"))),
        };
        let (tflops, latency_ms) = (number(tflops, "tflops")?, number(latency, "latency_ms")?);
        let is_valid = tflops > 0.0 && latency_ms > 0.0;
        let problem = into.problem(problem);
        into.rows.push(Row { problem, kernel, tflops, latency_ms, bandwidth_gb_s: f64::NAN, is_valid });
        source.rows += 1;
    }
    into.sources.push(source);
    Ok(())
}
