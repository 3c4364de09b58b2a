//! The processes that wrote rows, and on which devices.

use ck_select_types::vocab::Arch;
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The origin of rows: the processes that wrote them, or the origins of the files that were merged or converted
/// into one table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Origin {
    /// Every process that wrote rows, in order.
    pub sessions: Vec<Session>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Part<Option<Self>>>,
}

/// A file whose rows went into a table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Part<M> {
    /// The name of the file, which no reader needs.
    #[serde(skip_deserializing)]
    pub(crate) file: String,
    /// How many rows of the file went into the table.
    pub(crate) rows: Option<usize>,
    /// The sidecar of the file.
    pub(crate) meta: M,
}

impl Origin {
    /// The origin in a sidecar, whose types were checked when the sidecar was read; empty without one.
    pub(super) fn or_empty(meta: Option<Value>) -> Self {
        meta.and_then(|meta| serde_json::from_value(meta).ok()).unwrap_or_default()
    }

    /// Whether the rows are those of one log.
    pub(super) const fn is_one_log(&self) -> bool {
        self.parts.is_empty()
    }

    /// The processes that wrote rows of the file, or of any part of the file.
    pub(super) fn into_sessions(self) -> Vec<Session> {
        let parts = self.parts.into_iter().filter(|part| part.rows != Some(0)).filter_map(|part| part.meta);
        self.sessions.into_iter().chain(parts.flat_map(Self::into_sessions)).collect()
    }
}

/// A process that wrote rows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Session {
    /// The process's ID on its host.
    pub process: Option<u32>,
    /// When the process began, in seconds since 1970.
    pub began: Option<u64>,
    /// When the process ended; `None` if it was killed, or still runs.
    pub ended: Option<u64>,
    /// Why the process ended: `completed`, `budget`, `signal <number>`, `failed`.
    pub end: Option<String>,
    /// Rows that it wrote.
    pub rows: u64,
    /// When the process wrote the last row, if it did not record its end.
    #[serde(skip)]
    pub last_row: Option<u64>,
    /// The version of ck-select.
    pub ckselect: Option<String>,
    /// Host name, kernel and driver.
    pub host: Value,
    /// The runtime's report about each GPU, by the host's name for it.
    #[serde(deserialize_with = "devices")]
    pub gpus: Option<Map<String, Value>>,
}

/// Reads GPUs. The fields of a device that are read have to be text: rows are compared with its architecture.
fn devices<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Map<String, Value>>, D::Error> {
    let devices = Option::<Map<String, Value>>::deserialize(from)?;
    let is_text = |value: &Value| value.is_null() || value.is_string();
    let is_device =
        |device: &Value| device.is_object() && is_text(&device["name"]) && is_text(&device["target"]);
    match devices.iter().flat_map(Map::values).find(|device| !is_device(device)) {
        Some(found) => Err(D::Error::custom(format!(
            "gpus: found {found}, expected an object in which name and target are text"
        ))),
        None => Ok(devices),
    }
}

/// A device of a process.
#[derive(Debug, Clone, Copy)]
pub struct Device<'a>(&'a Value);

impl Session {
    /// How long it ran, if it was killed until its last row; `None` if that is not known.
    pub fn seconds(&self) -> Option<u64> {
        self.ended.or(self.last_row).zip(self.began).and_then(|(ended, began)| ended.checked_sub(began))
    }

    /// The process's devices.
    pub fn devices(&self) -> impl Iterator<Item = Device<'_>> {
        self.gpus.iter().flat_map(Map::values).map(Device)
    }
}

impl<'a> Device<'a> {
    /// The device's name in the runtime.
    pub fn name(self) -> &'a str {
        self.0["name"].as_str().unwrap_or("unnamed")
    }

    /// The device's architecture, if it is recorded, such as in `gfx942:sramecc+:xnack-`.
    pub(super) fn arch(self) -> Option<Arch> {
        self.0["target"].as_str()?.split(':').next()?.parse().ok()
    }
}

/// Gives the processes of a log that did not record their end, because they were killed or still run, the rows
/// that were written, at these times, before the next process began.
pub(super) fn credit(sessions: &mut [Session], times: &[u64]) {
    let begins: Vec<Option<u64>> = sessions.iter().map(|session| session.began).collect();
    for (index, session) in sessions.iter_mut().enumerate().filter(|(_, session)| session.ended.is_none()) {
        let Some(from) = session.began else { continue };
        let to = begins[index + 1..].iter().copied().flatten().next().unwrap_or(u64::MAX);
        let own = || times.iter().copied().filter(|time| (from..to).contains(time));
        session.rows = session.rows.max(own().count() as u64);
        session.last_row = own().max();
    }
}
