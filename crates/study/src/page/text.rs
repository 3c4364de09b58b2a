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

/// A share, such as `97.71 %`.
pub(super) fn percent(share: f64) -> String {
    if share.is_finite() { format!("{:.2} %", share * 100.0) } else { "–".to_owned() }
}

/// A value with four digits, or all digits of a whole number.
pub(super) fn number(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if !value.is_finite() => "–".to_owned(),
        _ if size != 0.0 && !(1e-3..1e7).contains(&size) => format!("{value:.3e}"),
        _ if size >= 1e3 || value.fract() == 0.0 => format!("{value:.0}"),
        _ => format!("{value:.0$}", (3.0 - size.log10().floor()).clamp(0.0, 6.0) as usize),
    }
}

/// The same without zeros at the end, for axes.
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
        _ if !ms.is_finite() => return "–".to_owned(),
        ms if ms < 1.0 => (ms * 1e3, "µs"),
        ms if ms < 1e3 => (ms, "ms"),
        ms if ms < 120e3 => (ms / 1e3, "s"),
        ms if ms < 7200e3 => (ms / 60e3, "min"),
        ms => (ms / 3600e3, "h"),
    };
    let decimals = usize::from(value < 9.95 && value.fract() != 0.0);
    format!("{value:.decimals$} {unit}")
}

/// A whole number with separated thousands.
pub(super) fn count(count: usize) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// A problem's text without common defaults; values that are the same along all axes appear once.
pub(super) fn brief(text: &str) -> String {
    let neutral = |key: &str, value: &str| match key {
        "G" | "Di" | "Z" | "split_k" => value == "1",
        "direction" | "ndim" | "layout" | "arch" => true,
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
    use ck_select_types::problem::{ConvProblem, GemmProblem, Problem};

    use super::*;

    #[test]
    fn numbers_have_four_digits() {
        let found = [0.0, 12.0, 0.123_456, 1234.56, 24.81, 64.5, 1e-9, 3e12, f64::NAN].map(number);
        assert_eq!(found, ["0", "12", "0.1235", "1235", "24.81", "64.50", "1.000e-9", "3.000e12", "–"]);
        assert_eq!([0.25, 0.001, 10.0, -2.5, 1e-9].map(short), ["0.25", "0.001", "10", "-2.5", "1.000e-9"]);
        assert_eq!(percent(0.97712), "97.71 %");
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
    }

    /// A page once said 24.8100 s (00c34c59).
    #[test]
    fn durations_have_no_digits_that_nobody_reads() {
        let found = [0.0123, 3.25, 350.4, 24_810.0, 25_000.0, 601_000.0, 8.1e6, f64::NAN].map(duration);
        assert_eq!(found, ["12 µs", "3.2 ms", "350 ms", "25 s", "25 s", "10 min", "2.2 h", "–"]);
    }

    #[test]
    fn names_break_at_their_words_alone() {
        assert_eq!(name("models/conv_<b>"), "models/<wbr>conv_<wbr>&lt;b&gt;");
    }

    #[test]
    fn a_brief_problem_keeps_what_is_special() {
        let conv =
            ConvProblem { n: 16, c: 64, k: 128, ..ConvProblem::new_2d([28, 28], [3, 1]) }.padded([1, 0]);
        let found = brief(&Problem::from(conv).to_string());
        assert_eq!(found, "N=16 C=64 K=128 Hi=28 Wi=28 Y=3 X=1 pad_h_left=1 pad_h_right=1");
        let same = ConvProblem { stride: [1, 2, 2], ..ConvProblem::new_2d([28, 28], [3, 3]) }.padded([1, 1]);
        assert_eq!(brief(&Problem::from(same).to_string()), "N=1 C=1 K=1 Hi=28 Wi=28 Y=3 X=3 stride=2 pad=1");
        let gemm = brief(&Problem::from(GemmProblem::new(8, 16, 32)).to_string());
        assert_eq!(gemm, "M=8 N=16 K=32");
    }
}
