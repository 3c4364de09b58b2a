//! What follows the trees: the training parameters are kept, everything else is passed over.

use super::error::{ForestError, Reason};
use super::text::Lines;

/// Parameters longer than this are no parameters of LightGBM, which writes about five thousand bytes.
const LONGEST: usize = 1 << 20;

/// The lines between `parameters:` and `end of parameters`, if the text has them.
pub(super) fn parameters(mut lines: Lines<'_>) -> Result<Option<&str>, ForestError> {
    if !lines.any(|line| line == "parameters:") {
        return Ok(None);
    }
    let start = lines.place();
    let text = lines.rest();
    loop {
        // The end is found by where its line begins, so that the section is kept as it stands.
        let before = text.len() - lines.rest().len();
        match lines.next() {
            Some("end of parameters") if before <= LONGEST => return Ok(Some(text[..before].trim())),
            Some("end of parameters") => {
                let found = format!("{before} bytes of parameters");
                return Err(start.error(Reason::Line { found, expected: "at most 1 MiB" }));
            }
            Some(_) => {}
            None => {
                return Err(lines.place().error(Reason::Truncated { expected: "`end of parameters`" }));
            }
        }
    }
}
