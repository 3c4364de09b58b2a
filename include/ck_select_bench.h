/* The functions that a kernel library exports so that `ckselect bench` can measure its kernels.
 *
 * A library does one of two things:
 *   - it exports ck_bench_register, which registers its kernels and their callbacks;
 *   - it exports one function per kernel, under the kernel's name, with the type of run_conv, run_gemm or
 *     run_fmha of ck_kernel_hooks. Its last argument, `user`, is then NULL.
 * The other functions are optional. All are called on one thread, in a process that may be killed at any time.
 *
 * The library does not link with ck_select: kernels are passed through the sink.
 */

#ifndef CK_SELECT_BENCH_H
#define CK_SELECT_BENCH_H

#include "ck_select.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Receives the kernels of a library. */
typedef struct {
  /* `sizeof(ck_bench_sink)` of the caller: later versions may append fields. */
  size_t struct_size;
  /* To be passed to add_kernel. */
  void *context;
  /* Adds a kernel. Name and hooks are copied; `user` and the callbacks are used until the process ends. A duplicate
   * name is CK_STATUS_ALREADY_REGISTERED. */
  ck_status (*add_kernel)(void *context, const char *name, const ck_kernel_hooks *hooks);
} ck_bench_sink;

/* Adds all kernels of the library. Any result other than CK_STATUS_OK rejects the library. */
ck_status ck_bench_register(const ck_bench_sink *sink);

/* Optional: called before the first kernel runs a problem, and whenever the problem changes, to allocate and fill
 * operands. Returns 0 for success; any other code is reported. Kernels allocate everything else themselves. */
int32_t ck_bench_prepare_conv(const ck_conv_problem *problem);
int32_t ck_bench_prepare_gemm(const ck_gemm_problem *problem);
int32_t ck_bench_prepare_fmha(const ck_fmha_problem *problem);

/* Optional: the number of non-zero elements in the last run's result; less than 0 if unknown. Called after a kernel was
 * timed. */
int64_t ck_bench_count_non_zero(void);

#ifdef __cplusplus
}
#endif

#endif /* CK_SELECT_BENCH_H */
