/* Run callbacks that do what they should not: select, leave by longjmp, take too long. On the host's clock.
 *
 * Arguments: a file for the log, which a registry that ignores the environment writes, too. */

#define _POSIX_C_SOURCE 200112L

#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ck_select.h"

#include "check.h"

enum { TIMEOUT_MS = 100, GRACE_MS = 1000 };

static void wait_ms(long ms) {
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static double now_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

typedef float (*run_callback)(const ck_conv_problem *, void *, void *);

static ck_registry *registry_of(run_callback run, run_callback other, void *user) {
    SIZED(ck_options, options);
    options.ignore_environment = 1;
    options.mode = CK_MODE_SEARCH;
    options.store = "off";
    options.arch = "gfx950";
    options.no_estimate = 1;
    options.host_timing = 1;
    options.repeats = 2;
    options.warmup = -1;
    options.run_timeout_ms = TIMEOUT_MS;
    ck_registry *registry = NULL;
    ANSWERS(CK_STATUS_OK, ck_registry_create(&options, &registry));
    SIZED(ck_kernel_hooks, hooks);
    hooks.user = user;
    hooks.run_conv = run;
    ANSWERS(CK_STATUS_OK, ck_registry_add_kernel(registry, "grouped_conv_forward_bf16_2d_64x64x64_compv3", &hooks));
    hooks.run_conv = other;
    ANSWERS(CK_STATUS_OK, ck_registry_add_kernel(registry, "grouped_conv_forward_bf16_2d_64x128x64_compv4", &hooks));
    return registry;
}

static ck_selection selected(const ck_registry *registry, int64_t batch) {
    USUAL(ck_conv_problem, problem);
    problem.n = batch;
    problem.c = problem.k = 64;
    SIZED(ck_selection, selection);
    ANSWERS(CK_STATUS_OK, ck_select_kernel(registry, &problem, &selection));
    return selection;
}

static ck_registry *shared;

static float selects(const ck_conv_problem *problem, void *stream, void *user) {
    (void)stream;
    (void)user;
    CHECK(selected(shared, problem->n).source == CK_SOURCE_PRIORITY);
    CHECK(selected(shared, 2).source == CK_SOURCE_PRIORITY);
    const ck_tune_budget budget = {sizeof budget, 1000, NULL, 0, 0};
    ANSWERS(CK_STATUS_CANNOT_MEASURE, ck_registry_tune(shared, &budget, NULL));
    CHECK(strstr(ck_last_error(), "this thread is already measuring") != NULL);
    return 1;
}

static void a_run_may_select(void) {
    shared = registry_of(selects, selects, NULL);
    CHECK(selected(shared, 1).source == CK_SOURCE_SEARCH);
    /* The answer that a callback got is not remembered for others. */
    CHECK(selected(shared, 2).source == CK_SOURCE_SEARCH);
    CHECK(selected(shared, 1).source == CK_SOURCE_STORE);
    ck_registry_destroy(shared);
}

static void *selects_elsewhere(void *unused) {
    (void)selected(shared, 3);
    return unused;
}

/* Waits for a selection of another thread, which waits for this search. */
static float waits(const ck_conv_problem *problem, void *stream, void *user) {
    (void)stream;
    int *waited = user;
    if (problem->n == 1 && (*waited)++ == 0) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, selects_elsewhere, NULL) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    return 1;
}

static void a_run_may_wait_for_another_thread(void) {
    int waited = 0;
    shared = registry_of(waits, waits, &waited);
    CHECK(selected(shared, 1).source == CK_SOURCE_SEARCH && waited > 0);
    CHECK(selected(shared, 3).source == CK_SOURCE_STORE);
    ck_registry_destroy(shared);
}

static jmp_buf back;

static float leaves(const ck_conv_problem *problem, void *stream, void *user) {
    (void)stream;
    (void)user;
    if (problem->n == 1) {
        longjmp(back, 1);
    }
    return 1;
}

static void *selects_next(void *unused) {
    CHECK(selected(shared, 3).source == CK_SOURCE_SEARCH);
    return unused;
}

static void a_run_may_leave(void) {
    shared = registry_of(leaves, leaves, NULL);
    if (setjmp(back) == 0) {
        (void)selected(shared, 1);
        CHECK(0);
        return;
    }
    /* At once, from the next source. */
    const double began = now_ms();
    CHECK(selected(shared, 2).source == CK_SOURCE_PRIORITY);
    CHECK(now_ms() - began < TIMEOUT_MS);
    /* Another thread waits for a run's time, and measures. */
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, selects_next, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(selected(shared, 2).source == CK_SOURCE_SEARCH);
    /* It is not tried again. */
    CHECK(selected(shared, 1).source == CK_SOURCE_PRIORITY);
    ck_registry_destroy(shared);
}

static int slow_runs;

static float is_slow(const ck_conv_problem *problem, void *stream, void *user) {
    (void)problem;
    (void)stream;
    (void)user;
    ++slow_runs;
    wait_ms(TIMEOUT_MS + 10);
    return 0;
}

static float is_fast(const ck_conv_problem *problem, void *stream, void *user) {
    (void)problem;
    (void)stream;
    (void)user;
    wait_ms(1);
    return 0;
}

static void a_slow_run_is_the_last(void) {
    ck_registry *registry = registry_of(is_slow, is_fast, NULL);
    const ck_selection selection = selected(registry, 1);
    CHECK(selection.source == CK_SOURCE_SEARCH && selection.index == 1 && slow_runs == 1);
    ck_registry_destroy(registry);
}

static void the_log_says_why(const char *path) {
    char text[1 << 14] = "";
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    if (file != NULL) {
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
    }
    CHECK(strstr(text, "nothing measured: this thread is already measuring") != NULL);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        printf("usage: callbacks LOG\n");
        return 2;
    }
    char log[4096];
    snprintf(log, sizeof log, "warn:%s", argv[1]);
    setenv("CK_SELECT_LOG", log, 1);
    /* Instead of hanging. */
    alarm(120);
    a_run_may_select();
    a_run_may_wait_for_another_thread();
    a_run_may_leave();
    a_slow_run_is_the_last();
    the_log_says_why(argv[1]);
    return finish("callbacks");
}
