//! Times as text: of a training, of a page, of a measured winner.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::CliError;

const VARIABLE: &str = "SOURCE_DATE_EPOCH";
/// The first second whose year has five digits.
const YEAR_10000: u64 = 253_402_300_800;

/// The current time, or the time in `SOURCE_DATE_EPOCH`, for reproducible output; in UTC.
pub(crate) fn timestamp() -> String {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    format(source_date_epoch().ok().flatten().unwrap_or_else(now))
}

/// Refuses a `SOURCE_DATE_EPOCH` that is not a time, before any work.
pub(crate) fn check() -> Result<(), CliError> {
    source_date_epoch().map(drop)
}

fn source_date_epoch() -> Result<Option<u64>, CliError> {
    let Some(text) = std::env::var_os(VARIABLE).filter(|text| !text.is_empty()) else { return Ok(None) };
    let seconds = text.to_str().and_then(|text| text.parse().ok()).filter(|seconds| *seconds < YEAR_10000);
    seconds.map(Some).ok_or_else(|| {
        let expected = "seconds since 1970, or nothing";
        CliError::usage(format!("{VARIABLE}: found '{}', expected {expected}", text.display()))
    })
}

/// Seconds since 1970 as `YYYY-MM-DDThh:mm:ss`.
pub(crate) fn format(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days in eras of 400 years that begin in March, so that a leap day is the last day of a year.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, past_new_year) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = era * 400 + year + past_new_year;
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::format;

    #[test]
    fn known_moments() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00"),
            (951_782_399, "2000-02-28T23:59:59"),
            (951_782_400, "2000-02-29T00:00:00"),
            (1_735_689_599, "2024-12-31T23:59:59"),
            (4_107_542_400, "2100-03-01T00:00:00"),
        ] {
            assert_eq!(format(seconds), text);
        }
    }
}
