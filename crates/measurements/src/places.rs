//! Where the winners of tuned tables stand in an order of their pool.
//!
//! A table says which kernel won, not how fast all are, so what counts is the winner's place in the order;
//! the efficiency is known only where the chosen kernel was timed on the same shape.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::tuned::TunedShape;

/// The rank of a shape's winner in an order of a pool.
#[derive(Debug, Clone, PartialEq)]
pub struct WinnerPlace {
    /// See [`TunedShape::pair`].
    pair: String,
    /// How many shapes it stands for.
    weight: f64,
    /// How many kernels are before the winner; `None` if it is not ranked.
    rank: Option<usize>,
    /// The least time of the shape over that of the first kernel, if that was timed.
    efficiency: Option<f64>,
    /// The rank of the winner's split, if splits are chosen, too.
    split: Option<SplitPlace>,
}

/// Whether the first kernel and its split are the winner's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SplitPlace {
    /// The split is.
    pub split: bool,
    /// Both are.
    pub pair: bool,
    /// The winner is not split.
    pub never: bool,
}

impl WinnerPlace {
    /// The place of a shape whose winner has this rank, and whose first kernel takes this time.
    pub fn new(shape: &TunedShape, rank: Option<usize>, chosen_us: Option<f64>) -> Self {
        let efficiency = chosen_us.zip(shape.least_us()).map(|(chosen, least)| least / chosen);
        Self { pair: shape.pair(), weight: shape.stands_for, rank, efficiency, split: None }
    }

    /// The winner's place, with whether the number of parts that was chosen beside the kernel is the winner's.
    #[must_use]
    pub fn with_split(self, split: SplitPlace) -> Self {
        Self { split: Some(split), ..self }
    }
}

/// The winners' places in some tables on one GPU.
#[derive(Debug, Clone, PartialEq)]
pub struct GpuFigures {
    /// The GPU, perhaps with the table.
    pub name: String,
    /// Kernels of the pool, shapes with a winner, and their pairs.
    pub counts: [(&'static str, usize); 3],
    /// Shares and the efficiency, by name.
    pub figures: Vec<(&'static str, Option<f64>)>,
}

impl GpuFigures {
    /// Figures over some shapes of a pool; `None` without a shape.
    pub fn new(name: String, kernels: usize, placed: &[WinnerPlace]) -> Option<Self> {
        let mut by_pair: BTreeMap<&str, Vec<&WinnerPlace>> = BTreeMap::new();
        for one in placed {
            by_pair.entry(&one.pair).or_default().push(one);
        }
        let mut figures = Vec::new();
        let mut share = |by_row, of_pairs, is_so: &dyn Fn(&WinnerPlace) -> bool| {
            let of = |one: &WinnerPlace| (one.weight, f64::from(u8::from(is_so(one))));
            let pairs = by_pair.values().map(|same| (1.0, mean(same.iter().map(|one| of(one)))));
            figures.push((by_row, Some(mean(placed.iter().map(of)))));
            figures.push((of_pairs, Some(mean(pairs))));
        };
        for (by_row, of_pairs, first) in [
            ("winner_top1", "winner_top1_by_pair", 1),
            ("winner_top3", "winner_top3_by_pair", 3),
            ("winner_top5", "winner_top5_by_pair", 5),
            ("winner_top10", "winner_top10_by_pair", 10),
            ("winner_first_hundredth", "winner_first_hundredth_by_pair", kernels.div_ceil(100)),
            ("winner_first_twentieth", "winner_first_twentieth_by_pair", kernels.div_ceil(20)),
            ("winner_first_tenth", "winner_first_tenth_by_pair", kernels.div_ceil(10)),
        ] {
            share(by_row, of_pairs, &|one| one.rank.is_some_and(|rank| rank < first));
        }
        if placed.iter().any(|one| one.split.is_some()) {
            let split = |of: fn(SplitPlace) -> bool| move |one: &WinnerPlace| one.split.is_some_and(of);
            share("split_right", "split_right_by_pair", &split(|one| one.split));
            share("split_never", "split_never_by_pair", &split(|one| one.never));
            share("kernel_and_split", "kernel_and_split_by_pair", &split(|one| one.pair));
            let is_whole = |one: &WinnerPlace| one.rank == Some(0) && split(|one| one.never)(one);
            share("kernel_never_split", "kernel_never_split_by_pair", &is_whole);
        }
        let timed = || placed.iter().filter_map(|one| Some((one.weight, one.efficiency?)));
        figures.push(("timed_efficiency", timed().next().map(|_| mean(timed()))));
        let is_timed = |one: &WinnerPlace| (one.weight, f64::from(u8::from(one.efficiency.is_some())));
        figures.push(("timed_share", Some(mean(placed.iter().map(is_timed)))));
        let counts = [("kernels", kernels), ("shapes", placed.len()), ("pairs", by_pair.len())];
        (!placed.is_empty()).then_some(Self { name, counts, figures })
    }

    /// All of it for programs.
    pub fn to_json(&self) -> Value {
        let counts = self.counts.iter().map(|&(name, count)| (name.to_owned(), json!(count)));
        let figures = self.figures.iter().map(|&(name, value)| (name.to_owned(), json!(value)));
        let name = std::iter::once(("gpu".to_owned(), json!(self.name)));
        Value::Object(name.chain(counts).chain(figures).collect::<Map<_, _>>())
    }
}

/// The mean of values with weights.
fn mean(values: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (weights, sum) =
        values.fold((0.0, 0.0), |(weights, sum), (weight, value)| (weights + weight, sum + weight * value));
    sum / weights
}
