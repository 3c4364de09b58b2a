//! The columns of a ranking: those for people say what matters in units and words, those for programs keep every
//! figure.

use std::borrow::Cow;

use ck_select::directory::Target;
use ck_select::estimate::term_names;
use ck_select::ranking::{Outlook, Ranked, words};
use ck_select::vocab::Op;

use super::Args;
use crate::table::{Cell, Format};

/// A column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Column {
    /// The label of a problem in a file.
    Problem,
    Rank,
    Kernel,
    /// The chosen number of parts.
    Split,
    Time,
    Slower,
    Loss,
    Score,
    /// The prediction of another forest of the model.
    Other(Target),
    /// A term of the estimate, by its index among [`term_names`].
    Term(usize, &'static str),
    Tie,
    Unmeasured,
    OutOfRange,
    Chance,
    SureWithin90,
    SureWithin99,
    /// Notes about the kernel for human readers.
    Notes,
}

/// The columns of a ranking.
pub(super) struct Columns {
    pub(super) columns: Vec<Column>,
    /// Whether kernels of equal scores share a line, and figures have units.
    pub(super) is_for_people: bool,
}

impl Columns {
    /// The columns of a format. `others` are the targets that do not rank; the estimate's order has terms instead of a
    /// score.
    pub(super) fn new(args: &Args, op: Op, has_split: bool, others: &[Target], is_estimate: bool) -> Self {
        use Column::{
            Chance, Kernel, Loss, Notes, Other, OutOfRange, Problem, Rank, Score, Slower, Split,
            SureWithin90, SureWithin99, Term, Tie, Time, Unmeasured,
        };
        let is_for_people = matches!(args.row_format(), Format::Table | Format::Markdown);
        let mut columns = Vec::new();
        columns.extend(args.problem.is_none().then_some(Problem));
        columns.push(Rank);
        columns.extend((!is_for_people).then_some(Kernel));
        if !is_for_people {
            columns.extend(has_split.then_some(Split));
        }
        columns.extend([Time, Slower, Loss]);
        if is_for_people {
            columns.extend(has_split.then_some(Split));
        }
        if args.scores || !is_for_people {
            columns.extend((!is_estimate).then_some(Score));
            columns.extend(others.iter().map(|&target| Other(target)));
        }
        if args.terms || is_estimate && !is_for_people {
            columns.extend(term_names(op).into_iter().enumerate().map(|(term, name)| Term(term, name)));
        }
        let last: &[Column] = if is_for_people {
            &[Kernel, Notes]
        } else {
            &[Tie, Unmeasured, OutOfRange, Chance, SureWithin90, SureWithin99]
        };
        columns.extend(last);
        Self { columns, is_for_people }
    }

    /// Whether a column passes a test.
    pub(super) fn any(&self, is_one: impl Fn(&Column) -> bool) -> bool {
        self.columns.iter().any(is_one)
    }

    /// The names of the columns.
    pub(super) fn header(&self) -> Vec<&'static str> {
        self.columns.iter().map(|column| column.name(self.is_for_people)).collect()
    }
}

impl Column {
    const fn name(self, is_for_people: bool) -> &'static str {
        match self {
            Self::Problem => "problem",
            Self::Rank => "rank",
            Self::Kernel => "kernel",
            Self::Split => "split_k",
            Self::Time if is_for_people => "time",
            Self::Time => "time_us",
            Self::Slower => "slower",
            Self::Loss => "loss",
            Self::Score => "score",
            Self::Other(Target::Latency) => "latency_ms",
            Self::Other(Target::Bandwidth) => "bandwidth_gb_s",
            Self::Other(Target::Tflops) => "tflops",
            Self::Other(Target::Relative) => "relative",
            Self::Term(_, name) => name,
            Self::Tie => "tie",
            Self::Unmeasured => "unmeasured",
            Self::OutOfRange => "out_of_range",
            Self::Chance => "chance",
            Self::SureWithin90 => "sure_within_90",
            Self::SureWithin99 => "sure_within_99",
            Self::Notes if is_for_people => "",
            Self::Notes => "notes",
        }
    }
}

/// A line of a ranking: a kernel, and how many of the next ones have its score.
pub(super) struct Line<'a> {
    pub(super) label: Option<&'a str>,
    /// The rank of the kernel, counted from 0.
    pub(super) rank: usize,
    pub(super) ranked: Ranked,
    pub(super) equal: usize,
    pub(super) kernel: &'a str,
    /// Properties of the kernel that no kernel measured for the model had.
    pub(super) unmeasured: &'a str,
    pub(super) is_tied: bool,
    pub(super) out_of_range: &'a Cell,
    pub(super) outlook: &'a Outlook,
    /// The time by the estimate alone, where the estimate ranks.
    pub(super) estimated_us: Option<f64>,
    pub(super) terms: &'a [(&'static str, f64)],
}

impl Line<'_> {
    /// The cell of a column. Those of other targets are predicted for many lines at once.
    pub(super) fn cell(&self, column: Column, is_for_people: bool) -> Cell {
        let Ranked { split_k, score, .. } = self.ranked;
        let sure = self.outlook.sure;
        let figure = |value: Option<f64>, text: fn(f64) -> String| match value {
            Some(value) if is_for_people => Cell::Figure(text(value)),
            value => value.into(),
        };
        match column {
            Column::Problem => self.label.into(),
            Column::Rank => (self.rank + 1).into(),
            Column::Kernel => self.kernel.into(),
            Column::Split => (split_k as usize).into(),
            Column::Time => {
                figure(self.estimated_us.or_else(|| self.outlook.time_us(score)), words::microseconds)
            }
            Column::Slower => figure(self.outlook.slower(score), words::times),
            Column::Loss => figure(self.outlook.loss(score), words::percent),
            Column::Score => score.into(),
            Column::Other(_) => Cell::Empty,
            Column::Term(index, _) => self.terms.get(index).map(|&(_, term)| term).into(),
            Column::Tie => self.is_tied.then_some("=").into(),
            Column::Unmeasured => Some(self.unmeasured).filter(|words| !words.is_empty()).into(),
            Column::OutOfRange => self.out_of_range.clone(),
            Column::Chance => sure.map(|sure| f64::from(sure.chance)).into(),
            Column::SureWithin90 => sure.map(|sure| sure.sure_within[0]).into(),
            Column::SureWithin99 => sure.map(|sure| sure.sure_within[1]).into(),
            Column::Notes => self.notes().into(),
        }
    }

    fn notes(&self) -> Option<String> {
        let equal = (self.equal > 0).then(|| Cow::from(format!("and {} equal", self.equal)));
        let unmeasured = !self.unmeasured.is_empty();
        let unmeasured = unmeasured.then(|| format!("{} never measured", self.unmeasured).into());
        let notes: Vec<Cow<'_, str>> = equal.into_iter().chain(unmeasured).collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }
}
