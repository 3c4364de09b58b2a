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

    /// `random.shuffle(values)`.
    pub(super) fn shuffle<T>(&mut self, values: &mut [T]) {
        for i in (1..values.len()).rev() {
            let j = self.below(i + 1);
            values.swap(i, j);
        }
    }

    /// `random.sample(values, count)`; all of them in random order if there are fewer.
    pub(super) fn sample<T: Clone>(&mut self, values: &[T], count: usize) -> Vec<T> {
        let count = count.min(values.len());
        // CPython keeps a set of chosen indices if that is smaller than a copy of the list.
        let mut set_size = 21;
        if count > 5 {
            let mut power = 4;
            while power < count * 3 {
                power *= 4;
            }
            set_size += power;
        }
        if values.len() <= set_size {
            let mut pool = values.to_vec();
            return (0..count)
                .map(|taken| {
                    let left = values.len() - taken;
                    let place = self.below(left);
                    let value = pool[place].clone();
                    pool[place] = pool[left - 1].clone();
                    value
                })
                .collect();
        }
        let mut chosen = std::collections::HashSet::new();
        (0..count)
            .map(|_| {
                let mut place = self.below(values.len());
                while !chosen.insert(place) {
                    place = self.below(values.len());
                }
                values[place].clone()
            })
            .collect()
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
        let mut values: Vec<u32> = (0..10).collect();
        Random::new(42).shuffle(&mut values);
        assert_eq!(values, SHUFFLED);
        let values: Vec<u32> = (0..100).collect();
        assert_eq!(Random::new(42).sample(&values, 5), FIVE);
        assert_eq!(Random::new(42).sample(&values[..30], 8), EIGHT);
        assert_eq!(Random::new(1 << 40).below(1_000_000), LARGE);
    }

    const RANDRANGE: [usize; 6] = [654, 114, 25, 759, 281, 250];
    const SHUFFLED: [u32; 10] = [7, 3, 2, 8, 5, 6, 9, 4, 0, 1];
    const FIVE: [u32; 5] = [81, 14, 3, 94, 35];
    const EIGHT: [u32; 8] = [20, 3, 0, 23, 8, 7, 24, 4];
    const LARGE: usize = 108_673;
}
