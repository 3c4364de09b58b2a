//! What an installation makes of the command line: manual pages, and completions as a shell uses them.

use std::fs;
use std::process::Command;

use crate::common::{Folder, good, refuses};

const POOL: &str = "configs/forward_bf16.txt";
const MODEL: &str = "embedded:grouped_conv_forward_bf16_gfx950";
const PROBLEM: &str = "C=64,K=64,Hi=56,Wi=56,Y=3,X=3";

/// The commands that a help lists.
fn listed(help: &str) -> Vec<&str> {
    let commands = help.split("Options:\n").next().unwrap();
    let names = commands.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty() && *name != "help").collect()
}

#[test]
fn every_command_has_a_page() {
    let folder = Folder::new();
    // Twice: a newer version replaces what is there.
    assert_eq!(folder.good("dev man @man1"), "");
    folder.write("man1/ckselect.1", "old");
    assert_eq!(folder.good("dev man @man1"), "");

    let mut expected = vec!["ckselect.1".to_owned()];
    let help = good("--help");
    expected.extend(listed(&help).iter().map(|name| format!("ckselect-{name}.1")));
    for command in ["store", "uhd", "dev"] {
        let help = good(&format!("{command} --help"));
        expected.extend(listed(&help).iter().map(|name| format!("ckselect-{command}-{name}.1")));
    }
    expected.sort();
    let found = fs::read_dir(folder.path("man1")).unwrap();
    let mut found: Vec<_> = found.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    found.sort();
    assert_eq!(found, expected);
    assert!(found.len() > 24, "{found:?}");

    let version = env!("CARGO_PKG_VERSION");
    for file in &found {
        let page = folder.read(&format!("man1/{file}"));
        let name = file.strip_suffix(".1").unwrap();
        assert!(page.contains(&format!(".TH {name} 1  \"ckselect {version}\" ck-select\n")), "{page}");
        assert_eq!(
            page.contains(".SH EXAMPLES\n.nf\n"),
            !["ckselect", "ckselect-dev"].contains(&name),
            "{page}"
        );
    }
    let rank = folder.read("man1/ckselect-rank.1");
    assert!(
        rank.contains("\\-\\-problem") && rank.contains("  ckselect rank \\-\\-model models/M"),
        "{rank}"
    );
}

#[test]
fn pages_go_only_into_a_folder() {
    let folder = Folder::new();
    folder.write("file", "kept");
    folder.refuses("dev man @file\n1: ckselect: @file: ");
    assert_eq!(folder.read("file"), "kept");
}

#[test]
fn bash_completes() {
    let folder = Folder::new();
    folder.write("ckselect", good("dev completions bash"));
    for (line, offered, not_offered) in [
        ("ckselect ra", "rank", "evaluate"),
        ("ckselect bench", "bench", "bench-guard"),
        ("ckselect rank --mod", "--model", "--pool"),
        ("ckselect store pr", "prune", "merge"),
        ("ckselect report --format mar", "markdown", "json"),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let last = words.len() - 1;
        let ask = format!(
            "source \"$0\"; COMP_WORDS=({line}); COMP_CWORD={last}; _ckselect ckselect {} {}; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            words[last],
            words[last - 1]
        );
        let output = Command::new("bash").args(["-c", &ask]).arg(folder.path("ckselect")).output().unwrap();
        let replies = String::from_utf8(output.stdout).unwrap();
        let replies: Vec<&str> = replies.lines().map(str::trim).collect();
        assert!(replies.contains(&offered) && !replies.contains(&not_offered), "{line}: {replies:?}");
    }
}

#[test]
fn other_shells_have_scripts_too() {
    for (shell, first) in [("zsh", "#compdef ckselect\n"), ("fish", "# Print an optspec")] {
        let script = good(&format!("dev completions {shell}"));
        assert!(script.starts_with(first) && script.contains("doctor"), "{script}");
        assert!(!script.contains("bench-guard"), "{shell}");
    }
    refuses("dev completions csh\n2: did you mean 'zsh'? (one of: bash, elvish, fish, powershell, zsh)");
}

#[test]
fn alone_it_shows_its_commands() {
    assert_eq!(Folder::new().bad("", 2).trim_end(), good("-h").trim_end());
}

/// What a command prints on a terminal of so many columns.
fn on_terminal(columns: u32, variables: &[(&str, &str)], arguments: &str) -> String {
    let command =
        format!("stty cols {columns} rows 24; {} {arguments} 2>/dev/null", env!("CARGO_BIN_EXE_ckselect"));
    let mut script = Command::new("script");
    script.args(["-qec", &command, "/dev/null"]).env("TERM", "xterm").env_remove("NO_COLOR");
    let output = script.envs(variables.iter().copied()).output().unwrap();
    String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n")
}

#[test]
fn tables_fit_a_terminal_but_kernels_keep_their_names() {
    let pool = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/forward_bf16.txt");
    let asked = format!(
        "rank --model estimate --arch gfx942 --pool {pool} --top 2 --problem C=64,K=64,Hi=56,Wi=56,Y=3,X=3"
    );
    let plain = good(&asked);
    assert!(plain.contains("grouped_conv_forward_bf16_2d_") && !plain.contains(['…', '\u{1b}']), "{plain}");
    let unstyled = |text: &str| text.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "");
    let narrow = on_terminal(40, &[], &asked);
    assert!(narrow.starts_with("\u{1b}[1m") && unstyled(&narrow) == plain, "{narrow}");
    let listed = "inspect --model embedded:";
    let widest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap();
    let cut = on_terminal(80, &[], listed);
    assert!(cut.contains('…') && widest(&unstyled(&cut)) < widest(&good(listed)), "{cut}");
    // With room for all, and without colours, it is what a file gets.
    for plain_by in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        assert_eq!(on_terminal(400, &[plain_by], &asked), plain, "{plain_by:?}");
    }
    assert!(on_terminal(400, &[("NO_COLOR", "")], &asked).starts_with("\u{1b}[1m"));
    // Other formats are for programs.
    let csv = format!("{asked} --format csv");
    assert_eq!(on_terminal(40, &[], &csv), good(&csv));
}

#[test]
fn the_markdown_of_a_model_has_its_three_tables() {
    let printed = good(&format!("inspect --model {MODEL} --format markdown"));
    let heads: Vec<&str> = printed.split("\n\n").filter_map(|table| table.split(" | ").next()).collect();
    assert_eq!(heads, ["| property", "| target", "| feature"], "{printed}");
}

/// Upstream's words were answered with whatever is spelled like them (31b4e849).
#[test]
fn upstreams_options_name_ours() {
    refuses(
        "train --n_splits 5
            2: upstream's --n_splits is --folds here
        train --n_splits=5 --data a.csv
            2: upstream's --n_splits is --folds here
        shapes --set synthetic --variant forward
            2: upstream's --variant is --direction
        convert --input a.csv
            2: --input is not needed: `ckselect convert FILE --output FILE`
        train --tune 3
            2: --tune is not needed: --params sets parameters
        doctor --n_splits 5
            2: unexpected argument '--n_splits'",
    );
}

/// The parser of command lines had a form of its own, in colours and over up to seven lines.
#[test]
fn every_error_is_a_line_that_begins_with_the_programs_name() {
    for (line, message) in [
        ("rank --modle x", "unexpected argument '--modle' found; did you mean '--model'?"),
        ("rnak", "unrecognized subcommand 'rnak'; did you mean 'rank'?"),
        ("enumerate", "the following required arguments were not provided: <CONFIG.json|FAMILY>"),
        (
            "doctor --format tbale",
            "invalid value 'tbale' for '--format <FORMAT>'; did you mean 'table'? (one of: table, markdown, csv, \
             json)",
        ),
        (
            "doctor --format x",
            "invalid value 'x' for '--format <FORMAT>', expected one of: table, markdown, csv, json",
        ),
        (
            "rank --pool a --problem b --problems c",
            "the argument '--problem <PAIRS>' cannot be used with '--problems <FILE>'",
        ),
        (
            "rank --pool configs/forward_bf16.txt --arch gfx950 --problem n=1",
            "--problem: grouped_conv problems have no field 'n'; did you mean 'N'? (one of: direction, ",
        ),
        ("shapes --set synthetic --variant forward", "upstream's --variant is --direction here"),
    ] {
        let said = Folder::new().bad(line, 2);
        assert!(
            said.starts_with(&format!("ckselect: {message}")) && said.lines().count() == 1,
            "{line}: {said}"
        );
    }
}

#[test]
fn a_mistyped_word_is_answered_with_the_nearest() {
    let rank = |more: &str| {
        let ran = Folder::new().run(&format!("rank --pool {POOL} {more}"));
        assert_ne!(ran.code, Some(0), "{more}");
        ran.stderr
    };
    let asked = format!("--problem {PROBLEM}");
    for (more, meant) in [
        (format!("--model {MODEL} --problem C=64,strideh=2"), "stride_h"),
        (format!("--model {MODEL} --problem n=64"), "N"),
        (format!("--model {MODEL} --problem C=64,direction=forwrad"), "forward"),
        (format!("--model {MODEL} --problem C=64,dtype=bf61"), "bf16"),
        (format!("--model embedded:universl --arch gfx942 {asked}"), "universal"),
        (format!("--model grouped_conv_forward_bf16_gfx950 {asked}"), MODEL),
        (format!("--model no/univresal {asked}"), "embedded:universal"),
        (format!("--model {MODEL} --arch gx942 {asked}"), "gfx942"),
    ] {
        let said = rank(&more);
        assert!(said.contains(&format!("did you mean '{meant}'?")), "{more}: {said}");
    }
    assert!(!rank(&format!("--model elsewhere/mine {asked}")).contains("did you mean"));
    let kernel = "grouped_conv_forward_bf16_2d_64x128x64_compv3";
    let near = kernel.replace("64x128", "64x12");
    // Commands and options are clap's.
    refuses(&format!(
        "explain --model {MODEL} --pool {POOL} {asked} --first {near}
            2: ; did you mean '{kernel}'?
        rnak
            2: unrecognized subcommand
        rnak
            2: 'rank'
        rank --modle x
            2: '--model'"
    ));
}
