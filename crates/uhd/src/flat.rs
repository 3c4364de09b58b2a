//! The tables of the file, which the reference runtime verifies before anything is read.

use ck_select_types::problem::InvalidField;
use flatbuffers::{
    Follow, ForwardsUOffset, InvalidFlatbuffer, Table, VOffsetT, Vector, Verifiable, Verifier,
    VerifierOptions,
};

use crate::refused;

/// The position of a field in a vtable.
pub(crate) const fn slot(id: VOffsetT) -> VOffsetT {
    4 + 2 * id
}

/// Declares tables by their fields' types and numbers: what is verified is what is read.
macro_rules! tables {
    ($(
        $(#[doc = $doc:literal])+
        $table:ident { $($field:ident: $type:ty = $id:literal $(or $default:literal)?;)+ }
    )+) => {$(
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct $table<'a>(Table<'a>);

        impl<'a> Follow<'a> for $table<'a> {
            type Inner = Self;

            unsafe fn follow(bytes: &'a [u8], at: usize) -> Self {
                // SAFETY: by contract, a table was verified there.
                Self(unsafe { Table::new(bytes, at) })
            }
        }

        impl<'a> Verifiable for $table<'a> {
            fn run_verifier(verifier: &mut Verifier<'_, '_>, at: usize) -> Result<(), InvalidFlatbuffer> {
                let table = verifier.visit_table(at)?;
                $(let table = table.visit_field::<$type>(stringify!($field), slot($id), false)?;)+
                table.finish();
                Ok(())
            }
        }

        #[allow(dead_code, reason = "some fields are only verified")]
        impl<'a> $table<'a> {$(
            pub(crate) fn $field(&self) -> <$type as Follow<'a>>::Inner {
                // SAFETY: all tables were verified, this field as one of its type.
                unsafe { self.0.get::<$type>(slot($id), None) }$(.or(Some($default)))?.unwrap_or_default()
            }
        )+}
    )+};
}

type List<'a, T> = ForwardsUOffset<Vector<'a, T>>;
type Text<'a> = ForwardsUOffset<&'a str>;

tables! {
    /// All trees, and what describes them. Nothing reads the last fields, which are verified all the same.
    Root {
        trees: List<'a, ForwardsUOffset<Tree<'a>>> = 0;
        num_features: i32 = 1;
        features_hash: Text<'a> = 2;
        base_score: f64 = 3;
        training_arches: List<'a, Text<'a>> = 9;
        group_by: i32 = 11 or -1;
        groups: List<'a, ForwardsUOffset<Group<'a>>> = 12;
        learning_rate: f64 = 4;
        framework: Text<'a> = 5;
        training_date: Text<'a> = 6;
        num_training_samples: i64 = 7;
        training_objective: Text<'a> = 8;
        model_version: Text<'a> = 10;
    }
    /// A list for each property of its nodes.
    Tree {
        features: List<'a, i32> = 0;
        thresholds: List<'a, f64> = 1;
        lefts: List<'a, i32> = 2;
        rights: List<'a, i32> = 3;
        leaves: List<'a, f64> = 4;
        default_left: List<'a, bool> = 5;
        lte: List<'a, bool> = 6;
    }
    /// Trees for some kernels.
    Group {
        value: f64 = 0;
        trees: List<'a, ForwardsUOffset<Tree<'a>>> = 1;
    }
}

/// Verifies a file as hipDNN does: 64 levels and a million tables at most.
pub(crate) fn root<'a>(bytes: &'a [u8], identifier: &str) -> Result<Root<'a>, InvalidField> {
    let magic = bytes.get(4..8).unwrap_or_default();
    if magic != identifier.as_bytes() {
        let magic = format!("'{}'", String::from_utf8_lossy(magic).escape_debug());
        return refused("bytes 4 to 7", magic, identifier);
    }
    flatbuffers::root_with_opts::<Root<'_>>(&VerifierOptions::default(), bytes).or_else(|error| {
        let text = error.to_string();
        refused("file", text.lines().next().unwrap_or_default(), "a FlatBuffer of trees")
    })
}
