//! Every reader of tables reads one set of texts: problems, pools, measurements, tuned tables, choices.
//!
//! Each reader answers in a line. What one of them accepts and another refuses stands beside each other in
//! readers/answers.txt; `UPDATE_EXPECTED=1 cargo test -p ck-select-evaluate --test readers` writes it anew.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use ck_select_evaluate::predictions::Predictions;
use ck_select_measurements::{Measurements, RowScope, TunedGpu, Winners};
use ck_select_types::kernel::Kernel;
use ck_select_types::listing::ProblemList;
use ck_select_types::pool::Pool;
use ck_select_types::problem::ProblemDefaults;
use ck_select_types::vocab::{Arch, Op};

const ONE: &str =
    "gemm_universal_fp8_rcr_compv3_cshuffle_intrawave_False_False_False_False_128x128x64_2x2x1_16x16x32";
const TWO: &str =
    "gemm_universal_fp8_rcr_compv3_cshuffle_intrawave_False_False_False_False_64x128x64_2x2x1_16x16x32";
const ROW: &str = "a8w8_rowwise_256x128x128x128_32x32_2x2_8x32x1_8x32x1_1x32x1x8_8x8x1_1x1_intrawave_v3";
const KERNELS: [(&str, &str); 3] = [("{one}", ONE), ("{two}", TWO), ("{row}", ROW)];

fn gfx942() -> Arch {
    "gfx942".parse().unwrap()
}

/// Which notes there are, if any.
fn notes(what: &str, notes: &[String]) -> String {
    if notes.is_empty() { String::new() } else { format!("; {what} {}", notes.join(", ")) }
}

fn problems(path: &Path) -> Result<String, String> {
    let bytes = fs::read(path).unwrap();
    let defaults = ProblemDefaults::new(Op::Gemm);
    let list = ProblemList::parse(&path.display().to_string(), &bytes, Op::Gemm, &defaults)
        .map_err(|error| error.to_string())?;
    let one = |listed: &ck_select_types::listing::ListedProblem| {
        let number = listed.number.map_or_else(String::new, |number| format!("{number}: "));
        let extents = ["M", "N", "K"].map(|name| listed.problem.value(name).unwrap().1.to_string());
        format!("{number}{}", extents.join(" x "))
    };
    let all: Vec<_> = list.problems.iter().map(one).collect();
    Ok(all.join(", ") + &notes("passed:", &list.passed.notes()))
}

fn pool(path: &Path) -> Result<String, String> {
    let pool = Pool::read_on(path, Some(gfx942())).map_err(|error| error.to_string())?;
    let arch = pool.arch().map_or_else(String::new, |arch| format!(" of {arch}"));
    let one = |kernel: &Kernel| {
        let measured = if pool.is_measured(kernel) { " measured" } else { "" };
        format!("{}{measured}", kernel.name)
    };
    Ok(pool.iter().map(one).collect::<Vec<_>>().join(", ") + &arch)
}

fn measurements(path: &Path) -> Result<String, String> {
    let scope = RowScope { arch: Some(gfx942()), ..RowScope::all(Op::Gemm) };
    let read = Measurements::read(&[path], scope).map_err(|error| error.to_string())?;
    let row = |row: &ck_select_measurements::Row| {
        let number = read.sweeps()[row.sweep as usize].number;
        let number = number.map_or_else(String::new, |number| format!(" in {number}"));
        let valid = if row.is_valid { "" } else { " not valid" };
        format!("{} {} ms {} TFLOPS{valid}{number}", read.named(row.kernel, 1), row.latency_ms, row.tflops)
    };
    let rows: Vec<_> = read.rows().iter().map(row).collect();
    let source = &read.sources()[0];
    let other = if source.other > 0 { format!("; {} other", source.other) } else { String::new() };
    let rows = if rows.is_empty() { "no row".to_owned() } else { rows.join(", ") };
    Ok(rows + &other + &notes("unknown:", &source.unknown))
}

fn winners(path: &Path) -> Result<String, String> {
    let gpu = TunedGpu { arch: Some(gfx942()), units: None };
    let winners = Winners::read(&[path], Op::Gemm, gpu).map_err(|error| error.to_string())?;
    let shapes = winners.shapes.iter().map(|shape| {
        let configs = shape.configs.iter().map(|one| format!("{} {} us", winners.name(one.kernel), one.us));
        let configs = configs.collect::<Vec<_>>().join(" | ");
        let winner = shape.winner.map_or_else(|| "none".to_owned(), |place| place.to_string());
        format!("on {}: {configs}; winner {winner}", shape.gpu())
    });
    let shapes: Vec<_> = shapes.collect();
    let (_, ignored) = winners.ignored().next().unwrap();
    let others = if winners.others > 0 { format!("; {} other", winners.others) } else { String::new() };
    Ok(shapes.join(", ") + &others + &notes("unknown:", ignored))
}

fn choices(path: &Path) -> Result<String, String> {
    let measured = "kernel,M,N,K,latency_ms,tflops\nONE,64,1024,512,0.01,6.7\nTWO,64,1024,512,0.02,3.4\n";
    let scope = RowScope { arch: Some(gfx942()), ..RowScope::all(Op::Gemm) };
    let mut measurements = Measurements::new(scope);
    let text = measured.replace("ONE", ONE).replace("TWO", TWO);
    measurements.add_text("measured.csv", text.as_bytes()).unwrap();
    let read = Predictions::read(path, &measurements).map_err(|error| error.to_string())?;
    Ok("read".to_owned() + &notes("unknown:", read.unknown()))
}

type Reader = fn(&Path) -> Result<String, String>;

const READERS: [(&str, Reader); 5] = [
    ("problems", problems),
    ("pool", pool),
    ("measurements", measurements),
    ("winners", winners),
    ("choices", choices),
];

/// The file name and the bytes of a text, encoded as the last suffix of its name says.
fn encoded(name: &str, text: &str) -> (String, Vec<u8>) {
    match name.rsplit_once('.') {
        Some((name, "utf16")) => {
            let text = format!("\u{feff}{text}");
            (name.to_owned(), text.encode_utf16().flat_map(u16::to_le_bytes).collect())
        }
        Some((_, "gz")) => {
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packed.write_all(text.as_bytes()).unwrap();
            (name.to_owned(), packed.finish().unwrap())
        }
        _ => (name.to_owned(), text.as_bytes().to_vec()),
    }
}

/// What each reader answers for a text.
fn answers(folder: &Path, text: &str) -> String {
    let (name, body) = text.split_once('\n').unwrap();
    let body = KERNELS.iter().fold(body.to_owned(), |body, (short, name)| body.replace(short, name));
    let body = body.replace("\\u{feff}", "\u{feff}").replace("\\r\n", "\r").replace("\\r", "\r");
    let (file, bytes) = encoded(name, &body);
    let path: PathBuf = folder.join(name.replace('.', "_")).join(&file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, bytes).unwrap();
    let answer = |(reader, read): (&str, Reader)| {
        let answer = match read(&path) {
            Ok(answer) => answer,
            Err(error) => format!("refused: {}", error.replace(&path.display().to_string(), &file)),
        };
        let answer = KERNELS.iter().fold(answer, |answer, (short, name)| answer.replace(name, short));
        let answer = answer.escape_debug().to_string().replace("\\'", "'").replace("\\\"", "\"");
        format!("{reader}: {answer}\n")
    };
    format!("=== {name}\n") + &READERS.map(answer).concat()
}

#[test]
fn readers_answer_as_they_did() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers");
    let texts = fs::read_to_string(here.join("texts.txt")).unwrap();
    let folder = tempfile::TempDir::new().unwrap();
    let all: String = texts.split("=== ").skip(1).map(|text| answers(folder.path(), text)).collect();
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        fs::write(here.join("answers.txt"), &all).unwrap();
    }
    let expected = fs::read_to_string(here.join("answers.txt")).unwrap();
    for (answer, expected) in all.lines().zip(expected.lines()) {
        assert_eq!(answer, expected, "in {all}");
    }
    assert_eq!(all.lines().count(), expected.lines().count());
}
