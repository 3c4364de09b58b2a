//! Errors of the parser of command lines in the form of our own messages: one line with the given word, the nearest
//! accepted one and all that are accepted.

/// The message of an error of the parser.
pub(crate) fn message(error: &clap::Error) -> String {
    let text = error.to_string();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let (mut message, mut hint, mut accepted) = (String::new(), String::new(), "");
    for line in lines.take_while(|line| !line.starts_with("Usage: ") && !line.starts_with("For more ")) {
        let line = line.strip_prefix("error: ").unwrap_or(line);
        if let Some(tip) = line.strip_prefix("tip: ") {
            hint += &advice(tip);
        } else if let Some(values) = line.strip_prefix("[possible values: ") {
            accepted = values.trim_end_matches(']');
        } else {
            if !message.is_empty() {
                message.push(' ');
            }
            message += line;
        }
    }
    match (accepted, hint.is_empty()) {
        ("", _) => message + &hint,
        (accepted, true) => format!("{message}, expected one of: {accepted}"),
        (accepted, false) => format!("{message}{hint} (one of: {accepted})"),
    }
}

/// A tip, of which the first similar word is the nearest.
fn advice(tip: &str) -> String {
    let similar = tip.split_once(" exist").and_then(|(_, rest)| rest.split_once(": "));
    match similar.and_then(|(_, words)| words.split(", ").next()) {
        Some(word) => format!("; did you mean {word}?"),
        None => format!("; {tip}"),
    }
}
