use std::path::Path;

use ck_select_model::estimate::Device;
use ck_select_types::each_operation;
use ck_select_types::kernel::{Kernel, KernelKind};
use ck_select_types::pool::Pool;
use ck_select_types::problem::Problem;
use ck_select_types::sheet::Opened;
use ck_select_types::vocab::{Dtype, Op};

use super::*;
use crate::read::RowScope;

/// Rows say their GPU, or none is known.
const ANY: TunedGpu = TunedGpu { arch: None, units: None };

const KERNEL: &str = "gemm_universal_fp8_rcr_compv3_cshuffle_intrawave_False_False_False_False_";

const ROWS: &str = "a8w8_rowwise_256x128x128x128_32x32_2x2_8x32x1_8x32x1_1x32x1x8_8x8x1_1x1_intrawave_v3";

fn named<'a>(name: &str, text: &'a str) -> Opened<'a> {
    Opened::new(name, Box::new(text.as_bytes())).unwrap()
}

fn table(text: &str) -> Opened<'_> {
    named("t.csv", text)
}

fn read(text: &str) -> Result<Winners, String> {
    let mut winners = Winners::default();
    let of_tile = |text: String, tile: &str| {
        text.replace(&format!(",{tile}@"), &format!(",{KERNEL}{tile}_2x2x1_16x16x32"))
    };
    let text = ["128x128x64", "64x128x64"].into_iter().fold(text.to_owned(), of_tile);
    winners.add(table(&text), Op::Gemm, ANY).map_err(|error| error.to_string())?;
    Ok(winners)
}

#[test]
fn a_table_of_aiters_columns_marks_its_winners() {
    let text = "gfx,cu_num,M,N,K,q_dtype_w,libtype,kernelName,splitK,us,is_latest_winner\n\
        gfx942,80,32,512,1024,fp8,ck,128x128x64@,0,12.5,0\n\
        gfx942,80,32,512,1024,fp8,ck,64x128x64@,1,12.0,0\n\
        gfx942,80,32,512,1024,fp8,ck,64x128x64@,0,13.0,1\n\
        gfx942,304,32,512,1024,fp8,ck,64x128x64@,0,9.0,0\n\
        gfx942,304,64,512,1024,fp8,asm,_ZN5aiter,0,9.0,0\n\
        gfx942,80,32,512,1024,fp8,ck,rows@,0,12.5,0\n\
        gfx942,80,32,512,1024,torch.int8,ck,rows@,0,12.5,1\n";
    let winners = read(&text.replace("rows@", ROWS)).unwrap();
    let of = |shape: &TunedShape| (shape.gpu().to_string(), shape.configs.len(), shape.winner);
    let read: Vec<_> = winners.shapes.iter().map(of).collect();
    // Rows of int8 are problems of their own, and a shape without a mark was won by another library.
    let expected = [
        ("gfx942/80", 3, Some(2)),
        ("gfx942/304", 1, None),
        ("gfx942/80", 1, None),
        ("gfx942/80", 1, Some(0)),
    ];
    let types = winners.shapes.iter().map(|shape| match shape.problem {
        Problem::Gemm(gemm) => gemm.dtype_a,
        _ => Dtype::Fp32,
    });
    assert_eq!(types.collect::<Vec<_>>(), [Dtype::Fp8, Dtype::Fp8, Dtype::Fp8, Dtype::Int8]);
    assert_eq!(read, expected.map(|(gpu, rows, winner)| (gpu.to_owned(), rows, winner)));
    assert_eq!(winners.others, 1);
    let first = &winners.shapes[0];
    assert_eq!(
        (first.us_of(1), first.least_us(), first.pair().as_str()),
        (Some(12.0), Some(12.0), "512_1024")
    );
    let device = Device::for_arch("gfx942".parse().unwrap()).unwrap();
    assert_eq!(winners.gpus()[0].1.device_from(device).hardware.num_cus, 80);
}

/// A row of another architecture's GPU was an error (07238670).
#[test]
fn compute_units_tell_the_architecture_of_rows_that_record_none() {
    let text = format!(
        "cu_num,M,N,K,kernel\n304,1,64,64,{KERNEL}128x128x64_2x2x1_16x16x32\n\
         256,1,64,64,{KERNEL}128x128x64_2x2x1_16x16x32\n"
    );
    let gpus = |assumed: Option<&str>| {
        let mut winners = Winners::default();
        let assumed = TunedGpu { arch: assumed.map(|arch| arch.parse().unwrap()), units: None };
        winners.add(table(&text), Op::Gemm, assumed).unwrap();
        winners.shapes.iter().map(|shape| shape.gpu().to_string()).collect::<Vec<_>>()
    };
    for assumed in [None, Some("gfx942"), Some("gfx950")] {
        assert_eq!(gpus(assumed), ["gfx942/304", "gfx950/256"]);
    }
    // A GPU of NVIDIA may have as many.
    assert_eq!(gpus(Some("sm_90")), ["sm_90/304", "sm_90/256"]);
}

/// A column `dtype` was known and ignored (b103192d).
#[test]
fn a_type_may_stand_in_either_column() {
    for column in ["dtype", "q_dtype_w"] {
        let mut winners = Winners::default();
        let text = format!("M,N,K,{column},kernel\n1,64,64,int8,{ROWS}\n1,64,64,fp8,{ROWS}\n");
        winners.add(table(&text), Op::Gemm, ANY).unwrap();
        let types = winners.shapes.iter().map(|shape| shape.problem.dtype()).collect::<Vec<_>>();
        assert_eq!(types, [Dtype::Int8, Dtype::Fp8]);
        let text = text.replace("int8", "fp64");
        let error = winners.add(table(&text), Op::Gemm, ANY).unwrap_err().to_string();
        assert!(error.starts_with(&format!("t.csv: line 2: {column}: ")), "{error}");
    }
}

/// The error had our word for the type, which is nowhere in the table (ffe9ea3a).
#[test]
fn a_refused_type_is_said_as_the_table_has_it() {
    let text = format!("M,N,K,q_dtype_w,kernel\n1,64,64,torch.int8,{KERNEL}128x128x128_1x4x1_16x16x128\n");
    let error = Winners::default().add(table(&text), Op::Gemm, ANY).unwrap_err();
    assert!(error.to_string().contains("q_dtype_w: found torch.int8, but 'gemm_universal_fp8_"), "{error}");
}

/// A pool that records the architecture had none of a convolution's winners (ffe9ea3a).
#[test]
fn a_winner_is_found_in_a_pool_of_any_architecture() {
    let name = "grouped_conv_forward_bf16_2d_16x64x64_compv3_intrawave";
    let text = format!("arch,N,C,K,Hi,Wi,Y,X,kernelName,us\ngfx950,1,64,64,28,28,3,3,{name},10\n");
    let mut winners = Winners::default();
    winners.add(table(&text), Op::Conv, ANY).unwrap();
    let mut kernel = Kernel::from_name(name).unwrap();
    each_operation!(&mut kernel.kind, KernelKind(of) => of.arch = "gfx950".parse().ok());
    for called in [name, "another_name"] {
        let kernel = Kernel { name: called.to_owned(), ..kernel.clone() };
        assert_eq!(winners.places_in(&Pool::new(vec![kernel]).unwrap()), [Some(0)]);
    }
}

/// Sweeps of one problem were joined where they had no kernel in common, as files are that are cut by
/// kernel: two families' winners of a shape became one list, in which neither had won (f25cdd8e).
#[test]
fn families_that_compute_the_same_shape_are_ranked_apart() {
    let table = |tile: &str| format!("M,N,K,cu_num,kernel,us\n32,512,1024,80,{tile}@,12\n");
    let (mut winners, mut pools) = (Winners::default(), Vec::new());
    for tiles in [["128x128x64", "64x128x64"], ["32x128x64", "16x128x64"]] {
        let names = tiles.map(|tile| format!("{KERNEL}{tile}_2x2x1_16x16x32"));
        let text = table(tiles[0]).replace(&format!("{}@", tiles[0]), &names[0]);
        winners.add(named(tiles[0], &text), Op::Gemm, ANY).unwrap();
        pools.push(Pool::new(names.map(|name| Kernel::from_name(&name).unwrap()).into()).unwrap());
    }
    let pools: Vec<&Pool> = pools.iter().collect();
    let measurements = winners.completed(RowScope::all(Op::Gemm), None, &pools).unwrap().measurements;
    assert_eq!(measurements.problems().len(), 1);
    let rows: Vec<_> = measurements.runs().into_iter().map(|run| run.rows).collect();
    assert_eq!(rows, [[0, 1], [2, 3]]);
}

/// Kernels that cannot compute a shape were trained on as if they had lost there: a third of a pool,
/// which a forest then avoided where they could be chosen (675c8bae).
#[test]
fn kernels_that_do_not_compute_a_shape_have_no_row_of_it() {
    let names = ["256x32x256x64", "256x128x128x64"].map(|tile| {
        format!("a8w8_bpreshuffle_{tile}_16x16_16x16_4x64x1_4x64x1_1x32x1x8_8x8x1_2x1_intrawave_v1")
    });
    let mut winners = Winners::default();
    let text = format!("M,N,K,kernel\n32,512,1024,{0}\n32,384,1024,{0}\n", names[1]);
    winners.add(table(&text), Op::Gemm, ANY).unwrap();
    let pool = Pool::new(names.map(|name| Kernel::from_name(&name).unwrap()).into()).unwrap();
    let measurements = winners.completed(RowScope::all(Op::Gemm), None, &[&pool]).unwrap().measurements;
    assert_eq!(measurements.runs().into_iter().map(|run| run.rows.len()).collect::<Vec<_>>(), [2, 1]);
}

/// All tables were counted together, so that a small one of another family was left out as if its
/// winners were retired (07238670).
#[test]
fn a_table_of_another_pool_is_not_hidden_by_a_large_one() {
    let table = |rows: std::ops::Range<u32>, tile: &str| {
        let row = |m| format!("{m},64,64,{KERNEL}{tile}_2x2x1_16x16x32\n");
        "M,N,K,kernel\n".to_owned() + &rows.map(row).collect::<String>()
    };
    let pool = [Kernel::from_name(&format!("{KERNEL}128x128x64_2x2x1_16x16x32")).unwrap()];
    let pool = Pool::new(pool.into()).unwrap();
    let of = |files: &[(&str, String)]| {
        let mut winners = Winners::default();
        for (name, text) in files {
            winners.add(named(name, text), Op::Gemm, ANY).unwrap();
        }
        winners.in_pools(&[&pool]).map_err(|error| error.to_string())
    };
    let (large, small) = (table(1..101, "128x128x64"), table(1..3, "64x128x64"));
    let error = of(&[("large.csv", large.clone()), ("small.csv", small)]).unwrap_err();
    assert!(error.starts_with("small.csv: line 2: '") && error.contains("' won, but it is none"), "{error}");
    // As many retired winners of the large one are left out.
    let retired = large + &table(101..103, "64x128x64").replace("M,N,K,kernel\n", "");
    let (kept, lacking) = of(&[("large.csv", retired)]).unwrap();
    assert_eq!((kept.shapes.len(), lacking.unwrap().0), (100, 2));
}

/// The error gave no batch as the reason, though the shape has none.
#[test]
fn a_winner_that_does_not_compute_its_shape_says_why() {
    let name = "a8w8_bpreshuffle_256x32x256x64_16x16_16x16_4x64x1_4x64x1_1x32x1x8_8x8x1_2x1_intrawave_v1";
    let error = read(&format!("M,N,K,kernel\n32,384,1024,{name}\n")).unwrap_err();
    let reason = "does not compute it: its tile of 32x256x64 does not divide N and K";
    assert_eq!(error, format!("t.csv: line 2: kernel '{name}' {reason}"));
}

/// The architecture that a pool's file names gives its kernels a number of threads, which names do not
/// say, so that no winner was found among them (bcaa6223).
#[test]
fn a_pool_built_for_an_architecture_has_the_winners() {
    let winners = read("M,N,K,kernel\n1,2,3,128x128x64@\n").unwrap();
    let mut kernel = winners.kernels[0].clone();
    let KernelKind::Gemm(gemm) = &mut kernel.kind else { panic!("{}", kernel.name) };
    gemm.set_arch("gfx950".parse().unwrap());
    assert_eq!(gemm.block_size, 256);
    assert_eq!(winners.places_in(&Pool::new(vec![kernel]).unwrap()), [Some(0)]);
}

/// Two rows of one kernel were two winners (07238670).
#[test]
fn of_two_splits_in_the_same_time_the_lower_one_wins() {
    let row = |tile: &str, split: u32, us: u32| format!("1,64,64,{tile}@,{split},{us}\n");
    let rows = [row("64x128x64", 1, 9), row("128x128x64", 3, 5), row("128x128x64", 2, 5)].concat();
    let winners = read(&format!("M,N,K,kernel,splitK,us\n{rows}")).unwrap();
    assert_eq!(winners.shapes[0].winner, Some(2));
}

#[test]
fn in_a_plain_table_the_fastest_wins_or_the_only_one() {
    let winners = read("M,N,K,kernel\n1,2,3,128x128x64@\n2,2,3,64x128x64@\n").unwrap();
    assert_eq!(winners.shapes.iter().map(|shape| shape.winner).collect::<Vec<_>>(), [Some(0); 2]);
    assert_eq!(winners.shapes[0].least_us(), None);
    let winners = read("m,n,k,kernel,tflops\n512,512,512,128x128x64@,1\n512,512,512,64x128x64@,2\n").unwrap();
    assert_eq!(winners.shapes[0].winner, Some(1));
    assert!((winners.shapes[0].least_us().unwrap() - 134.217_728).abs() < 1e-9);
}

#[test]
fn other_columns_are_named_but_those_of_aiters_tuner() {
    let text = "gfx,cu_num,M,N,K,q_dtype_w,kernelId,splitK,us,kernelName,tflops,bw,errRatio,n_obs,file\n\
        gfx942,80,32,512,1024,fp8,1,0,12.5,128x128x64@,1,2,0,3,a.csv\n";
    let winners = read(text).unwrap();
    let ignored: Vec<_> = winners.ignored().collect();
    assert_eq!(ignored, [(Path::new("t.csv"), &["n_obs".to_owned(), "file".to_owned()][..])]);
}

#[test]
fn errors_name_the_line() {
    let header = "arch,cu_num,M,N,K,kernel,us,is_latest_winner\n";
    let row = |units: u32, kernel: &str, us: &str, mark: u32| {
        format!("gfx942,{units},1,64,64,{kernel},{us},{mark}\n")
    };
    let of = |rows: &[String]| header.to_owned() + &rows.concat();
    let (one, other) = ("128x128x64@", "64x128x64@");
    let conv = "grouped_conv_forward_bf16_2d_16x64x64_compv3";
    for (text, message) in [
        (
            of(&[row(80, one, "2", 1), row(80, other, "3", 1)]),
            "line 3: a second winner beside that of line 2, exp",
        ),
        (
            format!("M,N,K,kernel,us\n1,64,64,{one},2\n1,64,64,{other},2\n"),
            "line 3: a second winner beside that of line 2 in the same time",
        ),
        (
            format!("M,N,K,kernel\n1,64,64,{one}\n1,64,64,{other}\n"),
            "line 3: a second winner beside that of line 2, and not both have a time",
        ),
        (of(&[row(80, one, "2", 1), row(80, one, "3", 0)]), "line 3: the configuration of line 2 again"),
        (
            of(&[row(256, one, "2", 1)]),
            "line 2: cu_num: found 256, expected 80, 228, 304: the compute units of GPUs of gfx942",
        ),
        (of(&[row(80, one, "-2", 1)]), "line 2: us: found -2, expected a number above 0"),
        (
            format!("M,N,K,q_dtype_w,kernel\n1,64,64,fp8,{one}\n2,64,64,int8,{one}\n"),
            "line 3: q_dtype_w: found int8, but 'gemm_universal_fp8_",
        ),
        (of(&["gfx942,80,1\n".to_owned()]), "line 2: found 3 cells, expected 8 as in the header"),
        (of(&[row(80, conv, "2", 1)]), "line 2: 'grouped_conv"),
        // Any number was a split (07238670).
        (
            format!("M,N,K,kernel,splitK\n1,64,64,{one},99\n"),
            "line 2: splitK: found 99, expected a number from 0 to 30",
        ),
        (
            format!("M,N,K,kernel,split_k\n1,64,64,{one},\n1,64,128,{one},0\n"),
            "line 3: split_k: found 0, expected a number from 1 to 2147483647",
        ),
        ("M,N,K,name\n".to_owned(), "no column 'kernel'"),
        // Each row was said to have nothing there, and names that nobody knows were passed over (07238670).
        (format!("M,N,kernel\n1,64,{one}\n"), "no column 'K'; the columns are M, N, kernel"),
        ("cu_nums,M,N,K,kernel\n".to_owned(), "header: unknown column 'cu_nums', expected cu_num"),
        ("M,N,K,q_dtype,kernel\n".to_owned(), "header: unknown column 'q_dtype', expected dtype, q_dtype_w"),
        (of(&[]), "found no row below the header"),
    ] {
        let error = read(&text).unwrap_err();
        assert!(error.starts_with(&format!("t.csv: {message}")), "{error}");
    }
}

const FMOE: &str = "cu_num,token,model_dim,inter_dim,expert,topk,act_type,dtype,q_dtype_a,q_dtype_w,q_type,use_g1u1,\
    doweight_stage1,block_m,ksplit,us1,kernelName1,err1,us2,kernelName2,err2,us,run_1stage,tflops,bw,_tag\n";

/// A row of 32 tokens with both kernels, by what stands before the types of each.
fn pair(types: [&str; 3], sizes: &str, [first, second]: [&str; 2]) -> String {
    let [a, b, quant] = types;
    let ck = |gemm: &str| {
        if gemm.starts_with(['1', '2']) { format!("moe_ck2stages_gemm{gemm}") } else { gemm.to_owned() }
    };
    format!(
        "80,32,{sizes},128,8,ActivationType.Silu,torch.bfloat16,torch.{a},torch.{b},QuantType.{quant},1,0,32,0,\
         140.5,{},0.0%,inf,{},0.1%,275.4,0,70.18,1127.0,\n",
        ck(first),
        ck(second)
    )
}

const BF16: [&str; 3] = ["bfloat16", "bfloat16", "No"];
const FIRST: &str = "1_256x32x64x128_1x4_TypeCast_v1_Nswizzle0_Quant0_MulRoutedWeight0_silu_B16_B16_B16";
const SECOND: &str =
    "2_256x32x64x64_1x4_TypeCastExpertWeight_v1_Nswizzle0_Quant0_MulRoutedWeight1_B16_B16_B16";

fn read_pairs(rows: &[String]) -> Result<Winners, String> {
    let (mut winners, text) = (Winners::default(), FMOE.to_owned() + &rows.concat());
    winners.add(table(&text), Op::Moe, ANY).map_err(|error| error.to_string())?;
    Ok(winners)
}

#[test]
fn a_row_of_fused_mixtures_of_experts_is_a_shape_of_each_stage() {
    let rows = [pair(BF16, "2048,192", [FIRST, SECOND]), pair(BF16, "4096,192", ["_ZN5aiter48fmoe", SECOND])];
    let winners = read_pairs(&rows).unwrap();
    let of = |shape: &TunedShape| {
        let us = shape.fastest().us;
        (shape.problem.to_string(), shape.gpu().to_string(), shape.pair(), us.is_nan(), shape.winner)
    };
    let problem = |sizes: &str| {
        let [stage, n, k] = sizes.split(' ').collect::<Vec<_>>()[..] else { panic!("{sizes}") };
        format!(
            "stage={stage},tokens=32,experts=128,topk=8,n={n},k={k},dtype_a=bf16,dtype_b=bf16,arch=gfx942"
        )
    };
    let gpu = || "gfx942/80".to_owned();
    let expected = [
        (problem("1 384 2048"), gpu(), "128_384_2048".to_owned(), false, Some(0)),
        (problem("2 2048 192"), gpu(), "128_384_2048".to_owned(), true, Some(0)),
        (problem("2 4096 192"), gpu(), "128_384_4096".to_owned(), true, Some(0)),
    ];
    assert_eq!(winners.shapes.iter().map(of).collect::<Vec<_>>(), expected);
    assert_eq!((winners.others, winners.kernels.len()), (1, 2));
    // The table is also the list of its kernels.
    let text = FMOE.to_owned() + &rows.concat();
    let pool = Pool::from_bytes("t.csv", text.as_bytes()).unwrap();
    assert_eq!(pool.iter().collect::<Vec<_>>(), winners.kernels.iter().collect::<Vec<_>>());
}

#[test]
fn faults_of_pairs_name_the_column() {
    let good = pair(BF16, "2048,192", [FIRST, SECOND]);
    let fp8 = ["float8_e4m3fnuz", "float8_e4m3fnuz", "per_Token"];
    let of_gpu = |row: &str| if row.starts_with("gfx") { "gfx," } else { "" };
    for (row, message) in [
        (good.replace(",192,", ",,"), "line 2: inter_dim: found nothing, expected a number"),
        (good.replace(",192,", ",160,"), "line 2: kernelName1: 'moe_ck2stages_gemm1_256x32x64x128_1x4_"),
        (
            good.replace("80,32,", "gfx942,81,32,"),
            "line 2: cu_num: found 81, expected 80, 228, 304: the compute units of GPUs of gfx942",
        ),
        (pair(fp8, "2048,192", [FIRST, SECOND]), "line 2: kernelName1: "),
        (
            good.replace("_v1_", "_v0_"),
            "line 2: kernel name 'moe_ck2stages_gemm1_256x32x64x128_1x4_TypeCast_v0_",
        ),
        (
            good.replace("QuantType.No", "QuantType.per_1x7"),
            "line 2: q_type: found 'QuantType.per_1x7', expected one of none, ",
        ),
        (good.clone() + &good, "line 3: the configuration of line 2 again"),
    ] {
        let text = of_gpu(&row).to_owned() + FMOE + &row;
        let error = Winners::default().add(table(&text), Op::Moe, ANY).unwrap_err().to_string();
        assert!(error.starts_with(&format!("t.csv: {message}")), "{error}\n{message}");
    }
}
