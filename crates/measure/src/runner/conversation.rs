//! Talking with a worker, whatever program it is.

use std::process::Command;
use std::time::{Duration, Instant};

use ck_select_measurements::outcome::{Failure, FailureClass};

use super::{BatchEnd, Context, Report};
use crate::config::DeviceKind;
use crate::error::MeasureError;
use crate::process::{self, Process, ProcessEnd, Wake};
use crate::protocol::{Answer, Item, Request, VERSION};

/// The time a worker may take to start and to find its device: the first start of a GPU runtime is slow on a
/// busy host.
const START: Duration = Duration::from_secs(60);
/// The time a worker gets beyond a kernel's own limit, to load the kernel and to detect a hang itself.
const GRACE: Duration = Duration::from_secs(2);

/// Lets a new worker measure items.
pub(super) fn converse(
    command: Command,
    device: DeviceKind,
    items: Vec<Item>,
    context: Context<'_>,
    report: &mut dyn FnMut(Report) -> Result<(), MeasureError>,
) -> Result<BatchEnd, MeasureError> {
    if items.is_empty() {
        return Ok(BatchEnd::Done);
    }
    let request = Request { version: VERSION, device, settings: context.settings.clone(), items };
    let text = serde_json::to_vec(&request).map_err(MeasureError::new)?;
    let program = command.get_program().display().to_string();
    let process = Process::start(command, context.guard);
    let process = process.map_err(|error| MeasureError::about(&program, error))?;
    let mut conversation = Conversation { program, process, context, ready: false, began: None };
    conversation.process.send(&text);
    conversation.listen(report)
}

/// A worker and what is known about its progress.
struct Conversation<'a> {
    program: String,
    process: Process<'a>,
    context: Context<'a>,
    /// Whether the worker has a device.
    ready: bool,
    /// The item that the worker is working on.
    began: Option<usize>,
}

impl Conversation<'_> {
    fn listen(
        &mut self,
        report: &mut dyn FnMut(Report) -> Result<(), MeasureError>,
    ) -> Result<BatchEnd, MeasureError> {
        let settings = self.context.settings;
        let timeout = Duration::from_secs_f64(settings.timeout_s);
        let per_item = timeout * (settings.remeasure + 1) + GRACE;
        let mut deadline = Instant::now() + timeout + START;
        loop {
            let wake = self.process.wait(deadline, self.context.stop);
            let wake = wake.map_err(|error| MeasureError::about(&self.program, error))?;
            while let Some(line) = self.process.take_line() {
                deadline = Instant::now() + per_item;
                match serde_json::from_slice::<Answer>(&line) {
                    Ok(Answer::Ready(device)) => {
                        self.ready = true;
                        report(Report::Device(device))?;
                    }
                    // The worker prepares its kernels; that it says so gives it time.
                    Ok(Answer::Preparing { .. }) => {}
                    Ok(Answer::Begin(item)) => self.began = Some(item),
                    Ok(Answer::End { item, outcome }) => {
                        self.began = None;
                        report(Report::Outcome(item, outcome))?;
                    }
                    Ok(Answer::Refused(message)) => {
                        return Err(MeasureError::new(format!("the worker cannot measure: {message}")));
                    }
                    Err(error) => {
                        let line = String::from_utf8_lossy(&line);
                        let message = format!("invalid line from the worker: {error}: {line}");
                        return Ok(self.broken(FailureClass::Garbage, &message));
                    }
                }
            }
            // The worker goes on meanwhile; rows that it finishes during this wait are synced together the
            // next time.
            report(Report::Settle)?;
            match wake {
                Wake::Output => {}
                Wake::Stopped(reason) => return Ok(BatchEnd::Stopped(reason)),
                Wake::Deadline => {
                    if let ProcessEnd::Stuck(process) = self.end()? {
                        let message = format!("worker {process} cannot be killed: the device hangs");
                        return Err(MeasureError::new(message));
                    }
                    self.must_be_ready("it was killed because it did not answer")?;
                    return Ok(
                        self.broken(FailureClass::Timeout, "killed because its worker no longer answered")
                    );
                }
                Wake::Exited => return self.exited(),
            }
        }
    }

    fn end(&mut self) -> Result<ProcessEnd, MeasureError> {
        self.process.end().map_err(|error| MeasureError::about(&self.program, error))
    }

    fn exited(&mut self) -> Result<BatchEnd, MeasureError> {
        let ProcessEnd::Exited(status) = self.end()? else { return Ok(BatchEnd::Done) };
        if status.success() && self.ready && self.began.is_none() {
            return Ok(BatchEnd::Done);
        }
        if let Some(reason) = self.context.stop.reason_behind(status) {
            return Ok(BatchEnd::Stopped(reason));
        }
        let stderr = self.process.stderr_tail();
        let said = String::from_utf8_lossy(&stderr);
        self.must_be_ready(&format!("{status}: {}", said.trim()))?;
        Ok(BatchEnd::Broken { at: self.began, failure: process::failure(status, &said) })
    }

    /// A worker that ends before it has a device would end again with any other request.
    fn must_be_ready(&self, how: &str) -> Result<(), MeasureError> {
        if self.ready {
            return Ok(());
        }
        Err(MeasureError::new(format!("the worker ended before it was ready: {how}")))
    }

    fn broken(&self, class: FailureClass, message: &str) -> BatchEnd {
        BatchEnd::Broken { at: self.began, failure: Failure::new(class, message) }
    }
}
