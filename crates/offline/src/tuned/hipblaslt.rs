//! hipBLASLt's logic files of exact solutions: a YAML list, or in newer files a mapping, of the version, the
//! architecture, the devices, the type of problem, the solutions, the order of indices, and sizes with the
//! fastest solution and its speed in GFLOPS.
//!
//! Sizes are those of column-major GEMMs. In row-major order, the same memory is the transposed product: M
//! and N are swapped, and so are A and B.

use ck_select_types::vocab::Op;

use super::{Places, Said};

/// Tensile's numbers of types, and our names.
const TYPES: [(&str, &str); 4] = [("0", "fp32"), ("4", "fp16"), ("7", "bf16"), ("8", "int8")];
/// What is read, as items of the list and as keys of the mapping that newer files are.
const ARCH: (usize, &str) = (2, "ArchitectureName");
const PROBLEM: (usize, &str) = (4, "ProblemType");
const SIZES: (usize, &str) = (7, "ExactLogic");
const UNITS: &str = "CUCount";
const KIND: &str = "LibraryType";

/// GFLOPS below which a product that takes more than a millisecond is no tuned kernel's.
const LEAST: f64 = 1000.0;

/// Lines with their numbers.
type Lines<'t> = Vec<(usize, &'t str)>;

/// The parts of a file by their place in the list or by their key; the first line is what follows these.
struct Parts<'t> {
    items: Vec<(&'t str, Lines<'t>)>,
    is_list: bool,
}

impl<'t> Parts<'t> {
    fn of(text: &'t str) -> Result<Self, (usize, String)> {
        let is_list = text.starts_with("- ");
        let mut items: Vec<(&str, Lines<'_>)> = Vec::new();
        for (place, line) in (1..).zip(text.lines()) {
            let begins = if is_list {
                line.strip_prefix("- ").map(|rest| ("", rest))
            } else {
                line.split_once(':').filter(|(key, _)| key.chars().all(|c| c.is_ascii_alphanumeric()))
            };
            match (begins, items.last_mut()) {
                (Some((key, rest)), _) => items.push((key, vec![(place, rest.trim_start())])),
                (None, Some((_, item))) => item.push((place, line)),
                (None, None) => return Err((place, "expected a list or a mapping".to_owned())),
            }
        }
        Ok(Self { items, is_list })
    }

    fn get(&self, (place, key): (usize, &str)) -> Result<&Lines<'t>, (usize, String)> {
        let found = if self.is_list {
            self.items.get(place)
        } else {
            self.items.iter().find(|(known, _)| *known == key)
        };
        found.map(|(_, lines)| lines).ok_or_else(|| (1, format!("{key} is missing")))
    }

    /// The kind of the library: the last item of a list.
    fn kind(&self) -> Result<(usize, &'t str), (usize, String)> {
        self.get((self.items.len().saturating_sub(1), KIND)).map(|lines| lines[0])
    }

    /// Compute units, of an item of their own or beside the architecture.
    fn num_cus(&self) -> Option<u32> {
        if self.is_list {
            let (_, beside) = self.items.get(ARCH.0)?.1.first()?.1.split_once(UNITS)?;
            beside.trim_start_matches(':').trim_matches([' ', '}']).parse().ok()
        } else {
            self.get((0, UNITS)).ok()?.first()?.1.trim().parse().ok()
        }
    }
}

/// The entries, or a line with its error.
pub(super) fn places(text: &str) -> Result<Places, (usize, String)> {
    let parts = Parts::of(text)?;
    let (last, kind) = parts.kind()?;
    if kind.trim() != "Equality" {
        let expected = "expected Equality: only sizes that were measured themselves have a time";
        return Err((last, format!("found '{}', {expected}", kind.trim())));
    }
    let (place, arch) = parts.get(ARCH)?[0];
    let arch = arch.split(['{', '}', ',', ' ']).find(|word| word.starts_with("gfx"));
    let arch = arch.ok_or_else(|| (place, "no architecture".to_owned()))?;
    let fields = of_type(parts.get(PROBLEM)?)?;
    let num_cus = parts.num_cus();
    let mut places = Places::new();
    let mut size = None;
    for &(place, line) in parts.get(SIZES)?.iter().filter(|(_, line)| !line.is_empty()) {
        let numbers: Vec<&str> = line.trim_matches(['-', ' ', '[', ']']).split(", ").collect();
        size = match (size.take(), &numbers[..]) {
            (None, [m, n, batch, k, ..]) => Some([*m, *n, *batch, *k]),
            (Some(size), [solution, speed]) => {
                let said = said(size, solution, speed, &fields, arch);
                places.push((place, said.map(|said| Said { num_cus, ..said })));
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
    // Some files have a few figures that are orders of magnitude below their neighbours'.
    if gflops < LEAST && flops / gflops / 1e6 > 1.0 {
        return Err(format!("speed: found {speed} GFLOPS, so slow that it must mean something else"));
    }
    let many = if batch == "1" { String::new() } else { format!(",batch={batch}") };
    Ok(Said {
        op: Op::Gemm,
        num_cus: None,
        problem: format!("M={n},N={m},K={k},{fields}{many},arch={arch}"),
        milliseconds: flops / gflops / 1e6,
        by: format!("solution {solution}"),
    })
}
