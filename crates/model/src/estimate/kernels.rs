//! Kernels prepared for a device.

use super::{Device, Estimator, Load, Shape};
use crate::kernel::KernelKind;

/// Kernels prepared for a device: what depends on a kernel alone is computed once.
#[derive(Debug)]
pub struct EstimatedKernels {
    estimator: Estimator,
    /// By index; `None` for those that the device cannot compute.
    shapes: Vec<Option<Shape>>,
}

impl EstimatedKernels {
    /// Prepares kernels.
    pub fn new<'k>(device: Device, kernels: impl Iterator<Item = &'k KernelKind>) -> Self {
        let estimator = Estimator::new(device);
        Self { estimator, shapes: kernels.map(|kernel| estimator.shape(kernel).ok()).collect() }
    }

    /// The same for other kernels, each with its index here if it is one of these.
    pub fn changed_to<'k>(&self, kernels: impl Iterator<Item = (&'k KernelKind, Option<usize>)>) -> Self {
        let shape = |(kernel, known): (_, Option<usize>)| match known.and_then(|at| self.shapes.get(at)) {
            Some(shape) => *shape,
            None => self.estimator.shape(kernel).ok(),
        };
        Self { estimator: self.estimator, shapes: kernels.map(shape).collect() }
    }

    /// The estimator.
    pub const fn estimator(&self) -> &Estimator {
        &self.estimator
    }

    /// The kernels that have an estimate, each with its index.
    pub fn shapes(&self) -> impl Iterator<Item = (usize, &Shape)> {
        self.shapes.iter().enumerate().filter_map(|(index, shape)| Some((index, shape.as_ref()?)))
    }

    /// One of them.
    pub fn shape(&self, index: usize) -> Option<&Shape> {
        self.shapes.get(index)?.as_ref()
    }

    /// The time of a kernel in microseconds; infinite without an estimate.
    pub fn time(&self, load: &Load, index: usize) -> f64 {
        self.shape(index).map_or(f64::INFINITY, |shape| self.estimator.time(load, shape))
    }
}
