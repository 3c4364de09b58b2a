//! AITER's tuned tables of GEMMs: a row has `M`, `N`, `K`, microseconds and a kernel's name; B is stored as N
//! rows of K.

use ck_select_types::nearest::distance;
use ck_select_types::vocab::Op;

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

/// The entries, and the columns that are not known.
pub(super) fn places(text: &str, fields: &str) -> Result<(Places, Vec<String>), String> {
    let mut lines = text.lines().enumerate();
    let header = cells_of(lines.next().unwrap_or_default().1);
    let unknown = unknown(&header)?;
    let has = |name: &str| header.contains(&name);
    if !has("kernelName") {
        return Err("no column 'kernelName'".to_owned());
    }
    let is_told = |names: &[&str]| {
        let mut keys = fields.split(',').filter_map(|field| Some(field.split_once('=')?.0.trim()));
        keys.any(|key| names.contains(&key))
    };
    let has_type = is_told(&["dtype", "dtype_a"]);
    if !has("dtype") && !(is_told(&["quant"]) && (has("q_dtype_w") || has_type)) {
        return Err("no column 'dtype': such tables are of scaled operands, and none says how they are \
                    scaled; give it as fields, such as dtype=fp8,quant=rowcolquant"
            .to_owned());
    }
    let quant =
        fields.split(',').filter_map(|field| field.split_once('=')).find(|(key, _)| key.trim() == "quant");
    let quant = quant.map(|(_, mode)| mode.trim());
    let row = |(index, line): (usize, &str)| (index + 1, said(&header, &cells_of(line), has_type, quant));
    Ok((lines.filter(|(_, line)| !line.trim().is_empty()).map(row).collect(), unknown))
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

/// How a kernel's operands are scaled, by its name.
fn quant_of(kernel: &str) -> Option<&'static str> {
    match kernel {
        name if name.contains("a4w4") => Some("mx"),
        name if name.contains("blockscale") => Some("abquant"),
        name if name.contains("rowwise") => Some("rowcolquant"),
        _ => None,
    }
}

fn said(header: &[&str], cells: &[&str], has_type: bool, quant: Option<&str>) -> Result<Said, String> {
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
    let mut has_type = has_type;
    for (column, key) in
        [("dtype", "dtype"), ("q_dtype_w", "dtype"), ("q_dtype_a", "dtype_a"), ("outdtype", "dtype_c")]
    {
        let Some(found) = cell(column) else { continue };
        let ours = TYPES.iter().find(|(name, _)| *name == found).map(|(_, ours)| *ours).ok_or_else(|| {
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
    let kernel = cell("kernelName").unwrap_or_default();
    if let (Some(told), Some(named)) = (quant, quant_of(kernel))
        && told != named
        && !named.starts_with(told)
    {
        return Err(format!(
            "kernelName: found {kernel}, which is of quant={named}, expected {told} as the fields say"
        ));
    }
    if flag("bpreshuffle")? || kernel.contains("bpreshuffle") {
        add("preshuffle", "true");
    }
    if let Some(arch) = cell("gfx") {
        add("arch", arch);
    }
    let time = cell("us").unwrap_or_default();
    let microseconds: f64 = time.parse().map_err(|_| format!("us: found '{time}', expected a number"))?;
    let units = |text: &str| {
        text.parse().map_err(|_| format!("cu_num: found '{text}', expected a number of compute units"))
    };
    let num_cus = cell("cu_num").map(units).transpose()?;
    let by = cell("kernelName").unwrap_or("a kernel without a name").to_owned();
    Ok(Said { op: Op::Gemm, problem: problem.join(","), num_cus, milliseconds: microseconds / 1e3, by })
}
