//! What an installation makes of the command line: manual pages, and completions as a shell uses them.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{good, run};

/// The commands that a help lists.
fn listed(help: &str) -> Vec<&str> {
    let commands = help.split("Options:\n").next().unwrap();
    let names = commands.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty() && *name != "help").collect()
}

#[test]
fn every_command_has_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("share/man1");
    let pages = pages.to_str().unwrap();
    // Twice: a newer version replaces what is there.
    assert_eq!(good(&format!("dev man {pages}")), "");
    fs::write(Path::new(pages).join("ckselect.1"), "old").unwrap();
    assert_eq!(good(&format!("dev man {pages}")), "");

    let mut expected = vec!["ckselect.1".to_owned()];
    let help = good("--help");
    expected.extend(listed(&help).iter().map(|name| format!("ckselect-{name}.1")));
    for command in ["store", "uhd", "dev"] {
        let help = good(&format!("{command} --help"));
        expected.extend(listed(&help).iter().map(|name| format!("ckselect-{command}-{name}.1")));
    }
    expected.sort();
    let found = fs::read_dir(pages).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut found: Vec<_> = found.collect();
    found.sort();
    assert_eq!(found, expected);
    assert!(found.len() > 24, "{found:?}");

    let version = env!("CARGO_PKG_VERSION");
    for file in &found {
        let page = fs::read_to_string(Path::new(pages).join(file)).unwrap();
        let name = file.strip_suffix(".1").unwrap();
        assert!(page.contains(&format!(".TH {name} 1  \"ckselect {version}\" ck-select\n")), "{page}");
        assert_eq!(
            page.contains(".SH EXAMPLES\n.nf\n"),
            !["ckselect", "ckselect-dev"].contains(&name),
            "{page}"
        );
    }
    let rank = fs::read_to_string(Path::new(pages).join("ckselect-rank.1")).unwrap();
    assert!(
        rank.contains("\\-\\-problem") && rank.contains("  ckselect rank \\-\\-model models/M"),
        "{rank}"
    );
}

#[test]
fn pages_go_only_into_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "kept").unwrap();
    let (code, printed, said) = run(&format!("dev man {}", file.display()));
    assert_eq!((code, printed.as_str()), (Some(1), ""));
    assert!(said.starts_with(&format!("ckselect: {}: ", file.display())), "{said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "kept");
}

#[test]
fn bash_completes() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("ckselect");
    fs::write(&script, good("dev completions bash")).unwrap();
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
        let output = Command::new("bash").args(["-c", &ask]).arg(&script).output().unwrap();
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
    let (code, printed, said) = run("dev completions csh");
    assert_eq!((code, printed.as_str()), (Some(2), ""));
    assert!(said.contains("[possible values: bash, elvish, fish, powershell, zsh]"), "{said}");
}

#[test]
fn alone_it_shows_its_commands() {
    let (code, printed, said) = run("");
    assert_eq!((code, printed.as_str()), (Some(2), ""));
    assert_eq!(said.trim_end(), good("-h").trim_end());
}

/// What a command prints on a terminal of so many columns; `None` where there is no `script`, which makes
/// terminals.
fn on_terminal(columns: u32, variables: &[(&str, &str)], arguments: &str) -> Option<String> {
    let command =
        format!("stty cols {columns} rows 24; {} {arguments} 2>/dev/null", env!("CARGO_BIN_EXE_ckselect"));
    let mut script = Command::new("script");
    script.args(["-qec", &command, "/dev/null"]).env("TERM", "xterm").env_remove("NO_COLOR");
    let output = script.envs(variables.iter().copied()).output().ok()?;
    Some(String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n"))
}

#[test]
fn tables_fit_a_terminal_and_nothing_else_is_cut() {
    let pool = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/forward_bf16.txt");
    let asked = format!(
        "rank --model estimate --arch gfx942 --pool {pool} --top 2 --problem C=64,K=64,Hi=56,Wi=56,Y=3,X=3"
    );
    let plain = good(&asked.split(' ').collect::<Vec<_>>());
    assert!(plain.contains("grouped_conv_forward_bf16_2d_") && !plain.contains(['…', '\u{1b}']), "{plain}");
    let Some(narrow) = on_terminal(100, &[], &asked) else {
        say_skipped();
        return;
    };
    let widest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(narrow.starts_with("\u{1b}[1m") && narrow.contains('…'), "{narrow}");
    assert!(widest(&narrow.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "")) < widest(&plain), "{narrow}");
    // With room for all, and without colours, it is what a file gets.
    for plain_by in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        assert_eq!(on_terminal(400, &[plain_by], &asked).unwrap(), plain, "{plain_by:?}");
    }
    assert!(on_terminal(400, &[("NO_COLOR", "")], &asked).unwrap().starts_with("\u{1b}[1m"));
    // Other formats are for programs.
    let csv = format!("{asked} --format csv");
    assert_eq!(on_terminal(40, &[], &csv).unwrap(), good(&csv.split(' ').collect::<Vec<_>>()));
}

fn say_skipped() {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), b"no `script`: terminals were not tried\n");
}

#[test]
fn markdown_is_a_table_of_a_page() {
    let pool = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/forward_bf16.txt");
    let problem = "C=64,K=64,Hi=56,Wi=56,Y=3,X=3";
    let model = "embedded:grouped_conv_forward_bf16_gfx950";
    for arguments in [
        &["rank", "--model", model, "--pool", pool, "--problem", problem, "--top", "2"][..],
        &["explain", "--model", model, "--pool", pool, "--problem", problem],
        &["inspect", "--model", model],
        &["doctor"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_ckselect"))
            .args(arguments)
            .args(["--format", "markdown"])
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let tables: Vec<&str> = printed.trim_end().split("\n\n").collect();
        assert_eq!(tables.len(), if arguments[0] == "inspect" { 3 } else { 1 }, "{printed}");
        for table in tables {
            let columns = |line: &str| line.replace("\\|", "").matches('|').count();
            let mut lines = table.lines();
            let head = lines.next().unwrap();
            let rule = lines.next().unwrap();
            assert!(head.starts_with("| ") && rule.starts_with("|---"), "{table}");
            assert!(rule.chars().all(|sign| "|-:".contains(sign)), "{table}");
            assert!(table.lines().all(|line| columns(line) == columns(head)), "{table}");
            assert!(table.lines().count() > 2, "{table}");
        }
    }
}

/// Removed words and upstream's were answered with whatever is spelled like them.
#[test]
fn words_that_are_not_ours_name_their_successor() {
    for (line, message) in [
        ("train --n_splits 5", "upstream's --n_splits is --folds here"),
        ("train --n_splits=5 --data a.csv", "upstream's --n_splits is --folds here"),
        ("shapes --set synthetic --variant forward", "upstream's --variant is --direction"),
        ("convert --input a.csv", "--input is not needed: `ckselect convert FILE --output FILE`"),
        (
            "predict --model m -k 64",
            "predict is now `ckselect dev predict`, for rows of features; `ckselect rank`",
        ),
        ("dev predict --model m -k 64", "-k is for `ckselect rank --model DIR --pool FILE --problem"),
        ("curve --data a.csv", "curve is now `ckselect tune --simulate FILE --counts`"),
        ("pack --model a", "pack is now `ckselect dev pack`"),
        ("validate --model a.csv", "validate is now `ckselect evaluate`, with --require"),
        ("import a.csv", "import is removed"),
        ("bench --within 1.35x", "--within FACTOR is now --order estimate:FACTORx"),
        ("train --tune 3", "--tune is removed"),
    ] {
        let (code, out, error) = run(&line.split(' ').collect::<Vec<_>>());
        assert_eq!((code, out.as_str()), (Some(2), ""), "{line}");
        assert!(error.starts_with("ckselect: ") && error.contains(message), "{line}: {error}");
    }
    // What is ours elsewhere stays an ordinary mistake.
    let (code, _, error) = run("doctor --n_splits 5");
    assert!(code == Some(2) && error.contains("unexpected argument '--n_splits'"), "{error}");
}

#[test]
fn a_mistyped_word_is_answered_with_the_nearest() {
    let pool = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/forward_bf16.txt");
    let model = "embedded:grouped_conv_forward_bf16_gfx950";
    let problem = "C=64,K=64,Hi=56,Wi=56,Y=3,X=3";
    let rank = |more: &[&str]| {
        let (code, _, said) = run(&[&["rank", "--pool", pool], more].concat());
        assert_ne!(code, Some(0), "{more:?}");
        said
    };
    for (more, meant) in [
        (&["--model", model, "--problem", "C=64,strideh=2"][..], "stride_h"),
        (&["--model", model, "--problem", "C=64,direction=forwrad"], "forward"),
        (&["--model", model, "--problem", "C=64,dtype=bf61"], "bf16"),
        (&["--model", "embedded:universl", "--arch", "gfx942", "--problem", problem], "universal"),
        (&["--model", "grouped_conv_forward_bf16_gfx950", "--problem", problem], model),
        (&["--model", "no/univresal", "--problem", problem], "embedded:universal"),
        (&["--model", model, "--arch", "gx942", "--problem", problem], "gfx942"),
    ] {
        let said = rank(more);
        assert!(said.contains(&format!("did you mean '{meant}'?")), "{more:?}: {said}");
    }
    assert!(!rank(&["--model", "elsewhere/mine", "--problem", problem]).contains("did you mean"));
    let kernel = "grouped_conv_forward_bf16_2d_64x128x64_compv3";
    let (_, _, said) = run(&[
        "explain",
        "--model",
        model,
        "--pool",
        pool,
        "--problem",
        problem,
        "--first",
        &kernel.replace("64x128", "64x12"),
    ]);
    assert!(said.contains(&format!("; did you mean '{kernel}'?")), "{said}");
    // Commands and options are clap's.
    assert!(run("rnak").2.contains("'rank'") && run("rank --modle x").2.contains("'--model'"));
}
