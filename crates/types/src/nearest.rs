//! The word that somebody who mistyped one most likely meant.

use std::fmt;

/// The candidate that `word` was most likely meant to be, if one is close: at most a third of its letters,
/// and at most three, are wrong. Case is ignored.
///
/// ```
/// use ck_select_types::nearest::nearest;
///
/// assert_eq!(nearest("forwrad", ["forward", "bwd_data"]), Some("forward"));
/// assert_eq!(nearest("sideways", ["forward", "bwd_data"]), None);
/// ```
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = (word.chars().count() / 3).clamp(1, 3);
    let lower = word.to_lowercase();
    let near = candidates
        .into_iter()
        // Any two single letters are one edit apart.
        .filter(|candidate| candidate.chars().count() > 1)
        .map(|candidate| (distance(&lower, &candidate.to_lowercase()), candidate));
    near.filter(|&(distance, _)| distance <= most).min_by_key(|&(distance, _)| distance).map(|(_, word)| word)
}

/// The end of a message about an unknown word: `; did you mean 'WORD'?`, or nothing.
#[derive(Debug, Clone, Copy)]
pub struct Hint<'a>(Option<&'a str>);

impl<'a> Hint<'a> {
    /// The hint for a word and its candidates.
    pub fn new(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Self {
        Self(nearest(word, candidates))
    }
}

impl fmt::Display for Hint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |meant| write!(f, "; did you mean '{meant}'?"))
    }
}

/// The edit distance: letters to insert, delete, replace or swap with their neighbour. Only the first letters
/// of long words are compared, so that untrusted text costs no more than a name.
pub fn distance(a: &str, b: &str) -> usize {
    const MOST: usize = 128;
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(MOST).collect(), b.chars().take(MOST).collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let mut least = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    least = least.min(rows[i - 2][j - 2] + 1);
                }
                least
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_letters() {
        for (a, b, expected) in
            [("", "", 0), ("a", "", 1), ("strideh", "stridew", 1), ("dilatoin", "dilation", 1)]
        {
            assert_eq!((distance(a, b), distance(b, a)), (expected, expected));
        }
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn a_hint_names_what_is_near_and_nothing_else() {
        let hint = |word: &str| Hint::new(word, ["stride_h", "stride_w", "N", "direction"]).to_string();
        assert_eq!(hint("strideh"), "; did you mean 'stride_h'?");
        assert_eq!(hint("DIRECTION"), "; did you mean 'direction'?");
        for far in ["", "M", "strides_of_h", "something"] {
            assert_eq!(hint(far), "", "{far}");
        }
    }
}
