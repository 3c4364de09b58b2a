//! A forest and LightGBM's text of it.
//!
//! LightGBM continues a text and writes one, selections and folds score the parsed forest, and a model directory
//! holds the text. So both stay together from the training to the file: a text is parsed once, where it comes
//! from, which also says there and then whether it can be served.

use std::ops::Deref;
use std::sync::Arc;

use ck_select_model::forest::{Forest, ForestError};

/// A forest and LightGBM's text of it; copies share both.
#[derive(Debug, Clone)]
pub struct TextForest {
    text: Arc<str>,
    forest: Arc<Forest>,
}

impl TextForest {
    /// Parses a text of LightGBM.
    pub fn parse(text: impl Into<Arc<str>>) -> Result<Self, ForestError> {
        let text = text.into();
        Ok(Self { forest: Arc::new(Forest::parse(text.as_bytes())?), text })
    }

    /// LightGBM's text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The forest, to be shared with what scores by it.
    pub const fn forest(&self) -> &Arc<Forest> {
        &self.forest
    }
}

impl Deref for TextForest {
    type Target = Forest;

    fn deref(&self) -> &Forest {
        &self.forest
    }
}
