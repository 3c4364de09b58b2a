//! LightGBM's splits as nodes that compare one number, exactly for every value that a row may have.
//!
//! LightGBM sets values up to [`ZERO_THRESHOLD`] to zero before it walks; what that changes is in the
//! thresholds here. Its categories are truncated to integers, so that a set is a chain of bounds.

use ck_select_model::forest::{Missing, ZERO_THRESHOLD};

use crate::hgbm::Node;

/// What one of LightGBM's splits asks of its feature.
pub(crate) enum Question {
    /// Is the value at most the threshold?
    Number { threshold: f64, missing: Missing, default_left: bool },
    /// Is it one of these categories? A bit for each.
    Set(Vec<u32>),
}

/// Where an answer leads: a child of LightGBM's node, or another node of those that stand for it.
#[derive(Clone, Copy)]
pub(crate) enum To {
    Left,
    Right,
    Own(u32),
}

/// A node of those that stand for one of LightGBM's: its question, and where both answers lead.
pub(crate) struct Step {
    pub(crate) threshold: f64,
    pub(crate) less: bool,
    pub(crate) default_left: bool,
    pub(crate) to: [To; 2],
}

/// Categories from here on are not recognised: a set takes a bit for each below its largest.
const MAX_CATEGORY: u32 = 4096;

/// The nodes that stand for a split.
pub(crate) fn steps(question: &Question) -> Vec<Step> {
    let (threshold, missing, default_left) = match question {
        Question::Set(words) => return members(words),
        &Question::Number { threshold, missing, default_left } => (threshold, missing, default_left),
    };
    let zero_left = 0.0 <= threshold;
    let is_near_zero = (-ZERO_THRESHOLD..ZERO_THRESHOLD).contains(&threshold);
    match missing {
        Missing::Nan => vec![compare(threshold, default_left)],
        Missing::Never => vec![compare(threshold, zero_left)],
        Missing::Zero if zero_left == default_left && !is_near_zero => vec![compare(threshold, default_left)],
        Missing::Zero => {
            let (zero, kept) = (ZERO_THRESHOLD, To::Own(2));
            let default = if default_left { To::Left } else { To::Right };
            vec![
                Step { threshold: -zero, less: true, default_left: false, to: [kept, To::Own(1)] },
                Step { threshold: zero, less: false, default_left: true, to: [default, kept] },
                Step { threshold, less: false, default_left: false, to: [To::Left, To::Right] },
            ]
        }
    }
}

/// At most a threshold. Values near zero are zero to LightGBM, so that one of them there divides them
/// nowhere.
fn compare(threshold: f64, default_left: bool) -> Step {
    let less = (-ZERO_THRESHOLD..0.0).contains(&threshold);
    let threshold = match threshold {
        _ if less => -ZERO_THRESHOLD,
        0.0..ZERO_THRESHOLD => ZERO_THRESHOLD,
        threshold => threshold,
    };
    Step { threshold, less, default_left, to: [To::Left, To::Right] }
}

/// Is the value a member of the set? Two bounds for each run of categories; only -1 and below are no
/// category, and what is 2^31 or more.
fn members(words: &[u32]) -> Vec<Step> {
    let end = words.len() * 32;
    let is_member =
        |category: usize| category < end.min(1 << 31) && words[category / 32] >> (category % 32) & 1 == 1;
    let bounds =
        (0..=end).filter(|&category| is_member(category) != (category > 0 && is_member(category - 1)));
    let step = |(bound, next): (usize, u32)| Step {
        threshold: if bound == 0 { -1.0 } else { bound as f64 },
        less: bound > 0,
        default_left: true,
        to: [if is_member(bound) { To::Right } else { To::Left }, To::Own(next)],
    };
    let mut steps: Vec<Step> = bounds.zip(1..).map(step).collect();
    match steps.last_mut() {
        Some(last) => last.to[1] = To::Right,
        // Of an empty set, nothing is a member.
        None => steps.push(Step { to: [To::Right; 2], ..compare(0.0, true) }),
    }
    steps
}

/// The split of several nodes that begins at this one, with its children: nodes as [`steps`] gives them.
pub(crate) fn recognised(tree: &[Node], start: usize) -> Option<(Question, [u32; 2])> {
    let questions = [set_at(tree, start), zero_missing_at(tree, start)];
    let fits = |question| children(tree, start, &steps(&question)).map(|children| (question, children));
    questions.into_iter().flatten().find_map(fits)
}

/// The children of a split, if these are the nodes that stand for it.
fn children(tree: &[Node], start: usize, steps: &[Step]) -> Option<[u32; 2]> {
    let nodes = tree.get(start..start + steps.len())?;
    let (mut left, mut right, mut of) = (None, None, None);
    for (node, step) in nodes.iter().zip(steps) {
        let Node::Split { feature, threshold, less, default_left, children } = *node else { return None };
        let is_same = (threshold, less, default_left) == (step.threshold, step.less, step.default_left);
        let leads = |(child, to): (u32, To)| match to {
            To::Left => *left.get_or_insert(child) == child,
            To::Right => *right.get_or_insert(child) == child,
            To::Own(step) => start as u32 + step == child,
        };
        if !is_same || *of.get_or_insert(feature) != feature || !children.into_iter().zip(step.to).all(leads)
        {
            return None;
        }
    }
    Some([left?, right?])
}

/// The set whose runs of categories a chain of nodes may bound.
fn set_at(tree: &[Node], start: usize) -> Option<Question> {
    let Node::Split { children: [right, _], .. } = tree[start] else { return None };
    let mut bounds: Vec<u32> = Vec::new();
    for (node, next) in tree[start..].iter().zip(start as u32 + 1..) {
        let Node::Split { threshold, children: [_, after], .. } = *node else { return None };
        // Categories begin above -1.
        let bound = threshold.max(0.0) as u32;
        let is_next = bounds.last().is_none_or(|&last| last < bound) && [right, next].contains(&after);
        if bound > MAX_CATEGORY || !is_next {
            return None;
        }
        bounds.push(bound);
        if after == right {
            break;
        }
    }
    let (runs, []) = bounds.as_chunks::<2>() else { return None };
    let mut words = vec![0; bounds.last()?.div_ceil(32) as usize];
    for category in runs.iter().flat_map(|&[first, end]| first..end) {
        words[category as usize / 32] |= 1 << (category % 32);
    }
    Some(Question::Set(words))
}

/// What nodes may ask that send zero and NaN to one side of a comparison.
fn zero_missing_at(tree: &[Node], start: usize) -> Option<Question> {
    let [_, Node::Split { children: [default, _], .. }, Node::Split { threshold, children: [left, _], .. }] =
        *tree[start..].first_chunk::<3>()?
    else {
        return None;
    };
    Some(Question::Number { threshold, missing: Missing::Zero, default_left: default == left })
}
