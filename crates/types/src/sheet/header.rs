//! Headers of tables: which columns are known, and which must be mistakes.
//!
//! A misspelt column would leave its field at a default, and the table would be read as problems that nobody
//! meant. So a name is refused if it is close to a known one, refers to a problem, or stands among the
//! columns of a problem. Any other unknown column is reported to the caller, who tells the user once.

use super::aiter;
use crate::hardware::Hardware;
use crate::inputs;
use crate::nearest::distance;
use crate::operation::Operation;
use crate::problem::keys;
use crate::vocab::Op;

/// Why a header cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// Columns that are most likely misspelt.
    #[error("unknown {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Unknown(Vec<UnknownColumn>),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

fn other<T>(reason: String) -> Result<T, HeaderError> {
    Err(HeaderError::Other(reason))
}

/// A column that is most likely misspelt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownColumn {
    /// The column's name.
    pub name: String,
    /// The names that the column may stand for, nearest first.
    pub nearest: Vec<&'static str>,
}

impl std::fmt::Display for UnknownColumn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "column '{}', expected {}", self.name, self.nearest.join(", "))
    }
}

/// Columns that tables have besides those of a problem, and that readers ignore without a report: those that
/// benchmarks, converters and `ckselect` itself write.
const BESIDE: &[&str] = &[
    "kernel", "kernel_name", "problem_idx", "problem", "op", "op_type", "variant", "ndim_spatial",
    "latency_ms", "latency_us", "tflops", "measured_tflops", "bandwidth_gb_s", "non_zero", "is_valid",
    "error_msg", "run_id", "rank", "score", "oracle_kernel", "oracle_tflops", "predicted_kernel",
    "actual_tflops", "efficiency", "match", "err_ratio",
];

/// Columns of hardware that upstream's converter writes and lists of problems do not need.
const HARDWARE_BESIDE: [&str; 4] = ["gfx_name", "marketing_name", "shader_arrays_per_engine", "chip_id"];

/// Names of one or two letters that are not extents.
const SHORT: [&str; 8] = ["id", "no", "nr", "ms", "us", "ns", "cv", "op"];

/// Prefixes of words that refer to a problem, with the fields that may be meant.
const STEMS: &[(&str, &[&str])] = &[
    ("stride", &["stride_h", "stride_w", "stride_d"]),
    ("pad", &["pad_h", "pad_w", "pad_d"]),
    ("dilat", &["dilation_h", "dilation_w", "dilation_d"]),
    ("group", &["G"]),
    ("batch", &["N"]),
    ("channel", &["C", "K"]),
    ("filter", &["Y", "X", "Z"]),
    ("height", &["Hi", "Y"]),
    ("width", &["Wi", "X"]),
    ("depth", &["Di", "Z"]),
    ("split", &["split_k"]),
    ("direction", &["direction"]),
    ("dtype", &["dtype"]),
    ("datatype", &["dtype"]),
    ("precision", &["dtype"]),
    ("layout", &["layout"]),
    ("arch", &["arch"]),
    ("gfx", &["arch"]),
    ("ndim", &["ndim"]),
    // What tables of other tools have, and what changes the answer.
    ("transa", &["layout"]),
    ("transb", &["layout"]),
    ("causal", &["mask"]),
    ("window", &["window_left", "window_right"]),
    ("seqlen", &["seqlen_q", "seqlen_k"]),
    ("head", &["nhead_q", "nhead_k", "hdim_q"]),
    ("mask", &["mask"]),
    ("bias", &["bias"]),
    ("dropout", &["dropout"]),
];

/// The columns that every problem of an operation needs.
const fn needed(op: Op) -> &'static [&'static str] {
    Operation::get(op).required
}

/// Whether a table for another operation shows that it has problems of this one, too.
fn shows(op: Op, has: impl Fn(&str) -> bool) -> bool {
    match Operation::get(op).letters {
        [] => needed(op).iter().all(|name| has(name)),
        letters => letters.iter().all(|[_, lower]| has(lower)),
    }
}

/// Checks the names of a table that is read for problems of an operation. Returns the unknown columns that
/// may be ignored, in their order; the reader of the table reports them once.
///
/// `also` names further columns that the caller reads, so that misspelt ones among them are errors, too.
///
/// ```
/// use ck_select_types::sheet::check_columns;
/// use ck_select_types::vocab::Op;
///
/// let columns = ["C", "K", "Hi", "Wi", "Y", "X", "pad_h", "comment"];
/// assert_eq!(check_columns(Op::Conv, &columns, &[])?, ["comment"]);
/// let columns = ["C", "K", "Hi", "Wi", "Y", "X", "padh"];
/// let error = check_columns(Op::Conv, &columns, &[]).unwrap_err();
/// assert_eq!(error.to_string(), "unknown column 'padh', expected pad_h");
/// # Ok::<(), ck_select_types::sheet::HeaderError>(())
/// ```
pub fn check_columns(op: Op, columns: &[&str], also: &[&'static str]) -> Result<Vec<String>, HeaderError> {
    let is_like_a_field = |name: &&str| keys(op).iter().any(|known| plain(known) == plain(name));
    // Without any of them it is not a header, or one of another table, and its names are not misspelt.
    let is_any = columns.len() < 2 || columns.iter().any(is_like_a_field);
    let has = |name: &str| columns.contains(&name);
    let missing = Operation::missing_column(op, &has);
    let is_of = |other: &Op| *other != op && needed(*other).iter().all(|name| has(name));
    // In a table for another operation, no name is misspelt either.
    let is_of_another = missing.is_some() && Op::ALL.iter().any(is_of);
    let unknown = if is_any && !is_of_another { check_names(op, columns, also)? } else { Vec::new() };
    match missing {
        Some(column) => {
            let (expected, present) = (needed(op).join(", "), columns.join(", "));
            other(format!(
                "no column '{column}', expected {expected} for a {op} problem; the columns are {present}"
            ))
        }
        None => Ok(unknown),
    }
}

/// Checks the names of a table as [`check_columns`] does, but the table need not spell out its problems.
pub fn check_names(op: Op, columns: &[&str], also: &[&'static str]) -> Result<Vec<String>, HeaderError> {
    check_line(op, columns)?;
    let header = Header::new(op, columns, also)?;
    let (mut wrong, mut unknown) = (Vec::new(), Vec::new());
    for (column, &name) in columns.iter().enumerate().filter(|(_, name)| !header.is_known(name)) {
        let is_among_fields = header.is_among_fields(column);
        if is_among_fields && name.is_empty() {
            let number = column + 1;
            return other(format!(
                "column {number} among those of problems has no name, expected the name of a field"
            ));
        }
        // An index, or what spreadsheets leave behind; but among fields, it is one that lost its name.
        if !is_among_fields && (name.is_empty() || name.starts_with("Unnamed: ")) {
            continue;
        }
        match header.nearest(name, is_among_fields) {
            nearest if nearest.is_empty() => unknown.push(name.to_owned()),
            nearest => wrong.push(UnknownColumn { name: name.to_owned(), nearest }),
        }
    }
    if wrong.is_empty() { Ok(unknown) } else { Err(HeaderError::Unknown(wrong)) }
}

/// Refuses a line that is no header of a table with commas, and names that stand twice.
fn check_line(op: Op, columns: &[&str]) -> Result<(), HeaderError> {
    match columns {
        [] | [""] => {
            let expected = needed(op).join(", ");
            return other(format!("found nothing, expected a header with the columns {expected}"));
        }
        &[one] => {
            if let Some(separator) = one.chars().find(|c| [';', '\t', '|'].contains(c)) {
                return other(format!("the columns are separated by {separator:?}, expected ','"));
            }
        }
        _ => {}
    }
    check_twice(columns)
}

/// Refuses names that stand twice.
fn check_twice(columns: &[&str]) -> Result<(), HeaderError> {
    for (column, name) in columns.iter().enumerate() {
        if !name.is_empty() && columns[..column].contains(name) {
            return other(format!("column '{name}' appears twice"));
        }
    }
    Ok(())
}

/// Refuses names that stand twice, and those that differ from a requested one in case or punctuation alone.
pub(super) fn check_alike(columns: &[&str], asked: &[&'static str]) -> Result<Vec<String>, HeaderError> {
    check_twice(columns)?;
    for name in columns.iter().filter(|name| !asked.contains(name)) {
        if let Some(meant) = asked.iter().find(|asked| plain(asked) == plain(name)) {
            return other(format!("unknown column '{name}', expected {meant}"));
        }
    }
    Ok(Vec::new())
}

/// The columns of a table that is read for problems of an operation.
struct Header<'a> {
    op: Op,
    columns: &'a [&'a str],
    /// Further columns that the caller reads.
    also: &'a [&'static str],
    /// Other operations of which it has problems, too.
    others: Vec<Op>,
}

impl<'a> Header<'a> {
    fn new(op: Op, columns: &'a [&'a str], also: &'a [&'static str]) -> Result<Self, HeaderError> {
        let has = |name: &str| columns.contains(&name);
        // A table of several operations has the columns of all; `n` and `k` alone are misspellings.
        let is_there = |other: &&Op| **other != op && shows(**other, has);
        let others: Vec<Op> = Op::ALL.iter().filter(is_there).copied().collect();
        let letters = Operation::get(op).letters;
        let is_of_another = |[upper, _]: &[&str; 2]| others.iter().any(|&other| keys(other).contains(upper));
        if !letters.iter().any(is_of_another)
            && let Some([upper, lower]) = letters.iter().find(|[upper, lower]| has(upper) && has(lower))
        {
            return other(format!(
                "columns '{upper}' and '{lower}' are the same field, expected one of them"
            ));
        }
        Ok(Self { op, columns, also, others })
    }

    fn is_field(&self, name: &str) -> bool {
        keys(self.op).contains(&name)
    }

    fn is_known(&self, name: &str) -> bool {
        self.is_field(name)
            || self.also.contains(&name)
            || BESIDE.contains(&name)
            || aiter::COLUMNS.contains(&name)
            || self.others.iter().any(|&other| keys(other).contains(&name))
            || has_kernel_cells(self.op).any(|op| inputs::of_kernel(op).contains(&name))
            || self.others.iter().any(|&other| inputs::of_kernel(other).contains(&name))
            || inputs::of_problem(self.op).contains(&name)
            || is_hardware(name)
            || name.starts_with("f:")
            || name.starts_with("__index_level_")
    }

    /// Whether the columns before and after are fields.
    fn is_among_fields(&self, index: usize) -> bool {
        let is_field = |column: usize| self.columns.get(column).is_some_and(|name| self.is_field(name));
        index > 0 && is_field(index - 1) && is_field(index + 1)
    }

    /// The fields that an unknown name may stand for; none if it can hardly be meant for one.
    fn nearest(&self, name: &str, is_among_fields: bool) -> Vec<&'static str> {
        let has = |name: &str| self.columns.contains(&name);
        let own = nearest(self.op, name, self.also, has);
        let of_others = self.others.iter().map(|&other| nearest(other, name, &[], has));
        let near = std::iter::once(own).chain(of_others).find(|near| !near.is_empty());
        near.unwrap_or_else(|| {
            let is_short = name.chars().count() <= 2 && !SHORT.contains(&name.to_lowercase().as_str());
            let is_field = is_among_fields || is_short || stem(name).is_some();
            if is_field { keys(self.op).to_vec() } else { Vec::new() }
        })
    }
}

/// The operations whose kernel cells a table may have: sweeps of convolutions have tiles as GEMMs do, but the
/// mask or bias of attention is a mistake elsewhere.
fn has_kernel_cells(op: Op) -> impl Iterator<Item = Op> {
    Op::ALL.iter().copied().filter(move |&other| other == op || Operation::get(other).shares_kernel_cells)
}

fn is_hardware(column: &str) -> bool {
    let beside = || column.strip_prefix("hw_").is_some_and(|name| HARDWARE_BESIDE.contains(&name));
    Hardware::COLUMNS.contains(&column) || beside()
}

/// The known names closest to this one. A field that has its own column is not what a misspelt name means.
fn nearest(op: Op, name: &str, also: &[&'static str], has: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let plain = plain(name);
    let limit = match plain.len() {
        0 => return Vec::new(),
        // Any two single letters are one edit apart.
        1 => 0,
        2..=5 => 1,
        _ => 2,
    };
    if SHORT.contains(&plain.as_str()) {
        return Vec::new();
    }
    // The constants of GPUs have long names, of which people leave out parts.
    let (limit, known) =
        if plain.starts_with("hw") { (3, &Hardware::COLUMNS[..]) } else { (limit, keys(op)) };
    let also = also.iter().filter(|name| !known.contains(name));
    let measured = known.iter().chain(also).map(|&known| (distance(&plain, &self::plain(known)), known));
    let mut near: Vec<_> =
        measured.filter(|&(far, known)| far == 0 || (far <= limit && !has(known))).collect();
    let least = near.iter().map(|&(far, _)| far).min();
    near.retain(|&(far, _)| Some(far) == least);
    let mut near: Vec<&'static str> = near.into_iter().map(|(_, known)| known).collect();
    if near.is_empty()
        && let Some(fields) = stem(name)
    {
        let is_letter = |field: &str| Operation::get(op).letters.iter().any(|[upper, _]| *upper == field);
        near.extend(fields.iter().filter(|field| keys(op).contains(field) && !is_letter(field)));
    }
    near
}

/// The fields that one of a name's words refers to.
fn stem(name: &str) -> Option<&'static [&'static str]> {
    let lower = name.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.find_map(|word| STEMS.iter().find(|(stem, _)| word.starts_with(stem)).map(|(_, fields)| *fields))
}

/// A name without case and punctuation, which people write differently.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONV: [&str; 6] = ["C", "K", "Hi", "Wi", "Y", "X"];

    fn conv(more: &[&'static str]) -> Result<Vec<String>, String> {
        let columns = [CONV.as_slice(), more].concat();
        check_columns(Op::Conv, &columns, &["latency_ms", "is_valid"]).map_err(|error| error.to_string())
    }

    #[test]
    fn near_names_are_refused_with_the_nearest_words() {
        for (name, nearest) in [
            ("Stride_h", "stride_h"),
            ("padh", "pad_h"),
            ("stride-w", "stride_w"),
            ("dilatoin_h", "dilation_h"),
            ("g", "G"),
            ("splitk", "split_k"),
            ("Dtype", "dtype"),
            ("type", "dtype"),
            ("Latency (ms)", "latency_ms"),
            ("isvalid", "is_valid"),
            ("groups", "G"),
            ("batch_size", "N"),
            ("pad", "pad_d, pad_h, pad_w"),
            ("stride", "stride_d, stride_h, stride_w"),
        ] {
            assert_eq!(conv(&[name]), Err(format!("unknown column '{name}', expected {nearest}")));
        }
        let error = conv(&["Stride_h", "padh"]).unwrap_err();
        assert_eq!(error, "unknown column 'Stride_h', expected stride_h; column 'padh', expected pad_h");
    }

    #[test]
    fn a_word_among_field_names_is_taken_for_a_misspelt_field() {
        let columns = ["C", "K", "mystery", "Hi", "Wi", "Y", "X"];
        let error = check_columns(Op::Conv, &columns, &[]).unwrap_err().to_string();
        assert!(
            error.starts_with(
                "unknown column 'mystery', expected direction, variant, ndim, ndim_spatial, N, C, K, G, Di"
            ),
            "{error}"
        );
        assert!(conv(&["H"]).unwrap_err().contains("'H'") && conv(&["Q"]).is_err());
    }

    #[test]
    fn others_are_reported_and_known_ones_are_not() {
        let more = [
            "id", "comment", "kernel", "tflops", "hw_num_cus", "hw_chip_id", "block_size", "f:N", "",
            "tile_m",
        ];
        assert_eq!(conv(&more).unwrap(), ["id", "comment"]);
        assert_eq!(conv(&["m", "n", "k"]).unwrap(), [""; 0], "a table of both operations");
        assert!(conv(&["n"]).is_err());
        let both = check_columns(Op::Conv, &[&CONV[..], &["tflops", "gflops"]].concat(), &["tflops"]);
        assert_eq!(both.unwrap(), ["gflops"]);
        assert_eq!(check_columns(Op::Gemm, &["m", "n", "k", "note"], &[]).unwrap(), ["note"]);
    }

    #[test]
    fn a_header_that_cannot_be_one_says_what_there_is() {
        for (columns, message) in [
            (&["N;C;K"][..], "the columns are separated by ';', expected ','"),
            (&["a\tb"], "the columns are separated by '\\t', expected ','"),
            (&[], "found nothing, expected a header with the columns C, K, Hi, Wi, Y, X"),
            (
                &["N", "C", "K"],
                "no column 'Hi', expected C, K, Hi, Wi, Y, X for a grouped_conv problem; the columns are N, \
                 C, K",
            ),
            (&["C", "K", "C"], "column 'C' appears twice"),
            (
                &["", "C", "K", "Hi", "Wi", "", "Y", "X", ""],
                "column 6 among those of problems has no name, expected the name of a field",
            ),
        ] {
            assert_eq!(check_columns(Op::Conv, columns, &[]).unwrap_err().to_string(), message);
        }
        let lower = check_columns(Op::Conv, &["n", "c", "k", "hi", "wi", "y", "x"], &[]).unwrap_err();
        assert!(
            lower.to_string().starts_with("unknown column 'n', expected N; column 'c', expected C"),
            "{lower}"
        );
        let gemm =
            |columns: &[&str]| check_columns(Op::Gemm, columns, &[]).map_err(|error| error.to_string());
        assert_eq!(
            gemm(&["M", "N", "K", "m"]).unwrap_err(),
            "columns 'M' and 'm' are the same field, expected one of them"
        );
        assert_eq!(gemm(&["m", "N", "K"]), Ok(Vec::new()));
        assert!(gemm(&["m", "n"]).unwrap_err().starts_with("no column 'K'"));
        assert!(
            gemm(&["m", "n", "k", "channel"])
                .unwrap_err()
                .contains("'channel', expected M, m, N, n, K, k, split_k")
        );
        assert_eq!(gemm(&["groups"]), Ok(Vec::new()), "a list of GEMMs has the extents");
    }

    /// A convolution's column was compared with the names of GEMMs, for which the table was read (5371e05c).
    #[test]
    fn advice_is_of_the_operation_that_the_table_has() {
        let table = [&CONV[..], &["stride", "kernelname"]].concat();
        let error = check_columns(Op::Gemm, &table, &[]).unwrap_err().to_string();
        assert!(error.starts_with("no column 'M', expected M, N, K for a gemm_universal problem"), "{error}");
        let error = check_columns(Op::Conv, &["M", "N", "K"], &[]).unwrap_err().to_string();
        assert!(error.starts_with("no column 'C', expected C, K, Hi, Wi, Y, X"), "{error}");
        let error = check_names(Op::Gemm, &table, &["kernel_name"]).unwrap_err().to_string();
        let advice = "unknown column 'stride', expected stride_d, stride_h, stride_w; column 'kernelname', \
                      expected kernel_name";
        assert_eq!(error, advice);
        let error = check_names(Op::Conv, &table, &["stride_h", "stride_w", "stride_d", "kernel_name"]);
        assert_eq!(error.unwrap_err().to_string(), advice);
    }
}
