//! The parameters of a GEMM kernel with their values, and which combinations make sense.

use ck_select_enumerate::config::LdsLimit;
use ck_select_enumerate::rules::Rules;
use ck_select_enumerate::valid::GemmValidator;
use ck_select_model::features::Extractor;
use ck_select_types::kernel::{GemmBody, GemmKernel, Kernel, KernelKind, Mnk};
use ck_select_types::problem::GemmProblem;
use ck_select_types::vocab::{Epilogue, Pipeline, Scheduler};
use rand::{Rng, RngExt};

use super::SearchError;

const TILE_MN: [u32; 5] = [32, 64, 128, 192, 256];
const TILE_K: [u32; 4] = [32, 64, 128, 256];
const WAVES: [u32; 3] = [1, 2, 4];
const WARP_TILE_MN: [u32; 4] = [4, 16, 32, 64];
const WARP_TILE_K: [u32; 5] = [8, 16, 32, 64, 128];
const SCHEDULERS: [Scheduler; 2] = [Scheduler::Intrawave, Scheduler::Interwave];
const EPILOGUES: [Epilogue; 2] = [Epilogue::Default, Epilogue::CShuffle];

/// Number of parameters of a point.
pub(super) const PARAMETERS: usize = 15;

/// A combination of values, each by its index in the parameter's list: tile m, n, k, waves m, n, instruction
/// m, n, k, pipeline, scheduler, epilogue, padding of m, n, k, persistent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Point(pub(super) [u8; PARAMETERS]);

/// Which combinations are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Constraints {
    /// Upstream's: one byte per element for every type, and half of 64 KiB only for compv4.
    Upstream,
    /// The tiles of A and B fit into shared memory, with the actual size of their elements, and twice for
    /// pipelines that keep two.
    Memory,
    /// What the tile engine's validator would build for the problem's architecture.
    Buildable,
}

impl Constraints {
    /// Their words.
    pub const WORDS: [(&'static str, Self); 3] =
        [("upstream", Self::Upstream), ("memory", Self::Memory), ("buildable", Self::Buildable)];
}

/// All points for one problem.
pub struct Space<'a> {
    problem: GemmProblem,
    pipelines: Vec<Pipeline>,
    constraints: Constraints,
    lds_bytes: u64,
    element_bits: u64,
    rules: &'a Rules,
    validator: GemmValidator<'a>,
}

impl<'a> Space<'a> {
    /// The space of an extractor's pipelines and shared memory, for a problem and an architecture.
    pub fn new(
        extractor: &Extractor,
        problem: &GemmProblem,
        constraints: Constraints,
        rules: &'a Rules,
        arch: &'a str,
    ) -> Result<Self, SearchError> {
        if constraints == Constraints::Buildable && arch.is_empty() {
            let message = "what can be built depends on the architecture: give arch=… with the problem, or \
                           constraints other than buildable";
            return Err(SearchError::Constraints(message.to_owned()));
        }
        let unknown =
            || SearchError::Constraints(format!("the size of a {} element is not known", problem.dtype_a));
        let element_bits = rules.arch.element_bits.get(&problem.dtype_a).copied().ok_or_else(unknown)?;
        let validator = GemmValidator::new(rules, arch, problem.dtype_a, problem.layout, LdsLimit::Hardware)
            .ok_or_else(unknown)?;
        // A validator without tables accepts everything, which was not requested.
        if let (Constraints::Buildable, [first, ..]) = (constraints, validator.warnings().as_slice()) {
            let message = format!(
                "what can be built for {arch} is not known: {first}; give constraints other than buildable"
            );
            return Err(SearchError::Constraints(message));
        }
        let words = extractor.rules.pipeline_codes.words();
        Ok(Self {
            problem: *problem,
            // The tile engine implements exactly the pipelines that its validator judges.
            pipelines: words
                .iter()
                .filter_map(|word| word.parse().ok())
                .filter(|pipeline| {
                    constraints != Constraints::Buildable || rules.gemm.cover_pipelines.contains(pipeline)
                })
                .collect(),
            constraints,
            lds_bytes: u64::try_from(extractor.hardware.lds_capacity).unwrap_or(0),
            element_bits: element_bits.into(),
            rules,
            validator,
        })
    }

    /// Number of values of each parameter.
    pub(super) fn lengths(&self) -> [u8; PARAMETERS] {
        let pipelines = self.pipelines.len() as u8;
        [5, 5, 4, 3, 3, 4, 4, 5, pipelines, 2, 2, 2, 2, 2, 2]
    }

    /// Number of points, valid or not.
    pub fn size(&self) -> u64 {
        self.lengths().iter().map(|&length| u64::from(length)).product()
    }

    /// The point with a number below [`Space::size`].
    pub fn point(&self, mut number: u64) -> Point {
        let mut point = Point::default();
        for (place, &length) in point.0.iter_mut().zip(&self.lengths()).rev() {
            *place = (number % u64::from(length)) as u8;
            number /= u64::from(length);
        }
        point
    }

    /// A point with uniformly chosen values, valid or not.
    pub(super) fn draw(&self, random: &mut impl Rng) -> Point {
        Point(self.lengths().map(|length| random.random_range(0..length)))
    }

    /// Whether evolution scores a point that was derived from its parent. Upstream even scores the parent
    /// itself again; among the few buildable points, that would happen most of the time.
    pub(super) fn is_trial(&self, point: &Point, parent: &Point) -> bool {
        self.is_valid(point) && (self.constraints != Constraints::Buildable || point != parent)
    }

    /// How often evolution tries to change a point. Upstream tries once, which is enough if most points are
    /// valid.
    pub(super) const fn trials(&self) -> usize {
        match self.constraints {
            Constraints::Upstream | Constraints::Memory => 1,
            Constraints::Buildable => 200,
        }
    }

    fn shapes(point: &Point) -> (Mnk, Mnk, Mnk) {
        let at = point.0.map(usize::from);
        (
            Mnk::new(TILE_MN[at[0]], TILE_MN[at[1]], TILE_K[at[2]]),
            Mnk::new(WAVES[at[3]], WAVES[at[4]], 1),
            Mnk::new(WARP_TILE_MN[at[5]], WARP_TILE_MN[at[6]], WARP_TILE_K[at[7]]),
        )
    }

    /// Whether the constraints allow a point.
    pub fn is_valid(&self, point: &Point) -> bool {
        let (tile, wave, warp_tile) = Self::shapes(point);
        let pipeline = self.pipelines[usize::from(point.0[8])];
        let waves = wave.m * wave.n * wave.k;
        if !matches!(waves, 2 | 4 | 8) {
            return false;
        }
        let elements = u64::from(tile.m) * u64::from(tile.k) + u64::from(tile.n) * u64::from(tile.k);
        match self.constraints {
            Constraints::Upstream => {
                let half = pipeline.as_str().starts_with("compv4");
                elements <= if half { 32_768 } else { self.lds_bytes }
            }
            Constraints::Memory => {
                let copies = if pipeline.double_buffered() { 2 } else { 1 };
                elements * self.element_bits * copies <= self.lds_bytes * 8
            }
            Constraints::Buildable => {
                let scheduler = SCHEDULERS[usize::from(point.0[9])];
                let epilogue = EPILOGUES[usize::from(point.0[10])];
                self.rules.gemm.allows(pipeline, epilogue, scheduler)
                    && self.validator.refusal(tile, wave, warp_tile, pipeline).is_none()
            }
        }
    }

    /// The kernel that a point describes.
    pub fn kernel(&self, point: &Point) -> Kernel {
        let kernel = self.gemm(point);
        Kernel { name: kernel.name(), kind: KernelKind::Gemm(kernel) }
    }

    /// The same without its name.
    pub(super) fn gemm(&self, point: &Point) -> GemmKernel {
        let (tile, wave, warp_tile) = Self::shapes(point);
        let flag = |place: usize| point.0[place] == 0;
        let problem = &self.problem;
        let mut kernel = GemmKernel::from(GemmBody {
            dtype: problem.dtype_a,
            layout: problem.layout,
            pipeline: self.pipelines[usize::from(point.0[8])],
            epilogue: EPILOGUES[usize::from(point.0[10])],
            scheduler: SCHEDULERS[usize::from(point.0[9])],
            pad: [flag(11), flag(12), flag(13)],
            persistent: flag(14),
            tile,
            wave,
            warp_tile,
        });
        (kernel.dtype_b, kernel.dtype_c) = (problem.dtype_b, problem.dtype_c);
        kernel
    }
}

#[cfg(test)]
mod tests {
    use ck_select_model::model::Model;

    use super::*;

    const SPEC: &str =
        r#"{"op_type": "gemm_universal", "feature_names": ["M", "tile_m"], "hardware": HARDWARE}"#;
    const FOREST: &[u8] = b"tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n\
max_feature_idx=1\n\
objective=regression\nfeature_names=M tile_m\nfeature_infos=[0:1] [32:256]\n\nTree=0\nnum_leaves=2\n\
num_cat=0\n\
split_feature=1\nsplit_gain=1\nthreshold=64\ndecision_type=2\nleft_child=-1\nright_child=-2\nleaf_value=1 2\n\
internal_value=1\nis_linear=0\nshrinkage=1\n\nend of trees\n";

    fn model(lds: u32) -> Model {
        let spec = SPEC.replace("HARDWARE", &format!("{{\"lds_capacity\": {lds}}}"));
        Model::from_bytes("test", spec.as_bytes(), &[(ck_select_model::model::Target::Tflops, FOREST)])
            .unwrap()
    }

    /// Only tile, waves and pipeline matter, so each of these points represents all values of the rest.
    fn count(space: &Space<'_>) -> u64 {
        let lengths = space.lengths();
        let deciding = [0, 1, 2, 3, 4, 8];
        let rest: u64 = (0..PARAMETERS)
            .filter(|place| !deciding.contains(place))
            .map(|place| u64::from(lengths[place]))
            .product();
        let all: u64 = deciding.iter().map(|&place| u64::from(lengths[place])).product();
        let valid = (0..all).filter(|&number| {
            let mut number = number;
            let mut point = Point::default();
            for &place in deciding.iter().rev() {
                point.0[place] = (number % u64::from(lengths[place])) as u8;
                number /= u64::from(lengths[place]);
            }
            space.is_valid(&point)
        });
        valid.count() as u64 * rest
    }

    #[test]
    fn upstreams_constraints_leave_upstreams_points() {
        let rules = Rules::built_in().unwrap();
        let problem = GemmProblem::new(128, 1536, 7168);
        for (lds, valid) in [(65_536, 21_324_800), (163_840, 23_905_280), (327_680, 23_905_280)] {
            let space =
                Space::new(model(lds).extractor(), &problem, Constraints::Upstream, &rules, "").unwrap();
            assert_eq!((space.size(), count(&space)), (32_256_000, valid));
        }
    }

    #[test]
    fn wider_elements_need_more_memory() {
        let rules = Rules::built_in().unwrap();
        let count = |dtype: &str| {
            let problem = GemmProblem::new(128, 1536, 7168).of(dtype.parse().unwrap());
            count(&Space::new(model(65_536).extractor(), &problem, Constraints::Memory, &rules, "").unwrap())
        };
        assert!(count("fp8") > count("fp16") && count("fp16") > count("fp32"));
    }

    #[test]
    fn every_point_has_its_number_and_a_name_that_reads_back() {
        let rules = Rules::built_in().unwrap();
        let problem = GemmProblem::new(128, 1536, 7168);
        let space =
            Space::new(model(65_536).extractor(), &problem, Constraints::Upstream, &rules, "").unwrap();
        for number in (0..space.size()).step_by(999_983) {
            let kernel = space.kernel(&space.point(number));
            assert_eq!(Kernel::from_name(&kernel.name).unwrap().kind, kernel.kind, "{}", kernel.name);
        }
        let last = space.point(space.size() - 1).0;
        assert_eq!(last, space.lengths().map(|length| length - 1));
    }

    #[test]
    fn what_can_be_built_needs_an_architecture() {
        let rules = Rules::built_in().unwrap();
        let problem = GemmProblem::new(128, 1536, 7168);
        let error = Space::new(model(65_536).extractor(), &problem, Constraints::Buildable, &rules, "")
            .err()
            .unwrap();
        assert!(error.to_string().contains("give arch="), "{error}");
        let error = Space::new(model(65_536).extractor(), &problem, Constraints::Buildable, &rules, "gfx908")
            .err()
            .unwrap();
        assert!(error.to_string().contains("'gfx908' has no instructions for fp8_fp8_fp16"), "{error}");
        let space = Space::new(model(65_536).extractor(), &problem, Constraints::Buildable, &rules, "gfx950")
            .unwrap();
        let valid =
            (0..space.size()).step_by(101).filter(|&number| space.is_valid(&space.point(number))).count();
        assert!(valid > 0 && valid < 32_256_000 / 101 / 10, "{valid}");
    }
}
