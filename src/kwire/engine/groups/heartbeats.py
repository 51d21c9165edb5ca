"""Heartbeats of a member of a classic group: in the background, whatever the user does.

Layer 3, no I/O. One is in flight at most. One that is refused is reported to the membership; one that is not answered
is sent again after the backoff, to the coordinator that is looked up anew.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kwire import protocol
from kwire._codec import Timer
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.common.recovery import Recoverable
from kwire.engine.common.retry import is_retriable
from kwire.errors import BrokerError, KafkaError, broker
from kwire.schema.api_keys import HEARTBEAT
from kwire.schema.error_codes import COORDINATOR_LOAD_IN_PROGRESS

if TYPE_CHECKING:
    from kwire.engine.common.request import Request
    from kwire.engine.groups.coordinator import Coordinator, WaitingRequest
    from kwire.engine.groups.group_log import GroupLog
    from kwire.engine.groups.member import Member
    from kwire.engine.ports import Services
    from kwire.engine.settings.clients import ConsumerSettings


class Heartbeats(Recoverable):
    """The heartbeats of one member. `on_refused(error, now)`: the coordinator says that something has changed."""

    def __init__(
        self,
        core: Services,
        settings: ConsumerSettings,
        coordinator: Coordinator,
        member: Member,
        on_refused: Callable[[KafkaError, float], None],
        log: GroupLog,
    ) -> None:
        self._core = core
        self._coordinator = coordinator
        self._member = member
        self._on_refused = on_refused
        self._log = log
        self._interval = settings.heartbeat_interval_ms / 1000
        self._request_timeout = settings.request_timeout_ms / 1000
        self._timer: Timer | None = None
        self._request: Request | WaitingRequest | None = None
        self._failures = 0

    def begin(self, now: float) -> None:
        """Sends them from now on."""
        self.stop()
        self._failures = 0
        self._timer = self._core.call_at(now + self._interval, self._send)

    def stop(self) -> None:
        """Sends no more; what is in flight does not count."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._request is not None:
            self._request.cancel()
            self._request = None

    @override
    def recover(self, now: float) -> None:
        """The membership begins them again, by its state."""
        self.stop()

    def _send(self, now: float) -> None:
        self._timer = None
        patience = min(self._request_timeout, self._member.session_timeout_ms / 1000)
        self._request = self._coordinator.request(
            HEARTBEAT,
            self._member.heartbeat,
            partial(self._on_response, now),
            self._on_error,
            now,
            timeout=patience,
            versions=self._member.heartbeat_versions,
        )
        if self._request.done:
            self._request = None

    def _on_response(self, sent_at: float, response: protocol.HeartbeatResponse, version: int, now: float) -> None:
        if response.error_code:
            self._on_error(broker.error_for(response.error_code, f"Heartbeat of group {self._member.group_id!r}"), now)
            return
        self._log.debug("heartbeat")
        self._request = None
        self._failures = 0
        self._coordinator.serves()
        self._timer = self._core.call_at(max(sent_at + self._interval, now), self._send)

    def _on_error(self, error: KafkaError, now: float) -> None:
        self._log.debug("heartbeat failed: %s", error)
        self._request = None
        moved = self._coordinator.is_lost(error, now)
        may_pass = moved or (is_retriable(error) and not isinstance(error, BrokerError))
        if may_pass or (isinstance(error, BrokerError) and error.code == COORDINATOR_LOAD_IN_PROGRESS):
            self._failures += 1
            wait = min(self._core.retry_backoff.wait(self._failures), self._interval)
            self._timer = self._core.call_at(now + wait, self._send)
            return
        self._timer = self._core.call_at(now + self._interval, self._send)
        self._on_refused(error, now)
