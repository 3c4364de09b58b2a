//! GEMMs: their extents and bytes, and the numbers of their kernels.

mod columns;

use super::device::{Device, Library};
use super::formula::{ColumnValue, Formula, KernelEstimate, OperationEstimate, UniversalColumn};
use super::load::{Load, TOGETHER, bytes_of, together};
use super::shape::{Kernel, Occupancy, Shape, ShapeError};
use super::terms::{self, Cycles, MOST_TERMS, names};
use crate::isa::Isa;
use crate::kernel::{GemmKernel, GemmVariant, Quant};
use crate::problem::GemmProblem;
use crate::vocab::{Epilogue, GemmLayout, GemmLibrary, Major, QuantMode};

impl OperationEstimate for GemmProblem {
    type Load = Load;
    const SURENESS: Option<&'static [u8]> =
        Some(include_bytes!("../../sureness/estimate/gemm_universal.json"));

    fn load(&self) -> Load {
        let GemmProblem { m, n, k, layout: GemmLayout { a, b, c }, request, .. } = *self;
        let of = |order: Major, row: usize, column: usize| match order {
            Major::Row => contiguous(self, row),
            Major::Col => contiguous(self, column),
            Major::Packed => f64::from(1_u32 << TOGETHER),
        };
        let (mut operand_bytes, mut scale_bytes) = (0.0, 0.0);
        let (mut results, mut multiply_adds) = (0.0, 0.0);
        for (extents, count) in self.gemms() {
            let [m, n, k] = extents.map(|extent| extent.max(1) as f64);
            results += m * n * count;
            multiply_adds += m * n * k * count;
            operand_bytes += (m * k * bytes_of(self.dtype_a) + k * n * bytes_of(self.dtype_b)) * count;
            scale_bytes += request.scales().map_or(0.0, |quant| scales([m, n, k], &quant)) * count;
        }
        let result_bytes = results * bytes_of(self.dtype_c);
        // Each D tensor is as large as the result.
        let d_bytes = result_bytes * f64::from(request.num_d);
        Load {
            extents: [m, n, k].map(|extent| extent.max(1) as f64),
            groups: f64::from(request.batch.max(1)),
            list: request.groups,
            experts: None,
            block_scales: false,
            together: [of(a, 2, 0), of(b, 1, 2), of(c, 1, 0)],
            images: [false; 2],
            bytes: operand_bytes + result_bytes + d_bytes + scale_bytes,
            result_bytes,
            results,
            multiply_adds,
            parts: f64::from(self.split_k.max(1)),
        }
    }
}

/// The formula of GEMMs, which convolutions have, too.
impl Formula for Load {
    type Shape = Shape;
    type Cycles = Cycles;
    const TERMS: &'static [&'static str] = &names(&Cycles::CAUSES);
    const COLUMNS: &'static [UniversalColumn] = columns::COLUMNS;
    const VALUES: &'static [ColumnValue<Self>] = columns::VALUES;

    fn bytes(&self) -> f64 {
        self.bytes
    }

    fn in_parts(self, parts: i32) -> Self {
        Self { parts: parts.max(1).into(), ..self }
    }

    fn tile(shape: &Shape) -> [f64; 3] {
        shape.tile
    }

    #[inline(always)]
    fn cycles(&self, isa: Isa, shape: &Shape, device: &Device) -> (Cycles, f64) {
        terms::cycles(isa, self, shape, device)
    }

    fn least(&self, _cycles: &Cycles, shape: &Shape, device: &Device) -> f64 {
        let units = (device.hardware.num_cus.max(1) * device.hardware.max_clock_mhz.max(1)) as f64;
        self.multiply_adds / (shape.macs * units)
    }

    fn times_by_cause(&self, isa: Isa, shape: &Shape, device: &Device) -> [f64; MOST_TERMS] {
        terms::cause_times(isa, self, shape, device)
    }

    fn times(&self, isa: Isa, shapes: &[Shape], device: &Device, times: &mut [f64]) {
        terms::times(isa, self, shapes, device, times);
    }
}

/// Contiguous elements along an axis in all GEMMs of a problem.
fn contiguous(problem: &GemmProblem, axis: usize) -> f64 {
    problem.gemms().map(|(extents, _)| together(extents[axis])).fold(f64::INFINITY, f64::min)
}

/// Bytes of scales: one of 32 bits for each group, each row and column, or each operand; microscaling has 8
/// bits.
fn scales([m, n, k]: [f64; 3], quant: &Quant) -> f64 {
    let groups = |[rows, depth]: [f64; 2], [of_rows, of_depth]: [u32; 2]| {
        (rows / f64::from(of_rows.max(1))).ceil() * (depth / f64::from(of_depth.max(1))).ceil()
    };
    let of_a = quant.group_a.map_or(0.0, |group| groups([m, k], [group.m, group.k]));
    let of_b = quant.group_b.map_or(0.0, |group| groups([n, k], [group.n, group.k]));
    match quant.mode {
        QuantMode::RowCol => 4.0 * (m + n),
        QuantMode::Tensor => 8.0,
        QuantMode::Mx => of_a + of_b,
        QuantMode::A | QuantMode::B | QuantMode::AB => 4.0 * (of_a + of_b),
    }
}

impl KernelEstimate for GemmKernel {
    type Shape = Shape;

    fn shape(&self, device: &Device) -> Result<Shape, ShapeError> {
        let shape = Shape::new(&Kernel::from_gemm(self), device, self.library(device))?;
        let alone = self.persistent && shape.constants.staged_by_number;
        let resident = if alone { 1.0 } else { shape.occupancy.resident };
        Ok(Shape {
            occupancy: Occupancy { resident, ..shape.occupancy },
            balanced: self.variant.stream_k.is_some(),
            persistent: self.persistent,
            preshuffled: self.preshuffle,
            ..shape
        })
    }

    /// Pools of Triton's GEMMs for CUDA devices have the tile engine's names, too, but no other epilogue than
    /// `default`, which the kernels of `gpu/` do not have.
    fn library(&self, device: &Device) -> Library {
        match (device.library, self.variant.library) {
            (_, GemmLibrary::Triton) => Library::Triton,
            (_, GemmLibrary::Aiter) if self.is_classic() => Library::Aiter,
            (_, GemmLibrary::Aiter) => Library::AiterTile,
            (Library::Cuda, _) if self.epilogue == Epilogue::Default => Library::Triton,
            (library, _) => library,
        }
    }

    fn library_marks(&self) -> Option<(GemmLibrary, bool)> {
        Some((self.variant.library, matches!(self.epilogue, Epilogue::Default)))
    }
}

impl Kernel {
    fn from_gemm(kernel: &GemmKernel) -> Self {
        Self {
            types: [kernel.dtype_a, kernel.dtype_b, kernel.dtype_c],
            tile: kernel.tile,
            wave: kernel.wave,
            warp_tile: kernel.warp_tile,
            vector: kernel.vector,
            pipeline: kernel.pipeline,
            stages: kernel.stages(),
            second_buffer: kernel.double_buffer,
            two_stage: false,
            parts: f64::from(kernel.split_k.max(1)),
            direct_b: kernel.preshuffle && !reads_both(kernel),
            direct_c: kernel.epilogue == Epilogue::Default,
            sharing: f64::from(kernel.variant.block_per_cu.max(1)),
            scaled_per_depth: scaled_per_depth(kernel),
            scales_steps: false,
        }
    }
}

/// Whether a kernel reads B as it is or shuffled, as an argument says: AITER's of CK Tile with scales of
/// groups. Where B is as it is they win little, so they count as if it always was.
fn reads_both(kernel: &GemmKernel) -> bool {
    let GemmVariant { quant, library, .. } = kernel.variant;
    library == GemmLibrary::Aiter
        && !kernel.is_classic()
        && quant.is_some_and(|quant| quant.mode == QuantMode::AB)
}

/// Sums over a group of the depth are multiplied by its scales, other scales only by the results.
fn scaled_per_depth(kernel: &GemmKernel) -> f64 {
    let groups = kernel.variant.quant.filter(|quant| quant.mode == QuantMode::AB);
    let depth = groups.and_then(|quant| quant.group_b.or(quant.group_a)).map_or(0, |group| group.k);
    if depth == 0 { 0.0 } else { 1.0 / f64::from(depth) }
}
