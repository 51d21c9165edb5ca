"""What is measured of this process: one row of numbers, by the names of GAUGES. Linux.

Garbage is collected and malloc's free pages are given back first, so that what is left is held by something, or lies on
a page with what is. "allocated" is what malloc has handed out and not got back, of all arenas, where the C library says
so: while it stays and the resident size grows, the heap has holes and nothing is kept. Timers are those that will run:
cancelled ones stay in the heap of their client until they are most of it.
"""

import ctypes
import gc
import os
import sys
import threading
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kwire._codec import Timer, pool_statistics

_MB = 1024 * 1024
_PAGE = os.sysconf("SC_PAGE_SIZE")
_SETTLES = ("buffer-total-bytes", "buffer-available-bytes")

GAUGES = {
    "resident MB": 8.0,
    "allocated MB": 4.0,
    "descriptors": 3.0,
    "threads": 1.0,
    "Python blocks": 4_000.0,
    "kwire objects": 150.0,
    "timers": 20.0,
    "blocks held MB": 2.0,
    "blocks pooled MB": 4.0,
    "buffered MB": 0.5,
}
"""What may be added in the measured time without being a leak: steps in which a heap grows, connections to further
brokers that clients come to need, and what a producer keeps of each topic that it wrote to."""


_MALLINFO = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")


class _MallInfo(ctypes.Structure):
    """`struct mallinfo2` of glibc 2.33 and later: bytes."""

    _fields_ = tuple((name, ctypes.c_size_t) for name in _MALLINFO)


_libc = ctypes.CDLL(None)
_malloc_trim = getattr(_libc, "malloc_trim", None)
_mallinfo2 = getattr(_libc, "mallinfo2", None)
if _mallinfo2 is not None:
    _mallinfo2.restype = _MallInfo


def _allocated() -> int:
    if _mallinfo2 is None:
        return 0
    info = _mallinfo2()
    return int(info.uordblks) + int(info.hblkhd)


def row(clients: Iterable[Any]) -> dict[str, float]:
    """One sample; `buffered` is what these clients say of their records."""
    gc.collect()
    if _malloc_trim is not None:
        _malloc_trim(ctypes.c_size_t(0))
    pool = pool_statistics()
    objects = [each for each in gc.get_objects() if str(type(each).__module__).startswith("kwire.")]
    timers = [each for each in objects if isinstance(each, Timer)]
    return {
        "resident MB": int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE / _MB,
        "allocated MB": _allocated() / _MB,
        "descriptors": len(os.listdir("/proc/self/fd")),
        "threads": threading.active_count(),
        "Python blocks": sys.getallocatedblocks(),
        "kwire objects": len(objects) - len(timers),
        "timers": sum(timer.active for timer in timers),
        "blocks held MB": pool["live_bytes"] / _MB,
        "blocks pooled MB": pool["pooled_bytes"] / _MB,
        "buffered MB": sum(_buffered(client) for client in clients) / _MB,
    }


def census() -> Counter[str]:
    """The objects that the collector knows, by the names of their classes."""
    kinds = Counter(type(each) for each in gc.get_objects())
    return Counter({f"{kind.__module__}.{kind.__qualname__}": number for kind, number in kinds.items()})


def _buffered(client: Any) -> float:
    metrics = client.metrics()
    total, free = (metrics.get(name, 0.0) for name in _SETTLES)
    return float(total) - float(free)
