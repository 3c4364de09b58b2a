//! What can be wrong with a call.

use ck_select_model::directory::ModelError;
use ck_select_model::forest::{ForestError, RowError};

/// A call that cannot be answered. The text is what the caller reads.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{0} is NULL")]
    Null(&'static str),
    #[error("{name} is {value}, expected {expected}")]
    Argument { name: &'static str, value: i32, expected: &'static str },
    #[error("{name}={value}: {expected}")]
    Parameter { name: &'static str, value: String, expected: &'static str },
    #[error("the handle is not one of this library's")]
    NotAHandle,
    #[error("the handle was already freed")]
    Freed,
    #[error("more than {most} models are loaded at once")]
    TooManyModels { most: usize },
    #[error("{0} is larger than the address space")]
    TooLarge(&'static str),
    #[error(
        "the data has {found} features, the model has {expected}; with the parameter \
         predict_disable_shape_check=true missing ones are 0 and others are ignored"
    )]
    Shape { found: usize, expected: usize },
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Forest(#[from] ForestError),
    #[error(transparent)]
    Row(#[from] RowError),
}

/// The pointer, unless it is NULL.
pub(crate) fn not_null<T>(name: &'static str, pointer: *mut T) -> Result<*mut T, Error> {
    if pointer.is_null() { Err(Error::Null(name)) } else { Ok(pointer) }
}
