//! Numbers as in benchmark files.

/// Text for a figure that was not measured.
const ABSENT: [&str; 7] = ["", "N/A", "nan", "NaN", "null", "None", "NULL"];

/// A measured figure; NaN if it is absent.
pub(super) fn figure(column: &str, text: &[u8]) -> Result<f64, String> {
    match parsed(text) {
        Some(value) => Ok(value),
        None if is_absent(text) => Ok(f64::NAN),
        None => Err(not_a(column, text, "a number or N/A")),
    }
}

/// A whole number, also in the form of data frames (`3.0`); `None` if it is absent.
pub(super) fn whole(column: &str, text: &[u8]) -> Result<Option<i64>, String> {
    // Longer ones are no counts of anything.
    if let Some(value) = parsed(text).filter(|_| text.len() <= 18) {
        return Ok(Some(value));
    }
    match parsed::<f64>(text) {
        Some(value) if value.fract() == 0.0 && value.abs() < 9.0e15 => Ok(Some(value as i64)),
        _ if is_absent(text) => Ok(None),
        _ => Err(not_a(column, text, "a whole number")),
    }
}

/// `true` or `false` in any of the usual spellings; `None` if it is absent.
pub(super) fn flag(column: &str, text: &[u8]) -> Result<Option<bool>, String> {
    match text {
        b"1" | b"1.0" | b"true" | b"True" | b"TRUE" => Ok(Some(true)),
        b"0" | b"0.0" | b"false" | b"False" | b"FALSE" => Ok(Some(false)),
        _ if is_absent(text) => Ok(None),
        _ => Err(not_a(column, text, "true or false")),
    }
}

/// Whether `fmha_benchmark` found a result to be good; `None` if it is absent.
pub(super) fn status(text: &[u8]) -> Result<Option<bool>, String> {
    match text {
        b"OK" | b"PASS" => Ok(Some(true)),
        b"FAIL" | b"NAN" | b"ZERO" => Ok(Some(false)),
        _ if is_absent(text) => Ok(None),
        _ => Err(not_a("status", text, "OK, PASS, FAIL, NAN or ZERO")),
    }
}

/// A number in the form of Rust's standard library.
fn parsed<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn is_absent(text: &[u8]) -> bool {
    ABSENT.iter().any(|word| word.as_bytes() == text)
}

fn not_a(column: &str, text: &[u8], expected: &str) -> String {
    let shown: String = String::from_utf8_lossy(text).chars().take(60).collect();
    format!("{column}: found '{shown}', expected {expected}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_is_not_zero_and_not_wrong() {
        assert!(figure("t", b"N/A").unwrap().is_nan() && figure("t", b"").unwrap().is_nan());
        assert_eq!(figure("t", b"0.0"), Ok(0.0));
        assert_eq!(figure("t", b"12ms").unwrap_err(), "t: found '12ms', expected a number or N/A");
        assert_eq!(whole("n", b""), Ok(None));
        assert_eq!(whole("n", b"28.0"), Ok(Some(28)));
        assert_eq!(whole("n", b"-3"), Ok(Some(-3)));
        assert!(whole("n", b"28.5").is_err() && whole("n", b"inf").is_err() && whole("n", b"-").is_err());
        assert_eq!(
            whole("n", b"9223372036854775807"),
            whole("n", b"1e300")
                .map(|_| None::<i64>)
                .or(Err("n: found '9223372036854775807', expected a whole number".to_owned()))
        );
        assert_eq!(flag("v", b"True"), Ok(Some(true)));
        assert!(flag("v", b"yes").is_err());
    }
}
