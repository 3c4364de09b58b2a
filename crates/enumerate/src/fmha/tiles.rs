//! Tiles of forward attention for a type and a pair of head sizes: those of the table, or all products of
//! sizes that pass the tests of CK's tile engine.

use std::collections::BTreeMap;

use ck_select_types::vocab::{Dtype, FmhaPipeline};

use super::config::FmhaConfig;
use super::rules::{FmhaFeatures, FmhaRules, FmhaSweep, FmhaTileRule, FmhaTileTest};
use crate::lists::{admits, distinct};

/// The source of tiles, and the rules for which of them are built.
pub(crate) struct Tiles<'a> {
    rules: &'a FmhaRules,
    swept: Option<&'a FmhaSweep>,
    with_tuning: bool,
    arch: &'a str,
    tests: &'a [FmhaTileTest],
    /// Combinations of features that are never built.
    pub(crate) refused: &'a [FmhaFeatures],
    /// Builds by number.
    pub(crate) receipts: &'a BTreeMap<String, FmhaFeatures>,
}

impl<'a> Tiles<'a> {
    pub(crate) fn new(rules: &'a FmhaRules, config: &FmhaConfig, arch: &'a str) -> Self {
        let swept = config.swept_tiles.then_some(&rules.sweep);
        let (tests, refused, receipts) = match swept {
            Some(sweep) => (&sweep.tile_rules, &sweep.refused, &sweep.receipts),
            None => (&rules.tile_rules, &rules.refused, &rules.receipts),
        };
        Self { rules, swept, with_tuning: config.tuning_tiles, arch, tests, refused, receipts }
    }

    /// The head sizes of a type, in order.
    pub(crate) fn heads(&self, dtype: Dtype) -> Vec<[u16; 2]> {
        if let Some(sweep) = self.swept {
            return sweep.types(dtype).map_or_else(Vec::new, |types| types.hdims.clone());
        }
        distinct(self.of_table(dtype).map(|rule| rule.hdims))
    }

    /// The tiles that each pipeline accepts, in order.
    pub(crate) fn by_pipeline(
        &self,
        dtype: Dtype,
        hdims: [u16; 2],
    ) -> Vec<(FmhaPipeline, Vec<FmhaTileRule>)> {
        let all: Vec<FmhaTileRule> = match self.swept {
            Some(sweep) => products(sweep, dtype, hdims),
            None => self.of_table(dtype).filter(|rule| rule.hdims == hdims).cloned().collect(),
        };
        let accepts = |pipeline, rule: &FmhaTileRule| {
            let is_built = match self.swept {
                Some(sweep) => stands(sweep, pipeline, (dtype, rule), self.arch),
                None => self.rules.v3_tile.takes(pipeline, rule, self.arch),
            };
            is_built && self.tests.iter().all(|test| test.takes(pipeline, rule))
        };
        let pipelines = distinct(self.rules.specs.iter().map(|spec| spec.pipeline));
        let of = |pipeline| all.iter().filter(|rule| accepts(pipeline, rule)).cloned().collect();
        pipelines.into_iter().map(|pipeline| (pipeline, of(pipeline))).collect()
    }

    fn of_table(&self, dtype: Dtype) -> impl Iterator<Item = &'a FmhaTileRule> {
        let (tuning, arch) = (self.with_tuning, self.arch);
        self.rules.tiles.iter().filter(move |rule| {
            rule.dtypes.contains(&dtype) && (tuning || !rule.tuning) && admits(rule.archs.as_deref(), arch)
        })
    }
}

/// All products of sizes that divide the heads and that instructions divide.
fn products(sweep: &FmhaSweep, dtype: Dtype, hdims: [u16; 2]) -> Vec<FmhaTileRule> {
    let [hdim_q, hdim_v] = hdims;
    let wide = dtype.bits() > 8;
    let warps = sweep.types(dtype).map_or(&[][..], |types| &types.warps);
    let mut products = Vec::new();
    for &m0 in &sweep.m0 {
        for &n0 in &sweep.n0 {
            for &k0 in sweep.k0.iter().filter(|&&k0| hdim_q.checked_rem(k0) == Some(0)) {
                let narrow = sweep
                    .narrow_k1
                    .iter()
                    .find(|narrow| (narrow.m0, narrow.n0, narrow.k0, narrow.hdim_q) == (m0, n0, k0, hdim_q));
                let k1 = if wide { narrow.map_or(sweep.k1, |narrow| narrow.k1) } else { k0 };
                let k0max = sweep.k0max.get(&hdim_q).copied().unwrap_or(hdim_q);
                for &warp in warps {
                    let [m, n, k] = warp;
                    // Rule files are the user's: no number is assumed to be above 0.
                    let divides = [(m0, m), (n0, n), (k0, k)].map(|(of, by)| of.checked_rem(by) == Some(0));
                    if divides == [true; 3] {
                        products.push(FmhaTileRule {
                            hdims,
                            tile: [m0, n0, k0, hdim_v, k1, k0max],
                            waves: u8::try_from(m0 / m).unwrap_or(u8::MAX),
                            warp,
                            ..FmhaTileRule::default()
                        });
                    }
                }
            }
        }
    }
    products
}

/// Whether a pipeline can be built with a tile: its loads fit, and it issues whole instructions.
fn stands(
    sweep: &FmhaSweep,
    pipeline: FmhaPipeline,
    (dtype, rule): (Dtype, &FmhaTileRule),
    arch: &str,
) -> bool {
    let [m0, n0, k0, ..] = rule.tile.map(u64::from);
    let bytes = u64::from(dtype.bits() / 8).max(1);
    let loads = Loads { bytes, of_16_bytes: arch == "gfx950", rule };
    let fits = if matches!(pipeline, FmhaPipeline::Qr | FmhaPipeline::Qs) {
        (m0 + n0) * k0 * bytes <= sweep.lds_bytes
    } else {
        loads.staged_bytes() <= sweep.async_lds_bytes
    };
    fits && match pipeline {
        // The second product's instructions are issued eight at a time: this is checked for the tile's own
        // instruction and for the type's first.
        FmhaPipeline::Qr if rule.hdims[0] == 256 => {
            let first =
                sweep.types(dtype).and_then(|types| types.warps.first()).copied().unwrap_or(rule.warp);
            [rule.warp, first].iter().all(|warp| {
                let [_, n, k] = warp.map(u64::from);
                let issued = n0.checked_div(n).zip(k0.checked_div(k));
                issued.is_some_and(|(columns, steps)| columns * steps % 8 == 0)
            })
        }
        FmhaPipeline::QrAsync => {
            (n0 * k0).checked_rem(64 * u64::from(rule.waves) * loads.elements()) == Some(0)
        }
        _ => true,
    }
}

/// How an asynchronous pipeline loads a tile.
struct Loads<'a> {
    /// Bytes of an element.
    bytes: u64,
    /// Whether a thread loads 16 bytes at a time, not 4, and shared memory has 64 banks, not 32.
    of_16_bytes: bool,
    rule: &'a FmhaTileRule,
}

impl Loads<'_> {
    /// Elements that a thread loads at a time.
    fn elements(&self) -> u64 {
        (if self.of_16_bytes { 16 } else { 4 } / self.bytes).max(1)
    }

    /// Bytes of shared memory for three buffers, each large enough for keys or values with their padding.
    fn staged_bytes(&self) -> u64 {
        let (bytes, waves) = (self.bytes, u64::from(self.rule.waves));
        let [_, n0, k0, hdim_v, ..] = self.rule.tile.map(u64::from);
        let padding = 16 / bytes;
        let row = if self.of_16_bytes { 64 } else { 32 } * 4 / bytes;
        let values = (32 / padding) * (hdim_v / (row / padding)) * (row + padding);
        let elements = self.elements();
        let lines = 64_u64.checked_div(k0 / elements).unwrap_or(1);
        let loads = n0.checked_div(lines * waves).unwrap_or(0);
        let keys = loads * waves * (64 * elements + padding);
        3 * keys.max(values) * bytes
    }
}
