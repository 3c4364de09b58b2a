//! Problems as JSON: an array of objects, or one object after the other, as in JSON lines. Each becomes a
//! line of pairs at the place where it begins, so that errors name the file's own lines.

use serde_json::value::RawValue;
use serde_json::{Deserializer, Error, Value};

use crate::json::Strict;

/// Whether a file that begins with this line is JSON.
pub(super) fn is_json(first: &str) -> bool {
    first.starts_with(['[', '{'])
}

/// The problems as lines of pairs; or the line, from 1, and what is wrong there.
pub(super) fn lines_of(text: &str) -> Result<String, (u64, String)> {
    let (mut out, mut written) = (String::new(), 0);
    let (mut rest, mut line) = (text, 0);
    for object in objects(text).map_err(|error| (error.line() as u64, message(&error)))? {
        // Where it begins.
        let begin = object.as_ptr() as usize - rest.as_ptr() as usize;
        line += rest[..begin].matches('\n').count();
        rest = &rest[begin..];
        let Strict(value) =
            serde_json::from_str(object).map_err(|error| ((line + error.line()) as u64, message(&error)))?;
        let pairs = pairs_of(&value).map_err(|reason| (line as u64 + 1, reason))?;
        // Several that begin on one line follow each other.
        out.extend((written..line).map(|_| '\n'));
        out.push_str(&pairs);
        out.push('\n');
        written = line.max(written) + 1;
    }
    Ok(out)
}

/// serde's words without its own place.
fn message(error: &Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message).to_owned()
}

/// The values, or those in arrays.
fn objects(text: &str) -> Result<Vec<&str>, Error> {
    let mut found = Vec::new();
    for value in Deserializer::from_str(text).into_iter::<&RawValue>() {
        match value?.get() {
            array if array.starts_with('[') => {
                found.extend(serde_json::from_str::<Vec<&RawValue>>(array)?.into_iter().map(RawValue::get));
            }
            object => found.push(object),
        }
    }
    Ok(found)
}

fn pairs_of(value: &Value) -> Result<String, String> {
    let Some(fields) = value.as_object() else {
        let found = if value.is_array() { "an array".to_owned() } else { value.to_string() };
        return Err(format!("found {found}, expected an object with the fields of a problem"));
    };
    let fields = fields.iter().filter(|(_, value)| !value.is_null());
    let pair = |(name, value): (&String, &Value)| {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            other => return Err(format!("{name}: found {other}, expected a number, a word or a flag")),
        };
        let odd = |c: char| c.is_whitespace() || c == ',' || c == '=';
        if name.is_empty() || name.contains(odd) || text.is_empty() || text.contains(odd) {
            return Err(format!("'{name}': found '{text}', expected a field of a problem and its value"));
        }
        Ok(format!("{name}={text}"))
    };
    let pairs: Vec<String> = fields.map(pair).collect::<Result<_, _>>()?;
    if pairs.is_empty() { Err("an object without fields".to_owned()) } else { Ok(pairs.join(",")) }
}

#[cfg(test)]
mod tests {
    use crate::listing::ProblemList;
    use crate::problem::ProblemDefaults;
    use crate::vocab::Op;

    fn read(text: &str) -> Result<Vec<String>, String> {
        let list = ProblemList::parse("p.json", text.as_bytes(), Op::Fmha, &ProblemDefaults::new(Op::Fmha));
        let list = list.map_err(|error| error.to_string())?;
        Ok(list.problems.iter().map(|listed| listed.problem.to_string()).collect())
    }

    #[test]
    fn objects_are_problems() {
        let one =
            r#"{"seqlen_q": 128, "nhead_q": 8, "hdim_q": 64, "mask": "top_left", "lse": true, "bias": null}"#;
        let other = one.replace("128", "256");
        let expected = read(&format!("{one}\n{other}\n")).unwrap();
        assert_eq!(expected.len(), 2);
        assert!(
            expected[0].contains("seqlen_q=128") && expected[0].contains("mask=top_left,"),
            "{expected:?}"
        );
        for text in
            [format!("[{one}, {other}]"), format!("[\n{one},\n\n{other}\n]\n"), format!("{one}{other}")]
        {
            assert_eq!(read(&text).as_ref(), Ok(&expected), "{text}");
        }
    }

    #[test]
    fn mistakes_name_the_line() {
        let good = r#"{"seqlen_q": 128, "nhead_q": 8, "hdim_q": 64}"#;
        for (text, message) in [
            (format!("[{good},\n{}]", good.replace("seqlen_q", "seqlen")), "p.json: line 2: "),
            (
                format!("{good}\n{}", good.replace("64", "[64]")),
                "p.json: line 2: hdim_q: found [64], expected a",
            ),
            (format!("{good}\n{}", good.replace("64", "\"64,mask=no\"")), "p.json: line 2: 'hdim_q': found"),
            (format!("{good}\n\n{{\"seqlen_q\": 1,"), "p.json: line 3: EOF while parsing"),
            (format!("[{good}] x"), "p.json: line 1: expected value"),
            (
                r#"{"seqlen_q": 1, "seqlen_q": 2, "nhead_q": 8, "hdim_q": 64}"#.to_owned(),
                "p.json: line 1: the key 'seqlen_q' appears twice",
            ),
            ("[]".to_owned(), "p.json: found no fmha problem"),
            ("[{},\n7]".to_owned(), "p.json: line 1: an object without fields"),
            (format!("[{good},\n7]"), "p.json: line 2: found 7, expected an object with the fields of a"),
        ] {
            let error = read(&text).unwrap_err();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
