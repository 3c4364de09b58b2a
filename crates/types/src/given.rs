//! A partial record: what cells say about a problem or a kernel, before anything is assumed.
//!
//! A row of a table, a mapping or a line of text names some of a record's fields, under any of their names.
//! Once read, it is a [`Given`]: the number of each field that it names, and nothing else. Whatever follows
//! (defaults, what a kernel's name says, a row over the problem that it is ranked for) works on these numbers,
//! so that cells are parsed in one place, and a word that cannot be read is refused there.
//!
//! ```text
//! row ── strict or lenient ──> Given ── over ──> Given ── OperationProblem::from_given ──> problem ── validate
//!                                         ^
//!                            another Given, for absent fields
//! ```
//!
//! Names are kept, one bit each, because a field may have several. Two names of a field must agree even where
//! one of them is the row's and the other one the problem's that it is ranked for, and `pad_h` means both sides
//! of an axis where `pad_h_left` means one. Upstream's tools look names up one after the other instead: a
//! lenient record takes the first, whatever the others say.

use std::marker::PhantomData;

use crate::cells::{self, Cell, Fields};
use crate::field::{self, Field, InvalidField, Kind, MOST_FIELDS, Record, Value};
use crate::groups::Groups;
use crate::routing::Routing;
use crate::vocab::Arch;

/// The fields that cells give of a record.
#[derive(Debug, PartialEq)]
pub struct Given<R> {
    values: [i64; MOST_FIELDS],
    /// The names under which each field is given, by their bits; none if it is absent.
    names: [u8; MOST_FIELDS],
    /// The fields whose word is none of their vocabulary, by the bits of the fields' indices.
    unknown: u64,
    beside: Beside,
    record: PhantomData<R>,
}

/// Values in cells that are no fields of the record.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Beside {
    arch: Option<Arch>,
    groups: Option<Groups>,
    routing: Option<Routing>,
    skew: Option<f64>,
    /// The numbers of [`Operation::shared_keys`](crate::operation::Operation::shared_keys).
    shared: [Option<i64>; 3],
}

impl Beside {
    /// Reads the keys of an operation that are no fields.
    fn read_extra(&mut self, cells: &dyn Fields, keys: &[&str]) -> Result<(), InvalidField> {
        let cell = |key| if keys.contains(&key) { cells.cell(key) } else { None };
        self.groups = cell("groups").map(|cell| cell.text("groups")?.parse()).transpose()?;
        // The rows of a single expert are a number, as a skew is.
        let text = |key| {
            cell(key).map(|cell| match cell {
                Cell::Word(text) => text.to_owned(),
                number => number.to_string(),
            })
        };
        self.routing = text("histogram").map(|rows| rows.parse()).transpose()?;
        self.skew = text("skew").map(|power| skew(&power)).transpose()?;
        Ok(())
    }
}

/// A power that a distribution may have.
fn skew(text: &str) -> Result<f64, InvalidField> {
    let valid = text.parse().ok().filter(|skew| (0.0..=100.0).contains(skew));
    valid.ok_or_else(|| InvalidField::new("skew", format_args!("'{text}'"), "0 (even) to 100"))
}

/// A name under which cells may give a field.
#[derive(Debug, Clone, Copy)]
pub struct FieldName {
    /// The field's index in its record.
    index: usize,
    /// The name's index among those of the field.
    bit: usize,
    /// The name.
    pub name: &'static str,
}

impl FieldName {
    /// All names of a record's fields.
    pub fn all<R: Record>() -> impl Iterator<Item = Self> {
        let of = |(index, field): (usize, &Field)| {
            field.names().enumerate().map(move |(bit, name)| Self { index, bit, name })
        };
        R::FIELDS.iter().enumerate().flat_map(of)
    }

    /// The names of columns: a list for each field, which begins with a name by which the field is known. The first
    /// in a list takes precedence.
    pub fn of_columns<R: Record>(columns: &'static [&'static [&'static str]]) -> impl Iterator<Item = Self> {
        columns.iter().flat_map(|names| {
            let position = names.first().and_then(|first| field::position(R::FIELDS, first));
            let named = position.into_iter().flat_map(|index| names.iter().map(move |name| (index, name)));
            named.enumerate().map(|(bit, (index, &name))| Self { index, bit, name })
        })
    }
}

// Not derived: a derive would ask `R: Copy`, but only numbers are copied.
impl<R> Clone for Given<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Given<R> {}

impl<R: Record> Default for Given<R> {
    /// Nothing.
    fn default() -> Self {
        let (values, names) = ([0; MOST_FIELDS], [0; MOST_FIELDS]);
        Self { values, names, unknown: 0, beside: Beside::default(), record: PhantomData }
    }
}

impl<R: Record> Given<R> {
    /// Reads cells under these names; two names of a field must agree.
    pub fn strict(
        cells: &dyn Fields,
        names: impl IntoIterator<Item = FieldName>,
    ) -> Result<Self, InvalidField> {
        let mut given = Self::default();
        for FieldName { index, bit, name } in names {
            let Some(value) = R::FIELDS[index].read(name, cells)? else { continue };
            if let Some(known) = given.first_name(index)
                && given.values[index] != value
            {
                let text = |name| cells.cell(name).map_or_else(String::new, |cell| cell.to_string());
                return Err(InvalidField::new(name, text(name), format!("{} as in {known}", text(known))));
            }
            given.values[index] = value;
            given.names[index] |= 1 << bit;
        }
        Ok(given)
    }

    /// Reads cells as upstream's tools do: the first name of a field counts, fractions are cut, and a word
    /// that the field does not have is that of `unknown`, which stands for all such words, or else refused.
    pub fn lenient(
        cells: &dyn Fields,
        names: impl IntoIterator<Item = FieldName>,
        unknown: Option<&R>,
    ) -> Result<Self, InvalidField> {
        let (mut given, unknown) = (Self::default(), unknown.map(field::values));
        for FieldName { index, bit, name } in names {
            let (field, Some(cell)) = (&R::FIELDS[index], cells.cell(name)) else { continue };
            if given.names[index] != 0 {
                continue;
            }
            let value = match field.kind {
                Kind::Flag => Some(cell.flag(name)?.into()),
                Kind::Word(_) => field.code(cell.text(name)?),
                Kind::Number | Kind::Shape => Some(field.held(name, cell.truncated(name)?)?),
            };
            let value = match (value, unknown) {
                (None, Some(unknown)) => {
                    given.unknown |= 1 << index;
                    Some(unknown[index])
                }
                // A word that no field has is refused with the words that there are.
                (None, None) => field.read(name, cells)?,
                (value, _) => value,
            };
            if let Some(value) = value {
                given.set(FieldName { index, bit, name }, value);
            }
        }
        Ok(given)
    }

    /// Adds what cells say beside an operation's fields: the architecture and, where the operation has them, a
    /// list of GEMMs, rows over experts and numbers that several fields share. Upstream's tools, which are not
    /// strict, share no numbers, and take any word for an architecture.
    pub fn with_beside<S>(
        mut self,
        cells: &dyn Fields,
        (extra_keys, shared_keys): (&[&str], &[(&str, S)]),
        is_strict: bool,
    ) -> Result<Self, InvalidField> {
        for (value, (key, _)) in self.beside.shared.iter_mut().zip(shared_keys).filter(|_| is_strict) {
            *value = cells::whole(cells, key)?;
        }
        self.beside.read_extra(cells, extra_keys)?;
        let arch = cells::parsed(cells, "arch");
        self.beside.arch = if is_strict { arch? } else { arch.unwrap_or_default() };
        Ok(self)
    }

    /// The fields given here and, for the rest, those given `below`. Where both give a field, this one counts, but
    /// another name of it `below` must agree; if the first name counts, it does wherever it is given.
    pub fn over(&self, below: &Self, first_counts: bool) -> Result<Self, InvalidField> {
        let mut both = *self;
        for (index, field) in R::FIELDS.iter().enumerate() {
            let (own, other) = (self.names[index], below.names[index]);
            let is_ahead = own.trailing_zeros() > other.trailing_zeros();
            if own == 0 || first_counts && is_ahead {
                both.values[index] = below.values[index];
                both.unknown = both.unknown & !(1 << index) | below.unknown & (1 << index);
            } else if !first_counts && other & !own != 0 && self.values[index] != below.values[index] {
                let [one, two] = [(own, self), (other & !own, below)].map(|(names, given)| {
                    let bit = names.trailing_zeros() as usize;
                    (bit, field.names().nth(bit).unwrap_or_default(), field.shown(given.values[index]))
                });
                let [first, then] = if one.0 < two.0 { [one, two] } else { [two, one] };
                return Err(InvalidField::new(then.1, then.2, format!("{} as in {}", first.2, first.1)));
            }
            both.names[index] |= other;
        }
        let (own, other) = (&mut both.beside, &below.beside);
        own.arch = own.arch.or(other.arch);
        own.groups = own.groups.or(other.groups);
        own.routing = own.routing.or(other.routing);
        own.skew = own.skew.or(other.skew);
        for (own, other) in own.shared.iter_mut().zip(other.shared) {
            *own = own.or(other);
        }
        Ok(both)
    }

    /// The first of the given fields that has another value in `from`: its name in the cells, out of `names`,
    /// and both values.
    pub fn differs(
        &self,
        from: &Self,
        names: &[FieldName],
        is_same: impl Fn(&str, [i64; 2]) -> bool,
    ) -> Option<(&'static str, &'static Field, [i64; 2])> {
        names.iter().find_map(|&FieldName { index, bit, name }| {
            let (field, values) = (&R::FIELDS[index], [self.values[index], from.values[index]]);
            let is_given = self.names[index] & (1 << bit) != 0 && from.names[index] != 0;
            (is_given && !is_same(field.name, values)).then_some((name, field, values))
        })
    }

    /// The names of the given fields, all of them that are among `names`, with their values.
    pub fn said(&self, names: &[FieldName]) -> impl Iterator<Item = (&'static str, &'static Field, i64)> {
        let given = names.iter().filter(|one| self.names[one.index] != 0);
        given.map(|one| (one.name, &R::FIELDS[one.index], self.values[one.index]))
    }

    /// Gives a field a value under a name.
    pub fn set(&mut self, FieldName { index, bit, .. }: FieldName, value: i64) {
        (self.values[index], self.names[index]) = (value, 1 << bit);
    }

    /// Gives a field a value under a name more.
    pub fn add(&mut self, FieldName { index, bit, .. }: FieldName, value: i64) {
        self.values[index] = value;
        self.names[index] |= 1 << bit;
    }

    /// The first of the names under which a field is given.
    fn first_name(&self, index: usize) -> Option<&'static str> {
        R::FIELDS.get(index)?.names().nth(self.names[index].trailing_zeros() as usize)
    }

    /// The value of a field, by any of its names.
    pub fn get(&self, name: &str) -> Option<i64> {
        let index = field::position(R::FIELDS, name)?;
        (self.names[index] != 0).then_some(self.values[index])
    }

    /// The value of a field as one of its type.
    pub fn value<T: Value>(&self, name: &str) -> Option<T> {
        self.get(name).map(|number| T::read(&[number]))
    }

    /// The value of a field whose first name in the cells is this one.
    pub(crate) fn get_as(&self, name: &str) -> Option<i64> {
        let index = field::position(R::FIELDS, name)?;
        (self.first_name(index) == Some(name)).then_some(self.values[index])
    }

    /// Whether a field's word is none of its vocabulary.
    pub fn is_unknown(&self, name: &str) -> bool {
        field::position(R::FIELDS, name).is_some_and(|index| self.unknown & (1 << index) != 0)
    }

    /// The architecture.
    pub const fn arch(&self) -> Option<Arch> {
        self.beside.arch
    }

    /// The list of GEMMs.
    pub const fn groups(&self) -> Option<Groups> {
        self.beside.groups
    }

    /// The rows over experts.
    pub const fn routing(&self) -> Option<Routing> {
        self.beside.routing
    }

    /// How uneven the rows over experts are: the power with which an expert's share falls with its rank.
    pub const fn skew(&self) -> Option<f64> {
        self.beside.skew
    }

    /// The number of each key that stands for several fields, by its index among those of the operation.
    pub(crate) const fn shared(&self) -> [Option<i64>; 3] {
        self.beside.shared
    }

    /// The given fields with their numbers.
    pub fn fields(&self) -> impl Iterator<Item = (&'static Field, i64)> {
        let all = R::FIELDS.iter().zip(self.values).zip(self.names);
        all.filter(|(_, names)| *names != 0).map(|(given, _)| given)
    }

    /// Refuses a record without a value for these fields, and names all of them.
    pub fn need(&self, names: &[&str]) -> Result<(), InvalidField> {
        absent(names.iter().copied().filter(|name| self.get(name).is_none()), expected::<R>)
    }

    /// Gives a field a value, under one of its names, if it has none.
    pub fn or(&mut self, name: &str, value: i64) {
        if let Some(one) = FieldName::all::<R>().find(|one| one.name == name)
            && self.names[one.index] == 0
        {
            self.set(one, value);
        }
    }

    /// The record of what is given and, for the rest, `usual`; its other members are those of `usual`.
    pub fn complete(&self, usual: &R) -> R {
        let mut values = field::values(usual);
        for ((value, given), names) in values.iter_mut().zip(self.values).zip(self.names) {
            if names != 0 {
                *value = given;
            }
        }
        R::read(&values, usual)
    }
}

/// The kind of value that a field may have, for messages.
pub fn expected<R: Record>(name: &str) -> &'static str {
    match field::position(R::FIELDS, name).map(|index| R::FIELDS[index].kind) {
        Some(Kind::Flag) => "0, 1, true or false",
        Some(Kind::Word(_)) => "a word",
        _ => "a whole number",
    }
}

/// Refuses cells that are absent, all at once; `expected` says what a single one may hold.
pub fn absent<'n>(
    names: impl Iterator<Item = &'n str>,
    expected: impl Fn(&str) -> &'static str,
) -> Result<(), InvalidField> {
    match *names.collect::<Vec<_>>() {
        [] => Ok(()),
        [name] => Err(InvalidField::new(name, "nothing", expected(name))),
        ref names => Err(InvalidField::new(names.join(", "), "nothing", "a value for each")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::OperationProblem as _;
    use crate::problem::{ConvProblem, cells_of_line};

    fn given(line: &str) -> Result<Given<ConvProblem>, String> {
        ConvProblem::given(&cells_of_line(line)).map_err(|error| error.to_string())
    }

    #[test]
    fn only_what_cells_say_is_given() {
        let given = given("C=8,pad_w=2,dtype=fp16,pad=2,arch=gfx950").unwrap();
        let fields: Vec<_> = given.fields().map(|(field, value)| (field.name, value)).collect();
        assert_eq!(fields[..2], [("C", 8), ("pad_w_left", 2)]);
        assert_eq!((fields[2].0, fields.len()), ("dtype_in", 3));
        assert_eq!(
            (given.get("pad_w"), given.get("pad_w_right"), given.get("no field")),
            (Some(2), None, None)
        );
        assert_eq!((given.get_as("pad_w"), given.get_as("pad_w_left")), (Some(2), None));
        assert_eq!((given.shared(), given.arch()), ([None, None, Some(2)], "gfx950".parse().ok()));
        let problem = given.complete(&ConvProblem { k: 5, ..ConvProblem::USUAL });
        assert_eq!((problem.c, problem.k, problem.pad_left, problem.n), (8, 5, [0, 0, 2], 1));
    }

    #[test]
    fn names_of_a_field_agree() {
        assert!(given("pad_w=2,pad_w_left=2").is_ok());
        let error = given("pad_w=2,pad_w_left=1").unwrap_err();
        assert_eq!(error, "pad_w: found '2', expected '1' as in pad_w_left");
    }
}
