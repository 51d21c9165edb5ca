"""What runs under valgrind: calls each loop N and 2N times and has callgrind write its count after each.

    valgrind --tool=callgrind --instr-atstart=no ... python -m benchmarks.instructions.counting PROBE [NAME ...]

PROBE is `probe.c` compiled. A count is named "NAME xTIMES" in callgrind's files; the difference of both is N calls
without what surrounds them. The collector runs as it does for users, but not over what was there before.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable

from benchmarks.instructions.loops import every_loop

TIMES = 2


def main(probe_path: str, names: list[str]) -> None:
    """Counts the loops of these names, or all."""
    probe = ctypes.CDLL(probe_path)
    if not probe.probe_is_under_valgrind():
        raise SystemExit("counting works under valgrind only: python -m benchmarks.instructions")
    loops = {name: loop for name, loop in every_loop().items() if not names or name in names}
    for loop in loops.values():
        loop.call()
    gc.collect()
    gc.freeze()
    probe.probe_start()
    for name, loop in loops.items():
        _repeat(loop.call, TIMES)
        for times in (TIMES, 2 * TIMES):
            gc.collect()
            probe.probe_zero()
            _repeat(loop.call, times)
            probe.probe_dump(f"{name} x{times}".encode())


def _repeat(call: Callable[[], object], times: int) -> None:
    for _ in range(times):
        call()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
