//! AITER's tuned tables of GEMMs: a row has `M`, `N`, `K`, microseconds and a kernel's name; B is stored as N
//! rows of K.

use ck_select_types::nearest::distance;
use ck_select_types::vocab::Op;

use super::aiter_names::{self, Names, Quant, told};
use super::{Places, Said};

/// The names of types in `torch`, and ours.
const TYPES: [(&str, &str); 6] = [
    ("torch.bfloat16", "bf16"),
    ("torch.float16", "fp16"),
    ("torch.float32", "fp32"),
    ("torch.float8_e4m3fn", "fp8"),
    ("torch.float8_e4m3fnuz", "fp8"),
    ("torch.int8", "int8"),
];

/// The columns that are read.
const READ: [&str; 16] = [
    "gfx",
    "cu_num",
    "layout",
    "B",
    "M",
    "N",
    "K",
    "bias",
    "dtype",
    "q_dtype_a",
    "q_dtype_w",
    "outdtype",
    "scaleAB",
    "bpreshuffle",
    "us",
    "kernelName",
];

/// What else such tables have: about the kernel and its result, not about the problem.
const BESIDE: [&str; 8] =
    ["libtype", "solidx", "splitK", "kernelId", "err_ratio", "errRatio", "tflops", "bw"];

fn cells_of(line: &str) -> Vec<&str> {
    line.split(',').map(str::trim).collect()
}

pub(super) fn is_header(line: &str) -> bool {
    let columns = cells_of(line);
    ["M", "N", "K", "us"].into_iter().all(|name| columns.contains(&name))
}

/// The entries, and the columns that are not known. A table's name may say what its columns do not.
pub(super) fn places(text: &str, fields: &str, file: &str) -> Result<(Places, Vec<String>), String> {
    let mut lines = text.lines().enumerate();
    let first = lines.next().unwrap_or_default().1;
    let header = cells_of(first);
    let unknown = unknown(&header)?;
    let has = |name: &str| header.contains(&name);
    if !has("kernelName") {
        return Err("no column 'kernelName'".to_owned());
    }
    let has_type = told(fields, "dtype").or_else(|| told(fields, "dtype_a")).is_some();
    let table = Table { header: &header, fields, has_type, names: aiter_names::read(file) };
    // Joined tables have the header once more for each.
    let lines = lines.filter(|(_, line)| !line.trim().is_empty() && *line != first);
    let lines: Vec<(usize, &str)> = lines.collect();
    // Names may say how operands are scaled, but if none does, all rows lack it.
    let scaled = || {
        told(fields, "quant").is_some()
            || table.names.quant.is_some()
            || lines.iter().any(|(_, line)| aiter_names::read(line).quant.is_some())
    };
    if !has("dtype") && !((has("q_dtype_w") || has_type) && scaled()) {
        return Err("no column 'dtype': such tables are of scaled operands, and none says how they are \
                    scaled; give it as fields, such as dtype=fp8,quant=rowcolquant"
            .to_owned());
    }
    let places = lines.into_iter().map(|(index, line)| (index + 1, table.said(&cells_of(line))));
    Ok((places.collect(), unknown))
}

/// Refuses repeated and misspelt columns, which would leave a field out. Returns the other unknown ones.
fn unknown(header: &[&str]) -> Result<Vec<String>, String> {
    let mut unknown = Vec::new();
    for (place, &name) in header.iter().enumerate() {
        if header[..place].contains(&name) && !name.is_empty() {
            return Err(format!("column '{name}' appears twice"));
        }
        if READ.contains(&name) || BESIDE.contains(&name) || name.is_empty() {
            continue;
        }
        // Short names are all close to each other.
        let limit = match name.chars().count() {
            1 | 2 => 0,
            3..=5 => 1,
            _ => 2,
        };
        let lower = name.to_lowercase();
        let is_near = |known: &&&str| match distance(&lower, &known.to_lowercase()) {
            0 => true,
            far => far <= limit && !header.contains(*known),
        };
        if let Some(known) = READ.iter().find(is_near) {
            return Err(format!("unknown column '{name}', expected {known}"));
        }
        unknown.push(name.to_owned());
    }
    Ok(unknown)
}

/// What is the same for all rows.
struct Table<'a> {
    header: &'a [&'a str],
    fields: &'a str,
    /// Whether the fields have a type.
    has_type: bool,
    /// What the file's name says.
    names: Names,
}

impl Table<'_> {
    fn said(&self, cells: &[&str]) -> Result<Said, String> {
        let header = self.header;
        if cells.len() != header.len() {
            return Err(format!("found {} cells, expected {} as in the header", cells.len(), header.len()));
        }
        let cell = |name: &str| {
            let place = header.iter().position(|column| *column == name)?;
            Some(cells[place]).filter(|text| !text.is_empty())
        };
        let flag = |name: &str| match cell(name) {
            None | Some("false" | "False" | "FALSE" | "0") => Ok(false),
            Some("true" | "True" | "TRUE" | "1") => Ok(true),
            Some(found) => Err(format!("{name}: found '{found}', expected true or false")),
        };
        let mut problem = Vec::new();
        let mut add = |key: &str, value: &str| problem.push(format!("{key}={value}"));
        for extent in ["M", "N", "K"] {
            add(extent, cell(extent).unwrap_or_default());
        }
        if let Some(batch) = cell("B").filter(|batch| *batch != "1") {
            add("batch", batch);
        }
        add("layout", cell("layout").unwrap_or("rcr"));
        let mut has_type = self.has_type;
        for (column, key) in
            [("dtype", "dtype"), ("q_dtype_w", "dtype"), ("q_dtype_a", "dtype_a"), ("outdtype", "dtype_c")]
        {
            let Some(found) = cell(column) else { continue };
            let ours =
                TYPES.iter().find(|(name, _)| *name == found).map(|(_, ours)| *ours).ok_or_else(|| {
                    let names: Vec<&str> = TYPES.iter().map(|(name, _)| *name).collect();
                    format!("{column}: found {found}, expected {}", names.join(", "))
                })?;
            add(key, ours);
            has_type |= key != "dtype_c";
        }
        if !has_type {
            return Err("dtype: found nothing, expected a type such as torch.bfloat16".to_owned());
        }
        for column in ["bias", "scaleAB"] {
            if flag(column)? {
                return Err(format!(
                    "{column}: found {}, which no problem has",
                    cell(column).unwrap_or_default()
                ));
            }
        }
        let by = cell("kernelName").unwrap_or("a kernel without a name").to_owned();
        let names = aiter_names::read(&by).with(self.names, self.fields)?;
        let shuffled = flag("bpreshuffle")?;
        if names.preshuffle && !shuffled && cell("bpreshuffle").is_some() {
            return Err(
                "bpreshuffle: found False, but the kernel's name or the file's says bpreshuffle".to_owned()
            );
        }
        if (names.preshuffle || shuffled) && told(self.fields, "preshuffle").is_none() {
            add("preshuffle", "true");
        }
        let width = cell("q_dtype_w").or_else(|| cell("dtype"));
        let width =
            width.and_then(|found| TYPES.iter().find(|(name, _)| *name == found)).map(|(_, ours)| *ours);
        let of_b = ["dtype_b", "dtype", "dtype_a"].iter().find_map(|key| told(self.fields, key));
        width.or(of_b).map_or(Ok(()), |dtype| names.check_type(dtype))?;
        let quant = told(self.fields, "quant");
        if let (Some(found), None) = (names.quant, quant) {
            add("quant", found.word());
        }
        if let (Some(Quant::Groups([m, n, k])), None) = (names.quant, told(self.fields, "group_a")) {
            add("group_a", &format!("{m}x1x{k}"));
            add("group_b", &format!("1x{n}x{k}"));
        }
        if names.quant.is_none() && quant.is_none() && cell("dtype").is_none() {
            return Err(
                "quant: neither the kernel's name nor the file's says how operands are scaled; give it as \
                    fields, such as quant=rowcolquant"
                    .to_owned(),
            );
        }
        if let Some(arch) = cell("gfx") {
            add("arch", arch);
        }
        let time = cell("us").unwrap_or_default();
        let microseconds: f64 = time.parse().map_err(|_| format!("us: found '{time}', expected a number"))?;
        let num_cus = cell("cu_num").map(|count| count.parse().map_err(|_| count));
        let num_cus = num_cus
            .transpose()
            .map_err(|found| format!("cu_num: found '{found}', expected a number of compute units"))?;
        Ok(Said { op: Op::Gemm, problem: problem.join(","), milliseconds: microseconds / 1e3, num_cus, by })
    }
}
