//! The contents of a sweep as one HTML page.

use std::collections::BTreeMap;

use super::chart::{self, Axis, Mark, Series, Unit};
use super::html::{Figure, Page};
use super::map::Excerpt;
use super::provenance::{self, Provenance};
use super::text::{Rounding, brief, code, count, duration, escape, name, number, percent, short};
use crate::candidates::{Trial, counted_as};
use crate::survey::{NEAR, Survey};
use ck_select_measurements::Measurements;

/// Maximum number of points of a roofline.
const POINTS: usize = 2000;
/// Maximum number of kernels of the greedy pool that are listed.
const LISTED: usize = 100;

/// Writes the page.
pub fn sweep(survey: &Survey, measurements: &Measurements, made: &Provenance) -> String {
    let name = match measurements.sources() {
        [one] => one.file_name(),
        more => format!("{} files", more.len()),
    };
    let mut page = Page::new(&format!("{name}: what is in the sweep"));
    provenance::line(&mut page, &made.at);
    headline(&mut page, survey, measurements);
    let shown = Excerpt::new(survey);
    page.section("Kernels by problems", |page| {
        if let Some(text) = shown.left_out(survey) {
            page.text(&text);
        }
        shown.write(page, survey);
    });
    page.section("Kernels", |page| kernels(page, survey, measurements, &shown));
    page.section("Fewer kernels", |page| pool(page, survey, measurements));
    page.section("Problems", |page| problems(page, survey, measurements, &shown));
    page.section("Roofline", |page| roofline(page, survey, measurements, &shown));
    page.section("Noise", |page| noise(page, survey, measurements));
    page.section("Failures", |page| failures(page, survey));
    page.section("Time spent", |page| time(page, survey));
    page.section("Data", |page| made.data(page, measurements));
    page.finish()
}

fn headline(page: &mut Page, survey: &Survey, measurements: &Measurements) {
    let coverage = &survey.coverage;
    let kernels = measurements.kernels();
    let steps = &survey.pool.steps;
    let failed = coverage.rows - measurements.valid_rows().count();
    let mut lead = vec![format!(
        "{} of {} kernels are the fastest on at least one of {} {}.",
        count(survey.winners()),
        count(kernels.len()),
        count(survey.trials.len()),
        counted_as(&survey.trials)
    )];
    if let Some(first) = steps.first() {
        let best = &kernels[first.kernel as usize].name;
        let keeps = percent(first.share);
        lead.push(format!("The best single one, {best}, keeps {keeps} of the fastest kernels' speed."));
        let more = survey.pool.sizes().skip(1).filter(|(size, _)| [4, 16].contains(size));
        lead.extend(more.map(|(size, step)| format!("{size} keep {}.", percent(step.share))));
    }
    let lead = lead.join(" ");
    page.raw(&format!("<p class=\"lead\">{}</p>\n", name(&lead)));
    let measured = coverage.measured as f64 / coverage.possible as f64;
    let mut figures = vec![
        Figure::new("num_problems", "problems", count(measurements.problems().len())),
        Figure::new("num_kernels", "kernels", count(kernels.len())),
        Figure::new("num_rows", "rows", count(coverage.rows)),
        Figure::new("measured", "pairs measured", percent(measured)),
        Figure::new("winners", "kernels that win", count(survey.winners())),
        Figure::new("random", "a random kernel", percent(survey.random())),
        Figure::new("failed", "rows without a time", count(failed)),
    ];
    if let Some(best) = steps.first() {
        figures.insert(5, Figure::new("best_single", "best single kernel", percent(best.share)));
    }
    if survey.trials.len() != measurements.problems().len() {
        figures.insert(1, Figure::new("num_runs", "runs of problems", count(survey.trials.len())));
    }
    page.figures(&figures);
    let without = measurements.problems().len() - survey.problems();
    if survey.trials.len() != survey.problems() || without > 0 {
        page.text(&format!(
            "A problem that was measured again has several runs, and each counts wherever problems are \
             counted below: {} problems have {} runs. Problems without any row that has a time: {}.",
            count(survey.problems()),
            count(survey.trials.len()),
            count(without)
        ));
    }
}

fn kernels(page: &mut Page, survey: &Survey, measurements: &Measurements, shown: &Excerpt) {
    let never = survey.kernels.iter().filter(|kernel| kernel.ran > 0 && kernel.wins == 0);
    let (never, near) = never.fold((0, 0), |(all, near), one| (all + 1, near + usize::from(one.near > 0)));
    page.text(&format!(
        "{} kernels ran and never win; {} of those are within {} % of the fastest somewhere. Time is that of \
         one run of each row. Click a kernel for its problems. One that failed on every problem has no mean \
         efficiency.",
        count(never),
        count(near),
        ((1.0 - NEAR) * 100.0).round()
    ));
    let near = format!("within {} %", ((1.0 - NEAR) * 100.0).round());
    let times = Rounding::new(survey.kernels.iter().map(|kernel| kernel.run_ms));
    page.named_table(
        "kernels-table",
        &["kernel", "tile", "pipeline", "ran on", "wins", &near, "mean efficiency", "failed", "time, ms"],
        shown.kernels.iter().map(|&kernel| {
            let (figures, kernel) =
                (&survey.kernels[kernel as usize], &measurements.kernels()[kernel as usize]);
            vec![
                code(&kernel.name),
                kernel.kind.tile().to_string(),
                escape(kernel.kind.pipeline().unwrap_or_default()),
                count(figures.ran),
                count(figures.wins),
                count(figures.near),
                if figures.ran > 0 { percent(figures.mean) } else { String::new() },
                count(figures.failed),
                times.say(figures.run_ms),
            ]
        }),
    );
}

fn pool(page: &mut Page, survey: &Survey, measurements: &Measurements) {
    let steps = &survey.pool.steps;
    page.text(
        "Kernels one after the other, each the one that adds most to those before it. A problem's share is \
         the speed of the fastest kept kernel over that of the fastest of all; a problem that no kept kernel \
         runs counts as 0. ckselect report --output FILE.txt writes such a pool.",
    );
    let points = (1..).map(f64::from).zip(steps.iter().map(|step| step.share));
    let all = [Series::new("", Mark::Line, points)];
    let x = Axis::of_counts("kernels", [1.0, steps.len() as f64]);
    let y = ("share of the oracle", Unit::Share);
    page.raw(&chart::series("share of the oracle that so many kernels keep", &x, y, &all));
    page.named_table(
        "pools",
        &["kernels", "share of the oracle", "worst problem", "problems without a kernel"],
        survey.pool.sizes().map(|(size, step)| {
            vec![count(size), percent(step.share), percent(step.worst), count(step.without)]
        }),
    );
    page.details(&format!("Which kernels, in that order ({})", count(steps.len())), |page| {
        page.table(
            &["", "kernel", "share with it"],
            (1..).zip(steps).take(LISTED).map(|(index, step)| {
                let name = &measurements.kernels()[step.kernel as usize].name;
                vec![count(index), code(name), percent(step.share)]
            }),
        );
    });
}

/// Names of problems, without common defaults. Problems that were measured again are numbered.
fn names(survey: &Survey, measurements: &Measurements, shown: &Excerpt) -> Vec<String> {
    let mut before: Vec<usize> = Vec::with_capacity(survey.trials.len());
    for (index, trial) in survey.trials.iter().enumerate() {
        let again = index > 0 && survey.trials[index - 1].problem == trial.problem;
        before.push(if again { before[index - 1] + 1 } else { 0 });
    }
    let name = |&number: &u32| {
        let problem = &measurements.problems()[survey.trials[number as usize].problem as usize];
        let name = brief(&problem.to_string());
        match before[number as usize] {
            0 => name,
            again => format!("{name} (run {})", again + 1),
        }
    };
    shown.trials.iter().map(name).collect()
}

fn problems(page: &mut Page, survey: &Survey, measurements: &Measurements, shown: &Excerpt) {
    page.text("Click a problem for its ranking.");
    let near = format!("within {} %", ((1.0 - NEAR) * 100.0).round());
    let mut header = vec!["problem", "kernels", &near, "TFLOPS", "time, µs", "fastest kernel"];
    let points = survey.roofline.as_ref().ok().map(|roofline| &roofline.points);
    if points.is_some() {
        header.insert(5, "of the roof");
    }
    let names = names(survey, measurements, shown);
    let speeds = Rounding::new(survey.trials.iter().map(Trial::oracle_tflops));
    page.named_table(
        "problems-table",
        &header,
        shown.trials.iter().zip(names).map(|(&number_of, name)| {
            let trial = &survey.trials[number_of as usize];
            let problem = &measurements.problems()[trial.problem as usize];
            let tflops = trial.oracle_tflops();
            let close = (0..trial.candidates.len()).filter(|&index| trial.efficiency(index) >= NEAR).count();
            let mut row = vec![
                code(&name),
                count(trial.candidates.len()),
                count(close),
                speeds.say(tflops),
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

fn roofline(page: &mut Page, survey: &Survey, measurements: &Measurements, shown: &Excerpt) {
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
        "The fastest kernel of each problem beside the peaks of {}: {} GB/s of its memory (the line below), \
         {} GB/s of its caches (dashed). Bytes are those of operands and result, each moved once; where they \
         stay in caches from run to run, a kernel can be above the memory's line. {} of {} {} are \
         limited by memory.",
        roofline.arch,
        number(roofline.memory_gb_s),
        number(roofline.cache_gb_s),
        count(bound),
        count(roofline.points.len()),
        counted_as(&survey.trials)
    ));
    let names = names(survey, measurements, shown);
    let points: Vec<(usize, String)> = shown
        .trials
        .iter()
        .zip(names)
        .take(POINTS)
        .map(|(&index, name)| {
            let point = &roofline.points[index as usize];
            let says = format!(
                "{name}\n{} TFLOPS at {} operations a byte, {} of the roof",
                number(point.tflops),
                number(point.intensity),
                percent(point.share())
            );
            (index as usize, says)
        })
        .collect();
    page.raw(&chart::roofline(roofline, &points));
    if points.len() < roofline.points.len() {
        page.text(&format!("{} of them are drawn.", count(points.len())));
    }
    page.table(
        &["share of the roof", ""],
        [("lowest tenth below", 0.1), ("median", 0.5), ("highest tenth above", 0.9)]
            .map(|(name, part)| vec![name.to_owned(), percent(roofline.share(part))]),
    );
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
                let problem = brief(&measurements.problems()[one.problem as usize].to_string());
                let kernel = &measurements.kernels()[one.kernel as usize].name;
                vec![code(&problem), code(kernel), count(one.times), number(one.ratio)]
            }),
        );
    }
    let known = survey.sidecars.iter().filter_map(|sidecar| Some((sidecar, sidecar.details.as_ref()?)));
    let mut any = false;
    for (sidecar, details) in known {
        any = true;
        let spread = match details.with_cv {
            0 => "No row has a spread of its samples.".to_owned(),
            rows => format!(
                "{} rows have a spread of their samples, with a coefficient of variation of {} in the median \
                 and below {} for nine of ten.",
                count(rows),
                percent(details.median),
                percent(details.p90)
            ),
        };
        page.text(&format!(
            "{}: {spread} {} rows were measured again because they were unsteady, and {} stayed so; {} rows \
             were written again, after a failure or a crash.",
            sidecar.of.display(),
            count(details.remeasured),
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

fn failures(page: &mut Page, survey: &Survey) {
    if survey.failures.is_empty() {
        page.text("Every row has a time.");
        return;
    }
    page.named_table(
        "failure-classes",
        &["class, and its last message", "rows", "kernels", "problems"],
        survey.failures.iter().map(|one| {
            let last = if one.last.is_empty() { String::new() } else { code(&one.last) };
            vec![escape(&one.class) + &last, count(one.rows), count(one.kernels), count(one.problems)]
        }),
    );
}

fn time(page: &mut Page, survey: &Survey) {
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
    page.text("The time of a run that was killed, or that still runs, is that until its last row.");
    page.table(
        &["data", "devices", "rows", "time", "rows a second", "ended"],
        sessions.into_iter().map(|(sidecar, session)| {
            let mut gpus: BTreeMap<&str, usize> = BTreeMap::new();
            session.devices().for_each(|device| *gpus.entry(device.name()).or_default() += 1);
            let gpus: Vec<String> =
                gpus.iter().map(|(name, count)| format!("{count} × {}", escape(name))).collect();
            let rate = session
                .seconds()
                .filter(|seconds| *seconds > 0)
                .map(|seconds| session.rows as f64 / seconds as f64);
            // Only the details of a log tell what a run wrote before it was killed.
            let is_known = session.ended.is_some() || sidecar.details.is_some();
            vec![
                name(&sidecar.of.display().to_string()),
                gpus.join(", "),
                if is_known { count(session.rows as usize) } else { number(f64::NAN) },
                duration(session.seconds().map_or(f64::NAN, |seconds| seconds as f64 * 1e3)),
                short(rate.map_or(f64::NAN, |rate| (rate * 10.0).round() / 10.0)),
                escape(session.end.as_deref().unwrap_or("killed, or runs")),
            ]
        }),
    );
}
