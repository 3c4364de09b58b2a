//! What features know about a GEMM and its kernels, from values and from cells.

use super::super::claims::{Claims, NameClaim};
use super::super::hardware::halves_lds;
use super::super::named::agree;
use super::super::operation::OperationTerms;
use super::super::reader::Reader;
use super::super::rules::{coded_element_bytes, coded_word};
use super::super::schema::SCHEDULERS;
use super::super::sides::{KernelFeatures, NameCell};
use super::super::{ElementBytes, Extractor, Feature, FieldError, MemPads, Rules, asked_problem};
use super::vector::{ACCESS_DTYPES, VectorProblem, VectorWidths};
use super::{GemmBuild, GemmKernelTerms, GemmTerms};
use crate::cells::Fields;
use crate::inputs;
use crate::kernel::{GemmKernel, Mnk};
use crate::problem::{GemmProblem, Groups, InvalidField};
use crate::vocab::{Arch, Dtype, Epilogue, GemmLayout, Op, Pipeline};

/// Epilogues in the order of their numbers.
const EPILOGUES: &[&str] = &["default", "cshuffle"];

impl OperationTerms for GemmProblem {
    type Terms = GemmTerms;
    type KernelTerms = GemmKernelTerms;
    const SERVED_BY: Option<&'static str> =
        Some("kernels for its batch, groups, stream_k, num_d, preshuffle and quant");

    const VARIANT: Option<&'static str> = Some("batch, groups, stream_k, num_d, preshuffle and quant");

    fn is_served_by(
        &self,
        kernel: Option<&GemmKernel>,
        _: &dyn Fields,
        _: bool,
    ) -> Result<bool, InvalidField> {
        Ok(kernel.is_none_or(|kernel| kernel.matches_request(self)))
    }

    fn features() -> impl Iterator<Item = &'static Feature<GemmTerms, GemmKernelTerms>> {
        super::all()
    }

    fn terms(&self, extractor: &Extractor) -> Result<GemmTerms, InvalidField> {
        let letters = self.layout.letters();
        let layout = std::str::from_utf8(&letters).unwrap_or_default();
        let layout_code = || coded_word("layout", layout, GemmLayout::TRAINED, extractor.rules.uncoded);
        let terms = GemmTerms {
            m: self.m,
            n: self.n,
            k: self.k,
            split_k: self.split_k.into(),
            element_bytes: element_bytes(self.dtype_a.as_str(), extractor.rules)?,
            layout_code: extractor.schema.needs.layout.then(layout_code).unwrap_or(Ok(0.0))?,
            integers: self.dtype_a == Dtype::Int8,
            vector: extractor.schema.needs_vector().then(|| vector_problem(extractor, self)).transpose()?,
            batch: self.request.batch.max(1).into(),
            groups: self.request.groups,
            arithmetic_intensity: 0.0,
        };
        Ok(terms.with_intensity())
    }

    fn terms_of_cells(extractor: &Extractor, row: &dyn Fields) -> Result<GemmTerms, FieldError> {
        let reader = Reader::new(extractor, row);
        let rules = &extractor.rules;
        let absent = ["m", "n", "k"].into_iter().zip(["M", "N", "K"]).filter(|(_, upper)| !reader.has(upper));
        reader.require(absent.map(|(lower, _)| lower).chain(["split_k", "dtype", "layout"]))?;
        let extents = [reader.extent("m", "M")?, reader.extent("n", "N")?, reader.extent("k", "K")?];
        let with_vector = extractor.schema.needs_vector();
        let (batch, count) = (reader.opt_int("batch")?, reader.opt_int("batch_count")?);
        let code = |field, word, words| coded_word(field, word, words, rules.uncoded);
        let batch = batch.or(count).unwrap_or(0);
        let batch = u32::try_from(batch).map_err(|_| InvalidField::new("batch", batch, "0 or more GEMMs"))?;
        let terms = GemmTerms {
            m: extents[0],
            n: extents[1],
            k: extents[2],
            split_k: reader.int("split_k", 1)?,
            element_bytes: element_bytes(reader.word("dtype", "fp8")?, *rules)?,
            layout_code: code("layout", reader.word("layout", "rcr")?, GemmLayout::TRAINED)?,
            integers: reader.word("dtype", "fp8")? == Dtype::Int8.as_str(),
            vector: with_vector.then(|| reader.vector_problem(extents)).transpose()?,
            batch: batch.max(1).into(),
            groups: reader.text("groups")?.map_or(Ok(Groups::NONE), str::parse)?,
            arithmetic_intensity: 0.0,
        };
        Ok(terms.with_intensity())
    }

    fn terms_of_strict_cells(
        extractor: &Extractor,
        row: &dyn Fields,
        aliased: &dyn Fields,
    ) -> Result<GemmTerms, FieldError> {
        let terms = Self::terms_of_cells(extractor, aliased)?;
        asked_problem(extractor, row).map(|_| terms)
    }
}

impl KernelFeatures for GemmKernel {
    type Terms = GemmKernelTerms;
    const BESIDE: &'static [&'static str] = &[];
    const OF_PROBLEMS: [&'static [&'static str]; 2] = [&["dtype", "layout"], &["dtype_b", "dtype_c"]];

    fn terms(&self, extractor: &Extractor) -> Result<GemmKernelTerms, InvalidField> {
        let triple = |mnk: Mnk| [mnk.m, mnk.n, mnk.k].map(i64::from);
        let scheduler = self.scheduler.as_str();
        let scheduler_code = || coded_word("scheduler", scheduler, SCHEDULERS, extractor.rules.uncoded);
        let vector = extractor
            .schema
            .needs_vector()
            .then(|| VectorWidths { widths: self.vector.map(i64::from), epilogue: self.epilogue });
        Ok(GemmKernelTerms {
            tile: triple(self.tile),
            wave: triple(self.wave),
            warp_tile: triple(self.warp_tile),
            pipeline_code: extractor.pipeline_code(self.pipeline.as_str())?,
            half_lds: halves_lds(self.pipeline.as_str()),
            scheduler_code: extractor.schema.needs.scheduler.then(scheduler_code).unwrap_or(Ok(0.0))?,
            epilogue_code: epilogue_code(extractor, self.epilogue)?,
            pad: seen_pads(extractor.rules.mem_pads, self.pipeline.as_str(), self.pad),
            persistent: self.persistent,
            vector,
            build: GemmBuild::new(self),
        })
    }

    fn terms_of_cells(extractor: &Extractor, row: &dyn Fields) -> Result<GemmKernelTerms, FieldError> {
        let reader = Reader::new(extractor, row);
        let rules = &extractor.rules;
        let with_vector = extractor.schema.needs_vector();
        if extractor.schema.needs.build {
            return Err(Reader::absent("kernel", "the kernel's name, which says what no cells say"));
        }
        // All but the widths, which only some engines read.
        reader
            .require(inputs::of_kernel(Op::Gemm).iter().copied().filter(|name| !name.starts_with("vec_")))?;
        // The engine with vector widths never had defaults for these.
        let default = |numbers: [i64; 3]| (reader.is_lenient() && !with_vector).then_some(numbers);
        // An absent pipeline is numbered as compv4 but has all of the shared memory.
        let pipeline = reader.text("pipeline")?;
        let (pipeline_code, half_lds) = match pipeline {
            None if reader.is_lenient() => (1.0, false),
            None => return Err(Reader::absent("pipeline", "a word")),
            Some(word) => (reader.pipeline_code(extractor, word)?, halves_lds(word)),
        };
        let code = |field, word, words| coded_word(field, word, words, rules.uncoded);
        let epilogue = reader.word("epilogue", "cshuffle")?;
        let vector = with_vector.then(|| reader.vector_widths()).transpose()?;
        Ok(GemmKernelTerms {
            tile: reader.triple(["tile_m", "tile_n", "tile_k"], default([128, 128, 64]))?,
            wave: reader.triple(["warp_m", "warp_n", "warp_k"], default([2, 2, 1]))?,
            warp_tile: reader.triple(["warp_tile_m", "warp_tile_n", "warp_tile_k"], default([32, 32, 16]))?,
            pipeline_code,
            half_lds,
            scheduler_code: code("scheduler", reader.word("scheduler", "intrawave")?, SCHEDULERS)?,
            epilogue_code: match vector {
                Some(VectorWidths { epilogue: Epilogue::Tdm, .. }) => 0.0,
                _ => code("epilogue", epilogue, EPILOGUES)?,
            },
            pad: seen_pads(
                rules.mem_pads,
                pipeline.unwrap_or_default(),
                [reader.flag("pad_m")?, reader.flag("pad_n")?, reader.flag("pad_k")?],
            ),
            persistent: reader.flag("persistent")?,
            vector,
            build: GemmBuild::default(),
        })
    }

    /// Tables record what kernels of pipeline `mem` do, which is to pad, whatever their names say.
    fn agree(&self, extractor: &Extractor, row: &dyn Fields, name: NameCell<'_>) -> Result<(), FieldError> {
        let (reader, said) = (Reader::new(extractor, row), pads(self));
        let found = said.iter().map(|(field, _)| reader.opt_flag(field)).collect::<Result<Vec<_>, _>>()?;
        if self.pipeline == Pipeline::Mem && found.iter().all(|pad| pad.is_none_or(|pad| pad)) {
            return Ok(());
        }
        agree(&reader, &said, || name.says())
    }

    fn converted(&self) -> Claims {
        pads(self).into_iter().chain(self.problem_claims(0)).collect()
    }
}

fn element_bytes(word: &str, rules: Rules) -> Result<f64, InvalidField> {
    let other = if rules.element_bytes == ElementBytes::Python { 1.0 } else { 2.0 };
    coded_element_bytes(other, word, rules.uncoded)
}

/// The padding that features see of a kernel, whose name says `named`.
fn seen_pads(mem_pads: MemPads, pipeline: &str, named: [bool; 3]) -> [bool; 3] {
    if mem_pads == MemPads::All && pipeline == Pipeline::Mem.as_str() { [true; 3] } else { named }
}

fn pads(kernel: &GemmKernel) -> Claims {
    ["pad_m", "pad_n", "pad_k"].into_iter().zip(kernel.pad.map(NameClaim::Flag)).collect()
}

fn vector_problem(extractor: &Extractor, problem: &GemmProblem) -> Result<VectorProblem, InvalidField> {
    let arch = problem.arch.or(extractor.arch).ok_or_else(|| {
        InvalidField::new("arch", "none", "an architecture such as gfx950, for the vector widths")
    })?;
    problem.validate()?;
    let extents = [problem.m, problem.n, problem.k];
    VectorProblem::new(extents, problem.layout, problem.dtype_a, arch.wave_size()).ok_or_else(|| {
        InvalidField::new("dtype", problem.dtype_a, format!("one of {}", ACCESS_DTYPES.join(", ")))
    })
}

fn epilogue_code(extractor: &Extractor, epilogue: Epilogue) -> Result<f64, InvalidField> {
    // The engine with vector widths knows `tdm` and numbers it as `default`.
    if !extractor.schema.needs.epilogue || (extractor.schema.needs_vector() && epilogue == Epilogue::Tdm) {
        return Ok(0.0);
    }
    coded_word("epilogue", epilogue.as_str(), EPILOGUES, extractor.rules.uncoded)
}

impl Reader<'_> {
    /// An extent; the lower-case name takes precedence over the upper-case one.
    fn extent(&self, lower: &str, upper: &str) -> Result<i64, FieldError> {
        match self.opt_int(lower)? {
            Some(value) => Ok(value),
            None => self.int(upper, 0).map_err(|error| InvalidField { field: lower.to_owned(), ..error }),
        }
    }

    /// A word that the engine with vector widths requires even in upstream mode.
    fn strict<T>(&self, name: &str, accepted: &[&str]) -> Result<T, FieldError>
    where
        T: std::str::FromStr,
    {
        let expected = || format!("one of {}", accepted.join(", "));
        let word = self.text(name)?.ok_or_else(|| Self::absent(name, &expected()))?;
        let known = accepted.contains(&word) || name == "arch";
        word.parse()
            .ok()
            .filter(|_| known)
            .ok_or_else(|| InvalidField::new(name, format_args!("'{word}'"), expected()))
    }

    fn vector_problem(&self, extents: [i64; 3]) -> Result<VectorProblem, FieldError> {
        let layout: GemmLayout = self.strict("layout", GemmLayout::TRAINED)?;
        let dtype: Dtype = self.strict("dtype", ACCESS_DTYPES)?;
        let arch: Arch = self.strict("arch", &["gfx9xx", "gfx10xx", "gfx11xx", "gfx12xx", "sm_NN"])?;
        for (name, extent) in ["m", "n", "k"].into_iter().zip(extents) {
            if extent < 1 {
                let said = [name, &name.to_ascii_uppercase()].iter().any(|name| self.has(name));
                let found = if said { extent.to_string() } else { "nothing".to_owned() };
                return Err(InvalidField::new(name, found, "at least 1"));
            }
        }
        VectorProblem::new(extents, layout, dtype, arch.wave_size())
            .ok_or_else(|| InvalidField::new("dtype", dtype, format!("one of {}", ACCESS_DTYPES.join(", "))))
    }

    fn vector_widths(&self) -> Result<VectorWidths, FieldError> {
        let width = |name: &str| match self.opt_int(name)? {
            Some(width) if width >= 0 => Ok(width),
            Some(width) => Err(InvalidField::new(name, width, "0 (native) or a width")),
            None => Err(Self::absent(name, "0 (native) or a width")),
        };
        let widths = [width("vec_a")?, width("vec_b")?, width("vec_c")?];
        Ok(VectorWidths { widths, epilogue: self.strict("epilogue", &["default", "cshuffle", "tdm"])? })
    }
}
