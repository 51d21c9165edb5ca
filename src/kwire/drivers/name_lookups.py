"""Questions that block (the addresses of names), answered by a few threads: a cluster may have thousands of names.

Layer 4, no sockets here. At most MAX_THREADS threads live at once, and none while nothing is asked; what is asked
meanwhile waits in a queue. What nobody wants any more is not asked.

No locks: a signal handler may ask while it interrupts the asking. Each move is one operation of a deque.
"""

from __future__ import annotations

import _thread
from collections import deque
from collections.abc import Callable

from kwire._typing import Generic, NamedTuple, TypeVar

MAX_THREADS = 8
"""How many questions are asked at once."""

SWEEP_AT = 1000
"""So many questions wait before those that nobody wants any more are taken out; then twice as many as were left."""

Name = TypeVar("Name")
Answer = TypeVar("Answer")


class _Question(NamedTuple, Generic[Name, Answer]):
    name: Name
    done: Callable[[Answer, str], object]
    wanted: Callable[[], bool]


class NameLookups(Generic[Name, Answer]):
    """Answers by `resolve(name)`, which returns an answer and "", or `nothing` and why there is none."""

    def __init__(self, resolve: Callable[[Name], tuple[Answer, str]], nothing: Answer) -> None:
        self._resolve = resolve
        self._nothing = nothing
        self.reset()

    def reset(self) -> None:
        """Forgets everything: in a forked child the threads are gone."""
        self._waiting: deque[_Question[Name, Answer]] = deque()
        self._free = deque([None] * MAX_THREADS)  # one item for each thread that may be begun
        self._sweep_at = SWEEP_AT

    @property
    def waiting(self) -> int:
        """How many questions wait for a thread."""
        return len(self._waiting)

    def ask(self, name: Name, done: Callable[[Answer, str], object], wanted: Callable[[], bool]) -> None:
        """Calls `done(answer, error)` on another thread, or here if none can be begun; never if not `wanted` then."""
        if len(self._waiting) >= self._sweep_at:
            self._sweep()
        self._waiting.append(_Question(name, done, wanted))
        self._begin()

    def _sweep(self) -> None:
        for _ in range(len(self._waiting)):
            try:
                question = self._waiting.popleft()
            except IndexError:
                break
            if question.wanted():
                self._waiting.append(question)
        self._sweep_at = max(SWEEP_AT, 2 * len(self._waiting))

    def _begin(self) -> None:
        """Begins a thread if something waits and there is room for one; busy ones take the rest."""
        if not self._waiting:
            return
        free = self._free
        try:
            free.pop()
        except IndexError:
            return
        try:
            _thread.start_new_thread(self._work, (free,))
        except RuntimeError as error:
            free.append(None)
            if len(free) == MAX_THREADS:
                self._refuse_all(f"it cannot be looked up: {error}")

    def _work(self, free: deque[None]) -> None:
        try:
            while free is self._free and (question := self._next()) is not None:
                answer, error = self._resolve(question.name)
                if question.wanted():
                    question.done(answer, error)
        finally:
            free.append(None)
        self._begin()

    def _next(self) -> _Question[Name, Answer] | None:
        """The next question that is wanted."""
        while self._waiting:
            try:
                question = self._waiting.popleft()
            except IndexError:
                break
            if question.wanted():
                return question
        return None

    def _refuse_all(self, why: str) -> None:
        while (question := self._next()) is not None:
            question.done(self._nothing, why)
