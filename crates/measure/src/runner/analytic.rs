//! A formula for how long kernels take. It accounts for tiles, waves of workgroups, arithmetic and memory,
//! and is otherwise made up: suitable for dry runs and tests, not for choosing kernels for a real GPU.

use ck_select::kernel::{Kernel, Mnk};
use ck_select::problem::{ConvProblem, Problem};
use ck_select::vocab::Direction;
use serde_json::{Value, json};

use super::Answers;
use crate::outcome::{FailureClass, Measurement, Outcome};

/// A GPU as the formula models it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Analytic {
    /// Compute units.
    pub compute_units: f64,
    /// Operations per second of one compute unit.
    pub flops_per_unit: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Seconds of the shortest launch.
    pub launch_s: f64,
}

impl Default for Analytic {
    /// Roughly a large GPU.
    fn default() -> Self {
        Self { compute_units: 256.0, flops_per_unit: 5e12, bytes_per_s: 5e12, launch_s: 4e-6 }
    }
}

/// A (batched) matrix product.
struct Product {
    count: f64,
    m: f64,
    n: f64,
    k: f64,
}

impl Product {
    fn of(problem: &Problem) -> Self {
        let volume = |extents: [i64; 3]| extents.iter().map(|&extent| extent as f64).product::<f64>();
        match problem {
            Problem::Gemm(p) => Self { count: 1.0, m: p.m as f64, n: p.n as f64, k: p.k as f64 },
            // The product of queries and keys and the product of scores and values as one product over the
            // heads.
            Problem::Fmha(p) => Self {
                count: p.batch as f64 * p.nhead_q as f64,
                m: p.longest_q() as f64,
                n: (p.hdim_q + p.hdim_v) as f64,
                k: p.longest_k() as f64,
            },
            Problem::Conv(p) => {
                let ConvProblem { n, c, k, g, .. } = *p;
                let (inputs, outputs) = (c as f64 / g as f64, k as f64 / g as f64);
                let (images, taps) = (n as f64, volume(p.filter));
                let count = g as f64;
                match p.direction {
                    Direction::Forward => {
                        Self { count, m: images * volume(p.output()), n: outputs, k: inputs * taps }
                    }
                    Direction::BwdData => {
                        Self { count, m: images * volume(p.input), n: inputs, k: outputs * taps }
                    }
                    Direction::BwdWeight => {
                        Self { count, m: outputs, n: inputs * taps, k: images * volume(p.output()) }
                    }
                }
            }
        }
    }
}

impl Analytic {
    fn seconds(&self, tile: Mnk, product: &Product, habit: f64) -> f64 {
        let (m, n, k) = (f64::from(tile.m), f64::from(tile.n), f64::from(tile.k));
        let Product { count, m: rows, n: columns, k: depth } = *product;
        let blocks = count * (rows / m).ceil() * (columns / n).ceil();
        let rounds = (blocks / self.compute_units).ceil();
        let steps = (depth / k).ceil();
        // Small tiles load more data per operation.
        let share = m * n / (m * n + 48.0 * (m + n));
        let block_s = 2.0 * m * n * k * (steps + 2.0) / (self.flops_per_unit * share);
        let bytes = 2.0 * count * (rows * depth + depth * columns + rows * columns);
        self.launch_s + (rounds * block_s).max(bytes / self.bytes_per_s) * habit
    }
}

impl Answers for Analytic {
    fn describe(&self) -> Value {
        json!({ "formula": "analytic", "version": 1 })
    }

    fn answer(&self, kernel: &Kernel, problem: &Problem) -> Outcome {
        let Mnk { m, n, k } = kernel.kind.tile();
        let tile = Mnk::new(m.max(1), n.max(1), k.max(1));
        // Stands for everything that the formula does not model: up to 15 % by the kernel's name, and up to 3
        // % by the problem as well.
        let own = hash(&[&kernel.name]);
        let both = hash(&[&kernel.name, &problem.to_string()]);
        let habit = 1.0 + 0.15 * own + 0.03 * both;
        let ms = self.seconds(tile, &Product::of(problem), habit) * 1e3;
        if ms > 0.0 && ms.is_finite() {
            Outcome::Measured(Measurement::of(ms, problem.flops()))
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
        let defaults = ProblemDefaults::of(Op::Conv);
        let problem = Problem::parse(Op::Conv, problem, &defaults).unwrap();
        Analytic::default().answer(&kernel, &problem).latency_ms().unwrap()
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

    #[test]
    fn no_kernel_is_faster_than_the_machine() {
        let defaults = ProblemDefaults::of(Op::Conv);
        let flops = Problem::parse(Op::Conv, LARGE, &defaults).unwrap().flops();
        let Analytic { compute_units, flops_per_unit, .. } = Analytic::default();
        assert!(ms("128x128x64", LARGE) / 1e3 > flops / (compute_units * flops_per_unit));
    }
}
