"""Bytes that end where memory ends: reading one byte beyond them crashes the process instead of finding something.

`guarded` copies bytes to the end of a page that is followed by one without any access. A bytes object will not do: a
zero follows it, and kwire's own blocks are rounded up. A crash is looked for with `runs_in_a_process`, which calls a
function of a test module in a process of its own, on a budget of processor time if it is to be seen that the work
does not grow with the square of its input. Linux and other systems with `mprotect`.
"""

from __future__ import annotations

import ctypes
import mmap
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_NO_ACCESS = 0


def guarded(data: bytes) -> memoryview:
    """A read-only view of a copy of `data` whose last byte is the last one of an accessible page."""
    page = mmap.PAGESIZE
    size = -(-len(data) // page) * page
    memory = mmap.mmap(-1, size + page)
    memory[size - len(data) : size] = data
    _forbid(ctypes.addressof(ctypes.c_char.from_buffer(memory)) + size, page)
    return memoryview(memory)[size - len(data) : size].toreadonly()


def _forbid(address: int, size: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), _NO_ACCESS) != 0:
        raise OSError(ctypes.get_errno(), "mprotect failed")


def runs_in_a_process(function: Callable[[], object], *, cpu_seconds: int | None = None) -> None:
    """Calls a module-level function without arguments in a new process; AssertionError if it raises or crashes.

    `cpu_seconds`: it is killed when it has used so much processor time, however long it takes on a busy machine.
    """
    limit = "" if cpu_seconds is None else f"from tests.guarded import limit_cpu; limit_cpu({cpu_seconds}); "
    code = f"{limit}from {function.__module__} import {function.__qualname__} as function; function()"
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", code], cwd=_ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{function.__qualname__} ended with {done.returncode}:\n{done.stderr}"


def limit_cpu(seconds: int) -> None:
    """This process is killed when it has used so many seconds of processor time."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
