/* Checks that count, name their line and go on. */
#ifndef CK_SELECT_TESTS_CHECK_H
#define CK_SELECT_TESTS_CHECK_H

#include <stdio.h>
#include <string.h>

static int failures = 0;

#define CHECK(condition)                                               \
    do {                                                               \
        if (!(condition)) {                                            \
            ++failures;                                                \
            printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
        }                                                              \
    } while (0)

/* The call answers this status and, when it fails, says something about it. */
#define ANSWERS(expected, call)                                                                              \
    do {                                                                                                     \
        const int32_t answer_ = (int32_t)(call);                                                             \
        if (answer_ != (int32_t)(expected)) {                                                                \
            ++failures;                                                                                      \
            printf("%s:%d: %s answers %d (%s), expected %s; last error: %s\n", __FILE__, __LINE__, #call,    \
                   (int)answer_, ck_status_text(answer_), #expected, ck_last_error());                       \
        }                                                                                                    \
        if (answer_ != CK_STATUS_OK && ck_last_error()[0] == '\0') {                                         \
            ++failures;                                                                                      \
            printf("%s:%d: %s fails without a message\n", __FILE__, __LINE__, #call);                        \
        }                                                                                                    \
    } while (0)

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A variable whose fields are 0, but for its size. */
#define SIZED(type, name)             \
    type name;                        \
    memset(&(name), 0, sizeof(name)); \
    (name).struct_size = sizeof(name)

/* A variable as its type's init function leaves it. */
#define USUAL(type, name) \
    type name;            \
    ANSWERS(CK_STATUS_OK, type##_init(&(name)))

/* What main returns. */
static int finish(const char *what) {
    if (failures == 0) {
        printf("%s: all right\n", what);
        return 0;
    }
    printf("%s: %d failures\n", what, failures);
    return 1;
}

#endif
