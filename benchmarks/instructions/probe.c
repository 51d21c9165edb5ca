/* Callgrind's client requests for Python: `counting.py` compiles this file and calls it by ctypes.
   The requests are the ones of <valgrind/callgrind.h>; outside valgrind they do nothing. */
#include <valgrind/callgrind.h>

int probe_is_under_valgrind(void) { return RUNNING_ON_VALGRIND; }

void probe_start(void) { CALLGRIND_START_INSTRUMENTATION; }

void probe_zero(void) { CALLGRIND_ZERO_STATS; }

void probe_dump(const char *name) { CALLGRIND_DUMP_STATS_AT(name); }
