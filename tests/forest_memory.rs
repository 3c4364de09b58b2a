//! How much memory a text can make the parser take: alone in its process, because it counts every allocation.

mod bad_forests;

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use ck_select::forest::Forest;

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: every call goes to the system's allocator as it comes; counting changes nothing about it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(now, Relaxed);
        // SAFETY: the caller's promise about the layout is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise about pointer and layout is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// The most bytes that were allocated at once while the text was parsed.
fn peak(text: &[u8]) -> usize {
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    let _ = Forest::parse(text);
    PEAK.load(Relaxed) - before
}

#[test]
fn memory_is_bounded_by_the_text_and_not_by_its_claims() {
    let mut texts: Vec<_> =
        bad_forests::bad_forests().into_iter().map(|(name, text, _)| (name.to_owned(), text)).collect();
    for entry in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/forest")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "txt") {
            texts.push((path.display().to_string(), fs::read(&path).unwrap()));
        }
    }
    texts.push(("as many features as fit".into(), {
        let (names, infos) = ("a ".repeat(100_000), "0 ".repeat(100_000));
        format!(
            "tree\nversion=v4\nnum_class=1\nmax_feature_idx=99999\nfeature_names={names}\n\
             feature_infos={infos}\nend of trees\n"
        )
        .into()
    }));
    texts.push(("as many trees as fit".into(), {
        let tree = |index| format!("Tree={index}\nnum_leaves=1\nnum_cat=0\nleaf_value=1\n\n");
        let trees: String = (0..20_000).map(tree).collect();
        format!(
            "tree\nversion=v4\nnum_class=1\nmax_feature_idx=0\nfeature_names=x\nfeature_infos=none\n\
             {trees}end of trees\n"
        )
        .into()
    }));
    for (name, text) in texts {
        // A message, or the fields of one tree, may take more than a short text.
        let most = 8 * 1024 + 32 * text.len();
        let found = peak(&text);
        assert!(found <= most, "{name}: {found} bytes for {} of text", text.len());
        println!("{name}: {found} bytes for {} of text", text.len());
    }
}
