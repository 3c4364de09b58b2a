//! The host's clock as a device: for kernels that run on the CPU, and for those that tell their own times.

use std::cell::RefCell;
use std::time::Instant;

use ck_select::tuning::device::{Device, DeviceError, DeviceFacts, ErrorCode, EventHandle, Stream};

/// A device whose work is done when a launch returns.
pub(super) struct HostClock {
    facts: DeviceFacts,
    /// When each event was recorded; `None` for those that are free to be given out.
    events: RefCell<Vec<Option<Instant>>>,
}

impl HostClock {
    pub(super) fn new() -> Self {
        let facts = DeviceFacts {
            index: 0,
            name: "host".to_owned(),
            target: None,
            runtime_version: None,
            driver_version: None,
            compute_units: None,
            wavefront_size: None,
            clock_khz: None,
            lds_bytes: None,
            l2_bytes: None,
            pci_bus_id: None,
        };
        Self { facts, events: RefCell::default() }
    }

    fn set(&self, event: EventHandle, time: Option<Instant>) {
        if let Some(slot) = self.events.borrow_mut().get_mut(place(event)) {
            *slot = time;
        }
    }

    fn time(&self, event: EventHandle) -> Instant {
        self.events.borrow().get(place(event)).copied().flatten().unwrap_or_else(Instant::now)
    }
}

/// Handles count from 1, since a null handle is no event.
fn place(event: EventHandle) -> usize {
    event.as_raw().addr().wrapping_sub(1)
}

impl Device for HostClock {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn create_event(&self) -> Result<EventHandle, DeviceError> {
        let mut events = self.events.borrow_mut();
        let free = events.iter().position(Option::is_none).unwrap_or(events.len());
        if free == events.len() {
            events.push(None);
        }
        events[free] = Some(Instant::now());
        Ok(EventHandle::from_raw(std::ptr::without_provenance_mut(free + 1)))
    }

    fn destroy_event(&self, event: EventHandle) {
        self.set(event, None);
    }

    fn record(&self, event: EventHandle, _stream: Stream) -> Result<(), DeviceError> {
        self.set(event, Some(Instant::now()));
        Ok(())
    }

    fn query(&self, _event: EventHandle) -> Result<bool, DeviceError> {
        Ok(true)
    }

    fn synchronize(&self, _event: EventHandle) -> Result<(), DeviceError> {
        Ok(())
    }

    fn elapsed_ms(&self, start: EventHandle, stop: EventHandle) -> Result<f64, DeviceError> {
        Ok(self.time(stop).saturating_duration_since(self.time(start)).as_secs_f64() * 1e3)
    }

    fn take_last_error(&self) -> Option<ErrorCode> {
        None
    }

    fn error_code(&self, code: i32) -> ErrorCode {
        ErrorCode { code, name: None }
    }

    fn is_capturing(&self, _stream: Stream) -> Result<bool, DeviceError> {
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ck_select::tuning::search::{Candidate, RunOutcome, SearchOptions, search};

    use super::*;

    #[test]
    fn work_that_is_done_on_return_is_timed() {
        let clock = HostClock::new();
        let nap = Duration::from_millis(2);
        let run = |_| {
            std::thread::sleep(nap);
            RunOutcome::Launched
        };
        let report =
            search(&clock, Stream::DEFAULT, &mut [Candidate::new(0, run)], &SearchOptions::default());
        assert!(report.winner.unwrap().median_ms >= 2.0);
        assert!(clock.events.borrow().iter().all(Option::is_none), "events are given back");
    }
}
