//! Every valid point: some twenty million, which scoring whole pools makes affordable.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use ck_select_model::select::RankScratch;
use rayon::prelude::*;

use super::score::{Scored, Scorer};
use super::space::Point;
use super::{Progress, SearchError};

/// Points per pool: enough to share feature values, few enough to stay in the caches.
const CHUNK: u64 = 1 << 15;

/// The best points and some others, and the number of scored points.
pub(super) fn exhaust(
    scorer: &Scorer<'_>,
    top: usize,
    progress: Progress<'_>,
) -> Result<(Vec<Scored>, usize), SearchError> {
    let size = scorer.space.size();
    let (seen, scored) = (AtomicU64::new(0), AtomicU64::new(0));
    // Chunks finish in any order; because ties are broken by the point's number, the result does not depend
    // on it.
    let best: Mutex<Vec<(u64, Scored)>> = Mutex::new(Vec::new());
    (0..size.div_ceil(CHUNK)).into_par_iter().try_for_each_init(RankScratch::default, |scratch, chunk| {
        let numbers = chunk * CHUNK..size.min((chunk + 1) * CHUNK);
        let points: Vec<(u64, Point)> = numbers
            .clone()
            .map(|number| (number, scorer.space.point(number)))
            .filter(|(_, point)| scorer.space.is_valid(point))
            .collect();
        let plain: Vec<Point> = points.iter().map(|(_, point)| *point).collect();
        let scores = scorer.scores(&plain, scratch)?;
        let mut mine: Vec<(u64, Scored)> =
            points.into_iter().zip(scores).map(|((number, point), score)| (number, (point, score))).collect();
        keep(scorer, &mut mine, top);
        scored.fetch_add(plain.len() as u64, Ordering::Relaxed);
        let mut all = best.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        all.append(&mut mine);
        keep(scorer, &mut all, top);
        drop(all);
        progress(seen.fetch_add(numbers.end - numbers.start, Ordering::Relaxed), size);
        Ok::<(), SearchError>(())
    })?;
    let best = best.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let count = scored.into_inner() as usize;
    if count == 0 {
        return Err(SearchError::NoPoint);
    }
    Ok((best.into_iter().map(|(_, scored)| scored).collect(), count))
}

/// The `top` best, best first.
fn keep(scorer: &Scorer<'_>, scored: &mut Vec<(u64, Scored)>, top: usize) {
    scored.sort_by(|a, b| {
        let (first, second) = (a.1.1, b.1.1);
        let order = if scorer.is_better(first, second) {
            std::cmp::Ordering::Less
        } else if scorer.is_better(second, first) {
            std::cmp::Ordering::Greater
        } else {
            first.is_nan().cmp(&second.is_nan())
        };
        order.then(a.0.cmp(&b.0))
    });
    scored.truncate(top);
}
