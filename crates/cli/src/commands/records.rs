//! The commands, a record each: from it come the command line, its help by group, completions, manual pages
//! and the dispatch.

use std::fmt::Write as _;

use clap::{ArgMatches, Args as _, Command, FromArgMatches as _};

use crate::error::CliError;

/// The purposes by which help groups commands, in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    Choose,
    Measure,
    Learn,
    Look,
    Manage,
    /// Part of the command `dev`.
    Developer,
    /// Started by a sweep, not by people.
    Hidden,
}

/// A command.
struct Record {
    name: &'static str,
    group: Group,
    /// Adds what its `Args` declare: options, description and examples.
    build: fn(Command) -> Command,
    /// The options that `-h` shows besides the required ones; all of them if this is empty.
    needed: &'static str,
    run: fn(&ArgMatches) -> Result<(), CliError>,
}

macro_rules! record {
    ($group:ident $name:literal $($module:ident)::+ $(, $needed:literal)?) => {
        Record {
            name: $name,
            group: Group::$group,
            build: |command| super::$($module)::+::Args::augment_args(command),
            needed: concat!($($needed)?),
            run: |matches| {
                let args = super::$($module)::+::Args::from_arg_matches(matches);
                super::$($module)::+::run(&args.map_err(CliError::usage)?)
            },
        }
    };
}

const CHOOSE: &[Record] = &[
    record!(Choose "rank" rank, "model pool problem problems arch top format output"),
    record!(Choose "explain" explain, "model pool problem arch first second all output"),
];

#[cfg(feature = "offline")]
const OFFLINE: &[Record] = &[
    record!(Measure "enumerate" enumerate, "arch params filter valid-only list count output"),
    record!(Measure "shapes" shapes, "set params list direction dtype count output"),
    record!(Measure "bench" bench, "pool problems output runner resume cutoff order budget dry-run"),
    record!(Measure "report" report, "arch output keep"),
    record!(Learn "convert" convert, "output arch where rejects strict"),
    record!(Learn "train" train, "data output arch where objective params folds"),
    record!(Learn "tune" tune, "simulate runner pool problems arch work budget measure output"),
    record!(Learn "evaluate" evaluate, "model pool data arch against require output"),
    record!(Developer "features" dev::features, "engine model data output list"),
    record!(Developer "pack" dev::pack),
    record!(Developer "completions" dev::completions),
    record!(Developer "man" dev::man),
    record!(Hidden "bench-guard" bench::guard),
    record!(Hidden "bench-worker" bench::worker),
];
#[cfg(not(feature = "offline"))]
const OFFLINE: &[Record] = &[];

const MANAGE: &[Record] = &[
    record!(Look "inspect" inspect),
    record!(Look "doctor" doctor),
    record!(Manage "store" store),
    #[cfg(feature = "offline")]
    record!(Manage "uhd" uhd),
];

/// All commands, in the order in which errors and completions show them.
fn records() -> impl Iterator<Item = &'static Record> {
    CHOOSE.iter().chain(OFFLINE).chain(MANAGE)
}

/// The commands of some groups.
fn commands(of: impl Fn(Group) -> bool) -> impl Iterator<Item = Command> {
    let built = |record: &Record| {
        let command = (record.build)(Command::new(record.name));
        brief(command, record.needed).hide(record.group == Group::Hidden)
    };
    records().filter(move |record| of(record.group)).map(built)
}

/// The command with two helps: `--help` has everything, `-h` what most calls need, each option in a sentence.
fn brief(command: Command, needed: &str) -> Command {
    let needed: Vec<&str> = needed.split_whitespace().collect();
    let mut command = command.mut_args(|arg| {
        let is_needed = needed.is_empty()
            || arg.is_positional()
            || arg.get_long().is_some_and(|long| needed.contains(&long));
        let full = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let sentence = full.split_inclusive(". ").next().unwrap_or_default();
        let sentence = sentence.strip_suffix(". ").unwrap_or(sentence).to_owned();
        arg.help(sentence).long_help(full).hide_short_help(!is_needed)
    });
    if let Some(full) = command.get_after_help().map(ToString::to_string) {
        command = command.after_help(first_example(&full)).after_long_help(full);
    }
    command
}

/// The heading and the first example of a help's end.
fn first_example(text: &str) -> String {
    let mut lines = text.lines();
    let mut example: Vec<&str> = lines.by_ref().take(2).collect();
    while example.last().is_some_and(|line| line.ends_with('\\')) {
        example.extend(lines.next());
    }
    example.join("\n").replacen("Examples:", "Example:", 1)
}

/// The command `dev`, if any of its commands is built.
fn developer() -> Option<Command> {
    let command = Command::new("dev")
        .about("What developers and packagers need: rows of features, packed models, manual pages")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(commands(|group| group == Group::Developer));
    command.has_subcommands().then_some(command)
}

/// The command line.
pub(crate) fn line() -> Command {
    Command::new("ckselect")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Choose the fastest GPU kernel for a problem without trying them all")
        .help_template(format!(
            "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{}\nOptions:\n{{options}}",
            groups()
        ))
        .max_term_width(110)
        .subcommand_required(true)
        .subcommands(commands(|group| group != Group::Developer))
        .subcommands(developer())
}

/// The commands by group, for the help.
fn groups() -> String {
    let mut text = String::new();
    for (group, title) in [
        (Group::Choose, "Choose a kernel"),
        (Group::Measure, "Measure kernels"),
        (Group::Learn, "Learn from measurements"),
        (Group::Look, "Look at models and machines"),
        (Group::Manage, "Manage"),
    ] {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{title}:");
        let last = if group == Group::Manage { developer() } else { None };
        for command in commands(|other| other == group).chain(last) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {:<11}{about}", command.get_name());
        }
    }
    text
}

/// Runs the command of a command line.
pub(crate) fn run(matches: &ArgMatches) -> Result<(), CliError> {
    let Some((name, inner)) = matches.subcommand() else { return Ok(()) };
    match records().find(|record| record.name == name) {
        Some(record) => (record.run)(inner),
        None => run(inner),
    }
}

#[cfg(all(test, feature = "offline"))]
mod tests {
    use super::*;

    /// All commands that help shows.
    fn all(command: &Command) -> Vec<Command> {
        let inner = command.get_subcommands().filter(|command| !command.is_hide_set());
        std::iter::once(command.clone()).chain(inner.flat_map(all)).collect()
    }

    /// 26 commands stood in no order (68e138ef).
    #[test]
    fn people_see_at_most_18_commands_on_one_screen() {
        let shown = line().get_subcommands().filter(|command| !command.is_hide_set()).count();
        let help = line().render_help().to_string();
        assert!(shown <= 18 && help.lines().count() <= 31, "{shown}\n{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    }

    /// There were 290, in which the same thing had up to three names (83f7152c).
    #[test]
    fn all_commands_together_have_at_most_170_options() {
        let shown = |arg: &&clap::Arg| arg.get_long().is_some() && !arg.is_hide_set();
        let commands = all(&line());
        let options = commands.iter().flat_map(Command::get_arguments).filter(shown).count();
        assert!(options <= 170, "{options}");
    }

    /// The help of `bench` had 95 lines, in which what one needs was hard to find (228e5a74).
    #[test]
    fn a_short_help_fits_on_a_screen() {
        for record in records() {
            let command = (record.build)(Command::new(record.name));
            for name in record.needed.split_whitespace() {
                let has = command.get_arguments().any(|arg| arg.get_long() == Some(name));
                assert!(has, "{} has no --{name}", record.name);
            }
        }
        for mut command in all(&line()) {
            let help = command.render_help().to_string();
            let most = if command.get_name() == "ckselect" { 31 } else { 30 };
            assert!(help.trim_end().lines().count() <= most, "{help}");
            let is_unseen = |arg: &&clap::Arg| arg.is_required_set() && arg.is_hide_short_help_set();
            assert!(command.get_arguments().find(is_unseen).is_none(), "{help}");
        }
    }

    /// The command lines in the documents' blocks of code.
    fn documented() -> Vec<String> {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let docs = std::fs::read_dir(root.join("docs")).unwrap().map(|file| file.unwrap().path());
        let others = ["README.md", "CONTRIBUTING.md", "data/h100/README.md", "data/h200/README.md"];
        let mut lines = Vec::new();
        for file in docs.chain(others.map(|name| root.join(name))) {
            let is_page = file.extension().is_some_and(|end| end == "md");
            let Some(text) = is_page.then(|| std::fs::read_to_string(&file).ok()).flatten() else { continue };
            let text = text.replace("\\\n", " ");
            let commands = text.lines().map(|line| line.strip_prefix("$ ").unwrap_or(line));
            // What the shell fills in, and its comments, are not ours.
            let commands = commands.filter(|line| line.starts_with("ckselect ") && !line.contains("$("));
            lines.extend(commands.map(|line| line.split(" #").next().unwrap_or_default().to_owned()));
        }
        lines
    }

    /// The examples of a help. Without a terminal, it is wrapped at 100 columns.
    fn examples(command: &Command) -> Vec<String> {
        let after = command.get_after_long_help().or(command.get_after_help());
        let after = after.map(ToString::to_string).unwrap_or_default();
        assert!(after.lines().all(|line| !line.starts_with(' ') || line.chars().count() <= 100), "{after}");
        let after = after.replace("\\\n", " ");
        let lines = after.lines().filter(|line| line.starts_with("  ckselect "));
        lines.map(|line| line.trim().to_owned()).collect()
    }

    /// An example must not go stale.
    #[test]
    fn every_example_is_a_command_line() {
        let words = |example: &str| -> Vec<String> {
            let ends = [" | ", " > ", " && ", " >"].into_iter().filter_map(|end| example.find(end));
            let example = &example[..ends.min().unwrap_or(example.len())];
            let mut quote = None;
            let is_gap = |c: char| match quote {
                None if ['\'', '"'].contains(&c) => {
                    quote = Some(c);
                    false
                }
                None => c == ' ',
                Some(open) => {
                    quote = quote.filter(|_| c != open);
                    false
                }
            };
            let words = example.split(is_gap).map(|word| word.trim_matches(['\'', '"']).to_owned());
            words.filter(|word| !word.is_empty()).collect()
        };
        let mut examples: Vec<String> = all(&line()).iter().flat_map(examples).collect();
        assert!(examples.len() > 60, "{}", examples.len());
        examples.extend(documented());
        assert!(examples.len() > 100, "{}", examples.len());
        for example in examples {
            // Models, pools and sweeps need not exist to be understood.
            if let Err(error) = line().try_get_matches_from(words(&example)) {
                panic!("{example}\n{error}");
            }
        }
    }
}
