//! The process that loads and runs kernels. It may crash or hang; the sweep continues without it.

mod gemm;
mod library;

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use ck_select::ffi::Callbacks;
use ck_select::pool::{Folder, FolderKernel};
use ck_select::problem::{Problem, ProblemDefaults};
use ck_select::registry::Hooks;
use ck_select::tuning::clock::SystemClock;
use ck_select::tuning::device::{Device, DeviceFacts, Stream};
use ck_select::tuning::hip::Hip;
use ck_select::tuning::host::HostDevice;
use ck_select::tuning::search::{Candidate, End, RunOutcome, SearchOptions, SearchReport, Verdict, search};
use ck_select::vocab::{Op, UnknownWord};
use ck_select_measurements::outcome::{FailureClass, Measurement, Outcome};
use serde_json::{Value, json};

use crate::config::DeviceKind;
use crate::protocol::{Answer, Item, Request, VERSION};
use crate::runner::{BestTime, Settings, steadiest};
use library::KernelLibrary;

/// Reads a request, measures, and answers. Nothing else may write to `output`: kernels may print.
pub fn serve(mut input: impl Read, mut output: impl Write) -> io::Result<()> {
    let mut text = String::new();
    input.read_to_string(&mut text)?;
    let mut say = |answer: &Answer| -> io::Result<()> {
        let mut line = serde_json::to_vec(answer)?;
        line.push(b'\n');
        output.write_all(&line)?;
        output.flush()
    };
    let request: Request = match serde_json::from_str(&text) {
        Ok(request) => request,
        Err(error) => return say(&Answer::Refused(format!("invalid request: {error}"))),
    };
    if request.version != VERSION {
        let (found, expected) = (request.version, VERSION);
        return say(&Answer::Refused(format!("protocol version: found {found}, expected {expected}")));
    }
    let device = match open(request.device) {
        Ok(device) => device,
        Err(message) => return say(&Answer::Refused(message)),
    };
    say(&Answer::Ready(facts(device.facts())))?;
    let mut worker = Worker {
        request: &request,
        device: &*device,
        libraries: HashMap::new(),
        folders: HashMap::new(),
        best: BestTime::default(),
    };
    for item in &request.items {
        say(&Answer::Begin(item.item))?;
        let (outcome, usable) = worker.measure(item);
        say(&Answer::End { item: item.item, outcome })?;
        if !usable {
            break;
        }
    }
    Ok(())
}

fn open(kind: DeviceKind) -> Result<Box<dyn Device>, String> {
    match kind {
        DeviceKind::Host => Ok(Box::new(HostDevice::new())),
        DeviceKind::Hip => match Hip::get().and_then(Hip::current_device) {
            Ok(device) => Ok(Box::new(device)),
            Err(error) => Err(error.to_string()),
        },
    }
}

fn facts(facts: &DeviceFacts) -> Value {
    json!({
        "name": facts.name,
        "target": facts.target,
        "runtime_version": facts.runtime_version,
        "driver_version": facts.driver_version,
        "compute_units": facts.compute_units,
        "wavefront_size": facts.wavefront_size,
        "clock_khz": facts.clock_khz,
        "lds_bytes": facts.lds_bytes,
        "l2_bytes": facts.l2_bytes,
        "memory_clock_khz": facts.memory_clock_khz,
        "memory_bus_bits": facts.memory_bus_bits,
        "pci_bus_id": facts.pci_bus_id,
    })
}

struct Worker<'a> {
    request: &'a Request,
    device: &'a dyn Device,
    libraries: HashMap<&'a str, Result<KernelLibrary, String>>,
    /// The kernels that the manifests of the libraries' folders list.
    folders: HashMap<&'a Path, Vec<FolderKernel>>,
    best: BestTime,
}

impl<'a> Worker<'a> {
    /// The outcome of an item, and whether the device is usable afterwards.
    fn measure(&mut self, item: &'a Item) -> (Outcome, bool) {
        let failed = |class, message: String| (Outcome::failed(class, message), true);
        let op: Op = match item.op.parse() {
            Ok(op) => op,
            Err(error) => return failed(FailureClass::Load, UnknownWord::to_string(&error)),
        };
        let problem = match Problem::parse(op, &item.problem, &ProblemDefaults::new(op)) {
            Ok(problem) => problem,
            Err(error) => return failed(FailureClass::Load, format!("problem: {error}")),
        };
        let path = item.library.as_str();
        let library = self.libraries.entry(path).or_insert_with(|| {
            let file = Path::new(path);
            let folder = file.parent().unwrap_or(file);
            let read = || Folder::read(folder).map(|folder| folder.kernels).unwrap_or_default();
            let listed = self.folders.entry(folder).or_insert_with(read);
            KernelLibrary::open(path, listed.iter().find(|kernel| kernel.file == file))
        });
        let library = match library {
            Ok(library) => library,
            Err(message) => return failed(FailureClass::Load, message.clone()),
        };
        let Some(callbacks) = library.kernel(&item.kernel, op) else {
            return failed(FailureClass::Load, format!("{path} has no kernel of this name"));
        };
        if !callbacks.can_run() {
            return failed(FailureClass::Load, format!("{path} has no way to run it"));
        }
        if !callbacks.supports(&problem) {
            return failed(FailureClass::Unsupported, "its callback says so".to_owned());
        }
        if let Err(code) = library.prepare(&problem) {
            return failed(
                FailureClass::Launch,
                format!("the library cannot prepare the problem: code {code}"),
            );
        }
        let settings = &self.request.settings;
        let best_ms = self.best.of_problem(item.place, item.best_ms);
        let mut usable = true;
        let Ok(outcome) = steadiest::<Infallible>(settings, || {
            let report = time(self.device, callbacks, &problem, settings, best_ms);
            let (mut outcome, is_usable) = outcome(&report, &problem);
            if let Outcome::Measured(measurement) = &mut outcome {
                measurement.non_zero = library.count_non_zero();
            }
            usable = is_usable;
            Ok((outcome, usable))
        });
        self.best.lower(&outcome);
        (outcome, usable)
    }
}

fn time(
    device: &dyn Device,
    callbacks: &Callbacks,
    problem: &Problem,
    settings: &Settings,
    best_ms: Option<f64>,
) -> SearchReport {
    let timeout = Duration::from_secs_f64(settings.timeout_s);
    let options = SearchOptions {
        budget: timeout,
        warmup: settings.warmup,
        repeats: settings.repeat,
        cutoff: settings.cutoff,
        best_ms,
        run_timeout: timeout,
        max_cv: settings.max_cv,
    };
    let run = |stream| -> RunOutcome { callbacks.run(problem, stream) };
    search(&SystemClock::new(), device, Stream::DEFAULT, &mut [Candidate::new(0, run)], &options)
}

/// The outcome of a search with one candidate, and whether the device is usable afterwards.
fn outcome(report: &SearchReport, problem: &Problem) -> (Outcome, bool) {
    let failed = |class, message: String| Outcome::failed(class, message);
    let usable = !matches!(report.end, End::Hung | End::DeviceLost(_) | End::Refused(_) | End::StreamBusy);
    let Some(entry) = report.entries.first() else {
        return (failed(FailureClass::NotATime, report.end.to_string()), usable);
    };
    let outcome = match &entry.verdict {
        Verdict::Measured { median_ms, cv, repeats, .. } => Outcome::Measured(Measurement {
            cv: *cv,
            samples: *repeats,
            ..Measurement::new(*median_ms, problem.flops())
        }),
        Verdict::CutOff { fastest_ms } => Outcome::CutOff { fastest_ms: *fastest_ms },
        Verdict::TimedOut { .. } | Verdict::OverBudget => {
            failed(FailureClass::Timeout, entry.verdict.to_string())
        }
        Verdict::DeviceLost(_) => failed(FailureClass::Device, entry.verdict.to_string()),
        Verdict::Failed(ck_select::tuning::search::Failure::NotATime(ms)) => {
            failed(FailureClass::NotATime, format!("{ms} ms"))
        }
        Verdict::Failed(failure @ ck_select::tuning::search::Failure::TooLong(_)) => {
            failed(FailureClass::Timeout, failure.to_string())
        }
        Verdict::Failed(failure) => failed(FailureClass::Launch, failure.to_string()),
        _ => failed(FailureClass::Device, report.end.to_string()),
    };
    (outcome, usable)
}

/// Reserves standard output for the worker's answers; from now on, kernels print to standard error.
pub fn claim_stdout() -> io::Result<std::fs::File> {
    let own = rustix::io::fcntl_dupfd_cloexec(io::stdout(), 3)?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    Ok(own.into())
}
