//! C's structs of problems and kernels, made from the same lines as ours.
//!
//! A struct has a member for each field of its record, in the order of the table. A type's form in C is its
//! [`AsC::C`]; what its numbers mean is added to the field's documentation in the header.

use std::cell::RefCell;
use std::ffi::{CStr, c_char};
use std::fmt;
use std::str::FromStr;

use super::error::Failure;
use super::input::{read_arch, read_optional_text, read_text};
use super::{CkStatus, input};
use crate::kernel::Mnk;
use crate::vocab::{
    Arch, ConvLayout, Direction, Dtype, Elementwise, Epilogue, GemmLayout, GemmLibrary, Major, Pipeline,
    QuantMode, Scheduler, Specialization, StreamKReduction, UnknownWord,
};
use ck_select_types::field::Field;

/// A value as C has it.
pub trait AsC: Sized {
    /// C's form of it.
    type C: Copy;

    /// The header's addition to a field's documentation; a text that ends with a colon stands before it.
    fn note() -> String {
        String::new()
    }

    /// The value for C, which may point into this one.
    fn to_c(&self) -> Self::C;
}

/// A record whose C struct is made of its table.
pub(super) trait Mirrored: AsC {
    /// The header's description of the struct.
    fn describe() -> CStruct;
}

/// A value that C gives.
pub(super) trait FromC: AsC {
    /// The value, or a failure that names the member and, if it is of the problem or kernel, has the status.
    ///
    /// # Safety
    /// Addresses in it are NULL or point to what the struct's documentation says.
    unsafe fn from_c(value: Self::C, member: Member<'_>) -> Result<Self, Failure>;
}

/// The member of a C struct that a value is from, for errors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member<'a> {
    /// The member's name.
    pub(super) name: &'a str,
    /// The fields of the member's record.
    pub(super) fields: &'static [Field],
    /// The status if the record cannot have the value.
    pub(super) status: CkStatus,
    /// A list for words that a newer version of CK may have added; without it, such words are failures.
    pub(super) unknown: Option<&'a RefCell<Vec<String>>>,
}

impl Member<'_> {
    /// A whole struct.
    pub(super) const fn whole(status: CkStatus) -> Self {
        Self { name: "", fields: &[], status, unknown: None }
    }

    /// A value that the record cannot have.
    pub(super) fn failure(&self, message: impl fmt::Display) -> Failure {
        Failure::new(self.status, message)
    }

    /// The numbers that are valid, of each of its parts.
    fn accepted(&self) -> String {
        let field = self.fields.iter().find(|field| field.member == self.name);
        field.map_or_else(String::new, Field::accepted)
    }
}

/// A struct as the C header and the bindings declare it.
#[derive(Debug)]
pub struct CStruct {
    /// The struct's Rust name.
    pub name: &'static str,
    /// The struct's documentation.
    pub doc: String,
    /// The struct's size and alignment.
    pub layout: [usize; 2],
    /// The struct's fields.
    pub fields: Vec<CField>,
}

/// A member of such a struct.
#[derive(Debug)]
pub struct CField {
    /// The field's name.
    pub name: &'static str,
    /// The field's Rust type.
    pub rust: &'static str,
    /// The field's documentation.
    pub doc: String,
    /// The field's offset in bytes.
    pub offset: usize,
    /// Whether the field is one of the record's; one that is nested has fields of its own.
    pub is_field: bool,
}

/// A field's documentation with what its numbers mean.
pub(super) fn documented<T: AsC>(doc: &str) -> String {
    let note = T::note();
    if note.ends_with(':') {
        let (first, rest) = doc.split_at(1);
        // After a colon a sentence begins with a small letter, unless with an operand's name.
        let begins_with_name = rest.starts_with(' ');
        let first = if begins_with_name { first.to_owned() } else { first.to_lowercase() };
        return format!("{note} {first}{rest}");
    }
    [doc, &note].join(" ").trim_end().to_owned()
}

/// Declares C's struct of a record; the record's own macro passes the lines (see `fields!` in
/// `ck-select-types`). In front of the fields are those in brackets, after them the reserved ones.
macro_rules! mirror {
    (
        $(#[doc = $about:literal])+
        $c:ident $(sized $c_name:literal $(at least $least:expr)?)?,
        [$($more:ident: $mtype:ty = $mvalue:expr, $mdoc:literal;)*] [$($reserved:ident)?]
        $record:ident
        fields { $($field:ident: $type:ty, $doc:literal;)+ }
        beside { $($other:ident: $otype:ty, $odoc:literal;)* }
    ) => {
        $(#[doc = $about])+
        #[repr(C)]
        #[derive(Debug, Clone, Copy)]
        pub struct $c {
            $(#[doc = $mdoc] pub $more: $mtype,)*
            $(#[doc = $odoc] pub $other: <$otype as $crate::ffi::mirror::AsC>::C,)*
            $(#[doc = $doc] pub $field: <$type as $crate::ffi::mirror::AsC>::C,)+
            $(#[doc = "Must be 0."] pub $reserved: i32,)?
        }

        // A field that is appended must make it larger, so nothing may be hidden behind the last one.
        const _: () = {
            let ends = [
                $(std::mem::offset_of!($c, $field) + size_of::<<$type as $crate::ffi::mirror::AsC>::C>(),)+
                $(std::mem::offset_of!($c, $reserved) + size_of::<i32>(),)?
            ];
            let is_full = matches!(ends.last(), Some(end) if *end == size_of::<$c>());
            assert!(is_full, concat!(stringify!($c), ": its second bracket is `[reserved]` where 4 bytes are free at its end, else `[]`"));
        };

        $(
            // SAFETY: `repr(C)`, begins with its size, and holds only integers and addresses.
            unsafe impl $crate::ffi::input::Versioned for $c {
                const NAME: &'static str = $c_name;
                const LEAST: usize = [$($least,)? size_of::<Self>()][0];
            }
        )?

        impl $crate::ffi::mirror::AsC for $record {
            type C = $c;

            fn to_c(&self) -> $c {
                $c {
                    $($more: $mvalue,)*
                    $($other: self.$other.to_c(),)*
                    $($field: self.$field.to_c(),)+
                    $($reserved: 0,)?
                }
            }
        }

        impl $crate::ffi::mirror::FromC for $record {
            unsafe fn from_c(
                value: $c,
                member: $crate::ffi::mirror::Member<'_>,
            ) -> Result<Self, $crate::ffi::error::Failure> {
                $($crate::ffi::input::check_reserved("", value.$reserved)?;)?
                let fields = <$record as ck_select_types::field::Record>::FIELDS;
                let named = |name| $crate::ffi::mirror::Member { name, fields, ..member };
                // SAFETY: by contract.
                unsafe {
                    Ok($record {
                        $($field: FromC::from_c(value.$field, named(stringify!($field)))?,)+
                        $($other: FromC::from_c(value.$other, named(stringify!($other)))?,)*
                    })
                }
            }
        }

        impl $crate::ffi::mirror::Mirrored for $record {
            fn describe() -> $crate::ffi::mirror::CStruct {
                use $crate::ffi::mirror::{CField, CStruct, documented};
                use std::any::type_name;
                use std::mem::offset_of;

                let field = |name, rust, doc, offset| CField { name, rust, doc, offset, is_field: false };
                let own = |field| CField { is_field: true, ..field };
                CStruct {
                    name: stringify!($c),
                    doc: concat!($($about, "\n"),+).to_owned(),
                    layout: [size_of::<$c>(), align_of::<$c>()],
                    fields: vec![
                        $(field(
                            stringify!($more),
                            type_name::<$mtype>(),
                            $mdoc.to_owned(),
                            offset_of!($c, $more),
                        ),)*
                        $(field(
                            stringify!($other),
                            type_name::<<$otype as AsC>::C>(),
                            documented::<$otype>($odoc),
                            offset_of!($c, $other),
                        ),)*
                        $(own(field(
                            stringify!($field),
                            type_name::<<$type as AsC>::C>(),
                            documented::<$type>($doc),
                            offset_of!($c, $field),
                        )),)+
                        $(field(
                            stringify!($reserved),
                            "i32",
                            "Must be 0.".to_owned(),
                            offset_of!($c, $reserved),
                        ),)?
                    ],
                }
            }
        }
    };
}

pub(super) use mirror;

impl AsC for i64 {
    type C = i64;

    fn to_c(&self) -> i64 {
        *self
    }
}

impl FromC for i64 {
    #[inline]
    unsafe fn from_c(value: i64, _: Member<'_>) -> Result<Self, Failure> {
        Ok(value)
    }
}

impl AsC for bool {
    type C = i32;

    fn note() -> String {
        "Not 0:".to_owned()
    }

    fn to_c(&self) -> i32 {
        (*self).into()
    }
}

impl FromC for bool {
    #[inline]
    unsafe fn from_c(value: i32, _: Member<'_>) -> Result<Self, Failure> {
        Ok(value != 0)
    }
}

/// Whole numbers of 32 bits or fewer.
macro_rules! small {
    ($($type:ty),+) => {$(
        impl AsC for $type {
            type C = i32;

            #[allow(clippy::cast_lossless, reason = "not of all of them")]
            fn to_c(&self) -> i32 {
                *self as i32
            }
        }

        impl FromC for $type {
            #[inline]
            unsafe fn from_c(value: i32, member: Member<'_>) -> Result<Self, Failure> {
                let refused = |_| {
                    member.failure(format_args!("{} is {value}, expected {}", member.name, member.accepted()))
                };
                Self::try_from(value).map_err(refused)
            }
        }
    )+};
}

impl AsC for i32 {
    type C = Self;

    fn to_c(&self) -> Self {
        *self
    }
}

impl FromC for i32 {
    #[inline]
    unsafe fn from_c(value: Self, _: Member<'_>) -> Result<Self, Failure> {
        Ok(value)
    }
}

/// Words that are numbers in C, and what the header calls them; otherwise it lists them.
macro_rules! numbered {
    ($($type:ty = $named:literal;)+) => {$(
        impl AsC for $type {
            type C = i32;

            fn note() -> String {
                if !$named.is_empty() {
                    return $named.to_owned();
                }
                let places = Self::WORDS.iter().enumerate().map(|(index, word)| format!("{index} {word}"));
                places.collect::<Vec<_>>().join(", ") + "."
            }

            fn to_c(&self) -> i32 {
                *self as i32
            }
        }

        impl FromC for $type {
            #[inline]
            unsafe fn from_c(value: i32, member: Member<'_>) -> Result<Self, Failure> {
                input::word(member.name, value, Self::ALL, Self::WORDS)
            }
        }
    )+};
}

/// Words that are words in C, too, because CK adds some with each version.
pub(super) trait Spelled: FromStr<Err = UnknownWord> {
    /// The word that stands in for one that this library does not know when a registry checks whether a kernel fits a
    /// problem; `None` if another word is another operation.
    const STAND_IN: Option<Self>;

    fn spelled(&self) -> &'static CStr;
}

macro_rules! spelled {
    ($($type:ty = $stand_in:expr;)+) => {$(
        impl Spelled for $type {
            const STAND_IN: Option<Self> = $stand_in;

            fn spelled(&self) -> &'static CStr {
                self.as_c_str()
            }
        }

        impl AsC for $type {
            type C = *const c_char;

            fn to_c(&self) -> *const c_char {
                self.as_c_str().as_ptr()
            }
        }

        impl FromC for $type {
            unsafe fn from_c(text: *const c_char, member: Member<'_>) -> Result<Self, Failure> {
                // SAFETY: by contract.
                parsed(unsafe { read_text(text, member.name) }?, member)
            }
        }
    )+};
}

pub(super) fn parsed<T: Spelled>(text: &str, member: Member<'_>) -> Result<T, Failure> {
    text.parse().or_else(|error: UnknownWord| match (T::STAND_IN, member.unknown) {
        (Some(stand_in), Some(unknown)) => {
            unknown.borrow_mut().push(error.to_string());
            Ok(stand_in)
        }
        _ => Err(member.failure(format_args!("{}: {error}", member.name))),
    })
}

impl<T: Spelled> AsC for Option<T> {
    type C = *const c_char;

    fn note() -> String {
        "NULL for none.".to_owned()
    }

    fn to_c(&self) -> *const c_char {
        self.as_ref().map_or(std::ptr::null(), |word| word.spelled().as_ptr())
    }
}

impl<T: Spelled> FromC for Option<T> {
    unsafe fn from_c(text: *const c_char, member: Member<'_>) -> Result<Self, Failure> {
        // SAFETY: by contract.
        unsafe { read_optional_text(text, member.name) }?.map(|text| parsed(text, member)).transpose()
    }
}

/// Callbacks get no architecture: they belong to a kernel that has one.
impl AsC for Option<Arch> {
    type C = *const c_char;

    fn note() -> String {
        "NULL if unknown.".to_owned()
    }

    fn to_c(&self) -> *const c_char {
        std::ptr::null()
    }
}

impl FromC for Option<Arch> {
    unsafe fn from_c(text: *const c_char, member: Member<'_>) -> Result<Self, Failure> {
        // SAFETY: by contract.
        unsafe { read_arch(text, member.name) }
    }
}

/// No text of a kernel goes to C.
impl AsC for String {
    type C = *const c_char;

    fn note() -> String {
        "NULL for none.".to_owned()
    }

    fn to_c(&self) -> *const c_char {
        std::ptr::null()
    }
}

impl FromC for String {
    unsafe fn from_c(text: *const c_char, member: Member<'_>) -> Result<Self, Failure> {
        // SAFETY: by contract.
        Ok(unsafe { read_optional_text(text, member.name) }?.unwrap_or_default().to_owned())
    }
}

impl<T: AsC, const N: usize> AsC for [T; N] {
    type C = [T::C; N];

    fn note() -> String {
        T::note()
    }

    fn to_c(&self) -> [T::C; N] {
        self.each_ref().map(T::to_c)
    }
}

impl<T: FromC + Copy, const N: usize> FromC for [T; N] {
    unsafe fn from_c(values: [T::C; N], member: Member<'_>) -> Result<Self, Failure> {
        // SAFETY: by contract.
        let first = unsafe { T::from_c(values[0], member) }?;
        let mut read = [first; N];
        for (read, value) in read.iter_mut().zip(values) {
            // SAFETY: by contract.
            *read = unsafe { T::from_c(value, member) }?;
        }
        Ok(read)
    }
}

/// Types that are an array of others.
macro_rules! arrays {
    ($($type:ty as [$of:ty; $count:literal], $note:literal, $to:expr, $from:expr;)+) => {$(
        impl AsC for $type {
            type C = <[$of; $count] as AsC>::C;

            fn note() -> String {
                $note.to_owned()
            }

            fn to_c(&self) -> Self::C {
                let to: fn(&Self) -> [$of; $count] = $to;
                to(self).to_c()
            }
        }

        impl FromC for $type {
            #[inline]
            unsafe fn from_c(value: Self::C, member: Member<'_>) -> Result<Self, Failure> {
                let from: fn([$of; $count]) -> Self = $from;
                // SAFETY: by contract.
                unsafe { FromC::from_c(value, member) }.map(from)
            }
        }
    )+};
}

pub(super) use {arrays, numbered, spelled};

small! { u8, u16, u32 }

numbered! {
    Direction = "A `ck_direction`.";
    Dtype = "A `ck_dtype`.";
    Major = "A `ck_major`.";
    ConvLayout = "A `ck_conv_layout`.";
    GemmLibrary = "";
}

spelled! {
    Pipeline = Some(Self::CompV3);
    Scheduler = Some(Self::Intrawave);
    Epilogue = Some(Self::CShuffle);
    Specialization = Some(Self::Default);
    StreamKReduction = Some(Self::Atomic);
    Elementwise = None;
    QuantMode = None;
}

arrays! {
    GemmLayout as [Major; 3], "A `ck_major` each.", |layout| [layout.a, layout.b, layout.c],
        |[a, b, c]| Self { a, b, c };
    Mnk as [u32; 3], "", |shape| [shape.m, shape.n, shape.k], |[m, n, k]| Self::new(m, n, k);
    Option<Mnk> as [u32; 3], "m, n, k; zeros for the usual ones.",
        |shape| shape.map_or([0; 3], |shape| [shape.m, shape.n, shape.k]),
        |[m, n, k]| Some(Mnk::new(m, n, k)).filter(|shape| *shape != Mnk::new(0, 0, 0));
}
