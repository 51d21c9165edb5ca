/* The clocks of the extension, and the one place that knows any. A record is stamped by the time of day as time.time()
 * reads it: by the coarse one, which lags up to a tick (1 to 10 ms), it would seem to be older than the call of send().
 * send() times its batches with the coarse monotonic clock, a few nanoseconds to read. The reactor reads the fine one,
 * which is Python's time.monotonic. None is a system call. Tests in virtual time set them (Accumulator.set_clock).
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
#ifdef CLOCK_MONOTONIC_COARSE
#define KW_COARSE_CLOCK CLOCK_MONOTONIC_COARSE
#else
#define KW_COARSE_CLOCK KW_FINE_CLOCK
#endif

static inline int64_t kw_wall_milliseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
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
