//! One choice, as an HTML page: the ranking, why one kernel is ranked before another, and whether the problem
//! is in the training range.

use std::cmp::Ordering;

use ck_select_model::estimate::{Device, Estimator};
use ck_select_model::ranking::{Comparison, OutOfRange, Ranked, Ranker, Term};
use ck_select_model::ties::Ties;
use ck_select_types::problem::Problem;

use super::chart;
use super::evaluation::last_name;
use super::html::Page;
use super::provenance::{self, Provenance};
use super::text::{Rounding, brief, code, count, escape, number};

/// Number of features in the chart; the table has all.
const FEATURES: usize = 12;

/// A choice that is explained.
#[derive(Debug, Clone, Copy)]
pub struct Explanation<'a> {
    /// The model with its pool.
    pub ranker: &'a Ranker,
    /// The problem.
    pub problem: &'a Problem,
    /// The ranking, best first.
    pub ranking: &'a [Ranked],
    /// The two compared kernels.
    pub kernels: [Ranked; 2],
    /// Why the model distinguishes them; `None` if the estimate ranks, whose scores are microseconds.
    pub comparison: Option<&'a Comparison>,
    /// The fields in which the problem is outside the model's training range.
    pub outside: &'a [OutOfRange],
}

/// Writes the page.
pub fn explanation(explained: &Explanation<'_>, made: &Provenance) -> String {
    let Explanation { ranker, problem, kernels, comparison, .. } = *explained;
    let [first, second] = kernels.map(|kernel| named(explained, &kernel));
    let by = if comparison.is_some() { last_name(ranker.model()) } else { "the estimate" };
    let mut page = Page::new(&format!("{by}: why this kernel"));
    provenance::line(&mut page, &made.at);
    let text = problem.to_string();
    page.raw(&format!("<p class=\"lead\">For {}</p>\n", code(&brief(&text))));
    page.details("the whole problem", |page| page.raw(&format!("<p><code>{}</code></p>\n", escape(&text))));
    let scores = explained.scores();
    let rounding = Rounding::new(scores);
    let score = explained.score();
    page.table(
        &["kernel", "rank", score],
        [(first, 0), (second, 1)].map(|(name, side)| {
            let rank = explained.ranking.iter().position(|ranked| is_same(ranked, &kernels[side]));
            let rank = rank.map_or_else(|| "not ranked".to_owned(), |rank| count(rank + 1));
            vec![code(&name), rank, rounding.say(scores[side])]
        }),
    );
    equals(&mut page, explained);
    let Some(comparison) = comparison else {
        page.section("Ranking", |page| ranking(page, explained));
        page.section("What the estimate says", |page| estimate(page, explained));
        return page.finish();
    };
    let [ours, theirs] = scores;
    let sign = match ours.partial_cmp(&theirs) {
        Some(Ordering::Greater) => "above",
        Some(Ordering::Less) => "below",
        _ => "as high as",
    };
    if let Some(most) = comparison.terms.first().filter(|_| ours != theirs) {
        page.text(&format!(
            "The {score} of the first is {sign} that of the second by {}. The feature with the largest part \
             in it is {}: {} of the first and {} of the second.",
            rounding.say((ours - theirs).abs()),
            most.feature,
            number(most.values[0]),
            number(most.values[1])
        ));
    }
    page.section("Ranking", |page| ranking(page, explained));
    page.section(&format!("Why the first scores {sign} the second"), |page| terms(page, comparison));
    page.section("What the estimate says", |page| estimate(page, explained));
    page.section("Within the training data?", |page| trained(page, explained));
    page.section("Model", |page| made.model(page));
    page.finish()
}

impl Explanation<'_> {
    /// The scores by which the two kernels are ranked.
    fn scores(&self) -> [f64; 2] {
        self.comparison.map_or_else(|| self.kernels.map(|kernel| kernel.score), Comparison::scores)
    }

    /// The name of a score; a universal model's contains the estimate's part.
    fn score(&self) -> &'static str {
        match self.comparison {
            None => "time, µs",
            Some(comparison) if comparison.estimate.is_some() => "score",
            Some(_) => "raw score",
        }
    }
}

fn named(explained: &Explanation<'_>, ranked: &Ranked) -> String {
    explained.problem.named(explained.ranker.name(ranked.index), ranked.split_k)
}

fn is_same(one: &Ranked, other: &Ranked) -> bool {
    (one.index, one.split_k) == (other.index, other.split_k)
}

/// The kernels with the score of the first, among which no feature decides.
fn equals(page: &mut Page, explained: &Explanation<'_>) {
    let (score, by) = match explained.comparison {
        Some(_) => ("score", "model"),
        None => ("time", "estimate"),
    };
    let first = explained.scores()[0];
    let equals = explained.ranking.iter().filter(|one| one.score == first).count();
    if equals > 1 {
        page.warning(&format!(
            "{} kernels have the {score} of the first, so the {by} does not tell them apart. Among equal \
             {score}s, {}.",
            count(equals),
            Ties::RULE
        ));
    }
}

fn ranking(page: &mut Page, explained: &Explanation<'_>) {
    let scores = explained.ranking.iter().map(|ranked| ranked.score);
    let (low, high) = scores
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), score| (low.min(score), high.max(score)));
    let rounding = Rounding::new(explained.ranking.iter().map(|ranked| ranked.score));
    let by = if explained.comparison.is_some() { "model" } else { "estimate" };
    let all = count(explained.ranking.len());
    page.text(&format!("All {all} kernels that the {by} ranks for this problem."));
    let score = if explained.comparison.is_some() { "score" } else { explained.score() };
    page.named_table(
        "ranking-table",
        &["kernel", "rank", score, ""],
        explained.ranking.iter().enumerate().map(|(rank, ranked)| {
            let name = code(&named(explained, ranked));
            let is_compared = explained.kernels.iter().any(|kernel| is_same(kernel, ranked));
            let name = if is_compared { format!("<b>{name}</b>") } else { name };
            let share = match explained.comparison {
                // Times, of which the longest fills the cell.
                None => ranked.score / high,
                Some(_) if high > low => (ranked.score - low) / (high - low),
                Some(_) => 1.0,
            };
            vec![name, count(rank + 1), rounding.say(ranked.score), chart::bar(share)]
        }),
    );
}

fn terms(page: &mut Page, comparison: &Comparison) {
    let most = comparison.terms.iter().map(|term| term.difference().abs()).fold(0.0, f64::max);
    let [first, second] = comparison.scores();
    if first == second && most == 0.0 {
        page.text(
            "Both have the same score, and every feature adds the same to both: nothing speaks for either.",
        );
        return;
    }
    page.text(
        "What a feature adds is what the splits on it add along the kernel's path through the trees. Bias, \
         features and rounding add up to the raw score exactly. To the right is what speaks for the first \
         kernel.",
    );
    if first == second {
        page.text("Both have the same score: the differences cancel out.");
    }
    let all = comparison.terms.iter().flat_map(|term| term.contributions).chain(comparison.raw);
    let rounding_of_parts = Rounding::new(all);
    let say = |part: f64| rounding_of_parts.say(part);
    let bias = comparison.parts.each_ref().map(|part| part.bias);
    let rounding = comparison.parts.each_ref().map(|part| part.rounding);
    let row = |name: &str, values: [String; 2], parts: [f64; 2]| {
        let difference = parts[0] - parts[1];
        let [first, second] = values;
        let bar = chart::diverging(if most > 0.0 { difference / most } else { 0.0 });
        vec![escape(name), bar, say(difference), say(parts[0]), say(parts[1]), first, second]
    };
    let mut sum = vec![("all: raw score", comparison.raw), ("bias", bias), ("rounding", rounding)];
    if let Some(estimate) = comparison.estimate {
        sum.extend([("the estimate", estimate), ("score", comparison.scores())]);
    }
    let sums = sum.into_iter().map(|(name, parts)| {
        let mut cells = row(name, [String::new(), String::new()], parts);
        cells[1].clear();
        cells
    });
    let features = |page: &mut Page, terms: &[Term], sums: Vec<Vec<String>>| {
        let of = |term: &Term| row(term.feature, term.values.map(number), term.contributions);
        page.table(
            &["feature", "", "difference", "adds to the first", "to the second", "first has", "second has"],
            terms.iter().map(of).chain(sums),
        );
    };
    let (shown, rest) = comparison.terms.split_at(FEATURES.min(comparison.terms.len()));
    features(page, shown, sums.collect());
    if !rest.is_empty() {
        page.details(&format!("{} further features", count(rest.len())), |page| {
            features(page, rest, Vec::new());
        });
    }
}

fn estimate(page: &mut Page, explained: &Explanation<'_>) {
    let Explanation { ranker, problem, kernels, .. } = *explained;
    let arch = problem.arch().or(ranker.model().spec().arch);
    let device = match (ranker.model().device(), arch.map(Device::for_arch)) {
        (Some((device, _)), _) | (None, Some(Ok(device))) => device,
        (None, Some(Err(error))) => return page.text(&format!("Nothing: {error}.")),
        (None, None) => {
            return page.text("Nothing: no GPU is named; give --arch.");
        }
    };
    let estimator = Estimator::new(device);
    let of = |ranked: &Ranked| {
        let load = estimator.load(&problem.with_split(ranked.split_k));
        let kernel = ranker.pool().get(ranked.index)?;
        Some(estimator.terms(&load, &estimator.shape(&kernel.kind).ok()?))
    };
    let (Some(first), Some(second)) = (of(&kernels[0]), of(&kernels[1])) else {
        return page.text("Nothing: it does not know a kernel of this kind.");
    };
    page.text(
        "The estimate is a formula that never saw the measurements, so it can disagree with a model; its \
         terms, in microseconds, are what each cause adds to the time. To the right is what makes the first \
         kernel faster.",
    );
    let rounding = Rounding::new([first.total(), second.total()]);
    let pairs = first.named.iter().zip(&second.named);
    let most = pairs.clone().fold(0.0_f64, |most, (first, second)| most.max((second.1 - first.1).abs()));
    let rows = pairs.map(|(&(name, first), &(_, second))| {
        let bar = chart::diverging(if most > 0.0 { (second - first) / most } else { 0.0 });
        vec![escape(name), bar, rounding.say(first), rounding.say(second)]
    });
    let totals = [&first, &second].map(|terms| rounding.say(terms.total()));
    let all = ["<b>all</b>".to_owned(), String::new()].into_iter().chain(totals).collect();
    page.table(&["term", "", "first, µs", "second, µs"], rows.chain([all]));
}

fn trained(page: &mut Page, explained: &Explanation<'_>) {
    let Explanation { ranker, problem, outside, .. } = *explained;
    if outside.is_empty() {
        page.text("The problem is within the training data, as far as the model records it.");
    } else {
        page.text("The problem is outside the training data, where the model's predictions are guesses:");
        page.table(
            &["field", "asked", "trained on"],
            outside.iter().map(|one| vec![escape(one.field), escape(&one.found), escape(&one.trained)]),
        );
    }
    let Some(trained) = &ranker.model().spec().trained_on else {
        page.text("The model does not record which problems it was trained on.");
        return;
    };
    let rows = problem.numbers().filter_map(|(field, asked)| {
        let [low, high] = trained.range(field.name)?;
        // On a logarithmic scale, because extents vary widely.
        let along = |value: i64| ((value.max(0) + 1) as f64).ln();
        let share = if high > low { (along(asked) - along(low)) / (along(high) - along(low)) } else { 0.5 };
        let share =
            if (low..=high).contains(&asked) { chart::position(share) } else { "<b>outside</b>".to_owned() };
        let [asked, low, high] = [asked, low, high].map(|value| number(value as f64));
        Some(vec![escape(field.name), share, asked, low, high])
    });
    page.table(&["field", "where", "asked", "trained from", "to"], rows);
}
