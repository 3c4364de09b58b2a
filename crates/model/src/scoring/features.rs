//! Turns an extractor and its kernels into the columns of a pool, and a problem into the values of a call.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::ops::Range;

use super::compile::lanes::{Column, PoolTable};
use super::rows::Rows;
use crate::features::{
    BLOCK, BlockOf, Extractor, FeatureOf, InBlocks, KernelTerms, KernelTermsOf, OperationTerms, PairBlock,
    PairSetting, PairValue, PairWith, ProblemTerms, Shapes, TermsOf, Value,
};
use crate::hash::FastHasher;
use crate::isa::Isa;
use ck_select_types::operation::OperationValue as _;
use ck_select_types::{each_operation, operation_enum, operation_struct};

/// The features of a pool's kernels: the inputs of [`PoolScorer::compile`](super::PoolScorer::compile) from
/// the kernels, and those of [`PoolScorer::score`](super::PoolScorer::score) from a problem.
#[derive(Debug)]
pub struct PoolFeatures {
    columns: Vec<Column>,
    classes: Vec<u32>,
    class_count: usize,
    kernel_values: Vec<f64>,
    /// The index of each column among those with the same dependency.
    places: Vec<usize>,
    setting: PairSetting,
    functions: Functions,
}

/// The values of one problem. If reused, it does not allocate after the first call.
#[derive(Debug, Clone, Default)]
pub struct CallValues {
    /// The [`Column::Uniform`] values.
    pub uniform: Vec<f64>,
    /// The [`Column::Pair`] values, column after column, with one value per class.
    pub pair: Vec<f64>,
    /// Working memory for pairs: a few KiB an operation, which need not be cleared for each problem.
    pairs: Pairs,
}

operation_struct! {
    #[derive(Debug, Clone, Default)]
    struct Pairs(PairsFor);
}

type PairsFor<P> = PairsOf<TermsOf<P>, KernelTermsOf<P>>;
type PairsOf<P, K> = Option<Box<BlockOf<<P as PairWith<K>>::Pair>>>;

/// Some of a pool's kernels for the problem whose values were computed: the same rows that
/// [`crate::features::Schema::fill`] makes.
#[derive(Debug, Clone, Copy)]
pub struct PoolRows<'a> {
    features: &'a PoolFeatures,
    values: &'a CallValues,
    first: usize,
    count: usize,
}

impl Rows for PoolRows<'_> {
    fn len(&self) -> usize {
        self.count
    }

    fn column(&self, feature: usize, first: usize, values: &mut [f64]) {
        let PoolFeatures { columns, classes, kernel_values, places, .. } = self.features;
        let (first, column) = (self.first + first, places[feature]);
        match columns[feature] {
            Column::Uniform => values.fill(self.values.uniform[column]),
            Column::Kernel => {
                let kernels = kernel_values.chunks_exact(kernel_values.len() / classes.len()).skip(first);
                values.iter_mut().zip(kernels).for_each(|(to, kernel)| *to = kernel[column]);
            }
            Column::Pair => {
                let count = self.features.class_count;
                let pair = &self.values.pair[column * count..][..count];
                values.iter_mut().zip(&classes[first..]).for_each(|(to, &class)| *to = pair[class as usize]);
            }
        }
    }
}

/// Kernels of a different operation than the extractor's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("kernel {kernel} is for another operation than the features")]
pub struct MixedPool {
    /// The first such kernel, counted from 0.
    pub kernel: usize,
}

operation_enum! {
    #[derive(Debug)]
    enum Functions(FeatureTableFor);
}

type FeatureTableFor<P> = FeatureTable<TermsOf<P>, KernelTermsOf<P>>;

/// The functions of the columns that a call computes, and one kernel of each class with its part of pairs.
struct FeatureTable<P: PairWith<K> + 'static, K: 'static> {
    uniform: Vec<Uniform<P>>,
    pair: Vec<PairValue<P, K>>,
    classes: Vec<K>,
    /// The classes, [`BLOCK`] of them each.
    shapes: Vec<Shapes<P, K>>,
}

enum Uniform<P> {
    Problem(fn(&P) -> f64),
    Hardware(f64),
}

impl<P: PairWith<K>, K> std::fmt::Debug for FeatureTable<P, K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (uniform, pair, classes) = (self.uniform.len(), self.pair.len(), self.classes.len());
        write!(f, "FeatureTable {{ {uniform} uniform, {pair} pair, {classes} classes }}")
    }
}

impl PoolFeatures {
    /// Prepares everything that depends on the kernels alone.
    pub fn new(extractor: &Extractor, kernels: &[KernelTerms]) -> Result<PoolFeatures, MixedPool> {
        let (hardware, own) = (extractor.hardware, extractor.schema.needs_own());
        let setting = PairSetting { isa: Isa::best(), hardware, own };
        each_operation!(extractor.schema.op(), Own => {
            Ok(prepare::<Own>(extractor.schema.features::<Own>(), &own_kernels::<Own>(kernels)?, setting))
        })
    }

    /// How many classes it has.
    pub(crate) const fn classes(&self) -> usize {
        self.class_count
    }

    /// The pool, to be compiled with a forest.
    pub fn table(&self) -> PoolTable<'_> {
        PoolTable { columns: &self.columns, classes: &self.classes, kernel_values: &self.kernel_values }
    }

    /// Some of the kernels for the problem whose values [`fill`](Self::fill) computed, for a scorer of rows.
    pub fn filled<'a>(&'a self, values: &'a CallValues, kernels: Range<usize>) -> PoolRows<'a> {
        PoolRows { features: self, values, first: kernels.start, count: kernels.len() }
    }

    /// Computes the values of one problem. A problem of another operation leaves them unchanged.
    pub fn fill(&self, problem: &ProblemTerms, values: &mut CallValues) {
        let CallValues { uniform, pair, pairs } = values;
        each_operation!(
            (&self.functions, problem),
            (Functions(table), ProblemTerms(problem)) => {
                table.fill(problem, &self.setting, (uniform, pair), pairs.as_mut());
            },
            debug_assert!(false, "a problem of another operation")
        );
    }
}

impl<P: PairWith<K>, K> FeatureTable<P, K> {
    fn fill(
        &self,
        problem: &P,
        setting: &PairSetting,
        (uniform, pair): (&mut Vec<f64>, &mut Vec<f64>),
        pairs: &mut PairsOf<P, K>,
    ) {
        self.uniform(problem, uniform);
        let classes = self.classes.len();
        pair.resize(self.pair.len() * classes, 0.0);
        let pairs = pairs.get_or_insert_with(|| Box::new(P::Pair::ZERO));
        let mut block = PairBlock::new(problem, setting, pairs);
        for (number, (kernels, shapes)) in self.classes.chunks(BLOCK).zip(&self.shapes).enumerate() {
            block.pair_all(kernels, shapes);
            for (value, column) in self.pair.iter().zip(pair.chunks_exact_mut(classes)) {
                value.column(&block, &mut column[number * BLOCK..][..kernels.len()]);
            }
        }
    }

    fn uniform(&self, problem: &P, values: &mut Vec<f64>) {
        values.clear();
        values.extend(self.uniform.iter().map(|value| match value {
            Uniform::Problem(value) => value(problem),
            Uniform::Hardware(value) => *value,
        }));
    }
}

/// The kernels, if all are of the operation.
fn own_kernels<P: OperationTerms>(kernels: &[KernelTerms]) -> Result<Vec<&KernelTermsOf<P>>, MixedPool> {
    let own = |(kernel, any)| KernelTermsOf::<P>::held_by(any).ok_or(MixedPool { kernel });
    kernels.iter().enumerate().map(own).collect()
}

fn prepare<P: OperationTerms>(
    features: &[&FeatureOf<P>],
    kernels: &[&KernelTermsOf<P>],
    setting: PairSetting,
) -> PoolFeatures
where
    Functions: From<FeatureTableFor<P>>,
{
    let PairSetting { ref hardware, own, .. } = setting;
    let mut columns = Vec::with_capacity(features.len());
    let mut table =
        FeatureTable { uniform: Vec::new(), pair: Vec::new(), classes: Vec::new(), shapes: Vec::new() };
    let mut of_kernel: Vec<fn(&KernelTermsOf<P>) -> f64> = Vec::new();
    for feature in features {
        columns.push(match feature.value {
            Value::Problem(value) => {
                table.uniform.push(Uniform::Problem(value));
                Column::Uniform
            }
            Value::Hardware(value) => {
                table.uniform.push(Uniform::Hardware(value(hardware)));
                Column::Uniform
            }
            Value::Kernel(value) => {
                of_kernel.push(value);
                Column::Kernel
            }
            Value::Pair(value) => {
                table.pair.push(value);
                Column::Pair
            }
        });
    }
    let mut numbers = HashMap::<_, _, BuildHasherDefault<FastHasher>>::default();
    let mut classes = Vec::with_capacity(kernels.len());
    let mut kernel_values = Vec::with_capacity(kernels.len() * of_kernel.len());
    for &kernel in kernels {
        let class = *numbers.entry(TermsOf::<P>::pair_inputs(kernel, own)).or_insert_with(|| {
            table.classes.push(*kernel);
            table.classes.len() as u32 - 1
        });
        classes.push(class);
        kernel_values.extend(of_kernel.iter().map(|value| value(kernel)));
    }
    table.shapes.extend(table.classes.chunks(BLOCK).map(|kernels| Shapes::new(kernels, hardware)));
    let (places, class_count) = (Column::places(&columns), table.classes.len());
    PoolFeatures { columns, classes, class_count, kernel_values, places, setting, functions: table.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::Engine;
    use crate::features::conv::{ConvKernelTerms, PipelineFlags};
    use crate::features::gemm::{GemmBuild, GemmKernelTerms};
    use crate::kernel::Kernel;
    use crate::problem::{ConvProblem, GemmProblem, Problem};

    /// One full block of classes, and one that is not full. Kernels are 41 tiles, three times: as they are,
    /// with everything different that pair features must not read, so of the same classes, and with other
    /// pipelines.
    const CLASSES: usize = 82;

    fn conv_kernel(extractor: &Extractor, own: bool, number: usize) -> KernelTerms {
        let (tile, third) = (number % 41, number / 41);
        let word = ["compv3", "mem", "compv4", "mem_dsb"][(tile + third / 2) % 4];
        let kernel = Kernel::from_name(&format!("grouped_conv_forward_bf16_2d_64x32x64_{word}")).unwrap();
        let Ok(KernelTerms::Conv(kernel)) = extractor.kernel_terms(&kernel.kind) else { panic!("{word}") };
        let kernel = ConvKernelTerms { gemm_m_per_block: 8 + tile as i64, ..kernel };
        if third != 1 {
            return KernelTerms::Conv(kernel);
        }
        let PipelineFlags { mem, half_lds, .. } = kernel.pipeline;
        KernelTerms::Conv(ConvKernelTerms {
            // Our own features see the waves.
            block_size: if own { kernel.block_size } else { 1 },
            gemm_k_per_block: 7,
            pipeline_code: 9.0,
            pipeline: PipelineFlags { mem, half_lds, ..PipelineFlags::new("basic_v1") },
            intrawave: false,
            has_dsb: 5,
            has_si: 6,
            two_stage: true,
            ..kernel
        })
    }

    fn gemm_kernel(number: usize) -> KernelTerms {
        let (tile, third) = (number % 41, number / 41);
        let kernel = GemmKernelTerms {
            tile: [8 + tile as i64, 128, 64],
            wave: [2, 2, 1],
            warp_tile: [32, 32, 16],
            pipeline_code: 1.0,
            half_lds: third == 2,
            scheduler_code: 0.0,
            epilogue_code: 1.0,
            pad: [true, false, true],
            persistent: true,
            vector: None,
            build: GemmBuild::default(),
        };
        if third != 1 {
            return KernelTerms::Gemm(kernel);
        }
        KernelTerms::Gemm(GemmKernelTerms {
            wave: [4, 1, 1],
            warp_tile: [16; 3],
            pipeline_code: 5.0,
            scheduler_code: 1.0,
            epilogue_code: 0.0,
            persistent: false,
            ..kernel
        })
    }

    fn rows_are_the_extractors(extractor: &Extractor, kernels: &[KernelTerms], problems: &[Problem]) {
        let features = PoolFeatures::new(extractor, kernels).unwrap();
        assert_eq!(features.class_count, CLASSES);
        let mut call = CallValues::default();
        for problem in problems {
            let problem = extractor.problem_terms(problem).unwrap();
            features.fill(&problem, &mut call);
            // From the second kernel's second row on.
            let (filled, kernels) = (features.filled(&call, 1..kernels.len()), &kernels[2..]);
            let mut rows = vec![vec![0.0; extractor.schema.len()]; kernels.len()];
            for (row, kernel) in rows.iter_mut().zip(kernels) {
                extractor.fill(&problem, kernel, row);
            }
            let mut features = vec![f64::NAN; kernels.len()];
            for (column, name) in extractor.schema.names().iter().enumerate() {
                filled.column(column, 1, &mut features);
                for (at, (row, feature)) in rows.iter().zip(&features).enumerate() {
                    assert_eq!(feature.to_bits(), row[column].to_bits(), "{name} {at}");
                }
            }
        }
    }

    #[test]
    fn rows_of_a_pool_are_the_extractors() {
        for (engine, own) in [
            (Engine::ConvSuperset, false),
            (Engine::ConvSelect, true),
            (Engine::Conv97, false),
            (Engine::ConvWork, true),
        ] {
            let extractor = Extractor::for_engine(engine);
            let kernels: Vec<_> = (0..123).map(|number| conv_kernel(&extractor, own, number)).collect();
            let problems = [3, 64, 65]
                .map(|c| ConvProblem { n: 3, c, k: 80, ..ConvProblem::new_2d([30, 31], [3, 3]) }.into());
            rows_are_the_extractors(&extractor, &kernels, &problems);
        }
        let kernels: Vec<_> = (0..123).map(gemm_kernel).collect();
        let one = GemmProblem::new(100, 200, 300);
        let problems = [one, one.grouped("100x7x300+128x512x1024*3".parse().unwrap())].map(Problem::from);
        rows_are_the_extractors(&Extractor::for_engine(Engine::Gemm72), &kernels, &problems);
    }
}
