//! What the forest was trained for, which determines how a sum of leaf values becomes a prediction.

use super::error::ForestError;
use super::text::Field;

/// The loss that the forest was trained on.
///
/// Supported are objectives with one output whose prediction is the sum itself, its signed square or its
/// exponential. A forest without an objective in its text, as from training on a custom loss, is `custom`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Objective {
    name: &'static str,
    transform: Transform,
}

/// How a sum of leaf values becomes a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transform {
    /// The sum itself.
    Identity,
    /// `sign(x) * x * x`: the forest was trained on signed square roots.
    SignedSquare,
    /// `exp(x)`: the forest was trained on logarithms.
    Exponential,
}

impl Transform {
    /// The prediction for a sum of leaf values.
    pub fn apply(self, sum: f64) -> f64 {
        match self {
            Transform::Identity => sum,
            Transform::SignedSquare => sign(sum) * sum * sum,
            // The C library's `exp`, as in LightGBM: the bits are equal if both use the same C library.
            Transform::Exponential => sum.exp(),
        }
    }
}

/// -1, 0 or 1; unlike `f64::signum`, 0 for both zeros and for NaN.
fn sign(x: f64) -> f64 {
    f64::from(i8::from(x > 0.0) - i8::from(x < 0.0))
}

/// One row for each supported objective: its name in the text, the other names that LightGBM reads as the
/// same, its transform, and whether that is the signed square if the word `sqrt` follows the name.
type Entry = (&'static str, &'static [&'static str], Transform, bool);

const SUPPORTED: [Entry; 12] = [
    (
        "regression",
        &["regression_l2", "mean_squared_error", "mse", "l2", "l2_root", "root_mean_squared_error", "rmse"],
        Transform::Identity,
        true,
    ),
    ("regression_l1", &["mean_absolute_error", "l1", "mae"], Transform::Identity, true),
    ("huber", &[], Transform::Identity, false),
    ("fair", &[], Transform::Identity, true),
    ("poisson", &[], Transform::Exponential, false),
    ("quantile", &[], Transform::Identity, true),
    ("mape", &["mean_absolute_percentage_error"], Transform::Identity, true),
    ("gamma", &[], Transform::Exponential, false),
    ("tweedie", &[], Transform::Exponential, false),
    ("lambdarank", &[], Transform::Identity, false),
    ("rank_xendcg", &["xendcg", "xe_ndcg", "xe_ndcg_mart", "xendcg_mart"], Transform::Identity, false),
    ("custom", &["none", "null", "na"], Transform::Identity, false),
];

impl Objective {
    pub(super) const CUSTOM: Objective = Objective { name: "custom", transform: Transform::Identity };

    /// The name in LightGBM's text.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// How a forest of this objective turns its sum into a prediction.
    pub fn transform(self) -> Transform {
        self.transform
    }

    /// The objective that the text names. Aliases are read only if they are the whole value, as in LightGBM:
    /// `mse` is `regression`, `mse sqrt` is invalid.
    pub(super) fn parse(field: Field<'_>) -> Result<Objective, ForestError> {
        if let Some(&(name, _, transform, _)) =
            SUPPORTED.iter().find(|(_, others, ..)| others.contains(&field.value))
        {
            return Ok(Objective { name, transform });
        }
        let mut words = field.tokens();
        let first = words.next().unwrap_or_default();
        let Some(&(name, _, transform, keeps_sqrt)) = SUPPORTED.iter().find(|entry| entry.0 == first) else {
            return Err(field.position.unsupported(field.value, SUPPORTED.map(|entry| entry.0).join(", ")));
        };
        let is_squared = keeps_sqrt && words.any(|word| word == "sqrt");
        Ok(Objective { name, transform: if is_squared { Transform::SignedSquare } else { transform } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signed_square_keeps_the_sign_and_zero() {
        let square = |x| Transform::SignedSquare.apply(x);
        assert_eq!((square(3.0), square(-3.0)), (9.0, -9.0));
        assert_eq!(square(-0.0).to_bits(), 0.0f64.to_bits());
    }
}
