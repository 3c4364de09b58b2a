/* Copies of the library in one process, and a library that goes while it is used.
 *
 * Arguments: `together`, a store, two copies of the library: threads of both measure into one store at once.
 * Or `closed`, one copy: it is closed while threads select. */

#define _DEFAULT_SOURCE

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ck_select.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { THREADS = 3, ROUNDS = 4, PROBLEMS = 6 };

static atomic_int failures;

static void fail(const char *what, const char *detail) {
    ++failures;
    printf("%s: %s\n", what, detail);
}

/* The functions of one copy. */
typedef struct {
    void *handle;
    const char *store;
    int64_t number;
    ck_status (*create)(const ck_options *, ck_registry **);
    void (*destroy)(ck_registry *);
    ck_status (*add)(ck_registry *, const char *, const ck_kernel_hooks *);
    ck_status (*init)(ck_conv_problem *);
    ck_status (*select)(const ck_registry *, const ck_conv_problem *, ck_selection *);
    ck_status (*status)(const ck_registry *, size_t *, char **);
    ck_status (*refresh)(ck_registry *);
    const char *(*error)(void);
} copy;

static void find(void *library, const char *name, void *function) {
    void *address = dlsym(library, name);
    if (address == NULL) {
        printf("no %s\n", name);
        exit(2);
    }
    /* C has no conversion from an address to a function's. */
    memcpy(function, &address, sizeof address);
}

static copy opened(const char *path, const char *store, int64_t number) {
    copy one = {.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL), .store = store, .number = number};
    if (one.handle == NULL) {
        printf("%s\n", dlerror());
        exit(2);
    }
    find(one.handle, "ck_registry_create", &one.create);
    find(one.handle, "ck_registry_destroy", &one.destroy);
    find(one.handle, "ck_registry_add_kernel", &one.add);
    find(one.handle, "ck_conv_problem_init", &one.init);
    find(one.handle, "ck_registry_select_conv", &one.select);
    find(one.handle, "ck_registry_store_status", &one.status);
    find(one.handle, "ck_registry_refresh_store", &one.refresh);
    find(one.handle, "ck_last_error", &one.error);
    return one;
}

static float measured(const ck_conv_problem *problem, void *stream, void *user) {
    (void)problem;
    (void)stream;
    (void)user;
    return 1;
}

static ck_registry *registry_of(const copy *one) {
    const ck_options options = {
        .struct_size = sizeof options,
        .ignore_environment = 1,
        .mode = CK_MODE_SEARCH,
        .store = one->store,
        .arch = "gfx950",
        .host_timing = 1,
        .repeats = 2,
        .warmup = -1,
    };
    const ck_kernel_hooks hooks = {.struct_size = sizeof hooks, .priority = 1, .run_conv = measured};
    ck_registry *registry = NULL;
    if (one->create(&options, &registry) != CK_STATUS_OK ||
        one->add(registry, "grouped_conv_forward_bf16_2d_64x64x64_compv3", &hooks) != CK_STATUS_OK) {
        fail("create", one->error());
    }
    return registry;
}

static int32_t source_of(const copy *one, const ck_registry *registry, int64_t n, int64_t c) {
    ck_conv_problem problem;
    one->init(&problem);
    problem.n = n;
    problem.c = c;
    problem.k = 64;
    ck_selection selection = {.struct_size = sizeof selection};
    if (one->select(registry, &problem, &selection) != CK_STATUS_OK) {
        fail("select", one->error());
    }
    return selection.source;
}

typedef struct {
    const copy *one;
    int64_t thread;
} place;

/* Opens the store anew each round, as registries come and go, and writes its winners. */
static void *measures(void *argument) {
    const place *here = argument;
    for (int64_t round = 0; round < ROUNDS; ++round) {
        ck_registry *registry = registry_of(here->one);
        for (int64_t at = 0; at < PROBLEMS; ++at) {
            const int64_t n = 1 + (getpid() % 1000) * 10 + here->one->number;
            const int64_t c = 1 + (here->thread * ROUNDS + round) * PROBLEMS + at;
            source_of(here->one, registry, n, c);
        }
        /* A store that others write to may be busy for a while. */
        size_t waiting = 1;
        for (int tries = 0; waiting > 0 && tries < 100; ++tries) {
            here->one->status(registry, &waiting, NULL);
            if (waiting > 0) {
                here->one->refresh(registry);
            }
        }
        here->one->destroy(registry);
    }
    return NULL;
}

static void together(const copy *copies, size_t count) {
    pthread_t threads[2 * THREADS];
    place places[2 * THREADS];
    for (size_t at = 0; at < COUNT(threads); ++at) {
        places[at].one = &copies[at % count];
        places[at].thread = (int64_t)(at / count);
        pthread_create(&threads[at], NULL, measures, &places[at]);
    }
    for (size_t at = 0; at < COUNT(threads); ++at) {
        pthread_join(threads[at], NULL);
    }
}

static atomic_int running = 1, selections;

static void *selects(void *argument) {
    const copy *one = argument;
    ck_registry *registry = registry_of(one);
    for (int64_t at = 0; running; ++at) {
        source_of(one, registry, 1, 1 + at % 1000);
        ++selections;
    }
    one->destroy(registry);
    return NULL;
}

/* The last handle goes, and the threads know nothing of it. */
static void closed(copy *one) {
    pthread_t threads[THREADS];
    for (size_t at = 0; at < COUNT(threads); ++at) {
        pthread_create(&threads[at], NULL, selects, one);
    }
    while (selections < 100) {
        usleep(100);
    }
    if (dlclose(one->handle) != 0) {
        fail("dlclose", dlerror());
    }
    for (const int before = selections; selections < before + 10000 && failures == 0;) {
        usleep(100);
    }
    running = 0;
    for (size_t at = 0; at < COUNT(threads); ++at) {
        pthread_join(threads[at], NULL);
    }
}

int main(int argc, char **argv) {
    if (argc == 5 && strcmp(argv[1], "together") == 0) {
        const copy copies[2] = {opened(argv[3], argv[2], 0), opened(argv[4], argv[2], 1)};
        if (copies[0].create == copies[1].create) {
            fail("dlopen", "both copies are one");
        }
        together(copies, COUNT(copies));
    } else if (argc == 3 && strcmp(argv[1], "closed") == 0) {
        /* The threads' own data may keep the library by chance, so it goes unused first. */
        dlclose(dlopen(argv[2], RTLD_NOW | RTLD_LOCAL));
        if (dlopen(argv[2], RTLD_NOW | RTLD_NOLOAD) == NULL) {
            fail("dlclose", "the library is gone");
        }
        copy one = opened(argv[2], "off", 0);
        closed(&one);
    } else {
        return 2;
    }
    return failures != 0;
}
