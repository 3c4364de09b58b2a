//! The parameters of a call that change its answer, out of a text like
//! `num_threads=1 predict_disable_shape_check=true`.

use crate::error::Error;

/// The parameters of LightGBM's that this library heeds. The others change nothing in what it does.
#[derive(Debug, Default)]
pub(crate) struct Parameters {
    /// Rows may have more or fewer values than the model has features.
    pub(crate) any_width: bool,
    /// Ranking forests may be left before the last tree.
    pub(crate) early_stop: bool,
}

impl Parameters {
    pub(crate) fn parse(text: &[u8]) -> Result<Parameters, Error> {
        Ok(Parameters {
            any_width: flag(text, "predict_disable_shape_check")?,
            early_stop: flag(text, "pred_early_stop")?,
        })
    }
}

/// A flag's value as LightGBM reads it: the first of several counts, and no value is no.
fn flag(text: &[u8], name: &'static str) -> Result<bool, Error> {
    let words = text.split(|byte| b" \t\n\r".contains(byte));
    let Some(value) =
        words.filter_map(key_and_value).find_map(|(key, value)| (key == name.as_bytes()).then_some(value))
    else {
        return Ok(false);
    };
    let is = |words: [&str; 2]| words.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()));
    if is(["true", "+"]) {
        Ok(true)
    } else if value.is_empty() || is(["false", "-"]) {
        Ok(false)
    } else {
        let value = String::from_utf8_lossy(value).into_owned();
        Err(Error::Parameter { name, value, expected: "expected true, +, false or -" })
    }
}

/// `key=value`, either of them quoted or not. LightGBM ignores words with more parts than that.
fn key_and_value(word: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut parts = word.split(|&byte| byte == b'=').filter(|part| !part.is_empty()).map(unquoted);
    let pair = (parts.next()?, parts.next().unwrap_or_default());
    parts.next().is_none().then_some(pair)
}

fn unquoted(mut text: &[u8]) -> &[u8] {
    while let [b'"' | b'\'', inner @ ..] | [inner @ .., b'"' | b'\''] = text {
        text = inner;
    }
    text
}
