//! Words of a kernel's name besides types, shapes and pipeline.

#[derive(Default)]
pub(crate) struct Suffixes(pub(crate) Vec<String>);

impl Suffixes {
    pub(crate) fn word(&mut self, has: bool, word: impl std::fmt::Display) {
        if has {
            self.0.push(word.to_string());
        }
    }
}
