/* A test double of libamdhip64: the functions that ck_select uses, on a device that tests script.
 *
 * One stream, in the time of the clock; a kernel is an amount of time that the stream is busy. An event is reached
 * when the stream has come so far, and times between events are exactly the scripted ones. All state is per thread,
 * so that tests can run side by side.
 *
 * Built several times: HIP_MAJOR chooses the version (the layout of the properties, what the last error means), and
 * WITHOUT_EVENT_QUERY leaves a function out. */

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#ifndef HIP_MAJOR
#define HIP_MAJOR 6
#endif

enum { SUCCESS = 0, INVALID_VALUE = 1, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_HANDLE = 400, NOT_READY = 600 };
enum { MAX_EVENTS = 64, MAX_FAULTS = 8 };

struct event { int live, recorded; double reached_ms, busy_ms; };
struct fault { char function[48]; int code; };

struct device {
    int count, current, capturing, last_error;
    double free_ms; /* when the stream is idle, by the clock */
    double busy_ms; /* all work that the stream was given */
    struct event events[MAX_EVENTS];
    struct fault faults[MAX_FAULTS];
};

static _Thread_local struct device device = {.count = 1};

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* What a call answers, unless the script says otherwise. */
static int answer(const char *function, int code) {
    for (int i = 0; i < MAX_FAULTS; i++) {
        if (strcmp(device.faults[i].function, function) == 0) {
            code = device.faults[i].code;
            device.faults[i].function[0] = 0;
            break;
        }
    }
    /* Until version 6 the last error is the last answer, whatever it was. */
    if (HIP_MAJOR < 7 || (code != SUCCESS && code != NOT_READY)) device.last_error = code;
    return code;
}

static struct event *event_of(void *handle) {
    size_t index = (size_t)handle - 1;
    return index < MAX_EVENTS && device.events[index].live ? &device.events[index] : NULL;
}

/* The script. */

void hip_double_launch(double ms) {
    double now = now_ms();
    device.free_ms = (device.free_ms > now ? device.free_ms : now) + ms;
    device.busy_ms += ms;
}
void hip_double_fail_next(const char *function, int code) {
    for (int i = 0; i < MAX_FAULTS; i++) {
        if (device.faults[i].function[0] == 0) {
            snprintf(device.faults[i].function, sizeof device.faults[i].function, "%s", function);
            device.faults[i].code = code;
            return;
        }
    }
}
void hip_double_set_last_error(int code) { device.last_error = code; }
void hip_double_set_count(int count) { device.count = count; }
void hip_double_set_current(int index) { device.current = index; }
void hip_double_set_capturing(int capturing) { device.capturing = capturing; }
int hip_double_last_error(void) { return device.last_error; }
int hip_double_live_events(void) {
    int live = 0;
    for (int i = 0; i < MAX_EVENTS; i++) live += device.events[i].live;
    return live;
}

/* The runtime. */

const char *hipGetErrorName(int code) {
    switch (code) {
    case SUCCESS: return "hipSuccess";
    case INVALID_VALUE: return "hipErrorInvalidValue";
    case 98: return "hipErrorInvalidDeviceFunction";
    case NO_DEVICE: return "hipErrorNoDevice";
    case INVALID_DEVICE: return "hipErrorInvalidDevice";
    case INVALID_HANDLE: return "hipErrorInvalidHandle";
    case NOT_READY: return "hipErrorNotReady";
    case 719: return "hipErrorLaunchFailure";
    default: return "hipErrorUnknown";
    }
}

int hipGetLastError(void) {
    int code = device.last_error;
    device.last_error = SUCCESS;
    return code;
}

int hipRuntimeGetVersion(int *version) {
    *version = HIP_MAJOR * 10000000 + 2 * 100000 + 34;
    return answer("hipRuntimeGetVersion", SUCCESS);
}

int hipDriverGetVersion(int *version) {
    *version = HIP_MAJOR * 10000000 + 2 * 100000 + 35;
    return answer("hipDriverGetVersion", SUCCESS);
}

int hipGetDeviceCount(int *count) {
    *count = device.count;
    return answer("hipGetDeviceCount", device.count < 0 ? NO_DEVICE : SUCCESS);
}

int hipGetDevice(int *index) {
    *index = device.current;
    return answer("hipGetDevice", device.count > 0 ? SUCCESS : INVALID_DEVICE);
}

int hipDeviceGetName(char *name, int room, int index) {
    if (index < 0 || index >= device.count) return answer("hipDeviceGetName", INVALID_DEVICE);
    snprintf(name, (size_t)room, "Test Double %d", index);
    return answer("hipDeviceGetName", SUCCESS);
}

int hipDeviceGetPCIBusId(char *id, int room, int index) {
    snprintf(id, (size_t)room, "0000:c%d:00.0", index);
    return answer("hipDeviceGetPCIBusId", SUCCESS);
}

int hipDeviceGetAttribute(int *value, int attribute, int index) {
    (void)index;
    switch (attribute) {
    case 5: *value = 2100000; break;
    case 19: *value = 4 << 20; break;
    case 59: *value = 8192; break;
    case 60: *value = 1300000; break;
    case 63: *value = 304; break;
    case 74: *value = 65536; break;
    case 87: *value = 64; break;
    default: return answer("hipDeviceGetAttribute", INVALID_VALUE);
    }
    return answer("hipDeviceGetAttribute", SUCCESS);
}

/* Filled with a wrong target everywhere but where its layout has it. */
static int properties(void *room, size_t size, size_t offset, const char *function) {
    for (size_t i = 0; i + 8 <= size; i += 8) memcpy((char *)room + i, "gfxBAD\0", 8);
    snprintf((char *)room + offset, 256, "gfx942:sramecc+:xnack-");
    return answer(function, SUCCESS);
}

int hipGetDeviceProperties(void *room, int index) {
    (void)index;
    return properties(room, 792, 396, "hipGetDeviceProperties");
}

#if HIP_MAJOR >= 6
int hipGetDevicePropertiesR0600(void *room, int index) {
    (void)index;
    return properties(room, 1472, 1160, "hipGetDevicePropertiesR0600");
}
#endif

int hipEventCreate(void **handle) {
    int code = answer("hipEventCreate", SUCCESS);
    if (code != SUCCESS) return code;
    for (size_t i = 0; i < MAX_EVENTS; i++) {
        if (!device.events[i].live) {
            device.events[i] = (struct event){.live = 1};
            *handle = (void *)(i + 1);
            return SUCCESS;
        }
    }
    return answer("hipEventCreate", 2);
}

int hipEventDestroy(void *handle) {
    struct event *event = event_of(handle);
    if (event) event->live = 0;
    return answer("hipEventDestroy", event ? SUCCESS : INVALID_HANDLE);
}

int hipEventRecord(void *handle, void *stream) {
    (void)stream;
    struct event *event = event_of(handle);
    int code = answer("hipEventRecord", event ? SUCCESS : INVALID_HANDLE);
    if (code == SUCCESS) {
        double now = now_ms();
        *event = (struct event){1, 1, device.free_ms > now ? device.free_ms : now, device.busy_ms};
    }
    return code;
}

#ifndef WITHOUT_EVENT_QUERY
int hipEventQuery(void *handle) {
    struct event *event = event_of(handle);
    if (!event) return answer("hipEventQuery", INVALID_HANDLE);
    return answer("hipEventQuery", event->reached_ms <= now_ms() ? SUCCESS : NOT_READY);
}
#endif

int hipEventElapsedTime(float *ms, void *start_handle, void *stop_handle) {
    struct event *start = event_of(start_handle), *stop = event_of(stop_handle);
    if (!start || !stop || !start->recorded || !stop->recorded) return answer("hipEventElapsedTime", INVALID_HANDLE);
    if (stop->reached_ms > now_ms()) return answer("hipEventElapsedTime", NOT_READY);
    *ms = (float)(stop->busy_ms - start->busy_ms);
    return answer("hipEventElapsedTime", SUCCESS);
}

int hipStreamIsCapturing(void *stream, int *status) {
    (void)stream;
    *status = device.capturing;
    return answer("hipStreamIsCapturing", SUCCESS);
}
