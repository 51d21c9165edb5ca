"""Threads whose start a signal cannot break.

Layer 4. `Thread.start` waits for the new thread on a Condition; an exception out of a signal handler in there leaves
the Condition's lock taken, and the new thread hangs for ever. Signal handlers run in the main thread only.
"""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable


def begin_thread(target: Callable[[], object], name: str) -> threading.Thread:
    """Returns a daemon thread that will soon run `target`, started by a short-lived one that no signal interrupts."""
    thread = threading.Thread(target=target, name=name, daemon=True)
    _thread.start_new_thread(thread.start, ())
    return thread
