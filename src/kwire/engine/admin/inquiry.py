"""Asking questions of brokers: one, or several of which each depends on the answers to those before.

Layer 3, no I/O: generators of `kwire.engine.common.waits`. What a question is made of is in `calls.py`.
"""

from __future__ import annotations

from functools import partial

from kwire._typing import TYPE_CHECKING, Any, TypeVar
from kwire.engine.calls.calls import result_of
from kwire.engine.calls.fan_out import AdminApi, FanOutCall
from kwire.engine.common.notebooks import as_rows
from kwire.errors import KafkaError

if TYPE_CHECKING:
    from kwire.engine.admin.calls import Question
    from kwire.engine.common.waits import Door, Wait
    from kwire.engine.ports import Services

T = TypeVar("T")


class Inquiry:
    """Questions that together may take so many seconds, from now on."""

    def __init__(self, door: Door, core: Services, patience: float) -> None:
        self._door = door
        self._core = core
        self._until = door.now() + patience

    @property
    def seconds_left(self) -> float:
        """At least 0."""
        return max(self._until - self._door.now(), 0.0)

    def ask(self, question: Question[T]) -> Wait[T]:
        """The answer; raises the error that there is in its place, with the part of the answer that there is."""
        if question.api is None:
            return as_rows(question.finish({}))
        try:
            found = yield from result_of(self._door, partial(self._begin, question.api), self.seconds_left)
        except KafkaError as error:
            if error.results:
                told: Any = question.finish(error.results)
                error.results = as_rows(told or {})
            raise
        return as_rows(question.finish(found))

    def _begin(self, api: AdminApi[Any, Any], now: float, deadline: float) -> FanOutCall[Any, Any]:
        return FanOutCall(self._core, api, deadline=deadline, now=now)
