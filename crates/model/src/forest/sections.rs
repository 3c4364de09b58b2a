//! What follows the trees: the training parameters are kept, everything else is ignored.

use super::error::ForestError;
use super::text::Lines;

/// Maximum size of the parameters; LightGBM writes about five thousand bytes.
const LONGEST: usize = 1 << 20;

/// The lines between `parameters:` and `end of parameters`, if the text has them.
pub(super) fn parameters(mut lines: Lines<'_>) -> Result<Option<&str>, ForestError> {
    if !lines.any(|line| line == "parameters:") {
        return Ok(None);
    }
    let start = lines.place();
    let text = lines.rest();
    loop {
        // The section ends where the end's line begins, so that it is kept verbatim.
        let before = text.len() - lines.rest().len();
        match lines.next() {
            Some("end of parameters") if before <= LONGEST => return Ok(Some(text[..before].trim())),
            Some("end of parameters") => {
                return Err(start.found(&format!("{before} bytes of parameters"), "at most 1 MiB"));
            }
            Some(_) => {}
            None => return Err(lines.place().truncated("`end of parameters`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Result<Option<&str>, String> {
        parameters(Lines::new(text)).map_err(|error| error.to_string())
    }

    #[test]
    fn the_section_is_kept_as_it_stands() {
        assert_eq!(found("a:\n\nb\n"), Ok(None));
        assert_eq!(found("parameters:\nend of parameters\n"), Ok(Some("")));
        let text =
            "importances:\r\na=1\r\n\r\nparameters:\r\n[a: b]\r\n# c\r\n\r\n[d: ]\r\n\r\nend of parameters";
        assert_eq!(found(text), Ok(Some("[a: b]\r\n# c\r\n\r\n[d: ]")));
    }

    #[test]
    fn its_length_is_bounded() {
        let text = |length| format!("parameters:\n{}\nend of parameters\n", "x".repeat(length));
        assert!(found(&text(LONGEST - 1)).is_ok());
        assert_eq!(
            found(&text(LONGEST)).unwrap_err(),
            "line 1: found `1048577 bytes of parameters`, expected at most 1 MiB"
        );
    }
}
