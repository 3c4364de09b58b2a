//! LightGBM's record of a feature in training.

/// LightGBM's record of a feature in training, from the text's `feature_infos`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum FeatureInfo {
    /// The feature was constant, and no tree uses it.
    Unused,
    /// Numbers between these two, both included.
    Range {
        /// The smallest value.
        min: f64,
        /// The largest value.
        max: f64,
    },
    /// The categories, the most frequent first; -1 stands for missing.
    Categories(Vec<i64>),
    /// Anything else, verbatim. Predictions do not depend on it.
    Other(String),
}

impl FeatureInfo {
    pub(super) fn parse(text: &str) -> FeatureInfo {
        if text == "none" {
            return FeatureInfo::Unused;
        }
        range(text).or_else(|| categories(text)).unwrap_or_else(|| FeatureInfo::Other(text.to_owned()))
    }
}

fn range(text: &str) -> Option<FeatureInfo> {
    let (min, max) = text.strip_prefix('[')?.strip_suffix(']')?.split_once(':')?;
    Some(FeatureInfo::Range { min: min.parse().ok()?, max: max.parse().ok()? })
}

fn categories(text: &str) -> Option<FeatureInfo> {
    let categories = text.split(':').map(|category| category.parse().ok()).collect::<Option<Vec<i64>>>()?;
    Some(FeatureInfo::Categories(categories))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_spelling_is_read() {
        let cases = [
            ("none", FeatureInfo::Unused),
            ("[-1.5:2e3]", FeatureInfo::Range { min: -1.5, max: 2e3 }),
            ("[-inf:inf]", FeatureInfo::Range { min: f64::NEG_INFINITY, max: f64::INFINITY }),
            ("3:-1:0", FeatureInfo::Categories(vec![3, -1, 0])),
            ("7", FeatureInfo::Categories(vec![7])),
            ("[1]", FeatureInfo::Other("[1]".to_owned())),
            ("[1:2:3]", FeatureInfo::Other("[1:2:3]".to_owned())),
            ("a:b", FeatureInfo::Other("a:b".to_owned())),
        ];
        for (text, info) in cases {
            assert_eq!(FeatureInfo::parse(text), info, "{text}");
        }
    }
}
