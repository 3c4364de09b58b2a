//! The contents of a sweep as one HTML page.

use super::change;
use super::charts;
use super::made::Made;
use super::map::Shown;
use super::page::{Page, Shade, count, escape, number, percent};
use crate::measurements::Measurements;
use crate::survey::{Change, Coverage, NEAR, PoolStep, Survey, tile_of};

/// Pool sizes whose cost is shown, as long as more kernels add something.
const POOLS: [usize; 5] = [1, 2, 4, 8, 16];
/// Maximum number of points of a roofline.
const POINTS: usize = 2000;
/// Maximum number of kernels of the greedy pool that are listed.
const LISTED: usize = 100;
/// Maximum number of pairs of axes that are drawn.
const GRIDS: usize = 4;
/// Maximum number of rows and columns of a grid that is drawn.
const GRID: usize = 16;

/// A second sweep, and what changed since the first.
#[derive(Debug, Clone, Copy)]
pub struct Against<'a> {
    /// The second sweep.
    pub measurements: &'a Measurements,
    /// Its digests.
    pub made: &'a Made,
    /// What changed.
    pub change: &'a Change,
}

/// Writes the page.
pub fn sweep(
    survey: &Survey,
    measurements: &Measurements,
    made: &Made,
    against: Option<Against<'_>>,
) -> String {
    let files: Vec<String> = measurements
        .sources()
        .iter()
        .map(|source| {
            source.path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
        })
        .collect();
    let name = match files.as_slice() {
        [one] => one.clone(),
        more => format!("{} files", more.len()),
    };
    let mut page = Page::new(&format!("{name}: what is in the sweep"));
    made.line(&mut page);
    let shown = Shown::of(survey);
    headline(&mut page, survey, measurements);
    if let Some(against) = against {
        page.section("What changed", |page| change::write(page, measurements, against));
    }
    page.section("Kernels by problems", |page| {
        page.raw(
            &shown.left_out(survey).map_or_else(String::new, |text| format!("<p>{}</p>\n", escape(&text))),
        );
        shown.write(page, survey);
    });
    page.section("Kernels", |page| kernels(page, survey, measurements, &shown));
    page.section("Winners by tile and pipeline", |page| wins(page, survey));
    page.section("Fewer kernels", |page| pool(page, survey, measurements));
    page.section("Problems", |page| problems(page, survey, measurements, &shown));
    page.section("Roofline", |page| roofline(page, survey, measurements, &shown));
    page.section("Coverage", |page| coverage(page, &survey.coverage));
    page.section("Noise", |page| noise(page, survey, measurements));
    page.section("Failures", |page| failures(page, survey));
    page.section("Time spent", |page| time(page, survey));
    page.section("Data", |page| {
        made.data(page, measurements);
        if let Some(against) = against {
            page.text("Compared with this sweep:");
            against.made.data(page, against.measurements);
        }
    });
    page.finish()
}

/// Size and quality of the pool, for each size that is shown.
pub fn pools(steps: &[PoolStep]) -> impl Iterator<Item = (usize, &PoolStep)> {
    let last = steps.len();
    let sizes = POOLS.into_iter().filter(move |&size| size < last).chain([last]);
    sizes.filter_map(move |size| Some((size, steps.get(size.checked_sub(1)?)?)))
}

fn winners(survey: &Survey) -> usize {
    survey.kernels.iter().filter(|kernel| kernel.wins > 0).count()
}

fn headline(page: &mut Page, survey: &Survey, measurements: &Measurements) {
    let coverage = &survey.coverage;
    let kernels = measurements.kernels();
    let steps = &survey.pool.steps;
    let failed = coverage.rows - measurements.rows().iter().filter(|row| row.is_valid).count();
    let mut lead = vec![format!(
        "{} of {} kernels are the fastest on at least one of {} problems.",
        count(winners(survey)),
        count(kernels.len()),
        count(measurements.problems().len())
    )];
    if let Some(first) = steps.first() {
        let name = &kernels[first.kernel as usize].name;
        let keeps = percent(first.share);
        lead.push(format!("The best single one, {name}, keeps {keeps} of the fastest kernels' speed."));
        let more = pools(steps).skip(1).filter(|(size, _)| [4, 16].contains(size));
        lead.extend(more.map(|(size, step)| format!("{size} keep {}.", percent(step.share))));
    }
    let lead = lead.join(" ");
    page.raw(&format!("<p class=\"lead\">{}</p>\n", escape(&lead)));
    page.figures(&[
        ("num_problems", "problems", count(measurements.problems().len())),
        ("num_kernels", "kernels", count(kernels.len())),
        ("num_rows", "rows", count(coverage.rows)),
        ("measured", "pairs measured", percent(coverage.measured as f64 / coverage.possible as f64)),
        ("winners", "kernels that win", count(winners(survey))),
        ("best_single", "best single kernel", percent(steps.first().map_or(f64::NAN, |step| step.share))),
        ("random", "a random kernel", percent(survey.random())),
        ("failed", "rows without a time", count(failed)),
    ]);
}

fn code(text: &str) -> String {
    format!("<code>{}</code>", escape(text))
}

/// Milliseconds, in a suitable unit.
pub(super) fn duration(ms: f64) -> String {
    match ms {
        _ if !ms.is_finite() => "–".to_owned(),
        ms if ms < 1.0 => format!("{} µs", number((ms * 1e5).round() / 1e2)),
        ms if ms < 1e3 => format!("{} ms", number((ms * 1e2).round() / 1e2)),
        ms if ms < 6e5 => format!("{} s", number((ms / 10.0).round() / 1e2)),
        ms => format!("{} min", number((ms / 600.0).round() / 1e2)),
    }
}

pub(super) fn kernels(page: &mut Page, survey: &Survey, measurements: &Measurements, shown: &Shown) {
    let never = survey.kernels.iter().filter(|kernel| kernel.ran > 0 && kernel.wins == 0);
    let (never, near) = never.fold((0, 0), |(all, near), one| (all + 1, near + usize::from(one.near > 0)));
    page.text(&format!(
        "{} kernels ran and never win; {} of those are within {} % of the fastest somewhere. Time is that of \
         one run of each row. Click a kernel for its problems.",
        count(never),
        count(near),
        ((1.0 - NEAR) * 100.0).round()
    ));
    let near = format!("within {} %", ((1.0 - NEAR) * 100.0).round());
    page.named_table(
        "kernels-table",
        &["kernel", "tile", "pipeline", "ran on", "wins", &near, "mean efficiency", "failed", "time, ms"],
        shown.kernels.iter().map(|&kernel| {
            let (figures, kernel) =
                (&survey.kernels[kernel as usize], &measurements.kernels()[kernel as usize]);
            vec![
                code(&kernel.name),
                tile_of(&kernel.kind),
                escape(kernel.kind.pipeline()),
                count(figures.ran),
                count(figures.wins),
                count(figures.near),
                percent(figures.mean),
                count(figures.failed),
                number((figures.run_ms * 1e3).round() / 1e3),
            ]
        }),
    );
}

pub(super) fn wins(page: &mut Page, survey: &Survey) {
    let mut pipelines: Vec<&str> = survey.wins.iter().map(|group| group.pipeline).collect();
    pipelines.sort_unstable();
    pipelines.dedup();
    let mut tiles: Vec<&str> = survey.wins.iter().map(|group| group.tile.as_str()).collect();
    tiles.dedup();
    let all = survey.trials.len() as f64;
    let most = survey.wins.iter().map(|group| group.wins).max().unwrap_or(0).max(1) as f64;
    page.text(
        "Problems that a kernel of this tile and pipeline wins; below, of its kernels, how many ever do.",
    );
    let mut header = vec!["tile"];
    header.extend(&pipelines);
    header.push("all");
    let rows = tiles.iter().map(|tile| {
        let of_tile = || survey.wins.iter().filter(|group| group.tile == **tile);
        let cells = pipelines.iter().map(|pipeline| {
            let Some(group) = of_tile().find(|group| group.pipeline == *pipeline) else {
                return (Shade::None, String::new());
            };
            let [wins, winners, kernels] = [group.wins, group.winners, group.kernels].map(count);
            let text = format!("{wins}<br><small>{winners} of {kernels}</small>");
            (Shade::Share(group.wins as f64 / most), text)
        });
        let sum: usize = of_tile().map(|group| group.wins).sum();
        let last = format!("{} <small>{}</small>", count(sum), percent(sum as f64 / all));
        let first = (Shade::None, format!("<b>{tile}</b>"));
        std::iter::once(first).chain(cells).chain([(Shade::None, last)]).collect()
    });
    page.grid(&header, rows);
}

fn pool(page: &mut Page, survey: &Survey, measurements: &Measurements) {
    let steps = &survey.pool.steps;
    page.text(
        "Kernels one after the other, each the one that adds most to those before it. A problem's share is \
         the speed of the fastest kept kernel over that of the fastest of all; a problem that no kept kernel \
         runs counts as 0. ckselect report --prune-pool writes such a pool.",
    );
    let points: Vec<(usize, f64)> = (1..).zip(steps).map(|(size, step)| (size, step.share)).collect();
    page.raw(&charts::curves("share of the oracle that so many kernels keep", "kernels", &[("", points)]));
    page.named_table(
        "pools",
        &["kernels", "share of the oracle", "worst problem", "problems without a kernel"],
        pools(steps).map(|(size, step)| {
            vec![count(size), percent(step.share), percent(step.worst), count(step.without)]
        }),
    );
    page.details(&format!("Which kernels, in that order ({})", count(steps.len())), |page| {
        page.table(
            &["", "kernel", "share with it"],
            (1..).zip(steps).take(LISTED).map(|(place, step)| {
                let name = &measurements.kernels()[step.kernel as usize].name;
                vec![count(place), code(name), percent(step.share)]
            }),
        );
    });
}

/// Names of problems, without common defaults. Problems that were measured again are numbered.
fn names(survey: &Survey, measurements: &Measurements, shown: &Shown) -> Vec<String> {
    let mut before: Vec<usize> = Vec::with_capacity(survey.trials.len());
    for (place, trial) in survey.trials.iter().enumerate() {
        let again = place > 0 && survey.trials[place - 1].problem == trial.problem;
        before.push(if again { before[place - 1] + 1 } else { 0 });
    }
    let name = |&number: &u32| {
        let problem = &measurements.problems()[survey.trials[number as usize].problem as usize];
        let name = super::brief(&problem.to_string());
        match before[number as usize] {
            0 => name,
            again => format!("{name} (run {})", again + 1),
        }
    };
    shown.trials.iter().map(name).collect()
}

fn problems(page: &mut Page, survey: &Survey, measurements: &Measurements, shown: &Shown) {
    page.text("Click a problem for its ranking.");
    let near = format!("within {} %", ((1.0 - NEAR) * 100.0).round());
    let mut header = vec!["problem", "kernels", &near, "TFLOPS", "time, µs", "fastest kernel"];
    let points = survey.roofline.as_ref().ok().map(|roofline| &roofline.points);
    if points.is_some() {
        header.insert(5, "of the roof");
    }
    let names = names(survey, measurements, shown);
    page.named_table(
        "problems-table",
        &header,
        shown.trials.iter().zip(names).map(|(&number_of, name)| {
            let trial = &survey.trials[number_of as usize];
            let problem = &measurements.problems()[trial.problem as usize];
            let tflops = trial.oracle_tflops();
            let close = (0..trial.candidates.len()).filter(|&place| trial.efficiency(place) >= NEAR).count();
            let mut row = vec![
                code(&name),
                count(trial.candidates.len()),
                count(close),
                number(tflops),
                number(problem.flops() / tflops / 1e6),
                code(&measurements.kernels()[trial.candidates[trial.oracle].kernel as usize].name),
            ];
            if let Some(points) = points {
                row.insert(5, percent(points[number_of as usize].share()));
            }
            row
        }),
    );
}

fn roofline(page: &mut Page, survey: &Survey, measurements: &Measurements, shown: &Shown) {
    let roofline = match &survey.roofline {
        Ok(roofline) => roofline,
        Err(reason) => {
            page.text(&format!("There is no roofline: {reason}."));
            return;
        }
    };
    let peak = roofline.peak();
    let bound = roofline.points.iter().filter(|point| point.is_bound_by_memory(peak)).count();
    page.text(&format!(
        "Each problem's fastest kernel beside the peaks of {}: {} GB/s of its memory (the line below), {} \
         GB/s of its caches (dashed). Bytes are those of operands and result, each moved once; where they \
         stay in caches from run to run, a kernel can be above the memory's line. {} of {} problems are \
         limited by memory.",
        roofline.arch,
        number(roofline.memory_gb_s),
        number(roofline.cache_gb_s),
        count(bound),
        count(roofline.points.len())
    ));
    let names = names(survey, measurements, shown);
    let points: Vec<(usize, String)> = shown
        .trials
        .iter()
        .zip(names)
        .take(POINTS)
        .map(|(&place, name)| {
            let point = &roofline.points[place as usize];
            let says = format!(
                "{name}\n{} TFLOPS at {} operations a byte, {} of the roof",
                number(point.tflops),
                number(point.intensity),
                percent(point.share())
            );
            (place as usize, escape(&says))
        })
        .collect();
    page.raw(&charts::roofline(roofline, &points));
    if points.len() < roofline.points.len() {
        page.text(&format!("{} problems are drawn.", count(points.len())));
    }
    let mut shares: Vec<f64> = roofline.points.iter().map(crate::survey::Point::share).collect();
    shares.sort_by(f64::total_cmp);
    let quantile = |share: f64| percent(crate::figures::quantile(&shares, share));
    page.table(
        &["share of the roof", ""],
        [("lowest tenth below", 0.1), ("median", 0.5), ("highest tenth above", 0.9)]
            .map(|(name, share)| vec![name.to_owned(), quantile(share)]),
    );
}

fn coverage(page: &mut Page, coverage: &Coverage) {
    page.text(&format!(
        "{} of {} pairs of a problem and a kernel have a time ({}).",
        count(coverage.measured),
        count(coverage.possible),
        percent(coverage.measured as f64 / coverage.possible as f64)
    ));
    page.raw("<div class=\"small\">\n");
    for axis in coverage.kinds.iter().chain(&coverage.numbers) {
        page.bars(axis.name, axis.values.iter().map(|(name, count)| (name.as_str(), *count)));
    }
    page.raw("</div>\n");
    let holes: usize = coverage.pairs.iter().map(|pair| pair.holes.len()).sum();
    if coverage.pairs.is_empty() {
        page.text("No two numbers have three values each, so there is no grid that could have holes.");
        return;
    }
    page.text(&format!(
        "Holes are combinations of two numbers without a problem, though there are problems on both sides of \
         them along both. {} holes in {} pairs of numbers; those with most of them:",
        count(holes),
        count(coverage.pairs.len())
    ));
    for pair in coverage.pairs.iter().filter(|pair| !pair.holes.is_empty()).take(GRIDS) {
        let [first, second] = pair.axes.map(|axis| &coverage.numbers[axis]);
        let title =
            format!("<b>{}</b> by <b>{}</b>: {} holes", first.name, second.name, count(pair.holes.len()));
        page.details(&title, |page| {
            let most = pair.problems.iter().flatten().copied().max().unwrap_or(0).max(1) as f64;
            let corner = format!("{} \\ {}", first.name, second.name);
            let mut header = vec![corner.as_str()];
            header.extend(second.values.iter().take(GRID).map(|(name, _)| name.as_str()));
            let rows = first.values.iter().enumerate().take(GRID).map(|(row, (name, _))| {
                let cells = pair.problems[row].iter().enumerate().take(GRID);
                let cells = cells.map(|(column, &problems)| match problems {
                    0 if pair.holes.contains(&[row, column]) => (Shade::Hole, "hole".to_owned()),
                    0 => (Shade::None, String::new()),
                    problems => (Shade::Share(problems as f64 / most), count(problems)),
                });
                std::iter::once((Shade::None, escape(name))).chain(cells).collect()
            });
            page.grid(&header, rows);
        });
    }
    page.details("All pairs of numbers", |page| {
        page.table(
            &["numbers", "combinations", "measured", "holes"],
            coverage.pairs.iter().map(|pair| {
                let [first, second] = pair.axes.map(|axis| coverage.numbers[axis].name);
                let cells = pair.problems.iter().flatten();
                let measured = cells.clone().filter(|problems| **problems > 0).count();
                vec![
                    format!("{first}, {second}"),
                    count(cells.count()),
                    count(measured),
                    count(pair.holes.len()),
                ]
            }),
        );
    });
}

fn noise(page: &mut Page, survey: &Survey, measurements: &Measurements) {
    let noise = &survey.noise;
    if noise.repeated == 0 {
        page.text("No kernel was measured twice on a problem, so the rows themselves do not show the noise.");
    } else {
        page.text(&format!(
            "{} pairs were measured more than once: the slowest time is {} times the fastest in the median, \
             and below {} times for nine of ten.",
            count(noise.repeated),
            number(noise.median),
            number(noise.p90)
        ));
        page.table(
            &["problem", "kernel", "times", "slowest over fastest"],
            noise.worst.iter().map(|one| {
                let problem = super::brief(&measurements.problems()[one.problem as usize].to_string());
                let kernel = &measurements.kernels()[one.kernel as usize].name;
                vec![code(&problem), code(kernel), count(one.times), number(one.ratio)]
            }),
        );
    }
    let known = survey.sidecars.iter().filter_map(|sidecar| Some((sidecar, sidecar.details.as_ref()?)));
    let mut any = false;
    for (sidecar, details) in known {
        any = true;
        page.text(&format!(
            "{}: {} rows have a spread of their samples, with a coefficient of variation of {} in the median \
             and below {} for nine of ten. {} rows stayed unsteady, {} were measured again.",
            sidecar.of.display(),
            count(details.with_cv),
            percent(details.median),
            percent(details.p90),
            count(details.unsteady),
            count(details.again)
        ));
        if !details.worst.is_empty() {
            page.table(
                &["unsteady kernel", "problem_idx", "coefficient of variation"],
                details
                    .worst
                    .iter()
                    .map(|one| vec![code(&one.kernel), one.problem.to_string(), percent(one.cv)]),
            );
        }
    }
    if !any {
        page.text(
            "There are no details of a bench log (FILE.details.jsonl) beside the data: \
             the spread of samples is not known.",
        );
    }
}

pub(super) fn failures(page: &mut Page, survey: &Survey) {
    if survey.failures.is_empty() {
        page.text("Every row has a time.");
        return;
    }
    page.table(
        &["class", "rows", "kernels", "problems", "the last of them"],
        survey.failures.iter().map(|one| {
            let last = if one.last.is_empty() { String::new() } else { code(&one.last) };
            vec![escape(&one.class), count(one.rows), count(one.kernels), count(one.problems), last]
        }),
    );
}

pub(super) fn time(page: &mut Page, survey: &Survey) {
    page.text(&format!(
        "One run of each row that has a time takes {} on the device, {} of it the slowest tenth of the rows. \
         The table of kernels has each one's part.",
        duration(survey.run_ms),
        percent(survey.slowest_tenth)
    ));
    let sessions: Vec<_> = survey
        .sidecars
        .iter()
        .flat_map(|sidecar| sidecar.sessions.iter().map(move |session| (sidecar, session)))
        .collect();
    if sessions.is_empty() {
        page.text("There is no FILE.meta.json beside the data: how long measuring took is not known.");
        return;
    }
    page.table(
        &["data", "devices", "rows", "time", "rows a second", "ended"],
        sessions.into_iter().map(|(sidecar, session)| {
            let gpus: Vec<String> =
                session.gpus.iter().map(|(name, count)| format!("{count} × {}", escape(name))).collect();
            let rate = session
                .seconds
                .filter(|seconds| *seconds > 0)
                .map(|seconds| session.rows as f64 / seconds as f64);
            vec![
                escape(&sidecar.of.display().to_string()),
                gpus.join(", "),
                count(session.rows as usize),
                session.seconds.map_or_else(String::new, |seconds| duration(seconds as f64 * 1e3)),
                rate.map_or_else(String::new, |rate| number(rate.round())),
                escape(&session.end),
            ]
        }),
    );
}
