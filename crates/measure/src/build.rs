//! Kernel libraries built just in time, and the cache that keeps them.
//!
//! A library's name in the cache is a hash of everything it is built from: source, other inputs, command and
//! compiler version. The cache is therefore never stale and can be shared. The compiler's output from a
//! failed build is kept beside it as `<hash>.error.txt`; the next sweep retries failed builds.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ck_select::files;
use ck_select::kernel::Kernel;
use sha2::{Digest, Sha256};

use crate::config::BuildConfig;
use crate::error::{MeasureError, at};
use crate::outcome::{Failure, FailureClass};
use crate::plan::hex;
use crate::process::{self, Ended, signal_name};
use crate::runner::{Context, Progress};
use crate::template::Template;

/// A compiler that prints more than this is killed.
const FLOOD: u64 = 256 << 20;

/// A kernel's library, or why there is none.
pub type Built = Result<PathBuf, Failure>;

/// Builds the kernels' libraries, several at a time; the result is keyed by kernel name.
pub fn build_all(
    config: &BuildConfig,
    kernels: &[&Kernel],
    context: Context<'_>,
    progress: Progress<'_>,
) -> Result<HashMap<String, Built>, MeasureError> {
    let builder = Builder::new(config, context)?;
    let jobs = config.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let (next, done, failed) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let built = Mutex::new(HashMap::new());
    let work = || {
        while let Some(kernel) = kernels.get(next.fetch_add(1, Ordering::Relaxed)) {
            if context.stop.reason().is_some() {
                return;
            }
            let result = builder.build(kernel);
            if result.is_err() {
                failed.fetch_add(1, Ordering::Relaxed);
            }
            built.lock().unwrap_or_else(PoisonError::into_inner).insert(kernel.name.clone(), result);
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            progress(done, kernels.len(), failed.load(Ordering::Relaxed));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, kernels.len().max(1)) {
            scope.spawn(work);
        }
    });
    Ok(built.into_inner().unwrap_or_else(PoisonError::into_inner))
}

struct Builder<'a> {
    config: &'a BuildConfig,
    cache: PathBuf,
    /// The hash of what all keys have in common: version and other inputs.
    common: Sha256,
    context: Context<'a>,
}

impl<'a> Builder<'a> {
    fn new(config: &'a BuildConfig, context: Context<'a>) -> Result<Self, MeasureError> {
        let cache = match &config.cache {
            Some(cache) => cache.clone(),
            None => user_cache()?,
        };
        std::fs::create_dir_all(&cache).map_err(at(&cache))?;
        let mut common = Sha256::new();
        add(&mut common, &version(config, context)?);
        for input in &config.inputs {
            add(&mut common, &files::read(input).map_err(at(input))?);
        }
        Ok(Self { config, cache, common, context })
    }

    fn build(&self, kernel: &Kernel) -> Built {
        let failed = |class, message: String| Err(Failure::new(class, message));
        let fill = |name: &str| match name {
            "kernel" => Some(kernel.name.clone()),
            "arch" => self.config.arch.clone(),
            _ => None,
        };
        let unfilled = || Failure::new(FailureClass::Build, "a template has a place that nothing fills");
        let source = PathBuf::from(self.config.source.fill(fill).ok_or_else(unfilled)?);
        let bytes = match files::read(&source) {
            Ok(bytes) => bytes,
            Err(error) => return failed(FailureClass::Missing, format!("{}: {error}", source.display())),
        };
        let mut key = self.common.clone();
        add(&mut key, &bytes);
        for word in &self.config.command {
            // The location of the files does not change what is built.
            let word = word.fill(|name| fill(name).or_else(|| Some(format!("{{{name}}}"))));
            add(&mut key, word.ok_or_else(unfilled)?.as_bytes());
        }
        let key = hex(&key.finalize());
        let library = self.cache.join(format!("{key}.so"));
        if library.is_file() {
            return Ok(library);
        }
        let scratch = tempfile::Builder::new().prefix(".building-").tempdir_in(&self.cache);
        let scratch = scratch.map_err(|error| self.trouble(&error))?;
        let output = scratch.path().join("kernel.so");
        let place = |name: &str| match name {
            "source" => Some(source.display().to_string()),
            "output" => Some(output.display().to_string()),
            other => fill(other),
        };
        let words: Vec<String> = self
            .config
            .command
            .iter()
            .map(|word| word.fill(place))
            .collect::<Option<_>>()
            .ok_or_else(unfilled)?;
        let error = match self.compile(&words) {
            Ok(()) if output.is_file() => {
                let kept = files::open(&output)
                    .and_then(|file| file.sync_all())
                    .and_then(|()| std::fs::rename(&output, &library));
                return kept.map(|()| library).map_err(|error| self.trouble(&error));
            }
            Ok(()) => format!("the command made no file {}\n", output.display()),
            Err(error) => error,
        };
        let report = self.cache.join(format!("{key}.error.txt"));
        let text = format!("{}\n{}\n\n{error}", kernel.name, words.join(" "));
        files::write(&report, text.as_bytes()).map_err(|error| self.trouble(&error))?;
        let first = error.lines().find(|line| line.contains("error")).or(error.lines().next());
        failed(
            FailureClass::Build,
            format!("{} (all of it: {})", first.unwrap_or_default(), report.display()),
        )
    }

    fn trouble(&self, error: &std::io::Error) -> Failure {
        Failure::new(FailureClass::Build, format!("{}: {error}", self.cache.display()))
    }

    /// Runs the compiler; the error is its output.
    fn compile(&self, words: &[String]) -> Result<(), String> {
        let Some((program, arguments)) = words.split_first() else { return Err("no command".to_owned()) };
        let mut command = Command::new(program);
        command.args(arguments);
        let timeout = Duration::from_secs_f64(self.config.timeout_s);
        let finished = process::run(command, timeout, FLOOD, self.context.guard, self.context.stop)
            .map_err(|error| format!("{program}: {error}"))?;
        let said = [finished.stderr, finished.stdout].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        match finished.ended {
            Ended::Exited(status) if status.success() => Ok(()),
            Ended::Exited(status) => {
                let how = match std::os::unix::process::ExitStatusExt::signal(&status) {
                    Some(signal) => format!("ended by {}", signal_name(signal)),
                    None => format!("exit code {}", status.code().unwrap_or_default()),
                };
                Err(format!("{said}\n{program}: {how}\n"))
            }
            Ended::TimedOut => {
                Err(format!("{said}\n{program}: error: not done after {} s\n", self.config.timeout_s))
            }
            Ended::Flooded => Err(format!("{program}: error: it printed more than {FLOOD} bytes\n")),
            Ended::Stopped(_) => Err(format!("{program}: error: stopped\n")),
            Ended::Stuck(process) => Err(format!("{program}: error: process {process} cannot be killed\n")),
        }
    }
}

/// What the compiler prints as its version.
fn version(config: &BuildConfig, context: Context<'_>) -> Result<Vec<u8>, MeasureError> {
    let usual = || {
        let program = config.command.first().map_or("", Template::as_str);
        vec![program.to_owned(), "--version".to_owned()]
    };
    let words = config.version_command.clone().unwrap_or_else(usual);
    let Some((program, arguments)) = words.split_first() else { return Ok(Vec::new()) };
    let mut command = Command::new(program);
    command.args(arguments);
    let finished = process::run(command, Duration::from_secs(60), FLOOD, context.guard, context.stop)
        .map_err(|error| MeasureError::io(program, error))?;
    match finished.ended {
        Ended::Exited(status) if status.success() => Ok(finished.stdout),
        ended => Err(MeasureError::Machine(format!("{}: {ended:?}, expected a version", words.join(" ")))),
    }
}

fn add(hash: &mut Sha256, bytes: &[u8]) {
    hash.update((bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}

fn user_cache() -> Result<PathBuf, MeasureError> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    folder.map(|folder| folder.join(Path::new("ck-select/kernels"))).ok_or_else(|| {
        MeasureError::Settings(
            "build.cache: found nothing, and neither XDG_CACHE_HOME nor HOME is set".to_owned(),
        )
    })
}
