//! Names in text and CSV files.

use std::collections::HashMap;

use super::error::quoted;
use super::{Builder, PoolError, named};
use crate::each_operation;
use crate::kernel::{Kernel, KernelKind};
use crate::nearest::nearest;
use crate::sheet::csv::UNCLOSED;
use crate::sheet::{CsvFault, CsvRows, Lines, Opened, SheetFault, Text};
use crate::vocab::Arch;

/// The columns that may hold the name; the first that exists counts. The last is AITER's.
const COLUMNS: [&str; 3] = ["kernel", "kernel_name", "kernelName"];
/// The columns of measurements, of which a file of these has one at least.
const TIMES: [&str; 5] = ["latency_ms", "tflops", "measured_tflops", "us", "avg_time_ms"];

pub(super) fn read(opened: Opened<'_>, arch: Option<Arch>, builder: &mut Builder) -> Result<(), PoolError> {
    // Names hold neither commas nor quotes, and a header of one column is the column's bare name, or near it.
    let first = opened.beginning.trim_end();
    let is_header = first.contains([',', '"']) || nearest(first, COLUMNS).is_some();
    if is_header { read_csv(opened.text(), arch, builder) } else { read_text(opened.text(), builder) }
}

fn read_text(text: Text<'_>, builder: &mut Builder) -> Result<(), PoolError> {
    let mut lines = Lines::new(text);
    while lines.next()? {
        let name = lines.line().split('|').next().unwrap_or_default().trim_end();
        let name = name.strip_prefix("benchmark_").unwrap_or(name);
        named(name).and_then(|kernel| builder.push(kernel)).map_err(|error| error.line(lines.number()))?;
    }
    Ok(())
}

fn read_csv(text: Text<'_>, arch: Option<Arch>, builder: &mut Builder) -> Result<(), PoolError> {
    let mut rows = CsvRows::new(text);
    rows.read_header()?;
    let find = |name: &&'static str| Some((*name, rows.column(name)?));
    let Some((field, column)) = COLUMNS.iter().find_map(find) else {
        let found = rows.header().join(", ");
        return Err(PoolError::value(
            format!("the columns {}", quoted(&found)),
            "a column 'kernel', 'kernel_name' or 'kernelName', or a text file of one name a line",
        )
        .line(rows.line()));
    };
    let gfx = rows.column("gfx");
    let of_gpu = rows.column("arch");
    builder.is_measured = TIMES.iter().any(|name| rows.column(name).is_some());
    let mut found: Vec<(Kernel, Option<Arch>, u64)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    while rows.next()? {
        let name = rows.text(column);
        let elsewhere = |column: usize| rows.text(column).parse().is_ok_and(|own: Arch| Some(own) != arch);
        builder.is_measured &= !of_gpu.is_some_and(elsewhere);
        let own = gfx.map(|column| rows.text(column)).filter(|word| !word.is_empty());
        let own = own.map(str::parse::<Arch>).transpose();
        let own = own.map_err(|error| PoolError::new(error).line(rows.line()).within("gfx"))?;
        if own.zip(arch).is_some_and(|(own, asked)| own != asked) {
            continue;
        }
        if let Some(&place) = places.get(name) {
            // It is built for several.
            found[place].1 = found[place].1.filter(|first| Some(*first) == own);
            continue;
        }
        let kernel = named(name).map_err(|error| error.line(rows.line()).within(field))?;
        places.insert(name.to_owned(), found.len());
        found.push((kernel, own, rows.line()));
    }
    found.into_iter().try_for_each(|(mut kernel, arch, line)| {
        each_operation!(&mut kernel.kind, KernelKind(own) => own.arch = own.arch.or(arch));
        builder.push(kernel).map_err(|error| error.line(line).within(field))
    })
}

impl From<CsvFault> for PoolError {
    fn from(fault: CsvFault) -> Self {
        match fault {
            CsvFault::Row { line, reason } => Self::new(reason).line(line),
            CsvFault::Unclosed(line) => Self::new(UNCLOSED).line(line),
            CsvFault::Unreadable(error) => Self::unreadable(&error),
            endless @ CsvFault::Endless(_) => Self::new(endless),
        }
    }
}

impl From<SheetFault> for PoolError {
    fn from(fault: SheetFault) -> Self {
        match fault {
            SheetFault::Unreadable(error) => Self::unreadable(&error),
            SheetFault::Format(reason) => Self::new(reason),
        }
    }
}
