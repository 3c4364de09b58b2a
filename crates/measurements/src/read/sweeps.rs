//! Which rows may be compared with each other: those of one sweep.
//!
//! A sweep times the kernels of a problem one after the other, on one device. If a problem was measured
//! again, clocks and temperature were different, so a kernel of one sweep that is a percent ahead of a kernel
//! of another is not necessarily faster.

use std::collections::HashSet;

use super::{Measurements, Row};
use crate::figures::Spread;

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

/// A kernel with its number of parts, and its rows in a run: it is one candidate, however often it was
/// measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    /// Index into [`Measurements::kernels`].
    pub kernel: u32,
    /// The parts into which it split the reduction.
    pub split_k: i32,
    /// Indices into [`Measurements::rows`], ascending.
    pub rows: Vec<u32>,
}

/// A run, the kernels in it with their numbers of parts, and its GPU.
type JoinedSweeps = (Run, HashSet<(u32, i32)>, Option<String>);

impl Measurements {
    /// The rows that ran, by problem. Sweeps of one problem are separate if they have a kernel in common
    /// (where numbers of parts are chosen, in the same number); otherwise they are parts of one, because
    /// files are often split by kernel.
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

    /// The configurations of some rows of a run, in the order of their first rows.
    pub fn configurations(&self, mut rows: Vec<u32>) -> Vec<Configuration> {
        rows.sort_by_key(|&row| (self.configuration(row), row));
        let same = rows.chunk_by(|&one, &next| self.configuration(one) == self.configuration(next));
        let mut configurations: Vec<Configuration> = same
            .map(|rows| {
                let (kernel, split_k) = self.configuration(rows[0]);
                Configuration { kernel, split_k, rows: rows.to_vec() }
            })
            .collect();
        configurations.sort_by_key(|one| one.rows[0]);
        configurations
    }

    /// The median of a figure over the rows of a configuration.
    pub fn median(&self, of: &Configuration, figure: impl Fn(&Row) -> f64) -> f64 {
        Spread::new(of.rows.iter().map(|&row| figure(self.row(row))).collect()).p50
    }

    fn row(&self, index: u32) -> &Row {
        &self.rows()[index as usize]
    }

    fn configuration(&self, row: u32) -> (u32, i32) {
        (self.row(row).kernel, self.row(row).split_k)
    }

    /// The GPU of a row, if files may be of several GPUs of one architecture.
    fn gpu(&self, row: u32) -> Option<String> {
        let arch = self.problems()[self.row(row).problem as usize]
            .arch()
            .filter(|_| self.options.of_several_gpus)?;
        Some(self.gpu_of_file(self.file_of(row), arch))
    }

    /// Each sweep joins the first run that has none of its kernels, on the same GPU.
    fn parted(&self, problem: u32, rows: &[u32]) -> Vec<Run> {
        let mut sweeps: Vec<(u32, Vec<u32>)> = Vec::new();
        for &row in rows {
            let sweep = self.row(row).sweep;
            match sweeps.iter_mut().find(|known| known.0 == sweep) {
                Some(known) => known.1.push(row),
                None => sweeps.push((sweep, vec![row])),
            }
        }
        let mut runs: Vec<JoinedSweeps> = Vec::new();
        for (sweep, rows) in sweeps {
            let kernels: HashSet<_> = rows.iter().map(|&row| self.configuration(row)).collect();
            let gpu = rows.first().and_then(|&row| self.gpu(row));
            // Shapes of a tuned table are whole: families of kernels have winners of their own.
            let is_whole = rows.iter().any(|&row| self.row(row).share.is_some());
            let joined = runs
                .iter_mut()
                .find(|(_, known, its)| !is_whole && *its == gpu && known.is_disjoint(&kernels));
            if let Some((run, known, _)) = joined {
                known.extend(kernels);
                run.rows.extend(rows);
                run.rows.sort_unstable();
            } else {
                runs.push((
                    Run { problem, number: self.sweeps()[sweep as usize].number, rows },
                    kernels,
                    gpu,
                ));
            }
        }
        runs.into_iter().map(|run| run.0).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use ck_select_types::vocab::Op;

    use ck_select_model::estimate::Device;

    use super::*;
    use crate::read::{ReadOptions, RowScope};

    const HEADER: &str = "kernel,problem_idx,C,K,Hi,Wi,Y,X,latency_ms,tflops\n";

    fn kernel(depth: u32) -> String {
        format!("grouped_conv_forward_bf16_2d_16x64x{depth}_compv3")
    }

    /// Each file's rows are (number, channels, depth of the kernel's tile); a channel count is a problem.
    fn measured(files: &[&[(u32, u32, u32)]]) -> Measurements {
        let mut measurements = Measurements::new(RowScope::all(Op::Conv));
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
    fn gpus_of_one_architecture_are_distinguished() {
        let header = "kernel,C,K,Hi,Wi,Y,X,latency_ms,tflops,arch,hw_num_cus\n";
        let row = |depth: u32, units: u32| format!("{},16,64,8,8,1,1,0.5,10,gfx942,{units}\n", kernel(depth));
        let add = |measurements: &mut Measurements| {
            let files = [row(32, 228), row(64, 304), row(128, 304)];
            (0..).zip(files).try_for_each(|(file, row)| {
                measurements.add_text(&format!("{file}.csv"), format!("{header}{row}").as_bytes())
            })
        };
        let mut together = Measurements::new(RowScope::all(Op::Conv));
        assert!(add(&mut together).unwrap_err().to_string().contains("hw_num_cus is 304, 228 before"));
        let mut apart = Measurements::with(
            RowScope::all(Op::Conv),
            ReadOptions { of_several_gpus: true, ..ReadOptions::default() },
        );
        add(&mut apart).unwrap();
        // Files of one GPU that are cut by kernel are still one run.
        assert_eq!(runs(&apart), [(None, vec![0]), (None, vec![1, 2])]);
        let arch = "gfx942".parse().unwrap();
        let units = |file| apart.device_of_file(file, arch).unwrap().hardware.num_cus;
        assert_eq!([units(0), units(1)], [228, 304]);
        assert_eq!(apart.gpu_of_file(2, arch), "gfx942 num_cus=304");
        // A file that records nothing has none of the others' constants.
        let plain = format!("{header}{}", row(16, 0)).replace(",hw_num_cus", "").replace(",0\n", "\n");
        apart.add_text("3.csv", plain.as_bytes()).unwrap();
        let profile = Device::for_arch(arch).unwrap();
        assert_eq!(apart.device_of_file(3, arch).unwrap(), profile);
    }

    #[test]
    fn a_kernel_that_was_measured_again_counts_once() {
        let mut again = measured(&[&[(0, 64, 128), (0, 64, 32), (0, 64, 128), (0, 64, 128), (0, 64, 32)]]);
        for (row, tflops) in again.rows.iter_mut().zip([3.0, 1.0, 5.0, 4.5, 2.0]) {
            row.tflops = tflops;
        }
        let once = again.configurations(again.runs().remove(0).rows);
        let once = once.iter().map(|one| (one.kernel, &one.rows[..], again.median(one, |row| row.tflops)));
        assert_eq!(once.collect::<Vec<_>>(), [(0, &[0, 2, 3][..], 4.5), (1, &[1, 4], 1.5)]);
    }

    #[test]
    fn a_kernel_that_stands_twice_in_a_sweep_parts_nothing() {
        let twice = measured(&[&[(0, 64, 32), (0, 64, 32), (0, 64, 64)]]);
        assert_eq!(runs(&twice), [(Some(0), vec![0, 1, 2])]);
    }
}
