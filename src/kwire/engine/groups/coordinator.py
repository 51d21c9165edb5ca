"""The coordinator of one group or transactional id: which broker it is, and requests to it.

Layer 3, no I/O. Looked up at the first request, and again after `is_lost` got that it has moved or cannot be reached,
or where `look_again` says that it is silent. Requests wait for the look-up, which is repeated while its error may pass;
an error that will not pass (GROUP_AUTHORIZATION_FAILED) fails them. Nothing is sent twice: whether to repeat a request
is its component's decision.

    unknown     a request begins the look-up
    looking up  any broker is asked, a second one where the first is silent; after an error that may pass, again, and
                while a broker is named that died of late
    known       requests are sent at once

A broker from before 0.10 tells what it can only on a connection to a coordinator (`negotiation.py`), so the look-up is
repeated there. One that has no coordinators at all (0.8.1) leaves commits to any broker: `node` is ANY.

Trouble (none is found, it loads, it cannot be reached, it hangs up) is reported to `on_trouble` each time, with the
moment at which it began, until the component says that the coordinator `serves`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from kwire import protocol
from kwire._codec import KnownAnswer, Timer
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.calls.hedged_request import HedgedRequest
from kwire.engine.calls.lookup import GROUP, coordinator_in, find_coordinator_request, has_moved
from kwire.engine.common.outage import WARN_AFTER_S
from kwire.engine.common.recovery import Recoverable
from kwire.engine.common.request import ANY, MessageOrBuilder, OnError, OnResponse, Purpose, Request
from kwire.engine.common.retry import is_retriable
from kwire.engine.metadata.refresh import ELECTION_LOOK_S
from kwire.errors import BrokerError, KafkaError
from kwire.schema.api_keys import FIND_COORDINATOR
from kwire.schema.error_codes import COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, UNSUPPORTED_VERSION

if TYPE_CHECKING:
    from kwire.engine.ports import Services

_NAMES = {0: "group", 1: "transactional id"}
_TOPICS = {0: "__consumer_offsets", 1: "__transaction_state"}


class WaitingRequest:
    """A request to a coordinator that has to be looked up first; ends as a Request does."""

    def __init__(self, send: Callable[[float], Request | WaitingRequest], on_error: OnError) -> None:
        self.sent: Request | WaitingRequest | None = None
        self._send = send
        self._on_error = on_error
        self._ended = False

    @property
    def done(self) -> bool:
        """Whether a callback has run, or will not."""
        return self._ended or (self.sent is not None and self.sent.done)

    def cancel(self) -> None:
        """Neither callback will run."""
        self._ended = True
        if self.sent is not None:
            self.sent.cancel()

    def send(self, now: float) -> None:
        """The coordinator is known."""
        if not self.done:
            self.sent = self._send(now)

    def fail(self, error: KafkaError, now: float) -> None:
        """It will not be known."""
        if not self.done:
            self._ended = True
            self._on_error(error, now)


def written(request: Request | WaitingRequest | None) -> Request | None:
    """The request itself; None while the coordinator is looked up or connected."""
    while isinstance(request, WaitingRequest):
        request = request.sent
    return request if request is not None and request.version >= 0 else None


class Coordinator(Recoverable):
    """Finds and holds the coordinator of the group (or transactional id, by `kind`) `key`.

    node      its node id; ANY where any broker will do; None while it is unknown
    _purpose  the connection that look-ups go over: a coordinator's once the brokers are known to be from before 0.10
    _sent     the API that was last asked of it
    """

    def __init__(self, core: Services, kind: int, key: str) -> None:
        self.node: int | None = None
        self._core = core
        self._kind = kind
        self._key = key
        self._waiting: list[WaitingRequest] = []
        self._asked: HedgedRequest | None = None
        self._again: Timer | None = None
        self._failures = 0
        self._missed_since: float | None = None
        self._has_warned = False
        self._purpose = Purpose.DATA
        self._sent = 0
        self._troubled_since: float | None = None
        self.on_trouble: Callable[[str, float, float], object] = _ignore
        self.on_elsewhere: Callable[[float], object] = _stay
        self.recover_with(core)

    @property
    def what(self) -> str:
        """What it coordinates, in words."""
        return f"{_NAMES[self._kind]} {self._key!r}"

    @property
    def who(self) -> str:
        """The broker in words."""
        return "any broker" if self.node in (None, ANY) else self._core.describe_node(self.node or 0)

    def request(
        self,
        api_key: int,
        message: MessageOrBuilder,
        on_response: OnResponse,
        on_error: OnError,
        now: float,
        *,
        purpose: int = Purpose.COORDINATOR,
        timeout: float | None = None,
        versions: Sequence[int] | None = None,
        known: KnownAnswer | None = None,
    ) -> Request | WaitingRequest:
        """Sends a request to the coordinator, looked up first where it is unknown; see `Core.request`. One for the
        connection for data goes over the coordinator's where only that tells what the broker can."""
        if self.node is not None:
            self._sent = api_key
            return self._core.request(
                self.node,
                api_key,
                message,
                on_response,
                on_error,
                now,
                purpose=Purpose.COORDINATOR if self._purpose == Purpose.COORDINATOR else purpose,
                timeout=timeout,
                versions=versions,
                known=known,
            )
        again = partial(
            self.request,
            api_key,
            message,
            on_response,
            on_error,
            purpose=purpose,
            timeout=timeout,
            versions=versions,
            known=known,
        )
        waiting = WaitingRequest(again, on_error)
        self._waiting.append(waiting)
        self._look_up(now)
        return waiting

    def is_lost(self, error: KafkaError, now: float) -> bool:
        """Takes in an error of a request to the coordinator: one by which it has moved, or cannot be reached, makes the
        next request look it up. Returns whether it is such an error."""
        moved = has_moved(error)
        if moved or (isinstance(error, BrokerError) and error.code == COORDINATOR_LOAD_IN_PROGRESS):
            where = f"{protocol.APIS[self._sent].name} at {self.who}"
            self._tell_trouble(where if str(error) in where else f"{where}: {error}", now)
        if moved:
            self.node = None
        return moved

    def is_answering(self, request: Request) -> bool:
        """Whether an answer comes in on the connection of that request."""
        return self._core.is_receiving(request.target, Purpose.COORDINATOR)

    def look_again(self, now: float) -> None:
        """It does not answer: looks up whether it is another broker by now, which `on_elsewhere(now)` tells."""
        if self.node is not None:
            self._look_up(now)

    def hang_up(self, request: Request, now: float) -> None:
        """Closes the connection of that request, which may be half open, though the coordinator is being looked up
        already; the next request looks it up."""
        self._core.hang_up(request.target, Purpose.COORDINATOR, now)
        self.node = None

    def serves(self) -> None:
        """It answers: earlier trouble has ended."""
        self._troubled_since = None

    def _tell_trouble(self, what: str, now: float) -> None:
        if self._troubled_since is None:
            self._troubled_since = now
        self.on_trouble(what, self._troubled_since, now)

    @override
    def recover(self, now: float) -> None:
        """Forgets what waits and what is asked; components ask again."""
        self._stop_asking()
        while self._waiting:
            self._waiting.pop().cancel()

    def close(self) -> None:
        """Asks no more; what waits is not answered."""
        self.recover(0.0)
        self.recover_no_more(self._core)

    # -- looking up -------------------------------------------------------------------------------------------------

    def _look_up(self, now: float) -> None:
        if self._asked is not None or (self._again is not None and self._again.active):
            return
        request = HedgedRequest(
            self._core,
            FIND_COORDINATOR,
            partial(find_coordinator_request, self._kind, self._key),
            self._on_found,
            self._on_error,
            now,
            purpose=self._purpose,
        )
        if not request.done:
            self._asked = request

    def _on_found(self, response: protocol.FindCoordinatorResponse, version: int, now: float) -> None:
        try:
            found = coordinator_in(response, self._key, version)
        except KafkaError as error:
            self._on_error(error, now)
            return
        if found.node not in self._core.cluster.brokers:
            self._core.update_brokers({found.node: found.address}, complete=False, now=now)
        if self._core.is_put_off(found.node, now):
            self._look_for_another(now)
        else:
            self._set_node(found.node, now)

    def _look_for_another(self, now: float) -> None:
        """The broker that is named is dead; another is about to be elected in its place."""
        self._asked = None
        wait = max(self._core.retry_backoff.wait(1), ELECTION_LOOK_S)
        self._again = self._core.call_at(now + wait, self._ask_again)

    def _set_node(self, node: int, now: float) -> None:
        self._stop_asking()
        self._failures = 0
        self._missed_since, self._has_warned = None, False
        is_elsewhere = self.node not in (None, node)
        self.node = node
        waiting, self._waiting = self._waiting, []
        for request in waiting:
            request.send(now)
        if is_elsewhere:
            self.on_elsewhere(now)

    def _on_error(self, error: KafkaError, now: float) -> None:
        self._asked = None
        if _is_unknown_api(error) and self._kind == GROUP:
            self._ask_as_before_0_10(now)
        elif is_retriable(error):
            self._failures += 1
            self._tell_trouble(f"FindCoordinator: {error}", now)
            self._miss(error, now)
            self._again = self._core.call_at(now + self._core.retry_backoff.wait(self._failures), self._ask_again)
        else:
            self._fail_waiting(error, now)

    def _miss(self, error: KafkaError, now: float) -> None:
        """None is found. A cluster with fewer brokers than the topic below wants replicas will never have one."""
        self._missed_since = now if self._missed_since is None else self._missed_since
        if self._has_warned or not isinstance(error, BrokerError) or now - self._missed_since < WARN_AFTER_S:
            return
        self._has_warned = True
        why = str(error)
        if error.code == COORDINATOR_NOT_AVAILABLE:
            why += f"; are there enough brokers for the replication factor of {_TOPICS[self._kind]}?"
        self._core.warn(
            f"{self.what} has no coordinator ({now - self._missed_since:.1f} s so far): {why}; still trying"
        )

    def _ask_as_before_0_10(self, now: float) -> None:
        """The broker is from before 0.10, and does not say on this connection what it can."""
        if self._purpose == Purpose.DATA:
            self._purpose = Purpose.COORDINATOR
            self._look_up(now)
        else:
            self._set_node(ANY, now)

    def _ask_again(self, now: float) -> None:
        self._again = None
        if self._waiting:
            self._look_up(now)

    def _fail_waiting(self, error: KafkaError, now: float) -> None:
        waiting, self._waiting = self._waiting, []
        for request in waiting:
            request.fail(error, now)

    def _stop_asking(self) -> None:
        if self._asked is not None:
            self._asked.cancel()
            self._asked = None
        if self._again is not None:
            self._again.cancel()
            self._again = None


def _ignore(what: str, since: float, now: float) -> None:
    """Trouble is not reported."""


def _stay(now: float) -> None:
    """What was asked of the broker before is waited for."""


def _is_unknown_api(error: KafkaError) -> bool:
    return isinstance(error, BrokerError) and error.code == UNSUPPORTED_VERSION
