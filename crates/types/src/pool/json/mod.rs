//! Pools in JSON: three exporters' dialects, attention's configurations, and bare names.
//!
//! Elements become kernels one by one while the text is read, so memory does not grow with what is discarded.

mod conv;
mod fmha;
mod gemm;
mod moe;
mod part;

use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed as _, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::keys::{self, RawKernel};
use super::{Builder, PoolError};
use crate::kernel::Kernel;
use crate::seed;
use crate::vocab::Arch;

pub(super) fn read(text: &str, builder: &mut Builder) -> Result<(), PoolError> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let result = Document { builder }.deserialize(&mut deserializer).and_then(|()| deserializer.end());
    result.map_err(|error| {
        let line = error.line() as u64;
        let found = builder.fault.take().unwrap_or_else(|| {
            let message = error.to_string();
            let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
            PoolError::new(format_args!("JSON, column {}: {message}", error.column()))
        });
        found.line(line)
    })
}

impl Builder {
    /// Adds a kernel of the file, or of a list in it; an invalid one ends the reading.
    fn take<E: serde::de::Error>(
        &mut self,
        list: Option<&str>,
        kernel: Result<Kernel, PoolError>,
    ) -> Result<(), E> {
        let index = self.kernels.len();
        kernel.and_then(|kernel| self.push(kernel)).map_err(|error| {
            self.fault = Some(match list {
                Some(list) => error.within(&format!("{list}[{index}]")),
                None => error,
            });
            E::custom("a kernel's fault")
        })
    }
}

/// The whole file.
struct Document<'b> {
    builder: &'b mut Builder,
}

seed!(Document<'_>, deserialize_any);

impl<'de> Visitor<'de> for Document<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an export with 'kernels', an array of kernels or names, or one kernel")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<(), A::Error> {
        Elements { field: "", builder: self.builder }.visit_seq(seq)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut several = false;
        let mut one = RawKernel::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "kernels" if several => return Err(A::Error::duplicate_field("kernels")),
                "kernels" => {
                    several = true;
                    map.next_value_seed(Elements { field: "kernels", builder: self.builder })?;
                }
                "name" => one.name = map.next_value()?,
                "identifier" => one.identifier = map.next_value()?,
                "signature" => one.signature = map.next_value()?,
                "algorithm" => one.algorithm = map.next_value()?,
                "arch" => one.arch = map.next_value()?,
                "gfx_arch" => one.gfx_arch = map.next_value()?,
                "family" => one.family = map.next_value()?,
                "dtype" => one.dtype = map.next_value()?,
                "pipeline" => one.pipeline = map.next_value()?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        if several {
            return Ok(());
        }
        let none = || {
            let expected = "an export, an array of kernels or names, or one kernel";
            PoolError::value("an object without 'kernels' and without 'name'", expected)
        };
        let one = keys::op_of(&one).is_some().then_some(one).ok_or_else(none).and_then(kernel);
        self.builder.take(None, one)
    }
}

/// The array of kernels in `field`.
struct Elements<'b> {
    field: &'static str,
    builder: &'b mut Builder,
}

seed!(Elements<'_>, deserialize_seq);

impl<'de> Visitor<'de> for Elements<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of kernels")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let Self { field, builder } = self;
        while seq.next_element_seed(Element { field, builder })?.is_some() {}
        Ok(())
    }
}

/// One element of the array. It is checked while it is read, so that the reader's line is the element's own.
struct Element<'b> {
    field: &'static str,
    builder: &'b mut Builder,
}

seed!(Element<'_>, deserialize_any);

impl<'de> Visitor<'de> for Element<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a kernel or a kernel's name")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<(), E> {
        self.builder.take(Some(self.field), readable(name).and_then(|()| super::named(name)))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        let raw = RawKernel::deserialize(MapAccessDeserializer::new(map))?;
        self.builder.take(Some(self.field), kernel(raw))
    }
}

/// Refuses what the C++ exporters make of non-ASCII text: each byte becomes `\uffffffXX`, which JSON reads as
/// U+FFFF and two or more ordinary characters.
fn readable(text: &str) -> Result<(), PoolError> {
    if text.contains('\u{ffff}') {
        return Err(PoolError::value(
            "an escape '\\uffff'",
            "ASCII: the exporter garbles other characters (as \\uffffffXX), so the name is lost",
        ));
    }
    Ok(())
}

fn kernel(mut raw: RawKernel) -> Result<Kernel, PoolError> {
    for (field, text) in [("name", &raw.name), ("identifier", &raw.identifier)] {
        readable(text.as_deref().unwrap_or_default()).map_err(|error| error.within(field))?;
    }
    let arch = arch(raw.arch.take(), raw.gfx_arch.take())?;
    match keys::op_of(&raw) {
        Some(op) => keys::read(op, raw, arch),
        None => Err(PoolError::value("no name", "a field 'name' or 'identifier'").within("name")),
    }
}

/// The architecture, under the key of either exporter. An empty one counts as unknown.
fn arch(arch: Option<String>, gfx_arch: Option<String>) -> Result<Option<Arch>, PoolError> {
    let (field, text) = if arch.is_some() { ("arch", arch) } else { ("gfx_arch", gfx_arch) };
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    text.parse().map(Some).map_err(|error| part::unknown(&error).within(field))
}
