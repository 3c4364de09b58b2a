//! Files, pipes and devices, whichever option names them, and readers that go away.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

const MODEL: &str = "tests/golden/models/conv_small";
const POOL: &str = "configs/forward_bf16.txt";
const PROBLEM: &str = "N=16,C=256,K=128,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1";
const MEASURED: &str = "kernel,problem_idx,N,C,K,G,Hi,Wi,Y,X,stride_h,stride_w,pad_h,pad_w,latency_ms,tflops,\
    non_zero\n\
    grouped_conv_forward_bf16_2d_64x64x64_compv3,0,16,256,128,1,28,28,3,3,1,1,1,1,0.02,300,1\n\
    grouped_conv_forward_bf16_2d_64x64x64_compv4,0,16,256,128,1,28,28,3,3,1,1,1,1,0.01,600,1\n";

/// A folder with one file of each kind that commands read.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        let files = Self(TempDir::new().unwrap());
        let write = |name: &str, text: &str| fs::write(files.path(name), text).unwrap();
        write("measured.csv", MEASURED);
        write("problems.csv", "N,C,K,Hi,Wi,Y,X,pad_h,pad_w\n16,256,128,28,28,3,3,1,1\n");
        write("shapes.txt", "M=1,N=4096,K=4096\n");
        write("matrix.csv", "1,2\n");
        assert!(Command::new("mkfifo").arg(files.path("pipe")).status().unwrap().success());
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A command line, where `@name` is a file of this folder.
    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ckselect"));
        command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
        command.env_remove("CK_SELECT_STORE").stdin(Stdio::null());
        for word in line.split_whitespace() {
            command.arg(match word.strip_prefix('@') {
                Some(name) => self.path(name).into_os_string(),
                None => word.into(),
            });
        }
        command
    }

    fn run(&self, line: &str) -> Output {
        let child = self.command(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        soon(child, line)
    }

    fn good(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(output.status.success(), "{line}\n{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

/// What came of a process, which must not hang.
fn soon(mut child: Child, line: &str) -> Output {
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("{line}: it hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

fn rank() -> String {
    format!("rank --model {MODEL} --pool {POOL} --problem {PROBLEM}")
}

#[test]
fn devices_pipes_and_links_stay_what_they_are() {
    let files = Files::new();
    let expected = files.good(&format!("{} --format csv", rank()));
    let full = files.run(&format!("{} --output /dev/full", rank()));
    assert_eq!(full.status.code(), Some(1));
    assert!(String::from_utf8(full.stderr).unwrap().contains("/dev/full: No space left on device"));
    assert!(fs::metadata("/dev/full").unwrap().file_type().is_char_device());

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
    let refused = files.run("convert @measured.csv --arch gfx950 --output /dev/full");
    assert_eq!(refused.status.code(), Some(1));
    assert!(fs::metadata("/dev/full").unwrap().file_type().is_char_device());
}

#[test]
fn no_output_replaces_what_is_read_or_another_output() {
    let files = Files::new();
    let rank = format!("rank --model {MODEL}");
    let evaluate = format!("evaluate --model {MODEL} --data @measured.csv");
    let bench = "bench --simulate analytic --overwrite";
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(POOL), files.path("pool.txt")).unwrap();
    symlink("measured.csv", files.path("link.csv")).unwrap();
    fs::create_dir(files.path("sub")).unwrap();
    let contents = |name: &str| fs::read(files.path(name)).unwrap();
    let names = ["measured.csv", "problems.csv", "pool.txt", "matrix.csv", "shapes.txt"];
    let before = names.map(contents);
    let all = || fs::read_dir(files.0.path()).unwrap().count();
    let count = all();
    for (line, message) in [
        (
            format!("{rank} --pool {POOL} --problems @problems.csv --output @problems.csv"),
            "read, as --problems",
        ),
        (format!("{rank} --pool @pool.txt --problem {PROBLEM} --output @pool.txt"), "read, as --pool"),
        (format!("{rank} --pool @pool.txt --problem {PROBLEM} --output @sub/../pool.txt"), "read, as --pool"),
        ("convert @measured.csv --arch gfx950 --output @measured.csv".to_owned(), "read, as INPUT"),
        ("convert @measured.csv --arch gfx950 --output @link.csv".to_owned(), "read, as INPUT"),
        ("convert @link.csv --arch gfx950 --output @measured.csv".to_owned(), "read, as INPUT"),
        ("convert @measured.csv --arch gfx950 --output @x.csv --rejects @x.csv".to_owned(), "written, as --"),
        (format!("{evaluate} --output @measured.csv"), "read, as --data"),
        (format!("{bench} --pool @pool.txt --problems @problems.csv --output @pool.txt"), "read, as --pool"),
        (
            format!("{bench} --pool {POOL} --problems @problems.csv --output @problems.csv"),
            "read, as --problems",
        ),
        (format!("dev predict --model {MODEL} --data @matrix.csv --output @matrix.csv"), "read, as --data"),
        (
            format!("evaluate --against {MODEL} --model {MODEL} --data @measured.csv --output @measured.csv"),
            "read, as --data",
        ),
    ] {
        let output = files.run(&line);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}\n{stderr}");
        assert!(stderr.contains(&format!("this file is also {message}")), "{line}\n{stderr}");
        assert_eq!((names.map(contents), all()), (before.clone(), count), "{line}");
    }
    let before = names.map(contents);
    fs::create_dir(files.path("model")).unwrap();
    fs::rename(files.path("matrix.csv"), files.path("model/matrix.csv")).unwrap();
    let copied = format!("{MODEL}/feature_spec.json");
    fs::copy(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(copied),
        files.path("model/feature_spec.json"),
    )
    .unwrap();
    let (spec, matrix) = (contents("model/feature_spec.json"), contents("model/matrix.csv"));
    for (line, message) in [
        (
            format!("{rank} --arch @sub.json --pool {POOL} --problem {PROBLEM} --output @sub.json"),
            "as --arch",
        ),
        (
            format!("dev predict --model {MODEL} --data @model/matrix.csv --output @model"),
            "this folder contains --data",
        ),
        (
            format!(
                "rank --model @model --pool {POOL} --problem {PROBLEM} --output @model/feature_spec.json"
            ),
            "this file is part of --model",
        ),
    ] {
        fs::write(files.path("sub.json"), "{\"num_cus\": 4}").unwrap();
        let output = files.run(&line);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}\n{stderr}");
        assert!(stderr.contains(message), "{line}\n{stderr}");
        assert_eq!(
            (contents("model/feature_spec.json"), contents("model/matrix.csv")),
            (spec.clone(), matrix.clone())
        );
    }
    fs::rename(files.path("model/matrix.csv"), files.path("matrix.csv")).unwrap();
    assert_eq!(names.map(contents), before);
    // Nothing is lost at a device.
    files.good(&format!("{rank} --pool @pool.txt --problem {PROBLEM} --output /dev/null"));
}

#[test]
fn a_file_of_measurements_counts_once() {
    let files = Files::new();
    for line in [
        format!("evaluate --model {MODEL} --data @measured.csv @measured.csv"),
        "convert @measured.csv @measured.csv --arch gfx950 --output @x.csv".to_owned(),
        "report @measured.csv @measured.csv".to_owned(),
    ] {
        let output = files.run(&line);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}\n{stderr}");
        assert!(stderr.contains("this file is given twice"), "{line}\n{stderr}");
    }
}

/// `>&-`
#[test]
fn nothing_is_lost_where_standard_output_is_closed_or_full() {
    let files = Files::new();
    let data = format!("--model {MODEL} --data @measured.csv");
    for line in [
        rank(),
        format!("evaluate {data}"),
        "enumerate configs/forward_2d.json --list".to_owned(),
        format!("inspect --model {MODEL}"),
        "shapes --list".to_owned(),
        "convert @measured.csv --arch gfx950 --output -".to_owned(),
        "--help".to_owned(),
        "--version".to_owned(),
        "rank --help".to_owned(),
    ] {
        for (redirection, why) in [(">&-", "Bad file descriptor"), (">/dev/full", "No space left on device")]
        {
            let command = files.command(&line);
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("exec \"$0\" \"$@\" {redirection}")]);
            shell.arg(command.get_program()).args(command.get_args());
            shell.current_dir(command.get_current_dir().unwrap()).stdin(Stdio::null()).stderr(Stdio::piped());
            let output = soon(shell.spawn().unwrap(), &line);
            let stderr = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(1), "{line} {redirection}\n{stderr}");
            assert!(stderr.contains(&format!("standard output: {why}")), "{line} {redirection}\n{stderr}");
        }
    }
}

#[test]
fn a_log_is_a_regular_file() {
    let files = Files::new();
    let bench = format!("bench --pool {POOL} --problems @problems.csv --simulate analytic");
    for (words, message) in [
        ("--output /dev/full --overwrite", "/dev/full: found a device, expected a regular file"),
        ("--output /dev/full --resume", "/dev/full: found a device, expected a regular file"),
        ("--output @pipe", "pipe: found a pipe, expected a regular file"),
    ] {
        let output = files.run(&format!("{bench} {words}"));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains(message), "{stderr}");
    }
    assert!(fs::metadata("/dev/full").unwrap().file_type().is_char_device());
    assert!(!Path::new("/dev/full.meta.json").exists());
    fs::write(files.path("there.csv"), "kept").unwrap();
    for words in ["", "--dry-run"] {
        let output = files.run(&format!("{bench} --output @there.csv {words}"));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains("there.csv exists: --resume continues it"), "{stderr}");
    }
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
fn what_is_no_regular_file_is_refused_at_once() {
    let files = Files::new();
    fs::create_dir(files.path("model")).unwrap();
    symlink(files.path("pipe"), files.path("model/feature_spec.json")).unwrap();
    fs::create_dir(files.path("forest")).unwrap();
    fs::copy(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(MODEL).join("feature_spec.json"),
        files.path("forest/feature_spec.json"),
    )
    .unwrap();
    symlink(files.path("pipe"), files.path("forest/model_tflops.lgbm")).unwrap();
    let data = format!("--model {MODEL} --data @pipe");
    for line in [
        format!("rank --model @model --pool {POOL} --problem {PROBLEM}"),
        format!("rank --model @forest --pool {POOL} --problem {PROBLEM}"),
        format!("rank --model {MODEL} --pool @pipe --problem {PROBLEM}"),
        "dev predict --model @pipe --data @matrix.csv".to_owned(),
        "inspect --model @model".to_owned(),
        "inspect --model @forest".to_owned(),
        format!("evaluate {data}"),
        "evaluate --model @pipe --data @measured.csv".to_owned(),
        format!("evaluate --against {MODEL} --model {MODEL} --data @pipe"),
        format!("evaluate --against @pipe --model {MODEL} --data @measured.csv"),
        "convert @pipe --arch gfx950 --output @out.csv".to_owned(),
        "enumerate @pipe".to_owned(),
        "bench --pool @pipe --problems @problems.csv --simulate analytic --output @out.csv".to_owned(),
        format!("bench --pool {POOL} --problems @pipe --simulate analytic --output @out.csv"),
        format!("bench --pool {POOL} --problems @problems.csv --runner @pipe --output @out.csv"),
        format!("bench --pool {POOL} --problems @problems.csv --simulate @pipe --output @out.csv"),
        format!("bench --pool {POOL} --problems @problems.csv --runner @pipe --output @out.csv"),
    ] {
        let output = files.run(&line);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains("found a pipe, expected a regular file"), "{line}\n{stderr}");
        assert_eq!(output.status.code(), Some(1), "{line}\n{stderr}");
    }
    let endless = files.run(&format!("rank --model {MODEL} --pool /proc/self/maps --problem {PROBLEM}"));
    assert!(String::from_utf8(endless.stderr).unwrap().contains("found a file of /proc or /sys"));
}

/// A pipe was refused where standard input is read, and with it a shell's `<(command)`.
#[test]
fn pipes_are_read_where_standard_input_is() {
    let files = Files::new();
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
    let output = soon(child, &rank);
    assert_eq!((output.status.code(), String::from_utf8(output.stdout).unwrap()), (Some(0), expected));
    let device = files.run(&format!("{rank} /dev/zero"));
    let stderr = String::from_utf8(device.stderr).unwrap();
    assert!(stderr.contains("found a device, expected a regular file, a pipe, or - for"), "{stderr}");
}

/// As with `| head -0`.
#[test]
fn a_reader_that_goes_away_ends_every_command_quietly() {
    let files = Files::new();
    let data = format!("--model {MODEL} --data @measured.csv");
    for line in [
        rank(),
        format!("{} --format csv", rank()),
        format!("rank --model {MODEL} --pool {POOL} --problems @problems.csv --format json"),
        format!(
            "explain --model {MODEL} --pool {POOL} --problem {PROBLEM} \
             --first grouped_conv_forward_bf16_2d_16x64x64_compv3 \
             --second grouped_conv_forward_bf16_2d_64x64x64_compv3"
        ),
        format!("inspect --model {MODEL}"),
        format!("inspect --model {MODEL} --format csv"),
        "dev features --engine conv97 --list".to_owned(),
        format!("evaluate {data}"),
        "shapes --set wide".to_owned(),
        "shapes --list".to_owned(),
        "enumerate configs/forward_2d.json --list".to_owned(),
        "enumerate configs/forward_2d.json".to_owned(),
        "convert @measured.csv --arch gfx950 --output -".to_owned(),
        "store path".to_owned(),
        format!(
            "bench --pool {POOL} --problems @problems.csv --simulate analytic --output @out.csv --dry-run"
        ),
        "dev completions bash".to_owned(),
        "--help".to_owned(),
        "rank --help".to_owned(),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let child = files.command(&line).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        let output = soon(child, &line);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(!stderr.contains("panicked") && !stderr.contains("Broken pipe"), "{line}\n{stderr}");
        assert_eq!(output.status.code(), Some(0), "{line}\n{stderr}");
    }
}

/// A CSV of more than one buffer, whose reader takes a line.
#[test]
fn a_reader_of_one_line_is_not_made_to_wait_for_the_rest() {
    use std::io::{BufRead as _, BufReader};
    let files = Files::new();
    let line = "enumerate configs/forward_2d.json --list";
    let mut child = files.command(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    stdout.read_line(&mut first).unwrap();
    drop(stdout);
    let output = soon(child, line);
    assert!(!first.is_empty());
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap()), (Some(0), String::new()));
}

#[test]
fn a_time_that_is_none_is_an_error() {
    let files = Files::new();
    for (time, good) in [("1700000000", true), ("", true), ("yesterday", false), ("-5", false)] {
        let output = files.command("shapes --list").env("SOURCE_DATE_EPOCH", time).output().unwrap();
        assert_eq!(output.status.code(), Some(if good { 0 } else { 2 }), "{time}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(good || stderr.contains(&format!("SOURCE_DATE_EPOCH: found '{time}', expected seconds")));
    }
}

/// It was found when the work was done, and lost.
#[test]
fn an_output_that_cannot_be_written_is_found_before_the_work() {
    let files = Files::new();
    // Nothing else is wrong with these lines; what they read does not exist, which would be found next.
    for (line, output) in [
        ("evaluate --model no-model --data @none.csv --output", "none/a.html"),
        ("evaluate --model no-model --data @none.csv --output", "none/a.json"),
        ("report @none.csv --output", "measured.csv/a.html"),
        ("evaluate --against no-model --model no-model --data @none.csv --output", "none/a.csv"),
        ("rank --model no-model --pool none.txt --problem M=1 --output", "none/a.csv"),
    ] {
        let ran = files.run(&format!("{line} @{output}"));
        let said = String::from_utf8(ran.stderr).unwrap();
        let path = files.path(output);
        assert!(said.starts_with(&format!("ckselect: {}: ", path.display())), "{line}: {said}");
        assert_eq!((ran.status.code(), said.lines().count()), (Some(1), 1), "{line}: {said}");
    }
}

/// A folder that its maker could not enter could not be removed either.
#[test]
fn packing_under_any_umask_leaves_nothing() {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::CommandExt as _;
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_ckselect"), folder.path().join("ckselect")).unwrap();
    fs::create_dir(folder.path().join("model")).unwrap();
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(MODEL);
    for name in ["feature_spec.json", "model_tflops.lgbm.gz"] {
        fs::copy(model.join(name), folder.path().join("model").join(name)).unwrap();
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

/// Names and contents of files reached the terminal as they were.
#[test]
fn files_cannot_command_a_terminal() {
    let files = Files::new();
    let write = |name: &str, text: &str| fs::write(files.path(name), text).unwrap();
    write("pool.txt", "grouped_conv_forward_\x1b[2Jbf16\n");
    write("bad.csv", "N,C,\x1b]0;owned\x07,K\n1,2,3,4\n");
    write("\u{9b}31m.csv", "");
    for line in [
        format!("rank --model {MODEL} --pool @pool.txt --problem {PROBLEM}"),
        format!("rank --model {MODEL} --pool {POOL} --problems @bad.csv"),
        format!("rank --model {MODEL} --pool {POOL} --problem N=\x1b[31m"),
        "report @\u{9b}31m.csv".to_owned(),
        // The parser of the command line drops them.
        "report --no-\x07".to_owned(),
    ] {
        let ran = files.run(&line);
        let (out, said) = (String::from_utf8(ran.stdout).unwrap(), String::from_utf8(ran.stderr).unwrap());
        let is_shown = said.contains("\\u00") || line.contains("--no-");
        assert!(!ran.status.success() && is_shown, "{line:?}: {said:?}");
        for text in [out, said] {
            assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{line:?}: {text:?}");
        }
    }
}
