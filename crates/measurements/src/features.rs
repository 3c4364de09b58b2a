//! Feature rows of many measurements at once, by the library's own engines.

use ck_select_model::features::{Extractor, KernelTerms, TermsError};
use ck_select_types::kernel::Kernel;
use rayon::prelude::*;

use crate::read::Measurements;

/// A problem or a kernel that the features cannot describe.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {source}")]
pub struct FeatureError {
    /// The problem or the kernel's name.
    pub what: String,
    /// Why.
    pub source: TermsError,
}

/// Rows that a thread computes at a time: 1,024 rows of a hundred features fit in its cache.
const CHUNK: usize = 1 << 10;

/// The feature rows of `rows` (indices into [`Measurements::rows`]), row after row, computed by all threads
/// of the current rayon pool.
pub fn rows(
    measurements: &Measurements,
    extractor: &Extractor,
    rows: &[u32],
) -> Result<Vec<f64>, FeatureError> {
    let kernels = kernel_terms(measurements, extractor)?;
    let width = extractor.schema.len();
    let row = |index: &u32| &measurements.rows()[*index as usize];
    // Adjacent rows of one problem share what depends on it.
    let fill = |(rows, values): (&[u32], &mut [f64])| {
        let mut cells = values.chunks_exact_mut(width);
        for same in rows.chunk_by(|a, b| (row(a).problem, row(a).split_k) == (row(b).problem, row(b).split_k))
        {
            let problem = &measurements.problem_of(row(&same[0]));
            let terms = extractor
                .problem_terms(problem)
                .map_err(|source| FeatureError { what: problem.to_string(), source })?;
            for (index, cells) in same.iter().zip(&mut cells) {
                extractor.fill(&terms, &kernels[row(index).kernel as usize], cells);
            }
        }
        Ok(())
    };
    let mut values = vec![0.0; rows.len() * width];
    rows.par_chunks(CHUNK).zip(values.par_chunks_mut(CHUNK * width)).try_for_each(fill)?;
    Ok(values)
}

/// The terms of each kernel, from which features are computed.
fn kernel_terms(
    measurements: &Measurements,
    extractor: &Extractor,
) -> Result<Vec<KernelTerms>, FeatureError> {
    let terms = |kernel: &Kernel| {
        let named = |source| FeatureError { what: kernel.name.clone(), source };
        extractor.kernel_terms(&kernel.kind).map_err(named)
    };
    measurements.kernels().iter().map(terms).collect()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use ck_select_model::features::Engine;
    use ck_select_types::vocab::Op;

    use super::*;
    use crate::read::RowScope;

    #[test]
    fn rows_are_the_extractors() {
        let mut text = "kernel,C,K,Hi,Wi,Y,X,latency_ms,tflops\n".to_owned();
        for index in 0..3000 {
            let kernel = ["16x64x64_compv3", "64x64x128_mem", "16x64x64_compv4"][index % 3];
            // Most neighbours share a problem.
            let channels = 16 * (1 + index / 7 % 50);
            writeln!(text, "grouped_conv_forward_bf16_2d_{kernel},{channels},64,8,8,3,3,0.5,10").unwrap();
        }
        let mut measurements = Measurements::new(RowScope::all(Op::Conv));
        measurements.add_text("a.csv", text.as_bytes()).unwrap();
        let extractor = Extractor::for_engine(Engine::Conv97);
        let wanted: Vec<u32> = (0..3000).filter(|index| index % 5 != 0).collect();
        let whole = rows(&measurements, &extractor, &wanted).unwrap();
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        for (values, &index) in whole.chunks_exact(97).zip(&wanted) {
            let row = &measurements.rows()[index as usize];
            let problem = &measurements.problems()[row.problem as usize];
            let kernel = &measurements.kernels()[row.kernel as usize].kind;
            assert_eq!(bits(values), bits(&extractor.row(problem, kernel).unwrap()));
        }
    }

    #[test]
    fn kernels_without_features_are_named() {
        let mut measurements = Measurements::new(RowScope::all(Op::Conv));
        let name = "grouped_conv_forward_bf16_2d_16x64x64_wavelet";
        let text = format!("kernel,C,K,Hi,Wi,Y,X,latency_ms,tflops\n{name},16,64,8,8,3,3,0.5,10\n");
        measurements.add_text("a.csv", text.as_bytes()).unwrap();
        let fails =
            |engine| rows(&measurements, &Extractor::for_engine(engine), &[0]).unwrap_err().to_string();
        assert!(fails(Engine::Conv97).starts_with(&format!("{name}: pipeline: found 'wavelet'")));
        assert!(fails(Engine::Gemm72).starts_with(name));
    }
}
