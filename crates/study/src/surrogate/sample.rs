//! Random points.

use ck_select_model::select::RankScratch;
use rand::Rng;

use super::score::{Scored, Scorer};
use super::space::Point;
use super::{Progress, SearchError};

/// Maximum number of draws for one point. Only one point in a thousand may be buildable.
const TRIES: usize = 20_000;

/// How many points are scored together.
const TOGETHER: usize = 4096;

/// A valid point; `None` if none was drawn.
pub(super) fn valid_point(scorer: &Scorer<'_>, random: &mut impl Rng) -> Option<Point> {
    (0..TRIES).map(|_| scorer.space.draw(random)).find(|point| scorer.space.is_valid(point))
}

/// As many points as the budget allows; the same point may be drawn twice.
pub(super) fn random(
    scorer: &Scorer<'_>,
    budget: usize,
    random: &mut impl Rng,
    progress: Progress<'_>,
) -> Result<(Vec<Scored>, usize), SearchError> {
    let mut scratch = RankScratch::default();
    let mut scored = Vec::new();
    while scored.len() < budget {
        let next = TOGETHER.min(budget - scored.len());
        let part: Vec<Point> = (0..next).map_while(|_| valid_point(scorer, random)).collect();
        if part.is_empty() {
            break;
        }
        let scores = scorer.scores(&part, &mut scratch)?;
        scored.extend(part.into_iter().zip(scores));
        progress(scored.len() as u64, budget as u64);
    }
    if scored.is_empty() && budget > 0 {
        return Err(SearchError::NoPoint);
    }
    let count = scored.len();
    Ok((scored, count))
}
