//! From scores to logarithms of time, the unit in which choices of all models compare.

/// What turns a model's scores into logarithms of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LogTime {
    /// So much for each unit, less for a higher score.
    PerUnit(f64),
    /// The score is a speed.
    OfSpeed,
    /// The score is a time.
    OfTime,
}

impl LogTime {
    /// The logarithm of time by which a score is behind the first one.
    pub fn behind(self, first: f64, score: f64) -> f64 {
        let behind = match self {
            Self::PerUnit(unit) => (first - score) * unit,
            Self::OfSpeed => (first / score).ln(),
            Self::OfTime => (score / first).ln(),
        };
        behind.max(0.0)
    }
}
