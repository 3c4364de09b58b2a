//! The compilation target of a device, which HIP only returns inside a structure that has changed.
//!
//! `hipDeviceProp_t` has two layouts. Since version 6 the function's name tells which one it fills:
//! `hipGetDevicePropertiesR0600` always fills the new one; `hipGetDeviceProperties` without a suffix fills the old
//! one in every library from version 5 on (headers of version 6 and later rename it in programs). So the symbol in
//! the library alone determines the layout. `headers_test.rs` checks the numbers against HIP's own headers.

use std::ffi::{c_int, c_void};

use super::api::{Api, SUCCESS};

/// The offset of `gcnArchName` in the structure that `hipGetDevicePropertiesR0600` fills.
pub(super) const TARGET_OFFSET_R0600: usize = 1160;
/// The offset of `gcnArchName` in the structure that `hipGetDeviceProperties` fills.
pub(super) const TARGET_OFFSET_R0000: usize = 396;
/// The length of `gcnArchName` in both structures.
pub(super) const TARGET_LEN: usize = 256;
/// Room for the structure: several times the 1472 bytes that the larger one has.
pub(super) const ROOM: usize = 8192;

/// Memory for either structure, aligned as they are.
#[repr(C, align(16))]
struct Properties([u8; ROOM]);

/// A device's target, such as `gfx942:sramecc+:xnack-`; `None` if the runtime does not report it, or reports
/// nonsense.
pub(super) fn target(api: &Api, device: c_int) -> Option<String> {
    let (read, offset) = match (api.hipGetDevicePropertiesR0600, api.hipGetDeviceProperties) {
        (Some(read), _) => (read, TARGET_OFFSET_R0600),
        (None, Some(read)) => (read, TARGET_OFFSET_R0000),
        (None, None) => return None,
    };
    let mut properties = Box::new(Properties([0; ROOM]));
    let room: *mut c_void = (&raw mut properties.0).cast();
    // SAFETY: the buffer is several times larger than the structure, and has its alignment.
    let code = unsafe { read(room, device) };
    (code == SUCCESS).then(|| parse(&properties.0[offset..offset + TARGET_LEN])).flatten()
}

/// A target, if the bytes are one: if a layout changed again, they could be anything.
fn parse(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().position(|&byte| byte == 0)?;
    let text = std::str::from_utf8(&bytes[..end]).ok()?;
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b":+-_".contains(&byte);
    // `sm_` comes from the CUDA stand-in of gpu/.
    let known = ["gfx", "sm_"].iter().any(|prefix| text.starts_with(prefix) && text.len() > prefix.len());
    (known && text.bytes().all(allowed)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_targets_are_taken_for_targets() {
        for (bytes, expected) in [
            (&b"gfx942:sramecc+:xnack-\0garbage"[..], Some("gfx942:sramecc+:xnack-")),
            (b"gfx1201\0", Some("gfx1201")),
            (b"gfx9-4-generic\0", Some("gfx9-4-generic")),
            (b"sm_90\0", Some("sm_90")),
            (b"sm_\0", None),
            (b"\0\0", None),
            (b"gfx\0", None),
            (b"AMD Instinct\0", None),
            (b"gfx94\x012\0", None),
            (b"gfx\xff\0", None),
            (b"gfx942", None),
        ] {
            assert_eq!(parse(bytes).as_deref(), expected, "{bytes:?}");
        }
    }
}
