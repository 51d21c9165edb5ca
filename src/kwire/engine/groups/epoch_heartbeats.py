"""The heartbeats of a member whose group counts epochs: consumer groups of KIP-848, and share groups.

Layer 3, no I/O. Everything that such a member and its coordinator tell each other is in heartbeats. One is in flight
at most; the next one follows after the interval that the coordinator sets, or at once where the member has something
to say. Errors that only concern the way to the coordinator are dealt with here: a member never hears of them. What a
heartbeat says is decided when it is written, by the member.

    NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE, lost connection   looked up anew, then sent again at once
    COORDINATOR_LOAD_IN_PROGRESS, other retriable errors          sent again after a backoff
    all others                                                    the member's `heartbeat_refused` decides

However fast the answers call for the next one, they keep a pace (`pace.py`); an interval is believed from 0.1 to 60 s.
After any error the member sends everything anew (`forget_sent`), since what the coordinator has received is unknown.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import partial

from kwire import errors
from kwire._codec import Timer
from kwire._typing import TYPE_CHECKING, Any, override
from kwire.engine.common.pace import EVERY_S, Pace, throttle_s
from kwire.engine.common.recovery import Recoverable
from kwire.engine.common.retry import RandomFraction, is_retriable
from kwire.errors import AuthError, BrokerError, KafkaError

if TYPE_CHECKING:
    from typing import Protocol

    from kwire.engine.common.request import Request
    from kwire.engine.groups.coordinator import Coordinator, WaitingRequest
    from kwire.engine.groups.group_log import GroupLog
    from kwire.engine.ports import Services
else:
    Protocol = object

JOIN_EPOCH = 0
LEAVE_EPOCH = -1
LEAVE_FOR_A_WHILE_EPOCH = -2

MAX_INTERVAL_S = 60.0
"""A longer interval is not believed: a member that is silent for so long may be dropped. Kafka's is 5 s."""

_LEAVE_TRIES = 3
_CHUNK_BITS = 32
_CHUNKS = 4


def new_member_id(rng: RandomFraction) -> str:
    """A random id as Apache's clients make them: 128 bits in the URL's Base64, which begin with no dash."""
    while True:
        bits = 0
        for _ in range(_CHUNKS):
            bits = bits << _CHUNK_BITS | int(rng() * (1 << _CHUNK_BITS))
        text = base64.urlsafe_b64encode(bits.to_bytes(16, "big")).decode().rstrip("=")
        if not text.startswith("-"):
            return text


class HeartbeatMember(Protocol):
    """What heartbeats ask of the member that they are about."""

    def heartbeat(self, version: int) -> Any:
        """The message that is written now."""

    def forget_sent(self) -> None:
        """The coordinator may not have received what was sent: the next heartbeat has everything."""

    def on_heartbeat(self, response: Any, version: int, now: float) -> None:
        """A heartbeat was answered, without an error."""

    def heartbeat_refused(self, error: KafkaError, now: float) -> None:
        """A heartbeat met an error that the member has to decide about. Unless it stops the heartbeats, they go on."""


class EpochHeartbeats(Recoverable):
    """The heartbeats of one member, by the API `api_key`."""

    def __init__(
        self, core: Services, coordinator: Coordinator, api_key: int, member: HeartbeatMember, log: GroupLog
    ) -> None:
        self._core = core
        self._coordinator = coordinator
        self._api_key = api_key
        self._member = member
        self._log = log
        self._is_running = False
        self._is_in_flight = False
        self._is_hurried = False
        self._round = 0
        self._interval = 0.0
        self._sent_at = 0.0
        self._not_before = 0.0
        self._pace = Pace()
        self._is_warned = False
        self._last = ""
        self._failures = 0
        self._next: Timer | None = None
        self._request: Request | WaitingRequest | None = None
        self._farewell: tuple[Callable[[int], Any], Callable[[float], None]] | None = None
        self.recover_with(core)

    @property
    def is_running(self) -> bool:
        """Whether heartbeats are sent."""
        return self._is_running

    def begin(self, now: float) -> None:
        """Sends a heartbeat now and others after it, until `stop`."""
        self.stop()
        self._is_running = True
        self._member.forget_sent()
        self._send(now)

    def stop(self) -> None:
        """Sends no more, not even what waits for the coordinator to be found; a response in flight is ignored."""
        self._is_running = self._is_in_flight = self._is_hurried = False
        self._round += 1
        self._failures = 0
        self._cancel()
        if self._request is not None:
            self._request.cancel()
            self._request = None

    def hurry(self, now: float) -> None:
        """The member has something to say: the next heartbeat goes out at once, or after the answer awaited."""
        if not self._is_running:
            return
        if self._is_in_flight:
            self._is_hurried = True
        elif not self._failures:
            self._send(now)

    def wait(self, seconds: float, now: float) -> None:
        """Sends the next heartbeat after that time, and not before."""
        if self._is_running and not self._is_in_flight:
            self._schedule(now + seconds)

    def leave(self, message: Callable[[int], Any], on_done: Callable[[float], None], now: float) -> None:
        """Stops, and sends a last heartbeat. `on_done` is called when it was answered or cannot be."""
        self.stop()
        if self._coordinator.node is None:
            on_done(now)
            return
        self._farewell = message, on_done
        self._say_goodbye(message, on_done, 1, now)

    # -- sending ----------------------------------------------------------------------------------------------------

    def _send(self, now: float) -> None:
        self._cancel()
        if not self._is_running or self._is_in_flight:
            return
        allowed = self._pace.moment(now)
        if allowed > now:
            self._warn_of_haste()
        moment = max(self._not_before, allowed)
        if now < moment:
            self._next = self._core.call_at(moment, self._send)
            return
        self._pace.count(now)
        self._is_in_flight = True
        self._is_hurried = False
        self._sent_at = now
        self._round += 1
        self._request = self._coordinator.request(
            self._api_key,
            self._member.heartbeat,
            partial(self._on_response, self._round),
            partial(self._on_error, self._round),
            now,
        )

    def _warn_of_haste(self) -> None:
        """Once: the answers call for more heartbeats than are sent."""
        if not self._is_warned:
            self._is_warned = True
            self._core.warn(
                f"the coordinator of {self._coordinator.what}, {self._coordinator.who}, makes this member send "
                f"heartbeats without a pause ({self._last}); it sends {1 / EVERY_S:.0f} a second at most"
            )

    def _schedule(self, when: float) -> None:
        self._cancel()
        self._next = self._core.call_at(when, self._send)

    def _cancel(self) -> None:
        if self._next is not None:
            self._next.cancel()
            self._next = None

    @override
    def recover(self, now: float) -> None:
        """Sends everything again, or the last heartbeat that may have been lost."""
        if self._farewell is not None:
            self._say_goodbye(*self._farewell, _LEAVE_TRIES, now)
        if self._is_running:
            self._is_in_flight = False
            self._round += 1
            self._member.forget_sent()
            self._schedule(now)

    # -- answers ----------------------------------------------------------------------------------------------------

    def _on_response(self, of_round: int, response: Any, version: int, now: float) -> None:
        if of_round != self._round:
            return
        if response.throttle_time_ms > 0:
            self._not_before = now + throttle_s(response.throttle_time_ms)
        if response.error_code:
            self._on_error(of_round, errors.broker.error_for(response.error_code, response.error_message or ""), now)
            return
        self._is_in_flight = False
        self._failures = 0
        self._coordinator.serves()
        self._interval = min(max(response.heartbeat_interval_ms / 1000, EVERY_S), MAX_INTERVAL_S)
        self._last = f"heartbeat_interval_ms={response.heartbeat_interval_ms}"
        if response.heartbeat_interval_ms < EVERY_S * 1000:
            self._warn_of_haste()
        self._schedule(max(now, self._sent_at + self._interval))
        self._member.on_heartbeat(response, version, now)
        self._log.debug("heartbeat")
        if self._is_hurried:
            self._send(now)

    def _on_error(self, of_round: int, error: KafkaError, now: float) -> None:
        if of_round != self._round:
            return
        self._is_in_flight = False
        self._last = str(error)
        self._log.debug("heartbeat failed: %s", error)
        self._member.forget_sent()
        is_lost = self._coordinator.is_lost(error, now)
        if is_lost and isinstance(error, BrokerError):
            self._send(now)
        elif is_lost or is_retriable(error) or isinstance(error, AuthError):
            self._failures += 1
            self._schedule(now + self._core.retry_backoff.wait(self._failures))
        else:
            self._schedule(now + max(self._interval, self._core.retry_backoff.first))
            self._member.heartbeat_refused(error, now)

    # -- leaving ----------------------------------------------------------------------------------------------------

    def _say_goodbye(
        self, message: Callable[[int], Any], on_done: Callable[[float], None], tries: int, now: float
    ) -> None:
        def on_response(response: Any, version: int, now: float) -> None:
            if response.error_code:
                on_error(errors.broker.error_for(response.error_code), now)
            else:
                end(now)

        def on_error(error: KafkaError, now: float) -> None:
            if tries < _LEAVE_TRIES and self._coordinator.is_lost(error, now):
                self._say_goodbye(message, on_done, tries + 1, now)
            else:
                end(now)

        def end(now: float) -> None:
            self._farewell = None
            on_done(now)

        self._coordinator.request(self._api_key, message, on_response, on_error, now)
