/* ck_select: chooses the fastest GPU kernel for a problem without trying them all.
 *
 * Made from the sources by cbindgen. Do not edit: run `CK_SELECT_UPDATE_HEADER=1 cargo build`.
 *
 * Conventions
 *   Answers    Every function that can fail returns a ck_status; outputs are written only when it is CK_STATUS_OK, but
 *              for the size that is needed with CK_STATUS_BUFFER_TOO_SMALL. ck_last_error() has the message of this
 *              thread's last failure.
 *   Ownership  Handles are made by ck_*_create and given back to ck_*_destroy, for which NULL is fine. What a call is
 *              given is borrowed for the call or copied; what it hands out says how long it lives.
 *   Structs    The caller sets struct_size to sizeof the struct, so that later versions can add fields at the end. Fields
 *              that a smaller size leaves out count as 0, and are not written; arrays of structs are as far apart as
 *              their first one is large. A size beyond what the library knows is CK_STATUS_INVALID_STRUCT.
 *              Fields that are reserved must be 0.
 *   Enums      Passed as int32_t; a number that is none of the enum's is CK_STATUS_INVALID_ARGUMENT.
 *   Texts      NUL-terminated UTF-8.
 *   Threads    Any number of threads may use one registry at once, also while others change it; models and pools
 *              never change.
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
 * Where a word or a number may be any: a direction, a type.
 */
#define CK_ANY -1

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
 * What absent cells and words without a number in the model's encoding do.
 */
typedef enum {
  /**
   * What the model's spec says; without a word there, they are errors.
   */
  CK_UNCODED_SPEC = 0,
  /**
   * They are errors.
   */
  CK_UNCODED_ERROR = 1,
  /**
   * They take the defaults of upstream's feature engines.
   */
  CK_UNCODED_UPSTREAM = 2,
} ck_uncoded;

/**
 * One forest of a model directory with its features. Any number of threads may use one at once.
 */
typedef struct ck_model ck_model;

/**
 * Kernels that a model is prepared for. Any number of threads may use one at once.
 */
typedef struct ck_pool ck_pool;

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
   * Not 0: the environment (`CK_SELECT_MODE`, `_OVERRIDE`, `_STORE`, `_CAPTURE`) changes nothing. `CK_SELECT_LOG` is
   * the process's and not a registry's: it still says where the log goes, unless `ck_set_log_callback` was called before.
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
   * The name of the device whose winners the store holds; NULL asks the HIP runtime. The driver is always the present
   * one's. Copied.
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
   * Runs of each kernel that count; 0 means 10. Those that noise does not tell from the fastest run again, in turn.
   */
  int32_t repeats;
  /**
   * Runs of each kernel before those; 0 means 3, less than 0 means none.
   */
  int32_t warmup;
  /**
   * Not 0: kernels are measured by the host's clock, without a GPU. For run callbacks that do all their work on the host
   * before they return, such as reference implementations. Needs `arch`, because the host tells none; winners are kept for the device "host".
   */
  int32_t host_timing;
  /**
   * Not 0: the models that are built into the library answer where no loaded model fits.
   */
  int32_t embedded_models;
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
  /**
   * Milliseconds that one run may take; 0 means 5000. What the GPU has not finished by then hangs: it is abandoned, and
   * with it the search. A run callback that does not return cannot be ended, because it runs on the thread that selects: its
   * call waits for it, with `host_timing` and without. Other threads wait a second longer than this, and
   * then measure without it; the kernel of a callback that returns too late is given up.
   */
  double run_timeout_ms;
} ck_options;

/**
 * What the owner of a kernel can tell and do, and wants to get back. Every callback may be NULL. Callbacks are called
 * on the thread that selects, which may be any, by several threads at a time. They must not throw, nor change the
 * registry that calls them. They may select: what has no answer yet is then not measured, but answered by the next source, and
 * not remembered. The problem that they get lives as long as the call.
 *
 * A run callback that leaves by `longjmp` leaks what its search has, but leaves no lock behind: its problem is not measured again
 * before the registry changes, its thread measures again once `run_timeout_ms` and a second have passed, and others that
 * wait for it wait no longer than that.
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
   * Its name. Lives until the registry is destroyed or, once the kernel is removed, until `ck_registry_compact`.
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
 * A grouped-convolution kernel, with the fields of CK's `GroupedConvKernelKey` and what only its names tell.
 *
 * Begin with `ck_conv_kernel_desc_init`. Words are those of kernel names, such as "compv3"; they are texts, because CK adds some with
 * each version. Texts are borrowed for the call that takes the descriptor.
 */
typedef struct {
  /**
   * `sizeof(ck_conv_kernel_desc)`.
   */
  size_t struct_size;
  /**
   * The name to register it under, one line of any text; NULL for the one that CK's code generator gives, which tells everything
   * but the types of weight and output and the architecture.
   */
  const char *name;
  /**
   * The architecture that it was built for, such as "gfx950"; NULL when not known: it then runs on any.
   */
  const char *arch;
  /**
   * How loads overlap with arithmetic: "compv3", "mem" and so on.
   */
  const char *pipeline;
  /**
   * "intrawave", "interwave" or "auto".
   */
  const char *scheduler;
  /**
   * How results leave the registers: "cshuffle", "default" and so on.
   */
  const char *epilogue;
  /**
   * What it takes for granted: `default`, `filter1x1_stride1_pad0` and so on; NULL is `default`.
   */
  const char *specialization;
  /**
   * How a stream-K kernel adds its partial results: "none", "tree" or "linear"; NULL when it is none.
   */
  const char *stream_k_reduction;
  /**
   * A `ck_direction`.
   */
  int32_t direction;
  /**
   * Spatial dimensions: 1, 2 or 3.
   */
  int32_t ndim;
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
   * Result tile and depth of one step, per workgroup: m, n, k.
   */
  int32_t tile[3];
  /**
   * Waves of a workgroup: m, n, k.
   */
  int32_t wave[3];
  /**
   * Tile of one matrix instruction (CK's `warp_*`): m, n, k.
   */
  int32_t warp_tile[3];
  /**
   * Elements of one memory access of A, B and C.
   */
  int32_t vector[3];
  /**
   * Workgroups that should fit on one compute unit.
   */
  int32_t block_per_cu;
  /**
   * Groups that the waves of a workgroup form.
   */
  int32_t num_wave_groups;
  /**
   * Convolution groups that one workgroup handles together.
   */
  int32_t num_groups_to_merge;
  /**
   * Not 0: two buffers in shared memory ("_dsb").
   */
  int32_t double_smem_buffer;
  /**
   * Not 0: splits images for large tensors ("_si", CK's `large_tensor`).
   */
  int32_t split_image;
  /**
   * Not 0: runs as a plain GEMM.
   */
  int32_t explicit_gemm;
  /**
   * Not 0: converts in a second launch ("_2stage").
   */
  int32_t two_stage;
  /**
   * Not 0: a stream-K kernel whose workgroups stay resident.
   */
  int32_t stream_k_persistent;
} ck_conv_kernel_desc;

/**
 * A GEMM kernel, with the fields of CK's `KernelKey`. Begin with `ck_gemm_kernel_desc_init`; see `ck_conv_kernel_desc` for words
 * and texts.
 */
typedef struct {
  /**
   * `sizeof(ck_gemm_kernel_desc)`.
   */
  size_t struct_size;
  /**
   * The name to register it under, one line of any text; NULL for CK's identifier, which does not tell the types of B, C and
   * the accumulators, the transposes, `grouped`, the block size and the architecture.
   */
  const char *name;
  /**
   * The architecture that it was built for, such as "gfx950"; NULL when not known: it then runs on any.
   */
  const char *arch;
  /**
   * How loads overlap with arithmetic: "compv3", "mem" and so on.
   */
  const char *pipeline;
  /**
   * "intrawave", "interwave" or "auto".
   */
  const char *scheduler;
  /**
   * How results leave the registers: "cshuffle", "default" and so on.
   */
  const char *epilogue;
  /**
   * What it does to each element of the result: `Relu`, `MultiDAdd` and so on; NULL is `PassThrough`.
   */
  const char *elementwise;
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
   * A `ck_dtype`: the accumulators'.
   */
  int32_t dtype_acc;
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
   * Not 0: A is transposed on the fly.
   */
  int32_t transpose_a;
  /**
   * Not 0: B is transposed on the fly.
   */
  int32_t transpose_b;
  /**
   * Not 0: computes many GEMMs in one launch.
   */
  int32_t grouped;
  /**
   * Parts into which K is split; 1 for none.
   */
  int32_t split_k;
  /**
   * Further tensors that the elementwise operation reads.
   */
  int32_t num_d_tensors;
  /**
   * Not 0: uses 2:4 structured sparsity.
   */
  int32_t structured_sparsity;
  /**
   * Result tile and depth of one step, per workgroup: m, n, k.
   */
  int32_t tile[3];
  /**
   * Waves of a workgroup: m, n, k.
   */
  int32_t wave[3];
  /**
   * Tile of one matrix instruction (CK's `warp_tile_shape`): m, n, k.
   */
  int32_t warp_tile[3];
  /**
   * Not 0: handles m, n, k that the tile does not divide.
   */
  int32_t pad[3];
  /**
   * Fixed vector widths of A, B, C; 0 is the kernel's own.
   */
  int32_t vector[3];
  /**
   * Threads of a workgroup; 0 when not known.
   */
  int32_t block_size;
  /**
   * Not 0: two buffers in shared memory.
   */
  int32_t double_buffer;
  /**
   * Not 0: workgroups stay resident and loop over tiles.
   */
  int32_t persistent;
  /**
   * Not 0: B is stored in the order in which it is read.
   */
  int32_t preshuffle;
  /**
   * Not 0: C is written transposed.
   */
  int32_t transpose_c;
  /**
   * Groups that the waves of a workgroup form.
   */
  int32_t num_wave_groups;
} ck_gemm_kernel_desc;

/**
 * What an export holds beside the kernels. Begin with all bytes 0 and `struct_size` set: those are the defaults.
 */
typedef struct {
  /**
   * `sizeof(ck_export_options)`.
   */
  size_t struct_size;
  /**
   * What the text calls the registry; NULL for "default".
   */
  const char *registry_name;
  /**
   * The time of a GEMM export as CK writes it, "YYYY-MM-DDThh:mm:ss"; NULL leaves it out, so that the same kernels give the
   * same text. Convolution exports have none.
   */
  const char *timestamp;
  /**
   * Not 0: kernels are counted by type, pipeline, architecture and so on.
   */
  int32_t statistics;
  /**
   * Must be 0.
   */
  int32_t reserved;
} ck_export_options;

/**
 * What features know about a GPU. Sizes of caches are in KiB, of shared memory in bytes. Begin with `ck_hardware_init`.
 */
typedef struct {
  /**
   * `sizeof(ck_hardware)`.
   */
  size_t struct_size;
  /**
   * Compute units.
   */
  int64_t num_cus;
  /**
   * SIMD units of one compute unit.
   */
  int64_t simds_per_cu;
  /**
   * Shader engines.
   */
  int64_t shader_engines;
  /**
   * Highest clock in MHz.
   */
  int64_t max_clock_mhz;
  /**
   * Waves that one compute unit can hold.
   */
  int64_t max_waves_per_cu;
  /**
   * Lanes of one wave.
   */
  int64_t wavefront_size;
  /**
   * Shared memory of one compute unit in bytes.
   */
  int64_t lds_capacity;
  /**
   * First-level cache in KiB.
   */
  int64_t l1_cache_kb;
  /**
   * Second-level cache in KiB.
   */
  int64_t l2_cache_kb;
  /**
   * Last-level cache in KiB.
   */
  int64_t l3_cache_kb;
  /**
   * Dies that share the work.
   */
  int64_t num_xcd;
} ck_hardware;

/**
 * Which problems a model is for. A model that says more about a problem goes before one that says less.
 */
typedef struct {
  /**
   * `sizeof(ck_model_key)`.
   */
  size_t struct_size;
  /**
   * A `ck_op`.
   */
  int32_t op;
  /**
   * A `ck_direction`, or `CK_ANY`; a GEMM has none.
   */
  int32_t direction;
  /**
   * A `ck_dtype`, of the input or of A, or `CK_ANY`.
   */
  int32_t dtype;
  /**
   * Must be 0.
   */
  int32_t reserved;
  /**
   * The architecture, such as "gfx950"; NULL for any. Borrowed for the call.
   */
  const char *arch;
} ck_model_key;

/**
 * How a model is used. Begin with all bytes 0 and `struct_size` set: those are the defaults.
 */
typedef struct {
  /**
   * `sizeof(ck_model_options)`.
   */
  size_t struct_size;
  /**
   * The problems that it is for; NULL for those that its spec names. Borrowed for the call.
   */
  const ck_model_key *key;
  /**
   * What its features are told about the GPU, in place of what it was trained with: its answers are then for a GPU that it has
   * never seen. NULL for what its spec says. Borrowed for the call.
   */
  const ck_hardware *hardware;
  /**
   * Not 0: it is asked for everything of its operation, whatever its spec says that it is for. Nobody knows what its
   * answers for other directions, types and architectures are worth; a selection there is `out_of_range`. A model that
   * is for the problem goes before it. Not together with `key`.
   */
  int32_t force;
  /**
   * Must be 0.
   */
  int32_t reserved;
} ck_model_options;

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
   * Its name. Lives until the registry is destroyed or, once the kernel is removed, until `ck_registry_compact`.
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
  /**
   * The fields in which it does, a bit for each: `ck_problem_field_name` has their names.
   */
  uint64_t out_of_range_fields;
  /**
   * 1 when no kernel that was measured for the model had the pipeline or the suffixes of this one, else 0.
   */
  int32_t unmeasured;
  /**
   * 1 when the model is for one architecture and neither the problem nor the options name any, else 0: the device may
   * be another one.
   */
  int32_t arch_unknown;
  /**
   * 1 when the first kernel by priority was taken only because no model and nothing else had an answer, else 0.
   */
  int32_t no_model;
  /**
   * Always 0.
   */
  int32_t reserved;
} ck_selection;

/**
 * One place of a ranking.
 */
typedef struct {
  /**
   * The kernel's name. Lives as long as that of a selection.
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
  /**
   * 1 when the place before or behind has the same score, else 0: the model does not tell them apart.
   */
  int32_t tied;
  /**
   * 1 when no kernel that was measured for the model had the pipeline or the suffixes of this one, else 0.
   */
  int32_t unmeasured;
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
 * Which forest of a directory to load, and how. Begin with all bytes 0 and `struct_size` set.
 */
typedef struct {
  /**
   * `sizeof(ck_row_options)`.
   */
  size_t struct_size;
  /**
   * A `ck_target`: which forest.
   */
  int32_t target;
  /**
   * A `ck_uncoded`.
   */
  int32_t uncoded;
  /**
   * Not 0: a missing `feature_spec.json` is taken for an empty one, as upstream's predictor does.
   */
  int32_t tolerate_no_spec;
  /**
   * Not 0: it is asked also for directions, types and architectures that its spec says that it is not for, and which it
   * refuses without. Nobody knows what its answers are worth there.
   */
  int32_t force;
  /**
   * The feature engine, such as "gemm72" or "conv97", or the class that upstream's predictor is given, such as
   * `GroupedConvFeatureEngine`; NULL for what the spec says. Borrowed for the call.
   */
  const char *engine;
  /**
   * Constants of the GPU that replace the spec's, as a JSON object such as `{"num_cus": 304}`; NULL for none.
   * Borrowed for the call.
   */
  const char *hardware;
} ck_row_options;

/**
 * A named column of a table. Exactly one of `integers`, `numbers` and `codes` is not NULL, and has a cell for each row.
 */
typedef struct {
  /**
   * `sizeof(ck_column)`.
   */
  size_t struct_size;
  /**
   * Its name.
   */
  const char *name;
  /**
   * Whole numbers.
   */
  const int64_t *integers;
  /**
   * Numbers; NaN is an absent cell.
   */
  const double *numbers;
  /**
   * Places among `words`; less than 0 is an absent cell.
   */
  const int32_t *codes;
  /**
   * The words that `codes` counts.
   */
  const char *const *words;
  /**
   * How many words there are.
   */
  size_t word_count;
} ck_column;

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
 * callback ends logging. Without this call and without `CK_SELECT_LOG`, nothing is written but one kind of warning, to
 * standard error and once a registry: that it chooses without a model, or by a model that is built in for an
 * architecture that nobody named. `CK_SELECT_LOG=off` silences that, too. The callback is called on any thread, by several at a time; its texts live as long as the
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
 * Writes a line to the log, for what is built upon this library: the adapters of `ck_select_dispatcher.hpp` say here why they
 * have no answer. `source` is who says it. A line above the level that is on goes nowhere; one at `CK_LOG_LEVEL_ERROR` goes to
 * standard error as long as nobody has said where lines go, so say such only once.
 *
 * # Safety
 * `source` and `text` are NUL-terminated texts.
 */
ck_status ck_log(int32_t level,
                 const char *source,
                 const char *text);

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
 * Gives back the memory of kernels that were removed or replaced: until this call their names stay good, as everything does that
 * was handed out of them. A kernel that is added again as it was, with the same hooks, needs no new memory; a program that
 * goes on adding others calls this now and then. Names, user data and callbacks of the kernels that are registered stay as
 * they are; the next selection prepares the models again. `removed` gets how many were given back; it may be NULL.
 *
 * # Safety
 * `registry` is from `ck_registry_create`, and no other thread uses it during the call; names of removed and replaced kernels are
 * not used later. `removed` is NULL or points to a `size_t`.
 */
ck_status ck_registry_compact(ck_registry *registry,
                              size_t *removed);

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
 * Writes the number of the registry's present state, which rises with every change of kernels, models and options. As long as it
 * stays the same, so do the answers of a registry that does not measure. `generation` of a selection is the one that was asked.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `generation` points to a `uint64_t`.
 */
ck_status ck_registry_generation(const ck_registry *registry,
                                 uint64_t *generation);

/**
 * Takes in the winners that other processes have stored since the store was last read, and writes those of this
 * registry that still wait (`ck_registry_store_status`). Costs microseconds when there are none, waits a quarter of
 * a second for a locked file, and costs nothing when the registry has no store; reads a file, so call it now and
 * then, not before each selection. A registry sees its own winners at once.
 *
 * # Safety
 * `registry` is from `ck_registry_create`.
 */
ck_status ck_registry_refresh_store(ck_registry *registry);

/**
 * Says whether measured winners are still to be written, because the store was locked by another process, damaged,
 * full, or not writable: `waiting` gets how many are in memory only, `reason` why the store could not be used the
 * last time, as text for people to be freed with `ck_string_free`, or NULL when it could. Such winners are used as
 * others are; they are written with a later winner, by `ck_registry_refresh_store`, or by `ck_registry_destroy`.
 * Waits while another thread uses the store's file.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `waiting` points to a `size_t`, `reason` to an address; either may be NULL.
 */
ck_status ck_registry_store_status(const ck_registry *registry,
                                   size_t *waiting,
                                   char **reason);

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
 * Removes the kernel with a name; `CK_STATUS_NOT_FOUND` when there is none. Those after it move up by one place. What was handed
 * out of it stays good until the registry is destroyed or compacted, and a thread that selects meanwhile may still get it.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `name` is a NUL-terminated text.
 */
ck_status ck_registry_remove_kernel(ck_registry *registry,
                                    const char *name);

/**
 * Removes all kernels.
 *
 * # Safety
 * `registry` is from `ck_registry_create`.
 */
ck_status ck_registry_clear(ck_registry *registry);

/**
 * Fills a descriptor with the defaults of CK's key (tile 1x128x128, waves 2x2x1, instruction 32x32x16, compv3, intrawave, cshuffle,
 * vectors 4, 8, 8) for a forward bf16 NHWGC convolution in two dimensions, and sets its `struct_size`.
 *
 * # Safety
 * `desc` points to a `ck_conv_kernel_desc`.
 */
ck_status ck_conv_kernel_desc_init(ck_conv_kernel_desc *desc);

/**
 * Fills a descriptor with an fp8 kernel of layout rcr (tile 128x128x64, waves 2x2x1, instruction 32x32x16, compv3, intrawave, cshuffle,
 * everything padded), and sets its `struct_size`.
 *
 * # Safety
 * `desc` points to a `ck_gemm_kernel_desc`.
 */
ck_status ck_gemm_kernel_desc_init(ck_gemm_kernel_desc *desc);

/**
 * Adds convolution kernels by what they are: all of them or, when one cannot be added, none. `hooks` is NULL, or has one for each
 * descriptor; for the rest see `ck_registry_add_kernel`.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `descs` points to `count` descriptors, each with its `struct_size` set and its texts
 * NULL or NUL-terminated; `hooks` is NULL or points to `count` hooks as for `ck_registry_add_kernel`.
 */
ck_status ck_registry_add_conv_kernels(ck_registry *registry,
                                       const ck_conv_kernel_desc *descs,
                                       const ck_kernel_hooks *hooks,
                                       size_t count);

/**
 * Adds GEMM kernels by what they are; see `ck_registry_add_conv_kernels`.
 *
 * # Safety
 * As for `ck_registry_add_conv_kernels`.
 */
ck_status ck_registry_add_gemm_kernels(ck_registry *registry,
                                       const ck_gemm_kernel_desc *descs,
                                       const ck_kernel_hooks *hooks,
                                       size_t count);

/**
 * Writes what a kernel's name says over a descriptor, and leaves the rest as it is: the short names say nothing of waves and
 * vector widths, for example, and a name with flags says that it has no others. For kernels whose key is not exact: CK's code
 * generators write the pipelines `basic_v1`, `comp_async` and `wavelet` into keys as `compv3`, and counts as 1. What differs
 * afterwards is what name and key disagree about. Types of weight and output, `name` and `arch` are left alone. Texts that are written live
 * until the process ends. Fails with `CK_STATUS_INVALID_KERNEL`, and changes nothing, for what is no convolution kernel's name.
 *
 * # Safety
 * `name` is a NUL-terminated text; `desc` points to a `ck_conv_kernel_desc` with its `struct_size` set.
 */
ck_status ck_conv_kernel_desc_read_name(ck_conv_kernel_desc *desc,
                                        const char *name);

/**
 * Adds the kernels of a JSON export of a CK registry, all or none.
 *
 * `hooks_of` is asked for each kernel by its name (for a GEMM its identifier), with hooks to fill: all bytes 0, `struct_size`
 * set, `priority` 1. It answers 0 to leave the kernel out, anything else to take it; it must not throw, nor use the registry. When it
 * is NULL, all kernels are taken, without callbacks.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `json` points to `len` bytes; `hooks_of` is NULL or callable with `user`, and the
 * callbacks that it sets stay callable until the registry is destroyed.
 */
ck_status ck_registry_import_json(ck_registry *registry,
                                  const uint8_t *json,
                                  size_t len,
                                  int32_t (*hooks_of)(const char *name, ck_kernel_hooks *hooks, void *user),
                                  void *user);

/**
 * Writes the kernels of one operation as the JSON that CK's registry of that operation exports. A `ck_op` says which; `options`
 * may be NULL for the defaults. Free the text with `ck_string_free`.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `options` is NULL or points to a `ck_export_options` with its `struct_size` set;
 * `text` points to an address.
 */
ck_status ck_registry_export_json(const ck_registry *registry,
                                  int32_t op,
                                  const ck_export_options *options,
                                  char **text);

/**
 * Fills a profile with what is known of an architecture, such as "gfx950"; NULL gives the constants that upstream's models assume
 * when they record none. `CK_STATUS_NOT_FOUND` when the architecture has no profile.
 *
 * # Safety
 * `hardware` points to a `ck_hardware`; `arch` is NULL or a NUL-terminated text.
 */
ck_status ck_hardware_init(ck_hardware *hardware,
                           const char *arch);

/**
 * Loads a model directory: `feature_spec.json` with `model_tflops.lgbm` (or `.lgbm.gz`) and so on; "embedded:NAME" is
 * `ck_registry_load_embedded`. `options` may be NULL for the defaults: the model is then used for the problems that its spec
 * names (operation, direction, dtype, architecture), and refused for others. A model that was loaded for the same ones is replaced. Threads that select
 * meanwhile use the old one until the new one is ready.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `directory` is a NUL-terminated text; `options` is NULL or points to a
 * `ck_model_options` with its `struct_size` set, as are those of what it points to.
 */
ck_status ck_registry_load_model(ck_registry *registry,
                                 const char *directory,
                                 const ck_model_options *options);

/**
 * Loads a model that is built into the library; see `ck_registry_load_model` for the options. `CK_STATUS_NOT_FOUND` when there is
 * none of that name.
 *
 * # Safety
 * As for `ck_registry_load_model`, with a name for the directory.
 */
ck_status ck_registry_load_embedded(ck_registry *registry,
                                    const char *name,
                                    const ck_model_options *options);

/**
 * Writes the name of the model at a place among those that are built into the library. To walk over all, count from 0 until
 * `CK_STATUS_NOT_FOUND`. The text is constant.
 *
 * # Safety
 * `name` points to an address.
 */
ck_status ck_embedded_model_name(size_t index,
                                 const char **name);

/**
 * Loads a model from memory. `name` is what messages call it; for the options see `ck_registry_load_model`.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `name` is a NUL-terminated text; `spec` points to `spec_len` bytes,
 * `forests` to `forest_count` structs, each with its `struct_size` set and its bytes; `options` as for `ck_registry_load_model`.
 */
ck_status ck_registry_load_model_bytes(ck_registry *registry,
                                       const char *name,
                                       const uint8_t *spec,
                                       size_t spec_len,
                                       const ck_forest_bytes *forests,
                                       size_t forest_count,
                                       const ck_model_options *options);

/**
 * Removes the model that was loaded for these problems; `CK_STATUS_NOT_FOUND` when there is none.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `key` points to a `ck_model_key` with its `struct_size` set.
 */
ck_status ck_registry_remove_model(ck_registry *registry, const ck_model_key *key);

/**
 * Removes all models that were loaded. Those of `embedded_models` stay as long as the options say so.
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
 * is warm. With `CK_SELECT_CAPTURE`, a problem that the file does not hold yet is written to it by the call, or by one that is
 * writing already: then a call makes system calls, but never waits for another one. A call that measures runs kernels on
 * the options' stream and waits for them.
 *
 * A registry that chooses without knowing enough says so once, on standard error as long as neither
 * `ck_set_log_callback` was called nor `CK_SELECT_LOG` says otherwise: when no model is for the problem (`no_model`), and
 * when a model that is built in is asked for an architecture that nobody named (`arch_unknown`).
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
 * Writes the name of a field of an operation's problems, by its bit in `out_of_range_fields`: "N", "direction" and so on;
 * "features" stands for what the model's features make of them. To walk over all, count from 0 until
 * `CK_STATUS_NOT_FOUND`. `op` is a `ck_op`; the text is constant.
 *
 * # Safety
 * `name` points to an address.
 */
ck_status ck_problem_field_name(int32_t op,
                                size_t bit,
                                const char **name);

/**
 * Ranks the kernels for a convolution by the model that fits, best first. At most `capacity` are written, and to
 * `count` how many there are in all; `ranked` may be NULL when `capacity` is 0. Support is not asked.
 *
 * `left_out` gets the number of kernels that compute the problem and that the model cannot describe: they have no place;
 * it may be NULL.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `problem` points to a struct with its `struct_size` set; `ranked` points to
 * `capacity` structs, `count` to a `size_t`; `left_out` is NULL or points to a `size_t`.
 */
ck_status ck_rank_kernels(const ck_registry *registry,
                          const ck_conv_problem *problem,
                          size_t capacity,
                          ck_ranked *ranked,
                          size_t *count,
                          size_t *left_out);

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
                               size_t *count,
                               size_t *left_out);

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
 * order. `count` gets their number, also when `capacity` is smaller and the call fails with `CK_STATUS_BUFFER_TOO_SMALL`.
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

/**
 * Loads one forest of a model directory, plain or gzip, with `feature_spec.json`. No file is written. `options` may be
 * NULL for the defaults. Fails with `CK_STATUS_NOT_FOUND` when the directory has no such forest. Destroy the model with
 * `ck_model_destroy`.
 *
 * # Safety
 * `directory` is a NUL-terminated text; `options` is NULL or points to a struct with its `struct_size` set, whose texts
 * are NULL or NUL-terminated; `model` points to an address.
 */
ck_status ck_model_create(const char *directory,
                          const ck_row_options *options,
                          ck_model **model);

/**
 * Destroys a model. Pools that were made of it stay good. NULL is fine.
 *
 * # Safety
 * `model` is NULL, or from `ck_model_create`, and no thread uses it now or later.
 */
void ck_model_destroy(ck_model *model);

/**
 * Writes what a program must know of a model directory before it asks, as a JSON object: `op`, `rank_by`, `log_targets`,
 * `feature_names`, `problem_inputs` and `kernel_inputs` (the names of the cells that the features read), `name_inputs`
 * (those that may hold a kernel's name, or that it must agree with), `word_inputs` (those of all these that hold words),
 * `hardware` and more. Reads and checks the spec and no forest; of the options, the
 * target does not matter. Free the text with `ck_string_free`.
 *
 * # Safety
 * As for `ck_model_create`; `text` points to an address.
 */
ck_status ck_spec_describe(const char *directory,
                           const ck_row_options *options,
                           char **text);

/**
 * Writes what a kernel's name says, as a JSON object of cells such as upstream's converters make of it: the numbers of a
 * convolution's tile stand in the order of the name under `block_size`, `gemm_m_per_block`, `gemm_n_per_block`. Fails with
 * `CK_STATUS_INVALID_KERNEL` for what is no kernel's name. Free the text with `ck_string_free`.
 *
 * # Safety
 * `name` is a NUL-terminated text; `text` points to an address.
 */
ck_status ck_kernel_cells(const char *name,
                          char **text);

/**
 * Predicts for one row, a JSON object with the cells of a problem and of a kernel, such as
 * `{"m": 16, "n": 1536, "k": 7168, "dtype": "fp8", "tile_m": 64}`. Logarithms are undone; what was trained without is
 * clamped at 0.
 *
 * A row with a kernel's name under `kernel_name` or `kernel` is described by the name, as kernels of a registry are. Its
 * other cells may be absent, and must not contradict the name; a tile's numbers may stand in the order of the name, as
 * tables of measurements have them, or as what they are. Any other text there is a label.
 *
 * # Safety
 * `model` is from `ck_model_create`; `row` points to `len` bytes, `value` to a double.
 */
ck_status ck_model_predict_row(const ck_model *model,
                               const uint8_t *row,
                               size_t len,
                               double *value);

/**
 * Predicts for each row of a table whose columns have the cells of problems and of kernels; see `ck_model_predict_row`.
 * Columns that the features do not read are passed over.
 *
 * # Safety
 * `model` is from `ck_model_create`; `columns` points to `column_count` structs, each with its `struct_size` set and
 * `rows` cells; `values` points to `rows` doubles.
 */
ck_status ck_model_predict_rows(const ck_model *model,
                                const ck_column *columns,
                                size_t column_count,
                                size_t rows,
                                double *values);

/**
 * Writes the features of each row of a table, row after row in the model's order. `capacity` is the room for them;
 * when it is smaller than rows times features nothing is written and the call fails with `CK_STATUS_BUFFER_TOO_SMALL`.
 *
 * # Safety
 * As for `ck_model_predict_rows`; `features` points to `capacity` doubles.
 */
ck_status ck_model_extract_rows(const ck_model *model,
                                const ck_column *columns,
                                size_t column_count,
                                size_t rows,
                                size_t capacity,
                                double *features);

/**
 * Prepares a model for the kernels of a table, which may be named; see `ck_model_predict_row`. Rows may have cells of the
 * problem, too, which then come before those of the problem that is ranked. Destroy the pool with `ck_pool_destroy`.
 *
 * # Safety
 * As for `ck_model_predict_rows`; `pool` points to an address.
 */
ck_status ck_pool_create(const ck_model *model,
                         const ck_column *columns,
                         size_t column_count,
                         size_t rows,
                         ck_pool **pool);

/**
 * Destroys a pool. NULL is fine.
 *
 * # Safety
 * `pool` is NULL, or from `ck_pool_create`, and no thread uses it now or later.
 */
void ck_pool_destroy(ck_pool *pool);

/**
 * Ranks the kernels of a pool for a problem, best first; equal scores keep the order of the rows, NaN comes last.
 * `problem` is a JSON object, such as `{"m": 16, "n": 1536, "k": 7168}`. Type, direction and layout may be left out where
 * the kernels' names say them, as may the depth of 2D convolutions; another one than they say is an error. At most `capacity` places are written: to
 * `rows` each kernel's row, counted from 0, to `scores` what the model says of it, logarithms undone and nothing clamped.
 *
 * # Safety
 * `pool` is from `ck_pool_create`; `problem` points to `len` bytes; `rows` and `scores` point to `capacity` items each.
 */
ck_status ck_pool_rank(const ck_pool *pool,
                       const uint8_t *problem,
                       size_t len,
                       size_t capacity,
                       size_t *rows,
                       double *scores);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* CK_SELECT_H */
