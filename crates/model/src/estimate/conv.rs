//! Convolutions: the GEMM that one is, and the numbers of its kernels.

use super::device::Device;
use super::formula::{KernelEstimate, OperationEstimate};
use super::load::{Load, bytes_of, together};
use super::shape::{Kernel, Shape, ShapeError};
use crate::kernel::ConvKernel;
use crate::problem::{ConvProblem, Groups};
use crate::vocab::{ConvLayout, Direction};

impl OperationEstimate for ConvProblem {
    type Load = Load;
    const SURENESS: Option<&'static [u8]> = Some(include_bytes!("../sureness/estimate/grouped_conv.json"));

    fn load(&self) -> Load {
        let volume = |extents: [i64; 3]| extents.iter().map(|&extent| extent.max(1) as f64).product::<f64>();
        let groups = self.g.max(1);
        let (channels, out_channels) = (self.c / groups, self.k / groups);
        let outputs = self.output();
        let [input, filter, output] = [self.input, self.filter, outputs].map(volume);
        let (n, c, k, g) = (self.n as f64, channels as f64, out_channels as f64, groups as f64);
        let in_bytes = n * c * g * input * bytes_of(self.dtype_in);
        let filter_bytes = c * k * g * filter * bytes_of(self.dtype_wei);
        let out_bytes = n * k * g * output * bytes_of(self.dtype_out);
        let width_last = matches!(self.layout.order(), ConvLayout::Ngchw | ConvLayout::Nchw);
        let of_tensor = |channels: i64, width: i64| together(if width_last { width } else { channels });
        let in_together = of_tensor(channels, self.input[2]);
        let out_together = of_tensor(out_channels, outputs[2]);
        let (extents, together, images, result_bytes) = match self.direction {
            Direction::Forward => (
                [n * output, k, c * filter],
                [in_together, together(channels), out_together],
                [true, false],
                out_bytes,
            ),
            Direction::BwdData => (
                [n * input, c, k * filter],
                [out_together, together(channels), in_together],
                [true, false],
                in_bytes,
            ),
            Direction::BwdWeight => (
                [k, c * filter, n * output],
                [out_together, in_together, together(channels)],
                [false, true],
                filter_bytes,
            ),
        };
        Load {
            extents,
            groups: g,
            list: Groups::NONE,
            experts: None,
            block_scales: false,
            together,
            images,
            bytes: in_bytes + filter_bytes + out_bytes,
            result_bytes,
            results: extents[0] * extents[1] * g,
            multiply_adds: extents.iter().product::<f64>() * g,
            parts: f64::from(self.split_k.max(1)),
        }
    }
}

impl KernelEstimate for ConvKernel {
    type Shape = Shape;

    fn shape(&self, device: &Device) -> Result<Shape, ShapeError> {
        let shape = Shape::new(&Kernel::from_conv(self), device, self.library(device))?;
        Ok(Shape {
            merged: f64::from(self.num_groups_to_merge.max(1)),
            explicit: self.explicit_gemm,
            balanced: self.stream_k.is_some(),
            persistent: self.stream_k.is_some_and(|stream_k| stream_k.persistent),
            ..shape
        })
    }
}

impl Kernel {
    fn from_conv(kernel: &ConvKernel) -> Self {
        let (input, weight, output) = (kernel.dtype_in, kernel.dtype_wei, kernel.dtype_out);
        Self {
            types: match kernel.direction {
                Direction::Forward => [input, weight, output],
                Direction::BwdData => [output, weight, input],
                Direction::BwdWeight => [output, input, weight],
            },
            tile: kernel.tile,
            wave: kernel.wave,
            warp_tile: kernel.warp_tile,
            vector: kernel.vector,
            pipeline: kernel.pipeline,
            stages: None,
            second_buffer: kernel.double_smem_buffer,
            two_stage: kernel.two_stage,
            parts: 1.0,
            direct_b: false,
            direct_c: false,
            sharing: 1.0,
            scaled_per_depth: 0.0,
            scales_steps: false,
        }
    }
}
