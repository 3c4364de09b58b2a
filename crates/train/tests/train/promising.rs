//! What is measured of a problem when only promising kernels are, on recorded sweeps of an H100.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use ck_select_measurements::{Measurements, RowScope};
use ck_select_model::directory::Target;
use ck_select_model::features::{Engine, Extractor};
use ck_select_train::{Method, Simulation, TrainingData, WarmStart};
use ck_select_types::hardware::Hardware;
use ck_select_types::problem::Problem;
use ck_select_types::vocab::{Arch, Op};

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

#[test]
fn columns_of_promising_kernels_are_those_of_all() {
    let arch: Arch = "sm_90".parse().unwrap();
    let wanted = RowScope { arch: Some(arch), ..RowScope::all(Op::Conv) };
    let whole = Measurements::read(&[root("data/h100/forward.unseen11.parquet")], wanted).unwrap();
    let base = WarmStart::load(&root("models/universal")).unwrap().to_adapt().unwrap();
    let extractor = Extractor {
        arch: Some(arch),
        hardware: Hardware::for_arch(&arch).unwrap(),
        ..Extractor::for_engine(Engine::default_for(Op::Conv))
    };
    let first = 4;
    let promising = Simulation::promising(&whole, &base, &extractor, first).unwrap();
    let part = whole.keeping(|index, _| promising.has(index));
    assert_eq!(part.problems().len(), whole.problems().len());

    // By problem and kernel, each measured once.
    let rows = |measurements: &Measurements| -> HashMap<(String, String), (Vec<u64>, u64)> {
        let columns = Extractor { arch: Some(arch), ..base.extractor().clone() };
        let data = TrainingData::new(measurements, &columns, Target::Relative, &[]).unwrap();
        let row = |(at, &row): (usize, &u32)| {
            let row = &measurements.rows()[row as usize];
            let values = data.row(at).iter().map(|value| value.to_bits()).collect();
            let name = measurements.kernels()[row.kernel as usize].name.clone();
            let problem = measurements.problems()[row.problem as usize].to_string();
            ((problem, name), (values, data.log_time(at).to_bits()))
        };
        data.rows.iter().enumerate().map(row).collect()
    };
    let (all, kept) = (rows(&whole), rows(&part));
    assert!(kept.iter().all(|(pair, values)| all[pair] == *values), "whatever else was measured");
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for (problem, _) in kept.keys() {
        *counts.entry(problem).or_default() += 1;
    }
    let counts: Vec<usize> = counts.into_values().collect();
    assert_eq!(counts.len(), whole.problems().len());
    assert!(counts.iter().all(|count| *count == first), "{counts:?}");

    // What is learned from the part is judged on all kernels.
    let of = |data: &Measurements, first: Option<usize>, count: usize| {
        let mut simulation = Simulation::new(data, &base, &extractor, Method::Tuned).unwrap();
        if let Some(first) = first {
            let promising = Simulation::promising(data, &base, &extractor, first).unwrap();
            simulation = simulation.learning_from(&promising);
        }
        simulation.draw(count, 1).unwrap().actual
    };
    assert_eq!(of(&whole, Some(first), 0), of(&whole, None, 0), "nothing is learned without measurements");
    assert_ne!(of(&whole, Some(first), 10), of(&whole, None, 10));
    assert_eq!(of(&whole, Some(30), 10), of(&whole, None, 10));

    // After the first of them, all are judged.
    let simulation = Simulation::new(&whole, &base, &extractor, Method::Tuned).unwrap();
    let all = simulation.problems();
    let later = simulation.after(12, 1).unwrap().unwrap();
    assert_eq!(later.problems, simulation.draw(0, 1).unwrap().actual.problems);
    assert_eq!(simulation.after(all, 1).unwrap().unwrap().problems, all);
    assert_eq!(simulation.after(5, 1).unwrap(), None, "too few");
    let draw = simulation.draw(12, 1).unwrap();
    let before = simulation.unlearned(&draw).unwrap().unwrap();
    assert_eq!(before.problems, draw.actual.problems);

    // The order of rows does not matter: kernel by kernel, a problem's first promising row comes late.
    let rows = whole.rows();
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|&row| (rows[row].kernel, rows[row].problem));
    for by_kernel in [false, true] {
        let mut lines =
            String::from("kernel,N,C,K,G,Hi,Wi,Y,X,stride_h,stride_w,pad_h,pad_w,latency_ms,tflops\n");
        let places: Vec<usize> = if by_kernel { order.clone() } else { (0..rows.len()).collect() };
        for row in places.into_iter().map(|place| &rows[place]).filter(|row| row.is_valid) {
            let Problem::Conv(p) = &whole.problems()[row.problem as usize] else { panic!() };
            let _ = writeln!(
                lines,
                "{},{},{},{},{},{},{},{},{},{},{},{},{},{:e},{:e}",
                whole.kernels()[row.kernel as usize].name,
                p.n,
                p.c,
                p.k,
                p.g,
                p.input[1],
                p.input[2],
                p.filter[1],
                p.filter[2],
                p.stride[1],
                p.stride[2],
                p.pad_left[1],
                p.pad_left[2],
                row.latency_ms,
                row.tflops
            );
        }
        let mut data = Measurements::new(wanted);
        data.add_text("sweep.csv", lines.as_bytes()).unwrap();
        assert_eq!(of(&data, Some(first), 10), of(&whole, Some(first), 10), "{by_kernel}");
    }
}
