//! Conversions, and what measurements say.

#![allow(dead_code, reason = "of several programs")]

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use ck_select_measurements::convert::{Options, Progress, Reject, convert};
use ck_select_measurements::{Measurements, SourceFile};

/// The columns of upstream's benchmark of convolutions.
pub(crate) const HEADER: &str = "kernel,problem_idx,N,C,K,G,Di,Hi,Wi,Z,Y,X,stride_d,stride_h,stride_w,pad_d,pad_h,pad_w,dilation_d,\
     dilation_h,dilation_w,latency_ms,tflops,non_zero";

pub(crate) fn options() -> Options {
    Options { arch: "gfx950".parse().ok(), ..Options::default() }
}

/// Converts; also returns what was rejected.
pub(crate) fn tried(
    inputs: &[PathBuf],
    output: &Path,
    options: &Options,
) -> (Result<Vec<SourceFile>, String>, Vec<Reject>) {
    let mut rejects = Vec::new();
    let reports = convert(inputs, output, options, &AtomicBool::new(false), &mut |progress| {
        if let Progress::Reject(reject) = progress {
            rejects.push(reject);
        }
    });
    (reports.map_err(|error| error.to_string()), rejects)
}

/// Converts a file of which every row is good.
pub(crate) fn converted_whole(input: &Path, output: &Path) {
    let (reports, rejects) = tried(&[input.to_owned()], output, &options());
    assert_eq!((reports.map(|_| ()), rejects), (Ok(()), vec![]));
}

/// What rows say, whatever the indices. Figures are bits, so that NaN equals NaN and the zeros differ.
pub(crate) fn said(data: &Measurements) -> Vec<String> {
    let line = |row: &ck_select_measurements::Row| {
        let (problem, kernel) =
            (&data.problems()[row.problem as usize], &data.kernels()[row.kernel as usize]);
        let bits = [row.tflops, row.latency_ms, row.bandwidth_gb_s].map(f64::to_bits);
        format!("{problem} {kernel:?} {bits:?} {}", row.is_valid)
    };
    data.rows().iter().map(line).collect()
}
