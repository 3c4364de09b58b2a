/* A library of kernels: those of the pool file that FAKE_POOL names. */

#include <stdbool.h>

#include "ck_select_bench.h"
#include "model.h"

static float run(const char *name, long long a, long long b, long long c) {
    if (fake_setting("FAKE_SLEEP_US")) usleep((useconds_t)fake_setting("FAKE_SLEEP_US"));
    switch (fake_fault(name, a, b, c)) {
    case CRASH: fake_crash(); break;
    case HANG: fake_hang(); break;
    case GARBAGE: puts("{\"end\": \"nonsense on the worker's own stream\"}"); return -719.0f;
    case FLOOD:
        for (int i = 0; i < 100000; i++) puts("all work and no play makes a dull kernel");
        return -719.0f;
    case EXIT: exit(3);
    case NOT_A_TIME: return (float)0 / (float)fake_setting("FAKE_ZERO");
    default: break;
    }
    /* Every other of the first runs takes half as long again, for tests of the spread. */
    static long runs;
    bool slow = runs < fake_setting("FAKE_UNSTEADY_RUNS") && runs % 2 == 0;
    runs++;
    return (float)(fake_ms(name, a, b, c) * (slow ? 1.5 : 1.0));
}

static float run_conv(const ck_conv_problem *p, void *stream, void *user) {
    (void)stream;
    return run(user, p->n, p->c, p->k);
}

static int32_t supports_conv(const ck_conv_problem *p, void *user) {
    return fake_fault(user, p->n, p->c, p->k) != UNSUPPORTED;
}

static float run_gemm(const ck_gemm_problem *p, void *stream, void *user) {
    (void)stream;
    return run(user, p->m, p->n, p->k);
}

static float run_fmha(const ck_fmha_problem *p, void *stream, void *user) {
    (void)stream;
    return run(user, p->batch, p->seqlen_q, p->seqlen_k);
}

static int32_t supports_fmha(const ck_fmha_problem *p, void *user) {
    return fake_fault(user, p->batch, p->seqlen_q, p->seqlen_k) != UNSUPPORTED;
}

static int64_t prepared = -1;

int32_t ck_bench_prepare_conv(const ck_conv_problem *problem) {
    prepared = problem->n;
    return 0;
}

int32_t ck_bench_prepare_fmha(const ck_fmha_problem *problem) {
    prepared = problem->batch;
    return 0;
}

int64_t ck_bench_count_non_zero(void) { return prepared; }

ck_status ck_bench_register(const ck_bench_sink *sink) {
    const char *path = getenv("FAKE_POOL");
    FILE *pool = path ? fopen(path, "r") : NULL;
    if (!pool) return CK_STATUS_IO;
    char name[512];
    ck_status status = CK_STATUS_OK;
    while (status == CK_STATUS_OK && fscanf(pool, "%511s", name) == 1) {
        ck_kernel_hooks hooks = {0};
        hooks.struct_size = sizeof hooks;
        hooks.user = strdup(name);
        hooks.supports_conv = supports_conv;
        hooks.run_conv = run_conv;
        hooks.run_gemm = run_gemm;
        hooks.supports_fmha = supports_fmha;
        hooks.run_fmha = run_fmha;
        status = sink->add_kernel(sink->context, name, &hooks);
    }
    fclose(pool);
    return status;
}
