//! What each operation says about itself, once: what its tables have, and what its fields are called.

use crate::cells::Fields;
use crate::defaults::{ProblemDefaults, StatedFields};
use crate::field::{Field, InvalidField, Record};
use crate::given::{FieldName, Given};
use crate::scan::NameError;
use crate::vocab::{Direction, Dtype, GemmLibrary};

/// Problems of an operation, whose type stands for the operation.
pub trait OperationProblem: Record + Copy {
    /// The kernels that compute them.
    type Kernel: OperationKernel;
    /// The operation's record.
    const OPERATION: Operation;

    /// The problem of which some fields are given, checked.
    fn from_given(given: Given<Self>, defaults: &ProblemDefaults) -> Result<Self, InvalidField>;

    /// Reads all that named cells say about a problem.
    fn given(cells: &dyn Fields) -> Result<Given<Self>, InvalidField> {
        Self::given_in(cells, |_| true)
    }

    /// Reads what cells of some names say about a problem, the architecture, and what is no field.
    fn given_in(cells: &dyn Fields, is_read: impl Fn(&str) -> bool) -> Result<Given<Self>, InvalidField> {
        let Operation { extra_keys, shared_keys, .. } = Self::OPERATION;
        let names = FieldName::all::<Self>().filter(|one| is_read(one.name));
        Given::strict(cells, names)?.with_beside(cells, (extra_keys, shared_keys), true)
    }

    /// Reads a problem from named cells and checks it.
    fn read_cells(cells: &dyn Fields, defaults: &ProblemDefaults) -> Result<Self, InvalidField> {
        Self::from_given(Self::given(cells)?, defaults)
    }

    /// The problem as a kernel would run it, if a file states only some of its words.
    fn filled(self, stated: StatedFields, kernel: &Self::Kernel) -> Self;

    /// The problem in a few words, for messages.
    fn summary(&self) -> String;

    /// The element type of its first input.
    fn dtype(&self) -> Dtype;

    /// The direction, where there are several.
    fn direction(&self) -> Option<Direction> {
        None
    }

    /// The field, by its name, that stands for what counts and the problem does not say.
    #[inline]
    fn unknown(&self) -> Option<&'static str> {
        None
    }

    /// The extents of the operand that a layer keeps, where there is one: the weight.
    fn weight(&self) -> Option<String> {
        None
    }

    /// The problem, written in one way where there are several.
    #[must_use]
    fn normal(self) -> Self {
        self
    }

    /// Parts into which the reduction is split.
    #[inline]
    fn split_k(&self) -> i32 {
        1
    }

    /// The problem in so many parts, where it may have several.
    #[must_use]
    fn in_parts(self, _parts: i32) -> Self {
        self
    }

    /// The problem that a reader assumes if it knows only what every table has: the usual one, with what follows from
    /// the problem's own fields.
    #[must_use]
    fn assumed(&self) -> Self {
        Self::USUAL
    }

    /// The problem that a table's number stands for: tables give equal problems one number.
    #[must_use]
    fn as_numbered(self) -> Self {
        self
    }

    /// Whether the problem consists of its fields alone.
    #[inline]
    fn has_fields_only(&self) -> bool {
        true
    }

    /// The cell of a key that is no field.
    fn extra_cell(&self, _key: &str) -> Option<String> {
        None
    }

    /// Whether a table with some columns has what a required column holds.
    fn has_column(required: &str, has: &dyn Fn(&str) -> bool) -> bool {
        has(required)
    }

    /// Whether text with some cells says which kernels it is for, beside sizes and type.
    fn states_signature(_has: &dyn Fn(&str) -> bool) -> bool {
        false
    }

    /// Bytes of operands and results, each moved once, if logs of measurements have their rate.
    fn bytes(&self) -> Option<f64> {
        None
    }

    /// Rows and depth of its (implicit) GEMM; of attention's second product, which sums over keys.
    fn gemm_extents(&self) -> [i128; 2];
}

/// A kernel of an operation.
pub trait OperationKernel: Record + Clone {
    /// Takes from the kernel what problems for it may leave out: words of theirs.
    fn fill_defaults(&self, defaults: &mut ProblemDefaults);

    /// The direction, where there are several.
    fn direction(&self) -> Option<Direction> {
        None
    }

    /// The library that the kernel's name belongs to, where several have kernels.
    fn library(&self) -> Option<GemmLibrary> {
        None
    }

    /// Whether the kernel's name stands for kernels of several types, of which [`KernelKind::dtype`] is one.
    ///
    /// [`KernelKind::dtype`]: crate::kernel::KernelKind::dtype
    fn is_of_several_types(&self) -> bool {
        false
    }

    /// Whether the kernel reads an operand in an order of its own.
    fn is_shuffled(&self) -> bool {
        false
    }

    /// Whether a text begins like a name of such kernels.
    fn begins_a_name(text: &str) -> bool;

    /// Whether a text begins so that it can hardly be anything but a kernel's name.
    fn hardly_else_than_a_name(text: &str) -> bool {
        <Self as OperationKernel>::begins_a_name(text)
    }

    /// Reads a kernel's name.
    fn read_name(name: &str) -> Result<Self, NameError>;
}

/// The kernel of a problem's operation.
pub type KernelOf<P> = <P as OperationProblem>::Kernel;

/// A value of one operation, such as its problem, which an enum over operations
/// ([`operation_enum!`](crate::operation_enum)) holds in the operation's variant.
pub trait OperationValue<E>: Into<E> {
    /// The value that an enum holds, if it is of this operation.
    fn held_by(any: &E) -> Option<&Self>;
}

/// An operation's record, which stands in its folder.
#[derive(Debug)]
pub struct Operation {
    /// The noun for the operation's kernels in messages.
    pub noun: &'static str,
    /// The fields of the operation's problems, in the order of text; the architecture is none of them.
    pub problem: &'static [Field],
    /// The fields of the operation's kernels.
    pub kernel: &'static [Field],
    /// The fields without which a table has no problem of it.
    pub required: &'static [&'static str],
    /// The beginnings of the names of its kernels, for messages.
    pub name_beginnings: &'static str,
    /// The keys that show, in a text or a table without an operation, that a problem is one of these.
    pub identifying_keys: &'static [&'static str],
    /// Keys of text besides the fields and the architecture.
    pub extra_keys: &'static [&'static str],
    /// Further keys of text alone, where a table has a column for each field: a key gives several fields the same
    /// number, those of the depth first.
    pub shared_keys: &'static [(&'static str, &'static [[&'static str; 3]])],
    /// The fields that are element types.
    pub dtype_fields: &'static [&'static str],
    /// The element type where none is given.
    pub dtype: Dtype,
    /// The types that the operation's problems and kernels may have.
    pub dtypes: &'static [Dtype],
    /// Whether the operation's features distinguish the types, so that one model serves several.
    pub has_dtype_features: bool,
    /// Whether names of its kernels tell all their types and the layout.
    pub names_tell_types: bool,
    /// Extents whose names are letters of either case. The lower ones show, in a table for another operation,
    /// that it has problems of this one, too; no longer word means them.
    pub letters: &'static [[&'static str; 2]],
    /// The columns that problems have in tables of measurements: upstream's, in its order.
    pub columns: &'static [&'static str],
    /// Columns that such a table has besides where one of its problems needs them; those of one list go
    /// together.
    pub optional_columns: &'static [&'static [&'static str]],
    /// The sizes by which upstream tells problems apart.
    pub extents: &'static [&'static str],
    /// Fields other than sizes: problems of one layer may differ in them.
    pub variant_fields: &'static [&'static str],
    /// The names of the cells of a problem in a list of ours.
    pub list_columns: &'static [&'static [&'static str]],
    /// The names of the cells that describe a problem, and those that tell whether a model applies to it.
    pub problem_cells: &'static [&'static [&'static str]],
    /// The cells of a row that describe a kernel without a name, as upstream's feature engines call them.
    pub kernel_cells: &'static [&'static str],
    /// Whether tables of other operations may have such cells: many kernels have tiles.
    pub shares_kernel_cells: bool,
    /// The numbers that upstream's executables of one kernel take as flags; none if it builds none.
    pub executable_flags: &'static [&'static str],
}
