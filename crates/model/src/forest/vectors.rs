//! Several numbers of a list at once.
//!
//! ```text
//! for each number:  load the eight bytes where it begins, and the 8, 16 and 24 where it ends
//! for each number:  mask what is not its own, join the digits, multiply by a power of five, round
//! ```
//!
//! The second loop has no branch and the same steps for all numbers, so that compilers make vectors of it:
//! with AVX-512 eight numbers a step, with AVX2 four. What it cannot read or cannot round by one
//! multiplication is *odd* and left to the caller: more digits than fit, large exponents, words, what lies
//! halfway between two doubles or too near to tell.

#![allow(clippy::inline_always, clippy::needless_bitwise_bool)] // for vectors

use std::ops::Range;

use super::tokens::Tokens;
#[cfg(target_arch = "x86_64")]
use crate::isa;

/// How many numbers are read at once.
const WIDTH: usize = 16;

type Vector<T> = [T; WIDTH];

/// Consecutive numbers of a list.
pub(super) struct Several<T> {
    /// How many there are.
    pub(super) count: usize,
    tokens: Vector<Range<usize>>,
    values: Vector<T>,
    /// Where the values mean nothing.
    odd: Vector<bool>,
}

impl<T: Copy + Default> Several<T> {
    /// The next of a list, none of them read yet.
    #[inline(always)]
    fn next(tokens: &mut Tokens<'_>, most: usize) -> Several<T> {
        let mut next = Several {
            count: 0,
            tokens: [const { 0..0 }; WIDTH],
            values: [T::default(); WIDTH],
            odd: [false; WIDTH],
        };
        // A copy, which can stay in registers.
        let mut rest = tokens.clone();
        while next.count < most.min(WIDTH)
            && let Some(token) = rest.next()
        {
            next.tokens[next.count] = token;
            next.count += 1;
        }
        *tokens = rest;
        next
    }
}

impl<T: Copy> Several<T> {
    /// Where each stands, and its value unless it is odd.
    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = (Range<usize>, Option<T>)> {
        let values = self.values.iter().zip(&self.odd).map(|(&value, &odd)| (!odd).then_some(value));
        self.tokens.iter().cloned().zip(values).take(self.count)
    }
}

/// Makes a function of several forms: with the vectors that the processor has, or without any.
macro_rules! dispatched {
    ($(#[$doc:meta])* $name:ident -> $value:ty, $avx512:ident, $avx2:ident, $body:ident) => {
        $(#[$doc])*
        #[inline]
        pub(super) fn $name(tokens: &mut Tokens<'_>, most: usize) -> Several<$value> {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(
                    enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,bmi1,bmi2,lzcnt,popcnt"
                )]
                fn $avx512(tokens: &mut Tokens<'_>, most: usize) -> Several<$value> {
                    $body::<true>(tokens, most)
                }
                #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
                fn $avx2(tokens: &mut Tokens<'_>, most: usize) -> Several<$value> {
                    $body::<true>(tokens, most)
                }
                let (has_avx2, has_avx512) = vectors();
                if has_avx512 {
                    // SAFETY: the processor has all of these features, as `vectors` just found.
                    return unsafe { $avx512(tokens, most) };
                }
                if has_avx2 {
                    // SAFETY: the same.
                    return unsafe { $avx2(tokens, most) };
                }
            }
            $body::<false>(tokens, most)
        }
    };
}

/// Whether the processor has what the forms use: the one for AVX2, and the one for AVX-512.
#[cfg(target_arch = "x86_64")]
#[inline]
fn vectors() -> (bool, bool) {
    (isa::has_avx2(), isa::has_avx512() && is_x86_feature_detected!("avx512cd"))
}

dispatched! {
    /// The next integers of a list, at most so many; odd if longer than eight bytes.
    integers -> i64, integers_avx512, integers_avx2, integers_body
}

dispatched! {
    /// The doubles nearest to the next numbers of a list, at most so many.
    doubles -> f64, doubles_avx512, doubles_avx2, doubles_body
}

dispatched! {
    /// The same in single precision; odd with more than seven digits.
    singles -> f32, singles_avx512, singles_avx2, singles_body
}

const ZEROS: u64 = 0x3030_3030_3030_3030;
const POINTS: u64 = 0x2e2e_2e2e_2e2e_2e2e;
const ONES: u64 = 0x0101_0101_0101_0101;
const TOP_BITS: u64 = 0x8080_8080_8080_8080;

/// Not zero if a byte is above nine.
#[inline(always)]
fn others(digits: u64) -> u64 {
    // 0 to 9 stay below 0x80 when 0x76 is added, as nothing else does. A carry only leaves a byte that counts
    // by itself.
    (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & TOP_BITS
}

/// The number that eight digits make, the first of them in the lowest byte.
#[inline(always)]
fn joined(digits: u64) -> u64 {
    // Neighbours are joined to pairs, and the four pairs by two multiplications.
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let upper = (pairs & 0xff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let lower = ((pairs >> 16) & 0xff_0000_00ff).wrapping_mul(0x2710_0000_0001);
    upper.wrapping_add(lower) >> 32
}

/// The last `count` bytes of a word, or all eight.
#[inline(always)]
fn last_bytes(count: u64) -> u64 {
    let count = count.min(8) as u32;
    if count == 0 { 0 } else { u64::MAX << (64 - 8 * count) }
}

#[inline(always)]
fn integers_body<const VECTORS: bool>(tokens: &mut Tokens<'_>, most: usize) -> Several<i64> {
    let mut several = Several::next(tokens, most);
    let text = tokens.text();
    let (mut words, mut lengths) = ([0; WIDTH], [0; WIDTH]);
    for (token, (word, length)) in
        several.tokens[..several.count].iter().zip(words.iter_mut().zip(&mut lengths))
    {
        let eight = token.end.checked_sub(8).and_then(|from| text.get(from..)?.first_chunk());
        *word = eight.map_or_else(|| first_word(text, token), |eight| u64::from_le_bytes(*eight));
        *length = token.len() as u64;
    }
    for place in 0..if VECTORS { WIDTH } else { several.count } {
        let (word, length) = (words[place], lengths[place]);
        if !VECTORS && length > 8 {
            several.odd[place] = true;
            continue;
        }
        let negative =
            u64::from((word >> 8u64.wrapping_sub(length).wrapping_mul(8).min(63)) & 0xff == u64::from(b'-'));
        let count = length.saturating_sub(negative);
        let digits = (word ^ ZEROS) & last_bytes(count);
        let value = joined(digits) as i64;
        several.values[place] = if negative == 1 { -value } else { value };
        several.odd[place] = (others(digits) != 0) | (count == 0) | (length > 8);
    }
    several
}

/// The last eight bytes up to the end of a token that has fewer before it.
#[cold]
fn first_word(text: &[u8], token: &Range<usize>) -> u64 {
    text.get(..token.end)
        .unwrap_or_default()
        .iter()
        .rev()
        .fold(0, |word, byte| word << 8 | u64::from(*byte))
        .wrapping_shl(8 * (8 - token.end.min(8)) as u32)
}

/// Digits and point of a decimal.
const LONGEST: usize = 24;
/// An exponent as LightGBM writes it: a letter, a sign, two digits.
const EXPONENT: usize = 4;
/// Bytes of the text up to a decimal's end.
const UP_TO_END: usize = LONGEST + EXPONENT;
/// And behind it, so that eight bytes can be loaded from where its last one stands.
const AROUND: usize = UP_TO_END + 8;

/// Decimals as they are spelled.
struct Spelled {
    /// Eight bytes from the first digit on.
    first: Vector<u64>,
    /// Eight bytes up to the last digit, the eight before them, and the eight before those.
    last: Vector<u64>,
    middle: Vector<u64>,
    front: Vector<u64>,
    /// The last four bytes.
    exponent: Vector<u32>,
    /// Whether these are an exponent.
    scientific: Vector<u8>,
    /// Bytes of digits and point; 0 if there are too many or there is nothing.
    length: Vector<u64>,
    negative: Vector<u64>,
}

impl Spelled {
    #[inline(always)]
    fn new(text: &[u8], tokens: &[Range<usize>]) -> Spelled {
        let mut all = Spelled {
            first: [0; WIDTH],
            last: [0; WIDTH],
            middle: [0; WIDTH],
            front: [0; WIDTH],
            exponent: [0; WIDTH],
            scientific: [0; WIDTH],
            length: [0; WIDTH],
            negative: [0; WIDTH],
        };
        for (place, token) in tokens.iter().enumerate().take(WIDTH) {
            let from = token.end.checked_sub(UP_TO_END);
            match from.and_then(|from| text.get(from..)?.first_chunk()) {
                Some(around) => all.put(place, around, token.len()),
                None => all.put(place, &alone(text, token), token.len()),
            }
        }
        all
    }

    /// Takes in what is spelled by the bytes up to [`UP_TO_END`], so many of them.
    #[inline(always)]
    fn put(&mut self, place: usize, around: &[u8; AROUND], length: usize) {
        let load = |at: usize| around[at..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        if length == 0 || length > UP_TO_END {
            return;
        }
        let scientific = around[LONGEST] == b'e' && length > EXPONENT;
        let end = if scientific { LONGEST } else { UP_TO_END };
        let negative = around[UP_TO_END - length] == b'-';
        let length = length - (UP_TO_END - end) - usize::from(negative);
        if length == 0 || length > LONGEST {
            return;
        }
        self.first[place] = load(end - length);
        self.last[place] = load(end - 8);
        self.middle[place] = load(end - 16);
        self.front[place] = load(end - 24);
        self.exponent[place] = load(LONGEST) as u32;
        self.scientific[place] = u8::from(scientific);
        self.length[place] = length as u64;
        self.negative[place] = u64::from(negative);
    }
}

/// The first or the last number of a text, with zeros around it.
#[cold]
fn alone(text: &[u8], token: &Range<usize>) -> [u8; AROUND] {
    let mut around = [0; AROUND];
    let from = UP_TO_END.saturating_sub(token.len());
    if let Some(token) = text.get(token.clone())
        && token.len() <= UP_TO_END
    {
        around[from..UP_TO_END].copy_from_slice(token);
    }
    around
}

/// `mantissa` times ten to the `exponent`.
#[derive(Clone, Copy)]
struct Decimal {
    mantissa: u64,
    exponent: i32,
    odd: bool,
}

impl Spelled {
    #[inline(always)]
    fn decimal<const VECTORS: bool>(&self, place: usize) -> Decimal {
        let length = self.length[place];
        let points = self.first[place] ^ POINTS;
        // The lowest bit that is set is of the first point.
        let points = points.wrapping_sub(ONES) & !points & TOP_BITS;
        let before = u64::from(points.trailing_zeros() / 8).min(length);
        let behind = length.saturating_sub(before + 1);

        let whole = (self.first[place] ^ ZEROS).wrapping_shl(64u32.wrapping_sub(8 * before as u32));
        let last = (self.last[place] ^ ZEROS) & last_bytes(behind);
        let (mut middle, mut front) = (0, 0);
        // Without vectors, a branch costs less than what it leaves out.
        if VECTORS || behind > 8 {
            middle = (self.middle[place] ^ ZEROS) & last_bytes(behind.saturating_sub(8));
            front = (self.front[place] ^ ZEROS) & last_bytes(behind.saturating_sub(16));
        }
        let wrong = others(whole) | others(last) | others(middle) | others(front);

        let (whole, mut part) = (joined(whole), joined(last));
        let mut too_large = false;
        if VECTORS || behind > 8 {
            let front = joined(front);
            // 1844 times ten to the sixteenth is the last such number of 64 bits.
            too_large = front >= 1844;
            part = part
                .wrapping_add(joined(middle).wrapping_mul(POWERS_OF_TEN[8]))
                .wrapping_add(front.wrapping_mul(POWERS_OF_TEN[16]));
        }
        let mantissa = whole.wrapping_mul(POWERS_OF_TEN[behind as usize & 31]).wrapping_add(part);

        let [_, sign, tens, ones] = self.exponent[place].to_le_bytes();
        let (tens, ones) = (u32::from(tens).wrapping_sub(48), u32::from(ones).wrapping_sub(48));
        let power = tens.wrapping_mul(10).wrapping_add(ones) as i32;
        let power = if sign == b'-' { -power } else { power };
        let scientific = self.scientific[place] != 0;
        let no_power = (tens > 9) | (ones > 9) | ((sign != b'-') & (sign != b'+'));

        let odd = (wrong != 0)
            | (before == 0)
            | ((before == 8) & (length > 8))
            // Nineteen digits fit into 64 bits; zeros at the beginning do not count.
            | ((whole != 0) & (before + behind > 19))
            | too_large
            | (scientific & no_power);
        Decimal { mantissa, exponent: if scientific { power } else { 0 } - behind as i32, odd }
    }
}

#[inline(always)]
fn doubles_body<const VECTORS: bool>(tokens: &mut Tokens<'_>, most: usize) -> Several<f64> {
    let mut several = Several::next(tokens, most);
    let text = tokens.text();
    let spelled = Spelled::new(text, &several.tokens[..several.count]);
    for place in 0..if VECTORS { WIDTH } else { several.count } {
        let decimal = spelled.decimal::<VECTORS>(place);
        let (size, odd) = nearest::<VECTORS>(decimal);
        several.values[place] = f64::from_bits(size | spelled.negative[place] << 63);
        several.odd[place] = odd;
    }
    several
}

#[inline(always)]
fn singles_body<const VECTORS: bool>(tokens: &mut Tokens<'_>, most: usize) -> Several<f32> {
    let mut several = Several::next(tokens, most);
    let text = tokens.text();
    let spelled = Spelled::new(text, &several.tokens[..several.count]);
    for place in 0..if VECTORS { WIDTH } else { several.count } {
        let Decimal { mantissa, exponent, odd } = spelled.decimal::<VECTORS>(place);
        let power = exponent.wrapping_neg() as u32;
        // Both are exact, and division rounds correctly.
        let size = mantissa as u32 as f32 / SINGLE_TENS[power as usize & 15];
        several.values[place] = if spelled.negative[place] == 0 { size } else { -size };
        several.odd[place] = odd | (mantissa > 1 << 24) | (power > 10);
    }
    several
}

/// The bits of the double nearest to a decimal, and whether that is odd.
///
/// Lemire, "Number parsing at a gigabyte per second" (2021): the upper bits of the product with 128 bits of
/// the power of five decide, except where the notes below say otherwise. For these exponents the powers are
/// exact, or their reciprocals exact enough for any mantissa of 64 bits, and results are never too small or
/// too large.
#[inline(always)]
fn nearest<const VECTORS: bool>(decimal: Decimal) -> (u64, bool) {
    let Decimal { mantissa, exponent, odd } = decimal;
    let index = exponent.wrapping_add(LARGEST_POWER) as u32;
    let shift = mantissa.leading_zeros();
    let (upper, lower) = product::<VECTORS>(mantissa.wrapping_shl(shift), FIVES[index as usize & 63]);
    let top = upper >> 63;
    let drop = top + 9;
    let bits = upper >> drop;
    let odd = odd
        | (index > 2 * LARGEST_POWER as u32)
        // Nine bits lie below those that are rounded to: if all are set, what the rest of the power adds may
        // carry.
        | (upper & 0x1ff == 0x1ff)
        // Perhaps halfway between two doubles.
        | ((lower <= 1) & (bits & 3 == 1) & (bits << drop == upper));
    let bits = (bits + (bits & 1)) >> 1;
    // Bits of ten to the exponent above those of five: log2(10), as a fraction of 65536.
    let binary =
        i64::from((217_706i32.wrapping_mul(exponent)) >> 16) + 63 + top as i64 - i64::from(shift) + 1023;
    // A mantissa that was rounded up to the next power of two adds one to the exponent by its carry.
    let size = ((binary as u64) << 52).wrapping_add(bits).wrapping_sub(1 << 52);
    (if mantissa == 0 { 0 } else { size }, odd)
}

/// The upper and the lower half of a product; of four products of halves, which is what vectors have.
#[inline(always)]
fn product<const VECTORS: bool>(left: u64, right: u64) -> (u64, u64) {
    const LOW: u64 = 0xffff_ffff;
    if !VECTORS {
        let product = u128::from(left) * u128::from(right);
        return ((product >> 64) as u64, product as u64);
    }
    let low = (left & LOW) * (right & LOW);
    let middle = (left >> 32) * (right & LOW) + (low >> 32);
    let other = (left & LOW) * (right >> 32) + (middle & LOW);
    let high = (left >> 32) * (right >> 32) + (middle >> 32) + (other >> 32);
    (high, other << 32 | low & LOW)
}

/// The powers of ten of 64 bits; then zeros, which are multiplied with nothing else.
const POWERS_OF_TEN: [u64; 32] = {
    let mut powers = [0; 32];
    powers[0] = 1;
    let mut at = 1;
    while at < 20 {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

/// The powers of ten that are numbers of single precision; then ones, for what is odd.
const SINGLE_TENS: [f32; 16] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1.0, 1.0, 1.0, 1.0, 1.0];

/// The powers of five that [`nearest`] has.
const LARGEST_POWER: i32 = 27;

/// Powers of five from -27 to 27: their first 64 bits. Then zeros, for what is odd.
const FIVES: [u64; 64] = {
    let mut all = [0; 64];
    let mut five: u128 = 1;
    let mut power = 0;
    while power <= LARGEST_POWER as usize {
        all[LARGEST_POWER as usize + power] = ((five << five.leading_zeros()) >> 64) as u64;
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
            all[LARGEST_POWER as usize - power] = ((quotient + 1) >> 64) as u64;
        }
        five *= 5;
        power += 1;
    }
    all
};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Value and oddity of each number, as bits.
    fn bits<T: Copy + Default, B>(
        text: &str,
        form: fn(&mut Tokens<'_>, usize) -> Several<T>,
        bits: fn(T) -> B,
    ) -> Vec<(Range<usize>, Option<B>)> {
        let mut tokens = Tokens::new(text.as_bytes());
        let mut all = Vec::new();
        loop {
            let several = form(&mut tokens, usize::MAX);
            all.extend(several.iter().map(|(token, value)| (token, value.map(bits))));
            if several.count == 0 {
                return all;
            }
        }
    }

    #[test]
    fn usual_spellings_are_not_odd() {
        let text =
            "0 7 -0.0093298573140350588 20497.500000000004 8.0625e-05 -1e+06 0.00012345678901234567 31";
        assert!(bits(text, doubles, f64::to_bits).iter().all(|(_, value)| value.is_some()));
        let text = "1626.78 0 5.92811 -0.000345678 2.5e-06";
        assert!(bits(text, singles, f32::to_bits).iter().all(|(_, value)| value.is_some()));
        let text = "0 -1 12345678 -1234567";
        assert_eq!(bits(text, integers, |value| value).last(), Some(&(14..22, Some(-1_234_567))));
    }

    #[test]
    fn powers_of_five_are_the_first_bits_of_powers_of_ten() {
        for power in -LARGEST_POWER..=LARGEST_POWER {
            let ten: f64 = format!("1e{power}").parse().unwrap();
            let five = FIVES[(power + LARGEST_POWER) as usize];
            // Ten has the same digits as five, in binary; a double has the first 53 of them.
            let digits = (ten.to_bits() & ((1 << 52) - 1)) | 1 << 52;
            assert!((five >> 11).abs_diff(digits) <= 1, "{power}");
        }
    }

    proptest! {
        /// The form that this processor takes, and the others without its instructions, read the same and
        /// find the same odd.
        #[test]
        fn forms_agree(text in "([-+]?[0-9]{0,9}[.]?[0-9]{0,20}(e[-+][0-9]{2})? {1,2}){0,40}") {
            for form in [integers_body::<false>, integers_body::<true>] {
                prop_assert_eq!(bits(&text, integers, |value| value), bits(&text, form, |value| value));
            }
            for form in [doubles_body::<false>, doubles_body::<true>] {
                prop_assert_eq!(bits(&text, doubles, f64::to_bits), bits(&text, form, f64::to_bits));
            }
            for form in [singles_body::<false>, singles_body::<true>] {
                prop_assert_eq!(bits(&text, singles, f32::to_bits), bits(&text, form, f32::to_bits));
            }
        }

        /// Blanks anywhere, and lists that end anywhere in a block.
        #[test]
        fn tokens_are_what_splitting_finds(text in "([0-9]{1,9} {0,3}| {60,70}){0,40}") {
            let tokens: Vec<_> = Tokens::new(text.as_bytes()).map(|token| &text[token]).collect();
            let split: Vec<_> = text.split(' ').filter(|token| !token.is_empty()).collect();
            prop_assert_eq!(tokens, split);
        }
    }
}
