//! Golden feature rows of attention in both encodings, bit for bit: some here, all of them where they are
//! beside the checkout.

use std::collections::HashMap;
use std::io::Read;

use ck_select_model::features::{Engine, Extractor, RowInputs, Uncoded};
use ck_select_types::cells::Fields;
use ck_select_types::kernel::Kernel;
use ck_select_types::problem::{Problem, ProblemDefaults};
use ck_select_types::vocab::Op;

struct Row<'a>(HashMap<&'a str, &'a str>);

impl Fields for Row<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).copied().filter(|cell| !cell.is_empty())
    }
}

/// Compares all rows of a file; returns how many there are.
fn compare(file: &str, text: &str, engine: Engine) -> usize {
    let mut extractor = Extractor::of_engine(engine);
    extractor.rules.uncoded = Uncoded::Upstream;
    let names = extractor.schema.names();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let mut rows = 0;
    for (line, cells) in lines.enumerate() {
        let row = Row(header.iter().copied().zip(cells).collect());
        let inputs =
            RowInputs::read(&extractor, &row).unwrap_or_else(|e| panic!("{file} line {}: {e}", line + 2));
        let mut values = vec![f64::NAN; names.len()];
        extractor.schema.fill(&inputs.problem, &inputs.kernel, &inputs.hardware, &mut values);
        for (name, value) in names.iter().zip(&values) {
            let expected: f64 = row.get(&format!("f:{name}")).unwrap().parse().unwrap();
            let same = (value + 0.0).to_bits() == (expected + 0.0).to_bits();
            assert!(same, "{file} line {}, {name}: {value:?} instead of {expected:?}", line + 2);
        }
        rows += 1;
    }
    rows
}

const ENGINES: [(&str, &str, Engine); 2] = [
    ("fmha68", "golden_fmha", Engine::Fmha68),
    ("fmha68_python", "golden_fmha_training", Engine::Fmha68Python),
];

#[test]
fn golden_rows_are_reproduced() {
    for (name, _, engine) in ENGINES {
        let path = format!("{}/../../tests/golden/features/{name}.csv.gz", env!("CARGO_MANIFEST_DIR"));
        let mut text = String::new();
        flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
        assert_eq!(compare(name, &text, engine), 40);
    }
}

#[test]
fn all_golden_rows_beside_the_checkout_are_reproduced() {
    for (_, name, engine) in ENGINES {
        let path = format!("{}/../../../shared/golden/{name}.csv", env!("CARGO_MANIFEST_DIR"));
        match std::fs::read_to_string(&path) {
            Ok(text) => assert_eq!(compare(name, &text, engine), 300),
            Err(error) => println!("skipped: {path}: {error}"),
        }
    }
}

/// What kernels and problems as values are in the two encodings.
#[test]
fn encodings_differ() {
    let problem = "seqlen_q=1024,nhead_q=40,nhead_k=1,hdim_q=128,dtype=fp8bf16,bias=bias";
    let problem = Problem::parse(Op::Fmha, problem, &ProblemDefaults::of(Op::Fmha)).unwrap();
    let kernel = "fmha_fwd_fp8bf16_batch_h128_qr_async_t128x128x32x128x32x128_w32x32x32_pad1111_mask=no\
                  _bias=bias_qs=pertensor_bpc=-1";
    let kernel = Kernel::from_name(kernel).unwrap();
    let value = |engine: Engine, name: &str| {
        let extractor = Extractor::of_engine(engine);
        let place = extractor.schema.names().iter().position(|known| *known == name).unwrap();
        extractor.row(&problem, &kernel.kind).unwrap()[place]
    };
    for (name, header, python) in [("bias", 1.0, 0.0), ("qscale", 0.0, 1.0), ("feature_count", 1.0, 0.0)] {
        assert_eq!(
            [Engine::Fmha68, Engine::Fmha68Python].map(|engine| value(engine, name)),
            [header, python]
        );
    }
    let intensity = |engine| value(engine, "arithmetic_intensity");
    assert_eq!(intensity(Engine::Fmha68), 2.0 * intensity(Engine::Fmha68Python));
}
