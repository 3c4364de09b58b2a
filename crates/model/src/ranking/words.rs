//! Figures as people read them: no more digits than mean something.

use crate::sureness::{Sure, Sureness};

/// How sure a choice is by what judged choices taught: `expected loss 0.6 % by 4008 judged choices, within 2 % of the
/// best with 88 %, of the first 2 with 90 %`, or `expected loss unknown`.
pub fn sureness(judged: Option<(&Sure, &Sureness)>) -> String {
    let Some((Sure { expected_loss, chance, sure_within }, learned)) = judged else {
        return "expected loss unknown".to_owned();
    };
    let text = format!(
        "expected loss {:.1} % by {} judged choices, within 2 % of the best with {:.0} %",
        100.0 * expected_loss,
        learned.choices(),
        100.0 * chance
    );
    match sure_within {
        [count @ 2..=u32::MAX, _] => format!("{text}, of the first {count} with 90 %"),
        _ => text,
    }
}

/// A time: `42.1 us`.
pub fn microseconds(time: f64) -> String {
    format!("{} us", digits(time, 3))
}

/// A kernel's time over the first one's: `1.03x`.
pub fn times(ratio: f64) -> String {
    format!("{}x", digits(ratio, 3))
}

/// A share: `0.6 %`.
pub fn percent(share: f64) -> String {
    format!("{} %", digits(share * 100.0, 2))
}

/// A positive number with so many digits, but all of those before the point.
fn digits(value: f64, count: usize) -> String {
    let before = if value < 10.0 {
        1
    } else if value < 100.0 {
        2
    } else {
        3
    };
    format!("{value:.*}", count.saturating_sub(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_digits_that_mean_something() {
        assert_eq!(
            [4.2109, 42.109, 421.09, 42109.0].map(microseconds),
            ["4.21 us", "42.1 us", "421 us", "42109 us"]
        );
        assert_eq!([1.0, 1.0349, 12.54].map(times), ["1.00x", "1.03x", "12.5x"]);
        assert_eq!([0.0061, 0.124].map(percent), ["0.6 %", "12 %"]);
    }
}
