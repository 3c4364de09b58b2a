//! Options of upstream's tools that have another name here, or none: the error of each says what there is.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Commands, words that they do not accept, and our option instead, or how the sentence about the word goes on.
const OPTIONS: &str = "\
train: --n_splits: --folds
train evaluate: --data_dir: --data
train: --out_dir: --output
train: --operation: --where op=OP
train evaluate: --op --dtype: --where op=OP,dtype=DTYPE
train: --tune: is not needed: --params sets parameters
train: --no_log_transform: --objective raw
train: --warm_start: --warm-start
train: --warm_start_n_estimators: --params n_estimators=COUNT
train evaluate: --input: --data
evaluate rank: --model_dir --model-dir: --model
evaluate: --oracle-csv: --data
rank: --top_k: --top
rank: -m --m -n --n -k --k: is part of the problem: --problem M=…,N=…,K=…
convert: --op-type --op_type: --where op=OP
convert: --capture-hw --capture_hw: is not needed: --arch gpu.json where the GPU matters
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
bench: --max-kernels: is --order model:COUNT here, or a pool of fewer kernels
bench: --build_dir: --runner
";

/// Our replacement for the option of upstream's at which the parser stopped; `None` if it is not one.
pub(crate) fn find(error: &clap::Error, words: &[String]) -> Option<String> {
    let (ErrorKind::UnknownArgument, Some(ContextValue::String(word))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
    else {
        return None;
    };
    let mut commands = words.iter().map(String::as_str).filter(|word| !word.starts_with('-'));
    let command = commands.next().filter(|command| *command != "dev").or_else(|| commands.next())?;
    let word = word.split('=').next()?;
    let has = |list: &str, one: &str| list.split(' ').any(|other| other == one);
    let (.., instead) = options().find(|known| has(known.0, command) && has(known.1, word))?;
    let is_option = instead.starts_with('-');
    Some(if is_option { format!("upstream's {word} is {instead} here") } else { format!("{word} {instead}") })
}

fn options() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    OPTIONS.lines().filter_map(|line| {
        let (commands, rest) = line.split_once(": ")?;
        let (words, instead) = rest.split_once(": ")?;
        Some((commands, words, instead))
    })
}

#[cfg(all(test, feature = "offline"))]
mod tests {
    use super::*;

    #[test]
    fn our_options_exist_and_upstreams_do_not() {
        let line = crate::commands::line();
        for (commands, words, instead) in options() {
            for command in commands.split(' ') {
                let developer = line.find_subcommand("dev").unwrap();
                let subcommand = line.find_subcommand(command).or_else(|| developer.find_subcommand(command));
                let subcommand = subcommand.unwrap_or_else(|| panic!("{command} is not a command"));
                let longs: Vec<&str> =
                    subcommand.get_arguments().filter_map(|known| known.get_long()).collect();
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
