//! Rows of named cells: prepared pools give the bits of rows that are predicted one by one.

use std::sync::Arc;

use ck_select::cells::Fields;
use ck_select::directory::Target;
use ck_select::features::{Engine, Uncoded};
use ck_select::kernel::Kernel;
use ck_select::problem::{Problem, ProblemDefaults};
use ck_select::ranking::Ranked;
use ck_select::rows::{
    Cells, Column, EngineChoice, Object, RowModel, RowModelOptions, RowPool, Table, describe_name,
    describe_spec,
};
use ck_select::vocab::Op;
use serde_json::Map;

use crate::common::root;

fn directory(model: &str) -> String {
    root(&format!("tests/golden/models/{model}"))
}

fn load(model: &str, options: &RowModelOptions) -> Arc<RowModel> {
    Arc::new(RowModel::load(directory(model), options).unwrap())
}

/// One of our models.
fn ours(options: &RowModelOptions) -> Arc<RowModel> {
    Arc::new(RowModel::load(root("models/grouped_conv_forward_bf16_gfx950"), options).unwrap())
}

fn options() -> RowModelOptions {
    RowModelOptions { uncoded: Some(Uncoded::Upstream), ..RowModelOptions::default() }
}

/// Absent cells are errors, whatever the model is for.
fn strict() -> RowModelOptions {
    RowModelOptions { uncoded: Some(Uncoded::Error), force: true, ..options() }
}

fn object(json: &str) -> Object {
    Object::from_json(json.as_bytes()).unwrap()
}

/// A column of one word for each row.
fn words<'a>(name: &'a str, words: &[&'a str]) -> Column<'a> {
    Column { name, cells: Cells::Words { words: words.to_vec(), codes: &[0, 1, 2][..words.len()] } }
}

/// Kernels of which only the names are given.
fn named(model: &Arc<RowModel>, names: &[&str]) -> RowPool {
    let table = Table::new(vec![words("kernel_name", names)], names.len()).unwrap();
    RowPool::new(Arc::clone(model), &table).unwrap()
}

fn rank(pool: &RowPool, problem: &dyn Fields) -> Vec<Ranked> {
    let mut ranking = Vec::new();
    pool.rank(problem, |place| ranking.push(place)).unwrap();
    ranking
}

const TILES: [i64; 5] = [32, 64, 128, 192, 256];

/// 60 kernels: tiles, words that are partly absent, flags.
struct Kernels {
    tile_m: Vec<i64>,
    tile_n: Vec<f64>,
    pipeline: Vec<i32>,
    pad: Vec<i64>,
}

impl Kernels {
    fn new() -> Self {
        let range = 0..60usize;
        Self {
            tile_m: range.clone().map(|row| TILES[row % 5]).collect(),
            tile_n: range
                .clone()
                .map(|row| if row % 7 == 0 { f64::NAN } else { TILES[row % 3] as f64 })
                .collect(),
            pipeline: range.clone().map(|row| (row % 4) as i32 - 1).collect(),
            pad: range.map(|row| i64::from(row % 2 == 0)).collect(),
        }
    }

    fn columns(&self) -> Vec<Column<'_>> {
        vec![
            Column { name: "tile_m", cells: Cells::Whole(&self.tile_m) },
            Column { name: "tile_n", cells: Cells::Numbers(&self.tile_n) },
            Column {
                name: "pipeline",
                cells: Cells::Words {
                    words: vec!["compv3", "compv4", "mem", "no row's"],
                    codes: &self.pipeline,
                },
            },
            Column { name: "pad_m", cells: Cells::Whole(&self.pad) },
        ]
    }
}

/// A row's cells over the problem's, as upstream merges them.
struct Both<'a>(&'a dyn Fields, &'a dyn Fields);

impl Fields for Both<'_> {
    fn cell(&self, name: &str) -> Option<ck_select::cells::Cell<'_>> {
        self.0.cell(name).or_else(|| self.1.cell(name))
    }
}

/// Ranks by predictions of one row at a time. The golden model is trained on logarithms: nothing is clamped.
fn expected(model: &RowModel, table: &Table<'_>, problem: &dyn Fields) -> Vec<Ranked> {
    let mut ranking: Vec<_> = (0..table.len())
        .map(|index| Ranked {
            index,
            split_k: 1,
            score: model.predict(&Both(&table.row(index), problem)).unwrap(),
        })
        .collect();
    ranking.sort_by(|a, b| b.score.total_cmp(&a.score));
    ranking
}

#[test]
fn pools_give_the_bits_of_single_rows() {
    let model = load("gemm_small", &options());
    let kernels = Kernels::new();
    let table = Table::new(kernels.columns(), 60).unwrap();
    let pool = RowPool::new(Arc::clone(&model), &table).unwrap();
    assert_eq!((pool.len(), pool.is_empty()), (60, false));
    for text in [
        r#"{"m":16,"n":1536,"k":7168,"dtype":"fp8","layout":"rcr"}"#,
        r#"{"M":20480,"n":7168.0,"k":"256","split_k":null,"dtype":"tf32"}"#,
        "{}",
    ] {
        let problem = object(text);
        let expected = expected(&model, &table, &problem);
        // The first ranking scores rows, later ones with the compiled pool.
        let new = RowPool::new(Arc::clone(&model), &table).unwrap();
        assert_eq!(
            (rank(&new, &problem), rank(&new, &problem)),
            (expected.clone(), expected.clone()),
            "{text}"
        );
        assert_eq!(rank(&pool, &problem), expected, "{text}");
    }
}

#[test]
fn threads_share_a_table() {
    let [one, three] = [0, 3].map(|threads| load("gemm_small", &RowModelOptions { threads, ..options() }));
    let extents: Vec<i64> = (1..=5000).collect();
    let mut tiles = vec![64.0; 5000];
    let columns = vec![
        Column { name: "k", cells: Cells::Whole(&extents) },
        Column { name: "tile_m", cells: Cells::Numbers(&tiles) },
    ];
    let table = Table::new(columns, 5000).unwrap();
    assert_eq!(one.predict_table(&table).unwrap(), three.predict_table(&table).unwrap());
    assert_eq!(one.features(&table).unwrap(), three.features(&table).unwrap());
    // Of several mistakes, the first row's is named.
    (tiles[1], tiles[4999]) = (f64::INFINITY, f64::INFINITY);
    let wrong = Table::new(vec![Column { name: "tile_m", cells: Cells::Numbers(&tiles) }], 5000).unwrap();
    let error = three.predict_table(&wrong).unwrap_err().to_string();
    assert!(error.starts_with("row 1: tile_m"), "{error}");
}

#[test]
fn cells_of_the_problem_in_rows_come_first() {
    let model = load("gemm_small", &options());
    let kernels = Kernels::new();
    let problem = object(r#"{"m":16,"n":1536,"k":7168}"#);
    // One problem for all, and a problem for each.
    for extents in [vec![64i64; 60], (1..=60).collect()] {
        let mut columns = kernels.columns();
        columns.push(Column { name: "k", cells: Cells::Whole(&extents) });
        let table = Table::new(columns, 60).unwrap();
        let pool = RowPool::new(Arc::clone(&model), &table).unwrap();
        assert_eq!(rank(&pool, &problem), expected(&model, &table, &problem));
    }
}

#[test]
fn empty_pools_rank_nothing() {
    let pool = RowPool::new(load("conv_small", &options()), &Table::new(Vec::new(), 0).unwrap()).unwrap();
    assert!(pool.is_empty() && rank(&pool, &Object::default()).is_empty());
}

#[test]
fn threads_share_a_pool() {
    let model = load("gemm_small", &options());
    let kernels = Kernels::new();
    let table = Table::new(kernels.columns(), 60).unwrap();
    let pool = RowPool::new(Arc::clone(&model), &table).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..12 {
            let (pool, model, table) = (&pool, &model, &table);
            scope.spawn(move || {
                let problem = object(&format!(r#"{{"m":{},"n":1536,"k":7168}}"#, 1 + thread));
                let expected = expected(model, table, &problem);
                for _ in 0..20 {
                    assert_eq!(rank(pool, &problem), expected);
                }
            });
        }
    });
}

#[test]
fn mistakes_are_named() {
    let relative = RowModelOptions { target: Target::Relative, ..options() };
    let other = RowModelOptions { engine: EngineChoice::Named(Engine::Conv97), ..options() };
    let hardware =
        RowModelOptions { hardware: Map::from_iter([("num_cus".to_owned(), 0.into())]), ..options() };
    let tolerant = RowModelOptions { tolerate_no_spec: true, ..options() };
    for (model, options, message) in [
        ("gemm_small", &relative, "no model_relative.lgbm and no model_relative.lgbm.gz"),
        ("gemm_small", &other, "the feature engine conv97 is for grouped_conv"),
        ("gemm_small", &hardware, "hardware: num_cus: found 0, expected at least 1"),
        ("absent", &options(), "feature_spec.json"),
        ("absent", &tolerant, "no model_tflops.lgbm"),
    ] {
        let error = RowModel::load(directory(model), options).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    let described = describe_spec(directory("absent"), &tolerant).unwrap();
    assert_eq!(
        (described["op"].as_str(), described["rank_by"].as_str()),
        (Some("gemm_universal"), Some("tflops"))
    );

    let kernels = Kernels::new();
    let table = Table::new(kernels.columns(), 60).unwrap();
    let strict = RowModelOptions { force: false, ..strict() };
    let error = RowPool::new(load("gemm_small", &strict), &table).unwrap_err().to_string();
    let absent = "row 0: tile_n, tile_k, warp_m, warp_n, warp_k, warp_tile_m, warp_tile_n, warp_tile_k, \
                  pipeline, scheduler, epilogue, pad_n, pad_k, persistent: found nothing, expected a value \
                  for each";
    assert_eq!(error, absent);
}

#[test]
fn a_row_that_the_model_is_not_for_is_refused_unless_it_is_forced() {
    let problem = r#"{"C": 64, "K": 64, "Hi": 28, "Wi": 28, "Y": 3, "X": 3"#;
    let kernel =
        Table::new(vec![Column { name: "gemm_m_per_block", cells: Cells::Whole(&[64]) }], 1).unwrap();
    let cells = |more: &str| object(&format!("{problem}{more}}}"));
    let [model, forced] =
        [false, true].map(|force| load("conv_small", &RowModelOptions { force, ..options() }));
    let pool = RowPool::new(model.clone(), &kernel).unwrap();
    assert!(model.predict(&cells(r#", "dtype": "bf16", "arch": "gfx950:xnack-""#)).is_ok());
    for (more, message) in [
        (
            r#", "dtype": "fp16""#,
            "dtype: found 'fp16', expected bf16, which the model is for, or a model that is forced",
        ),
        (r#", "arch": "gfx942""#, "arch: found 'gfx942', expected gfx950, which the model is for"),
    ] {
        let row = cells(more);
        let errors = [model.predict(&row).unwrap_err(), pool.rank(&row, |_| {}).unwrap_err()];
        for error in errors {
            assert!(error.to_string().contains(message), "{error}");
        }
        assert!(forced.predict(&row).is_ok());
        assert_eq!(rank(&RowPool::new(forced.clone(), &kernel).unwrap(), &row).len(), 1);
    }
}

/// A problem of one of our models, and kernels of which only the names are given.
#[test]
fn every_field_of_a_problem_is_used_or_refused_where_absent_cells_are_errors() {
    const NAME: &str = "grouped_conv_forward_bf16_2d_128x64x128_compv5";
    let model = ours(&RowModelOptions { uncoded: None, ..options() });
    let pool = named(&model, &[NAME]);
    let cells = |change: &str| {
        let problem = r#"{"N":16,"C":256,"K":128,"G":1,"Hi":28,"Wi":28,"Y":3,"X":3,"stride_h":1,"stride_w":1,
            "pad_h":1,"pad_w":1,"dilation_h":1,"dilation_w":1"#;
        let parse = |text: &str| serde_json::from_str::<Map<_, serde_json::Value>>(text).unwrap();
        let mut cells = parse(&format!("{problem}}}"));
        cells.extend(parse(&format!("{{{}}}", change.trim_start_matches(','))));
        object(&serde_json::Value::Object(cells).to_string())
    };
    let text = "N=16,C=256,K=128,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1,pad_h_right=2,pad_w_right=3";
    let problem = Problem::parse(Op::Conv, text, &ProblemDefaults::new(Op::Conv)).unwrap();
    let features = model.model().extractor().row(&problem, &Kernel::from_name(NAME).unwrap().kind).unwrap();
    let forest = model.model().forest(Target::Tflops).unwrap();
    let expected = model.model().score(Target::Tflops, forest.predict(&features).unwrap());
    let ranked = rank(&pool, &cells(r#","pad_h_right":2,"pad_w_right":3"#));
    assert_eq!(ranked, [Ranked { index: 0, split_k: 1, score: expected }]);
    assert_ne!(ranked, rank(&pool, &cells("")), "the padding behind the axes counts");

    for (change, message) in [
        (
            r#","variant":"bwd_data""#,
            "variant: found 'bwd_data', expected 'forward', as the kernels' names say",
        ),
        (r#","dtype":"fp16""#, "dtype: found 'fp16', expected 'bf16', as the kernels' names say"),
        (r#","Di":4"#, "Di: found 4, expected 1"),
        (r#","C":null"#, "C: found nothing, expected a whole number"),
        (r#","op_type":"gemm_universal""#, "op_type: found 'gemm_universal', expected grouped_conv"),
        (r#","ndim_spatial":3"#, "ndim_spatial: found 3, expected 2, as the kernels' names say"),
        (r#","layout":"zz""#, "layout: found 'zz', expected 'nhwgc', as the kernels' names say"),
        (r#","stride_h":2.5"#, "stride_h: found 2.5, expected a whole number"),
        (r#","C":"256.5""#, "C: found '256.5', expected a whole number"),
        (r#","G":3"#, "C: found 256, expected a multiple of G = 3"),
    ] {
        let error = pool.rank(&cells(change), |_| {}).unwrap_err().to_string();
        assert!(error.starts_with("problem: ") && error.contains(message), "{change}: {error}");
    }
    assert!(model.check_names(&cells(r#","comment":1"#)).is_ok());
    let misspelt = model.check_names(&cells(r#","padh":1"#)).unwrap_err().to_string();
    assert_eq!(misspelt, "unknown column 'padh', expected pad_h");

    // Upstream's engines cut fractions off, and know of no padding behind an axis.
    let upstream = ours(&options());
    let pool = named(&upstream, &[NAME]);
    let odd = cells(r#","stride_h":1.9,"pad_h_right":2,"padh":3"#);
    assert_eq!(rank(&pool, &odd), rank(&pool, &cells("")));
    assert!(upstream.check_names(&odd).is_ok());
}

/// Equal scores kept the table's order, so that unmeasured twins of a measured kernel could go first
/// (accde6c8).
#[test]
fn rows_of_measured_kernels_go_before_others_of_their_score() {
    const NAMES: [&str; 3] = [
        "grouped_conv_forward_bf16_2d_128x64x128_comp_async_intrawave",
        "grouped_conv_forward_bf16_2d_128x64x128_basic_v1_intrawave",
        "grouped_conv_forward_bf16_2d_128x64x128_compv3_intrawave",
    ];
    let model = ours(&RowModelOptions { uncoded: None, ..options() });
    let problem = r#"{"N":16,"C":256,"K":128,"G":1,"Hi":28,"Wi":28,"Y":3,"X":3,"stride_h":1,"stride_w":1,
        "pad_h":1,"pad_w":1,"dilation_h":1,"dilation_w":1}"#;
    let ranked = rank(&named(&model, &NAMES), &object(problem));
    assert!(ranked.iter().all(|one| one.score.to_bits() == ranked[0].score.to_bits()), "{ranked:?}");
    assert_eq!(ranked[0].index, 2);
}

/// What a row says is read as what a problem in text says, and is wrong where that would be.
#[test]
fn cells_of_rows_are_read_as_those_of_problems() {
    const NAME: &str =
        "fmha_fwd_fp16_batch_h128_qr_async_t128x128x32x128x32x128_w32x32x16_pad1111_mask=no_bias=no_bpc=-1";
    let row = |more: &str| {
        let sizes =
            r#""batch":2,"seqlen_q":512,"seqlen_k":512,"nhead_q":8,"nhead_k":8,"hdim_q":128,"hdim_v":128"#;
        object(&format!(r#"{{"kernel":"{NAME}",{sizes}{more}}}"#))
    };
    let attention = load("fmha_small", &strict());
    assert!(attention.predict(&row("")).is_ok());
    for (more, message) in [
        (r#","page_size":0"#, "problem: page_size: found 0, expected 1 to 2147483647"),
        (r#","rope":"sideways""#, "rope: found 'sideways', expected one of none, inter, half"),
        (r#","has_lse":1,"lse":0"#, "has_lse: found 1, expected 0 as in lse"),
    ] {
        let error = attention.predict(&row(more)).unwrap_err().to_string();
        assert!(error.contains(message), "{more}: {error}");
    }
    // Another name of a field counted for nothing, whatever the model was for (a row of `dtype` was refused).
    let model = load("fmha_small", &RowModelOptions { force: false, ..options() });
    let error = model.predict(&row(r#","data_type":"fp8bf16""#)).unwrap_err().to_string();
    assert_eq!(
        error,
        format!("problem: data_type: found 'fp8bf16', expected 'fp16', as kernel '{NAME}' says")
    );
    let sizes =
        r#""batch":2,"seqlen_q":512,"seqlen_k":512,"nhead_q":8,"nhead_k":8,"hdim_q":128,"hdim_v":128"#;
    let unnamed = object(&format!(r#"{{{sizes},"data_type":"fp8bf16"}}"#));
    let error = model.predict(&unnamed).unwrap_err().to_string();
    assert!(error.contains("data_type: found 'fp8bf16', expected fp16, which the model is for"), "{error}");
    // Words of torch are types where others have upstream's defaults, too.
    let gemm = load("gemm_small", &RowModelOptions { force: true, ..options() });
    let of =
        |dtype: &str| gemm.predict(&object(&format!(r#"{{"m":8,"n":8,"k":8,"dtype":"{dtype}"}}"#))).unwrap();
    assert_eq!(of("torch.bfloat16").to_bits(), of("bf16").to_bits());
    assert_ne!(of("torch.bfloat16").to_bits(), of("tf32").to_bits());
}

/// Rows over a problem were cells over cells, read for each problem anew.
#[test]
fn a_rows_cells_about_the_problem_are_read_when_a_pool_is_made() {
    let model = load("gemm_small", &strict());
    let name =
        "gemm_universal_fp16_rcr_compv3_cshuffle_intrawave_False_False_False_False_128x128x64_2x2x1_32x32x16";
    let pool = |n: &str| {
        let columns = vec![words("kernel_name", &[name]), words("n", &[n])];
        RowPool::new(Arc::clone(&model), &Table::new(columns, 1).unwrap())
    };
    let error = pool("many").unwrap_err().to_string();
    assert_eq!(error, "row 0: n: found 'many', expected a whole number");
    // The row's value counts; other names of a field must agree.
    let problem = |n: i64| object(&format!(r#"{{"m":128,"n":{n},"k":7168,"split_k":1}}"#));
    let own = rank(&pool("1536").unwrap(), &problem(64));
    assert_eq!(own, rank(&named(&model, &[name]), &problem(1536)));
    assert_ne!(own, rank(&named(&model, &[name]), &problem(64)));
    let columns = vec![words("kernel_name", &[name]), words("M", &["64"])];
    let other = RowPool::new(Arc::clone(&model), &Table::new(columns, 1).unwrap()).unwrap();
    let error = other.rank(&problem(64), |_| {}).unwrap_err().to_string();
    assert_eq!(error, "problem: m: found 128, expected 64 as in M");
}

/// The variant is no feature, so that plain kernels would have a score for every problem.
#[test]
fn kernels_of_another_variant_have_no_score_where_absent_cells_are_errors() {
    const NAMES: [&str; 2] = [
        "gemm_universal_fp16_rcr_compv3_cshuffle_intrawave_False_False_False_False_128x128x64_2x2x1_32x32x16",
        "batched_gemm_fp16_rcr_compv3_cshuffle_intrawave_False_False_False_128x128x64_2x2x1_32x32x16",
    ];
    let model = load("gemm_small", &strict());
    let problem = |more: &str| object(&format!(r#"{{"m":128,"n":1536,"k":7168,"split_k":1{more}}}"#));
    for (more, first) in [("", 0), (r#","batch":4"#, 1)] {
        let ranked = rank(&named(&model, &NAMES), &problem(more));
        assert_eq!(ranked[0].index, first, "{more}");
        assert!(!ranked[0].score.is_nan() && ranked[1].score.is_nan(), "{more}: {ranked:?}");
    }
    let error = named(&model, &NAMES[..1]).rank(&problem(r#","batch":4"#), |_| {}).unwrap_err().to_string();
    assert!(error.contains("kernels: found none that can serve the problem"), "{error}");
}

#[test]
fn attention_kernels_of_another_signature_have_no_score_where_absent_cells_are_errors() {
    const NAMES: [&str; 2] = [
        "fmha_fwd_fp16_batch_h128_qr_async_t128x128x32x128x32x128_w32x32x16_pad1111_mask=no_bias=no_bpc=-1",
        "fmha_fwd_fp16_batch_h128_qr_async_t128x128x32x128x32x128_w32x32x16_pad1111_mask=causal_bias=no_bpc=-1",
    ];
    let model = load("fmha_small", &strict());
    let pool =
        RowPool::new(Arc::clone(&model), &Table::new(vec![words("kernel", &NAMES)], 2).unwrap()).unwrap();
    let sizes =
        r#""batch":2,"seqlen_q":512,"seqlen_k":512,"nhead_q":8,"nhead_k":8,"hdim_q":128,"hdim_v":128"#;
    let problem = |more: &str| object(&format!("{{{sizes}{more}}}"));
    let voids = |more: &str| -> Vec<usize> {
        let ranked = rank(&pool, &problem(more));
        let mut voids: Vec<usize> =
            ranked.into_iter().filter(|one| one.score.is_nan()).map(|one| one.index).collect();
        voids.sort_unstable();
        voids
    };
    assert_eq!(voids(""), [0; 0], "sizes alone are for any kernel");
    assert_eq!(voids(r#","mask":"no""#), [1]);
    assert_eq!(voids(r#","mask_type":1"#), [0]);
    let error = pool.rank(&problem(r#","mask":"no","lse":1"#), |_| {}).unwrap_err().to_string();
    assert!(error.contains("expected kernels that support its type, mask"), "{error}");
    // Kernels without a name by what their cells say.
    let said = NAMES.map(|name| describe_name(name).unwrap());
    let mut columns = Vec::new();
    for (key, first) in said[0].as_object().unwrap() {
        let both = [first, &said[1][key]];
        let cells = match both.map(serde_json::Value::as_i64) {
            [Some(one), Some(other)] => Cells::Whole(Box::leak(Box::new([one, other]))),
            _ => Cells::Words { words: both.map(|word| word.as_str().unwrap()).to_vec(), codes: &[0, 1] },
        };
        columns.push(Column { name: key, cells });
    }
    columns.push(Column { name: "qscale", cells: Cells::Words { words: vec!["no"], codes: &[0, 0] } });
    let unnamed = RowPool::new(Arc::clone(&model), &Table::new(columns, 2).unwrap()).unwrap();
    for (more, void) in [("", None), (r#","mask":"no""#, Some(1)), (r#","mask_type":2"#, Some(0))] {
        let ranked = rank(&unnamed, &problem(more));
        assert_eq!(ranked.iter().find(|one| one.score.is_nan()).map(|one| one.index), void, "{more}");
        let named: Vec<u64> = rank(&pool, &problem(more)).iter().map(|one| one.score.to_bits()).collect();
        assert_eq!(ranked.iter().map(|one| one.score.to_bits()).collect::<Vec<_>>(), named, "{more}");
    }
    // Every name of a field must agree with the kernel's.
    for (name, cell) in [("mask_type", "1"), ("has_lse", "1"), ("mode", "group"), ("data_type", "bf16")] {
        let columns = vec![words("kernel", &NAMES[..1]), words(name, &[cell])];
        let error =
            RowPool::new(Arc::clone(&model), &Table::new(columns, 1).unwrap()).unwrap_err().to_string();
        assert!(
            error.contains("found 'fmha_fwd_fp16") || error.contains("expected 'fp16'"),
            "{name}: {error}"
        );
    }
    let error = pool.rank(&problem(r#","mask":"no","num_splits":4"#), |_| {}).unwrap_err().to_string();
    assert!(error.contains("num_splits: found 4, expected 1 unless"), "{error}");
}

#[test]
fn misspelt_columns_are_refused_where_absent_cells_are_errors() {
    let model = load("conv_small", &strict());
    let columns = vec![
        words("kernel_name", &["grouped_conv_forward_bf16_2d_64x64x64_compv3"]),
        Column { name: "Stride_h", cells: Cells::Whole(&[2]) },
    ];
    let table = Table::new(columns, 1).unwrap();
    let errors = [
        RowPool::new(Arc::clone(&model), &table).unwrap_err().to_string(),
        model.predict_table(&table).unwrap_err().to_string(),
        model.features(&table).unwrap_err().to_string(),
    ];
    for error in errors {
        assert_eq!(error, "unknown column 'Stride_h', expected stride_h");
    }
}
