//! One file per subcommand, and what they share.

#[cfg(feature = "offline")]
mod bench;
pub(crate) mod clash;
#[cfg(feature = "offline")]
mod convert;
#[cfg(feature = "offline")]
mod data;
#[cfg(feature = "offline")]
mod dev;
mod doctor;
#[cfg(feature = "offline")]
mod enumerate;
#[cfg(feature = "offline")]
mod evaluate;
mod explain;
mod gpu;
mod inspect;
mod pools;
mod rank;
mod reasons;
mod records;
#[cfg(feature = "offline")]
mod report;
#[cfg(feature = "offline")]
mod shapes;
mod store;
#[cfg(feature = "offline")]
mod train;
#[cfg(feature = "offline")]
mod tune;
#[cfg(feature = "offline")]
mod tuned_table;
#[cfg(feature = "offline")]
mod uhd;
#[cfg(feature = "offline")]
mod winners;

pub(crate) use records::{line, run};

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ck_select::directory::{EmbeddedModel, Model};
use ck_select::embedded;
use ck_select::features::{Rules, Uncoded};
use ck_select::nearest::{OneOf, nearest};
use ck_select::pool::Pool;
use ck_select::problem::{Problem, ProblemDefaults, Splits};
use ck_select::ranking::Ranker;
use ck_select::vocab::{Arch, GpuName, Op, UnknownWord};
use clap::ValueEnum;

pub(crate) use self::gpu::Gpu;
use self::reasons::Reasons;
use crate::error::CliError;

/// What a model does that it otherwise refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Allowance {
    /// Directions, types and architectures that the model was not trained for, where the quality of its
    /// predictions is unknown
    Untrained,
    /// Words without a code in the model's encoding (pipelines, dtypes, layouts), with upstream's silent
    /// defaults
    Words,
    /// Kernels of a list of names that cannot be built for the architecture, by the rules of enumerate
    /// --valid-only
    Unbuildable,
}

/// What a model is allowed.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct AllowOption {
    /// Let the model answer what it otherwise refuses, or keep kernels that are otherwise left out
    #[arg(long, value_name = "WHAT,…", value_enum, value_delimiter = ',')]
    allow: Vec<Allowance>,
}

impl AllowOption {
    fn has(&self, what: Allowance) -> bool {
        self.allow.contains(&what)
    }

    /// The model with what it is allowed.
    pub(crate) fn apply(&self, model: Model) -> Model {
        let rules = Rules { uncoded: Uncoded::Upstream, ..model.extractor().rules };
        let model = if self.has(Allowance::Words) { model.with_rules(rules) } else { model };
        if self.has(Allowance::Untrained) { model.forced() } else { model }
    }

    /// Whether the estimate chooses, for which `--allow` has only kernels that cannot be built.
    pub(crate) fn asks_estimate(&self, model: Option<&Path>) -> Result<bool, CliError> {
        let is_estimate = model == Some(Path::new(ESTIMATE));
        if is_estimate && self.allow.iter().any(|one| *one != Allowance::Unbuildable) {
            refuse!("--allow is for models, not for the estimate, except unbuildable");
        }
        Ok(is_estimate)
    }
}

/// The value of `--model` for the estimate, which is no model.
pub(crate) const ESTIMATE: &str = "estimate";

/// The model for any GPU, of the library.
pub(crate) const UNIVERSAL: &str = "embedded:universal";

/// Reads a word of a vocabulary; for use as a value parser.
pub(crate) fn word<T: std::str::FromStr<Err = UnknownWord>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: UnknownWord| error.to_string())
}

/// Reads the target of a GPU, which may be named by its product; for use as a value parser.
pub(crate) fn target(text: &str) -> Result<Arch, String> {
    word::<GpuName>(text).map(|gpu| gpu.arch)
}

/// A word `NAME=VALUE`.
fn pair(word: &str) -> Result<(&str, &str), String> {
    word.split_once('=').ok_or_else(|| format!("found '{word}', expected NAME=VALUE"))
}

/// Words `NAME=VALUE`, each name once.
fn pairs<'w>(words: impl Iterator<Item = &'w str>) -> Result<Vec<(&'w str, &'w str)>, String> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for word in words {
        let (name, value) = pair(word)?;
        if pairs.iter().any(|(known, _)| *known == name) {
            return Err(format!("found {name} twice, expected each name once"));
        }
        pairs.push((name, value));
    }
    Ok(pairs)
}

/// The pairs of `NAME=VALUE,…`, each name once.
pub(crate) fn list_of_pairs(text: &str) -> Result<Vec<(&str, &str)>, String> {
    pairs(text.split(',').filter(|word| !word.is_empty()))
}

/// The words of `--params`, a name and a value each.
pub(crate) struct Params<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Params<'a> {
    /// Reads them; each name is one of these, once.
    pub(crate) fn read(words: &'a [String], known: &[&str]) -> Result<Self, CliError> {
        let read = pairs(words.iter().map(String::as_str)).and_then(|read| {
            let unknown = read.iter().find(|(name, _)| !known.contains(name));
            unknown.map_or(Ok(()), |(name, _)| Err(unknown_name(name, known))).map(|()| Self(read))
        });
        read.map_err(|error| CliError::usage(format!("--params: {error}")))
    }

    /// The value of a name, if it has one.
    pub(crate) fn get<T>(
        &self,
        name: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, CliError> {
        let value = self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        let refused = |value, error| CliError::usage(format!("--params {name}: found '{value}': {error}"));
        value.map(|value| read(value).map_err(|error: String| refused(value, error))).transpose()
    }
}

/// Reads a whole number of this range.
pub(crate) fn whole<T>(
    range: std::ops::RangeInclusive<T>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: std::str::FromStr + PartialOrd + std::fmt::Display + Clone + Send + Sync + 'static,
{
    move |value: &str| {
        let number = value.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("expected a whole number from {} to {}", range.start(), range.end()))
    }
}

/// Reads `90s`, `30m`, `2h`, `500ms`, or seconds without a unit.
fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        "w" => 604_800.0,
        _ => f64::NAN,
    };
    let seconds = digits.parse::<f64>().ok().map(|count| count * unit).filter(|&seconds| seconds > 0.0);
    // Durations are added to clocks, so they are bounded: by a hundred years.
    let seconds = seconds.filter(|&seconds| seconds <= 100.0 * 366.0 * 86_400.0);
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or_else(|| "expected a time such as 500ms, 90s, 30m, 2h".to_owned())
}

/// The message for a name in a list of pairs that is none of the known ones.
pub(crate) fn unknown_name(name: &str, known: &[&str]) -> String {
    format!("found '{name}'{}", OneOf::new(name, known))
}

/// Reads `FIGURE=SHARE` with one of these figures.
#[cfg(feature = "offline")]
fn share_of(
    figures: &'static [&'static str],
) -> impl Fn(&str) -> Result<(&'static str, f64), String> + Clone + Send + Sync + 'static {
    move |text: &str| {
        let (name, value) = pair(text)?;
        let known = figures.iter().find(|figure| **figure == name);
        let name = known.ok_or_else(|| unknown_name(name, figures))?;
        let share = value.parse().ok().filter(|share| (0.0..=1.0).contains(share));
        let wrong = || format!("{name}: found '{value}', expected a share from 0 to 1");
        share.map(|share| (*name, share)).ok_or_else(wrong)
    }
}

/// A model and the pool that it ranks.
#[derive(Clone, clap::Args)]
pub(crate) struct ModelAndPool {
    /// Model directory: feature_spec.json and model_<target>.lgbm, .lgbm.gz or .lgbm.packed; or embedded:NAME, or
    /// `estimate`
    #[arg(long, value_name = "DIR", required = true)]
    model: Option<PathBuf>,
    /// Kernels to choose from: a text file of names, a CSV with a `kernel` column, the JSON of `enumerate` or
    /// of a CK registry, a folder of libraries with a kernels.json (docs/uhd.md), `moe` for what tuners of
    /// mixtures of experts try (docs/moe.md), or a family of AITER's kernels (an unknown one lists them)
    #[arg(long, value_name = "FILE|FAMILY")]
    pool: PathBuf,
    #[command(flatten)]
    allow: AllowOption,
    /// The GPU to rank for: an architecture, a product such as MI300X, or a file of constants
    /// (ARCH:FILE if it is based on another architecture). A universal model and the estimate need one unless
    /// the problem or all kernels name it; for another model, its constants replace those of the training
    #[arg(long, value_name = "ARCH|FILE", default_value = "", hide_default_value = true)]
    arch: Gpu,
}

impl ModelAndPool {
    /// Loads model and pool, and the defaults for what a problem leaves out.
    pub(crate) fn load(&self, problem: Option<&str>) -> Result<(Ranker, ProblemDefaults), CliError> {
        let path = self.model.as_ref().ok_or_else(|| CliError::usage("give --model"))?;
        let model = load_model(path)?;
        let pool = self.read_pool(Some(&model), problem)?;
        self.ranker(model, pool)
    }

    /// The pool, without kernels that cannot be built for the architecture of `--arch`, else the model's, else
    /// the problem's; of a family, the kernels for it.
    fn read_pool(&self, model: Option<&Model>, problem: Option<&str>) -> Result<Pool, CliError> {
        let pool = pools::read(&self.pool, || self.arch_of_pool(model))?;
        let of_problem = || {
            let defaults = ProblemDefaults::new(pool.op());
            Problem::parse(pool.op(), problem?, &defaults).ok()?.arch()
        };
        // An invalid architecture is reported where it is needed.
        let arch = self.arch_of_pool(model).ok().flatten().or_else(of_problem);
        pools::buildable(&self.pool, pool, arch, self.allow.has(Allowance::Unbuildable), |_| false)
    }

    fn arch_of_pool(&self, model: Option<&Model>) -> Result<Option<Arch>, CliError> {
        Ok(self.arch.named_arch()?.or(model.and_then(|model| model.spec().arch)))
    }

    /// A model with what it is allowed, on the GPU of the options, and the pool that it ranks.
    fn ranker(&self, model: Model, pool: Pool) -> Result<(Ranker, ProblemDefaults), CliError> {
        ranker(self.arch.model_on(self.allow.apply(model))?, pool)
    }
}

/// A model with the pool that it ranks, and the defaults for what a problem leaves out.
fn ranker(model: Model, pool: Pool) -> Result<(Ranker, ProblemDefaults), CliError> {
    let ranker = Ranker::new(Arc::new(model), Arc::new(pool))?;
    say_left_out(&ranker);
    let defaults = ranker.problem_defaults();
    Ok((ranker, defaults))
}

/// Prints which kernels of the pool cannot be ranked, and which are unlike those measured for the model.
pub(crate) fn say_left_out(ranker: &Ranker) {
    let kernels = ranker.pool().len();
    let left_out: Reasons = ranker.left_out().iter().map(|one| &one.reason).collect();
    left_out.say_left_out(kernels);
    let (mut count, mut words) = (0, BTreeSet::new());
    for unmeasured in (0..kernels).map(|index| ranker.unmeasured(index)).filter(|word| !word.is_empty()) {
        count += 1;
        words.extend(unmeasured.split(' '));
    }
    if count > 0 {
        let words = words.into_iter().collect::<Vec<_>>().join(", ");
        say!(
            "ckselect: {count} of {kernels} kernels are unlike those that were measured for the model: it \
             has no measurements of {words}"
        );
    }
}

/// Prints in which fields a problem is outside the model's training range.
pub(crate) fn say_out_of_range(ranker: &Ranker, problem: &Problem) -> Result<(), CliError> {
    let outside = ranker.out_of_range(problem, None)?;
    if !outside.is_empty() {
        let outside = outside.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        say!("ckselect: the problem is outside the model's training range: {outside}");
    }
    Ok(())
}

/// The numbers of parts to choose from.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct SplitsOption {
    /// The numbers of parts to choose from for problems with split_k=auto [default: 1,2,4,8,16; for AITER's
    /// kernels 1]
    #[arg(long, value_name = "LIST")]
    pub(crate) splits: Option<Splits>,
}

impl SplitsOption {
    /// The list.
    pub(crate) fn list(&self) -> &Splits {
        self.splits.as_ref().unwrap_or(&Splits::USUAL)
    }
}

/// How a page was made: from which model and measurements.
#[cfg(feature = "offline")]
fn provenance(
    model: Option<&Path>,
    measurements: &ck_select_measurements::Measurements,
) -> Result<ck_select_evaluate::page::Provenance, CliError> {
    use ck_select_evaluate::page::{ModelPlace, Provenance};

    let digest = model.map(|path| match embedded::named(path) {
        Some(model) => model.map(ModelPlace::Embedded),
        None => Ok(ModelPlace::Directory(path)),
    });
    Ok(Provenance::new(crate::timestamp::timestamp(), digest.transpose()?, measurements)?)
}

/// Prints which columns of a file are not known.
#[cfg(feature = "offline")]
fn say_ignored(file: impl std::fmt::Display, columns: &[String]) {
    if !columns.is_empty() {
        say!("ckselect: warning: {file}: ignored columns: {}", columns.join(", "));
    }
}

/// A model directory, for commands that read its files.
pub(crate) fn model_directory(text: &str) -> Result<PathBuf, String> {
    let embedded = "embedded models are inside the library; expected a directory with the model's files";
    if is_embedded(Path::new(text)) { Err(embedded.to_owned()) } else { Ok(text.into()) }
}

/// A model that a training continues.
#[cfg(feature = "train")]
pub(crate) fn warm_start_of(path: &Path) -> Result<ck_select_train::WarmStart, CliError> {
    use ck_select_train::WarmStart;
    match embedded::named(path) {
        None => Ok(WarmStart::load(path)?),
        Some(model) => Ok(WarmStart::embedded(model?)?),
    }
}

/// The universal model that `tune` continues, for its own operation or one that it serves, too.
#[cfg(feature = "train")]
pub(crate) fn start_of(path: &Path, op: Op) -> Result<ck_select_train::WarmStart, CliError> {
    Ok(warm_start_of(path)?.for_op(op)?.to_adapt()?)
}

/// Whether a path names a model that is built into the library.
pub(crate) fn is_embedded(model: &Path) -> bool {
    embedded::named(model).is_some()
}

/// Loads a model directory or an embedded model.
pub(crate) fn load_model(directory: &Path) -> Result<Model, CliError> {
    embedded::open(directory).map_err(|error| {
        // The name without its prefix, or misspelt.
        let name = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let names = || embedded::all().iter().map(EmbeddedModel::name);
        let meant = names().find(|known| *known == name).or_else(|| nearest(name, names()));
        match meant.filter(|_| !is_embedded(directory) && !directory.exists()) {
            Some(meant) => CliError::failed(format!("{error}; did you mean 'embedded:{meant}'?")),
            None => error.into(),
        }
    })
}

/// Reads the value of `--problem`; a mistake in it is a usage error.
pub(crate) fn parse_problem(op: Op, text: &str, defaults: &ProblemDefaults) -> Result<Problem, CliError> {
    Problem::parse(op, text, defaults).map_err(|error| CliError::usage(format!("--problem: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, seconds) in
            [("90", 90.0), ("1.5m", 90.0), ("2h", 7_200.0), ("250ms", 0.25), ("2w", 1_209_600.0)]
        {
            assert_eq!(duration(text), Ok(Duration::from_secs_f64(seconds)));
        }
        for text in ["", "m", "-1s", "0", "5 minutes", "nan", "1e300h", "inf", "9y", "1ü"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
