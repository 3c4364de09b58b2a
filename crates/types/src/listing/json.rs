//! Problems as JSON: an array of objects, or one object after the other, as in JSON lines. Each becomes a
//! line of pairs at the place where it begins, so that errors name the file's own lines.

use serde_json::Value;

use crate::json::Strict;

/// Whether a file that begins with this line is JSON.
pub(super) fn is_one(first: &str) -> bool {
    first.starts_with(['[', '{'])
}

/// The problems as lines of pairs; or the line, from 1, and what is wrong there.
pub(super) fn lines_of(text: &str) -> Result<String, (u64, String)> {
    let mut out = String::new();
    let mut line = 1;
    for (start, object) in objects(text)? {
        let place = text[..start].matches('\n').count() as u64 + 1;
        let Strict(value) = serde_json::from_str(object)
            .map_err(|error| (place - 1 + error.line() as u64, message(&error)))?;
        let pairs = pairs_of(&value).map_err(|reason| (place, reason))?;
        // Several that begin on one line follow each other.
        while line < place {
            out.push('\n');
            line += 1;
        }
        out.push_str(&pairs);
        out.push('\n');
        line += 1;
    }
    Ok(out)
}

/// serde's words without its own place.
fn message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message).to_owned()
}

/// The outermost objects with their places. What stands between them has to be punctuation of an array.
fn objects(text: &str) -> Result<Vec<(usize, &str)>, (u64, String)> {
    let (mut found, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    let (mut in_string, mut escaped) = (false, false);
    for (place, byte) in text.bytes().enumerate() {
        if in_string {
            (escaped, in_string) = (byte == b'\\' && !escaped, byte != b'"' || escaped);
            continue;
        }
        match byte {
            b'"' if depth > 0 => in_string = true,
            b'{' => {
                if depth == 0 {
                    start = place;
                }
                depth += 1;
            }
            b'}' if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    found.push((start, &text[start..=place]));
                }
            }
            _ if depth > 0 || byte.is_ascii_whitespace() || b"[],".contains(&byte) => {}
            _ => {
                let line = text[..place].matches('\n').count() as u64 + 1;
                return Err((line, "expected JSON: objects, one a problem, or an array of them".to_owned()));
            }
        }
    }
    if depth > 0 {
        let line = text[..start].matches('\n').count() as u64 + 1;
        return Err((line, "an object that does not end".to_owned()));
    }
    Ok(found)
}

fn pairs_of(value: &Value) -> Result<String, String> {
    let fields = value.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
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
        let list = ProblemList::parse("p.json", text.as_bytes(), Op::Fmha, &ProblemDefaults::of(Op::Fmha));
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
            (format!("{good}\n\n{{\"seqlen_q\": 1,"), "p.json: line 3: an object that does not end"),
            (format!("[{good}] x"), "p.json: line 1: expected JSON"),
            (
                r#"{"seqlen_q": 1, "seqlen_q": 2, "nhead_q": 8, "hdim_q": 64}"#.to_owned(),
                "p.json: line 1: the key 'seqlen_q' appears twice",
            ),
            ("[]".to_owned(), "p.json: found no fmha problem"),
        ] {
            let error = read(&text).unwrap_err();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
