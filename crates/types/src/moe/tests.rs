use super::*;
use crate::problem::cells_of_line;
use crate::vocab::{MoeEpilogue, MoeQuant, MoeStage, Op};

const BASE: &str = "stage=1,tokens=24,experts=8,topk=2,n=512,k=256";

fn parse(text: &str) -> Result<MoeProblem, String> {
    let defaults = ProblemDefaults { dtype: Dtype::Bf16, ..ProblemDefaults::new(Op::Gemm) };
    MoeProblem::read_cells(&cells_of_line(text), &defaults).map_err(|error| error.to_string())
}

fn with(more: &str) -> Result<MoeProblem, String> {
    parse(&format!("{BASE},{more}"))
}

#[test]
fn a_histogram_becomes_its_tiles() {
    let problem = with("histogram=24+20+4").unwrap();
    assert_eq!((problem.active, problem.largest, problem.tiles), (3, 24, [5, 3, 3, 3, 3]));
    let text = "stage=1,tokens=24,experts=8,topk=2,n=512,k=256,dtype_a=bf16,dtype_b=bf16,active=3,largest=24,\
                tiles_16=5,tiles_32=3,tiles_64=3,tiles_128=3,tiles_256=3";
    assert_eq!(problem.to_string(), text);
    assert_eq!(parse(text), Ok(problem));
    assert_eq!(parse(&format!("{text},histogram=24+20+4")), Ok(problem));
    assert!(!with("arch=sm_90").unwrap().has_routing());
    for skew in ["0", "0.7", "1.2", "9"] {
        assert!(with(&format!("skew={skew}")).unwrap().has_routing(), "{skew}");
    }
}

#[test]
fn both_stages_are_one_after_the_other() {
    let both = parse(&BASE.replace("stage=1", "stage=both")).unwrap();
    let stages: Vec<_> = both.stages().map(|one| (one.stage, one.n, one.k)).collect();
    assert_eq!(stages, [(MoeStage::One, 512, 256), (MoeStage::Two, 256, 256)]);
    assert_eq!(both.flops(), 1.5 * parse(BASE).unwrap().flops());
}

#[test]
fn scales_follow_from_the_quantisation() {
    for (more, expected) in [
        ("quant=none", (MoeQuant::None, [0, 0])),
        ("dtype=fp8,quant=tensor", (MoeQuant::Tensor, [0, 0])),
        ("dtype=fp8,quant=QuantType.per_1x128", (MoeQuant::Block, [128, 128])),
        ("dtype=fp4,quant=per_1x32", (MoeQuant::Mx, [1, 32])),
        ("dtype_b=int4,quant=block,block_n=1,block_k=64", (MoeQuant::Block, [1, 64])),
    ] {
        let problem = with(more).unwrap();
        assert_eq!((problem.quant, [problem.block_n, problem.block_k]), expected, "{more}");
    }
}

#[test]
fn every_mistake_is_named() {
    for (more, message) in [
        ("histogram=24+20+3", "histogram: found 47 rows of all experts, expected 48: tokens times topk"),
        (
            "histogram=25+20+3",
            "histogram: found 25 rows of one expert, expected at most 24: an expert has a token once",
        ),
        ("histogram=6*7+3*2", "histogram: found 9 experts with rows, expected at most 8"),
        ("histogram=48,skew=1", "skew: found 1, expected nothing beside a histogram"),
        ("skew=-1", "skew: found '-1', expected 0 (even) to 100"),
        ("skew=NaN", "skew: found 'NaN', expected 0 (even) to 100"),
        ("histogram=24+20+4,active=4", "active: found 4, expected 3 as in the histogram"),
        ("active=4", "largest: found 0, expected at least 1, or a histogram"),
        ("tiles_64=4", "tiles_64: found 4, expected 0 as active, or a histogram"),
        ("block_k=64", "block_k: found 64, expected 0 unless quant is block or mx"),
        ("quant=block,block_k=0", "block_k: found 0, expected 1 to 65535 with quant=block"),
        ("dtype=mxfp4", "dtype_a: found 'mxfp4', expected a type that is not only for attention"),
    ] {
        assert_eq!(with(more).unwrap_err(), message);
    }
    let known = with("histogram=24+20+4").unwrap();
    for (problem, message) in [
        (MoeProblem { topk: 9, ..known }, "topk: found 9, expected at most experts, 8"),
        (
            MoeProblem { active: 9, ..known },
            "active: found 9, expected at most 8: experts, or tokens times topk",
        ),
        (
            MoeProblem { largest: 15, ..known },
            "largest: found 15, expected 16 to 24: an expert has a token once",
        ),
        (MoeProblem { tiles: [6, 3, 3, 3, 3], ..known }, "tiles_16: found 6, expected 3 to 5, for 48 rows"),
        (
            MoeProblem {
                tokens: 1 << 30,
                ..MoeProblem::USUAL.routed(crate::routing::Routing::skewed(1, 1, 1, 0.0))
            },
            "largest: found 1, expected 1073741824 to 1073741824: an expert has a token once",
        ),
        (
            MoeProblem { tokens: 1 << 30, topk: 2, ..parse(BASE).unwrap() },
            "tokens: found 1073741824, expected at most 2147483647 rows, tokens times topk",
        ),
        (
            MoeProblem { stage: MoeStage::Both, n: 511, ..known },
            "n: found 511, expected an even number: gate and up weights",
        ),
    ] {
        assert_eq!(problem.validate().unwrap_err().to_string(), message);
    }
    let missing = parse("tokens=4,experts=2").unwrap_err();
    assert_eq!(missing, "stage, topk, n, k: found nothing, expected a value for each");
}

fn named(name: &str) -> MoeKernel {
    let kernel = MoeKernel::parse_name(name).unwrap();
    assert_eq!((kernel.name().as_str(), kernel.validate()), (name, Ok(())));
    kernel
}

#[test]
fn names_of_both_libraries_read_back() {
    let kernel = named("triton_moe_bf16_16x128x32_group16_4warps_5stages");
    assert_eq!((kernel.tile.to_string().as_str(), kernel.group_m), ("16x128x32", 16));
    assert_eq!((kernel.waves(), kernel.stages, kernel.suffixes().len()), (4, 5, 0));
    let kernel =
        named("triton_moe_bf16_wint4_64x64x64_group1_8warps_2stages_wpe2_nonkdim16_kpack2_splitk4_tma");
    assert_eq!((kernel.dtype_a, kernel.dtype_b), (Dtype::Bf16, Dtype::Int4));
    assert_eq!(kernel.suffixes(), ["wpe2", "nonkdim16", "kpack2", "splitk4", "tma"]);
    let kernel = named(
        "moe_ck2stages_gemm1_256x16x128x256_1x4_MulABScaleExpertWeightA8W8blkscaleSplitk_v1_Nswizzle0_Quant4\
         _MulRoutedWeight0_silu_F8_F8_B16",
    );
    assert_eq!((kernel.stage, kernel.quant), (Some(MoeStage::One), Some(MoeQuant::Block)));
    assert_eq!(kernel.epilogue, Some(MoeEpilogue::MulAbScaleExpertWeightBlockScaleSplitK));
    let kernel = named(
        "moe_ck2stages_gemm2_64x32x32x128_1x1_MulABScaleExpertWeightShuffled_v1_Nswizzle0_Quant3\
         _MulRoutedWeight1_FP4X2_FP4X2_B16",
    );
    assert_eq!((kernel.dtype_a, kernel.waves(), kernel.weighted), (Dtype::PkFp4, 1, true));
}

#[test]
fn each_kernel_has_one_name() {
    let triton = "triton_moe_bf16_64x64x64_group1_4warps_2stages";
    let ck = "moe_ck2stages_gemm2_256x32x64x64_1x4_TypeCast_v1_Nswizzle0_Quant0_MulRoutedWeight0_B16_B16_B16";
    for (name, reason) in [
        (triton.replace("bf16", "mxfp8"), "unknown dtype 'mxfp8', expected one of: fp16"),
        (triton.replace("_group1", ""), "found '_4warps_2stages', expected '_group' and a number"),
        (triton.replace("64x64x64", "64x64"), "found '64x64' for the tile, expected 3 numbers joined by 'x'"),
        (triton.replace("4warps", "0warps"), "the number of warps is 0, expected 1 to 255"),
        (triton.replace("2stages", "2"), "found '', expected 'stages'"),
        (format!("{triton}_kpack1"), "_kpack is 1, expected 2 to 16"),
        (format!("{triton}_tma_wpe1"), "found '_wpe1', expected the end or, in this order"),
        (ck.replace("gemm2", "gemm3"), "found '3' for the stage, expected 1 or 2"),
        (ck.replace("256x32", "128x32"), "the number of threads is 128, expected 256 for 4 waves"),
        (ck.replace("Quant0", "Quant5"), "_Quant is 5, expected 0 to 4 (none, tensor, token, mx, block)"),
        (ck.replace("B16_B16_B16", "B16_B16_E5"), "found 'E5', expected a type: B16, F16, F8, I8, FP4X2, I4"),
        (ck.replace("TypeCast", "Cast"), "unknown epilogue of a mixture of experts 'Cast', expected one of"),
        (ck.replace("moe_ck2stages", "moe_asm"), "expected 'triton_moe_' or 'moe_ck2stages_'"),
    ] {
        let error = MoeKernel::parse_name(&name).unwrap_err();
        assert!(error.reason.starts_with(reason), "{error}");
    }
    let kernel = MoeKernel { quant: Some(MoeQuant::Mx), ..named(triton) };
    assert_eq!(
        kernel.validate().unwrap_err().to_string(),
        "library: found triton, expected aiter for Quant3"
    );
    let kernel = MoeKernel { tma: true, ..named(ck) };
    assert_eq!(kernel.validate().unwrap_err().to_string(), "library: found aiter, expected triton for tma");
}

#[test]
fn a_kernel_answers_only_what_it_is_made_for() {
    let mismatch =
        |name: &str, more: &str| MoeKernel::parse_name(name).unwrap().mismatch(&with(more).unwrap());
    let triton = "triton_moe_fp8_64x64x256_group1_4warps_2stages";
    let silu =
        "moe_ck2stages_gemm1_256x32x64x64_1x4_TypeCast_v1_Nswizzle0_Quant0_MulRoutedWeight0_silu_B16_B16_B16";
    let down =
        "moe_ck2stages_gemm2_256x32x64x64_1x4_TypeCast_v1_Nswizzle0_Quant0_MulRoutedWeight0_B16_B16_B16";
    for (name, more, reason) in [
        (triton, "quant=none", None),
        (triton, "quant=tensor", None),
        (triton, "quant=block", Some("its step of 256 goes beyond block_k, whose elements share a scale")),
        (silu, "quant=none", None),
        (silu, "quant=token", Some("its operands have other scales (quant=none)")),
        (silu, "activation=gelu", Some("it ends with another function (activation=silu)")),
        (silu, "weighted_first=1", Some("it does not multiply by the routing's weights (weighted_first)")),
        (down, "quant=none", Some("it computes stage 2")),
    ] {
        let told = mismatch(name, more).map(|mismatch| mismatch.to_string());
        assert_eq!(told.as_deref(), reason, "{name} {more}");
    }
    // Stage 2 multiplies by the weights of the routing unless stage 1 has.
    let second = MoeProblem { stage: MoeStage::Two, ..with("weighted_first=1").unwrap() };
    let kernel = MoeKernel::parse_name(down).unwrap();
    assert!(kernel.matches_request(&second) && kernel.matches_types(&second));
    assert!(!kernel.matches_request(&MoeProblem { weighted_first: false, ..second }));
}

/// In 1,712 rows of AITER's tables no kernel won whose tiles cut what it does not pad.
#[test]
fn cks_kernels_pad_rows_alone() {
    let of = |gemm: &str, [n, k]: [i64; 2]| {
        let end = ["silu_B16_B16_B16", "B16_B16_B16"][usize::from(gemm.starts_with('2'))];
        let weight = u8::from(gemm.starts_with('2'));
        let name = format!(
            "moe_ck2stages_gemm{gemm}_1x4_TypeCast_v1_Nswizzle0_Quant0_MulRoutedWeight{weight}_{end}"
        );
        let stage = gemm[..1].parse().unwrap();
        let problem = MoeProblem::new(stage, 33, [8, 2], [n, k]).into();
        let kernel = crate::kernel::Kernel::from_name(&name).unwrap();
        assert_eq!(kernel.matches(&problem), kernel.misfit(&problem).is_none());
        kernel.misfit(&problem)
    };
    let columns = "its tiles do not divide N, which it does not pad";
    let steps = "its steps do not divide K, or a part of it, which it does not pad";
    for (gemm, extents, reason) in [
        ("1_256x32x64x64", [384, 2048], None),
        // Half of the columns are the gate's.
        ("1_256x32x128x64", [384, 2048], Some(columns)),
        ("2_256x32x128x64", [2048, 192], None),
        ("2_256x32x128x128", [2048, 192], Some(steps)),
        ("2_256x32x128x64", [2112, 192], Some(columns)),
    ] {
        assert_eq!(of(gemm, extents).as_deref(), reason, "{gemm} {extents:?}");
    }
}

#[test]
fn a_routing_that_nobody_gave_is_unknown() {
    let names = |problem: MoeProblem| -> Vec<&str> {
        crate::problem::Problem::from(problem).unknown().names(crate::vocab::Op::Moe).collect()
    };
    assert_eq!(names(with("quant=none").unwrap()), ["active"]);
    assert!(names(with("skew=0").unwrap()).is_empty() && names(with("histogram=24*2").unwrap()).is_empty());
    // Both stages of a layer have one weight.
    let [first, second] = [(MoeStage::One, [512, 256]), (MoeStage::Two, [256, 256])].map(|(stage, sizes)| {
        crate::problem::Problem::from(MoeProblem::new(stage, 1, [8, 2], sizes)).weight()
    });
    assert_eq!((first.as_deref(), &first), (Some("8_512_256"), &second));
}
