//! A registered kernel.

use std::borrow::Cow;
use std::ffi::{CStr, CString, c_void};
use std::sync::Arc;

use super::index::NameIndex;
use crate::kernel::{Kernel, Limits};
use crate::pool::kernel_json;
use crate::problem::{InvalidField, Problem};
use crate::tuning::device::Stream;
use crate::tuning::search::RunOutcome;
use crate::vocab::Arch;

/// Rank of a kernel among those of equal scores, and if no better source answers; higher is better. CK uses
/// 0, 1 and 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(pub i32);

impl Priority {
    /// CK's lowest.
    pub const LOW: Self = Self(0);
    /// CK's usual one.
    pub const NORMAL: Self = Self(1);
    /// CK's highest.
    pub const HIGH: Self = Self(2);
}

/// User data of a kernel, which is returned with selections: a pointer that is never dereferenced here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserData(pub *mut c_void);

impl Default for UserData {
    fn default() -> Self {
        Self(std::ptr::null_mut())
    }
}

// SAFETY: the address is only stored and returned. What it points to belongs to the owner, whom the
// documentation tells that callbacks and selections happen on any thread.
unsafe impl Send for UserData {}
// SAFETY: as above; it is never written to.
unsafe impl Sync for UserData {}

/// Callbacks of a kernel. They are called on any thread, possibly concurrently.
pub trait Hooks: Send + Sync {
    /// Whether the kernel can run this problem. Called on the select path, so it should be fast.
    fn supports(&self, problem: &Problem) -> bool {
        let _ = problem;
        true
    }

    /// Whether [`Hooks::run`] does anything.
    fn can_run(&self) -> bool {
        false
    }

    /// Whether [`Hooks::supports`] may return false. If not, it is not called for a problem that was decided
    /// before.
    fn may_refuse(&self) -> bool {
        true
    }

    /// The registry has added the kernel: it owns the hooks from now on, and drops them when no call can use
    /// them any more.
    fn added(&self) {}

    /// Runs the problem once, with all its work on the stream. Called only for measuring.
    fn run(&self, problem: &Problem, stream: Stream) -> RunOutcome {
        let _ = (problem, stream);
        RunOutcome::Failed(0)
    }
}

/// A kernel that supports every problem.
impl<F: Fn(&Problem, Stream) -> RunOutcome + Send + Sync> Hooks for F {
    fn can_run(&self) -> bool {
        true
    }

    fn may_refuse(&self) -> bool {
        false
    }

    fn run(&self, problem: &Problem, stream: Stream) -> RunOutcome {
        self(problem, stream)
    }
}

/// A name that was registered once. It lives as long as its registry, because callers keep names.
#[derive(Debug)]
pub(super) struct Name {
    number: NameIndex,
    text: Box<str>,
    c: CString,
}

impl Name {
    /// A name without a NUL character, as every valid kernel's is.
    pub(super) fn new(number: NameIndex, text: &str) -> Self {
        Self { number, text: text.into(), c: CString::new(text).unwrap_or_default() }
    }
}

/// A caller's copy of a registered kernel's name and user data. It stays valid when the kernel is removed.
#[derive(Debug, Clone, Copy)]
pub struct Registered<'r> {
    name: &'r Name,
    user: UserData,
    may_refuse: bool,
}

impl<'r> Registered<'r> {
    pub(super) const fn new(name: &'r Name, user: UserData, may_refuse: bool) -> Self {
        Self { name, user, may_refuse }
    }

    /// The kernel's name.
    pub const fn name(&self) -> &'r str {
        &self.name.text
    }

    /// The kernel's name as a C string.
    pub fn c_name(&self) -> &'r CStr {
        &self.name.c
    }

    /// The kernel's user data.
    pub const fn user(&self) -> UserData {
        self.user
    }

    pub(super) const fn number(&self) -> NameIndex {
        self.name.number
    }

    pub(super) const fn may_refuse(&self) -> bool {
        self.may_refuse
    }
}

/// Why a kernel cannot be added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddError {
    /// A kernel with that name is already registered, with the same or a higher priority.
    #[error("kernel '{0}' is already registered, with the same or a higher priority")]
    AlreadyRegistered(String),
    /// An invalid descriptor.
    #[error("kernel '{name}': {source}")]
    Invalid {
        /// The kernel's name.
        name: String,
        /// The field, its value, and what is accepted.
        source: InvalidField,
    },
}

/// A kernel to be added by [`super::Registry::add_all`].
pub struct NewKernel {
    /// The kernel's description and name.
    pub kernel: Kernel,
    /// The kernel's rank among kernels if no better source answers.
    pub priority: Priority,
    /// User data that is returned with selections.
    pub user: UserData,
    /// The kernel's callbacks.
    pub hooks: Option<Box<dyn Hooks>>,
    /// Words of it that this library does not know, and which it does: no model and no estimate ranks the kernel, which
    /// comes after those that are ranked.
    pub unknown: Option<String>,
}

impl From<Kernel> for NewKernel {
    /// A kernel of normal priority, without callbacks.
    fn from(kernel: Kernel) -> Self {
        Self { kernel, priority: Priority::NORMAL, user: UserData::default(), hooks: None, unknown: None }
    }
}

/// A registered kernel. Whoever holds it may use it; a removed one is dropped with the last state that has
/// it.
pub struct Entry {
    kernel: Arc<Kernel>,
    limits: Limits,
    /// The number of the kernel's name.
    number: NameIndex,
    priority: Priority,
    user: UserData,
    hooks: Option<Box<dyn Hooks>>,
    unknown: Option<Box<str>>,
}

impl Entry {
    /// An entry of a valid kernel.
    pub(super) fn new(new: NewKernel, number: NameIndex) -> Self {
        let NewKernel { kernel, priority, user, hooks, unknown } = new;
        if let Some(hooks) = &hooks {
            hooks.added();
        }
        let unknown = unknown.map(String::into_boxed_str);
        let limits = kernel.kind.limits();
        Self { kernel: Arc::new(kernel), limits, number, priority, user, hooks, unknown }
    }

    /// The part of the entry that callers keep; `names` are all names of its registry.
    pub(super) fn registered<'r>(&self, names: &'r boxcar::Vec<Name>) -> Registered<'r> {
        let may_refuse = self.hooks.as_ref().is_some_and(|hooks| hooks.may_refuse());
        Registered::new(&names[self.number.get()], self.user, may_refuse)
    }

    /// The text that identifies the kernel in the store: its name, and its fields if the name is free text or leaves
    /// some out.
    pub(super) fn identity(&self) -> Cow<'_, str> {
        if Kernel::from_name(self.name()).is_ok_and(|named| named.kind == self.kernel.kind) {
            return self.name().into();
        }
        let fields = serde_json::to_string(&kernel_json(&self.kernel)).unwrap_or_default();
        format!("{}\n{fields}", self.name()).into()
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The kernel, shared with the pools of models.
    pub(super) const fn shared_kernel(&self) -> &Arc<Kernel> {
        &self.kernel
    }

    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.kernel.name
    }

    /// The kernel's rank if no better source answers.
    pub const fn priority(&self) -> Priority {
        self.priority
    }

    /// The kernel's user data.
    pub const fn user(&self) -> UserData {
        self.user
    }

    /// The architecture that the kernel was built for, if known.
    pub fn arch(&self) -> Option<Arch> {
        self.kernel.kind.arch()
    }

    /// Words of it that this library does not know.
    pub(super) fn unknown(&self) -> Option<&str> {
        self.unknown.as_deref()
    }

    /// Whether models and the estimate may rank it.
    pub(super) const fn is_ranked(&self) -> bool {
        self.unknown.is_none()
    }

    /// Whether the kernel computes the problem, in the problem's types and layout, with its extents, on its
    /// architecture; `supports` is not called.
    pub fn is_eligible(&self, problem: &Problem, arch: Option<Arch>) -> bool {
        self.runs_on(problem, arch)
            && self.kernel.matches_request(problem)
            && self.kernel.matches_types(problem)
            && self.takes(problem, arch)
    }

    /// Whether the kernel runs on the architecture of the problem, or on `arch` if that names none.
    pub(super) fn runs_on(&self, problem: &Problem, arch: Option<Arch>) -> bool {
        self.kernel.runs_on(problem.arch().or(arch))
    }

    /// Whether the kernel's hooks support the problem; true without hooks.
    pub fn supports(&self, problem: &Problem) -> bool {
        self.hooks.as_ref().is_none_or(|hooks| hooks.supports(problem))
    }

    /// Whether a problem for which it is eligible can be split into so many parts, which are the problem's own
    /// unless that leaves the choice, and its hooks support it.
    pub(super) fn supports_in(&self, problem: &Problem, split_k: i32, arch: Option<Arch>) -> bool {
        if problem.chooses_split() {
            let definite = problem.with_split(split_k);
            self.takes(&definite, arch) && self.supports(&definite)
        } else {
            self.supports(problem)
        }
    }

    /// Whether extents and split of a problem that it matches otherwise suit it. Of a kernel with unknown words
    /// its owner alone knows.
    pub(super) fn takes(&self, problem: &Problem, arch: Option<Arch>) -> bool {
        !self.is_ranked() || !self.kernel.kind.is_refused(&self.limits, problem, arch)
    }

    /// The callbacks of the kernel's owner.
    pub(super) fn hooks(&self) -> Option<&dyn Hooks> {
        self.hooks.as_deref()
    }
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entry")
            .field("name", &self.name())
            .field("priority", &self.priority)
            .field("user", &self.user)
            .field("has_hooks", &self.hooks.is_some())
            .finish_non_exhaustive()
    }
}
