//! The word that somebody who mistyped one most likely meant.

use std::fmt;

/// The candidate that `word` was most likely meant to be, if one is close: at most a third of its letters,
/// and at most three, are wrong, or it is the candidate's first word. Case is ignored.
///
/// ```
/// use ck_select_types::nearest::nearest;
///
/// assert_eq!(nearest("forwrad", ["forward", "bwd_data"]), Some("forward"));
/// assert_eq!(nearest("seqlen", ["batch", "seqlen_q"]), Some("seqlen_q"));
/// assert_eq!(nearest("sideways", ["forward", "bwd_data"]), None);
/// ```
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = (word.chars().count() / 3).clamp(1, 3);
    let lower = word.to_lowercase();
    let begins = |candidate: &str| candidate.strip_prefix(&lower).is_some_and(|rest| rest.starts_with('_'));
    let far = |candidate: &str| {
        let candidate = candidate.to_lowercase();
        match distance(&lower, &candidate) {
            // Any two single letters are one edit apart.
            far if far == 0 || far <= most && candidate.chars().count() > 1 => Some(far),
            _ => (lower.len() > 1 && begins(&candidate)).then_some(most + 1),
        }
    };
    let near = candidates.into_iter().filter_map(|candidate| Some((far(candidate)?, candidate)));
    near.min_by_key(|&(far, _)| far).map(|(_, word)| word)
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

/// The end of a message about a word that is none of some: `, expected one of: WORDS`; where one is near, that
/// one first.
#[derive(Debug, Clone, Copy)]
pub struct OneOf<'a> {
    hint: Hint<'a>,
    accepted: &'a [&'a str],
}

impl<'a> OneOf<'a> {
    /// The end for a word and those that are accepted.
    pub fn new(word: &str, accepted: &'a [&'a str]) -> Self {
        Self { hint: Hint::new(word, accepted.iter().copied()), accepted }
    }
}

impl fmt::Display for OneOf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hint, accepted) = (self.hint, self.accepted.join(", "));
        match hint.0 {
            Some(_) => write!(f, "{hint} (one of: {accepted})"),
            None => write!(f, ", expected one of: {accepted}"),
        }
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
        let words = ["stride_h", "stride_w", "N", "direction"];
        let hint = |word: &str| Hint::new(word, words).to_string();
        for (word, meant) in
            [("strideh", "stride_h"), ("DIRECTION", "direction"), ("n", "N"), ("stride", "stride_h")]
        {
            assert_eq!(hint(word), format!("; did you mean '{meant}'?"));
        }
        let one_of = |word: &str| OneOf::new(word, &words).to_string();
        let list = "one of: stride_h, stride_w, N, direction";
        assert_eq!(one_of("n"), format!("; did you mean 'N'? ({list})"));
        assert_eq!(one_of("M"), format!(", expected {list}"));
        for far in ["", "M", "strides_of_h", "something"] {
            assert_eq!(hint(far), "", "{far}");
        }
    }
}
