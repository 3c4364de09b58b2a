/* Searching through the C interface, on a scripted device: tests/hip_double in place of AMD's runtime. What a search does
 * with kernels that fail, hang or are slow is tested in src/tuning/search, what it does without a device or a runtime in
 * tests/registry.rs and tests/hip.
 *
 * Arguments: the double. Each scenario has a thread of its own, because the double's state is the thread's. */

#define _POSIX_C_SOURCE 200112L

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ck_select.h"

#include "check.h"

/* The double's script. */
static struct {
    void (*launch)(double ms);
    int (*live_events)(void);
} hip;

static void find(void *library, const char *name, void *function, size_t size) {
    void *address = dlsym(library, name);
    if (address == NULL) {
        printf("the double has no %s\n", name);
        exit(2);
    }
    /* C has no conversion from an address to a function's. */
    memcpy(function, &address, size);
}

/* What the library said since the log was cleared. */
static char said[1 << 16];

static void keep(int32_t level, const char *source, const char *text, void *user) {
    (void)user;
    const size_t used = strlen(said);
    snprintf(said + used, sizeof said - used, "%d %s: %s\n", (int)level, source, text);
}

#define SAYS(text)                                                                         \
    do {                                                                                   \
        if (strstr(said, text) == NULL) {                                                  \
            ++failures;                                                                    \
            printf("%s:%d: the log does not say '%s':\n%s\n", __FILE__, __LINE__, text, said); \
        }                                                                                  \
    } while (0)

/* A kernel, and what happens when it is run. */
typedef struct {
    double ms;     /* what the stream is given */
    float answers; /* the callback's answer */
    int runs;
} kernel;

static float run_conv(const ck_conv_problem *problem, void *stream, void *user) {
    CHECK(problem->struct_size == sizeof *problem && problem->n == 1 && stream == NULL);
    kernel *const self = user;
    ++self->runs;
    if (self->answers >= 0) {
        hip.launch(self->ms);
    }
    return self->answers;
}

static ck_options searching(void) {
    SIZED(ck_options, options);
    options.ignore_environment = 1;
    options.mode = CK_MODE_SEARCH;
    options.store = "off";
    options.warmup = -1;
    options.repeats = 2;
    return options;
}

static ck_registry *registry_of(const ck_options *options, kernel *kernels, size_t count) {
    ck_registry *registry = NULL;
    ANSWERS(CK_STATUS_OK, ck_registry_create(options, &registry));
    for (size_t at = 0; at < count; ++at) {
        char name[16];
        snprintf(name, sizeof name, "kernel_%d", (int)at);
        SIZED(ck_kernel_hooks, hooks);
        hooks.user = &kernels[at];
        hooks.run_conv = run_conv;
        USUAL(ck_conv_kernel_desc, conv);
        conv.name = name;
        ANSWERS(CK_STATUS_OK, ck_registry_add_conv_kernels(registry, &conv, &hooks, 1));
    }
    return registry;
}

/* Selects, and remembers what was said. */
static ck_selection selected(ck_registry *registry) {
    USUAL(ck_conv_problem, problem);
    SIZED(ck_selection, selection);
    said[0] = '\0';
    ANSWERS(CK_STATUS_OK, ck_registry_select_conv(registry, &problem, &selection));
    CHECK(hip.live_events() == 0);
    return selection;
}

static void *the_fastest_wins(void *unused) {
    kernel kernels[] = {{.ms = 2}, {.ms = 0.5}, {.ms = 1}};
    ck_options options = searching();
    ck_registry *registry = registry_of(&options, kernels, COUNT(kernels));
    ck_selection selection = selected(registry);
    CHECK(selection.source == CK_SOURCE_SEARCH && strcmp(selection.name, "kernel_1") == 0);
    CHECK(selection.measured_ms == 0.5 && selection.user == &kernels[1] && isnan(selection.score));
    SAYS("* kernel_1: 0.500000 ms, median of 2");
    const int runs = kernels[0].runs + kernels[1].runs + kernels[2].runs;
    CHECK(runs == 6);
    selection = selected(registry);
    CHECK(selection.source == CK_SOURCE_STORE && selection.measured_ms == 0.5);
    CHECK(runs == kernels[0].runs + kernels[1].runs + kernels[2].runs);
    ck_registry_destroy(registry);
    return unused;
}

static void *what_times_itself_is_believed(void *unused) {
    kernel kernels[] = {{.ms = 0.25, .answers = 3}, {.ms = 0.5, .answers = 2}, {.answers = NAN}, {.answers = INFINITY}};
    ck_options options = searching();
    ck_registry *registry = registry_of(&options, kernels, COUNT(kernels));
    ck_selection selection = selected(registry);
    CHECK(selection.user == &kernels[1] && selection.measured_ms == 2);
    SAYS("kernel_2: failed: NaN ms is not a valid time");
    SAYS("kernel_3: failed: inf ms is not a valid time");
    ck_registry_destroy(registry);
    return unused;
}

/* What is asked is counted from the first call on, measured by a later one, and answered with the winner from then
 * on. */
static void *tuning_measures_between_selections(void *unused) {
    kernel kernels[] = {{.ms = 2}, {.ms = 0.5}, {.ms = 1}, {.ms = 0.25}};
    ck_options options = searching();
    options.mode = CK_MODE_MODEL;
    options.no_estimate = 1;
    ck_registry *registry = registry_of(&options, kernels, COUNT(kernels));
    ck_tune_budget budget = {sizeof budget, 60000, NULL, 0, 0};
    SIZED(ck_tune_report, report);
    ANSWERS(CK_STATUS_OK, ck_registry_tune(registry, &budget, &report));
    CHECK(report.measured == 0 && report.waiting == 0);
    ck_selection selection = selected(registry);
    CHECK(selection.source == CK_SOURCE_PRIORITY && selection.user == &kernels[0]);
    ANSWERS(CK_STATUS_OK, ck_registry_tune(registry, &budget, &report));
    CHECK(report.measured == 1 && report.improved == 1 && report.failed == 0 && report.waiting == 0);
    /* Three of the four are measured, if nothing else is said. */
    CHECK(report.saved_ms == 1.5 && report.elapsed_ms > 0 && kernels[3].runs == 0);
    selection = selected(registry);
    CHECK(selection.source == CK_SOURCE_STORE && selection.user == &kernels[1] && selection.measured_ms == 0.5);
    CHECK(hip.live_events() == 0);

    ANSWERS(CK_STATUS_OK, ck_registry_tune(registry, &budget, NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_tune(NULL, &budget, &report));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_tune(registry, NULL, &report));
    const double times[] = {-1, NAN, INFINITY};
    for (size_t at = 0; at < COUNT(times); ++at) {
        budget.time_ms = times[at];
        ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_registry_tune(registry, &budget, &report));
    }
    budget.time_ms = 1;
    budget.kernels = 1;
    ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_registry_tune(registry, &budget, &report));
    CHECK(strcmp(ck_last_error(), "kernels is 1, expected 2 or more, or 0") == 0);
    budget.kernels = 2;
    budget.reserved = 1;
    ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_registry_tune(registry, &budget, &report));
    budget.struct_size = 1;
    ANSWERS(CK_STATUS_INVALID_STRUCT, ck_registry_tune(registry, &budget, &report));
    ck_registry_destroy(registry);
    return unused;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        printf("usage: search HIP_DOUBLE\n");
        return 2;
    }
    ANSWERS(CK_STATUS_OK, ck_log_set_callback(CK_LOG_LEVEL_DEBUG, keep, NULL));
    setenv("CK_SELECT_HIP_LIBRARY", argv[1], 1);
    void *library = dlopen(argv[1], RTLD_NOW);
    if (library == NULL) {
        printf("%s\n", dlerror());
        return 2;
    }
    find(library, "hip_double_launch", &hip.launch, sizeof hip.launch);
    find(library, "hip_double_live_events", &hip.live_events, sizeof hip.live_events);
    void *(*const scenarios[])(void *) = {
        the_fastest_wins,
        what_times_itself_is_believed,
        tuning_measures_between_selections,
    };
    for (size_t at = 0; at < COUNT(scenarios); ++at) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, scenarios[at], NULL) != 0 || pthread_join(thread, NULL) != 0) {
            printf("no thread\n");
            return 2;
        }
    }
    return finish("search");
}
