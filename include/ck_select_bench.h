/* What a library of kernels exports so that `ckselect bench` can measure them.
 *
 * A library does one of two things:
 *   - it exports ck_bench_register, which names its kernels and their callbacks;
 *   - it exports one function a kernel, under the kernel's name, with the type of run_conv or run_gemm of
 *     ck_kernel_hooks. Its last argument, `user`, is NULL then.
 * The other functions are optional. All are called on one thread, in a process that may be killed at any time.
 *
 * The library needs nothing of ck_select to link: kernels are handed over through the sink.
 */

#ifndef CK_SELECT_BENCH_H
#define CK_SELECT_BENCH_H

#include "ck_select.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where a library puts its kernels. */
typedef struct {
  /* `sizeof(ck_bench_sink)` of the caller: a later version may have more at its end. */
  size_t struct_size;
  /* To be handed to add_kernel. */
  void *context;
  /* Adds a kernel. Name and hooks are copied; `user` and the callbacks are used until the process ends. A name that is
   * there already is CK_STATUS_ALREADY_REGISTERED. */
  ck_status (*add_kernel)(void *context, const char *name, const ck_kernel_hooks *hooks);
} ck_bench_sink;

/* Adds all kernels of the library. Anything but CK_STATUS_OK refuses the library. */
ck_status ck_bench_register(const ck_bench_sink *sink);

/* Optional: called before the first kernel runs a problem, and whenever the problem changes, to allocate and fill
 * operands. 0 for done; any other code is reported. What kernels need apart from that they allocate themselves. */
int32_t ck_bench_prepare_conv(const ck_conv_problem *problem);
int32_t ck_bench_prepare_gemm(const ck_gemm_problem *problem);

/* Optional: how many elements of the last run's result are not zero; less than 0 when that is not known. Called after a
 * kernel was timed. */
int64_t ck_bench_count_non_zero(void);

#ifdef __cplusplus
}
#endif

#endif /* CK_SELECT_BENCH_H */
