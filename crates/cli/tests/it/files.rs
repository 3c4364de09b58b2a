//! Files, pipes and devices, whichever option names them, and readers that go away.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{Folder, MODEL, POOL, PROBLEM, Ran, root};

const MEASURED: &str = "kernel,problem_idx,N,C,K,G,Hi,Wi,Y,X,stride_h,stride_w,pad_h,pad_w,latency_ms,tflops,\
    non_zero\n\
    grouped_conv_forward_bf16_2d_64x64x64_compv3,0,16,256,128,1,28,28,3,3,1,1,1,1,0.02,300,1\n\
    grouped_conv_forward_bf16_2d_64x64x64_compv4,0,16,256,128,1,28,28,3,3,1,1,1,1,0.01,600,1\n";

/// A folder with one file of each kind that commands read.
fn files() -> Folder {
    let folder = Folder::new();
    folder.write("measured.csv", MEASURED);
    folder.write("problems.csv", "N,C,K,Hi,Wi,Y,X,pad_h,pad_w\n16,256,128,28,28,3,3,1,1\n");
    folder.write("shapes.txt", "M=1,N=4096,K=4096\n");
    folder.write("matrix.csv", "1,2\n");
    assert!(Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap().success());
    folder
}

/// Commands, one in a line, that all fail so, and at once.
fn all_refuse(files: &Folder, commands: &str, code: i32, said: &str) {
    for line in commands.lines() {
        let mut command = files.command(line);
        let ran = Ran::soon(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        let found = ran.bad(line, code);
        assert!(found.contains(said), "{line}\n{found}");
    }
}

fn is_device(path: &str) -> bool {
    fs::metadata(path).unwrap().file_type().is_char_device()
}

fn rank() -> String {
    format!("rank --model {MODEL} --pool {POOL} --problem {PROBLEM}")
}

/// Commands that print, one in a line.
fn printing() -> String {
    format!(
        "{rank}
        {rank} --format csv
        rank --model {MODEL} --pool {POOL} --problems @problems.csv --format json
        explain --model {MODEL} --pool {POOL} --problem {PROBLEM} \
            --first grouped_conv_forward_bf16_2d_16x64x64_compv3 \
            --second grouped_conv_forward_bf16_2d_64x64x64_compv3
        inspect --model {MODEL}
        inspect --model {MODEL} --format csv
        dev features --engine conv97 --list
        evaluate --model {MODEL} --data @measured.csv
        shapes --set wide
        shapes --list
        enumerate configs/forward_2d.json --list
        enumerate configs/forward_2d.json
        convert @measured.csv --arch gfx950 --output -
        store path
        bench --pool {POOL} --problems @problems.csv --simulate analytic --output @out.csv --dry-run
        dev completions bash
        --help
        --version
        rank --help",
        rank = rank()
    )
}

#[test]
fn devices_pipes_and_links_stay_what_they_are() {
    let files = files();
    let expected = files.good(&format!("{} --format csv", rank()));
    files.refuses(&format!("{} --output /dev/full\n1: /dev/full: No space left on device", rank()));
    assert!(is_device("/dev/full"));

    let reader = std::thread::spawn({
        let path = files.path("pipe");
        move || fs::read_to_string(path).unwrap()
    });
    files.good(&format!("{} --format csv --output @pipe", rank()));
    assert_eq!(reader.join().unwrap(), expected);
    assert!(fs::metadata(files.path("pipe")).unwrap().file_type().is_fifo());

    symlink("target.csv", files.path("link.csv")).unwrap();
    for _ in 0..2 {
        files.good(&format!("{} --format csv --output @link.csv", rank()));
        assert!(files.path("link.csv").is_symlink());
        assert_eq!(fs::read_to_string(files.path("target.csv")).unwrap(), expected);
    }
    // Standard output, by its names.
    for name in ["-", "/dev/stdout"] {
        assert_eq!(files.good(&format!("{} --format csv --output {name}", rank())), expected);
    }
    // Tables, too.
    let table = files.good("convert @measured.csv --arch gfx950 --output -");
    assert_eq!(table.lines().count(), 3, "{table}");
    assert!(table.starts_with("kernel,problem_idx,"), "{table}");
    symlink("table.parquet", files.path("link.parquet")).unwrap();
    files.good("convert @measured.csv --arch gfx950 --output @link.parquet");
    assert!(files.path("link.parquet").is_symlink() && files.path("table.parquet").is_file());
    files.refuses("convert @measured.csv --arch gfx950 --output /dev/full\n1: /dev/full");
    assert!(is_device("/dev/full"));
}

#[test]
fn no_output_replaces_what_is_read_or_another_output() {
    let files = files();
    let rank = format!("rank --model {MODEL}");
    let evaluate = format!("evaluate --model {MODEL} --data @measured.csv");
    let bench = "bench --simulate analytic --overwrite";
    fs::copy(root().join(POOL), files.path("pool.txt")).unwrap();
    symlink("measured.csv", files.path("link.csv")).unwrap();
    fs::create_dir(files.path("sub")).unwrap();
    let contents = |name: &str| fs::read(files.path(name)).unwrap();
    let names = ["measured.csv", "problems.csv", "pool.txt", "matrix.csv", "shapes.txt"];
    let before = names.map(contents);
    let all = || fs::read_dir(files.path("")).unwrap().count();
    let count = all();
    let refuse = |commands: &str, message: &str| {
        all_refuse(&files, commands, 2, &format!("this file is also {message}"));
        assert_eq!((names.map(contents), all()), (before.clone(), count));
    };
    refuse(
        &format!(
            "{rank} --pool {POOL} --problems @problems.csv --output @problems.csv
            {bench} --pool {POOL} --problems @problems.csv --output @problems.csv"
        ),
        "read, as --problems",
    );
    refuse(
        &format!(
            "{rank} --pool @pool.txt --problem {PROBLEM} --output @pool.txt
            {rank} --pool @pool.txt --problem {PROBLEM} --output @sub/../pool.txt
            {bench} --pool @pool.txt --problems @problems.csv --output @pool.txt"
        ),
        "read, as --pool",
    );
    refuse(
        "convert @measured.csv --arch gfx950 --output @measured.csv
        convert @measured.csv --arch gfx950 --output @link.csv
        convert @link.csv --arch gfx950 --output @measured.csv",
        "read, as INPUT",
    );
    refuse("convert @measured.csv --arch gfx950 --output @x.csv --rejects @x.csv", "written, as --");
    refuse(
        &format!(
            "{evaluate} --output @measured.csv
            dev features --engine gemm72 --data @matrix.csv --output @matrix.csv
            evaluate --against {MODEL} --model {MODEL} --data @measured.csv --output @measured.csv"
        ),
        "read, as --data",
    );
    fs::create_dir(files.path("model")).unwrap();
    fs::rename(files.path("matrix.csv"), files.path("model/matrix.csv")).unwrap();
    fs::copy(root().join(MODEL).join("feature_spec.json"), files.path("model/feature_spec.json")).unwrap();
    let spec = contents("model/feature_spec.json");
    files.write("sub.json", "{\"num_cus\": 4}");
    files.refuses(&format!(
        "{rank} --arch @sub.json --pool {POOL} --problem {PROBLEM} --output @sub.json
            2: as --arch
        dev features --engine gemm72 --data @model/matrix.csv --output @model
            2: this folder contains --data
        rank --model @model --pool {POOL} --problem {PROBLEM} --output @model/feature_spec.json
            2: this file is part of --model"
    ));
    assert_eq!(
        (contents("sub.json"), contents("model/feature_spec.json")),
        (b"{\"num_cus\": 4}".into(), spec)
    );
    fs::rename(files.path("model/matrix.csv"), files.path("matrix.csv")).unwrap();
    assert_eq!(names.map(contents), before);
    // Nothing is lost at a device.
    files.good(&format!("{rank} --pool @pool.txt --problem {PROBLEM} --output /dev/null"));
}

#[test]
fn a_file_of_measurements_counts_once() {
    let files = files();
    let commands = format!(
        "evaluate --model {MODEL} --data @measured.csv @measured.csv
        convert @measured.csv @measured.csv --arch gfx950 --output @x.csv
        report @measured.csv @measured.csv"
    );
    all_refuse(&files, &commands, 2, "this file is given twice");
}

/// Up to 9b343f37 two tables of one pool were refused, and a log's own details were overwritten by it.
#[cfg(feature = "train")]
#[test]
fn a_pool_may_be_of_several_tables_and_a_log_keeps_what_is_beside_it() {
    let files = files();
    files.refuses(
        "train --arch gfx942 --winners @a.csv @b.csv @c.csv --pool @pool.txt @pool.txt a8w8_rowwise --output @m
            1: pool.txt: cannot be read
        bench --pool @pool.txt --problems @p.txt --simulate @sweep.csv.details.jsonl --output @sweep.csv
            2: with this file is written
        enumerate configs/gemm_ci.json --output - --list
            2: --output -: --list and --count write to standard output, too
        evaluate --model estimate --winners @a.csv --pool @pool.txt --output @a.csv.csv
            2: --winners writes .html or .json",
    );
}

/// `>&-`
#[test]
fn nothing_is_lost_where_standard_output_is_closed_or_full() {
    let files = files();
    for line in printing().lines() {
        for (redirection, why) in [(">&-", "Bad file descriptor"), (">/dev/full", "No space left on device")]
        {
            let command = files.command(line);
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("exec \"$0\" \"$@\" {redirection}")]);
            shell.arg(command.get_program()).args(command.get_args());
            shell.current_dir(command.get_current_dir().unwrap()).stdin(Stdio::null()).stderr(Stdio::piped());
            let ran = Ran::soon(shell.spawn().unwrap());
            let is_said = ran.stderr.contains(&format!("standard output: {why}"));
            assert!(ran.code == Some(1) && is_said, "{line} {redirection}\n{}", ran.stderr);
        }
    }
}

#[test]
fn a_log_is_a_regular_file() {
    let files = files();
    let bench = format!("bench --pool {POOL} --problems @problems.csv --simulate analytic");
    files.write("there.csv", "kept");
    files.refuses(&format!(
        "{bench} --output /dev/full --overwrite
            1: /dev/full: found a device, expected a regular file
        {bench} --output /dev/full --resume
            1: /dev/full: found a device, expected a regular file
        {bench} --output @pipe
            1: pipe: found a pipe, expected a regular file
        {bench} --output @there.csv
            1: there.csv exists: --resume continues it
        {bench} --output @there.csv --dry-run
            1: there.csv exists: --resume continues it"
    ));
    assert!(is_device("/dev/full") && !Path::new("/dev/full.meta.json").exists());
    files.good(&format!("{bench} --output @there.csv --overwrite --dry-run"));
    assert_eq!(fs::read_to_string(files.path("there.csv")).unwrap(), "kept");
    symlink("log.csv", files.path("link.csv")).unwrap();
    for words in ["", "--resume", "--overwrite"] {
        files.good(&format!("{bench} --output @link.csv {words}"));
        assert!(files.path("link.csv").is_symlink());
        assert_eq!(fs::read_to_string(files.path("log.csv")).unwrap().lines().count(), 31);
    }
}

#[test]
fn only_regular_files_are_read() {
    let files = files();
    fs::create_dir(files.path("model")).unwrap();
    symlink(files.path("pipe"), files.path("model/feature_spec.json")).unwrap();
    fs::create_dir(files.path("forest")).unwrap();
    fs::copy(root().join(MODEL).join("feature_spec.json"), files.path("forest/feature_spec.json")).unwrap();
    symlink(files.path("pipe"), files.path("forest/model_tflops.lgbm")).unwrap();
    let bench = "bench --output @out.csv";
    let commands = format!(
        "rank --model @model --pool {POOL} --problem {PROBLEM}
        rank --model @forest --pool {POOL} --problem {PROBLEM}
        rank --model {MODEL} --pool @pipe --problem {PROBLEM}
        inspect --model @model
        inspect --model @forest
        evaluate --model {MODEL} --data @pipe
        evaluate --model @pipe --data @measured.csv
        evaluate --against {MODEL} --model {MODEL} --data @pipe
        evaluate --against @pipe --model {MODEL} --data @measured.csv
        convert @pipe --arch gfx950 --output @out.csv
        enumerate @pipe
        {bench} --pool @pipe --problems @problems.csv --simulate analytic
        {bench} --pool {POOL} --problems @pipe --simulate analytic
        {bench} --pool {POOL} --problems @problems.csv --runner @pipe
        {bench} --pool {POOL} --problems @problems.csv --simulate @pipe"
    );
    all_refuse(&files, &commands, 1, "found a pipe, expected a regular file");
    let endless = format!("rank --model {MODEL} --pool /proc/self/maps --problem {PROBLEM}");
    all_refuse(&files, &endless, 1, "found a file of /proc or /sys");
}

/// A pipe was refused where standard input is read, and with it a shell's `<(command)` (b51a5af9).
#[test]
fn pipes_are_read_where_standard_input_is() {
    let files = files();
    let rank = format!("rank --model {MODEL} --pool {POOL} --format csv --problems");
    let expected = files.good(&format!("{rank} @problems.csv"));
    let text = fs::read(files.path("problems.csv")).unwrap();
    let pipe = files.path("pipe");
    let writer = std::thread::spawn(move || fs::write(pipe, text).unwrap());
    assert_eq!(files.good(&format!("{rank} @pipe")), expected);
    writer.join().unwrap();
    let problems = fs::File::open(files.path("problems.csv")).unwrap();
    let (reader, mut writer) = std::io::pipe().unwrap();
    let mut piped = files.command(&format!("{rank} /dev/stdin"));
    let child = piped.stdin(reader).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(piped);
    std::io::copy(&mut &problems, &mut writer).unwrap();
    drop(writer);
    let ran = Ran::soon(child);
    assert_eq!((ran.code, ran.stdout), (Some(0), expected));
    let message = "found a device, expected a regular file, a pipe, or - for";
    all_refuse(&files, &format!("{rank} /dev/zero"), 1, message);
}

/// As with `| head -0`.
#[test]
fn a_reader_that_goes_away_ends_every_command_quietly() {
    let files = files();
    for line in printing().lines() {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let child = files.command(line).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        let Ran { code, stderr, .. } = Ran::soon(child);
        assert!(!stderr.contains("panicked") && !stderr.contains("Broken pipe"), "{line}\n{stderr}");
        assert_eq!(code, Some(0), "{line}\n{stderr}");
    }
}

/// A CSV of more than one buffer, whose reader takes a line.
#[test]
fn a_reader_of_one_line_is_not_made_to_wait_for_the_rest() {
    use std::io::{BufRead as _, BufReader};
    let files = files();
    let line = "enumerate configs/forward_2d.json --list";
    let mut child = files.command(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    stdout.read_line(&mut first).unwrap();
    drop(stdout);
    let ran = Ran::soon(child);
    assert!(!first.is_empty());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_time_that_is_none_is_an_error() {
    let files = files();
    for (time, good) in [("1700000000", true), ("", true), ("yesterday", false), ("-5", false)] {
        let ran = Ran::from(files.command("shapes --list").env("SOURCE_DATE_EPOCH", time).output().unwrap());
        assert_eq!(ran.code, Some(if good { 0 } else { 2 }), "{time}");
        assert!(good || ran.stderr.contains(&format!("SOURCE_DATE_EPOCH: found '{time}', expected seconds")));
    }
}

/// The error came when the work was done, which was lost (caf175e5).
#[test]
fn an_output_that_cannot_be_written_is_found_before_the_work() {
    let files = files();
    // Nothing else is wrong with these lines; what they read does not exist, which would be found next.
    for (line, output) in [
        ("evaluate --model no-model --data @none.csv --output", "none/a.html"),
        ("evaluate --model no-model --data @none.csv --output", "none/a.json"),
        ("report @none.csv --output", "measured.csv/a.html"),
        ("evaluate --against no-model --model no-model --data @none.csv --output", "none/a.csv"),
        ("rank --model no-model --pool none.txt --problem M=1 --output", "none/a.csv"),
    ] {
        let ran = files.run(&format!("{line} @{output}"));
        let said = format!("ckselect: {}: ", files.path(output).display());
        assert!(ran.stderr.starts_with(&said), "{line}: {}", ran.stderr);
        assert_eq!((ran.code, ran.stderr.lines().count()), (Some(1), 1), "{line}: {}", ran.stderr);
    }
}

/// A folder that its maker could not enter could not be removed either (caf175e5).
#[test]
fn packing_under_any_umask_leaves_nothing() {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::CommandExt as _;
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    // By another process: what is open for writing in a child that another test forks cannot be run.
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_ckselect")).arg(folder.path()).status();
    assert!(copied.unwrap().success());
    fs::create_dir(folder.path().join("model")).unwrap();
    for name in ["feature_spec.json", "model_tflops.lgbm.gz"] {
        fs::copy(root().join(MODEL).join(name), folder.path().join("model").join(name)).unwrap();
    }
    let mut command = Command::new("sh");
    command
        .current_dir(folder.path())
        .args(["-c", "umask 777; exec ./ckselect dev pack --model model --output out"]);
    // Root may do everything.
    if fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0) {
        command.uid(65534).gid(65534);
    }
    let ran = command.output().unwrap();
    let said = String::from_utf8(ran.stderr).unwrap();
    assert!(!ran.status.success() && said.contains("Permission denied"), "{said}");
    let mut left: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["ckselect", "model"], "{said}");
}

/// Names and contents of files reached the terminal as they were (caf175e5).
#[test]
fn files_cannot_command_a_terminal() {
    let files = files();
    files.write("pool.txt", "grouped_conv_forward_\x1b[2Jbf16\n");
    files.write("bad.csv", "N,C,\x1b]0;owned\x07,K\n1,2,3,4\n");
    files.write("\u{9b}31m.csv", "");
    for line in [
        format!("rank --model {MODEL} --pool @pool.txt --problem {PROBLEM}"),
        format!("rank --model {MODEL} --pool {POOL} --problems @bad.csv"),
        format!("rank --model {MODEL} --pool {POOL} --problem N=\x1b[31m"),
        "report @\u{9b}31m.csv".to_owned(),
        // The parser of the command line drops them.
        "report --no-\x07".to_owned(),
    ] {
        let ran = files.run(&line);
        let is_shown = ran.stderr.contains("\\u00") || line.contains("--no-");
        assert!(ran.code != Some(0) && is_shown, "{line:?}: {:?}", ran.stderr);
        for text in [ran.stdout, ran.stderr] {
            assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{line:?}: {text:?}");
        }
    }
}
