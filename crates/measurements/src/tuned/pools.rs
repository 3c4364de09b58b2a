//! The pools among whose kernels the winners of tuned tables won.
//!
//! Names of different age can describe one kernel, and a pool may be newer than the table: a few winners that
//! it lacks were retired, many mean that it is another table's pool.

use std::collections::HashMap;

use ck_select_types::kernel::{Kernel, KernelKind};
use ck_select_types::pool::Pool;
use ck_select_types::{each_operation, map_operation};

use super::shapes::{TunedShape, Winners};
use crate::operation::OperationData as _;
use crate::read::DataError;

/// The share of a table's shapes whose winner a pool may lack.
const MAX_RETIRED_SHARE: f64 = 0.05;

impl Winners {
    /// The index in a pool of each kernel: of its name, else of its descriptor, because names of different
    /// age can describe one kernel, without the architecture, which names do not say.
    pub fn places_in(&self, pool: &Pool) -> Vec<Option<usize>> {
        let (mut named, mut described) = (HashMap::new(), HashMap::new());
        for (index, kernel) in pool.iter().enumerate() {
            named.entry(kernel.name.as_str()).or_insert(index);
            described.entry(anywhere(&kernel.kind)).or_insert(index);
        }
        let position = |kernel: &Kernel| {
            let named = named.get(kernel.name.as_str());
            named.or_else(|| described.get(&anywhere(&kernel.kind))).copied()
        };
        self.kernels.iter().map(position).collect()
    }

    /// The index of a shape's pool among so many: those of the files, or the only one.
    pub const fn pool_among(shape: &TunedShape, pools: usize) -> usize {
        if pools == 1 { 0 } else { shape.file }
    }

    /// The pool of a shape among those of the files, or the only one, and the index there of its winner, or of its
    /// fastest kernel if none is marked; `places` are those of [`Winners::places_in`] for each.
    pub fn pool_of(
        &self,
        shape: &TunedShape,
        places: &[Vec<Option<usize>>],
        pools: &[&Pool],
    ) -> Result<(usize, usize), DataError> {
        let pool = Self::pool_among(shape, pools.len());
        let first = shape.fastest();
        places[pool][first.kernel as usize].map(|index| (pool, index)).ok_or_else(|| {
            let (name, kernels) = (self.name(first.kernel), pools[pool].len());
            let one = pools[pool].get(0).map_or("", |kernel| &kernel.name);
            let message =
                format!("'{name}' won, but it is none of the pool's {kernels} kernels, such as '{one}'");
            self.error(shape, first.line, message)
        })
    }

    /// The shapes whose winner is in their pool; of the others, whose winners may have been retired since,
    /// how many there are and what is wrong with the first. If they are too many of a file, its pool is the
    /// wrong one.
    pub fn in_pools(mut self, pools: &[&Pool]) -> Result<(Self, Option<(usize, DataError)>), DataError> {
        let places: Vec<_> = pools.iter().map(|pool| self.places_in(pool)).collect();
        let mut all = vec![0_usize; self.files.len()];
        let mut faults: Vec<Vec<DataError>> = all.iter().map(|_| Vec::new()).collect();
        let mut fits = Vec::with_capacity(self.shapes.len());
        for shape in &self.shapes {
            let fault = self.pool_of(shape, &places, pools).err();
            fits.push(fault.is_none());
            all[shape.file] += 1;
            faults[shape.file].extend(fault);
        }
        // Tuners of engines try what they like.
        let is_wrong = |(file, (of, all)): (usize, (&Vec<_>, &usize))| {
            of.len() as f64 > MAX_RETIRED_SHARE * *all as f64 && !self.of_engines.contains(&file)
        };
        if let Some(file) = faults.iter().zip(&all).enumerate().position(is_wrong) {
            return Err(faults.swap_remove(file).swap_remove(0));
        }
        let lacking = faults.iter().map(Vec::len).sum();
        let first = faults.into_iter().flatten().next().map(|first| (lacking, first));
        let mut fits = fits.into_iter();
        self.shapes.retain(|_| fits.next() == Some(true));
        Ok((self, first))
    }
}

/// A kernel as built for no architecture in particular, which names and measurements do not say.
pub fn anywhere(kind: &KernelKind) -> KernelKind {
    let mut kind = map_operation!(kind, KernelKind(kernel) as Own => KernelKind(Own::anywhere(kernel)));
    each_operation!(&mut kind, KernelKind(kernel) => kernel.arch = None);
    kind
}
