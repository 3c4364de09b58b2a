//! From a configuration to kernels.

use ck_select_types::kernel::{Kernel, KernelKind};
use ck_select_types::pool::Pool;
use ck_select_types::problem::ProblemDefaults;
use ck_select_types::vocab::{Arch, Dtype, GemmLayout, Op};

use crate::config::Config;
use crate::conv::valid::refusal;
use crate::filter::Filter;
use crate::kernels::{EnumerateError, Enumeration, Kernels, too_many};
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
///
/// ```
/// use ck_select_enumerate::config::Config;
/// use ck_select_enumerate::rules::Rules;
/// use ck_select_enumerate::{Request, enumerate};
///
/// let text = br#"{"variant": "bwd_data", "trait_config": {"data_type": {"values": ["bf16"]}}}"#;
/// let config = Config::from_json("sweep.json", text, None)?;
/// let sweep = enumerate(&Rules::built_in()?, &config, &Request::new("gfx950"))?;
/// // Backward pipelines other than mem become compv3, so most of the expanded kernels repeat a name.
/// assert_eq!((sweep.expanded, sweep.kernels.len()), (172, 40));
/// assert_eq!(sweep.kernels[0].name, "grouped_conv_bwd_data_bf16_2d_16x64x64_compv3_intrawave");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn enumerate(rules: &Rules, config: &Config, request: &Request) -> Result<Enumeration, EnumerateError> {
    let arch: Arch = request.target.parse()?;
    let Some(table) = rules.arch.architectures.get(arch.as_str()) else {
        // Kernels of another architecture would be no answer.
        let known: Vec<&str> = rules.arch.architectures.keys().map(String::as_str).collect();
        let known = known.join(", ");
        return Err(EnumerateError::Refused(format!(
            "the rules know no architecture {arch}, expected one of {known}; --rules takes an arch.json with \
             others"
        )));
    };
    let Request { target, dtype, layout, .. } = request;
    let shared = gemm::expand::Shared { rules, target, arch, dtype: *dtype, layout: *layout };
    let kernels = match config {
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
        Config::Gemm(ranges) => gemm::expand::expand_ranges(shared, ranges)?,
        Config::GemmSweep => gemm::expand::expand_sweep(shared, request.valid_only)?,
    };
    let mut found = kernels.found;
    if request.valid_only {
        let listed = matches!(config, Config::Instances(_));
        found.kernels.retain(|kernel| {
            // Others were checked while they were expanded.
            let KernelKind::Conv(conv) = &kernel.kind else { return true };
            let refusal = refusal(rules, conv, arch.as_str(), listed);
            refusal.inspect(|&refusal| *found.refused.entry(refusal).or_default() += 1).is_none()
        });
    }
    if !request.filters.is_empty() {
        let before = found.kernels.len() + found.others.len();
        found.kernels = filtered(found.kernels, &request.filters)?;
        found.others.clear();
        found.filtered = before - found.kernels.len();
    }
    if found.kernels.len() > Pool::MAX_KERNELS { Err(too_many()) } else { Ok(found) }
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
