"""How long to wait before a retry, which errors are retriable, and how the last one is raised again.

Layer 3: randomness is passed in. Waits double from a first to a longest one and are spread by a fifth either way, so
that clients that failed together do not come back together.
"""

from __future__ import annotations

from collections.abc import Callable

from kwire.engine.common.addresses import Address
from kwire.errors import AuthError, BrokerError, ConnectError, KafkaError, KafkaTimeoutError
from kwire.errors.wording import Cause
from kwire.schema.error_codes import (
    KAFKA_STORAGE_ERROR,
    NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    REQUEST_TIMED_OUT,
    UNKNOWN_SERVER_ERROR,
)

SPREAD = 0.2
_SECOND_CONCURRENT_WAIT_S = 0.0005
_LONGEST_CONCURRENT_WAIT_S = 0.05

MAY_BE_WRITTEN = frozenset(
    {UNKNOWN_SERVER_ERROR, REQUEST_TIMED_OUT, NOT_ENOUGH_REPLICAS_AFTER_APPEND, KAFKA_STORAGE_ERROR}
)
"""Codes of a leader that may have appended the batch."""

RandomFraction = Callable[[], float]


class Backoff:
    """Waits, in seconds, after the first, second, ... failure in a row. `rng()` is uniform over [0, 1)."""

    __slots__ = ("_rng", "first", "longest")

    def __init__(self, first_ms: int, longest_ms: int, rng: RandomFraction) -> None:
        self.first = first_ms / 1000
        self.longest = max(longest_ms, first_ms) / 1000
        self._rng = rng

    def wait(self, failures: int) -> float:
        """Seconds to wait after `failures` (at least 1) failures in a row."""
        plain = min(self.first * 2.0 ** min(failures - 1, 32), self.longest)
        return plain * (1 + SPREAD * (2 * self._rng() - 1))


def concurrent_wait(tries: int) -> float:
    """Seconds to wait after so many tries (at least 1) that came while the transaction before was still being ended.

    That takes about as long as an answer. None after the first: asyncio makes two milliseconds of any time below.
    """
    if tries == 1:
        return 0.0
    return min(_SECOND_CONCURRENT_WAIT_S * 2.0 ** min(tries - 2, 8), _LONGEST_CONCURRENT_WAIT_S)


def is_retriable(error: BaseException) -> bool:
    """Whether the same request may succeed later: lost connections, time-outs, and codes that Kafka calls retriable."""
    if isinstance(error, BrokerError):
        return error.retriable
    return isinstance(error, ConnectError | KafkaTimeoutError)


def afresh(error: AuthError | ConnectError) -> AuthError | ConnectError:
    """The same error to be raised once more, without the traceback of an earlier raise."""
    if isinstance(error, AuthError):
        return AuthError(error.message, broker=error.broker, step=error.step, reason=error.reason)
    return ConnectError(error.message, error.causes)


def cause_at(address: Address, error: KafkaError) -> Cause:
    """Why that address could not be reached, as the error of the last try says."""
    if isinstance(error, ConnectError) and str(address) in error.causes:
        return error.causes[str(address)]
    return Cause(str(error), "auth" if isinstance(error, AuthError) else "other")
