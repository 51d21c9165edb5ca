"""The way from an address to a connection that is ready: connect, agree on versions.

Layer 3, no I/O. Linear flows are generators: they yield (api_key, version, message), are sent the frame of the answer,
and return what was agreed. `Negotiation` runs them over up to two connections and decides.

ApiVersions is asked newest first. A broker that knows the API but not the version answers error 35 with a body in
version 0, whatever was asked (and some answer it with a body that is in no version at all): ask lower. A broker from
before 0.10 closes the connection (0.8) or never answers (0.9). Neither alone is proof, since a broker that restarts or
pauses does the same, so:

    silent for PROBE_AFTER, or closed   ->  ask Metadata v0 on a second connection; if closed, ask ApiVersions v0 again
    ApiVersions answered, however late  ->  that is the connection; the probe is closed
    ApiVersions answered with an error  ->  it is not old, and there is no connection
    Metadata answered, and ApiVersions, asked (again) on another connection, is closed while the probe lives on, or is
    silent for SILENCE and for GRACE after that answer
                                        ->  the probe is the connection, taken to be from before 0.10

So connections that are cut, however often, do not make a broker old: the probe would be cut with them.

Sources: KIP-35, KIP-511; protocol guide, "Retrieving Supported API versions".
"""

from __future__ import annotations

from collections.abc import Callable, Generator

from kwire import errors, protocol
from kwire._codec import Buffer, Timer
from kwire._typing import TYPE_CHECKING, Any
from kwire._version import __version__
from kwire.engine.addresses import Address
from kwire.engine.api_keys import API_VERSIONS, METADATA
from kwire.engine.connection import Connection
from kwire.engine.request import Request
from kwire.engine.versions import BEFORE_0_10, UNSUPPORTED_VERSION, Versions
from kwire.errors import BrokerError, CodecError, ConnectError, KafkaError, TruncatedError

if TYPE_CHECKING:
    from kwire.engine.core import Core

PROBE_AFTER = 0.3
"""Seconds of silence after which Metadata v0 is asked on a second connection."""

SILENCE = 0.6
"""Seconds of silence before a broker may be called old."""

GRACE = 0.25
"""Seconds that ApiVersions gets after Metadata was answered: a broker that wakes from a pause answers both at once."""

SETTLE = 0.02
"""Seconds that the probe must outlive the closed connection: what cuts one connection may be cutting all of them."""

LATE = 10.0
"""Seconds for which an answer to ApiVersions still overrules the verdict."""

Flow = Generator[tuple[int, int, Any], Buffer, Versions]
OnReady = Callable[[Connection, Versions, float], None]
OnFailed = Callable[[ConnectError, float], None]


def ask_versions(version: int) -> Flow:
    """Asks ApiVersions at `version`, then lower as the broker wants it."""
    while True:
        request = protocol.ApiVersionsRequest(client_software_name="kwire", client_software_version=__version__)
        frame = yield API_VERSIONS, version, request
        lower = _version_to_ask_instead(frame, version)
        if lower is None:
            return _versions_in(frame, version)
        version = lower


def probe_with_metadata() -> Flow:
    """Asks Metadata v0, which every release from 0.8.0 on answers."""
    yield METADATA, 0, protocol.MetadataRequest(topics=[])
    return BEFORE_0_10


def _version_to_ask_instead(frame: Buffer, version: int) -> int | None:
    """None if `frame` is an answer at `version`; else the lower version to ask with."""
    if len(frame) < 6:
        raise TruncatedError("the answer to ApiVersions ends before its error code", "error_code", 4)
    error = int.from_bytes(frame[4:6], "big", signed=True)
    if error == UNSUPPORTED_VERSION and version > 0:
        return min(_newest_offered(frame), version - 1)
    if error:
        raise errors.broker.by_code(error)("ApiVersions")
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
    return Versions({row.api_key: (row.min_version, row.max_version) for row in response.api_keys})


class Negotiation:
    """One try to get a ready connection to `address`; ends in `on_ready` or `on_failed`.

    `on_ready` may come a second time, when ApiVersions is answered after the broker was taken for an old one: the new
    connection then replaces the first. `suspect_old` asks both questions at once, for a broker that was old before.
    """

    def __init__(
        self, core: Core, address: Address, *, on_ready: OnReady, on_failed: OnFailed, suspect_old: bool, now: float
    ) -> None:
        self._core = core
        self._address = address
        self._on_ready = on_ready
        self._on_failed = on_failed
        self._suspect_old = suspect_old
        self._asker: Connection | None = None
        self._asked_at = now
        self._closed_when_asked = 0
        self._probe: Connection | None = None
        self._probe_answered = False
        self._probe_closed: KafkaError | None = None
        self._decided = False
        self._timers: list[Timer] = []
        self._open_asker(now)
        patience = core.settings.socket_connection_setup_timeout_ms / 1000
        self._call_at(now + patience, self._out_of_time)

    def abandon(self, now: float) -> None:
        """Ends everything that is under way, without a word."""
        asker, probe = self._asker, self._probe
        self.forget()
        self._drop(asker, now)
        self._drop(probe, now)

    def forget(self) -> None:
        """Nothing will come of this any more; the connections are closed by somebody else."""
        self._decided = True
        for timer in self._timers:
            timer.cancel()
        self._asker = self._probe = None

    # -- the connection that asks ApiVersions -----------------------------------------------------------------------

    def _open_asker(self, now: float) -> None:
        self._asker = self._core.open_connection(self._address, now, self._asker_made, self._asker_lost)

    def _asker_made(self, connection: Connection, now: float) -> None:
        self._asked_at = now
        newest = protocol.APIS[API_VERSIONS].versions[-1] if not self._closed_when_asked else 0
        self._run(connection, ask_versions(newest), self._asker_answered, now)
        if self._suspect_old:
            self._open_probe(now)
        else:
            self._call_at(now + PROBE_AFTER, self._open_probe)

    def _asker_answered(self, versions: Versions, now: float) -> None:
        connection, self._asker = self._asker, None
        probe, self._probe = (None if self._decided else self._probe), None
        self._decided = True
        for timer in self._timers:
            timer.cancel()
        self._drop(probe, now)
        if connection is not None:
            self._on_ready(connection, versions, now)

    def _asker_lost(self, connection: Connection, error: KafkaError, now: float) -> None:
        self._asker = None
        if self._decided:
            return
        was_connected = connection.correlation_id > 0
        if not was_connected or isinstance(error, BrokerError | CodecError):
            self._fail(error, now)
            return
        self._closed_when_asked += 1
        if self._probe_answered:
            self._call_at(now + SETTLE, self._closing_is_an_answer)
        elif self._closed_when_asked == 1:
            self._open_asker(now)
            self._open_probe(now)
        elif self._probe is None:
            self._fail(self._probe_closed or error, now)

    # -- the connection that asks Metadata --------------------------------------------------------------------------

    def _open_probe(self, now: float) -> None:
        if self._probe is None and self._probe_closed is None and not self._decided:
            self._probe = self._core.open_connection(self._address, now, self._probe_made, self._probe_lost)

    def _probe_made(self, connection: Connection, now: float) -> None:
        self._run(connection, probe_with_metadata(), self._on_probe_answer, now)

    def _on_probe_answer(self, versions: Versions, now: float) -> None:
        self._probe_answered = True
        if self._asker is None:
            self._open_asker(now)
        self._call_at(max(self._asked_at + SILENCE, now + GRACE), self._silence_is_an_answer)

    def _probe_lost(self, connection: Connection, error: KafkaError, now: float) -> None:
        self._probe = None
        self._probe_answered = False
        self._probe_closed = error
        if self._asker is None and not self._decided:
            self._fail(error, now)

    # -- the verdict ------------------------------------------------------------------------------------------------

    def _closing_is_an_answer(self, now: float) -> None:
        if not self._decided and self._probe is not None:
            self._take_probe(now)

    def _silence_is_an_answer(self, now: float) -> None:
        if not self._decided and self._probe is not None and self._asker is not None:
            self._take_probe(now)
            self._call_at(now + LATE, self._too_late)

    def _take_probe(self, now: float) -> None:
        probe, self._probe = self._probe, None
        self._decided = True
        for timer in self._timers:
            timer.cancel()
        if probe is not None:
            self._on_ready(probe, BEFORE_0_10, now)

    def _too_late(self, now: float) -> None:
        self._drop(self._asker, now)
        self._asker = None

    def _out_of_time(self, now: float) -> None:
        if not self._decided:
            connected = self._asker is not None and self._asker.correlation_id > 0
            what = "connected, but neither ApiVersions nor Metadata was answered" if connected else "no connection"
            patience = self._core.settings.socket_connection_setup_timeout_ms
            self._fail(ConnectError(f"{what} within {patience} ms"), now)

    def _fail(self, error: KafkaError, now: float) -> None:
        self.abandon(now)
        address = str(self._address)
        cause = error.causes.get(address, str(error)) if isinstance(error, ConnectError) else str(error)
        if self._closed_when_asked:
            cause += " (during ApiVersions and Metadata; is this a listener for TLS or SASL?)"
        self._on_failed(ConnectError("could not connect", {address: cause}), now)

    # -- help -------------------------------------------------------------------------------------------------------

    def _call_at(self, when: float, callback: Callable[[float], None]) -> None:
        self._timers.append(self._core.call_at(when, callback))

    def _drop(self, connection: Connection | None, now: float) -> None:
        if connection is not None:
            self._core.close_connection(connection, now)

    def _run(self, connection: Connection, flow: Flow, done: Callable[[Versions, float], None], now: float) -> None:
        """Runs `flow` over `connection`; a flow that fails loses its connection."""

        def on_frame(frame: Buffer | None, version: int, now: float) -> None:
            try:
                step = next(flow) if frame is None else flow.send(frame)
            except StopIteration as end:
                done(end.value, now)
            except KafkaError as error:
                on_error(error, now)
            else:
                api_key, version, message = step
                request = Request(
                    0, api_key, message, on_frame, on_error, versions=(version,), timeout=LATE + SILENCE, raw=True
                )
                connection.write_request(request, version, now)

        def on_error(error: KafkaError, now: float) -> None:
            self._core.lose_connection(connection, error, now)

        on_frame(None, 0, now)
