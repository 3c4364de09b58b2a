//! `ckselect doctor`: what this machine has, and its effect on the library.

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::path::{Path, PathBuf};

use ck_select::embedded;
use ck_select::estimate::{self, GpuOverride};
use ck_select::log::Level;
use ck_select::model::{EmbeddedModel, FeatureSpec, Model};
use ck_select::nearest::Hint;
use ck_select::registry::{Mode, Options, Overrides};
use ck_select::tuning::hip::{Hip, HipError, LIBRARY_VARIABLE};
use ck_select::tuning::store::{Location, Mode as StoreMode, Store};
use ck_select::vocab::UnknownWord;
use rustix::fs::{Access, access};

use crate::error::CliError;
use crate::table::{Format, Table};

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

/// One line of the report: what, its state, what was found, and the effect of it.
type Finding = [String; 4];

fn finding(what: &str, state: &str, found: &dyn Display, effect: &dyn Display) -> Finding {
    [what.to_owned(), state.to_owned(), found.to_string(), effect.to_string()]
}

fn ok(what: &str, found: impl Display, effect: impl Display) -> Finding {
    finding(what, "ok", &found, &effect)
}

/// Nothing was found, and nothing was requested.
fn none(what: &str, found: impl Display, effect: impl Display) -> Finding {
    finding(what, "none", &found, &effect)
}

fn wrong(what: &str, found: impl Display, effect: impl Display) -> Finding {
    finding(what, "wrong", &found, &effect)
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let mut findings = vec![library()];
    findings.extend(gpus(&variable));
    findings.extend(models());
    findings.push(store());
    findings.extend(JUDGED.map(|(name, unset, judge)| match variable(name).as_deref().map(judge) {
        None => none(name, "not set", unset),
        Some(Ok((found, effect))) => ok(name, found, effect),
        Some(Err((found, effect))) => wrong(name, found, effect),
    }));
    findings.extend(unknown_variables(std::env::vars_os().map(|(name, _)| name)));
    let mut table = Table::new(["what", "state", "found", "effect"]);
    for finding in &findings {
        table.push(finding.iter().map(|cell| cell.as_str().into()).collect());
    }
    table.print(args.format)?;
    let wrong: Vec<&str> =
        findings.iter().filter(|one| one[1] == "wrong").map(|one| one[0].as_str()).collect();
    if wrong.is_empty() { Ok(()) } else { Err(CliError::Judged(format!("wrong: {}", wrong.join(", ")))) }
}

fn library() -> Finding {
    let trains = if cfg!(feature = "train") { "can train" } else { "without LightGBM: cannot train" };
    ok("library", env!("CARGO_PKG_VERSION"), trains)
}

/// The HIP runtime, its devices, and whether this user has access to them.
fn gpus(variable: &impl Fn(&str) -> Option<OsString>) -> Vec<Finding> {
    let without = "nothing is measured; models, the store and the estimate still choose";
    let mut findings = Vec::new();
    match Hip::get() {
        Err(error) => {
            // If a library is named, it must be usable.
            let is_named = variable(LIBRARY_VARIABLE).is_some();
            findings.push(match &error {
                _ if is_named => wrong("HIP runtime", error, without),
                HipError::NotFound { tried } => {
                    let names: Vec<&str> = tried.iter().map(|one| one.library.as_str()).collect();
                    none("HIP runtime", format!("none of {}", names.join(", ")), without)
                }
                error => none("HIP runtime", error, without),
            });
        }
        Ok(hip) => {
            let version = hip.version().map_or_else(String::new, |version| {
                format!(", version {}.{}", version / 10_000_000, version / 100_000 % 100)
            });
            let found = format!("{}{version}", hip.library());
            match hip.device_count() {
                Ok(count) => {
                    findings.push(ok("HIP runtime", found, "searches and tuning can measure"));
                    findings.extend((0..count).map(|index| device(hip, index)));
                }
                Err(error) => {
                    let found = format!("{error}{version}");
                    findings.push(none("HIP runtime", found, without));
                }
            }
        }
    }
    // AMD's driver: without this file there is no AMD GPU; without access to it, the runtime sees none.
    let driver = Path::new("/dev/kfd");
    if driver.exists() && access(driver, Access::READ_OK | Access::WRITE_OK).is_err() {
        let effect = "the runtime sees no device; add the user to the groups render and video";
        findings.push(wrong("GPU driver", "/dev/kfd: no permission to read and write", effect));
    }
    findings
}

fn device(hip: &Hip, index: u32) -> Finding {
    let what = format!("device {index}");
    match hip.device(index) {
        Err(error) => wrong(&what, error, "cannot measure"),
        Ok(device) => {
            use ck_select::tuning::device::Device as _;
            let facts = device.facts();
            let arch = facts.arch();
            let target = facts.target.as_deref().unwrap_or("no architecture reported");
            let effect = match arch.map(|arch| (arch, estimate::Device::for_arch(arch))) {
                None => "the architecture has to be given by the options or by problems".to_owned(),
                Some((arch, Err(_))) => format!("no profile of {arch}: no estimate without --arch FILE"),
                Some((arch, Ok(profile))) => {
                    let known = format!("the estimate and the universal model know {arch}");
                    let profile = profile.hardware.num_cus;
                    match facts.all_compute_units() {
                        Some(units) if i64::from(units) != profile => format!(
                            "{known} with {profile} compute units instead of {units}: --arch FILE with \
                             {{\"based_on\": \"{arch}\", \"num_cus\": {units}}} describes this one"
                        ),
                        _ => known,
                    }
                }
            };
            ok(&what, format!("{}, {target}", facts.name), effect)
        }
    }
}

/// The models in the library, and those installed beside this program.
fn models() -> Vec<Finding> {
    let mut findings: Vec<Finding> = embedded::all()
        .iter()
        .map(|embedded| {
            let what = format!("{}{}", EmbeddedModel::PREFIX, embedded.name());
            model(&what, embedded.spec().map_err(|error| error.to_string()), "inside the library".to_owned())
        })
        .collect();
    if findings.is_empty() {
        findings.push(none("embedded models", "built without", "only loaded models choose"));
    }
    let program = std::env::current_exe().and_then(std::fs::canonicalize).ok();
    let folder = program.as_deref().and_then(Path::parent).and_then(Path::parent);
    let Some(folder) = folder.map(|prefix| prefix.join("share/ck-select/models")) else { return findings };
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
        .map(|entries| entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect())
        .unwrap_or_default();
    paths.sort();
    if paths.is_empty() {
        let found = format!("no model in {}", folder.display());
        findings.push(none("installed models", found, "models are given by their path"));
    }
    findings.extend(paths.iter().map(|path| {
        let loaded = Model::load(path).map(|model| model.spec().clone()).map_err(|error| error.to_string());
        model("installed model", loaded, path.display().to_string())
    }));
    findings
}

fn model(what: &str, spec: Result<FeatureSpec, String>, found: String) -> Finding {
    match spec {
        Err(error) => wrong(what, error, "cannot be loaded"),
        Ok(spec) => {
            let direction = spec.direction.map(|word| word.to_string());
            let dtype = spec.dtype.map(|word| word.to_string());
            let arch = spec.arch.map(|word| word.to_string());
            let library = spec.library.map(|word| word.to_string());
            let of = [Some(spec.op().to_string()), direction, dtype, library, arch];
            let of: Vec<String> = of.into_iter().flatten().collect();
            ok(what, found, format!("chooses for {}", of.join(", ")))
        }
    }
}

fn store() -> Finding {
    let what = "store";
    let path = match Location::from_environment(None) {
        Ok(Location::Off) => {
            return none(what, "off", "measured winners are lost when a process ends");
        }
        Ok(Location::File(path)) => path,
        Err(error) => return wrong(what, error, "winners stay in memory"),
    };
    let shown = path.display().to_string();
    if !path.exists() {
        return match creatable(&path) {
            Ok(()) => none(what, format!("{shown}: no file yet"), "the first measured winner creates it"),
            Err(reason) => wrong(what, format!("{shown}: {reason}"), "winners stay in memory"),
        };
    }
    let opened = Store::open(&path, StoreMode::ReadOnly).and_then(|store| store.count());
    match opened {
        Err(error) => wrong(what, error, "winners stay in memory"),
        Ok(count) => {
            let found = format!("{shown}: {count} winners");
            match writable(&path) {
                Ok(()) => ok(what, found, "answers what was measured, keeps new winners"),
                Err(reason) => wrong(
                    what,
                    format!("{found}; {reason}"),
                    "answers what was measured; new winners stay in memory",
                ),
            }
        }
    }
}

/// What a variable's value is, and its effect; or what is wrong with it, and the effect of that.
type Judgement = Result<(String, String), (String, &'static str)>;

/// A variable, what holds where it is not set, and who judges its value.
type Variable = (&'static str, &'static str, fn(&OsStr) -> Judgement);

const JUDGED: [Variable; 5] = [
    ("CK_SELECT_MODE", "the program's options say how kernels are chosen", mode),
    ("CK_SELECT_OVERRIDE", "no rule goes before the other sources", overrides),
    ("CK_SELECT_HARDWARE", "GPUs are those of the architectures' profiles", described),
    ("CK_SELECT_CAPTURE", "problems are not recorded", capture),
    ("CK_SELECT_LOG", "only two warnings are printed, once per registry", log),
];

const REFUSED: &str = "creating a registry fails";

fn mode(value: &OsStr) -> Judgement {
    let only_mode = |asked: &str| (asked == "CK_SELECT_MODE").then(|| value.to_owned());
    let options = Options::default().with_environment(only_mode);
    let options = options.map_err(|error| (error.to_string(), REFUSED))?;
    let order = match options.mode {
        Mode::Model => "override, store, model, search if allowed",
        Mode::Search => "override, store, search, model",
        Mode::Refine(_) => "override, store, search among the model's best, model",
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
    let (level, file) =
        value.split_once(':').map_or((value.as_str(), None), |(level, file)| (level, Some(file)));
    let nothing = "nothing is logged";
    let level: Level = level.parse().map_err(|error: UnknownWord| (error.to_string(), nothing))?;
    let to = file.unwrap_or("standard error");
    if let Some(file) = file {
        may_write(file.as_ref()).map_err(|reason| (format!("{value}: {reason}"), nothing))?;
    }
    let effect = format!("{level} goes to {to}");
    Ok((value, effect))
}

/// Variables with our prefix that nothing reads.
fn unknown_variables(names: impl Iterator<Item = OsString>) -> Vec<Finding> {
    let known = || JUDGED.iter().map(|judged| judged.0).chain(UNJUDGED);
    let ours = |name: &String| known().chain(BUILD_VARIABLES).any(|known| known == name);
    let mut unknown_variables: Vec<String> = names
        .filter_map(|name| name.into_string().ok())
        .filter(|name| name.starts_with("CK_SELECT_") && !ours(name))
        .collect();
    unknown_variables.sort();
    let finding = |name: &String| {
        let found = format!("no variable of ck-select{}", Hint::new(name, known()));
        wrong(name, found, "is ignored")
    };
    unknown_variables.iter().map(finding).collect()
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
