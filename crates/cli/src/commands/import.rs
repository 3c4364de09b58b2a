//! `ckselect import`: problems from other libraries' tuned tables, with their best known times.

use std::path::PathBuf;

use ck_select_offline::tuned;

use crate::error::CliError;
use crate::output::Output;

const EXAMPLES: &str = "Examples:
  ckselect import bf16_tuned_gemm.csv --output roof.txt
  ckselect import a8w8_tuned_gemm.csv --fields quant=rowcolquant --output roof.txt
  ckselect import gfx942130.HIP.fdb.txt --fields arch=gfx942 --output roof.txt
  ckselect evaluate --model models/M --data oracle.csv --roof roof.txt

Reads AITER's tuned CSVs of GEMMs, hipBLASLt's logic files of exact solutions (YAML) and MIOpen's find-db as \
text. The output is a list of problems, as --problems reads it, each after a comment with its time, the number \
of compute units of its device where the table says it, and its kernel.";

/// How many skipped lines are printed.
const SHOWN: usize = 10;

/// Read tuned tables of other libraries: problems and their best known times
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Tables; their format is recognised by their beginning
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Fields of the problems that the tables do not record, as KEY=VALUE,...
    #[arg(long, value_name = "FIELDS", default_value = "")]
    fields: String,
    /// Take only times of devices with this many compute units (cu_num, CUCount); tables that say none are
    /// left out
    #[arg(long, value_name = "COUNT")]
    num_cus: Option<u32>,
    /// Output file [default: standard output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let mut all = Vec::new();
    for path in &args.files {
        let name = path.display().to_string();
        let text = ck_select::files::read_to_string(path).map_err(|error| CliError::io(&name, &error))?;
        let mut table = tuned::read(&name, &text, &args.fields)?;
        for (line, reason) in table.left_out.iter().take(SHOWN) {
            say!("ckselect: {name}: line {line}: {reason}");
        }
        if !table.unknown.is_empty() {
            say!("ckselect: warning: {name}: ignored columns: {}", table.unknown.join(", "));
        }
        let (problems, left_out) = (table.tuned.len(), table.left_out.len());
        say!("ckselect: {name}: {}: {problems} problems, {left_out} lines are left out", table.kind);
        if let Some(asked) = args.num_cus {
            table.tuned.retain(|tuned| tuned.num_cus == Some(asked));
            let others = problems - table.tuned.len();
            if others > 0 {
                say!(
                    "ckselect: {name}: {others} problems are of devices with other numbers of compute units"
                );
            }
        }
        if table.tuned.is_empty() {
            return Err(CliError::failed(format!("{name}: no problem found")));
        }
        all.extend(table.tuned);
    }
    let mut out = Output::create(args.output.as_deref())?;
    tuned::write(&all, &mut out).map_err(|error| CliError::io(out.name(), &error))?;
    out.finish()
}
