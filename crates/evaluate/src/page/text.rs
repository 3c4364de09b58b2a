//! Text of a page: what is HTML, and how values are written.

/// Text as HTML.
pub(super) fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#39;")
}

/// A name as HTML that breaks between its words where it is longer than a line.
pub(super) fn name(text: &str) -> String {
    escape(text).replace('_', "_<wbr>").replace('/', "/<wbr>")
}

/// A name of code as HTML.
pub(super) fn code(text: &str) -> String {
    format!("<code>{}</code>", name(text))
}

/// The text for a value that is no number.
const UNKNOWN: &str = "unknown";

/// A share, such as `97.71 %`.
pub(super) fn percent(share: f64) -> String {
    if share.is_finite() { format!("{:.2} %", share * 100.0) } else { UNKNOWN.to_owned() }
}

/// A value with four digits, or all digits of a whole number.
pub(super) fn number(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if !value.is_finite() => UNKNOWN.to_owned(),
        _ if size != 0.0 && !(1e-3..1e12).contains(&size) => format!("{value:.3e}"),
        _ if size >= 1e3 || value.fract() == 0.0 => whole(value),
        _ => format!("{value:.*}", decimals(size, 6)),
    }
}

fn whole(value: f64) -> String {
    let sign = if value <= -0.5 { "-" } else { "" };
    format!("{sign}{}", count(value.abs().round() as usize))
}

/// The number of decimals, at most `most`, with which a value has four digits.
fn decimals(size: f64, most: usize) -> usize {
    (3.0 - size.log10().floor()).clamp(0.0, most as f64) as usize
}

/// How values of one kind are rounded: all alike, so that the largest has four digits, and thousandths at
/// most.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rounding(usize);

impl Rounding {
    /// The rounding of some values; values that are no numbers do not count.
    pub(super) fn new(values: impl IntoIterator<Item = f64>) -> Self {
        let sizes = values.into_iter().map(f64::abs).filter(|size| size.is_finite());
        Self(decimals(sizes.fold(f64::MIN_POSITIVE, f64::max), 3))
    }

    /// A value as text.
    pub(super) fn say(self, value: f64) -> String {
        match self.0 {
            _ if !value.is_finite() => UNKNOWN.to_owned(),
            0 => whole(value),
            // What rounds to zero has no sign.
            decimals if value.abs() < 0.5 / 10_f64.powi(decimals as i32) => format!("{:.decimals$}", 0.0),
            decimals => format!("{value:.decimals$}"),
        }
    }
}

/// A number without zeros at the end, for axes.
pub(super) fn short(value: f64) -> String {
    let text = number(value);
    if text.contains('.') && !text.contains('e') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}

/// A time in milliseconds with two digits or more, in a suitable unit.
pub(super) fn duration(ms: f64) -> String {
    let (value, unit) = match ms {
        _ if !ms.is_finite() => return UNKNOWN.to_owned(),
        ms if ms < 1.0 => (ms * 1e3, "µs"),
        ms if ms < 1e3 => (ms, "ms"),
        ms if ms < 120e3 => (ms / 1e3, "s"),
        ms if ms < 7200e3 => (ms / 60e3, "min"),
        ms if ms < 172_800e3 => (ms / 3600e3, "h"),
        ms => (ms / 86_400e3, "days"),
    };
    let decimals = usize::from(value < 9.95 && value.fract() != 0.0);
    format!("{value:.decimals$} {unit}")
}

/// A whole number with separated thousands.
pub(super) fn count(count: usize) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// A problem's text without common defaults, which `--problem` reads; values that are the same along all axes
/// appear once.
pub(super) fn brief(text: &str) -> String {
    let neutral = |key: &str, value: &str| match key {
        "G" | "Di" | "Z" | "split_k" => value == "1",
        "direction" | "layout" | "arch" => true,
        "ndim" => value == "2",
        key if key.starts_with("stride") || key.starts_with("dilation") => value == "1",
        key if key.starts_with("pad") => value == "0",
        key => key.starts_with("dtype"),
    };
    let volume = text.contains("ndim=3");
    let mut pairs: Vec<(&str, &str)> =
        text.split(',').map(|pair| pair.split_once('=').unwrap_or((pair, ""))).collect();
    for (short, long) in [
        ("stride", &["stride_d", "stride_h", "stride_w"][..]),
        ("dilation", &["dilation_d", "dilation_h", "dilation_w"]),
        ("pad", &["pad_d_left", "pad_h_left", "pad_w_left", "pad_d_right", "pad_h_right", "pad_w_right"]),
    ] {
        let long = long.iter().filter(|key| volume || !key.contains("_d"));
        let values: Vec<&str> =
            long.clone().filter_map(|key| Some(pairs.iter().find(|pair| pair.0 == *key)?.1)).collect();
        if values.len() == long.clone().count() && values.windows(2).all(|two| two[0] == two[1]) {
            let first = pairs.iter().position(|pair| long.clone().any(|key| *key == pair.0));
            pairs[first.unwrap_or(0)].0 = short;
            pairs.retain(|pair| !long.clone().any(|key| *key == pair.0));
        }
    }
    let words = pairs.into_iter().filter(|(key, value)| value.is_empty() || !neutral(key, value));
    words
        .map(|(key, value)| if value.is_empty() { key.to_owned() } else { format!("{key}={value}") })
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use ck_select_types::problem::{ConvProblem, GemmProblem, Problem, ProblemDefaults};
    use ck_select_types::vocab::Op;

    use super::*;

    #[test]
    fn numbers_have_four_digits() {
        let texts = [0.0, -12.0, 0.123_456, 1234.56, 24.81, 64.5, 1e-9, 3e12, f64::NAN].map(number);
        let separated = "1\u{202f}235";
        assert_eq!(
            texts,
            ["0", "-12", "0.1235", separated, "24.81", "64.50", "1.000e-9", "3.000e12", "unknown"]
        );
        assert_eq!(number(18_874_368.0), "18\u{202f}874\u{202f}368", "a page once said 1.887e7");
        assert_eq!([0.25, 0.001, 10.0, -2.5, 1e-9].map(short), ["0.25", "0.001", "10", "-2.5", "1.000e-9"]);
        assert_eq!(percent(0.97712), "97.71 %");
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
    }

    /// A page once had a rounding of -8.882e-16 under a score of 6.472.
    #[test]
    fn values_of_one_kind_are_rounded_alike() {
        let say = |values: &[f64]| {
            let rounding = Rounding::new(values.iter().copied());
            values.iter().map(|value| rounding.say(*value)).collect::<Vec<_>>()
        };
        assert_eq!(say(&[6.4721, 0.34219, -8.882e-16, 4.041e-9]), ["6.472", "0.342", "0.000", "0.000"]);
        assert_eq!(say(&[34.06, 0.61, f64::NAN]), ["34.06", "0.61", "unknown"]);
        assert_eq!(say(&[-8123.4, 17.2]), ["-8\u{202f}123", "17"]);
        assert_eq!(say(&[0.0, -0.0004]), ["0.000", "0.000"]);
    }

    /// A page once had the duration 24.8100 s (00c34c59).
    #[test]
    fn durations_have_no_digits_that_nobody_reads() {
        let texts = [0.0123, 3.25, 350.4, 24_810.0, 25_000.0, 601_000.0, 8.1e6, 2e8, f64::NAN].map(duration);
        assert_eq!(
            texts,
            ["12 µs", "3.2 ms", "350 ms", "25 s", "25 s", "10 min", "2.2 h", "2.3 days", "unknown"]
        );
    }

    #[test]
    fn names_break_at_their_words_alone() {
        assert_eq!(name("models/conv_<b>"), "models/<wbr>conv_<wbr>&lt;b&gt;");
    }

    #[test]
    fn a_brief_problem_keeps_what_is_special() {
        let conv =
            ConvProblem { n: 16, c: 64, k: 128, ..ConvProblem::new_2d([28, 28], [3, 1]) }.padded([1, 0]);
        let text = brief(&Problem::from(conv).to_string());
        assert_eq!(text, "N=16 C=64 K=128 Hi=28 Wi=28 Y=3 X=1 pad_h_left=1 pad_h_right=1");
        let same = ConvProblem { stride: [1, 2, 2], ..ConvProblem::new_2d([28, 28], [3, 3]) }.padded([1, 1]);
        assert_eq!(brief(&Problem::from(same).to_string()), "N=1 C=1 K=1 Hi=28 Wi=28 Y=3 X=3 stride=2 pad=1");
        for problem in [
            same,
            conv,
            ConvProblem { ndim: 3, input: [5, 9, 9], filter: [3; 3], dilation: [2; 3], ..same }
                .padded([2, 2]),
            ConvProblem { ndim: 1, stride: [1, 1, 2], ..ConvProblem::new_2d([1, 100], [1, 5]) },
        ] {
            let short = brief(&Problem::from(problem).to_string());
            let read = Problem::parse(Op::Conv, &short, &ProblemDefaults::new(Op::Conv));
            assert_eq!(read, Ok(problem.into()), "{short}");
        }
        let gemm = brief(&Problem::from(GemmProblem::new(8, 16, 32)).to_string());
        assert_eq!(gemm, "M=8 N=16 K=32");
    }
}
