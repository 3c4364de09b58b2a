//! hipBLASLt's logic files of exact solutions: a YAML list of the version, the architecture, the devices, the
//! type of problem, the solutions, the order of indices, and sizes with the fastest solution and its speed in
//! GFLOPS.
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

/// The entries, or a line with its error.
pub(super) fn places(text: &str) -> Result<Places, (usize, String)> {
    // The lines of each item of the outermost list.
    let mut items: Vec<Vec<(usize, &str)>> = Vec::new();
    for (place, line) in (1..).zip(text.lines()) {
        match (line.starts_with("- "), items.last_mut()) {
            (true, _) => items.push(vec![(place, &line[2..])]),
            (false, Some(item)) => item.push((place, line)),
            (false, None) => return Err((place, "expected a list".to_owned())),
        }
    }
    let (last, kind) = items.last().map_or((1, ""), |item| (item[0].0, item[0].1.trim()));
    if kind != "Equality" || items.len() <= SIZES {
        return Err((
            last,
            format!(
                "found '{kind}', expected Equality: only sizes that were measured themselves have a time"
            ),
        ));
    }
    let arch = items[ARCH][0].1.split(['{', '}', ',', ' ']).find(|word| word.starts_with("gfx"));
    let arch = arch.ok_or_else(|| (items[ARCH][0].0, "no architecture".to_owned()))?;
    let fields = of_type(&items[PROBLEM])?;
    let mut places = Places::new();
    let mut size = None;
    for &(place, line) in &items[SIZES] {
        let numbers: Vec<&str> = line.trim_matches(['-', ' ', '[', ']']).split(", ").collect();
        size = match (size.take(), &numbers[..]) {
            (None, [m, n, batch, k, ..]) => Some([*m, *n, *batch, *k]),
            (Some(size), [solution, speed]) => {
                places.push((place, said(size, solution, speed, &fields, arch)));
                None
            }
            _ => {
                return Err((
                    place,
                    format!("found '{}', expected a size and then [solution, speed]", line.trim()),
                ));
            }
        };
    }
    Ok(places)
}

/// The value of a key with its line.
fn value<'a>(item: &[(usize, &'a str)], name: &str) -> Result<(usize, &'a str), (usize, String)> {
    let of_line = |&(place, line): &(usize, &'a str)| {
        Some((place, line.trim().strip_prefix(name)?.strip_prefix(": ")?))
    };
    item.iter().find_map(of_line).ok_or_else(|| (item[0].0, format!("{name} is missing")))
}

/// Layout and types as fields of a problem.
fn of_type(item: &[(usize, &str)]) -> Result<String, (usize, String)> {
    let order = |name: &'static str| match value(item, name)? {
        (_, "true") => Ok('c'),
        (_, "false") => Ok('r'),
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
    let flops = 2.0 * number("N", n)? * number("M", m)? * number("K", k)? * number("batch", batch)?;
    let many = if batch == "1" { String::new() } else { format!(",batch={batch}") };
    Ok(Said {
        op: Op::Gemm,
        problem: format!("M={n},N={m},K={k},{fields}{many},arch={arch}"),
        milliseconds: flops / gflops / 1e6,
        by: format!("solution {solution}"),
    })
}
