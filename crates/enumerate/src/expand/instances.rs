//! Lists of instances, where each instance already is a kernel.

use ck_select_types::kernel::{Kernel, KernelKind};
use ck_select_types::vocab::{Arch, Direction, Pipeline};

use super::{EnumerateError, Kernels};
use crate::config::Instances;

pub(super) fn expand(instances: &Instances, arch: Arch) -> Result<Kernels, EnumerateError> {
    let mut kernels = Kernels::default();
    for instance in &instances.kernels {
        // Upstream's loader omits these: backward weight has no such pipeline.
        let lacking = matches!(instance.pipeline, Pipeline::CompV2 | Pipeline::BasicV2);
        if instance.direction == Direction::BwdWeight && lacking {
            kernels.expanded += 1;
            *kernels.refused.entry("pipeline not for this direction").or_default() += 1;
            continue;
        }
        let mut kernel = instance.clone();
        kernel.arch = Some(arch);
        // Instances differ in waves, vectors and specializations, which short names omit.
        kernels.push(Kernel { name: kernel.long_name(), kind: KernelKind::Conv(kernel) })?;
    }
    for other in &instances.others {
        kernels.expanded += 1;
        if kernels.names.insert(other.name.clone()) {
            kernels.others.push(other.clone());
        }
    }
    Ok(kernels)
}
