/* The coarse clocks that send() stamps records with: a tick of 1 to 4 ms, a few nanoseconds to read, no system call.
 * The one place of the extension that knows a clock; whoever wants virtual time sets it instead (Accumulator.set_clock).
 */
#ifndef KWIRE_CLOCK_H
#define KWIRE_CLOCK_H

#include <stdint.h>
#include <time.h>

#ifdef CLOCK_REALTIME_COARSE
#define KW_WALL_CLOCK CLOCK_REALTIME_COARSE
#define KW_MONOTONIC_CLOCK CLOCK_MONOTONIC_COARSE
#else
#define KW_WALL_CLOCK CLOCK_REALTIME
#define KW_MONOTONIC_CLOCK CLOCK_MONOTONIC
#endif

static inline int64_t kw_wall_milliseconds(void) {
    struct timespec t;
    clock_gettime(KW_WALL_CLOCK, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static inline double kw_monotonic_seconds(void) {
    struct timespec t;
    clock_gettime(KW_MONOTONIC_CLOCK, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#endif
