//! Number rules that all features share.
//!
//! Upstream's integers are Python's, unbounded. `i128` holds every product of real problems; beyond it (extents that
//! no GPU can address) sums and products saturate instead of failing, so that a senseless problem gets a senseless
//! feature and never a panic.

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
    i64::try_from(x).map_or_else(|_| x as f64, |x| x as f64)
}

/// Real quotient of two integers, the divisor guarded by [`max1`].
pub(crate) fn ratio(a: i128, b: i128) -> f64 {
    float(a) / float(max1(b))
}

/// Ceiling of the real quotient, the divisor guarded by [`max1`].
pub(crate) fn ceil_ratio(a: i128, b: i128) -> f64 {
    ratio(a, b).ceil()
}

/// 1.0 or 0.0.
pub(crate) fn flag(condition: bool) -> f64 {
    f64::from(u8::from(condition))
}

/// `a mod b` with the sign of b; 0 when b is 0.
pub(crate) fn modulo(a: i128, b: i128) -> i128 {
    // Extents fit in 64 bits almost always, and a 64-bit remainder is many times cheaper than a 128-bit one.
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

/// Upstream's tile efficiency: the *remainder's* share of a tile, 1 when the tile divides the extent (129 on 128
/// gives 1/128). Not the share of useful work; models were trained on it.
pub(crate) fn tile_efficiency(extent: i128, tile: i128) -> f64 {
    rest_share(tile_rest(extent, tile), tile)
}

/// [`tile_efficiency`] of a [`tile_rest`].
pub(crate) fn rest_share(rest: i128, tile: i128) -> f64 {
    if rest == 0 { 1.0 } else { float(rest) / float(tile) }
}

/// What the last tile holds when the tile does not divide the extent, else 0; 0 for senseless tiles.
pub(crate) fn tile_rest(extent: i128, tile: i128) -> i128 {
    if tile > 0 { modulo(extent, tile) } else { 0 }
}

/// `log2(max(x, 1))`.
pub(crate) fn log2(x: i128) -> f64 {
    (max1(x) as f64).log2()
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
    fn tile_efficiency_is_the_remainder() {
        assert_eq!(tile_efficiency(129, 128), 1.0 / 128.0);
        assert_eq!(tile_efficiency(256, 128), 1.0);
        assert_eq!(tile_efficiency(-1, 128), 127.0 / 128.0);
        assert_eq!(tile_efficiency(5, 0), 1.0);
        assert_eq!(tile_efficiency(5, -3), 1.0);
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
    fn products_saturate() {
        assert_eq!(product([i128::MAX, 2]), i128::MAX);
        assert_eq!(product([1 << 40, 1 << 40]), 1 << 80);
    }
}
