//! HIP's devices as implementations of the trait.

use std::ffi::{CStr, c_char, c_int};

use super::MAJOR;
use super::api::{Api, NOT_READY, SUCCESS, attribute};
use super::properties;
use crate::tuning::device::{Device, DeviceError, DeviceFacts, ErrorCode, EventHandle, Stream};

/// A device of HIP's runtime, for use on threads on which it is current.
#[derive(Debug, Clone)]
pub struct HipDevice {
    api: Api,
    facts: DeviceFacts,
}

impl HipDevice {
    pub(super) fn new(api: Api, index: u32) -> Result<Self, DeviceError> {
        let device = index as c_int;
        let runtime_version = api.runtime_version();
        // A later version may renumber its queries; no answer is better than one to a different query.
        let known_queries = runtime_version.is_some_and(|version| (5 * MAJOR..8 * MAJOR).contains(&version));
        let attribute = |attribute| known_queries.then(|| api.attribute(attribute, device)).flatten();
        let facts = DeviceFacts {
            index,
            name: api.device_name(device)?,
            target: properties::target(&api, device),
            runtime_version,
            driver_version: api.driver_version(),
            compute_units: attribute(attribute::MULTIPROCESSOR_COUNT),
            wavefront_size: attribute(attribute::WARP_SIZE),
            clock_khz: attribute(attribute::CLOCK_RATE),
            lds_bytes: attribute(attribute::MAX_SHARED_MEMORY_PER_BLOCK),
            l2_bytes: attribute(attribute::L2_CACHE_SIZE),
            // 0 where the driver does not know them.
            memory_clock_khz: attribute(attribute::MEMORY_CLOCK_RATE).filter(|&khz| khz > 0),
            memory_bus_bits: attribute(attribute::MEMORY_BUS_WIDTH).filter(|&bits| bits > 0),
            pci_bus_id: api.pci_bus_id(device),
        };
        // An error of an optional query is not an error for callers.
        api.take_last_error();
        Ok(Self { api, facts })
    }
}

impl Api {
    /// An error's code with its name.
    pub(super) fn error_code(&self, code: c_int) -> ErrorCode {
        ErrorCode { code, name: self.error_name(code) }
    }

    /// The result of a call. An error that is returned here is cleared from the runtime, so that the next
    /// caller who asks for the last error after a launch does not find it.
    pub(super) fn check(&self, call: &'static str, code: c_int) -> Result<(), DeviceError> {
        if code == SUCCESS {
            return Ok(());
        }
        self.take_last_error();
        Err(DeviceError::Call { call, error: self.error_code(code) })
    }

    pub(super) fn take_last_error(&self) -> c_int {
        // SAFETY: the call takes nothing.
        unsafe { (self.hipGetLastError)() }
    }

    /// The number of the device that is current on this thread.
    pub(super) fn current_device(&self) -> Result<u32, DeviceError> {
        let mut index = 0;
        // SAFETY: the pointer is valid for writing an integer.
        self.check("hipGetDevice", unsafe { (self.hipGetDevice)(&raw mut index) })?;
        Ok(index.unsigned_abs())
    }

    pub(super) fn runtime_version(&self) -> Option<u32> {
        // SAFETY: the passed pointer is valid for writing an integer.
        self.number(|out| unsafe { (self.hipRuntimeGetVersion)(out) })
    }

    fn driver_version(&self) -> Option<u32> {
        // SAFETY: the passed pointer is valid for writing an integer.
        self.number(|out| unsafe { (self.hipDriverGetVersion)(out) })
    }

    fn attribute(&self, attribute: c_int, device: c_int) -> Option<u32> {
        // SAFETY: the passed pointer is valid for writing an integer.
        self.number(|out| unsafe { (self.hipDeviceGetAttribute)(out, attribute, device) })
    }

    /// A positive number, if the runtime returns one.
    fn number(&self, ask: impl FnOnce(*mut c_int) -> c_int) -> Option<u32> {
        let mut number = 0;
        self.check("", ask(&raw mut number)).ok()?;
        u32::try_from(number).ok().filter(|&number| number > 0)
    }

    fn device_name(&self, device: c_int) -> Result<String, DeviceError> {
        let mut name: [c_char; 256] = [0; 256];
        // One less than the buffer's size, so that a NUL always follows. SAFETY: the pointer is valid for
        // writing the given number of bytes.
        let code = unsafe { (self.hipDeviceGetName)(name.as_mut_ptr(), name.len() as c_int - 1, device) };
        self.check("hipDeviceGetName", code)?;
        Ok(text(&name))
    }

    fn pci_bus_id(&self, device: c_int) -> Option<String> {
        let mut id: [c_char; 64] = [0; 64];
        // SAFETY: the pointer is valid for writing the given number of bytes, and one more is a NUL.
        let code = unsafe { self.hipDeviceGetPCIBusId?(id.as_mut_ptr(), id.len() as c_int - 1, device) };
        self.check("hipDeviceGetPCIBusId", code).ok()?;
        Some(text(&id)).filter(|id| !id.is_empty())
    }
}

/// The text up to the first NUL.
fn text(bytes: &[c_char]) -> String {
    let bytes: Vec<u8> = bytes.iter().map(|&byte| byte as u8).collect();
    CStr::from_bytes_until_nul(&bytes).unwrap_or_default().to_string_lossy().into_owned()
}

impl Device for HipDevice {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn create_event(&self) -> Result<EventHandle, DeviceError> {
        let current = self.api.current_device()?;
        if current != self.facts.index {
            return Err(DeviceError::OtherDevice { current, expected: self.facts.index });
        }
        let mut event = std::ptr::null_mut();
        // SAFETY: the pointer is valid for writing a handle.
        self.api.check("hipEventCreate", unsafe { (self.api.hipEventCreate)(&raw mut event) })?;
        Ok(EventHandle::from_raw(event))
    }

    fn destroy_event(&self, event: EventHandle) {
        // SAFETY: the trait guarantees that the event is one of this device and not destroyed yet.
        let code = unsafe { (self.api.hipEventDestroy)(event.as_raw()) };
        // The failure cannot be reported, but the thread's error is cleared.
        let _ = self.api.check("hipEventDestroy", code);
    }

    fn record(&self, event: EventHandle, stream: Stream) -> Result<(), DeviceError> {
        // SAFETY: the trait guarantees it for the event, `Stream::from_raw` for the stream.
        let code = unsafe { (self.api.hipEventRecord)(event.as_raw(), stream.as_raw()) };
        self.api.check("hipEventRecord", code)
    }

    fn query(&self, event: EventHandle) -> Result<bool, DeviceError> {
        // SAFETY: the trait guarantees that the event is one of this device and not destroyed yet.
        let code = unsafe { (self.api.hipEventQuery)(event.as_raw()) };
        if code == NOT_READY {
            // Some versions keep this as the last error.
            self.api.take_last_error();
            return Ok(false);
        }
        self.api.check("hipEventQuery", code).map(|()| true)
    }

    fn elapsed_ms(&self, start: EventHandle, stop: EventHandle) -> Result<f64, DeviceError> {
        let mut milliseconds = 0.0;
        // SAFETY: the pointer is valid for writing a float; the trait guarantees that the events are this
        // device's.
        let code =
            unsafe { (self.api.hipEventElapsedTime)(&raw mut milliseconds, start.as_raw(), stop.as_raw()) };
        self.api.check("hipEventElapsedTime", code)?;
        Ok(f64::from(milliseconds))
    }

    fn take_last_error(&self) -> Option<ErrorCode> {
        let code = self.api.take_last_error();
        (code != SUCCESS && code != NOT_READY).then(|| self.api.error_code(code))
    }

    fn error_code(&self, code: i32) -> ErrorCode {
        self.api.error_code(code)
    }

    fn is_capturing(&self, stream: Stream) -> Result<bool, DeviceError> {
        let Some(is_capturing) = self.api.hipStreamIsCapturing else { return Ok(false) };
        let mut status = 0;
        // SAFETY: the pointer is valid for writing an enum of the size of an integer; `Stream::from_raw`
        // guarantees the stream.
        let code = unsafe { is_capturing(stream.as_raw(), &raw mut status) };
        self.api.check("hipStreamIsCapturing", code)?;
        Ok(status != 0)
    }
}
