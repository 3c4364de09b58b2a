//! The names of attention kernels, and how a name's grammar is recognized.

use super::body::{blank_kernel, types};
use super::{FmhaKernel, ck_name, config_name, identifier};
use crate::scan::{NameError, Scan};
use crate::vocab::FmhaFamily;

impl FmhaKernel {
    /// The beginning of every name.
    pub(crate) const NAME_PREFIX: &str = "fmha_";

    /// Reads a kernel's name in any of the grammars that say what it is.
    ///
    /// | after `fmha_` | grammar |
    /// |---|---|
    /// | family, dtype, mode, `vr` or `vc` | `identifier.rs`: the registry's key |
    /// | family, dtype, mode, `h…`, and a tile | `config_name.rs`: library files and tables |
    /// | `fwd_d` and a number | `ck_name.rs`: CK's example and the libraries made by it |
    ///
    /// The generator's names, which end in a hash, and the names of declarations contain too little: both are
    /// refused with that reason.
    pub fn parse_name(name: &str) -> Result<Self, NameError> {
        let scan = &mut Scan::whole(name)?;
        if !scan.eat(Self::NAME_PREFIX) {
            return Err(scan.fail("expected 'fmha_'"));
        }
        let family = scan.word(FmhaFamily::WORDS)?;
        if matches!(family, FmhaFamily::Fwd | FmhaFamily::BatchPrefill)
            && let Some(size) = scan.rest().strip_prefix("_d")
            && size.starts_with(|c: char| c.is_ascii_digit())
        {
            return ck_name::parse(scan, family);
        }
        let (dtype, mode) = types(scan)?;
        let rest = scan.rest();
        if rest.starts_with("_vr_") || rest.starts_with("_vc_") {
            return identifier::parse(scan, &blank_kernel(family, dtype, mode));
        }
        if rest.starts_with("_dq") {
            return Err(scan.fail(
                "the name of a declaration, which omits tile and flags; expected the registry's identifier",
            ));
        }
        let last = rest.rsplit('_').next().unwrap_or_default();
        let is_hash = last.len() == 12 && last.bytes().all(|byte| byte.is_ascii_hexdigit());
        if rest.starts_with("_h") && is_hash && !rest.contains('=') {
            return Err(scan.fail(
                "a generated name, whose hash cannot be read back; expected the registry's identifier or the \
                 configuration's name",
            ));
        }
        if rest.starts_with("_h") {
            return config_name::parse(scan, blank_kernel(family, dtype, mode));
        }
        let expected = "'vr', 'vc' or 'h' and the head size";
        scan.separator(expected)?;
        Err(scan.fail(format!("found '{}', expected {expected}", scan.token())))
    }
}
