/* ck_select: chooses the fastest GPU kernel for a problem without trying them all.
 *
 * Generated from the sources by cbindgen. Do not edit: run `CK_SELECT_UPDATE_HEADER=1 cargo test --test header`.
 *
 * A program
 *
 *     #include <stdio.h>
 *     #include "ck_select.h"
 *
 *     int main(void) {
 *         const char *const names[] = {"grouped_conv_forward_bf16_2d_64x64x64_compv3",
 *                                      "grouped_conv_forward_bf16_2d_128x128x64_compv5"};
 *         ck_registry *registry = NULL;
 *         ck_selection selection = {0};
 *         selection.struct_size = sizeof selection;
 *         ck_conv_problem problem;
 *         ck_conv_problem_init(&problem);
 *         problem.arch = "gfx950";
 *         problem.n = 16, problem.c = 256, problem.k = 128;
 *         problem.input[1] = problem.input[2] = 28;           // depth, height, width
 *         problem.filter[1] = problem.filter[2] = 3;
 *         problem.pad_left[1] = problem.pad_left[2] = problem.pad_right[1] = problem.pad_right[2] = 1;
 *
 *         // Once: a registry with kernels (what runs them goes into hooks, here none) and a model.
 *         if (ck_registry_create(NULL, &registry) != CK_STATUS_OK
 *             || ck_registry_add_kernels(registry, names, NULL, 2) != CK_STATUS_OK
 *             || ck_registry_load_model(registry, "embedded:grouped_conv_forward_bf16_gfx950", NULL) != CK_STATUS_OK
 *             // For each problem: the kernel to run.
 *             || ck_registry_select_conv(registry, &problem, &selection) != CK_STATUS_OK) {
 *             fprintf(stderr, "%s\n", ck_last_error());
 *             return 1;
 *         }
 *         printf("%s\n", selection.name);                   // selection.user is the kernel's own hooks.user
 *         ck_registry_destroy(registry);
 *         return 0;
 *     }
 *
 * Conventions
 *   Names      Object, verb, operation: ck_registry_select_conv, _gemm, _fmha. A comment is for the functions under it.
 *   Errors     Every function that can fail returns a ck_status. Outputs are written only if it is CK_STATUS_OK, except
 *              for the required size with CK_STATUS_BUFFER_TOO_SMALL. ck_last_error() returns the message of the calling
 *              thread's last failure.
 *   Ownership  Handles are created by ck_*_create and released by ck_*_destroy, which accepts NULL, after all other
 *              calls. Arguments are borrowed for the call or copied; so is what callbacks get. A kernel's name lives
 *              until the registry is destroyed, even if the kernel is removed.
 *   Pointers   Point to one item of their type, or to as many as the count says that goes with them. NULL is allowed
 *              where a comment says so, and for options, which are then the defaults.
 *   Structs    Begin with ck_*_init where there is one, else with all bytes 0 and struct_size set to sizeof the struct, so
 *              that later versions can append fields. Fields beyond a smaller size are read as 0 and not written; the
 *              first element's size is the stride of an array. A size larger than the library's, as of
 *              a newer header, is CK_STATUS_INVALID_STRUCT. Reserved fields must be 0.
 *   Enums      Passed as int32_t; an unknown value is CK_STATUS_INVALID_ARGUMENT.
 *   Strings    NUL-terminated UTF-8. A char ** receives one to free with ck_string_free, a const char ** a constant one.
 *              An architecture is a name such as "gfx950"; a problem without one has the registry's.
 *   Indices    Count from 0; to iterate, until CK_STATUS_NOT_FOUND.
 *   Threads    Any number of threads may use one registry at once, even while others change it. Callbacks run on any
 *              thread, concurrently, and must not throw.
 *   Never      No function throws, exits or prints, except for three warnings: see ck_log_set_callback. None aborts, except
 *              where Rust cannot go on: memory that cannot be allocated, or an exception that leaves a callback, whose
 *              kernel is then logged.
 */

#ifndef CK_SELECT_H
#define CK_SELECT_H

#include <stddef.h>
#include <stdint.h>

/** The ABI version that this header describes. */
#define CK_SELECT_ABI_VERSION 1

/** Any direction, any type. */
#define CK_ANY -1

/** The result of a call. Numbers are never changed or reused. */
typedef enum {
  CK_STATUS_OK = 0,                 /**< Success; outputs are written. */
  CK_STATUS_NULL_POINTER = 1,       /**< A required pointer was NULL. */
  CK_STATUS_INVALID_ARGUMENT = 2,   /**< An argument is out of range. */
  CK_STATUS_INVALID_STRUCT = 3,     /**< Unknown `struct_size`: not set, or of a newer version. */
  CK_STATUS_NOT_UTF8 = 4,           /**< A string is not UTF-8. */
  CK_STATUS_INVALID_PROBLEM = 5,    /**< Invalid problem. */
  CK_STATUS_INVALID_KERNEL = 6,     /**< Invalid kernel name or descriptor. */
  CK_STATUS_ALREADY_REGISTERED = 7, /**< A kernel of that name has the same or a higher priority. */
  CK_STATUS_NOT_FOUND = 8,          /**< There is nothing with that name or at that index. */
  CK_STATUS_NO_KERNEL = 9,          /**< No registered kernel matches the problem and supports it. */
  CK_STATUS_OVERRIDE_FAILED = 10,   /**< An override names a kernel for this problem that cannot be used. */
  CK_STATUS_INVALID_MODEL = 11,     /**< A model cannot be loaded. */
  CK_STATUS_NO_MODEL = 12,          /**< No model serves the problem. */
  CK_STATUS_IO = 13,                /**< A file cannot be read or written. */
  CK_STATUS_BUFFER_TOO_SMALL = 14,  /**< The caller's buffer is too small; the required size is written. */
  CK_STATUS_PANIC = 15,             /**< An internal error (a caught panic); the registry stays usable. */
  CK_STATUS_CANNOT_MEASURE = 16,    /**< No device, no architecture, or a failed device. */
} ck_status;

/** How much is logged. A `ck_log_level` is passed as `int32_t`. */
typedef enum {
  CK_LOG_LEVEL_OFF = 0,   /**< Nothing. */
  CK_LOG_LEVEL_ERROR = 1, /**< Failures that leave a call without an answer. */
  CK_LOG_LEVEL_WARN = 2,  /**< Failures after which a worse source answers. */
  CK_LOG_LEVEL_INFO = 3,  /**< Loading and measuring. */
  CK_LOG_LEVEL_DEBUG = 4, /**< Each decision. */
  CK_LOG_LEVEL_TRACE = 5, /**< Each decision with everything that led to it. */
} ck_log_level;

/** Which sources are asked, and in which order. */
typedef enum {
  CK_MODE_MODEL = 0,    /**< Override, store, model, search if allowed, estimate, priority. */
  CK_MODE_SEARCH = 1,   /**< Override, store, search, model, estimate, priority. */
  CK_MODE_REFINE = 2,   /**< As `CK_MODE_MODEL`, with a search among the model's best `refine` kernels. */
  CK_MODE_PRIORITY = 3, /**< Override, priority: nothing is predicted or measured. */
} ck_mode;

/** What a forest predicts. */
typedef enum {
  CK_TARGET_TFLOPS = 0,    /**< Trillions of operations per second. */
  CK_TARGET_LATENCY = 1,   /**< Milliseconds. */
  CK_TARGET_BANDWIDTH = 2, /**< Gigabytes per second. */
  CK_TARGET_RELATIVE = 3,  /**< Logarithm of the speed relative to the fastest kernel, to rank by. */
} ck_target;

/** The source that chose a kernel. */
typedef enum {
  CK_SOURCE_OVERRIDE = 0, /**< An override file. */
  CK_SOURCE_STORE = 1,    /**< The store: a winner that was measured earlier. */
  CK_SOURCE_MODEL = 2,    /**< A model's prediction. */
  CK_SOURCE_SEARCH = 3,   /**< A search: measured during the call. */
  CK_SOURCE_ESTIMATE = 4, /**< An estimate, where nothing was measured. */
  CK_SOURCE_PRIORITY = 5, /**< The registered priority. */
} ck_source;

/** Direction of a convolution. */
typedef enum {
  CK_DIRECTION_FORWARD = 0, CK_DIRECTION_BWD_DATA = 1, CK_DIRECTION_BWD_WEIGHT = 2,
} ck_direction;

/** Element type. FP8 is E4M3, BF8 is E5M2; the 4-bit types are packed. The last five are only for
 *  attention: input type, then output type; MX is scaled in blocks of 32. */
typedef enum {
  CK_DTYPE_FP16 = 0, CK_DTYPE_BF16 = 1, CK_DTYPE_FP32 = 2, CK_DTYPE_FP64 = 3, CK_DTYPE_FP8 = 4,
  CK_DTYPE_BF8 = 5, CK_DTYPE_INT8 = 6, CK_DTYPE_INT4 = 7, CK_DTYPE_INT32 = 8, CK_DTYPE_PK_FP4 = 9,
  CK_DTYPE_PK_INT4 = 10, CK_DTYPE_FP8FP16 = 11, CK_DTYPE_FP8BF16 = 12, CK_DTYPE_FP8FP32 = 13,
  CK_DTYPE_MXFP8 = 14, CK_DTYPE_MXFP4 = 15,
} ck_dtype;

/** Memory layout of one GEMM operand: rows, columns, or the order in which a kernel reads it. */
typedef enum {
  CK_MAJOR_ROW = 0, CK_MAJOR_COL = 1, CK_MAJOR_PACKED = 2,
} ck_major;

/** Memory layout of the convolution tensors: N images, G groups, C channels, D depth, H height, W width. */
typedef enum {
  CK_CONV_LAYOUT_NWGC = 0, CK_CONV_LAYOUT_NHWGC = 1, CK_CONV_LAYOUT_NDHWGC = 2, CK_CONV_LAYOUT_NWC = 3,
  CK_CONV_LAYOUT_NHWC = 4, CK_CONV_LAYOUT_NDHWC = 5, CK_CONV_LAYOUT_GNWC = 6, CK_CONV_LAYOUT_GNHWC = 7,
  CK_CONV_LAYOUT_GNDHWC = 8, CK_CONV_LAYOUT_NGCW = 9, CK_CONV_LAYOUT_NGCHW = 10, CK_CONV_LAYOUT_NGCDHW = 11,
  CK_CONV_LAYOUT_NCW = 12, CK_CONV_LAYOUT_NCHW = 13, CK_CONV_LAYOUT_NCDHW = 14,
} ck_conv_layout;

/** The attention operation that a caller requests. */
typedef enum {
  CK_FMHA_API_FWD = 0, CK_FMHA_API_FWD_PAGEDKV = 1, CK_FMHA_API_FWD_SPLITKV = 2, CK_FMHA_API_FWD_APPENDKV = 3,
  CK_FMHA_API_BATCH_PREFILL = 4, CK_FMHA_API_BWD = 5,
} ck_fmha_api;

/** The stage that an attention kernel computes. */
typedef enum {
  CK_FMHA_FAMILY_FWD = 0, CK_FMHA_FAMILY_FWD_PAGEDKV = 1, CK_FMHA_FAMILY_FWD_SPLITKV = 2,
  CK_FMHA_FAMILY_FWD_SPLITKV_COMBINE = 3, CK_FMHA_FAMILY_FWD_APPENDKV = 4, CK_FMHA_FAMILY_BATCH_PREFILL = 5,
  CK_FMHA_FAMILY_BWD_DOT_DO_O = 6, CK_FMHA_FAMILY_BWD_DQ_DK_DV = 7, CK_FMHA_FAMILY_BWD_CONVERT_DQ = 8,
} ck_fmha_family;

/** An operation. */
typedef enum {
  CK_OP_GEMM = 0, CK_OP_CONV = 1, CK_OP_FMHA = 2, CK_OP_MOE = 3,
} ck_op;

/** Kernels, models and options. */
typedef struct ck_registry ck_registry;

/** GEMMs of equal extents in a list. Later versions append fields, of which 0 is the default. */
typedef struct {
  uint32_t m;     /**< Rows of A and C. */
  uint32_t n;     /**< Columns of B and C. */
  uint32_t k;     /**< Columns of A, rows of B. */
  uint32_t count; /**< How many there are; at least 1. */
} ck_gemm_group;

/** A list of GEMMs of one launch that differ in their extents, in any order; at most 8 different ones. The
 *  problem's own extents are then those of the one with the most work, or 1 as initialised. */
typedef struct {
  const ck_gemm_group *items; /**< The GEMMs; NULL if it is no list. */
  size_t count;               /**< The number of GEMMs. */
  size_t item_size;           /**< `sizeof(ck_gemm_group)`; 0 if it is no list. */
} ck_gemm_groups;

/** What a GEMM problem asks for besides one plain GEMM; only kernels that do what it says are then chosen. */
typedef struct {
  ck_gemm_groups groups; /**< GEMMs of any extents in one launch; empty if it is not a list. */
  int32_t batch;         /**< GEMMs of equal extents in one launch; 0 if it is not a batch. */
  const char *stream_k;  /**< Stream-K, and its reduction. Such problems and Stream-K kernels go only with
                              each other. NULL for none. */
  int32_t num_d;         /**< D tensors; 0 if unspecified. */
  int32_t preshuffle;    /**< Not 0: B is stored in the order in which it is read; `false` if unspecified. */
  const char *quant;     /**< Which operands have scales. NULL for none. */
  int32_t group_a[3];    /**< Elements of A that share a scale, if groups do. m, n, k; zeros for the usual
                              ones. */
  int32_t group_b[3];    /**< Elements of B that share a scale, if groups do. m, n, k; zeros for the usual
                              ones. */
} ck_gemm_request;

/** A GEMM: C (m x n) = A (m x k) times B (k x n). */
typedef struct {
  size_t struct_size;
  const char *arch;        /**< The architecture that will run it, when known. NULL if unknown. */
  int64_t m;               /**< Rows of A and C. */
  int64_t n;               /**< Columns of B and C. */
  int64_t k;               /**< Columns of A, rows of B. */
  int32_t split_k;         /**< Parts into which K is split, 1 for none, 0 to choose them with the kernel
                                (`k_batch` of the CK dispatcher). */
  int32_t dtype_a;         /**< Element type of A. A `ck_dtype`. */
  int32_t dtype_b;         /**< Element type of B. A `ck_dtype`. */
  int32_t dtype_c;         /**< Element type of C. A `ck_dtype`. */
  int32_t layout[3];       /**< Memory orders of the operands. A `ck_major` each. */
  ck_gemm_request request; /**< What it asks for besides one plain GEMM. */
} ck_gemm_problem;

/** A grouped convolution. Axes are in the order depth, height, width. A 2D problem has extent 1, stride 1,
 *  dilation 1 and no padding along the depth; a 1D problem also along the height. `c` and `k` are totals
 *  over all groups. */
typedef struct {
  size_t struct_size;
  const char *arch;     /**< The architecture that will run it, when known. NULL if unknown. */
  int32_t direction;    /**< Which of the three convolutions is asked for. A `ck_direction`. */
  int32_t ndim;         /**< Spatial dimensions, 1 to 3. */
  int64_t n;            /**< Images in the batch. */
  int64_t c;            /**< Input channels of all groups. */
  int64_t k;            /**< Output channels of all groups. */
  int64_t g;            /**< Groups. */
  int64_t input[3];     /**< Input extents. */
  int64_t filter[3];    /**< Filter extents. */
  int64_t stride[3];    /**< Steps of the filter. */
  int64_t dilation[3];  /**< Distances between filter taps. */
  int64_t pad_left[3];  /**< Padding before the first element of each axis. */
  int64_t pad_right[3]; /**< Padding after the last element of each axis. */
  int32_t split_k;      /**< Parts into which the reduction is split, 1 for none, 0 to choose them with the
                             kernel. */
  int32_t dtype_in;     /**< Element type of the input. A `ck_dtype`. */
  int32_t dtype_wei;    /**< Element type of the weight. A `ck_dtype`. */
  int32_t dtype_out;    /**< Element type of the output. A `ck_dtype`. */
  int32_t layout;       /**< Memory order of the tensors. A `ck_conv_layout`. */
  int32_t reserved;
} ck_conv_problem;

/** Attention, with the fields of CK's `FmhaProblem` and their numbers. */
typedef struct {
  size_t struct_size;
  const char *arch;            /**< The architecture that will run it, when known. NULL if unknown. */
  int32_t api_family;          /**< The requested operation. A `ck_fmha_api`. */
  int32_t family;              /**< The stage for which a kernel is chosen. A `ck_fmha_family`. */
  int32_t dtype;               /**< Element types of operands and, for the mixed words, of the result. A
                                    `ck_dtype`. */
  int64_t batch;               /**< Sequences. */
  int64_t seqlen_q;            /**< Queries per sequence. */
  int64_t seqlen_k;            /**< Keys per sequence. */
  int64_t nhead_q;             /**< Query heads. */
  int64_t nhead_k;             /**< Key and value heads; fewer than query heads if these share them. */
  int64_t hdim_q;              /**< Head size of queries and keys, in elements. */
  int64_t hdim_v;              /**< Head size of values, in elements. */
  int32_t mode;                /**< Whether all sequences have the same length, or each its own. 0 batch, 1
                                    group. */
  int32_t mask;                /**< Which keys a query does not attend to. 0 no, 1 top_left, 2
                                    bottom_right, 3 generic. */
  int32_t bias;                /**< What is added to the scores. 0 no, 1 bias, 2 alibi. */
  int32_t qscale;              /**< How 8-bit operands are scaled. 0 no, 1 pertensor, 2 blockscale, 3
                                    kv_blockscale, 4 mx, 5 per_token_head. */
  int32_t rope;                /**< How appended keys are rotated. 0 none, 1 inter, 2 half. */
  int32_t kv_layout;           /**< Memory order of a paged cache. 0 vectorized, 1 linear. */
  int32_t kv_lookup;           /**< How pages are found. 0 vllm, 1 sglang. */
  int64_t max_seqlen_q;        /**< Queries of the longest sequence; 0: `seqlen_q`. */
  int64_t max_seqlen_k;        /**< Keys of the longest sequence; 0: `seqlen_k`. */
  int64_t page_size;           /**< Keys per page. */
  int64_t num_splits;          /**< Parts into which the keys of a sequence are split. */
  int64_t window_left;         /**< Keys that a query attends to before its own position; -1 for all. With
                                    a mask from a corner, 0 also means all. */
  int64_t window_right;        /**< Keys that a query attends to after its own position; -1 for all. */
  int64_t sink_size;           /**< Number of first keys that every query attends to. */
  int64_t min_seqlen_q;        /**< Sequences with fewer queries are skipped. */
  int64_t rotary_dim;          /**< Number of elements that are rotated. */
  int32_t v_rowmajor;          /**< Not 0: values are row-major. */
  int32_t logits;              /**< Not 0: scores have a soft cap. */
  int32_t lse;                 /**< Not 0: the log-sum-exp is stored. */
  int32_t dropout;             /**< Not 0: dropout is applied. */
  int32_t paged_kv;            /**< Not 0: keys and values are paged. */
  int32_t fp8_static_quant;    /**< Not 0: scales of 8-bit operands are static. */
  int32_t skip;                /**< Not 0: short sequences are skipped. */
  int32_t sink;                /**< Not 0: every query attends to the first keys. */
  int32_t dbias;               /**< Not 0: the gradient of the bias is computed. */
  int32_t store_randval;       /**< Not 0: the random numbers of dropout are stored. */
  int32_t deterministic;       /**< Not 0: the order of summation is fixed. */
  int32_t has_seqstart_q_ptr;  /**< Not 0: the call passes where the queries of each sequence start. */
  int32_t has_seqstart_k_ptr;  /**< Not 0: the call passes where the keys of each sequence start. */
  int32_t has_seqlen_q_ptr;    /**< Not 0: the call passes the number of queries of each sequence. */
  int32_t has_seqlen_k_ptr;    /**< Not 0: the call passes the number of keys of each sequence. */
  int32_t has_cu_seqlen_q_ptr; /**< Not 0: the call passes cumulative numbers of queries. */
  int32_t has_cu_seqlen_k_ptr; /**< Not 0: the call passes cumulative numbers of keys. */
  int32_t has_block_table_ptr; /**< Not 0: the call passes the pages of each sequence. */
  int32_t has_cache_batch_idx; /**< Not 0: the call passes the cache index of each sequence. */
  int32_t is_gappy;            /**< Not 0: there are gaps between the keys of neighbouring sequences. */
  int32_t has_rotary_cos_sin;  /**< Not 0: the call passes sines and cosines. */
  int32_t reserved;
} ck_fmha_problem;

/** Products of the rows of some experts, each with the weights of its expert. */
typedef struct {
  size_t struct_size;
  const int32_t *histogram; /**< Rows of each expert, in any order; NULL if not known, or if `active`,
                                 `largest` and `tiles` say what they come to, as they do where a callback
                                 receives a problem. */
  size_t histogram_count;   /**< Numbers of `histogram`. */
  const char *arch;         /**< The architecture that will run it, when known. NULL if unknown. */
  const char *stage;        /**< Which product: `1` by gate and up weights, `2` by down weights, `both` one
                                 after the other. */
  int64_t tokens;           /**< Rows before they are sent to experts. */
  int64_t experts;          /**< Experts on this device. */
  int64_t topk;             /**< Experts of a token. */
  int64_t n;                /**< Columns of a product: for stage 1 and both twice the intermediate size,
                                 for stage 2 the hidden size. */
  int64_t k;                /**< Depth of a product: for stage 1 and both the hidden size, for stage 2 the
                                 intermediate size. */
  int32_t dtype_a;          /**< Element type of rows. A `ck_dtype`. */
  int32_t dtype_b;          /**< Element type of weights. A `ck_dtype`. */
  const char *quant;        /**< What shares a scale. */
  int32_t block_n;          /**< Columns of weights that share a scale; 0 for all or one. */
  int32_t block_k;          /**< Elements of depth that share a scale; 0 for all. */
  const char *activation;   /**< The function between the two products. */
  int32_t weighted_first;   /**< Not 0: stage 1 multiplies by the routing's weights, instead of stage 2. */
  int64_t active;           /**< Experts that have rows; 0 when the routing is not known. */
  int64_t largest;          /**< Rows of the busiest expert; 0 when not known. */
  int64_t tiles[5];         /**< Tiles of 16, 32, 64, 128 and 256 rows of all experts; 0 when not known. */
} ck_moe_problem;

/** Options of a registry. Texts are copied; NULL, 0 and what `ck_options_init` leaves are defaults. */
typedef struct {
  size_t struct_size;
  int32_t mode;                /**< A `ck_mode`. */
  int32_t ignore_environment;  /**< Not 0: ignores the environment (`CK_SELECT_MODE`, `_OVERRIDE`,
                                    `_HARDWARE`, `_STORE`, `_CAPTURE`), except for `CK_SELECT_LOG`, which
                                    applies to the process. */
  const char *override_file;   /**< A file of rules `problem -> kernel name`, which take precedence over
                                    all other sources; NULL for none. */
  const char *arch;            /**< The architecture of problems that name none, or a product such as
                                    "MI300X" for its architecture and compute units; NULL for any. */
  const char *store;           /**< The file that keeps measured winners, or "off" for memory only. NULL:
                                    `CK_SELECT_STORE`, or a file in the user's cache folder, which is
                                    opened only by a registry that measures. */
  const char *device_name;     /**< The name of the device whose winners the store keeps; NULL asks the HIP
                                    runtime. The driver is always the current one. */
  void *stream;                /**< The stream to measure on (`hipStream_t`), which must live as long as
                                    the registry uses these options; NULL for the default stream. */
  int32_t refine;              /**< How many of the best kernels `CK_MODE_REFINE` measures; 0 means 3, -1
                                    as many as an answer asks for to be within 2 % of the best with a
                                    chance of 90 %: none where it is sure. */
  int32_t refine_out_of_range; /**< How many of the model's best kernels `CK_MODE_MODEL` measures if the
                                    problem is outside the model's training range; 0 for none. */
  int32_t search;              /**< Not 0: without a model `CK_MODE_MODEL` measures all kernels. */
  int32_t repeats;             /**< Timed runs of each kernel; 0 means 10. Kernels within noise of the
                                    fastest are run again, alternating. */
  int32_t warmup;              /**< Warm-up runs of each kernel; 0 means 3, less than 0 means none. */
  int32_t host_timing;         /**< Not 0: measures kernels with the host's clock, without a GPU. For run
                                    callbacks that do all their work on the host before they return, such
                                    as reference implementations. Requires `arch`, because the host has
                                    none; winners are stored for the device "host". */
  int32_t embedded_models;     /**< Not 0: built-in models answer problems that no loaded model serves. A
                                    universal model, loaded or built in, answers only those for which no
                                    other model was trained. */
  int32_t no_estimate;         /**< Not 0: the estimate is no source; the priority answers instead. */
  double budget_ms;            /**< Time limit of one search in milliseconds; 0 means one minute. */
  double cutoff;               /**< A kernel is abandoned if its runs take this many times longer than the
                                    best kernel's; 0 means 3. */
  double run_timeout_ms;       /**< Time limit of one run in milliseconds; 0 means 5000. A kernel that the
                                    GPU has not finished by then is considered hung: the kernel and its
                                    search are abandoned. The selecting thread waits for a run callback
                                    that does not return; others wait one second longer than this limit and
                                    then measure without it. */
  const char *hardware;        /**< A file that describes the GPU (docs/estimate.md); NULL for the profile
                                    of the architecture. The estimate and universal models take it instead
                                    of the profile of `arch`, or else of what the file is `based_on`;
                                    models of one architecture keep their constants. */
  const char *splits;          /**< The numbers of parts that may be chosen for problems whose `split_k` is
                                    0, such as "1,2,4"; NULL for "1,2,4,8,16", of which AITER's kernels
                                    take 1. Of these, a kernel takes those for which its `supports` returns
                                    not 0. Copied. */
} ck_options;

/** Callbacks, user data and priority of a kernel. Every callback may be NULL. Callbacks run on the
 *  selecting thread. They must not change the registry that calls them, but may select: a problem without
 *  an answer yet is then not measured but answered by the next source, and that answer is not cached.
 *  `supports` returns not 0 for yes; NULL means always, for attention what CK's rules say.
 *
 *  A run callback that leaves by `longjmp` leaks the memory of its search, but holds no lock: its problem
 *  is not measured again until the registry changes, its thread can measure again after `run_timeout_ms`
 *  plus one second, and other threads wait for it no longer than that.
 *
 *  Begin with all bytes 0; CK's low, normal and high `priority` are 0, 1 and 2. */
typedef struct {
  size_t struct_size;
  void *user;                     /**< Returned with each selection, and passed to the callbacks unless
                                       there is a `context`. Never dereferenced. */
  int32_t priority;               /**< Higher wins among equal scores, and if no better source answers. */
  int32_t reserved;
  int32_t (*supports_conv)(const ck_conv_problem *problem, void *user);
                                  /**< Whether the kernel can run a convolution. */
  int32_t (*supports_gemm)(const ck_gemm_problem *problem, void *user);
                                  /**< Whether the kernel can run a GEMM. */
  float (*run_conv)(const ck_conv_problem *problem, void *stream, void *user);
                                  /**< Runs a convolution once, with all its work on the stream. Returns
                                       the milliseconds that it took by its own timing; 0 if it was only
                                       launched, so that events time it; a negative error code if it could
                                       not be run. NULL: the kernel is never measured. */
  float (*run_gemm)(const ck_gemm_problem *problem, void *stream, void *user);
                                  /**< Runs a GEMM once; see `run_conv`. */
  int32_t (*supports_fmha)(const ck_fmha_problem *problem, void *user);
                                  /**< Whether the kernel can run an attention problem. */
  float (*run_fmha)(const ck_fmha_problem *problem, void *stream, void *user);
                                  /**< Runs a stage of attention once; see `run_conv`. */
  void *context;                  /**< Passed to the callbacks instead of `user`, unless it is NULL. */
  void (*release)(void *context); /**< Called once with what the callbacks receive, if the kernel was
                                       added, when none of them will be called any more: the kernel was
                                       removed or replaced and no call that may use it still runs, or the
                                       registry is destroyed. It may free that, and what `user` points to:
                                       the library no longer has either address, but a `ck_selection` that
                                       the caller kept still does. Runs on any thread, even within a
                                       selection; it must not use the registry. */
  int32_t (*supports_moe)(const ck_moe_problem *problem, void *user);
                                  /**< Whether the kernel can run a mixture of experts. */
  float (*run_moe)(const ck_moe_problem *problem, void *stream, void *user);
                                  /**< Runs a stage of a mixture of experts once; see `run_conv`. */
} ck_kernel_hooks;

/** A registered kernel. */
typedef struct {
  size_t struct_size;
  const char *name; /**< The kernel's name. */
  void *user;       /**< The `user` pointer of its hooks. */
  size_t index;     /**< The kernel's index in the order of registration, not counting removed kernels. */
  int32_t priority; /**< The priority of the kernel's hooks. */
  int32_t reserved;
} ck_kernel_info;

/** Scales of a GEMM kernel's operands. */
typedef struct {
  const char *mode;    /**< Which operands have scales: "aquant", "bquant", "abquant", "rowcolquant",
                            `tensor_quant` or "mx"; NULL for none. */
  int32_t group_a[3];  /**< Elements of A that share a scale: m, n, k. Zeros: 1, 1, 128, and 1, 1, 32 for
                            "mx". */
  int32_t group_b[3];  /**< Elements of B that share a scale: m, n, k, with zeros as for A. */
  int32_t reserved[8]; /**< Must be 0. */
} ck_quant;

/** What sets a GEMM kernel apart from a plain one. */
typedef struct {
  int32_t library;            /**< Who builds it: `ck`, `triton` or `aiter`. 0 ck, 1 triton, 2 aiter. */
  int32_t batched;            /**< Not 0: computes a batch: GEMMs of equal extents at equal distances in
                                   memory. */
  const char *stream_k;       /**< How workgroups that take equal shares of all steps add their partial
                                   results: `tree`, `linear` or `atomic`; absent where workgroups take
                                   whole tiles. NULL for none. */
  int32_t d_layout;           /**< Memory order of the D tensors. A `ck_major`. */
  ck_quant quant;             /**< Scales of its operands. */
  int32_t shuffled_scales[2]; /**< Not 0: whether the scales of A and of B are stored in the order in which
                                   they are read. */
  int32_t block_per_cu;       /**< Workgroups that should fit on one compute unit. */
  int32_t row_scales;         /**< Not 0: the scales of A are read row by row by a kernel that otherwise
                                   reads them by columns. */
  int32_t loaders[2];         /**< Threads along the rows of A and along the columns of B that load a step;
                                   0 when not known. */
  int32_t storers[2];         /**< Threads along m and n that store C; 0 when not known. */
  int32_t shuffle[2];         /**< Results of instructions along m and n that a wave shuffles at a time; 0
                                   when not known. */
  int32_t partition[2];       /**< Groups of neighbouring tiles, and tiles along m in one; 0 for tiles in
                                   their order. */
  int32_t stages;             /**< Stages of one of Triton's kernels, where its pipeline does not say them:
                                   1, 6, 7 or 8; 0 where it does. */
  int32_t group_m;            /**< Rows of tiles that one of Triton's kernels computes side by side; 0 for
                                   8. */
  int32_t tma;                /**< Not 0: loads by tensor descriptors: one of Triton's kernels. */
  int32_t ctas;               /**< Workgroups of a cluster of one of Triton's kernels; 0 for 1. */
  int32_t waves_per_eu;       /**< Waves for which one of Triton's kernels is compiled to share a SIMD of
                                   an AMD GPU; 0 for any. */
  int32_t kpack;              /**< Depth of a fragment that one of Triton's kernels reads at once on an AMD
                                   GPU, in instructions; 0 for 1. */
} ck_gemm_variant;

/** A GEMM kernel, with the fields of CK's `KernelKey`. */
typedef struct {
  size_t struct_size;
  const char *name;            /**< The name under which it is registered, any single line of text; NULL
                                    for CK's identifier, which lacks the types of B, C and the
                                    accumulators, the transposes, `grouped`, the block size, the vector
                                    widths and the architecture. */
  const char *arch;            /**< The architecture that it was built for, when known. NULL if unknown. */
  int32_t dtype_a;             /**< Element type of A. A `ck_dtype`. */
  int32_t dtype_b;             /**< Element type of B. A `ck_dtype`. */
  int32_t dtype_c;             /**< Element type of C. A `ck_dtype`. */
  int32_t dtype_acc;           /**< Element type of the accumulators. A `ck_dtype`. */
  int32_t layout[3];           /**< Memory orders of A, B, C. A `ck_major` each. */
  int32_t transpose_a;         /**< Not 0: A is transposed on the fly. */
  int32_t transpose_b;         /**< Not 0: B is transposed on the fly. */
  int32_t grouped;             /**< Not 0: computes many GEMMs in one launch. */
  int32_t split_k;             /**< Parts into which K is split, 1 for none. */
  const char *elementwise;     /**< What is done to each element of the result: `PassThrough`, `Relu`,
                                    `MultiDAdd` and so on. */
  int32_t num_d_tensors;       /**< Further tensors that the elementwise operation reads. */
  int32_t structured_sparsity; /**< Not 0: uses 2:4 structured sparsity. */
  int32_t tile[3];             /**< Result tile and depth of one step, per workgroup: m, n, k. */
  int32_t wave[3];             /**< Waves of a workgroup along m, n, k (`warp_*` in upstream's names and
                                    features). */
  int32_t warp_tile[3];        /**< Tile of one matrix instruction: m, n, k. */
  const char *pipeline;        /**< How loads overlap with arithmetic: `compv3`, `mem` and so on. */
  const char *scheduler;       /**< How waves are interleaved: `intrawave`, `interwave` or `auto`. */
  const char *epilogue;        /**< How results leave the registers: `cshuffle`, `default` and so on. */
  int32_t block_size;          /**< Threads of a workgroup; 0 when not known. */
  int32_t double_buffer;       /**< Not 0: two buffers in shared memory. */
  int32_t persistent;          /**< Not 0: workgroups stay resident and loop over tiles. */
  int32_t preshuffle;          /**< Not 0: B is stored in the order in which it is read. */
  int32_t transpose_c;         /**< Not 0: C is written transposed. */
  int32_t num_wave_groups;     /**< Groups that the waves of a workgroup form. */
  int32_t pad[3];              /**< Not 0: handles m, n, k that the tile does not divide. */
  int32_t vector[3];           /**< Fixed vector widths of A, B, C; 0 is the kernel's native width. */
  ck_gemm_variant variant;     /**< What sets it apart from a plain GEMM kernel. */
} ck_gemm_kernel_desc;

/** Stream-K settings of a convolution kernel. */
typedef struct {
  const char *reduction; /**< How the kernel reduces its partial results: "none", "tree", "linear" or
                              "atomic"; NULL if it is not a stream-K kernel. */
  int32_t persistent;    /**< Not 0: its workgroups stay resident. */
  int32_t reserved;
} ck_stream_k;

/** A grouped-convolution kernel, with the fields of CK's `GroupedConvKernelKey` and those that only its
 *  names contain.
 *
 *  Words are those of kernel names, such as "compv3"; they are strings, because CK adds some with each
 *  version. A kernel that is registered under a `name` may have a pipeline, scheduler, epilogue,
 *  specialization or reduction that this library does not know: no model and no estimate ranks it, and it
 *  is chosen, flagged `unmeasured`, by its priority where none of those that are ranked can run. */
typedef struct {
  size_t struct_size;
  const char *name;            /**< The name under which it is registered, any single line of text; NULL
                                    for the name of CK's code generator, which contains everything except
                                    the types of weight and output and the architecture. */
  const char *arch;            /**< The architecture that it was built for, when known. NULL if unknown. */
  int32_t direction;           /**< Which of the three convolutions it computes. A `ck_direction`. */
  int32_t ndim;                /**< Spatial dimensions, 1 to 3. */
  int32_t dtype_in;            /**< Element type of the input. A `ck_dtype`. */
  int32_t dtype_wei;           /**< Element type of the weight. A `ck_dtype`. */
  int32_t dtype_out;           /**< Element type of the output. A `ck_dtype`. */
  int32_t layout;              /**< Memory order of its tensors. A `ck_conv_layout`. */
  int32_t tile[3];             /**< Result tile and depth of one step, per workgroup: m, n, k. */
  int32_t wave[3];             /**< Waves of a workgroup along m, n, k. */
  int32_t warp_tile[3];        /**< Tile of one matrix instruction (`warp_*` in CK's keys): m, n, k. */
  const char *pipeline;        /**< How loads overlap with arithmetic: `compv3`, `mem` and so on. */
  const char *scheduler;       /**< How waves are interleaved: `intrawave`, `interwave` or `auto`. */
  const char *epilogue;        /**< How results leave the registers: `cshuffle`, `default` and so on. */
  int32_t vector[3];           /**< Elements per memory access of A, B and C. */
  int32_t block_per_cu;        /**< Workgroups that should fit on one compute unit. */
  int32_t num_wave_groups;     /**< Groups that the waves of a workgroup form. */
  int32_t num_groups_to_merge; /**< Convolution groups that one workgroup handles together. */
  const char *specialization;  /**< What it assumes about problems: `default`, `filter1x1_stride1_pad0` and
                                    so on. */
  int32_t double_smem_buffer;  /**< Not 0: two buffers in shared memory (`dsb`). */
  int32_t split_image;         /**< Not 0: splits images for large tensors (`si`, CK's `large_tensor`). */
  int32_t explicit_gemm;       /**< Not 0: runs as a plain GEMM. */
  int32_t two_stage;           /**< Not 0: converts in a second launch (backward weight, `2stage`). */
  ck_stream_k stream_k;        /**< Stream-K decomposition, if it is a stream-K kernel. */
} ck_conv_kernel_desc;

/** An attention kernel, with the fields of CK's `FmhaKernelKey` and their numbers; a `block_per_cu` of -1
 *  counts as 255. */
typedef struct {
  size_t struct_size;
  const char *name;           /**< The name under which it is registered; NULL for its identifier. */
  const char *constraint_tag; /**< What else distinguishes it (CK's `constraint_tag`), mostly empty. NULL
                                   for none. */
  const char *arch;           /**< The architecture that it was built for, when known. NULL if unknown. */
  int32_t family;             /**< What it does: a stage. A `ck_fmha_family`. */
  int32_t dtype;              /**< Element types of operands and, for the mixed words, of the result. A
                                   `ck_dtype`. */
  int32_t mode;               /**< Whether all sequences have the same length, or each its own. 0 batch, 1
                                   group. */
  int32_t v_rowmajor;         /**< Not 0: values are row-major. */
  int32_t logits;             /**< Not 0: scores have a soft cap. */
  int32_t mask;               /**< Which keys a query does not attend to. 0 no, 1 top_left, 2 bottom_right,
                                   3 generic. */
  int32_t bias;               /**< What is added to the scores. 0 no, 1 bias, 2 alibi. */
  int32_t lse;                /**< Not 0: the log-sum-exp is stored. */
  int32_t dropout;            /**< Not 0: dropout is applied. */
  int32_t qscale;             /**< How 8-bit operands are scaled. 0 no, 1 pertensor, 2 blockscale, 3
                                   kv_blockscale, 4 mx, 5 per_token_head. */
  int32_t rope;               /**< How appended keys are rotated. 0 none, 1 inter, 2 half. */
  int32_t paged_kv;           /**< Not 0: keys and values are paged. */
  int32_t fp8_static_quant;   /**< Not 0: scales of 8-bit operands are static. */
  int32_t skip;               /**< Not 0: short sequences are skipped. */
  int32_t sink;               /**< Not 0: every query attends to the first keys. */
  int32_t dbias;              /**< Not 0: computes the gradient of the bias. */
  int32_t store_randval;      /**< Not 0: stores the random numbers of dropout. */
  int32_t deterministic;      /**< Not 0: the order of summation is fixed. */
  int32_t kv_layout;          /**< Memory order of a paged cache. 0 vectorized, 1 linear. */
  int32_t kv_lookup;          /**< How pages are found. 0 vllm, 1 sglang. */
  int32_t page_size;          /**< Keys per page; 1 for any number. */
  int32_t hdim_q;             /**< Largest head size of queries and keys, in elements. */
  int32_t hdim_v;             /**< Largest head size of values, in elements. */
  int32_t receipt;            /**< The build that it was selected for (CK's `receipt`), -1 for none. */
  int32_t tile[6];            /**< What one workgroup handles in one step: `m0`, `n0`, `k0`, `n1`, `k1`,
                                   `k0max`. */
  int32_t wave[9];            /**< Waves of a workgroup: m, n, k of both products, and of the third one of
                                   backward kernels. */
  int32_t warp_tile[9];       /**< Tile of one matrix instruction, in the same order. */
  const char *pipeline;       /**< How keys and values are loaded: `qr`, `qr_async` and so on. */
  int32_t pad[4];             /**< Not 0: handles numbers of queries and keys, and head sizes of queries
                                   and values, that the tile does not divide. */
  int32_t trload;             /**< Not 0: transposes while loading. */
  int32_t block_per_cu;       /**< Workgroups that should fit on one compute unit; 255 when the pipeline
                                   decides. */
  int32_t num_wave_groups;    /**< Groups that the waves of a workgroup form. */
  int32_t max_splits_log2;    /**< log2 of the largest number of splits, 0 for any. */
  int32_t max_seq_len_q;      /**< Largest number of queries, 0 for any. */
  int32_t hdim_q_alignment;   /**< What must divide the head size of queries if it is not padded, 0 for
                                   nothing. */
  int32_t hdim_v_alignment;   /**< The same for values. */
  int32_t selection_rank;     /**< Its place among kernels that are equally good by the rules (CK's
                                   `selection_rank`). */
} ck_fmha_kernel_desc;

/** A kernel of mixtures of experts. */
typedef struct {
  size_t struct_size;
  const char *name;       /**< The name under which it is registered; NULL for the name of its
                               configuration. */
  int32_t library;        /**< Who builds it: `triton`, or `aiter` for CK's two-stage kernels. 0 ck, 1
                               triton, 2 aiter. */
  const char *arch;       /**< The architecture that it was built for, when known. NULL if unknown. */
  const char *stage;      /**< The product that it computes; absent for one of Triton's kernels, which
                               computes either. NULL for none. */
  int32_t dtype_a;        /**< Element type of rows. A `ck_dtype`. */
  int32_t dtype_b;        /**< Element type of weights. A `ck_dtype`. */
  int32_t tile[3];        /**< Result tile of a workgroup, whose rows are of one expert, and depth of one
                               step. */
  int32_t wave[2];        /**< Waves of a workgroup along rows and columns; of Triton's kernels, all along
                               rows. */
  int32_t group_m;        /**< Rows of tiles that one of Triton's kernels computes side by side, for the
                               same columns. */
  int32_t stages;         /**< Steps of one of Triton's kernels that are loaded ahead. */
  int32_t waves_per_eu;   /**< Waves for which one of Triton's kernels is compiled to share a SIMD of an
                               AMD GPU; 0 for any. */
  int32_t nonkdim;        /**< Rows and columns of an instruction of one of Triton's kernels on an AMD GPU;
                               0 for any. */
  int32_t kpack;          /**< Depth of a fragment that one of Triton's kernels reads at once on an AMD
                               GPU, in instructions; 0 for 1. */
  int32_t split_k;        /**< Parts into which one of Triton's kernels splits the depth. */
  int32_t tma;            /**< Not 0: loads by tensor descriptors: one of Triton's kernels. */
  int32_t version;        /**< Version of the pipeline of one of CK's kernels. */
  const char *epilogue;   /**< What one of CK's kernels does to its results. NULL for none. */
  int32_t nswizzle;       /**< Not 0: one of CK's kernels swizzles along columns. */
  const char *quant;      /**< What shares a scale in one of CK's kernels; Triton's read scales as they are
                               launched. NULL for none. */
  int32_t weighted;       /**< Not 0: one of CK's kernels multiplies by the routing's weights. */
  const char *activation; /**< The function that stage 1 of CK's kernels ends with. NULL for none. */
  int32_t dtype_c;        /**< Element type of results of one of CK's kernels. A `ck_dtype`. */
  int32_t reserved;
} ck_moe_kernel_desc;

/** Options of an export. */
typedef struct {
  size_t struct_size;
  const char *registry_name; /**< The registry's name in the export; NULL for "default". */
  const char *timestamp;     /**< The time of a GEMM export in CK's format, "YYYY-MM-DDThh:mm:ss"; NULL
                                  omits it, so that the same kernels give the same text. Convolution
                                  exports have no timestamp. */
  int32_t statistics;        /**< Not 0: adds counts of kernels by type, pipeline, architecture and so on. */
  int32_t reserved;
} ck_export_options;

/** The hardware constants that features use. Cache sizes are in KiB, shared memory in bytes. */
typedef struct {
  size_t struct_size;
  int64_t num_cus;          /**< Compute units. */
  int64_t simds_per_cu;     /**< SIMD units of one compute unit. */
  int64_t shader_engines;   /**< Shader engines. */
  int64_t max_clock_mhz;    /**< Highest clock in MHz. */
  int64_t max_waves_per_cu; /**< Waves that one compute unit can hold. */
  int64_t wavefront_size;   /**< Threads of one wave. */
  int64_t lds_capacity;     /**< Shared memory of one compute unit in bytes. */
  int64_t l1_cache_kb;      /**< First-level cache in KiB. */
  int64_t l2_cache_kb;      /**< Second-level cache in KiB. */
  int64_t l3_cache_kb;      /**< Last-level cache in KiB. */
  int64_t num_xcd;          /**< Dies that share the work. */
} ck_hardware;

/** The problems that a model serves. A more specific key takes precedence. */
typedef struct {
  size_t struct_size;
  int32_t op;        /**< A `ck_op`. */
  int32_t direction; /**< A `ck_direction`, or `CK_ANY`; `CK_ANY` unless `op` is `CK_OP_CONV`. */
  int32_t dtype;     /**< A `ck_dtype`, of the input or of A, or `CK_ANY`. */
  int32_t reserved;
  const char *arch;  /**< The architecture; NULL for any. */
} ck_model_key;

/** Options of a model. */
typedef struct {
  size_t struct_size;
  const ck_model_key *key;     /**< The problems that the model serves; NULL for those that its spec names. */
  const ck_hardware *hardware; /**< The hardware constants for its features, instead of those of its
                                    training: it then predicts for a GPU that it has never seen. NULL for
                                    the constants of its spec. */
  int32_t force;               /**< Not 0: the model serves all problems of its operation, whatever its
                                    spec says. The quality of its predictions for other directions, types
                                    and architectures is unknown; selections there are `out_of_range`.
                                    Models that serve the problem without force take precedence. Must not
                                    be combined with `key`. */
  int32_t reserved;
} ck_model_options;

/** A LightGBM model in memory, plain or gzip. */
typedef struct {
  size_t struct_size;
  int32_t target;       /**< A `ck_target`: what the forest predicts. */
  int32_t reserved;
  const uint8_t *bytes; /**< The bytes. */
  size_t len;           /**< Number of bytes. */
} ck_forest_bytes;

/** A chosen kernel. */
typedef struct {
  size_t struct_size;
  const char *name;             /**< The kernel's name. */
  void *user;                   /**< The `user` pointer of its hooks. */
  size_t index;                 /**< The kernel's index among the registered kernels at the time of the
                                     call. */
  int32_t split_k;              /**< The parts into which the reduction is split (CK's `k_batch`): the
                                     problem's, unless it is 0 there. 1 for attention. */
  int32_t reserved;
  size_t rank;                  /**< The kernel's rank in the order of the source, counted from 0. */
  size_t unsupported;           /**< Number of kernels before it that do not support the problem. */
  double score;                 /**< The model's score in the unit of its target, usually TFLOPS; the
                                     estimate's time in microseconds; NaN from other sources. */
  double measured_ms;           /**< The kernel's measured time in milliseconds; NaN if it was not
                                     measured. */
  uint64_t generation;          /**< The state that answered; see `ck_registry_generation`. */
  int32_t source;               /**< A `ck_source`: the source that chose it. */
  int32_t out_of_range;         /**< 1 if the problem is outside the model's training range, else 0. */
  uint64_t out_of_range_fields; /**< A bit for each such field; see `ck_problem_field_name`. */
  int32_t unmeasured;           /**< 1 if no kernel measured for the model had this kernel's pipeline or
                                     suffixes, or if the library does not know one of its words, else 0. */
  int32_t arch_unknown;         /**< 1 if the model is for one architecture and neither the problem nor the
                                     options name one, else 0: the device may be different. */
  int32_t no_model;             /**< 1 if the first kernel by priority was chosen only because no model and
                                     no other source had an answer, else 0. */
  int32_t universal;            /**< 1 if the model is a universal one, which ranks for any GPU, direction
                                     and type, else 0. */
  const char *model;            /**< The model that chose it: "embedded:universal" or another built-in one,
                                     a directory, or the name under which a model was loaded from memory;
                                     NULL if another source chose. Valid for the life of the process. */
  double expected_loss;         /**< The expected loss of the choice, as a share of the speed of the best
                                     kernel of the pool (docs/sureness.md); NaN if it is not known, as for
                                     types and architectures without judged choices, and where the kernel
                                     was measured. */
  double chance;                /**< The chance that the kernel is within 2 % of the best; NaN if it is not
                                     known. */
  uint32_t sure_within_90;      /**< How many of the first kernels have to be measured for the fastest of
                                     them to be within 2 % of the best with a chance of 90 %; 0 if it is
                                     not known. */
  uint32_t sure_within_99;      /**< How many of the first kernels have to be measured for a chance of 99
                                     %. */
} ck_selection;

/** One place of a ranking. */
typedef struct {
  size_t struct_size;
  const char *name;        /**< The kernel's name. */
  void *user;              /**< The `user` pointer of its hooks. */
  size_t index;            /**< The kernel's index among the registered kernels. */
  int32_t split_k;         /**< The parts of the reduction, as in `ck_selection`. */
  int32_t reserved;
  double score;            /**< The model's score, or the estimate's time in microseconds. */
  int32_t tied;            /**< 1 if the previous or the next place has the same score, so that the source
                                does not distinguish them, else 0. */
  int32_t unmeasured;      /**< As in `ck_selection`. */
  int32_t source;          /**< A `ck_source`: the model, best score first, or the estimate, shortest time
                                first. */
  int32_t reserved_source; /**< 0. */
  double time_us;          /**< The expected time in microseconds; NaN if it is not known. */
  double slower;           /**< By how much it is slower than the first place: 1 for an equal kernel; NaN
                                if the scores have no unit. */
  double expected_loss;    /**< The expected loss of choosing it, as in `ck_selection`. */
} ck_ranked;

/** A model's predictions for one kernel; NaN for targets without a forest. */
typedef struct {
  size_t struct_size;
  double tflops;         /**< Trillions of operations per second. */
  double latency_ms;     /**< Milliseconds. */
  double bandwidth_gb_s; /**< Gigabytes per second. */
} ck_predictions;

/** The budget of a call of `ck_registry_tune`. */
typedef struct {
  size_t struct_size;
  double time_ms;  /**< How long the call may take, in milliseconds. No run begins after it, so it is
                        exceeded by at most one run. */
  void *stream;    /**< The stream to measure on (`hipStream_t`); NULL for that of the options. */
  int32_t kernels; /**< How many of a problem's best kernels are measured, by the order in which the
                        sources would choose them: 2 or more; 0 means 3. */
  int32_t reserved;
} ck_tune_budget;

/** What a call of `ck_registry_tune` did. */
typedef struct {
  size_t struct_size;
  size_t measured;   /**< Number of problems that got a winner. */
  size_t improved;   /**< Number of those whose winner differs from the kernel that was chosen before. */
  size_t failed;     /**< Number of problems for which no kernel could be measured. They are skipped until
                          kernels, models or options change. */
  size_t waiting;    /**< Number of problems that wait to be measured. */
  double saved_ms;   /**< Milliseconds that one run of each improved problem takes less than before. */
  double elapsed_ms; /**< Milliseconds that the call took. */
} ck_tune_report;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/* Errors, versions, the log ------------------------------------------------------------------------------ */

/** Describes a status in a few words. Never NULL; the string is constant. */
const char *ck_status_text(int32_t status);

/** The version of the library, such as "0.1.0". Never NULL; the string is constant. */
const char *ck_select_version(void);

/** The ABI version of the library. It increases when programs compiled against an older header can no
 *  longer run. Compare it with the header's `CK_SELECT_ABI_VERSION`. */
uint32_t ck_select_abi_version(void);

/** The message of the last failed call on this thread; empty if none failed, never NULL. Control
 *  characters of names in it are escaped as in JSON. The string is valid until another call fails on this
 *  thread, or the thread ends. */
const char *ck_last_error(void);

/** Sends log lines of the whole process up to `level`, a `ck_log_level`, to a callback instead of to the
 *  destination in `CK_SELECT_LOG`; it stays callable until the process ends. NULL turns logging off.
 *  Without this call and without `CK_SELECT_LOG`, only three warnings are written, to standard error and
 *  once per registry: that it chooses without a model, or with a built-in model although no architecture
 *  was given, or that a kernel has a word that the library does not know. `CK_SELECT_LOG=off` silences
 *  these, too.
 *
 *  The callback may be called by several threads at a time; its strings live as long as the call. It must
 *  not call this function. A line in flight while it is replaced may still reach the old one. */
ck_status ck_log_set_callback(int32_t level, void (*callback)(int32_t level, const char *source,
    const char *text, void *user), void *user);

/** Writes a line to the log, for code built on this library, such as the adapters of
 *  `ck_select_dispatcher.hpp`. `source` names the origin of the line. As long as no destination is set, a
 *  line at `CK_LOG_LEVEL_ERROR` goes to standard error, so log such a line only once. */
ck_status ck_log(int32_t level, const char *source, const char *text);

/** Frees a string that the library returned. */
void ck_string_free(char *text);

/* Problems ----------------------------------------------------------------------------------------------- */

/** Initialises a problem with `struct_size` and defaults. A convolution is a forward bf16 NHWGC one of one
 *  image, channel and group with 1x1 extents; a GEMM is 1x1x1, fp8, of layout rcr; attention is forward,
 *  fp16, in batch mode, of one sequence with one query, key and head of 128 elements. */
ck_status ck_conv_problem_init(ck_conv_problem *problem);
ck_status ck_gemm_problem_init(ck_gemm_problem *problem);
ck_status ck_fmha_problem_init(ck_fmha_problem *problem);
ck_status ck_moe_problem_init(ck_moe_problem *problem);

/* A registry and its kernels ----------------------------------------------------------------------------- */

/** Initialises options with `struct_size` and the defaults. */
ck_status ck_options_init(ck_options *options);

/** Creates an empty registry. The environment is read now and overrides the options. */
ck_status ck_registry_create(const ck_options *options, ck_registry **registry);

/** Destroys a registry and everything that it returned, including kernel names. */
void ck_registry_destroy(ck_registry *registry);

/** Replaces the options. */
ck_status ck_registry_set_options(ck_registry *registry, const ck_options *options);

/** Writes the number of the registry's current state, which increases with every change of kernels, models
 *  and options. As long as it stays the same, so do the selections of a registry that does not measure.
 *  The `generation` of a selection is that of the state that answered. */
ck_status ck_registry_generation(const ck_registry *registry, uint64_t *generation);

/** Reads the winners that other processes have stored since the store was last read, and writes those of
 *  this registry that are still waiting (`ck_registry_store_status`). It reads a file, so call it from
 *  time to time, not before each selection; it waits up to a quarter of a second for a locked one. A
 *  registry sees its own winners immediately. If waiting winners cannot be written, it reads the others
 *  and returns `CK_STATUS_IO`. */
ck_status ck_registry_refresh_store(ck_registry *registry);

/** Reports whether measured winners still have to be written, because the store was locked by another
 *  process, damaged, full, or not writable. `waiting` receives the number of winners that are only in
 *  memory; `reason` why the store could not be used the last time, or NULL if it could; either may be
 *  NULL. Waiting winners are used like others; they are written with a later winner, by
 *  `ck_registry_refresh_store`, or by `ck_registry_destroy`. Waits while another thread uses the store's
 *  file. */
ck_status ck_registry_store_status(const ck_registry *registry, size_t *waiting, char **reason);

/** Adds a kernel by its name: a grouped-convolution name, a tile-engine GEMM name, or a CK identifier.
 *  Without hooks, it has priority 1 and supports every problem that it matches. A kernel of the same name
 *  is replaced if the new priority is higher; otherwise the call fails with
 *  `CK_STATUS_ALREADY_REGISTERED`. Name and hooks are copied; callbacks stay callable until `release`, or
 *  until the registry is destroyed. */
ck_status ck_registry_add_kernel(ck_registry *registry, const char *name, const ck_kernel_hooks *hooks);

/** Adds several kernels: all of them or, if one cannot be added, none. `hooks` is NULL, or has one element
 *  per name. */
ck_status ck_registry_add_kernels(ck_registry *registry, const char *const *names,
    const ck_kernel_hooks *hooks, size_t count);

/** Adds the kernels of a folder of shared libraries with a `kernels.json`, all or, if one cannot be added,
 *  none. No library is loaded: kernels get no callbacks, and whoever runs them finds library and function
 *  in the manifest. Files and entries that are not of a kernel are left out, and named in the log as
 *  warnings. `added` may be NULL. */
ck_status ck_registry_add_folder(ck_registry *registry, const char *folder, size_t *added);

/** Writes the number of kernels. */
ck_status ck_registry_size(const ck_registry *registry, size_t *size);

/** Describes the kernel at an index. */
ck_status ck_registry_kernel_at(const ck_registry *registry, size_t index, ck_kernel_info *info);

/** Describes the kernel with a name. */
ck_status ck_registry_find(const ck_registry *registry, const char *name, ck_kernel_info *info);

/** Removes the kernels that were built for other architectures; kernels without an architecture stay.
 *  `removed` receives their number; it may be NULL. */
ck_status ck_registry_retain_arch(ck_registry *registry, const char *arch, size_t *removed);

/** Removes the kernel with a name; `CK_STATUS_NOT_FOUND` if there is none. The indices of later kernels
 *  decrease by one. Its memory, except for the name, is freed when no call uses it any more; a concurrent
 *  selection may still return it. */
ck_status ck_registry_remove_kernel(ck_registry *registry, const char *name);

/** Removes all kernels. */
ck_status ck_registry_clear(ck_registry *registry);

/** Initialises a descriptor with `struct_size` and the defaults of CK: a forward bf16 NHWGC convolution in
 *  two dimensions (tile 1x128x128, waves 2x2x1, instruction 32x32x16, compv3, intrawave, cshuffle, vectors
 *  4, 8, 8); an fp8 GEMM of layout rcr (tile 128x128x64, the same waves, instruction, pipeline, scheduler
 *  and epilogue, everything padded); forward fp16 attention in batch mode with heads of 128 (pipeline
 *  "qr", tile 128x64x32x128x32x128, the same waves and instruction, everything padded). */
ck_status ck_conv_kernel_desc_init(ck_conv_kernel_desc *desc);
ck_status ck_gemm_kernel_desc_init(ck_gemm_kernel_desc *desc);
ck_status ck_fmha_kernel_desc_init(ck_fmha_kernel_desc *desc);
ck_status ck_moe_kernel_desc_init(ck_moe_kernel_desc *desc);

/** Adds kernels by descriptor: all of them or, if one cannot be added, none. `hooks` is NULL, or has one
 *  element per descriptor; see `ck_registry_add_kernel`. */
ck_status ck_registry_add_conv_kernels(ck_registry *registry, const ck_conv_kernel_desc *descs,
    const ck_kernel_hooks *hooks, size_t count);
ck_status ck_registry_add_gemm_kernels(ck_registry *registry, const ck_gemm_kernel_desc *descs,
    const ck_kernel_hooks *hooks, size_t count);
ck_status ck_registry_add_fmha_kernels(ck_registry *registry, const ck_fmha_kernel_desc *descs,
    const ck_kernel_hooks *hooks, size_t count);
ck_status ck_registry_add_moe_kernels(ck_registry *registry, const ck_moe_kernel_desc *descs,
    const ck_kernel_hooks *hooks, size_t count);

/** Overwrites the fields of a descriptor that a kernel's name states, and leaves the others unchanged:
 *  short names, for example, state neither waves nor vector widths, and a name with some flags states that
 *  the kernel has no others. For kernels whose keys are not exact: CK's code generators write the
 *  pipelines `basic_v1`, `comp_async` and `wavelet` into keys as `compv3`, and counts as 1. Fields that
 *  change are those on which name and key disagree; the types of weight and output, `name` and `arch`
 *  never change. Fails with `CK_STATUS_INVALID_KERNEL`, and changes nothing, if `name` is not the name of
 *  a convolution kernel. The strings written live as long as the library. */
ck_status ck_conv_kernel_desc_read_name(ck_conv_kernel_desc *desc, const char *name);

/** Adds the kernels of a JSON export of a CK registry, all or none. `hooks_of` is called for each kernel
 *  with its name (for a GEMM its identifier) and hooks to fill in: all bytes 0 except for `struct_size`
 *  and `priority` 1. It returns 0 to skip the kernel and anything else to add it; it must not use the
 *  registry. If `hooks_of` is NULL, all kernels are added, without callbacks. */
ck_status ck_registry_import_json(ck_registry *registry, const uint8_t *json, size_t len,
    int32_t (*hooks_of)(const char *name, ck_kernel_hooks *hooks, void *user), void *user);

/** Initialises options with `struct_size` and the defaults. */
ck_status ck_export_options_init(ck_export_options *options);

/** Exports the kernels of one operation, a `ck_op`, in the JSON format of CK's registry for that
 *  operation. */
ck_status ck_registry_export_json(const ck_registry *registry, int32_t op,
    const ck_export_options *options, char **text);

/* Models ------------------------------------------------------------------------------------------------- */

/** Fills in the profile of an architecture, such as "gfx950", or of a product, such as "MI300X": that of
 *  its architecture with its compute units. NULL selects the constants that upstream's models assume when
 *  they record none. Fails with `CK_STATUS_NOT_FOUND` if the architecture has no profile. */
ck_status ck_hardware_init(ck_hardware *hardware, const char *arch);

/** Initialises options with `struct_size` and the defaults. */
ck_status ck_model_options_init(ck_model_options *options);

/** Loads a model directory: `feature_spec.json` with `model_tflops.lgbm` (or `.gz`, or `.packed`) and so
 *  on; "embedded:NAME" is `ck_registry_load_embedded`. Without options the model serves the problems that
 *  its spec names (operation, direction, dtype, architecture) and no others. It replaces a model that was
 *  loaded for the same problems; concurrent selections use the old one until the new one is ready. */
ck_status ck_registry_load_model(ck_registry *registry, const char *directory,
    const ck_model_options *options);

/** Loads a model that is built into the library, with the options of `ck_registry_load_model`. Fails with
 *  `CK_STATUS_NOT_FOUND` if there is no such model. */
ck_status ck_registry_load_embedded(ck_registry *registry, const char *name,
    const ck_model_options *options);

/** Writes the name of the built-in model at an index. */
ck_status ck_embedded_model_name(size_t index, const char **name);

/** Loads a model from memory, as `ck_registry_load_model` does; `name` is for messages. */
ck_status ck_registry_load_model_bytes(ck_registry *registry, const char *name, const uint8_t *spec,
    size_t spec_len, const ck_forest_bytes *forests, size_t forest_count, const ck_model_options *options);

/** Removes the model that was loaded for these problems; `CK_STATUS_NOT_FOUND` if there is none. */
ck_status ck_registry_remove_model(ck_registry *registry, const ck_model_key *key);

/** Removes all loaded models. Built-in models enabled by `embedded_models` stay available. */
ck_status ck_registry_remove_models(ck_registry *registry);

/** Prepares the models for the current kernels. Otherwise the first two selections of a new registry do.
 *  From then on, calls that change kernels prepare them before selections see the change; but after many
 *  changes without a selection between them, as when a pool is loaded, the next selection does, or this
 *  function. */
ck_status ck_registry_prepare(ck_registry *registry);

/* Choosing ----------------------------------------------------------------------------------------------- */

/** Writes the name of a problem field of an operation, a `ck_op`, by its bit in `out_of_range_fields`:
 *  "N", "direction" and so on; "features" stands for the features that the model computes from them. */
ck_status ck_problem_field_name(int32_t op, size_t bit, const char **name);

/** Chooses the kernel to run for a problem: the best supported kernel by the first source that has an
 *  answer. Fails with `CK_STATUS_NO_KERNEL` if no registered kernel computes the problem and supports it,
 *  and with `CK_STATUS_OVERRIDE_FAILED` if an override names a kernel that cannot be used; a wrong kernel
 *  is never returned. For attention, which is chosen for one stage, the problem's `family`, CK's rules say
 *  what a kernel supports. `ck_select_kernel` is a short name for the convolutions' function.
 *
 *  Suited for the hot path: unless the options let it measure, it takes no lock, makes no system call and
 *  does not allocate once warm, except to write a problem that is new to the file of `CK_SELECT_CAPTURE`.
 *  A call that measures runs kernels on the options' stream and waits for them. With `no_model` or
 *  `arch_unknown` a registry warns once: see `ck_log_set_callback`. */
ck_status ck_registry_select_conv(const ck_registry *registry, const ck_conv_problem *problem,
    ck_selection *selection);
ck_status ck_registry_select_gemm(const ck_registry *registry, const ck_gemm_problem *problem,
    ck_selection *selection);
ck_status ck_select_kernel(const ck_registry *registry, const ck_conv_problem *problem,
    ck_selection *selection);
ck_status ck_registry_select_fmha(const ck_registry *registry, const ck_fmha_problem *problem,
    ck_selection *selection);
ck_status ck_registry_select_moe(const ck_registry *registry, const ck_moe_problem *problem,
    ck_selection *selection);

/** Ranks the kernels for a problem by the model that serves it, best first; without one by the estimate,
 *  unless the options turn it off, the shortest time first. At most `capacity` places are written; `count`
 *  receives the total number, `left_out`, which may be NULL, that of kernels that compute the problem but
 *  that the source cannot describe. `ranked` may be NULL if `capacity` is 0. The `supports` callbacks are
 *  not called. */
ck_status ck_registry_rank_conv(const ck_registry *registry, const ck_conv_problem *problem,
    size_t capacity, ck_ranked *ranked, size_t *count, size_t *left_out);
ck_status ck_registry_rank_gemm(const ck_registry *registry, const ck_gemm_problem *problem,
    size_t capacity, ck_ranked *ranked, size_t *count, size_t *left_out);
ck_status ck_registry_rank_fmha(const ck_registry *registry, const ck_fmha_problem *problem,
    size_t capacity, ck_ranked *ranked, size_t *count, size_t *left_out);
ck_status ck_registry_rank_moe(const ck_registry *registry, const ck_moe_problem *problem,
    size_t capacity, ck_ranked *ranked, size_t *count, size_t *left_out);

/** Predicts the speed of the kernel at an index for a problem. Fails with `CK_STATUS_NO_KERNEL` if the
 *  kernel computes something else. */
ck_status ck_registry_predict_conv(const ck_registry *registry, const ck_conv_problem *problem,
    size_t index, ck_predictions *predictions);
ck_status ck_registry_predict_gemm(const ck_registry *registry, const ck_gemm_problem *problem,
    size_t index, ck_predictions *predictions);
ck_status ck_registry_predict_fmha(const ck_registry *registry, const ck_fmha_problem *problem,
    size_t index, ck_predictions *predictions);
ck_status ck_registry_predict_moe(const ck_registry *registry, const ck_moe_problem *problem,
    size_t index, ck_predictions *predictions);

/** Writes the features of a problem and the kernel at an index as the serving model sees them, in the
 *  model's order; `count` receives their number. */
ck_status ck_registry_extract_conv(const ck_registry *registry, const ck_conv_problem *problem,
    size_t index, size_t capacity, double *features, size_t *count);
ck_status ck_registry_extract_gemm(const ck_registry *registry, const ck_gemm_problem *problem,
    size_t index, size_t capacity, double *features, size_t *count);
ck_status ck_registry_extract_fmha(const ck_registry *registry, const ck_fmha_problem *problem,
    size_t index, size_t capacity, double *features, size_t *count);
ck_status ck_registry_extract_moe(const ck_registry *registry, const ck_moe_problem *problem,
    size_t index, size_t capacity, double *features, size_t *count);

/** Explains a selection as human-readable text: which sources were asked, what each answered, and why it
 *  was passed over. */
ck_status ck_registry_explain_conv(const ck_registry *registry, const ck_conv_problem *problem,
    char **text);
ck_status ck_registry_explain_gemm(const ck_registry *registry, const ck_gemm_problem *problem,
    char **text);
ck_status ck_registry_explain_fmha(const ck_registry *registry, const ck_fmha_problem *problem,
    char **text);
ck_status ck_registry_explain_moe(const ck_registry *registry, const ck_moe_problem *problem,
    char **text);

/** Chooses the number of parts into which the keys of a sequence are split, by the estimate: the power of
 *  two up to `most` for which the fastest kernels of both stages together take the least time. 1 if the
 *  registry lacks kernels of either stage, or an estimate for the architecture. The problem's own
 *  `num_splits` and `family` are ignored. */
ck_status ck_registry_choose_fmha_splits(const ck_registry *registry, const ck_fmha_problem *problem,
    int64_t most, int64_t *splits);

/* Measuring between selections --------------------------------------------------------------------------- */

/** Measures, within a budget, the most frequently requested problems among those that a model, the
 *  estimate or the priority answers: call it between two training steps or requests. Later selections get
 *  the winners, as do later processes through the store.
 *
 *  The first call only starts counting requests. From then on, a call takes the problems that are answered
 *  without a measurement in the order of their expected gain: the number of requests, times the time of a
 *  run, times the average loss of such answers. Each call continues where the previous one stopped, so
 *  short calls get as far as one long call; only a problem of which even one kernel exceeds the remaining
 *  time is left to a longer one. A kernel that takes longer than a whole call loses to the others.
 *  Problems with a list of GEMMs are not measured, and in `CK_MODE_PRIORITY` none.
 *
 *  Run callbacks are called on this thread and launch on the stream, with their own operands; the stream
 *  must be idle or become idle, and must not be captured into a graph. Selections on other threads do not
 *  wait: they get the old answer or the winner. Concurrent calls take different problems and measure in
 *  turn, so a thread that does nothing else refines in the background.
 *
 *  `report` receives what was done; it may be NULL. The call fails with `CK_STATUS_CANNOT_MEASURE` if
 *  there is no device, if no architecture is known, if a callback on the measuring thread calls it, or if
 *  the device failed. What was measured before the failure is kept. */
ck_status ck_registry_tune(ck_registry *registry, const ck_tune_budget *budget, ck_tune_report *report);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* CK_SELECT_H */
