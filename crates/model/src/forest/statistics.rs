//! Figures about a forest, for inspection.

use super::Forest;
use super::node::Split;

/// How a forest uses one feature.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FeatureUse {
    /// Splits on the feature that lowered the loss: LightGBM's importance of type `split`.
    pub splits: u64,
    /// How much these splits lowered it: LightGBM's importance of type `gain`.
    pub gain: f64,
    /// How many different thresholds the splits on numbers compare with.
    pub thresholds: usize,
    /// How many splits ask about categories.
    pub categorical_splits: u64,
}

impl Forest {
    /// How the forest uses each feature, by the feature's index.
    pub fn feature_uses(&self) -> Vec<FeatureUse> {
        let mut uses = vec![FeatureUse::default(); self.num_features()];
        let mut thresholds = vec![Vec::new(); self.num_features()];
        for tree in self.trees() {
            for (node, &gain) in tree.nodes().zip(tree.gains()) {
                let feature = node.feature as usize;
                // As LightGBM counts them: forced splits without a gain do not show importance.
                if gain > 0.0 {
                    uses[feature].splits += 1;
                    uses[feature].gain += f64::from(gain);
                }
                match node.split {
                    // Adding 0.0 merges the two zeros.
                    Split::Numeric { threshold, .. } => {
                        thresholds[feature].push((threshold.get() + 0.0).to_bits());
                    }
                    Split::Categorical { .. } => uses[feature].categorical_splits += 1,
                }
            }
        }
        for (feature, mut thresholds) in uses.iter_mut().zip(thresholds) {
            thresholds.sort_unstable();
            thresholds.dedup();
            feature.thresholds = thresholds.len();
        }
        uses
    }

    /// The depth of the deepest tree; 0 for a forest of single leaves or without trees.
    pub fn max_depth(&self) -> usize {
        self.trees().iter().map(super::Tree::depth).max().unwrap_or(0)
    }

    /// How many leaves the trees have in all.
    pub fn leaf_count(&self) -> usize {
        self.trees().iter().map(|tree| tree.leaf_values().len()).sum()
    }

    /// How many inner nodes the trees have in all.
    pub fn node_count(&self) -> usize {
        self.trees().iter().map(|tree| tree.nodes().len()).sum()
    }
}
