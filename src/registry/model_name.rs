//! Names of models. Selections refer to them and may outlive the model, so a name, once used, is kept for
//! good: a program has few, and loading one again adds none.

use std::ffi::{CStr, CString};
use std::sync::{Mutex, PoisonError};

static NAMES: boxcar::Vec<CString> = boxcar::Vec::new();

/// The name of a model that was loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ModelName(u32);

impl ModelName {
    pub(super) fn new(name: &str) -> Self {
        static NEW: Mutex<()> = Mutex::new(());
        let name: Vec<u8> = name.bytes().take_while(|&byte| byte != 0).collect();
        let _one_at_a_time = NEW.lock().unwrap_or_else(PoisonError::into_inner);
        let known = NAMES.iter().find(|(_, known)| known.as_bytes() == name.as_slice());
        let number =
            known.map_or_else(|| NAMES.push(CString::new(name).unwrap_or_default()), |(number, _)| number);
        Self(u32::try_from(number).unwrap_or(u32::MAX))
    }

    pub(super) fn as_c_str(self) -> &'static CStr {
        NAMES.get(self.0 as usize).map_or(c"", CString::as_c_str)
    }

    /// The name's number, counted from 1: 0 stands for no name.
    pub(super) const fn number(name: Option<Self>) -> u32 {
        match name {
            None => 0,
            Some(Self(number)) => number.saturating_add(1),
        }
    }

    pub(super) const fn from_number(number: u32) -> Option<Self> {
        match number.checked_sub(1) {
            None => None,
            Some(number) => Some(Self(number)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_once() {
        let name = ModelName::new("a model of this test");
        assert_eq!(name, ModelName::new("a model of this test"));
        assert_ne!(name, ModelName::new("another model of this test"));
        assert_eq!(name.as_c_str(), c"a model of this test");
        assert_eq!(ModelName::new("cut\0off").as_c_str(), c"cut");
        for kept in [None, Some(name)] {
            assert_eq!(ModelName::from_number(ModelName::number(kept)), kept);
        }
    }
}
