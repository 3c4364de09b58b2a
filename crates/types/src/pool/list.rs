//! Names in text and CSV files.

use std::borrow::Cow;
use std::collections::HashMap;

use super::error::quoted;
use super::{Builder, PoolError, named};
use crate::each_operation;
use crate::field::InvalidField;
use crate::kernel::{Kernel, KernelKind};
use crate::nearest::nearest;
use crate::sheet::aiter;
use crate::sheet::csv::UNCLOSED;
use crate::sheet::{
    Column, Columns, CsvFault, CsvRows, KERNELS, Lines, Opened, SPEEDS, SheetFault, TIMES, Text,
};
use crate::vocab::Arch;

pub(super) fn read(opened: Opened<'_>, arch: Option<Arch>, builder: &mut Builder) -> Result<(), PoolError> {
    // Names hold neither commas nor quotes, and a header of one column is the column's bare name, or near it.
    let first = opened.beginning.trim_end();
    let is_header = first.contains([',', '"']) || nearest(first, KERNELS).is_some();
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
    let mut columns = Columns::new("", rows.header());
    let names = columns.kernel();
    let stages = aiter::FMOE_KERNELS.map(|name| columns.find(name));
    let (gfx, arch_of_row) = (columns.find("gfx"), columns.find("arch"));
    let (time, speed) = (columns.same(&TIMES), columns.same(&SPEEDS));
    // A row of AITER's fused mixtures of experts has two kernels, of any libraries.
    let has_stages = stages.iter().all(|column| column.is_there());
    let field = if has_stages { stages[0] } else { names.first() };
    if !field.is_there() {
        let header = rows.header().join(", ");
        return Err(PoolError::value(
            format!("the columns {}", quoted(&header)),
            "a column 'kernel', 'kernel_name' or 'kernelName', or a text file of one name a line",
        )
        .line(rows.line()));
    }
    columns.finish(None).map_err(|error| PoolError::from(error.fault).line(rows.line()))?;
    let mut kernels: Vec<(Kernel, Option<Arch>, u64)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    while rows.next()? {
        let at = |error: PoolError| error.line(rows.line());
        let in_cell =
            |error: InvalidField| at(PoolError::value(error.found, error.expected).within(&error.field));
        let parsed = |column: Column| column.text(&rows).map(|word| word.parse::<Arch>()).transpose();
        let own = parsed(gfx).map_err(|error| at(PoolError::new(error).within("gfx")))?;
        if names.is_elsewhere(&rows) || own.zip(arch).is_some_and(|(own, wanted)| own != wanted) {
            continue;
        }
        let is_there = parsed(arch_of_row).unwrap_or_default().is_none_or(|own| Some(own) == arch);
        let figures = [time.time(&rows).map_err(in_cell)?, speed.figure(&rows).map_err(in_cell)?];
        let has_time = figures.iter().any(|figure| *figure > 0.0 && figure.is_finite());
        let own_name = if has_stages { None } else { names.name(&rows).map_err(in_cell)? };
        let of_stages = stages.iter().filter_map(|column| column.text(&rows));
        let of_row = of_stages.filter(|name| Kernel::begins_a_name(name));
        let all = of_row.chain(own_name.or_else(|| (!has_stages).then(Cow::default)));
        for name in all {
            if is_there && has_time && !builder.measured.contains(&*name) {
                builder.measured.insert(name.clone().into_owned());
            }
            if let Some(&index) = places.get(&*name) {
                // A kernel of several architectures is of none.
                kernels[index].1 = kernels[index].1.filter(|first| Some(*first) == own);
                continue;
            }
            let kernel = named(&name).map_err(|error| at(error.within(field.name)))?;
            places.insert(name.into_owned(), kernels.len());
            kernels.push((kernel, own, rows.line()));
        }
    }
    kernels.into_iter().try_for_each(|(mut kernel, arch, line)| {
        each_operation!(&mut kernel.kind, KernelKind(own) => own.arch = own.arch.or(arch));
        builder.push(kernel).map_err(|error| error.line(line).within(field.name))
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
