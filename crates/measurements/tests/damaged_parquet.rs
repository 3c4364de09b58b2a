//! Damaged parquet files: errors that name the file, or rows, and never a panic, a message of the panic hook,
//! or memory for what the damage claims.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Write as _;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use ck_select_measurements::{Measurements, RowScope};
use ck_select_types::vocab::Op;
use common::{converted_whole, options, tried};
use tempfile::TempDir;

/// Remembers the largest piece of memory that was asked for.
struct Largest;

static LARGEST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator.
unsafe impl GlobalAlloc for Largest {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LARGEST.fetch_max(size, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Largest = Largest;

fn table(folder: &TempDir) -> Vec<u8> {
    let mut text = String::from("kernel,problem_idx,N,C,K,Hi,Wi,Y,X,latency_ms,tflops,non_zero\n");
    for row in 0..240 {
        let (tile, n) = ([16, 32, 64][row % 3], 1 + row / 3);
        let name = format!("grouped_conv_forward_bf16_2d_{tile}x64x64_compv3_intrawave");
        let _ = writeln!(text, "{name},{},{n},64,64,28,28,3,3,0.{row:03}7,12.5,1", row / 3);
    }
    let (csv, whole) = (folder.path().join("a.csv"), folder.path().join("whole.parquet"));
    fs::write(&csv, text).unwrap();
    converted_whole(&csv, &whole);
    fs::read(whole).unwrap()
}

/// Places and bytes from a small generator, the same in every run.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

#[test]
fn no_mutant_panics_or_takes_memory() {
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        before(panic);
    }));
    let folder = TempDir::new().unwrap();
    let whole = table(&folder);
    let mut draw = Draw(7);
    let (path, output) = (folder.path().join("mutant.parquet"), folder.path().join("out.parquet"));
    let (mut refused, mut with_group) = (0, 0);
    // The footer says where everything is and how large: half of the mutants are of it.
    let footer = u32::from_le_bytes(whole[whole.len() - 8..whole.len() - 4].try_into().unwrap()) as usize + 8;
    LARGEST.store(0, Ordering::Relaxed);
    for mutant in 0..400 {
        let mut bytes = whole.clone();
        let from = if mutant % 2 == 0 { whole.len() - footer } else { 0 };
        let at = from + draw.below(whole.len() - from);
        match mutant % 8 {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..(at + 1 + draw.below(16)).min(whole.len()))),
            2 | 3 => bytes[at] = 0xff,
            _ => bytes[at] ^= 1 << draw.below(8),
        }
        fs::write(&path, &bytes).unwrap();
        let read = Measurements::read(&[&path], RowScope::all(Op::Conv));
        if let Err(error) = read {
            let error = error.to_string();
            assert!(error.contains("mutant.parquet: ") || error.contains("the data mixes"), "{error}");
            refused += 1;
            with_group += usize::from(error.contains("row group 1 of 1"));
        }
        if mutant % 8 == 5
            && let Err(error) = tried(std::slice::from_ref(&path), &output, &options()).0
        {
            assert!(!error.is_empty());
        }
    }
    assert!(refused > 100 && with_group > 0, "{refused} refused, {with_group} with their row group");
    assert_eq!(PANICS.load(Ordering::Relaxed), 0, "the panic hook was called");
    let largest = LARGEST.load(Ordering::Relaxed);
    assert!(largest < 64 << 20, "{largest} bytes at once");
}
