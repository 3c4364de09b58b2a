/* ck_select: chooses the fastest GPU kernel for a problem without trying them all.
 *
 * Generated from the sources by cbindgen. Do not edit: run `CK_SELECT_UPDATE_HEADER=1 cargo test --test header`.
 *
 * Conventions
 *   Errors     Every function that can fail returns a ck_status. Outputs are written only if it is CK_STATUS_OK, except
 *              for the required size with CK_STATUS_BUFFER_TOO_SMALL. ck_last_error() returns the message of the calling
 *              thread's last failure.
 *   Ownership  Handles are created by ck_*_create and released by ck_*_destroy, which accepts NULL. Arguments are
 *              borrowed for the call or copied. The documentation of each result says how long it lives.
 *   Structs    The caller sets struct_size to sizeof the struct, so that later versions can append fields. Fields beyond
 *              a smaller size are read as 0 and not written; the first element's size is the stride of an array.
 *              A size larger than the library's is CK_STATUS_INVALID_STRUCT. Reserved fields must be 0.
 *   Enums      Passed as int32_t; an unknown value is CK_STATUS_INVALID_ARGUMENT.
 *   Strings    NUL-terminated UTF-8.
 *   Threads    Any number of threads may use one registry at once, even while others change it.
 *   Never      No function throws, exits or prints, except for two warnings: see ck_log_set_callback. None aborts, except
 *              where Rust cannot go on: memory that cannot be allocated, or an exception that leaves a callback.
 */

#ifndef CK_SELECT_H
#define CK_SELECT_H

#include <stddef.h>
#include <stdint.h>

/**
 * The ABI version that this header describes.
 */
#define CK_SELECT_ABI_VERSION 1

/**
 * Any direction, any type.
 */
#define CK_ANY -1

/**
 * The result of a call. Numbers are never changed or reused.
 */
typedef enum {
  /**
   * Success; outputs are written.
   */
  CK_STATUS_OK = 0,
  /**
   * A required pointer was NULL.
   */
  CK_STATUS_NULL_POINTER = 1,
  /**
   * An argument is out of range.
   */
  CK_STATUS_INVALID_ARGUMENT = 2,
  /**
   * Unknown struct size: `struct_size` was not set, or the struct is from a newer version.
   */
  CK_STATUS_INVALID_STRUCT = 3,
  /**
   * A string is not UTF-8.
   */
  CK_STATUS_NOT_UTF8 = 4,
  /**
   * Invalid problem.
   */
  CK_STATUS_INVALID_PROBLEM = 5,
  /**
   * Invalid kernel name or descriptor.
   */
  CK_STATUS_INVALID_KERNEL = 6,
  /**
   * A kernel with that name is already registered, with the same or a higher priority.
   */
  CK_STATUS_ALREADY_REGISTERED = 7,
  /**
   * There is nothing with that name or at that index.
   */
  CK_STATUS_NOT_FOUND = 8,
  /**
   * No registered kernel matches the problem and supports it.
   */
  CK_STATUS_NO_KERNEL = 9,
  /**
   * An override names a kernel for this problem that cannot be used.
   */
  CK_STATUS_OVERRIDE_FAILED = 10,
  /**
   * A model cannot be loaded.
   */
  CK_STATUS_INVALID_MODEL = 11,
  /**
   * No model serves the problem.
   */
  CK_STATUS_NO_MODEL = 12,
  /**
   * A file cannot be read or written.
   */
  CK_STATUS_IO = 13,
  /**
   * The caller's buffer is too small; the required size is written.
   */
  CK_STATUS_BUFFER_TOO_SMALL = 14,
  /**
   * An internal error (a caught panic); the registry stays usable.
   */
  CK_STATUS_PANIC = 15,
  /**
   * Nothing can be measured: no device, no architecture, a failed device.
   */
  CK_STATUS_CANNOT_MEASURE = 16,
} ck_status;

/**
 * Direction of a convolution.
 */
typedef enum {
  CK_DIRECTION_FORWARD = 0,
  CK_DIRECTION_BWD_DATA = 1,
  CK_DIRECTION_BWD_WEIGHT = 2,
} ck_direction;

/**
 * Element type. FP8 is E4M3, BF8 is E5M2; the 4-bit types are packed. The last five are only for
 * attention: input type, then output type; MX is scaled in blocks of 32.
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
  CK_DTYPE_FP8FP16 = 11,
  CK_DTYPE_FP8BF16 = 12,
  CK_DTYPE_FP8FP32 = 13,
  CK_DTYPE_MXFP8 = 14,
  CK_DTYPE_MXFP4 = 15,
} ck_dtype;

/**
 * Memory layout of one GEMM operand: rows, columns, or the order in which a kernel reads it.
 */
typedef enum {
  CK_MAJOR_ROW = 0,
  CK_MAJOR_COL = 1,
  CK_MAJOR_PACKED = 2,
} ck_major;

/**
 * Memory layout of the convolution tensors: N images, G groups, C channels, D depth, H height, W width.
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
   * Trillions of operations per second.
   */
  CK_TARGET_TFLOPS = 0,
  /**
   * Milliseconds.
   */
  CK_TARGET_LATENCY = 1,
  /**
   * Gigabytes per second.
   */
  CK_TARGET_BANDWIDTH = 2,
  /**
   * Logarithm of the speed relative to the problem's fastest kernel: only for ranking.
   */
  CK_TARGET_RELATIVE = 3,
} ck_target;

/**
 * Which sources are asked, and in which order.
 */
typedef enum {
  /**
   * Override, store, model, search if allowed, estimate, priority.
   */
  CK_MODE_MODEL = 0,
  /**
   * Override, store, search, model, estimate, priority: problems that are not in the store are measured.
   */
  CK_MODE_SEARCH = 1,
  /**
   * Override, store, search among the model's best `refine` kernels, model, estimate, priority.
   */
  CK_MODE_REFINE = 2,
  /**
   * Override, priority: nothing is predicted or measured.
   */
  CK_MODE_PRIORITY = 3,
} ck_mode;

/**
 * The source that chose a kernel.
 */
typedef enum {
  /**
   * An override file.
   */
  CK_SOURCE_OVERRIDE = 0,
  /**
   * The store: a winner that was measured earlier.
   */
  CK_SOURCE_STORE = 1,
  /**
   * A model's prediction.
   */
  CK_SOURCE_MODEL = 2,
  /**
   * A search: measured during the call.
   */
  CK_SOURCE_SEARCH = 3,
  /**
   * An estimate, where nothing was measured.
   */
  CK_SOURCE_ESTIMATE = 4,
  /**
   * The registered priority.
   */
  CK_SOURCE_PRIORITY = 5,
} ck_source;

/**
 * How much is logged. A `ck_log_level` is passed as `int32_t`.
 */
typedef enum {
  /**
   * Nothing.
   */
  CK_LOG_LEVEL_OFF = 0,
  /**
   * Failures that leave a call without an answer.
   */
  CK_LOG_LEVEL_ERROR = 1,
  /**
   * Failures after which a worse source answers.
   */
  CK_LOG_LEVEL_WARN = 2,
  /**
   * Loading and measuring.
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
  /**
   * Attention.
   */
  CK_OP_FMHA = 2,
} ck_op;

/**
 * The attention operation that a caller requests.
 */
typedef enum {
  CK_FMHA_API_FWD = 0,
  CK_FMHA_API_FWD_PAGEDKV = 1,
  CK_FMHA_API_FWD_SPLITKV = 2,
  CK_FMHA_API_FWD_APPENDKV = 3,
  CK_FMHA_API_BATCH_PREFILL = 4,
  CK_FMHA_API_BWD = 5,
} ck_fmha_api;

/**
 * The stage that an attention kernel computes.
 */
typedef enum {
  CK_FMHA_FAMILY_FWD = 0,
  CK_FMHA_FAMILY_FWD_PAGEDKV = 1,
  CK_FMHA_FAMILY_FWD_SPLITKV = 2,
  CK_FMHA_FAMILY_FWD_SPLITKV_COMBINE = 3,
  CK_FMHA_FAMILY_FWD_APPENDKV = 4,
  CK_FMHA_FAMILY_BATCH_PREFILL = 5,
  CK_FMHA_FAMILY_BWD_DOT_DO_O = 6,
  CK_FMHA_FAMILY_BWD_DQ_DK_DV = 7,
  CK_FMHA_FAMILY_BWD_CONVERT_DQ = 8,
} ck_fmha_family;

/**
 * Kernels, models and options. Any number of threads may use one registry at once, even while others change
 * it; only `ck_registry_destroy` must come last.
 */
typedef struct ck_registry ck_registry;

/**
 * A grouped convolution. Axes are in the order depth, height, width. A 2D problem has extent 1, stride 1,
 * dilation 1 and no padding along the depth; a 1D problem also along the height. `c` and `k` are totals over
 * all groups.
 *
 * Initialise it with `ck_conv_problem_init`, which sets `struct_size` and the defaults.
 */
typedef struct {
  /**
   * `sizeof(ck_conv_problem)`.
   */
  size_t struct_size;
  /**
   * The architecture that will run it, when known. Such as "gfx950", NULL if unknown; of a problem, NULL for
   * the registry's. Borrowed for the call.
   */
  const char *arch;
  /**
   * Which of the three convolutions is asked for. A `ck_direction`.
   */
  int32_t direction;
  /**
   * Spatial dimensions, 1 to 3.
   */
  int32_t ndim;
  /**
   * Images in the batch.
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
   * Steps of the filter.
   */
  int64_t stride[3];
  /**
   * Distances between filter taps.
   */
  int64_t dilation[3];
  /**
   * Padding before the first element of each axis.
   */
  int64_t pad_left[3];
  /**
   * Padding after the last element of each axis.
   */
  int64_t pad_right[3];
  /**
   * Parts into which the reduction is split, 1 for none.
   */
  int32_t split_k;
  /**
   * Element type of the input. A `ck_dtype`.
   */
  int32_t dtype_in;
  /**
   * Element type of the weight. A `ck_dtype`.
   */
  int32_t dtype_wei;
  /**
   * Element type of the output. A `ck_dtype`.
   */
  int32_t dtype_out;
  /**
   * Memory order of the tensors. A `ck_conv_layout`.
   */
  int32_t layout;
  /**
   * Must be 0.
   */
  int32_t reserved;
} ck_conv_problem;

/**
 * GEMMs of equal extents in a list.
 */
typedef struct {
  /**
   * Rows of A and C.
   */
  uint32_t m;
  /**
   * Columns of B and C.
   */
  uint32_t n;
  /**
   * Columns of A, rows of B.
   */
  uint32_t k;
  /**
   * How many there are; at least 1.
   */
  uint32_t count;
} ck_gemm_group;

/**
 * A list of GEMMs of one launch that differ in their extents, in any order; at most 8 different ones. The
 * problem's own extents are then those of the one with the most work, or 1 as initialised.
 */
typedef struct {
  /**
   * The GEMMs; NULL if it is no list. Borrowed for the call; in a callback, valid until it returns.
   */
  const ck_gemm_group *items;
  /**
   * Their number.
   */
  size_t count;
} ck_gemm_groups;

/**
 * What a GEMM problem asks for beside one plain GEMM; only kernels that do what it says are then chosen.
 */
typedef struct {
  /**
   * GEMMs of any extents in one launch; empty if it is not a list.
   */
  ck_gemm_groups groups;
  /**
   * GEMMs of equal extents in one launch; 0 if it is not a batch.
   */
  int32_t batch;
  /**
   * Stream-K, and its reduction. Only Stream-K kernels answer such a problem, and no other. NULL for none.
   */
  const char *stream_k;
  /**
   * D tensors; 0 if unspecified.
   */
  int32_t num_d;
  /**
   * Not 0: B is stored in the order in which it is read; `false` if unspecified.
   */
  int32_t preshuffle;
  /**
   * Which operands have scales. NULL for none.
   */
  const char *quant;
  /**
   * Elements of A that share a scale, if groups do. m, n, k; zeros for the usual ones.
   */
  int32_t group_a[3];
  /**
   * The same of B. m, n, k; zeros for the usual ones.
   */
  int32_t group_b[3];
} ck_gemm_request;

/**
 * A GEMM: C (m x n) = A (m x k) times B (k x n).
 *
 * Initialise it with `ck_gemm_problem_init`, which sets `struct_size` and the defaults.
 */
typedef struct {
  /**
   * `sizeof(ck_gemm_problem)`.
   */
  size_t struct_size;
  /**
   * The architecture that will run it, when known. Such as "gfx950", NULL if unknown; of a problem, NULL for
   * the registry's. Borrowed for the call.
   */
  const char *arch;
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
   * Parts into which K is split, 1 for none (`k_batch` of the CK dispatcher).
   */
  int32_t split_k;
  /**
   * Element type of A. A `ck_dtype`.
   */
  int32_t dtype_a;
  /**
   * Element type of B. A `ck_dtype`.
   */
  int32_t dtype_b;
  /**
   * Element type of C. A `ck_dtype`.
   */
  int32_t dtype_c;
  /**
   * Memory orders of the operands. A `ck_major` each.
   */
  int32_t layout[3];
  /**
   * What it asks for besides one plain GEMM. With a list of GEMMs the extents are those of the largest.
   */
  ck_gemm_request request;
} ck_gemm_problem;

/**
 * Options of a registry, initialised by `ck_options_init`: all bytes 0 with `struct_size` set.
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
   * Not 0: ignores the environment (`CK_SELECT_MODE`, `_OVERRIDE`, `_HARDWARE`, `_STORE`, `_CAPTURE`).
   * `CK_SELECT_LOG` applies to the process, not to a registry: it still sets the log's destination, unless
   * `ck_log_set_callback` was called before.
   */
  int32_t ignore_environment;
  /**
   * A file of rules `problem -> kernel name`, which take precedence over all other sources; NULL for none.
   * Copied.
   */
  const char *override_file;
  /**
   * The architecture of problems that name none, such as "gfx950"; NULL for any. Copied.
   */
  const char *arch;
  /**
   * The file that keeps measured winners, or "off" for memory only. NULL: `CK_SELECT_STORE`, or a file in
   * the user's cache folder, which is opened only by a registry that measures. Copied.
   */
  const char *store;
  /**
   * The name of the device whose winners the store keeps; NULL asks the HIP runtime. The driver is always
   * the current one. Copied.
   */
  const char *device_name;
  /**
   * The stream to measure on (`hipStream_t`), which must live as long as the registry uses these options;
   * NULL for the default stream.
   */
  void *stream;
  /**
   * How many of the model's best kernels `CK_MODE_REFINE` measures; 0 means 3.
   */
  int32_t refine;
  /**
   * How many of the model's best kernels `CK_MODE_MODEL` measures if the problem is outside the model's
   * training range; 0 for none.
   */
  int32_t refine_out_of_range;
  /**
   * Not 0: `CK_MODE_MODEL` measures all kernels if no model serves the problem.
   */
  int32_t search;
  /**
   * Timed runs of each kernel; 0 means 10. Kernels within noise of the fastest are run again, alternating.
   */
  int32_t repeats;
  /**
   * Warm-up runs of each kernel; 0 means 3, less than 0 means none.
   */
  int32_t warmup;
  /**
   * Not 0: measures kernels with the host's clock, without a GPU. For run callbacks that do all their work
   * on the host before they return, such as reference implementations. Requires `arch`, because the host
   * has none; winners are stored for the device "host".
   */
  int32_t host_timing;
  /**
   * Not 0: built-in models answer problems that no loaded model serves. A universal model, loaded or built in,
   * answers only those for which no other model was trained.
   */
  int32_t embedded_models;
  /**
   * Not 0: if no other source has an answer, the priority decides, without the estimate.
   */
  int32_t no_estimate;
  /**
   * Time limit of one search in milliseconds; 0 means one minute.
   */
  double budget_ms;
  /**
   * A kernel is abandoned if its runs take this many times longer than the best kernel's; 0 means 3.
   */
  double cutoff;
  /**
   * Time limit of one run in milliseconds; 0 means 5000. A kernel that the GPU has not finished by then is
   * considered hung: the kernel and its search are abandoned. A run callback that does not return cannot
   * be stopped, because it runs on the selecting thread: that call waits for it, with or without
   * `host_timing`. Other threads wait one second longer than this limit and then measure without it; the
   * kernel of a callback that returns too late is abandoned.
   */
  double run_timeout_ms;
  /**
   * A file that describes the GPU, as `ckselect hardware` writes it, or "hip" ("hip:gfx1201": based on
   * that profile) for what the HIP runtime reports of the device that the registry measures on; NULL for
   * the profile of the architecture. The estimate and universal models take it instead of the profile of
   * `arch`, or else of the architecture that the file is `based_on`; models of one architecture keep the
   * constants that they were trained with. Copied.
   */
  const char *hardware;
} ck_options;

/**
 * Attention, with the fields of CK's `FmhaProblem` and their numbers.
 *
 * Initialise it with `ck_fmha_problem_init`, which sets `struct_size` and the defaults.
 */
typedef struct {
  /**
   * `sizeof(ck_fmha_problem)`.
   */
  size_t struct_size;
  /**
   * The architecture that will run it, when known. Such as "gfx950", NULL if unknown; of a problem, NULL for
   * the registry's. Borrowed for the call.
   */
  const char *arch;
  /**
   * The requested operation. A `ck_fmha_api`.
   */
  int32_t api_family;
  /**
   * The stage for which a kernel is chosen. A `ck_fmha_family`.
   */
  int32_t family;
  /**
   * Element types of operands and, for the mixed words, of the result. A `ck_dtype`.
   */
  int32_t dtype;
  /**
   * Sequences.
   */
  int64_t batch;
  /**
   * Queries per sequence.
   */
  int64_t seqlen_q;
  /**
   * Keys per sequence.
   */
  int64_t seqlen_k;
  /**
   * Query heads.
   */
  int64_t nhead_q;
  /**
   * Key and value heads; fewer than query heads if these share them.
   */
  int64_t nhead_k;
  /**
   * Head size of queries and keys, in elements.
   */
  int64_t hdim_q;
  /**
   * Head size of values, in elements.
   */
  int64_t hdim_v;
  /**
   * Whether all sequences have the same length, or each its own. 0 batch, 1 group.
   */
  int32_t mode;
  /**
   * Which keys a query does not attend to. 0 no, 1 top_left, 2 bottom_right, 3 generic.
   */
  int32_t mask;
  /**
   * What is added to the scores. 0 no, 1 bias, 2 alibi.
   */
  int32_t bias;
  /**
   * How 8-bit operands are scaled. 0 no, 1 pertensor, 2 blockscale, 3 kv_blockscale, 4 mx, 5 per_token_head.
   */
  int32_t qscale;
  /**
   * How appended keys are rotated. 0 none, 1 inter, 2 half.
   */
  int32_t rope;
  /**
   * Memory order of a paged cache. 0 vectorized, 1 linear.
   */
  int32_t kv_layout;
  /**
   * How pages are found. 0 vllm, 1 sglang.
   */
  int32_t kv_lookup;
  /**
   * Queries of the longest sequence; 0: `seqlen_q`.
   */
  int64_t max_seqlen_q;
  /**
   * Keys of the longest sequence; 0: `seqlen_k`.
   */
  int64_t max_seqlen_k;
  /**
   * Keys per page.
   */
  int64_t page_size;
  /**
   * Parts into which the keys of a sequence are split.
   */
  int64_t num_splits;
  /**
   * Keys that a query attends to before its own position; -1 for all. With a mask from a corner, 0 also
   * means all.
   */
  int64_t window_left;
  /**
   * Keys that a query attends to after its own position; -1 for all.
   */
  int64_t window_right;
  /**
   * Number of first keys that every query attends to.
   */
  int64_t sink_size;
  /**
   * Sequences with fewer queries are skipped.
   */
  int64_t min_seqlen_q;
  /**
   * Number of elements that are rotated.
   */
  int64_t rotary_dim;
  /**
   * Not 0: values are row-major.
   */
  int32_t v_rowmajor;
  /**
   * Not 0: scores have a soft cap.
   */
  int32_t logits;
  /**
   * Not 0: the log-sum-exp is stored.
   */
  int32_t lse;
  /**
   * Not 0: dropout is applied.
   */
  int32_t dropout;
  /**
   * Not 0: keys and values are paged.
   */
  int32_t paged_kv;
  /**
   * Not 0: scales of 8-bit operands are static.
   */
  int32_t fp8_static_quant;
  /**
   * Not 0: short sequences are skipped.
   */
  int32_t skip;
  /**
   * Not 0: every query attends to the first keys.
   */
  int32_t sink;
  /**
   * Not 0: the gradient of the bias is computed.
   */
  int32_t dbias;
  /**
   * Not 0: the random numbers of dropout are stored.
   */
  int32_t store_randval;
  /**
   * Not 0: the order of summation is fixed.
   */
  int32_t deterministic;
  /**
   * Not 0: the call passes where the queries of each sequence start.
   */
  int32_t has_seqstart_q_ptr;
  /**
   * Not 0: the call passes where the keys of each sequence start.
   */
  int32_t has_seqstart_k_ptr;
  /**
   * Not 0: the call passes the number of queries of each sequence.
   */
  int32_t has_seqlen_q_ptr;
  /**
   * Not 0: the call passes the number of keys of each sequence.
   */
  int32_t has_seqlen_k_ptr;
  /**
   * Not 0: the call passes cumulative numbers of queries.
   */
  int32_t has_cu_seqlen_q_ptr;
  /**
   * Not 0: the call passes cumulative numbers of keys.
   */
  int32_t has_cu_seqlen_k_ptr;
  /**
   * Not 0: the call passes the pages of each sequence.
   */
  int32_t has_block_table_ptr;
  /**
   * Not 0: the call passes the cache index of each sequence.
   */
  int32_t has_cache_batch_idx;
  /**
   * Not 0: there are gaps between the keys of neighbouring sequences.
   */
  int32_t is_gappy;
  /**
   * Not 0: the call passes sines and cosines.
   */
  int32_t has_rotary_cos_sin;
  /**
   * Must be 0.
   */
  int32_t reserved;
} ck_fmha_problem;

/**
 * Callbacks, user data and priority of a kernel. Every callback may be NULL. Callbacks run on the selecting
 * thread, which may be any thread, and concurrently. They must not throw or change the registry that calls
 * them. They may select: a problem without an answer yet is then not measured but answered by the next
 * source, and that answer is not cached. The problem that they receive lives as long as the call.
 *
 * A run callback that leaves by `longjmp` leaks the memory of its search, but holds no lock: its problem is
 * not measured again until the registry changes, its thread can measure again after `run_timeout_ms` plus
 * one second, and other threads wait for it no longer than that.
 *
 * Begin with all bytes 0 and `struct_size` set; CK's normal `priority` is 1.
 */
typedef struct {
  /**
   * `sizeof(ck_kernel_hooks)`.
   */
  size_t struct_size;
  /**
   * Returned with each selection, and passed to the callbacks unless there is a `context`. Never dereferenced.
   */
  void *user;
  /**
   * Rank of the kernel among those of equal scores, and if no better source answers; higher is better. CK's
   * low, normal, high are 0, 1, 2.
   */
  int32_t priority;
  /**
   * Must be 0.
   */
  int32_t reserved;
  /**
   * Whether the kernel can run a convolution: not 0 for yes. NULL: always. Called on the select path.
   */
  int32_t (*supports_conv)(const ck_conv_problem *problem, void *user);
  /**
   * Whether the kernel can run a GEMM: not 0 for yes. NULL: always. Called on the select path.
   */
  int32_t (*supports_gemm)(const ck_gemm_problem *problem, void *user);
  /**
   * Runs a convolution once, with all its work on the stream. Returns the milliseconds that it took by its
   * own timing; 0 if it was only launched, so that events time it; a negative error code if it could not
   * be run. NULL: the kernel is never measured.
   */
  float (*run_conv)(const ck_conv_problem *problem, void *stream, void *user);
  /**
   * Runs a GEMM once; see `run_conv`.
   */
  float (*run_gemm)(const ck_gemm_problem *problem, void *stream, void *user);
  /**
   * Whether the kernel can run an attention problem: not 0 for yes. NULL: if CK's rules say so. Called on
   * the select path.
   */
  int32_t (*supports_fmha)(const ck_fmha_problem *problem, void *user);
  /**
   * Runs a stage of attention once; see `run_conv`.
   */
  float (*run_fmha)(const ck_fmha_problem *problem, void *stream, void *user);
  /**
   * Passed to the callbacks in the place of `user`; NULL: `user`. Selections still return `user`.
   */
  void *context;
  /**
   * Called once with what the callbacks receive, if the kernel was added, when none of them will be called any
   * more: the kernel was removed or replaced and no call that may use it still runs, or the registry is
   * destroyed. Runs on any thread, even within a selection; it must not throw or use the registry. NULL: nothing.
   */
  void (*release)(void *context);
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
   * The kernel's name. Lives until the registry is destroyed, even if the kernel is removed.
   */
  const char *name;
  /**
   * The `user` pointer of its hooks.
   */
  void *user;
  /**
   * Its index in the order of registration, not counting removed kernels.
   */
  size_t index;
  /**
   * The priority of its hooks.
   */
  int32_t priority;
  /**
   * 0.
   */
  int32_t reserved;
} ck_kernel_info;

/**
 * Stream-K settings of a convolution kernel.
 */
typedef struct {
  /**
   * How it reduces its partial results: "none", "tree", "linear" or "atomic"; NULL if it is not a stream-K
   * kernel.
   */
  const char *reduction;
  /**
   * Not 0: its workgroups stay resident.
   */
  int32_t persistent;
  /**
   * Must be 0.
   */
  int32_t reserved;
} ck_stream_k;

/**
 * A grouped-convolution kernel, with the fields of CK's `GroupedConvKernelKey` and those that only its
 * names contain.
 *
 * Initialise it with `ck_conv_kernel_desc_init`. Words are those of kernel names, such as "compv3"; they
 * are strings, because CK adds some with each version. Strings are borrowed for the call that takes the
 * descriptor.
 */
typedef struct {
  /**
   * `sizeof(ck_conv_kernel_desc)`.
   */
  size_t struct_size;
  /**
   * The name under which it is registered, any single line of text; NULL for the name of CK's code
   * generator, which contains everything except the types of weight and output and the architecture.
   */
  const char *name;
  /**
   * The architecture that it was built for, when known. Such as "gfx950", NULL if unknown; of a problem,
   * NULL for the registry's. Borrowed for the call.
   */
  const char *arch;
  /**
   * Which of the three convolutions it computes. A `ck_direction`.
   */
  int32_t direction;
  /**
   * Spatial dimensions, 1 to 3.
   */
  int32_t ndim;
  /**
   * Element type of the input. A `ck_dtype`.
   */
  int32_t dtype_in;
  /**
   * Element type of the weight. A `ck_dtype`.
   */
  int32_t dtype_wei;
  /**
   * Element type of the output. A `ck_dtype`.
   */
  int32_t dtype_out;
  /**
   * Memory order of its tensors. A `ck_conv_layout`.
   */
  int32_t layout;
  /**
   * Result tile and depth of one step, per workgroup: m, n, k.
   */
  int32_t tile[3];
  /**
   * Waves of a workgroup along m, n, k.
   */
  int32_t wave[3];
  /**
   * Tile of one matrix instruction (`warp_*` in CK's keys): m, n, k.
   */
  int32_t warp_tile[3];
  /**
   * How loads overlap with arithmetic: `compv3`, `mem` and so on.
   */
  const char *pipeline;
  /**
   * How waves are interleaved: `intrawave`, `interwave` or `auto`.
   */
  const char *scheduler;
  /**
   * How results leave the registers: `cshuffle`, `default` and so on.
   */
  const char *epilogue;
  /**
   * Elements per memory access of A, B and C.
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
   * What it assumes about problems: `default`, `filter1x1_stride1_pad0` and so on.
   */
  const char *specialization;
  /**
   * Not 0: two buffers in shared memory (`dsb`).
   */
  int32_t double_smem_buffer;
  /**
   * Not 0: splits images for large tensors (`si`, CK's `large_tensor`).
   */
  int32_t split_image;
  /**
   * Not 0: runs as a plain GEMM.
   */
  int32_t explicit_gemm;
  /**
   * Not 0: converts in a second launch (backward weight, `2stage`).
   */
  int32_t two_stage;
  /**
   * Stream-K decomposition, if it is a stream-K kernel.
   */
  ck_stream_k stream_k;
} ck_conv_kernel_desc;

/**
 * Scales of a GEMM kernel's operands.
 */
typedef struct {
  /**
   * Which operands have scales: "aquant", "bquant", "abquant", "rowcolquant", `tensor_quant` or "mx"; NULL
   * for none.
   */
  const char *mode;
  /**
   * Elements of A that share a scale: m, n, k. Zeros: 1, 1, 128, and 1, 1, 32 for "mx".
   */
  int32_t group_a[3];
  /**
   * The same for B.
   */
  int32_t group_b[3];
} ck_quant;

/**
 * What sets a GEMM kernel apart from a plain one.
 */
typedef struct {
  /**
   * Who builds it: `ck`, `triton` or `aiter`. 0 ck, 1 triton, 2 aiter.
   */
  int32_t library;
  /**
   * Not 0: computes a batch: GEMMs of equal extents at equal distances in memory.
   */
  int32_t batched;
  /**
   * How workgroups that take equal shares of all steps add their partial results: `tree`, `linear` or
   * `atomic`; absent where workgroups take whole tiles. NULL for none.
   */
  const char *stream_k;
  /**
   * Memory order of the D tensors. A `ck_major`.
   */
  int32_t d_layout;
  /**
   * Scales of its operands.
   */
  ck_quant quant;
  /**
   * Not 0: whether the scales of A and of B are stored in the order in which they are read.
   */
  int32_t shuffled_scales[2];
  /**
   * Workgroups that should fit on one compute unit.
   */
  int32_t block_per_cu;
  /**
   * Not 0: the scales of A are read row by row by a kernel that otherwise reads them by columns.
   */
  int32_t row_scales;
  /**
   * Threads along the rows of A and along the columns of B that load a step; 0 when not known.
   */
  int32_t loaders[2];
  /**
   * Threads along m and n that store C; 0 when not known.
   */
  int32_t storers[2];
  /**
   * Results of instructions along m and n that a wave shuffles at a time; 0 when not known.
   */
  int32_t shuffle[2];
  /**
   * Groups of neighbouring tiles, and tiles along m in one; 0 for tiles in their order.
   */
  int32_t partition[2];
} ck_gemm_variant;

/**
 * A GEMM kernel, with the fields of CK's `KernelKey`. Initialise it with `ck_gemm_kernel_desc_init`; see
 * `ck_conv_kernel_desc` for words and strings.
 */
typedef struct {
  /**
   * `sizeof(ck_gemm_kernel_desc)`.
   */
  size_t struct_size;
  /**
   * The name under which it is registered, any single line of text; NULL for CK's identifier, which lacks
   * the types of B, C and the accumulators, the transposes, `grouped`, the block size, the vector widths and
   * the architecture.
   */
  const char *name;
  /**
   * The architecture that it was built for, when known. Such as "gfx950", NULL if unknown; of a problem,
   * NULL for the registry's. Borrowed for the call.
   */
  const char *arch;
  /**
   * Element type of A. A `ck_dtype`.
   */
  int32_t dtype_a;
  /**
   * Element type of B. A `ck_dtype`.
   */
  int32_t dtype_b;
  /**
   * Element type of C. A `ck_dtype`.
   */
  int32_t dtype_c;
  /**
   * Element type of the accumulators. A `ck_dtype`.
   */
  int32_t dtype_acc;
  /**
   * Memory orders of A, B, C. A `ck_major` each.
   */
  int32_t layout[3];
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
   * Parts into which K is split, 1 for none.
   */
  int32_t split_k;
  /**
   * What is done to each element of the result: `PassThrough`, `Relu`, `MultiDAdd` and so on.
   */
  const char *elementwise;
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
   * Waves of a workgroup along m, n, k (`warp_*` in upstream's names and features).
   */
  int32_t wave[3];
  /**
   * Tile of one matrix instruction: m, n, k.
   */
  int32_t warp_tile[3];
  /**
   * How loads overlap with arithmetic: `compv3`, `mem` and so on.
   */
  const char *pipeline;
  /**
   * How waves are interleaved: `intrawave`, `interwave` or `auto`.
   */
  const char *scheduler;
  /**
   * How results leave the registers: `cshuffle`, `default` and so on.
   */
  const char *epilogue;
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
  /**
   * Not 0: handles m, n, k that the tile does not divide.
   */
  int32_t pad[3];
  /**
   * Fixed vector widths of A, B, C; 0 is the kernel's native width.
   */
  int32_t vector[3];
  /**
   * What sets it apart from a plain GEMM kernel.
   */
  ck_gemm_variant variant;
} ck_gemm_kernel_desc;

/**
 * A chosen kernel.
 */
typedef struct {
  /**
   * `sizeof(ck_selection)`, set by the caller.
   */
  size_t struct_size;
  /**
   * The kernel's name. Lives until the registry is destroyed, even if the kernel is removed.
   */
  const char *name;
  /**
   * The `user` pointer of its hooks.
   */
  void *user;
  /**
   * Its index among the registered kernels at the time of the call.
   */
  size_t index;
  /**
   * Its rank in the order of the source, counted from 0.
   */
  size_t rank;
  /**
   * Number of kernels before it in that order that do not support the problem.
   */
  size_t unsupported;
  /**
   * The model's score in the unit of its target, usually TFLOPS; the estimate's time in microseconds; NaN
   * from other sources.
   */
  double score;
  /**
   * Its measured time in milliseconds; NaN if it was not measured.
   */
  double measured_ms;
  /**
   * The number of the registry's state that answered; see `ck_registry_generation`.
   */
  uint64_t generation;
  /**
   * A `ck_source`: the source that chose it.
   */
  int32_t source;
  /**
   * 1 if the problem is outside the model's training range, else 0.
   */
  int32_t out_of_range;
  /**
   * The fields that are out of range, one bit each; `ck_problem_field_name` returns their names.
   */
  uint64_t out_of_range_fields;
  /**
   * 1 if no kernel measured for the model had this kernel's pipeline or suffixes, else 0.
   */
  int32_t unmeasured;
  /**
   * 1 if the model is for one architecture and neither the problem nor the options name one, else 0: the
   * device may be different.
   */
  int32_t arch_unknown;
  /**
   * 1 if the first kernel by priority was chosen only because no model and no other source had an answer,
   * else 0.
   */
  int32_t no_model;
  /**
   * 1 if the model is a universal one, which ranks for any GPU, direction and type, else 0.
   */
  int32_t generic;
  /**
   * The model that chose it: "embedded:universal" or another built-in one, a directory, or the name under which
   * a model was loaded from memory; NULL if another source chose. Valid for the life of the process.
   */
  const char *model;
} ck_selection;

/**
 * One place of a ranking.
 */
typedef struct {
  /**
   * `sizeof(ck_ranked)`, set by the caller in the first of the array.
   */
  size_t struct_size;
  /**
   * The kernel's name. Lives as long as that of a selection.
   */
  const char *name;
  /**
   * The `user` pointer of its hooks.
   */
  void *user;
  /**
   * Its index among the registered kernels.
   */
  size_t index;
  /**
   * The model's score.
   */
  double score;
  /**
   * 1 if the previous or the next place has the same score, so that the model does not distinguish them,
   * else 0.
   */
  int32_t tied;
  /**
   * 1 if no kernel measured for the model had this kernel's pipeline or suffixes, else 0.
   */
  int32_t unmeasured;
} ck_ranked;

/**
 * A model's predictions for one kernel; NaN for targets without a forest.
 */
typedef struct {
  /**
   * `sizeof(ck_predictions)`, set by the caller.
   */
  size_t struct_size;
  /**
   * Trillions of operations per second.
   */
  double tflops;
  /**
   * Milliseconds.
   */
  double latency_ms;
  /**
   * Gigabytes per second.
   */
  double bandwidth_gb_s;
} ck_predictions;

/**
 * An attention kernel, with the fields of CK's `FmhaKernelKey` and their numbers; a `block_per_cu` of -1
 * is 255, too.
 *
 * Initialise it with `ck_fmha_kernel_desc_init`.
 */
typedef struct {
  /**
   * `sizeof(ck_fmha_kernel_desc)`.
   */
  size_t struct_size;
  /**
   * The name under which it is registered; NULL for its identifier.
   */
  const char *name;
  /**
   * What else distinguishes it (CK's `constraint_tag`), mostly empty. NULL for none.
   */
  const char *constraint_tag;
  /**
   * The architecture that it was built for, when known. Such as "gfx950", NULL if unknown; of a problem,
   * NULL for the registry's. Borrowed for the call.
   */
  const char *arch;
  /**
   * What it does: a stage. A `ck_fmha_family`.
   */
  int32_t family;
  /**
   * Element types of operands and, for the mixed words, of the result. A `ck_dtype`.
   */
  int32_t dtype;
  /**
   * Whether all sequences have the same length, or each its own. 0 batch, 1 group.
   */
  int32_t mode;
  /**
   * Not 0: values are row-major.
   */
  int32_t v_rowmajor;
  /**
   * Not 0: scores have a soft cap.
   */
  int32_t logits;
  /**
   * Which keys a query does not attend to. 0 no, 1 top_left, 2 bottom_right, 3 generic.
   */
  int32_t mask;
  /**
   * What is added to the scores. 0 no, 1 bias, 2 alibi.
   */
  int32_t bias;
  /**
   * Not 0: the log-sum-exp is stored.
   */
  int32_t lse;
  /**
   * Not 0: dropout is applied.
   */
  int32_t dropout;
  /**
   * How 8-bit operands are scaled. 0 no, 1 pertensor, 2 blockscale, 3 kv_blockscale, 4 mx, 5 per_token_head.
   */
  int32_t qscale;
  /**
   * How appended keys are rotated. 0 none, 1 inter, 2 half.
   */
  int32_t rope;
  /**
   * Not 0: keys and values are paged.
   */
  int32_t paged_kv;
  /**
   * Not 0: scales of 8-bit operands are static.
   */
  int32_t fp8_static_quant;
  /**
   * Not 0: short sequences are skipped.
   */
  int32_t skip;
  /**
   * Not 0: every query attends to the first keys.
   */
  int32_t sink;
  /**
   * Not 0: computes the gradient of the bias.
   */
  int32_t dbias;
  /**
   * Not 0: stores the random numbers of dropout.
   */
  int32_t store_randval;
  /**
   * Not 0: the order of summation is fixed.
   */
  int32_t deterministic;
  /**
   * Memory order of a paged cache. 0 vectorized, 1 linear.
   */
  int32_t kv_layout;
  /**
   * How pages are found. 0 vllm, 1 sglang.
   */
  int32_t kv_lookup;
  /**
   * Keys per page; 1 for any number.
   */
  int32_t page_size;
  /**
   * Largest head size of queries and keys, in elements.
   */
  int32_t hdim_q;
  /**
   * Largest head size of values, in elements.
   */
  int32_t hdim_v;
  /**
   * The build that it was selected for (CK's `receipt`), -1 for none.
   */
  int32_t receipt;
  /**
   * What one workgroup handles in one step: `m0`, `n0`, `k0`, `n1`, `k1`, `k0max`.
   */
  int32_t tile[6];
  /**
   * Waves of a workgroup: m, n, k of both products, and of the third one of backward kernels.
   */
  int32_t wave[9];
  /**
   * Tile of one matrix instruction, in the same order.
   */
  int32_t warp_tile[9];
  /**
   * How keys and values are loaded: `qr`, `qr_async` and so on.
   */
  const char *pipeline;
  /**
   * Not 0: handles numbers of queries and keys, and head sizes of queries and values, that the tile does not
   * divide.
   */
  int32_t pad[4];
  /**
   * Not 0: transposes while loading.
   */
  int32_t trload;
  /**
   * Workgroups that should fit on one compute unit; 255 when the pipeline decides.
   */
  int32_t block_per_cu;
  /**
   * Groups that the waves of a workgroup form.
   */
  int32_t num_wave_groups;
  /**
   * log2 of the largest number of splits, 0 for any.
   */
  int32_t max_splits_log2;
  /**
   * Largest number of queries, 0 for any.
   */
  int32_t max_seq_len_q;
  /**
   * What must divide the head size of queries if it is not padded, 0 for nothing.
   */
  int32_t hdim_q_alignment;
  /**
   * The same for values.
   */
  int32_t hdim_v_alignment;
  /**
   * Its place among kernels that are equally good by the rules (CK's `selection_rank`).
   */
  int32_t selection_rank;
} ck_fmha_kernel_desc;

/**
 * Options of an export, initialised by `ck_export_options_init`: all bytes 0 with `struct_size` set.
 */
typedef struct {
  /**
   * `sizeof(ck_export_options)`.
   */
  size_t struct_size;
  /**
   * The registry's name in the export; NULL for "default".
   */
  const char *registry_name;
  /**
   * The time of a GEMM export in CK's format, "YYYY-MM-DDThh:mm:ss"; NULL omits it, so that the same
   * kernels give the same text. Convolution exports have no timestamp.
   */
  const char *timestamp;
  /**
   * Not 0: adds counts of kernels by type, pipeline, architecture and so on.
   */
  int32_t statistics;
  /**
   * Must be 0.
   */
  int32_t reserved;
} ck_export_options;

/**
 * The hardware constants that features use. Cache sizes are in KiB, shared memory in bytes. Initialise it
 * with `ck_hardware_init`.
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
   * SIMD units per compute unit.
   */
  int64_t simds_per_cu;
  /**
   * Shader engines.
   */
  int64_t shader_engines;
  /**
   * Maximum clock in MHz.
   */
  int64_t max_clock_mhz;
  /**
   * Maximum number of waves per compute unit.
   */
  int64_t max_waves_per_cu;
  /**
   * Lanes per wave.
   */
  int64_t wavefront_size;
  /**
   * Shared memory per compute unit in bytes.
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
   * Number of dies (XCDs) that share the work.
   */
  int64_t num_xcd;
} ck_hardware;

/**
 * The problems that a model serves. A model with a more specific key takes precedence over one with a less
 * specific key.
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
   * A `ck_direction`, or `CK_ANY`; `CK_ANY` for GEMMs.
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
 * Options of a model, initialised by `ck_model_options_init`: all bytes 0 with `struct_size` set.
 */
typedef struct {
  /**
   * `sizeof(ck_model_options)`.
   */
  size_t struct_size;
  /**
   * The problems that the model serves; NULL for those that its spec names. Borrowed for the call.
   */
  const ck_model_key *key;
  /**
   * The hardware constants for its features, instead of those of its training: it then predicts for a GPU
   * that it has never seen. NULL for the constants of its spec. Borrowed for the call.
   */
  const ck_hardware *hardware;
  /**
   * Not 0: the model serves all problems of its operation, whatever its spec says. The quality of its
   * predictions for other directions, types and architectures is unknown; selections there are
   * `out_of_range`. Models that serve the problem without force take precedence. Must not be combined with
   * `key`.
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
   * A `ck_target`: what the forest predicts.
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
   * Number of bytes.
   */
  size_t len;
} ck_forest_bytes;

/**
 * The budget of a call of `ck_registry_tune`.
 */
typedef struct {
  /**
   * `sizeof(ck_tune_budget)`.
   */
  size_t struct_size;
  /**
   * How long the call may take, in milliseconds. No run begins after it, so it is exceeded by at most one
   * run.
   */
  double time_ms;
  /**
   * The stream to measure on (`hipStream_t`); NULL for that of the options.
   */
  void *stream;
  /**
   * How many of a problem's best kernels are measured, by the order in which the sources would choose
   * them: 2 or more; 0 means 3.
   */
  int32_t kernels;
  /**
   * Must be 0.
   */
  int32_t reserved;
} ck_tune_budget;

/**
 * What a call of `ck_registry_tune` did.
 */
typedef struct {
  /**
   * `sizeof(ck_tune_report)`, set by the caller.
   */
  size_t struct_size;
  /**
   * Number of problems that got a winner.
   */
  size_t measured;
  /**
   * Number of those whose winner differs from the kernel that was chosen before.
   */
  size_t improved;
  /**
   * Number of problems for which no kernel could be measured. They are skipped until kernels, models or
   * options change.
   */
  size_t failed;
  /**
   * Number of problems that wait to be measured.
   */
  size_t waiting;
  /**
   * Milliseconds that one run of each improved problem takes less than before.
   */
  double saved_ms;
  /**
   * Milliseconds that the call took.
   */
  double elapsed_ms;
} ck_tune_report;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Describes a status in a few words. Never NULL; the string is constant. Unknown statuses get a fallback
 * text.
 */
const char *ck_status_text(int32_t status);

/**
 * The version of the library, such as "0.1.0". Never NULL; the string is constant.
 */
const char *ck_select_version(void);

/**
 * The ABI version of the library. It increases when programs compiled against an older header can no longer
 * run. Compare it with the header's `CK_SELECT_ABI_VERSION`.
 */
uint32_t ck_select_abi_version(void);

/**
 * The message of the last failed call on this thread; empty if none failed. Never NULL.
 *
 * The string is valid until another call fails on this thread, or the thread ends. Successful calls do not
 * change it.
 */
const char *ck_last_error(void);

/**
 * Sends log lines of the whole process up to `level`, a value of `ck_log_level`, to a callback instead of to
 * the destination in `CK_SELECT_LOG`. A NULL callback turns logging off. Without this call and without
 * `CK_SELECT_LOG`, only two warnings are written, to standard error and once per registry: that it chooses
 * without a model, or with a built-in model although no architecture was given. `CK_SELECT_LOG=off` silences
 * these, too.
 *
 * The callback is called on any thread, by several at a time; its strings live as long as the call. It must
 * not throw or call this function. A line in flight while the callback is replaced may still reach the old
 * one.
 *
 * # Safety
 * `callback` is NULL or stays callable with `user` until the process ends.
 */
ck_status ck_log_set_callback(int32_t level, void (*callback)(int32_t level,
                                                              const char *source,
                                                              const char *text,
                                                              void *user), void *user);

/**
 * Writes a line to the log, for code built on this library: the adapters of `ck_select_dispatcher.hpp` log
 * why they have no answer. `source` names the origin of the line. A line above the current log level is
 * discarded. As long as no destination is set, a line at `CK_LOG_LEVEL_ERROR` goes to standard error, so log
 * such a line only once.
 *
 * # Safety
 * `source` and `text` are NUL-terminated strings.
 */
ck_status ck_log(int32_t level, const char *source, const char *text);

/**
 * Frees a string that the library returned. NULL is allowed.
 *
 * # Safety
 * `text` is NULL, or was written by a function of this library whose documentation names `ck_string_free`,
 * and is not used after this call.
 */
void ck_string_free(char *text);

/**
 * Initialises a problem: a forward bf16 NHWGC convolution of one image, one channel and one group with 1x1
 * extents; sets `struct_size`.
 *
 * # Safety
 * `problem` points to a `ck_conv_problem`.
 */
ck_status ck_conv_problem_init(ck_conv_problem *problem);

/**
 * Initialises a problem: a 1x1x1 fp8 GEMM of layout rcr; sets `struct_size`.
 *
 * # Safety
 * `problem` points to a `ck_gemm_problem`.
 */
ck_status ck_gemm_problem_init(ck_gemm_problem *problem);

/**
 * Initialises options with the defaults; sets `struct_size`.
 *
 * # Safety
 * `options` points to a `ck_options`.
 */
ck_status ck_options_init(ck_options *options);

/**
 * Creates an empty registry. `options` may be NULL for the defaults. The environment is read now and
 * overrides the options. Destroy the registry with `ck_registry_destroy`.
 *
 * # Safety
 * `options` is NULL or points to a `ck_options` with its `struct_size` set; `registry` points to a pointer.
 */
ck_status ck_registry_create(const ck_options *options, ck_registry **registry);

/**
 * Destroys a registry and everything that it returned, including kernel names. NULL is allowed.
 *
 * # Safety
 * `registry` is NULL, or from `ck_registry_create`, and no thread uses it now or later.
 */
void ck_registry_destroy(ck_registry *registry);

/**
 * Replaces the options. `options` may be NULL for the defaults.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `options` is NULL or points to a `ck_options` with its
 * `struct_size` set.
 */
ck_status ck_registry_set_options(ck_registry *registry, const ck_options *options);

/**
 * Writes the number of the registry's current state, which increases with every change of kernels, models
 * and options. As long as it stays the same, so do the selections of a registry that does not measure. The
 * `generation` of a selection is that of the state that answered.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `generation` points to a `uint64_t`.
 */
ck_status ck_registry_generation(const ck_registry *registry, uint64_t *generation);

/**
 * Reads the winners that other processes have stored since the store was last read, and writes those of this
 * registry that are still waiting (`ck_registry_store_status`). Takes microseconds if there are none, and no
 * time if the registry has no store; waits up to a quarter of a second for a locked file. It reads a file,
 * so call it from time to time, not before each selection. A registry sees its own winners immediately. If
 * waiting winners cannot be written, it reads the others and returns `CK_STATUS_IO`.
 *
 * # Safety
 * `registry` is from `ck_registry_create`.
 */
ck_status ck_registry_refresh_store(ck_registry *registry);

/**
 * Reports whether measured winners still have to be written, because the store was locked by another
 * process, damaged, full, or not writable. `waiting` receives the number of winners that are only in memory.
 * `reason` receives the reason why the store could not be used the last time, as human-readable text to be
 * freed with `ck_string_free`, or NULL if it could. Waiting winners are used like others; they are written
 * with a later winner, by `ck_registry_refresh_store`, or by `ck_registry_destroy`. Waits while another
 * thread uses the store's file.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `waiting` points to a `size_t`, `reason` to a pointer; either may
 * be NULL.
 */
ck_status ck_registry_store_status(const ck_registry *registry, size_t *waiting, char **reason);

/**
 * Adds a kernel by its name: a grouped-convolution name, a tile-engine GEMM name, or a CK identifier. If
 * `hooks` is NULL, the kernel has priority 1 and supports every problem that it matches.
 *
 * A kernel of the same name is replaced if the new priority is higher; otherwise the call fails with
 * `CK_STATUS_ALREADY_REGISTERED`. Name and hooks are copied.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `name` is a NUL-terminated string; `hooks` is NULL or points to a
 * `ck_kernel_hooks` whose callbacks stay callable until `release`, or until the registry is destroyed.
 */
ck_status ck_registry_add_kernel(ck_registry *registry, const char *name, const ck_kernel_hooks *hooks);

/**
 * Adds several kernels: all of them or, if one cannot be added, none. `hooks` is NULL, or has one element
 * per name.
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
 * Describes the kernel at an index. To iterate, count from 0 until `CK_STATUS_NOT_FOUND`.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `info` points to a `ck_kernel_info` with its `struct_size` set.
 */
ck_status ck_registry_kernel_at(const ck_registry *registry, size_t index, ck_kernel_info *info);

/**
 * Describes the kernel with a name.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `name` is a NUL-terminated string; `info` points to a
 * `ck_kernel_info` with its `struct_size` set.
 */
ck_status ck_registry_find(const ck_registry *registry, const char *name, ck_kernel_info *info);

/**
 * Removes the kernels that were built for other architectures; kernels without an architecture stay.
 * `removed` receives their number; it may be NULL.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `arch` is a NUL-terminated string; `removed` is NULL or points to
 * a `size_t`.
 */
ck_status ck_registry_retain_arch(ck_registry *registry, const char *arch, size_t *removed);

/**
 * Removes the kernel with a name; `CK_STATUS_NOT_FOUND` if there is none. The indices of later kernels
 * decrease by one. Its name stays valid until the registry is destroyed, its other memory is freed when no call
 * uses it any more, and a concurrent selection may still return it.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `name` is a NUL-terminated string.
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
 * Initialises a descriptor with the defaults of CK's key (tile 1x128x128, waves 2x2x1, instruction 32x32x16,
 * compv3, intrawave, cshuffle, vectors 4, 8, 8) for a forward bf16 NHWGC convolution in two dimensions; sets
 * `struct_size`.
 *
 * # Safety
 * `desc` points to a `ck_conv_kernel_desc`.
 */
ck_status ck_conv_kernel_desc_init(ck_conv_kernel_desc *desc);

/**
 * Initialises a descriptor with an fp8 kernel of layout rcr (tile 128x128x64, waves 2x2x1, instruction
 * 32x32x16, compv3, intrawave, cshuffle, everything padded); sets `struct_size`.
 *
 * # Safety
 * `desc` points to a `ck_gemm_kernel_desc`.
 */
ck_status ck_gemm_kernel_desc_init(ck_gemm_kernel_desc *desc);

/**
 * Adds convolution kernels by descriptor: all of them or, if one cannot be added, none. `hooks` is NULL, or
 * has one element per descriptor; see also `ck_registry_add_kernel`.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `descs` points to `count` descriptors, each with its
 * `struct_size` set and its strings NULL or NUL-terminated; `hooks` is NULL or points to `count` hooks as
 * for `ck_registry_add_kernel`.
 */
ck_status ck_registry_add_conv_kernels(ck_registry *registry,
                                       const ck_conv_kernel_desc *descs,
                                       const ck_kernel_hooks *hooks,
                                       size_t count);

/**
 * Adds GEMM kernels by descriptor; see `ck_registry_add_conv_kernels`.
 *
 * # Safety
 * As for `ck_registry_add_conv_kernels`.
 */
ck_status ck_registry_add_gemm_kernels(ck_registry *registry,
                                       const ck_gemm_kernel_desc *descs,
                                       const ck_kernel_hooks *hooks,
                                       size_t count);

/**
 * Overwrites the fields of a descriptor that a kernel's name states, and leaves the others unchanged: short
 * names, for example, state neither waves nor vector widths, and a name with some flags states that the
 * kernel has no others. For kernels whose keys are not exact: CK's code generators write the pipelines
 * `basic_v1`, `comp_async` and `wavelet` into keys as `compv3`, and counts as 1. Fields that change are
 * those on which name and key disagree. The types of weight and output, `name` and `arch` never change. The
 * strings written live as long as the library. Fails with `CK_STATUS_INVALID_KERNEL`, and changes nothing,
 * if `name` is not the name of a convolution kernel.
 *
 * # Safety
 * `name` is a NUL-terminated string; `desc` points to a `ck_conv_kernel_desc` with its `struct_size` set.
 */
ck_status ck_conv_kernel_desc_read_name(ck_conv_kernel_desc *desc, const char *name);

/**
 * Initialises a problem: forward fp16 attention of one sequence with one query, key and head of 128
 * elements; sets `struct_size`.
 *
 * # Safety
 * `problem` points to a `ck_fmha_problem`.
 */
ck_status ck_fmha_problem_init(ck_fmha_problem *problem);

/**
 * Chooses the kernel to run for one stage of attention, the problem's `family`; see
 * `ck_registry_select_conv`. Only kernels that support the problem by CK's rules for attention are
 * considered.
 *
 * # Safety
 * As for `ck_registry_select_conv`.
 */
ck_status ck_registry_select_fmha(const ck_registry *registry,
                                  const ck_fmha_problem *problem,
                                  ck_selection *selection);

/**
 * Ranks the kernels for a stage of attention; see `ck_registry_rank_conv`.
 *
 * # Safety
 * As for `ck_registry_rank_conv`.
 */
ck_status ck_registry_rank_fmha(const ck_registry *registry,
                                const ck_fmha_problem *problem,
                                size_t capacity,
                                ck_ranked *ranked,
                                size_t *count,
                                size_t *left_out);

/**
 * Predicts the speed of the kernel at an index for attention.
 *
 * # Safety
 * As for `ck_registry_predict_conv`.
 */
ck_status ck_registry_predict_fmha(const ck_registry *registry,
                                   const ck_fmha_problem *problem,
                                   size_t index,
                                   ck_predictions *predictions);

/**
 * Writes the features for attention; see `ck_registry_extract_conv`.
 *
 * # Safety
 * As for `ck_registry_extract_conv`.
 */
ck_status ck_registry_extract_fmha(const ck_registry *registry,
                                   const ck_fmha_problem *problem,
                                   size_t index,
                                   size_t capacity,
                                   double *features,
                                   size_t *count);

/**
 * Explains a selection for attention; see `ck_registry_explain_conv`.
 *
 * # Safety
 * As for `ck_registry_explain_conv`.
 */
ck_status ck_registry_explain_fmha(const ck_registry *registry, const ck_fmha_problem *problem, char **text);

/**
 * Chooses the number of parts into which the keys of a sequence are split, by the estimate: the power of two
 * up to `most` for which the fastest kernels of both stages together take the least time. 1 if the registry
 * lacks kernels of either stage, or an estimate for the architecture. The problem's own `num_splits` and
 * `family` are ignored.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `problem` points to a struct with its `struct_size` set; `splits`
 * points to an `int64_t`.
 */
ck_status ck_registry_choose_fmha_splits(const ck_registry *registry,
                                         const ck_fmha_problem *problem,
                                         int64_t most,
                                         int64_t *splits);

/**
 * Initialises a descriptor with the defaults of CK's generator: forward fp16 in batch mode, head size 128,
 * pipeline "qr", tile 128x64x32x128x32x128, waves 2x2x1, instruction 32x32x16, everything padded; sets
 * `struct_size`.
 *
 * # Safety
 * `desc` points to a `ck_fmha_kernel_desc`.
 */
ck_status ck_fmha_kernel_desc_init(ck_fmha_kernel_desc *desc);

/**
 * Adds attention kernels by descriptor; see `ck_registry_add_conv_kernels`.
 *
 * # Safety
 * As for `ck_registry_add_conv_kernels`.
 */
ck_status ck_registry_add_fmha_kernels(ck_registry *registry,
                                       const ck_fmha_kernel_desc *descs,
                                       const ck_kernel_hooks *hooks,
                                       size_t count);

/**
 * Adds the kernels of a JSON export of a CK registry, all or none.
 *
 * `hooks_of` is called for each kernel with its name (for a GEMM its identifier) and hooks to fill in: all
 * bytes 0 except for `struct_size` and `priority` 1. It returns 0 to skip the kernel and anything else to
 * add it. It must not throw or use the registry. If it is NULL, all kernels are added, without callbacks.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `json` points to `len` bytes; `hooks_of` is NULL or callable with
 * `user`, and the callbacks that it sets stay callable until the registry is destroyed.
 */
ck_status ck_registry_import_json(ck_registry *registry,
                                  const uint8_t *json,
                                  size_t len,
                                  int32_t (*hooks_of)(const char *name, ck_kernel_hooks *hooks, void *user),
                                  void *user);

/**
 * Initialises options with the defaults; sets `struct_size`.
 *
 * # Safety
 * `options` points to a `ck_export_options`.
 */
ck_status ck_export_options_init(ck_export_options *options);

/**
 * Exports the kernels of one operation, a `ck_op`, in the JSON format of CK's registry for that operation.
 * `options` may be NULL for the defaults. Free the string with `ck_string_free`.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `options` is NULL or points to a `ck_export_options` with its
 * `struct_size` set; `text` points to a pointer.
 */
ck_status ck_registry_export_json(const ck_registry *registry,
                                  int32_t op,
                                  const ck_export_options *options,
                                  char **text);

/**
 * Fills in the profile of an architecture, such as "gfx950". NULL selects the constants that upstream's
 * models assume when they record none. Fails with `CK_STATUS_NOT_FOUND` if the architecture has no profile.
 *
 * # Safety
 * `hardware` points to a `ck_hardware`; `arch` is NULL or a NUL-terminated string.
 */
ck_status ck_hardware_init(ck_hardware *hardware, const char *arch);

/**
 * Initialises options with the defaults; sets `struct_size`.
 *
 * # Safety
 * `options` points to a `ck_model_options`.
 */
ck_status ck_model_options_init(ck_model_options *options);

/**
 * Loads a model directory: `feature_spec.json` with `model_tflops.lgbm` (or `.gz`, or `.packed`) and so on;
 * "embedded:NAME" is `ck_registry_load_embedded`. `options` may be NULL for the defaults: the model then
 * serves the problems that its spec names (operation, direction, dtype, architecture) and no others. It
 * replaces a model that was loaded for the same problems. Concurrent selections use the old model until the
 * new one is ready.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `directory` is a NUL-terminated string; `options` is NULL or
 * points to a `ck_model_options` with its `struct_size` set, as are those of what it points to.
 */
ck_status ck_registry_load_model(ck_registry *registry,
                                 const char *directory,
                                 const ck_model_options *options);

/**
 * Loads a model that is built into the library; see `ck_registry_load_model` for the options. Fails with
 * `CK_STATUS_NOT_FOUND` if there is no such model.
 *
 * # Safety
 * As for `ck_registry_load_model`, with a name for the directory.
 */
ck_status ck_registry_load_embedded(ck_registry *registry, const char *name, const ck_model_options *options);

/**
 * Writes the name of the built-in model at an index. To iterate, count from 0 until `CK_STATUS_NOT_FOUND`.
 * The string is constant.
 *
 * # Safety
 * `name` points to a pointer.
 */
ck_status ck_embedded_model_name(size_t index, const char **name);

/**
 * Loads a model from memory. `name` is its name in messages; see `ck_registry_load_model` for the options.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `name` is a NUL-terminated string; `spec` points to `spec_len`
 * bytes, `forests` to `forest_count` structs, each with its `struct_size` set and its bytes; `options` as
 * for `ck_registry_load_model`.
 */
ck_status ck_registry_load_model_bytes(ck_registry *registry,
                                       const char *name,
                                       const uint8_t *spec,
                                       size_t spec_len,
                                       const ck_forest_bytes *forests,
                                       size_t forest_count,
                                       const ck_model_options *options);

/**
 * Removes the model that was loaded for these problems; `CK_STATUS_NOT_FOUND` if there is none.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `key` points to a `ck_model_key` with its `struct_size` set.
 */
ck_status ck_registry_remove_model(ck_registry *registry, const ck_model_key *key);

/**
 * Removes all loaded models. Built-in models enabled by `embedded_models` stay available.
 *
 * # Safety
 * `registry` is from `ck_registry_create`.
 */
ck_status ck_registry_remove_models(ck_registry *registry);

/**
 * Prepares the models for the current kernels. Otherwise the first two selections of a new registry do. From
 * then on calls that change kernels prepare them before selections see the change. Only after many changes
 * without a selection between them, which are the loading of a pool, does the next selection, or this.
 *
 * # Safety
 * `registry` is from `ck_registry_create`.
 */
ck_status ck_registry_prepare(ck_registry *registry);

/**
 * Chooses the kernel to run for a convolution: the best supported kernel by the first source that has an
 * answer.
 *
 * Suited for the hot path: unless the options let it measure, it takes no lock, makes no system call and
 * does not allocate once warm. With `CK_SELECT_CAPTURE`, a problem that is not yet in the file is written by
 * the call, or by another call that is already writing: such a call makes system calls, but never waits for
 * another one. A call that measures runs kernels on the options' stream and waits for them.
 *
 * A registry that chooses with too little information warns once, on standard error unless
 * `ck_log_set_callback` was called or `CK_SELECT_LOG` is set: if no model serves the problem (`no_model`),
 * and if a built-in model answers although no architecture was given (`arch_unknown`).
 *
 * If no registered kernel matches the problem and supports it, the call fails with `CK_STATUS_NO_KERNEL` and
 * never returns a wrong kernel. It fails with `CK_STATUS_OVERRIDE_FAILED` if an override names a kernel that
 * cannot be used.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `problem` and `selection` point to structs with their
 * `struct_size` set.
 */
ck_status ck_registry_select_conv(const ck_registry *registry,
                                  const ck_conv_problem *problem,
                                  ck_selection *selection);

/**
 * A short name for `ck_registry_select_conv`, for callers that choose only convolutions.
 *
 * # Safety
 * As for `ck_registry_select_conv`.
 */
ck_status ck_select_kernel(const ck_registry *registry,
                           const ck_conv_problem *problem,
                           ck_selection *selection);

/**
 * Chooses the kernel to run for a GEMM; see `ck_registry_select_conv`.
 *
 * # Safety
 * As for `ck_registry_select_conv`.
 */
ck_status ck_registry_select_gemm(const ck_registry *registry,
                                  const ck_gemm_problem *problem,
                                  ck_selection *selection);

/**
 * Writes the name of a problem field of an operation, by its bit in `out_of_range_fields`: "N", "direction"
 * and so on; "features" stands for the features that the model computes from them. To iterate, count from 0
 * until `CK_STATUS_NOT_FOUND`. `op` is a `ck_op`; the string is constant.
 *
 * # Safety
 * `name` points to a pointer.
 */
ck_status ck_problem_field_name(int32_t op, size_t bit, const char **name);

/**
 * Ranks the kernels for a convolution by the model that serves it, best first. At most `capacity` places are
 * written, each as far from the next as the `struct_size` of the first says; `count` receives the total
 * number. `ranked` may be NULL if `capacity` is 0. The `supports` callbacks are not called.
 *
 * `left_out` receives the number of kernels that compute the problem but that the model cannot describe;
 * they are not ranked. It may be NULL.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `problem` points to a struct with its `struct_size` set; `ranked`
 * points to `capacity` structs, the first with its `struct_size` set, `count` to a `size_t`; `left_out` is
 * NULL or points to a `size_t`.
 */
ck_status ck_registry_rank_conv(const ck_registry *registry,
                                const ck_conv_problem *problem,
                                size_t capacity,
                                ck_ranked *ranked,
                                size_t *count,
                                size_t *left_out);

/**
 * Ranks the kernels for a GEMM; see `ck_registry_rank_conv`.
 *
 * # Safety
 * As for `ck_registry_rank_conv`.
 */
ck_status ck_registry_rank_gemm(const ck_registry *registry,
                                const ck_gemm_problem *problem,
                                size_t capacity,
                                ck_ranked *ranked,
                                size_t *count,
                                size_t *left_out);

/**
 * Predicts the speed of the kernel at an index for a convolution. Fails with `CK_STATUS_NO_KERNEL` if the
 * kernel computes something else.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `problem` and `predictions` point to structs with their
 * `struct_size` set.
 */
ck_status ck_registry_predict_conv(const ck_registry *registry,
                                   const ck_conv_problem *problem,
                                   size_t index,
                                   ck_predictions *predictions);

/**
 * Predicts the speed of the kernel at an index for a GEMM.
 *
 * # Safety
 * As for `ck_registry_predict_conv`.
 */
ck_status ck_registry_predict_gemm(const ck_registry *registry,
                                   const ck_gemm_problem *problem,
                                   size_t index,
                                   ck_predictions *predictions);

/**
 * Writes the features of a convolution and the kernel at an index as the serving model sees them, in the
 * model's order. `count` receives their number, even if `capacity` is smaller and the call fails with
 * `CK_STATUS_BUFFER_TOO_SMALL`.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `problem` points to a struct with its `struct_size` set;
 * `features` points to `capacity` doubles, `count` to a `size_t`.
 */
ck_status ck_registry_extract_conv(const ck_registry *registry,
                                   const ck_conv_problem *problem,
                                   size_t index,
                                   size_t capacity,
                                   double *features,
                                   size_t *count);

/**
 * Writes the features for a GEMM; see `ck_registry_extract_conv`.
 *
 * # Safety
 * As for `ck_registry_extract_conv`.
 */
ck_status ck_registry_extract_gemm(const ck_registry *registry,
                                   const ck_gemm_problem *problem,
                                   size_t index,
                                   size_t capacity,
                                   double *features,
                                   size_t *count);

/**
 * Explains a selection for a convolution as human-readable text: which sources were asked, what each
 * answered, and why it was passed over. Free the string with `ck_string_free`.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `problem` points to a struct with its `struct_size` set; `text`
 * points to a pointer.
 */
ck_status ck_registry_explain_conv(const ck_registry *registry, const ck_conv_problem *problem, char **text);

/**
 * Explains a selection for a GEMM; see `ck_registry_explain_conv`.
 *
 * # Safety
 * As for `ck_registry_explain_conv`.
 */
ck_status ck_registry_explain_gemm(const ck_registry *registry, const ck_gemm_problem *problem, char **text);

/**
 * Measures, within a budget, the most frequently requested problems among those that a model, the estimate
 * or the priority answers: call it between two training steps or requests. Later selections get the winners,
 * as do later processes through the store.
 *
 * The first call only starts counting requests. From then on, a problem is listed when it is answered
 * without a measurement, and a call takes the problems in the order of their expected gain: the number of
 * requests, times the time of a run, times the average loss of such answers. A problem whose estimated runs
 * exceed the remaining time even for one kernel is left to a longer call. Each call continues where the
 * previous one stopped, so short calls get as far as one long call. Problems with a list of GEMMs are not
 * listed. In `CK_MODE_PRIORITY` nothing is measured.
 *
 * Run callbacks are called on this thread and launch on the stream, with their own operands; the stream must
 * be idle or become idle, and must not be captured into a graph. Selections on other threads do not wait:
 * they get the old answer or the winner. Any number of threads may call this concurrently: they take
 * different problems and measure in turn. A thread that does nothing else refines in the background.
 *
 * `report` receives what was done; it may be NULL. The call fails with `CK_STATUS_CANNOT_MEASURE` if there
 * is no device, if no architecture is known, if a callback on the measuring thread calls it, or if the
 * device failed; `ck_last_error` says which. What was measured before the failure is kept.
 *
 * # Safety
 * `registry` is from `ck_registry_create`; `budget` points to a `ck_tune_budget` and `report` is NULL or
 * points to a `ck_tune_report`, with their `struct_size` set. The stream lives until the call returns.
 */
ck_status ck_registry_tune(ck_registry *registry, const ck_tune_budget *budget, ck_tune_report *report);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* CK_SELECT_H */
