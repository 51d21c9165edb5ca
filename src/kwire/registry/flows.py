"""Flows: what a call of a registry does between its beginning and its answer, written once for threads and asyncio.

A flow is a generator that yields what takes time, and is sent what came of it, or has raised there what that raised:

    Apart   a function that blocks: what it returned
    Pause   so many seconds
    Once    another flow under a key: its result, from whoever runs one of that key already, if anybody does

The runners are `door.py` and `kwire.aio.registry`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class Apart(NamedTuple):
    """Calls a function that blocks."""

    function: Callable[[], Any]


class Pause(NamedTuple):
    """Waits."""

    seconds: float


class Once(NamedTuple):
    """Runs a flow, unless one of the same key is running: then waits for that one's result."""

    key: Hashable
    flow: Callable[[], Generator[Any, Any, Any]]


Step = Apart | Pause | Once
Flow = Generator[Step, Any, T]
