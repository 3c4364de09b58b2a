//! `CPython`'s random numbers, so that a seed gives the same choices as in upstream's scripts.

/// Words of the generator's state.
const WORDS: usize = 624;
const SHIFT: usize = 397;

/// The Mersenne Twister as in `random.Random(seed)`.
pub(super) struct Random {
    state: [u32; WORDS],
    next: usize,
}

impl Random {
    /// `random.seed(seed)` for a whole number.
    pub(super) fn new(seed: u64) -> Self {
        let key: Vec<u32> = match seed >> 32 {
            0 => vec![seed as u32],
            high => vec![seed as u32, high as u32],
        };
        let mut state = [0u32; WORDS];
        state[0] = 19_650_218;
        for i in 1..WORDS {
            let before = state[i - 1] ^ (state[i - 1] >> 30);
            state[i] = before.wrapping_mul(1_812_433_253).wrapping_add(i as u32);
        }
        let (mut i, mut j) = (1, 0);
        for _ in 0..WORDS.max(key.len()) {
            let before = (state[i - 1] ^ (state[i - 1] >> 30)).wrapping_mul(1_664_525);
            state[i] = (state[i] ^ before).wrapping_add(key[j]).wrapping_add(j as u32);
            i = Self::following(i, &mut state);
            j = (j + 1) % key.len();
        }
        for _ in 1..WORDS {
            let before = (state[i - 1] ^ (state[i - 1] >> 30)).wrapping_mul(1_566_083_941);
            state[i] = (state[i] ^ before).wrapping_sub(i as u32);
            i = Self::following(i, &mut state);
        }
        state[0] = 0x8000_0000;
        Self { state, next: WORDS }
    }

    const fn following(i: usize, state: &mut [u32; WORDS]) -> usize {
        if i + 1 < WORDS {
            return i + 1;
        }
        state[0] = state[WORDS - 1];
        1
    }

    fn word(&mut self) -> u32 {
        if self.next >= WORDS {
            for i in 0..WORDS {
                let y = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % WORDS] & 0x7fff_ffff);
                let odd = if y & 1 == 1 { 0x9908_b0df } else { 0 };
                self.state[i] = self.state[(i + SHIFT) % WORDS] ^ (y >> 1) ^ odd;
            }
            self.next = 0;
        }
        let mut y = self.state[self.next];
        self.next += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    /// `random.randrange(bound)`; 0 for a bound of 0.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        let bits = usize::BITS - bound.leading_zeros();
        if bits == 0 || bits > 32 {
            return 0;
        }
        loop {
            let value = (self.word() >> (32 - bits)) as usize;
            if value < bound {
                return value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // What CPython 3.11 prints for these seeds.
    #[test]
    fn numbers_are_cpythons() {
        let mut random = Random::new(42);
        let drawn: Vec<usize> = (0..6).map(|_| random.below(1000)).collect();
        assert_eq!(drawn, RANDRANGE);
        assert_eq!(Random::new(1 << 40).below(1_000_000), LARGE);
    }

    const RANDRANGE: [usize; 6] = [654, 114, 25, 759, 281, 250];
    const LARGE: usize = 108_673;
}
