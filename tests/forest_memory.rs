//! How much memory a text can make the parser take.

mod bad_forests;
#[allow(dead_code, reason = "of several programs")]
mod counting;

use std::fs;

use ck_select::forest::Forest;
use counting::{BYTES, PEAK};

/// The most bytes that were allocated at once while the text was parsed.
fn peak(text: &[u8]) -> usize {
    let before = BYTES.get();
    PEAK.set(before);
    let _ = Forest::parse(text);
    (PEAK.get() - before) as usize
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
