//! Writes benchmark CSVs.

use std::io::{BufWriter, Write};
use std::path::Path;

use ck_select_types::files::Pending;
use ck_select_types::problem::{FMHA_COLUMNS, FMHA_MORE_COLUMNS, Problem};
use ck_select_types::vocab::Op;

use super::chunk::Chunk;
use super::schema::Extras;
use crate::measurements::{DataError, Figures};

/// The columns of upstream's writer.
const CONV: &str = "kernel,problem_idx,N,C,K,G,Di,Hi,Wi,Z,Y,X,stride_d,stride_h,stride_w,pad_d,pad_h,pad_w,\
                    dilation_d,dilation_h,dilation_w,latency_ms,tflops,non_zero";
const GEMM: &str = "kernel_name,m,n,k,split_k,arch,latency_ms,measured_tflops,bandwidth_gb_s,is_valid";

pub(super) struct Writer {
    name: String,
    file: BufWriter<Pending>,
    extras: Extras,
}

impl Writer {
    pub(super) fn create(path: &Path, op: Op, extras: &Extras) -> Result<Self, DataError> {
        let name = if super::is_standard_output(path) {
            "standard output".to_owned()
        } else {
            path.display().to_string()
        };
        let mut file = BufWriter::with_capacity(1 << 16, super::create(path)?);
        let mut header = match op {
            Op::GroupedConv => CONV.to_owned(),
            Op::Gemm => GEMM.to_owned(),
            Op::Fmha => format!(
                "kernel,problem_idx,{},arch,latency_ms,tflops,bandwidth_gb_s,is_valid",
                FMHA_COLUMNS.join(",")
            ),
        };
        match op {
            Op::Gemm if extras.many => header.push_str(",batch,groups"),
            Op::Fmha => extras.more.iter().for_each(|&at| header.extend([",", FMHA_MORE_COLUMNS[at]])),
            _ => {}
        }
        if op == Op::GroupedConv {
            for (present, columns) in [
                (extras.bandwidth, ",bandwidth_gb_s"),
                (extras.split_k, ",split_k"),
                (extras.pad_sides, ",pad_d_right,pad_h_right,pad_w_right"),
            ] {
                header.push_str(if present { columns } else { "" });
            }
        }
        writeln!(file, "{header}").map_err(|error| DataError::io(&name, error))?;
        Ok(Self { name, file, extras: extras.clone() })
    }

    pub(super) fn write(&mut self, chunk: &Chunk) -> Result<(), DataError> {
        let rows = chunk.problem.rows().zip(chunk.problem_idx.rows()).zip(chunk.non_zero.rows());
        for (place, ((problem, problem_idx), non_zero)) in rows.enumerate() {
            let row = Row {
                kernel: &chunk.kernels[chunk.kernel[place] as usize].name,
                problem: &chunk.problems[problem as usize],
                problem_idx,
                non_zero,
                figures: chunk.figures(place),
            };
            row.write(&mut self.file, &self.extras).map_err(|error| DataError::io(&self.name, error))?;
        }
        Ok(())
    }

    pub(super) fn commit(self) -> Result<(), DataError> {
        let written = self.file.into_inner().map_err(std::io::IntoInnerError::into_error);
        written.and_then(Pending::commit).map_err(|error| DataError::io(&self.name, error))
    }
}

struct Row<'a> {
    kernel: &'a str,
    problem: &'a Problem,
    problem_idx: Option<i64>,
    non_zero: Option<i64>,
    figures: Figures,
}

impl Row<'_> {
    fn write(&self, out: &mut impl Write, extras: &Extras) -> std::io::Result<()> {
        let Self { kernel, figures, .. } = self;
        let or_empty = |value: Option<i64>| value.map(|value| value.to_string()).unwrap_or_default();
        // Debug prints the shortest digits that parse back to the same bits.
        let latency =
            if figures.latency_ms.is_nan() { "N/A".to_owned() } else { format!("{:?}", figures.latency_ms) };
        let bandwidth = if figures.bandwidth_gb_s.is_nan() {
            String::new()
        } else {
            format!("{:?}", figures.bandwidth_gb_s)
        };
        match self.problem {
            Problem::Conv(p) => {
                write!(out, "{kernel},{},{},{},{},{}", or_empty(self.problem_idx), p.n, p.c, p.k, p.g)?;
                for axes in [p.input, p.filter, p.stride, p.pad_left, p.dilation] {
                    for value in axes {
                        write!(out, ",{value}")?;
                    }
                }
                // There is no column for rows that are invalid for a reason other than their figures.
                let failed = !figures.is_valid && self.non_zero != Some(0);
                let latency = if failed { "N/A" } else { &latency };
                let tflops = if failed { 0.0 } else { figures.tflops };
                write!(out, ",{latency},{tflops:?},{}", or_empty(self.non_zero))?;
                if extras.bandwidth {
                    write!(out, ",{bandwidth}")?;
                }
                if extras.split_k {
                    write!(out, ",{}", p.split_k)?;
                }
                if extras.pad_sides {
                    let [d, h, w] = p.pad_right;
                    write!(out, ",{d},{h},{w}")?;
                }
                writeln!(out)
            }
            Problem::Gemm(p) => {
                let arch = p.arch.map(|arch| arch.to_string()).unwrap_or_default();
                write!(out, "{kernel},{},{},{},{},{arch}", p.m, p.n, p.k, p.split_k)?;
                write!(out, ",{latency},{:?},{bandwidth},{}", figures.tflops, figures.is_valid)?;
                if extras.many {
                    write!(out, ",{},{}", p.request.batch, p.request.groups)?;
                }
                writeln!(out)
            }
            Problem::Fmha(p) => {
                write!(out, "{kernel},{}", or_empty(self.problem_idx))?;
                for value in p.columns() {
                    write!(out, ",{value}")?;
                }
                let arch = p.arch.map(|arch| arch.to_string()).unwrap_or_default();
                write!(out, ",{arch},{latency},{:?},{bandwidth},{}", figures.tflops, figures.is_valid)?;
                let more = p.more_columns();
                for &at in &extras.more {
                    write!(out, ",{}", more[at])?;
                }
                writeln!(out)
            }
        }
    }
}
