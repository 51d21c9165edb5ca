"""One connection to a broker, for one purpose, over all its lives: and the requests that wait for it.

Layer 3, no I/O. A request that waits here is written as soon as the connection is ready and fails when the attempt
fails; one that was written fails when the connection is lost. Whether to send it again is its component's decision.

States, and what may follow each, printed from MOVES:

    state        what it is                                      may be followed by
    IDLE         no connection is wanted                         NEGOTIATING
    NEGOTIATING  an attempt to connect: socket, versions, login  READY, BACKING_OFF, IDLE
    READY        there is a connection                           READY, RENEWING, BACKING_OFF, IDLE
    RENEWING     the connection is to log in again, or does      READY, BACKING_OFF, IDLE
    BACKING_OFF  waits after a failure                           IDLE

While RENEWING (see `session.py`), requests wait though there is a connection.

An AuthError (one side refused the other) is waited out longer than another failure, because it will come again; the
link has a `refusal` for as long. Two things that a broker does without a word are taken for one when they happen
WORDLESS_TIMES in a row, and for WORDLESS_FOR_S: it closes the connection in the middle of bare tokens; it answers
ApiVersions to a client without SASL, and closes the connection at the next request.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from math import inf

from kwire._codec import LinkBase, Timer
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.common.lifecycle import Lifecycle, Moves, State
from kwire.engine.common.request import Purpose, Request
from kwire.engine.common.retry import afresh
from kwire.engine.connections.connection import Connection
from kwire.engine.connections.negotiation import ClosedInLoginError, Negotiation
from kwire.engine.connections.services import ConnectionServices
from kwire.engine.connections.session import LoginSession
from kwire.engine.connections.versions import Versions
from kwire.errors import AuthError, ConnectError, KafkaError
from kwire.errors.wording import Wording
from kwire.protocol import APIS
from kwire.schema.api_keys import PRODUCE

if TYPE_CHECKING:
    from typing import Protocol

    from kwire.engine.common.addresses import Address
    from kwire.engine.common.outage import Outage
    from kwire.engine.connections.group_probe import GroupProbe
else:
    Protocol = object

IDLE = "idle"
NEGOTIATING = "negotiating"
READY = "ready"
RENEWING = "logging in again"
BACKING_OFF = "backing off"

_DROPPED = "the address is another one, or the client forgets its connections"

MOVES: Moves = {
    IDLE: State("no connection is wanted", {NEGOTIATING: "a request, or the client wants a connection"}),
    NEGOTIATING: State(
        "an attempt to connect: socket, versions, login",
        {READY: "it succeeds", BACKING_OFF: "it fails", IDLE: f"{_DROPPED}, or its owner hung up"},
    ),
    READY: State(
        "there is a connection",
        {
            READY: "a broker that was taken for an old one has answered ApiVersions after all: a better connection",
            RENEWING: "the session is about to end, or has ended",
            BACKING_OFF: "the connection is lost",
            IDLE: "its owner hung up, or a step was interrupted",
        },
    ),
    RENEWING: State(
        "the connection is to log in again, or does",
        {READY: "it has", BACKING_OFF: "the connection is lost", IDLE: "as from READY"},
    ),
    BACKING_OFF: State("waits after a failure", {IDLE: f"the wait has ended, {_DROPPED}"}),
}

SILENT_AFTER_S = 1.0
"""Seconds without an answer after which requests for any broker go to another one, if there is one."""

HANGS_AFTER_S = 2.0
"""Seconds without an answer, beyond those for which a fetch may be held, after which metadata is asked for, again and
again: another broker may be in the place of one that hangs long before the time of its requests is over. Ever more
seldom, as brokers may be silent because they have too much to do."""

WORDLESS_FOR_S = 1.0
"""Seconds for which a broker has to close connections at the same place until that is a refusal, not a restart."""

WORDLESS_TIMES = 3
"""So often in a row it has to: two resets may have nothing to do with each other, however long lies between them."""

SERVED_WITHIN_S = 1.0
"""A connection that ends later after it was ready did not end because of its first request."""

REFUSED_AGAIN_AFTER_S = 1.0
"""Seconds after a refusal at which a user's own call makes the broker be asked again."""


class LinkOwner(Protocol):
    """The broker that a link leads to, which is notified of its connection: a `Node`."""

    address: Address
    was_old: bool
    outage: Outage

    @property
    def who(self) -> str: ...

    def link_is_ready(self, link: Link, versions: Versions, now: float) -> None:
        """A link got its connection."""

    def link_has_failed(self, link: Link, error: KafkaError, now: float) -> None:
        """An attempt to connect failed."""

    def link_is_slow(self, link: Link, now: float) -> None:
        """An attempt to connect takes long."""

    def link_is_lost(self, link: Link, error: KafkaError, now: float) -> None:
        """A connection that was ready ended."""

    def link_hangs(self, now: float) -> None:
        """A request has not been answered for longer than brokers take."""

    def link_is_refused(self, now: float) -> None:
        """Something waits for a link that refuses this client."""

    def link_may_connect(self, link: Link, now: float) -> None:
        """The backoff after a failure has ended."""


class Link(LinkBase, Lifecycle):
    """A node's connection for `purpose`."""

    MOVES = MOVES

    connection: Connection | None
    versions: Versions | None

    def __init__(self, node: LinkOwner, connections: ConnectionServices, purpose: int) -> None:
        super().__init__()
        self.state = IDLE
        self.purpose = purpose
        self.failures = 0
        self.last_error: KafkaError | None = None
        self._node = node
        self._connections = connections
        self._negotiation: Negotiation | None = None
        self._backoff: Timer | None = None
        self._attempt = 0
        self._unwritten: Request | None = None
        self._session = LoginSession(self, connections)
        self._probe = _probe() if purpose == Purpose.COORDINATOR else None
        self._refusals = 0
        self._refused_at = 0.0
        self._wordless_since: float | None = None
        self._wordless_ends = 0
        self._heard_when_ready = 0.0
        self._ready_at = 0.0
        self._lives = 0
        self._hangs_after = HANGS_AFTER_S + getattr(connections.settings, "fetch_max_wait_ms", 0) / 1000

    @property
    def step(self) -> str:
        """What an attempt to connect is at, in words; "" if there is none or nothing is connected yet."""
        return self._negotiation.step if self._negotiation is not None else ""

    @property
    def slowness(self) -> str:
        """What an attempt to connect that takes long waits for; "" if there is none."""
        negotiation = self._negotiation
        return f"{negotiation.unfinished} yet" if negotiation is not None and negotiation.is_slow else ""

    @property
    def who(self) -> str:
        """The broker in words."""
        return self._node.who

    @property
    def refusal(self) -> AuthError | None:
        """Why one side refused the other, until the next attempt to connect."""
        error = self.last_error
        return error if isinstance(error, AuthError) and self.state == BACKING_OFF else None

    @property
    def life(self) -> int:
        """Which of its lives the connection is in; 0 while there is none."""
        return self._lives if self.connection is not None else 0

    @property
    def load(self) -> int:
        """Requests waiting or in flight."""
        return len(self._queue) + (len(self.connection.in_flight) if self.connection else 0)

    @property
    def waiting(self) -> int:
        """Requests that wait for the connection."""
        return len(self._queue)

    def is_silent(self, now: float) -> bool:
        """Whether the oldest request has been waiting for its answer for SILENT_AFTER_S, and nothing came meanwhile."""
        connection = self.connection
        if connection is None or not connection.in_flight:
            return False
        return now - max(connection.in_flight[0].sent_at, connection.received_at) >= SILENT_AFTER_S

    @override
    def connect(self, now: float) -> None:
        """Begins to connect, unless that has begun, or is done, or has to wait after a failure."""
        if self.refusal is not None:
            self._node.link_is_refused(now)
        if self.state == IDLE:
            self.move(NEGOTIATING)
            self._attempt += 1
            self._negotiation = Negotiation(
                self._connections,
                self._node.address,
                on_ready=partial(self._on_ready, self._attempt),
                on_failed=partial(self._on_failed, self._attempt),
                on_slow=self._on_slow,
                suspect_old=self._node.was_old,
                now=now,
                probe=self._probe,
            )

    def connect_again(self, now: float) -> None:
        """The address is another one: connects at once, if anything waits."""
        self._stop_waiting()
        if self.state == BACKING_OFF:
            self.move(IDLE)
        self.failures = 0
        if self._queue:
            self.connect(now)

    def retry_refused(self, now: float) -> None:
        """Waits no longer than REFUSED_AGAIN_AFTER_S after a refusal."""
        backoff, moment = self._backoff, self._refused_at + REFUSED_AGAIN_AFTER_S
        if self.refusal is None or backoff is None or now < backoff.when <= moment:
            return
        backoff.cancel()
        if moment > now:
            self._backoff = self._connections.call_at(moment, self._on_backoff_over)
        else:
            self._on_backoff_over(now)

    def drop(self, error: KafkaError, now: float) -> None:
        """Closes whatever is open or begun; requests that were written fail with `error`, others stay."""
        self._stop_waiting()
        self._end_negotiation(now)
        if self.connection is not None:
            self._connections.lose(self.connection, error, now)
        elif self.state != IDLE:
            self.move(IDLE)

    @property
    def is_receiving(self) -> bool:
        """Whether a part of an answer has come in, and the rest is on its way."""
        return self.connection is not None and bool(self.connection.receiver.pending)

    def hang_up(self, now: float) -> None:
        """Closes the connection, which is no trouble of the broker's; requests in flight on it fail. An attempt to
        connect for which nothing waits any longer ends, too."""
        connection = self.connection
        if connection is None:
            if self.state == NEGOTIATING and all(request.done for request in self._queue):
                self._end_negotiation(now)
                self.move(IDLE)
            return
        self.connection = None
        self._session.end()
        self._stop_waiting()
        self._end_negotiation(now)
        self.move(IDLE)
        self._connections.close(connection, now)
        if self._queue:
            self.connect(now)

    def fail_queue(self, error: KafkaError, now: float) -> None:
        """Fails every request that waits."""
        waiting, self._queue = self._queue, deque()
        for request in waiting:
            request.fail(error, now)

    def reset(self) -> None:
        """Forgets connection, attempts and waiting requests, whatever state they are in."""
        self._attempt += 1
        self._stop_waiting()
        if self._negotiation is not None:
            self._negotiation.forget()
            self._negotiation = None
        self.connection = None
        self._session.end()
        self._queue.clear()
        if self.state != IDLE:
            self.move(IDLE)

    def suspend(self) -> None:
        """New requests wait from now on, though there is a connection."""
        if self.state != RENEWING:
            self.session_ends, self.state = -inf, self.checked(RENEWING)

    def resume(self, now: float) -> None:
        """Another session has begun: writes what waited meanwhile."""
        self.move(READY)
        self._write_waiting(now)

    def _write_waiting(self, now: float) -> None:
        waiting, self._queue = self._queue, deque()
        for request in waiting:
            self.submit(request, now)

    @override
    def renew(self, now: float) -> None:
        """The session of the connection has ended."""
        if self.state == READY:
            self._session.renew(now)

    # -- what the negotiation says ----------------------------------------------------------------------------------

    def _on_ready(self, attempt: int, connection: Connection, versions: Versions, session: float, now: float) -> None:
        if attempt != self._attempt:
            self._connections.close(connection, now)
            return
        retired = self.connection
        connection.on_lost = self._on_lost
        self.connection, self.state = connection, self.checked(READY)
        self.versions = versions
        self._lives += 1
        self.failures = 0
        self.last_error = None
        self._heard_when_ready = connection.received_at
        self._ready_at = now
        if self._connections.login is not None:
            self._wordless_since = None
        if self._wordless_since is None:
            self._refusals = 0
        if not versions.before_0_10:
            self._negotiation = None
        if retired is not None:
            self._connections.lose(retired, ConnectError(f"{self._node.who} is not from before Kafka 0.10"), now)
        self._session.begin(session, now)
        self._write_waiting(now)
        self._node.link_is_ready(self, versions, now)

    def _on_failed(self, attempt: int, error: KafkaError, now: float) -> None:
        if attempt != self._attempt:
            return
        self._negotiation = None
        meaning = error.as_refusal() if isinstance(error, ClosedInLoginError) else None
        error = self._refused_wordlessly(meaning, now) or error
        self._back_off(error, now)
        self.fail_queue(error, now)
        self._node.link_has_failed(self, error, now)

    def _on_slow(self, now: float) -> None:
        self._node.link_is_slow(self, now)

    def _on_lost(self, connection: Connection, error: KafkaError, now: float) -> None:
        if connection is not self.connection:
            return
        self.connection = None
        self._session.end()
        self._stop_waiting()
        self._end_negotiation(now)
        unserved = self._was_unserved(connection, error, now)
        meaning = _closed_without_login(self._connections.settings.security_protocol) if unserved else None
        error = self._refused_wordlessly(meaning, now) or error
        self._back_off(error, now)
        self._node.link_is_lost(self, error, now)
        if isinstance(error, AuthError):
            for request in connection.drop_requests():  # the loss itself would have them sent again
                request.fail(afresh(error), now)

    @property
    def is_doubted(self) -> bool:
        """Whether the broker closed the last connection without a word: one that is ready proves nothing yet."""
        return self._wordless_since is not None

    def _refused_wordlessly(self, meaning: AuthError | None, now: float) -> AuthError | None:
        """`meaning`, after the broker has closed connections without a word so often and so long; None until then,
        and for an end that means nothing.
        """
        if meaning is None:
            self._wordless_since = None
            return None
        if self._wordless_since is None:
            self._wordless_since, self._wordless_ends = now, 0
        self._wordless_ends += 1
        lasts = now - self._wordless_since >= WORDLESS_FOR_S and self._wordless_ends >= WORDLESS_TIMES
        return meaning if lasts else None

    def _was_unserved(self, connection: Connection, error: KafkaError, now: float) -> bool:
        """Whether the broker ended a connection without a login at its first requests, none of which it may hold."""
        return (
            connection.ended
            and self.purpose == Purpose.DATA
            and now - self._ready_at < SERVED_WITHIN_S
            and self._connections.login is None
            and not isinstance(error, AuthError)
            and connection.received_at == self._heard_when_ready
            and bool(connection.in_flight)
            and connection.in_flight[0].api_key != PRODUCE  # which may be too large
        )

    def _end_negotiation(self, now: float) -> None:
        if self._negotiation is not None:
            self._negotiation.abandon(now)
            self._negotiation = None

    def _back_off(self, error: KafkaError, now: float) -> None:
        self.last_error = error
        self.failures += 1
        wait = self._connections.reconnect_backoff.wait(self.failures)
        if isinstance(error, AuthError):
            error.broker = self._node.who
            self._refused_at = now
            self._refusals += 1
            wait = self._connections.refusal_backoff.wait(self._refusals)
        self._backoff = self._connections.call_at(now + wait, self._on_backoff_over)
        self.move(BACKING_OFF)

    def _on_backoff_over(self, now: float) -> None:
        self._backoff = None
        self.move(IDLE)
        if self._queue:
            self.connect(now)
        self._node.link_may_connect(self, now)

    def _stop_waiting(self) -> None:
        for timer in (self._backoff, self._timeout):
            if timer is not None:
                timer.cancel()
        self._backoff = self._timeout = None

    # -- requests ---------------------------------------------------------------------------------------------------

    @override
    def no_version(self, request: Request, now: float) -> None:
        """The broker offers none that will do."""
        assert self.versions is not None
        name, who = APIS[request.api_key].name, self._node.who
        request.fail(self.versions.why_not(request.api_key, name, request.oldest, request.newest, who), now)

    @override
    def watch(self, moment: float) -> None:
        """The oldest request is looked at then, or as soon as the broker may be said to hang."""
        in_flight = self.connection.in_flight if self.connection is not None else None
        self._look_at(min(moment, in_flight[-1].sent_at + self._hangs_after) if in_flight else moment)

    def _look_at(self, moment: float) -> None:
        if self._timeout is not None:
            self._timeout.cancel()
        self._timeout = self._connections.call_at(moment, self._look_for_silence)

    def _look_for_silence(self, now: float) -> None:
        """The oldest request decides: unanswered for its time-out, it takes the connection with it.

        Bytes of its answer that come in break the silence, however long the whole answer takes.
        """
        self._timeout = None
        connection = self.connection
        if connection is None:
            return
        if not connection.in_flight:
            self._look_for_standstill(connection, now)
            return
        oldest = connection.in_flight[0]
        if oldest.raw:  # of a login, which has time of its own
            self._look_at(now + SILENT_AFTER_S)
            return
        silent_since = connection.received_at if connection.receiver.pending else oldest.sent_at
        due = silent_since + oldest.timeout
        if due > now:
            self._look_at(min(due, self._look_for_hanging(oldest, silent_since, now)))
            return
        name = APIS[oldest.api_key].name
        what = f"did not answer {name} within {round(oldest.timeout * 1000)} ms"
        self._time_out(connection, what, silent_since, now)

    def _look_for_hanging(self, oldest: Request, silent_since: float, now: float) -> float:
        """Says so where the broker hangs; returns when to look again. What a coordinator holds back is no sign."""
        if oldest.timeout > self._connections.settings.request_timeout_ms / 1000:
            return inf
        if now < silent_since + self._hangs_after:
            return silent_since + self._hangs_after
        self._node.link_hangs(now)
        return now + max(self._hangs_after, (now - silent_since) / 2)

    def _look_for_standstill(self, connection: Connection, now: float) -> None:
        """Where nothing is answered, bytes that are not taken show that the broker is gone: two looks, one request."""
        oldest, before = connection.unwritten, self._unwritten
        self._unwritten = oldest
        if oldest is None:
            return
        if oldest is not before:
            self._look_at(now + oldest.timeout)
            return
        name = APIS[oldest.api_key].name
        what = f"did not accept the bytes of {name} within {round(oldest.timeout * 1000)} ms"
        self._time_out(connection, what, oldest.sent_at, now)

    def _time_out(self, connection: Connection, what: str, silent_since: float, now: float) -> None:
        self._node.outage.hangs(silent_since, what, self._connections.reconnect_backoff.longest, now)
        self._connections.lose(connection, ConnectError(f"{self._node.who} {what}"), now)


def _closed_without_login(security_protocol: str) -> AuthError:
    return AuthError(
        step="the first request",
        reason=Wording(
            "the broker answers ApiVersions and closes the connection at the next request, again and again: this is "
            "how a listener behaves that requires a login (SASL), and {security_protocol}={protocol!r} has none",
            protocol=security_protocol,
        ),
    )


def _probe() -> GroupProbe:
    from kwire.engine.connections.group_probe import GroupProbe

    return GroupProbe()
