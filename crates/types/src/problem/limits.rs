//! Which figures a measurement can have.

use super::{InvalidField, Problem};

/// The largest credible rate, in TFLOPS times the bits of an element: 20,000 TFLOPS of 16 bits, 40,000 of 8,
/// 80,000 of 4. That is several times the peak of any single existing device, and far below what a kernel
/// seems to reach if it did no work, or if its time was not read.
const MOST_TFLOPS_BITS: f64 = 320_000.0;

/// The shortest credible time of a launch in milliseconds: 10 ns, a hundredth of what an empty kernel takes on a
/// GPU, and less than a call of a function on the host with its two readings of the clock.
pub const SHORTEST_LAUNCH_MS: f64 = 1e-5;

impl Problem {
    /// Refuses figures that no device can have measured: a time shorter than any launch; more TFLOPS, recorded or computed from the time,
    /// than 320,000 divided by the bits of an input element; and figures of a problem that leaves open in how
    /// many parts it ran.
    ///
    /// ```
    /// use ck_select_types::problem::GemmProblem;
    /// use ck_select_types::vocab::Dtype;
    ///
    /// let problem = GemmProblem::new(4096, 4096, 4096).with_dtype(Dtype::Bf16).into();
    /// # let problem: ck_select_types::problem::Problem = problem;
    /// assert!(problem.check_figures(700.0, 0.196).is_ok());
    /// let error = problem.check_figures(255_704.0, 0.196).unwrap_err().to_string();
    /// assert_eq!(error, "tflops: found 255704, expected at most 20000: no device does more with bf16");
    /// ```
    pub fn check_figures(&self, tflops: f64, latency_ms: f64) -> Result<(), InvalidField> {
        self.check_split()?;
        if latency_ms > 0.0 && latency_ms < SHORTEST_LAUNCH_MS {
            let expected = format!("at least {SHORTEST_LAUNCH_MS}: no launch takes less");
            return Err(InvalidField::new("latency_ms", latency_ms, expected));
        }
        let dtype = self.dtype();
        let most = MOST_TFLOPS_BITS / f64::from(dtype.bits());
        let expected = |of: &str| format!("{of}: no device does more with {dtype}");
        if tflops > most {
            return Err(InvalidField::new("tflops", tflops, expected(&format!("at most {most}"))));
        }
        let by_time = self.flops() / latency_ms / 1e9;
        if latency_ms > 0.0 && by_time > most {
            let found = format!("{latency_ms}, which makes {by_time:.0} TFLOPS");
            return Err(InvalidField::new("latency_ms", found, expected(&format!("at most {most} TFLOPS"))));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{ConvProblem, GemmProblem};
    use crate::vocab::Dtype;

    #[test]
    fn problems_beyond_any_device_are_refused() {
        let gemm = |dtype| Problem::from(GemmProblem::new(8192, 8192, 8192).with_dtype(dtype));
        for (dtype, most) in [(Dtype::Bf16, 20_000.0), (Dtype::Fp8, 40_000.0), (Dtype::PkFp4, 80_000.0)] {
            assert_eq!(gemm(dtype).check_figures(most, 1.0), Ok(()));
            assert!(gemm(dtype).check_figures(most * 1.01, 1.0).is_err());
            let ms = gemm(dtype).flops() / most / 1e9;
            assert_eq!(gemm(dtype).check_figures(1.0, ms * 1.01), Ok(()));
            let error = gemm(dtype).check_figures(1.0, ms / 2.0).unwrap_err();
            assert_eq!((error.field.as_str(), error.expected.contains("at most")), ("latency_ms", true));
        }
        // A missing figure is not an impossible one.
        for (tflops, ms) in [(0.0, f64::NAN), (f64::NAN, 0.0), (0.0, 0.0), (1.0, -1.0), (1.0, f64::INFINITY)]
        {
            assert_eq!(gemm(Dtype::Bf16).check_figures(tflops, ms), Ok(()));
        }
        let conv: Problem =
            ConvProblem { n: 32, c: 512, k: 512, ..ConvProblem::new_2d([56, 56], [3, 3]) }.into();
        assert!(conv.check_figures(500.0, 0.0001).is_err());
        let tiny: Problem = GemmProblem::new(1, 1, 1).into();
        assert_eq!(tiny.check_figures(1e-3, SHORTEST_LAUNCH_MS), Ok(()));
        let error = tiny.check_figures(1e-3, 1e-30).unwrap_err().to_string();
        assert!(error.ends_with("expected at least 0.00001: no launch takes less"), "{error}");
    }
}
