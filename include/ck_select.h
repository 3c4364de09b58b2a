/* ck_select: chooses the fastest GPU kernel for a problem without trying them all.
 *
 * Made from the sources by cbindgen. Do not edit: run `CK_SELECT_UPDATE_HEADER=1 cargo build`.
 *
 * Conventions
 *   Answers    Every function that can fail returns a ck_status; outputs are written only when it is CK_STATUS_OK.
 *              ck_last_error() has the message of this thread's last failure.
 *   Ownership  Handles are made by ck_*_create and given back to ck_*_destroy, for which NULL is fine. What a call is
 *              given is borrowed for the call or copied; what it hands out says how long it lives.
 *   Structs    The caller sets struct_size to sizeof the struct, so that later versions can add fields at the end.
 *   Enums      Passed as int32_t; a number that is none of the enum's is CK_STATUS_INVALID_ARGUMENT.
 *   Texts      NUL-terminated UTF-8.
 *   Threads    Any number of threads may use one registry at once, also while others change it.
 *   Never      No function throws, aborts, exits or prints.
 */

#ifndef CK_SELECT_H
#define CK_SELECT_H

#include <stddef.h>
#include <stdint.h>

/**
 * The number of the binary interface that this header describes.
 */
#define CK_SELECT_ABI_VERSION 1

/**
 * What a call answers. Numbers are never changed or used again.
 */
typedef enum {
  /**
   * Done; outputs are written.
   */
  CK_STATUS_OK = 0,
  /**
   * An address that must not be NULL is.
   */
  CK_STATUS_NULL_POINTER = 1,
  /**
   * An argument has a value that it may not have.
   */
  CK_STATUS_INVALID_ARGUMENT = 2,
  /**
   * A struct's size is none that this library knows: `struct_size` was not set, or the struct is from another version.
   */
  CK_STATUS_INVALID_STRUCT = 3,
  /**
   * Text is not UTF-8.
   */
  CK_STATUS_NOT_UTF8 = 4,
  /**
   * The problem is not one.
   */
  CK_STATUS_INVALID_PROBLEM = 5,
  /**
   * A kernel's name or descriptor is not one.
   */
  CK_STATUS_INVALID_KERNEL = 6,
  /**
   * A kernel of that name is registered already, with at least that priority.
   */
  CK_STATUS_ALREADY_REGISTERED = 7,
  /**
   * Nothing of that name or at that place.
   */
  CK_STATUS_NOT_FOUND = 8,
  /**
   * No registered kernel fits the problem and is supported.
   */
  CK_STATUS_NO_KERNEL = 9,
  /**
   * An override names a kernel for this problem that cannot be taken.
   */
  CK_STATUS_OVERRIDE_FAILED = 10,
  /**
   * A model that cannot be loaded.
   */
  CK_STATUS_INVALID_MODEL = 11,
  /**
   * No model fits the problem.
   */
  CK_STATUS_NO_MODEL = 12,
  /**
   * A file that cannot be read or written.
   */
  CK_STATUS_IO = 13,
  /**
   * The room that the caller gave is too small; the needed size is written.
   */
  CK_STATUS_BUFFER_TOO_SMALL = 14,
  /**
   * A mistake inside the library; the registry stays usable.
   */
  CK_STATUS_PANIC = 15,
} ck_status;

/**
 * Which convolution.
 */
typedef enum {
  /**
   * Output from input and weight.
   */
  CK_DIRECTION_FORWARD = 0,
  /**
   * Gradient of the input.
   */
  CK_DIRECTION_BWD_DATA = 1,
  /**
   * Gradient of the weight.
   */
  CK_DIRECTION_BWD_WEIGHT = 2,
} ck_direction;

/**
 * Type of an element. FP8 is E4M3, BF8 is E5M2; the 4-bit types are packed.
 */
typedef enum {
  CK_DTYPE_FP16 = 0,
  CK_DTYPE_BF16 = 1,
  CK_DTYPE_FP32 = 2,
  CK_DTYPE_FP64 = 3,
  CK_DTYPE_FP8 = 4,
  CK_DTYPE_BF8 = 5,
  CK_DTYPE_INT8 = 6,
  CK_DTYPE_INT4 = 7,
  CK_DTYPE_INT32 = 8,
  CK_DTYPE_PK_FP4 = 9,
  CK_DTYPE_PK_INT4 = 10,
} ck_dtype;

/**
 * Memory order of one GEMM operand.
 */
typedef enum {
  /**
   * Rows are contiguous.
   */
  CK_MAJOR_ROW = 0,
  /**
   * Columns are contiguous.
   */
  CK_MAJOR_COL = 1,
  /**
   * In the order in which a kernel reads it.
   */
  CK_MAJOR_PACKED = 2,
} ck_major;

/**
 * Memory order of the convolution tensors: N images, G groups, C channels, D depth, H height, W width.
 */
typedef enum {
  CK_CONV_LAYOUT_NWGC = 0,
  CK_CONV_LAYOUT_NHWGC = 1,
  CK_CONV_LAYOUT_NDHWGC = 2,
  CK_CONV_LAYOUT_NWC = 3,
  CK_CONV_LAYOUT_NHWC = 4,
  CK_CONV_LAYOUT_NDHWC = 5,
  CK_CONV_LAYOUT_GNWC = 6,
  CK_CONV_LAYOUT_GNHWC = 7,
  CK_CONV_LAYOUT_GNDHWC = 8,
  CK_CONV_LAYOUT_NGCW = 9,
  CK_CONV_LAYOUT_NGCHW = 10,
  CK_CONV_LAYOUT_NGCDHW = 11,
  CK_CONV_LAYOUT_NCW = 12,
  CK_CONV_LAYOUT_NCHW = 13,
  CK_CONV_LAYOUT_NCDHW = 14,
} ck_conv_layout;

/**
 * What a forest predicts.
 */
typedef enum {
  /**
   * Trillions of operations a second.
   */
  CK_TARGET_TFLOPS = 0,
  /**
   * Milliseconds.
   */
  CK_TARGET_LATENCY = 1,
  /**
   * Gigabytes a second.
   */
  CK_TARGET_BANDWIDTH = 2,
  /**
   * Speed relative to the problem's fastest kernel, as a logarithm: it only ranks.
   */
  CK_TARGET_RELATIVE = 3,
} ck_target;

/**
 * Which sources are asked, in this order.
 */
typedef enum {
  /**
   * Override, store, model, search if allowed, priority.
   */
  CK_MODE_MODEL = 0,
  /**
   * Override, store, search, model, priority: what the store lacks is measured.
   */
  CK_MODE_SEARCH = 1,
  /**
   * Override, store, search among the model's best `refine` kernels, model, priority.
   */
  CK_MODE_REFINE = 2,
  /**
   * Override, priority: nothing is predicted or measured.
   */
  CK_MODE_PRIORITY = 3,
} ck_mode;

/**
 * Who chose a kernel.
 */
typedef enum {
  /**
   * An override file.
   */
  CK_SOURCE_OVERRIDE = 0,
  /**
   * A winner that was measured earlier.
   */
  CK_SOURCE_STORE = 1,
  /**
   * A model's prediction.
   */
  CK_SOURCE_MODEL = 2,
  /**
   * Measured now.
   */
  CK_SOURCE_SEARCH = 3,
  /**
   * The registered priority.
   */
  CK_SOURCE_PRIORITY = 4,
} ck_source;

/**
 * How much is said. A `ck_log_level` is passed as `int32_t`.
 */
typedef enum {
  /**
   * Nothing.
   */
  CK_LOG_LEVEL_OFF = 0,
  /**
   * What went wrong, so that an answer is missing.
   */
  CK_LOG_LEVEL_ERROR = 1,
  /**
   * What went wrong, so that an answer is from a worse source.
   */
  CK_LOG_LEVEL_WARN = 2,
  /**
   * What is loaded and measured.
   */
  CK_LOG_LEVEL_INFO = 3,
  /**
   * Each decision.
   */
  CK_LOG_LEVEL_DEBUG = 4,
  /**
   * Each decision with everything that led to it.
   */
  CK_LOG_LEVEL_TRACE = 5,
} ck_log_level;

/**
 * An operation.
 */
typedef enum {
  /**
   * A GEMM.
   */
  CK_OP_GEMM = 0,
  /**
   * A grouped convolution.
   */
  CK_OP_GROUPED_CONV = 1,
} ck_op;

/**
 * Kernels, models and options. Any number of threads may use one at once, also while others change it; only
 * `ck_registry_destroy` must be the last.
 */
typedef struct ck_registry ck_registry;

/**
 * A grouped convolution. Axes stand in the order depth, height, width; a 2D problem has extent 1, stride 1, dilation 1
 * and no padding along the depth, a 1D problem along the height, too. `c` and `k` are totals over all groups.
 *
 * Begin with `ck_conv_problem_init`, which sets `struct_size` and everything that has a usual value.
 */
typedef struct {
  /**
   * `sizeof(ck_conv_problem)`.
   */
  size_t struct_size;
  /**
   * A `ck_direction`.
   */
  int32_t direction;
  /**
   * Spatial dimensions: 1, 2 or 3.
   */
  int32_t ndim;
  /**
   * Images.
   */
  int64_t n;
  /**
   * Input channels of all groups.
   */
  int64_t c;
  /**
   * Output channels of all groups.
   */
  int64_t k;
  /**
   * Groups.
   */
  int64_t g;
  /**
   * Input extents.
   */
  int64_t input[3];
  /**
   * Filter extents.
   */
  int64_t filter[3];
  /**
   * Strides.
   */
  int64_t stride[3];
  /**
   * Dilations.
   */
  int64_t dilation[3];
  /**
   * Padding before the first element.
   */
  int64_t pad_left[3];
  /**
   * Padding after the last element.
   */
  int64_t pad_right[3];
  /**
   * Parts into which the reduction is split; 1 for none.
   */
  int32_t split_k;
  /**
   * A `ck_dtype`: the input's.
   */
  int32_t dtype_in;
  /**
   * A `ck_dtype`: the weight's.
   */
  int32_t dtype_wei;
  /**
   * A `ck_dtype`: the output's.
   */
  int32_t dtype_out;
  /**
   * A `ck_conv_layout`.
   */
  int32_t layout;
  /**
   * Must be 0.
   */
  int32_t reserved;
  /**
   * The architecture, such as "gfx950"; NULL for the registry's. Borrowed for the call.
   */
  const char *arch;
} ck_conv_problem;

/**
 * A GEMM: C (m x n) = A (m x k) times B (k x n).
 *
 * Begin with `ck_gemm_problem_init`, which sets `struct_size` and everything that has a usual value.
 */
typedef struct {
  /**
   * `sizeof(ck_gemm_problem)`.
   */
  size_t struct_size;
  /**
   * Rows of A and C.
   */
  int64_t m;
  /**
   * Columns of B and C.
   */
  int64_t n;
  /**
   * Columns of A, rows of B.
   */
  int64_t k;
  /**
   * Parts into which K is split; 1 for none.
   */
  int32_t split_k;
  /**
   * A `ck_dtype`: A's.
   */
  int32_t dtype_a;
  /**
   * A `ck_dtype`: B's.
   */
  int32_t dtype_b;
  /**
   * A `ck_dtype`: C's.
   */
  int32_t dtype_c;
  /**
   * A `ck_major`: A's.
   */
  int32_t layout_a;
  /**
   * A `ck_major`: B's.
   */
  int32_t layout_b;
  /**
   * A `ck_major`: C's.
   */
  int32_t layout_c;
  /**
   * Must be 0.
   */
  int32_t reserved;
  /**
   * The architecture, such as "gfx950"; NULL for the registry's. Borrowed for the call.
   */
  const char *arch;
} ck_gemm_problem;

/**
 * How a registry chooses. Begin with all bytes 0 and `struct_size` set: those are the defaults.
 */
typedef struct {
  /**
   * `sizeof(ck_options)`.
   */
  size_t struct_size;
  /**
   * A `ck_mode`.
   */
  int32_t mode;
  /**
   * Not 0: the environment (`CK_SELECT_MODE`, `_OVERRIDE`, `_STORE`, `_CAPTURE`) is not looked at.
   */
  int32_t ignore_environment;
  /**
   * A file of rules `problem -> kernel name`, which come before everything else; NULL for none. Copied.
   */
  const char *override_file;
  /**
   * The architecture to assume when a problem names none, such as "gfx950"; NULL for any. Copied.
   */
  const char *arch;
  /**
   * The file that keeps measured winners, or "off" for memory only; NULL for `CK_SELECT_STORE` or a file in the
   * user's cache folder, which is then opened only by a registry that measures. Copied.
   */
  const char *store;
  /**
   * The name of the device whose winners the store holds; NULL asks the HIP runtime. Copied.
   */
  const char *device_name;
  /**
   * The stream to measure on (`hipStream_t`), which must live as long as the registry uses these options; NULL is the
   * default stream.
   */
  void *stream;
  /**
   * How many of the model's best kernels `CK_MODE_REFINE` measures; 0 means 3.
   */
  int32_t refine;
  /**
   * How many of the model's best kernels `CK_MODE_MODEL` measures when the problem lies outside of what the model
   * saw in training; 0 for none.
   */
  int32_t refine_out_of_range;
  /**
   * Not 0: `CK_MODE_MODEL` measures all kernels when no model fits.
   */
  int32_t search;
  /**
   * Runs of each kernel that count; 0 means 10.
   */
  int32_t repeats;
  /**
   * Runs of each kernel before those; 0 means 3, less than 0 means none.
   */
  int32_t warmup;
  /**
   * Must be 0.
   */
  int32_t reserved;
  /**
   * Milliseconds for one search; 0 means a minute.
   */
  double budget_ms;
  /**
   * A kernel is given up when its runs take so many times longer than the best one's; 0 means 3.
   */
  double cutoff;
} ck_options;

/**
 * What the owner of a kernel can tell and do, and wants to get back. Every callback may be NULL. Callbacks are called
 * on the thread that selects, which may be any, by several threads at a time. They must not throw, nor change the
 * registry that calls them. The problem that they get lives as long as the call.
 *
 * Begin with all bytes 0 and `struct_size` set; `priority` 1 is CK's usual one.
 */
typedef struct {
  /**
   * `sizeof(ck_kernel_hooks)`.
   */
  size_t struct_size;
  /**
   * Given to the callbacks, and back with each selection. Never looked behind.
   */
  void *user;
  /**
   * How the kernel ranks when nothing better is known, higher is better: CK's low, normal, high are 0, 1, 2.
   */
  int32_t priority;
  /**
   * Must be 0.
   */
  int32_t reserved;
  /**
   * Whether the kernel can run a convolution: not 0 for yes. NULL: it can. Asked on the select path.
   */
  int32_t (*supports_conv)(const ck_conv_problem *problem, void *user);
  /**
   * Whether the kernel can run a GEMM: not 0 for yes. NULL: it can. Asked on the select path.
   */
  int32_t (*supports_gemm)(const ck_gemm_problem *problem, void *user);
  /**
   * Runs a convolution once, with all its work on the stream. Answers the milliseconds that it took by its own timing;
   * 0 when it is only launched, and events shall time it; less than 0, as the negative of an error code, when it
   * could not be run. NULL: the kernel is never measured.
   */
  float (*run_conv)(const ck_conv_problem *problem, void *stream, void *user);
  /**
   * Runs a GEMM once; see `run_conv`.
   */
  float (*run_gemm)(const ck_gemm_problem *problem, void *stream, void *user);
} ck_kernel_hooks;

/**
 * A registered kernel.
 */
typedef struct {
  /**
   * `sizeof(ck_kernel_info)`, set by the caller.
   */
  size_t struct_size;
  /**
   * Its name. Lives until the registry is destroyed, even when the kernel is removed.
   */
  const char *name;
  /**
   * What its owner wants to get back.
   */
  void *user;
  /**
   * Its place: the order of registration, without removed kernels.
   */
  size_t index;
  /**
   * How it ranks when nothing better is known.
   */
  int32_t priority;
  /**
   * 0.
   */
  int32_t reserved;
} ck_kernel_info;

/**
 * A LightGBM model in memory, plain or gzip.
 */
typedef struct {
  /**
   * `sizeof(ck_forest_bytes)`.
   */
  size_t struct_size;
  /**
   * A `ck_target`: what it predicts.
   */
  int32_t target;
  /**
   * Must be 0.
   */
  int32_t reserved;
  /**
   * The bytes. Borrowed for the call.
   */
  const uint8_t *bytes;
  /**
   * How many there are.
   */
  size_t len;
} ck_forest_bytes;

/**
 * A chosen kernel.
 */
typedef struct {
  /**
   * `sizeof(ck_selection)`, set by the caller.
   */
  size_t struct_size;
  /**
   * Its name. Lives until the registry is destroyed, even when the kernel is removed.
   */
  const char *name;
  /**
   * What its owner wants to get back.
   */
  void *user;
  /**
   * Its place among the registered kernels at the time of the call.
   */
  size_t index;
  /**
   * Its place in the order of the source, counted from 0.
   */
  size_t rank;
  /**
   * Kernels that stand before it in that order and do not support the problem.
   */
  size_t unsupported;
  /**
   * What the model says of it, in the unit of its target, usually TFLOPS; NaN from other sources.
   */
  double score;
  /**
   * How long it took when it was measured, in milliseconds; NaN when it was not.
   */
  double measured_ms;
  /**
   * The state of the registry that was asked: it rises with every change.
   */
  uint64_t generation;
  /**
   * A `ck_source`: who chose it.
   */
  int32_t source;
  /**
   * 1 when the problem lies outside of what the model saw in training, else 0.
   */
  int32_t out_of_range;
} ck_selection;

/**
 * One place of a ranking.
 */
typedef struct {
  /**
   * The kernel's name. Lives until the registry is destroyed.
   */
  const char *name;
  /**
   * What its owner wants to get back.
   */
  void *user;
  /**
   * Its place among the registered kernels.
   */
  size_t index;
  /**
   * What the model says of it.
   */
  double score;
} ck_ranked;

/**
 * What a model predicts for one kernel; NaN where it has no forest.
 */
typedef struct {
  /**
   * `sizeof(ck_predictions)`, set by the caller.
   */
  size_t struct_size;
  /**
   * Trillions of operations a second.
   */
  double tflops;
  /**
   * Milliseconds.
   */
  double latency_ms;
  /**
   * Gigabytes a second.
   */
  double bandwidth_gb_s;
} ck_predictions;

/**
 * All of them, in the order of their numbers.
 */
#define ck_status_ALL { ck_status_Ok, ck_status_NullPointer, ck_status_InvalidArgument, ck_status_InvalidStruct, ck_status_NotUtf8, ck_status_InvalidProblem, ck_status_InvalidKernel, ck_status_AlreadyRegistered, ck_status_NotFound, ck_status_NoKernel, ck_status_OverrideFailed, ck_status_InvalidModel, ck_status_NoModel, ck_status_Io, ck_status_BufferTooSmall, ck_status_Panic, }

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Says what a status means, in a few words. Never NULL; the text is constant. A number that is no status has a text,
 * too.
 */
const char *ck_status_text(int32_t status);

/**
 * The version of the library, such as "0.1.0". Never NULL; the text is constant.
 */
const char *ck_select_version(void);

/**
 * The number of the binary interface that the library has: it rises when a program that was compiled against an older
 * header could no longer run. Compare it with `CK_SELECT_ABI_VERSION` of the header.
 */
uint32_t ck_select_abi_version(void);

/**
 * The message of the last call on this thread that failed; empty when none did. Never NULL.
 *
 * The text stays as it is until another call fails on this thread, or the thread ends. A call that succeeds leaves
 * it.
 */
const char *ck_last_error(void);

/**
 * Sends log lines of the whole process up to `level`, a value of `ck_log_level`, to a callback, in place of what `CK_SELECT_LOG` says; a NULL
 * callback ends logging. The callback is called on any thread, by several at a time; its texts live as long as the
 * call. It must not throw, nor call this function. A line that is on its way when the callback is replaced may still
 * reach the old one.
 *
 * # Safety
 * `callback` is NULL or stays callable with `user` until the process ends.
 */
ck_status ck_set_log_callback(int32_t level,
                              void (*callback)(int32_t level, const char *source, const char *text, void *user),
                              void *user);

/**
 * Frees a text that the library gave. NULL is fine.
 *
 * # Safety
 * `text` is NULL, or was written by a function of this library whose documentation names `ck_string_free`, and is not
 * used after this call.
 */
void ck_string_free(char *text);

/**
 * Fills a problem with a forward bf16 NHWGC convolution of one image, one channel and one group, 1x1 everywhere, and
 * sets its `struct_size`.
 *
 * # Safety
 * `problem` points to a `ck_conv_problem`.
 */
ck_status ck_conv_problem_init(ck_conv_problem *problem);

/**
 * Fills a problem with a 1x1x1 fp8 GEMM of layout rcr, and sets its `struct_size`.
 *
 * # Safety
 * `problem` points to a `ck_gemm_problem`.
 */
ck_status ck_gemm_problem_init(ck_gemm_problem *problem);

/**
 * Makes an empty registry. `options` may be NULL for the defaults. The environment is read now and wins over the
 * options. Destroy it with `ck_registry_destroy`.
 *
 * # Safety
 * `options` is NULL or points to a `ck_options` with its `struct_size` set; `registry` points to an address.
 */
ck_status ck_registry_create(const ck_options *options,
                             ck_registry **registry);

/**
 * Destroys a registry and everything that it handed out: names are dead after this. NULL is fine.
 *
 * # Safety
 * `registry` is NULL, or from `ck_registry_create`, and no thread uses it now or later.
 */
void ck_registry_destroy(ck_registry *registry);

/**
 * Replaces the options. `options` may be NULL for the defaults.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `options` is NULL or points to a `ck_options` with its `struct_size` set.
 */
ck_status ck_registry_set_options(ck_registry *registry,
                                  const ck_options *options);

/**
 * Adds a kernel by its name: a grouped-convolution name, a tile-engine GEMM name, or a CK identifier. `hooks` may be
 * NULL: then the kernel has priority 1 and supports everything that it fits.
 *
 * A kernel of the same name is replaced when the new priority is higher; otherwise the call fails with
 * `CK_STATUS_ALREADY_REGISTERED`. The name and the hooks are copied.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `name` is a NUL-terminated text; `hooks` is NULL or points to a
 * `ck_kernel_hooks` whose callbacks stay callable until the registry is destroyed.
 */
ck_status ck_registry_add_kernel(ck_registry *registry,
                                 const char *name,
                                 const ck_kernel_hooks *hooks);

/**
 * Adds kernels together: all of them or, when one cannot be added, none. `hooks` is NULL, or has one for each name.
 *
 * # Safety
 * As for `ck_registry_add_kernel`, for `count` names and hooks.
 */
ck_status ck_registry_add_kernels(ck_registry *registry,
                                  const char *const *names,
                                  const ck_kernel_hooks *hooks,
                                  size_t count);

/**
 * Writes the number of kernels.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `size` points to a `size_t`.
 */
ck_status ck_registry_size(const ck_registry *registry, size_t *size);

/**
 * Describes the kernel at a place. To walk over all, count from 0 until `CK_STATUS_NOT_FOUND`.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `info` points to a `ck_kernel_info` with its `struct_size` set.
 */
ck_status ck_registry_kernel_at(const ck_registry *registry, size_t index, ck_kernel_info *info);

/**
 * Describes the kernel with a name.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `name` is a NUL-terminated text; `info` points to a `ck_kernel_info` with
 * its `struct_size` set.
 */
ck_status ck_registry_find(const ck_registry *registry,
                           const char *name,
                           ck_kernel_info *info);

/**
 * Removes the kernels that were built for another architecture; those that do not say stay. `removed` may be NULL.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `arch` is a NUL-terminated text; `removed` is NULL or points to a `size_t`.
 */
ck_status ck_registry_retain_arch(ck_registry *registry,
                                  const char *arch,
                                  size_t *removed);

/**
 * Removes all kernels.
 *
 * # Safety
 * `registry` is from `ck_registry_create`.
 */
ck_status ck_registry_clear(ck_registry *registry);

/**
 * Adds the kernels of a JSON export of a CK registry, all or none, with priority 1 and no callbacks.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `json` points to `len` bytes.
 */
ck_status ck_registry_import_json(ck_registry *registry, const uint8_t *json, size_t len);

/**
 * Writes the kernels of one operation as the JSON that CK's registry of that operation exports. A `ck_op` says which;
 * `name` is what the text calls the registry, NULL for "default". Free the text with `ck_string_free`.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `name` is NULL or a NUL-terminated text; `text` points to an address.
 */
ck_status ck_registry_export_json(const ck_registry *registry,
                                  int32_t op,
                                  const char *name,
                                  char **text);

/**
 * Loads a model directory: `feature_spec.json` with `model_tflops.lgbm` (or `.lgbm.gz`) and so on. It is used for the
 * problems that its spec names (operation, direction, dtype, architecture); a model that was loaded for the same ones
 * is replaced. Threads that select meanwhile use the old one until the new one is ready.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `directory` is a NUL-terminated text.
 */
ck_status ck_registry_load_model(ck_registry *registry,
                                 const char *directory);

/**
 * Loads a model from memory. `name` is what messages call it.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `name` is a NUL-terminated text; `spec` points to `spec_len` bytes,
 * `forests` to `forest_count` structs, each with its `struct_size` set and its bytes.
 */
ck_status ck_registry_load_model_bytes(ck_registry *registry,
                                       const char *name,
                                       const uint8_t *spec,
                                       size_t spec_len,
                                       const ck_forest_bytes *forests,
                                       size_t forest_count);

/**
 * Removes all models.
 *
 * # Safety
 * `registry` is from `ck_registry_create`.
 */
ck_status ck_registry_remove_models(ck_registry *registry);

/**
 * Prepares the models for the present kernels now. Without it, the first selection after a change takes the time.
 *
 * # Safety
 * `registry` is from `ck_registry_create`.
 */
ck_status ck_registry_prepare(ck_registry *registry);

/**
 * Chooses the kernel to run for a convolution: the best supported one by the first source that has an answer.
 *
 * On the hot path, unless the options let it measure: takes no lock, makes no system call and does not allocate once it
 * is warm. A call that measures runs kernels on the options' stream and waits for them.
 *
 * Fails with `CK_STATUS_NO_KERNEL` when no registered kernel fits and is supported, never with a wrong kernel; with
 * `CK_STATUS_OVERRIDE_FAILED` when an override names a kernel that cannot be taken.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `problem` and `selection` point to structs with their `struct_size` set.
 */
ck_status ck_select_kernel(const ck_registry *registry,
                           const ck_conv_problem *problem,
                           ck_selection *selection);

/**
 * Chooses the kernel to run for a GEMM; see `ck_select_kernel`.
 *
 * # Safety
 * As for `ck_select_kernel`.
 */
ck_status ck_select_gemm_kernel(const ck_registry *registry,
                                const ck_gemm_problem *problem,
                                ck_selection *selection);

/**
 * Ranks the kernels for a convolution by the model that fits, best first. At most `capacity` are written, and to
 * `count` how many there are in all; `ranked` may be NULL when `capacity` is 0. Support is not asked.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `problem` points to a struct with its `struct_size` set; `ranked` points to
 * `capacity` structs, `count` to a `size_t`.
 */
ck_status ck_rank_kernels(const ck_registry *registry,
                          const ck_conv_problem *problem,
                          size_t capacity,
                          ck_ranked *ranked,
                          size_t *count);

/**
 * Ranks the kernels for a GEMM; see `ck_rank_kernels`.
 *
 * # Safety
 * As for `ck_rank_kernels`.
 */
ck_status ck_rank_gemm_kernels(const ck_registry *registry,
                               const ck_gemm_problem *problem,
                               size_t capacity,
                               ck_ranked *ranked,
                               size_t *count);

/**
 * Predicts the speed of the kernel at a place for a convolution.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `problem` and `predictions` point to structs with their `struct_size` set.
 */
ck_status ck_predict(const ck_registry *registry,
                     const ck_conv_problem *problem,
                     size_t index,
                     ck_predictions *predictions);

/**
 * Predicts the speed of the kernel at a place for a GEMM.
 *
 * # Safety
 * As for `ck_predict`.
 */
ck_status ck_predict_gemm(const ck_registry *registry,
                          const ck_gemm_problem *problem,
                          size_t index,
                          ck_predictions *predictions);

/**
 * Writes the features that the model that fits would see for a convolution and the kernel at a place, in the model's
 * order. `count` gets their number; when `capacity` is smaller nothing else is written and the call fails with
 * `CK_STATUS_BUFFER_TOO_SMALL`.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `problem` points to a struct with its `struct_size` set; `features` points
 * to `capacity` doubles, `count` to a `size_t`.
 */
ck_status ck_extract_features(const ck_registry *registry,
                              const ck_conv_problem *problem,
                              size_t index,
                              size_t capacity,
                              double *features,
                              size_t *count);

/**
 * Writes the features for a GEMM; see `ck_extract_features`.
 *
 * # Safety
 * As for `ck_extract_features`.
 */
ck_status ck_extract_gemm_features(const ck_registry *registry,
                                   const ck_gemm_problem *problem,
                                   size_t index,
                                   size_t capacity,
                                   double *features,
                                   size_t *count);

/**
 * Says for a convolution which sources were asked, what each answered and why it was passed over, as text for people.
 * Free it with `ck_string_free`.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `problem` points to a struct with its `struct_size` set; `text` points to
 * an address.
 */
ck_status ck_explain_selection(const ck_registry *registry,
                               const ck_conv_problem *problem,
                               char **text);

/**
 * The same for a GEMM; see `ck_explain_selection`.
 *
 * # Safety
 * As for `ck_explain_selection`.
 */
ck_status ck_explain_gemm_selection(const ck_registry *registry, const ck_gemm_problem *problem, char **text);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* CK_SELECT_H */
