//! Starting, resuming, refusing; budgets.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::common::{Ran, column};
use crate::fakes::Fakes;

#[test]
fn an_output_is_never_lost_by_accident() {
    let fakes = Fakes::library(4, 2);
    let line = "--simulate analytic --output a.csv";
    fakes.swept(line);
    let first = fs::read(fakes.path("a.csv")).unwrap();
    let refused = fakes.fails(line, 1);
    assert!(refused.contains("a.csv exists: --resume continues it, --overwrite discards it"), "{refused}");
    // Nothing is left to do.
    fakes.swept(&format!("{line} --resume"));
    assert_eq!(fs::read(fakes.path("a.csv")).unwrap(), first);
    // Rows that were measured otherwise do not go into the same log.
    let other = fakes.fails(&format!("{line} --resume --params repeat=77"), 1);
    assert!(other.contains("runner and settings: the log has"), "{other}");
    fakes.write("pool.txt", fakes.kernels[..3].join("\n"));
    let other = fakes.fails(&format!("{line} --resume"), 1);
    assert!(other.contains("plan: the log has 4 kernels, 2 problems, 8 pairs"), "{other}");
    fakes.swept(&format!("{line} --overwrite"));
    assert_eq!(fakes.rows("a.csv").len(), 6);
    fs::remove_file(fakes.path("a.csv.meta.json")).unwrap();
    let foreign = fakes.fails(&format!("{line} --resume"), 1);
    assert!(foreign.contains("cannot be resumed without"), "{foreign}");
}

#[test]
fn misused_options_are_rejected_with_the_reason() {
    let fakes = Fakes::library(2, 1);
    let simulate = "--output a.csv --simulate analytic";
    for (words, message) in [
        ("--output a.csv".to_owned(), "--runner <DIR|FILE.so|CONFIG.json>"),
        ("--output a.csv --runner bin".to_owned(), "executables of convolutions have no standard flags"),
        (format!("{simulate} --shard 3/2"), "expected I/N with 1 <= I <= N"),
        (format!("{simulate} --cutoff 0.5"), "expected a factor of 1 or more"),
        (format!("{simulate} --cutoff nan"), "expected a factor of 1 or more"),
        (format!("{simulate} --budget soon"), "expected a time such as"),
        (format!("{simulate} --gpus x"), "--gpus: found 'x'"),
        (format!("{simulate} --arch gfx942 --order pool"), "--order estimate or --order model"),
        (format!("{simulate} --order pool:3"), "the pool's order says nothing of what to leave"),
        (format!("{simulate} --order model:2x"), "a factor is for the estimate"),
        (format!("{simulate} --order modle"), "did you mean 'model'?"),
        (format!("{simulate} --order model:0"), "expected a number of kernels such as 10"),
        (format!("{simulate} --order pool:auto"), "the pool's order says nothing of what to leave"),
        (format!("{simulate} --model m"), "--model needs --order model"),
    ] {
        let said = fakes.fails(&words, 2);
        assert!(said.contains(message), "{words}: {said}");
        assert!(!fakes.path("a.csv").exists());
    }
}

#[test]
fn a_plan_is_shown_and_nothing_is_done() {
    let fakes = Fakes::library(45, 3);
    let text = fakes.swept("--simulate analytic --output a.csv --dry-run --format csv --shard 1/3");
    for line in ["shard,1/3", "kernels,45", "problems,1", "pairs,45", "pairs_left_out,0"] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    assert_eq!(fs::read_dir(fakes.path("")).unwrap().count(), 4);
}

#[test]
fn a_spent_budget_is_no_failure_and_can_be_gone_on_with() {
    let fakes = Fakes::executables(20, 5);
    let line = "--runner bin --output a.csv --resume";
    let mut slow = fakes.bench(&format!("{line} --budget 300ms"));
    let (_, said) = Ran::run(slow.env("FAKE_SLEEP_MS", "30")).good(line);
    assert!(said.contains("the budget is spent"), "{said}");
    let rows = fakes.rows("a.csv").len();
    assert!(rows < 100);
    fakes.swept(line);
    assert_eq!(fakes.rows("a.csv").len(), 100);
}

#[test]
fn a_gpu_in_use_is_waited_for_and_a_log_in_use_is_refused() {
    let fakes = Fakes::executables(5, 2);
    let gpu = fs::File::create(fakes.path("ck-select-gpu-0.lock")).unwrap();
    gpu.lock().unwrap();
    let mut command = fakes.bench("--runner bin --output a.csv");
    let mut waiting = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(waiting.stderr.take().unwrap()).lines().map(Result::unwrap);
    let told = said.next().unwrap();
    assert!(told.contains("waiting for GPU 0: another process has"), "{told}");
    assert_eq!(fakes.rows("a.csv").len(), 0);
    // The waiting sweep has its log already.
    let running = format!("a.csv: another run is writing it: process {} on ", waiting.id());
    let refused = fakes.fails("--runner bin --output a.csv --resume", 1);
    assert!(refused.contains(&running), "{refused}");
    let refused = fakes.fails("--runner bin --output a.csv --overwrite", 1);
    assert!(refused.contains(&running), "{refused}");
    drop(gpu);
    assert_eq!(said.next(), None);
    assert!(waiting.wait().unwrap().success());
    assert_eq!(fakes.rows("a.csv").len(), 10);
}

/// Two at once with `--resume` and no output: one of them measures, the other names it, and neither spoils
/// the log.
#[test]
fn of_two_that_begin_at_once_one_names_the_other() {
    let fakes = Fakes::library(10, 5);
    let start = || {
        let mut command = fakes.bench("--runner runner.json --output a.csv --resume --gpus 0");
        command.env("FAKE_SLEEP_US", "2000").stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let runs: Vec<_> = (0..4).map(|_| start()).collect();
    let processes: Vec<u32> = runs.iter().map(std::process::Child::id).collect();
    let ended: Vec<_> = runs.into_iter().map(|run| run.wait_with_output().unwrap()).collect();
    let winners: Vec<u32> =
        processes.iter().zip(&ended).filter(|(_, run)| run.status.success()).map(|(id, _)| *id).collect();
    assert!(!winners.is_empty());
    for run in ended.iter().filter(|run| !run.status.success()) {
        let stderr = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(1), "{stderr}");
        let named =
            |id: &u32| stderr.contains(&format!("a.csv: another run is writing it: process {id} on "));
        assert!(winners.iter().any(named), "{winners:?}: {stderr}");
    }
    assert_eq!(fakes.rows("a.csv").len(), 50);
    assert!(fakes.path("a.csv.meta.json").exists());
}

#[test]
fn failed_rows_count_until_resume_remeasures_them() {
    let fakes = Fakes::library(3, 2);
    let line = "--runner runner.json --output a.csv --format csv";
    // The library wants a variable that is not set.
    let bench = |words: &str, code: i32| {
        let mut command = fakes.bench(&format!("{line} {words}"));
        let ran = Ran::run(command.env("FAKE_POOL", "nowhere"));
        assert_eq!(ran.code, Some(code), "{words}: {}", ran.stderr);
        (ran.stdout, ran.stderr)
    };
    let has = |text: &str, lines: &[&str]| {
        for line in lines {
            assert!(text.lines().any(|found| found == *line), "{line}: {text}");
        }
    };
    let (summary, said) = bench("", 1);
    has(&summary, &["rows_written,6", "rows_earlier,0", "measured,0", "failed,6", "load,6"]);
    assert!(said.contains("a.csv: nothing could be measured (6 load): --resume=failed"), "{said}");
    // Nothing remains, and nothing has succeeded either.
    let (summary, said) = bench("--resume", 1);
    has(
        &summary,
        &["rows_written,0", "rows_earlier,6", "rows_remaining,0", "measured,0", "failed,6", "load,6"],
    );
    assert!(said.contains("nothing could be measured"), "{said}");
    let (summary, _) = bench("--resume=crash,timeout", 1);
    has(&summary, &["rows_written,0", "load,6"]);
    // Once the variable is set, one class or all of them are measured again.
    let log = fakes.read("a.csv");
    let again = |words: &str| {
        fakes.write("a.csv", log.replacen("load:", "crash:", 1));
        fakes.swept(&format!("{line} {words}"))
    };
    has(&again("--resume=load"), &["rows_written,5", "rows_earlier,1", "measured,5", "failed,1", "crash,1"]);
    has(&again("--resume=failed"), &["rows_written,6", "rows_earlier,0", "measured,6", "failed,0"]);
    assert_eq!(fakes.rows("a.csv").len(), 6);
    // The details remember both, and the last line counts.
    let details = fakes.read("a.csv.details.jsonl");
    assert_eq!(details.matches("\"load\"").count(), 6);
    has(&fakes.swept(&format!("{line} --resume")), &["measured,6", "rows_written,0"]);
    let wrong = fakes.fails(&format!("{line} --resume=laod"), 2);
    assert!(wrong.contains("expected one of: missing, not_recorded"), "{wrong}");
}

/// Nobody reads the messages, or nobody can write them.
#[test]
fn messages_that_cannot_be_written_end_nothing() {
    let fakes = Fakes::executables(20, 3);
    for kernel in &fakes.kernels[..15] {
        fs::remove_file(fakes.path("bin").join(format!("benchmark_{kernel}"))).unwrap();
    }
    let (reader, closed) = std::io::pipe().unwrap();
    drop(reader);
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for stderr in [Stdio::from(closed), Stdio::from(full)] {
        let mut command = fakes.bench("--runner bin --output a.csv --overwrite");
        assert_eq!(command.stdout(Stdio::null()).stderr(stderr).status().unwrap().code(), Some(0));
        assert_eq!(fakes.rows("a.csv").len(), 60);
    }
}

#[test]
fn a_dry_run_finds_what_a_run_would_fail_for() {
    let fakes = Fakes::library(3, 2);
    fakes.write("wrong.json", r#"{"runner": "library", "library": "a.so", "librari": 1}"#);
    fakes.write("gone.json", r#"{"runner": "library", "library": "gone/{kernel}.so"}"#);
    for (words, code, message) in [
        ("--runner nope.json", 1, "nope.json: No such file"),
        ("--runner wrong.json", 1, "wrong.json: unknown field `librari`"),
        ("--runner gone.json", 1, "none of the kernels has a library: "),
        ("--runner nope.so", 1, "none of the kernels has a library: "),
        ("--simulate nope.csv", 1, "nope.csv: No such file"),
        ("--simulate analytic --gpus x", 2, "--gpus: found 'x'"),
    ] {
        for more in ["--dry-run", ""] {
            let told = fakes.fails(&format!("{words} {more} --output a.csv"), code);
            assert!(told.contains(message), "{words} {more}: {told}");
            // An empty output would only stand in the way of the next run.
            for file in ["a.csv", "a.csv.meta.json", "a.csv.details.jsonl"] {
                assert!(!fakes.path(file).exists(), "{words} {more}: {file} is left");
            }
        }
    }
    // A file that was there before stays.
    fakes.write("a.csv.meta.json", "{}");
    fakes.fails("--simulate analytic --output a.csv", 1);
    assert!(fakes.path("a.csv.meta.json").exists() && !fakes.path("a.csv").exists());
}

/// What `ckselect rank` puts first is what is measured, in that order.
#[test]
fn a_model_says_what_is_measured_first() {
    let fakes = Fakes::library(45, 3);
    let line = "--simulate analytic --output a.csv --order model:10 --arch gfx942";
    let (_, said) = Ran::run(&mut fakes.bench(line)).good(line);
    assert!(said.contains("pairs are left out as less promising"), "{said}");
    let rank = "rank --pool pool.txt --problems problems.csv --arch gfx942 --top 10 --format csv";
    let ranked = fakes.good(rank);
    let measured = column(&fakes.read("a.csv"), "kernel");
    let ranked = column(&ranked, "kernel");
    assert_eq!(ranked.len(), 30);
    assert_eq!(measured, ranked);
    // Thirty where only the GPU is named.
    fakes.swept("--simulate analytic --output b.csv --arch gfx942");
    let promising = column(&fakes.read("b.csv"), "kernel");
    assert_eq!(promising.len(), 3 * 30);
    assert_eq!(promising.chunks(30).map(|of| of[..10].to_vec()).collect::<Vec<_>>().concat(), ranked);

    let stderr = fakes.fails(&line.replace("gfx942", "gfx900"), 2);
    assert!(stderr.contains("gfx900"), "{stderr}");
    let other = fakes.fails(&format!("{line} --model embedded:grouped_conv_forward_bf16_gfx950"), 2);
    assert!(other.contains("--arch: found gfx942, but the model is for gfx950"), "{other}");
}

/// The runner gets as many kernels of a problem as `ckselect rank` says have to be measured.
#[test]
fn a_problem_is_measured_until_its_choice_is_sure() {
    let fakes = Fakes::library(45, 4);
    for (order, model) in [("estimate:auto", "--model estimate"), ("model:auto", "")] {
        let bench = format!("--runner runner.json --output a.csv --overwrite --order {order} --arch sm_90");
        fakes.swept(&bench);
        let measured = column(&fakes.read("a.csv"), "kernel");
        let ranked = fakes.good(&format!(
            "rank --pool pool.txt --problems problems.csv --arch sm_90 --top 45 --format csv {model}"
        ));
        let [place, enough] = ["rank", "sure_within_90"].map(|name| column(&ranked, name));
        let number = |text: &String| text.parse::<usize>().unwrap();
        let rows = column(&ranked, "kernel").into_iter().zip(place.iter().zip(&enough));
        let first = rows.filter(|(_, (place, enough))| number(place) <= number(enough));
        let expected: Vec<_> = first.map(|(kernel, _)| kernel).collect();
        assert_eq!(measured, expected, "{order}");
        assert!((4..4 * 45).contains(&measured.len()), "{}", measured.len());
        // All where no choice was judged.
        fakes.swept(&bench.replace("sm_90", "gfx942"));
        assert_eq!(column(&fakes.read("a.csv"), "kernel").len(), 4 * 45, "{order}");
    }
}
