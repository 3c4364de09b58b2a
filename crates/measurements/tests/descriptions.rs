//! One kernel, however it is described: by its fields, by its name, or by cells in either reading of a tile.
//! Cells once described another kernel where a model and a table had different readings (`block_size` is the
//! tile's m in the order of a name, the threads of a workgroup otherwise), without a word.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ck_select_enumerate::config::Config;
use ck_select_enumerate::rules::Rules;
use ck_select_enumerate::{Request, enumerate};
use ck_select_model::directory::FeatureSpec;
use ck_select_model::features::{Engine, Extractor, KernelTerms, Uncoded};
use ck_select_model::rows::{Entrance, describe_name};
use ck_select_types::cells::{Cell, NamedCells};
use ck_select_types::kernel::{ConvKernel, Kernel, KernelKind};
use ck_select_types::vocab::Op;
use serde_json::{Map, Value};

const TILE: [&str; 4] = ["block_size", "gemm_m_per_block", "gemm_n_per_block", "gemm_k_per_block"];

fn source(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn files(folder: &str) -> Vec<PathBuf> {
    let mut files: Vec<_> =
        fs::read_dir(source(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// All kernels of configs/, by name.
fn kernels() -> BTreeMap<String, Kernel> {
    let rules = Rules::built_in().unwrap();
    let mut kernels = BTreeMap::new();
    for file in files("configs").into_iter().filter(|file| file.extension().is_some_and(|end| end == "json"))
    {
        let found = enumerate(&rules, &Config::read(&file, None).unwrap(), &Request::new("gfx950")).unwrap();
        assert!(!found.kernels.is_empty(), "{}", file.display());
        for mut kernel in found.kernels {
            // As in a name: whoever names a kernel leaves the GPU to the model.
            if let KernelKind::Conv(conv) = &mut kernel.kind {
                conv.arch = None;
            }
            kernels.insert(kernel.name.clone(), kernel);
        }
    }
    kernels
}

/// Engines of all readings, and the models that ship, with and without defaults for absent cells.
fn extractors() -> Vec<(String, Extractor)> {
    use Engine::{Conv97, ConvGfx950, ConvWork, Fmha68, Fmha68Python, Gemm72, Gemm78Vec};
    let engines = [Conv97, ConvGfx950, ConvWork, Fmha68, Fmha68Python, Gemm72, Gemm78Vec];
    let engines = engines.iter().map(|&one| (one.as_str().to_owned(), Extractor::for_engine(one)));
    let specs = files("models").into_iter().map(|model| model.join("feature_spec.json")).filter_map(|file| {
        let spec = FeatureSpec::from_json(&file.to_string_lossy(), &fs::read(&file).ok()?).unwrap();
        spec.prior.is_none().then(|| (file.display().to_string(), spec.extractor))
    });
    let each = |(name, extractor): (String, Extractor)| {
        [Uncoded::Error, Uncoded::Upstream].map(|uncoded| {
            let mut extractor = extractor.clone();
            extractor.rules.uncoded = uncoded;
            (format!("{name}, {uncoded:?}"), extractor)
        })
    };
    engines.chain(specs).flat_map(each).collect()
}

fn side<'c>(extractor: &Extractor, cells: &'c Map<String, Value>) -> Result<KernelTerms, String> {
    let cell = |value: &'c Value| value.as_str().map(Cell::Word).or_else(|| value.as_i64().map(Cell::Whole));
    let cells: NamedCells<'_> =
        cells.iter().filter_map(|(name, value)| Some((name.as_str(), cell(value)?))).collect();
    Entrance::new(extractor).kernel_terms(&cells).map_err(|error| error.to_string())
}

fn cells(name: &str) -> Map<String, Value> {
    let Ok(Value::Object(cells)) = describe_name(name) else { panic!("{name}") };
    cells
}

fn with_tile(mut cells: Map<String, Value>, numbers: &[i64]) -> Map<String, Value> {
    cells.extend(TILE.iter().zip(numbers).map(|(&field, &number)| (field.to_owned(), number.into())));
    cells
}

fn threads(extractor: &Extractor, kernel: &ConvKernel) -> i64 {
    let size = kernel.arch.or(extractor.arch).map_or(64, |arch| arch.wave_size());
    i64::from(kernel.wave.m * kernel.wave.n * kernel.wave.k) * size
}

#[test]
fn every_description_of_a_kernel_is_of_that_kernel() {
    let (kernels, mut compared) = (kernels(), [0; 3]);
    assert!(kernels.values().any(|kernel| kernel.kind.op() == Op::Fmha) && kernels.len() > 8_000);
    let extractors = extractors();
    for (name, kernel) in &kernels {
        let dictionary = cells(name);
        let mut unnamed = dictionary.clone();
        unnamed.remove("kernel_name");
        let named = Map::from_iter([("kernel_name".to_owned(), name.as_str().into())]);
        for (who, extractor) in extractors.iter().filter(|(_, one)| one.schema.op() == kernel.kind.op()) {
            let Ok(expected) = extractor.kernel_terms(&kernel.kind) else {
                // A word without a code.
                assert!([&named, &dictionary, &unnamed].iter().all(|cells| side(extractor, cells).is_err()));
                continue;
            };
            for cells in [&named, &dictionary] {
                assert_eq!(side(extractor, cells).as_ref(), Ok(&expected), "{who}: {cells:?}");
            }
            match &kernel.kind {
                KernelKind::Conv(conv) => compared[0] += by_tile(who, extractor, conv, &unnamed, &expected),
                KernelKind::Gemm(_) => {
                    compared[1] += 1;
                    let mut found = side(extractor, &unnamed);
                    // What no cells have, and no engine of upstream's reads.
                    if let (Ok(KernelTerms::Gemm(found)), KernelTerms::Gemm(expected)) =
                        (&mut found, &expected)
                    {
                        found.build = expected.build;
                    }
                    assert_eq!(found.as_ref(), Ok(&expected), "{who}: {unnamed:?}");
                }
                KernelKind::Moe(_) => assert_eq!(side(extractor, &unnamed).as_ref(), Ok(&expected), "{who}"),
                KernelKind::Fmha(_) => {
                    compared[2] += 1;
                    // Of attention, upstream's cells are not all in the name.
                    let same = side(extractor, &unnamed).map_or(true, |found| found == expected);
                    assert!(same, "{who}: {unnamed:?}");
                }
            }
        }
    }
    assert!(compared.iter().all(|&count| count > 1_000), "{compared:?}");
}

/// A convolution whose name was lost. How often it was recognized.
fn by_tile(
    who: &str,
    extractor: &Extractor,
    kernel: &ConvKernel,
    unnamed: &Map<String, Value>,
    expected: &KernelTerms,
) -> usize {
    // Upstream's models give upstream's answers, whatever their cells were meant for.
    if !extractor.is_ours && extractor.rules.uncoded == Uncoded::Upstream {
        return 0;
    }
    let [m, n, k] = [kernel.tile.m, kernel.tile.n, kernel.tile.k].map(i64::from);
    let threads = threads(extractor, kernel);
    let mut bare = unnamed.clone();
    for field in TILE {
        bare.remove(field);
    }
    let by_meaning = with_tile(bare.clone(), &[threads, m, n, k]);
    assert_eq!(side(extractor, &by_meaning).as_ref(), Ok(expected), "{who}: {by_meaning:?}");
    let recognized = side(extractor, unnamed).is_ok();
    // Where a wave has 32 threads, these are the 128 threads of a tile of 64x128, too.
    assert!(recognized || [m, n, k, threads] == [128, 64, 128, 512], "{who}: {unnamed:?}");
    // A depth added to the order of the name, as a message once asked for; upstream's validation has none.
    for numbers in [&[m, n, k][..], &[m, n, k, k], &[threads, m, n]] {
        let cells = with_tile(bare.clone(), numbers);
        if let Ok(found) = side(extractor, &cells) {
            assert_eq!(&found, expected, "{who}: {cells:?}");
        }
    }
    recognized.into()
}

/// Upstream's script `predict_grouped_conv.py` has kernels of three numbers and a pipeline.
#[test]
fn upstreams_shortest_dictionaries_are_those_of_short_names() {
    for (who, extractor) in extractors().iter().filter(|(_, one)| one.is_ours) {
        for (tile, numbers) in [("16x64x128", [16, 64, 128]), ("64x128x64", [64, 128, 64])] {
            for pipeline in ["compv3", "compv4", "mem"] {
                let kernel = Kernel::from_name(&format!("grouped_conv_forward_bf16_2d_{tile}_{pipeline}"));
                let cells = Map::from_iter([("pipeline".to_owned(), pipeline.into())]);
                let expected = extractor.kernel_terms(&kernel.unwrap().kind).unwrap();
                assert_eq!(side(extractor, &with_tile(cells, &numbers)), Ok(expected), "{who}");
            }
        }
    }
}

#[test]
fn ambiguous_descriptions_are_refused_with_a_remedy() {
    for (who, extractor) in extractors().iter().filter(|(_, one)| one.is_ours) {
        let wave = extractor.arch.map_or(64, |arch| arch.wave_size());
        let cells =
            |numbers: &[i64]| with_tile(Map::from_iter([("pipeline".to_owned(), "compv3".into())]), numbers);
        for numbers in [
            // The order of a name with a depth of any kind, threads without one, what is neither.
            &[16, 64, 64, 64][..],
            &[64, 64, 64, 64],
            &[128, 128, 64, 64],
            &[4 * wave, 64, 128],
            &[16 * wave, 128, 128],
            &[0, 64, 64, 64],
            &[wave + 1, 256, 64, 32],
        ] {
            let found = numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
            let fields = TILE[..numbers.len()].join(", ");
            let error = side(extractor, &cells(numbers)).unwrap_err();
            let way_out =
                "without gemm_k_per_block, the numbers of a kernel's name in their order, or kernel_name";
            assert!(error.starts_with(&format!("{fields}: found {found}, expected ")), "{who}: {error}");
            assert!(error.contains(way_out), "{error}");
        }
        // A tile of no table, of an uncommon workgroup.
        assert!(side(extractor, &cells(&[2 * wave, 256, 96, 32])).is_ok(), "{who}");
        let error = side(extractor, &with_tile(Map::new(), &[16])).unwrap_err();
        let absent = "gemm_m_per_block, gemm_n_per_block, pipeline: found nothing, expected a value for each";
        if extractor.rules.uncoded == Uncoded::Error {
            assert_eq!(error, absent, "{who}");
        } else {
            assert_eq!(error, "gemm_m_per_block: found nothing, expected a whole number", "{who}");
            assert!(side(extractor, &Map::new()).is_ok(), "{who}");
        }
    }
}
