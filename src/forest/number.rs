//! Numbers as the text writes them.

/// A number that can be read from the beginning of some bytes. Lists are millions of numbers long, so the end of a
/// number is found by reading it and not before.
pub(super) trait Number: Copy {
    /// The number, and how many bytes it takes. Whether another may follow there is for the caller to see.
    fn read(bytes: &[u8]) -> Option<(Self, usize)>;
}

/// More digits might not fit; LightGBM's integers have at most ten.
const MOST_DIGITS: usize = 18;

fn integer(bytes: &[u8]) -> Option<(i64, usize)> {
    let sign = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
    let mut value = 0;
    let mut used = sign;
    while let Some(digit) = bytes.get(used).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit <= 9) {
        if used == sign + MOST_DIGITS {
            return None;
        }
        value = value * 10 + i64::from(digit);
        used += 1;
    }
    let value = if bytes.first() == Some(&b'-') { -value } else { value };
    (used > sign).then_some((value, used))
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Number for $type {
            fn read(bytes: &[u8]) -> Option<($type, usize)> {
                let (value, used) = integer(bytes)?;
                Some((value.try_into().ok()?, used))
            }
        }
    )*};
}

integers!(u8, i32, u32, usize);

macro_rules! floats {
    ($($type:ty),*) => {$(
        impl Number for $type {
            /// Correctly rounded, as LightGBM reads what scores depend on.
            fn read(bytes: &[u8]) -> Option<($type, usize)> {
                fast_float2::parse_partial(bytes).ok()
            }
        }
    )*};
}

floats!(f32, f64);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn integers_end_where_their_digits_end() {
        let cases = [
            ("0", Some((0, 1))),
            ("-12 3", Some((-12, 3))),
            ("+7x", Some((7, 2))),
            ("2147483647", Some((2_147_483_647, 10))),
            ("2147483648", None),
            ("-2147483648", Some((-2_147_483_648, 11))),
            ("000000000000000001", Some((1, 18))),
            ("0000000000000000001", None),
            ("99999999999999999999", None),
            ("", None),
            ("-", None),
            ("--1", None),
            (" 1", None),
        ];
        for (text, expected) in cases {
            assert_eq!(i32::read(text.as_bytes()), expected, "{text}");
        }
        assert_eq!(u8::read(b"256"), None);
        assert_eq!(u32::read(b"-1"), None);
        assert_eq!(u32::read(b"4294967295"), Some((u32::MAX, 10)));
    }

    #[test]
    fn floats_are_read_in_every_spelling() {
        let cases = [
            ("1", 1.0),
            ("+1", 1.0),
            ("-0", -0.0),
            (".5", 0.5),
            ("5.", 5.0),
            ("1e3", 1000.0),
            ("1E+03", 1000.0),
            ("inf", f64::INFINITY),
            ("-Infinity", f64::NEG_INFINITY),
            ("1e400", f64::INFINITY),
            ("5e-324", f64::from_bits(1)),
            ("1.0000000180025095e-35", f64::from(1e-35f32)),
        ];
        for (text, expected) in cases {
            let (found, used) = f64::read(text.as_bytes()).unwrap();
            assert_eq!((found.to_bits(), used), (f64::to_bits(expected), text.len()), "{text}");
        }
        assert!(f64::read(b"nan").unwrap().0.is_nan());
        for text in ["", "-", "e5", "x1", " 1", "."] {
            assert_eq!(f64::read(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn floats_are_rounded_as_the_standard_library_rounds(bits in any::<u64>(), digits in 0usize..25) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            for text in [format!("{value:.digits$e}"), format!("{value:?}")] {
                let (found, used) = f64::read(text.as_bytes()).unwrap();
                prop_assert_eq!(used, text.len());
                prop_assert_eq!(found.to_bits(), text.parse::<f64>().unwrap().to_bits());
            }
        }
    }
}
