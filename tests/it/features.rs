//! Every golden feature row of upstream's reference implementation, bit for bit.

use std::collections::HashMap;
use std::io::Read;

use ck_select::cells::{Cell, Fields};
use ck_select::features::{Engine, Extractor, Schema, Uncoded};
use ck_select::rows::Entrance;

struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

fn golden(name: &str) -> Table {
    let path = format!("{}/tests/golden/features/{name}.csv.gz", env!("CARGO_MANIFEST_DIR"));
    let mut text = String::new();
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    Table { header: lines.next().unwrap(), rows: lines.collect() }
}

struct Row<'a>(HashMap<&'a str, &'a str>);

impl Fields for Row<'_> {
    fn cell(&self, name: &str) -> Option<Cell<'_>> {
        self.0.get(name).copied().filter(|cell| !cell.is_empty()).map(Cell::Word)
    }
}

/// Runs all rows of a golden file through an extractor; returns how many cells were compared.
fn compare(file: &str, extractor: &Extractor) -> usize {
    let table = golden(file);
    let names = extractor.schema.names();
    let mut cells = 0;
    let (entrance, mut row_values) = (Entrance::new(extractor), vec![0.0; names.len()]);
    for (line, row) in table.rows.iter().enumerate() {
        let fields =
            Row(table.header.iter().map(String::as_str).zip(row.iter().map(String::as_str)).collect());
        let filled = entrance.fill(&fields, &mut row_values);
        filled.unwrap_or_else(|error| panic!("{file} line {}: {error}", line + 2));
        for (name, value) in names.iter().zip(&row_values) {
            let cell =
                fields.get(&format!("f:{name}")).unwrap_or_else(|| panic!("{file}: no column f:{name}"));
            let expected: f64 = cell.parse().unwrap();
            // Adding 0.0 maps -0.0 to 0.0, which the golden files do not tell apart.
            assert_eq!(
                (value + 0.0).to_bits(),
                (expected + 0.0).to_bits(),
                "{file} line {}, {name}: {value:?} instead of {expected:?}",
                line + 2
            );
            cells += 1;
        }
    }
    cells
}

fn upstream(engine: Engine) -> Extractor {
    let mut extractor = Extractor::for_engine(engine);
    extractor.rules.uncoded = Uncoded::Upstream;
    extractor
}

#[test]
fn all_golden_rows_are_reproduced() {
    for (file, engine, rows) in [
        ("gemm72", Engine::Gemm72, 1000),
        ("gemm78vec", Engine::Gemm78Vec, 500),
        ("conv97", Engine::Conv97, 1000),
        ("conv_superset", Engine::ConvSuperset, 1000),
        ("fmha68", Engine::Fmha68, 40),
        ("fmha68_python", Engine::Fmha68Python, 40),
    ] {
        let cells = compare(file, &upstream(engine));
        assert_eq!(cells, rows * engine.feature_names().len(), "{file}");
    }
}

#[test]
fn smaller_schemas_are_projections_by_name() {
    for (file, engine) in [
        ("conv97", Engine::Conv91),
        ("conv97", Engine::Conv83),
        ("conv97", Engine::Conv74),
        ("conv_superset", Engine::ConvGfx942),
        ("conv_superset", Engine::ConvGfx950),
    ] {
        compare(file, &upstream(engine));
    }
    // The first GEMM engine numbers two pipelines differently, see Rules; all else is the projection.
    let mut names = Engine::Gemm55.feature_names();
    names.retain(|&name| name != "pipeline");
    let schema = Schema::by_names(Engine::Gemm55.op(), &names).unwrap();
    compare("gemm72", &Extractor { schema, ..upstream(Engine::Gemm55) });
}

#[test]
fn by_default_absent_and_unknown_words_are_errors() {
    // What names and problems may leave out, cells may, too.
    let of_conv =
        ["dilation_", "wave_mode", "has_", "Di", "Z", "N", "G", "stride_", "pad_d", "pad_h", "pad_w"]
            .as_slice();
    for (file, engine, neutral) in
        [("gemm72", Engine::Gemm72, [].as_slice()), ("conv97", Engine::Conv97, of_conv)]
    {
        let table = golden(file);
        let extractor = Extractor::for_engine(engine);
        let entrance = Entrance::new(&extractor);
        let (mut refused, mut accepted) = (0, 0);
        for row in &table.rows {
            let cells: HashMap<_, _> =
                table.header.iter().map(String::as_str).zip(row.iter().map(String::as_str)).collect();
            let needed = |name: &str| !neutral.iter().chain(&["f:"]).any(|start| name.starts_with(start));
            let mut values = vec![0.0; extractor.schema.len()];
            let absent = cells.iter().any(|(name, cell)| cell.is_empty() && needed(name));
            if entrance.fill(&Row(cells.clone()), &mut values).is_err() {
                refused += 1;
                continue;
            }
            assert!(!absent, "an absent cell was accepted");
            accepted += 1;
            for word in ["dtype", "pipeline"] {
                let mut changed = cells.clone();
                changed.insert(word, "compv99");
                assert!(entrance.fill(&Row(changed), &mut values).is_err(), "{word}: an unknown word");
            }
        }
        assert!(refused > 50 && accepted > 50, "{file}: {refused} refused, {accepted} accepted");
    }
}
