//! Grammars of kernels' names: a list of parts, each with the fields that it gives, reads names and writes
//! them.
//!
//! A name is a tag and a value, again and again: `_64x128x64` is the tag `_` and three numbers, `_dp` is a
//! flag. Each grammar (CK's short and long names, identifiers, configurations, Triton's, AITER's) is an array
//! of [`Part`]s over the fields of one record. [`NameReader`] and [`NameWriter`] go along the same array, so
//! that what is written can be read, and a field that a name gains is one line. Fields are named by text and
//! looked up when the grammar is compiled: a part for a field that does not exist is an error of the
//! compiler.

use std::fmt::{Display, Write as _};

use crate::field::{Field, Kind, MOST_FIELDS, Record, Value, positions, values};
use crate::scan::{NameError, Scan};

/// How a part gives its fields.
#[derive(Clone, Copy)]
pub(crate) enum PartForm {
    /// A flag is set where the tag stands.
    Mark,
    /// A number; of a flag 0 or 1, of a word its index in the vocabulary.
    Number,
    /// So many numbers with an `x` between them.
    Joined(usize),
    /// Three numbers with `_` between them.
    Widths,
    /// A word.
    Word,
    /// A word, but not the first of its vocabulary, which is never written.
    Other,
    /// One of these words, by its index. Of several with a bar between them, the first is written.
    Choice(&'static [&'static str]),
    /// `True` or `False`.
    Truth,
    /// So many flags, a digit each: 0 or one of the others.
    Digits(usize, &'static [char]),
}

/// A part of a name.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    tag: &'static str,
    /// The part's name in messages, if that is not its tag.
    what: Option<&'static str>,
    /// The index of the part's first field.
    first: usize,
    form: PartForm,
    kind: Kind,
    least: i64,
    most: i64,
}

impl Part {
    /// The part behind a tag, which gives the field with this name, or several of which it is the first. A
    /// name that no field has does not compile.
    pub(crate) const fn new(
        fields: &'static [Field],
        tag: &'static str,
        field: &'static str,
        form: PartForm,
    ) -> Self {
        let index = positions(fields, &[field])[0];
        let Field { kind, least, mut most, range, .. } = fields[index];
        match kind {
            Kind::Flag => most = 1,
            Kind::Word(vocabulary) => most = vocabulary.words.len() as i64 - 1,
            _ if range[1] < most => most = range[1],
            _ => {}
        }
        Self { tag, what: None, first: index, form, kind, least, most }
    }

    /// The part under a name for messages.
    pub(crate) const fn called(self, what: &'static str) -> Self {
        Self { what: Some(what), ..self }
    }

    /// The part with another least number.
    pub(crate) const fn from(self, least: i64) -> Self {
        Self { least, ..self }
    }

    /// The part where 0 may stand, too.
    pub(crate) const fn or_zero(self) -> Self {
        if self.least > 0 { self.from(0) } else { self }
    }

    fn name(&self) -> &'static str {
        self.what.unwrap_or(self.tag)
    }

    /// How many fields it gives.
    const fn count(&self) -> usize {
        match self.form {
            PartForm::Joined(count) | PartForm::Digits(count, _) => count,
            PartForm::Widths => 3,
            _ => 1,
        }
    }

    /// The words of which it may be one.
    pub(crate) fn words(&self) -> &'static [&'static str] {
        match (self.kind, self.form) {
            (Kind::Word(vocabulary), PartForm::Other) => &vocabulary.words[1..],
            (Kind::Word(vocabulary), _) => vocabulary.words,
            _ => &[],
        }
    }

    /// The part's name in messages that say that it is missing.
    fn expected(&self) -> String {
        match (self.what, self.form) {
            (Some(what), _) => what.to_owned(),
            (None, PartForm::Joined(count)) => format!("{count} numbers"),
            (None, PartForm::Digits(count, _)) => format!("{count} digits"),
            (None, PartForm::Word | PartForm::Other) => "a word".to_owned(),
            (None, PartForm::Choice(words)) => format!("one of: {}", words.join(", ").replace('|', ", ")),
            (None, _) => "a number".to_owned(),
        }
    }

    /// Whether the values differ from those without this part: a mark can only be set.
    fn differs(&self, values: &[i64], usual: &[i64]) -> bool {
        let own = self.first..self.first + self.count();
        values[own.clone()] != usual[own] && (!matches!(self.form, PartForm::Mark) || values[self.first] != 0)
    }

    /// Writes it.
    fn write(&self, values: &[i64], out: &mut String) {
        let own = &values[self.first..self.first + self.count()];
        let joined = |by: &str| own.iter().map(i64::to_string).collect::<Vec<_>>().join(by);
        out.push_str(self.tag);
        // Writing to a `String` cannot fail.
        let _ = match self.form {
            PartForm::Mark => Ok(()),
            PartForm::Number => write!(out, "{}", own[0]),
            PartForm::Joined(_) => out.write_str(&joined("x")),
            PartForm::Widths => out.write_str(&joined("_")),
            PartForm::Word | PartForm::Other => match self.kind {
                Kind::Word(vocabulary) => out.write_str(vocabulary.words.get(own[0] as usize).unwrap_or(&"")),
                _ => Ok(()),
            },
            PartForm::Choice(words) => {
                let word = words.get(own[0] as usize).and_then(|words| words.split('|').next());
                out.write_str(word.unwrap_or_default())
            }
            PartForm::Truth => out.write_str(if own[0] == 0 { "False" } else { "True" }),
            PartForm::Digits(..) => out.write_str(&joined("")),
        };
    }
}

/// A kernel's name under construction.
pub(crate) struct NameWriter {
    values: [i64; MOST_FIELDS],
    /// The text so far.
    pub(crate) text: String,
}

impl NameWriter {
    /// Begins the name of a kernel.
    pub(crate) fn new<R: Record>(kernel: &R, begin: impl Into<String>) -> Self {
        Self { values: values(kernel), text: begin.into() }
    }

    /// Adds parts.
    pub(crate) fn all(mut self, parts: &[Part]) -> Self {
        for part in parts {
            part.write(&self.values, &mut self.text);
        }
        self
    }

    /// Adds text.
    pub(crate) fn with(mut self, text: impl Display) -> Self {
        // Writing to a `String` cannot fail.
        let _ = write!(self.text, "{text}");
        self
    }

    /// Adds the parts whose values differ from those of a kernel without them.
    pub(crate) fn other<R: Record>(mut self, parts: &[Part], usual: &R) -> Self {
        let usual = values(usual);
        for part in parts.iter().filter(|part| part.differs(&self.values, &usual)) {
            part.write(&self.values, &mut self.text);
        }
        self
    }

    /// The parts of a name one by one, without the `_` before them.
    pub(crate) fn words<R: Record>(
        kernel: &R,
        parts: impl IntoIterator<Item = Part>,
        usual: &R,
    ) -> Vec<String> {
        let (values, usual) = (values(kernel), values(usual));
        let word = |part: Part| {
            let mut text = String::new();
            part.write(&values, &mut text);
            text.trim_start_matches('_').to_owned()
        };
        parts.into_iter().filter(|part| part.differs(&values, &usual)).map(word).collect()
    }
}

/// The fields of a kernel, as far as its name was read, and the rest of the name.
pub(crate) struct NameReader<'s, 'a> {
    pub(crate) scan: &'s mut Scan<'a>,
    /// The numbers of the fields.
    pub(crate) values: [i64; MOST_FIELDS],
    /// The fields that the name states, a bit each.
    pub(crate) stated: u64,
}

impl<'s, 'a> NameReader<'s, 'a> {
    /// Goes on with a name; what it leaves out is as in a kernel.
    pub(crate) fn new<R: Record>(scan: &'s mut Scan<'a>, usual: &R) -> Self {
        Self { scan, values: values(usual), stated: 0 }
    }

    /// Reads parts that must stand there.
    pub(crate) fn all(&mut self, parts: &[Part]) -> Result<(), NameError> {
        for part in parts {
            if part.tag == "_" {
                self.scan.separator(&part.expected())?;
            } else if !self.scan.eat(part.tag) {
                let (found, tag, expected) = (self.scan.ahead(), part.tag, part.expected());
                return Err(self.scan.fail(format!("found '{found}', expected '{tag}' and {expected}")));
            }
            self.value(part)?;
        }
        Ok(())
    }

    /// Reads those parts that stand there.
    pub(crate) fn any(&mut self, parts: &[Part]) -> Result<(), NameError> {
        for part in parts {
            let is_next = match part.form {
                PartForm::Mark => self.scan.eat_whole(part.tag),
                PartForm::Number if !part.tag.ends_with('=') => self.scan.eat_before_number(part.tag),
                PartForm::Word | PartForm::Other if part.tag == "_" => {
                    self.scan.eat_before_word(part.words())
                }
                _ => self.scan.eat(part.tag),
            };
            if is_next {
                self.value(part)?;
            }
        }
        Ok(())
    }

    /// Reads what stands behind a part's tag.
    fn value(&mut self, part: &Part) -> Result<(), NameError> {
        let Part { first, kind, least, most, .. } = *part;
        let (scan, what) = (&mut *self.scan, part.name());
        let own = &mut self.values[first..first + part.count()];
        match part.form {
            PartForm::Mark => own[0] = 1,
            PartForm::Number => {
                own[0] = scan.number(what, least, most).map_err(|error| match kind {
                    Kind::Word(vocabulary) => {
                        scan.fail(format!("{} ({})", error.reason, vocabulary.words.join(", ")))
                    }
                    _ => error,
                })?;
            }
            PartForm::Joined(_) => scan.joined(what, least, most, own)?,
            PartForm::Widths => own.copy_from_slice(&scan.widths(least)?),
            PartForm::Choice(words) => {
                let mut is_next = |words: &str| words.split('|').any(|word| scan.eat_whole(word));
                let Some(word) = words.iter().position(|words| is_next(words)) else {
                    let (found, expected) = (scan.ahead(), part.expected());
                    return Err(scan.fail(format!("found '{found}', expected {expected}")));
                };
                own[0] = word as i64;
            }
            PartForm::Truth => own[0] = scan.flag(what)?.into(),
            PartForm::Digits(_, accepted) => {
                for digit in own {
                    *digit = (scan.one_of(accepted)? != '0').into();
                }
            }
            PartForm::Word | PartForm::Other => {
                if let Kind::Word(vocabulary) = kind {
                    own[0] = scan.code(vocabulary)?;
                }
            }
        }
        self.state(part);
        Ok(())
    }

    /// Takes a part's fields as stated.
    pub(crate) fn state(&mut self, part: &Part) {
        (part.first..part.first + part.count()).for_each(|bit| self.stated |= 1 << bit);
    }

    /// Whether the name states a part.
    pub(crate) const fn has(&self, part: &Part) -> bool {
        self.stated >> part.first & 1 == 1
    }

    /// The value of a part's first field.
    pub(crate) fn get<T: Value>(&self, part: &Part) -> T {
        T::read(&self.values[part.first..])
    }

    /// The kernel; members that are no fields are those of another one.
    pub(crate) fn kernel<R: Record>(&self, beside: &R) -> R {
        R::read(&self.values, beside)
    }
}
