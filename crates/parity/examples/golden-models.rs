//! Writes the small models in tests/golden/models and the rankings that the ordinary tests expect of them:
//! `cargo run -p ck-select-parity --example golden-models`.
//!
//! The models learn an invented cost model, so their choices mean nothing on a real GPU. The rankings are
//! LightGBM's scores, `expm1` and a stable sort, put together here without the library's own scorer and
//! ranking.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use ck_select::features::{Engine, Extractor};
use ck_select::kernel::{KernelKind, Mnk};
use ck_select::pool::Pool;
use ck_select::problem::{ConvProblem, FmhaProblem, GemmProblem, Problem, ProblemDefaults};
use ck_select::vocab::Dtype;
use ck_select_parity::synthetic::Random;
use ck_select_parity::{Booster, Matrix, Output, Training};
use flate2::{Compression, GzBuilder};
use serde_json::json;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn main() -> Result<(), Box<dyn Error>> {
    let mut random = Random::new(2026);
    Family {
        name: "conv_small",
        engine: Engine::Conv97,
        pool: Pool::read(format!("{ROOT}/configs/forward_bf16.txt"))?,
        train: (0..240).map(|_| conv_problem(&mut random).into()).collect(),
        asked: &[
            "N=16,C=256,K=128,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1",
            "N=1,C=64,K=64,Hi=56,Wi=56,Y=1,X=1",
            "N=32,C=3,K=64,Hi=224,Wi=224,Y=7,X=7,stride_h=2,stride_w=2,pad_h=3,pad_w=3",
            "N=8,C=512,K=512,Hi=7,Wi=7,Y=3,X=3,pad_h=1,pad_w=1",
            "N=4,C=96,K=96,G=96,Hi=112,Wi=112,Y=3,X=3,pad_h=1,pad_w=1",
            "N=2,C=320,K=640,Hi=64,Wi=64,Y=3,X=3,pad_h_left=0,pad_h_right=1,pad_w_left=0,pad_w_right=1,\
             stride_h=2,stride_w=2",
        ],
        targets: &["tflops"],
    }
    .write()?;
    Family {
        name: "gemm_small",
        engine: Engine::Gemm72,
        pool: pool_of("gemm_small", &gemm_names())?,
        train: (0..240).map(|_| gemm_problem(&mut random).into()).collect(),
        asked: &[
            "M=128,N=1536,K=7168,dtype=fp8", "M=1,N=4096,K=4096,dtype=fp16",
            "M=20480,N=7168,K=256,layout=crr",
        ],
        targets: &["tflops", "latency", "bandwidth"],
    }
    .write()?;
    Family {
        name: "fmha_small",
        engine: Engine::Fmha68Python,
        pool: pool_of("fmha_small", &fmha_names())?,
        train: (0..240).map(|_| fmha_problem(&mut random).into()).collect(),
        asked: &[
            "batch=2,seqlen_q=2048,nhead_q=32,nhead_k=8,hdim_q=128",
            "batch=64,seqlen_q=1,seqlen_k=4096,nhead_q=64,nhead_k=4,hdim_q=128",
            "seqlen_q=799,seqlen_k=3131,nhead_q=5,nhead_k=1,hdim_q=128,arch=gfx950",
        ],
        targets: &["tflops"],
    }
    .write()
}

/// Writes a pool's names beside its model.
fn pool_of(model: &str, names: &str) -> Result<Pool, Box<dyn Error>> {
    let folder = format!("{ROOT}/tests/golden/models/{model}");
    fs::create_dir_all(&folder)?;
    fs::write(format!("{folder}/pool.txt"), names)?;
    Ok(Pool::read(format!("{folder}/pool.txt"))?)
}

/// One model directory.
struct Family {
    name: &'static str,
    engine: Engine,
    pool: Pool,
    train: Vec<Problem>,
    asked: &'static [&'static str],
    targets: &'static [&'static str],
}

impl Family {
    fn write(&self) -> Result<(), Box<dyn Error>> {
        let folder = Path::new(ROOT).join("tests/golden/models").join(self.name);
        fs::create_dir_all(&folder)?;
        let extractor = Extractor::of_engine(self.engine);
        let names = self.engine.feature_names();
        let categories = Engine::categories(self.engine.op());
        let log_targets: Vec<_> = self.targets.iter().filter(|&&target| target != "latency").collect();
        let columns: Vec<String> = categories
            .iter()
            .filter_map(|name| names.iter().position(|known| known == name))
            .map(|c| c.to_string())
            .collect();
        let params = format!(
            "objective=regression num_leaves=15 learning_rate=0.1 min_data_in_leaf=10 categorical_feature={}",
            columns.join(",")
        );
        let mut rankings = String::from("problem,target,rank,kernel,score_bits\n");
        for &target in self.targets {
            let log = target != "latency";
            let data = self.data(&extractor, target, log)?;
            let booster = Training::new(&data, &params, 120).run()?;
            let text = booster.to_text()?;
            let file = fs::File::create(folder.join(format!("model_{target}.lgbm.gz")))?;
            // No name and no time in the header: the same model is the same file.
            let mut gzip = GzBuilder::new().mtime(0).write(file, Compression::best());
            gzip.write_all(text.as_bytes())?;
            gzip.finish()?;
            if target == "tflops" {
                self.rank(&extractor, &booster, &mut rankings)?;
            }
        }
        let spec = json!({
            "op_type": self.engine.op().as_str(),
            "dtype": ProblemDefaults::new(self.engine.op()).dtype.as_str(),
            "arch": "gfx950",
            "feature_names": names,
            "categorical_features": categories,
            "targets": self.targets,
            "log_targets": log_targets,
            "params": {"num_leaves": 15, "n_estimators": 120, "learning_rate": 0.1},
        });
        fs::write(folder.join("feature_spec.json"), serde_json::to_string_pretty(&spec)? + "\n")?;
        fs::write(folder.join("rankings.csv"), rankings)?;
        Ok(())
    }

    fn data(
        &self,
        extractor: &Extractor,
        target: &str,
        log: bool,
    ) -> Result<Matrix<'static>, Box<dyn Error>> {
        let mut random = Random::new(7);
        let mut data = Matrix { width: extractor.schema.len(), ..Matrix::default() };
        for problem in &self.train {
            for kernel in &self.pool {
                data.push(&extractor.row(problem, &kernel.kind)?);
                let tflops = speed(problem, &kernel.kind) * (1.0 + 0.04 * (random.unit() - 0.5));
                let milliseconds = problem.flops() / tflops / 1e9;
                let value = match target {
                    "latency" => milliseconds,
                    "bandwidth" => tflops * 3.0,
                    _ => tflops,
                };
                data.labels.push((if log { value.ln_1p() } else { value }) as f32);
            }
        }
        Ok(data)
    }

    fn rank(&self, extractor: &Extractor, booster: &Booster, out: &mut String) -> Result<(), Box<dyn Error>> {
        let op = self.engine.op();
        for text in self.asked {
            let problem = Problem::parse(op, text, &ProblemDefaults::new(op))?;
            let mut rows = Vec::new();
            for kernel in &self.pool {
                rows.extend(extractor.row(&problem, &kernel.kind)?);
            }
            let scores = booster.predict(&rows, Output::Prediction)?.into_iter().map(f64::exp_m1);
            let mut ranking: Vec<(f64, &str)> =
                scores.zip(self.pool.iter().map(|kernel| kernel.name.as_str())).collect();
            ranking.sort_by(|a, b| b.0.total_cmp(&a.0));
            for (place, (score, kernel)) in ranking.into_iter().enumerate() {
                writeln!(out, "\"{problem}\",tflops,{},{kernel},{:016x}", place + 1, score.to_bits())?;
            }
        }
        Ok(())
    }
}

fn power(random: &mut Random, low: usize, high: usize) -> i64 {
    1 << (low + random.below(high - low + 1))
}

fn conv_problem(random: &mut Random) -> ConvProblem {
    let filter = [1, 3, 5, 7][random.below(4)];
    let extent = 7 << random.below(6);
    let stride = 1 + random.below(2) as i64;
    ConvProblem {
        n: power(random, 0, 6),
        c: 3 * power(random, 0, 8),
        k: power(random, 4, 10),
        stride: [1, stride, stride],
        ..ConvProblem::new_2d([extent, extent], [filter, filter])
    }
    .padded([filter / 2, filter / 2])
}

fn gemm_problem(random: &mut Random) -> GemmProblem {
    let problem = GemmProblem::new(power(random, 0, 14), power(random, 5, 13), power(random, 5, 13));
    let layout = ["rcr", "rrr", "crr", "ccr"][random.below(4)];
    let dtype = if random.below(2) == 0 { Dtype::Fp8 } else { Dtype::Fp16 };
    GemmProblem { layout: layout.parse().unwrap_or(problem.layout), ..problem }.of(dtype)
}

fn fmha_problem(random: &mut Random) -> FmhaProblem {
    let keys = power(random, 4, 13) - random.below(2) as i64 * 7;
    let queries = if random.below(3) == 0 { 1 } else { keys };
    let nhead_k = power(random, 0, 4);
    FmhaProblem {
        batch: power(random, 0, 6),
        nhead_k,
        ..FmhaProblem::new([queries, keys], nhead_k * power(random, 0, 3), 128)
    }
}

fn fmha_names() -> String {
    let mut names = String::from("# Attention kernels of a small test pool.\n");
    for m0 in [16, 32, 64, 128, 256] {
        for n0 in [32, 64, 128] {
            for pipeline in ["qr", "qr_async"] {
                let _ = writeln!(
                    names,
                    "fmha_fwd_fp16_batch_h128_{pipeline}_t{m0}x{n0}x32x128x32x128_w16x16x32_pad1111_mask=no\
                     _bias=no_bpc=-1"
                );
            }
        }
    }
    names
}

fn gemm_names() -> String {
    let mut names = String::from("# GEMM kernels of a small test pool.\n");
    for tile in ["64x64x64", "128x128x64", "256x128x32", "256x256x64"] {
        for (pipeline, schedulers) in
            [("compv3", &["intrawave"][..]), ("compv4", &["intrawave"]), ("mem", &["intrawave", "interwave"])]
        {
            for scheduler in schedulers {
                for epilogue in ["default", "cshuffle"] {
                    let _ = writeln!(
                        names,
                        "gemm_universal_fp8_rcr_{pipeline}_{epilogue}_{scheduler}_True_True_True_False_{tile}\
                         _2x2x1_32x32x16"
                    );
                }
            }
        }
    }
    names
}

/// Invented TFLOPS: the share of work that fills tiles, times the share of compute units that are busy, times
/// a taste of the pipeline, bounded by bandwidth.
fn speed(problem: &Problem, kernel: &KernelKind) -> f64 {
    let (m, n, k) = match problem {
        Problem::Conv(p) => {
            let [_, height, width] = p.output();
            (p.n * height * width, p.k, p.c / p.g * p.filter[1] * p.filter[2])
        }
        Problem::Gemm(p) => (p.m, p.n, p.k),
        Problem::Fmha(p) => (p.longest_q(), p.hdim_q + p.hdim_v, p.longest_k()),
    };
    let tile = match kernel {
        KernelKind::Conv(kernel) => kernel.tile,
        KernelKind::Gemm(kernel) => kernel.tile,
        KernelKind::Fmha(kernel) => {
            let [m, n, k, ..] = kernel.tile.numbers().map(u32::from);
            Mnk::new(m, n, k)
        }
    };
    let rounds = |extent: i64, tile: u32| (extent as f64 / f64::from(tile)).ceil();
    let used = |extent: i64, tile: u32| extent as f64 / (rounds(extent, tile) * f64::from(tile));
    let tiles = rounds(m, tile.m) * rounds(n, tile.n);
    let busy = tiles / ((tiles / 256.0).ceil() * 256.0);
    let depth = k as f64 / (k as f64 + 4.0 * f64::from(tile.k));
    let reuse = f64::from(tile.m * tile.n) / f64::from(tile.m + tile.n) / 128.0;
    let taste = match kernel.pipeline() {
        "compv4" => 0.9 + 0.2 * depth,
        "compv5" => 0.8 + 0.35 * depth,
        "mem" => 1.2 - 0.5 * depth,
        _ => 1.0,
    };
    1200.0 * used(m, tile.m) * used(n, tile.n) * busy * depth * taste * reuse.min(1.0) + 0.01
}
