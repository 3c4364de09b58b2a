//! `ckselect doctor`: what this machine has, and its effect on the library.

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::path::{Path, PathBuf};

use ck_select::directory::{EmbeddedModel, FeatureSpec, Model};
use ck_select::embedded;
use ck_select::estimate::{self, GpuOverride};
use ck_select::log::level_and_file;
use ck_select::nearest::Hint;
use ck_select::registry::{Mode, Options, Overrides};
use ck_select::tuning::device::Device as _;
use ck_select::tuning::hip::{Hip, HipError, LIBRARY_VARIABLE};
use ck_select::tuning::store::{Location, Mode as StoreMode, Store};
use rustix::fs::{Access, access};

use crate::error::CliError;
use crate::table::{Format, ResultTable};

const EXAMPLES: &str = "Examples:
  ckselect doctor
  ckselect doctor --format json | jq '.[] | select(.state == \"wrong\")'

A state is ok, none (nothing is there, which is not an error) or wrong. The exit code is 3 if anything is \
wrong. Nothing is written or measured; only the HIP runtime is loaded.";

/// The variables that the library, its tools and its Python package read, besides those whose values are
/// judged one by one.
const UNJUDGED: [&str; 5] =
    [Location::VARIABLE, LIBRARY_VARIABLE, "CK_SELECT_LOCK_DIR", "CK_SELECT_LIBRARY", "CK_SELECT_COMMAND"];
/// Variables that only the project's own builds and tests read.
const BUILD_VARIABLES: [&str; 7] = [
    "CK_SELECT_PYTHON", "CK_SELECT_HIP_INCLUDE", "CK_SELECT_UPDATE_HEADER", "CK_SELECT_UPDATE_ROWS",
    "CK_SELECT_FREE_THREADED", "CK_SELECT_FAULTS", "CK_SELECT_LICENCES",
];

/// Report what is found on this machine, and its effect
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// One line of the report.
struct Finding {
    what: String,
    state: &'static str,
    found: String,
    effect: String,
}

impl Finding {
    fn new(what: &str, state: &'static str, found: impl Display, effect: impl Display) -> Self {
        Self { what: what.to_owned(), state, found: found.to_string(), effect: effect.to_string() }
    }
}

fn ok(what: &str, found: impl Display, effect: impl Display) -> Finding {
    Finding::new(what, "ok", found, effect)
}

/// A finding about an optional thing that is absent and that nothing requests.
fn none(what: &str, found: impl Display, effect: impl Display) -> Finding {
    Finding::new(what, "none", found, effect)
}

fn wrong(what: &str, found: impl Display, effect: impl Display) -> Finding {
    Finding::new(what, "wrong", found, effect)
}

/// All checks, in the order of the report.
const CHECKS: [fn() -> Vec<Finding>; 8] =
    [library, hip, driver, embedded_models, installed_models, store, variables, unknown_variables];

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let mut table = ResultTable::new(["what", "state", "found", "effect"]).wrapped();
    let mut wrong = Vec::new();
    for Finding { what, state, found, effect } in CHECKS.iter().flat_map(|check| check()) {
        if state == "wrong" {
            wrong.push(what.clone());
        }
        table.push(vec![what.into(), state.into(), found.into(), effect.into()]);
    }
    table.print(args.format)?;
    if wrong.is_empty() { Ok(()) } else { Err(CliError::Judged(format!("wrong: {}", wrong.join(", ")))) }
}

fn library() -> Vec<Finding> {
    let trains = if cfg!(feature = "train") { "can train" } else { "without LightGBM: cannot train" };
    vec![ok("library", env!("CARGO_PKG_VERSION"), trains)]
}

/// The HIP runtime and its devices.
fn hip() -> Vec<Finding> {
    let what = "HIP runtime";
    let without = "nothing is measured; models, the store and the estimate still choose";
    let hip = match Hip::get() {
        Ok(hip) => hip,
        // A library that is named must be usable.
        Err(error) if variable(LIBRARY_VARIABLE).is_some() => return vec![wrong(what, error, without)],
        Err(HipError::NotFound { tried }) => {
            let names: Vec<&str> = tried.iter().map(|one| one.library.as_str()).collect();
            return vec![none(what, format!("none of {}", names.join(", ")), without)];
        }
        Err(error) => return vec![none(what, error, without)],
    };
    let version = hip.version().map_or_else(String::new, |version| {
        format!(", version {}.{}", version / 10_000_000, version / 100_000 % 100)
    });
    let count = match hip.device_count() {
        Ok(count) => count,
        Err(error) => return vec![none(what, format!("{error}{version}"), without)],
    };
    let runtime = ok(what, format!("{}{version}", hip.library()), "searches and tuning can measure");
    std::iter::once(runtime).chain((0..count).map(|index| device(hip, index))).collect()
}

fn device(hip: &Hip, index: u32) -> Finding {
    let what = format!("device {index}");
    let device = match hip.device(index) {
        Ok(device) => device,
        Err(error) => return wrong(&what, error, "cannot measure"),
    };
    let facts = device.facts();
    let target = facts.target.as_deref().unwrap_or("no architecture reported");
    let found = format!("{}, {target}", facts.name);
    let Some(arch) = facts.arch() else {
        return ok(&what, found, "the architecture has to be given by the options or by problems");
    };
    let Ok(profile) = estimate::Device::for_arch(arch) else {
        return ok(&what, found, format!("no profile of {arch}: no estimate without --arch FILE"));
    };
    let known = format!("the estimate and the universal model know {arch}");
    let profile = profile.hardware.num_cus;
    match facts.all_compute_units().filter(|&units| i64::from(units) != profile) {
        Some(units) => {
            let described = format!("{{\"based_on\": \"{arch}\", \"num_cus\": {units}}}");
            let instead = format!("{profile} compute units instead of {units}");
            ok(
                &what,
                found,
                format!("{known} with {instead}: --arch FILE with {described} describes this one"),
            )
        }
        None => ok(&what, found, known),
    }
}

/// AMD's driver: without its file there is no AMD GPU; without access to it, the runtime sees none.
fn driver() -> Vec<Finding> {
    let driver = Path::new("/dev/kfd");
    if !driver.exists() || access(driver, Access::READ_OK | Access::WRITE_OK).is_ok() {
        return Vec::new();
    }
    let effect = "the runtime sees no device; add the user to the groups render and video";
    vec![wrong("GPU driver", "/dev/kfd: no permission to read and write", effect)]
}

fn embedded_models() -> Vec<Finding> {
    if embedded::all().is_empty() {
        return vec![none("embedded models", "built without", "only loaded models choose")];
    }
    let finding = |embedded: &EmbeddedModel| {
        let what = format!("{}{}", EmbeddedModel::PREFIX, embedded.name());
        model(&what, embedded.spec(), "inside the library")
    };
    embedded::all().iter().map(finding).collect()
}

/// The models that were installed with this program.
fn installed_models() -> Vec<Finding> {
    let program = std::env::current_exe().and_then(std::fs::canonicalize).ok();
    let Some(prefix) = program.as_deref().and_then(|program| program.ancestors().nth(2)) else {
        return Vec::new();
    };
    let folder = prefix.join("share/ck-select/models");
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    if paths.is_empty() {
        let found = format!("no model in {}", folder.display());
        return vec![none("installed models", found, "models are given by their path")];
    }
    paths.sort();
    let finding = |path: &PathBuf| {
        model("installed model", Model::load(path).map(|model| model.spec().clone()), path.display())
    };
    paths.iter().map(finding).collect()
}

fn model(what: &str, spec: Result<FeatureSpec, impl Display>, found: impl Display) -> Finding {
    let spec = match spec {
        Ok(spec) => spec,
        Err(error) => return wrong(what, error, "cannot be loaded"),
    };
    let ops: Vec<String> = spec.extractor.ops().map(|op| op.to_string()).collect();
    let of = [
        Some(ops.join(" + ")),
        spec.direction.map(|word| word.to_string()),
        spec.dtype.map(|word| word.to_string()),
        spec.library.map(|word| word.to_string()),
        spec.arch.map(|word| word.to_string()),
    ];
    let of: Vec<String> = of.into_iter().flatten().collect();
    ok(what, found, format!("chooses for {}", of.join(", ")))
}

fn store() -> Vec<Finding> {
    vec![match Location::from_environment(None) {
        Ok(Location::Off) => none("store", "off", "measured winners are lost when a process ends"),
        Ok(Location::File(path)) => store_file(&path),
        Err(error) => wrong("store", error, "winners stay in memory"),
    }]
}

fn store_file(path: &Path) -> Finding {
    let (what, in_memory) = ("store", "winners stay in memory");
    let shown = path.display();
    if !path.exists() {
        return match creatable(path) {
            Ok(()) => none(what, format!("{shown}: no file yet"), "the first measured winner creates it"),
            Err(reason) => wrong(what, format!("{shown}: {reason}"), in_memory),
        };
    }
    let count = match Store::open(path, StoreMode::ReadOnly).and_then(|store| store.count()) {
        Ok(count) => count,
        Err(error) => return wrong(what, error, in_memory),
    };
    let found = format!("{shown}: {count} winners");
    match writable(path) {
        Ok(()) => ok(what, found, "answers what was measured, keeps new winners"),
        Err(reason) => {
            let effect = "answers what was measured; new winners stay in memory";
            wrong(what, format!("{found}; {reason}"), effect)
        }
    }
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The variables whose values are judged.
fn variables() -> Vec<Finding> {
    let finding = |(name, unset, judge): Variable| match variable(name).as_deref().map(judge) {
        None => none(name, "not set", unset),
        Some(Ok((found, effect))) => ok(name, found, effect),
        Some(Err((found, effect))) => wrong(name, found, effect),
    };
    JUDGED.map(finding).into()
}

/// A variable's value and its effect; or the fault in the value, and the effect of that.
type Judgement = Result<(String, String), (String, &'static str)>;

/// A variable, what holds where it is not set, and who judges its value.
type Variable = (&'static str, &'static str, fn(&OsStr) -> Judgement);

const JUDGED: [Variable; 5] = [
    ("CK_SELECT_MODE", "the program's options say how kernels are chosen", mode),
    ("CK_SELECT_OVERRIDE", "no rule goes before the other sources", overrides),
    ("CK_SELECT_HARDWARE", "GPUs are those of the architectures' profiles", described),
    ("CK_SELECT_CAPTURE", "problems are not recorded", capture),
    ("CK_SELECT_LOG", "only three warnings are printed, once per registry", log),
];

const REFUSED: &str = "creating a registry fails";

fn mode(value: &OsStr) -> Judgement {
    let only_mode = |asked: &str| (asked == "CK_SELECT_MODE").then(|| value.to_owned());
    let options = Options::default().with_environment(only_mode);
    let options = options.map_err(|error| (error.to_string(), REFUSED))?;
    let order = match options.mode {
        Mode::Model => "override, store, model, search if allowed",
        Mode::Search => "override, store, search, model",
        Mode::Refine(_) | Mode::RefineAuto => "override, store, search among the model's best, model",
        Mode::Priority => "override",
    };
    let estimate = if options.estimate && options.mode != Mode::Priority { ", estimate" } else { "" };
    Ok((value.to_string_lossy().into_owned(), format!("asks {order}{estimate}, priority")))
}

fn overrides(value: &OsStr) -> Judgement {
    let rules = Overrides::read(value.as_ref()).map_err(|error| (error.to_string(), REFUSED))?;
    let found = format!("{}: {} rules", value.display(), rules.count());
    Ok((found, "these problems get these kernels, whatever else is known".to_owned()))
}

fn described(value: &OsStr) -> Judgement {
    let refused = "creating a registry fails, at least where its options name no architecture";
    let GpuOverride { arch, device } =
        GpuOverride::read(value.as_ref(), None).map_err(|error| (error.to_string(), refused))?;
    let found = format!("{}: {} compute units", value.display(), device.hardware.num_cus);
    Ok((found, format!("the estimate and universal models take it for {arch}")))
}

fn capture(value: &OsStr) -> Judgement {
    let shown = value.display().to_string();
    may_write(value.as_ref()).map_err(|reason| (format!("{shown}: {reason}"), REFUSED))?;
    Ok((shown, "distinct problems are appended".to_owned()))
}

fn log(value: &OsStr) -> Judgement {
    let value = value.to_string_lossy().into_owned();
    let nothing = "nothing is logged";
    let (level, file) = level_and_file(&value).map_err(|error| (error.to_string(), nothing))?;
    if let Some(file) = file {
        may_write(file.as_ref()).map_err(|reason| (format!("{value}: {reason}"), nothing))?;
    }
    let effect = format!("{level} goes to {}", file.unwrap_or("standard error"));
    Ok((value, effect))
}

/// Variables with our prefix that nothing reads.
fn unknown_variables() -> Vec<Finding> {
    let known = || JUDGED.iter().map(|judged| judged.0).chain(UNJUDGED);
    let is_known = |name: &str| known().chain(BUILD_VARIABLES).any(|known| known == name);
    let mut names: Vec<String> = std::env::vars_os()
        .filter_map(|(name, _)| name.into_string().ok())
        .filter(|name| name.starts_with("CK_SELECT_") && !is_known(name))
        .collect();
    names.sort();
    let finding = |name: &String| {
        let found = format!("no variable of ck-select{}", Hint::new(name, known()));
        wrong(name, found, "is ignored")
    };
    names.iter().map(finding).collect()
}

/// Whether this user may write a file, or create it.
fn may_write(path: &Path) -> Result<(), String> {
    if path.exists() { writable(path) } else { creatable(path) }
}

/// Whether this user may write an existing file.
fn writable(path: &Path) -> Result<(), String> {
    if !path.is_file() {
        return Err("not a regular file".to_owned());
    }
    access(path, Access::WRITE_OK).map_err(|error| format!("cannot be written: {error}"))
}

/// Whether this user may create a file: in its folder, or in the nearest existing folder above.
fn creatable(path: &Path) -> Result<(), String> {
    let absolute = std::path::absolute(path).map_err(|error| error.to_string())?;
    let Some(folder) = absolute.ancestors().skip(1).find(|folder| folder.exists()) else { return Ok(()) };
    if !folder.is_dir() {
        return Err(format!("{} is not a folder", folder.display()));
    }
    access(folder, Access::WRITE_OK | Access::EXEC_OK)
        .map_err(|error| format!("{} cannot be written: {error}", folder.display()))
}
