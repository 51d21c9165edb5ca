"""What a handler is given, and what it may give back: an answer, or a flow that waits before it answers."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from kwire.testing.cluster import ClusterState, Partition
from kwire.testing.log_0_7 import ByteLog
from kwire.testing.release import Release

RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT")


@dataclass(frozen=True, slots=True)
class Call(Generic[RequestT]):
    """One request: decoded, with its version and the state it is about. `now` is a monotonic clock in seconds."""

    request: RequestT
    version: int
    cluster: ClusterState
    release: Release
    now: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Park:
    """Wait until the monotonic time `until`, or until something happens to one of `partitions`."""

    until: float
    partitions: frozenset[Partition | ByteLog] = frozenset()


Flow: TypeAlias = Generator[Park, None, ResponseT]


class CloseConnectionError(Exception):
    """The connection is of no use any more; the text goes to the log. It never leaves the broker."""
