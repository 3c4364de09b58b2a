//! From a configuration to kernels.

use ck_select_types::each_operation;
use ck_select_types::kernel::Kernel;
use ck_select_types::pool::Pool;
use ck_select_types::vocab::Arch;

use crate::arch::ArchTable;
use crate::config::Config;
use crate::error::EnumerateError;
use crate::filter::Filter;
use crate::kernels::{Enumeration, Expansion as _, too_many};
use crate::request::Request;
use crate::rules::Rules;

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
    let kernels =
        each_operation!(config, Config(config) as Own => Own::expand(rules, config, arch, request)?);
    let mut enumeration = kernels.enumeration;
    if !request.filters.is_empty() {
        let before = enumeration.kernels.len() + enumeration.others.len();
        enumeration.kernels = filtered(enumeration.kernels, &request.filters)?;
        enumeration.others.clear();
        enumeration.filtered = before - enumeration.kernels.len();
    }
    if enumeration.kernels.len() > Pool::MAX_KERNELS { Err(too_many()) } else { Ok(enumeration) }
}

impl Rules {
    /// The table of an architecture: kernels of another one would be no answer.
    pub(crate) fn table(&self, arch: Arch) -> Result<&ArchTable, EnumerateError> {
        let known = &self.arch.architectures;
        known.get(arch.as_str()).ok_or_else(|| {
            let known = known.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            EnumerateError::Refused(format!(
                "the rules know no architecture {arch}, expected one of {known}; --rules takes an arch.json \
                 with others"
            ))
        })
    }
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
