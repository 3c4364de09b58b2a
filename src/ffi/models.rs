//! Models of a registry.

use std::ffi::c_char;
use std::mem::offset_of;
use std::sync::Arc;

use super::error::{Failure, boundary};
use super::hardware::CkHardware;
use super::input::{
    Versioned, check_reserved, give, init_options, read_arch, read_array, read_handle, read_optional_struct,
    read_struct, read_structs, read_text, refused, word,
};
use super::{CkRegistry, CkStatus};
use crate::directory::{Model, Target};
use crate::embedded;
use crate::operation::Operation;
use crate::registry::{ModelKey, Registry};
use crate::vocab::{Direction, Dtype, Op};

/// What a forest predicts.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CkTarget {
    /// Trillions of operations per second.
    Tflops = 0,
    /// Milliseconds.
    Latency = 1,
    /// Gigabytes per second.
    Bandwidth = 2,
    /// Logarithm of the speed relative to the fastest kernel, to rank by.
    Relative = 3,
}

/// A LightGBM model in memory, plain or gzip.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CkForestBytes {
    /// `sizeof(ck_forest_bytes)`.
    pub struct_size: usize,
    /// A `ck_target`: what the forest predicts.
    pub target: i32,
    /// Must be 0.
    pub reserved: i32,
    /// The bytes.
    pub bytes: *const u8,
    /// Number of bytes.
    pub len: usize,
}

// SAFETY: `repr(C)`, begins with its size, and holds only integers and an address.
unsafe impl Versioned for CkForestBytes {
    const NAME: &'static str = "ck_forest_bytes";
    const LEAST: usize = size_of::<Self>();
}

/// Any direction, any type.
pub const CK_ANY: i32 = -1;

/// The problems that a model serves. A more specific key takes precedence.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CkModelKey {
    /// `sizeof(ck_model_key)`.
    pub struct_size: usize,
    /// A `ck_op`.
    pub op: i32,
    /// A `ck_direction`, or `CK_ANY`; `CK_ANY` unless `op` is `CK_OP_CONV`.
    pub direction: i32,
    /// A `ck_dtype`, of the input or of A, or `CK_ANY`.
    pub dtype: i32,
    /// Must be 0.
    pub reserved: i32,
    /// The architecture; NULL for any.
    pub arch: *const c_char,
}

// SAFETY: `repr(C)`, begins with its size, and holds only integers and an address.
unsafe impl Versioned for CkModelKey {
    const NAME: &'static str = "ck_model_key";
    const LEAST: usize = offset_of!(Self, arch);
}

/// Options of a model.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CkModelOptions {
    /// `sizeof(ck_model_options)`.
    pub struct_size: usize,
    /// The problems that the model serves; NULL for those that its spec names.
    pub key: *const CkModelKey,
    /// The hardware constants for its features, instead of those of its training: it then predicts for a GPU
    /// that it has never seen. NULL for the constants of its spec.
    pub hardware: *const CkHardware,
    /// Not 0: the model serves all problems of its operation, whatever its spec says. The quality of its
    /// predictions for other directions, types and architectures is unknown; selections there are
    /// `out_of_range`. Models that serve the problem without force take precedence. Must not be combined with
    /// `key`.
    pub force: i32,
    /// Must be 0.
    pub reserved: i32,
}

// SAFETY: `repr(C)`, begins with its size, and holds only numbers and addresses.
unsafe impl Versioned for CkModelOptions {
    const NAME: &'static str = "ck_model_options";
    const LEAST: usize = offset_of!(Self, hardware);
}

/// Initialises options with `struct_size` and the defaults.
///
/// # Safety
/// `options` points to a `ck_model_options`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_model_options_init(options: *mut CkModelOptions) -> CkStatus {
    // SAFETY: by contract, `options` is NULL or has room for a `ck_model_options`.
    boundary(|| unsafe { init_options(options) })
}

/// Loads a model directory: `feature_spec.json` with `model_tflops.lgbm` (or `.gz`, or `.packed`) and so on;
/// "embedded:NAME" is `ck_registry_load_embedded`. Without options the model serves the problems that its
/// spec names (operation, direction, dtype, architecture) and no others. It replaces a model that was loaded
/// for the same problems; concurrent selections use the old one until the new one is ready.
///
/// # Safety
/// `registry` is from `ck_registry_create`; `directory` is a NUL-terminated string; `options` is NULL or
/// points to a `ck_model_options` with its `struct_size` set, as are those of what it points to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_load_model(
    registry: *mut CkRegistry,
    directory: *const c_char,
    options: *const CkModelOptions,
) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `registry` is NULL or from `ck_registry_create`; `directory` is NULL or
        // NUL-terminated.
        let (registry, directory) = unsafe { (read_handle(registry)?, read_text(directory, "directory")?) };
        // SAFETY: by contract, `options` is NULL or a struct with its size set and valid pointers.
        let options = unsafe { read_model_options(options) }?;
        let model = embedded::open(directory).map_err(Failure::of(CkStatus::InvalidModel))?;
        set_model(registry, model, &options)
    })
}

/// Loads a model that is built into the library, with the options of `ck_registry_load_model`. Fails with
/// `CK_STATUS_NOT_FOUND` if there is no such model.
///
/// # Safety
/// As for `ck_registry_load_model`, with a name for the directory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_load_embedded(
    registry: *mut CkRegistry,
    name: *const c_char,
    options: *const CkModelOptions,
) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `registry` is NULL or from `ck_registry_create`; `name` is NULL or
        // NUL-terminated.
        let (registry, name) = unsafe { (read_handle(registry)?, read_text(name, "name")?) };
        // SAFETY: by contract, `options` is NULL or a struct with its size set and valid pointers.
        let options = unsafe { read_model_options(options) }?;
        let embedded = embedded::find(name).map_err(Failure::of(CkStatus::NotFound))?;
        let model = embedded.load().map_err(Failure::of(CkStatus::InvalidModel))?;
        set_model(registry, model, &options)
    })
}

/// Writes the name of the built-in model at an index.
///
/// # Safety
/// `name` points to a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_embedded_model_name(index: usize, name: *mut *const c_char) -> CkStatus {
    boundary(|| {
        let models = embedded::all();
        let model = models.get(index).ok_or_else(|| {
            let message = format!("no model at index {index}: {} models are built in", models.len());
            Failure::new(CkStatus::NotFound, message)
        })?;
        // SAFETY: by contract, `name` is NULL or valid for writing.
        unsafe { give(name, "name", model.c_name().as_ptr()) }
    })
}

/// The options of a model, read and checked.
#[derive(Default)]
struct Usage {
    key: Option<ModelKey>,
    hardware: Option<CkHardware>,
    force: bool,
}

/// # Safety
/// As for `ck_registry_load_model`.
unsafe fn read_model_options(options: *const CkModelOptions) -> Result<Usage, Failure> {
    // SAFETY: by contract, `options` is NULL or a struct with its size set.
    let Some(raw) = unsafe { read_optional_struct(options) }? else { return Ok(Usage::default()) };
    check_reserved("", raw.reserved)?;
    let force = raw.force != 0;
    if force && !raw.key.is_null() {
        let message =
            "force and key are given, expected one of them: a forced model is for all of its operation";
        return Err(Failure::new(CkStatus::InvalidArgument, message));
    }
    // SAFETY: by contract, `raw.key` is NULL or a struct with its size set and a valid `arch`.
    let key = if raw.key.is_null() { None } else { Some(unsafe { read_key(raw.key) }?) };
    // SAFETY: by contract, `raw.hardware` is NULL or a struct with its size set.
    let hardware = unsafe { read_optional_struct(raw.hardware) }?;
    Ok(Usage { key, hardware, force })
}

/// # Safety
/// `key` is NULL or points to a struct with its `struct_size` set; its `arch` is NULL or a NUL-terminated
/// string.
unsafe fn read_key(key: *const CkModelKey) -> Result<ModelKey, Failure> {
    // SAFETY: by contract, `key` is NULL or a struct with its size set.
    let raw = unsafe { read_struct(key) }?;
    check_reserved("", raw.reserved)?;
    let op = word("op", raw.op, Op::ALL, Op::WORDS)?;
    if !Operation::has_field(op, "direction") && raw.direction != CK_ANY {
        return Err(refused("direction", raw.direction, "CK_ANY (-1): only convolutions have one"));
    }
    let said = |number: i32| (number != CK_ANY).then_some(number);
    Ok(ModelKey {
        op,
        direction: said(raw.direction)
            .map(|number| word("direction", number, Direction::ALL, Direction::WORDS))
            .transpose()?,
        dtype: said(raw.dtype).map(|number| word("dtype", number, Dtype::ALL, Dtype::WORDS)).transpose()?,
        // SAFETY: by contract, `raw.arch` is NULL or NUL-terminated.
        arch: unsafe { read_arch(raw.arch, "arch") }?,
        // The model knows.
        library: None,
        chooses_split: false,
    })
}

fn set_model(registry: &Registry, mut model: Model, usage: &Usage) -> Result<(), Failure> {
    if let Some(key) = &usage.key
        && key.op != model.spec().op()
    {
        model = model.for_op(key.op).ok_or_else(|| {
            let message = format!("{} is a model of {}, not of {}", model.name(), model.spec().op(), key.op);
            Failure::new(CkStatus::InvalidArgument, message)
        })?;
    }
    if let Some(hardware) = &usage.hardware {
        model = model.with_hardware(hardware.hardware()?);
    }
    model
        .spec()
        .check_hardware()
        .map_err(|missing| Failure::new(CkStatus::InvalidModel, format!("{}: {missing}", model.name())))?;
    let key = usage.force.then(|| ModelKey::any(model.spec().op())).or(usage.key);
    let spec = model.spec();
    let key = key.map(|key| ModelKey {
        library: spec.library.filter(|_| !usage.force),
        chooses_split: usage.force || spec.compares_splits(),
        ..key
    });
    registry.set_model(Arc::new(model), key);
    Ok(())
}

/// Loads a model from memory, as `ck_registry_load_model` does; `name` is for messages.
///
/// # Safety
/// `registry` is from `ck_registry_create`; `name` is a NUL-terminated string; `spec` points to `spec_len`
/// bytes, `forests` to `forest_count` structs, each with its `struct_size` set and its bytes; `options` as
/// for `ck_registry_load_model`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_load_model_bytes(
    registry: *mut CkRegistry,
    name: *const c_char,
    spec: *const u8,
    spec_len: usize,
    forests: *const CkForestBytes,
    forest_count: usize,
    options: *const CkModelOptions,
) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `registry` is NULL or from `ck_registry_create`; `name` is NULL or
        // NUL-terminated.
        let (registry, name) = unsafe { (read_handle(registry)?, read_text(name, "name")?) };
        // SAFETY: by contract, `spec` has `spec_len` bytes.
        let spec = unsafe { read_array(spec, spec_len, "spec") }?;
        // SAFETY: by contract, `options` is NULL or a struct with its size set and valid pointers.
        let options = unsafe { read_model_options(options) }?;
        let mut parts = Vec::new();
        // SAFETY: by contract, `forests` has `forest_count` structs, each with its size set.
        let forests = unsafe { read_structs(forests, forest_count, "forests") }?;
        for index in 0..forests.len() {
            // SAFETY: `index` is in the array, which by contract lives for the call.
            let forest = unsafe { forests.read(index) }?;
            check_reserved("ck_forest_bytes.", forest.reserved)?;
            let target = word("target", forest.target, Target::ALL, Target::WORDS)?;
            // SAFETY: by contract, `forest.bytes` has `forest.len` bytes.
            parts.push((target, unsafe { read_array(forest.bytes, forest.len, "bytes of a forest") }?));
        }
        let model = Model::from_bytes(name, spec, &parts).map_err(Failure::of(CkStatus::InvalidModel))?;
        set_model(registry, model, &options)
    })
}

/// Removes the model that was loaded for these problems; `CK_STATUS_NOT_FOUND` if there is none.
///
/// # Safety
/// `registry` is from `ck_registry_create`; `key` points to a `ck_model_key` with its `struct_size` set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_remove_model(
    registry: *mut CkRegistry,
    key: *const CkModelKey,
) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `registry` is NULL or from `ck_registry_create`; `key` is NULL or a struct
        // with its size set and a valid `arch`.
        let (registry, key) = unsafe { (read_handle(registry)?, read_key(key)?) };
        if registry.remove_model(&key) {
            return Ok(());
        }
        Err(Failure::new(CkStatus::NotFound, format_args!("no model is loaded for {key}")))
    })
}

/// Removes all loaded models. Built-in models enabled by `embedded_models` stay available.
///
/// # Safety
/// `registry` is from `ck_registry_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_remove_models(registry: *mut CkRegistry) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `registry` is NULL or from `ck_registry_create`.
        let registry = unsafe { read_handle(registry) }?;
        for key in registry.model_keys() {
            registry.remove_model(&key);
        }
        Ok(())
    })
}

/// Prepares the models for the current kernels. Otherwise the first two selections of a new registry do. From
/// then on, calls that change kernels prepare them before selections see the change; but after many changes
/// without a selection between them, as when a pool is loaded, the next selection does, or this function.
///
/// # Safety
/// `registry` is from `ck_registry_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_prepare(registry: *mut CkRegistry) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `registry` is NULL or from `ck_registry_create`.
        unsafe { read_handle(registry) }?.prepare();
        Ok(())
    })
}
