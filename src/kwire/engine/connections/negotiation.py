"""The way from an address to a connection that is ready: connect, agree on versions, log in.

Layer 3, no I/O. Linear flows are generators (see `flows.py`) that return what was agreed. `Negotiation` runs two of
them, each on its own connection, and decides.

ApiVersions is asked newest first. A broker that knows the API but not the version answers error 35 with a body in
version 0, whatever was asked (and some answer it with a body that is in no version at all): ask lower. A broker from
before 0.10 closes the connection (0.8) or never answers (0.9), and so does any broker that restarts, pauses, or is
reached over a bad network. Silence and lost connections therefore prove nothing. One answer does: releases before 0.10
do not read the version of a Metadata request, so they answer version 1 in the layout of version 0; no later one does.

    ApiVersions silent for SECOND_FLOW_AFTER_S, or closed
                                   ->  Metadata v1 on a second connection
    Metadata v1 in the layout of v0 -> that is the connection, to a broker from before 0.10
    Metadata v1 in its own layout  ->  ApiVersions on that connection, too
    ApiVersions answered           ->  that is the connection; the other one is closed
    neither within socket_connection_setup_timeout_ms, or both closed
                                   ->  no connection

With SASL the login (`authentication.py`) follows ApiVersions on that connection, and a broker that answers nothing else
before it is not asked Metadata. Only GSSAPI was there before 0.10: then the second connection begins with the login as
0.9 wants it, and goes on with Metadata v1. Where tokens travel bare, a broker refuses one by closing the connection: a
ClosedInLoginError, because it may as well be restarting; `link.py` takes it for a refusal when it goes on.

On a connection to a coordinator the second flow goes on, at a broker from before 0.10, with what that can for groups
(`group_probe.py`).

A broker that was old at the last connection is asked Metadata first: an unknown API key confuses the network thread of
0.9 (it drops what it had read from others). For as long as a connection to an old broker lasts, the question is asked
again every LOOK_AGAIN_AFTER_S on a connection of its own, and an answer to the first ApiVersions, however late, wins.

Sources: KIP-35, KIP-511; protocol guide, "Retrieving Supported API versions"; Kafka 0.8.2.2 and 0.9.0.1 as they run.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kwire import errors, protocol
from kwire._codec import Buffer, Timer
from kwire._typing import TYPE_CHECKING, Any, TypeVar
from kwire._version import __version__
from kwire.engine.common.addresses import Address
from kwire.engine.common.retry import cause_at
from kwire.engine.connections.connection import CLOSED, Connection
from kwire.engine.connections.flows import Ask, Flow, run
from kwire.engine.connections.services import ConnectionServices
from kwire.engine.connections.versions import BEFORE_0_10, Versions
from kwire.errors import AuthError, BrokerError, CodecError, ConnectError, KafkaError, TruncatedError
from kwire.errors.wording import Cause
from kwire.schema.api_keys import API_VERSIONS, METADATA
from kwire.schema.error_codes import UNSUPPORTED_VERSION

if TYPE_CHECKING:
    from kwire.engine.connections.authentication import Login
    from kwire.engine.connections.group_probe import GroupProbe

Result = TypeVar("Result")

SECOND_FLOW_AFTER_S = 0.3
"""Seconds of silence after which the other question is asked on a second connection."""

SLOW_AFTER_S = 3.0
"""Seconds after which an attempt to connect that goes on is told of."""

LATE_S = 30.0
"""Seconds for which an unanswered ApiVersions stays open beside a connection to an old broker."""

LOOK_AGAIN_AFTER_S = 60.0
"""Seconds after which a broker that is taken to be old is looked at again."""

_NEWEST = protocol.APIS[API_VERSIONS].versions[-1]

FlowOf = Callable[[int], "Flow[Versions]"]
OnReady = Callable[[Connection, Versions, float, float], None]
OnFailed = Callable[[KafkaError, float], None]
OnSlow = Callable[[float], None]


def ask_versions(version: int) -> Flow[Versions]:
    """Asks ApiVersions at `version`, then lower as the broker wants it."""
    while True:
        request = protocol.ApiVersionsRequest(client_software_name="kwire", client_software_version=__version__)
        frame = yield Ask(API_VERSIONS, version, request, "ApiVersions")
        lower = _version_to_ask_instead(frame, version)
        if lower is None:
            return _versions_in(frame, version)
        version = lower


def ask_whether_old(version: int) -> Flow[Versions]:
    """Asks Metadata v1; a broker that is not from before 0.10 is then asked ApiVersions at `version`."""
    frame = yield Ask(METADATA, 1, protocol.MetadataRequest(topics=[]), "Metadata")
    if _is_metadata(frame, 0, strict=True) and not _is_metadata(frame, 1, strict=False):
        return BEFORE_0_10
    return (yield from ask_versions(version))


def _is_metadata(frame: Buffer, version: int, *, strict: bool) -> bool:
    try:
        protocol.decode_response_body(frame, METADATA, version, strict=strict)
    except CodecError:
        return False
    return True


def _version_to_ask_instead(frame: Buffer, version: int) -> int | None:
    """None if `frame` is an answer at `version`; else the lower version to ask with."""
    if len(frame) < 6:
        raise TruncatedError("the answer to ApiVersions ends before its error code", "error_code", 4)
    error = int.from_bytes(frame[4:6], "big", signed=True)
    if error == UNSUPPORTED_VERSION and version > 0:
        return min(_newest_offered(frame), version - 1)
    if error:
        raise errors.broker.error_for(error, "ApiVersions")
    if version > 0:
        try:
            _versions_in(frame, version)
        except CodecError:
            return 0
    return None


def _newest_offered(frame: Buffer) -> int:
    """The newest ApiVersions version that a refusal (a body in version 0) names; 0 if it names none."""
    try:
        return _versions_in(frame, 0).ranges.get(API_VERSIONS, (0, 0))[1]
    except CodecError:
        return 0


def _versions_in(frame: Buffer, version: int) -> Versions:
    response: Any = protocol.decode_response_body(frame, API_VERSIONS, version, strict=False)[1]
    return Versions(
        {row.api_key: (row.min_version, row.max_version) for row in response.api_keys},
        features={row.name: row.max_version_level for row in response.finalized_features},
        features_epoch=response.finalized_features_epoch,
    )


class ClosedInLoginError(ConnectError):
    """The broker closed the connection at `step` of the login, where it has no words for a refusal."""

    step = ""

    def as_refusal(self) -> AuthError:
        """What it means when it goes on."""
        return AuthError(
            step=self.step,
            reason="the broker closes the connection here, again and again: this is how brokers before Kafka 1.0 "
            "refuse a login",
        )


def _only_a_controller() -> AuthError:
    """Of a node that has no topics: nothing that clients ask for begins there."""
    text = "a controller of KRaft answers at this port, it has no Metadata: is the port of a broker's listener meant?"
    return AuthError(text, step="ApiVersions", reason="no Metadata")


class Negotiation:
    """One try to get a ready connection to `address`; ends in `on_ready` or `on_failed`.

    `on_ready(connection, versions, session, now)`: `session` is how long the login is good for, in seconds, 0 for ever.
    It may come a second time, when a broker that was taken for an old one answers ApiVersions after all: the new
    connection then replaces the first. `on_failed` brings an AuthError where one side refused the other, else a
    ConnectError. `on_slow(now)`: neither has come for SLOW_AFTER_S. `suspect_old`: the broker was old at the last
    connection. `probe` finds out what an old one can.
    """

    def __init__(
        self,
        connections: ConnectionServices,
        address: Address,
        *,
        on_ready: OnReady,
        on_failed: OnFailed,
        on_slow: OnSlow,
        suspect_old: bool,
        now: float,
        probe: GroupProbe | None = None,
    ) -> None:
        self._connections = connections
        self._address = address
        self._on_ready = on_ready
        self._on_failed = on_failed
        self._on_slow = on_slow
        self.is_slow = False
        self._login = connections.login
        self._proof: FlowOf = ask_whether_old if self._login is None else self._log_in_and_ask_whether_old
        self._probe = probe
        if probe is not None:
            self._proof = partial(probe.flow, self._proof)
        self._flows = self._questions(suspect_old)
        self._open: list[Connection] = []
        self._connected = False
        self._closed_by_broker = False
        self._logging_in: Connection | None = None
        self._raised: KafkaError | None = None
        self._closed_in_login: ClosedInLoginError | None = None
        self._decided = False
        self._timers: list[Timer] = []
        self._begin_next_flow(now)
        patience = connections.settings.socket_connection_setup_timeout_ms / 1000
        self._call_at(now + patience, self._out_of_time)
        self._call_at(now + SLOW_AFTER_S, self._take_as_slow)

    @property
    def step(self) -> str:
        """What is being done, in words; "" before anything is connected."""
        return " and ".join(dict.fromkeys(connection.step for connection in self._open if connection.step))

    def abandon(self, now: float) -> None:
        """Ends everything in progress; calls neither `on_ready` nor `on_failed`."""
        connections = self._open
        self.forget()
        for connection in connections:
            self._connections.close(connection, now)

    def forget(self) -> None:
        """As `abandon`, where the caller closes the connections."""
        self._decided = True
        self._cancel_timers()
        self._open = []

    # -- two flows, two connections ---------------------------------------------------------------------------------

    def _questions(self, suspect_old: bool) -> list[FlowOf]:
        if self._login is not None and not self._login.may_come_first:
            return [ask_versions]
        return [self._proof, ask_versions] if suspect_old else [ask_versions, self._proof]

    def _log_in_and_ask_whether_old(self, version: int) -> Flow[Versions]:
        assert self._login is not None
        yield from self._login.flow_before_requests(self._address)
        return (yield from ask_whether_old(version))

    def _begin_next_flow(self, now: float) -> None:
        if self._flows and not self._decided:
            self._begin(self._flows.pop(0), now)

    def _begin(self, flow: FlowOf, now: float) -> None:
        connection = self._connections.open(self._address, now, partial(self._on_made, flow), self._on_lost)
        self._open.append(connection)

    def _on_made(self, flow: FlowOf, connection: Connection, now: float) -> None:
        self._connected = True
        newest = 0 if self._closed_by_broker else _NEWEST
        self._run(connection, flow(newest), partial(self._on_agreed, connection, flow), now)
        if not self._decided and self._flows:
            self._call_at(now + SECOND_FLOW_AFTER_S, self._begin_next_flow)

    def _run(
        self, connection: Connection, flow: Flow[Result], on_result: Callable[[Result, float], None], now: float
    ) -> None:
        def on_error(error: KafkaError, now: float) -> None:
            if connection.state != CLOSED:
                self._raised = error
                self._connections.lose(connection, error, now)

        run(connection, flow, on_result, on_error, now, self._connections.run_apart)

    def _on_lost(self, connection: Connection, error: KafkaError, now: float) -> None:
        self._open.remove(connection)
        if self._decided:
            return
        was_connected = connection.correlation_id > 0
        raised = error is self._raised
        if not was_connected or raised or isinstance(error, BrokerError | CodecError | AuthError):
            self._fail(error, now)
            return
        if connection.ended and self._login is not None and connection.step == self._login.bare_step:
            self._closed_in_login = self._refused_without_a_word(connection, error)
        if connection is self._logging_in:
            self._fail(self._closed_in_login or error, now)
            return
        self._closed_by_broker = self._closed_by_broker or connection.ended
        if self._probe is not None and self._probe.was_cut:
            self._begin(self._proof, now)
        elif self._flows:
            self._begin_next_flow(now)
        elif not self._open:
            self._fail(self._closed_in_login or error, now)

    def _refused_without_a_word(self, connection: Connection, error: KafkaError) -> ClosedInLoginError:
        cause = cause_at(self._address, error).followed_by(f" ({connection.step})")
        closed = ClosedInLoginError("could not connect", {str(self._address): cause})
        closed.step = connection.step
        return closed

    # -- the verdict ------------------------------------------------------------------------------------------------

    def _on_agreed(self, connection: Connection, flow: FlowOf, versions: Versions, now: float) -> None:
        if METADATA not in versions.ranges and not self._decided:
            self._fail(_only_a_controller(), now)
        elif not versions.before_0_10:
            if self._login is None or flow == self._proof:
                self._finish(connection, versions, 0.0, now)
            else:
                self._log_in(self._login, connection, versions, now)
        elif self._decided:
            self._connections.lose(connection, ConnectError("still from before Kafka 0.10"), now)
        else:
            self._take_as_old(connection, versions, now)

    def _log_in(self, login: Login, connection: Connection, versions: Versions, now: float) -> None:
        """The broker is not an old one: nothing is left to be proved on other connections."""
        if not self._decided:
            self._logging_in = connection
            self._flows = []
            for other in [other for other in self._open if other is not connection]:
                self._open.remove(other)
                self._connections.close(other, now)
        flow = login.flow(versions, self._address, 0.0, now)
        self._run(connection, flow, partial(self._finish, connection, versions), now)

    def _finish(self, connection: Connection, versions: Versions, session: float, now: float) -> None:
        self._open.remove(connection)
        self.abandon(now)
        self._on_ready(connection, versions, session, now)

    def _take_as_old(self, connection: Connection, versions: Versions, now: float) -> None:
        self._open.remove(connection)
        self._decided = True
        self.is_slow = False
        self._cancel_timers()
        self._call_at(now + LATE_S, self._close_unanswered)
        self._call_at(now + LOOK_AGAIN_AFTER_S, self._look_again)
        self._on_ready(connection, versions, 0.0, now)

    def _look_again(self, now: float) -> None:
        self._cancel_timers()
        self._close_unanswered(now)
        self._begin(self._proof, now)
        self._call_at(now + LOOK_AGAIN_AFTER_S, self._look_again)

    def _close_unanswered(self, now: float) -> None:
        for connection in list(self._open):
            self._connections.lose(connection, ConnectError("not answered"), now)

    def _take_as_slow(self, now: float) -> None:
        self.is_slow = True
        self._on_slow(now)

    def _out_of_time(self, now: float) -> None:
        patience = self._connections.settings.socket_connection_setup_timeout_ms
        late = Cause(f"{self.unfinished} within {patience} ms", "timeout")
        self._fail(ConnectError("could not connect", {str(self._address): late}), now)

    @property
    def unfinished(self) -> str:
        """What has not come to its end so far."""
        steps = [connection.step for connection in self._open if connection.step]
        if self._logging_in is not None or not self._connected:
            return f"connected, but {steps[0]} did not end" if steps else "no connection"
        if any(connection.received_at for connection in self._open):
            return "connected, and not to a broker from before Kafka 0.10, but ApiVersions was not answered"
        if self._login is None:
            return "connected, but neither ApiVersions nor Metadata was answered"
        return f"connected, but {' and '.join(dict.fromkeys(steps))} not answered"

    def _fail(self, error: KafkaError, now: float) -> None:
        self.abandon(now)
        if isinstance(error, AuthError):
            error.broker = error.broker or str(self._address)
        elif not isinstance(error, ClosedInLoginError):
            cause = cause_at(self._address, error).followed_by(self._hint())
            error = ConnectError("could not connect", {str(self._address): cause})
        self._on_failed(error, now)

    def _hint(self) -> str:
        if self._logging_in is not None and self._logging_in.ended:
            return f" (during {self._logging_in.step})"
        if not self._closed_by_broker:
            return ""
        kinds = "" if self._connections.settings.uses_tls else "for TLS, or "
        if self._login is None:
            return f" (during ApiVersions and Metadata; is this a listener {kinds}for SASL, or a ZooKeeper?)"
        return f" (during ApiVersions; is this a listener {kinds}of a broker from before Kafka 0.10?)"

    # -- help -------------------------------------------------------------------------------------------------------

    def _call_at(self, when: float, callback: Callable[[float], None]) -> None:
        self._timers.append(self._connections.call_at(when, callback))

    def _cancel_timers(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
