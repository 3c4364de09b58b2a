//! The GPU of `--arch`: an architecture with its profile, or a file of constants.

#[cfg(feature = "offline")]
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use ck_select::directory::Model;
use ck_select::estimate::{Device, GpuOverride, constants_of};
use ck_select::hardware::Hardware;
use ck_select::kernel::Kernel;
use ck_select::nearest::Hint;
use ck_select::problem::Problem;
use ck_select::ranking::RankError;
use ck_select::vocab::{Arch, GpuName, Op, PRODUCTS, Product};

use crate::error::CliError;

/// A GPU: `ARCH`, a product, `FILE`, or `ARCH:FILE` for a file that is based on another architecture. Without
/// any, none is named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Gpu {
    pub(crate) arch: Option<Arch>,
    /// The product that names it.
    product: Option<&'static Product>,
    /// The product's compute units.
    product_units: Option<i64>,
    file: Option<PathBuf>,
}

/// Reads the option's value.
impl FromStr for Gpu {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        if let Ok(GpuName { arch, units: units @ Some(_) }) = text.parse() {
            let product = Product::find(text);
            return Ok(Self { arch: Some(arch), product, product_units: units, file: None });
        }
        // A file need not exist to be one: what reads it says that it is missing.
        let is_file = |text: &str| text.contains(['/', '.']) || Path::new(text).is_file();
        // A target may have flags, as in gfx90a:sramecc+:xnack-, and a path may have colons.
        let flags_and_file = text.split_once(':').map_or("", |(_, rest)| rest);
        let is_flag = |part: &&str| part.trim_end_matches(':').ends_with(['+', '-']);
        let flags: usize = flags_and_file.split_inclusive(':').take_while(is_flag).map(str::len).sum();
        let rest = &flags_and_file[flags..];
        let file = Some(rest).filter(|file| is_file(file));
        match text.parse() {
            Ok(arch) if file.is_some() || rest.is_empty() => {
                Ok(Self { file: file.map(PathBuf::from), ..Self::with_profile(Some(arch)) })
            }
            _ if is_file(text) => Ok(Self { file: Some(text.into()), ..Self::default() }),
            _ => Err(format!(
                "found '{text}', which is neither an architecture, nor a product such as MI300X, nor a file{}",
                Hint::new(
                    text,
                    Hardware::PROFILES.into_iter().chain(PRODUCTS.iter().map(|product| product.name))
                )
            )),
        }
    }
}

impl Gpu {
    /// A GPU of an architecture's profile.
    pub(crate) const fn with_profile(arch: Option<Arch>) -> Self {
        Self { arch, product: None, product_units: None, file: None }
    }

    /// A GPU of an architecture with so many compute units.
    #[cfg(feature = "offline")]
    pub(crate) fn with_units(arch: Arch, units: i64) -> Self {
        Self { product_units: Some(units), ..Self::with_profile(Some(arch)) }
    }

    /// This GPU with another architecture.
    #[cfg(feature = "train")]
    pub(crate) fn with_arch(&self, arch: Option<Arch>) -> Self {
        Self { arch, ..self.clone() }
    }

    /// The product that names it.
    #[cfg(feature = "offline")]
    pub(crate) const fn product(&self) -> Option<&'static Product> {
        self.product
    }

    pub(crate) const fn is_given(&self) -> bool {
        self.arch.is_some() || self.file.is_some()
    }

    /// The file of constants, if there is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The architecture, which a file may name.
    pub(crate) fn named_arch(&self) -> Result<Option<Arch>, CliError> {
        match (self.arch, &self.file) {
            (None, Some(_)) => Ok(Some(self.device()?.arch)),
            (arch, _) => Ok(arch),
        }
    }

    /// The compute units of its product or file.
    #[cfg(feature = "offline")]
    pub(crate) fn units(&self) -> Result<Option<i64>, CliError> {
        let Some(file) = &self.file else { return Ok(self.product_units) };
        let is_said = constants_of(file)?.contains_key("num_cus");
        Ok(if is_said { Some(self.device()?.device.hardware.num_cus) } else { None })
    }

    /// The constants of the GPU, or changes to `own`, which are those of a model or a schema.
    pub(crate) fn hardware_over(&self, own: Hardware) -> Result<Hardware, CliError> {
        if let Some(file) = &self.file {
            return read(file, own);
        }
        let Some(arch) = self.arch else { return Ok(own) };
        Hardware::for_gpu(GpuName { arch, units: self.product_units }).ok_or_else(|| {
            let known = Hardware::PROFILES.join(", ");
            CliError::usage(format!(
                "--arch: there is no profile of {arch}, only of {known}; a file gives constants"
            ))
        })
    }

    /// The model with the GPU's constants. Differences from its training are printed: it has never seen such
    /// a GPU.
    pub(crate) fn with_constants(&self, model: Model) -> Result<Model, CliError> {
        let own = model.extractor().hardware;
        let hardware = self.hardware_over(own)?;
        let differs = |name: &&str| hardware.get(name) != own.get(name);
        let shown = |hardware: Hardware, name| hardware.get(name).unwrap_or_default();
        let differences = Hardware::NAMES.into_iter().filter(differs);
        let differences: Vec<String> = differences
            .map(|name| format!("{name} {} instead of {}", shown(hardware, name), shown(own, name)))
            .collect();
        // A model whose own constants are not known asks for them, even if they are the default.
        let is_known = model.spec().check_hardware().is_ok();
        if differences.is_empty() && (is_known || !self.is_given()) {
            return Ok(model);
        }
        if is_known {
            say!("ckselect: --arch: not what the model was trained with: {}", differences.join(", "));
        }
        Ok(model.with_hardware(hardware))
    }

    /// The estimate for the GPU, as a model.
    pub(crate) fn estimate(&self, op: Op) -> Result<Model, CliError> {
        let GpuOverride { arch, device } = self.device()?;
        Ok(Model::from_estimate(op, device)?.for_arch(arch))
    }

    /// A model on the GPU: a universal one for it, another one with its constants.
    pub(crate) fn model_on(&self, model: Model) -> Result<Model, CliError> {
        let check = |arch: Option<Arch>, model: &Model| match (arch, model.key().arch) {
            (Some(arch), Some(own)) if arch != own => {
                refuse!("--arch: found {arch}, but the model is for {own}; --allow untrained uses it anyway")
            }
            _ => Ok(()),
        };
        if model.spec().prior.is_none() {
            check(self.arch, &model)?;
            return self.with_constants(model);
        }
        if !self.is_given() {
            return Ok(model);
        }
        let GpuOverride { arch, device } = self.device()?;
        let model = model.on_device(device, Some(arch));
        check(Some(arch), &model)?;
        // A model that may rank what it was not trained for accepts architectures that its spec does not.
        let is_any = model.key().arch.is_none() && model.spec().arch.is_none();
        Ok(if is_any { model.for_arch(arch) } else { model })
    }

    /// Refuses to use a universal model for a GPU that nothing names.
    pub(crate) fn check_known<'a>(
        &self,
        model: &Model,
        mut problems: impl Iterator<Item = &'a Problem>,
        mut kernels: impl Iterator<Item = &'a Kernel>,
    ) -> Result<(), CliError> {
        let named = model.spec().prior.is_none()
            || self.arch.is_some()
            || model.device().is_some()
            || model.spec().arch.is_some()
            || problems.any(|problem| problem.arch().is_some())
            || kernels.any(|kernel| kernel.kind.arch().is_some());
        if named { Ok(()) } else { Err(no_gpu("a universal model")) }
    }

    /// Whether the GPU is more than an architecture: a product or a file, whose constants count before others.
    #[cfg(feature = "offline")]
    pub(crate) const fn is_described(&self) -> bool {
        self.file.is_some() || self.product_units.is_some()
    }

    /// The GPU that a product or a file describes, for the rows of an architecture, by default that of the
    /// file's base.
    #[cfg(feature = "offline")]
    pub(crate) fn described(&self) -> Result<Option<GpuOverride>, CliError> {
        self.is_described().then(|| self.device()).transpose()
    }

    /// The GPU, which must be the problem's. If none is named, it is that of the problem's architecture, else
    /// of the one that all kernels name.
    pub(crate) fn device_for<'k>(
        &self,
        problem: Option<&Problem>,
        kernels: impl Iterator<Item = &'k Kernel>,
    ) -> Result<GpuOverride, CliError> {
        if self.is_given() {
            let given = self.device()?;
            problem.map_or(Ok(()), |problem| check_arch(given.arch, problem)).map_err(CliError::Failed)?;
            return Ok(given);
        }
        let mut named = kernels.map(|kernel| kernel.kind.arch());
        let first = named.next().flatten().filter(|&first| named.all(|other| other == Some(first)));
        Self::with_profile(problem.and_then(Problem::arch).or(first)).device()
    }

    /// The GPU, which has to be named.
    pub(crate) fn device(&self) -> Result<GpuOverride, CliError> {
        match (&self.file, self.arch) {
            (Some(file), arch) => Ok(GpuOverride::read(file, arch)?),
            (None, Some(arch)) => {
                let gpu = GpuOverride::named(GpuName { arch, units: self.product_units });
                gpu.map_err(|error| CliError::usage(format!("--arch: {error}")))
            }
            (None, None) => Err(no_gpu("the estimate")),
        }
    }
}

/// Refuses a problem of another architecture than the GPU that is named.
pub(crate) fn check_arch(given: Arch, problem: &Problem) -> Result<(), String> {
    if let Some(named) = problem.arch().filter(|&named| named != given) {
        return Err(format!("the problem's arch is {named}, but the GPU of --arch is {given}"));
    }
    Ok(())
}

/// Refuses rows for a number of compute units that nothing says, of an architecture whose GPUs have several,
/// unless the profile's is the largest of them.
#[cfg(feature = "offline")]
pub(crate) fn expect_units(rows: impl Display, arch: Arch, units: Option<i64>) -> Result<(), CliError> {
    let known = Hardware::units_of(&arch);
    let (None, Some(most)) = (units, known.last()) else { return Ok(()) };
    if Hardware::for_arch(&arch).is_some_and(|profile| profile.num_cus == *most) {
        return Ok(());
    }
    let known = known.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    refuse!(
        "{rows}: rows are for a number of compute units, and {arch}'s GPUs have different ones ({known}): \
         give --arch a product such as {}, or a FILE with {{\"based_on\": \"{arch}\", \"num_cus\": {most}}}",
        PRODUCTS.iter().find(|product| product.units == *most).map_or("MI300X", |product| product.name)
    )
}

fn no_gpu(who: &str) -> CliError {
    CliError::usage(needs_gpu(who))
}

fn needs_gpu(who: &str) -> String {
    let known = Device::PROFILES.join(", ");
    format!("{who} needs a GPU: give --arch (one of {known}, or a file)")
}

/// Why a problem is not ranked, as a user of the command line can mend it.
pub(crate) fn reason(error: &RankError) -> String {
    match error {
        RankError::NoArch => needs_gpu("a universal model"),
        error => error.to_string(),
    }
}

fn read(path: &Path, own: Hardware) -> Result<Hardware, CliError> {
    let name = path.display();
    let fields = constants_of(path)?;
    if fields.is_empty() {
        let known = Hardware::NAMES.join(", ");
        fail!("{name}: found no constants, expected some of {known}");
    }
    let wrong = |error| CliError::failed(format!("{name}: {error}"));
    let hardware = own.overridden_by(&fields).map_err(wrong)?;
    for name in fields.keys() {
        Hardware::check_plausible(name, hardware.get(name).unwrap_or(1)).map_err(wrong)?;
    }
    Ok(hardware)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flags before a file were taken for a part of its name, then a path's colon for its beginning
    /// (202cf338).
    #[test]
    fn a_gpu_is_an_architecture_with_flags_a_file_or_both() {
        let read = |text: &str| {
            let gpu = text.parse::<Gpu>()?;
            let file = gpu.file().map(|file| file.display().to_string());
            Ok::<_, String>((gpu.arch.map(|arch| arch.to_string()), file))
        };
        let both =
            |arch: Option<&str>, file: Option<&str>| Ok((arch.map(str::to_owned), file.map(str::to_owned)));
        assert_eq!(read("gfx90a:sramecc+:xnack-"), both(Some("gfx90a"), None));
        assert_eq!(read("gfx90a:sramecc+:xnack-:gpu.json"), both(Some("gfx90a"), Some("gpu.json")));
        assert_eq!(read("gfx942:a:1/gpu.json"), both(Some("gfx942"), Some("a:1/gpu.json")));
        assert_eq!(read("gpu.json"), both(None, Some("gpu.json")));
        assert!(read("gfx942:wave64").is_err());
    }

    #[test]
    fn a_product_is_its_target_with_its_compute_units() {
        let gpu: Gpu = "mi300x".parse().unwrap();
        assert_eq!((gpu.arch.map(|arch| arch.to_string()).as_deref(), gpu.file()), (Some("gfx942"), None));
        assert_eq!(gpu.device().unwrap().device.hardware.num_cus, 304);
        assert_eq!(gpu.hardware_over(Hardware::default()).unwrap().num_cus, 304);
        let error = "MI300".parse::<Gpu>().unwrap_err();
        assert!(error.contains("nor a product") && error.ends_with("did you mean 'MI300A'?"), "{error}");
    }
}
