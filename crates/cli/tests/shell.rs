//! What an installation makes of the command line: manual pages, and completions as a shell uses them.

use std::fs;
use std::path::Path;
use std::process::Command;

fn ckselect(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_ckselect")).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn good(arguments: &[&str]) -> String {
    let (code, printed, said) = ckselect(arguments);
    assert_eq!((code, said.as_str()), (Some(0), ""), "{arguments:?}");
    printed
}

/// The commands that a help lists.
fn listed(help: &str) -> Vec<&str> {
    let commands = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = commands.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty() && *name != "help").collect()
}

#[test]
fn every_command_has_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("share/man1");
    let pages = pages.to_str().unwrap();
    // Twice: a newer version replaces what is there.
    assert_eq!(good(&["man", pages]), "");
    fs::write(Path::new(pages).join("ckselect.1"), "old").unwrap();
    assert_eq!(good(&["man", pages]), "");

    let mut expected = vec!["ckselect.1".to_owned()];
    let help = good(&["--help"]);
    let store = good(&["store", "--help"]);
    expected.extend(listed(&help).iter().map(|name| format!("ckselect-{name}.1")));
    expected.extend(listed(&store).iter().map(|name| format!("ckselect-store-{name}.1")));
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
        assert_eq!(page.contains(".SH EXAMPLES\n.nf\n"), name != "ckselect", "{page}");
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
    let (code, printed, said) = ckselect(&["man", file.to_str().unwrap()]);
    assert_eq!((code, printed.as_str()), (Some(1), ""));
    assert!(said.starts_with(&format!("ckselect: {}: ", file.display())), "{said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "kept");
}

#[test]
fn bash_completes() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("ckselect");
    fs::write(&script, good(&["completions", "bash"])).unwrap();
    for (line, offered, not_offered) in [
        ("ckselect ra", "rank", "evaluate"),
        ("ckselect bench", "bench", "bench-guard"),
        ("ckselect rank --mod", "--model", "--pool"),
        ("ckselect store pr", "prune", "merge"),
        ("ckselect merge --on-conflict fas", "fastest", "first"),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let last = words.len() - 1;
        let ask = format!(
            "source \"$0\"; COMP_WORDS=({line}); COMP_CWORD={last}; _ckselect ckselect {} {}; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
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
        let script = good(&["completions", shell]);
        assert!(script.starts_with(first) && script.contains("on-conflict"), "{script}");
        assert!(!script.contains("bench-guard"), "{shell}");
    }
    let (code, printed, said) = ckselect(&["completions", "csh"]);
    assert_eq!((code, printed.as_str()), (Some(2), ""));
    assert!(said.contains("[possible values: bash, elvish, fish, powershell, zsh]"), "{said}");
    for command in ["completions", "man"] {
        assert!(good(&[command, "--help"]).contains("Examples:\n  ckselect "), "{command}");
    }
}
