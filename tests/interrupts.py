"""An interrupt at every moment at which CPython could run a signal handler, one after the other, without chance.

CPython looks for signals when a Python function begins, behind each call of a compiled function, and when a loop jumps
back. `Interruptions` makes a signal pending at the n-th of these moments beneath a call of kwire, standard library
frames included; a test does so for n = 1, 2, 3 ... until the work comes to its end without one. The signal is a real
one: its handler runs where the interpreter runs it, and raises Cut there. `alarms` cut by chance instead. Both may be
used in the main thread only, whose signals they are.
"""

from __future__ import annotations

import _thread
import contextlib
import dis
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import pytest

import kwire

LOOKS_FOR_SIGNALS = frozenset(
    number
    for name, number in dis.opmap.items()
    if name in {"RESUME", "CALL", "CALL_KW", "CALL_FUNCTION_EX", "JUMP_BACKWARD"}
)


SNOOZE = 0.0001
SWALLOWED = 0.5
"""Seconds after which it rings again by itself: Python drops what a handler raises inside a finalizer."""


class Cut(BaseException):
    """What the signal's handler raises."""


class Alarms:
    """Raises Cut when the time of `set` is over, or as soon as it is `armed` after that.

    Set `armed` right before and right behind the call that is to be cut: no signal handler runs between a call of a
    Python function that has come to its end, the assignment of what it gave, and the assignment behind that.
    """

    def __init__(self) -> None:
        self.armed = False
        self.over = False
        self.cuts = 0

    def set(self, seconds: float) -> None:
        """The alarm rings once, that many seconds from now."""
        signal.setitimer(signal.ITIMER_REAL, seconds)

    def ring(self, number: int, frame: FrameType | None) -> None:
        """The signal's handler."""
        if self.over:
            return
        if not self.armed:
            self.set(SNOOZE)
            return
        self.armed = False
        self.cuts += 1
        self.set(SWALLOWED)
        raise Cut


@contextlib.contextmanager
def dropped(kind: type[BaseException]) -> Iterator[None]:
    """Within the block Python may drop a `kind` that a handler raised in a finalizer or a callback of the collector.

    All else that is dropped there fails at the end, but for the warning of a socket that nobody had yet. pytest's own
    hook takes so long that it is cut itself, and takes that for a failure.
    """
    kinds: list[Any] = []
    hook = sys.unraisablehook
    sys.unraisablehook = lambda what: kinds.append(what.exc_type)
    try:
        yield
    finally:
        sys.unraisablehook = hook
    assert set(kinds) <= {kind, ResourceWarning}


@contextlib.contextmanager
def alarms() -> Iterator[Alarms]:
    """SIGALRM rings these within the block."""
    made = Alarms()
    before = signal.signal(signal.SIGALRM, made.ring)
    with dropped(Cut):
        try:
            yield made
        finally:
            made.armed = False
            made.over = True  # before the timer stops: Python runs a handler late, which would begin it again
            signal.setitimer(signal.ITIMER_REAL, 0)
            put_back(signal.SIGALRM, before)


def put_back(number: int, handler: Any) -> None:
    """Sets a handler that was there before; a signal that another thread has yet to take does not reach it.

    By default SIGALRM ends the process. What is pending is forgotten where a signal is ignored.
    """
    signal.signal(number, signal.SIG_IGN)
    signal.signal(number, handler)


class Trip:
    """`trip[number]` makes a signal pending; unlike a call, a subscript does not make the interpreter look for one."""

    __getitem__ = _thread.interrupt_main


class Interruptions:
    """Counts moments, and raises Cut at number `at` of them (0: never). `with` it around the work alone."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.moments = 0
        self.place = "nowhere"
        self._package = f"{Path(kwire.__file__).parent}/"
        self._trip = Trip()
        self._dropped = dropped(Cut)

    def __enter__(self) -> Interruptions:
        if sys.version_info[:2] == (3, 12):
            pytest.skip("Python 3.12 crashes where one thread traces opcodes and another collects garbage")
        self._dropped.__enter__()
        self._before = signal.signal(signal.SIGUSR1, self._cut)
        sys.settrace(self._enter)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.settrace(None)
        signal.signal(signal.SIGUSR1, self._before)
        self._dropped.__exit__(None, None, None)

    @property
    def happened(self) -> bool:
        """Whether the moment asked for came."""
        return self.place != "nowhere"

    def _cut(self, number: int, frame: FrameType | None) -> None:
        raise Cut(self.place)

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
        if not self._beneath(frame):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return self._step

    def _beneath(self, frame: FrameType | None) -> bool:
        while frame is not None:
            if self._package in frame.f_code.co_filename:
                return True
            frame = frame.f_back
        return False

    def _step(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
        if event == "opcode" and frame.f_code.co_code[frame.f_lasti] in LOOKS_FOR_SIGNALS:
            self.moments += 1
            if self.moments == self.at:
                self.place = f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_qualname}"
                self._trip[signal.SIGUSR1]
        return self._step
