//! Which token counts a table has, and the configuration of each.
//!
//! An engine runs the configuration of the nearest key, of two equally near ones the lower. So a key serves a range
//! of token counts, and its configuration should be the one that loses least over that range, not the best at the
//! key. What a table loses is the mean, over token counts, of the time above the best one's; with few keys the best
//! set of them is computed by a dynamic program over pairs of neighbours:
//!
//! ```text
//! lost(lo, hi)       the least that one configuration loses from token count lo up to hi
//! split(a, b)        the first token count that is nearer to key b than to key a
//! least(1, a, 0)     = 0                       a key, and where its range begins
//! least(m + 1, b, s) = min over a, lo of least(m, a, lo) + lost(lo, s)     where s = split(a, b)
//! answer(m)          = min over a, lo of least(m, a, lo) + lost(lo, end)
//! ```
//!
//! Kernels of both stages share one padding of rows. Where each stage has a table, the two keep the same keys,
//! and of each key's two configurations the same rows of a tile: only candidates of one group go together.

/// The token counts of which the engines' tuners write tables.
pub const LADDER: [u32; 18] =
    [1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024, 1536, 2048, 3072, 4096];

/// Token counts at which a table's loss is judged, of which its keys are chosen.
pub const TOKENS: [u32; 38] = [
    1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448,
    512, 640, 768, 1024, 1280, 1536, 2048, 2560, 3072, 4096, 5120, 6144, 8192,
];

/// A configuration with its time at each token count.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The caller's number for the configuration.
    pub id: usize,
    /// The configuration's times, in any unit; infinite where it cannot run.
    pub times: Vec<f64>,
}

/// Configurations that go together: for each stage that has a table, those of which one is chosen.
#[derive(Debug, Clone, Default)]
pub struct LadderGroup {
    /// The configurations of each stage.
    pub stages: Vec<Vec<Candidate>>,
}

/// A key of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LadderKey {
    /// The token count.
    pub tokens: u32,
    /// The configuration of each stage.
    pub ids: Vec<usize>,
}

/// The keys, at most so many, that lose least over ascending token counts; as few as lose a thousandth more than
/// the least, on average, since estimates of configurations are not better than that.
pub fn choose_keys(tokens: &[u32], groups: &[LadderGroup], most: usize) -> Vec<LadderKey> {
    let losses = Losses::new(tokens, groups);
    let ends = losses.least_of_each(most.min(tokens.len()));
    let least = ends.iter().map(|end| end.lost).fold(f64::INFINITY, f64::min);
    let fewest = ends.iter().position(|end| end.lost <= least + ENOUGH * tokens.len() as f64);
    fewest.map_or_else(Vec::new, |end| losses.keys(&ends[end].keys))
}

/// The configurations of given keys, in ascending order, that lose least over ascending token counts.
pub fn choose_configs(tokens: &[u32], groups: &[LadderGroup], keys: &[u32]) -> Vec<LadderKey> {
    let losses = Losses::new(tokens, groups);
    losses.keys(keys)
}

/// A loss that more keys need not avoid.
const ENOUGH: f64 = 1e-3;

/// The losses of configurations.
struct Losses<'a> {
    tokens: &'a [u32],
    /// The candidates of each stage of each group.
    groups: Vec<Vec<Vec<Sums>>>,
}

/// A candidate's times up to each token count, in units of the best one's.
struct Sums {
    id: usize,
    up_to: Vec<f64>,
}

/// A set of keys, and what it loses.
#[derive(Clone)]
struct LadderEnd {
    lost: f64,
    keys: Vec<u32>,
}

impl LadderEnd {
    /// No keys.
    const NONE: Self = Self { lost: f64::INFINITY, keys: Vec::new() };
}

impl<'a> Losses<'a> {
    fn new(tokens: &'a [u32], groups: &[LadderGroup]) -> Self {
        let fastest = |stage: &Vec<Candidate>, at: usize| {
            stage.iter().map(|candidate| candidate.times[at]).fold(f64::INFINITY, f64::min)
        };
        let of_group =
            |group: &LadderGroup, at| group.stages.iter().map(|stage| fastest(stage, at)).sum::<f64>();
        let best = |at| groups.iter().map(|group| of_group(group, at)).fold(f64::INFINITY, f64::min);
        let best: Vec<f64> = (0..tokens.len()).map(best).collect();
        let sums = |candidate: &Candidate| {
            let mut sum = 0.0;
            let up_to = candidate.times.iter().zip(&best).map(|(time, best)| {
                sum += time / best;
                sum
            });
            Sums { id: candidate.id, up_to: std::iter::once(0.0).chain(up_to).collect() }
        };
        let of_stage = |stage: &Vec<Candidate>| stage.iter().map(sums).collect();
        let groups = groups.iter().map(|group| group.stages.iter().map(of_stage).collect()).collect();
        Self { tokens, groups }
    }

    /// The configurations of one group that lose least from a token count up to another, with their loss.
    fn choose(&self, lo: usize, hi: usize) -> (f64, Vec<usize>) {
        let of_stage = |stage: &Vec<Sums>| {
            let times = stage.iter().map(|sums| (sums.up_to[hi] - sums.up_to[lo], sums.id));
            times.min_by(|one, other| one.0.total_cmp(&other.0)).unwrap_or((f64::INFINITY, 0))
        };
        let of_group = |group: &Vec<Vec<Sums>>| {
            let stages: Vec<(f64, usize)> = group.iter().map(of_stage).collect();
            let time: f64 = stages.iter().map(|stage| stage.0).sum();
            (time - (hi - lo) as f64, stages.into_iter().map(|stage| stage.1).collect())
        };
        let groups = self.groups.iter().map(of_group);
        groups.min_by(|one: &(f64, Vec<usize>), other| one.0.total_cmp(&other.0)).unwrap_or_default()
    }

    /// The first token count that is nearer to the second key.
    fn split(&self, one: u32, other: u32) -> usize {
        self.tokens.partition_point(|&at| at.abs_diff(one) <= at.abs_diff(other) && at < other)
    }

    /// The keys that lose least, for each number of them from 1.
    fn least_of_each(&self, most: usize) -> Vec<LadderEnd> {
        let end = self.tokens.len();
        let between = |lo| (0..=end).map(move |hi| if lo < hi { self.choose(lo, hi).0 } else { 0.0 });
        let lost: Vec<Vec<f64>> = (0..=end).map(|lo| between(lo).collect()).collect();
        let mut least = vec![vec![LadderEnd::NONE; end + 1]; end];
        for (of_key, &key) in least.iter_mut().zip(self.tokens) {
            of_key[0] = LadderEnd { lost: 0.0, keys: vec![key] };
        }
        let mut ends = Vec::new();
        for _ in 0..most {
            ends.push(self.whole(&least, &lost));
            least = self.extended(&least, &lost);
        }
        ends
    }

    /// Sets of keys, by the last key and the token count where its range begins, with one more key.
    fn extended(&self, least: &[Vec<LadderEnd>], lost: &[Vec<f64>]) -> Vec<Vec<LadderEnd>> {
        let mut next = vec![vec![LadderEnd::NONE; self.tokens.len() + 1]; self.tokens.len()];
        for (of_key, &key) in least.iter().zip(self.tokens) {
            for (lo, before) in of_key.iter().enumerate().filter(|(_, before)| before.lost.is_finite()) {
                for (of_after, &after) in next.iter_mut().zip(self.tokens).filter(|(_, after)| **after > key)
                {
                    let split = self.split(key, after);
                    let lost = before.lost + lost[lo][split];
                    if lost < of_after[split].lost {
                        let keys = before.keys.iter().copied().chain([after]).collect();
                        of_after[split] = LadderEnd { lost, keys };
                    }
                }
            }
        }
        next
    }

    /// The best of some sets of keys, whose last range goes to the end.
    fn whole(&self, least: &[Vec<LadderEnd>], lost: &[Vec<f64>]) -> LadderEnd {
        let ends = least.iter().flat_map(|of_key| of_key.iter().enumerate());
        let whole = ends.map(|(lo, end)| (end.lost + lost[lo][self.tokens.len()], &end.keys));
        let best = whole.min_by(|one, other| one.0.total_cmp(&other.0));
        best.map_or(LadderEnd { lost: f64::INFINITY, keys: Vec::new() }, |(lost, keys)| LadderEnd {
            lost,
            keys: keys.clone(),
        })
    }

    /// The configurations of keys, each the one that loses least where the key is nearest.
    fn keys(&self, keys: &[u32]) -> Vec<LadderKey> {
        let of = |(index, &tokens): (usize, &u32)| {
            let lo = index.checked_sub(1).map_or(0, |before| self.split(keys[before], tokens));
            let hi = keys.get(index + 1).map_or(self.tokens.len(), |&after| self.split(tokens, after));
            // A key that is nearest to no token count has the configuration of its neighbours.
            let at = lo.min(self.tokens.len().saturating_sub(1));
            LadderKey { tokens, ids: self.choose(at, hi.max(at + 1)).1 }
        };
        keys.iter().enumerate().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_stage(times: &[&[f64]]) -> Vec<LadderGroup> {
        let of = |(id, times): (usize, &&[f64])| LadderGroup {
            stages: vec![vec![Candidate { id, times: times.to_vec() }]],
        };
        times.iter().enumerate().map(of).collect()
    }

    /// The loss of a table, by the engines' own lookup.
    fn lost(tokens: &[u32], groups: &[LadderGroup], keys: &[LadderKey]) -> f64 {
        let time = |id: usize, at: usize| groups[id].stages[0][0].times[at];
        let of = |at: usize| {
            let mut nearest = &keys[0];
            for key in keys {
                if key.tokens.abs_diff(tokens[at]) < nearest.tokens.abs_diff(tokens[at]) {
                    nearest = key;
                }
            }
            let best = (0..groups.len()).map(|id| time(id, at)).fold(f64::INFINITY, f64::min);
            time(nearest.ids[0], at) / best - 1.0
        };
        (0..tokens.len()).map(of).sum()
    }

    /// All sets of keys, with all configurations, tried.
    fn least_lost(tokens: &[u32], groups: &[LadderGroup], most: usize) -> f64 {
        let sets = 1_u32..1 << tokens.len();
        let sets = sets.filter(|set| set.count_ones() as usize <= most);
        let of = |set: u32| {
            let keys: Vec<u32> =
                (0..tokens.len()).filter(|at| set >> at & 1 == 1).map(|at| tokens[at]).collect();
            let choices = groups.len().pow(keys.len() as u32);
            let of_choice = |choice: usize| {
                let id = |digit: usize| choice / groups.len().pow(digit as u32) % groups.len();
                let keys: Vec<LadderKey> = keys
                    .iter()
                    .enumerate()
                    .map(|(index, &tokens)| LadderKey { tokens, ids: vec![id(index)] })
                    .collect();
                lost(tokens, groups, &keys)
            };
            (0..choices).map(of_choice).fold(f64::INFINITY, f64::min)
        };
        sets.map(of).fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn keys_lose_as_little_as_any() {
        let tokens = [1, 2, 4, 7, 12, 30];
        let mut state = 7_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            1.0 + (state >> 40) as f64 / f64::from(1 << 24)
        };
        for _ in 0..20 {
            let times: Vec<Vec<f64>> = (0..3).map(|_| tokens.iter().map(|_| random()).collect()).collect();
            let times: Vec<&[f64]> = times.iter().map(Vec::as_slice).collect();
            let groups = one_stage(&times);
            for most in 1..=4 {
                let keys = choose_keys(&tokens, &groups, most);
                assert!(keys.len() <= most);
                let (own, least) = (lost(&tokens, &groups, &keys), least_lost(&tokens, &groups, most));
                assert!(own < least + ENOUGH * 6.0 + 1e-9, "{own} {least} {keys:?}");
                let ends = Losses::new(&tokens, &groups).least_of_each(most);
                let exact = ends.iter().map(|end| end.lost).fold(f64::INFINITY, f64::min);
                assert!((exact - least).abs() < 1e-9, "{exact} {least}");
            }
        }
    }

    #[test]
    fn one_configuration_needs_one_key_and_a_given_ladder_is_kept() {
        let groups = one_stage(&[&[1.0, 1.0, 1.0], &[2.0, 2.0, 2.0]]);
        assert_eq!(choose_keys(&[1, 8, 64], &groups, 3).len(), 1);
        let keys = choose_configs(&[1, 8, 64], &groups, &[4, 16, 2048]);
        assert_eq!(keys.iter().map(|key| key.tokens).collect::<Vec<_>>(), [4, 16, 2048]);
        assert!(keys.iter().all(|key| key.ids == [0]));
    }

    /// Each stage's best has other rows of a tile, with which the other stage is slow.
    #[test]
    fn stages_share_their_rows_of_a_tile() {
        let candidate = |id, time| Candidate { id, times: vec![time] };
        let group = |one: [f64; 2], id: usize| LadderGroup {
            stages: vec![
                vec![candidate(id, one[0]), candidate(id + 1, 9.0)],
                vec![candidate(id + 2, one[1])],
            ],
        };
        let groups = [group([1.0, 9.0], 0), group([2.0, 3.0], 10), group([8.0, 1.0], 20)];
        assert_eq!(choose_keys(&[5], &groups, 18), [LadderKey { tokens: 5, ids: vec![10, 12] }]);
    }
}
