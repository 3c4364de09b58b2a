//! The store under many processes, kills, and disks that refuse.
//!
//! The children are this test program again: `child` does nothing unless the environment names a task.

use std::collections::HashMap;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use ck_select::problem::{GemmProblem, Problem};
use ck_select::tuning::store::{Mode, Saved, Store, Winner};

use crate::common::scope;
use ck_select_testing::faulty_calls;

const TASK: &str = "CK_SELECT_TEST_TASK";
const PATH: &str = "CK_SELECT_TEST_PATH";
const RANK: &str = "CK_SELECT_TEST_RANK";

fn gemm(rank: u32, count: u32) -> Problem {
    GemmProblem::new(i64::from(rank) + 1, i64::from(count) + 1, 64).into()
}

/// A winner whose fields all follow from where it was written, so that a mixture of two would show.
fn winner(rank: u32, count: u32) -> Winner {
    Winner {
        median_ms: f64::from(count + 1) / 7.0,
        cv: f64::from(rank) / 13.0,
        repeats: count + 1,
        candidates: rank + 1,
        measured_at: 1_800_000_000 + u64::from(count),
        ..crate::common::winner(&format!("kernel_{rank}_{count}"))
    }
}

fn command(task: &str, path: &Path, rank: u32) -> Command {
    let mut command = crate::common::child("processes::child");
    command.env(TASK, task).env(PATH, path).env(RANK, rank.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    command
}

/// What a child says, line by line, without what the test harness says.
fn said(output: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(output);
    text.lines().filter_map(|line| line.split("@@").nth(1).map(str::to_owned)).collect()
}

fn say(line: &str) {
    // One write, past the harness's capture; the parent reads it even when this process dies right after it.
    std::io::stdout().write_all(format!("@@{line}\n").as_bytes()).unwrap();
    std::io::stdout().flush().unwrap();
}

#[test]
fn child() {
    let (Ok(task), Ok(path)) = (std::env::var(TASK), std::env::var(PATH)) else { return };
    let rank: u32 = std::env::var(RANK).unwrap().parse().unwrap();
    match task.as_str() {
        "forever" | "with prunes" => {
            let store = Store::open_with(&path, Mode::ReadWrite, Duration::from_secs(60)).unwrap();
            let winners = store.winners(scope()).unwrap();
            for count in 0.. {
                assert_eq!(winners.put(&gemm(rank, count), &winner(rank, count)), Ok(Saved::Disk));
                if task == "with prunes" && count % 3 == rank % 3 {
                    // A new file takes the place of the old one.
                    assert_eq!(store.remove(|_| false), Ok(0));
                }
                say(&count.to_string());
            }
        }
        "some" => {
            let winners = Store::open(&path, Mode::ReadWrite).unwrap().winners(scope()).unwrap();
            for count in 0..100 {
                winners.put(&gemm(rank, count), &winner(rank, count)).unwrap();
                // All ranks contend for this one.
                winners.put(&gemm(1000, 0), &winner(rank, count)).unwrap();
            }
        }
        "until full" => {
            let winners = Store::open(&path, Mode::ReadWrite).unwrap().winners(scope()).unwrap();
            for count in 0..100_000 {
                match winners.put(&gemm(rank, count), &winner(rank, count)) {
                    Ok(_) => say(&count.to_string()),
                    Err(error) => {
                        assert!(winners.snapshot().get(&gemm(rank, count)).is_some(), "kept in memory");
                        say(&format!("error: {error}"));
                        return;
                    }
                }
            }
        }
        "despite faults" => {
            match Store::open(&path, Mode::ReadWrite).and_then(|store| store.winners(scope())) {
                Err(error) => say(&format!("error: {error}")),
                Ok(winners) => {
                    for count in 0..20 {
                        if winners.put(&gemm(rank, count), &winner(rank, count)) == Ok(Saved::Disk) {
                            say(&count.to_string());
                        }
                        assert!(winners.snapshot().get(&gemm(rank, count)).is_some(), "kept in memory");
                    }
                    say("opened");
                }
            }
        }
        "locked out" => match Store::open(&path, Mode::ReadWrite) {
            Err(error) => say(&format!("error: {error}")),
            Ok(store) => {
                let winners = store.winners(scope()).unwrap();
                say(&format!("winners: {}", winners.snapshot().count()));
                let error = winners.put(&gemm(9, 9), &winner(9, 9)).unwrap_err();
                say(&format!("put: {error}"));
                say(&format!("winners: {}", winners.snapshot().count()));
            }
        },
        other => panic!("{other}"),
    }
}

fn stored(path: &Path) -> HashMap<Problem, Winner> {
    let store = Store::open(path, Mode::ReadWrite).unwrap();
    store.check().unwrap();
    let (records, unreadable) = store.records().unwrap();
    assert_eq!(unreadable, 0);
    records.into_iter().map(|record| (record.problem, record.winner)).collect()
}

/// What is stored when so many processes have written a hundred winners each, and one that all contend for.
fn written_by(processes: u32, change: impl Fn(&mut Command)) -> HashMap<Problem, Winner> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    // They also race for making the file.
    let spawned = |rank| {
        let mut child = command("some", &path, rank);
        change(&mut child);
        child.spawn().unwrap()
    };
    let children: Vec<_> = (0..processes).map(spawned).collect();
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    let stored = stored(&path);
    assert_eq!(stored.len(), processes as usize * 100 + 1);
    for rank in 0..processes {
        assert!((0..100).all(|count| stored[&gemm(rank, count)] == winner(rank, count)), "{rank}");
    }
    stored
}

#[test]
fn many_processes_write_at_once() {
    let stored = written_by(8, |_| ());
    let contended = &stored[&gemm(1000, 0)];
    assert_eq!(contended, &winner(contended.candidates - 1, contended.repeats - 1));
}

/// Eight processes write as fast as they can, each is killed after a while and replaced, `kills` times in
/// all. Whatever a process had reported as put must be there afterwards.
fn kill_writers(task: &str, kills: u32) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let slots = 8;
    let promised: Vec<(u32, u32)> = std::thread::scope(|threads| {
        let slot = |slot: u32| {
            let path = path.clone();
            threads.spawn(move || {
                let mut promised = Vec::new();
                for rank in (0..kills).filter(|rank| rank % slots == slot) {
                    let mut child = command(task, &path, rank).spawn().unwrap();
                    let mut lines = BufReader::new(child.stdout.take().unwrap());
                    // Most die at any moment of their writing, some while they open or recover the file.
                    let early = rank % 5 == 4;
                    let mut heard = String::new();
                    while !early && !heard.contains("@@") {
                        heard.clear();
                        assert!(lines.read_line(&mut heard).unwrap() > 0, "the child died by itself");
                    }
                    let most = if early { 20_000 } else { 50_000 };
                    std::thread::sleep(Duration::from_micros(u64::from(rank * 7919 % most)));
                    child.kill().unwrap();
                    let status = child.wait().unwrap();
                    assert!(!status.success(), "killed");
                    let mut rest = Vec::new();
                    lines.read_to_end(&mut rest).unwrap();
                    heard.push_str(&String::from_utf8_lossy(&rest));
                    // A line that the kill cut short was never finished, so it promises nothing.
                    let whole = heard.rfind('\n').map_or("", |end| &heard[..end]);
                    promised.extend(
                        said(whole.as_bytes()).iter().map(|count| (rank, count.parse::<u32>().unwrap())),
                    );
                }
                promised
            })
        };
        let threads: Vec<_> = (0..slots).map(slot).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let stored = stored(&path);
    for &(rank, count) in &promised {
        assert_eq!(stored.get(&gemm(rank, count)), Some(&winner(rank, count)), "rank {rank}, put {count}");
    }
    // Each rank may have committed one winner that it could not report any more.
    assert!(promised.len() >= (kills - kills / 5) as usize);
    assert!(stored.len() <= promised.len() + kills as usize);
    eprintln!("{task}: {kills} kills, {} promised winners, {} stored", promised.len(), stored.len());
}

#[test]
fn no_kill_loses_a_winner() {
    kill_writers("forever", 200 * faulty_calls::times());
}

#[test]
fn no_kill_loses_a_winner_while_others_replace_the_file() {
    kill_writers("with prunes", 40 * faulty_calls::times());
}

#[test]
fn a_full_disk_is_an_error_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    // A limit on the size of files stands for the full disk. Its signal, which nobody ignores here, ended the
    // host.
    let limited = |blocks: u32| {
        let task = command("until full", &path, 1);
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit -f {blocks}; exec \"$0\" \"$@\"")]);
        shell.arg(task.get_program()).args(task.get_args());
        for (name, value) in task.get_envs() {
            shell.env(name, value.unwrap());
        }
        let output = shell.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        said(&output.stdout)
    };
    for blocks in [200, 2000] {
        let lines = limited(blocks);
        let (error, puts) = lines.split_last().unwrap();
        assert!(error.contains("not written: File too large"), "{error}");
        let stored = stored(&path);
        assert!(!puts.is_empty());
        for put in puts {
            let count: u32 = put.parse().unwrap();
            assert_eq!(stored.get(&gemm(1, count)), Some(&winner(1, count)));
        }
    }
    // With room again, all goes on.
    let winners = Store::open(&path, Mode::ReadWrite).unwrap().winners(scope()).unwrap();
    assert_eq!(winners.put(&gemm(2, 0), &winner(2, 0)), Ok(Saved::Disk));
}

/// Each call by which the store writes fails, once or from then on.
#[test]
fn calls_that_fail_lose_nothing() {
    let (mut faults, mut reported) = (0, 0);
    for (call, error) in [("write", 28), ("write", 122), ("write", 5), ("sync", 5), ("truncate", 5)] {
        let mut first = 1;
        loop {
            let before = faults;
            for count in [1, u32::MAX] {
                let folder = tempfile::tempdir().unwrap();
                let (path, mark) = (folder.path().join("s.jsonl"), folder.path().join("mark"));
                let fault = faulty_calls::Fault { call, first, count, error };
                let mut child = command("despite faults", &path, 1);
                fault.meets(&mut child, &mark);
                let output = child.output().unwrap();
                assert!(output.status.success(), "{fault:?}: {}", String::from_utf8_lossy(&output.stdout));
                if !mark.exists() {
                    continue;
                }
                faults += 1;
                let (lines, stored) = (said(&output.stdout), stored(&path));
                let puts: Vec<u32> = lines.iter().filter_map(|line| line.parse().ok()).collect();
                assert!(
                    puts.iter().all(|&put| stored.get(&gemm(1, put)) == Some(&winner(1, put))),
                    "{fault:?}"
                );
                reported += puts.len();
                // What one failure leaves in memory is written at the end.
                let opened = lines.last().is_some_and(|line| line == "opened");
                assert!(!opened || count > 1 || stored.len() == 20, "{fault:?}: {} of 20", stored.len());
            }
            if faults == before {
                break;
            }
            first = faulty_calls::next(first);
        }
    }
    assert!(faults > 20, "{faults}");
    eprintln!("{faults} failing calls, {reported} reported puts");
}

#[test]
fn a_clock_that_runs_backwards_changes_nothing() {
    written_by(2, faulty_calls::backwards);
}

/// What a process without write permission says. Root may write everything, so it becomes somebody else.
fn locked_out(path: &Path) -> Vec<String> {
    let mut locked = command("locked out", path, 0);
    // Where root's home is closed to others, so is a checkout in it.
    let open = tempfile::tempdir().unwrap();
    if fs::metadata("/proc/self").is_ok_and(|data| data.uid() == 0) {
        fs::set_permissions(open.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let program = open.path().join("tests");
        fs::copy(locked.get_program(), &program).unwrap();
        let mut copied = Command::new(program);
        copied.args(locked.get_args()).current_dir(open.path()).uid(65_534).gid(65_534);
        for (name, value) in locked.get_envs() {
            copied.env(name, value.unwrap());
        }
        locked = copied;
    }
    // A child that another test forks meanwhile has the copy open for writing until it becomes its own
    // program.
    let output = loop {
        match locked.output() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => thread::yield_now(),
            output => break output.unwrap(),
        }
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    said(&output.stdout)
}

#[test]
fn a_folder_that_may_not_be_written_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("read only # ü");
    fs::create_dir(&inner).unwrap();
    let path = inner.join("s.jsonl");
    let permit = |mode: u32| fs::set_permissions(&inner, fs::Permissions::from_mode(mode)).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();

    permit(0o555);
    let lines = locked_out(&path);
    assert!(lines[0].contains("s.jsonl: Permission denied"), "{lines:?}");

    permit(0o755);
    let winners = Store::open(&path, Mode::ReadWrite).unwrap().winners(scope()).unwrap();
    winners.put(&gemm(1, 1), &winner(1, 1)).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    permit(0o555);
    let open = locked_out(&path);
    drop(winners);
    let closed = locked_out(&path);
    permit(0o755);
    for lines in [open, closed] {
        assert_eq!(lines[0], "winners: 1", "{lines:?}");
        assert!(lines[1].starts_with("put: store ") && lines[1].contains("read-only: "), "{lines:?}");
        assert_eq!(lines[2], "winners: 2", "{lines:?}");
    }
    assert_eq!(stored(&path).len(), 1);
}
