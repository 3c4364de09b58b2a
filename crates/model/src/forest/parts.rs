//! A text in parts of whole trees: read, cut and parsed in one pass, by several threads when it is large.
//!
//! ```text
//! header = up to the first tree
//! each thread, until there is nothing left:
//!     lock:  part = the next bytes up to the last line `Tree=` among them, or up to `end of trees`
//!     parse: its trees, counting trees and lines from the part's beginning
//! then, part by part: trees in order, or the first fault, its numbers shifted by what came before
//! ```
//!
//! The text is never in memory as a whole, only one part per thread. A compressed text is inflated by the
//! thread that cuts, while the others parse.

use std::convert::Infallible;
use std::io;
use std::num::NonZero;
use std::sync::{Mutex, MutexGuard, PoisonError};

use memchr::{memchr_iter, memmem, memrchr};

use super::error::{Before, ForestError, Place};
use super::fields::Fields;
use super::header::Header;
use super::text::{Field, Lines};
use super::tree::Tree;
use super::{sections, tree_text};

/// Bytes of the first read: a small text needs no larger buffer.
const LEAST: usize = 1 << 12;
/// Bytes of text that are worth starting one more thread.
const A_THREAD: u64 = 4 << 20;
/// More threads would wait for the cutting.
const MOST_THREADS: usize = 8;

const TREE: &[u8] = b"Tree=";
const END: &[u8] = b"end of trees";

/// Where a text comes from.
pub(super) trait Source: Send {
    /// Its error.
    type Error: Send;
    /// Reads some bytes; none at the end.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Self::Error>;
}

impl Source for &[u8] {
    type Error = Infallible;

    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Infallible> {
        let (now, later) = self.split_at(buffer.len().min(self.len()));
        buffer[..now.len()].copy_from_slice(now);
        *self = later;
        Ok(now.len())
    }
}

/// A reader as a source.
pub(super) struct Reader<R>(pub(super) R);

impl<R: io::Read + Send> Source for Reader<R> {
    type Error = io::Error;

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }
}

/// Why there is no forest.
#[derive(Debug)]
pub(super) enum Fault<E> {
    Source(E),
    Text(ForestError),
}

impl<E> From<ForestError> for Fault<E> {
    fn from(error: ForestError) -> Self {
        Fault::Text(error)
    }
}

/// The contents of a text.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) header: Header,
    pub(super) trees: Vec<Tree>,
    pub(super) parameters: Option<String>,
}

/// How to read a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    /// Bytes of a part, unless a tree is larger.
    part: usize,
    threads: usize,
}

impl Plan {
    /// For a text of about this many bytes. A wrong number only costs time.
    pub(super) fn new(size: u64) -> Plan {
        let worth = usize::try_from(size / A_THREAD).unwrap_or(usize::MAX).min(MOST_THREADS);
        // Querying the number of CPUs costs system calls.
        let threads = if worth < 2 {
            1
        } else {
            worth.min(std::thread::available_parallelism().map_or(1, NonZero::get))
        };
        // A few trees, which stay in the cache between reading and parsing; larger parts only take more
        // memory.
        Plan { part: 1 << 16, threads }
    }
}

/// Reads a text.
pub(super) fn read<S: Source>(source: S, plan: Plan) -> Result<Contents, Fault<S::Error>> {
    let least = LEAST.min(plan.part);
    let mut cutter =
        Cutter { source, bytes: Vec::new(), used: 0, least, part: plan.part, stage: Stage::Trees };
    let (header, mut before) = cutter.header()?;
    let features = header.feature_names.len();

    let work = Mutex::new(Work { cutter, parts: 0, fault: None });
    let mut parts = std::thread::scope(|scope| {
        let help = |_| {
            let builder = std::thread::Builder::new().name("ck_select load".to_owned());
            // Without another thread it only takes longer.
            builder.spawn_scoped(scope, || parse_parts(&work, features)).ok()
        };
        let helpers: Vec<_> = (1..plan.threads).filter_map(help).collect();
        let mut parts = parse_parts(&work, features);
        for helper in helpers {
            parts.extend(helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        parts
    });
    parts.sort_unstable_by_key(|(number, _)| *number);

    let mut trees = Vec::with_capacity(parts.iter().map(|(_, part)| part.trees.len()).sum());
    for (_, part) in parts {
        part.append(&mut trees, &mut before)?;
    }
    let Work { mut cutter, fault, .. } = work.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(fault) = fault {
        return Err(Fault::Source(fault));
    }
    let rest = cutter.rest().map_err(Fault::Source)?;
    let parameters = end(&header, rest, before)?;
    Ok(Contents { header, trees, parameters })
}

/// What follows the trees: checks their number, and keeps the parameters.
pub(super) fn end(header: &Header, text: &[u8], before: Before) -> Result<Option<String>, ForestError> {
    let text = utf8(text).map_err(|error| error.shifted(before))?;
    let mut lines = Lines::new(text);
    lines.next();
    header.validate_trees(before.trees, lines.place().shifted(before))?;
    let parameters = sections::parameters(lines).map_err(|error| error.shifted(before))?;
    Ok(parameters.map(str::to_owned))
}

/// What the threads share.
struct Work<S: Source> {
    cutter: Cutter<S>,
    /// Number of parts handed out.
    parts: usize,
    fault: Option<S::Error>,
}

/// Parses part after part until none is left, and returns each with its number.
fn parse_parts<S: Source>(work: &Mutex<Work<S>>, features: usize) -> Vec<(usize, Part)> {
    let mut bytes = Vec::new();
    let mut parsed = Vec::new();
    loop {
        let mut turn = lock(work);
        let cut = turn.cutter.cut(&mut bytes);
        let number = turn.parts;
        turn.parts += 1;
        let (length, closed) = match cut {
            Ok(Some(cut)) => cut,
            Ok(None) => return parsed,
            Err(fault) => {
                turn.fault = Some(fault);
                turn.cutter.stage = Stage::Over;
                return parsed;
            }
        };
        drop(turn);
        let part = Part::parse(&bytes[..length], features, closed);
        if part.fault.is_some() {
            // The parts before this one are already handed out, and later ones no longer matter.
            lock(work).cutter.stage = Stage::Over;
        }
        parsed.push((number, part));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where in the text the cutter is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Trees,
    /// After the trees: what is not handed out begins with their end.
    Sections,
    /// Nothing is left, or nothing more is needed.
    Over,
}

/// Cuts a text where trees begin.
struct Cutter<S> {
    source: S,
    /// Read but not handed out; what follows `used` is free space.
    bytes: Vec<u8>,
    used: usize,
    /// Bytes to read at least, if less than a part is available.
    least: usize,
    part: usize,
    stage: Stage,
}

impl<S: Source> Cutter<S> {
    /// Reads the header, and how much of the text it takes.
    fn header(&mut self) -> Result<(Header, Before), Fault<S::Error>> {
        let (mut seen, mut whole) = (0, false);
        let length = loop {
            let text = &self.bytes[..self.used];
            if let Some(length) = header_length(text, seen, whole) {
                break length;
            }
            if whole {
                break self.used;
            }
            seen = seen_up_to(self.used);
            whole = !more(&mut self.source, &mut self.bytes, &mut self.used, self.least, self.part)
                .map_err(Fault::Source)?;
        };
        let text = utf8(&self.bytes[..length])?;
        let mut lines = Lines::new(text);
        let header = Header::parse(&mut lines)?;
        let before = Before { bytes: text.len() - lines.rest().len(), lines: lines.number(), trees: 0 };
        self.bytes.copy_within(before.bytes..self.used, 0);
        self.used -= before.bytes;
        Ok((header, before))
    }

    /// Puts the next part into `into`. Returns its length, and whether something follows it, so that its last
    /// tree is complete.
    fn cut(&mut self, into: &mut Vec<u8>) -> Result<Option<(usize, bool)>, S::Error> {
        if self.stage != Stage::Trees {
            return Ok(None);
        }
        // The caller's buffer now holds what this part leaves over.
        std::mem::swap(&mut self.bytes, into);
        let mut used = self.used;
        let (mut seen, mut whole) = (0, false);
        let (length, closed) = loop {
            if let Some(end) = end_of_trees(&into[..used], seen, whole) {
                self.stage = Stage::Sections;
                break (end, true);
            }
            if whole {
                self.stage = Stage::Over;
                break (used, false);
            }
            if used >= self.part
                && let Some(start) = last_tree(&into[..used])
            {
                // The buffer is large enough for parts, so the next one is read at once.
                self.least = self.part;
                break (start, true);
            }
            seen = seen_up_to(used);
            whole = !more(&mut self.source, into, &mut used, self.least, self.part)?;
        };
        self.used = used - length;
        if self.bytes.len() < self.used {
            self.bytes.resize(self.used, 0);
        }
        self.bytes[..self.used].copy_from_slice(&into[length..used]);
        Ok(Some((length, closed)))
    }

    /// Everything that was not handed out.
    fn rest(&mut self) -> Result<&[u8], S::Error> {
        while more(&mut self.source, &mut self.bytes, &mut self.used, self.least, self.part)? {}
        Ok(&self.bytes[..self.used])
    }
}

/// Reads until there is twice as much, or a part; `false` if the source ends first.
fn more<S: Source>(
    source: &mut S,
    bytes: &mut Vec<u8>,
    used: &mut usize,
    least: usize,
    part: usize,
) -> Result<bool, S::Error> {
    let wanted = if *used < part { (*used * 2).clamp(least, part) } else { *used * 2 };
    if bytes.len() < wanted {
        bytes.resize(wanted, 0);
    }
    while *used < wanted {
        match source.read(&mut bytes[*used..wanted])? {
            0 => return Ok(false),
            count => *used += count,
        }
    }
    Ok(true)
}

/// How much of a text need not be searched again when more has been read.
fn seen_up_to(used: usize) -> usize {
    used.saturating_sub(END.len() + 3)
}

/// The text up to the point where the header is known to be over, if that is after `seen`. `whole`: there is
/// no more text.
fn header_length(text: &[u8], seen: usize, whole: bool) -> Option<usize> {
    let starts = std::iter::once(0).chain(memchr_iter(b'\n', &text[seen..]).map(|line| seen + line + 1));
    let mut trees = starts.filter(|&start| text[start..].starts_with(TREE));
    let tree = trees.next().map(|start| start + TREE.len());
    let end = end_of_trees(text, seen, whole).map(|start| start + END.len());
    tree.into_iter().chain(end).min()
}

/// Where the line begins that ends the trees, if that is after `seen`. `whole`: there is no more text.
fn end_of_trees(text: &[u8], seen: usize, whole: bool) -> Option<usize> {
    let is_line = |&start: &usize| {
        let rest = &text[start + END.len()..];
        let rest = rest.strip_prefix(b"\r").unwrap_or(rest);
        rest.first().map_or(whole, |&byte| byte == b'\n')
    };
    let first = (seen == 0 && text.starts_with(END)).then_some(0);
    let lines = memmem::find_iter(&text[seen..], b"\nend of trees").map(|line| seen + line + 1);
    first.into_iter().chain(lines).find(is_line)
}

/// Where the last tree begins that is not the first.
fn last_tree(text: &[u8]) -> Option<usize> {
    let mut end = text.len();
    while let Some(at) = memrchr(b'T', &text[..end]).filter(|&at| at > 0) {
        if text[at - 1] == b'\n' && text[at..].starts_with(TREE) {
            return Some(at);
        }
        end = at;
    }
    None
}

pub(super) fn utf8(text: &[u8]) -> Result<&str, ForestError> {
    std::str::from_utf8(text).map_err(|error| {
        let offset = error.valid_up_to();
        let line = 1 + memchr_iter(b'\n', &text[..offset]).count();
        Place::line(line).byte(offset).error("of the text is not UTF-8")
    })
}

/// A tree that may have more lines.
///
/// LightGBM ends a tree at the first blank line. Until then it takes everything between line ends and `=` as
/// a key: a line without `=` makes the next line's key unknown, as does a comment. Texts that it would read
/// like this are refused.
struct Open<'a> {
    place: Place,
    first: &'a str,
    fields: Fields<'a>,
    lines: usize,
    /// Whether there was a blank line.
    over: bool,
}

impl<'a> Open<'a> {
    /// Lines that LightGBM reads of a tree.
    const MOST_LINES: usize = 22;

    fn put(&mut self, place: Place, line: &'a str) -> Result<(), ForestError> {
        let expected = match (self.over, line.is_empty()) {
            (_, true) => {
                self.over = true;
                return Ok(());
            }
            (true, false) => "`Tree=` or `end of trees`, since a blank line ends a tree",
            (false, false) if !line.contains('=') => "a line `key=value`",
            (false, false) if self.lines == Self::MOST_LINES => {
                "a blank line, since a tree has at most 22 lines"
            }
            (false, false) => {
                self.lines += 1;
                return self.fields.put(place, line);
            }
        };
        Err(place.found(line, expected))
    }

    fn parse(&self, features: usize) -> Result<Tree, ForestError> {
        if !self.over {
            return Err(self.place.found(self.first, "a tree that a blank line ends"));
        }
        tree_text::parse(&self.fields, features)
    }
}

/// Consecutive trees. Places are counted from the part's beginning.
#[derive(Debug, Default)]
struct Part {
    bytes: usize,
    lines: usize,
    /// The first tree's number, and its place.
    first: Option<(Place, String, usize)>,
    trees: Vec<Tree>,
    fault: Option<ForestError>,
}

impl Part {
    fn parse(bytes: &[u8], features: usize, closed: bool) -> Part {
        let mut part = Part { bytes: bytes.len(), ..Part::default() };
        let parsed = utf8(bytes).and_then(|text| {
            let mut lines = Lines::new(text);
            let parsed = part.parse_trees(&mut lines, features, closed);
            part.lines = lines.number();
            parsed
        });
        part.fault = parsed.err();
        part
    }

    fn parse_trees(
        &mut self,
        lines: &mut Lines<'_>,
        features: usize,
        closed: bool,
    ) -> Result<(), ForestError> {
        let mut open: Option<Open<'_>> = None;
        while let Some(line) = lines.next_of_any_kind() {
            let number = line.strip_prefix("Tree=");
            if number.is_some()
                && let Some(tree) = open.take()
            {
                self.trees.push(tree.parse(features)?);
            }
            let place = lines.place().tree(self.trees.len());
            if let Some(number) = number {
                self.validate_number(place, number)?;
                let fields = tree_text::fields(place);
                open = Some(Open { place, first: line, fields, lines: 0, over: false });
            } else if let Some(tree) = &mut open
                // At the end of a text, a partial line is not the main thing missing.
                && (closed || !lines.rest().is_empty())
            {
                tree.put(place, line)?;
            }
        }
        if !closed {
            return Err(lines.place().tree(self.trees.len()).truncated("`end of trees`"));
        }
        if let Some(tree) = open {
            self.trees.push(tree.parse(features)?);
        }
        Ok(())
    }

    /// Trees count up; a number out of order means that trees were lost, added or swapped.
    fn validate_number(&mut self, place: Place, value: &str) -> Result<(), ForestError> {
        let place = place.field("Tree");
        let number = Field::new(place, value).number("a tree's number", |_: usize| true)?;
        let Some((_, _, first)) = self.first else {
            self.first = Some((place, value.to_owned(), number));
            return Ok(());
        };
        let expected = first.saturating_add(self.trees.len());
        if number == expected { Ok(()) } else { Err(place.value(value, expected.to_string())) }
    }

    /// Appends its trees to those of the parts before it, or reports what is wrong with the text up to here.
    fn append(self, trees: &mut Vec<Tree>, before: &mut Before) -> Result<(), ForestError> {
        if let Some((place, value, number)) = self.first
            && number != before.trees
        {
            return Err(place.shifted(*before).value(&value, before.trees.to_string()));
        }
        if let Some(fault) = self.fault {
            return Err(fault.shifted(*before));
        }
        before.bytes += self.bytes;
        before.lines += self.lines;
        before.trees += self.trees.len();
        trees.extend(self.trees);
        Ok(())
    }
}

#[cfg(test)]
#[path = "../../../../tests/bad_forests/mod.rs"]
mod bad_forests;

#[cfg(test)]
mod tests {
    use super::bad_forests::bad_forests;
    use proptest::prelude::*;

    use super::*;

    /// The debug form of what is read, with this part size and this many threads.
    fn found(text: &[u8], part: usize, threads: usize) -> String {
        format!("{:?}", read(text, Plan { part, threads }))
    }

    fn golden() -> Vec<(String, Vec<u8>)> {
        let bad = bad_forests().into_iter().map(|(name, text, _)| (name.to_owned(), text));
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/forest");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "txt"));
        files.map(|path| (path.display().to_string(), std::fs::read(&path).unwrap())).chain(bad).collect()
    }

    /// Trees in other parts, by other threads: the same forest, or the same fault at the same place.
    #[test]
    #[cfg_attr(miri, ignore = "reads files")]
    fn parts_and_threads_change_nothing() {
        let texts = golden();
        assert!(texts.len() > 20);
        for (name, text) in texts {
            let whole = found(&text, usize::MAX / 4, 1);
            for (part, threads) in [(1, 1), (100, 1), (1 << 10, 2), (1 << 12, 3), (1 << 19, 2)] {
                let cut = found(&text, part, threads);
                assert!(
                    cut == whole || name.contains("utf-8"),
                    "{name}, parts of {part}: {cut}, not {whole}"
                );
            }
        }
    }

    const SMALL: &str = "tree\nversion=v4\nnum_class=1\nmax_feature_idx=0\nfeature_names=x\n\
        feature_infos=none\n\n\
        Tree=0\nnum_leaves=1\nnum_cat=0\nleaf_value=1\n\nTree=1\nnum_leaves=1\nnum_cat=0\nleaf_value=2\n\n\
        Tree=2\nnum_leaves=2\nnum_cat=0\nsplit_feature=0\nthreshold=1\nleft_child=-1\nright_child=-2\n\
        leaf_value=6 7\n\nend of trees\n\nparameters:\nTree=9\nend of trees\nend of parameters\n";

    #[test]
    fn what_follows_the_trees_is_no_tree() {
        for part in [1, 30, 64, 1 << 12] {
            let contents = read(SMALL.as_bytes(), Plan { part, threads: 1 }).unwrap();
            assert_eq!(contents.trees.len(), 3);
            assert_eq!(contents.parameters.as_deref(), Some("Tree=9\nend of trees"));
        }
    }

    #[test]
    fn a_source_that_fails_is_no_truncated_text() {
        struct Failing<'a>(&'a [u8]);
        impl io::Read for Failing<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                match io::Read::read(&mut self.0, buffer)? {
                    0 => Err(io::Error::other("gone")),
                    count => Ok(count),
                }
            }
        }
        for length in [0, 20, 100, 150, 250, SMALL.len()] {
            for part in [1, 1 << 12] {
                let source = Reader(Failing(&SMALL.as_bytes()[..length]));
                match read(source, Plan { part, threads: 2 }) {
                    Err(Fault::Source(error)) => assert_eq!(error.to_string(), "gone"),
                    other => panic!("{length}: {other:?}"),
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: if cfg!(miri) { 4 } else { 2000 },
            failure_persistence: None,
            ..Default::default()
        })]

        /// Damaged anywhere, the text is refused for the same reason at the same place, regardless of how it
        /// is cut.
        #[test]
        fn faults_are_where_they_are(
            at in 0..SMALL.len(),
            with in prop::sample::select(
                vec!["", "\n", "\r\n", "#", "9", " ", "Tree=", "=", "\nend of trees\n"]
            ),
            gone in 0usize..30, part in 1usize..400, threads in 1usize..3
        ) {
            let text = format!("{}{with}{}", &SMALL[..at], &SMALL[(at + gone).min(SMALL.len())..]);
            let whole = found(text.as_bytes(), usize::MAX / 4, 1);
            prop_assert_eq!(found(text.as_bytes(), part, threads), whole);
        }
    }
}
