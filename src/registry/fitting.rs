//! Which model is for which problem.

use crate::model::Model;
use crate::problem::Problem;
use crate::vocab::{Arch, Direction, Dtype, Op};

/// The problems that a model is for. What is not said fits everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ModelKey {
    /// The operation.
    pub op: Op,
    /// The direction of a convolution.
    pub direction: Option<Direction>,
    /// The type of the inputs.
    pub dtype: Option<Dtype>,
    /// The architecture.
    pub arch: Option<Arch>,
}

impl ModelKey {
    /// What a model's spec says that it is for.
    pub fn of(model: &Model) -> Self {
        let spec = model.spec();
        Self { op: spec.op(), direction: spec.direction, dtype: spec.dtype, arch: spec.arch }
    }

    /// How well the model fits: `None` when it does not, else the number of things that it says and that are so. An
    /// architecture that nobody names fits any.
    pub fn fit(&self, problem: &Problem, arch: Option<Arch>) -> Option<u32> {
        if self.op != problem.op() {
            return None;
        }
        let (direction, dtype) = match problem {
            Problem::Conv(problem) => (Some(problem.direction), problem.dtype_in),
            Problem::Gemm(problem) => (None, problem.dtype_a),
        };
        let mut said = 0;
        for fits in [
            self.direction.map(|own| direction == Some(own)),
            self.dtype.map(|own| dtype == own),
            self.arch.map(|own| problem.arch().or(arch).is_none_or(|asked| asked == own)),
        ]
        .into_iter()
        .flatten()
        {
            if !fits {
                return None;
            }
            said += 1;
        }
        Some(said)
    }
}

impl std::fmt::Display for ModelKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.op)?;
        if let Some(direction) = self.direction {
            write!(f, " {direction}")?;
        }
        if let Some(dtype) = self.dtype {
            write!(f, " {dtype}")?;
        }
        match self.arch {
            Some(arch) => write!(f, " {arch}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::ConvProblem;

    #[test]
    fn the_more_a_model_says_the_better_it_fits() {
        let any = ModelKey { op: Op::GroupedConv, direction: None, dtype: None, arch: None };
        let forward = ModelKey { direction: Some(Direction::Forward), ..any };
        let gfx942 = ModelKey { arch: "gfx942".parse().ok(), ..forward };
        let problem = Problem::from(ConvProblem::new_2d([8, 8], [1, 1]));
        assert_eq!([any, forward, gfx942].map(|key| key.fit(&problem, None)), [Some(0), Some(1), Some(2)]);
        assert_eq!(gfx942.fit(&problem, "gfx950".parse().ok()), None);
        let backward = ModelKey { direction: Some(Direction::BwdData), ..any };
        assert_eq!(backward.fit(&problem, None), None);
        assert_eq!(ModelKey { op: Op::Gemm, ..any }.fit(&problem, None), None);
        assert_eq!(gfx942.to_string(), "grouped_conv forward gfx942");
    }
}
