//! The ranges of the features in training.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::problem::InvalidField;

/// The smallest and the largest value of each feature in training: `ck_select.trained_range` of a spec.
///
/// ```json
/// {"ck_select": {"trained_range": {"N": [1, 64], "C": [3, 2048]}}}
/// ```
///
/// A recorded range takes precedence over the ranges that LightGBM wrote into the forest (`feature_infos`),
/// which cover only the rows of the last training run, and only features that some tree uses. Features that
/// are not listed are not checked.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TrainedRange {
    by_name: BTreeMap<String, [f64; 2]>,
}

impl TrainedRange {
    /// The key inside `ck_select`.
    pub const KEY: &'static str = "trained_range";

    /// The ranges of rows whose columns have these names. Non-finite values are ignored.
    ///
    /// ```
    /// use ck_select_model::directory::TrainedRange;
    ///
    /// let rows = [vec![1.0, f64::NAN], vec![64.0, f64::NAN]];
    /// let range = TrainedRange::from_rows(&["N", "ratio"], rows.iter().map(Vec::as_slice));
    /// assert_eq!(range.get("N"), Some([1.0, 64.0]));
    /// assert_eq!(serde_json::to_string(&range)?, r#"{"N":[1.0,64.0]}"#);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn from_rows<'r>(names: &[impl AsRef<str>], rows: impl IntoIterator<Item = &'r [f64]>) -> Self {
        let mut columns = vec![[f64::INFINITY, f64::NEG_INFINITY]; names.len()];
        for row in rows {
            for ([min, max], &value) in columns.iter_mut().zip(row) {
                if value.is_finite() {
                    *min = min.min(value);
                    *max = max.max(value);
                }
            }
        }
        let seen = names.iter().zip(columns).filter(|(_, [min, max])| min <= max);
        Self { by_name: seen.map(|(name, range)| (name.as_ref().to_owned(), range)).collect() }
    }

    /// The range of a feature.
    pub fn get(&self, feature: &str) -> Option<[f64; 2]> {
        self.by_name.get(feature).copied()
    }

    /// Checks that the features are those of the spec, and that each range is valid.
    pub(super) fn validate(&self, names: &[&str]) -> Result<(), InvalidField> {
        for (name, [min, max]) in &self.by_name {
            let field = format!("ck_select.{}.{name}", Self::KEY);
            if !names.contains(&name.as_str()) {
                return Err(InvalidField::new(&field, "a range", "none, as feature_names does not have it"));
            }
            // JSON has no NaN.
            if min > max {
                let found = format!("[{min}, {max}]");
                return Err(InvalidField::new(&field, found, "the smallest value, then the largest"));
            }
        }
        Ok(())
    }
}
