//! From scores to logarithms of time, the unit in which choices of all models compare.

/// What turns a model's scores into logarithms of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LogTime {
    /// So much for each unit, less for a higher score.
    PerUnit(f64),
    /// The score is a speed in TFLOPS.
    OfTflops,
    /// The score is a bandwidth.
    OfBandwidth,
    /// The score is a time in milliseconds.
    OfTime,
}

impl LogTime {
    /// The logarithm of time by which a score is behind the first one.
    pub fn behind(self, first: f64, score: f64) -> f64 {
        let behind = match self {
            Self::PerUnit(unit) => (first - score) * unit,
            Self::OfTflops | Self::OfBandwidth => (first / score).ln(),
            Self::OfTime => (score / first).ln(),
        };
        behind.max(0.0)
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
