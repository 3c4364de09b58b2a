//! The C interface called as C calls it, in steps that Miri can follow (`make miri-ffi`). What needs a
//! HIP runtime, which is C, is left to tests/c, and so are arguments that are refused before they are used.

use std::ffi::{CStr, c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::last_error;
use crate::ffi::*;
use crate::forest::text_head;
use crate::kernel::Kernel;
use crate::problem::Problem;
use crate::registry::{Hooks, Priority, UserData};
use crate::vocab::Op;

const NAMES: [&CStr; 3] = [
    c"grouped_conv_forward_bf16_2d_64x64x64_compv3",
    c"grouped_conv_forward_bf16_2d_64x128x64_compv4",
    c"fp8_rcr_mem_default_interwave_False_False_False_True_64x64x128_1x4x1_16x16x64",
];

/// One split on a feature of the kernel.
const SPEC: &[u8] = br#"{"op_type": "grouped_conv", "feature_names": ["tile_mn"]}"#;

fn forest(feature: &str) -> String {
    text_head(&[feature])
        + "Tree=0\nnum_leaves=2\nnum_cat=0\nsplit_feature=0\nthreshold=4096\ndecision_type=2\nleft_child=-1\n\
           right_child=-2\nleaf_value=100 250\n\nend of trees\n"
}

fn bytes_of(forest: &str) -> CkForestBytes {
    CkForestBytes { bytes: forest.as_ptr(), len: forest.len(), ..sized() }
}

/// A registry that is destroyed.
struct Owned(*mut CkRegistry);

impl Owned {
    fn new() -> Self {
        let options = quiet();
        let mut registry = null_mut();
        // SAFETY: the struct and the address are this function's.
        assert_eq!(unsafe { ck_registry_create(&raw const options, &raw mut registry) }, CkStatus::Ok);
        Self(registry)
    }

    fn filled() -> Self {
        let registry = Self::new();
        let names = NAMES.map(CStr::as_ptr);
        // SAFETY: as many names as are counted.
        let status = unsafe { ck_registry_add_kernels(registry.0, names.as_ptr(), null(), names.len()) };
        assert_eq!(status, CkStatus::Ok);
        registry
    }

    fn load(&self, spec: &[u8], forest: &CkForestBytes) -> CkStatus {
        let (spec, len) = (spec.as_ptr(), spec.len());
        // SAFETY: the bytes are as many as are counted.
        unsafe { ck_registry_load_model_bytes(self.0, c"mine".as_ptr(), spec, len, forest, 1, null()) }
    }

    fn load_model(&self) {
        assert_eq!(self.load(SPEC, &bytes_of(&forest("tile_mn"))), CkStatus::Ok, "{}", last_error());
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: made by `ck_registry_create` and used no more.
        unsafe { ck_registry_destroy(self.0) };
    }
}

/// All bytes 0 but for the size, as C begins a struct.
fn sized<T: crate::ffi::input::Versioned>() -> T {
    let mut value = MaybeUninit::<T>::zeroed();
    // SAFETY: such a struct begins with its size, and every bit pattern is a value of it.
    unsafe {
        value.as_mut_ptr().cast::<usize>().write(size_of::<T>());
        value.assume_init()
    }
}

/// A struct as its init function leaves it.
fn usual<T>(init: unsafe extern "C" fn(*mut T) -> CkStatus) -> T {
    let mut value = MaybeUninit::uninit();
    // SAFETY: there is room for one.
    assert_eq!(unsafe { init(value.as_mut_ptr()) }, CkStatus::Ok);
    // SAFETY: written by the call.
    unsafe { value.assume_init() }
}

fn quiet() -> CkOptions {
    CkOptions { ignore_environment: 1, ..sized() }
}

fn resnet() -> CkConvProblem {
    let mut problem = usual(ck_conv_problem_init);
    (problem.n, problem.c, problem.k) = (16, 256, 128);
    problem
}

fn select(registry: &Owned, problem: &CkConvProblem) -> Result<CkSelection, CkStatus> {
    let mut selection = sized::<CkSelection>();
    // SAFETY: the structs are this function's.
    match unsafe { ck_registry_select_conv(registry.0, problem, &raw mut selection) } {
        CkStatus::Ok => Ok(selection),
        status => Err(status),
    }
}

#[test]
fn descriptors_and_misaligned_structs_are_read() {
    let registry = Owned::new();
    let mut desc = usual(ck_conv_kernel_desc_init);
    desc.name = c"mine".as_ptr();
    // SAFETY: one descriptor, without hooks.
    let add = |desc: &CkConvKernelDesc| unsafe { ck_registry_add_conv_kernels(registry.0, desc, null(), 1) };
    assert_eq!(add(&desc), CkStatus::Ok, "{}", last_error());
    assert_eq!(add(&desc), CkStatus::AlreadyRegistered);
    // A word that is not known has no place in a name.
    (desc.name, desc.pipeline) = (null(), c"of my own".as_ptr());
    assert_eq!(add(&desc), CkStatus::InvalidKernel);
    assert!(last_error().starts_with("pipeline: unknown pipeline 'of my own', "), "{}", last_error());

    // One byte off: a problem is read as it stands, an array is refused.
    let problem = resnet();
    let mut room = [0u8; size_of::<CkConvProblem>() + 8];
    #[allow(clippy::cast_ptr_alignment, reason = "an address that no struct may have is the test")]
    let odd = room[1..].as_mut_ptr().cast::<CkConvProblem>();
    // SAFETY: the bytes have room for one at the address.
    unsafe { odd.write_unaligned(problem) };
    let mut selection = sized::<CkSelection>();
    // SAFETY: a struct with its size, if misaligned.
    let status = unsafe { ck_registry_select_conv(registry.0, odd, &raw mut selection) };
    assert_eq!(status, CkStatus::Ok, "{}", last_error());
    // SAFETY: refused before it is read.
    let status = unsafe { ck_registry_add_conv_kernels(registry.0, odd.cast(), null(), 1) };
    assert_eq!(status, CkStatus::InvalidArgument);
}

/// CK adds words with each version. Such kernels were refused, and a program that had only these found none.
#[test]
fn kernels_with_newer_words_come_after_those_that_are_ranked() {
    type SetWord = fn(&mut CkConvKernelDesc, *const c_char);
    let registry = Owned::new();
    let mut desc = usual(ck_conv_kernel_desc_init);
    let hooks = CkKernelHooks { priority: 2, ..sized() };
    let words: [(&CStr, SetWord); 5] = [
        (c"compv7", |desc, word| desc.pipeline = word),
        (c"fancy", |desc, word| desc.scheduler = word),
        (c"tdm_of_2030", |desc, word| desc.epilogue = word),
        (c"filter5x5", |desc, word| desc.specialization = word),
        (c"ring", |desc, word| desc.stream_k.reduction = word),
    ];
    for (word, set) in words {
        let mut desc = desc;
        desc.name = word.as_ptr();
        set(&mut desc, word.as_ptr());
        // SAFETY: one descriptor with its hooks.
        let status =
            unsafe { ck_registry_add_conv_kernels(registry.0, &raw const desc, &raw const hooks, 1) };
        assert_eq!(status, CkStatus::Ok, "{}", last_error());
    }
    let problem = CkConvProblem { arch: c"gfx950".as_ptr(), ..resnet() };
    let selection = select(&registry, &problem).unwrap();
    assert_eq!((selection.source, selection.index, selection.unmeasured), (CkSource::Priority as i32, 0, 1));
    // One that is known is ranked before them, by the estimate and by a model, whatever their priority.
    desc.name = c"known".as_ptr();
    // SAFETY: one descriptor without hooks.
    let status = unsafe { ck_registry_add_conv_kernels(registry.0, &raw const desc, null(), 1) };
    assert_eq!(status, CkStatus::Ok);
    for source in [CkSource::Estimate, CkSource::Model] {
        let selection = select(&registry, &problem).unwrap();
        assert_eq!((selection.source, selection.index, selection.unmeasured), (source as i32, 5, 0));
        registry.load_model();
    }
    let (mut count, mut left_out, mut ranked) = (0, 0, sized::<CkRanked>());
    let mut text: *mut c_char = null_mut();
    // SAFETY: the addresses are this function's; the text is freed once.
    unsafe {
        let (count, left_out) = (&raw mut count, &raw mut left_out);
        let status =
            ck_registry_rank_conv(registry.0, &raw const problem, 1, &raw mut ranked, count, left_out);
        assert_eq!(status, CkStatus::Ok, "{}", last_error());
        assert_eq!(ck_registry_explain_conv(registry.0, &raw const problem, &raw mut text), CkStatus::Ok);
        let explained = CStr::from_ptr(text).to_str().unwrap();
        assert!(
            explained.contains("after those that are ranked: compv7: unknown pipeline 'compv7', "),
            "{explained}"
        );
        ck_string_free(text);
    }
    assert_eq!((count, left_out, ranked.index), (1, 5, 5));
}

#[test]
fn a_model_ranks_and_says_why() {
    let registry = Owned::filled();
    let problem = resnet();
    assert_eq!(select(&registry, &problem).unwrap().source, CkSource::Priority as i32);
    registry.load_model();
    let selection = select(&registry, &problem).unwrap();
    assert_eq!((selection.index, selection.score, selection.source), (1, 250.0, CkSource::Model as i32));
    // From memory.
    assert_eq!(select(&registry, &problem).unwrap().index, 1);

    let mut ranked = [const { MaybeUninit::<CkRanked>::uninit() }; 4];
    // SAFETY: the size is the first field, and the rest stays unread.
    unsafe { ranked[0].as_mut_ptr().cast::<usize>().write(size_of::<CkRanked>()) };
    let mut count = 0;
    let first = ranked.as_mut_ptr().cast();
    // SAFETY: the array has so much room, of which as much as there are kernels is written.
    unsafe {
        assert_eq!(
            ck_registry_rank_conv(registry.0, &raw const problem, 4, first, &raw mut count, null_mut()),
            CkStatus::Ok
        );
        assert_eq!(
            (count, ranked[0].assume_init_ref().score, ranked[1].assume_init_ref().index),
            (2, 250.0, 0)
        );
    }
    let mut features = [0.0; 1];
    let mut predictions = sized::<CkPredictions>();
    let mut text: *mut c_char = null_mut();
    let at = features.as_mut_ptr();
    // SAFETY: the addresses are this function's; the text is freed once.
    unsafe {
        let status = ck_registry_extract_conv(registry.0, &raw const problem, 1, 1, at, &raw mut count);
        assert_eq!((status, features[0]), (CkStatus::Ok, 8192.0));
        let status = ck_registry_predict_conv(registry.0, &raw const problem, 1, &raw mut predictions);
        assert_eq!((status, predictions.tflops), (CkStatus::Ok, 250.0));
        assert_eq!(ck_registry_explain_conv(registry.0, &raw const problem, &raw mut text), CkStatus::Ok);
        assert!(CStr::from_ptr(text).to_str().unwrap().contains("score 250"));
        ck_string_free(text);
        assert_eq!(ck_registry_remove_models(registry.0), CkStatus::Ok);
    }
    assert_eq!(select(&registry, &problem).unwrap().source, CkSource::Priority as i32);
}

/// Counts how often it is asked, and says no the first time.
unsafe extern "C" fn second_time(problem: *const CkConvProblem, user: *mut c_void) -> i32 {
    // SAFETY: the library's promise: a problem for the call, and this test's counter.
    unsafe {
        assert_eq!((*problem).struct_size, size_of::<CkConvProblem>());
        let count = user.cast::<i32>();
        *count += 1;
        i32::from(*count > 1)
    }
}

#[test]
fn hooks_get_their_owners_address_back() {
    let mut count = 0;
    let user: *mut i32 = &raw mut count;
    let registry = Owned::new();
    let hooks = CkKernelHooks { user: user.cast(), supports_conv: Some(second_time), ..sized() };
    // SAFETY: the callback stays callable with its counter.
    let status = unsafe { ck_registry_add_kernel(registry.0, NAMES[0].as_ptr(), &raw const hooks) };
    assert_eq!(status, CkStatus::Ok);
    let problem = resnet();
    assert_eq!(select(&registry, &problem).unwrap_err(), CkStatus::NoKernel);
    assert_eq!(select(&registry, &problem).unwrap().user, user.cast());
    // SAFETY: nobody else reads or writes it now.
    assert_eq!(unsafe { *user }, 2);
}

/// An owner in Rust that panics when it is asked for the first time.
struct Panics(std::sync::atomic::AtomicBool);

impl Hooks for Panics {
    fn supports(&self, _: &Problem) -> bool {
        assert!(self.0.swap(true, std::sync::atomic::Ordering::Relaxed), "on purpose");
        true
    }
}

#[test]
fn a_panic_in_a_selection_is_a_status_and_the_registry_stays_usable() {
    let registry = Owned::new();
    let kernel = Kernel::from_name(NAMES[0].to_str().unwrap()).unwrap();
    // SAFETY: made by `ck_registry_create`, and destroyed later.
    let inside = unsafe { crate::ffi::input::read_handle(registry.0) }.unwrap();
    let hooks = Box::new(Panics(false.into()));
    inside.add(kernel, Priority::NORMAL, UserData::default(), Some(hooks)).unwrap();
    let problem = resnet();
    assert_eq!(select(&registry, &problem).unwrap_err(), CkStatus::Panic);
    assert_eq!(last_error(), "panic: on purpose");
    assert_eq!(select(&registry, &problem).unwrap().index, 0);
    // SAFETY: a registry and a text.
    let status = unsafe { ck_registry_add_kernel(registry.0, NAMES[1].as_ptr(), null()) };
    assert_eq!(status, CkStatus::Ok, "writers take their turn, too");
}

/// Takes the first kernel only.
unsafe extern "C" fn first_only(_: *const c_char, hooks: *mut CkKernelHooks, user: *mut c_void) -> i32 {
    // SAFETY: the library's promise: hooks to fill, and this test's counter.
    unsafe {
        (*hooks).priority = 5;
        let count = user.cast::<i32>();
        *count += 1;
        i32::from(*count == 1)
    }
}

#[test]
fn exports_come_back_with_hooks() {
    let registry = Owned::filled();
    let mut text: *mut c_char = null_mut();
    let op = Op::Conv as i32;
    let copy = Owned::new();
    let mut count = 0i32;
    let mut info = sized::<CkKernelInfo>();
    // SAFETY: the text is read before it is freed; the callback gets its counter.
    unsafe {
        assert_eq!(ck_registry_export_json(registry.0, op, null(), &raw mut text), CkStatus::Ok);
        let json = CStr::from_ptr(text).to_bytes();
        let user = (&raw mut count).cast();
        let status = ck_registry_import_json(copy.0, json.as_ptr(), json.len(), Some(first_only), user);
        assert_eq!((status, count), (CkStatus::Ok, 2));
        ck_string_free(text);
        assert_eq!(ck_registry_kernel_at(copy.0, 0, &raw mut info), CkStatus::Ok);
        assert_eq!(ck_registry_kernel_at(copy.0, 1, &raw mut info), CkStatus::NotFound);
    }
    assert_eq!(info.priority, 5);
}

#[test]
fn threads_share_a_registry() {
    struct Shared(*mut CkRegistry);
    // SAFETY: registries are made to be shared.
    unsafe impl Sync for Shared {}

    let registry = Owned::filled();
    registry.load_model();
    let shared = Shared(registry.0);
    let shared = &shared;
    std::thread::scope(|scope| {
        for thread in 0..2 {
            scope.spawn(move || {
                let mut problem = resnet();
                problem.n = thread + 1;
                for _ in 0..4 {
                    let mut selection = sized::<CkSelection>();
                    // SAFETY: the registry outlives the scope.
                    let status =
                        unsafe { ck_registry_select_conv(shared.0, &raw const problem, &raw mut selection) };
                    assert_eq!(status, CkStatus::Ok);
                }
            });
        }
        for _ in 0..2 {
            // SAFETY: as above.
            unsafe {
                assert_eq!(ck_registry_remove_kernel(shared.0, NAMES[1].as_ptr()), CkStatus::Ok);
                assert_eq!(ck_registry_add_kernel(shared.0, NAMES[1].as_ptr(), null()), CkStatus::Ok);
            }
        }
    });
}

/// Messages about numbers that no field holds began with 0 whatever the field accepts.
#[test]
fn numbers_that_no_field_holds_are_told_its_bounds() {
    let registry = Owned::new();
    let mut desc = usual(ck_fmha_kernel_desc_init);
    desc.warp_tile[8] = -1;
    // SAFETY: one descriptor, without hooks.
    let status = unsafe { ck_registry_add_fmha_kernels(registry.0, &raw const desc, null(), 1) };
    let expected = "warp_tile is -1, expected 0 to 65535".to_owned();
    assert_eq!((status, last_error()), (CkStatus::InvalidKernel, expected));
    let mut desc = usual(ck_gemm_kernel_desc_init);
    desc.variant.block_per_cu = -1;
    // SAFETY: as above.
    let status = unsafe { ck_registry_add_gemm_kernels(registry.0, &raw const desc, null(), 1) };
    assert_eq!(
        (status, last_error().as_str()),
        (CkStatus::InvalidKernel, "block_per_cu is -1, expected 1 to 255")
    );
    let mut problem = resnet();
    problem.ndim = 300;
    assert_eq!(select(&registry, &problem).unwrap_err(), CkStatus::InvalidProblem);
    assert_eq!(last_error(), "ndim is 300, expected 1 to 3");
}

#[test]
fn every_function_refuses_an_invalid_problem_alike() {
    let registry = Owned::filled();
    let mut problem = resnet();
    problem.n = 0;
    assert_eq!(select(&registry, &problem).unwrap_err(), CkStatus::InvalidProblem);
    let selecting = last_error();
    assert!(selecting.starts_with("N: found 0"), "{selecting}");
    let mut count = 0;
    // SAFETY: a registry, a problem and a number, all of which live for the call.
    let status = unsafe {
        ck_registry_rank_conv(registry.0, &raw const problem, 0, null_mut(), &raw mut count, null_mut())
    };
    assert_eq!((status, last_error()), (CkStatus::InvalidProblem, selecting));
}

unsafe extern "C" fn count_down(context: *mut c_void) {
    // SAFETY: the test passes an atomic that outlives the registry.
    unsafe { &*context.cast::<AtomicUsize>() }.fetch_sub(1, Ordering::Relaxed);
}

#[test]
fn a_name_stays_where_it_is_and_what_is_replaced_is_released() {
    let registry = Owned::filled();
    let mut info = sized::<CkKernelInfo>();
    let kept = AtomicUsize::new(0);
    let hooks = CkKernelHooks {
        priority: 3,
        context: (&raw const kept).cast_mut().cast(),
        release: Some(count_down),
        ..sized()
    };
    let mut names = Vec::new();
    for hooks in [&raw const hooks, &raw const hooks, null(), null(), &raw const hooks] {
        kept.fetch_add(usize::from(!hooks.is_null()), Ordering::Relaxed);
        // SAFETY: the registry is alive, the structs are this function's.
        unsafe {
            assert_eq!(ck_registry_remove_kernel(registry.0, NAMES[1].as_ptr()), CkStatus::Ok);
            assert_eq!(ck_registry_add_kernel(registry.0, NAMES[1].as_ptr(), hooks), CkStatus::Ok);
            let status = ck_registry_find(registry.0, NAMES[1].as_ptr(), &raw mut info);
            assert_eq!((status, info.index, info.user), (CkStatus::Ok, 2, null_mut()));
        }
        names.push(info.name);
    }
    assert!(names.iter().all(|name| *name == names[0]));
    let mut size = 0;
    // SAFETY: the registry is alive, the address is this function's.
    assert_eq!(unsafe { ck_registry_size(registry.0, &raw mut size) }, CkStatus::Ok);
    assert_eq!(size, NAMES.len());
    // No state was made for those between.
    assert_eq!(kept.load(Ordering::Relaxed), 1);
    // SAFETY: names live as long as the registry.
    assert_eq!(unsafe { CStr::from_ptr(names[0]) }, NAMES[1]);
    drop(registry);
    assert_eq!(kept.load(Ordering::Relaxed), 0);
}

/// Everything but the size is memory that nobody has written.
#[test]
fn outputs_need_only_their_size() {
    let registry = Owned::filled();
    registry.load_model();
    let problem = resnet();
    let mut selection = MaybeUninit::<CkSelection>::uninit();
    let mut info = MaybeUninit::<CkKernelInfo>::uninit();
    let mut predictions = MaybeUninit::<CkPredictions>::uninit();
    // SAFETY: the first field of each is its size; what a call writes is read after it.
    unsafe {
        selection.as_mut_ptr().cast::<usize>().write(size_of::<CkSelection>());
        info.as_mut_ptr().cast::<usize>().write(size_of::<CkKernelInfo>());
        predictions.as_mut_ptr().cast::<usize>().write(size_of::<CkPredictions>());
        assert_eq!(
            ck_registry_select_conv(registry.0, &raw const problem, selection.as_mut_ptr()),
            CkStatus::Ok
        );
        assert_eq!(ck_registry_kernel_at(registry.0, 1, info.as_mut_ptr()), CkStatus::Ok);
        assert_eq!(
            ck_registry_predict_conv(registry.0, &raw const problem, 1, predictions.as_mut_ptr()),
            CkStatus::Ok
        );
        let (selection, info) = (selection.assume_init(), info.assume_init());
        assert_eq!((selection.name, selection.index), (info.name, info.index));
        assert_eq!(selection.score, predictions.assume_init().tflops);
    }
}

/// An old program's structs: room for the first fields alone, in memory of exactly that size.
#[test]
fn structs_may_be_shorter_than_ours() {
    const SIZE: usize = std::mem::offset_of!(CkSelection, unsupported);
    const HOOKS: usize = std::mem::offset_of!(CkKernelHooks, supports_conv);
    let registry = Owned::filled();
    let mut old = [0usize; SIZE / size_of::<usize>()];
    old[0] = SIZE;
    let problem = resnet();
    // SAFETY: as much room as the size says.
    let status = unsafe { ck_registry_select_conv(registry.0, &raw const problem, old.as_mut_ptr().cast()) };
    assert_eq!((status, old[0]), (CkStatus::Ok, SIZE), "{}", last_error());
    let whole = select(&registry, &problem).unwrap();
    assert_eq!((old[1], old[3]), (whole.name.addr(), whole.index));
    // Hooks up to `priority`, two in a row.
    let mut hooks = [[0usize; HOOKS / size_of::<usize>()]; 2];
    for (at, hooks) in hooks.iter_mut().enumerate() {
        *hooks = [HOOKS, 0, 7 + at];
    }
    let names = [NAMES[0].as_ptr(), NAMES[1].as_ptr()];
    // SAFETY: two names, and hooks that are as large as they say.
    let status = unsafe { ck_registry_add_kernels(registry.0, names.as_ptr(), hooks.as_ptr().cast(), 2) };
    assert_eq!(status, CkStatus::Ok, "{}", last_error());
    let mut info = sized::<CkKernelInfo>();
    for at in 0..2 {
        // SAFETY: the registry is alive, the struct is this function's.
        assert_eq!(unsafe { ck_registry_kernel_at(registry.0, at, &raw mut info) }, CkStatus::Ok);
        assert_eq!(info.priority, 7 + at as i32);
    }
    // A program that is newer than the library is told so: the first one was only told the size.
    let mut newer = sized::<CkSelection>();
    newer.struct_size += 8;
    // SAFETY: refused before it is written.
    let status = unsafe { ck_registry_select_conv(registry.0, &raw const problem, &raw mut newer) };
    assert_eq!(status, CkStatus::InvalidStruct);
    let (size, version) = (size_of::<CkSelection>(), env!("CARGO_PKG_VERSION"));
    assert_eq!(
        last_error(),
        format!(
            "ck_selection.struct_size is {}, expected {size}: the program was compiled with a newer ck_select.h than \
             this library's, {version}",
            size + 8
        )
    );
    // A size that is no field's end, or no version's.
    for size in [0, 8, SIZE + 1, size_of::<CkSelection>() + 8] {
        let mut selection = sized::<CkSelection>();
        selection.struct_size = size;
        // SAFETY: the struct is this function's.
        let status = unsafe { ck_registry_select_conv(registry.0, &raw const problem, &raw mut selection) };
        assert_eq!(status, CkStatus::InvalidStruct);
    }
}

#[test]
fn reserved_fields_must_be_0() {
    let registry = Owned::new();
    let hooks = CkKernelHooks { reserved: 1, ..sized() };
    // SAFETY: a registry, a text, a struct with its size.
    let status = unsafe { ck_registry_add_kernel(registry.0, NAMES[0].as_ptr(), &raw const hooks) };
    assert_eq!(status, CkStatus::InvalidArgument);
    assert_eq!(last_error(), "ck_kernel_hooks.reserved is 1, expected 0");
    let status = registry.load(SPEC, &CkForestBytes { reserved: -1, ..bytes_of(&forest("tile_mn")) });
    assert_eq!(status, CkStatus::InvalidArgument);
    assert_eq!(last_error(), "ck_forest_bytes.reserved is -1, expected 0");
}

#[test]
fn a_model_of_unknown_hardware_asks_for_it() {
    let spec = br#"{"op_type": "grouped_conv", "arch": "gfx942", "feature_names": ["hw_num_cus"]}"#;
    let status = Owned::new().load(spec, &bytes_of(&forest("hw_num_cus")));
    assert_eq!(status, CkStatus::InvalidModel);
    let error = last_error();
    assert!(error.starts_with("mine: hardware: found nothing, expected the constants"), "{error}");
}
