//! Why rows have no time, by class, which is the word before the colon in a log's `error_msg`.

/// A class of failures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The class's word.
    pub class: String,
    /// The message of the class's last row.
    pub last: String,
}

/// Maximum number of classes; all further ones are merged.
const CLASSES: usize = 64;
/// Longest word, in bytes.
const LONGEST: usize = 40;
/// The class of all others.
const OTHER: &str = "other";

/// The class of a failure by its message, from 1; new classes are added to `known`.
pub(super) fn class(known: &mut Vec<Failure>, message: &str) -> u16 {
    let word = message.split(':').next().unwrap_or_default().trim();
    let find = |known: &[Failure], word: &str| known.iter().position(|one| one.class == word);
    let sane = !word.is_empty() && word.len() <= LONGEST && known.len() < CLASSES;
    let word = if sane || find(known, word).is_some() { word } else { OTHER };
    let class = find(known, word).unwrap_or_else(|| {
        known.push(Failure { class: word.to_owned(), last: String::new() });
        known.len() - 1
    });
    let last = &mut known[class].last;
    last.clear();
    last.push_str(message);
    class as u16 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_classes_and_the_last_is_kept() {
        let mut known = Vec::new();
        let classes = ["crash: signal 11", "timeout", "crash: signal 6", &"x".repeat(50)]
            .map(|text| class(&mut known, text));
        assert_eq!(classes, [1, 2, 1, 3]);
        let known: Vec<_> = known.iter().map(|one| (one.class.as_str(), one.last.as_str())).collect();
        assert_eq!(known[..2], [("crash", "crash: signal 6"), ("timeout", "timeout")]);
        assert_eq!(known[2].0, "other");
    }

    #[test]
    fn classes_are_bounded() {
        let mut known = Vec::new();
        for number in 0..1000 {
            class(&mut known, &format!("class{number}: x"));
        }
        assert_eq!(known.len(), CLASSES + 1);
    }
}
