//! Why kernels or problems are left out.

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// How many reasons are listed.
const LISTED: usize = 3;

/// Numbers of left-out items by reason.
#[derive(Debug, Default)]
pub(super) struct Reasons(BTreeMap<String, usize>);

impl<T: ToString> FromIterator<T> for Reasons {
    fn from_iter<I: IntoIterator<Item = T>>(reasons: I) -> Self {
        let mut counts = Self::default();
        reasons.into_iter().for_each(|reason| counts.count(reason.to_string()));
        counts
    }
}

impl Reasons {
    pub(super) fn count(&mut self, reason: String) {
        *self.0.entry(reason).or_default() += 1;
    }

    /// How much is left out, and the most frequent reasons, each with its count; nothing if nothing is.
    pub(super) fn list(&self) -> Option<(usize, String)> {
        let mut reasons: Vec<(&String, usize)> =
            self.0.iter().map(|(reason, count)| (reason, *count)).collect();
        reasons.sort_by_key(|(_, count)| Reverse(*count));
        let rest: usize = reasons.iter().skip(LISTED).map(|(_, count)| count).sum();
        let listed = reasons.iter().take(LISTED).map(|(reason, count)| format!("{count} ({reason})"));
        let rest = (rest > 0).then(|| format!("{rest} (other reasons)"));
        let total = self.0.values().sum();
        (total > 0).then(|| (total, listed.chain(rest).collect::<Vec<_>>().join(", ")))
    }

    /// Prints how many of all kernels are left out.
    pub(super) fn say_left_out(&self, kernels: usize) {
        if let Some((count, reasons)) = self.list() {
            say!("ckselect: {count} of {kernels} kernels are left out: {reasons}");
        }
    }

    /// Prints how many problems of a file are skipped for each reason.
    pub(super) fn say_skipped(&self, file: &str) {
        for (reason, count) in &self.0 {
            say!("ckselect: {file}: {count} problems are skipped: {reason}");
        }
    }

    /// The reason that holds most often.
    pub(super) fn most_frequent(&self) -> &str {
        self.0.iter().min_by_key(|(_, count)| Reverse(**count)).map_or("", |(reason, _)| reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error of a file that cannot be ranked named the reason that is first in the alphabet.
    #[test]
    fn the_most_frequent_reason_stands_for_all() {
        let reasons: Reasons = ["a", "b", "b", "c", "c"].into_iter().collect();
        assert_eq!(reasons.most_frequent(), "b");
        assert_eq!(Reasons::default().most_frequent(), "");
    }
}
