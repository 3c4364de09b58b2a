use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::kernel::Kernel;
use crate::pool::Pool;
use crate::problem::{ConvProblem, GemmProblem};
use crate::vocab::{Direction, Dtype};

fn estimator(arch: &str) -> Estimator {
    Estimator::new(Device::for_arch(arch.parse().unwrap()).unwrap())
}

fn time(arch: &str, problem: impl Into<Problem>, name: &str) -> f64 {
    let (estimator, kernel) = (estimator(arch), Kernel::from_name(name).unwrap());
    estimator.time(&estimator.load(&problem.into()), &estimator.shape(&kernel.kind).unwrap())
}

fn resnet() -> ConvProblem {
    ConvProblem { n: 16, c: 256, k: 256, ..ConvProblem::new_2d([28, 28], [3, 3]) }.padded([1, 1])
}

const NAMES: [&str; 11] = [
    "grouped_conv_forward_bf16_2d_16x64x64_compv3",
    "grouped_conv_forward_bf16_2d_64x64x64_compv4",
    "grouped_conv_forward_bf16_2d_128x128x64_compv3",
    "grouped_conv_forward_bf16_2d_128x64x128_compv5",
    "grouped_conv_forward_bf16_2d_32x128x64_mem",
    "grouped_conv_bwd_data_bf16_2d_64x128x64_compv3",
    "grouped_conv_bwd_weight_bf16_2d_64x128x64_compv3",
    "grouped_conv_bwd_weight_bf16_2d_64x128x64_compv3_intrawave_2stage",
    "grouped_conv_bwd_weight_bf16_2d_16x64x128_compv4_intrawave_2stage",
    "grouped_conv_forward_bf16_2d_64x64x64_compv3_intrawave_gm8",
    "grouped_conv_forward_bf16_nhwgc_2d_compv3_cshuffle_intrawave_128x128x64_4x4x1_32x32x16_streamk_tree\
     _persistent",
];

const STREAM_K: [&str; 2] = [
    "gemm_fp8_rcr_compv3_cshuffle_intrawave_True_True_True_False_256x256x64_2x2x1_32x32x16_streamk",
    "gemm_fp8_rcr_compv3_cshuffle_intrawave_True_True_True_False_128x64x64_2x2x1_32x32x16_streamk",
];

/// AITER's kernels had the constants of CK's convolutions, by which CK Tile's kernels of scales in groups
/// came first on a gfx950, where AITER's tables have them win seldom: multiplying sums by scales had no cost,
/// and deep instructions were twice as fast (afe6bec9).
#[test]
fn aiters_kernels_have_constants_of_their_own() {
    let on = |name: &str| {
        let KernelKind::Gemm(gemm) = Kernel::from_name(name).unwrap().kind else { panic!("{name}") };
        let square = GemmProblem::new(4096, 4096, 4096);
        time("gfx950", GemmProblem { dtype_c: Dtype::Bf16, request: gemm.request(), ..square }, name)
    };
    let rows = on("a8w8_rowwise_256x128x128x128_32x32_2x2_8x32x1_8x32x1_1x32x1x8_8x8x1_1x1_intrawave_v3");
    let groups = on(
        "a8w8_blockscale_1x128x128_256x128x128x128_16x16_32x32_2x2_8x32x1_8x32x1_1x32x1x8_8_1x1_intrawave_v3",
    );
    let tile = on("a8w8_blockscale_cktile_128x128x128_2x2x1_16x16x128_intrawave_0x1x0_2");
    assert!(groups > 1.1 * rows && tile > groups, "{rows} {groups} {tile}");
}

/// Computed once by the Python prototype of the formula, with the constants of `constants.rs`.
#[test]
fn a_time_by_hand() {
    // One workgroup of one step: 16 rows, 64 columns, depth 64, on an MI355X.
    let problem = ConvProblem { n: 1, c: 64, k: 64, ..ConvProblem::new_2d([4, 4], [1, 1]) };
    // Accesses: 16 * 64 / 4 * 3.8 + 64 * 64 / 8; cycles of issue, of fragments and of instructions.
    let accesses: f64 = 256.0 * 3.8 + 512.0;
    let issue = accesses * 17.0 / 128.0;
    let fragments = (16.0 * 64.0 * 2.0 * 4.0 + 64.0 * 64.0 * 2.0) * 0.53 / 128.0;
    let arithmetic = 65_536.0 / (2048.0 * 0.85 * 0.5);
    let work = (arithmetic * arithmetic + fragments * fragments + issue * issue).sqrt();
    let wait = 950.0 + 92.0 * accesses / 256.0;
    let step = ((work + 250.0).powi(2) + (work * 0.19 + wait).powi(2)).sqrt();
    let cycles = step + 0.82 * wait + 3500.0 + 16.0 * 64.0 / 8.0 * 2.1;
    let cache: f64 = (80.0 * 64.0 * 2.0 + 2048.0) / (17e6 * 0.59);
    let expected = 0.61 + ((cycles / 2400.0).powi(4) + cache.powi(4)).powf(0.25);
    let time = time("gfx950", problem, NAMES[0]);
    assert!((time / expected - 1.0).abs() < 1e-12, "{time}, not {expected}");
}

#[test]
fn every_profile_is_whole_and_more_of_a_gpu_is_faster() {
    for arch in Device::PROFILES {
        let device = Device::for_arch(arch.parse().unwrap()).unwrap();
        let kernel = Kernel::from_name(NAMES[2]).unwrap();
        let problem = ConvProblem { n: 256, ..resnet() }.into();
        let time = |device| {
            let estimator = Estimator::new(device);
            estimator.time(&estimator.load(&problem), &estimator.shape(&kernel.kind).unwrap())
        };
        let own = time(device);
        assert!(own > 1.0 && own < 1e5, "{arch}: {own}");
        let hardware = crate::hardware::Hardware { num_cus: device.hardware.num_cus / 2, ..device.hardware };
        assert!(time(Device { hardware, ..device }) > own * 1.5, "{arch}");
        let slow = Rates { macs_16bit: device.rates.macs_16bit / 64.0, ..device.rates };
        assert!(time(Device { rates: slow, ..device }) > own * 2.0, "{arch}");
    }
}

#[test]
fn known_effects_have_their_sign() {
    let [small, buffered, large, ..] = NAMES;
    // A small tile for few rows, a large one for many.
    let few = ConvProblem { n: 1, ..ConvProblem { k: 64, ..resnet() } };
    let few = ConvProblem { input: [1, 7, 7], ..few };
    assert!(time("gfx950", few, small) < time("gfx950", few, large));
    let many = ConvProblem { n: 256, ..resnet() };
    assert!(time("gfx950", many, large) < time("gfx950", many, small));
    // A number of channels that no wide access divides.
    let odd = ConvProblem { c: 255, ..resnet() };
    for name in [small, buffered, large] {
        assert!(time("gfx950", odd, name) > 1.05 * time("gfx950", resnet(), name), "{name}");
        assert!(time("sm_90", odd, name) > 1.05 * time("sm_90", resnet(), name), "{name}");
    }
    // A deep and narrow weight gradient needs its depth split.
    let gradient = ConvProblem {
        direction: Direction::BwdWeight,
        n: 256,
        c: 64,
        k: 64,
        ..ConvProblem::new_2d([56, 56], [1, 1])
    };
    assert!(time("sm_90", gradient, NAMES[7]) < 0.5 * time("sm_90", gradient, NAMES[6]));
    // Loads that do not run ahead.
    let mem = NAMES[4];
    assert!(time("sm_90", few, mem) > time("sm_90", few, &mem.replace("mem", "compv3")));
}

#[test]
fn depthwise_wants_groups_merged_and_few_tiles_want_stream_k() {
    let depthwise = ConvProblem { n: 32, c: 256, k: 256, g: 256, ..ConvProblem::new_2d([56, 56], [3, 3]) };
    let plain = NAMES[9].trim_end_matches("_intrawave_gm8");
    for arch in ["gfx942", "gfx950"] {
        assert!(time(arch, depthwise, NAMES[9]) < 0.5 * time(arch, depthwise, plain), "{arch}");
    }
    // 49 tiles of a deep GEMM leave most of 256 compute units without work.
    let deep = ConvProblem { n: 1, c: 2048, k: 896, ..ConvProblem::new_2d([30, 30], [3, 3]) };
    assert!(time("gfx950", deep, NAMES[10]) < 0.7 * time("gfx950", deep, NAMES[2]));
}

#[test]
fn problems_of_one_and_three_dimensions_are_counted_alike() {
    let of = |problem: ConvProblem| time("gfx942", problem, NAMES[1]);
    let flat = ConvProblem { n: 8, c: 64, k: 64, ..ConvProblem::new_2d([1, 4096], [1, 9]) };
    let deep = ConvProblem { ndim: 3, input: [16, 16, 24], filter: [1, 1, 9], ..flat };
    assert_eq!(of(flat), of(ConvProblem { ndim: 1, ..flat }));
    let rows = f64::from(16 * 16 * 16) / 4088.0;
    assert!((of(deep) / of(flat) / rows - 1.0).abs() < 0.1, "{} {}", of(deep), of(flat));
}

const GEMM: &str =
    "gemm_universal_fp8_rcr_compv3_cshuffle_intrawave_True_True_True_False_128x128x128_2x2x1_32x32x16";

#[test]
fn gemms_of_all_kinds_have_a_time() {
    let of = |m, n, k| time("gfx950", GemmProblem::new(m, n, k), GEMM);
    assert!(of(4096, 4096, 4096) > 20.0 && of(4096, 4096, 4096) < 2000.0, "{}", of(4096, 4096, 4096));
    assert!(of(4096, 4096, 4097) > of(4096, 4096, 4096));
}

/// Kernels that differ in their epilogue alone had the same time, so that the pool's order decided among them
/// (bcaa6223).
#[test]
fn results_that_bypass_shared_memory_take_less_time() {
    let few = GemmProblem::new(64, 4096, 4096);
    let (direct, shuffled) =
        (time("gfx950", few, &GEMM.replace("cshuffle", "default")), time("gfx950", few, GEMM));
    assert!(direct < shuffled && direct > 0.97 * shuffled, "{direct} {shuffled}");
}

/// A batch, and a list with the same number of equal GEMMs, take as long as one GEMM with the total number of
/// rows, if tiles divide everything.
#[test]
fn many_gemms_are_the_sum_of_their_tiles() {
    let time = |problem: GemmProblem| time("gfx950", problem, GEMM);
    let one = GemmProblem::new(256, 4096, 1024);
    let mut batch = one;
    batch.request.batch = 8;
    let list = |text: &str| one.grouped(text.parse().unwrap());
    assert_eq!(time(batch), time(list("256x4096x1024*8")));
    assert!(time(batch) > time(one) && time(batch) < 8.0 * time(one));
    // B is read for each GEMM of a batch, so that the batch takes at least as long as one GEMM with all rows.
    assert!(time(batch) >= time(GemmProblem::new(2048, 4096, 1024)));
    // All tiles are assigned to rounds together, regardless of their GEMM.
    assert_eq!(time(list("128x4096x1024*16")), time(list("128x4096x1024*8+128x4096x1024*8")));
    assert!(time(list("256x4096x1024*8+128x4096x1024")) > time(batch));
    // Scales and D tensors are read, too.
    let mut large = GemmProblem::new(8192, 8192, 512);
    let plain = time(large);
    large.request.num_d = 4;
    assert!(time(large) > plain);
}

/// Stream-K divides the tiles of the last, partial round, and pays for adding up the parts.
#[test]
fn stream_k_fills_the_last_round() {
    let body = "fp8_rcr_compv3_cshuffle_intrawave_True_True_True_False_256x256x64_2x2x1_32x32x16";
    let time = |name: &str, problem: GemmProblem| time("gfx950", problem, name);
    let (plain, stream_k) = (format!("gemm_{body}"), format!("gemm_{body}_streamk"));
    // One tile and a large depth: without stream-K one compute unit works, with it all do.
    let deep = GemmProblem::new(256, 256, 1 << 18);
    assert!(time(&stream_k, deep) < time(&plain, deep) / 4.0);
    // Never faster than its arithmetic allows, also where the tiles are fewer than what fits.
    let Device { hardware, .. } = Device::for_arch("gfx950".parse().unwrap()).unwrap();
    let peak = Device::for_arch("gfx950".parse().unwrap()).unwrap().peak_tflops(Dtype::Fp8).unwrap();
    for tiles in [1, 4, 100, hardware.num_cus, hardware.num_cus + 44] {
        let problem = GemmProblem::new(256, 256 * tiles, 1 << 14);
        let least = 2.0 * 256.0 * 256.0 * tiles as f64 * f64::from(1 << 14) / peak / 1e6;
        assert!(time(&stream_k, problem) > least, "{tiles} tiles: {} us", time(&stream_k, problem));
    }
    // Many workgroups that share a tile have many parts to add up.
    let estimator = estimator("gfx950");
    let second_stage = |problem: GemmProblem| {
        let shape = estimator.shape(&Kernel::from_name(&stream_k).unwrap().kind).unwrap();
        let terms = estimator.terms(&estimator.load(&problem.into()), &shape);
        terms.named.iter().find(|term| term.0 == "second_stage").unwrap().1
    };
    let whole = GemmProblem::new(256, 256 * hardware.num_cus, 512);
    assert!(second_stage(whole) < 1e-9, "whole tiles are not cut");
    assert!(second_stage(GemmProblem::new(512, 512, 1 << 20)) > 10.0);
    // With many full rounds there is nothing to gain.
    let full = GemmProblem::new(16384, 16384, 512);
    assert!(time(&stream_k, full) > time(&plain, full) * 0.8);
}

/// A kernel of a GEMM by tile and waves, with the pipeline's word.
fn gemm(pipeline: &str, persistent: &str, shapes: &str) -> String {
    format!(
        "gemm_universal_fp16_rcr_{pipeline}_default_intrawave_False_False_False_{persistent}_{shapes}\
         _16x16x16"
    )
}

/// An estimate that knew no registers chose kernels that spill: a sixth of the speed (f64a3e94).
#[test]
fn kernels_that_spill_are_slow() {
    let large = GemmProblem::new(8192, 8192, 4096);
    let of = |arch, pipeline, shapes| time(arch, large, &gemm(pipeline, "False", shapes));
    // 256 results a thread spill, 128 do not. It is the registers: more of them would help.
    let (four, eight) = ("128x256x64_4x1x1", "128x256x64_8x1x1");
    assert!(of("sm_90", "compv4", four) > 4.0 * of("sm_90", "compv4", eight));
    // Registers of AMD's matrix cores are twice as many; two waves want more than these, too.
    for arch in ["gfx90a", "gfx942", "gfx950"] {
        let of = |shapes| time(arch, large, &gemm("compv3", "False", shapes));
        assert!(of("256x256x32_2x2x1") < of("128x256x32_2x2x1") * 1.1, "{arch}");
        assert!(of("256x256x32_2x1x1") > 3.0 * of("256x256x32_2x2x1"), "{arch}");
    }
    // Shared memory for five stages of this tile does not exist, for three it does.
    assert!(of("sm_90", "compv6", eight) > of("sm_90", "compv4", eight));
    // Instructions that need four waves and 64 rows; measured are 1.1 to 1.3 and 1.6 to 1.8 times.
    assert!(of("sm_90", "compv5", "64x128x64_2x1x1") > 1.1 * of("sm_90", "compv5", "64x128x64_4x1x1"));
    assert!(of("sm_90", "compv5", "32x128x64_2x2x1") > 1.5 * of("sm_90", "compv5", "64x128x64_4x1x1"));
}

/// `compv3` to `compv6` are two to five stages of Triton's kernels. Where memory is waited for, each helps.
#[test]
fn stages_count_by_number() {
    let few = GemmProblem::new(16, 4096, 8192);
    let of = |pipeline| time("sm_90", few, &gemm(pipeline, "False", "16x64x64_1x4x1"));
    let times = ["compv3", "compv4", "compv5", "compv6"].map(of);
    assert!(times.windows(2).all(|pair| pair[1] < 0.9 * pair[0]), "{times:?}");
    // So do more, as far as there is shared memory; with a single one every step waits for the one before.
    let named = |name: String| time("sm_90", few, &name.replace("gemm_universal", "triton_gemm"));
    let of = |pipeline, stages| named(gemm(pipeline, "False", "16x64x64_1x4x1") + stages);
    let times = [of("compv3", "_stages1"), of("compv3", ""), of("compv6", ""), of("compv6", "_stages8")];
    assert!(times.windows(2).all(|pair| pair[1] < pair[0]), "{times:?}");
    assert!(times[0].is_finite() && times[0] < 3.0 * times[1], "{times:?}");
    // A split fills the device; a persistent kernel is alone on its compute unit.
    let split = GemmProblem { split_k: 8, ..few };
    let name = gemm("compv5", "False", "16x64x64_1x4x1");
    assert!(time("sm_90", split, &name) < 0.7 * time("sm_90", few, &name));
    let many = GemmProblem::new(4096, 4096, 1024);
    let of = |persistent| time("sm_90", many, &gemm("compv4", persistent, "64x128x64_4x1x1"));
    assert!(of("True") > of("False"));
}

#[test]
fn types_without_instructions_have_no_estimate() {
    let name = "grouped_conv_forward_fp8_2d_64x64x64_compv3";
    let kernel = Kernel::from_name(name).unwrap();
    let error = estimator("sm_80").shape(&kernel.kind).unwrap_err();
    assert_eq!(error, ShapeError { dtype: Dtype::Fp8 });
    assert_eq!(error.to_string(), "the device has no matrix instructions for fp8");
    let pool = Pool::from_bytes("names", format!("{name}\n{}\n", NAMES[0]).as_bytes()).unwrap();
    let ranked = PoolEstimate::new(estimator("sm_80"), Arc::new(pool));
    assert_eq!(ranked.kernels().left_out().collect::<Vec<_>>(), [(0, &error)]);
    let mut scratch = EstimateScratch::default();
    ranked.rank(Problem::from(resnet()).checked().unwrap(), &mut scratch).unwrap();
    assert_eq!(scratch.ranking().len(), 1);
    let gemm = GemmProblem::new(8, 8, 8).into();
    let gemm = ranked.rank(Problem::checked(&gemm).unwrap(), &mut scratch).unwrap_err();
    assert!(gemm.to_string().starts_with("the estimate can rank none of the 2 kernels"), "{gemm}");
}

#[test]
fn devices_are_read_and_faults_named() {
    let read = |text: &str, arch: Option<&str>| {
        let fields: serde_json::Map<_, _> = serde_json::from_str(text).unwrap();
        Device::from_json(&fields, arch.map(|arch| arch.parse().unwrap()))
    };
    let mi300x = read(r#"{"based_on": "gfx942", "num_cus": 304, "memory_gb_s": 5300.5}"#, None).unwrap();
    assert_eq!((mi300x.hardware.num_cus, mi300x.rates.memory_gb_s), (304, 5300.5));
    for (constant, expected) in [
        (r#""num_cus": 0"#, "num_cus: found 0, expected"),
        (r#""cus": 3"#, "hardware: found cus, expected based_on or one of num_cus"),
        (r#""memory_gb_s": 0"#, "memory_gb_s: found 0, expected a number from 25 to 100000"),
        (r#""memory_gb_s": 5.3"#, "memory_gb_s: found 5.3, expected a number from 25 to 100000"),
        (r#""macs_16bit": 1e-308"#, "macs_16bit: found 1e-308, expected 0 or a number from 1 to 1000000"),
        (r#""cache_gb_s": 5e-324"#, "cache_gb_s: found 5e-324, expected a number from 100 to 1000000"),
        (r#""registers_per_cu": 512"#, "registers_per_cu: found 512, expected a number from 4096 to 262144"),
        (r#""simds_per_cu": 1000000"#, "simds_per_cu: found 1000000, expected a number from 1 to 64"),
        (
            r#""max_clock_mhz": 2100000000"#,
            "max_clock_mhz: found 2100000000, expected a number from 100 to 20000",
        ),
        (r#""lds_capacity": 1"#, "lds_capacity: found 1, expected a number from 1024 to 16777216"),
        (r#""wavefront_size": 32"#, "wavefront_size: found 32, expected 64, which gfx942 has"),
    ] {
        let error = read(&format!(r#"{{"based_on": "gfx942", {constant}}}"#), None).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    for (text, arch, expected) in [
        (
            r#"{"num_cus": 304}"#,
            None,
            "simds_per_cu: found nothing, expected a number, as the file is not based_on a profile",
        ),
        (
            r#"{"num_cus": 304}"#,
            Some("sm_120"),
            "simds_per_cu: found nothing, expected a number, as sm_120 has no profile, or one named as based_on",
        ),
        (r#"{"based_on": "gfx900"}"#, None, "the estimate has no profile of gfx900, only"),
        (r#"{"based_on": "MI300X"}"#, None, "based_on: found MI300X"),
        // Neither are another architecture's constants this one's, unless it has none of its own.
        (
            r#"{"based_on": "gfx942"}"#,
            Some("gfx950"),
            "based_on: found gfx942, expected gfx950 or nothing, because gfx950 has a profile of its own",
        ),
        // Nor are constants of a GPU with another wave size.
        (
            r#"{"based_on": "sm_90"}"#,
            Some("gfx940"),
            "wavefront_size: found 32, expected 64, which gfx940 has",
        ),
    ] {
        let error = read(text, arch).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    read(r#"{"based_on": "gfx942"}"#, Some("gfx940")).unwrap();
    // A whole description needs no base.
    let rates: Vec<String> = Rates::names().map(|name| format!(r#""{name}": 5000"#)).collect();
    let whole = format!(
        r#"{{"num_cus": 8, "simds_per_cu": 8, "max_waves_per_cu": 8, "max_clock_mhz": 1000,
            "wavefront_size": 32, "lds_capacity": 65536, {}}}"#,
        rates.join(", ")
    );
    let device = read(&whole, Some("sm_120")).unwrap();
    assert_eq!((device.hardware.num_cus, device.library), (8, Library::Cuda));
}

#[test]
fn equal_times_keep_the_pools_order() {
    let names =
        "grouped_conv_forward_bf16_2d_64x64x64_compv5\ngrouped_conv_forward_bf16_2d_64x64x64_compv3\n";
    let pool = Arc::new(Pool::from_bytes("names", names.as_bytes()).unwrap());
    let ranked = PoolEstimate::new(estimator("gfx950"), pool);
    let mut scratch = EstimateScratch::default();
    ranked.rank(Problem::from(resnet()).checked().unwrap(), &mut scratch).unwrap();
    assert_eq!(scratch.ranking().iter().map(|one| one.index).collect::<Vec<_>>(), [0, 1]);
}

prop_compose! {
    fn problems()(
        n in 1_i64..300, c in 1_i64..600, k in 1_i64..600, g in prop::sample::select(vec![1_i64, 1, 2, 32]),
        side in 3_i64..80, filter in prop::sample::select(vec![1_i64, 3]), stride in 1_i64..3,
    ) -> ConvProblem {
        let problem =
            ConvProblem { n, c: c * g, k: k * g, g, ..ConvProblem::new_2d([side, side], [filter, filter]) };
        ConvProblem { stride: [1, stride, stride], ..problem.padded([filter / 2, filter / 2]) }
    }
}

proptest! {
    /// All terms are finite and not negative, and add up to a positive time.
    #[test]
    fn terms_add_up(
        problem in problems(), name in prop::sample::select(NAMES.to_vec()),
        arch in prop::sample::select(Device::PROFILES.to_vec()),
    ) {
        let (estimator, kernel) = (estimator(arch), Kernel::from_name(name).unwrap());
        let KernelKind::Conv(conv) = &kernel.kind else { panic!() };
        let problem = ConvProblem { direction: conv.direction, ..problem };
        let (load, shape) = (estimator.load(&problem.into()), estimator.shape(&kernel.kind).unwrap());
        let (time, terms) = (estimator.time(&load, &shape), estimator.terms(&load, &shape));
        prop_assert!(time.is_finite() && time > 0.0);
        prop_assert!((terms.total() - time).abs() <= 1e-9 * time, "{} {time}", terms.total());
        for &(term, value) in &terms.named {
            prop_assert!(value >= -1e-9 * time, "{term}: {value}");
        }
    }

    /// Kernels side by side have the bits that each has alone, whatever is between those that are alike.
    #[test]
    fn times_of_a_pool_are_those_of_its_kernels(
        problem in problems(), names in prop::collection::vec(0..NAMES.len() + STREAM_K.len(), 1..40),
        (m, n, k) in (1_i64..5000, 1_i64..5000, 1_i64..5000), list in any::<bool>(),
        arch in prop::sample::select(vec!["gfx942", "gfx950", "sm_90"]),
    ) {
        let gemm = GemmProblem::new(m, n, k);
        let gemm = if list { gemm.grouped(format!("{m}x{n}x{k}*3+1x{n}x{k}").parse().unwrap()) } else { gemm };
        let estimator = estimator(arch);
        let kernel = |&at: &usize| {
            let name = NAMES.iter().chain(&STREAM_K).nth(at).unwrap();
            Kernel::from_name(name).unwrap().kind
        };
        let kernels: Vec<KernelKind> = names.iter().map(kernel).collect();
        let mut times = Vec::new();
        for problem in [Problem::from(problem), gemm.into()] {
            let kernels: Vec<_> = kernels.iter().filter(|kernel| kernel.op() == problem.op()).collect();
            let pool = UniversalPool::new(estimator, kernels.iter().copied(), |kernel| kernel as u32);
            let load = estimator.load(&problem);
            pool.times(&problem, &mut times);
            for (kernel, time) in kernels.iter().zip(&times) {
                let alone = estimator.time(&load, &estimator.shape(kernel).unwrap());
                prop_assert_eq!(alone.to_bits(), time.to_bits());
            }
        }
    }

    /// More images, larger images and more taps never make it faster. More channels may: they change what is
    /// contiguous.
    #[test]
    fn times_grow_with_the_problem(
        problem in problems(), place in 0_usize..5, arch in prop::sample::select(Device::PROFILES.to_vec()),
    ) {
        let of = |problem: ConvProblem| time(arch, problem, NAMES[place]);
        let own = of(problem);
        let least = own * (1.0 - 1e-12);
        let images = of(ConvProblem { n: problem.n + 1, ..problem });
        prop_assert!(images >= least);
        let side = problem.input[1] + problem.stride[1];
        let larger = of(ConvProblem { input: [1, side, side], ..problem });
        prop_assert!(larger >= least);
        let deeper = of(ConvProblem { c: problem.c * 2, ..problem });
        prop_assert!(deeper >= own * 0.2);
        let taps = ConvProblem { filter: [1, problem.filter[1] + 2, problem.filter[2] + 2], ..problem };
        let taps = of(taps.padded([problem.pad_left[1] + 1, problem.pad_left[2] + 1]));
        prop_assert!(taps >= least);
    }
}
