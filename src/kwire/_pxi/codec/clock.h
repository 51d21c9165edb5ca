/* The clocks of the extension, and the one place that knows any. A record is stamped by the time of day as time.time()
 * reads it: by the coarse one, which lags up to a tick (1 to 10 ms), it would seem to be older than the call of send().
 * send() times its batches with the coarse monotonic clock, a few nanoseconds to read. The reactor reads the fine one,
 * which is Python's time.monotonic. None is a system call. Tests in virtual time set them (Accumulator.set_clock).
 */
#ifndef KWIRE_CLOCK_H
#define KWIRE_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "tricks.h"

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

static inline int64_t kw_nanoseconds_of(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#if defined(__x86_64__) && !KW_PLAIN

#include <cpuid.h>

/* Whether the processor's counter goes on while the processor sleeps: an invariant one does. Hypervisors hide that bit
 * from machines that may migrate, and run on processors that have it. */
static inline int kw_counter_goes_on(void) {
    unsigned int a, b, c, d;
    if (__get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1)) return 1;
    return __get_cpuid(1, &a, &b, &c, &d) && (c >> 31 & 1);
}

/* The last reading, and for how many ticks of the processor's counter its millisecond surely lasts: to read the counter,
 * which has a tick in each nanosecond or more, takes half as long. Where it had fewer since the reading before, it is a
 * slow one, or the time of day was set. Guarded by the GIL. KWIRE_PLAIN (tricks.h) does without. */
static struct { int64_t read_ns; uint64_t read_at, lasts; int goes_on; } kw_millisecond;

static inline int64_t kw_wall_milliseconds(void) {
    uint64_t at = __builtin_ia32_rdtsc();
    uint64_t passed = at - kw_millisecond.read_at;
    if (passed >= kw_millisecond.lasts) {
        int64_t now_ns = kw_nanoseconds_of(CLOCK_REALTIME);
        int64_t passed_ns = now_ns - kw_millisecond.read_ns;
        if (kw_millisecond.read_at == 0) kw_millisecond.goes_on = kw_counter_goes_on();
        kw_millisecond.lasts = kw_millisecond.goes_on && 0 <= passed_ns && (uint64_t)passed_ns <= passed
            ? 1000000 - now_ns % 1000000 : 0;
        kw_millisecond.read_ns = now_ns;
        kw_millisecond.read_at = at;
    }
    return kw_millisecond.read_ns / 1000000;
}

#else

static inline int64_t kw_wall_milliseconds(void) { return kw_nanoseconds_of(CLOCK_REALTIME) / 1000000; }

#endif

static inline double kw_seconds_of(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline double kw_coarse_seconds(void) { return kw_seconds_of(KW_COARSE_CLOCK); }

static inline double kw_fine_seconds(void) { return kw_seconds_of(KW_FINE_CLOCK); }

#endif
