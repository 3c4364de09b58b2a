//! `MIOpen`'s find-db as text: a line is a problem, `=`, and the solvers with their times.
//!
//! ```text
//! C-Hi-Wi-YxX-K-Ho-Wo-N-pads-strides-dilations-bias-layout-type-direction[_gG]=solver:ms,workspace,algorithm;…
//! ```
//!
//! Depths come first if there are three dimensions; a layout other than NCHW is repeated three times.
//! Backward problems begin with the gradient of the output. Older files have the algorithm before the solver:
//! `algorithm:solver,ms,…`.

use ck_select_types::problem::{Problem, ProblemDefaults};
use ck_select_types::vocab::Op;

use super::{Places, Said};

const LAYOUTS: [(&str, &str); 4] =
    [("NCHW", "ngchw"), ("NHWC", "nhwgc"), ("NCDHW", "ngcdhw"), ("NDHWC", "ndhwgc")];
const TYPES: [(&str, &str); 4] = [("FP32", "fp32"), ("FP16", "fp16"), ("BF16", "bf16"), ("INT8", "int8")];
const DIRECTIONS: [(&str, &str); 3] = [("F", "forward"), ("B", "bwd_data"), ("W", "bwd_weight")];

pub(super) fn is_record(line: &str) -> bool {
    let Some((key, values)) = line.split_once('=') else { return false };
    key.split('-').count() >= 15 && values.contains(':')
}

pub(super) fn places(text: &str) -> Places {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(place, line)| (place, said(line))).collect()
}

fn said(line: &str) -> Result<Said, String> {
    let (key, values) = line.split_once('=').ok_or("no '=' after the problem")?;
    let problem = problem(key)?;
    let time_of = |solver: &str| {
        let (name, figures) = solver.split_once(':')?;
        let mut figures = figures.split(',');
        let first = figures.next()?;
        match first.parse() {
            Ok(milliseconds) => Some((milliseconds, name.to_owned())),
            Err(_) => Some((figures.next()?.parse().ok()?, first.to_owned())),
        }
    };
    let best =
        values.trim().split(';').filter_map(time_of).min_by(|a: &(f64, String), b| a.0.total_cmp(&b.0));
    let (milliseconds, by) = best.ok_or("no solver with a time")?;
    Ok(Said { op: Op::GroupedConv, problem, milliseconds, num_cus: None, by })
}

fn word<'a>(name: &str, found: &str, words: &[(&str, &'a str)]) -> Result<&'a str, String> {
    words.iter().find(|(theirs, _)| *theirs == found).map(|(_, ours)| *ours).ok_or_else(|| {
        let theirs: Vec<&str> = words.iter().map(|(theirs, _)| *theirs).collect();
        format!("{name}: found {found}, expected one of: {}", theirs.join(", "))
    })
}

fn problem(key: &str) -> Result<String, String> {
    let parts: Vec<&str> = key.trim().split('-').collect();
    // The filter is the first part with a cross.
    let ndim = match parts.iter().position(|part| part.contains('x')) {
        Some(place @ 3..=4) => place - 1,
        _ => {
            return Err(
                "a problem begins with channels, two or three extents and a filter of as many".to_owned()
            );
        }
    };
    let [first, filter, second, n, pads, strides, dilations, bias] =
        [0, ndim + 1, ndim + 2, 2 * ndim + 3, 2 * ndim + 4, 2 * ndim + 5, 2 * ndim + 6, 2 * ndim + 7];
    let (words, last) = match parts.get(bias + 1..).unwrap_or_default() {
        [layout, dtype, last] => ([*layout, *dtype], *last),
        [layout, wei, out, dtype, last] if layout == wei && layout == out => ([*layout, *dtype], *last),
        _ => {
            return Err(
                "expected one layout, or three that are alike, a type and a direction after the bias"
                    .to_owned(),
            );
        }
    };
    if parts[bias] != "0" {
        return Err(format!("bias: found {}, expected 0", parts[bias]));
    }
    let layout = word("layout", words[0], &LAYOUTS)?;
    let dtype = word("type", words[1], &TYPES)?;
    let (letter, groups) = last.split_once("_g").unwrap_or((last, "1"));
    let direction = word("direction", letter, &DIRECTIONS)?;
    let extents = |first: usize| (parts[first], &parts[first + 1..=first + ndim]);
    let ((c, input), (k, output)) = match letter {
        "F" => (extents(first), extents(second)),
        _ => (extents(second), extents(first)),
    };
    let mut fields = vec![format!(
        "N={},C={c},K={k},G={groups},ndim={ndim},direction={direction},dtype={dtype},layout={layout}",
        parts[n]
    )];
    let axes = &["d", "h", "w"][3 - ndim..];
    for (place, axis) in axes.iter().enumerate() {
        fields.push(format!("{}i={}", axis.to_uppercase(), input[place]));
    }
    let keys = [("", filter), ("stride_", strides), ("pad_", pads), ("dilation_", dilations)];
    for (prefix, part) in keys {
        let values: Vec<&str> = parts[part].split('x').collect();
        if values.len() != ndim {
            return Err(format!("found {} for {ndim} dimensions", parts[part]));
        }
        for (axis, value) in axes.iter().zip(values) {
            let filter_axis = match *axis {
                "d" => "Z",
                "h" => "Y",
                _ => "X",
            };
            fields.push(match prefix {
                "" => format!("{filter_axis}={value}"),
                _ => format!("{prefix}{axis}={value}"),
            });
        }
    }
    let text = fields.join(",");
    check_output(&text, ndim, output)?;
    Ok(text)
}

/// Checks the table's output extents against the problem's; if they differ, the parts were misinterpreted.
fn check_output(text: &str, ndim: usize, found: &[&str]) -> Result<(), String> {
    let defaults = ProblemDefaults::of(Op::GroupedConv);
    let problem = Problem::parse(Op::GroupedConv, text, &defaults).map_err(|error| error.to_string())?;
    let Problem::Conv(problem) = problem else { return Ok(()) };
    let expected = problem.output()[3 - ndim..].iter().map(ToString::to_string).collect::<Vec<_>>();
    if expected != found {
        let (found, expected) = (found.join("x"), expected.join("x"));
        return Err(format!("output: found {found}, expected {expected} by input, filter, strides and pads"));
    }
    Ok(())
}
