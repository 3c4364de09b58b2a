//! How many rows each expert has, and the few numbers of it that matter.
//!
//! A histogram has as many numbers as there are experts, but no kernel's time depends on all of them: a
//! workgroup computes one tile of rows of one expert, so what is computed is the sum over experts of rows
//! divided by the tile's, rounded up. [`Routing`] has that sum for each usual tile ([`TILES`]), the experts
//! that have rows (whose weights are read) and the rows of the busiest one. It is computed once, where a problem
//! enters, so problems stay plain values of fixed size. Where only a skew is known, the numbers are those
//! expected; where nothing is known, [`expected_tiles`] has those of even routing.

use std::str::FromStr;

use crate::field::{InvalidField, MAX_EXTENT};

/// Rows of the tiles for which the tiles of all experts are counted.
pub const TILES: [i64; 5] = [16, 32, 64, 128, 256];

/// A histogram of rows over experts, as the counts that matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Routing {
    /// Rows of all experts.
    pub rows: i64,
    /// Experts that have any.
    pub active: i64,
    /// Rows of the busiest expert.
    pub largest: i64,
    /// Tiles of all experts, for each of [`TILES`].
    pub tiles: [i64; 5],
}

impl Routing {
    /// Counts the rows of each expert, in any order; an expert may have none.
    ///
    /// ```
    /// use ck_select_types::routing::Routing;
    ///
    /// let routing = Routing::from_rows([40, 17, 0])?;
    /// assert_eq!((routing.rows, routing.active, routing.largest), (57, 2, 40));
    /// assert_eq!(routing.tiles, [5, 3, 2, 2, 2]);
    /// # Ok::<(), ck_select_types::problem::InvalidField>(())
    /// ```
    pub fn from_rows(rows: impl IntoIterator<Item = i64>) -> Result<Self, InvalidField> {
        let mut all = Self { rows: 0, active: 0, largest: 0, tiles: [0; 5] };
        for own in rows {
            all.add(own, 1)?;
        }
        all.checked()
    }

    fn add(&mut self, rows: i64, experts: i64) -> Result<(), InvalidField> {
        for (number, least) in [(rows, 0), (experts, 1)] {
            if !(least..=MAX_EXTENT).contains(&number) {
                let expected = format!("numbers of {least} to {MAX_EXTENT}");
                return Err(InvalidField::new("histogram", number, expected));
            }
        }
        self.rows = self.rows.saturating_add(rows.saturating_mul(experts));
        self.active += experts * i64::from(rows > 0);
        self.largest = self.largest.max(rows);
        for (count, tile) in self.tiles.iter_mut().zip(TILES) {
            *count = count.saturating_add((rows + tile - 1) / tile * experts);
        }
        Ok(())
    }

    fn checked(self) -> Result<Self, InvalidField> {
        if self.rows > 0 && self.rows <= MAX_EXTENT && self.active <= MAX_EXTENT {
            return Ok(self);
        }
        let expected = format!("1 to {MAX_EXTENT} rows of all experts");
        Err(InvalidField::new("histogram", self.rows, expected))
    }

    /// The expected routing where an expert's share of the rows falls with its rank to the power of `-skew`, and no
    /// expert has a token twice.
    pub fn skewed(tokens: i64, experts: i64, topk: i64, skew: f64) -> Self {
        let shares = shares(experts, topk as f64, skew);
        let mut tiles = [0.0; 5];
        let mut active = 0.0;
        for &share in &shares {
            active += expected_tiles(tokens, share, i64::MAX);
            for (sum, tile) in tiles.iter_mut().zip(TILES) {
                *sum += expected_tiles(tokens, share, tile);
            }
        }
        let largest = shares.first().map_or(0.0, |share| tokens as f64 * share);
        let rows = tokens.saturating_mul(topk).max(1);
        // Rounded, but no less and no more than so many rows allow.
        let whole =
            |number: f64, [least, most]: [i64; 2]| (number.round() as i64).clamp(least, most.max(least));
        let active = whole(active, [topk.max(1), experts.min(rows)]);
        let mut routing = Self {
            rows,
            active,
            largest: whole(largest, [(rows + active - 1) / active, tokens]),
            tiles: [0; 5],
        };
        for ((count, sum), tile) in routing.tiles.iter_mut().zip(tiles).zip(TILES) {
            *count = whole(sum, tile_bounds(rows, active, tile));
        }
        routing
    }
}

/// The fewest and the most tiles of so many rows, of which some experts have at least one each.
pub(crate) fn tile_bounds(rows: i64, active: i64, tile: i64) -> [i64; 2] {
    [active.max((rows + tile - 1) / tile), (rows - active) / tile + active]
}

/// The probability of each expert to have a token, the most probable expert first: their sum is `topk`, and
/// none is above 1.
fn shares(experts: i64, topk: f64, skew: f64) -> Vec<f64> {
    let weights: Vec<f64> = (1..=experts.max(1)).map(|rank| (rank as f64).powf(-skew)).collect();
    let (mut full, mut rest) = (0, weights.iter().sum::<f64>());
    // Experts that would have more than every token have exactly that.
    while full < weights.len() && weights[full] * (topk - full as f64) > rest {
        rest -= weights[full];
        full += 1;
    }
    let scale = (topk - full as f64).max(0.0) / rest.max(f64::MIN_POSITIVE);
    weights.iter().enumerate().map(|(rank, weight)| if rank < full { 1.0 } else { weight * scale }).collect()
}

/// The expected number of tiles of so many rows that an expert has to whom each of some tokens goes with a
/// probability: of a binomial distribution, the mean of the quotient, rounded up.
pub fn expected_tiles(tokens: i64, share: f64, tile: i64) -> f64 {
    let (tokens, share, tile) = (tokens as f64, share.clamp(0.0, 1.0), tile as f64);
    let mean = tokens * share;
    let deviation = (mean * (1.0 - share)).sqrt();
    if deviation > 0.6 * tile {
        // Where the last tile ends is as good as random.
        return mean / tile + 0.5;
    }
    if deviation > 8.0 {
        return sum_of_tails(tile, mean + 6.0 * deviation, |rows| {
            1.0 - normal((rows + 0.5 - mean) / deviation)
        });
    }
    let (mut probability, mut sum) = (((1.0 - share).ln() * tokens).exp(), 0.0);
    if probability <= f64::MIN_POSITIVE {
        // Nearly every token: there is hardly any deviation.
        return (mean / tile).ceil();
    }
    let odds = share / (1.0 - share);
    let last = (mean + 8.0 * deviation + 8.0).min(tokens);
    let mut rows = 0.0;
    while rows < last {
        probability *= odds * (tokens - rows) / (rows + 1.0);
        rows += 1.0;
        sum += probability * (rows / tile).ceil();
    }
    sum
}

/// The probabilities of more rows than each number of whole tiles has, until a number of rows.
fn sum_of_tails(tile: f64, until: f64, tail: impl Fn(f64) -> f64) -> f64 {
    let (mut rows, mut sum) = (0.0, 0.0);
    while rows < until {
        sum += tail(rows);
        rows += tile;
    }
    sum
}

/// The distribution function of the normal distribution, to 1e-5 (Abramowitz and Stegun 26.2.16).
fn normal(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.33267 * x.abs());
    let tail = (-x * x / 2.0).exp() * 0.398_942_28 * t * (0.436_183_6 + t * (-0.120_167_6 + t * 0.937_298));
    if x < 0.0 { tail } else { 1.0 - tail }
}

/// The rows of each expert with blanks or `+` between them, `*3` for three experts with as many rows.
impl FromStr for Routing {
    type Err = InvalidField;

    fn from_str(text: &str) -> Result<Self, InvalidField> {
        let mut all = Self { rows: 0, active: 0, largest: 0, tiles: [0; 5] };
        for part in text.split(|c: char| c == '+' || c.is_whitespace()).filter(|part| !part.is_empty()) {
            let (rows, experts) = part.split_once('*').unwrap_or((part, "1"));
            let (Ok(rows), Ok(experts)) = (rows.parse(), experts.parse()) else {
                let expected = "rows of each expert such as 40+17*3";
                return Err(InvalidField::new("histogram", format_args!("'{part}'"), expected));
            };
            all.add(rows, experts)?;
        }
        all.checked()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histograms_are_counted_tile_by_tile() {
        let routing: Routing = "300+17*2+0*5".parse().unwrap();
        assert_eq!(routing, Routing::from_rows([17, 300, 17, 0]).unwrap());
        assert_eq!(routing.tiles, [19 + 4, 10 + 2, 5 + 2, 3 + 2, 2 + 2]);
        assert_eq!("300 17 17".parse(), Ok(routing));
    }

    #[test]
    fn wrong_histograms_say_what_is_accepted() {
        for (text, message) in [
            ("3,4", "histogram: found '3,4', expected rows of each expert such as 40+17*3"),
            ("3*", "histogram: found '3*', expected rows of each expert such as 40+17*3"),
            ("-1+3", "histogram: found -1, expected numbers of 0 to 2147483647"),
            ("3*0", "histogram: found 0, expected numbers of 1 to 2147483647"),
            ("0 0", "histogram: found 0, expected 1 to 2147483647 rows of all experts"),
            ("2147483647*2", "histogram: found 4294967294, expected 1 to 2147483647 rows of all experts"),
        ] {
            assert_eq!(text.parse::<Routing>().unwrap_err().to_string(), message);
        }
    }

    /// Against a simulation by the definition: the mean over many draws.
    #[test]
    fn expected_tiles_are_those_of_the_binomial_distribution() {
        let exact = |tokens: i64, share: f64, tile: i64| {
            let mut logarithm = (1.0 - share).ln() * tokens as f64;
            let mut mean = 0.0;
            for rows in 1..=tokens {
                logarithm += (share / (1.0 - share)).ln() + ((tokens - rows + 1) as f64 / rows as f64).ln();
                mean += logarithm.exp() * ((rows + tile - 1) / tile) as f64;
            }
            mean
        };
        for (tokens, share) in [
            (1, 0.03),
            (7, 0.25),
            (64, 0.0625),
            (300, 0.125),
            (4096, 0.02),
            (4096, 0.25),
            (4096, 0.995),
            (30000, 0.01),
        ] {
            for tile in TILES {
                let [expected, exact] = [expected_tiles(tokens, share, tile), exact(tokens, share, tile)];
                assert!(
                    (expected - exact).abs() < 5e-3 * exact,
                    "{tokens} {share} {tile}: {expected} {exact}"
                );
            }
        }
    }

    #[test]
    fn a_skew_makes_some_experts_busy_and_others_idle() {
        let even = Routing::skewed(64, 64, 4, 0.0);
        let skewed = Routing::skewed(64, 64, 4, 1.2);
        assert_eq!((even.rows, even.largest, skewed.rows), (256, 5, 256));
        assert!(skewed.largest > 20 && skewed.active < even.active, "{skewed:?}");
        // No expert has a token twice.
        assert_eq!(Routing::skewed(10, 8, 4, 8.0).largest, 10);
        assert_eq!(Routing::skewed(10, 2, 2, 3.0), Routing::from_rows([10, 10]).unwrap());
    }
}
