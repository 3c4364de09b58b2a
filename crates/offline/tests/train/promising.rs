//! What is measured of a problem when only promising kernels are, on recorded sweeps of an H100.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ck_select_model::features::{Engine, Extractor};
use ck_select_model::model::Target;
use ck_select_offline::measurements::{Measurements, Wanted};
use ck_select_offline::train::{Simulation, TrainingData, WarmStart, Way};
use ck_select_types::hardware::Hardware;
use ck_select_types::vocab::{Arch, Op};

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

#[test]
fn columns_of_promising_kernels_are_those_of_all() {
    let arch: Arch = "sm_90".parse().unwrap();
    let wanted = Wanted { arch: Some(arch), ..Wanted::all(Op::GroupedConv) };
    let whole = Measurements::read(&[root("data/h100/forward.unseen11.parquet")], wanted).unwrap();
    let base = WarmStart::load(&root("models/universal")).unwrap().to_adapt().unwrap();
    let extractor = Extractor {
        arch: Some(arch),
        hardware: Hardware::for_arch(&arch).unwrap(),
        ..Extractor::of_engine(Engine::of_op(Op::GroupedConv))
    };
    let first = 4;
    let part = Simulation::promising(&whole, &base, &extractor, first).unwrap();
    assert_eq!(part.problems(), whole.problems());

    // By problem and kernel, each measured once.
    let rows = |measurements: &Measurements| -> HashMap<(u32, String), (Vec<u64>, u64)> {
        let columns = Extractor { arch: Some(arch), ..base.extractor().clone() };
        let data = TrainingData::new(measurements, &columns, Target::Relative, &[]).unwrap();
        let row = |(at, &row): (usize, &u32)| {
            let row = &measurements.rows()[row as usize];
            let values = data.row(at).iter().map(|value| value.to_bits()).collect();
            let name = measurements.kernels()[row.kernel as usize].name.clone();
            ((row.problem, name), (values, data.log_time(at).to_bits()))
        };
        data.rows.iter().enumerate().map(row).collect()
    };
    let (all, kept) = (rows(&whole), rows(&part));
    assert!(kept.iter().all(|(pair, values)| all[pair] == *values), "relative to the same kernel");
    let mut counts = vec![0; whole.problems().len()];
    kept.keys().for_each(|(problem, _)| counts[*problem as usize] += 1);
    assert!(counts.iter().all(|count| [first, first + 1].contains(count)), "{counts:?}");
    assert!(counts.contains(&first) && counts.contains(&(first + 1)), "the estimate errs at times");

    // What is learned from the part is judged on all kernels.
    let of = |part: Option<&Measurements>, count: usize| {
        let simulation = Simulation::new(&whole, &base, &extractor, Way::Tuned).unwrap();
        let simulation = match part {
            Some(part) => simulation.learning_from(part).unwrap(),
            None => simulation,
        };
        simulation.draw(count, 1).unwrap().found
    };
    assert_eq!(of(Some(&part), 0), of(None, 0), "nothing is learned without measurements");
    assert_ne!(of(Some(&part), 10), of(None, 10));
    let everything = Simulation::promising(&whole, &base, &extractor, 30).unwrap();
    assert_eq!(of(Some(&everything), 10), of(None, 10));
}
