//! Answers to the questions about kernels alone.

use std::ops::Range;

use super::ladder::Ladders;
use super::lanes::{Column, Lanes};

/// The lanes that answer each question about kernels alone with yes.
#[derive(Debug)]
pub(in crate::scoring) struct KernelAnswers {
    questions: Range<usize>,
    /// Words of a set.
    words: usize,
    sets: Vec<u64>,
}

impl KernelAnswers {
    pub(in crate::scoring) fn new(ladders: &Ladders, lanes: &Lanes) -> KernelAnswers {
        let (questions, words) = (ladders.range(Column::Kernel), lanes.len().div_ceil(64));
        let mut sets = vec![0; questions.len() * words];
        for ladder in ladders.in_scope(Column::Kernel) {
            let first = ladder.questions.start - questions.start;
            let sets = &mut sets[first * words..][..ladder.questions.len() * words];
            let mut last = None;
            for lane in 0..lanes.len() {
                let value = lanes.value(lane, ladder.column);
                // Lanes are sorted, so that many values equal the one before.
                let position = match last {
                    Some((bits, position)) if bits == value.to_bits() => position,
                    _ => ladder.position(value),
                };
                last = Some((value.to_bits(), position));
                if let Some(word) = sets.get_mut(position * words + lane / 64) {
                    *word |= 1 << (lane % 64);
                }
            }
            for word in words..sets.len() {
                sets[word] |= sets[word - words];
            }
        }
        KernelAnswers { questions, words, sets }
    }

    /// `None` for a question that does not depend on kernels alone.
    pub(in crate::scoring) fn yes(&self, question: usize) -> Option<&[u64]> {
        let question = self.questions.contains(&question).then(|| question - self.questions.start)?;
        Some(&self.sets[question * self.words..][..self.words])
    }
}
