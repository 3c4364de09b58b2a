//! From a configuration to kernels.

use std::collections::BTreeMap;

use ck_select_types::kernel::{Kernel, KernelKind};
use ck_select_types::pool::Pool;
use ck_select_types::problem::ProblemDefaults;
use ck_select_types::vocab::{Arch, Dtype, GemmLayout, Op};

use crate::config::{Config, OtherKernel};
use crate::conv::valid::refusal;
use crate::filter::Filter;
use crate::kernels::{EnumerateError, Kernels, too_many};
use crate::rules::Rules;
use crate::{conv, fmha, gemm};

/// What to enumerate from a configuration.
#[derive(Debug, Clone)]
pub struct Request {
    /// The architecture, such as `gfx950`. Flags, as in `gfx942:xnack+`, matter to GEMMs as they do upstream.
    pub target: String,
    /// Spatial dimensions of convolutions; overrides the configuration.
    pub ndim: Option<u8>,
    /// Element type of a GEMM's A and B.
    pub dtype: Dtype,
    /// Memory orders of a GEMM.
    pub layout: GemmLayout,
    /// Whether to omit kernels that cannot be built. GEMM ranges are always checked.
    pub valid_only: bool,
    /// Kernels are kept if all of these are true; errors use the filters' names.
    pub filters: Vec<(String, Filter)>,
}

impl Request {
    /// Everything for an architecture; GEMMs of the type and layout that problems have by default.
    pub fn new(target: impl Into<String>) -> Self {
        let ProblemDefaults { dtype, gemm_layout, .. } = ProblemDefaults::new(Op::Gemm);
        Self {
            target: target.into(),
            ndim: None,
            dtype,
            layout: gemm_layout,
            valid_only: false,
            filters: Vec::new(),
        }
    }
}

/// The kernels of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enumeration {
    /// The kernels, in order, each name once.
    pub kernels: Vec<Kernel>,
    /// Kernels of a list that have a name but no descriptor. They are not checked.
    pub others: Vec<OtherKernel>,
    /// How many kernels the configuration expands to, including repeated names.
    pub expanded: usize,
    /// How many repeated an earlier name.
    pub repeated: usize,
    /// How many were omitted because they cannot be built, by reason.
    pub refused: BTreeMap<&'static str, usize>,
    /// How many the filters omitted; with a filter, this includes all of `others`, because they have no
    /// fields.
    pub filtered: usize,
    /// Warnings about what upstream would ignore silently.
    pub warnings: Vec<String>,
}

/// The kernels of a configuration.
///
/// ```
/// use ck_select_enumerate::config::Config;
/// use ck_select_enumerate::rules::Rules;
/// use ck_select_enumerate::{Request, enumerate};
///
/// let text = br#"{"variant": "bwd_data", "trait_config": {"data_type": {"values": ["bf16"]}}}"#;
/// let config = Config::from_json("sweep.json", text, None)?;
/// let sweep = enumerate(&Rules::built_in()?, &config, &Request::new("gfx950"))?;
/// // Backward pipelines other than mem become compv3, so that most of the expanded kernels repeat a name.
/// assert_eq!((sweep.expanded, sweep.kernels.len()), (172, 40));
/// assert_eq!(sweep.kernels[0].name, "grouped_conv_bwd_data_bf16_2d_16x64x64_compv3_intrawave");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn enumerate(rules: &Rules, config: &Config, request: &Request) -> Result<Enumeration, EnumerateError> {
    let arch: Arch = request.target.parse()?;
    let Some(table) = rules.arch.architectures.get(arch.as_str()) else {
        // Those of another one would not be an answer.
        let known: Vec<&str> = rules.arch.architectures.keys().map(String::as_str).collect();
        let known = known.join(", ");
        return Err(EnumerateError::Refused(format!(
            "the rules know no architecture {arch}, expected one of {known}; --rules takes an arch.json with \
             others"
        )));
    };
    let mut kernels = match config {
        Config::Conv(config) => conv::expand::expand(rules, config, (arch, table), request.ndim)?,
        Config::Instances(_) if request.ndim.is_some() => return Err(EnumerateError::FixedDimensions),
        Config::Instances(config) => conv::expand::listed(config, arch)?,
        Config::Fmha(config) => fmha::expand::expand(&rules.fmha, config, arch)?,
        Config::Aiter(family) => {
            let mut kernels = Kernels::default();
            for (kernel, _) in rules.aiter.kernels(family, arch)? {
                kernels.push(kernel)?;
            }
            kernels
        }
        Config::Gemm(config) => {
            let shared = gemm::expand::Shared {
                rules,
                target: &request.target,
                arch,
                dtype: request.dtype,
                layout: request.layout,
            };
            gemm::expand::expand(shared, config, request.valid_only)?
        }
    };
    let repeated = kernels.expanded
        - kernels.refused.values().sum::<usize>()
        - kernels.list.len()
        - kernels.others.len();
    if request.valid_only {
        let listed = matches!(config, Config::Instances(_));
        let refused = &mut kernels.refused;
        kernels.list.retain(|kernel| {
            // Others were checked while they were expanded.
            let KernelKind::Conv(conv) = &kernel.kind else { return true };
            let refusal = refusal(rules, conv, arch.as_str(), listed);
            refusal.inspect(|&refusal| *refused.entry(refusal).or_default() += 1).is_none()
        });
    }
    let before = kernels.list.len() + kernels.others.len();
    let list = filtered(kernels.list, &request.filters)?;
    if list.len() > Pool::MAX_KERNELS {
        return Err(too_many());
    }
    if !request.filters.is_empty() {
        kernels.others.clear();
    }
    Ok(Enumeration {
        expanded: kernels.expanded,
        repeated,
        refused: kernels.refused,
        filtered: before - list.len() - kernels.others.len(),
        warnings: kernels.warnings,
        kernels: list,
        others: kernels.others,
    })
}

fn filtered(list: Vec<Kernel>, filters: &[(String, Filter)]) -> Result<Vec<Kernel>, EnumerateError> {
    let mut kept = Vec::with_capacity(list.len());
    'kernels: for kernel in list {
        for (label, filter) in filters {
            let keeps = filter
                .keeps(&kernel)
                .map_err(|error| EnumerateError::Refused(format!("{label}: {error}, for {}", kernel.name)))?;
            if !keeps {
                continue 'kernels;
            }
        }
        kept.push(kernel);
    }
    Ok(kept)
}
