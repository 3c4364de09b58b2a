/* A program with a function of the same name as one inside the static library, as of another Rust runtime: neither side
 * may get the other's.
 *
 * Arguments: a file for the store. */

#include <string.h>

#include "ck_select.h"

#include "check.h"

static int called = 0;

void rust_eh_personality(void);

void rust_eh_personality(void) { ++called; }

static float a_millisecond(const ck_conv_problem *problem, void *stream, void *user) {
    (void)problem, (void)stream, (void)user;
    return 1;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        printf("usage: own_runtime STORE\n");
        return 2;
    }
    SIZED(ck_options, options);
    options.ignore_environment = 1;
    options.mode = CK_MODE_SEARCH;
    options.host_timing = 1;
    options.arch = "gfx950";
    options.store = argv[1];
    ck_registry *registry = NULL;
    ANSWERS(CK_STATUS_OK, ck_registry_create(&options, &registry));
    SIZED(ck_kernel_hooks, hooks);
    hooks.run_conv = a_millisecond;
    ANSWERS(CK_STATUS_OK, ck_registry_add_kernel(registry, "grouped_conv_forward_bf16_2d_64x64x64_compv3", &hooks));
    USUAL(ck_conv_problem, problem);
    SIZED(ck_selection, selection);
    ANSWERS(CK_STATUS_OK, ck_registry_select_conv(registry, &problem, &selection));
    CHECK(selection.source == CK_SOURCE_SEARCH);
    ANSWERS(CK_STATUS_OK, ck_registry_select_conv(registry, &problem, &selection));
    CHECK(selection.source == CK_SOURCE_STORE);
    /* A failure inside, with a name that is none. */
    ANSWERS(CK_STATUS_INVALID_KERNEL, ck_registry_add_kernel(registry, "nothing", NULL));
    ck_registry_destroy(registry);
    CHECK(called == 0);
    rust_eh_personality();
    CHECK(called == 1);
    return finish("own_runtime");
}
