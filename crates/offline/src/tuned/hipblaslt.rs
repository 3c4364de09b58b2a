//! hipBLASLt's logic files of exact solutions: the architecture, the type of problem, the solutions, and sizes
//! with the fastest solution and its speed in GFLOPS. Two forms of YAML: a list in a fixed order, and, since
//! 2025, a mapping.
//!
//! Sizes are those of column-major GEMMs. In row-major order, the same memory is the transposed product: M
//! and N are swapped, and so are A and B.

use ck_select_types::vocab::Op;

use super::{Places, Said};

/// Tensile's numbers of types, and our names.
const TYPES: [(&str, &str); 4] = [("0", "fp32"), ("4", "fp16"), ("7", "bf16"), ("8", "int8")];
/// Indices of the list's items.
const ARCH: usize = 2;
const PROBLEM: usize = 4;
const SIZES: usize = 7;

/// The lines of an item or of a key's value, with their places.
type Item<'a> = Vec<(usize, &'a str)>;

/// What is read of a file.
struct Parts<'a> {
    /// The architecture, and possibly its compute units.
    arch: Item<'a>,
    problem: Item<'a>,
    sizes: Item<'a>,
    kind: (usize, &'a str),
}

/// Whether a text is such a file; before its content there may be comments and `---`.
pub(super) fn begins(text: &str) -> bool {
    let first = lines(text).next().map_or("", |(_, line)| line);
    first.starts_with("- ") || first.starts_with("MinimumRequiredVersion:")
}

/// The lines with content.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let skipped =
        |line: &str| line.trim().is_empty() || line.starts_with('#') || ["---", "..."].contains(&line);
    (1..).zip(text.lines().map(str::trim_end)).filter(move |(_, line)| !skipped(line))
}

/// The entries, or a line with its error.
pub(super) fn places(text: &str) -> Result<Places, (usize, String)> {
    let is_list = lines(text).next().is_some_and(|(_, line)| line.starts_with("- "));
    let parts = if is_list { of_list(text)? } else { of_mapping(text)? };
    let (last, kind) = parts.kind;
    if kind != "Equality" {
        return Err((
            last,
            format!(
                "found '{kind}', expected Equality: only sizes that were measured themselves have a time"
            ),
        ));
    }
    let words = || parts.arch.iter().flat_map(|(_, line)| line.split(['{', '}', ',', ' ']));
    let arch = words().find(|word| word.starts_with("gfx"));
    let place = parts.arch.first().map_or(1, |(place, _)| *place);
    let arch = arch.ok_or_else(|| (place, "no architecture".to_owned()))?;
    let num_cus = match words().skip_while(|word| *word != "CUCount:").nth(1) {
        None | Some("null" | "~" | "") => None,
        Some(count) => Some(count.parse().map_err(|_| {
            let place = parts.arch.last().map_or(place, |(place, _)| *place);
            (place, format!("CUCount: found {count}, expected a number of compute units or null"))
        })?),
    };
    let fields = of_type(&parts.problem)?;
    let mut places = Places::new();
    let mut size = None;
    for (place, numbers) in sequences(&parts.sizes) {
        size = match (size.take(), &numbers[..]) {
            (None, [m, n, batch, k, ..]) => Some([*m, *n, *batch, *k]),
            (Some(size), [solution, speed]) => {
                let said = said(size, solution, speed, &fields, arch);
                places.push((place, said.map(|said| Said { num_cus, ..said })));
                None
            }
            _ => {
                let found = numbers.join(", ");
                return Err((
                    place,
                    format!("found '[{found}]', expected a size and then [solution, speed]"),
                ));
            }
        };
    }
    Ok(places)
}

fn of_list(text: &str) -> Result<Parts<'_>, (usize, String)> {
    // The lines of each item of the outermost list.
    let mut items: Vec<Item<'_>> = Vec::new();
    for (place, line) in lines(text) {
        match (line.strip_prefix("- "), items.last_mut()) {
            (Some(line), _) => items.push(vec![(place, line)]),
            (None, Some(item)) => item.push((place, line)),
            (None, None) => return Err((place, "expected a list".to_owned())),
        }
    }
    let kind =
        items.last().and_then(|item| item.first()).map_or((1, ""), |(place, line)| (*place, line.trim()));
    let mut item = |at: usize| items.get_mut(at).map(std::mem::take).unwrap_or_default();
    Ok(Parts { arch: item(ARCH), problem: item(PROBLEM), sizes: item(SIZES), kind })
}

fn of_mapping(text: &str) -> Result<Parts<'_>, (usize, String)> {
    let mut keys: Vec<(&str, Item<'_>)> = Vec::new();
    for (place, line) in lines(text) {
        match (line.starts_with([' ', '-']), line.split_once(':'), keys.last_mut()) {
            (true, _, Some((_, item))) => item.push((place, line)),
            (false, Some((key, rest)), _) => keys.push((key, vec![(place, rest.trim())])),
            _ => return Err((place, format!("found '{line}', expected a key and ':'"))),
        }
    }
    let last = keys.last().and_then(|(_, item)| item.first()).map_or(1, |(place, _)| *place);
    let take = |name: &str| {
        let item = keys.iter().find(|(key, _)| *key == name).map(|(_, item)| item.clone());
        item.ok_or_else(|| (last, format!("{name} is missing")))
    };
    let mut arch = take("ArchitectureName")?;
    // Written as in the list form, where both are in one item.
    if let Ok(count) = take("CUCount") {
        arch.extend(count.iter().map(|(place, _)| (*place, "CUCount:")));
        arch.extend(count);
    }
    let kind = take("LibraryType")?;
    let kind = kind.first().map_or((last, ""), |(place, line)| (*place, *line));
    Ok(Parts { arch, problem: take("ProblemType")?, sizes: take("ExactLogic")?, kind })
}

/// The innermost `[…]` of an item, with the places where they end: long ones go over several lines.
fn sequences<'a>(item: &[(usize, &'a str)]) -> Vec<(usize, Vec<&'a str>)> {
    let mut found = Vec::new();
    let mut open: Option<Vec<&'a str>> = None;
    for &(place, line) in item {
        let mut rest = line;
        while let Some(at) = rest.find(['[', ']']) {
            let (before, after) = rest.split_at(at);
            if after.starts_with('[') {
                open = Some(Vec::new());
            } else if let Some(mut numbers) = open.take() {
                numbers.extend(words(before));
                found.push((place, numbers));
            }
            rest = &after[1..];
        }
        if let Some(numbers) = &mut open {
            numbers.extend(words(rest));
        }
    }
    found
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|word| !word.is_empty())
}

/// The value of a key with its line.
fn value<'a>(item: &[(usize, &'a str)], name: &str) -> Result<(usize, &'a str), (usize, String)> {
    let of_line = |&(place, line): &(usize, &'a str)| {
        Some((place, line.trim().strip_prefix(name)?.strip_prefix(": ")?))
    };
    let first = item.first().map_or(1, |(place, _)| *place);
    item.iter().find_map(of_line).ok_or_else(|| (first, format!("{name} is missing")))
}

/// Layout and types as fields of a problem.
fn of_type(item: &[(usize, &str)]) -> Result<String, (usize, String)> {
    let order = |name: &'static str| match value(item, name)? {
        (_, "true" | "1") => Ok('c'),
        (_, "false" | "0") => Ok('r'),
        (place, word) => Err((place, format!("{name}: found {word}, expected true or false"))),
    };
    let dtype = |name: &'static str| {
        let (place, number) = value(item, name)?;
        TYPES.iter().find(|(theirs, _)| *theirs == number).map(|(_, ours)| *ours).ok_or_else(|| {
            let theirs: Vec<&str> = TYPES.iter().map(|(theirs, _)| *theirs).collect();
            (place, format!("{name}: found {number}, expected one of: {}", theirs.join(", ")))
        })
    };
    let (a, b, c) = (dtype("DataTypeA")?, dtype("DataTypeB")?, dtype("DestDataType")?);
    let (first, second) = (order("TransposeB")?, order("TransposeA")?);
    Ok(format!("dtype_a={b},dtype_b={a},dtype_c={c},layout={first}{second}r"))
}

fn said(size: [&str; 4], solution: &str, speed: &str, fields: &str, arch: &str) -> Result<Said, String> {
    let number = |name: &str, text: &str| -> Result<f64, String> {
        text.parse().map_err(|_| format!("{name}: found '{text}', expected a number"))
    };
    let [m, n, batch, k] = size;
    let gflops = number("speed", speed)?;
    if gflops <= 0.0 {
        return Err(format!("speed: found {speed}, expected more than 0"));
    }
    let [rows, columns, count, depth] =
        [number("N", n)?, number("M", m)?, number("batch", batch)?, number("K", k)?];
    let flops = 2.0 * rows * columns * depth * count;
    let milliseconds = flops / gflops / 1e6;
    let elements = count * (rows * depth + depth * columns + rows * columns);
    let most = longest(flops, elements);
    if milliseconds > most {
        return Err(format!(
            "speed: found {speed}, in GFLOPS a time of {milliseconds:.0} ms, expected at most {most:.0} ms: \
             some lines have another unit, and nothing tells which"
        ));
    }
    let many = if batch == "1" { String::new() } else { format!(",batch={batch}") };
    Ok(Said {
        op: Op::Gemm,
        problem: format!("M={n},N={m},K={k},{fields}{many},arch={arch}"),
        milliseconds,
        num_cus: None,
        by: format!("solution {solution}"),
    })
}

/// A time in milliseconds that no tuned kernel of these devices exceeds: a millisecond, and the work at 1
/// TFLOPS and 10 GB/s, which is one or two hundredths of what they do.
fn longest(flops: f64, elements: f64) -> f64 {
    1.0 + flops / 1e9 + 4.0 * elements / 1e7
}
