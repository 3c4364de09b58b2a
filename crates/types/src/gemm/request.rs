//! What a GEMM problem asks for besides one plain GEMM: a batch, a list of GEMMs, Stream-K, further operands,
//! scales.

use super::variant::Quant;
use crate::field::{InvalidField, fields};
use crate::groups::Groups;
use crate::shape::Mnk;
use crate::vocab::{QuantMode, StreamKReduction};

fields! {
    /// The request of a GEMM problem besides one plain GEMM, which is the default.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    GemmRequest by gemm_request {
        batch: u32 = 0, min: 0, names: ["batch" | "batch_count" | "B"] omit,
            "GEMMs of equal extents in one launch; 0 if it is not a batch.";
        stream_k: Option<StreamKReduction> = None, min: 0, names: ["stream_k"] omit,
            "Stream-K, and its reduction. Such problems and Stream-K kernels go only with each other.";
        num_d: u8 = 0, min: 0, names: ["num_d"] omit, "D tensors; 0 if unspecified.";
        preshuffle: bool = false, min: 0, names: ["preshuffle"] omit,
            "B is stored in the order in which it is read; `false` if unspecified.";
        quant: Option<QuantMode> = None, min: 0, names: ["quant"] omit, "Which operands have scales.";
        group_a: Option<Mnk> = None, min: 0, names: ["group_a"] omit,
            "Elements of A that share a scale, if groups do.";
        group_b: Option<Mnk> = None, min: 0, names: ["group_b"] omit, "Elements of B that share a scale, if groups do.";
    }
    nested {}
    beside {
        groups: Groups = Groups::NONE, "GEMMs of any extents in one launch; empty if it is not a list.";
    }
}

impl GemmRequest {
    /// One plain GEMM.
    pub const NONE: Self = Self::USUAL;

    /// Whether the request is [`GemmRequest::NONE`], without comparing lists.
    #[inline]
    pub const fn is_none(&self) -> bool {
        let Self { batch, groups, stream_k, num_d, preshuffle, quant, group_a, group_b } = self;
        *batch == 0
            && groups.is_empty()
            && stream_k.is_none()
            && *num_d == 0
            && !*preshuffle
            && quant.is_none()
            && group_a.is_none()
            && group_b.is_none()
    }

    /// The scales of the operands, if it asks for some.
    pub fn scales(&self) -> Option<Quant> {
        self.quant.map(|mode| Quant { mode, group_a: self.group_a, group_b: self.group_b })
    }

    /// Checks that scales are what groups of elements share: the request's own groups, where its mode has some.
    pub(super) fn validate_groups(&self) -> Result<(), InvalidField> {
        let usual = self.quant.map(Quant::usual);
        let usual = usual.map_or([None; 2], |usual| [usual.group_a, usual.group_b]);
        let own = [("group_a", self.group_a), ("group_b", self.group_b)];
        for ((field, own), usual) in own.into_iter().zip(usual) {
            if let (Some(group), None) = (own, usual) {
                let found = format_args!("'{group}'");
                return Err(InvalidField::new(field, found, "nothing, or a 'quant' that has such groups"));
            }
        }
        self.scales().map_or(Ok(()), |scales| scales.validate())
    }

    /// The request with these scales.
    #[must_use]
    pub const fn scaled(self, Quant { mode, group_a, group_b }: Quant) -> Self {
        Self { quant: Some(mode), group_a, group_b, ..self }
    }
}
