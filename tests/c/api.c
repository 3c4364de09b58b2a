/* Every function of ck_select.h and ck_select_rows.h, every status that can be provoked, and arguments that no caller
 * should give. What is chosen, and what the C++ classes return, is tested in tests/registry.rs and tests/cpp/wrapper.cpp;
 * which values a field may have, in crates/types.
 *
 * Arguments: the repository, and a directory for files of this run. */

#include "ck_select.h"
/* Twice on purpose. */
#include "ck_select.h"
#include "ck_select_rows.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* Under AddressSanitizer an allocation that cannot be made fails, as everywhere else. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }

/* The answer to a usual struct with one field changed. `registry` and the structs are the caller's. */
#define ANSWERS_IF(expected, variable, usual, field, value, call) \
    do {                                                          \
        (variable) = (usual);                                     \
        (variable).field = (value);                               \
        ANSWERS(expected, call);                                  \
    } while (0)
#define IF_OPTION(expected, field, value) \
    ANSWERS_IF(expected, options, quiet_options(), field, value, ck_registry_set_options(registry, &options))
#define IF_CONV(expected, field, value)                            \
    ANSWERS_IF(expected, problem, resnet(), field, value, ck_registry_select_conv(registry, &problem, &selection))
#define IF_GEMM(expected, field, value)                            \
    ANSWERS_IF(expected, matrix, gemm(), field, value, ck_registry_select_gemm(registry, &matrix, &selection))
#define IF_CONV_KERNEL(expected, field, value)                       \
    ANSWERS_IF(expected, conv[0], conv_kernel(), field, value,       \
               ck_registry_add_conv_kernels(registry, conv, NULL, 1))
#define IF_ROWS(expected, field, value) \
    ANSWERS_IF(expected, options, row_options(), field, value, ck_model_create(directory, &options, &model))
#define IF_COLUMN(expected, field, value) \
    ANSWERS_IF(expected, columns[2], pipeline, field, value, ck_pool_create(model, columns, 4, 3, &pool))
#define IF_FOREST(expected, field, value)            \
    ANSWERS_IF(expected, forest, good, field, value, \
               ck_registry_load_model_bytes(registry, "mine", json, spec_len, &forest, 1, NULL))

/* The answers to a usual struct with one of some fields, given by offset, set to one of some values. */
#define EACH(expected, variable, usual, fields, values, call)                                                      \
    for (size_t field_ = 0; field_ < COUNT(fields); ++field_) {                                                    \
        for (size_t value_ = 0; value_ < COUNT(values); ++value_) {                                                \
            (variable) = (usual);                                                                                  \
            memcpy((char *)&(variable) + (fields)[field_], &(values)[value_], sizeof (values)[0]);                 \
            ANSWERS(expected, call);                                                                               \
        }                                                                                                          \
    }

static const char *const KERNELS[] = {
    "grouped_conv_forward_bf16_2d_64x64x64_compv3",
    "grouped_conv_forward_bf16_2d_64x128x64_compv4",
    "grouped_conv_forward_bf16_2d_128x128x64_compv5",
    "grouped_conv_bwd_data_bf16_2d_64x64x64_compv3",
    "gemm_universal_fp8_rcr_compv3_default_intrawave_True_True_True_False_64x64x64_2x2x1_32x32x16",
    "fp8_rcr_mem_default_interwave_False_False_False_True_64x64x128_1x4x1_16x16x64",
};
enum { KERNEL_COUNT = COUNT(KERNELS), FORWARD_COUNT = 3 };

/* The call gives `text`, which is the caller's and NULL, with this part in it. */
#define GIVES(part, call)                                   \
    do {                                                    \
        ANSWERS(CK_STATUS_OK, call);                        \
        CHECK(text != NULL && strstr(text, part) != NULL);  \
        ck_string_free(text);                               \
        text = NULL;                                        \
    } while (0)

static const char NOT_UTF8[] = "\xff\xfe";

/* Kept to the end. */
static const char *path_in(const char *directory, const char *name) {
    static char paths[16][4096];
    static size_t used = 0;
    CHECK(used < COUNT(paths));
    snprintf(paths[used], sizeof paths[used], "%s/%s", directory, name);
    return paths[used++];
}

static char *read_file(const char *path, size_t *len) {
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(1 << 22);
    if (file == NULL || bytes == NULL) {
        printf("cannot read %s\n", path);
        exit(2);
    }
    *len = fread(bytes, 1, 1 << 22, file);
    fclose(file);
    return bytes;
}

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) {
        printf("cannot write %s\n", path);
        exit(2);
    }
}

static ck_conv_problem resnet(void) {
    USUAL(ck_conv_problem, problem);
    problem.n = 16;
    problem.c = 256;
    problem.k = 128;
    problem.input[1] = problem.input[2] = 28;
    problem.filter[1] = problem.filter[2] = 3;
    problem.pad_left[1] = problem.pad_left[2] = 1;
    problem.pad_right[1] = problem.pad_right[2] = 1;
    return problem;
}

static ck_gemm_problem gemm(void) {
    USUAL(ck_gemm_problem, problem);
    problem.m = 128;
    problem.n = 1536;
    problem.k = 7168;
    return problem;
}

static ck_conv_kernel_desc conv_kernel(void) {
    USUAL(ck_conv_kernel_desc, desc);
    return desc;
}

static ck_row_options row_options(void) {
    USUAL(ck_row_options, options);
    return options;
}

static ck_options quiet_options(void) {
    USUAL(ck_options, options);
    options.ignore_environment = 1;
    return options;
}

static ck_registry *new_registry(void) {
    ck_options options = quiet_options();
    ck_registry *registry = NULL;
    ANSWERS(CK_STATUS_OK, ck_registry_create(&options, &registry));
    CHECK(registry != NULL);
    return registry;
}

static ck_registry *full_registry(void) {
    ck_registry *registry = new_registry();
    ANSWERS(CK_STATUS_OK, ck_registry_add_kernels(registry, KERNELS, NULL, KERNEL_COUNT));
    return registry;
}

static ck_selection selected(const ck_registry *registry, const ck_conv_problem *problem) {
    SIZED(ck_selection, selection);
    ANSWERS(CK_STATUS_OK, ck_registry_select_conv(registry, problem, &selection));
    return selection;
}

static size_t size_of_registry(const ck_registry *registry) {
    size_t size = 12345;
    ANSWERS(CK_STATUS_OK, ck_registry_size(registry, &size));
    return size;
}

static ck_kernel_hooks new_hooks(void) {
    SIZED(ck_kernel_hooks, hooks);
    hooks.priority = 1;
    return hooks;
}

static void versions_and_texts(void) {
    CHECK(ck_select_abi_version() == CK_SELECT_ABI_VERSION);
    CHECK(strchr(ck_select_version(), '.') != NULL);
    CHECK(ck_last_error()[0] == '\0');
    for (int32_t status = 0; status <= CK_STATUS_CANNOT_MEASURE; ++status) {
        CHECK(strlen(ck_status_text(status)) > 3 && strcmp(ck_status_text(status), "unknown status") != 0);
    }
    CHECK(strcmp(ck_status_text(CK_STATUS_OK), "success") == 0);
    CHECK(strcmp(ck_status_text(-1), "unknown status") == 0);
    CHECK(strcmp(ck_status_text(INT32_MIN), "unknown status") == 0);
    ck_string_free(NULL);
    ck_registry_destroy(NULL);
}

static void structs_begin_usual(void) {
    ANSWERS(CK_STATUS_NULL_POINTER, ck_conv_problem_init(NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_gemm_problem_init(NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_options_init(NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_row_options_init(NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_model_options_init(NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_export_options_init(NULL));
    ck_conv_problem conv;
    ck_gemm_problem matrix;
    memset(&conv, 0xee, sizeof conv);
    memset(&matrix, 0xee, sizeof matrix);
    ANSWERS(CK_STATUS_OK, ck_conv_problem_init(&conv));
    ANSWERS(CK_STATUS_OK, ck_gemm_problem_init(&matrix));
    CHECK(conv.struct_size == sizeof conv && conv.n == 1 && conv.pad_right[2] == 0 && conv.arch == NULL);
    CHECK(conv.dtype_out == CK_DTYPE_BF16 && conv.layout == CK_CONV_LAYOUT_NHWGC);
    CHECK(matrix.struct_size == sizeof matrix && matrix.m == 1 && matrix.split_k == 1 && matrix.arch == NULL);
    CHECK(matrix.dtype_a == CK_DTYPE_FP8 && matrix.layout[1] == CK_MAJOR_COL);
}

static void options_are_checked(const char *scratch) {
    ck_registry *registry = (ck_registry *)&failures; /* must stay untouched on failure */
    ck_registry *const untouched = registry;
    ck_options options = quiet_options();
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_create(&options, NULL));
    const size_t wrong_sizes[] = {0, 1, sizeof options - 1, sizeof options + 8, SIZE_MAX};
    const size_t sizes[] = {offsetof(ck_options, struct_size)};
    EACH(CK_STATUS_INVALID_STRUCT, options, quiet_options(), sizes, wrong_sizes,
         ck_registry_create(&options, &registry));
    const int32_t negative[] = {-2, INT32_MIN}; /* -1 kernels to refine are as many as an answer asks for */
    const size_t numbers[] = {offsetof(ck_options, mode), offsetof(ck_options, refine), offsetof(ck_options, repeats)};
    EACH(CK_STATUS_INVALID_ARGUMENT, options, quiet_options(), numbers, negative,
         ck_registry_create(&options, &registry));
    const double no_times[] = {-1, NAN};
    const size_t times[] = {offsetof(ck_options, budget_ms), offsetof(ck_options, run_timeout_ms),
                            offsetof(ck_options, cutoff)};
    EACH(CK_STATUS_INVALID_ARGUMENT, options, quiet_options(), times, no_times,
         ck_registry_create(&options, &registry));
    options = quiet_options();
    options.arch = "not an architecture";
    ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_registry_create(&options, &registry));
    options.arch = NOT_UTF8;
    ANSWERS(CK_STATUS_NOT_UTF8, ck_registry_create(&options, &registry));
    options = quiet_options();
    options.override_file = NOT_UTF8;
    ANSWERS(CK_STATUS_NOT_UTF8, ck_registry_create(&options, &registry));
    const char *missing = path_in(scratch, "there is no such file");
    options.override_file = missing;
    ANSWERS(CK_STATUS_IO, ck_registry_create(&options, &registry));
    const char *no_rules = path_in(scratch, "no_rules.txt");
    write_file(no_rules, "this is no rule\n");
    options.override_file = no_rules;
    ANSWERS(CK_STATUS_IO, ck_registry_create(&options, &registry));
    CHECK(strstr(ck_last_error(), "line 1") != NULL);
    CHECK(registry == untouched);

    registry = NULL;
    ANSWERS(CK_STATUS_OK, ck_registry_create(NULL, &registry));
    ANSWERS(CK_STATUS_IO, ck_registry_set_options(registry, &options));
    ANSWERS(CK_STATUS_OK, ck_registry_set_options(registry, NULL));
    IF_OPTION(CK_STATUS_OK, arch, "gfx942:sramecc+:xnack-");
    IF_OPTION(CK_STATUS_OK, no_estimate, 1);
    IF_OPTION(CK_STATUS_INVALID_ARGUMENT, mode, 1000);
    IF_OPTION(CK_STATUS_INVALID_ARGUMENT, cutoff, 0.5);
    IF_OPTION(CK_STATUS_INVALID_ARGUMENT, host_timing, 1); /* the host tells no architecture */
    IF_OPTION(CK_STATUS_IO, hardware, "there is no file of this name");
    IF_OPTION(CK_STATUS_NOT_UTF8, hardware, NOT_UTF8);
    options.struct_size = 3;
    ANSWERS(CK_STATUS_INVALID_STRUCT, ck_registry_set_options(registry, &options));
    options = quiet_options();
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_set_options(NULL, &options));
    ck_registry_destroy(registry);
}

static void kernels_are_added_found_and_removed(void) {
    ck_registry *registry = new_registry();
    CHECK(size_of_registry(registry) == 0);
    size_t size = 77;
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_size(NULL, &size));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_size(registry, NULL));
    CHECK(size == 77);

    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_add_kernel(NULL, KERNELS[0], NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_add_kernel(registry, NULL, NULL));
    ANSWERS(CK_STATUS_INVALID_KERNEL, ck_registry_add_kernel(registry, "grouped_conv_of_my_own", NULL));
    ANSWERS(CK_STATUS_NOT_UTF8, ck_registry_add_kernel(registry, NOT_UTF8, NULL));
    SIZED(ck_kernel_hooks, hooks);
    hooks.struct_size = sizeof hooks + 1;
    ANSWERS(CK_STATUS_INVALID_STRUCT, ck_registry_add_kernel(registry, KERNELS[0], &hooks));
    CHECK(size_of_registry(registry) == 0);

    int mark = 0;
    hooks = new_hooks();
    hooks.user = &mark;
    hooks.priority = 2;
    ANSWERS(CK_STATUS_OK, ck_registry_add_kernel(registry, KERNELS[0], &hooks));
    ANSWERS(CK_STATUS_ALREADY_REGISTERED, ck_registry_add_kernel(registry, KERNELS[0], &hooks));
    hooks.priority = INT32_MAX;
    ANSWERS(CK_STATUS_OK, ck_registry_add_kernel(registry, KERNELS[0], &hooks));

    /* All or none. */
    const char *const with_bad[] = {KERNELS[1], "bad"};
    ANSWERS(CK_STATUS_INVALID_KERNEL, ck_registry_add_kernels(registry, with_bad, NULL, 2));
    const char *const with_null[] = {KERNELS[1], NULL};
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_add_kernels(registry, with_null, NULL, 2));
    const char *const twice[] = {KERNELS[1], KERNELS[1]};
    ANSWERS(CK_STATUS_ALREADY_REGISTERED, ck_registry_add_kernels(registry, twice, NULL, 2));
    CHECK(size_of_registry(registry) == 1);
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_add_kernels(registry, NULL, NULL, 1));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_add_kernels(NULL, KERNELS, NULL, 1));
    ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_registry_add_kernels(registry, KERNELS, NULL, SIZE_MAX));
    ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_registry_add_kernels(registry, KERNELS, NULL, SIZE_MAX / sizeof(char *)));
    ANSWERS(CK_STATUS_OK, ck_registry_add_kernels(registry, NULL, NULL, 0));
    ck_kernel_hooks each[KERNEL_COUNT];
    for (int at = 0; at < KERNEL_COUNT; ++at) {
        each[at] = new_hooks();
        each[at].user = &each[at];
        each[at].priority = -at;
    }
    each[KERNEL_COUNT - 1].struct_size = 0;
    ANSWERS(CK_STATUS_INVALID_STRUCT, ck_registry_add_kernels(registry, KERNELS + 1, each + 1, KERNEL_COUNT - 1));
    each[KERNEL_COUNT - 1].struct_size = sizeof each[0];
    ANSWERS(CK_STATUS_OK, ck_registry_add_kernels(registry, KERNELS + 1, each + 1, KERNEL_COUNT - 1));
    CHECK(size_of_registry(registry) == KERNEL_COUNT);

    SIZED(ck_kernel_info, info);
    for (size_t at = 0; at < KERNEL_COUNT; ++at) {
        ANSWERS(CK_STATUS_OK, ck_registry_kernel_at(registry, at, &info));
        CHECK(strcmp(info.name, KERNELS[at]) == 0 && info.index == at && info.struct_size == sizeof info);
        CHECK(info.user == (at == 0 ? (void *)&mark : (void *)&each[at]));
        CHECK(info.priority == (at == 0 ? INT32_MAX : -(int32_t)at));
        ANSWERS(CK_STATUS_OK, ck_registry_find(registry, KERNELS[at], &info));
        CHECK(info.index == at);
    }
    const char *const kept_name = info.name;
    SIZED(ck_kernel_info, untouched);
    untouched.index = 99;
    ANSWERS(CK_STATUS_NOT_FOUND, ck_registry_kernel_at(registry, KERNEL_COUNT, &untouched));
    ANSWERS(CK_STATUS_NOT_FOUND, ck_registry_find(registry, "nothing", &untouched));
    ANSWERS(CK_STATUS_NOT_UTF8, ck_registry_find(registry, NOT_UTF8, &untouched));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_find(registry, NULL, &untouched));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_find(NULL, KERNELS[0], &untouched));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_find(registry, KERNELS[0], NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_kernel_at(NULL, 0, &untouched));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_kernel_at(registry, 0, NULL));
    untouched.struct_size = 8;
    ANSWERS(CK_STATUS_INVALID_STRUCT, ck_registry_kernel_at(registry, 0, &untouched));
    ANSWERS(CK_STATUS_INVALID_STRUCT, ck_registry_find(registry, KERNELS[0], &untouched));
    CHECK(untouched.index == 99 && untouched.name == NULL);

    size_t removed = 99;
    ANSWERS(CK_STATUS_OK, ck_registry_retain_arch(registry, "gfx950", &removed));
    CHECK(removed == 0); /* names of these grammars tell no architecture */
    ANSWERS(CK_STATUS_OK, ck_registry_retain_arch(registry, "gfx950", NULL));
    ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_registry_retain_arch(registry, "i860", &removed));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_retain_arch(registry, NULL, &removed));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_retain_arch(NULL, "gfx950", &removed));
    ANSWERS(CK_STATUS_NOT_UTF8, ck_registry_retain_arch(registry, NOT_UTF8, &removed));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_clear(NULL));
    ANSWERS(CK_STATUS_OK, ck_registry_clear(registry));
    CHECK(size_of_registry(registry) == 0);
    CHECK(strcmp(kept_name, KERNELS[KERNEL_COUNT - 1]) == 0); /* alive until the registry is destroyed */
    ck_registry_destroy(registry);
}

static void exports_are_imported(const char *repository) {
    ck_registry *registry = new_registry();
    const char *path = path_in(repository, "tests/golden/pools/conv_registry.json");
    size_t len = 0;
    char *json = read_file(path, &len);
    ANSWERS(CK_STATUS_OK, ck_registry_import_json(registry, (const uint8_t *)json, len, NULL, NULL));
    CHECK(size_of_registry(registry) == 1);
    ANSWERS(CK_STATUS_ALREADY_REGISTERED, ck_registry_import_json(registry, (const uint8_t *)json, len, NULL, NULL));
    ANSWERS(CK_STATUS_INVALID_KERNEL, ck_registry_import_json(registry, (const uint8_t *)json, len / 2, NULL, NULL));
    ANSWERS(CK_STATUS_INVALID_KERNEL, ck_registry_import_json(registry, NULL, 0, NULL, NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_import_json(registry, NULL, 5, NULL, NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_import_json(NULL, (const uint8_t *)json, len, NULL, NULL));
    ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_registry_import_json(registry, (const uint8_t *)json, SIZE_MAX, NULL, NULL));
    /* This export does say for which architecture. */
    size_t removed = 0;
    ANSWERS(CK_STATUS_OK, ck_registry_retain_arch(registry, "gfx942", &removed));
    CHECK(removed == 1 && size_of_registry(registry) == 0);
    ck_registry_destroy(registry);
    free(json);
}

/* Kernels by what they are, removal by name, and the number that tells of changes. */
static void kernels_are_described(void) {
    ck_registry *registry = new_registry();
    ck_conv_kernel_desc conv[2];
    ck_gemm_kernel_desc matrix;
    ANSWERS(CK_STATUS_NULL_POINTER, ck_conv_kernel_desc_init(NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_gemm_kernel_desc_init(NULL));
    memset(conv, 0xee, sizeof conv);
    memset(&matrix, 0xee, sizeof matrix);
    ANSWERS(CK_STATUS_OK, ck_conv_kernel_desc_init(&conv[0]));
    ANSWERS(CK_STATUS_OK, ck_conv_kernel_desc_init(&conv[1]));
    ANSWERS(CK_STATUS_OK, ck_gemm_kernel_desc_init(&matrix));
    CHECK(conv[0].struct_size == sizeof conv[0] && matrix.struct_size == sizeof matrix);
    CHECK(strcmp(conv[0].pipeline, "compv3") == 0 && conv[0].stream_k.reduction == NULL && conv[0].name == NULL);
    CHECK(conv[0].tile[1] == 128 && conv[0].vector[2] == 8 && conv[0].two_stage == 0 && matrix.pad[2] == 1);

    uint64_t before = 0;
    ANSWERS(CK_STATUS_OK, ck_registry_generation(registry, &before));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_generation(NULL, &before));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_generation(registry, NULL));

    conv[1].name = "a name of my own";
    ck_kernel_hooks hooks[2];
    int mark = 0;
    hooks[0] = hooks[1] = new_hooks();
    hooks[1].user = &mark;
    ANSWERS(CK_STATUS_OK, ck_registry_add_conv_kernels(registry, conv, hooks, 2));
    ANSWERS(CK_STATUS_OK, ck_registry_add_gemm_kernels(registry, &matrix, NULL, 1));
    uint64_t after = 0;
    ANSWERS(CK_STATUS_OK, ck_registry_generation(registry, &after));
    CHECK(after > before && size_of_registry(registry) == 3);
    SIZED(ck_kernel_info, info);
    ANSWERS(CK_STATUS_OK, ck_registry_find(registry, conv[1].name, &info));
    CHECK(info.index == 1 && info.user == &mark);

    /* All or none, and nothing that is no kernel. */
    ANSWERS(CK_STATUS_ALREADY_REGISTERED, ck_registry_add_conv_kernels(registry, conv, NULL, 2));
    ANSWERS(CK_STATUS_OK, ck_registry_add_conv_kernels(registry, NULL, NULL, 0));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_add_conv_kernels(registry, NULL, NULL, 1));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_add_conv_kernels(NULL, conv, NULL, 2));
    ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_registry_add_conv_kernels(registry, conv, NULL, SIZE_MAX));
    hooks[1].struct_size = 0;
    conv[0].name = "first";
    conv[1].name = "second";
    ANSWERS(CK_STATUS_INVALID_STRUCT, ck_registry_add_conv_kernels(registry, conv, hooks, 2));
    conv[1].struct_size = sizeof conv[1] + 4;
    ANSWERS(CK_STATUS_INVALID_STRUCT, ck_registry_add_conv_kernels(registry, conv, NULL, 2));
    IF_CONV_KERNEL(CK_STATUS_INVALID_KERNEL, tile[0], 0);
    IF_CONV_KERNEL(CK_STATUS_INVALID_ARGUMENT, dtype_in, -1);
    IF_CONV_KERNEL(CK_STATUS_INVALID_KERNEL, pipeline, "of my own");
    IF_CONV_KERNEL(CK_STATUS_NULL_POINTER, scheduler, NULL);
    IF_CONV_KERNEL(CK_STATUS_NOT_UTF8, epilogue, NOT_UTF8);
    IF_CONV_KERNEL(CK_STATUS_INVALID_KERNEL, stream_k.persistent, 1);
    IF_CONV_KERNEL(CK_STATUS_INVALID_KERNEL, name, "");
    IF_CONV_KERNEL(CK_STATUS_INVALID_ARGUMENT, arch, "i860");
    CHECK(size_of_registry(registry) == 3);

    ANSWERS(CK_STATUS_NOT_FOUND, ck_registry_remove_kernel(registry, "nothing"));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_remove_kernel(registry, NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_remove_kernel(NULL, "nothing"));
    ANSWERS(CK_STATUS_NOT_UTF8, ck_registry_remove_kernel(registry, NOT_UTF8));
    ANSWERS(CK_STATUS_OK, ck_registry_remove_kernel(registry, info.name));
    ANSWERS(CK_STATUS_NOT_FOUND, ck_registry_remove_kernel(registry, info.name)); /* alive, but not registered */
    ck_registry_destroy(registry);
}

/* A model's key and hardware by its caller, and models that are built in. */
static void models_have_keys(const char *repository) {
    ck_registry *registry = full_registry();
    const char *directory = path_in(repository, "tests/golden/models/conv_small");
    ck_hardware hardware;
    ANSWERS(CK_STATUS_NULL_POINTER, ck_hardware_init(NULL, NULL));
    ANSWERS(CK_STATUS_NOT_FOUND, ck_hardware_init(&hardware, "gfx906"));
    ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_hardware_init(&hardware, "i860"));
    ANSWERS(CK_STATUS_NOT_UTF8, ck_hardware_init(&hardware, NOT_UTF8));
    ANSWERS(CK_STATUS_OK, ck_hardware_init(&hardware, NULL));
    CHECK(hardware.struct_size == sizeof hardware);

    SIZED(ck_model_key, key);
    key.op = CK_OP_CONV;
    key.direction = CK_DIRECTION_BWD_DATA;
    key.dtype = CK_ANY;
    USUAL(ck_model_options, options);
    options.key = &key;
    options.hardware = &hardware;
    ANSWERS(CK_STATUS_OK, ck_registry_load_model(registry, directory, &options));
    options.force = 1;
    ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_registry_load_model(registry, directory, &options)); /* with a key */
    options.force = 0;
    ANSWERS(CK_STATUS_OK, ck_registry_remove_model(registry, &key));
    ANSWERS(CK_STATUS_NOT_FOUND, ck_registry_remove_model(registry, &key));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_remove_model(registry, NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_remove_model(NULL, &key));

    /* Each field of a key counts. */
    ck_conv_problem problem = resnet();
    key.direction = CK_ANY;
    key.dtype = CK_DTYPE_BF16;
    key.arch = "gfx942";
    ANSWERS(CK_STATUS_OK, ck_registry_load_model(registry, directory, &options));
    CHECK(selected(registry, &problem).source == CK_SOURCE_MODEL);
    problem.arch = "gfx950";
    CHECK(selected(registry, &problem).source == CK_SOURCE_ESTIMATE);
    ck_model_key other = key;
    other.dtype = CK_ANY;
    ANSWERS(CK_STATUS_NOT_FOUND, ck_registry_remove_model(registry, &other));
    ANSWERS(CK_STATUS_OK, ck_registry_remove_model(registry, &key));

    /* Forced, it answers for an architecture that it was not trained on, and says so. */
    SIZED(ck_model_options, forced);
    forced.force = 1;
    problem.arch = "gfx90a";
    ANSWERS(CK_STATUS_OK, ck_registry_load_model(registry, directory, &forced));
    const ck_selection selection = selected(registry, &problem);
    CHECK(selection.source == CK_SOURCE_MODEL && selection.out_of_range == 1 && selection.no_model == 0);
    const char *field = NULL;
    ANSWERS(CK_STATUS_OK, ck_problem_field_name(CK_OP_CONV, 0, &field));
    for (size_t bit = 0; bit < 64; ++bit) {
        if (selection.out_of_range_fields == UINT64_C(1) << bit) {
            ANSWERS(CK_STATUS_OK, ck_problem_field_name(CK_OP_CONV, bit, &field));
        }
    }
    CHECK(strcmp(field, "arch") == 0);

    const int32_t wrong[] = {-2, 99, INT32_MIN, INT32_MAX};
    const size_t words[] = {offsetof(ck_model_key, op), offsetof(ck_model_key, direction),
                            offsetof(ck_model_key, dtype), offsetof(ck_model_key, reserved)};
    ck_model_key bad;
    options.key = &bad;
    EACH(CK_STATUS_INVALID_ARGUMENT, bad, key, words, wrong, ck_registry_load_model(registry, directory, &options));
    bad = key;
    bad.op = CK_OP_GEMM; /* what the model is not */
    ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_registry_load_model(registry, directory, &options));
    bad.direction = CK_DIRECTION_FORWARD;
    ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_registry_load_model(registry, directory, &options));
    CHECK(strstr(ck_last_error(), "only convolutions have one") != NULL);
    bad = key;
    bad.arch = "i860";
    ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_registry_load_model(registry, directory, &options));
    bad.struct_size = 3;
    ANSWERS(CK_STATUS_INVALID_STRUCT, ck_registry_load_model(registry, directory, &options));
    options.key = NULL;
    hardware.num_xcd = 0;
    ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_registry_load_model(registry, directory, &options));
    hardware.struct_size = 0;
    ANSWERS(CK_STATUS_INVALID_STRUCT, ck_registry_load_model(registry, directory, &options));
    options.struct_size = 0;
    ANSWERS(CK_STATUS_INVALID_STRUCT, ck_registry_load_model(registry, directory, &options));
    ANSWERS(CK_STATUS_INVALID_STRUCT, ck_registry_load_embedded(registry, "x", &options));

    const char *name = NULL;
    ANSWERS(CK_STATUS_NOT_FOUND, ck_embedded_model_name(SIZE_MAX, &name));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_embedded_model_name(0, NULL));
    ANSWERS(CK_STATUS_NOT_FOUND, ck_registry_load_embedded(registry, "there is none of this name", NULL));
    ANSWERS(CK_STATUS_INVALID_MODEL, ck_registry_load_model(registry, "embedded:there is none of this name", NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_load_embedded(registry, NULL, NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_load_embedded(NULL, "x", NULL));
    ck_registry_destroy(registry);
}

static void stores_are_refreshed(void) {
    ck_registry *registry = full_registry();
    ANSWERS(CK_STATUS_OK, ck_registry_refresh_store(registry)); /* it has none */
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_refresh_store(NULL));
    size_t waiting = 1;
    char *reason = (char *)&failures;
    ANSWERS(CK_STATUS_OK, ck_registry_store_status(registry, &waiting, &reason));
    CHECK(waiting == 0 && reason == NULL);
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_store_status(NULL, &waiting, &reason));
    ck_registry_destroy(registry);
}

static void models_are_loaded(const char *repository) {
    ck_registry *registry = full_registry();
    const char *directory = path_in(repository, "tests/golden/models/conv_small");
    ANSWERS(CK_STATUS_OK, ck_registry_load_model(registry, directory, NULL));
    ANSWERS(CK_STATUS_INVALID_MODEL, ck_registry_load_model(registry, repository, NULL));
    ANSWERS(CK_STATUS_INVALID_MODEL, ck_registry_load_model(registry, "/there/is/no/such/directory", NULL));
    ANSWERS(CK_STATUS_NOT_UTF8, ck_registry_load_model(registry, NOT_UTF8, NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_load_model(registry, NULL, NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_load_model(NULL, directory, NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_prepare(NULL));
    ANSWERS(CK_STATUS_OK, ck_registry_prepare(registry));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_remove_models(NULL));
    ANSWERS(CK_STATUS_OK, ck_registry_remove_models(registry));

    const char *spec_path = path_in(directory, "feature_spec.json");
    const char *forest_path = path_in(directory, "model_tflops.lgbm.gz");
    size_t spec_len = 0;
    char *spec = read_file(spec_path, &spec_len);
    SIZED(ck_forest_bytes, forest);
    forest.target = CK_TARGET_TFLOPS;
    char *bytes = read_file(forest_path, &forest.len);
    forest.bytes = (const uint8_t *)bytes;
    const uint8_t *const json = (const uint8_t *)spec;
    ANSWERS(CK_STATUS_OK, ck_registry_load_model_bytes(registry, "mine", json, spec_len, &forest, 1, NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_load_model_bytes(NULL, "mine", json, spec_len, &forest, 1, NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_load_model_bytes(registry, NULL, json, spec_len, &forest, 1, NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_load_model_bytes(registry, "mine", NULL, spec_len, &forest, 1, NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_load_model_bytes(registry, "mine", json, spec_len, NULL, 1, NULL));
    ANSWERS(CK_STATUS_INVALID_MODEL, ck_registry_load_model_bytes(registry, "mine", json, spec_len, NULL, 0, NULL));
    ANSWERS(CK_STATUS_INVALID_MODEL, ck_registry_load_model_bytes(registry, "mine", json, 10, &forest, 1, NULL));
    ANSWERS(CK_STATUS_INVALID_ARGUMENT,
            ck_registry_load_model_bytes(registry, "mine", json, SIZE_MAX, &forest, 1, NULL));
    ANSWERS(CK_STATUS_INVALID_ARGUMENT,
            ck_registry_load_model_bytes(registry, "mine", json, spec_len, &forest, SIZE_MAX, NULL));
    const ck_forest_bytes good = forest;
    IF_FOREST(CK_STATUS_INVALID_ARGUMENT, target, 4711);
    IF_FOREST(CK_STATUS_INVALID_MODEL, len, good.len / 2);
    IF_FOREST(CK_STATUS_NULL_POINTER, bytes, NULL);
    IF_FOREST(CK_STATUS_INVALID_STRUCT, struct_size, 1);

    /* The model that was loaded well is still the one that answers. */
    const ck_conv_problem problem = resnet();
    CHECK(selected(registry, &problem).source == CK_SOURCE_MODEL);
    ck_registry_destroy(registry);
    free(bytes);
    free(spec);
}

static void bad_problems_are_refused(void) {
    ck_registry *registry = full_registry();
    SIZED(ck_selection, selection);
    ck_conv_problem problem = resnet();
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_select_conv(NULL, &problem, &selection));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_select_conv(registry, NULL, &selection));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_select_conv(registry, &problem, NULL));
    const size_t wrong_sizes[] = {0, 8, sizeof problem + 8, SIZE_MAX};
    for (size_t at = 0; at < COUNT(wrong_sizes); ++at) {
        problem.struct_size = wrong_sizes[at];
        ANSWERS(CK_STATUS_INVALID_STRUCT, ck_registry_select_conv(registry, &problem, &selection));
    }
    IF_CONV(CK_STATUS_INVALID_ARGUMENT, direction, INT32_MIN);
    IF_CONV(CK_STATUS_INVALID_ARGUMENT, reserved, 1);
    IF_CONV(CK_STATUS_INVALID_PROBLEM, n, 0);
    IF_CONV(CK_STATUS_INVALID_PROBLEM, input[1], INT64_MAX);
    IF_CONV(CK_STATUS_INVALID_ARGUMENT, arch, "i860");
    problem.arch = NOT_UTF8;
    ANSWERS(CK_STATUS_NOT_UTF8, ck_registry_select_conv(registry, &problem, &selection));

    ck_gemm_problem matrix = gemm();
    matrix.struct_size = sizeof(ck_conv_problem);
    ANSWERS(CK_STATUS_INVALID_STRUCT, ck_registry_select_gemm(registry, &matrix, &selection));
    /* What none of these kernels does besides one plain GEMM, and what nobody can ask for. */
    IF_GEMM(CK_STATUS_NO_KERNEL, request.quant, "bquant");
    IF_GEMM(CK_STATUS_INVALID_PROBLEM, request.quant, "cquant");
    IF_GEMM(CK_STATUS_INVALID_ARGUMENT, request.group_a[2], 128);
    IF_GEMM(CK_STATUS_NULL_POINTER, request.groups.count, 1);
    const ck_gemm_group list[] = {{512, 512, 1024, 1}, {64, 512, 1024, 1}};
    matrix.request.groups.items = list; /* beside extents of another GEMM */
    ANSWERS(CK_STATUS_INVALID_PROBLEM, ck_registry_select_gemm(registry, &matrix, &selection));
    matrix.request.groups.item_size = 2 * sizeof list[0];
    ANSWERS(CK_STATUS_INVALID_STRUCT, ck_registry_select_gemm(registry, &matrix, &selection));
    CHECK(strstr(ck_last_error(), "request.groups.item_size is 32, expected 16: the program was compiled with a newer"));
    CHECK(selection.name == NULL && selection.generation == 0);
    ck_registry_destroy(registry);
}

static void selecting(const char *repository, const char *scratch) {
    ck_registry *registry = full_registry();
    ck_conv_problem problem = resnet();

    /* Without a model: priority, then order. */
    ck_selection selection = selected(registry, &problem);
    CHECK(strcmp(selection.name, KERNELS[0]) == 0 && selection.source == CK_SOURCE_PRIORITY && isnan(selection.score));
    CHECK(selection.no_model == 1 && selection.out_of_range_fields == 0 && selection.model == NULL);
    const uint64_t before = selection.generation;
    ck_ranked ranked[KERNEL_COUNT];
    ranked[0].struct_size = 0;
    size_t count = 99;
    ANSWERS(CK_STATUS_INVALID_STRUCT, ck_registry_rank_conv(registry, &problem, KERNEL_COUNT, ranked, &count, NULL));
    ranked[0].struct_size = sizeof ranked[0];
    ANSWERS(CK_STATUS_NO_MODEL, ck_registry_rank_conv(registry, &problem, KERNEL_COUNT, ranked, &count, NULL));
    ck_predictions predictions = {sizeof predictions, 0, 0, 0};
    ANSWERS(CK_STATUS_NO_MODEL, ck_registry_predict_conv(registry, &problem, 0, &predictions));
    double features[256];
    ANSWERS(CK_STATUS_NO_MODEL, ck_registry_extract_conv(registry, &problem, 0, COUNT(features), features, &count));
    CHECK(count == 99);

    /* With one: its best. */
    const char *conv_model = path_in(repository, "tests/golden/models/conv_small");
    const char *gemm_model = path_in(repository, "tests/golden/models/gemm_small");
    ANSWERS(CK_STATUS_OK, ck_registry_load_model(registry, conv_model, NULL));
    ANSWERS(CK_STATUS_OK, ck_registry_load_model(registry, gemm_model, NULL));
    selection = selected(registry, &problem);
    CHECK(strcmp(selection.name, KERNELS[2]) == 0 && selection.source == CK_SOURCE_MODEL && selection.score > 0);
    CHECK(selection.generation > before);
    ck_ranked guard = {sizeof guard, "guard", NULL, 1, 1, 0, 2.0, 0, 0, 0, 0, 3.0, 1.0, 0.0};
    ranked[1] = guard;
    ANSWERS(CK_STATUS_OK, ck_registry_rank_conv(registry, &problem, 1, ranked, &count, NULL));
    CHECK(count == FORWARD_COUNT && ranked[0].score == selection.score && ranked[1].name == guard.name);
    /* The model's score is a speed, and it has recorded nothing about its choices. */
    CHECK(ranked[0].slower == 1 && ranked[0].time_us > 0 && isnan(ranked[0].expected_loss));
    CHECK(isnan(selection.expected_loss) && isnan(selection.chance) && selection.sure_within_90 == 0);
    ANSWERS(CK_STATUS_OK, ck_registry_rank_conv(registry, &problem, 0, NULL, &count, NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_rank_conv(registry, &problem, 1, NULL, &count, NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_rank_conv(registry, &problem, 1, ranked, NULL, NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_rank_conv(registry, NULL, 1, ranked, &count, NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_rank_conv(NULL, &problem, 1, ranked, &count, NULL));
    /* A count that no memory has: only as many as there are kernels are written. */
    ANSWERS(CK_STATUS_OK, ck_registry_rank_conv(registry, &problem, SIZE_MAX, ranked, &count, NULL));

    ANSWERS(CK_STATUS_NOT_FOUND, ck_registry_predict_conv(registry, &problem, SIZE_MAX, &predictions));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_predict_conv(registry, &problem, 0, NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_predict_conv(registry, NULL, 0, &predictions));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_predict_conv(NULL, &problem, 0, &predictions));
    predictions.struct_size = 0;
    ANSWERS(CK_STATUS_INVALID_STRUCT, ck_registry_predict_conv(registry, &problem, 0, &predictions));
    predictions.struct_size = sizeof predictions;

    ANSWERS(CK_STATUS_BUFFER_TOO_SMALL, ck_registry_extract_conv(registry, &problem, 0, 0, NULL, &count));
    CHECK(count > 16 && count <= COUNT(features));
    const size_t columns = count;
    features[0] = -5;
    ANSWERS(CK_STATUS_BUFFER_TOO_SMALL, ck_registry_extract_conv(registry, &problem, 0, columns - 1, features, &count));
    CHECK(features[0] == -5);
    count = 7;
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_extract_conv(registry, &problem, 0, columns, NULL, &count));
    CHECK(count == 7);
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_extract_conv(registry, &problem, 0, columns, features, NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_extract_conv(NULL, &problem, 0, columns, features, &count));

    char *text = NULL;
    GIVES(selection.name, ck_registry_explain_conv(registry, &problem, &text));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_explain_conv(registry, &problem, NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_explain_conv(registry, NULL, &text));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_explain_conv(NULL, &problem, &text));
    CHECK(text == NULL);

    ck_gemm_problem matrix = gemm();
    ANSWERS(CK_STATUS_OK, ck_registry_select_gemm(registry, &matrix, &selection));
    ANSWERS(CK_STATUS_OK, ck_registry_rank_gemm(registry, &matrix, KERNEL_COUNT, ranked, &count, NULL));
    CHECK(count == 2 && ranked[0].index == selection.index);
    ANSWERS(CK_STATUS_NOT_FOUND, ck_registry_predict_gemm(registry, &matrix, 0, &predictions));
    ANSWERS(CK_STATUS_OK,
            ck_registry_extract_gemm(registry, &matrix, selection.index, COUNT(features), features, &count));
    CHECK(features[0] == 128);
    GIVES(selection.name, ck_registry_explain_gemm(registry, &matrix, &text));

    /* An override that cannot be followed is an error, never passed over. */
    const char *rules = path_in(scratch, "rules.txt");
    write_file(rules, "N=16,C=256,K=128,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1 -> grouped_conv_of_my_own\n");
    ck_options options = quiet_options();
    options.override_file = rules;
    ANSWERS(CK_STATUS_OK, ck_registry_set_options(registry, &options));
    const ck_selection kept = selection;
    ANSWERS(CK_STATUS_OVERRIDE_FAILED, ck_registry_select_conv(registry, &problem, &selection));
    CHECK(memcmp(&kept, &selection, sizeof kept) == 0);
    CHECK(strstr(ck_last_error(), "grouped_conv_of_my_own") != NULL);
    ck_registry_destroy(registry);
}

typedef struct {
    int lines;
    int of_search;
} log_count;

static void count_line(int32_t level, const char *source, const char *text, void *user) {
    log_count *count = user;
    CHECK(level >= CK_LOG_LEVEL_ERROR && level <= CK_LOG_LEVEL_TRACE && text != NULL && text[0] != '\0');
    count->lines += 1;
    count->of_search += strcmp(source, "search") == 0;
}

/* What a name says goes over what is there, and the rest stays. */
static void names_describe_kernels(void) {
    USUAL(ck_conv_kernel_desc, desc);
    desc.wave[0] = 4;
    desc.dtype_out = CK_DTYPE_FP32;
    ANSWERS(CK_STATUS_OK, ck_conv_kernel_desc_read_name(
                              &desc, "grouped_conv_bwd_data_fp16_3d_64x128x32_comp_async_interwave_gm4_dsb"));
    CHECK(desc.dtype_in == CK_DTYPE_FP16 && strcmp(desc.pipeline, "comp_async") == 0 && desc.num_groups_to_merge == 4);
    CHECK(desc.wave[0] == 4 && desc.dtype_out == CK_DTYPE_FP32);
    ANSWERS(CK_STATUS_INVALID_KERNEL, ck_conv_kernel_desc_read_name(&desc, "my_own_kernel"));
    CHECK(desc.num_groups_to_merge == 4);
    ANSWERS(CK_STATUS_NULL_POINTER, ck_conv_kernel_desc_read_name(NULL, "x"));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_conv_kernel_desc_read_name(&desc, NULL));
    desc.struct_size = 1;
    ANSWERS(CK_STATUS_INVALID_STRUCT, ck_conv_kernel_desc_read_name(&desc, "x"));
}

/* Attention: kernels by descriptor, the estimate's choice, and what the others have, too. */
static void attention_is_chosen(void) {
    ck_registry *registry = NULL;
    ck_options options = quiet_options();
    options.arch = "gfx950";
    ANSWERS(CK_STATUS_OK, ck_registry_create(&options, &registry));
    ck_fmha_kernel_desc descs[2];
    for (int at = 0; at < 2; ++at) {
        ANSWERS(CK_STATUS_OK, ck_fmha_kernel_desc_init(&descs[at]));
        const int32_t tile[6] = {at == 0 ? 16 : 128, 64, 32, 128, 32, 128};
        memcpy(descs[at].tile, tile, sizeof tile);
        descs[at].name = at == 0 ? "low" : "tall";
        descs[at].pipeline = "qr";
        descs[at].hdim_q = descs[at].hdim_v = 128;
    }
    ANSWERS(CK_STATUS_OK, ck_registry_add_fmha_kernels(registry, descs, NULL, 2));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_add_folder(registry, NULL, NULL));
    ANSWERS(CK_STATUS_IO, ck_registry_add_folder(registry, "no such folder", NULL));
    /* This library carries no forest. */
    CHECK(isnan(ck_uhd_score(NULL, 0)));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_fmha_problem_init(NULL));
    USUAL(ck_fmha_problem, problem);
    problem.seqlen_q = problem.seqlen_k = 8192;
    problem.nhead_q = problem.nhead_k = 32;
    problem.hdim_q = problem.hdim_v = 128;
    SIZED(ck_selection, selection);
    ANSWERS(CK_STATUS_OK, ck_registry_select_fmha(registry, &problem, &selection));
    CHECK(selection.source == CK_SOURCE_ESTIMATE && selection.name != NULL && strcmp(selection.name, "tall") == 0);
    problem.hdim_q = 256;
    ANSWERS(CK_STATUS_NO_KERNEL, ck_registry_select_fmha(registry, &problem, &selection));
    problem.hdim_q = 128;
    problem.mask = 99;
    ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_registry_select_fmha(registry, &problem, &selection));
    problem.mask = 0;
    char *text = NULL;
    GIVES("softmax", ck_registry_explain_fmha(registry, &problem, &text));
    int64_t splits = 0;
    ANSWERS(CK_STATUS_OK, ck_registry_choose_fmha_splits(registry, &problem, 64, &splits));
    CHECK(splits == 1);
    ck_ranked ranked[2];
    ranked[0].struct_size = sizeof ranked[0];
    SIZED(ck_predictions, predictions);
    size_t count = 0;
    double features[4];
    ANSWERS(CK_STATUS_OK, ck_registry_rank_fmha(registry, &problem, 2, ranked, &count, NULL));
    CHECK(count > 0 && ranked[0].source == CK_SOURCE_ESTIMATE && strcmp(ranked[0].name, "tall") == 0);
    /* What only a model can answer. */
    ANSWERS(CK_STATUS_NO_MODEL, ck_registry_predict_fmha(registry, &problem, 0, &predictions));
    ANSWERS(CK_STATUS_NO_MODEL, ck_registry_extract_fmha(registry, &problem, 0, 4, features, &count));
    ck_registry_destroy(registry);
}

/* Mixtures of experts: by the rows of each expert. */
static void experts_are_routed(void) {
    ck_registry *registry = NULL;
    ck_options options = quiet_options();
    options.arch = "sm_90";
    ANSWERS(CK_STATUS_OK, ck_registry_create(&options, &registry));
    ck_moe_kernel_desc descs[2];
    for (int at = 0; at < 2; ++at) {
        ANSWERS(CK_STATUS_OK, ck_moe_kernel_desc_init(&descs[at]));
        descs[at].name = at == 0 ? "low" : "tall";
        descs[at].library = 1;
        descs[at].tile[0] = at == 0 ? 16 : 128;
        descs[at].tile[1] = 128;
        descs[at].tile[2] = 64;
        descs[at].stages = 3;
    }
    ANSWERS(CK_STATUS_OK, ck_registry_add_moe_kernels(registry, descs, NULL, 2));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_moe_problem_init(NULL));
    USUAL(ck_moe_problem, problem);
    problem.tokens = 512;
    problem.experts = 64;
    problem.topk = 4;
    problem.n = 2816;
    problem.k = 2048;
    problem.dtype_a = problem.dtype_b = CK_DTYPE_BF16;
    const int32_t rows[4] = {512, 512, 512, 512};
    problem.histogram = rows;
    problem.histogram_count = 4;
    SIZED(ck_selection, selection);
    ANSWERS(CK_STATUS_OK, ck_registry_select_moe(registry, &problem, &selection));
    CHECK(selection.source == CK_SOURCE_ESTIMATE && strcmp(selection.name, "tall") == 0);
    problem.histogram_count = 3;
    ANSWERS(CK_STATUS_INVALID_PROBLEM, ck_registry_select_moe(registry, &problem, &selection));
    problem.histogram = NULL;
    char *text = NULL;
    GIVES("memory", ck_registry_explain_moe(registry, &problem, &text));
    ck_ranked ranked[2];
    ranked[0].struct_size = sizeof ranked[0];
    SIZED(ck_predictions, predictions);
    size_t count = 0;
    double features[4];
    ANSWERS(CK_STATUS_OK, ck_registry_rank_moe(registry, &problem, 2, ranked, &count, NULL));
    CHECK(count == 2 && ranked[0].source == CK_SOURCE_ESTIMATE);
    ANSWERS(CK_STATUS_NO_MODEL, ck_registry_predict_moe(registry, &problem, 0, &predictions));
    ANSWERS(CK_STATUS_NO_MODEL, ck_registry_extract_moe(registry, &problem, 0, 4, features, &count));
    ck_registry_destroy(registry);
}

/* What is built upon the library writes to the same log. */
static void others_write_to_the_log(void) {
    log_count count = {0, 0};
    ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_log_set_callback(6, count_line, &count));
    ANSWERS(CK_STATUS_OK, ck_log_set_callback(CK_LOG_LEVEL_WARN, count_line, &count));
    ANSWERS(CK_STATUS_OK, ck_log(CK_LOG_LEVEL_WARN, "search", "a line"));
    ANSWERS(CK_STATUS_OK, ck_log(CK_LOG_LEVEL_ERROR, "test", "a line"));
    ANSWERS(CK_STATUS_OK, ck_log(CK_LOG_LEVEL_INFO, "test", "below the level"));
    CHECK(count.lines == 2 && count.of_search == 1);
    ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_log(9, "test", "a line"));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_log(CK_LOG_LEVEL_WARN, NULL, "a line"));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_log(CK_LOG_LEVEL_WARN, "test", NULL));
    ANSWERS(CK_STATUS_OK, ck_log_set_callback(CK_LOG_LEVEL_WARN, NULL, NULL));
    ANSWERS(CK_STATUS_OK, ck_log(CK_LOG_LEVEL_ERROR, "test", "to nobody"));
    CHECK(count.lines == 2);
}

static void kernels_are_exported(void) {
    ck_registry *registry = full_registry();
    char *text = NULL;
    USUAL(ck_export_options, mine);
    mine.registry_name = "mine";
    mine.timestamp = "2026-01-31T12:00:00";
    mine.statistics = 1;
    GIVES("\"mine\"", ck_registry_export_json(registry, CK_OP_CONV, &mine, &text));
    ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_registry_export_json(registry, 4, NULL, &text));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_export_json(registry, CK_OP_GEMM, NULL, NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_registry_export_json(NULL, CK_OP_GEMM, NULL, &text));
    mine.registry_name = NOT_UTF8;
    ANSWERS(CK_STATUS_NOT_UTF8, ck_registry_export_json(registry, CK_OP_GEMM, &mine, &text));
    mine.reserved = 1;
    ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_registry_export_json(registry, CK_OP_GEMM, &mine, &text));
    mine.struct_size = sizeof mine - 1;
    ANSWERS(CK_STATUS_INVALID_STRUCT, ck_registry_export_json(registry, CK_OP_GEMM, &mine, &text));
    CHECK(text == NULL);
    ck_registry_destroy(registry);
}

static ck_column column(const char *name) {
    SIZED(ck_column, made);
    made.name = name;
    return made;
}

#define BYTES(text) (const uint8_t *)(text), strlen(text)

/* Rows of named cells: one forest, a table of kernels, and a problem as JSON. */
static void rows_are_scored(const char *root) {
    const char *directory = path_in(root, "tests/golden/models/gemm_small");
    const char *const problem = "{\"m\": 128, \"n\": 1536, \"k\": 7168, \"dtype\": \"fp8\", \"layout\": \"rcr\"}";
    ck_row_options options = row_options();

    char *text = NULL;
    GIVES("\"gemm_universal\"", ck_spec_describe(directory, &options, &text));
    ANSWERS(CK_STATUS_INVALID_MODEL, ck_spec_describe("/there/is/no/such/model", NULL, &text));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_spec_describe(directory, NULL, NULL));

    const char *const kernel = "grouped_conv_forward_bf16_2d_16x64x128_mem_interwave_dsb";
    GIVES("\"gemm_n_per_block\":128", ck_kernel_cells(kernel, &text));
    ANSWERS(CK_STATUS_INVALID_KERNEL, ck_kernel_cells("grouped_conv_forward", &text));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_kernel_cells(NULL, &text));
    const char request[] = "{\"kernels\": [\"grouped_conv_forward_bf16_2d_64x64x64_compv3\"], \"arch\": \"MI300X\","
                           " \"problem\": \"C=64,K=64,Hi=56,Wi=56,Y=3,X=3\"}";
    GIVES("\"time_us\":", ck_estimate_table((const uint8_t *)request, sizeof request - 1, &text));
    ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_estimate_table((const uint8_t *)request, 5, &text));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_estimate_table(NULL, 5, &text));

    ck_model *model = NULL;
    ANSWERS(CK_STATUS_NULL_POINTER, ck_model_create(directory, NULL, NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_model_create(NULL, NULL, &model));
    IF_ROWS(CK_STATUS_NOT_FOUND, target, CK_TARGET_RELATIVE);
    IF_ROWS(CK_STATUS_INVALID_ARGUMENT, engine, "magic");
    IF_ROWS(CK_STATUS_INVALID_ARGUMENT, hardware, "[1]");
    CHECK(model == NULL);
    options = row_options();
    options.uncoded = CK_UNCODED_UPSTREAM;
    options.engine = "gemm72";
    options.hardware = "{\"num_cus\": 256}";
    ANSWERS(CK_STATUS_OK, ck_model_create(directory, &options, &model));
    CHECK(model != NULL);

    double value = -1;
    ANSWERS(CK_STATUS_OK, ck_model_predict_row(model, BYTES(problem), &value));
    CHECK(value > 0);
    ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_model_predict_row(model, BYTES("[]"), &value));
    ANSWERS(CK_STATUS_INVALID_PROBLEM, ck_model_predict_row(model, BYTES("{\"m\": \"x\"}"), &value));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_model_predict_row(NULL, BYTES(problem), &value));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_model_predict_row(model, BYTES(problem), NULL));

    const int64_t tiles[3] = {64, 128, 256};
    const double depths[3] = {64, NAN, 128};
    const int32_t codes[3] = {1, -1, 0};
    const char words[] = "mem\0compv3"; /* with the NUL at its end */
    ck_column columns[4] = {column("tile_m"), column("tile_k"), column("pipeline"), column("not an input")};
    columns[0].integers = tiles;
    columns[1].numbers = depths;
    columns[2].codes = codes;
    columns[2].words = words;
    columns[2].word_bytes = sizeof words;
    columns[3].numbers = depths;
    double values[3] = {-1, -1, -1};
    ANSWERS(CK_STATUS_OK, ck_model_predict_rows(model, columns, 4, 3, values));
    CHECK(values[0] >= 0 && values[1] >= 0 && values[2] >= 0);
    ANSWERS(CK_STATUS_OK, ck_model_predict_rows(model, NULL, 0, 0, NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_model_predict_rows(model, columns, 4, 3, NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_model_predict_rows(model, NULL, 1, 3, values));

    double features[3 * 72];
    ANSWERS(CK_STATUS_BUFFER_TOO_SMALL, ck_model_extract_rows(model, columns, 4, 3, 3 * 72 - 1, features));
    ANSWERS(CK_STATUS_OK, ck_model_extract_rows(model, columns, 4, 3, 3 * 72, features));
    CHECK(features[13] == 64 && features[72 + 13] == 128 && features[144 + 13] == 256 && features[72 + 15] == 64);

    /* An engine without a model computes the same. */
    double bare[3 * 72];
    GIVES("\"has_padding_when_needed_m\"", ck_engine_describe(&options, &text));
    ANSWERS(CK_STATUS_BUFFER_TOO_SMALL, ck_engine_extract_rows(&options, columns, 4, 3, 3 * 72 - 1, bare));
    ANSWERS(CK_STATUS_OK, ck_engine_extract_rows(&options, columns, 4, 3, 3 * 72, bare));
    CHECK(memcmp(bare, features, sizeof bare) == 0);
    double one[72];
    ANSWERS(CK_STATUS_OK, ck_engine_extract_row(&options, BYTES("{\"m\": 16, \"pad_m\": true}"), 72, one));
    CHECK(one[0] == 16);
    ANSWERS(CK_STATUS_BUFFER_TOO_SMALL, ck_engine_extract_row(&options, BYTES("{}"), 71, one));
    ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_engine_extract_row(&options, BYTES("["), 72, one));
    options.engine = NULL;
    ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_engine_describe(&options, &text));
    ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_engine_describe(NULL, &text));
    options.engine = "gemm72";
    ANSWERS(CK_STATUS_NULL_POINTER, ck_engine_describe(&options, NULL));

    /* A forest by itself takes such features. */
    ck_forest *forest = NULL;
    size_t width = 0;
    ANSWERS(CK_STATUS_OK, ck_forest_create(path_in(directory, "model_tflops.lgbm.gz"), &forest));
    ANSWERS(CK_STATUS_INVALID_MODEL, ck_forest_create("/there/is/no/such/forest", &forest));
    ANSWERS(CK_STATUS_OK, ck_forest_width(forest, &width));
    CHECK(width == 72);
    double raw[3];
    ANSWERS(CK_STATUS_OK, ck_forest_predict(forest, features, 3, 72, raw));
    CHECK(expm1(raw[0]) == values[0] && expm1(raw[1]) == values[1] && expm1(raw[2]) == values[2]);
    ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_forest_predict(forest, features, 3, 71, raw));
    ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_forest_predict(forest, features, SIZE_MAX, 72, raw));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_forest_predict(forest, NULL, 3, 72, raw));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_forest_predict(NULL, features, 3, 72, raw));
    ck_forest_destroy(forest);
    ck_forest_destroy(NULL);

    ck_pool *pool = NULL;
    ANSWERS(CK_STATUS_NULL_POINTER, ck_pool_create(model, columns, 4, 3, NULL));
    const ck_column pipeline = columns[2];
    IF_COLUMN(CK_STATUS_INVALID_ARGUMENT, numbers, depths);
    IF_COLUMN(CK_STATUS_INVALID_ARGUMENT, word_bytes, sizeof "mem");
    IF_COLUMN(CK_STATUS_INVALID_ARGUMENT, word_bytes, sizeof words - 1);
    IF_COLUMN(CK_STATUS_NULL_POINTER, words, NULL);
    IF_COLUMN(CK_STATUS_NOT_UTF8, name, NOT_UTF8);
    IF_COLUMN(CK_STATUS_INVALID_ARGUMENT, name, "tile_m");
    IF_COLUMN(CK_STATUS_INVALID_KERNEL, name, "tile_n");
    IF_COLUMN(CK_STATUS_INVALID_STRUCT, struct_size, 1);
    columns[2] = pipeline;
    CHECK(pool == NULL);
    /* Rows without cells take upstream's defaults, however many they are said to be. */
    const size_t too_many[] = {(size_t)1 << 40, (size_t)1 << 60, SIZE_MAX};
    for (size_t at = 0; at < COUNT(too_many); ++at) {
        ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_pool_create(model, NULL, 0, too_many[at], &pool));
        ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_model_predict_rows(model, NULL, 0, too_many[at], values));
        ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_model_extract_rows(model, NULL, 0, too_many[at], 3 * 72, features));
    }
    ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_pool_create(model, columns, 4, SIZE_MAX, &pool));
    CHECK(pool == NULL);
    ANSWERS(CK_STATUS_OK, ck_pool_create(model, columns, 4, 3, &pool));
    /* The pool keeps what it needs. */
    ck_model_destroy(model);

    size_t places[3] = {9, 9, 9};
    double scores[3];
    ANSWERS(CK_STATUS_OK, ck_pool_rank(pool, BYTES(problem), 3, places, scores));
    CHECK(places[0] + places[1] + places[2] == 3 && scores[0] >= scores[1] && scores[1] >= scores[2]);
    size_t first = 9;
    double score = -1;
    ANSWERS(CK_STATUS_OK, ck_pool_rank(pool, BYTES(problem), 1, &first, &score));
    CHECK(first == places[0] && score == scores[0]);
    ANSWERS(CK_STATUS_OK, ck_pool_prepare(pool));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_pool_prepare(NULL));
    ANSWERS(CK_STATUS_OK, ck_pool_rank(pool, BYTES(problem), 0, NULL, NULL));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_pool_rank(pool, BYTES(problem), 3, NULL, scores));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_pool_rank(NULL, BYTES(problem), 3, places, scores));
    GIVES("\"slower\":1.0", ck_pool_outlook(pool, BYTES(problem), &text));
    ANSWERS(CK_STATUS_INVALID_PROBLEM, ck_pool_outlook(pool, BYTES("{\"n\": \"x\"}"), &text));
    ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_pool_outlook(pool, BYTES("{"), &text));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_pool_outlook(NULL, BYTES(problem), &text));
    ANSWERS(CK_STATUS_NULL_POINTER, ck_pool_outlook(pool, BYTES(problem), NULL));
    ANSWERS(CK_STATUS_INVALID_PROBLEM, ck_pool_rank(pool, BYTES("{\"n\": \"x\"}"), 3, places, scores));
    ANSWERS(CK_STATUS_INVALID_ARGUMENT, ck_pool_rank(pool, BYTES("{"), 3, places, scores));
    ck_pool_destroy(pool);
    ck_pool_destroy(NULL);

    ck_model_destroy(NULL);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        printf("usage: api REPOSITORY SCRATCH\n");
        return 2;
    }
    versions_and_texts();
    structs_begin_usual();
    options_are_checked(argv[2]);
    kernels_are_added_found_and_removed();
    kernels_are_described();
    exports_are_imported(argv[1]);
    models_are_loaded(argv[1]);
    models_have_keys(argv[1]);
    stores_are_refreshed();
    bad_problems_are_refused();
    selecting(argv[1], argv[2]);
    names_describe_kernels();
    attention_is_chosen();
    experts_are_routed();
    others_write_to_the_log();
    kernels_are_exported();
    rows_are_scored(argv[1]);
    return finish("api");
}
