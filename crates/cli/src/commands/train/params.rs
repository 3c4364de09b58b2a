//! `--params`: the parameters of the forests, and the settings of the training beside them.

use std::fmt::Display;

use ck_select::directory::Target;
use ck_select::vocab::UnknownWord;
use ck_select_train::{GroupBy, Params, Stop};

use super::super::{Params as Words, pair, whole, word};
use crate::error::CliError;

/// One of `--params`.
pub(super) struct Param<'a> {
    pub(super) text: &'a str,
    /// The forest that the parameter is for; `None` for all.
    pub(super) only: Option<Target>,
    pub(super) name: &'a str,
    pub(super) value: &'a str,
}

/// The parameters: first those of all forests, so that those of one forest override them wherever they stand.
pub(super) fn params(pairs: &[String]) -> Result<Vec<Param<'_>>, CliError> {
    let mut read: Vec<Param<'_>> = Vec::with_capacity(pairs.len());
    let refused = |error: &dyn Display| CliError::usage(format!("--params: {error}"));
    for text in pairs {
        let (name, value) = pair(text).map_err(|error| refused(&error))?;
        let (only, name) = match name.split_once('.') {
            Some((target, name)) => {
                (Some(target.parse().map_err(|error: UnknownWord| refused(&error))?), name)
            }
            None => (None, name),
        };
        let name = Params::name(name);
        if let Some(other) = read.iter().find(|other| (other.only, other.name) == (only, name)) {
            return Err(refused(&format_args!("'{}' and '{text}' set one parameter", other.text)));
        }
        read.push(Param { text, only, name, value });
    }
    read.sort_by_key(|param| param.only.is_some());
    Ok(read)
}

/// Settings of a training in `--params` besides the parameters of its forests.
pub(super) struct Settings {
    pub(super) seed: u64,
    pub(super) fold_seed: Option<u64>,
    /// Folds to train at the same time; 0: one per processor.
    pub(super) threads: usize,
    pub(super) stop: Option<Stop>,
    pub(super) group_by: Option<GroupBy>,
}

impl Settings {
    pub(super) const NAMES: [&str; 5] = ["seed", "fold_seed", "threads", "early_stopping", "group_by"];

    pub(super) fn read(words: &[String]) -> Result<Self, CliError> {
        let is_ours =
            |word: &&String| word.split_once('=').is_some_and(|(name, _)| Self::NAMES.contains(&name));
        let own: Vec<String> = words.iter().filter(is_ours).cloned().collect();
        let params = Words::read(&own, &Self::NAMES)?;
        Ok(Self {
            seed: params.get("seed", whole(0..=1_000_000_000))?.unwrap_or(42),
            fold_seed: params.get("fold_seed", whole(0..=u64::MAX))?,
            threads: params.get("threads", whole(0..=1 << 16))?.unwrap_or(0),
            stop: params.get("early_stopping", word)?,
            group_by: params.get("group_by", word)?,
        })
    }
}
