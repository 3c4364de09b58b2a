//! From scores to logarithms of time, the unit in which choices of all models compare.

/// The rule that turns a model's scores into logarithms of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LogTime {
    /// This much for each unit of the score, less for a higher one.
    PerUnit(f64),
    /// The score is a speed in TFLOPS.
    OfTflops,
    /// The score is a bandwidth.
    OfBandwidth,
    /// The score is a time in milliseconds.
    OfTime,
}

impl LogTime {
    /// The logarithm of time by which a score is behind the first one; NaN for a kernel without a score.
    pub fn behind(self, first: f64, score: f64) -> f64 {
        let behind = match self {
            Self::PerUnit(unit) => (first - score) * unit,
            Self::OfTflops | Self::OfBandwidth => (first / score).ln(),
            Self::OfTime => (score / first).ln(),
        };
        // `f64::max` would take a kernel without a score for one that is as fast as the first.
        if behind < 0.0 { 0.0 } else { behind }
    }

    /// The microseconds that a score means for so many operations; `None` if it means none.
    pub fn time_us(self, score: f64, flops: f64) -> Option<f64> {
        let time = match self {
            Self::PerUnit(_) | Self::OfBandwidth => return None,
            Self::OfTflops => flops / (score * 1e6),
            Self::OfTime => score * 1e3,
        };
        Some(time).filter(|time| time.is_finite() && *time > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kernels without a score were expected to be as fast as the first.
    #[test]
    fn a_kernel_without_a_score_is_behind_by_an_unknown_time() {
        let units = [LogTime::PerUnit(0.5), LogTime::OfTflops, LogTime::OfBandwidth, LogTime::OfTime];
        for unit in units {
            assert!(unit.behind(2.0, f64::NAN).is_nan(), "{unit:?}");
            assert_eq!(unit.behind(2.0, 2.0), 0.0);
            // Rounding may put a score before the first one.
            let before = if unit == LogTime::OfTime { 1.0 } else { 3.0 };
            assert_eq!(unit.behind(2.0, before), 0.0);
        }
        assert_eq!(LogTime::PerUnit(0.5).behind(2.0, 1.0), 0.5);
    }
}
