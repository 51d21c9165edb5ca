"""The core of a client: five verbs towards the driver, `request` for its components.

Layer 3: no I/O, no clock, no rng; `now` is seconds on a clock that never goes back, `rng()` is uniform over [0, 1).

For the driver
    events                            a deque of (CONNECT | WRITE | CLOSE, connection) and (WARN, text); take them, in
                                      order, until it is empty after every call below
    connection_made(connection, now)  the socket is connected
    connection_lost(connection, error, now)
                                      it could not be connected, or ended; no CLOSE follows for it
    connection.receiver.buffer(hint)  a writable memoryview to receive into; FrameError if the current frame claims a
                                      size that cannot be
    received(connection, count, now)  that many bytes came in
    connection.data_to_send()         a gather list of buffers; [] when there is nothing (left) to write
    connection.sent(count, now)       that many of those bytes were taken by the socket
    get_timer()                       the moment of the next timer, or None
    handle_timer(now)                 runs what is due
    next_due()                        as get_timer, at any time and from any thread; the timer may have been cancelled
    run_early(seconds, now)           runs what is due, and what may be done so much before its time: for a driver that
                                      may not get to it in time
    run_apart                         a callable that the driver sets, for clients that log in: (function, on_result,
                                      on_error) runs `function()`, which may block or take long, apart from the driver,
                                      then calls on_result(value, now) or on_error(exception, now) as a step of its own;
                                      a driver of coroutines awaits a function that is `async def`
    wall_clock                        a callable that the driver sets: seconds since 1970, for times in the log
    connection.step                   what the attempt to connect is at, in words, for the error when it times out;
                                      a driver that has something to do before `connection_made` says so here
  WARN comes with a text for the log instead of a connection: an outage that began or ended, once each.
  WRITE is said when output appears where there was none; write until data_to_send is empty.
  The driver sets `dirty` while one of these runs. If it is True when a step begins, an exception (Ctrl-C) cut the one
  before: close all sockets and call `recover(now)`, which fails all requests in flight with ConnectError, so that their
  components send them again.

For components (the producer's sender, the fetcher, admin calls)
    request(target, api_key, message, on_response, on_error, now, ...) -> Request
        target       a node id, ANY (whichever broker can be reached) or CONTROLLER
        message      a message, or a callable that makes it for the version it gets; it is called when the request is
                     written, so a produce request can take its batches as late as that. What it raises (KafkaError)
                     goes to on_error. `parts` of records fields are written as they are, by a gather write
        on_response(message, version, now)
                     exactly one of these two is called, once, and never within `request` itself when the broker has to
        on_error(error, now)
                     be asked; on_error may be called at once (unknown node id, closed client)
        expect_response=False
                     acks=0: on_response(None, version, now) comes when the last byte was handed to the socket
        purpose      Purpose.DATA, FETCH, COORDINATOR, TELEMETRY or METADATA. A broker may hold back its answer to a
                     Fetch or a JoinGroup, and with it all that come after it; so each purpose has a connection of its
                     own to a broker, which is made when it is first needed
        timeout      seconds that the broker may take once the request is written (default request_timeout_ms); when
                     they are over the connection is closed and all requests in flight on it fail with ConnectError
        versions     the range of versions that the component can do (default: all that kwire knows)
        known        the answer to earlier requests that were like this one: where the bytes are the same, so is the
                     message, which the component may not change
      Errors: ConnectError (`.causes` per address) when the connection could not be made or was lost, AuthError when the
      broker refused this client (or the client the broker), the BrokerError of code 35 when there is no common version,
      CodecError for an answer or request that cannot be decoded or encoded. Error codes inside an answer are the
      component's to read. Nothing is sent twice by the core: retries are the component's (`retry.is_retriable`,
      `retry_backoff`).
      Requests to one node are written in the order given and answered in that order. After on_error of a connection,
      later requests to that node wait for the new one.
    call_at(moment, callback) -> Timer  callback(now) at that moment; Timer.cancel()
    cluster                             topics, leaders, refresh: see `cluster.py`
    finalized_feature(name)             the level of a feature of the cluster (KIP-584); 0 where it is not known
    versions(node_id)                   what that broker offers (`newest_common(key, low, high)`); None if not connected
    why_not_connected(now)              each address with the last error there, in words; "" while a broker is connected
    connect_error()                     the same as a ConnectError, or None
    refusal, refusal_of(node_id)        the AuthError by which the cluster, or one broker, refuses this client; None
                                        while there is none. A broker that refuses is tried again after a wait that
                                        grows, so a component whose request ends in an AuthError may go on as after a
                                        ConnectError, unless `refusal` says that no broker is left
    retry_refused(now)                  a user's own call: shortens that wait
    hang_up(node_id, purpose, now)      closes that connection, on which no answer is waited for any longer; whether one
    is_receiving(node_id, purpose)      comes in there
    connection_life(node_id, purpose)   which connection that is: what a broker keeps by connection ends with it
    login                               how the client logs in; None without SASL. `login.tokens.source` is for the
                                        driver to set where tokens come from an endpoint
    retry_backoff, settings, rng
    early                               a list of callables (until, now) that `run_early` calls: what may be done before
                                        its time, up to `until`
    on_close                            a list of callables (now) that `close` calls first: what fails by the end
    recovered                           the owners of requests and timers whose `recover(now)` is called at the end of
                                        `recover`: see `common/recovery.py`
    after_step                          a deque of callables for the driver to run outside any lock: user callbacks go
                                        there, never straight out of on_response
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kwire._codec import CoreBase, PlanTable
from kwire._typing import TYPE_CHECKING, Any, NamedTuple, override
from kwire.engine.common.addresses import Address
from kwire.engine.common.recovery import Recoverable
from kwire.engine.common.request import ANY, CONTROLLER, Request
from kwire.engine.common.retry import Backoff, RandomFraction
from kwire.engine.connections.brokers import Brokers
from kwire.engine.connections.connection import Connection
from kwire.engine.connections.connections import Connections
from kwire.engine.connections.flows import RunApart
from kwire.engine.connections.versions import Versions
from kwire.engine.metadata.cluster import Cluster
from kwire.engine.settings.clients import ClientSettings
from kwire.errors import AuthError, ClientClosedError, CodecError, ConnectError, KafkaError
from kwire.protocol import APIS, decode_response_body, response_plans

if TYPE_CHECKING:
    from kwire.engine.connections.authentication import Login

_PLANS = PlanTable(response_plans)


class Trouble(NamedTuple):
    """An error that a client met, whether or not it got over it."""

    error: KafkaError
    at: float


class Core(CoreBase):
    """See the module's text for the contract."""

    run_apart: RunApart
    wall_clock: Callable[[], float]

    def __init__(self, settings: ClientSettings, rng: RandomFraction) -> None:
        super().__init__(_PLANS, decode_response_body, settings.request_timeout_ms / 1000)
        self.settings = settings
        self.rng = rng
        self.retry_backoff = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms, rng)
        self.recovered: list[Recoverable] = []
        self.early: list[Callable[[float, float], None]] = []
        self.on_close: list[Callable[[float], None]] = []
        self.login = _login(settings, rng) if settings.uses_sasl else None
        self._connections = Connections(
            settings, self._timers, self.events, rng, self._run_apart, self.login, self.traffic
        )
        self.last_trouble: Trouble | None = None
        self._brokers = Brokers(self._nodes, self._connections, rng, self._on_trouble, self._on_silence)
        self._refusals = self._brokers.refusals
        self.cluster = Cluster(self)

    # -- the driver's verbs -----------------------------------------------------------------------------------------

    def connection_made(self, connection: Connection, now: float) -> None:
        """The socket is connected."""
        self._connections.made(connection, now)

    def connection_lost(self, connection: Connection, error: str | BaseException, now: float) -> None:
        """The socket could not be connected, or has ended."""
        self._connections.ended(connection, error, now)

    def run_early(self, seconds: float, now: float) -> None:
        """Runs due timers, and lets components do work that is due within the next `seconds`."""
        self.handle_timer(now)
        for do in self.early:
            do(now + seconds, now)

    @override
    def recover(self, now: float) -> None:
        """After an interrupted step: forgets all connections, fails all requests in flight.

        What was cut may have left anything half done, so nothing is unwound: connections and nodes begin anew. The
        driver closes all its sockets; no events are left.
        """
        self._connections.forget()
        self._brokers.reset()
        self._recovering = True
        error = ConnectError("a step was interrupted; the connections were closed")
        for request in list(self._requests):
            request.fail(error, now)
        self._requests.clear()
        self._recovering = False
        self._timers.recover(now)
        for owner in list(self.recovered):
            owner.recover(now)
        self.dirty = False

    @override
    def close(self, now: float) -> None:
        """Closes all connections and fails whatever is not answered."""
        for end in self.on_close:
            end(now)
        self.closed = True
        self.cluster.stop()
        error = ClientClosedError("the client was closed")
        self._brokers.drop(error, now)
        self._connections.lose_all(error, now)
        for request in list(self._requests):
            request.fail(error, now)
        self._timers.clear()

    # -- for components ---------------------------------------------------------------------------------------------

    @override
    def versions(self, node_id: int) -> Versions | None:
        """The versions that the broker offers on its present connection for data; None without one."""
        node = self._nodes.get(node_id)
        return node.versions if node is not None and node.connection is not None else None

    def finalized_feature(self, name: str) -> int:
        """The level at which the cluster has that feature, as far as brokers have said so (KIP-584); 0: not at all."""
        newest: Versions | None = None
        for node in self._nodes.values():
            for link in node.links:
                offered = None if link is None else link.versions
                if offered is not None and (newest is None or offered.features_epoch > newest.features_epoch):
                    newest = offered
        return 0 if newest is None else newest.features.get(name, 0)

    @override
    def connect_error(self) -> ConnectError | None:
        """The last error at each address; None while a broker is connected."""
        return self._brokers.connect_error()

    @override
    def why_not_connected(self, now: float) -> str:
        """The last error at each address and since when that is so; "" while a broker is connected."""
        return self._brokers.why_not_connected(now)

    @property
    def refused(self) -> bool:
        """Whether some broker refused this client of late: False is the cheap answer to the next two."""
        return self._refusals.exist

    @property
    def refusal(self) -> AuthError | None:
        """Why no broker can be used, while at least one refuses this client and no other is connected."""
        return self._refusals.error

    def refusal_of(self, node_id: int) -> AuthError | None:
        """Why that broker refuses this client, on any of its connections."""
        node = self._nodes.get(node_id)
        return node.refusal if node is not None else None

    def retry_refused(self, now: float) -> None:
        """A user calls: brokers that refused this client are asked again, each once a second at most."""
        if self._refusals.exist:
            self._refusals.retry(now)

    def describe_node(self, node_id: int) -> str:
        """A broker and the state of its connection in words, with the last error there: for messages."""
        node = self._nodes.get(node_id)
        if node is None:
            return f"broker {node_id}: not in the metadata"
        return f"{node.who}: {node.last_error or node.progress}"

    def name_node(self, node_id: int) -> str:
        """A broker in words, with its address where that is known."""
        node = self._nodes.get(node_id)
        return f"broker {node_id}" if node is None else node.who

    def node_at(self, address: Address) -> int | None:
        """The id of the broker at that address; None if there is none."""
        return next((node_id for node_id, node in self._nodes.items() if node.address == address), None)

    def update_brokers(self, addresses: dict[int, Address], *, complete: bool, now: float) -> None:
        """The brokers of the cluster by id; when `complete`, those not named are gone."""
        self._brokers.update(addresses, complete=complete, now=now)

    def forget_brokers(self, now: float) -> None:
        """Forgets all that the metadata said about brokers: only the bootstrap addresses are left."""
        self._brokers.forget_ids(now)

    def has_lost(self, node_id: int, now: float) -> bool:
        """Whether the broker was reached once and cannot be, for no longer than an election may take."""
        node = self._nodes.get(node_id)
        return node is not None and node.was_lost_of_late(now)

    def is_put_off(self, node_id: int, now: float) -> bool:
        """Whether the broker was lost of late, and is not tried again until some wait has ended."""
        node = self._nodes.get(node_id)
        return node is not None and node.is_put_off(now)

    @property
    def is_busy(self) -> bool:
        """Whether some broker is connected, and each that is has requests to answer on its connection for data."""
        return self._brokers.are_busy

    def is_receiving(self, node_id: int, purpose: int) -> bool:
        """Whether an answer comes in over that connection to the broker."""
        node = self._nodes.get(node_id)
        return node is not None and node.is_receiving(purpose)

    def connection_life(self, node_id: int, purpose: int) -> int:
        """Which of its lives that connection to the broker is in; 0 while there is none."""
        node = self._nodes.get(node_id)
        return node.life(purpose) if node is not None else 0

    def hang_up(self, node_id: int, purpose: int, now: float) -> None:
        """Closes that connection to the broker; the next request makes another."""
        node = self._nodes.get(node_id)
        if node is not None:
            node.hang_up(purpose, now)

    def note_trouble(self, error: KafkaError, now: float) -> None:
        """Keeps the error as the last one, for those who ask how the client is."""
        self.last_trouble = Trouble(error, now)

    def warn(self, text: str) -> None:
        """Hands a text for the log to the driver."""
        self._connections.warn(text)

    def _run_apart(
        self,
        function: Callable[[], Any],
        on_result: Callable[[Any, float], None],
        on_error: Callable[[BaseException, float], None],
    ) -> None:
        """By what the driver has set meanwhile."""
        self.run_apart(function, on_result, on_error)

    def _on_trouble(self, error: KafkaError, now: float) -> None:
        self.note_trouble(error, now)
        self.cluster.connection_trouble(now)

    def _on_silence(self, now: float) -> None:
        self.cluster.refresh(now)

    # -- what the compiled half asks --------------------------------------------------------------------------------

    @override
    def dispatch(self, request: Request, now: float) -> None:
        """A request for any broker, for the controller, or for one that is not known."""
        target = request.target
        if target == CONTROLLER:
            target = self.cluster.controller_id if self.cluster.controller_id in self._nodes else ANY
        if target == ANY:
            self._brokers.submit(request, now)
            return
        node = self._nodes.get(target)
        if node is None:
            self.cluster.refresh(now)
            request.fail(ConnectError(f"broker {target} is not in the metadata of the cluster"), now)
            return
        node.submit(request, now)

    @override
    def lose_connection(self, connection: Connection, error: KafkaError, now: float) -> None:
        """The bytes on the connection make no sense: closes it."""
        self._connections.lose(connection, error, now)

    @override
    def versions_of(self, api_key: int) -> Sequence[int]:
        """The versions of that API that kwire knows."""
        return APIS[api_key].versions

    @override
    def unreadable(self, connection: Connection, request: Request, error: CodecError, now: float) -> None:
        """The answer to `request` is not what it should be."""
        name = APIS[request.api_key].name
        error.message = f"{name} v{request.version} response of {connection.address}: {error.message}"
        if isinstance(error.__context__, MemoryError):
            self._lose_answer(connection, request, error, now)
        else:
            request.fail(error, now)

    def _lose_answer(self, connection: Connection, request: Request, error: CodecError, now: float) -> None:
        """There was no memory for an answer: it counts as lost with its connection, so what may be asked again is."""
        lost = ConnectError("connection lost", {str(connection.who): str(error)})
        lost.__cause__ = error
        request.fail(lost, now)
        self.lose_connection(connection, lost, now)


def _login(settings: ClientSettings, rng: RandomFraction) -> Login:
    from kwire.engine.connections.authentication import Login

    return Login(settings, rng)
