//! AITER's tuned tables of GEMMs: a row has `M`, `N`, `K`, microseconds and a kernel's name; B is stored as N
//! rows of K.

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

pub(super) fn is_header(line: &str) -> bool {
    let has = |name: &str| line.trim_end().split(',').any(|column| column == name);
    ["M", "N", "K", "us"].into_iter().all(has)
}

pub(super) fn places(text: &str, fields: &str) -> Result<Places, String> {
    let mut lines = text.lines().enumerate();
    let header: Vec<&str> = lines.next().unwrap_or_default().1.trim_end().split(',').collect();
    let has = |name: &str| header.contains(&name);
    if !has("kernelName") {
        return Err("no column 'kernelName'".to_owned());
    }
    let is_told = fields.contains("quant=") && (has("q_dtype_w") || fields.contains("dtype"));
    if !has("dtype") && !is_told {
        return Err("no column 'dtype': such tables are of scaled operands, and none says how they are \
                    scaled; give it as fields, such as dtype=fp8,quant=rowcolquant"
            .to_owned());
    }
    let row = |(index, line): (usize, &str)| {
        let cells: Vec<&str> = line.trim_end().split(',').collect();
        (index + 1, said(&header, &cells))
    };
    Ok(lines.filter(|(_, line)| !line.trim().is_empty()).map(row).collect())
}

fn said(header: &[&str], cells: &[&str]) -> Result<Said, String> {
    if cells.len() != header.len() {
        return Err(format!("found {} cells, expected {} as in the header", cells.len(), header.len()));
    }
    let cell = |name: &str| {
        let place = header.iter().position(|column| *column == name)?;
        Some(cells[place]).filter(|text| !text.is_empty())
    };
    let mut problem = Vec::new();
    let mut add = |key: &str, value: &str| problem.push(format!("{key}={value}"));
    for extent in ["M", "N", "K"] {
        add(extent, cell(extent).unwrap_or_default());
    }
    add("layout", "rcr");
    for (column, key) in [("dtype", "dtype"), ("q_dtype_w", "dtype"), ("outdtype", "dtype_c")] {
        let Some(found) = cell(column) else { continue };
        let ours = TYPES.iter().find(|(name, _)| *name == found).map(|(_, ours)| *ours).ok_or_else(|| {
            let names: Vec<&str> = TYPES.iter().map(|(name, _)| *name).collect();
            format!("{column}: found {found}, expected {}", names.join(", "))
        })?;
        add(key, ours);
    }
    for column in ["bias", "scaleAB"] {
        if cell(column) == Some("True") {
            return Err(format!("{column}: found True, which no problem has"));
        }
    }
    if cell("bpreshuffle") == Some("True") {
        add("preshuffle", "true");
    }
    if let Some(arch) = cell("gfx") {
        add("arch", arch);
    }
    let time = cell("us").unwrap_or_default();
    let microseconds: f64 = time.parse().map_err(|_| format!("us: found '{time}', expected a number"))?;
    let by = cell("kernelName").unwrap_or("a kernel without a name").to_owned();
    Ok(Said { op: Op::Gemm, problem: problem.join(","), milliseconds: microseconds / 1e3, by })
}
