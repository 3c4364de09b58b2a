//! A formula for how long kernels take: the estimate for one GPU, and for each kernel a habit of its own.
//! Suitable for dry runs and tests, not for choosing kernels for a real GPU.

use ck_select::estimate::{Device, Estimator};
use ck_select::kernel::Kernel;
use ck_select::problem::Problem;
use ck_select::vocab::Arch;
use ck_select_measurements::outcome::{FailureClass, Measurement, Outcome};
use serde_json::{Value, json};

use super::OutcomeSource;
use crate::error::MeasureError;

/// The GPU that the formula is for.
const ARCH: &str = "gfx942";
/// Milliseconds of a floating-point operation of a kernel that the estimate does not know.
const UNKNOWN: f64 = 1e-11;

/// The formula.
#[derive(Debug)]
pub struct Analytic(Estimator);

impl Analytic {
    /// The formula for its GPU.
    pub fn new() -> Result<Self, MeasureError> {
        let arch = ARCH.parse::<Arch>().map_err(MeasureError::new)?;
        let device = Device::for_arch(arch).map_err(MeasureError::new)?;
        Ok(Self(Estimator::new(device)))
    }
}

impl OutcomeSource for Analytic {
    fn describe(&self) -> Value {
        json!({ "formula": "analytic", "version": 2 })
    }

    fn answer(&self, kernel: &Kernel, problem: &Problem) -> Outcome {
        let estimate =
            self.0.shape(&kernel.kind).map(|shape| self.0.time(&self.0.load(problem), &shape) / 1e3);
        let ms = estimate.unwrap_or(problem.flops() * UNKNOWN);
        // What the estimate does not model: up to 15 % by the kernel's name, and up to 3 % by the problem as
        // well.
        let habit = 0.15 * hash(&[&kernel.name]) + 0.03 * hash(&[&kernel.name, &problem.to_string()]);
        let ms = ms * (1.0 + habit);
        if ms > 0.0 && ms.is_finite() {
            Outcome::Measured(Measurement::new(ms, problem.flops()))
        } else {
            Outcome::failed(FailureClass::NotATime, format!("computed as {ms} ms"))
        }
    }
}

/// An FNV-1a hash as a number from 0 to 1.
fn hash(texts: &[&str]) -> f64 {
    let bytes = texts.iter().flat_map(|text| text.bytes().chain([0]));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    // The high bits of FNV mix best.
    (hash >> 40) as f64 / f64::from(1_u32 << 24)
}

#[cfg(test)]
mod tests {
    use ck_select::problem::ProblemDefaults;
    use ck_select::vocab::Op;

    use super::*;

    fn ms(tile: &str, problem: &str) -> f64 {
        let kernel = Kernel::from_name(&format!("grouped_conv_forward_bf16_2d_{tile}_compv3")).unwrap();
        let defaults = ProblemDefaults::new(Op::Conv);
        let problem = Problem::parse(Op::Conv, problem, &defaults).unwrap();
        Analytic::new().unwrap().answer(&kernel, &problem).latency_ms().unwrap()
    }

    const LARGE: &str = "N=64,C=512,K=512,Hi=56,Wi=56,Y=3,X=3,pad_h=1,pad_w=1";
    const SMALL: &str = "N=1,C=64,K=64,Hi=14,Wi=14,Y=1,X=1";

    #[test]
    fn large_tiles_suit_large_problems() {
        assert!(ms("128x128x64", LARGE) < ms("16x64x64", LARGE));
        assert!(ms("16x64x64", SMALL) < ms("128x128x64", SMALL));
        assert!(ms("64x64x64", SMALL) < ms("64x64x64", LARGE));
        assert_eq!(ms("64x64x64", SMALL).to_bits(), ms("64x64x64", SMALL).to_bits());
    }
}
