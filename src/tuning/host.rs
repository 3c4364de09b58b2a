//! The host as a device: kernels that run on it, timed by its clock.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::device::{Device, DeviceError, DeviceFacts, ErrorCode, EventHandle, Stream};

/// The host, for kernels whose run callbacks do all their work before they return: reference implementations,
/// simulators, tests of a program's search without a GPU.
///
/// An event is reached when it is recorded, so a run takes the time of its callback.
#[derive(Debug)]
pub struct HostDevice {
    facts: DeviceFacts,
    /// When each event was recorded; `None` is a free slot.
    events: Mutex<Vec<Option<Instant>>>,
}

impl HostDevice {
    /// The name under which the store keeps winners that were measured on the host.
    pub const NAME: &'static str = "host";

    /// The host. It has no architecture: kernels that run on it imitate one that only their owner knows.
    pub fn new() -> Self {
        let facts = DeviceFacts { name: Self::NAME.to_owned(), ..DeviceFacts::default() };
        Self { facts, events: Mutex::default() }
    }

    fn events(&self) -> MutexGuard<'_, Vec<Option<Instant>>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, event: EventHandle, when: Option<Instant>) {
        if let Some(slot) = self.events().get_mut(event.slot()) {
            *slot = when;
        }
    }
}

impl Default for HostDevice {
    fn default() -> Self {
        Self::new()
    }
}

impl Device for HostDevice {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn create_event(&self) -> Result<EventHandle, DeviceError> {
        let mut events = self.events();
        let free = events.iter().position(Option::is_none).unwrap_or(events.len());
        let now = Some(Instant::now());
        match events.get_mut(free) {
            Some(slot) => *slot = now,
            None => events.push(now),
        }
        Ok(EventHandle::at(free))
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

    fn elapsed_ms(&self, start: EventHandle, stop: EventHandle) -> Result<f64, DeviceError> {
        let events = self.events();
        let when = |event: EventHandle| events.get(event.slot()).copied().flatten();
        let elapsed = when(start).zip(when(stop)).map(|(start, stop)| stop.saturating_duration_since(start));
        Ok(elapsed.unwrap_or_default().as_secs_f64() * 1e3)
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

    use super::*;
    use crate::tuning::clock::SystemClock;
    use crate::tuning::device::Event;
    use crate::tuning::search::{Candidate, RunOutcome, SearchOptions, search};

    fn sleeping<'a>() -> Candidate<'a> {
        Candidate::new(1, |_| {
            std::thread::sleep(Duration::from_millis(1));
            RunOutcome::Launched
        })
    }

    #[test]
    fn events_take_the_time_between_their_records() {
        let host = HostDevice::new();
        let (start, stop) = (Event::new(&host).unwrap(), Event::new(&host).unwrap());
        start.record(Stream::DEFAULT).unwrap();
        std::thread::sleep(Duration::from_millis(2));
        stop.record(Stream::DEFAULT).unwrap();
        assert_eq!(stop.query(), Ok(true));
        assert!(stop.ms_since(&start).unwrap() >= 2.0);
        drop((start, stop));
        assert!(host.events().iter().all(Option::is_none));
        let again = host.create_event().unwrap();
        assert_eq!(again.slot(), 0, "places are used again");
    }

    #[test]
    fn kernels_are_timed_with_and_without_their_own_clock() {
        let host = HostDevice::new();
        let options = SearchOptions { warmup: 0, repeats: 1, cutoff: None, ..SearchOptions::default() };
        let mut candidates = [
            Candidate::new(0, |_| RunOutcome::Milliseconds(900.0)),
            sleeping(),
            Candidate::new(2, |_| RunOutcome::Failed(7)),
        ];
        let report = search(&SystemClock::new(), &host, Stream::DEFAULT, &mut candidates, &options);
        let winner = report.winner.unwrap();
        assert!(winner.index == 1 && winner.median_ms >= 1.0, "{report}");
        assert!(report.to_string().contains("error 7"), "{report}");
    }

    /// Regardless of the time that it reports.
    #[test]
    fn a_run_that_takes_too_long_is_the_last_of_its_kernel() {
        let host = HostDevice::new();
        let limit = Duration::from_millis(20);
        let options = SearchOptions { warmup: 0, repeats: 3, run_timeout: limit, ..SearchOptions::default() };
        for outcome in [RunOutcome::Launched, RunOutcome::Milliseconds(0.001)] {
            let mut runs = 0;
            let mut candidates = [
                Candidate::new(0, |_| {
                    runs += 1;
                    std::thread::sleep(limit + Duration::from_millis(1));
                    outcome
                }),
                sleeping(),
            ];
            let report = search(&SystemClock::new(), &host, Stream::DEFAULT, &mut candidates, &options);
            drop(candidates);
            assert_eq!(report.winner.map(|winner| winner.index), Some(1), "{report}");
            assert!(report.to_string().contains("longer than the time limit of a run"), "{report}");
            assert_eq!(runs, 1);
        }
    }
}
