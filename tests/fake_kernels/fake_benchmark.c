/* A benchmark executable as upstream builds them: flags in, JSON out. Its kernel is the one of its own name. */

#include "model.h"

static long long flag(int count, char **words, const char *name) {
    size_t length = strlen(name);
    for (int i = 1; i < count; i++) {
        if (strncmp(words[i], name, length) == 0) return atoll(words[i] + length);
    }
    fprintf(stderr, "flag %s is missing\n", name);
    exit(64);
}

int main(int count, char **words) {
    const char *name = strrchr(words[0], '/');
    name = name ? name + 1 : words[0];
    if (strncmp(name, "benchmark_", 10) == 0) name += 10;
    long long m = flag(count, words, "-m="), n = flag(count, words, "-n="), k = flag(count, words, "-k=");
    flag(count, words, "-warmup=");
    flag(count, words, "-repeat=");
    if (fake_setting("FAKE_SLEEP_MS")) usleep((useconds_t)fake_setting("FAKE_SLEEP_MS") * 1000);
    /* Starts in a file, for tests that count them. */
    const char *starts = getenv("FAKE_STARTS");
    if (starts) {
        FILE *file = fopen(starts, "a");
        if (file) {
            fprintf(file, "%s %lld,%lld,%lld\n", name, m, n, k);
            fclose(file);
        }
    }
    double ms = fake_ms(name, m, n, k), tflops = 2.0 * (double)m * (double)n * (double)k / ms / 1e9;
    switch (fake_fault(name, m, n, k)) {
    case CRASH: fake_crash(); break;
    case HANG: fake_hang(); break;
    case GARBAGE: puts("{\"perf_result\": \"soon\", }"); return 0;
    case FLOOD:
        for (;;) puts("all work and no play makes a dull kernel, all work and no play makes a dull kernel");
    case EXIT: fputs("HIP error: out of memory\n", stderr); return 3;
    case NOT_A_TIME: ms = tflops = (double)0 / (double)fake_setting("FAKE_ZERO"); break;
    case UNSUPPORTED: fputs("Arguments are not supported!\n", stderr); return 1;
    case NONE: break;
    }
    printf("Run %s\n{\n  \"name\": \"%s\",\n", name, name);
    printf("  \"problem\": {\"split_k\": 1, \"m\": %lld, \"n\": %lld, \"k\": %lld},\n", m, n, k);
    printf("  \"perf_result\": {\"latency(ms)\": %.17g, \"tflops(TFlops)\": %.17g, \"bandwidth(GB/s)\": %.17g}\n}\n",
           ms, tflops, 12.5);
    return 0;
}
