//! Running the program in its tests.

#![allow(dead_code, reason = "each test program uses a part")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

/// Thirty kernels of convolutions, a problem that they compute, and models that rank them.
pub(crate) const POOL: &str = "configs/forward_bf16.txt";
pub(crate) const PROBLEM: &str = "N=16,C=256,K=128,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1";
pub(crate) const MODEL: &str = "tests/golden/models/conv_small";
pub(crate) const MODEL_OF_GFX950: &str = "models/grouped_conv_forward_bf16_gfx950";

/// The names of the kernels.
pub(crate) fn kernels() -> Vec<String> {
    let names = std::fs::read_to_string(root().join(POOL)).unwrap();
    names.lines().filter(|line| line.starts_with("grouped_conv")).map(str::to_owned).collect()
}

/// Convolutions on six kernels, with made-up times that no estimate has: `compv4` is the faster the deeper
/// the problem.
pub(crate) fn sweep(problems: usize, direction: &str, dtype: &str) -> String {
    let mut text = "kernel,problem_idx,N,C,K,G,Hi,Wi,Y,X,pad_h,pad_w,latency_ms,tflops\n".to_owned();
    for index in 0..problems {
        let (n, c, k, extent) = (1 << (index % 5), 32 << (index % 3), 64 << (index % 4), 7 * (1 + index % 6));
        let work = 2.0 * (n * c * k * extent * extent * 9) as f64 / 1e9;
        for (m, nn, depth) in [(16, 64, 64), (64, 64, 64), (128, 128, 64)] {
            for pipeline in ["compv3", "compv4"] {
                let rows = (n * extent * extent) as f64 / f64::from(m);
                let tiles = rows.ceil() * (k as f64 / f64::from(nn)).ceil();
                let bonus = if pipeline == "compv4" { 90.0 / (c + 58) as f64 } else { 1.0 };
                let time = 4e-3 + tiles * bonus * f64::from(m * nn) * 2e-8;
                let _ = writeln!(
                    text,
                    "grouped_conv_{direction}_{dtype}_2d_{m}x{nn}x{depth}_{pipeline},{index},{n},{c},{k},1,\
                     {extent},{extent},3,3,1,1,{time:.6},{:.4}",
                    work / time
                );
            }
        }
    }
    text
}

/// The repository's folder, where commands run unless another folder is given.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Words of a command line, which is split at blanks outside single quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            c if c.is_whitespace() && !quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// What came of a command.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Ran {
    pub(crate) fn run(command: &mut Command) -> Self {
        command.output().unwrap().into()
    }

    /// What came of a process that must not hang; one that does is killed.
    pub(crate) fn soon(child: Child) -> Self {
        let process = child.id().to_string();
        let (ended, wait) = std::sync::mpsc::channel::<()>();
        let watch = std::thread::spawn(move || {
            let hangs = wait.recv_timeout(Duration::from_secs(60)) == Err(RecvTimeoutError::Timeout);
            hangs.then(|| Command::new("sh").args(["-c", "kill -KILL \"$0\"", &process]).status())
        });
        let ran = child.wait_with_output().unwrap().into();
        drop(ended);
        assert!(watch.join().unwrap().is_none(), "it hangs: {ran:?}");
        ran
    }

    /// What a command that succeeds prints, and what it says.
    pub(crate) fn good(self, line: &str) -> (String, String) {
        assert_eq!(self.code, Some(0), "{line}\n{}", self.stderr);
        (self.stdout, self.stderr)
    }

    /// What a command says that fails and prints nothing, unless a check failed for what it prints.
    pub(crate) fn bad(self, line: &str, code: i32) -> String {
        let printed = if code == 3 { "" } else { &self.stdout };
        assert_eq!((self.code, printed), (Some(code), ""), "{line}\n{}", self.stderr);
        self.stderr
    }
}

pub(crate) fn both(line: &str) -> (String, String) {
    Folder::new().both(line)
}

pub(crate) fn good(line: &str) -> String {
    both(line).0
}

/// A folder for a test. `@name` in a command line is a file in it.
pub(crate) struct Folder {
    place: tempfile::TempDir,
    /// Where commands run.
    within: PathBuf,
    /// Variables of its commands.
    variables: Vec<(&'static str, String)>,
}

impl Folder {
    /// Commands run in the repository's folder.
    pub(crate) fn new() -> Self {
        Self { place: tempfile::tempdir().unwrap(), within: root(), variables: Vec::new() }
    }

    /// Commands run in the folder itself.
    pub(crate) fn inside() -> Self {
        let place = tempfile::tempdir().unwrap();
        Self { within: place.path().to_owned(), place, variables: Vec::new() }
    }

    /// Commands run with this variable.
    pub(crate) fn with(mut self, variable: &'static str, value: &str) -> Self {
        self.variables.push((variable, value.to_owned()));
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn read_json(&self, name: &str) -> serde_json::Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// What stands beside a log.
    pub(crate) fn meta(&self, log: &str) -> serde_json::Value {
        self.read_json(&format!("{log}.meta.json"))
    }

    /// A text with the paths of its files.
    pub(crate) fn located(&self, text: &str) -> String {
        let mut parts = text.split('@');
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |text, part| {
            let is_file = part.starts_with(|c: char| c.is_alphanumeric());
            text + &if is_file { self.path(part).display().to_string() } else { format!("@{part}") }
        })
    }

    /// The program with these words, at a fixed time, whatever GPUs the machine shows.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ckselect"));
        command.current_dir(&self.within).args(words(&self.located(line))).stdin(Stdio::null());
        for variable in
            ["HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CK_SELECT_STORE"]
        {
            command.env_remove(variable);
        }
        command.env("SOURCE_DATE_EPOCH", "1700000000").envs(self.variables.iter().cloned());
        command
    }

    pub(crate) fn run(&self, line: &str) -> Ran {
        Ran::run(&mut self.command(line))
    }

    /// What a command that succeeds prints, and what it says.
    pub(crate) fn both(&self, line: &str) -> (String, String) {
        self.run(line).good(line)
    }

    /// What a command that succeeds prints.
    pub(crate) fn good(&self, line: &str) -> String {
        self.both(line).0
    }

    /// What a command that succeeds prints as JSON.
    pub(crate) fn json(&self, line: &str) -> serde_json::Value {
        serde_json::from_str(&self.good(&format!("{line} --format json"))).unwrap()
    }

    /// What a command says that fails and prints nothing.
    pub(crate) fn bad(&self, line: &str, code: i32) -> String {
        self.run(line).bad(line, code)
    }

    /// See [`refuses`].
    pub(crate) fn refuses(&self, transcript: &str) {
        let mut lines = transcript.lines().map(str::trim).filter(|line| !line.is_empty());
        while let Some(line) = lines.next() {
            let (code, said) = lines.next().and_then(|line| line.split_once(": ")).expect(line);
            let found = self.run(line).bad(line, code.parse().expect(line));
            assert!(found.contains(&self.located(said)), "{line}\n{found}");
        }
    }
}

/// Commands that fail and print nothing: each in a line, and in the next the exit code, a colon and a part of
/// what it says.
pub(crate) fn refuses(transcript: &str) {
    Folder::new().refuses(transcript);
}

/// The cells of a column of a CSV.
pub(crate) fn column(table: &str, name: &str) -> Vec<String> {
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let at = reader.headers().unwrap().iter().position(|column| column == name).unwrap();
    reader.records().map(|row| row.unwrap()[at].to_owned()).collect()
}

/// Waits until a file has this many lines, for as long as a process that writes it lives.
pub(crate) fn wait_for_lines(file: &Path, count: usize, writer: &mut Child) {
    let has = || std::fs::read_to_string(file).is_ok_and(|text| text.matches('\n').count() >= count);
    while !has() && writer.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Sends a signal by the shell's own `kill`: a minimal system has no program of that name.
pub(crate) fn kill(process: &Child, signal: &str) {
    let mut shell = Command::new("sh");
    shell.args(["-c", "kill \"$0\" \"$1\"", signal, &process.id().to_string()]);
    assert!(shell.status().unwrap().success());
}

/// A file of `tests/fake_kernels`.
pub(crate) fn fake(name: &str) -> PathBuf {
    root().join("tests/fake_kernels").join(name)
}

/// Compiles C.
pub(crate) fn cc(source: &Path, arguments: &[&str], output: &Path) {
    let compiled = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()))
        .args(["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O1", "-I"])
        .arg(root().join("include"))
        .args(arguments)
        .arg(source)
        .arg("-o")
        .arg(output)
        .status()
        .expect("a C compiler is needed");
    assert!(compiled.success());
}

/// Makes the library of fake kernels in a folder, and the runner that takes it.
pub(crate) fn make_fakes(folder: &Folder) {
    cc(&fake("fake_library.c"), &["-shared", "-fPIC"], &folder.path("fakes.so"));
    folder.write("runner.json", r#"{"runner": "library", "library": "fakes.so", "device": "host"}"#);
}
