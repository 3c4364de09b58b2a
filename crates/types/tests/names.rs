//! Every name reads back, for any kernel, and those of upstream's manifest of quantised GEMM kernels have its
//! fields; what comes near to a name is read alike or refused.

use std::collections::{BTreeMap, HashSet};

use ck_select_types::field::{Field, Kind, Record, values};
use ck_select_types::kernel::{
    ConvKernel, ConvTile, FmhaKernel, GemmKernel, GemmVariant, Kernel, KernelKind, Mnk, MoeKernel,
};
use ck_select_types::operation::OperationProblem as _;
use ck_select_types::problem::FmhaProblem;
use ck_select_types::vocab::{
    ConvLayout, Dtype, FmhaApi, FmhaFamily, GemmLibrary, MoeActivation, MoeEpilogue, MoeQuant, MoeStage,
    QuantMode, StreamKReduction,
};
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

/// The variant of a kernel that an identifier names. All fields are listed, so that the compiler asks whether names have a
/// new one.
const fn in_identifiers(stream_k: Option<StreamKReduction>) -> GemmVariant {
    let GemmVariant {
        batched: _,
        stream_k: _,
        d_layout: _,
        quant: _,
        shuffled_scales: _,
        block_per_cu: _,
        row_scales: _,
        loaders: _,
        storers: _,
        shuffle: _,
        partition: _,
        stages: _,
        group_m: _,
        tma: _,
        ctas: _,
        waves_per_eu: _,
        kpack: _,
        library: _,
    } = GemmVariant::USUAL;
    GemmVariant { stream_k, ..GemmVariant::USUAL }
}

prop_compose! {
    /// Any kernel that an identifier describes completely: all but what is named here.
    fn gemm()(kernel in drawn::<GemmKernel>(), dtype in select(Dtype::ELEMENTS)) -> GemmKernel {
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
            variant: in_identifiers(reduction),
            ..kernel
        }
        .completed()
    }
}

prop_compose! {
    /// Any kernel that a long name describes completely.
    fn conv()(
        kernel in drawn::<ConvKernel>(), dtype in select(Dtype::ELEMENTS),
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

prop_compose! {
    /// Any kernel of attention, but for the third product, which no name says.
    fn fmha()(kernel in drawn::<FmhaKernel>(), dtype in select(Dtype::ALL)) -> FmhaKernel {
        let is_supported = FmhaProblem::OPERATION.dtypes.contains(&dtype);
        let mut kernel = FmhaKernel { dtype: if is_supported { dtype } else { Dtype::Bf16 }, ..kernel };
        kernel.wave[6..].fill(1);
        kernel.warp_tile[6..].fill(16);
        kernel
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

prop_compose! {
    /// Any kernel of either library, without what only the other's names say.
    fn moe()(
        kernel in drawn::<MoeKernel>(), is_triton: bool, types in [select(&MOE_TYPES[..]), select(&MOE_TYPES[..])],
    ) -> MoeKernel {
        let ([dtype_a, dtype_b], usual) = (types, MoeKernel::USUAL);
        let MoeKernel { tile, wave, group_m, stages, waves_per_eu, nonkdim, kpack, split_k, tma, .. } = kernel;
        if is_triton {
            let (wave, stages, kpack) = ([wave[0], 1], stages.max(1), if kpack == 1 { 0 } else { kpack });
            let build = MoeKernel { waves_per_eu, nonkdim, kpack, split_k, tma, ..usual };
            return MoeKernel { dtype_a, dtype_b, tile, wave, group_m, stages, ..build };
        }
        let stage = kernel.stage.filter(|stage| *stage != MoeStage::Both).unwrap_or(MoeStage::Two);
        let is_first = stage == MoeStage::One;
        MoeKernel {
            library: GemmLibrary::Aiter,
            stage: Some(stage),
            dtype_a,
            dtype_b,
            dtype_c: dtype_a,
            wave: wave.map(|waves| waves % 4 + 1),
            version: kernel.version.max(1),
            epilogue: Some(kernel.epilogue.unwrap_or(MoeEpilogue::TypeCast)),
            quant: Some(kernel.quant.unwrap_or(MoeQuant::None)),
            activation: is_first.then(|| kernel.activation.unwrap_or(MoeActivation::Gelu)),
            group_m: usual.group_m,
            stages: usual.stages,
            waves_per_eu: usual.waves_per_eu,
            nonkdim: usual.nonkdim,
            kpack: usual.kpack,
            split_k: usual.split_k,
            tma: usual.tma,
            ..kernel
        }
    }
}

/// The types for which CK has words.
const MOE_TYPES: [Dtype; 6] =
    [Dtype::Bf16, Dtype::Fp16, Dtype::Fp8, Dtype::Int8, Dtype::PkFp4, Dtype::PkInt4];

/// Names that come near to being right: pieces of right ones, in any order and number.
fn near_names() -> impl Strategy<Value = String> {
    // Two blanks give an empty piece.
    let pieces: Vec<&str> = "grouped_conv gemm universal forward fwd bwd_data bf16 pk_fp4 rcr nhwgc 2d 3d \
        compv3 comp_async_eight_waves basic_v1 mem wavelet cshuffle bias_activation intrawave interwave True \
        False 64x128x64 2x2x1 -1x2x1 32x32x16 0x0x0 4294967296x1x1 vec4_8_2 vec4_8 splitk4 Relu d1 sparse \
        preshuffle gm2 dsb si 2stage filter3x3 streamk tree persistent large_tensor pad110 *  é persist \
        batched grouped multid rcrr atomic triton stages6 gm4 tma wpe2 fmha d128 fp16 batch h128 vr hq128 qr_async mask=no pad1111 moe bf16 wint4 group8 4warps 3stages kpack2"
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
        Ok(Kernel { kind: KernelKind::Moe(moe), .. }) => assert_eq!(moe.name(), name),
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
    fn names_of_attention_read_back(mut kernel in fmha()) {
        prop_assert_eq!(FmhaKernel::parse_name(&kernel.identifier()), Ok(kernel.clone()));
        let [m, n, k, ..] = kernel.warp_tile;
        kernel.set_warp_tile([m, n, k]);
        kernel.store_randval &= kernel.dropout && kernel.family.api() == FmhaApi::Bwd;
        let name = kernel.config_name();
        prop_assert_eq!(FmhaKernel::parse_name(&name).unwrap().config_name(), name);
        let name = FmhaKernel { family: FmhaFamily::Fwd, ..kernel }.ck_name();
        prop_assert_eq!(FmhaKernel::parse_name(&name).unwrap().ck_name(), name);
    }

    #[test]
    fn names_of_mixtures_of_experts_read_back(kernel in moe()) {
        prop_assert_eq!(kernel.validate(), Ok(()));
        prop_assert_eq!(MoeKernel::parse_name(&kernel.name()), Ok(kernel));
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
            fmha().prop_map(|fmha| fmha.identifier()), fmha().prop_map(|fmha| fmha.config_name()),
            fmha().prop_map(|fmha| FmhaKernel { family: FmhaFamily::Fwd, ..fmha }.ck_name()),
            moe().prop_map(|moe| moe.name()),
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

const MANIFEST: &str = include_str!("../../../tests/golden/names/quantised_gemm.tsv");

/// The types of A, B and C by upstream's word for them.
fn types(key: &str) -> [Dtype; 3] {
    match key {
        "fp8" => [Dtype::Fp8, Dtype::Fp8, Dtype::Fp16],
        "bf8" => [Dtype::Bf8, Dtype::Bf8, Dtype::Fp16],
        "fp4" => [Dtype::PkFp4, Dtype::PkFp4, Dtype::Fp16],
        "fp8i4" => [Dtype::Fp8, Dtype::PkInt4, Dtype::Fp16],
        "bf8i4" => [Dtype::Bf8, Dtype::PkInt4, Dtype::Fp16],
        "mx_bf16bf16" => [Dtype::Bf16; 3],
        "mx_bf16bf8" => [Dtype::Bf16, Dtype::Bf8, Dtype::Bf16],
        "mx_bf16fp4" => [Dtype::Bf16, Dtype::PkFp4, Dtype::Bf16],
        other => panic!("{other}"),
    }
}

/// The fields of a kernel, by the manifest's columns.
fn fields(kernel: &GemmKernel) -> BTreeMap<&'static str, String> {
    let variant = &kernel.variant;
    let quant = variant.quant.unwrap();
    let group = |group: Option<Mnk>| group.map_or("-".to_owned(), |group| group.to_string());
    let flag = |flag: bool| u8::from(flag).to_string();
    BTreeMap::from([
        ("pipeline", kernel.pipeline.to_string()),
        ("epilogue", kernel.epilogue.to_string()),
        ("scheduler", kernel.scheduler.to_string()),
        ("tile", kernel.tile.to_string()),
        ("wave", kernel.wave.to_string()),
        ("warp_tile", kernel.warp_tile.to_string()),
        ("group_a", group(quant.group_a)),
        ("group_b", group(quant.group_b)),
        ("preshuffle", flag(kernel.preshuffle)),
        ("scales_a", flag(variant.shuffled_scales[0])),
        ("scales_b", flag(variant.shuffled_scales[1])),
        ("pad_k", flag(kernel.pad[2])),
        ("transpose_c", flag(kernel.transpose_c)),
        ("double_buffer", flag(kernel.double_buffer)),
        ("block_per_cu", variant.block_per_cu.to_string()),
    ])
}

#[test]
fn every_name_of_the_manifest_is_read_and_printed_and_means_what_it_says() {
    let mut lines = MANIFEST.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t'));
    let header: Vec<&str> = lines.next().unwrap().collect();
    let (mut cases, mut names, mut seen) = (0, HashSet::new(), HashSet::new());
    for line in lines {
        let row: BTreeMap<&str, &str> = header.iter().copied().zip(line).collect();
        let name = row["name"];
        let KernelKind::Gemm(kernel) = Kernel::from_name(name).unwrap_or_else(|error| panic!("{error}")).kind
        else {
            panic!("{name}")
        };
        assert_eq!((kernel.name().as_str(), kernel.identifier().as_str()), (name, name));
        assert_eq!(GemmKernel::parse_identifier(name).as_ref(), Ok(&kernel));
        let [a, b, c] = types(row["types"]);
        assert_eq!(
            [kernel.dtype_a, kernel.dtype_b, kernel.dtype_c, kernel.dtype_acc],
            [a, b, c, Dtype::Fp32]
        );
        let module = row["case"].split("::").next().unwrap();
        assert_eq!(kernel.grouped, module.starts_with("grouped_"), "{name}");
        let mode =
            module.trim_start_matches("grouped_").trim_start_matches("gemm_").trim_end_matches("_utils");
        assert_eq!(kernel.variant.quant.unwrap().mode, mode.parse::<QuantMode>().unwrap());
        assert_eq!(kernel.layout.to_string(), "rcr");
        for (field, found) in fields(&kernel) {
            if row[field] != "-" || field.starts_with("group") {
                assert_eq!(found, row[field], "{field} of {name}");
            }
        }
        cases += 1;
        names.insert(name);
        seen.insert(kernel);
    }
    assert_eq!((cases, names.len()), (140, 109));
    assert_eq!(seen.len(), names.len(), "kernels with different names differ");
}

#[test]
fn names_that_no_generator_gives_are_refused() {
    for (name, reason) in [
        ("gemm_abquant_fp9_rcr", "found 'fp9' for the types, expected one or two of: bf16"),
        ("gemm_bquant_mx_bf16_rcr", "found 'bf16' for the types, expected two of"),
        (
            "gemm_bquant_mx_bf16bf8_rcr_compv3_cshuffle",
            "'mx_' before the types and pipeline microscale go together",
        ),
        (
            "gemm_aquant_fp8_rcr_mem_cshuffle_interwave_16x64x256_1x4x1_16x16x32",
            "found '', expected _aqg or _qg and a shape",
        ),
        (
            "gemm_abquant_fp8_rcr_compv3_cshuffle_intrawave_16x64x256_1x4x1_16x16x32_aqg1x1x128",
            "found '', expected _bqg and a shape",
        ),
        (
            "gemm_abquant_fp8_rcr_compv3_cshuffle_intrawave_16x64x256_1x4x1_16x16x32_aqg1x1x128_bqg1x1x128\
             _eightwaves",
            "found '_eightwaves' in a name of pipeline compv3",
        ),
    ] {
        let error = Kernel::from_name(name).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}
