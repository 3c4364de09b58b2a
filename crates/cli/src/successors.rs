//! Words of command lines that are not ours: removed ones, for one release, and upstream's. Each has an error
//! that names its successor.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Commands, words that they do not accept, and our option for upstream's, or how the sentence about the word goes
/// on. A command without words is not accepted itself.
type Successor = (&'static str, &'static str, &'static str);

const SUCCESSORS: &[Successor] = &[
    // Removed; kept here until the next release.
    ("curve", "", "is now `ckselect tune --simulate FILE --counts`"),
    ("features", "", "is now `ckselect dev features`"),
    (
        "predict",
        "",
        "is now `ckselect dev predict`, for rows of features; `ckselect rank` predicts for a problem",
    ),
    ("pack", "", "is now `ckselect dev pack`"),
    ("completions", "", "is now `ckselect dev completions`"),
    ("man", "", "is now `ckselect dev man`"),
    ("import", "", "is removed: tables of other libraries are no longer read"),
    ("validate", "", "is now `ckselect evaluate`, with --require, --pool and --predictions"),
    ("evaluate", "--roof", "is removed: `ckselect report` compares with the limits of the device"),
    ("evaluate", "--output", "is now --problems: each problem's outcome"),
    ("train", "--weight", "is removed: --extra-data has measurements that are only trained on"),
    ("train", "--seeds", "is removed: --seed trains another forest"),
    ("train", "--tune", "is removed: --params sets parameters"),
    ("bench", "--first", "COUNT is now --order estimate:COUNT or --order model:COUNT"),
    ("bench", "--within", "FACTOR is now --order estimate:FACTORx"),
    ("bench", "--at-least", "is removed: --order estimate:FACTORx keeps seven kernels in any case"),
    ("bench", "--serve", "is removed: the page of --html loads itself again while the sweep runs"),
    ("bench", "--slurm-dry-run", "is now --slurm with --dry-run"),
    ("bench", "--slurm-attempts", "is removed: a task is started three times; --resume submits what is left"),
    (
        "bench",
        "--max-cv",
        "is removed: times that vary by more than 10 % are measured again with --remeasure",
    ),
    ("shapes", "--three-d", "is now --ndim 3"),
    ("shapes", "--shard", "is removed: `ckselect bench --shard` measures a part"),
    ("shapes", "--training-set", "is removed: --count and --stratify take some of the problems"),
    ("shapes", "--targeted --below", "is removed: `ckselect tune` measures where little is known"),
    ("report", "--against-arch", "is removed: --against takes rows of any architecture"),
    ("report", "--keep-kernels --keep-share", "is now --keep COUNT or --keep SHARE, such as 8 or 99%"),
    (
        "compare",
        "--max-mean-loss --max-median-loss --max-p10-loss --max-problem-loss",
        "is now --max-loss mean=…,median=…,p10=…,problem=…",
    ),
    ("inspect", "--memory --pool", "is removed"),
    ("tune", "--html", "is removed: --format csv has the points of a plot"),
    (
        "train evaluate compare report tune convert",
        "--op --dtype --variant",
        "is now --where 'op=grouped_conv,direction=forward,dtype=bf16'",
    ),
    ("train evaluate compare report tune", "--run-id", "is now --where run_id=ID"),
    ("store", "--store", "is now CK_SELECT_STORE in the environment"),
    (
        "store",
        "--arch --device --pool --not-pool --library --driver --op --kernel --older-than",
        "is now --where 'arch=gfx950,pool!=HASH,older_than=90d'",
    ),
    // Upstream's.
    ("train", "--n_splits", "--folds"),
    ("train evaluate", "--data_dir", "--data"),
    ("train", "--out_dir", "--out"),
    ("train", "--operation", "--where op=OP"),
    ("train", "--no_log_transform", "--objective raw"),
    ("train", "--warm_start", "--warm-start"),
    ("train", "--warm_start_n_estimators", "--params n_estimators=COUNT"),
    ("train evaluate compare", "--input", "--data"),
    ("evaluate rank search", "--model_dir --model-dir", "--model"),
    ("evaluate", "--oracle-csv", "--data"),
    ("rank search", "--top_k", "--top"),
    ("rank search", "-m --m -n --n -k --k", "is part of the problem: --problem M=…,N=…,K=…"),
    ("predict", "--model_dir --pool --problem --problems -m --m -n --n -k --k", RANK),
    ("convert", "--op-type --op_type", "--where op=OP"),
    ("convert", "--capture-hw --capture_hw", HARDWARE),
    ("convert", "--merge-with --merge_with", "is not needed: `ckselect convert FILE OTHER --output FILE`"),
    ("convert", "--kernel-pattern", "is not needed: names are read by their grammars"),
    ("convert", "--input", "is not needed: `ckselect convert FILE --output FILE`"),
    ("report", "--input", "is not needed: `ckselect report FILE`"),
    ("enumerate", "--input", "is not needed: `ckselect enumerate CONFIG.json`"),
    ("shapes", "--variant", "--direction"),
    ("rank search explain", "--variant", "is part of the problem: --problem 'direction=bwd_data,…'"),
    ("enumerate", "--variant", "is part of the configuration; --filter takes some of its kernels"),
    ("bench", "--variant", "is not needed: the kernels of the pool say it"),
    ("bench", "--csv", "--output"),
    ("bench", "--batch-size", "--batch"),
    ("bench", "--workers", "is `jobs` of a --runner configuration: how many kernels are built at once"),
    ("bench", "--max-kernels", "is now --order model:COUNT, or a pool of fewer kernels"),
    ("bench", "--build_dir", "--executables"),
];

const HARDWARE: &str =
    "is removed: `ckselect hardware --output gpu.json`, and --hardware gpu.json where the GPU matters";
const RANK: &str =
    "is for `ckselect rank --model DIR --pool FILE --problem M=…,N=…,K=…`: predict takes rows of features";

/// What there is instead of the word that a command line stopped at.
pub(crate) fn find(error: &clap::Error, words: &[String]) -> Option<String> {
    let mut commands = words.iter().map(String::as_str).filter(|word| !word.starts_with('-'));
    let command = commands.next().filter(|command| *command != "dev").or_else(|| commands.next())?;
    let word = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::InvalidSubcommand, _) => "",
        (ErrorKind::UnknownArgument, Some(ContextValue::String(word))) => word.as_str(),
        _ => return None,
    };
    let word = word.split('=').next().unwrap_or(word);
    let has = |list: &str, one: &str| list.split(' ').any(|other| other == one);
    let &(.., instead) = SUCCESSORS.iter().find(|known| has(known.0, command) && has(known.1, word))?;
    let word = if word.is_empty() { command } else { word };
    let renamed = instead.starts_with('-');
    Some(if renamed { format!("upstream's {word} is {instead} here") } else { format!("{word} {instead}") })
}

#[cfg(all(test, feature = "offline"))]
mod tests {
    use super::*;

    #[test]
    fn successors_exist_and_their_words_do_not() {
        let line = crate::commands::line();
        for (commands, words, instead) in SUCCESSORS {
            for command in commands.split(' ') {
                let developer = line.find_subcommand("dev").unwrap();
                let found = if words.is_empty() { None } else { developer.find_subcommand(command) };
                let Some(found) = line.find_subcommand(command).or(found) else {
                    assert_eq!(*words, "", "{command} is not a command");
                    continue;
                };
                assert_ne!(*words, "", "{command} is a command");
                let longs: Vec<&str> = found.get_arguments().filter_map(|known| known.get_long()).collect();
                for word in words.split(' ') {
                    assert!(!longs.contains(&word.trim_start_matches('-')), "{command} has {word}");
                }
                if let Some(option) = instead.strip_prefix("--") {
                    let option = option.split(' ').next().unwrap();
                    assert!(longs.contains(&option), "{command} has no --{option}");
                }
            }
        }
    }
}
