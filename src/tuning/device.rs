//! The GPU functions that measuring needs: facts, events on a caller's stream, and errors by name.

use std::ffi::c_void;
use std::fmt;

use crate::environment;
use crate::vocab::Arch;

/// A caller's stream (`hipStream_t`), passed through untouched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Stream(*mut c_void);

// SAFETY: the handle is only passed through, and runtimes take a stream from any thread.
unsafe impl Send for Stream {}
// SAFETY: as above; it is never written to.
unsafe impl Sync for Stream {}

impl Stream {
    /// The default stream of the device that is current on the thread: the null handle.
    pub const DEFAULT: Self = Self(std::ptr::null_mut());

    /// A stream by its handle.
    ///
    /// # Safety
    ///
    /// - `handle` is null or a stream of the device that it is used with;
    /// - the stream is not destroyed while this value is used.
    pub const unsafe fn from_raw(handle: *mut c_void) -> Self {
        Self(handle)
    }

    /// The handle.
    pub const fn as_raw(self) -> *mut c_void {
        self.0
    }
}

/// An event's handle (`hipEvent_t`), returned by [`Device::create_event`]; [`Event`] owns one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct EventHandle(*mut c_void);

impl EventHandle {
    /// The handle with this address, for implementations of [`Device`].
    pub const fn from_raw(handle: *mut c_void) -> Self {
        Self(handle)
    }

    /// The handle.
    pub const fn as_raw(self) -> *mut c_void {
        self.0
    }

    /// The handle of a slot, for devices that keep their events in a list. Handles count from 1, because a null
    /// handle is not an event.
    pub(super) const fn at(slot: usize) -> Self {
        Self(std::ptr::without_provenance_mut(slot + 1))
    }

    /// The handle's index in such a list.
    pub(super) fn slot(self) -> usize {
        self.0.addr().wrapping_sub(1)
    }
}

/// Facts about a device. What a runtime does not report is `None`, never 0.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeviceFacts {
    /// The runtime's number for it, from 0.
    pub index: u32,
    /// The marketing name, such as `AMD Instinct MI300X`.
    pub name: String,
    /// The compilation target with its features, such as `gfx942:sramecc+:xnack-`.
    pub target: Option<String>,
    /// Version of the runtime, in its own counting (HIP: major * 10 000 000 + minor * 100 000 + patch).
    pub runtime_version: Option<u32>,
    /// Version of the driver, in the same counting.
    pub driver_version: Option<u32>,
    /// Compute units.
    pub compute_units: Option<u32>,
    /// Lanes per wave.
    pub wavefront_size: Option<u32>,
    /// Maximum clock in kHz.
    pub clock_khz: Option<u32>,
    /// Maximum shared memory per block, in bytes.
    pub lds_bytes: Option<u32>,
    /// Second-level cache in bytes.
    pub l2_bytes: Option<u32>,
    /// The memory's clock in kHz, as the runtime counts it.
    pub memory_clock_khz: Option<u32>,
    /// Width of the memory's bus in bits.
    pub memory_bus_bits: Option<u32>,
    /// Address on the PCI bus, such as `0000:c1:00.0`.
    pub pci_bus_id: Option<String>,
}

impl DeviceFacts {
    /// The architecture: the target without its features, such as `gfx942`.
    pub fn arch(&self) -> Option<Arch> {
        self.target.as_deref().and_then(|target| target.parse().ok())
    }

    /// The number of compute units. The runtime counts work-group processors of RDNA, which are pairs, unless
    /// `GPU_ENABLE_WGP_MODE` is 0.
    pub fn all_compute_units(&self) -> Option<u32> {
        let is_rdna =
            |own: Arch| ["gfx10", "gfx11", "gfx120"].iter().any(|family| own.as_str().starts_with(family));
        let pairs = environment::variable("GPU_ENABLE_WGP_MODE").is_none_or(|value| value != "0");
        let each = if pairs && self.arch().is_some_and(is_rdna) { 2 } else { 1 };
        self.compute_units.map(|units| each * units)
    }
}

/// A failed call to a device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The runtime returned an error.
    #[error("{call}: {error}")]
    Call {
        /// The function of the runtime.
        call: &'static str,
        /// The returned error.
        error: ErrorCode,
    },
    /// The thread's current device is not the one to measure on.
    #[error("device {current} is current on this thread, expected device {expected}")]
    OtherDevice {
        /// The thread's current device.
        current: u32,
        /// The device that is measured on.
        expected: u32,
    },
}

/// A runtime's error code with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorCode {
    /// The number.
    pub code: i32,
    /// The runtime's name for it, such as `hipErrorNoDevice`; `None` if it has none.
    pub name: Option<String>,
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{name} ({})", self.code),
            None => write!(f, "error {}, which the runtime does not name", self.code),
        }
    }
}

/// A GPU, for measuring.
///
/// All calls are made on the searching thread, and must not print or panic. Event handles that are passed in
/// come from the same device and are not destroyed yet.
pub trait Device {
    /// The known facts about the device.
    fn facts(&self) -> &DeviceFacts;

    /// A new event that records times. Use [`Event::new`], which destroys it again.
    fn create_event(&self) -> Result<EventHandle, DeviceError>;

    /// Destroys an event, recorded or not, reached or not. Failures cannot be reported.
    fn destroy_event(&self, event: EventHandle);

    /// Records the event after all work on the stream.
    fn record(&self, event: EventHandle, stream: Stream) -> Result<(), DeviceError>;

    /// Whether the device has reached the event. Never blocks.
    fn query(&self, event: EventHandle) -> Result<bool, DeviceError>;

    /// Milliseconds between two events that the device has reached.
    fn elapsed_ms(&self, start: EventHandle, stop: EventHandle) -> Result<f64, DeviceError>;

    /// Returns and clears the thread's last error; `None` if there was none.
    fn take_last_error(&self) -> Option<ErrorCode>;

    /// An error code with the runtime's name for it.
    fn error_code(&self, code: i32) -> ErrorCode;

    /// Whether the stream is being captured into a graph: then nothing on it may be waited for.
    fn is_capturing(&self, stream: Stream) -> Result<bool, DeviceError>;
}

/// An event that is destroyed when it goes out of scope, even by a panic.
pub struct Event<'d> {
    device: &'d dyn Device,
    handle: EventHandle,
}

impl<'d> Event<'d> {
    /// A new event of a device.
    pub fn new(device: &'d dyn Device) -> Result<Self, DeviceError> {
        Ok(Self { device, handle: device.create_event()? })
    }

    /// Records the event after all work on the stream.
    pub fn record(&self, stream: Stream) -> Result<(), DeviceError> {
        self.device.record(self.handle, stream)
    }

    /// Whether the device has reached the event. Never blocks.
    pub fn query(&self) -> Result<bool, DeviceError> {
        self.device.query(self.handle)
    }

    /// Milliseconds from an earlier event of the same device to this one.
    pub fn ms_since(&self, start: &Event<'_>) -> Result<f64, DeviceError> {
        self.device.elapsed_ms(start.handle, self.handle)
    }
}

impl Drop for Event<'_> {
    fn drop(&mut self) {
        self.device.destroy_event(self.handle);
    }
}

impl fmt::Debug for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Event").field(&self.handle).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuning::mock::MockDevice;

    #[test]
    fn arch_is_the_target_without_features() {
        let mut facts = MockDevice::new().facts().clone();
        for (target, arch) in [
            (Some("gfx942:sramecc+:xnack-"), Some("gfx942")),
            (Some("gfx1201"), Some("gfx1201")),
            (None, None),
        ] {
            facts.target = target.map(str::to_owned);
            assert_eq!(facts.arch().map(|arch| arch.to_string()).as_deref(), arch);
        }
        // Pairs of units.
        (facts.target, facts.compute_units) = (Some("gfx1201".to_owned()), Some(32));
        assert_eq!(facts.all_compute_units(), Some(64));
    }

    #[test]
    fn errors_are_identified_by_name() {
        let error = ErrorCode { code: 100, name: Some("hipErrorNoDevice".to_owned()) };
        let call = DeviceError::Call { call: "hipGetDeviceCount", error };
        assert_eq!(call.to_string(), "hipGetDeviceCount: hipErrorNoDevice (100)");
        let unnamed = ErrorCode { code: -7, name: None };
        assert_eq!(unnamed.to_string(), "error -7, which the runtime does not name");
    }
}
