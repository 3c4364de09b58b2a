//! Models of a registry.

use std::ffi::c_char;
use std::sync::Arc;

use super::error::{Failure, boundary};
use super::input::{Versioned, read_array, read_bytes, read_registry, read_struct, read_text};
use super::words::word;
use super::{CkRegistry, CkStatus};
use crate::model::{Model, Target};

/// What a forest predicts.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CkTarget {
    /// Trillions of operations a second.
    Tflops = 0,
    /// Milliseconds.
    Latency = 1,
    /// Gigabytes a second.
    Bandwidth = 2,
    /// Speed relative to the problem's fastest kernel, as a logarithm: it only ranks.
    Relative = 3,
}

/// A LightGBM model in memory, plain or gzip.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CkForestBytes {
    /// `sizeof(ck_forest_bytes)`.
    pub struct_size: usize,
    /// A `ck_target`: what it predicts.
    pub target: i32,
    /// Must be 0.
    pub reserved: i32,
    /// The bytes. Borrowed for the call.
    pub bytes: *const u8,
    /// How many there are.
    pub len: usize,
}

// SAFETY: `repr(C)`, begins with its size, and holds only integers and an address.
unsafe impl Versioned for CkForestBytes {
    const NAME: &'static str = "ck_forest_bytes";
}

/// Loads a model directory: `feature_spec.json` with `model_tflops.lgbm` (or `.lgbm.gz`) and so on. It is used for the
/// problems that its spec names (operation, direction, dtype, architecture); a model that was loaded for the same ones
/// is replaced. Threads that select meanwhile use the old one until the new one is ready.
///
/// # Safety
/// `registry` is from `ck_registry_create`; `directory` is a NUL-terminated text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_load_model(
    registry: *mut CkRegistry,
    directory: *const c_char,
) -> CkStatus {
    boundary(|| {
        // SAFETY: the caller's contract.
        let (registry, directory) = unsafe { (read_registry(registry)?, read_text(directory, "directory")?) };
        let model = Model::load(directory).map_err(Failure::of(CkStatus::InvalidModel))?;
        registry.set_model(Arc::new(model), None);
        Ok(())
    })
}

/// Loads a model from memory. `name` is what messages call it.
///
/// # Safety
/// `registry` is from `ck_registry_create`; `name` is a NUL-terminated text; `spec` points to `spec_len` bytes,
/// `forests` to `forest_count` structs, each with its `struct_size` set and its bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_load_model_bytes(
    registry: *mut CkRegistry,
    name: *const c_char,
    spec: *const u8,
    spec_len: usize,
    forests: *const CkForestBytes,
    forest_count: usize,
) -> CkStatus {
    boundary(|| {
        // SAFETY: the caller's contract.
        let (registry, name) = unsafe { (read_registry(registry)?, read_text(name, "name")?) };
        // SAFETY: the caller's contract.
        let spec = unsafe { read_bytes(spec, spec_len, "spec") }?;
        let mut parts = Vec::new();
        // SAFETY: the caller's contract.
        for forest in unsafe { read_array(forests, forest_count, "forests") }? {
            // SAFETY: the caller's contract.
            let forest = unsafe { read_struct(&raw const *forest) }?;
            let target = word("target", forest.target, &Target::ALL, Target::WORDS)?;
            // SAFETY: the caller's contract.
            parts.push((target, unsafe { read_bytes(forest.bytes, forest.len, "bytes of a forest") }?));
        }
        let model = Model::from_bytes(name, spec, &parts).map_err(Failure::of(CkStatus::InvalidModel))?;
        registry.set_model(Arc::new(model), None);
        Ok(())
    })
}

/// Removes all models.
///
/// # Safety
/// `registry` is from `ck_registry_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_remove_models(registry: *mut CkRegistry) -> CkStatus {
    boundary(|| {
        // SAFETY: the caller's contract.
        let registry = unsafe { read_registry(registry) }?;
        for key in registry.model_keys() {
            registry.remove_model(&key);
        }
        Ok(())
    })
}

/// Prepares the models for the present kernels now. Without it, the first selection after a change takes the time.
///
/// # Safety
/// `registry` is from `ck_registry_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_prepare(registry: *mut CkRegistry) -> CkStatus {
    boundary(|| {
        // SAFETY: the caller's contract.
        unsafe { read_registry(registry) }?.prepare();
        Ok(())
    })
}
