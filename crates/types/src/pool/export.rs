//! Kernels as the JSON that CK's registries and upstream's builder write, with the keys in their order.

use std::collections::BTreeMap;

use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

use super::keys::KeyForm::{self, Array, Joined, Own, Shape};
use super::keys::{KernelJson as _, KernelKeys, Keys};
use crate::each_operation;
use crate::field::{self, Kind};
use crate::kernel::{Kernel, KernelKind};
use crate::vocab::Op;

/// Values of an export besides the kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportOptions<'a> {
    /// The registry's name in the export.
    pub registry_name: &'a str,
    /// The time of a GEMM export, as CK writes it: `YYYY-MM-DDThh:mm:ss`. Without one, the same kernels
    /// always give the same text. Convolution exports have none.
    pub timestamp: Option<&'a str>,
    /// Whether kernels are counted by type, pipeline, architecture and so on.
    pub statistics: bool,
}

impl Default for ExportOptions<'_> {
    /// The registry "default", without time and statistics.
    fn default() -> Self {
        Self { registry_name: "default", timestamp: None, statistics: false }
    }
}

/// The form of a key; `None` if no field has it.
pub(super) fn form(op: Op, key: &str) -> Option<KeyForm> {
    let own =
        || field::position(KernelKind::fields(op), key).map(|index| Own(KernelKind::fields(op)[index].name));
    let other = KernelKeys::get(op).forms.iter().find(|(known, _)| *known == key);
    other.map(|(_, form)| *form).or_else(own)
}

/// The kernels of the operation, as the JSON that CK's registry of that operation exports.
///
/// Words are written out where CK's exporter writes `unknown`. [`Pool::from_bytes`](super::Pool::from_bytes)
/// reads it.
pub fn export_json<'k>(
    op: Op,
    kernels: impl Iterator<Item = &'k Kernel>,
    options: &ExportOptions<'_>,
) -> serde_json::Result<String> {
    let kernels: Vec<_> = kernels.filter(|kernel| kernel.op() == op).collect();
    let version = KernelKeys::get(op).export_version;
    let document = Document {
        metadata: Metadata {
            timestamp: options.timestamp.filter(|_| version.is_some()),
            registry_name: options.registry_name,
            total_kernels: kernels.len(),
            export_version: version,
        },
        statistics: (options.statistics && !kernels.is_empty()).then(|| Statistics::count(op, &kernels)),
        kernels: kernels.iter().map(|kernel| Exported { kernel, is_config: false }).collect(),
    };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

/// One kernel as CK's registry of its operation exports it: an element of [`export_json`].
pub fn kernel_json(kernel: &Kernel) -> impl Serialize + '_ {
    Exported { kernel, is_config: false }
}

/// One kernel as upstream's builder writes it: a convolution as a Python configuration; others, for which
/// upstream has no such file, as in a registry's export.
pub fn config_json(kernel: &Kernel) -> impl Serialize + '_ {
    Exported { kernel, is_config: true }
}

/// A registry's document.
#[derive(Serialize)]
struct Document<'k> {
    metadata: Metadata<'k>,
    #[serde(skip_serializing_if = "Option::is_none")]
    statistics: Option<Statistics>,
    kernels: Vec<Exported<'k>>,
}

#[derive(Serialize)]
struct Metadata<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<&'a str>,
    registry_name: &'a str,
    total_kernels: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    export_version: Option<&'a str>,
}

/// How many kernels have each word.
struct Statistics(Vec<(&'static str, BTreeMap<String, usize>)>);

impl Statistics {
    fn count(op: Op, kernels: &[&Kernel]) -> Self {
        let count = |keys: Keys| {
            let mut counts = BTreeMap::new();
            for kernel in kernels {
                let words: Vec<_> = keys.split(' ').map(|key| word(&kernel.kind, key)).collect();
                *counts.entry(words.join("_")).or_default() += 1;
            }
            counts
        };
        Self(KernelKeys::get(op).statistics.iter().map(|(name, keys)| (*name, count(keys))).collect())
    }
}

impl Serialize for Statistics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, counts)| (name, counts)))
    }
}

/// A kernel as its registry exports it, or as a configuration.
struct Exported<'k> {
    kernel: &'k Kernel,
    is_config: bool,
}

impl Serialize for Exported<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kind = &self.kernel.kind;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.kernel.name)?;
        if let Some(identifier) =
            each_operation!(kind, KernelKind(own) => own.complete_name(&self.kernel.name))
        {
            map.serialize_entry("identifier", &identifier)?;
        }
        let keys = KernelKeys::get(kind.op());
        for &(name, keys) in if self.is_config { keys.config } else { keys.export } {
            let part = Part { kind, keys };
            match name {
                "" => part.entries(&mut map)?,
                name => map.serialize_entry(name, &part)?,
            }
        }
        map.end()
    }
}

/// Some keys of a kernel.
struct Part<'k> {
    kind: &'k KernelKind,
    keys: Keys,
}

impl Part<'_> {
    fn entries<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let (fields, values) = (KernelKind::fields(self.kind.op()), self.kind.values());
        let at = |name: &str| field::position(fields, name).unwrap_or_default();
        for key in self.keys.split(' ') {
            match form(self.kind.op(), key) {
                Some(Joined(first)) => {
                    let [m, n, k] = [0, 1, 2].map(|axis| values[at(first) + axis]);
                    map.serialize_entry(key, &format!("{m}x{n}x{k}"))?;
                }
                Some(Shape(first)) => {
                    let [m, n, k] = [0, 1, 2].map(|axis| values[at(first) + axis]);
                    map.serialize_entry(key, &Extents { m, n, k })?;
                }
                Some(Array(first, count)) => {
                    let values = &values[at(first)..at(first) + count];
                    if values.iter().any(|value| *value != 0) {
                        map.serialize_entry(key, values)?;
                    }
                }
                Some(Own(name)) if matches!(fields[at(name)].kind, Kind::Number) => {
                    map.serialize_entry(key, &values[at(name)])?;
                }
                Some(Own(name)) if matches!(fields[at(name)].kind, Kind::Flag) => {
                    map.serialize_entry(key, &(values[at(name)] != 0))?;
                }
                Some(Own(_)) | None => map.serialize_entry(key, &word(self.kind, key))?,
            }
        }
        Ok(())
    }
}

impl Serialize for Part<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.entries(&mut map)?;
        map.end()
    }
}

/// Three numbers as an object.
#[derive(Serialize, Deserialize)]
pub(super) struct Extents {
    pub(super) m: i64,
    pub(super) n: i64,
    pub(super) k: i64,
}

/// The word of a key: a few are CK's own, the others those of the field.
fn word(kind: &KernelKind, key: &str) -> String {
    if let "arch" | "gfx_arch" = key {
        return kind.arch().map_or_else(String::new, |arch| arch.to_string());
    }
    let own = each_operation!(kind, KernelKind(own) => own.word(key));
    let of_field = || {
        let fields = KernelKind::fields(kind.op());
        let text = |index: usize| fields[index].text(kind.values()[index]);
        field::position(fields, key).map_or_else(String::new, text)
    };
    own.map_or_else(of_field, str::to_owned)
}
