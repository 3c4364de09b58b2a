//! Number rules that all features share.
//!
//! Upstream's integers are Python's, unbounded. `i128` holds every product of real problems; beyond it
//! (extents that no GPU can address) sums and products saturate instead of failing, so that a nonsensical
//! problem gets a nonsensical feature, but never a panic.

/// Product of exact integers.
pub(crate) fn product<const N: usize>(factors: [i128; N]) -> i128 {
    factors.into_iter().fold(1, i128::saturating_mul)
}

/// `max(x, 1)`, the guard of all upstream denominators.
pub(crate) fn max1(x: i128) -> i128 {
    x.max(1)
}

/// The nearest float. 64 bits are converted by an instruction, 128 by a function.
pub(crate) fn float(x: i128) -> f64 {
    match i64::try_from(x) {
        Ok(x) => x as f64,
        Err(_) => float_of_wide(x),
    }
}

/// Not inlined: otherwise the compiler would always call the function, and select afterwards.
#[cold]
#[inline(never)]
fn float_of_wide(x: i128) -> f64 {
    x as f64
}

/// Real quotient of two integers, the divisor guarded by [`max1`].
pub(crate) fn ratio(a: i128, b: i128) -> f64 {
    float(a) / float(max1(b))
}

/// 1.0 or 0.0.
pub(crate) fn flag(condition: bool) -> f64 {
    f64::from(u8::from(condition))
}

/// `a mod b` with the sign of b; 0 when b is 0.
pub(crate) fn modulo(a: i128, b: i128) -> i128 {
    // Extents almost always fit in 64 bits, and a 64-bit remainder is many times cheaper than a 128-bit one.
    if let (Ok(a), Ok(b)) = (i64::try_from(a), i64::try_from(b))
        && b > 0
    {
        return i128::from(a.rem_euclid(b));
    }
    if b == 0 {
        return 0;
    }
    let rest = a.wrapping_rem(b);
    if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }
}

/// `a % b` of whole numbers, apart from the sign of 0. `%` calls a function; if quotient and product are
/// exact, they give the same result.
#[inline(always)]
pub(crate) fn rest(a: f64, b: f64) -> f64 {
    const EXACT: f64 = (1_u64 << 52) as f64;
    if !(0.0..EXACT).contains(&a) || !(1.0..EXACT).contains(&b) {
        return remainder(a, b);
    }
    // The quotient may have been rounded up to the next whole number, never more.
    let rest = a - (a / b).floor() * b;
    if rest < 0.0 { rest + b } else { rest }
}

/// Not inlined: otherwise the compiler would always call the function, and select afterwards.
#[cold]
#[inline(never)]
fn remainder(a: f64, b: f64) -> f64 {
    a % b
}

/// `log2(max(x, 1))`.
pub(crate) fn log2(x: i128) -> f64 {
    float(max1(x)).log2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_the_nearest() {
        let edges = [0, 1, 1 << 53, (1 << 53) + 1, (1 << 62) + 255, i64::MAX.into(), 1 << 63, (1 << 100) + 1];
        for x in edges.into_iter().flat_map(|x: i128| [x, -x]) {
            assert_eq!(float(x).to_bits(), (x as f64).to_bits(), "{x}");
        }
    }

    #[test]
    fn modulo_has_the_sign_of_the_divisor() {
        for (a, b, expected) in
            [(7, 3, 1), (-7, 3, 2), (7, -3, -2), (-7, -3, -1), (5, 0, 0), (i128::MIN, -1, 0)]
        {
            assert_eq!(modulo(a, b), expected, "{a} mod {b}");
        }
        assert_eq!(modulo(1 << 100, 3), 1);
    }

    #[test]
    fn rests_are_remainders() {
        let edge = (1_u64 << 52) as f64;
        let numbers = [0.0, 1.0, 2.0, 3.0, 7.0, 256.0, 6_074_001.0, edge - 1.0, edge, edge * 4.0, 1e300];
        for a in numbers.into_iter().chain(numbers.map(|a| -a)).chain((0..60).map(|i| edge - f64::from(i))) {
            for b in numbers.into_iter().chain([-3.0]) {
                let (found, expected) = (rest(a, b), a % b);
                assert!(found == expected || found.is_nan() && expected.is_nan(), "{a} % {b}: {found}");
            }
        }
    }

    #[test]
    fn products_saturate() {
        assert_eq!(product([i128::MAX, 2]), i128::MAX);
        assert_eq!(product([1 << 40, 1 << 40]), 1 << 80);
    }
}
