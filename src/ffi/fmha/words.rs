//! The words of attention in C.

use std::ffi::{CStr, c_char};

use crate::ffi::error::Failure;
use crate::ffi::input::{self, read_text};
use crate::ffi::mirror::{AsC, FromC, Member, Spelled, arrays, numbered, parsed, spelled};
use crate::kernel::FmhaTile;
use crate::vocab::{
    FmhaApi, FmhaBias, FmhaFamily, FmhaKvLayout, FmhaKvLookup, FmhaMask, FmhaMode, FmhaPipeline, FmhaQscale,
    FmhaRope,
};

numbered! {
    FmhaApi = "A `ck_fmha_api`.";
    FmhaFamily = "A `ck_fmha_family`.";
    FmhaMode = "";
    FmhaMask = "";
    FmhaBias = "";
    FmhaQscale = "";
    FmhaRope = "";
    FmhaKvLayout = "";
    FmhaKvLookup = "";
}

spelled! { FmhaPipeline = Some(Self::Qr); }

arrays! {
    FmhaTile as [u16; 6], "", |tile| tile.numbers(), |numbers| numbers.into();
}
