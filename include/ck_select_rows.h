
/* ck_select for tables: features and predictions of rows, as the Python package computes them.
 *
 * Generated and used as ck_select.h is. Models, pools and forests are immutable: any number of threads may use one.
 */

#ifndef CK_SELECT_ROWS_H
#define CK_SELECT_ROWS_H

#include <stddef.h>
#include <stdint.h>
#include "ck_select.h"

/** How to treat absent cells, and words without a code in the model's encoding. */
typedef enum {
  CK_UNCODED_SPEC = 0,     /**< As the model's spec says; if the spec says nothing, absent cells are
                                errors. */
  CK_UNCODED_ERROR = 1,    /**< Absent cells are errors. */
  CK_UNCODED_UPSTREAM = 2, /**< Absent cells take the defaults of upstream's feature engines. */
} ck_uncoded;

/** A forest without a spec. */
typedef struct ck_forest ck_forest;

/** One forest of a model directory with its features. */
typedef struct ck_model ck_model;

/** Kernels that a model is prepared for. */
typedef struct ck_pool ck_pool;

/** Which forest of a directory to load, and how. */
typedef struct {
  size_t struct_size;
  int32_t target;           /**< A `ck_target`: which forest. */
  int32_t uncoded;          /**< A `ck_uncoded`. */
  int32_t tolerate_no_spec; /**< Not 0: treats a missing `feature_spec.json` as an empty one, like
                                 upstream's predictor. */
  int32_t force;            /**< Not 0: the model also answers for directions, types and architectures that
                                 its spec excludes and that it would otherwise refuse. The quality of its
                                 predictions there is unknown. */
  const char *engine;       /**< The feature engine, such as "gemm72" or "conv97", or the class passed to
                                 upstream's predictor, such as `GroupedConvFeatureEngine`; NULL for the
                                 spec's engine. */
  const char *hardware;     /**< Constants of the GPU that replace the spec's, as a JSON object such as
                                 `{"num_cus": 304}`; NULL for none. */
  size_t threads;           /**< How many threads may work on a table of thousands of rows, the caller's
                                 among them; the others end with the call. 0 counts as 1. */
} ck_row_options;

/** A named column of a table. Exactly one of `integers`, `numbers` and `codes` is not NULL and has one
 *  cell per row. */
typedef struct {
  size_t struct_size;
  const char *name;        /**< The column's name. */
  const int64_t *integers; /**< Integer cells. */
  const double *numbers;   /**< Floating-point cells; NaN is an absent cell. */
  const int32_t *codes;    /**< Indices into `words`; a negative index is an absent cell. */
  const char *words;       /**< The words that `codes` refers to: one text, in which each ends with NUL. */
  size_t word_bytes;       /**< The number of bytes in `words`, with every NUL. */
} ck_column;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/* Models and pools --------------------------------------------------------------------------------------- */

/** Initialises options with `struct_size` and the defaults. */
ck_status ck_row_options_init(ck_row_options *options);

/** Loads one forest of a model directory, plain or gzip, with `feature_spec.json`. No file is written.
 *  Fails with `CK_STATUS_NOT_FOUND` if the directory has no such forest. */
ck_status ck_model_create(const char *directory, const ck_row_options *options, ck_model **model);

/** Destroys a model. Pools created from it stay valid. */
void ck_model_destroy(ck_model *model);

/** Describes a model directory as a JSON object: `op`, `rank_by`, `log_targets`, `feature_names`,
 *  `problem_inputs` and `kernel_inputs` (the names of the cells that the features read), `name_inputs`
 *  (cells that may contain a kernel's name, or must agree with it), `word_inputs` (those of all these that
 *  contain words), `hardware` and more. Reads and checks the spec but no forest; the target in the options
 *  is ignored. */
ck_status ck_spec_describe(const char *directory, const ck_row_options *options, char **text);

/** Parses a kernel's name into a JSON object of cells, as upstream's converters do: the numbers of a
 *  convolution's tile are in the order of the name under `block_size`, `gemm_m_per_block`,
 *  `gemm_n_per_block`. The name is among them as `kernel_name`, so that every model gets its own reading.
 *  Fails with `CK_STATUS_INVALID_KERNEL` if it is not a kernel's name. */
ck_status ck_kernel_cells(const char *name, char **text);

/** Predicts for one row, a JSON object with the cells of a problem and of a kernel, such as `{"m": 16,
 *  "n": 1536, "k": 7168, "dtype": "fp8", "tile_m": 64}`. Logarithms are undone; targets trained without a
 *  logarithm are clamped at 0.
 *
 *  A row with a kernel's name under `kernel_name` or `kernel` is described by the name, like kernels of a
 *  registry. Its other cells may be absent and must not contradict the name; a tile's numbers may be in
 *  the order of the name, as in tables of measurements, or by their meaning. Any other string there is a
 *  label. */
ck_status ck_model_predict_row(const ck_model *model, const uint8_t *row, size_t len, double *value);

/** Predicts for each row of a table whose columns contain the cells of problems and kernels; see
 *  `ck_model_predict_row`. Columns that the features do not read are ignored; where absent cells are
 *  errors, names close to those of cells are refused as misspelt. */
ck_status ck_model_predict_rows(const ck_model *model, const ck_column *columns, size_t column_count,
    size_t rows, double *values);

/** Writes the features of each row of a table, row by row in the model's order. If they are more than
 *  `capacity`, it fails with `CK_STATUS_BUFFER_TOO_SMALL`. */
ck_status ck_model_extract_rows(const ck_model *model, const ck_column *columns, size_t column_count,
    size_t rows, size_t capacity, double *features);

/** Prepares a model for the kernels of a table, which may be named; see `ck_model_predict_row`. Rows may
 *  also have cells of the problem, which then override those of the ranked problem. */
ck_status ck_pool_create(const ck_model *model, const ck_column *columns, size_t column_count,
    size_t rows, ck_pool **pool);

/** Compiles a pool for many rankings now; otherwise the second ranking does. */
ck_status ck_pool_prepare(const ck_pool *pool);

/** Destroys a pool. */
void ck_pool_destroy(ck_pool *pool);

/** Ranks the kernels of a pool for a problem as `ck_pool_rank` does, and says what to expect of them, as a
 *  JSON object: `heading`, the line above a ranking in the words of every interface; `expected_loss`,
 *  `chance`, `sure_within_90` and `sure_within_99` as in `ck_selection`; and `places`, best first, each
 *  with its `row`, `time_us`, `slower` and `loss` as in `ck_ranked`, and `text`, which has these in words.
 *  What is not known is `null`; all is `null` where the rows are of different problems. */
ck_status ck_pool_outlook(const ck_pool *pool, const uint8_t *problem, size_t len, char **text);

/** Ranks the kernels of a pool for a problem, best first, NaN last: to `rows` each kernel's row, counted
 *  from 0, and to `scores` its score, with logarithms undone and not clamped; at most `capacity` of
 *  either. Of equal scores, kernels whose pipeline and suffixes were measured for the model come first,
 *  then those with the shorter estimated time if all rows name their kernel, then the earlier row.
 *
 *  `problem` is a JSON object, such as `{"m": 16, "n": 1536, "k": 7168}`. Type, direction, layout and the
 *  depth of 2D convolutions may be omitted where the kernels' names determine them; contradicting the
 *  names is an error. Where absent cells are errors, the problem is validated, names close to those of its
 *  cells are refused as misspelt (other unknown ones are ignored), and named GEMM kernels of another
 *  variant than the problem's (batch, list, Stream-K, scales), and attention kernels that do not support
 *  it, come last, with NaN; it is an error if all are. */
ck_status ck_pool_rank(const ck_pool *pool, const uint8_t *problem, size_t len, size_t capacity,
    size_t *rows, double *scores);

/* Feature engines ---------------------------------------------------------------------------------------- */

/** Writes what `ck_spec_describe` writes, for a feature engine without a model. `options` names the engine
 *  and may give constants of the GPU; omitted ones are the defaults of upstream's engines. */
ck_status ck_engine_describe(const ck_row_options *options, char **text);

/** Writes the features that an engine computes for each row of a table, as `ck_model_extract_rows` does. */
ck_status ck_engine_extract_rows(const ck_row_options *options, const ck_column *columns,
    size_t column_count, size_t rows, size_t capacity, double *features);

/** Computes the features of one row, a JSON object as for `ck_model_predict_row`. */
ck_status ck_engine_extract_row(const ck_row_options *options, const uint8_t *row, size_t len,
    size_t capacity, double *features);

/* Forests ------------------------------------------------------------------------------------------------ */

/** Loads a forest from a file, plain or gzip. */
ck_status ck_forest_create(const char *file, ck_forest **forest);

/** Destroys a forest. */
void ck_forest_destroy(ck_forest *forest);

/** Writes the number of features of a row. */
ck_status ck_forest_width(const ck_forest *forest, size_t *width);

/** Writes what LightGBM would predict for each row of a row-major matrix with `width` features per row: no
 *  logarithm is undone, and nothing is clamped. */
ck_status ck_forest_predict(const ck_forest *forest, const double *features, size_t rows, size_t width,
    double *values);

/** Scores a row with the forest at the end of this library's file, which `ckselect uhd export` writes
 *  there: hipDNN's `custom_library` (experimental). NaN if there is none, or the row is of another length. */
double ck_uhd_score(const double *features, size_t count);

/* The estimate ------------------------------------------------------------------------------------------- */

/** Ranks kernels by their estimated times, fastest first. `request` is a JSON object: `problem`, such as
 *  `"M=128,N=4096,K=4096"`; `kernels`, a list of names, or `pool`, a file of them; and optionally `arch`,
 *  an architecture or a product such as `MI300X`, `hardware`, a file that describes the GPU, and `top`,
 *  the number of rows. Without `arch` and `hardware`, the problem or all kernels name the architecture.
 *
 *  Writes a JSON object: `rows`, each with the columns of `ckselect rank --model estimate`, and
 *  `left_out`, the number of kernels without a row by reason. */
ck_status ck_estimate_table(const uint8_t *request, size_t len, char **text);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* CK_SELECT_ROWS_H */
