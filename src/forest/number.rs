//! Numbers as the text writes them.
//!
//! A large forest is millions of numbers, so most of them are read eight digits at a time, without a branch that
//! depends on how many they are. What that cannot do (more than 19 digits, large exponents, words, the last bytes of
//! a line) goes the long way. Both ways round correctly, as LightGBM reads what scores depend on.

/// A number that can be read from the beginning of some bytes. Lists are millions of numbers long, so the end of a
/// number is found by reading it and not before.
pub(super) trait Number: Copy {
    /// The number, and how many bytes it takes. Whether another may follow there is for the caller to see.
    fn read(bytes: &[u8]) -> Option<(Self, usize)>;
}

/// More digits might not fit; LightGBM's integers have at most ten.
const MOST_DIGITS: usize = 18;

fn integer(bytes: &[u8]) -> Option<(i64, usize)> {
    let negative = bytes.first() == Some(&b'-');
    let sign = usize::from(negative || bytes.first() == Some(&b'+'));
    if let Some(word) = word(bytes, sign) {
        let count = digits(word);
        if (1..8).contains(&count) {
            let value = number(word, count) as i64;
            return Some((if negative { -value } else { value }, sign + count));
        }
    }
    let mut value = 0;
    let mut used = sign;
    while let Some(digit) = bytes.get(used).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit <= 9) {
        if used == sign + MOST_DIGITS {
            return None;
        }
        value = value * 10 + i64::from(digit);
        used += 1;
    }
    (used > sign).then_some((if negative { -value } else { value }, used))
}

/// Eight bytes, the first lowest.
#[inline]
fn word(bytes: &[u8], at: usize) -> Option<u64> {
    let eight = bytes.get(at..at + 8)?;
    Some(u64::from_le_bytes(eight.try_into().ok()?))
}

const ZEROS: u64 = 0x3030_3030_3030_3030;

/// How many of a word's bytes are digits before the first that is none.
#[inline]
fn digits(word: u64) -> usize {
    // Digits become 0 to 9, which stay below 0x80 when 0x76 is added, as nothing else does. A carry only reaches bytes
    // behind the first that is no digit.
    let word = word ^ ZEROS;
    let others = (word.wrapping_add(0x7676_7676_7676_7676) | word) & 0x8080_8080_8080_8080;
    (others.trailing_zeros() / 8) as usize
}

/// The number that the first `count` digits of a word make, 1 to 8.
#[inline]
fn number(word: u64, count: usize) -> u64 {
    // Zeros move in before the digits; then neighbours are joined to pairs, and the four pairs by two multiplications.
    let digits = (word ^ ZEROS) << (64 - 8 * count);
    let pairs = digits * 10 + (digits >> 8);
    let upper = (pairs & 0xff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let lower = ((pairs >> 16) & 0xff_0000_00ff).wrapping_mul(0x2710_0000_0001);
    upper.wrapping_add(lower) >> 32
}

/// `mantissa` times ten to the `exponent`.
#[derive(Clone, Copy)]
struct Decimal {
    negative: bool,
    mantissa: u64,
    exponent: i32,
}

const POWERS_OF_TEN: [u64; 20] = {
    let mut powers = [1; 20];
    let mut at = 1;
    while at < 20 {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

/// A number in the usual spelling, and how many bytes it takes; `None` also for what is only unusual.
#[inline]
fn decimal(bytes: &[u8]) -> Option<(Decimal, usize)> {
    let negative = bytes.first() == Some(&b'-');
    let mut at = usize::from(negative);
    let whole = word(bytes, at)?;
    let count = digits(whole);
    if !(1..8).contains(&count) {
        return None;
    }
    let mut mantissa = number(whole, count);
    let mut exponent = 0;
    at += count;
    if bytes.get(at) == Some(&b'.') {
        at += 1;
        loop {
            let part = word(bytes, at)?;
            let count = digits(part);
            if count == 0 {
                break;
            }
            // Nineteen digits fit into 64 bits; zeros at the beginning do not count.
            if mantissa >= POWERS_OF_TEN[19 - count] {
                return None;
            }
            mantissa = mantissa * POWERS_OF_TEN[count] + number(part, count);
            exponent -= count as i32;
            at += count;
            if count < 8 {
                break;
            }
        }
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let (power, used) = integer(&bytes[at + 1..])?;
        exponent += i32::try_from(power).ok().filter(|power| power.abs() < 10_000)?;
        at += 1 + used;
    }
    Some((Decimal { negative, mantissa, exponent }, at))
}

impl Number for f64 {
    #[inline]
    fn read(bytes: &[u8]) -> Option<(f64, usize)> {
        if let Some((decimal, used)) = decimal(bytes)
            && let Some(size) = nearest(decimal.mantissa, decimal.exponent)
        {
            return Some((if decimal.negative { -size } else { size }, used));
        }
        fast_float2::parse_partial(bytes).ok()
    }
}

impl Number for f32 {
    #[inline]
    fn read(bytes: &[u8]) -> Option<(f32, usize)> {
        if let Some((Decimal { negative, mantissa, exponent }, used)) = decimal(bytes)
            && mantissa <= 1 << 24
            && (-10..=0).contains(&exponent)
        {
            // Both are exact, and division rounds correctly.
            let size = mantissa as f32 / POWERS_OF_TEN[exponent.unsigned_abs() as usize] as f32;
            return Some((if negative { -size } else { size }, used));
        }
        fast_float2::parse_partial(bytes).ok()
    }
}

/// The powers of five that [`nearest`] has.
const LARGEST_POWER: i32 = 27;

/// The double nearest to `mantissa * 10^exponent`, to even where two are; `None` outside of the exponents that
/// LightGBM's values have.
#[inline]
fn nearest(mantissa: u64, exponent: i32) -> Option<f64> {
    if mantissa < 1 << 53 && (-22..=0).contains(&exponent) {
        // Both are exact, and division rounds correctly.
        return Some(mantissa as f64 / TENS[exponent.unsigned_abs() as usize]);
    }
    if mantissa == 0 || !(-LARGEST_POWER..=LARGEST_POWER).contains(&exponent) {
        return None;
    }
    // Lemire, "Number parsing at a gigabyte per second" (2021): the upper bits of the product with 128 bits of the
    // power of five decide, except where the notes below say otherwise. For these exponents the powers are exact, or
    // their reciprocals exact enough for any mantissa of 64 bits, and results are never too small or too large.
    let power = FIVES[(exponent + LARGEST_POWER) as usize];
    let shift = mantissa.leading_zeros();
    let mantissa = mantissa << shift;
    let product = u128::from(mantissa) * (power >> 64);
    let (mut upper, mut lower) = ((product >> 64) as u64, product as u64);
    // Nine bits lie below those that are rounded to: if all are set, what the rest of the power adds may carry.
    if upper & 0x1ff == 0x1ff {
        let more = ((u128::from(mantissa) * (power & u128::from(u64::MAX))) >> 64) as u64;
        let carry;
        (lower, carry) = lower.overflowing_add(more);
        upper += u64::from(carry);
    }
    let top = (upper >> 63) as u32;
    let drop = top + 9;
    let mut bits = upper >> drop;
    // Halfway between two doubles, exactly: to the even one.
    if lower <= 1 && (-4..=23).contains(&exponent) && bits & 3 == 1 && bits << drop == upper {
        bits &= !1;
    }
    bits = (bits + (bits & 1)) >> 1;
    // Bits of ten to the exponent above those of five: log2(10), as a fraction of 65536.
    let mut binary = ((217_706 * exponent) >> 16) + 63 + top as i32 - shift as i32 + 1023;
    if bits == 1 << 53 {
        bits >>= 1;
        binary += 1;
    }
    Some(f64::from_bits((bits & !(1 << 52)) | (binary as u64) << 52))
}

/// The powers of ten that are doubles.
const TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// Powers of five from -27 to 27: their first 128 bits, negative ones rounded up.
const FIVES: [u128; 2 * LARGEST_POWER as usize + 1] = {
    let mut all = [0; 2 * LARGEST_POWER as usize + 1];
    let mut five: u128 = 1;
    let mut power = 0;
    while power <= LARGEST_POWER as usize {
        all[LARGEST_POWER as usize + power] = five << five.leading_zeros();
        if power > 0 {
            // The least power of two that is not below it, and 127 more bits, by long division.
            let bits = 128 - (five - 1).leading_zeros() + 127;
            let (mut quotient, mut remainder): (u128, u128) = (0, 1);
            let mut bit = 0;
            while bit < bits {
                remainder *= 2;
                quotient *= 2;
                if remainder >= five {
                    remainder -= five;
                    quotient += 1;
                }
                bit += 1;
            }
            all[LARGEST_POWER as usize - power] = quotient + 1;
        }
        five *= 5;
        power += 1;
    }
    all
};

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Number for $type {
            #[inline]
            fn read(bytes: &[u8]) -> Option<($type, usize)> {
                let (value, used) = integer(bytes)?;
                Some((value.try_into().ok()?, used))
            }
        }
    )*};
}

integers!(u8, i32, u32, usize);

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

    /// Reads a number as it stands in a list, where the short way is taken, and compares with the standard library.
    fn compare_in_list(text: &str) {
        let list = format!("{text} 12345678");
        let (found, used) = f64::read(list.as_bytes()).unwrap();
        assert_eq!((found.to_bits(), used), (text.parse::<f64>().unwrap().to_bits(), text.len()), "{text}");
        let (found, used) = f32::read(list.as_bytes()).unwrap();
        assert_eq!((found.to_bits(), used), (text.parse::<f32>().unwrap().to_bits(), text.len()), "{text}");
    }

    #[test]
    fn what_lies_between_two_doubles_goes_to_the_even_one() {
        for (power, step) in [(53, 2), (54, 4), (60, 256), (63, 2048)] {
            for number in 0..2000u64 {
                // Halfway, and one beside it.
                let halfway = (1u64 << power) + number * step + step / 2;
                for mantissa in [halfway - 1, halfway, halfway + 1] {
                    compare_in_list(&mantissa.to_string());
                    compare_in_list(&format!("{mantissa}e-4"));
                    compare_in_list(&format!("-0.00{mantissa}e3"));
                }
            }
        }
    }

    #[test]
    fn numbers_of_every_length_are_read_in_lists() {
        let digits = "9876543210987654321098765";
        for length in 1..digits.len() {
            for point in 0..length {
                compare_in_list(&digits[..length]);
                compare_in_list(&format!("{}.{}", &digits[..=point], &digits[point..length]));
                compare_in_list(&format!("0.{}{}", "0".repeat(point), &digits[..length]));
                compare_in_list(&format!("{}e-{point}", &digits[..length]));
            }
            if length < 18 {
                let list = format!("-{} 12345678", &digits[..length]);
                let expected = format!("-{}", &digits[..length]).parse().unwrap();
                assert_eq!(integer(list.as_bytes()), Some((expected, length + 1)));
            }
        }
    }

    proptest! {
        #[test]
        fn short_numbers_are_rounded_as_the_standard_library_rounds(
            mantissa in any::<u64>(), drop in 0u32..20, exponent in -45i32..45, point in 0usize..20
        ) {
            let digits = (mantissa / 10u64.pow(drop)).to_string();
            compare_in_list(&format!("{digits}e{exponent}"));
            let (whole, part) = digits.split_at(point.min(digits.len() - 1).max(1).min(digits.len()));
            compare_in_list(&format!("{whole}.{part}e{exponent}"));
            compare_in_list(&format!("-{whole}.{part}"));
        }

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
