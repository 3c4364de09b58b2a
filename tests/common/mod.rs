//! Kernels, models, registries, winners and child processes of tests.

#![allow(dead_code, reason = "of several programs")]

use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, Once, PoisonError};

use ck_select::directory::Model;
use ck_select::kernel::Kernel;
use ck_select::log::{self, Level};
use ck_select::pool::Pool;
use ck_select::problem::{ConvProblem, GemmProblem, Problem};
use ck_select::registry::{Hooks, NewKernel, Options, Priority, Registry, UserData};
use ck_select::tuning::device::{Device, Stream};
use ck_select::tuning::mock::MockDevice;
use ck_select::tuning::search::RunOutcome;
use ck_select::tuning::store::{PoolHash, Scope, Winner, WinnerSource};

/// A path of the repository.
pub(crate) fn root(path: &str) -> String {
    format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))
}

/// Thirty kernels of convolutions.
pub(crate) fn pool() -> Pool {
    Pool::read(root("configs/forward_bf16.txt")).unwrap()
}

pub(crate) fn kernels() -> Vec<Kernel> {
    pool().iter().cloned().collect()
}

/// A model of `tests/golden`.
pub(crate) fn model(name: &str) -> Arc<Model> {
    Arc::new(Model::load(root(&format!("tests/golden/models/{name}"))).unwrap())
}

/// A convolution that the thirty kernels compute.
pub(crate) fn conv(n: i64) -> ConvProblem {
    ConvProblem { n, c: 256, k: 128, ..ConvProblem::new_2d([28, 28], [3, 3]) }.padded([1, 1])
}

/// A smaller one, for what is measured.
pub(crate) fn small_conv(n: i64) -> Problem {
    ConvProblem { n, c: 64, k: 64, ..ConvProblem::new_2d([28, 28], [3, 3]) }.padded([1, 1]).into()
}

/// Options without a store.
pub(crate) fn on(arch: &str) -> Options {
    Options { store: Some("off".into()), arch: arch.parse().ok(), ..Options::default() }
}

pub(crate) fn new(kernel: Kernel, hooks: Option<Box<dyn Hooks>>) -> NewKernel {
    NewKernel { hooks, ..kernel.into() }
}

/// What a kernel supports.
pub(crate) struct Supports<S>(pub(crate) S);

impl<S: Fn(&Problem) -> bool + Send + Sync> Hooks for Supports<S> {
    fn supports(&self, problem: &Problem) -> bool {
        (self.0)(problem)
    }
}

/// What a kernel supports, and what its runs do.
pub(crate) struct Scripted<S, R> {
    pub(crate) supports: S,
    pub(crate) run: R,
}

impl<S, R> Hooks for Scripted<S, R>
where
    S: Fn(&Problem) -> bool + Send + Sync,
    R: Fn(&Problem) -> RunOutcome + Send + Sync,
{
    fn supports(&self, problem: &Problem) -> bool {
        (self.supports)(problem)
    }

    fn can_run(&self) -> bool {
        true
    }

    fn run(&self, problem: &Problem, _: Stream) -> RunOutcome {
        (self.run)(problem)
    }
}

pub(crate) fn plain(kernels: impl IntoIterator<Item = Kernel>) -> Vec<NewKernel> {
    kernels.into_iter().map(NewKernel::from).collect()
}

pub(crate) fn add(registry: &Registry, kernel: Kernel, priority: Priority) {
    registry.add(kernel, priority, UserData::default(), None).unwrap();
}

/// A registry of some kernels.
pub(crate) fn of_kernels(options: Options, kernels: impl IntoIterator<Item = Kernel>) -> Registry {
    let registry = Registry::new(options).unwrap();
    registry.add_all(plain(kernels)).unwrap();
    registry
}

/// A registry of the thirty kernels.
pub(crate) fn filled(options: Options) -> Registry {
    of_kernels(options, kernels())
}

/// A registry on a mock device, with what each kernel's run does.
pub(crate) fn running<H: Hooks + 'static>(
    options: Options,
    kernels: impl IntoIterator<Item = Kernel>,
    hooks_of: impl Fn(usize, &Kernel) -> H,
) -> Registry {
    running_on(MockDevice::new(), options, kernels, hooks_of)
}

/// The same on another device.
pub(crate) fn running_on<H: Hooks + 'static>(
    device: impl Device + Send + 'static,
    options: Options,
    kernels: impl IntoIterator<Item = Kernel>,
    hooks_of: impl Fn(usize, &Kernel) -> H,
) -> Registry {
    let registry = Registry::with_device(options, Box::new(device)).unwrap();
    let kernels = kernels.into_iter().enumerate().map(|(number, kernel)| {
        let hooks = Box::new(hooks_of(number, &kernel));
        new(kernel, Some(hooks))
    });
    registry.add_all(kernels.collect()).unwrap();
    registry
}

pub(crate) fn scope() -> Scope {
    let pool = PoolHash::from_names(["kernel_a", "kernel_b"]);
    Scope::new("gfx950".parse().unwrap(), "AMD Instinct MI355X", pool, "hip 70051831")
}

/// A problem to have a winner.
pub(crate) fn gemm(m: i64) -> Problem {
    GemmProblem::new(m, 64, 64).into()
}

pub(crate) fn winner(kernel: &str) -> Winner {
    Winner {
        kernel: kernel.into(),
        split_k: 1,
        median_ms: 0.5,
        cv: 0.01,
        repeats: 10,
        candidates: 30,
        measured_at: 1_800_000_000,
        source: WinnerSource::Search,
    }
}

/// This test program again, with this one for its only test.
pub(crate) fn child(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    command
}

/// What the library has warned of about a file so far; call it before what is to be logged, too.
pub(crate) fn logged(about: &Path) -> Vec<String> {
    static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());
    static ONCE: Once = Once::new();
    let lines = || LINES.lock().unwrap_or_else(PoisonError::into_inner);
    ONCE.call_once(|| {
        let sink = move |_: Level, _: &str, text: &str| lines().push(text.to_owned());
        log::set_sink(Level::Warn, Some(Box::new(sink)));
    });
    let about = about.display().to_string();
    lines().iter().filter(|line| line.contains(&about)).cloned().collect()
}
