//! `ckselect rank --format vllm|sglang`: tables of Triton's configurations that engines load.
//!
//! An engine looks a layer's table up by experts, width, types and device, then the entry of the nearest token
//! count. So a table is of all problems of a file that have its name, whatever their tokens; its keys are
//! chosen so that the nearest one loses least. Everything is checked before the first file is written.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use ck_select::files;
use ck_select::hardware::Hardware;
use ck_select::kernel::KernelKind;
use ck_select::moe::engine::{
    Candidate, Checkpoint, ConfigKey, ConfigTable, Engine, EngineDevice, LADDER, LadderGroup, LadderKey,
    Parallelism, TOKENS, TableKey, TritonConfig, choose_configs, choose_keys,
};
use ck_select::moe::{MoeKernel, MoeProblem};
use ck_select::problem::{Problem, ProblemDefaults};
use ck_select::ranking::{RankScratch, Ranker};
use ck_select::vocab::{Arch, Dtype, Op};
use rayon::prelude::*;

use super::super::super::gpu::{Gpu, reason};
use super::super::rows::hardware;
use super::super::{Args, NO_PROBLEM, Problems};
use super::stages::{SHARES, StageRanker, both_stages};
use crate::error::CliError;

/// What only tables of engines have.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Tables of vLLM and SGLang")]
pub(in super::super) struct EngineOptions {
    /// GPUs of a layer, as it is given to the engine, for a model's config.json as --problems
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    tp: u32,
    /// Parts into which the experts are divided, each with whole experts
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    ep: u32,
    /// The GPU as the engine names it, such as NVIDIA_H200 [default: the first that --arch can be]
    #[arg(long, value_name = "NAME")]
    device_name: Option<String>,
    /// Token counts of the tables [default: at most 18, chosen so that the nearest one loses least]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    tokens: Vec<u32>,
    /// Keep the entries of tables that are there, and add those that they lack
    #[arg(long)]
    keep: bool,
    /// Replace tables that are there
    #[arg(long, conflicts_with = "keep")]
    overwrite: bool,
    /// The version of Triton that the tables are for: SGLang's folder, a word in vLLM's tables
    #[arg(long, value_name = "VERSION", default_value = "3.6.0")]
    triton: String,
}

/// Keys of a table at most, unless they are given: as many as the engines' tuners write.
const MOST_KEYS: usize = LADDER.len();

pub(in super::super) fn run(args: &Args, engine: Engine) -> Result<(), CliError> {
    let Some(output) = args.output.as_deref() else {
        refuse!("--format {engine} writes a file for each table: give --output the folder");
    };
    if output.exists() && !output.is_dir() {
        refuse!("--output: found a file, {}, expected a folder for the tables of {engine}", output.display());
    }
    let device = device_of(args)?;
    let args = &on_device(args, device);
    let (ranker, defaults) = super::super::ranker(args)?;
    if ranker.pool().op() != Op::Moe {
        refuse!("--format {engine}: --pool has kernels of {}, expected those of moe", ranker.pool().op());
    }
    let arch = args.ranker.arch.named_arch()?.or_else(|| device.arch());
    let maker = TableMaker { engine, args, device, arch, ranker: &ranker };
    let layers = maker.layers(defaults)?;
    for (key, _) in &layers {
        maker.check_free(output, key)?;
    }
    let mut written = Vec::new();
    for (key, problems) in &layers {
        written.extend(maker.tables(key, problems)?);
    }
    let folder = maker.folder(output)?;
    std::fs::create_dir_all(&folder).map_err(CliError::io(folder.display()))?;
    for (name, table) in &written {
        let path = folder.join(name);
        files::write(&path, table.to_text().as_bytes()).map_err(CliError::io(path.display()))?;
    }
    let (count, device) = (written.len(), device.name);
    let tables = if count == 1 { "table" } else { "tables" };
    say!(
        "ckselect: {}: {count} {tables} for {device}; rows are assumed to be even over experts",
        folder.display()
    );
    Ok(())
}

/// The device of `--device-name`, else the first that the GPU can be.
fn device_of(args: &Args) -> Result<&'static EngineDevice, CliError> {
    let gpu = &args.ranker.arch;
    let arch = gpu.named_arch()?;
    if let Some(name) = &args.engine.device_name {
        let device =
            EngineDevice::named(name).map_err(|fault| CliError::usage(format!("--device-name: {fault}")))?;
        return match (arch, device.arch()) {
            (Some(arch), Some(own)) if arch != own => {
                refuse!("--device-name: found {}, which is {own}, but --arch is {arch}", device.name)
            }
            _ => Ok(device),
        };
    }
    let Some(arch) = arch else { refuse!("tables are for a device: give --arch, or --device-name") };
    EngineDevice::from_gpu(gpu.product(), arch, gpu.units()?).ok_or_else(|| {
        CliError::usage(format!("--arch: no name of a device of {arch} is known: give --device-name"))
    })
}

/// The options on the device, whose compute units count where only an architecture is given.
fn on_device(args: &Args, device: &EngineDevice) -> Args {
    let mut own = args.clone();
    if let Some(arch) = device.arch()
        && !args.ranker.arch.is_described()
    {
        own.ranker.arch = Gpu::with_units(arch, device.units);
    }
    own
}

/// Makes an engine's tables.
struct TableMaker<'a> {
    engine: Engine,
    args: &'a Args,
    device: &'static EngineDevice,
    arch: Option<Arch>,
    ranker: &'a Ranker,
}

/// The problems of each table, by its name.
type Layers = BTreeMap<String, (TableKey, Vec<MoeProblem>)>;

/// Tables by their names.
type Written = Vec<(String, ConfigTable)>;

impl TableMaker<'_> {
    /// The folder of the tables in that of `--output`, which is what the engine's variable names:
    /// `VLLM_TUNED_CONFIG_FOLDER` or `SGLANG_MOE_CONFIG_DIR`.
    fn folder(&self, output: &Path) -> Result<PathBuf, CliError> {
        let version = &self.args.engine.triton;
        if !version.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
        {
            refuse!("--triton: found '{version}', expected a version such as 3.6.0");
        }
        Ok(match self.engine {
            Engine::Vllm => output.to_owned(),
            Engine::Sglang => output.join("configs").join(format!("triton_{}", version.replace('.', "_"))),
        })
    }

    /// The problems of a model's file, or of a list, by the tables that they have.
    fn layers(&self, defaults: ProblemDefaults) -> Result<Vec<(TableKey, Vec<MoeProblem>)>, CliError> {
        let mut layers = Layers::new();
        for (index, problem) in self.problems(defaults)? {
            let about = |fault: &dyn std::fmt::Display| CliError::Failed(format!("{index}: {fault}"));
            let key =
                TableKey::from_problem(&problem, self.engine, self.device).map_err(|fault| about(&fault))?;
            let key = TableKey { is_down: false, ..key };
            key.check_name(self.engine).map_err(|fault| about(&fault))?;
            let of_key = layers.entry(key.file_name(self.engine)).or_insert_with(|| (key, Vec::new()));
            if !of_key.1.contains(&problem) {
                of_key.1.push(problem);
            }
        }
        if layers.is_empty() {
            fail!("found no problem of a mixture of experts, expected at least one");
        }
        Ok(layers.into_values().collect())
    }

    /// The problems, each of both stages and one token, with where they stand.
    fn problems(&self, defaults: ProblemDefaults) -> Result<Vec<(String, MoeProblem)>, CliError> {
        if let Some(text) = &self.args.problem {
            let problem = super::super::super::parse_problem(Op::Moe, text, &defaults)?;
            return Ok(layer_of(&problem)
                .map(|problem| ("--problem".to_owned(), problem))
                .into_iter()
                .collect());
        }
        let path = self.args.problems.as_deref().ok_or_else(|| CliError::usage(NO_PROBLEM))?;
        let file = path.display().to_string();
        if Checkpoint::is_of(path) {
            return self.of_model(path, &file);
        }
        let mut listed = Problems::open(path, Op::Moe, &defaults, self.hardware())?;
        let mut all = Vec::new();
        while let Some((label, problem)) = listed.next()? {
            all.extend(layer_of(&problem).map(|problem| (format!("{file}: problem {label}"), problem)));
        }
        listed.finish();
        Ok(all)
    }

    fn of_model(&self, path: &Path, file: &str) -> Result<Vec<(String, MoeProblem)>, CliError> {
        let EngineOptions { tp, ep, .. } = self.args.engine;
        let model = Checkpoint::read(path).map_err(|error| CliError::Failed(error.to_string()))?;
        if let Some(note) = model.note {
            say!("ckselect: {file}: {note}");
        }
        let problems = model.problems(self.engine, Parallelism { tensor: tp, expert: ep });
        let problems = problems.map_err(|fault| CliError::Failed(format!("{file}: {fault}")))?;
        Ok(problems.into_iter().map(|problem| (file.to_owned(), problem)).collect())
    }

    fn hardware(&self) -> Hardware {
        hardware(self.ranker)
    }

    /// The keys of a layer's tables: one, or for SGLang one of each stage.
    fn keys(&self, key: &TableKey) -> Vec<TableKey> {
        match self.engine {
            Engine::Vllm => vec![*key],
            Engine::Sglang => vec![*key, TableKey { is_down: true, ..*key }],
        }
    }

    /// Refuses to replace tables that somebody may have tuned, unless an option requests it.
    fn check_free(&self, output: &Path, key: &TableKey) -> Result<(), CliError> {
        let EngineOptions { keep, overwrite, .. } = self.args.engine;
        for key in self.keys(key).iter().filter(|_| !keep && !overwrite) {
            let path = self.folder(output)?.join(key.file_name(self.engine));
            if path.exists() {
                let path = path.display();
                refuse!("--output: {path} exists; --keep fills what it lacks, --overwrite replaces it");
            }
        }
        Ok(())
    }

    /// The tables of a layer.
    fn tables(&self, key: &TableKey, problems: &[MoeProblem]) -> Result<Written, CliError> {
        let keys = self.keys(key);
        let kept = keys.iter().map(|key| self.kept(key)).collect::<Result<Vec<_>, _>>()?;
        let choices = Choices::new(self, key, problems)?;
        let rows = choices.rows(&kept, &self.args.engine.tokens)?;
        let mut written = Vec::new();
        for (index, (key, table)) in keys.iter().zip(kept).enumerate() {
            let mut table = table;
            if self.engine == Engine::Vllm && table.rows.is_empty() {
                table.triton = Some(self.args.engine.triton.clone());
            }
            let own = rows.iter().map(|(tokens, configs)| (*tokens, configs[index]));
            table.rows = own.chain(table.rows).collect();
            let name = key.file_name(self.engine);
            key.check(self.engine, &table).map_err(|fault| CliError::Failed(format!("{name}: {fault}")))?;
            written.push((name, table));
        }
        Ok(written)
    }

    /// The table that is there, if its entries are to be kept.
    fn kept(&self, key: &TableKey) -> Result<ConfigTable, CliError> {
        let EngineOptions { keep, .. } = self.args.engine;
        let Some(output) = self.args.output.as_deref().filter(|_| keep) else {
            return Ok(ConfigTable::default());
        };
        let path = self.folder(output)?.join(key.file_name(self.engine));
        if !path.exists() {
            return Ok(ConfigTable::default());
        }
        let table = ConfigTable::read(&path).map_err(|error| CliError::Failed(error.to_string()))?;
        key.check(self.engine, &table)
            .map_err(|fault| CliError::Failed(format!("{}: {fault}", path.display())))?;
        Ok(table)
    }
}

/// A problem as tables have it: of both stages, any tokens, and rows even over experts.
fn layer_of(problem: &Problem) -> Option<MoeProblem> {
    let both = both_stages(problem)?;
    let MoeProblem { n, k, experts, topk, quant, block_n, block_k, arch, .. } = both;
    // 16-bit floats of both kinds have one table, whose kernels are named by one of them.
    let types = [both.dtype_a, both.dtype_b];
    let [dtype_a, dtype_b] = if types == [Dtype::Fp16; 2] { [Dtype::Bf16; 2] } else { types };
    let layer = MoeProblem::new(both.stage, 1, [experts, topk], [n, k]);
    Some(MoeProblem { dtype_a, dtype_b, quant, block_n, block_k, arch, ..layer })
}

/// The configurations of a table, with what each loses.
struct Choices {
    configs: Vec<TritonConfig>,
    /// Configurations by rows of a tile, if each stage has a table, since the stages share these rows; else each
    /// alone.
    groups: Vec<LadderGroup>,
}

impl Choices {
    fn new(maker: &TableMaker<'_>, key: &TableKey, problems: &[MoeProblem]) -> Result<Self, CliError> {
        let times = sums_of_times(maker, problems)?;
        let mut configs = Vec::new();
        let mut groups: BTreeMap<u64, LadderGroup> = BTreeMap::new();
        let mut places = HashMap::new();
        for (index, kernel) in maker.ranker.pool().iter().enumerate() {
            let KernelKind::Moe(kernel) = &kernel.kind else { continue };
            let of_any_type = MoeKernel { arch: None, ..kernel.clone() };
            let Some(config) = key.config(maker.engine, &of_any_type) else { continue };
            if places.insert(config, index).is_some() {
                continue;
            }
            let own = |stage: usize| TOKENS.iter().enumerate().map(move |(at, _)| (at, stage));
            let stage = |stage| own(stage).map(|(at, stage)| times[at][stage][index]).collect::<Vec<f64>>();
            let [first, second] = [stage(0), stage(1)];
            let id = configs.len();
            configs.push(config);
            if maker.engine == Engine::Sglang {
                let group = groups
                    .entry(config.block_m().into())
                    .or_insert_with(|| LadderGroup { stages: vec![vec![]; 2] });
                for (own, times) in group.stages.iter_mut().zip([first, second]) {
                    own.push(Candidate { id, times });
                }
            } else {
                let times = first.iter().zip(&second).map(|(first, second)| first + second).collect();
                groups.insert(id as u64, LadderGroup { stages: vec![vec![Candidate { id, times }]] });
            }
        }
        if configs.is_empty() {
            let (engine, name) = (maker.engine, key.file_name(maker.engine));
            fail!(
                "{name}: none of the pool's kernels is a configuration that {engine} takes for these types"
            );
        }
        Ok(Self { configs, groups: groups.into_values().collect() })
    }

    /// The entries that the kept tables lack: for each token count, a configuration for each table.
    fn rows(&self, kept: &[ConfigTable], tokens: &[u32]) -> Result<Vec<(u32, Vec<TritonConfig>)>, CliError> {
        let kept_tokens: Vec<u32> = kept.iter().flat_map(|table| table.rows.keys().copied()).collect();
        if kept_tokens.is_empty() && tokens.is_empty() {
            return Ok(self.configs_of(choose_keys(&TOKENS, &self.groups, MOST_KEYS)));
        }
        let wanted = if tokens.is_empty() { LADDER.to_vec() } else { tokens.to_vec() };
        let all: std::collections::BTreeSet<u32> = kept_tokens.into_iter().chain(wanted).collect();
        let all: Vec<u32> = all.into_iter().collect();
        let mut rows = self.configs_of(choose_configs(&TOKENS, &self.groups, &all));
        for (index, row) in rows.iter_mut().enumerate() {
            self.fit_kept(kept, (&all, index), row)?;
        }
        Ok(rows)
    }

    /// The entry of a stage goes with a kept one of the other: both have the same rows of a tile.
    fn fit_kept(
        &self,
        kept: &[ConfigTable],
        (all, place): (&[u32], usize),
        (tokens, configs): &mut (u32, Vec<TritonConfig>),
    ) -> Result<(), CliError> {
        let rows: Vec<u32> =
            kept.iter().filter_map(|table| Some(table.rows.get(tokens)?.block_m())).collect();
        let (Some(&own), [_, _]) = (rows.first(), kept) else { return Ok(()) };
        if rows.iter().any(|other| *other != own) {
            let key = ConfigKey::BlockM;
            fail!("{tokens}: {key}: found {rows:?} in the tables of both stages, expected the same rows");
        }
        let is_same = |group: &&LadderGroup| {
            let first = group.stages.iter().flatten().next();
            first.is_some_and(|first| self.configs[first.id].block_m() == own)
        };
        let same: Vec<LadderGroup> = self.groups.iter().filter(is_same).cloned().collect();
        let Some(chosen) =
            choose_configs(&TOKENS, &same, all).into_iter().nth(place).filter(|_| !same.is_empty())
        else {
            fail!(
                "{tokens}: no kernel of the pool has {own} rows of a tile, as the kept entry of the other stage"
            );
        };
        *configs = chosen.ids.iter().map(|&id| self.configs[id]).collect();
        Ok(())
    }

    fn configs_of(&self, keys: Vec<LadderKey>) -> Vec<(u32, Vec<TritonConfig>)> {
        let of = |key: LadderKey| (key.tokens, key.ids.iter().map(|&id| self.configs[id]).collect());
        keys.into_iter().map(of).collect()
    }
}

/// The times of a stage, of each kernel.
type StageTimes = [Vec<f64>; 2];

/// For each token count, the time of each stage with each kernel, summed over the problems of a table.
fn sums_of_times(maker: &TableMaker<'_>, problems: &[MoeProblem]) -> Result<Vec<StageTimes>, CliError> {
    let ranker = StageRanker { ranker: maker.ranker, arch: maker.arch };
    let of_tokens = |scratch: &mut RankScratch, tokens: &u32| {
        let mut sums = SHARES.map(|_| vec![0.0; maker.ranker.pool().len()]);
        for problem in problems {
            let own = MoeProblem { tokens: (*tokens).into(), ..*problem };
            for (stage, (sums, share)) in own.stages().zip(sums.iter_mut().zip(SHARES)) {
                let times = ranker.times(&stage, scratch)?;
                let times = times.map_err(|error| {
                    CliError::Failed(format!("{}: {}", Problem::Moe(stage), reason(&error)))
                })?;
                sums.iter_mut().zip(times).for_each(|(sum, time)| *sum += share * time);
            }
        }
        Ok(sums)
    };
    TOKENS.par_iter().map_init(RankScratch::default, of_tokens).collect()
}
