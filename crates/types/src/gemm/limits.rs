//! Which extents and splits a GEMM kernel takes.
//!
//! The facts are those of CK Tile's `IsSupportedArgument`: of the universal kernel, which Stream-K, batches,
//! lists, D tensors and a shuffled B share, of the quantised one, and of microscaling. Where a name tells no
//! width, it is the widest of 16, 8 and fewer bytes that divides both the tile along memory and the elements
//! of a thread, as CK's code computes it from type, layout and tile.

use super::{GemmKernel, GemmProblem};
use crate::limits::{Access, Judged, K, LimitedKernel, M, N, ProductLimits, Refusal, Split, is_multiple};
use crate::vocab::{Dtype, Epilogue, GemmLibrary, Major, Pipeline, QuantMode};

impl GemmProblem {
    /// Why a kernel with these limits is not launched for the problem.
    #[inline]
    fn refusal(&self, limits: &ProductLimits) -> Option<Refusal> {
        let parts = i64::from(self.split_k.max(1));
        if self.request.groups.is_empty() {
            return limits.refusal([self.m, self.n, self.k], parts);
        }
        self.gemms().find_map(|(extents, _)| limits.refusal(extents, parts))
    }
}

impl LimitedKernel for GemmKernel {
    type Problem = GemmProblem;

    fn judged(&self) -> Judged {
        Judged::By(self.product_limits())
    }

    #[inline]
    fn refusal(&self, limits: Option<&ProductLimits>, problem: &GemmProblem) -> Option<Refusal> {
        match limits {
            Some(limits) => problem.refusal(limits),
            None => problem.refusal(&self.product_limits()),
        }
    }

    /// [`Refusal::Parts`], which holds for every library and GPU.
    fn refusal_of_parts(&self, problem: &GemmProblem) -> Option<Refusal> {
        let (limits, parts) = (self.product_limits(), i64::from(problem.split_k.max(1)));
        let is_short = |([_, _, depth], _): ([i64; 3], f64)| limits.has_fewer_parts(depth, parts);
        problem.gemms().any(is_short).then_some(Refusal::Parts)
    }

    #[inline]
    fn needs_scaled_instructions(&self) -> bool {
        self.variant.quant.is_some_and(|quant| quant.mode == QuantMode::Mx)
            || self.pipeline == Pipeline::Microscale
            || self.warp_tile.k >= 128 && self.dtype_a.bits() <= 8
    }
}

impl GemmKernel {
    fn product_limits(&self) -> ProductLimits {
        let Self { tile, warp_tile, layout, variant, .. } = self;
        let free = ProductLimits {
            tile: [1; 3],
            access: [Access { axis: K, width: 1 }; 3],
            step: tile.k.max(1),
            instruction: 0,
            // AITER's tuned tables have winners whose parts are single loads.
            part: if variant.library == GemmLibrary::Aiter { self.vector[0] } else { tile.k }.max(1),
            split: Split::Any,
            has_order_of_d: true,
            multiples: [1; 3],
        };
        // Triton's kernels have masks. What AITER's need is part of what matches a request.
        if variant.library != GemmLibrary::Ck {
            return free;
        }
        let axes = [axis(layout.a, K, M), axis(layout.b, N, K), axis(layout.c, N, M)];
        // Pipeline `mem` pads whatever the flags say.
        let pads = |axis: usize| self.pad[axis] || self.pipeline == Pipeline::Mem;
        let is_along = |axis: usize| axes.contains(&Some(axis));
        let extents = [tile.m, tile.n, tile.k];
        let access = |operand: usize| match axes[operand] {
            Some(axis) => Access { axis, width: self.width(operand, axis) },
            None => free.access[operand],
        };
        ProductLimits {
            tile: [M, N, K].map(|axis| if is_along(axis) && !pads(axis) { extents[axis].max(1) } else { 1 }),
            access: [0, 1, 2].map(access),
            instruction: if self.is_of_universal() { warp_tile.k } else { 0 },
            split: self.split(access(2).width),
            has_order_of_d: self.num_d_tensors == 0 || variant.d_layout == layout.c,
            ..free
        }
        .with_multiples()
    }

    /// Whether CK's universal kernel judges its arguments, rather than the quantised one.
    fn is_of_universal(&self) -> bool {
        self.variant.quant.is_none_or(|quant| quant.mode == QuantMode::Mx)
    }

    /// The elements of a load of A or B or of a store of C, which are contiguous along an axis.
    fn width(&self, operand: usize, axis: usize) -> u32 {
        match (self.vector[operand], operand) {
            (0, 2) => self.store_width(axis),
            (0, _) => self.load_width(operand, axis),
            (told, _) => told,
        }
    }

    fn load_width(&self, operand: usize, axis: usize) -> u32 {
        let tile = [self.tile.m, self.tile.n, self.tile.k];
        let threads = match self.block_size {
            0 => self.wave.m.saturating_mul(self.wave.n).saturating_mul(self.wave.k).saturating_mul(64),
            known => known,
        };
        let elements = tile[operand].saturating_mul(tile[K]) / threads.max(1);
        // B of narrower elements is widened to the type of A, by some kernels before it is stored.
        let bits =
            if operand == 0 { self.dtype_a.bits() } else { self.dtype_a.bits().max(self.dtype_b.bits()) };
        let narrowest = if bits < 8 { 8 / bits } else { 1 };
        let fits =
            |width: &u32| is_multiple(tile[axis].into(), *width) && is_multiple(elements.into(), *width);
        [128 / bits, 64 / bits].into_iter().filter(|width| *width > narrowest).find(fits).unwrap_or(narrowest)
    }

    fn store_width(&self, axis: usize) -> u32 {
        let (waves, instruction) =
            if axis == N { (self.wave.n, self.warp_tile.n) } else { (self.wave.m, self.warp_tile.m) };
        match self.epilogue {
            Epilogue::CShuffle => waves.saturating_mul(instruction).min(128 / self.dtype_c.bits()).max(1),
            // A thread has four results in a row along m, or along n if C is transposed.
            Epilogue::Default if self.transpose_c == (axis == N) => 4,
            _ => 1,
        }
    }

    fn split(&self, store: u32) -> Split {
        let instruction = self.warp_tile.k;
        let [_, shuffled_scales_b] = self.variant.shuffled_scales;
        if self.variant.stream_k.is_some() {
            return Split::Never;
        }
        match self.variant.quant {
            Some(quant) if quant.mode == QuantMode::Mx && self.layout.a == Major::Row => {
                Split::Instructions(instruction)
            }
            Some(quant) if quant.mode == QuantMode::B && !shuffled_scales_b => {
                Split::Scales { group: quant.group_b.map_or(1, |group| group.k), instruction }
            }
            Some(_) => Split::Never,
            None if matches!(self.dtype_c, Dtype::Fp16 | Dtype::Bf16) && store % 2 == 1 => {
                Split::SingleStores
            }
            None => Split::Any,
        }
    }
}

/// The axis along which an operand's elements are contiguous.
const fn axis(order: Major, of_rows: usize, of_columns: usize) -> Option<usize> {
    match order {
        Major::Row => Some(of_rows),
        Major::Col => Some(of_columns),
        Major::Packed => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gemm::named;
    use crate::kernel::{Kernel, KernelKind};
    use crate::problem::Problem;

    const BODY: &str = "compv3_cshuffle_intrawave_False_False_False_False_128x128x64_2x2x1_32x32x16";

    fn refusal(name: &str, extents: [i64; 3], split_k: i32) -> Option<Refusal> {
        let kernel = named(name);
        let [m, n, k] = extents;
        let problem = GemmProblem {
            split_k,
            dtype_a: kernel.dtype_a,
            dtype_b: kernel.dtype_b,
            dtype_c: kernel.dtype_c,
            layout: kernel.layout,
            request: kernel.request(),
            ..GemmProblem::new(m, n, k)
        };
        // All ways to ask answer alike.
        let (kernel, problem) =
            (Kernel { name: name.to_owned(), kind: kernel.into() }, Problem::from(problem));
        let refusal = kernel.kind.refusal(&problem, None);
        let limits = kernel.kind.limits();
        assert_eq!(kernel.matches(&problem), refusal.is_none(), "{name} {problem}");
        assert_eq!(kernel.matches_within(&limits, &problem, None), refusal.is_none(), "{name} {problem}");
        assert_eq!(kernel.misfit(&problem), refusal.map(|refusal| refusal.to_string()), "{name} {problem}");
        refusal
    }

    /// Kernels that CK's `IsSupportedArgument` refuses came first: these extents were not judged at all.
    #[test]
    fn extents_are_judged_as_ck_does() {
        use Refusal::{LoadsOfA, LoadsOfB, StepsOfK, StoresOfC, TilesOfM, TilesOfN};
        let padded = BODY.replacen("False_False_False", "True_True_True", 1);
        let of = |types: &str, body: &str| format!("gemm_universal_{types}_{body}");
        let single = BODY.replace("cshuffle", "default");
        for (name, extents, expected) in [
            (of("bf16_rcr", BODY), [64, 101, 4095], Some(TilesOfN)),
            (of("bf16_rcr", BODY), [64, 128, 4095], Some(StepsOfK)),
            // Rows of A and C beyond M are only read, or not stored.
            (of("bf16_rcr", BODY), [1, 128, 4096], None),
            // Padding completes tiles, but neither loads nor stores.
            (of("bf16_rcr", &padded), [64, 104, 4088], None),
            (of("bf16_rcr", &padded), [64, 104, 4095], Some(LoadsOfA)),
            (of("bf16_rcr", &padded), [64, 101, 4088], Some(StoresOfC)),
            // A thread loads 16 bytes: 8, 16, 4 elements.
            (of("fp8_rcr", &padded), [64, 104, 4088], Some(LoadsOfA)),
            (of("fp8_rcr", &padded), [64, 104, 4080], None),
            (of("fp32_rcr", &padded), [64, 100, 4084], None),
            // Unless the tile or a thread's elements are fewer: 4 of a tile of 36, 1 of 2.
            (of("bf16_rcr", &padded.replace("128x128x64", "128x128x36")), [64, 104, 4084], None),
            (of("bf16_rcr", &padded.replace("128x128x64", "32x32x16")), [64, 104, 4083], None),
            // What is contiguous depends on the layout.
            (of("bf16_rrr", BODY), [64, 128, 4096], None),
            (of("bf16_rrr", &padded), [64, 100, 4096], Some(LoadsOfB)),
            (of("bf16_rrr", &padded), [64, 104, 4100], Some(LoadsOfA)),
            (of("bf16_crr", BODY), [64, 128, 4096], Some(TilesOfM)),
            (of("bf16_crr", BODY), [128, 128, 4001], None),
            (of("bf16_crr", &padded), [100, 128, 4001], Some(LoadsOfA)),
            (of("bf16_ccr", &padded), [104, 128, 4001], Some(LoadsOfB)),
            (of("bf16_rcc", &padded), [100, 128, 4096], Some(StoresOfC)),
            // Widths of the name, and single stores of the default epilogue.
            (format!("gemm_universal_bf16_rcr_{padded}_vec1_1_1"), [64, 101, 4095], None),
            (format!("gemm_universal_bf16_rcr_{padded}_vec2_1_1"), [64, 101, 4095], Some(LoadsOfA)),
            (
                of("bf16_rcr", &single.replacen("False_False_False", "True_True_True", 1)),
                [64, 101, 4096],
                None,
            ),
            // Pipeline `mem` pads everything, and other libraries' kernels have masks.
            (of("bf16_rcr", &BODY.replace("compv3", "mem")), [64, 104, 4088], None),
            (
                format!("triton_gemm_bf16_rcr_{}", single.replace("32x32x16", "16x16x16")),
                [64, 101, 4095],
                None,
            ),
            // Stream-K, batches, D tensors and a shuffled B are judged alike.
            (format!("gemm_bf16_rcr_{BODY}_streamk"), [64, 101, 4096], Some(TilesOfN)),
            (format!("gemm_bf16_rcr_{BODY}_batched"), [64, 101, 4096], Some(TilesOfN)),
            (format!("gemm_preshuffle_bf16_rcr_{BODY}"), [64, 128, 4095], Some(StepsOfK)),
            (format!("gemm_bf16_rcrr_{BODY}_multid_MultiDAdd_d2"), [64, 128, 4096], None),
            (format!("gemm_bf16_rcrc_{BODY}_multid_MultiDAdd_d2"), [64, 128, 4096], Some(Refusal::OrderOfD)),
            (of("bf16_rcr", &padded), [64, 104, 8], Some(Refusal::Instruction)),
        ] {
            assert_eq!(refusal(&name, extents, 1), expected, "{name} {extents:?}");
        }
    }

    /// Any number of parts was a candidate, also more than K has steps.
    #[test]
    fn splits_are_judged_as_ck_does() {
        use Refusal::{NoSplit, Parts, SharedScale, SingleStores, StepsOfK};
        let padded = BODY.replacen("False_False_False", "True_True_True", 1);
        let quant = "compv3_cshuffle_intrawave_128x128x128_1x4x1_16x16x32";
        let of_b = format!("gemm_bquant_fp8_rcr_{quant}_qg1x1x128");
        let aiters = "a8w8_rowwise_256x128x128x128_32x32_2x2_8x32x1_8x32x1_1x32x1x8_8x8x1_1x1_intrawave_v3";
        for (name, depth, parts, expected) in [
            (format!("gemm_bf16_rcr_{BODY}"), 1024, 16, None),
            (format!("gemm_bf16_rcr_{BODY}"), 1024, 17, Some(Parts)),
            (format!("gemm_bf16_rcr_{BODY}"), 1024, 3, Some(StepsOfK)),
            (format!("gemm_bf16_rcr_{padded}"), 1024, 3, None),
            (format!("gemm_bf16_rcr_{padded}"), 1032, 17, None),
            (format!("gemm_bf16_rcr_{padded}"), 1032, 18, Some(Parts)),
            (format!("gemm_bf16_rcr_{}", BODY.replace("cshuffle", "default")), 1024, 2, Some(SingleStores)),
            (format!("gemm_fp32_rcr_{}", BODY.replace("cshuffle", "default")), 1024, 2, None),
            (format!("gemm_bf16_rcr_{BODY}_streamk"), 1024, 2, Some(NoSplit)),
            (format!("gemm_rowcolquant_fp8_rcr_{quant}"), 1024, 2, Some(NoSplit)),
            (of_b.clone(), 1024, 2, None),
            (of_b.clone(), 1024, 3, Some(SharedScale)),
            (format!("{of_b}_preshufflebq"), 1024, 2, Some(NoSplit)),
            (format!("triton_gemm_bf16_rcr_{BODY}"), 1000, 16, None),
            (format!("triton_gemm_bf16_rcr_{BODY}"), 1000, 17, Some(Parts)),
            // Winners of tuned tables.
            (aiters.to_owned(), 128, 8, None),
            (aiters.to_owned(), 128, 9, Some(Parts)),
        ] {
            assert_eq!(refusal(&name, [128, 128, depth], parts), expected, "{name} {depth} {parts}");
        }
    }

    /// Kernels of a list are judged by all of its GEMMs, and of other vendors' GPUs nothing is known.
    #[test]
    fn every_gemm_of_a_list_counts_and_other_gpus_do_not() {
        let list = Kernel::from_name(&format!("grouped_gemm_bf16_rcr_{BODY}")).unwrap();
        let of = |groups: &str| {
            GemmProblem::new(1, 1, 1).with_dtype(Dtype::Bf16).grouped(groups.parse().unwrap()).into()
        };
        assert_eq!(list.kind.refusal(&of("64x128x64+64x256x128"), None), None);
        assert_eq!(list.kind.refusal(&of("64x120x64+64x256x128"), None), Some(Refusal::TilesOfN));
        let kernel = KernelKind::Gemm(named(&format!("gemm_bf16_rcr_{BODY}")));
        let problem = Problem::from(GemmProblem::new(64, 101, 4095).with_dtype(Dtype::Bf16));
        for (arch, expected) in [("gfx942", Some(Refusal::TilesOfN)), ("sm_90", None)] {
            let arch = arch.parse().ok();
            assert_eq!(kernel.refusal(&problem.on(arch), None), expected);
            assert_eq!(kernel.refusal(&problem, arch), expected);
            assert_eq!(kernel.is_refused(&kernel.limits(), &problem, arch), expected.is_some());
        }
    }
}
