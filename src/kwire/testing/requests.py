"""What the handler of an API takes, and what it returns: an answer, or a flow that waits before it answers."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from kwire.testing.cluster import ClusterState, Partition
from kwire.testing.log_0_7 import ByteLog
from kwire.testing.release import Release

if TYPE_CHECKING:
    from kwire.testing.session import Session

RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT")


@dataclass(frozen=True, slots=True)
class RequestContext(Generic[RequestT]):
    """One request: decoded, with its version and the state it is about. `now` is a monotonic clock in seconds.

    `session` is the login of the connection that it came by.
    """

    request: RequestT
    version: int
    cluster: ClusterState
    release: Release
    now: Callable[[], float]
    session: Session


@dataclass(frozen=True, slots=True)
class Suspend:
    """Wait until the monotonic time `until`, or until something happens to one of `partitions`."""

    until: float
    partitions: frozenset[Partition | ByteLog] = frozenset()


Flow: TypeAlias = Generator[Suspend, None, ResponseT]


class CloseConnectionError(Exception):
    """The connection is to be closed; the text goes to the log. It never leaves the broker."""
