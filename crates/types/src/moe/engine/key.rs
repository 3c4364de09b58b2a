//! What an engine looks a table up by, and the file name that it forms from it.
//!
//! ```text
//! name := "E=" int ",N=" int ",device_name=" device [",dtype=" types] [",block_shape=[" int "," [" "] int "]"]
//!         [",per_channel_quant=True"] ["_down"] ".json"
//! ```
//!
//! SGLang writes a blank inside the block's shape, vLLM none. `_down` is the table of the second stage, which
//! vLLM does not have: there one configuration runs both stages.

use std::fmt::Display;
use std::path::Path;

use super::config::{ConfigKey, TritonConfig};
use super::device::EngineDevice;
use super::table::{ConfigTable, whole};
use super::words::{Engine, QuantTypes};
use crate::invalid::InvalidField;

/// A table's problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableKey {
    /// Experts of a rank.
    pub experts: u32,
    /// Width of a rank's experts, in weights.
    pub width: u32,
    /// The GPU.
    pub device: &'static EngineDevice,
    /// The types, if they are not 16-bit floats.
    pub types: Option<QuantTypes>,
    /// Rows and columns of weights that share a scale.
    pub block: Option<[u32; 2]>,
    /// Whether each channel of the weights has a scale.
    pub per_channel: bool,
    /// Whether the table is of the second stage alone.
    pub is_down: bool,
}

impl TableKey {
    /// Reads the name of a file. Tables in a folder `triton_…`, and names that vLLM does not form, are
    /// SGLang's.
    pub fn from_path(path: &Path) -> Result<(Engine, Self), InvalidField> {
        let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let folder = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        let mut scan = NameScan {
            rest: file.strip_suffix(".json").ok_or_else(|| fault("file name", file, ".json at its end"))?,
        };
        let is_down = scan.rest.ends_with("_down");
        scan.rest = scan.rest.strip_suffix("_down").unwrap_or(scan.rest);
        let experts = scan.number("E=", "E", ",")?;
        let named_width = scan.number("N=", "N", ",")?;
        let device = EngineDevice::named(scan.part("device_name=", "device_name")?)?;
        let types = scan
            .optional("dtype=")
            .map(|word| word.parse().map_err(|error| InvalidField::word("dtype", &error)));
        let types = types.transpose()?;
        let blanks = scan.rest.contains(' ');
        let block = scan.block()?;
        let per_channel = match scan.optional("per_channel_quant=") {
            None => false,
            Some("True") => true,
            Some(other) => return Err(fault("per_channel_quant", other, "True, or nothing")),
        };
        if !scan.rest.is_empty() {
            return Err(fault("file name", scan.rest, format!("the end, or one of {}", PARTS.join(", "))));
        }
        let is_sglang =
            is_down || per_channel || blanks || folder.is_some_and(|name| name.starts_with("triton_"));
        let engine = if is_sglang { Engine::Sglang } else { Engine::Vllm };
        let width = engine.width_of_name(named_width, types);
        Ok((engine, Self { experts, width, device, types, block, per_channel, is_down }))
    }

    /// The name of the file that an engine looks for.
    pub fn file_name(&self, engine: Engine) -> String {
        let Self { experts, device, .. } = self;
        let width = engine.named_width(self.width, self.types);
        let types = self.types.map_or(String::new(), |types| format!(",dtype={types}"));
        let blank = if engine == Engine::Sglang { " " } else { "" };
        let block = self.block.map_or(String::new(), |[n, k]| format!(",block_shape=[{n},{blank}{k}]"));
        let channels = if self.per_channel { ",per_channel_quant=True" } else { "" };
        let down = if self.is_down { "_down" } else { "" };
        format!("E={experts},N={width},device_name={}{types}{block}{channels}{down}.json", device.name)
    }

    /// Checks that an engine forms this name, and that each entry means to it what it says.
    pub fn check(&self, engine: Engine, table: &ConfigTable) -> Result<(), InvalidField> {
        self.check_name(engine)?;
        if engine == Engine::Sglang && table.triton.is_some() {
            return Err(fault("triton_version", "a version", "none: SGLang takes it for a token count"));
        }
        table.rows.iter().try_for_each(|(tokens, config)| {
            self.check_config(engine, config)
                .map_err(|error| InvalidField { field: format!("{tokens}: {}", error.field), ..error })
        })
    }

    /// Checks that an engine looks for this name.
    pub fn check_name(&self, engine: Engine) -> Result<(), InvalidField> {
        let accepted = engine.types();
        if let Some(types) = self.types.filter(|types| !accepted.contains(types)) {
            let words: Vec<&str> = accepted.iter().map(|types| types.as_str()).collect();
            return Err(fault(
                "dtype",
                types,
                format!("16-bit floats or one of {}: {engine} looks up no other", words.join(", ")),
            ));
        }
        if !self.width.is_multiple_of(2) && self.types == Some(QuantTypes::Int4W4a16) {
            return Err(fault("N", self.width, "an even number: two weights are a byte"));
        }
        if engine == Engine::Sglang {
            return Ok(());
        }
        if self.is_down || self.per_channel {
            let part = if self.is_down { "_down" } else { "per_channel_quant" };
            return Err(fault("file name", part, "none: vLLM does not look for it"));
        }
        // vLLM calls the whole family by one name.
        if self.device.name != "NVIDIA_H200" && self.device.name.split('_').any(|part| part == "H200") {
            return Err(fault("device_name", self.device.name, "NVIDIA_H200, as vLLM calls each H200"));
        }
        Ok(())
    }

    /// Checks that an entry of the table means to an engine what it says.
    pub fn check_config(&self, engine: Engine, config: &TritonConfig) -> Result<(), InvalidField> {
        let refuse = |key: ConfigKey, expected: &str| {
            Err(fault(key.as_str(), config.get(key).unwrap_or_default(), expected.to_owned()))
        };
        let is_amd = self.device.arch().is_some_and(|arch| arch.is_amd());
        if let Some(key) = ConfigKey::AMD.into_iter().find(|&key| !is_amd && config.get(key).is_some()) {
            return refuse(key, "none: only AMD's GPUs have it");
        }
        if engine == Engine::Vllm && config.get(ConfigKey::Tma).is_some() {
            return refuse(ConfigKey::Tma, "none: vLLM's kernel has no such parameter");
        }
        if engine == Engine::Sglang && config.get(ConfigKey::SplitK).is_some() {
            return refuse(ConfigKey::SplitK, "none: SGLang's kernel has no such parameter");
        }
        match self.block {
            // One step has one scale: vLLM would shorten a longer step, SGLang scale it wrongly.
            Some([_, depth]) if !depth.is_multiple_of(config.block_k()) => {
                let expected = format!("a divisor of {depth}, the depth of a block of weights");
                Err(fault(ConfigKey::BlockK.as_str(), config.block_k(), expected))
            }
            _ => Ok(()),
        }
    }
}

/// The parts of a table's name behind the device.
const PARTS: [&str; 3] = [",dtype=", ",block_shape=", ",per_channel_quant="];

fn fault(field: &str, found: impl Display, expected: impl Into<String>) -> InvalidField {
    InvalidField::new(field, found, expected)
}

/// The part of a name that is not yet read.
struct NameScan<'a> {
    rest: &'a str,
}

impl<'a> NameScan<'a> {
    /// The text behind a word, to the next comma.
    fn part(&mut self, word: &str, field: &str) -> Result<&'a str, InvalidField> {
        let rest = self
            .rest
            .strip_prefix(word)
            .ok_or_else(|| fault(field, format_args!("'{}'", self.rest), word))?;
        let end = rest.find(',').unwrap_or(rest.len());
        let (part, rest) = rest.split_at(end);
        self.rest = rest;
        Ok(part)
    }

    /// A number between a word and a comma.
    fn number(&mut self, word: &str, field: &str, end: &str) -> Result<u32, InvalidField> {
        let part = self.part(word, field)?;
        self.rest = self.rest.strip_prefix(end).unwrap_or(self.rest);
        whole(part).ok_or_else(|| fault(field, format_args!("'{part}'"), "a number above 0"))
    }

    /// The text behind a comma and a word, if they are next.
    fn optional(&mut self, word: &str) -> Option<&'a str> {
        self.rest.strip_prefix(',').filter(|rest| rest.starts_with(word))?;
        self.rest = &self.rest[1..];
        self.part(word, word).ok()
    }

    /// The shape of a block, if it is next.
    fn block(&mut self) -> Result<Option<[u32; 2]>, InvalidField> {
        let Some(rest) = self.rest.strip_prefix(",block_shape=") else { return Ok(None) };
        let parts = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let block = parts.and_then(|(inner, _)| {
            let (n, k) = inner.split_once(',')?;
            Some([whole(n)?, whole(k.strip_prefix(' ').unwrap_or(k))?])
        });
        self.rest = parts.map_or(rest, |(_, after)| after);
        block.map(Some).ok_or_else(|| fault("block_shape", rest, "two numbers above 0 such as [128,128]"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str) -> Result<(Engine, TableKey), String> {
        TableKey::from_path(Path::new(path)).map_err(|error| error.to_string())
    }

    /// Names of files that the engines ship.
    #[test]
    fn names_are_read_and_written_as_the_engines_form_them() {
        for (folder, name, engine, width) in [
            ("configs", "E=8,N=14336,device_name=NVIDIA_A100-SXM4-80GB.json", Engine::Vllm, 14336),
            (
                "configs",
                "E=128,N=768,device_name=NVIDIA_H100_80GB_HBM3,dtype=fp8_w8a8,block_shape=[128,128].json",
                Engine::Vllm,
                768,
            ),
            (
                "configs",
                "E=128,N=1536,device_name=AMD_Instinct_MI308X,dtype=int4_w4a16.json",
                Engine::Vllm,
                1536,
            ),
            (
                "triton_3_4_0",
                "E=257,N=256,device_name=NVIDIA_H20-3e,dtype=fp8_w8a8,block_shape=[128, 128]_down.json",
                Engine::Sglang,
                256,
            ),
            (
                "triton_3_2_0",
                "E=8,N=7168,device_name=NVIDIA_H20,dtype=fp8_w8a8,per_channel_quant=True.json",
                Engine::Sglang,
                7168,
            ),
            (
                "triton_3_4_0",
                "E=384,N=128,device_name=NVIDIA_H200,dtype=int4_w4a16.json",
                Engine::Sglang,
                256,
            ),
            ("triton_3_6_0", "E=16,N=4096,device_name=NVIDIA_H200_down.json", Engine::Sglang, 4096),
        ] {
            let (device, key) = read(&format!("{folder}/{name}")).unwrap();
            assert_eq!((device, key.width, key.file_name(engine)), (engine, width, name.to_owned()));
            assert_eq!(key.check_name(engine), Ok(()), "{name}");
        }
    }

    #[test]
    fn other_names_say_what_is_wrong() {
        const KEY: &str = "E=8,N=64,device_name=NVIDIA_H200";
        for (name, expected) in [
            ("provider=cutedsl_fp8,E=8.json".to_owned(), "E: found 'provider=cutedsl_fp8,E=8', expected E="),
            (
                format!("{KEY}.txt"),
                "file name: found E=8,N=64,device_name=NVIDIA_H200.txt, expected .json at its end",
            ),
            ("E=0,N=64.json".to_owned(), "E: found '0', expected a number above 0"),
            ("E=8,N=064.json".to_owned(), "N: found '064', expected a number above 0"),
            ("E=8,N=64.json".to_owned(), "device_name: found '', expected device_name="),
            (
                "E=8,N=64,device_name=.json".to_owned(),
                "device_name: found '', expected one of AMD_Instinct_MI210, ",
            ),
            (format!("{KEY},dtype=fp8.json"), "dtype: found 'fp8', expected one of float32, fp8_w8a8, "),
            (format!("{KEY},block_shape=[128].json"), "block_shape: found [128], expected two numbers"),
            (format!("{KEY},per_channel_quant=False.json"), "per_channel_quant: found False, expected True"),
            (format!("{KEY},topk=2.json"), "file name: found ,topk=2, expected the end, or one of ,dtype=, "),
        ] {
            let error = read(&name).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn a_name_that_an_engine_does_not_form_is_refused() {
        let check = |name: &str, engine| {
            let (_, key) = read(name).unwrap();
            key.check_name(engine).unwrap_err().to_string()
        };
        let of = |rest: &str| format!("E=8,N=64,device_name=NVIDIA_H200{rest}.json");
        assert!(
            check(&of(",dtype=int8_w8a8"), Engine::Vllm)
                .starts_with("dtype: found int8_w8a8, expected 16-bit")
        );
        assert!(
            check(&of(",dtype=fp8_w8a16"), Engine::Sglang)
                .starts_with("dtype: found fp8_w8a16, expected 16-bit")
        );
        assert!(check(&of("_down"), Engine::Vllm).starts_with("file name: found _down"));
        assert!(check(&of(",per_channel_quant=True"), Engine::Vllm).contains("per_channel_quant"));
        assert!(
            check(&of("_NVL"), Engine::Vllm)
                .starts_with("device_name: found NVIDIA_H200_NVL, expected NVIDIA_H200")
        );
    }
}
