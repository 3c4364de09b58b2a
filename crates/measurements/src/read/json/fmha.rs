//! Results of `fmha_benchmark`: one object per kernel and problem, with the columns of its CSV.

use ck_select_types::cells::Cell;
use ck_select_types::kernel::Kernel;
use ck_select_types::listing::{HeaderError, check_names};
use ck_select_types::problem::FmhaProblem;
use ck_select_types::vocab::Op;

use super::super::problems::{OwnedCells, number_columns, plain};
use super::super::record::{Figures, verdict};
use super::super::rows::{Fault, RowOutcome};
use super::{Benchmark, OperationResults, Results, SPEEDS, TIMES, error_of, figure, flag, unknown};

impl OperationResults for FmhaProblem {
    fn benchmark_row(
        results: &mut Results<'_>,
        kernel: &Kernel,
        found: Benchmark<'_>,
    ) -> Result<RowOutcome, Fault> {
        let Benchmark { result, sizes: Some(sizes), .. } = found else {
            return Err("problem: found nothing, expected an object with sizes of attention"
                .to_owned()
                .into());
        };
        let keys: Vec<&str> = sizes.keys().map(String::as_str).collect();
        if let Err(HeaderError::Unknown(wrong)) = check_names(Op::Fmha, &keys, &[]) {
            return Err(format!("problem: {}", unknown(&wrong)).into());
        }
        // `num_splits` may stand beside the sizes; null means that the kernel does not split.
        let cell = |name| sizes.get(name).or(result.get(name).filter(|_| name == "num_splits")).map(plain);
        let mut cells = OwnedCells::default();
        cells.0.extend(number_columns(Op::Fmha).filter_map(|name| Some((name, cell(name)?))));
        cells.0.extend(results.arch_of(found)?.map(|arch| ("arch", arch)));
        results.rows.object(kernel, &cells, |problem| {
            let status = result.get("status").map(plain).unwrap_or_default();
            let verdicts = [Cell::from_text(&status).map(verdict).transpose()?, flag(result, "is_valid")?];
            let error = error_of(result);
            let failed = error.is_some() || verdicts.contains(&Some(false));
            let recorded = if failed { Some(false) } else { verdicts[0].or(verdicts[1]) };
            let (tflops, latency) = (figure(result, SPEEDS, failed)?, figure(result, TIMES, failed)?);
            let error = error.or((verdicts[0] == Some(false)).then_some(status));
            Ok((Figures::judge(tflops, latency, f64::NAN, recorded, None, problem)?, error))
        })
    }
}
