//! Kernels are described by one function, whoever asks: every shipped model ranks real rows alike by names,
//! by tables of measurements and by tiles. `tests/golden/rows` has the rows and the scores, which the tests
//! of the Python package are held to as well; `CK_SELECT_UPDATE_ROWS=1 cargo test --test it agreement` writes
//! the scores anew.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ck_select::cells::{Cell, Fields};
use ck_select::directory::Model;
use ck_select::kernel::KernelKind;
use ck_select::pool::Pool;
use ck_select::problem::{CONV_COLUMNS, Problem};
use ck_select::ranking::Ranker;
use ck_select::rows::{Cells, Column, Object, RowModel, RowModelOptions, RowPool, RowsError, Table};
use serde_json::{Value, json};

use crate::common::root;

type Row = BTreeMap<String, String>;

/// The directories of the models that ship and rank rows; a universal one cannot.
fn shipped() -> Vec<PathBuf> {
    let directories = std::fs::read_dir(root("models")).unwrap().map(|entry| entry.unwrap().path());
    let mut models: Vec<_> = directories.filter(|path| rows_file(path).exists()).collect();
    models.sort();
    assert!(!models.is_empty());
    models
}

fn rows_file(model: &Path) -> PathBuf {
    Path::new(&root("tests/golden/rows")).join(model.file_name().unwrap()).with_extension("csv")
}

/// A model's rows, those of each problem together. No cell has a comma.
fn sweeps(model: &Path) -> Vec<Vec<Row>> {
    let text = std::fs::read_to_string(rows_file(model)).unwrap();
    let mut lines = text.lines();
    let header: Vec<_> = lines.next().unwrap().split(',').collect();
    let mut sweeps: Vec<Vec<Row>> = Vec::new();
    for line in lines {
        let row: Row =
            header.iter().zip(line.split(',')).map(|(&k, v)| (k.to_owned(), v.to_owned())).collect();
        match sweeps.last_mut() {
            Some(sweep) if CONV_COLUMNS.iter().all(|name| sweep[0][*name] == row[*name]) => sweep.push(row),
            _ => sweeps.push(vec![row]),
        }
    }
    sweeps
}

struct OfRow<'a>(&'a Row);

impl Fields for OfRow<'_> {
    fn cell(&self, name: &str) -> Option<Cell<'_>> {
        self.0.get(name).map(|text| Cell::Word(text))
    }
}

fn options(model: &Model) -> RowModelOptions {
    RowModelOptions { target: model.spec().rank_by, ..RowModelOptions::default() }
}

/// What a caller who has rows asks with.
fn problem(row: &Row, more: &[&str]) -> Object {
    let cells = CONV_COLUMNS.iter().chain(more).map(|&name| (name.to_owned(), json!(row[name])));
    Object::from_json(Value::Object(cells.collect()).to_string().as_bytes()).unwrap()
}

/// Prepares some columns of rows, all as words, and ranks them: scores in the order of the rows.
fn scores(
    model: &Arc<RowModel>,
    rows: &[Row],
    columns: &[&str],
    problem: &Object,
) -> Result<Vec<f64>, RowsError> {
    let codes: Vec<i32> = (0..rows.len() as i32).collect();
    let column = |&name: &&'static str| Column {
        name,
        cells: Cells::Words { words: rows.iter().map(|row| row[name].as_str()).collect(), codes: &codes },
    };
    // The names of columns live as long as the program; the rows' cells do not.
    let columns: Vec<&'static str> = columns.iter().map(|name| &*name.to_string().leak()).collect();
    let table = Table::new(columns.iter().map(column).collect(), rows.len()).unwrap();
    let mut scores = vec![f64::NAN; rows.len()];
    RowPool::new(Arc::clone(model), &table)?.rank(problem, |place| scores[place.index] = place.score)?;
    Ok(scores)
}

const KERNEL: [&str; 7] =
    ["block_size", "gemm_m_per_block", "gemm_n_per_block", "pipeline", "wave_mode", "has_dsb", "has_si"];

/// The rows as a caller has them who knows no names: with the tiles themselves.
fn as_tiles(rows: &[Row], model: &Model, pool: &Pool) -> Vec<Row> {
    let tiled = |(row, kernel): (&Row, &ck_select::kernel::Kernel)| {
        let KernelKind::Conv(conv) = &kernel.kind else { panic!("{}", kernel.name) };
        let wave = model.spec().arch.map_or(64, |arch| arch.wave_size());
        let threads = i64::from(conv.wave.m * conv.wave.n * conv.wave.k) * wave;
        let mut row = row.clone();
        for (name, value) in [
            ("block_size", threads),
            ("gemm_m_per_block", conv.tile.m.into()),
            ("gemm_n_per_block", conv.tile.n.into()),
            ("gemm_k_per_block", conv.tile.k.into()),
            ("two_stage", conv.two_stage.into()),
        ] {
            row.insert(name.to_owned(), value.to_string());
        }
        row
    };
    rows.iter().zip(pool).map(tiled).collect()
}

fn bits(scores: &[f64]) -> Vec<u64> {
    scores.iter().map(|score| score.to_bits()).collect()
}

#[test]
fn every_shipped_model_ranks_rows_as_it_ranks_names() {
    let updates = std::env::var_os("CK_SELECT_UPDATE_ROWS").is_some();
    for directory in shipped() {
        let model = Arc::new(Model::load(&directory).unwrap());
        let by_rows = Arc::new(RowModel::load(&directory, &options(&model)).unwrap());
        let wave = model.spec().arch.map_or(64, |arch| arch.wave_size());
        let (mut written, mut differ) = (String::new(), 0);
        for sweep in sweeps(&directory) {
            let names: Vec<_> = sweep.iter().map(|row| row["kernel_name"].as_str()).collect();
            let pool = Arc::new(Pool::from_bytes("names", names.join("\n").as_bytes()).unwrap());
            let ranker = Ranker::new(Arc::clone(&model), Arc::clone(&pool)).unwrap();
            let defaults = model.spec().problem_defaults();
            let asked = Problem::from_fields(model.spec().op(), &OfRow(&sweep[0]), &defaults).unwrap();
            let mut expected = vec![f64::NAN; sweep.len()];
            for place in ranker.rank(&asked).unwrap() {
                expected[place.index] = place.score;
            }
            differ += usize::from(expected.iter().any(|score| score.to_bits() != expected[0].to_bits()));
            for (row, score) in sweep.iter().zip(&expected) {
                if let (Some(golden), false) = (row.get("score"), updates) {
                    assert_eq!(golden.parse::<f64>().unwrap().to_bits(), score.to_bits(), "{row:?}");
                }
                writeln!(written, "{score:?}").unwrap();
            }

            let problem = |more| problem(&sweep[0], more);
            let full = problem(&["dtype"]);
            let table = [&["kernel_name", "variant", "ndim_spatial", "dtype"][..], &KERNEL].concat();
            let tiles = [&["gemm_k_per_block", "two_stage"][..], &KERNEL].concat();
            let tiled = as_tiles(&sweep, &model, &pool);
            let bare = problem(&[]);
            let score = |rows, columns: &[&str], problem| scores(&by_rows, rows, columns, problem).unwrap();
            assert_eq!(bits(&score(&sweep, &table, &full)), bits(&expected), "as tables of measurements");
            let named = score(&sweep, &["kernel_name"], &bare);
            assert_eq!(bits(&named), bits(&expected), "by names, which say the type");
            assert_eq!(bits(&score(&tiled, &tiles, &full)), bits(&expected), "by tiles, without names");
            let both = [&["kernel_name"][..], &tiles].concat();
            assert_eq!(bits(&score(&tiled, &both, &full)), bits(&expected), "by names, beside tiles");

            match scores(&by_rows, &sweep, &KERNEL, &full) {
                Ok(found) => assert_eq!(bits(&found), bits(&expected), "in the order of lost names"),
                // Where a wave has 32 threads, this may be a tile, or the threads of another one.
                Err(error) => {
                    let error = error.to_string();
                    assert!(error.contains("found 128, 64, 128, expected threads") && wave == 32, "{error}");
                }
            }
        }
        assert!(differ > 0, "{}: all kernels tie", directory.display());
        if updates {
            update(&rows_file(&directory), &written);
        } else {
            assert!(sweeps(&directory)[0][0].contains_key("score"), "no scores to compare with");
        }
    }
}

/// Writes the last column anew.
fn update(file: &Path, scores: &str) {
    let text = std::fs::read_to_string(file).unwrap();
    let scored = text.lines().next().unwrap().ends_with(",score");
    let kept = |line: &'_ str| match line.rsplit_once(',') {
        Some((rest, _)) if scored => rest.to_owned(),
        _ => line.to_owned(),
    };
    let cells = std::iter::once("score").chain(scores.lines());
    let lines = text.lines().zip(cells).map(|(line, score)| format!("{},{score}\n", kept(line)));
    std::fs::write(file, lines.collect::<String>()).unwrap();
}

#[test]
fn cells_that_contradict_a_name_are_refused() {
    let directory = root("models/grouped_conv_forward_bf16_gfx950");
    let model = Model::load(&directory).unwrap();
    let by_rows = Arc::new(RowModel::load(&directory, &options(&model)).unwrap());
    let row = sweeps(directory.as_ref()).remove(0).remove(0);
    let refused = |name: &'static str, value: &str| {
        let mut row = row.clone();
        row.insert(name.to_owned(), value.to_owned());
        let mut columns = [&["kernel_name", "variant", "ndim_spatial", "dtype", name][..], &KERNEL].concat();
        columns.sort_unstable();
        columns.dedup();
        scores(&by_rows, &[row.clone()], &columns, &problem(&row, &[])).unwrap_err().to_string()
    };
    let name = "kernel_name 'grouped_conv_forward_bf16_2d_16x64x64_compv3'";
    for (field, value, message) in [
        (
            "gemm_n_per_block",
            "128",
            "found 16, 64, 128, expected 16, 64, 64 (in the order of the name) or 256, 16, 64",
        ),
        (
            "gemm_k_per_block",
            "32",
            "found 16, 64, 64, 32, expected 16, 64, 64, 16 (in the order of the name)",
        ),
        ("pipeline", "mem", "pipeline: found 'mem', expected 'compv3', as"),
        ("wave_mode", "interwave", "wave_mode: found 'interwave', expected 'intrawave'"),
        ("has_dsb", "1", "has_dsb: found '1', expected 0"),
        ("two_stage", "1", "two_stage: found '1', expected 0"),
        ("dtype", "fp16", "dtype: found 'fp16', expected 'bf16'"),
        ("direction", "bwd_data", "direction: found 'bwd_data', expected 'forward'"),
        ("variant", "bwd_weight", "variant: found 'bwd_weight', expected 'forward'"),
        ("ndim_spatial", "3", "ndim_spatial: found '3', expected 2"),
        (
            "kernel",
            "grouped_conv_forward_bf16_2d_64x64x64_compv3",
            "kernel: found 'grouped_conv_forward_bf16_2d_64",
        ),
    ] {
        let error = refused(field, value);
        assert!(error.starts_with("row 0: ") && error.contains(message), "{error}");
        assert!(field == "kernel" || error.contains(name), "{error}");
    }
    let typo = refused("kernel_name", "grouped_conv_forward_bf16_2d_16x64x64_compv33");
    assert!(typo.contains("expected a kernel's name: unknown pipeline 'compv33'"), "{typo}");
    let gemm =
        "gemm_universal_fp8_rcr_compv3_cshuffle_intrawave_False_False_False_False_64x64x64_2x2x1_32x32x16";
    assert!(refused("kernel_name", gemm).ends_with("expected a grouped_conv kernel"));
}
