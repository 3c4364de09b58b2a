//! Every name reads back, for any kernel; what comes near to one is read alike or refused.

use ck_select::kernel::{
    ConvKernel, ConvTile, FmhaKernel, GemmKernel, GemmVariant, Kernel, KernelKind, Mnk, StreamK,
};
use ck_select::vocab::{
    ConvLayout, Direction, Dtype, Elementwise, Epilogue, GemmLayout, Major, Pipeline, Scheduler,
    Specialization, StreamKReduction,
};
use proptest::prelude::*;
use proptest::sample::select;

fn any_word<T: std::fmt::Debug + Copy + 'static>(words: &'static [T]) -> impl Strategy<Value = T> {
    select(words)
}

fn mnk(max: u32) -> impl Strategy<Value = Mnk> {
    (1..=max, 1..=max, 1..=max).prop_map(|(m, n, k)| Mnk::new(m, n, k))
}

prop_compose! {
    fn layout()(
        a in any_word(Major::ALL), b in any_word(Major::ALL), c in any_word(Major::ALL)
    ) -> GemmLayout {
        GemmLayout { a, b, c }
    }
}

prop_compose! {
    /// Any kernel that an identifier describes completely.
    fn gemm()(
        dtype in any_word(Dtype::OF_ELEMENTS), layout in layout(), pipeline in any_word(Pipeline::ALL),
        epilogue in any_word(Epilogue::ALL), scheduler in any_word(Scheduler::ALL), pad: [bool; 3],
        tile in mnk(65_535), wave in mnk(255), warp_tile in mnk(255), flags: [bool; 3], split_k in 1..=255u8,
        elementwise in any_word(Elementwise::ALL), num_d_tensors: u8,
        stream_k in proptest::option::of(any_word(&StreamKReduction::ALL[1..])),
    ) -> GemmKernel {
        let [persistent, structured_sparsity, preshuffle] = flags;
        GemmKernel {
            dtype_a: dtype,
            dtype_b: dtype,
            dtype_c: dtype.result(),
            dtype_acc: dtype.accumulator(),
            layout,
            transpose_a: false,
            transpose_b: false,
            grouped: false,
            split_k,
            elementwise,
            num_d_tensors,
            structured_sparsity,
            tile,
            wave,
            warp_tile,
            pipeline,
            scheduler,
            epilogue,
            block_size: 0,
            double_buffer: pipeline.double_buffered(),
            persistent,
            preshuffle,
            transpose_c: false,
            num_wave_groups: 1,
            pad,
            vector: [0; 3],
            variant: GemmVariant { stream_k, ..GemmVariant::default() },
            arch: None,
        }
    }
}

prop_compose! {
    fn stream_k()(reduction in any_word(StreamKReduction::ALL), persistent: bool) -> StreamK {
        StreamK { reduction, persistent }
    }
}

prop_compose! {
    /// Any kernel that a long name describes completely.
    fn conv()(
        direction in any_word(Direction::ALL), dtype in any_word(Dtype::OF_ELEMENTS),
        layout in any_word(ConvLayout::ALL), ndim in 1..=3u8,
        tile in prop_oneof![mnk(65_535), select(&ConvTile::ALL[..]).prop_map(|row| row.tile)],
        (wave, warp_tile) in (mnk(255), mnk(255)),
        (pipeline, scheduler, epilogue, specialization) in (
            any_word(Pipeline::ALL), any_word(Scheduler::ALL), any_word(Epilogue::ALL),
            any_word(Specialization::ALL),
        ),
        vector in prop_oneof![
            Just([4, 8, 8]),
            any::<[u16; 3]>().prop_map(|v| v.map(|x| u32::from(x.max(1)))),
        ],
        counts in prop_oneof![
            proptest::array::uniform3(1..=3u32),
            any::<[u16; 3]>().prop_map(|v| v.map(|x| u32::from(x.max(1)))),
        ],
        flags: [bool; 4], stream_k in proptest::option::of(stream_k()),
    ) -> ConvKernel {
        let [block_per_cu, num_wave_groups, num_groups_to_merge] = counts;
        let [double_smem_buffer, split_image, explicit_gemm, two_stage] = flags;
        ConvKernel {
            direction,
            dtype_in: dtype,
            dtype_wei: dtype,
            dtype_out: dtype,
            layout,
            ndim,
            tile,
            wave,
            warp_tile,
            pipeline,
            scheduler,
            epilogue,
            vector,
            block_per_cu,
            num_wave_groups,
            num_groups_to_merge,
            specialization,
            double_smem_buffer,
            split_image,
            explicit_gemm,
            two_stage,
            stream_k,
            arch: None,
        }
    }
}

/// What is left of a kernel in its short name.
fn shortened(kernel: &ConvKernel) -> ConvKernel {
    let table = ConvTile::of(kernel.tile);
    ConvKernel {
        layout: [ConvLayout::Nwgc, ConvLayout::Nhwgc, ConvLayout::Ndhwgc][usize::from(kernel.ndim) - 1],
        wave: table.wave,
        warp_tile: table.warp_tile,
        vector: table.vector,
        epilogue: Epilogue::CShuffle,
        block_per_cu: 1,
        num_wave_groups: 1,
        specialization: Specialization::Default,
        explicit_gemm: false,
        stream_k: None,
        ..kernel.clone()
    }
}

/// What is left of a kernel in its declaration's name.
fn declared(kernel: &ConvKernel) -> ConvKernel {
    ConvKernel {
        layout: kernel.layout,
        scheduler: kernel.scheduler,
        epilogue: kernel.epilogue,
        specialization: Specialization::Default,
        wave: kernel.wave,
        warp_tile: kernel.warp_tile,
        num_groups_to_merge: 1,
        double_smem_buffer: false,
        split_image: false,
        two_stage: false,
        ..shortened(kernel)
    }
}

/// Names that come near to being right: pieces of right ones, in any order and number.
fn near_names() -> impl Strategy<Value = String> {
    // Two blanks give an empty piece.
    let pieces: Vec<&str> = "grouped_conv gemm universal forward fwd bwd_data bf16 pk_fp4 rcr nhwgc 2d 3d \
        compv3 comp_async_eight_waves basic_v1 mem wavelet cshuffle bias_activation intrawave interwave True \
        False 64x128x64 2x2x1 -1x2x1 32x32x16 0x0x0 4294967296x1x1 vec4_8_2 vec4_8 splitk4 Relu d1 sparse \
        preshuffle gm2 dsb si 2stage filter3x3 streamk tree persistent large_tensor pad110 *  é persist \
        batched grouped multid rcrr atomic"
        .split(' ')
        .collect();
    proptest::collection::vec(select(pieces), 0..18).prop_map(|pieces| pieces.join("_"))
}

/// A name that reads must read the same after printing.
fn check(name: &str) {
    match Kernel::from_name(name) {
        Ok(Kernel { kind: KernelKind::Conv(conv), .. }) => {
            assert_eq!(ConvKernel::parse_name(&conv.long_name()), Ok(conv));
        }
        Ok(Kernel { kind: KernelKind::Gemm(gemm), .. }) => {
            assert_eq!(GemmKernel::parse_name(&gemm.name()).map(|parsed| parsed.kernel), Ok(gemm.clone()));
            if !name.starts_with("gemm_") {
                assert_eq!(gemm.identifier(), name);
            }
        }
        Ok(Kernel { kind: KernelKind::Fmha(fmha), .. }) => {
            assert_eq!(
                FmhaKernel::parse_name(&fmha.identifier()).map(|read| read.identifier()),
                Ok(fmha.identifier())
            );
        }
        Err(error) => assert!(!error.reason.is_empty(), "{error}"),
    }
}

proptest! {
    #[test]
    fn identifiers_read_back(kernel in gemm()) {
        prop_assert_eq!(GemmKernel::parse_identifier(&kernel.identifier()), Ok(kernel.clone()));
        let name = format!("gemm_universal_{}", kernel.identifier());
        prop_assert_eq!(GemmKernel::parse_name(&name).map(|parsed| parsed.kernel), Ok(kernel));
    }

    #[test]
    fn gemm_names_read_back(kernel in gemm(), vector: [u16; 3], tail in "(_[a-z]{3,9})?") {
        let kernel = GemmKernel { vector: vector.map(u32::from), ..kernel };
        // A tail that happens to be a suffix would be read as one; no suffix begins with z.
        let tail = tail.replacen('_', "_z", 1);
        let parsed = GemmKernel::parse_name(&format!("{}{tail}", kernel.name())).unwrap();
        prop_assert_eq!(parsed.kernel, kernel);
        prop_assert_eq!(parsed.tail, tail);
    }

    #[test]
    fn convolution_names_read_back(kernel in conv()) {
        for (name, expected) in [
            (kernel.long_name(), kernel.clone()),
            (kernel.name(), shortened(&kernel)),
            (kernel.decl_name(), ConvKernel { vector: [4, 8, 8], ..declared(&kernel) }),
        ] {
            let read = ConvKernel::parse_name(&name);
            prop_assert_eq!(read.as_ref(), Ok(&expected), "{}", name);
        }
        prop_assert_eq!(ConvKernel::parse_name(&kernel.name()).unwrap().name(), kernel.name());
        prop_assert_eq!(ConvKernel::parse_name(&kernel.decl_name()).unwrap().decl_name(), kernel.decl_name());
    }

    #[test]
    fn near_names_are_read_alike_or_refused(name in near_names()) {
        check(&name);
    }

    #[test]
    fn damaged_names_are_read_alike_or_refused(
        kernel in prop_oneof![
            gemm().prop_map(|gemm| gemm.identifier()), gemm().prop_map(|gemm| gemm.name()),
            conv().prop_map(|conv| conv.long_name()), conv().prop_map(|conv| conv.name()),
        ],
        at: prop::sample::Index, with in any::<char>(),
    ) {
        let mut chars: Vec<char> = kernel.chars().collect();
        let at = at.index(chars.len());
        chars[at] = with;
        check(&chars.iter().collect::<String>());
        check(&chars[..at].iter().collect::<String>());
    }
}
