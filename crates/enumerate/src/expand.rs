//! From a configuration to kernels.

use ck_select_types::each_operation;
use ck_select_types::kernel::Kernel;
use ck_select_types::pool::Pool;
use ck_select_types::vocab::Arch;

use crate::config::Config;
use crate::filter::Filter;
use crate::kernels::{EnumerateError, Enumeration, Expansion as _, too_many};
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
    let Some(table) = rules.arch.architectures.get(arch.as_str()) else {
        // Kernels of another architecture would be no answer.
        let known: Vec<&str> = rules.arch.architectures.keys().map(String::as_str).collect();
        let known = known.join(", ");
        return Err(EnumerateError::Refused(format!(
            "the rules know no architecture {arch}, expected one of {known}; --rules takes an arch.json with \
             others"
        )));
    };
    let kernels = each_operation!(config, Config(config) as Own => {
        Own::expand(rules, config, (arch, table), request)?
    });
    let mut found = kernels.found;
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
