//! Median and spread of a few timings.

/// The median; `None` without times.
pub(super) fn median(times: &[f64]) -> Option<f64> {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = sorted.get(sorted.len() / 2 - 1)?;
    Some(lower + (upper - lower) / 2.0)
}

/// The coefficient of variation: standard deviation of the sample over its mean. `None` for fewer than two
/// times, which have no spread.
pub(super) fn coefficient_of_variation(times: &[f64]) -> Option<f64> {
    if times.len() < 2 {
        return None;
    }
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let squares: f64 = times.iter().map(|time| (time - mean).powi(2)).sum();
    Some((squares / (times.len() - 1) as f64).sqrt() / mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_is_the_middle_or_between_the_two_middles() {
        for (times, expected) in [
            (&[][..], None),
            (&[3.0][..], Some(3.0)),
            (&[4.0, 1.0][..], Some(2.5)),
            (&[9.0, 1.0, 2.0][..], Some(2.0)),
            (&[f64::MAX, f64::MAX][..], Some(f64::MAX)),
        ] {
            assert_eq!(median(times), expected, "{times:?}");
        }
    }

    #[test]
    fn spread_needs_two_times() {
        assert_eq!(coefficient_of_variation(&[2.0]), None);
        assert_eq!(coefficient_of_variation(&[2.0, 2.0, 2.0]), Some(0.0));
        assert_eq!(coefficient_of_variation(&[1.0, 3.0]), Some(2_f64.sqrt() / 2.0));
    }
}
