//! A device and a clock without a GPU: virtual time, scripted failures. For tests of searches.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::time::Duration;

use crate::tuning::clock::Clock;
use crate::tuning::device::{Device, DeviceError, DeviceFacts, ErrorCode, EventHandle, Stream};

/// The code of `hipErrorUnknown`, the one name besides `hipErrorNoDevice` that the mock knows.
pub const UNKNOWN: i32 = 999;

/// A call that can be made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// Making an event.
    CreateEvent,
    /// Recording an event.
    Record,
    /// Asking whether an event is reached.
    Query,
    /// Reading the time between events.
    Elapsed,
    /// Asking whether the stream is being captured.
    Capturing,
}

/// A device with one stream, in virtual time that only pauses move.
///
/// Kernels take the time that they are [launched](MockDevice::launch) with, one after the other.
#[derive(Debug, Default)]
pub struct MockDevice {
    facts: DeviceFacts,
    now: Cell<Duration>,
    busy_until: Cell<Duration>,
    /// When each event was or will be reached; `None` once it is destroyed.
    events: RefCell<Vec<Option<Duration>>>,
    faults: RefCell<VecDeque<(Call, i32)>>,
    last_error: Cell<Option<i32>>,
    lost: Cell<Option<i32>>,
    capturing: Cell<bool>,
}

impl MockDevice {
    /// An idle device.
    pub fn new() -> Self {
        let facts = DeviceFacts {
            name: "Mock".to_owned(),
            target: Some("gfx942:sramecc+:xnack-".to_owned()),
            ..DeviceFacts::default()
        };
        Self { facts, ..Self::default() }
    }

    /// This device with other facts.
    pub fn with_facts(mut self, change: impl FnOnce(&mut DeviceFacts)) -> Self {
        change(&mut self.facts);
        self
    }

    /// Puts a kernel on the stream that takes this many milliseconds.
    pub fn launch(&self, milliseconds: f64) {
        self.occupy(Duration::try_from_secs_f64(milliseconds / 1000.0).unwrap_or(Duration::MAX));
    }

    /// Puts a kernel that never ends on the stream.
    pub fn hang(&self) {
        self.occupy(Duration::MAX);
    }

    fn occupy(&self, time: Duration) {
        self.busy_until.set(self.idle_from().saturating_add(time));
    }

    fn idle_from(&self) -> Duration {
        self.busy_until.get().max(self.now.get())
    }

    /// Makes the next such call fail, once; repeated calls add further failures.
    pub fn fail_next(&self, call: Call, code: i32) {
        self.faults.borrow_mut().push_back((call, code));
    }

    /// From now on every call fails.
    pub fn lose(&self, code: i32) {
        self.lost.set(Some(code));
    }

    /// Leaves an error behind as a failed launch does.
    pub fn set_last_error(&self, code: i32) {
        self.last_error.set(Some(code));
    }

    /// Whether the stream is being captured.
    pub fn set_capturing(&self, capturing: bool) {
        self.capturing.set(capturing);
    }

    /// Events that are not destroyed yet.
    pub fn live_events(&self) -> usize {
        self.events.borrow().iter().flatten().count()
    }

    fn check(&self, call: Call, function: &'static str) -> Result<(), DeviceError> {
        let mut faults = self.faults.borrow_mut();
        let scripted = match faults.front() {
            Some(&(next, code)) if next == call => {
                faults.pop_front();
                Some(code)
            }
            _ => None,
        };
        match self.lost.get().or(scripted) {
            Some(code) => Err(DeviceError::Call { call: function, error: self.error_code(code) }),
            None => Ok(()),
        }
    }

    fn reached(&self, event: EventHandle) -> Duration {
        self.events.borrow().get(event.slot()).copied().flatten().unwrap_or_default()
    }

    fn set_event(&self, event: EventHandle, reached: Option<Duration>) {
        if let Some(known) = self.events.borrow_mut().get_mut(event.slot()) {
            *known = reached;
        }
    }
}

impl Device for MockDevice {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn create_event(&self) -> Result<EventHandle, DeviceError> {
        self.check(Call::CreateEvent, "create_event")?;
        let mut events = self.events.borrow_mut();
        events.push(Some(Duration::ZERO));
        Ok(EventHandle::at(events.len() - 1))
    }

    fn destroy_event(&self, event: EventHandle) {
        self.set_event(event, None);
    }

    fn record(&self, event: EventHandle, _stream: Stream) -> Result<(), DeviceError> {
        self.check(Call::Record, "record")?;
        self.set_event(event, Some(self.idle_from()));
        Ok(())
    }

    fn query(&self, event: EventHandle) -> Result<bool, DeviceError> {
        self.check(Call::Query, "query")?;
        Ok(self.reached(event) <= self.now.get())
    }

    fn elapsed_ms(&self, start: EventHandle, stop: EventHandle) -> Result<f64, DeviceError> {
        self.check(Call::Elapsed, "elapsed_ms")?;
        Ok(self.reached(stop).saturating_sub(self.reached(start)).as_nanos() as f64 / 1e6)
    }

    fn take_last_error(&self) -> Option<ErrorCode> {
        self.last_error.take().map(|code| self.error_code(code))
    }

    fn error_code(&self, code: i32) -> ErrorCode {
        let name = match code {
            100 => Some("hipErrorNoDevice"),
            UNKNOWN => Some("hipErrorUnknown"),
            _ => None,
        };
        ErrorCode { code, name: name.map(str::to_owned) }
    }

    fn is_capturing(&self, _stream: Stream) -> Result<bool, DeviceError> {
        self.check(Call::Capturing, "is_capturing")?;
        Ok(self.capturing.get())
    }
}

impl Clock for MockDevice {
    fn now(&self) -> Duration {
        self.now.get()
    }

    /// A zero pause advances by a microsecond, so that no wait is endless.
    fn pause(&self, time: Duration) {
        self.now.set(self.now.get() + time.max(Duration::from_micros(1)));
    }
}
