//! Captured problems: as the environment says, by many processes at once, through kills, and at no cost when
//! repeated.
//!
//! The children are this test program again: `child` does nothing unless the environment names a task.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use ck_select::kernel::Kernel;
use ck_select::listing::ProblemList;
use ck_select::problem::{ConvProblem, Problem, ProblemDefaults};
use ck_select::registry::{Options, Registry};
use ck_select::vocab::Op;

use ck_select_testing::counting::ALLOCATIONS;

const VARIABLE: &str = "CK_SELECT_CAPTURE";
const TASK: &str = "CK_SELECT_TEST_TASK";
const FIRST: &str = "CK_SELECT_TEST_FIRST";
const KERNEL: &str = "grouped_conv_forward_bf16_2d_64x64x64_compv3";

fn problem(n: i64) -> Problem {
    ConvProblem { n, c: 64, k: 64, ..ConvProblem::new_2d([28, 28], [3, 3]) }.into()
}

fn registry(path: &Path) -> Registry {
    let options = Options { capture: Some(path.to_owned()), ..Options::default() };
    crate::common::of_kernels(options, [Kernel::from_name(KERNEL).unwrap()])
}

struct Captured {
    problems: Vec<Problem>,
    others: u64,
    torn: u64,
}

fn read(path: &Path) -> Captured {
    let (op, text) = (Op::Conv, fs::read(path).unwrap());
    let list = ProblemList::parse("capture", &text, op, &ProblemDefaults::new(op)).unwrap();
    let problems = list.problems.iter().map(|listed| listed.problem).collect();
    Captured { problems, others: list.passed.others, torn: list.passed.torn }
}

fn spawn(task: &str, path: &Path, first: i64) -> Child {
    let mut command = crate::common::child("capture::child");
    command.env(TASK, task).env(VARIABLE, path).env(FIRST, first.to_string()).env("CK_SELECT_LOG", "off");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().unwrap()
}

/// Selects `count` problems from `first` on, each twice.
fn select(first: i64, count: i64) {
    let options = Options::default().with_environment(|name| std::env::var_os(name)).unwrap();
    let registry = crate::common::of_kernels(options, [Kernel::from_name(KERNEL).unwrap()]);
    for n in (first..first + count).chain(first..first + count) {
        registry.select(&problem(n)).unwrap();
    }
}

#[test]
fn child() {
    let Ok(task) = std::env::var(TASK) else { return };
    let first: i64 = std::env::var(FIRST).unwrap().parse().unwrap();
    match task.as_str() {
        "some" => select(first, 200),
        "endless" => {
            let mut first = first;
            loop {
                select(first, 500);
                first += 500;
            }
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_program_captures_what_the_environment_says() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen");
    assert!(spawn("some", &path, 1).wait().unwrap().success());
    let first = fs::read_to_string(&path).unwrap();
    let list = read(&path);
    assert_eq!((list.torn, first.lines().count()), (0, 200));
    assert_eq!(list.problems, (1..=200).map(problem).collect::<Vec<_>>());
    // The same again, and then some more: only those are new.
    assert!(spawn("some", &path, 1).wait().unwrap().success());
    assert_eq!(fs::read_to_string(&path).unwrap(), first);
    assert!(spawn("some", &path, 101).wait().unwrap().success());
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 300);
}

#[test]
fn a_repeated_problem_touches_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen");
    let registry = registry(&path);
    let problems: Vec<Problem> = (1..=3000).map(problem).collect();
    // More problems than the decision cache has places, so that the second round decides anew.
    for problem in &problems {
        registry.select(problem).unwrap();
    }
    let state = |path: &Path| {
        let metadata = fs::metadata(path).unwrap();
        (metadata.len(), metadata.mtime(), metadata.mtime_nsec(), metadata.atime(), metadata.atime_nsec())
    };
    let before = state(&path);
    let allocations = ALLOCATIONS.get();
    for problem in &problems {
        registry.select(problem).unwrap();
    }
    assert_eq!(ALLOCATIONS.get(), allocations);
    assert_eq!(state(&path), before);
    assert_eq!(read(&path).problems, problems);
}

/// Other registries of the process, new options, rankings, and problems that no kernel can run.
#[test]
fn every_distinct_problem_is_there_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen");
    let (one, two) = (registry(&path), registry(&path));
    let gemm: Problem = ck_select::problem::GemmProblem::new(1, 2, 3).into();
    one.select(&problem(1)).unwrap();
    two.select(&problem(1)).unwrap();
    two.select(&problem(2)).unwrap();
    assert!(one.select(&gemm).is_err() && one.rank(&problem(3)).is_err());
    assert!(one.select(&problem(0)).is_err(), "no problem at all");
    assert_eq!(read(&path).problems, [problem(1), problem(2), problem(3)]);
    assert_eq!(read(&path).others, 1, "{gemm}");
    one.set_options(Options::default()).unwrap();
    one.select(&problem(4)).unwrap();
    assert_eq!(read(&path).problems, [problem(1), problem(2), problem(3)]);
    let other = folder.path().join("other");
    one.set_options(Options { capture: Some(other.clone()), ..Options::default() }).unwrap();
    one.select(&problem(4)).unwrap();
    assert_eq!(read(&other).problems, [problem(4)]);
    let options = Options { capture: Some(folder.path().to_owned()), ..Options::default() };
    let error = Registry::new(options).unwrap_err().to_string();
    assert!(error.starts_with(&format!("capture: {}: ", folder.path().display())), "{error}");
}

#[test]
fn somebody_elses_file_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let pool = format!("{KERNEL}\n");
    let rule = format!("C=64,K=64,Hi=28,Wi=28,Y=3,X=3 -> {KERNEL}\n");
    for text in [pool.as_str(), KERNEL, &rule, "C,K,Hi,Wi,Y,X\n64,64,28,28,3,3\n", "\u{0}\u{1}"] {
        fs::write(&path, text).unwrap();
        assert!(registry(&path).select(&problem(1)).is_ok());
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    for text in ["", "# ours\n", "direction=forward,ndim=2,N=1"] {
        fs::write(&path, text).unwrap();
        assert!(registry(&path).select(&problem(1)).is_ok());
        assert_eq!(read(&path).problems, [problem(1)], "{text}");
    }
}

#[test]
fn many_processes_lose_nothing_and_tear_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen");
    // Overlapping ranges: most problems are met by two processes at about the same time.
    let children: Vec<Child> = (0..8).map(|at| spawn("some", &path, 1 + 100 * at)).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let list = read(&path);
    assert_eq!((list.problems.len(), list.torn), (900, 0));
}

#[test]
fn kills_lose_at_most_the_line_in_flight() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen");
    for round in 0..12u64 {
        let children: Vec<Child> = (0..3).map(|at| spawn("endless", &path, 1 + 100_000 * at)).collect();
        let before = fs::metadata(&path).map_or(0, |metadata| metadata.len());
        // Killed while they write, each time at another moment.
        while fs::metadata(&path).map_or(0, |metadata| metadata.len()) < before + 1 + 3000 * round
            && fs::read_to_string(&path).map_or(0, |text| text.lines().count()) < 60_000
        {
            std::thread::sleep(Duration::from_millis(1));
        }
        for mut child in children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
    // Half a line at the end, as a crash of the machine leaves it.
    let mut text = fs::read_to_string(&path).unwrap();
    let written = read(&path);
    text.push_str("direction=forward,ndim=2,N=9");
    fs::write(&path, &text).unwrap();
    assert_eq!(read(&path).problems, written.problems);
    // Without a gap: each process wrote its problems in order, whatever moment it was killed at.
    let mut numbers: Vec<i64> = written
        .problems
        .iter()
        .map(|problem| match problem {
            Problem::Conv(conv) => conv.n,
            _ => unreachable!(),
        })
        .collect();
    numbers.sort_unstable();
    for (at, &number) in numbers.iter().enumerate() {
        let begins = number % 100_000 == 1;
        assert!(begins || numbers[at - 1] == number - 1, "{number} without its predecessor");
    }
    // Who comes next ends the half line and goes on.
    assert!(spawn("some", &path, 5_000_001).wait().unwrap().success());
    let after = read(&path);
    assert_eq!(after.problems.len(), written.problems.len() + 200);
    assert_eq!(after.torn, written.torn + 1);
}
