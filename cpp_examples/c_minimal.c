/* The smallest useful program in C: two kernels, one convolution, the kernel to run.
 *
 *     c_minimal [MODEL_DIRECTORY] */

#include <stdio.h>

#include "ck_select.h"

/* A kernel can refuse problems. This one wants channels in groups of eight. */
static int32_t supports(const ck_conv_problem *problem, void *user) {
    (void)user;
    return problem->c % 8 == 0 && problem->k % 8 == 0;
}

static int fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, ck_last_error());
    return 1;
}

int main(int argc, char **argv) {
    ck_registry *registry = NULL;
    if (ck_registry_create(NULL, &registry) != CK_STATUS_OK) {
        return fail("create");
    }

    /* `user` is whatever the program needs to run the kernel: it comes back with the selection. */
    ck_kernel_hooks hooks = {0};
    hooks.struct_size = sizeof hooks;
    hooks.priority = 1;
    hooks.user = "launch_64x128x64";
    hooks.supports_conv = supports;
    int result = 0;
    if (ck_registry_add_kernel(registry, "grouped_conv_forward_bf16_2d_64x128x64_compv4", &hooks) != CK_STATUS_OK) {
        result = fail("add");
    }
    hooks.user = "launch_16x64x64";
    hooks.supports_conv = NULL;
    if (ck_registry_add_kernel(registry, "grouped_conv_forward_bf16_2d_16x64x64_compv3", &hooks) != CK_STATUS_OK) {
        result = fail("add");
    }
    if (argc > 1 && ck_registry_load_model(registry, argv[1], NULL) != CK_STATUS_OK) {
        result = fail("load");
    }

    ck_conv_problem problem;
    ck_conv_problem_init(&problem);
    problem.n = 16;
    problem.input[1] = problem.input[2] = 28;
    problem.filter[1] = problem.filter[2] = 3;
    problem.pad_left[1] = problem.pad_left[2] = problem.pad_right[1] = problem.pad_right[2] = 1;
    const int64_t channels[] = {256, 3};
    for (size_t at = 0; result == 0 && at < sizeof channels / sizeof channels[0]; ++at) {
        problem.c = problem.k = channels[at];
        ck_selection selection = {0};
        selection.struct_size = sizeof selection;
        if (ck_registry_select_conv(registry, &problem, &selection) != CK_STATUS_OK) {
            result = fail("select");
        } else {
            printf("%3d channels: %s, %s\n", (int)channels[at], (const char *)selection.user, selection.name);
        }
    }
    ck_registry_destroy(registry);
    return result;
}
