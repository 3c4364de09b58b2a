//! Numbers of the text.
//!
//! Numbers are rounded correctly, as in LightGBM where scores depend on them.

/// A number that can be read from a text.
pub(super) trait Number: Copy {
    /// The number at the beginning of a text, and its length in bytes.
    fn read_first(text: &[u8]) -> Option<(Self, usize)>;

    /// The number, if all of these bytes are one.
    fn read(token: &[u8]) -> Option<Self> {
        Self::read_first(token).filter(|&(_, length)| length == token.len()).map(|(number, _)| number)
    }

    /// A number of a packed list, if it has this type.
    fn unpack(number: Unpacked) -> Option<Self>;
}

/// A list of numbers as bytes.
#[derive(Clone, Copy)]
pub(super) struct Packed<'a> {
    /// Bytes of an integer; `b` for bfloat16, `f` for single and `d` for double precision.
    pub(super) kind: u8,
    pub(super) bytes: &'a [u8],
}

/// A number of such a list.
pub(super) enum Unpacked {
    Integer(i64),
    Single(f32),
    Double(f64),
}

impl Packed<'_> {
    fn width(self) -> usize {
        match self.kind {
            b'b' => 2,
            b'f' => 4,
            b'd' => 8,
            width => usize::from(width).max(1),
        }
    }

    pub(super) fn len(self) -> usize {
        self.bytes.len().div_ceil(self.width())
    }

    /// The list's numbers with their shortest digits; `None` if they are damaged.
    pub(super) fn text(self) -> Option<String> {
        let mut numbers = Vec::new();
        let refused = self.each(usize::MAX, |_, number| {
            numbers.push(match number {
                Unpacked::Integer(value) => value.to_string(),
                Unpacked::Single(value) => format!("{:?}", f64::from(value)),
                Unpacked::Double(value) => format!("{value:?}"),
            });
            true
        });
        refused.is_none().then(|| numbers.join(" "))
    }

    /// Passes at most this many numbers to `put`, each with its index. Returns the index of the first that
    /// `put` refuses, or that is damaged.
    #[inline]
    pub(super) fn each(self, most: usize, mut put: impl FnMut(usize, Unpacked) -> bool) -> Option<usize> {
        // One loop per kind, without branches inside.
        macro_rules! each {
            ($number:ty, $unpacked:expr) => {{
                let (numbers, rest) = self.bytes.as_chunks();
                let mut index = 0;
                for &bytes in numbers.iter().take(most) {
                    if !put(index, $unpacked(<$number>::from_le_bytes(bytes))) {
                        return Some(index);
                    }
                    index += 1;
                }
                (index < most && !rest.is_empty()).then_some(index)
            }};
        }
        match self.kind {
            1 => each!(i8, |number| Unpacked::Integer(i64::from(number))),
            2 => each!(i16, |number| Unpacked::Integer(i64::from(number))),
            4 => each!(i32, |number| Unpacked::Integer(i64::from(number))),
            8 => each!(i64, Unpacked::Integer),
            b'b' => each!(u16, |number| Unpacked::Single(bfloat(number))),
            b'f' => each!(f32, Unpacked::Single),
            b'd' => each!(f64, Unpacked::Double),
            _ => Some(0),
        }
    }
}

/// A bfloat16: the upper half of a number in single precision, with seven bits of its fraction.
fn bfloat(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// More digits might not fit; LightGBM's integers have at most ten.
const MOST_DIGITS: usize = 18;

#[inline]
fn integer(text: &[u8]) -> Option<(i64, usize)> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    let (mut value, mut length) = (0_i64, 0);
    for digit in digits.iter().map(|byte| byte.wrapping_sub(b'0')).take_while(|&digit| digit < 10) {
        // Wraps only if there are too many digits.
        value = value.wrapping_mul(10).wrapping_add(i64::from(digit));
        length += 1;
    }
    let sign = text.len() - digits.len();
    (1..=MOST_DIGITS)
        .contains(&length)
        .then_some((if negative { value.wrapping_neg() } else { value }, sign + length))
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Number for $type {
            #[inline]
            fn read_first(text: &[u8]) -> Option<($type, usize)> {
                let (number, length) = integer(text)?;
                Some((number.try_into().ok()?, length))
            }

            #[inline]
            fn unpack(number: Unpacked) -> Option<$type> {
                match number {
                    Unpacked::Integer(value) => value.try_into().ok(),
                    Unpacked::Single(_) | Unpacked::Double(_) => None,
                }
            }
        }
    )*};
}

integers!(u8, i32, u32, usize);

macro_rules! floats {
    ($($type:ty: $($unpacked:ident),*);*) => {$(
        impl Number for $type {
            #[inline]
            fn read_first(text: &[u8]) -> Option<($type, usize)> {
                fast_float2::parse_partial(text).ok()
            }

            #[inline]
            fn unpack(number: Unpacked) -> Option<$type> {
                match number {
                    $(Unpacked::$unpacked(value) => Some(value.into()),)*
                    _ => None,
                }
            }
        }
    )*};
}

floats!(f64: Double, Single; f32: Single);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads a text alone, as a list of one, and between other numbers, which must have no effect.
    fn read<T: Number + std::fmt::Debug>(text: &str) -> Option<T> {
        let alone = T::read(text.as_bytes());
        if !text.is_empty() && !text.contains(' ') {
            let between = format!("-0.12345678901234567 1e-05 {text} 9.e+12345678");
            for number in [nth::<T>(text, 0), nth(&between, 2)] {
                // The debug form distinguishes the two zeros.
                assert_eq!(format!("{number:?}"), format!("{alone:?}"), "{text}");
            }
        }
        alone
    }

    fn nth<T: Number>(list: &str, index: usize) -> Option<T> {
        let token = list.split(' ').nth(index)?;
        let begin = token.as_ptr().addr() - list.as_ptr().addr();
        let (number, length) = T::read_first(&list.as_bytes()[begin..])?;
        (length == token.len()).then_some(number)
    }

    #[test]
    fn integers_end_where_their_digits_end() {
        for (text, expected) in [
            ("0", Some(0)),
            ("-12", Some(-12)),
            ("+7", Some(7)),
            ("7x", None),
            ("7 8", None),
            ("2147483647", Some(2_147_483_647)),
            ("2147483648", None),
            ("-2147483648", Some(-2_147_483_648)),
            ("000000000000000001", Some(1)),
            ("0000000000000000001", None),
            ("99999999999999999999", None),
            ("", None),
            ("-", None),
            ("--1", None),
            ("1-", None),
            (" 1", None),
        ] {
            assert_eq!(read::<i32>(text), expected, "{text}");
        }
        assert_eq!((read::<u8>("256"), read::<u32>("-1"), read("4294967295")), (None, None, Some(u32::MAX)));
        for text in ["-9223372036854775808", "9223372036854775808", "-99999999999999999999"] {
            assert_eq!(integer(text.as_bytes()), None, "{text}");
        }
    }

    /// Texts are the numbers, to the bit, that they are to the standard library.
    fn compare(text: &str) {
        assert_eq!(format!("{:?}", read::<f64>(text)), format!("{:?}", text.parse::<f64>().ok()), "{text}");
        assert_eq!(format!("{:?}", read::<f32>(text)), format!("{:?}", text.parse::<f32>().ok()), "{text}");
    }

    #[test]
    fn floats_are_read_in_every_spelling() {
        for text in [
            "1", "+1", "-0", ".5", "5.", "1e3", "1E+03", "1e+03", "-1.5e-07", "0e-30", "inf", "-Infinity",
            "nan", "1e400", "5e-324", "1.0000000180025095e-35", "0.00012345678901234567", "12345678.25", "",
            "-", "e5", "x1", " 1", ".", "1.2.3", "1e", "1e-", "1e-0x", "--1", "1-2", "e-05", "-e-05", "1:5",
            "1.5/",
        ] {
            compare(text);
        }
    }

    proptest! {
        #[test]
        fn only_numbers_are_numbers(text in "[-+]{0,2}[0-9.]{0,22}[.eE:x]{0,2}[-+]?[0-9]{0,3}") {
            compare(&text);
            prop_assert_eq!(read::<i32>(&text), text.parse::<i32>().ok());
        }
    }
}
