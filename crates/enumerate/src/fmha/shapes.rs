//! Random attention: prefill, decoding, or cross-attention.

use ck_select_types::problem::FmhaProblem;
use ck_select_types::vocab::FmhaMask;

use crate::shapes::Choice;
use crate::shapes::drawn::{Draw, OperationShapes, Random};

impl OperationShapes for FmhaProblem {
    fn draw(_draw: &Draw, choice: &Choice, _number: usize, random: &mut Random) -> Self {
        let length = |random: &mut Random, least: usize, most: usize| {
            let power = 1_i64 << (least + random.below(most - least + 1));
            if random.below(3) == 0 {
                power - random.below(power.unsigned_abs() as usize / 4 + 1) as i64
            } else {
                power
            }
        };
        let lengths = match random.below(4) {
            0 => [1, length(random, 8, 15)],
            1 => [length(random, 5, 12), length(random, 5, 12)],
            _ => [length(random, 6, 13); 2],
        };
        let hdim = [32, 64, 64, 80, 128, 128, 128, 256][random.below(8)];
        let nhead_k = [1, 2, 4, 8, 16, 32][random.below(6)];
        let shared = [1, 1, 2, 4, 8][random.below(5)];
        let masks = [FmhaMask::No, FmhaMask::BottomRight];
        Self {
            batch: 1 << random.below(7),
            nhead_k,
            mask: masks[random.below(2)],
            dtype: choice.dtype,
            ..Self::new(lengths, nhead_k * shared, hdim)
        }
    }
}
