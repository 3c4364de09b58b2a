/* Kernels that are none: their times and their faults follow from their names and problems, so that a test knows what a
 * sweep has to find. */

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum fault { NONE, CRASH, HANG, GARBAGE, FLOOD, EXIT, NOT_A_TIME, UNSUPPORTED };

/* FNV-1a over `<name>|<a>,<b>,<c>|<salt>`. */
static uint64_t fake_hash(const char *name, long long a, long long b, long long c, const char *salt) {
    char text[512];
    snprintf(text, sizeof text, "%s|%lld,%lld,%lld|%s", name, a, b, c, salt);
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char *p = text; *p; p++) hash = (hash ^ (unsigned char)*p) * 0x100000001b3u;
    return hash >> 16;
}

static long fake_setting(const char *name) {
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

/* Milliseconds, exact in a float. */
static double fake_ms(const char *name, long long a, long long b, long long c) {
    return (double)(1 + fake_hash(name, a, b, c, "ms") % 99991) / 1024.0;
}

/* FAKE_FAULTS of a thousand pairs have a fault; hangs and floods cost time, so there are few. */
static enum fault fake_fault(const char *name, long long a, long long b, long long c) {
    if ((long)(fake_hash(name, a, b, c, "fault") % 1000) >= fake_setting("FAKE_FAULTS")) return NONE;
    switch (fake_hash(name, a, b, c, "kind") % 40) {
    case 0: return HANG;
    case 1: return FLOOD;
    default: break;
    }
    static const enum fault cheap[] = {CRASH, GARBAGE, EXIT, NOT_A_TIME, UNSUPPORTED};
    return cheap[fake_hash(name, a, b, c, "cheap") % 5];
}

/* A child that never ends, as real programs leave behind when they crash. */
static void fake_leave_child(void) {
    if (fork() == 0) {
        for (;;) pause();
    }
}

static void fake_crash(void) {
    fake_leave_child();
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
}

static void fake_hang(void) {
    fake_leave_child();
    /* Politeness does not help against a hang. */
    signal(SIGTERM, SIG_IGN);
    for (;;) pause();
}
