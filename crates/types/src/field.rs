//! Fields of problems and kernels: one line each, from which text, tables, JSON, cache keys and messages are
//! made.
//!
//! A record (`ConvProblem`, `FmhaKernel` …) is declared by `fields!`, a line a field. To everything generic, a record
//! is then its [`Record::FIELDS`] and as many whole numbers: a word counts as its index in its vocabulary, a flag as
//! 0 or 1, an axis as a field of its own.

#![allow(clippy::inline_always, reason = "a key for the decision cache is most of a repeated selection")]

use std::fmt;
use std::str::FromStr as _;

use crate::cells::{self, Fields};
pub use crate::invalid::InvalidField;
use crate::invalid::UnknownWord;
use crate::shape::Mnk;

/// The number of parts that stands for a choice, in text [`Field::zero`].
pub const AUTO: i32 = 0;

/// Largest accepted extent: CK narrows every dimension to 32 bits before a launch.
pub const MAX_EXTENT: i64 = i32::MAX as i64;

/// A field as text, tables and messages know it.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// The member of the field's record; a member of several parts has a field for each part.
    pub member: &'static str,
    /// The field's name.
    pub name: &'static str,
    /// Other names that are read and never printed.
    pub aliases: &'static [&'static str],
    /// How the field's number is written.
    pub kind: Kind,
    /// The smallest number that is valid.
    pub least: i64,
    /// The largest.
    pub most: i64,
    /// The numbers that the field's type can hold.
    pub(crate) range: [i64; 2],
    /// Whether text leaves it out where it has its default.
    pub omitted: bool,
    /// The word for 0, where that is no number.
    pub zero: Option<&'static str>,
    /// The field's meaning, in a sentence.
    pub doc: &'static str,
}

impl Field {
    /// A field of a type, still without a name.
    pub(crate) const fn holding<T: Value>() -> Self {
        let kind = T::KINDS[0];
        Self {
            member: "",
            name: "",
            aliases: &[],
            kind,
            least: 0,
            most: MAX_EXTENT,
            range: T::RANGE,
            omitted: false,
            zero: None,
            doc: "",
        }
    }

    /// All its names, its own first.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    /// Whether the field is a number that can be larger or smaller.
    pub const fn is_number(&self) -> bool {
        matches!(self.kind, Kind::Number | Kind::Flag)
    }

    /// The words of a field that holds one.
    pub const fn words(&self) -> Option<&'static [&'static str]> {
        match self.kind {
            Kind::Word(vocabulary) => Some(vocabulary.words),
            _ => None,
        }
    }

    /// A value as text.
    pub fn text(&self, value: i64) -> String {
        match self.kind {
            Kind::Number | Kind::Flag => match self.zero {
                Some(word) if value == 0 => word.to_owned(),
                _ => value.to_string(),
            },
            Kind::Word(vocabulary) => {
                let word =
                    usize::try_from(value).ok().and_then(|word_index| vocabulary.words.get(word_index));
                word.copied().unwrap_or_default().to_owned()
            }
            Kind::Shape => Mnk::from_bits(value).map_or_else(String::new, |shape| shape.to_string()),
        }
    }

    /// A value as errors show it: a word in quotes.
    pub fn shown(&self, value: i64) -> String {
        if self.is_number() { self.text(value) } else { format!("'{}'", self.text(value)) }
    }

    /// The number of a word, if the field holds words and has this one.
    pub fn code(&self, word: &str) -> Option<i64> {
        match self.kind {
            Kind::Word(vocabulary) => (vocabulary.code)(word).ok(),
            _ => None,
        }
    }

    /// Refuses a number that the field's type cannot hold; whether it is valid is for the record to say.
    pub(crate) fn held(&self, name: &str, value: i64) -> Result<i64, InvalidField> {
        let is_held = (self.range[0]..=self.range[1]).contains(&value);
        if is_held { Ok(value) } else { Err(InvalidField::new(name, value, self.accepted())) }
    }

    /// The numbers that are valid, as an error names them.
    pub fn accepted(&self) -> String {
        match self.zero {
            Some(word) => format!("{word}, or {} to {}", self.least + 1, self.most),
            None => format!("{} to {}", self.least, self.most),
        }
    }

    /// The value of a cell under one of the field's names.
    pub(crate) fn read(&self, name: &str, fields: &dyn Fields) -> Result<Option<i64>, InvalidField> {
        match self.kind {
            Kind::Number => match self.zero {
                Some(zero) if matches!(fields.cell(name), Some(cells::Cell::Word(word)) if word == zero) => {
                    Ok(Some(0))
                }
                Some(zero) => {
                    let read = cells::whole(fields, name).map_err(|fault| InvalidField {
                        expected: format!("{}, or {zero}", fault.expected),
                        ..fault
                    });
                    read?.map(|value| self.held(name, value)).transpose()
                }
                None => cells::whole(fields, name)?.map(|value| self.held(name, value)).transpose(),
            },
            Kind::Flag => Ok(cells::flag(fields, name)?.map(i64::from)),
            Kind::Word(vocabulary) => cells::word(fields, name, vocabulary.code),
            Kind::Shape => {
                let Some(text) = cells::text(fields, name)? else { return Ok(None) };
                let expected = "three numbers joined by 'x', such as 1x1x128";
                let shape = Mnk::from_str(text)
                    .map_err(|_| InvalidField::new(name, format_args!("'{text}'"), expected))?;
                Ok(Some(shape.bits()))
            }
        }
    }
}

/// How a field's number is written.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// Digits.
    Number,
    /// 0 or 1.
    Flag,
    /// The word with that index; negative where there is none.
    Word(&'static Vocabulary),
    /// `MxNxK`; negative where there is none.
    Shape,
}

/// The words of a field.
#[derive(Debug)]
pub struct Vocabulary {
    /// The words, by their numbers.
    pub words: &'static [&'static str],
    /// The number of a word.
    pub code: fn(&str) -> Result<i64, UnknownWord>,
}

/// A type that a field may have.
pub trait Value: Copy {
    /// The number of fields that tables and text have for the value: three for axes.
    const PARTS: usize = 1;
    /// How the value's fields are written: all alike, or each in its own way.
    const KINDS: &'static [Kind];
    /// How many bits distinguish all valid values, shifted by one where -1 is valid.
    const BITS: usize;
    /// The smallest and the largest number that it can hold.
    const RANGE: [i64; 2] = [i64::MIN, i64::MAX];

    /// The value's numbers.
    fn write(self, parts: &mut [i64]);

    /// The value of such numbers, all of [`Value::RANGE`].
    fn read(parts: &[i64]) -> Self;
}

/// A type of one number, none of which is negative.
pub trait Single: Value {}

macro_rules! numbers {
    ($($type:ty, $bits:literal;)+) => {$(
        impl Value for $type {
            const KINDS: &'static [Kind] = &[Kind::Number];
            const BITS: usize = $bits;
            const RANGE: [i64; 2] = [<$type>::MIN as i64, <$type>::MAX as i64];

            #[inline(always)]
            fn write(self, parts: &mut [i64]) {
                parts[0] = self.into();
            }

            #[inline]
            fn read(parts: &[i64]) -> Self {
                parts[0] as Self
            }
        }
    )+};
}

// All extents are below 2^31; a window may be -1.
numbers! { i64, 32; i32, 32; u32, 32; u16, 17; u8, 9; }

impl Value for bool {
    const KINDS: &'static [Kind] = &[Kind::Flag];
    const BITS: usize = 2;

    #[inline(always)]
    fn write(self, parts: &mut [i64]) {
        parts[0] = self.into();
    }

    #[inline]
    fn read(parts: &[i64]) -> Self {
        parts[0] != 0
    }
}

impl<T: Value, const N: usize> Value for [T; N] {
    const PARTS: usize = N;
    const KINDS: &'static [Kind] = T::KINDS;
    const BITS: usize = T::BITS;
    const RANGE: [i64; 2] = T::RANGE;

    #[inline(always)]
    fn write(self, parts: &mut [i64]) {
        for (axis, value) in self.into_iter().enumerate() {
            value.write(&mut parts[axis..]);
        }
    }

    #[inline]
    fn read(parts: &[i64]) -> Self {
        std::array::from_fn(|axis| T::read(&parts[axis..]))
    }
}

/// An optional value; `None` is the number -1.
impl<T: Single> Value for Option<T> {
    const KINDS: &'static [Kind] = T::KINDS;
    const BITS: usize = T::BITS;

    #[inline(always)]
    fn write(self, parts: &mut [i64]) {
        parts[0] = -1;
        if let Some(value) = self {
            value.write(parts);
        }
    }

    #[inline]
    fn read(parts: &[i64]) -> Self {
        (parts[0] >= 0).then(|| T::read(parts))
    }
}

/// A shape of a problem or of scales is one word, which may be absent.
impl Value for Option<Mnk> {
    const KINDS: &'static [Kind] = &[Kind::Shape];
    const BITS: usize = 64;

    #[inline(always)]
    fn write(self, parts: &mut [i64]) {
        parts[0] = self.map_or(-1, Mnk::bits);
    }

    #[inline]
    fn read(parts: &[i64]) -> Self {
        Mnk::from_bits(parts[0])
    }
}

/// A shape of a kernel is three numbers.
impl Value for Mnk {
    const PARTS: usize = 3;
    const KINDS: &'static [Kind] = &[Kind::Number];
    const BITS: usize = 32;
    const RANGE: [i64; 2] = u32::RANGE;

    #[inline(always)]
    fn write(self, parts: &mut [i64]) {
        [self.m, self.n, self.k].write(parts);
    }

    #[inline]
    fn read(parts: &[i64]) -> Self {
        let [m, n, k] = Value::read(parts);
        Self::new(m, n, k)
    }
}

/// A value of plain fields, declared by `fields!`.
pub trait Record: Sized {
    /// The record's fields, in the order of text.
    const FIELDS: &'static [Field];
    /// The record of a text without any field, as far as fields have defaults.
    const USUAL: Self;

    /// The numbers of [`Record::FIELDS`].
    fn write(&self, values: &mut [i64]);

    /// The record with these numbers, and its other members from `beside`.
    fn read(values: &[i64], beside: &Self) -> Self;

    /// Appends the numbers to a key: equal records have equal keys, different valid ones different keys.
    fn pack(&self, key: &mut Key);
}

/// The most fields that a record has, so that their numbers fit into an array.
pub const MOST_FIELDS: usize = 64;

/// The numbers of a record's fields; those behind the last are 0.
pub fn values<R: Record>(record: &R) -> [i64; MOST_FIELDS] {
    let mut values = [0; MOST_FIELDS];
    record.write(&mut values);
    values
}

/// The index of a field by any of its names.
pub fn position(fields: &[Field], name: &str) -> Option<usize> {
    fields.iter().position(|field| field.name == name || field.aliases.contains(&name))
}

/// The indices of the fields with these columns' names, computed when compiling; a column that is no field does not
/// compile.
pub(crate) const fn positions<const N: usize>(fields: &[Field], columns: &[&str; N]) -> [usize; N] {
    let mut positions = [0; N];
    let mut at = 0;
    while at < N {
        let mut index = 0;
        while !is_name(&fields[index], columns[at]) {
            index += 1;
        }
        positions[at] = index;
        at += 1;
    }
    positions
}

const fn is_name(field: &Field, name: &str) -> bool {
    let mut is = same(field.name, name);
    let mut at = 0;
    while at < field.aliases.len() {
        is |= same(field.aliases[at], name);
        at += 1;
    }
    is
}

const fn same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// A record with these fields as records usually have them.
pub(crate) fn usual_in<R: Record>(record: &R, names: &[&str]) -> R {
    let (mut values, usual) = (values(record), values(&R::USUAL));
    for index in names.iter().filter_map(|name| position(R::FIELDS, name)) {
        values[index] = usual[index];
    }
    R::read(&values, record)
}

/// Checks that every number is within its field's bounds.
pub(crate) fn validate_numbers<R: Record>(record: &R) -> Result<(), InvalidField> {
    for (field, value) in R::FIELDS.iter().zip(values(record)) {
        if matches!(field.kind, Kind::Number) && !(field.least..=field.most).contains(&value) {
            return Err(InvalidField::new(field.name, value, field.accepted()));
        }
    }
    Ok(())
}

/// Writes `name=value` pairs, without fields that are omitted where they have their default.
pub(crate) fn write_pairs<R: Record>(record: &R, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (values, usual) = (values(record), values(&R::USUAL));
    let mut comma = "";
    for ((field, value), usual) in R::FIELDS.iter().zip(values).zip(usual) {
        if field.omitted && value == usual {
            continue;
        }
        match field.kind {
            Kind::Number | Kind::Flag if field.zero.is_none() => write!(f, "{comma}{}={value}", field.name)?,
            _ => write!(f, "{comma}{}={}", field.name, field.text(value))?,
        }
        comma = ",";
    }
    Ok(())
}

/// A key under construction: numbers one behind the other, none across two words.
#[derive(Debug)]
pub struct Key {
    words: [u64; Key::WORDS],
    at: usize,
    overflow: u64,
}

impl Key {
    /// How many words a key has.
    pub const WORDS: usize = 14;

    #[inline(always)]
    pub(crate) const fn new() -> Self {
        Self { words: [0; Self::WORDS], at: 0, overflow: 0 }
    }

    /// Appends a number of at least -1 and fewer bits than these.
    #[inline(always)]
    pub(crate) const fn push(&mut self, value: i64, bits: usize) {
        if self.at / 64 != (self.at + bits - 1) / 64 {
            self.at = self.at.next_multiple_of(64);
        }
        let value = (value as u64).wrapping_add(1);
        if bits < 64 {
            self.overflow |= value >> bits;
        }
        self.words[self.at / 64] |= value << (self.at % 64);
        self.at += bits;
    }

    #[inline(always)]
    pub(crate) fn short_text(&mut self, text: Option<&str>) {
        self.at = self.at.next_multiple_of(64);
        let bytes = text.map_or(Some([0; 8]), |text| {
            let mut bytes = [0; 8];
            bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
            Some(bytes)
        });
        self.overflow |= u64::from(bytes.is_none());
        self.words[self.at / 64] = u64::from_le_bytes(bytes.unwrap_or_default());
        self.at += 64;
    }

    /// The key, if every number fitted.
    #[inline(always)]
    pub(crate) const fn finish(self) -> Option<[u64; Self::WORDS]> {
        if self.overflow == 0 { Some(self.words) } else { None }
    }
}

/// Declares a record, a line a field: its type and default, the least and the largest valid number (`min`,
/// `max`), its `names` in text (one for each part; after `|` further names that are read), and what it means.
/// `omit` leaves it out of text where it has its default; `0 is` gives the word for 0. A `nested` record's
/// fields follow; what is `beside` is no field.
///
/// ```text
/// fields! {
///     ConvProblem by conv_problem {
///         n: i64 = 1, min: 1, names: ["N"], "Images.";
///         pad: [i64; 3] = [0; 3], min: 0, names: ["pad_d", "pad_h", "pad_w"] omit, "Padding before an axis.";
///     }
///     nested {}
///     beside { arch: Option<Arch> = None, "The architecture that will run it, when known."; }
/// }
/// ```
///
/// A crate above needs the lines, too: the C boundary makes its struct of them. Macros cannot be read from
/// another crate, so each record exports one (`conv_problem!`) that hands its lines to whatever macro is named
/// in its call.
macro_rules! fields {
    (
        $(#[$meta:meta])*
        $record:ident by $table:ident {
            $($field:ident: $type:ty = $usual:expr, min: $least:literal $(, max: $most:expr)?,
                names: [$($name:literal $(| $alias:literal)* $(: $part:literal)? $((0 is $zero:literal))?),+]
                $($omit:ident)?, $doc:literal;)+
        }
        nested { $($inner:ident: $nested:ty, $idoc:literal;)? }
        beside { $($other:ident: $otype:ty = $ousual:expr, $odoc:literal;)* }
    ) => {
        $crate::field::exported! {
            ($) $table
            $record
            fields { $($field: $type, $doc;)+ $($inner: $nested, $idoc;)? }
            beside { $($other: $otype, $odoc;)* }
        }

        $(#[$meta])*
        pub struct $record {
            $(#[doc = $doc] pub $field: $type,)+
            $(#[doc = $idoc] pub $inner: $nested,)?
            $(#[doc = $odoc] pub $other: $otype,)*
        }

        impl $record {
            /// The record of a text without any field, as far as fields have defaults.
            pub const USUAL: Self = Self {
                $($field: $usual,)+
                $($inner: <$nested>::USUAL,)?
                $($other: $ousual,)*
            };
        }

        impl $crate::field::Record for $record {
            const FIELDS: &'static [$crate::field::Field] = {
                // What stands behind a line's names is its own repetition, so each line is a list first.
                const LINES: &[$crate::field::Line] = &[
                    $((
                        &[$($crate::field::Field {
                            member: stringify!($field),
                            name: $name,
                            aliases: &[$($alias),*],
                            least: $least,
                            zero: [$(Some($zero),)? None][0],
                            doc: [$($part,)? $doc][0],
                            ..$crate::field::Field::holding::<$type>()
                        }),+],
                        <$type as $crate::field::Value>::KINDS,
                        [$($most as i64,)? $crate::field::MAX_EXTENT][0],
                        [$(stringify!($omit),)? ""].len() > 1,
                    ),)+
                    $((<$nested as $crate::field::Record>::FIELDS, &[], 0, true),)?
                ];
                &$crate::field::joined::<{ $crate::field::count(LINES) }>(LINES)
            };
            const USUAL: Self = <$record>::USUAL;

            #[inline]
            fn write(&self, values: &mut [i64]) {
                let mut at = 0;
                $(
                    $crate::field::Value::write(self.$field, &mut values[at..]);
                    at += <$type as $crate::field::Value>::PARTS;
                )+
                $($crate::field::Record::write(&self.$inner, &mut values[at..]);)?
                let _ = at;
            }

            #[allow(unused_assignments, reason = "the place behind the last field")]
            fn read(values: &[i64], beside: &Self) -> Self {
                let mut at = 0;
                $(
                    let $field = <$type as $crate::field::Value>::read(&values[at..]);
                    at += <$type as $crate::field::Value>::PARTS;
                )+
                $(let $inner = $crate::field::Record::read(&values[at..], &beside.$inner);)?
                let _ = beside;
                Self { $($field,)+ $($inner,)? $($other: beside.$other.clone(),)* }
            }

            #[inline(always)]
            #[allow(clippy::inline_always, reason = "positions in a key are known when compiling")]
            fn pack(&self, key: &mut $crate::field::Key) {
                $({
                    let mut parts = [0; <$type as $crate::field::Value>::PARTS];
                    $crate::field::Value::write(self.$field, &mut parts);
                    for part in parts {
                        key.push(part, <$type as $crate::field::Value>::BITS);
                    }
                })+
                $($crate::field::Record::pack(&self.$inner, key);)?
            }
        }
    };
}

/// The macro by which crates above see a record's lines: `table! { other head }` is `other! { head lines }`.
macro_rules! exported {
    (($dollar:tt) $table:ident $($lines:tt)*) => {
        #[doc(hidden)]
        #[macro_export]
        macro_rules! $table {
            ($dollar other:ident $dollar($dollar head:tt)*) => {
                $dollar other! { $dollar($dollar head)* $($lines)* }
            };
        }
    };
}

pub(crate) use {exported, fields};

/// A line's fields, how each is written (in the same way, if there is but one), the largest valid number, and
/// whether text omits them.
pub(crate) type Line = (&'static [Field], &'static [Kind], i64, bool);

/// How many fields lines have.
pub(crate) const fn count(lines: &[Line]) -> usize {
    let (mut count, mut line) = (0, 0);
    while line < lines.len() {
        count += lines[line].0.len();
        line += 1;
    }
    count
}

/// The fields of lines.
pub(crate) const fn joined<const N: usize>(lines: &[Line]) -> [Field; N] {
    let mut all = [lines[0].0[0]; N];
    let (mut at, mut line) = (0, 0);
    while line < lines.len() {
        let (fields, kinds, most, omitted) = lines[line];
        let mut part = 0;
        while part < fields.len() {
            all[at] = fields[part];
            all[at].omitted = omitted;
            // A nested record's fields are complete.
            if !kinds.is_empty() {
                all[at].kind = kinds[part % kinds.len()];
                let held = all[at].range[1];
                all[at].most = if most < held { most } else { held };
            }
            at += 1;
            part += 1;
        }
        line += 1;
    }
    all
}
