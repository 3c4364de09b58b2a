//! A partial record: what cells say about a problem, before anything is assumed.
//!
//! A row of a table, a mapping or a line of text names some of a problem's fields, under any of their names.
//! Once read, it is a [`Given`]: the number of each field that it names, and nothing else. Whatever follows
//! (defaults, what a kernel's name says, a row over the problem that it is ranked for) works on these numbers,
//! so that cells are parsed in one place, and a word that cannot be read is refused there.
//!
//! ```text
//! row ── strict ──> Given ── over ──> Given ── OperationProblem::of_given ──> problem ── validate
//!                               ^
//!                  another Given, for absent fields
//! ```
//!
//! Names are kept, one bit each, because a field may have several: two names of a field must agree even where
//! one of them is the row's and the other one the asked problem's, and `pad_h` means both sides of an axis
//! where `pad_h_left` means one.

use std::marker::PhantomData;

use crate::cells::{self, Fields};
use crate::field::{self, Field, InvalidField, MOST_FIELDS, Value};
use crate::gemm::request::Groups;
use crate::operation::OperationProblem;
use crate::vocab::Arch;

/// The fields that cells give of a problem.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Given<P> {
    values: [i64; MOST_FIELDS],
    /// The names under which each field is given, by their bits; none if it is absent.
    names: [u8; MOST_FIELDS],
    beside: Beside,
    problem: PhantomData<P>,
}

/// What cells say that is no field of the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Beside {
    arch: Option<Arch>,
    groups: Option<Groups>,
    /// The numbers of [`Operation::shared_keys`](crate::operation::Operation::shared_keys).
    shared: [Option<i64>; 3],
}

impl<P: OperationProblem> Default for Given<P> {
    /// Nothing.
    fn default() -> Self {
        let (values, names) = ([0; MOST_FIELDS], [0; MOST_FIELDS]);
        Self { values, names, beside: Beside::default(), problem: PhantomData }
    }
}

impl<P: OperationProblem> Given<P> {
    /// Reads all fields under any of their names; two names of a field must agree.
    pub fn strict(cells: &dyn Fields) -> Result<Self, InvalidField> {
        let mut given = Self::strict_some(cells, |_| true)?;
        given.beside = Beside::read::<P>(cells)?;
        Ok(given)
    }

    /// Reads the wanted ones of the fields.
    pub fn strict_some(cells: &dyn Fields, wanted: impl Fn(&Field) -> bool) -> Result<Self, InvalidField> {
        let mut given = Self::default();
        for (place, field) in P::FIELDS.iter().enumerate().filter(|(_, field)| wanted(field)) {
            for (bit, name) in field.names().enumerate() {
                let Some(value) = field.read(name, cells)? else { continue };
                let text = |name| cells.cell(name).map_or_else(String::new, |cell| cell.to_string());
                given.add(place, bit, value, text)?;
            }
        }
        Ok(given)
    }

    /// Adds a field under one of its names, with which the names before it must agree.
    fn add(
        &mut self,
        place: usize,
        bit: usize,
        value: i64,
        text: impl Fn(&'static str) -> String,
    ) -> Result<(), InvalidField> {
        if let Some(known) = self.first_name(place)
            && self.values[place] != value
        {
            let name = P::FIELDS[place].names().nth(bit).unwrap_or_default();
            return Err(InvalidField::new(name, text(name), format!("{} as in {known}", text(known))));
        }
        self.values[place] = value;
        self.names[place] |= 1 << bit;
        Ok(())
    }

    /// The first of the names under which a field is given.
    fn first_name(&self, place: usize) -> Option<&'static str> {
        P::FIELDS.get(place)?.names().nth(self.names[place].trailing_zeros() as usize)
    }

    /// The value of a field, by any of its names.
    pub fn get(&self, name: &str) -> Option<i64> {
        let place = field::place(P::FIELDS, name)?;
        (self.names[place] != 0).then_some(self.values[place])
    }

    /// The value of a field as one of its type.
    pub fn value<T: Value>(&self, name: &str) -> Option<T> {
        self.get(name).map(|number| T::read(&[number]))
    }

    /// The value of a field whose first name in the cells is this one.
    pub(crate) fn get_as(&self, name: &str) -> Option<i64> {
        let place = field::place(P::FIELDS, name)?;
        (self.first_name(place) == Some(name)).then_some(self.values[place])
    }

    /// The architecture.
    pub const fn arch(&self) -> Option<Arch> {
        self.beside.arch
    }

    /// The list of GEMMs.
    pub(crate) const fn groups(&self) -> Option<Groups> {
        self.beside.groups
    }

    /// The number of each key that stands for several fields, by its place among those of the operation.
    pub(crate) const fn shared(&self) -> [Option<i64>; 3] {
        self.beside.shared
    }

    /// The given fields with their numbers.
    pub fn fields(&self) -> impl Iterator<Item = (&'static Field, i64)> {
        let all = P::FIELDS.iter().zip(self.values).zip(self.names);
        all.filter(|(_, names)| *names != 0).map(|(given, _)| given)
    }

    /// Refuses a record without a value for fields that have no default, and names all of them.
    pub(crate) fn need(&self, names: &[&str]) -> Result<(), InvalidField> {
        let absent: Vec<&str> = names.iter().copied().filter(|name| self.get(name).is_none()).collect();
        match *absent {
            [] => Ok(()),
            [name] => Err(InvalidField::new(name, "nothing", "a whole number")),
            _ => Err(InvalidField::new(absent.join(", "), "nothing", "a value for each")),
        }
    }

    /// Gives a field a value, under its own name, if it has none.
    pub(crate) fn or(&mut self, name: &str, value: i64) {
        if let Some(place) = field::place(P::FIELDS, name)
            && self.names[place] == 0
        {
            (self.values[place], self.names[place]) = (value, 1);
        }
    }

    /// The record of what is given and, for the rest, `usual`; its other members are those of `usual`.
    pub fn complete(&self, usual: &P) -> P {
        let mut values = field::values(usual);
        for ((value, given), names) in values.iter_mut().zip(self.values).zip(self.names) {
            if names != 0 {
                *value = given;
            }
        }
        P::read(&values, usual)
    }
}

impl Beside {
    fn read<P: OperationProblem>(cells: &dyn Fields) -> Result<Self, InvalidField> {
        let mut shared = [None; 3];
        for (value, (key, _)) in shared.iter_mut().zip(P::OPERATION.shared_keys) {
            *value = cells::whole(cells, key)?;
        }
        let groups =
            if P::OPERATION.extra_keys.contains(&"groups") { cells::text(cells, "groups")? } else { None };
        let groups = groups.map(str::parse).transpose()?;
        Ok(Self { arch: cells::parsed(cells, "arch")?, groups, shared })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{ConvProblem, Pairs};

    fn given(line: &str) -> Result<Given<ConvProblem>, String> {
        Given::strict(&Pairs::from_line(line)).map_err(|error| error.to_string())
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
