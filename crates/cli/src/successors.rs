//! Words of command lines that are not ours: removed ones, for one release, and upstream's. Each has an error
//! that names its successor; words that only have a new name are accepted.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Commands, a word, and what it stands for.
const ACCEPTED: [(&str, &str, &str); 5] = [
    ("rank evaluate", "--estimate", "--model estimate"),
    ("rank", "--family", "--pool"),
    ("enumerate", "--family", ""),
    ("bench tune", "--library", "--runner"),
    ("uhd", "--out", "--output"),
];

/// The words of a command line, with ours in place of those that are accepted.
pub(crate) fn replaced(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let words: Vec<OsString> = words.collect();
    let command = words.get(1).and_then(|word| word.to_str()).unwrap_or_default().to_owned();
    let ours = |word: OsString| {
        let text = word.to_str().unwrap_or_default();
        match ACCEPTED.iter().find(|known| has(known.0, &command) && known.1 == option(text)) {
            Some((.., ours)) => {
                let value = text.split_once('=').map(|(_, value)| value);
                ours.split_whitespace().chain(value).map(OsString::from).collect()
            }
            None => vec![word],
        }
    };
    words.into_iter().flat_map(ours).collect()
}

/// An option's word, without a value.
fn option(word: &str) -> &str {
    word.split('=').next().unwrap_or(word)
}

fn has(list: &str, one: &str) -> bool {
    list.split(' ').any(|other| other == one)
}

/// Commands that are gone, for one release: each with how the sentence about it goes on.
const COMMANDS: &str = "\
curve: is now `ckselect tune --simulate FILE --counts`
features: is now `ckselect dev features`
predict: is now `ckselect dev predict`, for rows of features; `ckselect rank` predicts for a problem
pack: is now `ckselect dev pack`
completions: is now `ckselect dev completions`
man: is now `ckselect dev man`
compare: is now `ckselect evaluate --model NEW --against OLD`
search: is removed: `ckselect enumerate configs/gemm_wide.json --arch ARCH --output pool.txt` lists what \
    can be built, and `ckselect rank --pool pool.txt` scores it
hardware: is removed: `ckselect doctor` says what differs from the profile, and --arch FILE describes it
merge: is removed: train, evaluate and report read several logs, convert writes one table of them
import: is removed: tables of other libraries are no longer read
validate: is now `ckselect evaluate`, with --require, --pool and --model FILE.csv
";

/// Commands, words that they do not accept, and our option for upstream's, or how the sentence about the word
/// goes on. First those that are gone, for one release; then upstream's.
const OPTIONS: &str = "\
rank explain bench train tune evaluate features: --hardware: is now --arch FILE
rank explain evaluate: --force-model: is now --allow untrained
rank explain evaluate features: --unknown: is now --allow words
rank explain evaluate: --rank-by: is removed: the first of `train --targets` ranks, and `rank` shows the \
    others
rank explain inspect: --schema: is now `ckselect inspect --model DIR --write-spec fmha68 --arch ARCH`, once
enumerate: --op --ndim --dtype --layout: is now --params op=fmha ndim=3 dtype=fp8 layout=rcr
enumerate: --filter-file: is now --filter @FILE
enumerate: --export-json: is now --output FILE.json
enumerate: --count-only: is now --count
enumerate: --list-fields: is now --fields
shapes: --seed --ndim --batches: is now --params seed=42 ndim=3 batches=1,8
shapes: --driver: is removed: a CSV with a column per field is a list of problems
shapes: --validation: is now --set holdout, holdout-odd, holdout-gemm or holdout-fmha, with --count
shapes: --apart-from: is removed: another --params seed draws other problems
shapes: --stratify: is removed: --count takes evenly spaced problems
shapes: --format: is not needed: --output FILE.json writes JSON
explain report evaluate bench: --html: is now --output FILE.html
evaluate: --json: is now --output FILE.json
evaluate: --predictions: is now --model FILE.csv
evaluate: --problems: is now --output FILE.csv: each problem's outcome
evaluate: --roof: is removed: `ckselect report` compares with the limits of the device
train: --out: is now --output
train: --holdout: is now --folds device, direction, dtype or FILE
train: --rank-target: is now the first of --targets
train: --fold-seed --early-stopping --hard-examples --seed --threads --group-by: is now --params seed=42 \
    fold_seed=1 threads=8 hard_examples=2 early_stopping=inner group_by=sizes
train: --weight: is removed: --extra-data has measurements that are only trained on
train: --seeds: is removed: --params seed=… trains another forest
train: --tune: is removed: --params sets parameters
tune: --draws --ways --folds --seed: is now --params draws=5 ways=tuned,alone folds=5 seed=1
tune: --html: is removed: --format csv has the points of a plot
bench: --executables: is now --runner DIR
bench: --warmup --repeat --samples --remeasure --kernel-timeout --batch: is now --params warmup=3 \
    repeat=10 samples=1 remeasure=2 timeout=30s batch=20
bench: --retry-failed: is now --resume=failed, or =load,timeout
bench: --first: COUNT is now --order estimate:COUNT or --order model:COUNT
bench: --quick: is removed: --params warmup=1 repeat=3 --cutoff 3x, with problems of `shapes --count 10`
bench: --within: FACTOR is now --order estimate:FACTORx
bench: --at-least: is removed: --order estimate:FACTORx keeps seven kernels in any case
bench: --serve: is removed: the page of --output FILE.html loads itself again while the sweep runs
bench: --slurm --slurm-dry-run --slurm-attempts --slurm-option: is removed: an array job of yours runs \
    --shard I/N --resume in each task
bench: --max-cv: is removed: times that vary by more than 10 % are measured again with --params remeasure=2
shapes: --three-d: is now --params ndim=3
shapes: --shard: is removed: `ckselect bench --shard` measures a part
shapes: --training-set: is removed: --count takes some of the problems
shapes: --targeted --below: is removed: `ckselect tune` measures where little is known
report: --against --against-arch: is removed: compare two reports, such as by --format json
report: --prune-pool: is now --output FILE.txt
report: --keep-kernels --keep-share: is now --keep COUNT or --keep SHARE, such as 8 or 99%
inspect: --memory --pool --target: is removed: `inspect` shows all forests; `ckselect rank` tries them on a pool
tune: --holdout: is now --params folds=FILE
features: --input: is now --data
features: --format: is removed: rows are CSV
predict: --matrix: is now --data
predict: --format: is removed: rows are CSV
predict: --spec: is removed: give the model's directory
train evaluate report tune convert: --op --dtype --variant: is now --where \
    op=grouped_conv,direction=forward,dtype=bf16
train evaluate report tune: --run-id: is now --where run_id=ID
store: --store: is now CK_SELECT_STORE in the environment
store: --arch --device --pool --not-pool --library --driver --op --kernel --older-than: is now --where \
    'arch=gfx950,pool!=HASH,older_than=90d'
train: --n_splits: --folds
train evaluate: --data_dir: --data
train: --out_dir: --output
train: --operation: --where op=OP
train: --no_log_transform: --objective raw
train: --warm_start: --warm-start
train: --warm_start_n_estimators: --params n_estimators=COUNT
train evaluate: --input: --data
evaluate rank: --model_dir --model-dir: --model
evaluate: --oracle-csv: --data
rank: --top_k: --top
rank: -m --m -n --n -k --k: is part of the problem: --problem M=…,N=…,K=…
predict: --model_dir --pool --problem --problems -m --m -n --n -k --k: is for `ckselect rank --model DIR \
    --pool FILE --problem M=…,N=…,K=…`: predict takes rows of features
convert: --op-type --op_type: --where op=OP
convert: --capture-hw --capture_hw: is removed: --arch gpu.json where the GPU matters
convert: --merge-with --merge_with: is not needed: `ckselect convert FILE OTHER --output FILE`
convert: --kernel-pattern: is not needed: names are read by their grammars
convert: --input: is not needed: `ckselect convert FILE --output FILE`
report: --input: is not needed: `ckselect report FILE`
enumerate: --input: is not needed: `ckselect enumerate CONFIG.json`
shapes: --variant: --direction
rank explain: --variant: is part of the problem: --problem 'direction=bwd_data,…'
enumerate: --variant: is part of the configuration; --filter takes some of its kernels
bench: --variant: is not needed: the kernels of the pool say it
bench: --csv: --output
bench: --batch-size: --params batch=COUNT
bench: --workers: is not needed: build the kernels before, such as by `make -j`
bench: --max-kernels: is now --order model:COUNT, or a pool of fewer kernels
bench: --build_dir: --runner
";

/// What there is instead of the word that a command line stopped at.
pub(crate) fn find(error: &clap::Error, words: &[String]) -> Option<String> {
    let mut commands = words.iter().map(String::as_str).filter(|word| !word.starts_with('-'));
    let command = commands.next().filter(|command| *command != "dev").or_else(|| commands.next())?;
    match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::InvalidSubcommand, _) => {
            let (_, instead) = COMMANDS.lines().filter_map(cut).find(|(name, _)| *name == command)?;
            Some(format!("{command} {instead}"))
        }
        (ErrorKind::UnknownArgument, Some(ContextValue::String(word))) => {
            let word = option(word);
            let (.., instead) = options().find(|known| has(known.0, command) && has(known.1, word))?;
            let is_upstreams = instead.starts_with('-');
            Some(if is_upstreams {
                format!("upstream's {word} is {instead} here")
            } else {
                format!("{word} {instead}")
            })
        }
        _ => None,
    }
}

fn options() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    OPTIONS.lines().filter_map(|line| {
        let (commands, rest) = cut(line)?;
        let (words, instead) = cut(rest)?;
        Some((commands, words, instead))
    })
}

fn cut(line: &str) -> Option<(&str, &str)> {
    line.split_once(": ")
}

#[cfg(all(test, feature = "offline"))]
mod tests {
    use super::*;

    #[test]
    fn other_names_of_options_are_accepted() {
        let replaced = |line: &str| {
            let words = replaced(line.split(' ').map(OsString::from));
            words.into_iter().map(|word| word.into_string().unwrap()).collect::<Vec<_>>().join(" ")
        };
        let line = "ckselect evaluate --winners t.csv --estimate";
        assert_eq!(replaced(line), "ckselect evaluate --winners t.csv --model estimate");
        assert_eq!(replaced("ckselect uhd train --out=x"), "ckselect uhd train --output x");
        assert_eq!(
            replaced("ckselect enumerate --family a8w8 --arch gfx942"),
            "ckselect enumerate a8w8 --arch gfx942"
        );
        assert_eq!(replaced("ckselect train --out x"), "ckselect train --out x");
    }

    #[test]
    fn successors_exist_and_their_words_do_not() {
        let line = crate::commands::line();
        for (command, _) in COMMANDS.lines().filter_map(cut) {
            assert!(line.find_subcommand(command).is_none(), "{command} is a command");
        }
        for (commands, words, instead) in options().chain(ACCEPTED) {
            for command in commands.split(' ') {
                let developer = line.find_subcommand("dev").unwrap();
                let found = line.find_subcommand(command).or_else(|| developer.find_subcommand(command));
                let found = found.unwrap_or_else(|| panic!("{command} is not a command"));
                let longs: Vec<&str> = found.get_arguments().filter_map(|known| known.get_long()).collect();
                for word in words.split(' ') {
                    assert!(!longs.contains(&word.trim_start_matches('-')), "{command} has {word}");
                }
                if let Some(option) = instead.strip_prefix("--")
                    && !found.has_subcommands()
                {
                    let option = option.split(' ').next().unwrap();
                    assert!(longs.contains(&option), "{command} has no --{option}");
                }
            }
        }
    }
}
