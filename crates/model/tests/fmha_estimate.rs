//! The estimate of attention on what was measured: `data/h100/attention.csv.gz`, figures of docs/fmha.md.

use std::collections::BTreeMap;
use std::io::Read;

use ck_select_model::estimate::{Device, Estimator};
use ck_select_types::kernel::{FmhaKernel, Kernel, KernelKind};
use ck_select_types::problem::FmhaProblem;
use ck_select_types::vocab::{FmhaFamily, FmhaPipeline};
use serde_json::json;

/// Speed of the chosen kernel relative to the fastest, by problem.
fn choices() -> BTreeMap<usize, f64> {
    // An H100 has slower memory than the profile's H200.
    let device = json!({ "based_on": "sm_90", "memory_gb_s": 3350.0 });
    let estimator = Estimator::new(Device::from_json(device.as_object().unwrap(), None).unwrap());
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/h100/attention.csv.gz");
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    // Of each problem the fastest time, and the estimate and the time of the kernel that is chosen so far.
    let mut problems: BTreeMap<usize, (f64, f64, f64)> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |place: usize| cells[place].parse::<i64>().unwrap();
        let KernelKind::Fmha(kernel) = Kernel::from_name(cells[0]).unwrap().kind else { panic!("{line}") };
        let sizes = FmhaProblem {
            batch: number(2),
            nhead_k: number(6),
            num_splits: number(9),
            ..FmhaProblem::new([number(3), number(4)], number(5), number(7))
        };
        let problem = kernel.sign(&sizes);
        kernel.check(&problem).unwrap();
        let (load, kind) = (estimator.load(&problem.into()), KernelKind::Fmha(kernel));
        let shape = estimator.shape(&kind).unwrap();
        let estimated = estimator.time(&load, &shape);
        let terms = estimator.terms(&load, &shape).total();
        assert!((terms / estimated - 1.0).abs() < 1e-9, "{line}: {terms} {estimated}");
        let measured: f64 = cells[10].parse().unwrap();
        let one = problems.entry(cells[1].parse().unwrap()).or_insert((f64::MAX, f64::MAX, 0.0));
        one.0 = one.0.min(measured);
        if estimated < one.1 {
            (one.1, one.2) = (estimated, measured);
        }
    }
    problems.into_iter().map(|(problem, (fastest, _, chosen))| (problem, fastest / chosen)).collect()
}

/// The mean and, as numpy has it, the 10th percentile, in percent.
fn judged(choices: impl Iterator<Item = f64>) -> String {
    let mut sorted: Vec<f64> = choices.collect();
    sorted.sort_by(f64::total_cmp);
    let place = 0.1 * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    let tenth = low + (high - low) * place.fract();
    let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
    format!("{} problems: {:.1}, {:.1}", sorted.len(), 100.0 * mean, 100.0 * tenth)
}

#[test]
fn figures_of_the_page_are_true() {
    let choices = choices();
    let of = |rest: usize| {
        judged(choices.iter().filter(|(problem, _)| **problem % 2 == rest).map(|(_, choice)| *choice))
    };
    assert_eq!([of(0), of(1)], ["105 problems: 97.1, 89.3", "105 problems: 96.6, 88.3"]);
}

/// Also with masks, whose tiles of queries have different numbers of steps: a round that is filled does not
/// take less time.
#[test]
fn more_sequences_never_take_less_time() {
    for arch in ["gfx950", "gfx942", "sm_90"] {
        let estimator = Estimator::new(Device::for_arch(arch.parse().unwrap()).unwrap());
        for tile in ["t128x128x32x128x32x128_w32x32x16", "t64x32x32x128x32x128_w16x16x16"] {
            for (mask, window) in [("no", -1), ("top_left", -1), ("bottom_right", -1), ("generic", 300)] {
                let name =
                    format!("fmha_fwd_fp16_batch_h128_qr_async_{tile}_pad1111_mask={mask}_bias=no_bpc=-1");
                let KernelKind::Fmha(kernel) = Kernel::from_name(&name).unwrap().kind else { panic!() };
                let shape = estimator.shape(&KernelKind::Fmha(kernel.clone())).unwrap();
                for (length, heads) in [(512, 8), (2048, 8), (2048, 24), (8192, 5)] {
                    let mut before = 0.0;
                    for batch in 1..=40 {
                        let sizes = FmhaProblem {
                            batch,
                            window_left: window,
                            ..FmhaProblem::new([length, length], heads, 128)
                        };
                        let time = estimator.time(&estimator.load(&kernel.sign(&sizes).into()), &shape);
                        assert!(time >= before, "{arch} {name} {length} {heads} {batch}: {before} {time}");
                        before = time;
                    }
                }
            }
        }
    }
}

/// Tiles of backward kernels have other numbers in the places of the head sizes: the work grows with the
/// heads of the kernel.
#[test]
fn backward_work_grows_with_the_heads() {
    let estimator = Estimator::new(Device::for_arch("gfx942".parse().unwrap()).unwrap());
    let products = |heads: u16, tile: [u16; 6]| {
        let kernel = FmhaKernel::plain(FmhaFamily::BwdDqDkDv, [heads; 2], FmhaPipeline::Qr, tile.into());
        let problem = kernel.sign(&FmhaProblem { batch: 4, ..FmhaProblem::new([4096; 2], 32, heads.into()) });
        let shape = estimator.shape(&KernelKind::Fmha(kernel)).unwrap();
        let terms = estimator.terms(&estimator.load(&problem.into()), &shape);
        terms.named.iter().find(|(name, _)| *name == "products").unwrap().1
    };
    let of_128 = products(128, [16, 128, 128, 16, 128, 16]);
    let of_256 = products(256, [16, 128, 256, 16, 256, 16]);
    let growth = of_256 / of_128;
    assert!((1.9..2.2).contains(&growth), "{growth}");
}
