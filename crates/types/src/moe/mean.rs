//! A problem's routing for what computes with it: as it is, or as it is expected.

use super::MoeProblem;
use crate::routing::{TILES, expected_tiles};

/// A routing as it is, or as it is expected where nothing is known, for what computes with it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanRouting {
    /// Rows of all experts.
    pub rows: f64,
    /// Experts that have any.
    pub active: f64,
    /// Rows of the busiest expert.
    pub largest: f64,
    /// Tiles of all experts, for each of [`TILES`].
    tiles: [f64; 5],
}

impl MeanRouting {
    /// The mean routing of a problem.
    pub fn new(problem: &MoeProblem) -> Self {
        let (rows, experts) = (problem.rows() as f64, problem.experts as f64);
        if problem.has_routing() {
            let [active, largest] = [problem.active, problem.largest].map(|number| number as f64);
            return Self { rows, active, largest, tiles: problem.tiles.map(|count| count as f64) };
        }
        let (tokens, share) = (problem.tokens, problem.topk as f64 / experts);
        let active = expected_tiles(tokens, share, i64::MAX) * experts;
        // About the largest of so many draws.
        let deviation = (rows / experts * (1.0 - share)).sqrt();
        let largest = rows / experts + deviation * (2.0 * experts.ln()).sqrt();
        let tiles = TILES.map(|tile| (expected_tiles(tokens, share, tile) * experts).max(active));
        Self { rows, active, largest: largest.clamp(1.0, problem.tokens as f64), tiles }
    }

    /// Tiles of so many rows of all experts: counted for the usual numbers of rows, and in proportion
    /// in between.
    #[inline]
    pub fn tiles_of(&self, rows: f64) -> f64 {
        let position = (rows / TILES[0] as f64).log2().clamp(0.0, (TILES.len() - 1) as f64);
        let (low, part) = (position.floor() as usize, position.fract());
        if part == 0.0 {
            let count = self.tiles[low] * (TILES[low] as f64 / rows).min(1.0);
            return count.max(self.active);
        }
        self.tiles[low] * (1.0 - part) + self.tiles[low + 1] * part
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::Routing;
    use crate::vocab::MoeStage;

    /// Without a routing, problems are computed as if routed evenly.
    #[test]
    fn a_mean_routing_is_the_problems_or_an_even_one() {
        let problem = MoeProblem::new(MoeStage::One, 64, [64, 4], [512, 512]);
        let routed = MeanRouting::new(&problem.routed(Routing::from_rows([64, 64, 64, 64]).unwrap()));
        let tiles = [16.0, 32.0, 48.0, 128.0, 512.0].map(|rows| (routed.tiles_of(rows) * 1e3).round());
        assert_eq!(tiles, [16e3, 8e3, 5660.0, 4e3, 4e3]);
        assert_eq!((routed.active, routed.largest), (4.0, 64.0));
        let even = MeanRouting::new(&problem);
        assert!((even.active - 64.0 * (1.0 - (15.0_f64 / 16.0).powi(64))).abs() < 1e-6, "{even:?}");
        assert!((7.0..14.0).contains(&even.largest) && (even.tiles_of(64.0) - even.active).abs() < 1e-6);
    }
}
