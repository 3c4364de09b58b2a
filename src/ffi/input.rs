//! Reading what a caller gives: addresses, texts, structs, words.

use std::ffi::{CStr, c_char};
use std::fmt::Display;
use std::mem::MaybeUninit;
use std::str::FromStr;

use super::CkStatus;
use super::error::Failure;
use crate::vocab::{Arch, GpuName, UnknownWord};

/// A struct that its caller fills, beginning with its size.
///
/// A caller may know fewer fields than this library: those that its size leaves out count as 0 when it gives
/// the struct, and are not written when it gets one. A struct with more fields than the library knows is
/// refused, because they may matter.
///
/// # Safety
/// The type is `repr(C)`, its first field is a `usize`, and every bit pattern is one of its values.
pub(super) unsafe trait Versioned: Copy {
    const NAME: &'static str;
    /// The bytes up to the first field that a caller may leave out.
    const LEAST: usize;
}

/// The size that a caller has given its struct.
///
/// # Safety
/// `address` is NULL or points to a `usize`.
unsafe fn read_size<T: Versioned>(address: *const T) -> Result<usize, Failure> {
    if address.is_null() {
        return Err(Failure::null(T::NAME));
    }
    // SAFETY: not NULL, and so by contract a `usize` is there; read unaligned, in case the struct is
    // misaligned.
    let size = unsafe { address.cast::<usize>().read_unaligned() };
    if size == size_of::<T>()
        || (size >= T::LEAST && size < size_of::<T>() && size.is_multiple_of(align_of::<T>()))
    {
        return Ok(size);
    }
    Err(wrong_size(&format!("{}.struct_size", T::NAME), size, size_of::<T>(), align_of::<T>()))
}

/// A size that no version of a struct up to this library's had.
pub(super) fn wrong_size(what: &str, size: usize, own: usize, align: usize) -> Failure {
    let is_newer = size > own && size <= MOST_GROWTH * own && size.is_multiple_of(align);
    let version = concat!(
        ": the program was compiled with a newer ck_select.h than this library's, ",
        env!("CARGO_PKG_VERSION")
    );
    let hint = if is_newer { version } else { "" };
    Failure::new(CkStatus::InvalidStruct, format!("{what} is {size}, expected {own}{hint}"))
}

/// A `struct_size` up to this many times this library's is taken for a struct of a later version; a larger
/// one for memory that was not initialised.
const MOST_GROWTH: usize = 4;

/// Copies a struct that the caller filled.
///
/// # Safety
/// `address` is NULL, or points to a `usize` and, when that is a size that `T` may have, to so many bytes
/// that the caller has written.
pub(super) unsafe fn read_struct<T: Versioned>(address: *const T) -> Result<T, Failure> {
    // SAFETY: by contract, `address` is NULL or begins with a `usize`.
    let size = unsafe { read_size(address) }?;
    if size == size_of::<T>() {
        // SAFETY: the size says that a whole `T` is there.
        return Ok(unsafe { address.read_unaligned() });
    }
    let mut value = MaybeUninit::<T>::zeroed();
    // SAFETY: the size says that so many bytes are there; `value` has room for more.
    unsafe { address.cast::<u8>().copy_to_nonoverlapping(value.as_mut_ptr().cast::<u8>(), size) };
    // SAFETY: all bytes are set, and every bit pattern is a value.
    Ok(unsafe { value.assume_init() })
}

/// Copies a struct that the caller filled; NULL is none.
///
/// # Safety
/// As for [`read_struct`].
pub(super) unsafe fn read_optional_struct<T: Versioned>(address: *const T) -> Result<Option<T>, Failure> {
    // SAFETY: by contract.
    if address.is_null() { Ok(None) } else { unsafe { read_struct(address) }.map(Some) }
}

/// An array of structs that the caller filled. They are as far apart as the first one is large.
pub(super) struct Structs<T> {
    first: *const T,
    stride: usize,
    count: usize,
}

/// Looks at an array of structs; NULL is fine when it is empty.
///
/// # Safety
/// `items` is NULL, or points to a `usize` and, when that is a size that `T` may have, to `count` structs of
/// so many bytes, which the caller has written and which live and do not change as long as the result.
pub(super) unsafe fn read_structs<T: Versioned>(
    items: *const T,
    count: usize,
    what: &str,
) -> Result<Structs<T>, Failure> {
    if count == 0 {
        return Ok(Structs { first: items, stride: 0, count });
    }
    check_address(items, what)?;
    // SAFETY: by contract, `items` begins with a `usize`.
    let stride = unsafe { read_size(items) }?;
    check_size(what, count, stride)?;
    Ok(Structs { first: items, stride, count })
}

impl<T: Versioned> Structs<T> {
    pub(super) const fn len(&self) -> usize {
        self.count
    }

    /// Copies one of them.
    ///
    /// # Safety
    /// `index` is below the count of [`read_structs`], whose contract still holds.
    pub(super) unsafe fn read(&self, index: usize) -> Result<T, Failure> {
        // SAFETY: by contract, `index` is below the count, so the address is in the array.
        let address = unsafe { self.first.byte_add(index * self.stride) };
        // SAFETY: the array's contract: the struct begins with a `usize`.
        let size = unsafe { read_size(address) }?;
        if size != self.stride {
            let name = T::NAME;
            let message =
                format!("{name} {index}: struct_size is {size}, expected {}, as of the first", self.stride);
            return Err(Failure::new(CkStatus::InvalidStruct, message));
        }
        // SAFETY: by contract, `address` is NULL or a struct with its size set.
        unsafe { read_struct(address) }
    }
}

/// Room for a struct, of which the caller has set the size alone.
pub(super) struct OutStruct<T> {
    address: *mut T,
    size: usize,
}

/// Checks that an output struct has room for what is written.
///
/// # Safety
/// `address` is NULL, or points to a `usize` and, when that is a size that `T` may have, to room for so many
/// bytes.
pub(super) unsafe fn out_struct<T: Versioned>(address: *mut T) -> Result<OutStruct<T>, Failure> {
    // SAFETY: by contract, `address` is NULL or begins with a `usize`.
    let size = unsafe { read_size(address.cast_const()) }?;
    Ok(OutStruct { address, size })
}

impl<T: Versioned> OutStruct<T> {
    /// The room for a struct of an array, in which all are as large as the first.
    ///
    /// # Safety
    /// The contract of [`out_struct`] holds for an array of more than `index` structs.
    pub(super) unsafe fn at(&self, index: usize) -> Self {
        // SAFETY: by contract, the array reaches beyond that.
        Self { address: unsafe { self.address.byte_add(index * self.size) }, size: self.size }
    }

    /// Writes as much as there is room for.
    ///
    /// # Safety
    /// The contract of [`out_struct`] still holds.
    pub(super) unsafe fn write(self, value: T) {
        if self.size == size_of::<T>() {
            // SAFETY: by contract, `self.address` has room for `self.size` bytes, which is all of a `T`.
            unsafe { self.address.write_unaligned(value) };
            return;
        }
        // SAFETY: by contract, `self.address` has room for `self.size` bytes; the size that the caller set
        // stays.
        unsafe {
            (&raw const value).cast::<u8>().copy_to_nonoverlapping(self.address.cast::<u8>(), self.size);
            self.address.cast::<usize>().write_unaligned(self.size);
        }
    }
}

/// Initialises options: all bytes 0 are the defaults, but for the size.
///
/// # Safety
/// `options` is NULL or has room for a `T`.
pub(super) unsafe fn init_options<T: Versioned>(options: *mut T) -> Result<(), Failure> {
    let options = output(options, "options")?;
    // SAFETY: not NULL, and so by contract there is room for a `T`, which begins with its size.
    unsafe {
        options.cast::<u8>().write_bytes(0, size_of::<T>());
        options.cast::<usize>().write_unaligned(size_of::<T>());
    }
    Ok(())
}

/// An argument that is out of range.
pub(super) fn refused(what: &str, found: impl Display, expected: &str) -> Failure {
    Failure::new(CkStatus::InvalidArgument, format_args!("{what} is {found}, expected {expected}"))
}

/// Refuses a reserved field that is set: a later version may give it a meaning.
pub(super) fn check_reserved(what: &str, value: i32) -> Result<(), Failure> {
    if value == 0 { Ok(()) } else { Err(refused(&format!("{what}reserved"), value, "0")) }
}

/// Refuses an address at which no array can be.
fn check_address<T>(items: *const T, what: &str) -> Result<(), Failure> {
    if items.is_null() {
        return Err(Failure::null(what));
    }
    let fault = || Failure::new(CkStatus::InvalidArgument, format_args!("{what}: a misaligned address"));
    items.is_aligned().then_some(()).ok_or_else(fault)
}

/// Refuses an array that no memory can hold.
fn check_size(what: &str, count: usize, each: usize) -> Result<(), Failure> {
    let bytes = count.checked_mul(each);
    if bytes.is_some_and(|bytes| isize::try_from(bytes).is_ok()) {
        return Ok(());
    }
    let message = format!("{what}: {count} items are more than memory can hold");
    Err(Failure::new(CkStatus::InvalidArgument, message))
}

/// Borrows a text for the call.
///
/// # Safety
/// `text` is NULL, or a NUL-terminated string that lives and does not change as long as the result.
pub(super) unsafe fn read_text<'a>(text: *const c_char, what: &str) -> Result<&'a str, Failure> {
    // SAFETY: by contract, `text` is NULL or NUL-terminated.
    unsafe { read_optional_text(text, what) }?.ok_or_else(|| Failure::null(what))
}

/// Borrows a text for the call; NULL is none.
///
/// # Safety
/// As for [`read_text`].
pub(super) unsafe fn read_optional_text<'a>(
    text: *const c_char,
    what: &str,
) -> Result<Option<&'a str>, Failure> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: not NULL, and so by contract NUL-terminated and alive as long as the result.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(Some).map_err(|error| {
        Failure::new(CkStatus::NotUtf8, format_args!("{what}: not UTF-8 after byte {}", error.valid_up_to()))
    })
}

/// Borrows an array for the call; NULL is fine when it is empty.
///
/// # Safety
/// `items` is NULL, or points to `count` items that live and do not change as long as the result.
pub(super) unsafe fn read_array<'a, T>(
    items: *const T,
    count: usize,
    what: &str,
) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    check_address(items, what)?;
    check_size(what, count, size_of::<T>())?;
    // SAFETY: by contract, `items` has `count` live items; the checks above exclude NULL, misalignment and
    // overflow.
    Ok(unsafe { std::slice::from_raw_parts(items, count) })
}

/// An architecture from text; NULL and the empty text are none.
///
/// # Safety
/// As for [`read_optional_text`].
pub(super) unsafe fn read_arch(text: *const c_char, what: &str) -> Result<Option<Arch>, Failure> {
    // SAFETY: by contract, `text` is NULL or NUL-terminated.
    unsafe { read_word(text, what) }
}

/// The GPU in a string, an architecture or a product; none if it is NULL or empty.
///
/// # Safety
/// As for [`read_optional_text`].
pub(super) unsafe fn read_gpu(text: *const c_char, what: &str) -> Result<Option<GpuName>, Failure> {
    // SAFETY: by contract, `text` is NULL or NUL-terminated.
    unsafe { read_word(text, what) }
}

/// # Safety
/// As for [`read_optional_text`].
unsafe fn read_word<T: FromStr<Err = UnknownWord>>(
    text: *const c_char,
    what: &str,
) -> Result<Option<T>, Failure> {
    // SAFETY: by contract, `text` is NULL or NUL-terminated.
    let text = unsafe { read_optional_text(text, what) }?;
    text.filter(|text| !text.is_empty())
        .map(|text| {
            text.parse()
                .map_err(|error| Failure::new(CkStatus::InvalidArgument, format_args!("{what}: {error}")))
        })
        .transpose()
}

/// A handle: C has the address of what it owns.
///
/// # Safety
/// Each such address is from [`give_handle`].
pub(super) unsafe trait Handle {
    type Owned;
    const NAME: &'static str;
}

/// Borrows what a handle owns for the call.
///
/// # Safety
/// `handle` is NULL, or was made by [`give_handle`] and is not destroyed as long as the result lives.
pub(super) unsafe fn read_handle<'a, H: Handle>(handle: *const H) -> Result<&'a H::Owned, Failure> {
    // SAFETY: by contract, `handle` is NULL or the address of an `Owned`.
    unsafe { handle.cast::<H::Owned>().as_ref() }.ok_or_else(|| Failure::null(H::NAME))
}

/// Makes a handle.
///
/// # Safety
/// `address` is NULL or valid for writing an address.
pub(super) unsafe fn give_handle<H: Handle>(
    address: *mut *mut H,
    owned: Box<H::Owned>,
) -> Result<(), Failure> {
    let address = output(address, H::NAME)?;
    // SAFETY: by contract, `address` is valid for writing.
    unsafe { write_output(address, Box::into_raw(owned).cast()) };
    Ok(())
}

/// Destroys a handle with what it owns.
///
/// # Safety
/// `handle` is NULL, or from [`give_handle`], and nobody uses it now or later.
pub(super) unsafe fn destroy<H: Handle>(handle: *mut H) {
    if !handle.is_null() {
        // SAFETY: by contract, it is from `give_handle`, so from `Box::into_raw`, and is destroyed once.
        drop(unsafe { Box::from_raw(handle.cast::<H::Owned>()) });
    }
}

/// The address of an output, or an error that names it.
pub(super) fn output<T>(address: *mut T, what: &str) -> Result<*mut T, Failure> {
    if address.is_null() { Err(Failure::null(what)) } else { Ok(address) }
}

/// Writes an output.
///
/// # Safety
/// `address` is valid for writing a `T`; it need not be aligned.
pub(super) unsafe fn write_output<T>(address: *mut T, value: T) {
    // SAFETY: by contract, `address` is valid for writing; it need not be aligned.
    unsafe { address.write_unaligned(value) };
}

/// Writes an output, or names the one that is NULL.
///
/// # Safety
/// `address` is NULL or valid for writing a `T`.
pub(super) unsafe fn give<T>(address: *mut T, what: &str, value: T) -> Result<(), Failure> {
    let address = output(address, what)?;
    // SAFETY: by contract.
    unsafe { write_output(address, value) };
    Ok(())
}

/// Writes an output that may be NULL.
///
/// # Safety
/// As for [`give`].
pub(super) unsafe fn give_optional<T>(address: *mut T, value: T) {
    if !address.is_null() {
        // SAFETY: by contract.
        unsafe { write_output(address, value) };
    }
}

/// Writes an output of many numbers.
///
/// # Safety
/// `address` is NULL, or points to as many doubles.
pub(super) unsafe fn write_values(address: *mut f64, what: &str, values: &[f64]) -> Result<(), Failure> {
    if !values.is_empty() {
        output(address, what)?;
    }
    for (index, &value) in values.iter().enumerate() {
        // SAFETY: by contract, `address` has room for all values.
        unsafe { write_output(address.wrapping_add(index), value) };
    }
    Ok(())
}

/// Looks a number up in a vocabulary. Words are plain integers, so that an unknown one is an error instead of
/// undefined behaviour; the header's enums are made of the vocabularies by `tests/header/main.rs`.
pub(super) fn word<T: Copy>(what: &str, number: i32, all: &[T], words: &[&str]) -> Result<T, Failure> {
    usize::try_from(number).ok().and_then(|number| all.get(number)).copied().ok_or_else(|| {
        let message = format!("{what} is {number}, expected 0 to {} ({})", all.len() - 1, words.join(", "));
        Failure::new(CkStatus::InvalidArgument, message)
    })
}
