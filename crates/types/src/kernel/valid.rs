//! Valid values of a descriptor: the same ranges as in names and exports.

use super::scan::{MAX_EXTENT, MAX_SMALL};
use super::{ConvKernel, GemmKernel, Kernel, KernelKind, Mnk};
use crate::problem::{InvalidField, element};
use crate::vocab::StreamKReduction;

impl Kernel {
    /// Checks the fields that a caller who fills a descriptor can get wrong; names and exports are checked
    /// when they are read.
    pub fn validate(&self) -> Result<(), InvalidField> {
        if self.name.is_empty() {
            return Err(InvalidField::new("name", "nothing", "at least one character"));
        }
        if let Some(control) = self.name.chars().find(|character| character.is_control()) {
            return Err(InvalidField::new(
                "name",
                format_args!("the character {control:?}"),
                "one line of text",
            ));
        }
        match &self.kind {
            KernelKind::Conv(kernel) => kernel.validate(),
            KernelKind::Gemm(kernel) => kernel.validate(),
            KernelKind::Fmha(kernel) => kernel.validate(),
        }
    }
}

impl ConvKernel {
    /// Checks the numbers.
    pub fn validate(&self) -> Result<(), InvalidField> {
        element("dtype_in", self.dtype_in)?;
        element("dtype_wei", self.dtype_wei)?;
        element("dtype_out", self.dtype_out)?;
        within("ndim", u32::from(self.ndim), 1, 3)?;
        shape("tile", self.tile, MAX_EXTENT)?;
        shape("wave", self.wave, MAX_SMALL)?;
        shape("warp_tile", self.warp_tile, MAX_SMALL)?;
        widths(self.vector, 1)?;
        within("block_per_cu", self.block_per_cu, 1, MAX_EXTENT)?;
        within("num_wave_groups", self.num_wave_groups, 1, MAX_EXTENT)?;
        within("num_groups_to_merge", self.num_groups_to_merge, 1, MAX_EXTENT)
    }
}

impl GemmKernel {
    /// Checks the numbers.
    pub fn validate(&self) -> Result<(), InvalidField> {
        element("dtype_a", self.dtype_a)?;
        element("dtype_b", self.dtype_b)?;
        element("dtype_c", self.dtype_c)?;
        shape("tile", self.tile, MAX_EXTENT)?;
        shape("wave", self.wave, MAX_SMALL)?;
        shape("warp_tile", self.warp_tile, MAX_SMALL)?;
        widths(self.vector, 0)?;
        within("split_k", u32::from(self.split_k), 1, MAX_SMALL)?;
        within("num_wave_groups", u32::from(self.num_wave_groups), 1, MAX_SMALL)?;
        within("block_size", self.block_size, 0, MAX_EXTENT)?;
        within("block_per_cu", u32::from(self.variant.block_per_cu), 1, MAX_SMALL)?;
        if self.variant.stream_k == Some(StreamKReduction::None) {
            return Err(InvalidField::new("stream_k", "none", "atomic, linear or tree"));
        }
        self.variant.quant.map_or(Ok(()), |quant| quant.validate())
    }
}

pub(super) fn shape(field: &str, shape: Mnk, most: u32) -> Result<(), InvalidField> {
    for (axis, extent) in [("m", shape.m), ("n", shape.n), ("k", shape.k)] {
        within(&format!("{field}_{axis}"), extent, 1, most)?;
    }
    Ok(())
}

fn widths(vector: [u32; 3], least: u32) -> Result<(), InvalidField> {
    for (operand, width) in ["a", "b", "c"].into_iter().zip(vector) {
        within(&format!("vector_{operand}"), width, least, MAX_EXTENT)?;
    }
    Ok(())
}

fn within(field: &str, value: u32, least: u32, most: u32) -> Result<(), InvalidField> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(InvalidField::new(field, value, format!("{least} to {most}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_say_is_valid_and_each_number_is_checked() {
        let kernel = Kernel::from_name("grouped_conv_forward_bf16_2d_64x128x64_compv3").unwrap();
        kernel.validate().unwrap();
        let KernelKind::Conv(conv) = &kernel.kind else { unreachable!() };
        let fault = |conv: ConvKernel| conv.validate().unwrap_err().to_string();
        assert_eq!(fault(ConvKernel { ndim: 4, ..conv.clone() }), "ndim: found 4, expected 1 to 3");
        assert_eq!(
            fault(ConvKernel { tile: Mnk::new(64, 0, 64), ..conv.clone() }),
            "tile_n: found 0, expected 1 to 65535"
        );
        assert_eq!(
            fault(ConvKernel { wave: Mnk::new(2, 2, 256), ..conv.clone() }),
            "wave_k: found 256, expected 1 to 255"
        );
        assert_eq!(
            fault(ConvKernel { vector: [4, 8, 0], ..conv.clone() }),
            "vector_c: found 0, expected 1 to 65535"
        );
        let unnamed = Kernel { name: String::new(), kind: kernel.kind.clone() };
        assert_eq!(
            unnamed.validate().unwrap_err().to_string(),
            "name: found nothing, expected at least one character"
        );
        let lines = Kernel { name: "a\nb".to_owned(), kind: kernel.kind.clone() };
        assert!(lines.validate().unwrap_err().to_string().contains("expected one line of text"));

        let name = "fp8_rcr_mem_default_auto_True_True_True_False_64x64x64_1x4x1_16x16x32";
        let kernel = Kernel::from_name(name).unwrap();
        kernel.validate().unwrap();
        let KernelKind::Gemm(gemm) = &kernel.kind else { unreachable!() };
        let fault = |gemm: GemmKernel| gemm.validate().unwrap_err().to_string();
        assert_eq!(fault(GemmKernel { split_k: 0, ..gemm.clone() }), "split_k: found 0, expected 1 to 255");
        assert_eq!(
            fault(GemmKernel { warp_tile: Mnk::new(0, 16, 32), ..gemm.clone() }),
            "warp_tile_m: found 0, expected 1 to 255"
        );
    }
}
