//! Grouped convolution, full rule set, as far as it is known.

use std::collections::BTreeMap;

use ck_select_types::kernel::Mnk;
use ck_select_types::vocab::{Direction, Dtype};
use serde::{Deserialize, Deserializer};

use super::words::{self, NamedShapes};

/// Tiles by direction, dimensions and type, and the ways to divide a tile among waves.
///
/// Upstream derives kernels from these by unknown rules for instructions and vectors, so nothing is expanded
/// from them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FullRules {
    /// A comment for human readers.
    pub about: String,
    /// Types that share a list of tiles.
    dtypes: BTreeMap<String, DtypeList>,
    /// By direction, then by `2d_` or `3d_` and a key of `dtypes`.
    #[serde(deserialize_with = "by_direction")]
    tiles: BTreeMap<Direction, BTreeMap<String, Vec<Mnk>>>,
    /// Waves per workgroup, by strategy.
    #[serde(deserialize_with = "strategies")]
    strategies: BTreeMap<String, Mnk>,
    /// Strategies of unassigned tiles.
    otherwise: Vec<String>,
    /// Which tiles are divided by which strategies.
    pub assignments: Vec<Assignment>,
    /// Tiles of kernels that split images.
    #[serde(deserialize_with = "words::shapes")]
    pub split_image_tiles: Vec<Mnk>,
    /// Rows and columns of excluded instructions.
    pub excluded_warp_shapes: Vec<[u32; 2]>,
}

/// Tiles that are divided by the same strategies.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assignment {
    /// The strategies, in order.
    pub strategies: Vec<String>,
    /// The tiles.
    #[serde(deserialize_with = "words::shapes")]
    pub tiles: Vec<Mnk>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct DtypeList(#[serde(deserialize_with = "words::list")] Vec<Dtype>);

#[derive(Deserialize)]
struct TileLists(#[serde(deserialize_with = "words::named_shapes")] BTreeMap<String, Vec<Mnk>>);

#[derive(Deserialize)]
struct Waves(#[serde(deserialize_with = "words::shape")] Mnk);

fn by_direction<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<Direction, NamedShapes>, D::Error> {
    let map: BTreeMap<Direction, TileLists> = words::keyed(deserializer)?;
    Ok(map.into_iter().map(|(direction, TileLists(lists))| (direction, lists)).collect())
}

fn strategies<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, Mnk>, D::Error> {
    let map = BTreeMap::<String, Waves>::deserialize(deserializer)?;
    Ok(map.into_iter().map(|(name, Waves(waves))| (name, waves)).collect())
}

impl FullRules {
    /// The tiles of a direction with this many dimensions for a type, in order; empty if the rule set has no
    /// such kernels.
    pub fn tiles(&self, direction: Direction, ndim: u8, dtype: Dtype) -> &[Mnk] {
        let group = self.dtypes.iter().find(|(_, DtypeList(dtypes))| dtypes.contains(&dtype));
        let lists = self.tiles.get(&direction);
        match (group, lists) {
            (Some((group, _)), Some(lists)) => {
                lists.get(&format!("{ndim}d_{group}")).map(Vec::as_slice).unwrap_or_default()
            }
            _ => &[],
        }
    }

    /// The names of the strategies for a tile, before overrides by direction.
    pub fn strategies(&self, tile: Mnk) -> &[String] {
        let assigned = self.assignments.iter().find(|assignment| assignment.tiles.contains(&tile));
        assigned.map_or(&self.otherwise, |assignment| &assignment.strategies)
    }

    /// The waves of a strategy; `None` for an unknown name.
    pub fn waves(&self, strategy: &str) -> Option<Mnk> {
        self.strategies.get(strategy).copied()
    }
}
