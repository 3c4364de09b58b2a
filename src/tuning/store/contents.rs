//! What a file holds.

use std::collections::{HashMap, HashSet};

use super::lines::{START, json_lines, lines, parse};
use super::{Record, Scope};
use crate::problem::Problem;

#[derive(Default)]
pub(super) struct Contents {
    /// The last winner for each problem, in the order in which they were written.
    pub(super) records: Vec<Record>,
    /// How many lines no longer count, because later ones replaced them.
    pub(super) replaced: usize,
    /// The lines that cannot be read, from the last, with their numbers and what is wrong.
    pub(super) unreadable: Vec<(usize, Vec<u8>, String)>,
}

impl Contents {
    pub(super) fn parse(text: &[u8]) -> Self {
        let (mut contents, mut seen) = (Self::default(), HashSet::new());
        // From the end, because the last line for a problem counts.
        for (number, line) in lines(text).into_iter().rev() {
            match parse(line) {
                Err(fault) => contents.unreadable.push((number, line.to_owned(), fault)),
                Ok(record) if seen.insert((record.scope.clone(), record.problem)) => {
                    contents.records.push(record);
                }
                Ok(_) => contents.replaced += 1,
            }
        }
        contents.records.reverse();
        contents
    }

    /// The contents as lines, without those that no version can have written.
    pub(super) fn to_lines(&self) -> Vec<u8> {
        let mut text = json_lines(&self.records);
        for (_, line, _) in self.unreadable.iter().rev().filter(|(_, line, _)| line.starts_with(START)) {
            text.extend_from_slice(line);
            text.push(b'\n');
        }
        text
    }

    /// The records that are better than what is there, and how many of each kind there are.
    pub(super) fn merge<'r>(&self, records: &'r [Record]) -> (Merged, Vec<&'r Record>) {
        let (mut merged, mut better) = (Merged::default(), Vec::new());
        let entry = |record| -> (_, &Record) { (key(record), record) };
        let mut known: HashMap<_, _> = self.records.iter().map(entry).collect();
        for record in records {
            let count = match known.get(&key(record)).map(|known| &known.winner) {
                Some(winner) if *winner == record.winner => &mut merged.same,
                Some(winner) if !record.winner.supersedes(winner) => &mut merged.kept,
                other => {
                    let count = if other.is_some() { &mut merged.replaced } else { &mut merged.added };
                    known.insert(key(record), record);
                    better.push(record);
                    count
                }
            };
            *count += 1;
        }
        (merged, better)
    }
}

fn key(record: &Record) -> (&Scope, &Problem) {
    (&record.scope, &record.problem)
}

/// The result of importing records into a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Merged {
    /// Winners for keys that the store did not have.
    pub added: usize,
    /// Winners that the store already had, equal in every field.
    pub same: usize,
    /// Conflicts in which the record was newer and replaced the store's winner.
    pub replaced: usize,
    /// Conflicts in which the store's winner was newer and stayed.
    pub kept: usize,
}
