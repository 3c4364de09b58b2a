//! Rows that name their kernel: the name describes it, and the other cells must agree.

use super::aliases;
use super::fields::Reader;
use super::tile_cells::{self, TILE_CELLS};
use super::{Extractor, FieldError, KernelMapping, KernelSide, ProblemSide, SideError, Uncoded};
use crate::cells::{Cell, Fields};
use crate::inputs;
use crate::kernel::{ConvKernel, FmhaKernel, GemmKernel, Kernel, KernelKind, Mnk};
use crate::problem::{FmhaProblem, InvalidField, Problem, fmha_signature_differs};
use crate::vocab::{ConvLayout, Direction, Pipeline};

/// The cells that may hold a kernel's name: our tables and upstream's have the first, benchmark CSVs the
/// second.
pub const NAME_COLUMNS: [&str; 2] = ["kernel_name", "kernel"];

/// What a name says about a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// A number.
    Number(i64),
    /// Yes or no.
    Flag(bool),
    /// A word.
    Word(&'static str),
    /// The three letters of a GEMM's layout.
    Layout([u8; 3]),
}

impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Flag(flag) => i64::from(*flag).fmt(f),
            Self::Word(word) => write!(f, "'{word}'"),
            Self::Layout(letters) => write!(f, "'{}'", letters.escape_ascii()),
        }
    }
}

impl Said {
    fn cell(&self) -> Cell<'_> {
        match self {
            Self::Number(number) => Cell::Whole(*number),
            Self::Flag(flag) => Cell::Whole((*flag).into()),
            Self::Word(word) => Cell::Word(word),
            Self::Layout(letters) => Cell::Word(std::str::from_utf8(letters).unwrap_or_default()),
        }
    }

    /// As a cell of a row in JSON.
    pub fn to_json(&self) -> serde_json::Value {
        match self.cell() {
            Cell::Whole(number) => number.into(),
            Cell::Number(number) => number.into(),
            Cell::Word(word) => word.into(),
        }
    }

    /// The word, if it is one.
    fn word(&self) -> Option<&str> {
        match self.cell() {
            Cell::Word(word) => Some(word),
            Cell::Whole(_) | Cell::Number(_) => None,
        }
    }

    /// Whether a cell of this name agrees, or is absent.
    fn agrees(&self, field: &str, reader: &Reader<'_>) -> Result<bool, FieldError> {
        Ok(match self {
            Self::Number(said) => reader.opt_int(field)?.is_none_or(|found| found == *said),
            Self::Flag(said) => reader.opt_flag(field)?.is_none_or(|found| found == *said),
            Self::Word(_) | Self::Layout(_) => reader.opt_word(field)?.is_none_or(|found| {
                self.word() == Some(found)
                    // `fwd` and `forward` are the same direction.
                    || found.parse().is_ok_and(|found: Direction| Some(found.as_str()) == self.word())
                    || (field == "layout" && same_layout(found, self.word()))
            }),
        })
    }
}

/// The kernel that a row names.
#[derive(Debug, Clone)]
pub(crate) struct Named {
    kernel: KernelKind,
    problem: NamedProblem,
}

/// What a kernel's name says about the problems that it computes: cells that may be left out, but must not
/// differ.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct NamedProblem(Vec<(&'static str, Said)>);

/// A problem's cells, with absent ones taken from a kernel's name.
struct Completed<'a> {
    fields: &'a dyn Fields,
    named: &'a NamedProblem,
}

impl Fields for Completed<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        self.fields.get(name).or_else(|| self.named.get(name)?.word())
    }

    fn cell(&self, name: &str) -> Option<Cell<'_>> {
        self.fields.cell(name).or_else(|| self.named.get(name).map(Said::cell))
    }
}

impl NamedProblem {
    /// Looks at a problem's cells, with absent ones taken from the name.
    pub(crate) fn over<T>(&self, fields: &dyn Fields, look: impl FnOnce(&dyn Fields) -> T) -> T {
        look(&Completed { fields, named: self })
    }
}

impl Named {
    /// The kernel that a row names; `None` if it names none. Cells that contradict the name are errors.
    ///
    /// A name that follows no grammar is a label, because upstream's tools accept any text. One that begins
    /// like a kernel's name is most likely a mistake: it is an error if absent cells are, or if nothing else
    /// describes the kernel.
    pub(crate) fn read(extractor: &Extractor, row: &dyn Fields) -> Result<Option<Self>, FieldError> {
        let mut found: Option<(&'static str, &str, KernelKind)> = None;
        let reader = Reader::new(extractor, row);
        for column in NAME_COLUMNS {
            let Some(Cell::Word(name)) = row.cell(column) else { continue };
            match Kernel::from_name(name) {
                Ok(Kernel { kind, .. }) => match &found {
                    Some((first, other, known)) if *known != kind => {
                        let expected = format!("'{other}', as {first} says");
                        return Err(InvalidField::new(column, format_args!("'{name}'"), expected));
                    }
                    Some(_) => {}
                    None => found = Some((column, name, kind)),
                },
                Err(error) if begins_like_a_kernel(name) => {
                    let inputs = inputs::of_kernel(extractor.schema.op());
                    if !reader.is_lenient() || inputs.iter().all(|input| row.cell(input).is_none()) {
                        let expected = format!("a kernel's name: byte {}: {}", error.at, error.reason);
                        return Err(InvalidField::new(column, format_args!("'{name}'"), expected));
                    }
                }
                Err(_) => {}
            }
        }
        let Some((column, name, kernel)) = found else { return Ok(None) };
        if kernel.op() != extractor.schema.op() {
            let expected = format!("a {} kernel", extractor.schema.op());
            return Err(InvalidField::new(column, format_args!("'{name}'"), expected));
        }
        let mut problem = NamedProblem::of(&kernel);
        if !reader.is_lenient() {
            problem.0.extend(other_types(&kernel));
        }
        let by = || format!("{column} '{name}' says");
        agree(&reader, &said_of_kernel(&kernel), by)?;
        agree(&reader, &problem.0, by)?;
        match &kernel {
            KernelKind::Conv(conv) => agree_on_blocks(extractor, conv, &reader, by)?,
            KernelKind::Gemm(gemm) => agree_on_pads(gemm, &reader, by)?,
            KernelKind::Fmha(fmha) if !reader.is_lenient() => {
                if let Some(field) = fmha_signature_differs(row, &fmha.sign(&FmhaProblem::USUAL))? {
                    let expected = format!("the {field} of the row's cells");
                    return Err(InvalidField::new(column, format_args!("'{name}'"), expected));
                }
            }
            KernelKind::Fmha(_) => {}
        }
        Ok(Some(Self { kernel, problem }))
    }

    /// What an extractor's features know about the kernel.
    pub(crate) fn side(&self, extractor: &Extractor) -> Result<KernelSide, FieldError> {
        extractor.kernel_side(&self.kernel).map_err(|error| match error {
            SideError::Field(error) => error,
            SideError::Op { model, found, .. } => InvalidField::new(NAME_COLUMNS[0], found, model.as_str()),
            SideError::Universal => InvalidField::new("features", "those of a universal model", "a pool"),
        })
    }

    /// The kernel.
    pub(crate) const fn kernel(&self) -> &KernelKind {
        &self.kernel
    }

    /// Refuses a GEMM kernel of another variant than the row's problem, if absent cells are errors.
    pub(crate) fn check_variant(&self, extractor: &Extractor, row: &dyn Fields) -> Result<(), FieldError> {
        if let (KernelKind::Gemm(kernel), Uncoded::Error) = (&self.kernel, extractor.rules.uncoded)
            && let Problem::Gemm(asked) = self.problem.over(row, |all| aliases::read(extractor, all))?
            && !kernel.answers(&asked)
        {
            let expected = "one for the row's batch, groups, stream_k, num_d, preshuffle and quant";
            return Err(InvalidField::new(NAME_COLUMNS[0], "a kernel of another variant", expected));
        }
        Ok(())
    }

    /// What the name says about problems.
    pub(crate) fn into_problem(self) -> NamedProblem {
        self.problem
    }
}

/// Types and layouts that upstream's engines do not look at.
fn other_types(kernel: &KernelKind) -> Vec<(&'static str, Said)> {
    match kernel {
        KernelKind::Conv(kernel) => vec![
            ("dtype_wei", Said::Word(kernel.dtype_wei.as_str())),
            ("dtype_out", Said::Word(kernel.dtype_out.as_str())),
            ("layout", Said::Word(kernel.layout.as_str())),
        ],
        KernelKind::Gemm(kernel) => vec![
            ("dtype_b", Said::Word(kernel.dtype_b.as_str())),
            ("dtype_c", Said::Word(kernel.dtype_c.as_str())),
        ],
        KernelKind::Fmha(_) => Vec::new(),
    }
}

/// Whether two words are the same convolution layout; CK's tools use `nhwgc` and `ndhwgc` for 3D.
fn same_layout(one: &str, other: Option<&str>) -> bool {
    let order = |word: &str| word.parse().ok().map(ConvLayout::order);
    order(one).is_some() && order(one) == other.and_then(order)
}

impl NamedProblem {
    fn of(kernel: &KernelKind) -> Self {
        Self(match kernel {
            KernelKind::Conv(kernel) => {
                let neutral = [("Di", 1), ("Z", 1), ("stride_d", 1), ("pad_d", 0), ("dilation_d", 1)];
                let depth = neutral.iter().filter(|_| kernel.ndim < 3);
                let direction = Said::Word(kernel.direction.as_str());
                let words = [
                    ("dtype", Said::Word(kernel.dtype_in.as_str())),
                    ("direction", direction),
                    ("variant", direction),
                    ("ndim_spatial", Said::Number(kernel.ndim.into())),
                ];
                words.into_iter().chain(depth.map(|&(field, value)| (field, Said::Number(value)))).collect()
            }
            KernelKind::Gemm(kernel) => vec![
                ("dtype", Said::Word(kernel.dtype_a.as_str())),
                ("layout", Said::Layout(kernel.layout.letters())),
            ],
            KernelKind::Fmha(kernel) => vec![("dtype", Said::Word(kernel.dtype.as_str()))],
        })
    }

    fn get(&self, name: &str) -> Option<&Said> {
        self.0.iter().find(|(field, _)| *field == name).map(|(_, said)| said)
    }

    /// Reads the problem of a row that names the kernel; its cells were checked against the name.
    pub(crate) fn complete(
        &self,
        extractor: &Extractor,
        row: &dyn Fields,
    ) -> Result<ProblemSide, FieldError> {
        ProblemSide::read(extractor, &Completed { fields: row, named: self })
    }

    /// Refuses a problem that contradicts the names of the kernels in question.
    pub(crate) fn check(&self, extractor: &Extractor, problem: &dyn Fields) -> Result<(), FieldError> {
        agree(&Reader::new(extractor, problem), &self.0, || "the kernels' names say".to_owned())
    }
}

/// What a kernel's name says, as the cells that upstream's converters derive from it: the numbers of a
/// convolution's tile in the order of the name. Names of GEMMs give more cells than upstream reads.
pub fn cells_of_name(kernel: &KernelKind) -> Vec<(&'static str, Said)> {
    let mut cells = vec![("op_type", Said::Word(kernel.op().as_str()))];
    cells.extend(said_of_kernel(kernel));
    match kernel {
        KernelKind::Conv(conv) => {
            let Mnk { m, n, k } = conv.tile;
            let numbers = [("block_size", m), ("gemm_m_per_block", n), ("gemm_n_per_block", k)];
            cells.extend(numbers.map(|(field, number)| (field, Said::Number(number.into()))));
            cells.push(("dtype", Said::Word(conv.dtype_in.as_str())));
        }
        KernelKind::Gemm(gemm) => {
            cells.extend(["pad_m", "pad_n", "pad_k"].into_iter().zip(gemm.pad.map(Said::Flag)));
            cells.extend(NamedProblem::of(kernel).0);
        }
        KernelKind::Fmha(_) => {}
    }
    cells
}

/// What a name says about the kernel alone, apart from values with more than one reading.
fn said_of_kernel(kernel: &KernelKind) -> Vec<(&'static str, Said)> {
    match kernel {
        KernelKind::Conv(kernel) => vec![
            ("variant", Said::Word(kernel.direction.as_str())),
            ("ndim_spatial", Said::Number(kernel.ndim.into())),
            ("pipeline", Said::Word(kernel.pipeline.as_str())),
            ("wave_mode", Said::Word(kernel.scheduler.as_str())),
            ("has_dsb", Said::Flag(kernel.double_smem_buffer)),
            ("has_si", Said::Flag(kernel.split_image)),
            ("two_stage", Said::Flag(kernel.two_stage)),
        ],
        KernelKind::Gemm(kernel) => {
            let triple = |names: [&'static str; 3], Mnk { m, n, k }: Mnk| {
                names.into_iter().zip([m, n, k].map(|number| Said::Number(number.into())))
            };
            let words = [
                ("pipeline", kernel.pipeline.as_str()),
                ("scheduler", kernel.scheduler.as_str()),
                ("epilogue", kernel.epilogue.as_str()),
            ];
            let mut said: Vec<_> = triple(["tile_m", "tile_n", "tile_k"], kernel.tile)
                .chain(triple(["warp_m", "warp_n", "warp_k"], kernel.wave))
                .chain(triple(["warp_tile_m", "warp_tile_n", "warp_tile_k"], kernel.warp_tile))
                .chain(words.map(|(field, word)| (field, Said::Word(word))))
                .chain([("persistent", Said::Flag(kernel.persistent))])
                .collect();
            let widths = kernel.vector.map(|width| Said::Number(width.into()));
            said.extend(["vec_a", "vec_b", "vec_c"].into_iter().zip(widths));
            said
        }
        KernelKind::Fmha(kernel) => said_of_fmha(kernel),
    }
}

/// What the name of an attention kernel says, as cells of upstream's tables.
fn said_of_fmha(kernel: &FmhaKernel) -> Vec<(&'static str, Said)> {
    let tile = ["tile_m0", "tile_n0", "tile_k0", "tile_n1", "tile_k1", "tile_k0max"];
    let mut said = vec![
        ("dtype", Said::Word(kernel.dtype.as_str())),
        ("pipeline", Said::Word(kernel.pipeline.as_str())),
        ("mask", Said::Word(kernel.mask.as_str())),
        ("bias", Said::Word(kernel.bias.as_str())),
    ];
    said.extend(tile.into_iter().zip(kernel.tile.numbers().map(|number| Said::Number(number.into()))));
    said.extend(["pad_s", "pad_sk", "pad_d", "pad_dv"].into_iter().zip(kernel.pad.map(Said::Flag)));
    let flags = [
        ("lse", kernel.lse),
        ("dropout", kernel.dropout),
        ("logits", kernel.logits),
        ("sink", kernel.sink),
        ("skip", kernel.skip),
        ("paged_kv", kernel.paged_kv),
    ];
    said.extend(flags.map(|(field, flag)| (field, Said::Flag(flag))));
    said
}

/// Whether a text can hardly be anything but a kernel's name.
fn begins_like_a_kernel(name: &str) -> bool {
    ["grouped_conv_", "fmha_"].iter().any(|start| name.starts_with(start)) || GemmKernel::begins_a_name(name)
}

fn agree(
    reader: &Reader<'_>,
    said: &[(&'static str, Said)],
    by: impl Fn() -> String,
) -> Result<(), FieldError> {
    for (field, said) in said {
        if !said.agrees(field, reader)? {
            let found = reader.found(field);
            return Err(InvalidField::new(*field, found, format!("{said}, as {}", by())));
        }
    }
    Ok(())
}

/// Tables have the numbers of a tile in two ways: in the order of the name, as upstream's converters and ours
/// write them, or by their meaning. The column names do not tell which; both agree with the name.
fn agree_on_blocks(
    extractor: &Extractor,
    kernel: &ConvKernel,
    reader: &Reader<'_>,
    by: impl Fn() -> String,
) -> Result<(), FieldError> {
    let found = tile_cells::found(reader)?;
    let readings = [KernelMapping::NameOrder, KernelMapping::Tile].map(|way| extractor.blocks(kernel, way));
    let agrees =
        |said: &[i64; 4]| found.iter().zip(said).all(|(found, said)| found.is_none_or(|x| x == *said));
    if readings.iter().any(agrees) {
        return Ok(());
    }
    let given = TILE_CELLS.iter().zip(found).filter_map(|(field, cell)| Some((*field, cell?)));
    let (fields, numbers): (Vec<_>, Vec<_>) = given.map(|(field, cell)| (field, cell.to_string())).unzip();
    let said = readings.map(|said| {
        let said = said.iter().zip(found).filter(|(_, cell)| cell.is_some());
        said.map(|(number, _)| number.to_string()).collect::<Vec<_>>().join(", ")
    });
    let expected = format!("{} (in the order of the name) or {}, as {}", said[0], said[1], by());
    Err(InvalidField::new(fields.join(", "), numbers.join(", "), expected))
}

/// Tables record what kernels of pipeline `mem` do, which is to pad, whatever their names say.
fn agree_on_pads(
    kernel: &GemmKernel,
    reader: &Reader<'_>,
    by: impl Fn() -> String,
) -> Result<(), FieldError> {
    let pads = ["pad_m", "pad_n", "pad_k"].into_iter().zip(kernel.pad);
    let said: Vec<_> = pads.map(|(field, pad)| (field, Said::Flag(pad))).collect();
    let corrected = said.iter().map(|(field, _)| reader.opt_flag(field)).collect::<Result<Vec<_>, _>>()?;
    if kernel.pipeline == Pipeline::Mem && corrected.iter().all(|pad| pad.is_none_or(|pad| pad)) {
        return Ok(());
    }
    agree(reader, &said, by)
}
