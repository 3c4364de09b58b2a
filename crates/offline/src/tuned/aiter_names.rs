//! What AITER's kernel names, and the names of its tables, say about a problem: how operands are scaled, and
//! whether B is shuffled.
//!
//! ```text
//! a8w8_blockscale_1x128x128_256x16x64x256_…               scales of groups
//! a8w8_rowwise_256x16x64x512_…                            scales of rows and columns
//! a8w8_bpreshuffle_cktile_0x0x8x4x…                       B shuffled
//! _ZN5aiter42fp8gemm_bf16_blockscale_BpreShuffle_32x128E  both, in assembly
//! _ZN5aiter41I8gemm_bf16_perTokenI8_BpreShuffle_16x128E
//! ```
//!
//! The three numbers after `blockscale_` are the extents of groups along M, N and K: a scale of A for each M
//! and K, of B for each N and K. Without them they are 1, 128 and 128, the only ones in AITER's tables.

use ck_select_types::vocab::Dtype;

/// What names say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Names {
    pub quant: Option<Quant>,
    /// B is shuffled. Names say only that it is, never that it is not.
    pub preshuffle: bool,
    /// Bits of an element of B: `a8w8`.
    pub bits: Option<u32>,
}

/// How operands are scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quant {
    /// By groups of these extents along M, N and K.
    Groups([u32; 3]),
    /// By rows of A and columns of B.
    RowCol,
    /// By 32 elements of a 4-bit type.
    Mx,
}

impl Quant {
    /// The word of a problem.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Groups(_) => "abquant",
            Self::RowCol => "rowcolquant",
            Self::Mx => "mx",
        }
    }
}

/// Reads the name of a kernel or of a file.
pub(super) fn read(name: &str) -> Names {
    let lower = name.to_lowercase();
    let quant = if ["a4w4", "per1x32"].iter().any(|word| lower.contains(word)) {
        Some(Quant::Mx)
    } else if let Some((_, after)) = lower.split_once("blockscale") {
        Some(Quant::Groups(extents(after).unwrap_or([1, 128, 128])))
    } else if ["rowwise", "pertoken"].iter().any(|word| lower.contains(word)) {
        Some(Quant::RowCol)
    } else {
        None
    };
    let bits = lower.strip_prefix('a').and_then(|rest| {
        let (a, rest) = rest.split_once('w')?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        a.parse::<u32>().ok()?;
        rest[..digits].parse().ok()
    });
    Names { quant, preshuffle: lower.contains("bpreshuffle"), bits }
}

/// The first three numbers joined by `x`, between two `_`.
fn extents(text: &str) -> Option<[u32; 3]> {
    text.split('_').find_map(|part| {
        let numbers: Vec<u32> = part.split('x').map_while(|number| number.parse().ok()).collect();
        (part.split('x').count() == 3).then_some(numbers)?.try_into().ok()
    })
}

impl Names {
    /// What a kernel's name says, otherwise its table's, and what `fields` add; an error if two of them
    /// contradict each other.
    pub(super) fn with(self, table: Self, fields: &str) -> Result<Self, String> {
        let told = told(fields, "quant");
        let quant = match (self.quant, table.quant) {
            (Some(own), Some(other)) if own.word() != other.word() => {
                return Err(format!(
                    "kernelName: its scales are {}, expected {} as the file's name says",
                    own.word(),
                    other.word()
                ));
            }
            (own, other) => own.or(other),
        };
        if let (Some(quant), Some(told)) = (quant, told)
            && quant.word() != told
        {
            return Err(format!(
                "kernelName: its scales are {} by its name or the file's, expected {told} as --fields says",
                quant.word()
            ));
        }
        let preshuffle = self.preshuffle || table.preshuffle;
        Ok(Self { quant, preshuffle, bits: self.bits.or(table.bits) })
    }

    /// Refuses a type of B with another number of bits.
    pub(super) fn check_type(self, dtype: &str) -> Result<(), String> {
        match (self.bits, dtype.parse::<Dtype>()) {
            (Some(bits), Ok(dtype)) if dtype.bits() != bits => Err(format!(
                "kernelName: an element of B has {bits} bits by its name or the file's, {dtype} has {}",
                dtype.bits()
            )),
            _ => Ok(()),
        }
    }
}

/// The value of a key among fields.
pub(super) fn told<'a>(fields: &'a str, key: &str) -> Option<&'a str> {
    let mut pairs = fields.split(',').filter_map(|field| field.split_once('='));
    pairs.find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_scales_and_whether_b_is_shuffled() {
        let groups = Some(Quant::Groups([1, 128, 128]));
        for (name, quant, preshuffle) in [
            ("a8w8_blockscale_1x128x128_256x16x64x256_16x16_16x16_intrawave_v1", groups, false),
            (
                "a8w8_blockscale_bpreshuffle_1x64x128_256x64x64x256_16x16_v1",
                Some(Quant::Groups([1, 64, 128])),
                true,
            ),
            ("_ZN5aiter42fp8gemm_bf16_blockscale_BpreShuffle_32x128E", groups, true),
            ("_ZN5aiter41I8gemm_bf16_perTokenI8_BpreShuffle_16x128E", Some(Quant::RowCol), true),
            ("a8w8_rowwise_256x16x64x512_16x16_1x1_intrawave_v3", Some(Quant::RowCol), false),
            ("a8w8_bpreshuffle_cktile_0x0x8x4x1x0x0x0x0x2_16x64x512_1x4x1_16x16x64_default", None, true),
            ("a4w4_blockscale_256x64x128x128_16x16_16x16_8x32x1_intrawave_v3", Some(Quant::Mx), false),
            ("_ZN5aiter41f4gemm_bf16_per1x32Fp4_BpreShuffle_192x128E", Some(Quant::Mx), true),
            ("_ZN5aiter39bf16gemm_fp32bf16_tn_64x64_splitk_cleanE", None, false),
            ("a8w8_blockscale_bpreshuffle_tuned_gemm.csv", groups, true),
        ] {
            let names = read(name);
            assert_eq!((names.quant, names.preshuffle), (quant, preshuffle), "{name}");
        }
        let bits = ["a8w8_rowwise", "a4w4_blockscale", "a16w8_x", "_ZN5aiter41f4gemm", "aw", "a8w"];
        assert_eq!(bits.map(|name| read(name).bits), [Some(8), Some(4), Some(8), None, None, None]);
    }
}
