//! Figures over many problems: quantiles, means, errors of prediction.

/// The quantile `share` (0 to 1) of sorted values, interpolated linearly like numpy's default; NaN without
/// values.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let position = share.clamp(0.0, 1.0) * last as f64;
    let below = (position.floor() as usize).min(last);
    let (low, high) = (sorted[below], sorted[(below + 1).min(last)]);
    let step = position - below as f64;
    // numpy interpolates from the nearer neighbour, which affects the last bit.
    if step < 0.5 { low + (high - low) * step } else { high - (high - low) * (1.0 - step) }
}

/// The arithmetic mean; NaN without values.
pub fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0usize);
    for value in values {
        sum += value;
        count += 1;
    }
    sum / count as f64
}

/// The distribution of efficiencies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The number of values.
    pub count: usize,
    /// The mean of the values.
    pub mean: f64,
    /// The median of the values.
    pub p50: f64,
    /// The tenth percentile.
    pub p10: f64,
    /// The smallest.
    pub min: f64,
}

impl Spread {
    /// The spread of some values.
    pub fn new(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self {
            count: values.len(),
            mean: mean(values.iter().copied()),
            p50: quantile(&values, 0.5),
            p10: quantile(&values, 0.1),
            min: values.first().copied().unwrap_or(f64::NAN),
        }
    }
}

/// Errors of predicted values against measured ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Errors {
    /// The share of the variance that is explained; the variance counts as at least 1e-10, as in upstream.
    pub r2: f64,
    /// Root of the mean squared error.
    pub rmse: f64,
    /// Mean absolute error.
    pub mae: f64,
}

impl Errors {
    /// Over pairs of (measured, predicted); `None` without pairs.
    pub fn new(pairs: &[(f64, f64)]) -> Option<Self> {
        if pairs.is_empty() {
            return None;
        }
        let count = pairs.len() as f64;
        let center = mean(pairs.iter().map(|pair| pair.0));
        let square = |value: f64| value * value;
        let unexplained: f64 = pairs.iter().map(|(measured, predicted)| square(measured - predicted)).sum();
        let variance: f64 = pairs.iter().map(|(measured, _)| square(measured - center)).sum();
        Some(Self {
            r2: 1.0 - unexplained / variance.max(1e-10),
            rmse: (unexplained / count).sqrt(),
            mae: pairs.iter().map(|(measured, predicted)| (measured - predicted).abs()).sum::<f64>() / count,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_numpys() {
        // numpy.percentile([1, 2, 4, 8], [0, 10, 50, 75, 100])
        let values = [1.0, 2.0, 4.0, 8.0];
        let quantiles = [0.0, 0.1, 0.5, 0.75, 1.0].map(|share| quantile(&values, share));
        assert_eq!(quantiles, [1.0, 1.3, 3.0, 5.0, 8.0]);
        assert_eq!(quantile(&[0.25], 0.1), 0.25);
        assert!(quantile(&[], 0.5).is_nan());
    }

    #[test]
    fn a_spread_sorts_first() {
        let spread = Spread::new(vec![1.0, 0.5, 0.75]);
        assert_eq!((spread.count, spread.mean, spread.p50, spread.min), (3, 0.75, 0.75, 0.5));
        assert!(Spread::new(Vec::new()).mean.is_nan());
    }

    #[test]
    fn errors_by_hand() {
        let errors = Errors::new(&[(1.0, 1.0), (3.0, 2.0)]).unwrap();
        assert_eq!((errors.r2, errors.rmse, errors.mae), (0.5, 0.5f64.sqrt(), 0.5));
        assert_eq!(Errors::new(&[]), None);
    }
}
