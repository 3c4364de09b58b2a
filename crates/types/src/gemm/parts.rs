//! Parts that names of the tile engine, of its profiles and of the code generator share.

use super::GemmKernel;
use crate::field::Record as _;
use crate::grammar::Part;
use crate::grammar::PartForm::{self, Joined, Truth, Word};

pub(super) const fn part(tag: &'static str, field: &'static str, form: PartForm) -> Part {
    Part::new(GemmKernel::FIELDS, tag, field, form)
}

pub(super) const LAYOUT: Part = part("_", "layout", Word).called("the layout");
pub(super) const EPILOGUE: Part = part("_", "epilogue", Word).called("the epilogue");
pub(super) const SCHEDULER: Part = part("_", "scheduler", Word).called("the scheduler");
pub(super) const PADS: [Part; 3] = [
    part("_", "pad_m", Truth).called("pad_m"),
    part("_", "pad_n", Truth).called("pad_n"),
    part("_", "pad_k", Truth).called("pad_k"),
];
pub(super) const PERSISTENT: Part = part("_", "persistent", Truth).called("persistent");
pub(super) const SHAPES: [Part; 3] = [
    part("_", "tile_m", Joined(3)).called("the tile"),
    part("_", "wave_m", Joined(3)).called("the wave shape"),
    part("_", "warp_tile_m", Joined(3)).called("the warp tile"),
];
