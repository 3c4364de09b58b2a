//! What a file holds.

use std::collections::{HashMap, HashSet};

use super::exchange::{Line, write_records};
use super::{Record, Scope};
use crate::problem::Problem;

pub(super) fn json_lines<'r>(records: impl IntoIterator<Item = &'r Record>) -> Vec<u8> {
    let mut text = Vec::new();
    // Memory takes whatever is written.
    let _ = write_records(records, &mut text);
    text
}

/// How every line begins, and so every store.
pub(super) const START: &[u8] = b"{\"arch\":";

/// The last winner for each problem, in the order in which they were written, and the lines that cannot be
/// read.
#[derive(Default)]
pub(super) struct Contents<'a> {
    pub(super) records: Vec<Record>,
    pub(super) unreadable: Vec<&'a [u8]>,
}

impl<'a> Contents<'a> {
    pub(super) fn of(text: &'a [u8]) -> Self {
        let (mut contents, mut seen) = (Self::default(), HashSet::new());
        // From the end, because the last line for a problem counts.
        for (_, line) in lines(text).collect::<Vec<_>>().into_iter().rev() {
            match Line::parse(line).and_then(Line::record) {
                Err(_) => contents.unreadable.push(line),
                Ok(record) => {
                    if seen.insert((record.scope.clone(), record.problem)) {
                        contents.records.push(record);
                    }
                }
            }
        }
        contents.records.reverse();
        contents
    }

    /// As lines, without those that no version can have written.
    pub(super) fn to_lines(&self) -> Vec<u8> {
        let mut text = json_lines(&self.records);
        for line in self.unreadable.iter().rev().filter(|line| line.starts_with(START)) {
            text.extend_from_slice(line);
            text.push(b'\n');
        }
        text
    }

    /// Those records that are better than what is there, and how many of each kind there are.
    pub(super) fn merge<'r>(&self, records: &'r [Record]) -> (Merged, Vec<&'r Record>) {
        let (mut merged, mut fresh) = (Merged::default(), Vec::new());
        let entry = |record| -> (_, &Record) { (key(record), record) };
        let mut known: HashMap<_, _> = self.records.iter().map(entry).collect();
        for record in records {
            match known.get(&key(record)).map(|known| &known.winner) {
                None => merged.added += 1,
                Some(winner) if *winner == record.winner => {
                    merged.same += 1;
                    continue;
                }
                Some(winner) if !record.winner.supersedes(winner) => {
                    merged.kept += 1;
                    continue;
                }
                Some(_) => merged.replaced += 1,
            }
            known.insert(key(record), record);
            fresh.push(record);
        }
        (merged, fresh)
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

/// The lines of a file, with their numbers. The last one may have no end: it is being written, or a killed
/// process left it. Then it counts if it can be read.
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let (whole, rest) = text.split_at(whole_lines(text));
    let rest = Some(rest).filter(|rest| Line::parse(rest).is_ok());
    let lines = whole.split(|&byte| byte == b'\n').chain(rest);
    (1..).zip(lines).filter(|(_, line)| !line.trim_ascii().is_empty())
}

/// The length of the lines that have an end.
pub(super) fn whole_lines(text: &[u8]) -> usize {
    text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1)
}

/// Whether a text begins as a line does, however short it is.
pub(super) fn is_start(text: &[u8]) -> bool {
    text.iter().zip(START).all(|(found, expected)| found == expected)
}

/// The first line that cannot be read, and why.
pub(super) fn first_fault(text: &[u8]) -> Option<String> {
    lines(text).find_map(|(number, line)| {
        let fault = Line::parse(line).and_then(Line::record).err()?;
        Some(format!("line {number}: {fault}"))
    })
}
