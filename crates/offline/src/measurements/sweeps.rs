//! Which rows may be compared with each other: those of one sweep.
//!
//! A sweep times the kernels of a problem one after the other, on one device. If a problem was measured
//! again, clocks and temperature were different, so a kernel of one sweep that is a percent ahead of a kernel
//! of another is not necessarily faster.

use std::collections::HashSet;

use super::{Measurements, Row};

/// The rows of one file for a problem with one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sweep {
    /// Index into [`Measurements::problems`].
    pub problem: u32,
    /// The problem's number in the file, its `problem_idx`.
    pub number: Option<i64>,
}

/// Rows of one problem that may be compared with each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Index into [`Measurements::problems`].
    pub problem: u32,
    /// The problem's number in the file of the first sweep.
    pub number: Option<i64>,
    /// Indices into [`Measurements::rows`], ascending.
    pub rows: Vec<u32>,
}

impl Measurements {
    /// The rows that ran, by problem. Sweeps of one problem are separate if they have a kernel in common;
    /// otherwise they are parts of one, because files are often split by kernel.
    pub fn runs(&self) -> Vec<Run> {
        let mut by_problem: Vec<Vec<u32>> = vec![Vec::new(); self.problems().len()];
        for (index, row) in (0u32..).zip(self.rows()) {
            if row.is_valid && row.tflops > 0.0 {
                by_problem[row.problem as usize].push(index);
            }
        }
        let mut runs = Vec::with_capacity(by_problem.len());
        for (problem, rows) in (0u32..).zip(by_problem) {
            let Some(&first) = rows.first() else { continue };
            let sweep = self.row(first).sweep;
            if rows.iter().all(|&row| self.row(row).sweep == sweep) {
                runs.push(Run { problem, number: self.sweeps()[sweep as usize].number, rows });
            } else {
                runs.extend(self.parted(problem, &rows));
            }
        }
        runs
    }

    fn row(&self, index: u32) -> &Row {
        &self.rows()[index as usize]
    }

    /// Each sweep joins the first run that has none of its kernels.
    fn parted(&self, problem: u32, rows: &[u32]) -> Vec<Run> {
        let mut sweeps: Vec<(u32, Vec<u32>)> = Vec::new();
        for &row in rows {
            let sweep = self.row(row).sweep;
            match sweeps.iter_mut().find(|known| known.0 == sweep) {
                Some(known) => known.1.push(row),
                None => sweeps.push((sweep, vec![row])),
            }
        }
        let mut runs: Vec<(Run, HashSet<u32>)> = Vec::new();
        for (sweep, rows) in sweeps {
            let kernels: HashSet<u32> = rows.iter().map(|&row| self.row(row).kernel).collect();
            if let Some((run, known)) = runs.iter_mut().find(|run| run.1.is_disjoint(&kernels)) {
                known.extend(kernels);
                run.rows.extend(rows);
                run.rows.sort_unstable();
            } else {
                runs.push((Run { problem, number: self.sweeps()[sweep as usize].number, rows }, kernels));
            }
        }
        runs.into_iter().map(|run| run.0).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use ck_select_types::vocab::Op;

    use super::*;
    use crate::measurements::Wanted;

    const HEADER: &str = "kernel,problem_idx,C,K,Hi,Wi,Y,X,latency_ms,tflops\n";

    fn kernel(depth: u32) -> String {
        format!("grouped_conv_forward_bf16_2d_16x64x{depth}_compv3")
    }

    /// Each file's rows are (number, channels, depth of the kernel's tile); a channel count is a problem.
    fn measured(files: &[&[(u32, u32, u32)]]) -> Measurements {
        let mut measurements = Measurements::new(Wanted::all(Op::GroupedConv));
        for (file, rows) in files.iter().enumerate() {
            let mut text = HEADER.to_owned();
            for (number, channels, depth) in *rows {
                writeln!(text, "{},{number},{channels},64,8,8,1,1,0.5,10", kernel(*depth)).unwrap();
            }
            measurements.add_text(&format!("{file}.csv"), text.as_bytes()).unwrap();
        }
        measurements
    }

    fn runs(measurements: &Measurements) -> Vec<(Option<i64>, Vec<u32>)> {
        measurements.runs().into_iter().map(|run| (run.number, run.rows)).collect()
    }

    #[test]
    fn a_problem_that_was_measured_again_has_two_runs() {
        let again = measured(&[&[(0, 64, 32), (0, 64, 64), (7, 64, 32), (7, 64, 64), (3, 96, 32)]]);
        assert_eq!(again.problems().len(), 2);
        assert_eq!(runs(&again), [(Some(0), vec![0, 1]), (Some(7), vec![2, 3]), (Some(3), vec![4])]);
        // In another file, with the same number.
        let other_file = measured(&[&[(0, 64, 32), (0, 64, 64)], &[(0, 64, 64)]]);
        assert_eq!(runs(&other_file), [(Some(0), vec![0, 1]), (Some(0), vec![2])]);
    }

    #[test]
    fn files_that_are_cut_by_kernel_are_one_run() {
        let parts = measured(&[&[(0, 64, 32), (1, 96, 32)], &[(5, 64, 64)], &[(5, 64, 64), (1, 96, 64)]]);
        assert_eq!(runs(&parts), [(Some(0), vec![0, 2]), (Some(5), vec![3]), (Some(1), vec![1, 4])]);
    }

    #[test]
    fn a_kernel_that_stands_twice_in_a_sweep_parts_nothing() {
        let twice = measured(&[&[(0, 64, 32), (0, 64, 32), (0, 64, 64)]]);
        assert_eq!(runs(&twice), [(Some(0), vec![0, 1, 2])]);
    }
}
