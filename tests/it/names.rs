//! Every name reads back, for any kernel; what comes near to one is read alike or refused.

use ck_select::kernel::{ConvKernel, ConvTile, FmhaKernel, GemmKernel, GemmVariant, Kernel, KernelKind};
use ck_select::vocab::{ConvLayout, Dtype, StreamKReduction};
use ck_select_types::field::{Field, Kind, Record, values};
use proptest::prelude::*;
use proptest::sample::select;

/// A record with any numbers that its table allows, small ones more often; those of 16 bits at most.
fn drawn<R: Record + std::fmt::Debug>() -> impl Strategy<Value = R> {
    let number = |(field, usual): (&Field, i64)| match field.kind {
        Kind::Number => {
            let [least, most] = [field.least.max(0), field.most.min(65_535)];
            prop_oneof![least..=most, least..=most.min(3)].boxed()
        }
        Kind::Flag => (0..=1_i64).boxed(),
        // Without a usual word, there need not be one.
        Kind::Word(vocabulary) => (usual.min(0)..vocabulary.words.len() as i64).boxed(),
        Kind::Shape => Just(usual).boxed(),
    };
    let numbers: Vec<_> = R::FIELDS.iter().zip(values(&R::USUAL)).map(number).collect();
    numbers.prop_map(|numbers| R::read(&numbers, &R::USUAL))
}

prop_compose! {
    /// Any kernel that an identifier describes completely: all but what is named here.
    fn gemm()(kernel in drawn::<GemmKernel>(), dtype in select(Dtype::OF_ELEMENTS)) -> GemmKernel {
        let reduction = kernel.variant.stream_k.filter(|reduction| *reduction != StreamKReduction::None);
        GemmKernel {
            dtype_a: dtype,
            transpose_a: false,
            transpose_b: false,
            grouped: false,
            block_size: 0,
            transpose_c: false,
            num_wave_groups: 1,
            vector: [0; 3],
            variant: GemmVariant { stream_k: reduction, ..GemmVariant::default() },
            ..kernel
        }
        .completed()
    }
}

prop_compose! {
    /// Any kernel that a long name describes completely.
    fn conv()(
        kernel in drawn::<ConvKernel>(), dtype in select(Dtype::OF_ELEMENTS),
        row in proptest::option::of(select(&ConvTile::ALL[..])), usual_vector: bool,
    ) -> ConvKernel {
        ConvKernel {
            dtype_in: dtype,
            dtype_wei: dtype,
            dtype_out: dtype,
            tile: row.map_or(kernel.tile, |row| row.tile),
            vector: if usual_vector { [4, 8, 8] } else { kernel.vector },
            ..kernel
        }
    }
}

/// What is left of a kernel in its short name.
fn shortened(kernel: &ConvKernel) -> ConvKernel {
    let table = ConvTile::new(kernel.tile);
    ConvKernel {
        direction: kernel.direction,
        ndim: kernel.ndim,
        dtype_in: kernel.dtype_in,
        dtype_wei: kernel.dtype_wei,
        dtype_out: kernel.dtype_out,
        layout: [ConvLayout::Nwgc, ConvLayout::Nhwgc, ConvLayout::Ndhwgc][usize::from(kernel.ndim) - 1],
        tile: kernel.tile,
        wave: table.wave,
        warp_tile: table.warp_tile,
        vector: table.vector,
        pipeline: kernel.pipeline,
        scheduler: kernel.scheduler,
        num_groups_to_merge: kernel.num_groups_to_merge,
        double_smem_buffer: kernel.double_smem_buffer,
        split_image: kernel.split_image,
        two_stage: kernel.two_stage,
        ..ConvKernel::USUAL
    }
}

/// What is left of a kernel in its declaration's name.
fn declared(kernel: &ConvKernel) -> ConvKernel {
    ConvKernel {
        layout: kernel.layout,
        epilogue: kernel.epilogue,
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
