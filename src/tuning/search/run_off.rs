//! The run-off: candidates within noise of each other are measured again, in turn.
//!
//! Each candidate was measured at a different time, and clocks and caches drift. For kernels of a few
//! microseconds, which events resolve to a twentieth, one of several equals would win by chance. When
//! measured in turn, all have the same drift.

use super::{Candidate, End, SearchReport, Timer, Trouble, Verdict, Winner, verdict_of};

/// Number of rounds. The runs are distributed over them.
const ROUNDS: u32 = 3;
/// A larger spread is due to disturbances, not to the candidate.
const MOST_SPREAD: f64 = 0.05;

/// A candidate that may be the fastest.
struct Finalist {
    entry: usize,
    times: Vec<f64>,
}

/// Holds the run-off if there is anything to decide.
pub(super) fn hold(
    timer: &Timer<'_>,
    candidates: &mut [Candidate<'_>],
    report: &mut SearchReport,
) -> Result<(), End> {
    let mut finalists = finalists(report);
    if finalists.len() < 2 {
        return Ok(());
    }
    let counted = timer.options.repeats.max(1).div_ceil(ROUNDS);
    for _ in 0..ROUNDS {
        let mut at = 0;
        while let Some(finalist) = finalists.get_mut(at) {
            match turn(timer, candidates, finalist, counted) {
                Ok(()) => at += 1,
                // The earlier results stand.
                Err(Trouble::OverBudget) => {
                    report.winner = lowest(report, |_| true);
                    return Ok(());
                }
                Err(trouble) => {
                    let entry = finalists.remove(at).entry;
                    let (verdict, ended) = verdict_of(timer, trouble, &[]);
                    report.entries[entry].verdict = verdict;
                    if ended.is_err() {
                        report.winner = lowest(report, |_| true);
                        return ended;
                    }
                }
            }
        }
    }
    for Finalist { entry, times } in &finalists {
        report.entries[*entry].verdict = timer.measured(times);
    }
    let among_finalists = lowest(report, |entry| finalists.iter().any(|finalist| finalist.entry == entry));
    // All of them may have failed.
    report.winner = among_finalists.or_else(|| lowest(report, |_| true));
    Ok(())
}

/// A finalist's turn. Its first run does not count, because the previous kernel's data is still in the
/// caches.
fn turn(
    timer: &Timer<'_>,
    candidates: &mut [Candidate<'_>],
    finalist: &mut Finalist,
    counted: u32,
) -> Result<(), Trouble> {
    let candidate = &mut candidates[finalist.entry];
    timer.run(candidate)?;
    for _ in 0..counted {
        finalist.times.push(timer.run(candidate)?);
    }
    Ok(())
}

/// The kernels whose spread overlaps with that of the lowest median.
fn finalists(report: &SearchReport) -> Vec<Finalist> {
    let spread = |verdict: &Verdict| match *verdict {
        Verdict::Measured { median_ms, cv: Some(cv), .. } => Some((median_ms, cv.min(MOST_SPREAD))),
        _ => None,
    };
    let ends = report.entries.iter().filter_map(|entry| spread(&entry.verdict));
    let Some((best_ms, best_spread)) = ends.min_by(|(a, _), (b, _)| a.total_cmp(b)) else {
        return Vec::new();
    };
    let close = |verdict: &Verdict| {
        spread(verdict).is_some_and(|(ms, spread)| ms * (1.0 - spread) < best_ms * (1.0 + best_spread))
    };
    let places = report.entries.iter().enumerate().filter(|(_, entry)| close(&entry.verdict));
    places.map(|(entry, _)| Finalist { entry, times: Vec::new() }).collect()
}

/// The lowest median among some entries; of equal ones the first.
fn lowest(report: &SearchReport, among: impl Fn(usize) -> bool) -> Option<Winner> {
    let medians = report.entries.iter().enumerate().filter(|(entry, _)| among(*entry));
    let medians = medians.filter_map(|(_, entry)| match entry.verdict {
        Verdict::Measured { median_ms, .. } => Some(Winner { index: entry.index, median_ms }),
        _ => None,
    });
    medians.min_by(|a, b| a.median_ms.total_cmp(&b.median_ms))
}
