//! The fake kernels of `tests/fake_kernels`: building them, and knowing what they answer.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{Folder, Ran, cc, fake, make_fakes};

/// A folder with a pool, problems, and the fake kernels.
pub(crate) struct Fakes {
    folder: Folder,
    pub(crate) kernels: Vec<String>,
    pub(crate) problems: Vec<[i64; 3]>,
    /// Unique: stands in the environment of every process of this test.
    mark: String,
}

impl std::ops::Deref for Fakes {
    type Target = Folder;

    fn deref(&self) -> &Folder {
        &self.folder
    }
}

/// What a sweep has to find for a pair.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expected {
    Ms(f64),
    Class(&'static str),
}

/// The tile of a kernel.
fn tile(i: usize) -> String {
    format!("{}x{}x64", 16 * (1 + i % 20), 16 * (1 + i / 20))
}

impl Fakes {
    /// GEMM kernels as executables.
    pub(crate) fn executables(kernels: usize, problems: usize) -> Self {
        let name = |i: usize| {
            let tile = tile(i);
            format!(
                "gemm_universal_fp16_rcr_compv3_cshuffle_intrawave_False_False_False_False_{tile}_2x2x1_32x32x16"
            )
        };
        let fakes = Self::new((0..kernels).map(name).collect(), problems, "m,n,k");
        let bin = fakes.path("bin");
        fs::create_dir(&bin).unwrap();
        let program = bin.join("fake");
        cc(&fake("fake_benchmark.c"), &[], &program);
        for kernel in &fakes.kernels {
            fs::hard_link(&program, bin.join(format!("benchmark_{kernel}"))).unwrap();
        }
        fakes
    }

    /// Convolution kernels in a library.
    pub(crate) fn library(kernels: usize, problems: usize) -> Self {
        let name = |i: usize| format!("grouped_conv_forward_bf16_2d_{}_compv3_intrawave", tile(i));
        Self::in_library((0..kernels).map(name).collect(), problems, "N,C,K,Hi,Wi,Y,X")
    }

    /// Attention kernels in a library, of masks in turn.
    pub(crate) fn attention(kernels: usize, problems: usize) -> Self {
        let name = |i: usize| {
            let (m0, mask) = (16 * (1 + i / 2), ["no", "top_left"][i % 2]);
            format!(
                "fmha_fwd_bf16_batch_h128_qr_t{m0}x64x32x128x32x128_w16x16x32_pad1111_mask={mask}_bias=no\
                 _bpc=-1"
            )
        };
        Self::in_library((0..kernels).map(name).collect(), problems, "batch,seqlen_q,seqlen_k,nhead_q,hdim_q")
    }

    fn in_library(kernels: Vec<String>, problems: usize, header: &str) -> Self {
        let fakes = Self::new(kernels, problems, header);
        make_fakes(&fakes);
        fakes
    }

    fn new(kernels: Vec<String>, count: usize, header: &str) -> Self {
        let folder = Folder::inside();
        let [place, pool] = ["", "pool.txt"].map(|name| folder.path(name).display().to_string());
        let mark = format!("FAKE_MARK={place}");
        let folder =
            folder.with("FAKE_MARK", &place).with("CK_SELECT_LOCK_DIR", &place).with("FAKE_POOL", &pool);
        let problems: Vec<[i64; 3]> =
            (0..count as i64).map(|i| [1 + i, 64 + 8 * (i % 7), 64 + 16 * (i % 5)]).collect();
        folder.write("pool.txt", kernels.join("\n") + "\n");
        let mut text = format!("problem_idx,{header}\n");
        let rest = match header.as_bytes().first() {
            Some(b'm') => "",
            Some(b'b') => ",8,128",
            _ => ",14,14,1,1",
        };
        for (idx, [a, b, c]) in problems.iter().enumerate() {
            writeln!(text, "{},{a},{b},{c}{rest}", idx + 10).unwrap();
        }
        folder.write("problems.csv", text);
        Self { folder, kernels, problems, mark }
    }

    /// `ckselect bench` on this pool and these problems, in this folder.
    pub(crate) fn bench(&self, words: &str) -> Command {
        self.command(&format!("bench --pool pool.txt --problems problems.csv {words}"))
    }

    /// What a sweep that succeeds prints.
    #[track_caller]
    pub(crate) fn swept(&self, words: &str) -> String {
        succeeded(&mut self.bench(words))
    }

    /// What a sweep says that fails.
    #[track_caller]
    pub(crate) fn fails(&self, words: &str, code: i32) -> String {
        let ran = Ran::run(&mut self.bench(words));
        assert_eq!(ran.code, Some(code), "{words}: {}", ran.stderr);
        ran.stderr
    }

    /// What a log says.
    pub(crate) fn rows(&self, log: &str) -> Rows {
        found(&self.path(log))
    }

    /// What all pairs must answer if `faults` in a thousand have a fault.
    pub(crate) fn expected(&self, faults: u64, classes: &Classes) -> Rows {
        let mut expected = BTreeMap::new();
        for (idx, problem) in (10..).zip(&self.problems) {
            for kernel in &self.kernels {
                let answer = match fault(kernel, problem, faults) {
                    Some(fault) => Expected::Class(classes[fault]),
                    None => Expected::Ms((1 + hash(kernel, problem, "ms") % 99991) as f64 / 1024.0),
                };
                expected.insert((idx, kernel.clone()), answer);
            }
        }
        expected
    }

    /// Processes of this test that still live. Those that were killed may need a moment to go.
    pub(crate) fn orphans(&self) -> Vec<String> {
        let mut orphans = Vec::new();
        for _ in 0..500 {
            orphans = self.processes();
            if orphans.is_empty() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        orphans
    }

    /// Processes of this test that live.
    pub(crate) fn processes(&self) -> Vec<String> {
        let with_mark = |entry: std::io::Result<fs::DirEntry>| {
            let path = entry.ok()?.path();
            path.file_name()?.to_str()?.parse::<u32>().ok()?;
            let environment = fs::read(path.join("environ")).ok()?;
            environment.split(|&byte| byte == 0).find(|pair| *pair == self.mark.as_bytes())?;
            let command = fs::read(path.join("cmdline")).ok()?;
            Some(format!("{} {}", path.display(), String::from_utf8_lossy(&command).replace('\0', " ")))
        };
        fs::read_dir("/proc").unwrap().filter_map(with_mark).collect()
    }
}

/// What a log says: the answer for each problem and kernel.
pub(crate) type Rows = BTreeMap<(u64, String), Expected>;

/// Words of the log by fault: none, crash, hang, garbage, flood, exit, not a time, unsupported.
pub(crate) type Classes = [&'static str; 8];

/// A worker's kernels fail in other words than executables: what a library prints is not read.
pub(crate) const OF_WORKERS: Classes =
    ["", "crash", "timeout", "launch", "launch", "exit", "not_a_time", "unsupported"];

const CRASH: usize = 1;
const HANG: usize = 2;
const FLOOD: usize = 4;

fn hash(kernel: &str, [a, b, c]: &[i64; 3], salt: &str) -> u64 {
    let text = format!("{kernel}|{a},{b},{c}|{salt}");
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash >> 16
}

/// As `fake_fault` of model.h.
fn fault(kernel: &str, problem: &[i64; 3], faults: u64) -> Option<usize> {
    if hash(kernel, problem, "fault") % 1000 >= faults {
        return None;
    }
    Some(match hash(kernel, problem, "kind") % 40 {
        0 => HANG,
        1 => FLOOD,
        _ => [CRASH, 3, 5, 6, 7][hash(kernel, problem, "cheap") as usize % 5],
    })
}

/// What a log says, which has no pair twice.
pub(crate) fn found(log: &Path) -> Rows {
    let mut found = BTreeMap::new();
    let mut reader = csv::Reader::from_path(log).unwrap();
    let header = reader.headers().unwrap().clone();
    for record in reader.records() {
        let record = record.unwrap();
        let cell = |name: &str| record.get(header.iter().position(|column| column == name).unwrap()).unwrap();
        let answer = match cell("latency_ms") {
            "N/A" => {
                assert_eq!(cell("tflops"), "0.0");
                let class = cell("error_msg").split(':').next().unwrap();
                Expected::Class(String::leak(class.to_owned()))
            }
            ms => Expected::Ms(ms.parse().unwrap()),
        };
        let key = (cell("problem_idx").parse().unwrap(), cell("kernel").to_owned());
        assert_eq!(found.insert(key.clone(), answer), None, "{key:?} stands twice");
    }
    found
}

/// Fails with the pairs that differ.
pub(crate) fn assert_same(found: &Rows, expected: &Rows) {
    let differ: Vec<_> = expected
        .iter()
        .filter(|(key, value)| found.get(key) != Some(value))
        .map(|(key, value)| (key, value, found.get(key)))
        .take(5)
        .collect();
    assert!(differ.is_empty(), "expected, found: {differ:#?}");
    assert_eq!(found.len(), expected.len());
}

/// What a command that succeeds prints.
#[track_caller]
pub(crate) fn succeeded(command: &mut Command) -> String {
    Ran::run(command).good("").0
}
