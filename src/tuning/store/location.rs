//! The location of the store.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::StoreError;
use crate::environment;

/// The location of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// Nowhere: the store is switched off.
    Off,
    /// The store is this file.
    File(PathBuf),
}

impl Location {
    /// The environment variable with the location of the store; `off` switches it off.
    pub const VARIABLE: &str = "CK_SELECT_STORE";

    /// Decides from an option and from the values of environment variables: the option, otherwise
    /// `CK_SELECT_STORE`, otherwise `$XDG_CACHE_HOME/ck-select/winners.jsonl`, otherwise
    /// `$HOME/.cache/ck-select/winners.jsonl`.
    ///
    /// The word `off`, as option or as value, switches the store off. Empty values count as unset, and so
    /// does a relative `XDG_CACHE_HOME`, as its specification requires.
    ///
    /// ```
    /// use ck_select::tuning::store::Location;
    ///
    /// let environment = |name: &str| (name == "HOME").then(|| "/home/ada".into());
    /// let location = Location::resolve(None, environment)?;
    /// assert_eq!(location, Location::File("/home/ada/.cache/ck-select/winners.jsonl".into()));
    /// assert_eq!(Location::resolve(Some("off".as_ref()), environment)?, Location::Off);
    /// # Ok::<(), ck_select::tuning::store::StoreError>(())
    /// ```
    pub fn resolve(
        option: Option<&Path>,
        environment: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, StoreError> {
        let path = |name| environment(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let given = option.map(Path::to_owned).filter(|path| !path.as_os_str().is_empty());
        if let Some(path) = given.or_else(|| path(Self::VARIABLE)) {
            let is_off = path.as_os_str().eq_ignore_ascii_case("off");
            return Ok(if is_off { Self::Off } else { Self::File(path) });
        }
        let cache = path("XDG_CACHE_HOME").filter(|path| path.is_absolute());
        let cache = cache.or_else(|| path("HOME").map(|home| home.join(".cache")));
        Ok(Self::File(cache.ok_or(StoreError::NoPath)?.join("ck-select/winners.jsonl")))
    }

    /// [`Location::resolve`] with the variables of this process.
    pub fn from_environment(option: Option<&Path>) -> Result<Self, StoreError> {
        Self::resolve(option, environment::variable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(option: Option<&str>, variables: &[(&str, &str)]) -> Result<Location, StoreError> {
        Location::resolve(option.map(Path::new), |name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
        })
    }

    fn file(path: &str) -> Location {
        Location::File(path.into())
    }

    #[test]
    fn the_option_comes_first_then_the_variables() {
        let all = [("CK_SELECT_STORE", "/s.db"), ("XDG_CACHE_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(resolved(Some("/o.db"), &all), Ok(file("/o.db")));
        assert_eq!(resolved(None, &all), Ok(file("/s.db")));
        assert_eq!(resolved(None, &all[1..]), Ok(file("/x/ck-select/winners.jsonl")));
        assert_eq!(resolved(None, &all[2..]), Ok(file("/h/.cache/ck-select/winners.jsonl")));
        assert_eq!(resolved(None, &[]), Err(StoreError::NoPath));
    }

    #[test]
    fn off_switches_it_off_and_empty_is_unset() {
        assert_eq!(resolved(Some("off"), &[("CK_SELECT_STORE", "/s.db")]), Ok(Location::Off));
        assert_eq!(resolved(None, &[("CK_SELECT_STORE", "off")]), Ok(Location::Off));
        assert_eq!(resolved(Some("./off"), &[]), Ok(file("./off")));
        let empty = [("CK_SELECT_STORE", ""), ("XDG_CACHE_HOME", ""), ("HOME", "/h")];
        assert_eq!(resolved(Some(""), &empty), Ok(file("/h/.cache/ck-select/winners.jsonl")));
        let relative = [("XDG_CACHE_HOME", "cache"), ("HOME", "/h")];
        assert_eq!(resolved(None, &relative), Ok(file("/h/.cache/ck-select/winners.jsonl")));
    }
}
