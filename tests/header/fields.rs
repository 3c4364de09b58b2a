//! The members of C's structs beside the fields of which they are made.

use ck_select::ffi::{CField, CStruct, mirrored_structs};
use ck_select_types::field::{Field, Record, values};

/// A member of a struct, or of a struct in it.
pub(crate) struct Member {
    /// Its name.
    pub name: &'static str,
    /// Where it is in the struct: `request.batch`.
    pub path: String,
    /// Its type, as Rust names it.
    pub rust: &'static str,
    /// Its documentation in the header.
    pub doc: String,
    /// Its fields, one for each part; none if it stands beside the fields.
    pub fields: &'static [Field],
    /// Their values where nothing is said.
    pub usual: Vec<i64>,
}

/// The members of the struct of a record.
pub(crate) fn members<R: Record>(c_struct: &str) -> Vec<Member> {
    let values = values(&R::USUAL);
    let mut at = 0;
    let mut lines = R::FIELDS.chunk_by(|one, other| one.member == other.member);
    let mut members = Vec::new();
    for (path, CField { name, rust, doc, is_field, .. }) in flat(c_struct, "") {
        let fields = if is_field { lines.next().unwrap() } else { &[] };
        let usual = values[at..at + fields.len()].to_vec();
        at += fields.len();
        members.push(Member { name, path, rust, doc, fields, usual });
    }
    assert_eq!(at, R::FIELDS.len());
    members
}

/// The members of a struct and of those in it, with their paths.
fn flat(c_struct: &str, before: &str) -> Vec<(String, CField)> {
    let structs = mirrored_structs();
    let find = |name: &str| structs.iter().find(|one| name.ends_with(one.name));
    let CStruct { fields, .. } = mirrored_structs().into_iter().find(|one| one.name == c_struct).unwrap();
    let mut members = Vec::new();
    for member in fields {
        let path = format!("{before}{}", member.name);
        match find(member.rust) {
            Some(inner) => members.extend(flat(inner.name, &format!("{path}."))),
            None => members.push((path, member)),
        }
    }
    members
}
