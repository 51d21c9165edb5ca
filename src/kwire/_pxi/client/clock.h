/* The clocks of the extension, and the one place that knows any. send() stamps records with the coarse ones: a tick of
 * 1 to 4 ms, a few nanoseconds to read, no system call. The reactor reads the fine one, which is Python's time.monotonic.
 * Tests in virtual time set it instead (Accumulator.set_clock).
 */
#ifndef KWIRE_CLOCK_H
#define KWIRE_CLOCK_H

#include <stdint.h>
#include <time.h>

#ifdef CLOCK_UPTIME_RAW
#define KW_FINE_CLOCK CLOCK_UPTIME_RAW
#else
#define KW_FINE_CLOCK CLOCK_MONOTONIC
#endif
#ifdef CLOCK_REALTIME_COARSE
#define KW_WALL_CLOCK CLOCK_REALTIME_COARSE
#define KW_COARSE_CLOCK CLOCK_MONOTONIC_COARSE
#else
#define KW_WALL_CLOCK CLOCK_REALTIME
#define KW_COARSE_CLOCK KW_FINE_CLOCK
#endif

static inline int64_t kw_wall_milliseconds(void) {
    struct timespec t;
    clock_gettime(KW_WALL_CLOCK, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static inline double kw_seconds_of(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline double kw_coarse_seconds(void) { return kw_seconds_of(KW_COARSE_CLOCK); }

static inline double kw_fine_seconds(void) { return kw_seconds_of(KW_FINE_CLOCK); }

#endif
