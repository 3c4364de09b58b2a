//! Hardware constants from the user instead of those that a model was trained with.

use std::path::Path;

use ck_select::estimate::constants_of;
use ck_select::hardware::Hardware;
use ck_select::model::Model;
use ck_select::nearest::Hint;
use ck_select::vocab::Arch;

use crate::error::CliError;

/// Whose constants features are computed with.
#[derive(Clone, clap::Args)]
pub(crate) struct HardwareOption {
    /// GPU constants to use instead of the model's: an architecture with a profile (an unknown one lists
    /// them), or a JSON file with an object of single constants (`ckselect inspect` shows their names)
    #[arg(long, value_name = "FILE|NAME")]
    hardware: Option<String>,
}

impl HardwareOption {
    pub(crate) const fn is_given(&self) -> bool {
        self.hardware.is_some()
    }

    /// The option's value: a file or an architecture.
    pub(crate) fn asked(&self) -> Option<&str> {
        self.hardware.as_deref()
    }

    /// The requested constants, or changes to `own`, which are those of a model or a schema.
    pub(crate) fn over(&self, own: Hardware) -> Result<Hardware, CliError> {
        let Some(asked) = &self.hardware else { return Ok(own) };
        if Path::new(asked).is_file() {
            return read(asked, own);
        }
        let profile = asked.parse().ok().and_then(|arch: Arch| Hardware::for_arch(&arch));
        profile.ok_or_else(|| {
            let known = Hardware::PROFILES.join(", ");
            CliError::usage(format!(
                "--hardware: '{asked}' is neither a file nor an architecture with a profile; \
                 there are {known}{}",
                Hint::new(asked, Hardware::PROFILES)
            ))
        })
    }

    /// The model with the requested constants. Differences from its training are printed: it has never seen
    /// such a GPU.
    pub(crate) fn ask(&self, model: Model) -> Result<Model, CliError> {
        let own = model.extractor().hardware;
        let hardware = self.over(own)?;
        let differs = |name: &&str| hardware.get(name) != own.get(name);
        let shown = |hardware: Hardware, name| hardware.get(name).unwrap_or_default();
        let differences = Hardware::NAMES.into_iter().filter(differs);
        let differences: Vec<String> = differences
            .map(|name| format!("{name} {} instead of {}", shown(hardware, name), shown(own, name)))
            .collect();
        if differences.is_empty() {
            // A model whose own constants are not known asks for them, even if they are the default.
            let asks = self.is_given() && model.spec().check_hardware().is_err();
            return Ok(if asks { model.with_hardware(hardware) } else { model });
        }
        if model.spec().check_hardware().is_err() {
            return Ok(model.with_hardware(hardware));
        }
        say!("ckselect: --hardware: not what the model was trained with: {}", differences.join(", "));
        Ok(model.with_hardware(hardware))
    }
}

fn read(path: &str, own: Hardware) -> Result<Hardware, CliError> {
    let fields = constants_of(Path::new(path)).map_err(|error| CliError::failed(error.to_string()))?;
    if fields.is_empty() {
        let known = Hardware::NAMES.join(", ");
        return Err(CliError::failed(format!("{path}: found no constants, expected some of {known}")));
    }
    let wrong = |error| CliError::failed(format!("{path}: {error}"));
    let hardware = own.overridden_by(&fields).map_err(wrong)?;
    for name in fields.keys() {
        Hardware::check_plausible(name, hardware.get(name).unwrap_or(1)).map_err(wrong)?;
    }
    Ok(hardware)
}
