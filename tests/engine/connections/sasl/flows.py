"""Mechanisms without a connection: their tokens in turn with scripted answers. It has no tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kwire.engine.connections.flows import Apart, Flow, Raw

NOW = 1000.0


def say(token: bytes, *, answered: bool = True) -> Flow[bytes]:
    answer: bytes = yield Raw(token, "a token", answered)
    return answer


def play(flow: Flow[Any], answers: Sequence[bytes]) -> tuple[list[bytes], list[str]]:
    """The tokens that the flow says to these answers, and what it ran apart; raises what it raises."""
    said: list[bytes] = []
    ran: list[str] = []
    left = list(answers)
    value: Any = None
    while True:
        try:
            step = flow.send(value)
            while isinstance(step, Apart):
                ran.append(step.name)
                try:
                    made = step.function()
                except Exception as error:
                    step = flow.throw(error)
                else:
                    step = flow.send((made, NOW))
        except StopIteration:
            assert not left, "the flow ended early"
            return said, ran
        assert isinstance(step, Raw)
        said.append(step.token)
        value = left.pop(0) if left else b""
