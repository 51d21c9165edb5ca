"""The core of a client: five verbs towards the driver, `request` towards the components that ride on it.

Layer 3: no I/O, no clock, no rng; `now` is seconds on a clock that never goes back, `rng()` is uniform over [0, 1).

For the driver
    events                            a deque of (CONNECT | WRITE | CLOSE, connection) and (WARN, text); take them, in
                                      order, until it is empty after every call below
    connection_made(connection, now)  the socket is connected
    connection_lost(connection, error, now)
                                      it could not be connected, or ended; no CLOSE follows for it
    connection.receiver.buffer(hint)  a writable memoryview to receive into; FrameError if the frame under way claims a
                                      size that cannot be
    received(connection, count, now)  that many bytes came in
    connection.data_to_send()         a gather list of buffers; [] when there is nothing (left) to write
    connection.sent(count, now)       that many of those bytes were taken by the socket
    get_timer()                       the moment of the next timer, or None
    handle_timer(now)                 runs what is due
    next_due()                        as get_timer, at any time and from any thread; the timer may have been cancelled
    run_early(seconds, now)           runs what is due, and what may be done so much before its time: for a driver that
                                      may not get to it in time
  WARN comes with a text for the log instead of a connection: an outage that began or ended, once each.
  WRITE is said when output appears where there was none; write until data_to_send is empty.
  The driver sets `dirty` while one of these runs. If it is True when a step begins, an exception (Ctrl-C) cut the one
  before: close all sockets and call `recover(now)`, which fails all requests under way with ConnectError, so that their
  components send them again.

For components (the producer's sender, the fetcher, admin calls)
    request(target, api_key, message, on_response, on_error, now, ...) -> Request
        target       a node id, ANY (whichever broker can be reached) or CONTROLLER
        message      a message, or a callable that makes it for the version it is told; it is called when the request is
                     written, so a produce request can take its batches as late as that. What it raises (KafkaError)
                     goes to on_error. `parts` of records fields are written as they are, by a gather write
        on_response(message, version, now)
                     exactly one of these two is called, once, and never within `request` itself when the broker has to
        on_error(error, now)
                     be asked; on_error may be called at once (unknown node id, closed client)
        expect_response=False
                     acks=0: on_response(None, version, now) comes when the last byte was handed to the socket
        long_poll=True
                     the broker may hold its answer back, and all behind it: other requests to that broker go over a
                     second connection meanwhile, which is made when it is first needed
        deadline     a moment at which on_error(KafkaTimeoutError) is called whatever the state; the connection stays
        timeout      seconds that the broker may take once the request is written (default request_timeout_ms); when
                     they are over the connection is closed and all requests under way on it fail with ConnectError
        versions     the range of versions that the component can do (default: all that kwire knows)
      Errors: ConnectError (`.causes` per address) when the connection could not be made or was lost, the
      BrokerError of code 35 when there is no common version, CodecError for an answer or request that cannot be
      decoded or encoded, KafkaTimeoutError by `deadline`. Error codes inside an answer are the component's to read.
      Nothing is sent twice by the core: retries are the component's (`retry.is_retriable`, `retry_backoff`).
      Requests to one node are written in the order given and answered in that order. After on_error of a connection,
      later requests to that node wait for the new one.
    call_at(moment, callback) -> Timer  callback(now) at that moment; Timer.cancel()
    cluster                             topics, leaders, refresh: see `cluster.py`
    versions(node_id)                   what that broker offers (`newest_common(key, low, high)`); None if not connected
    why_not_connected(now)              each address with the last error there, in words; "" while a broker is connected
    connect_error()                     the same as a ConnectError, or None
    retry_backoff, settings, rng
    ahead                               a list of callables (until, now) that `run_early` calls: what may be done before
                                        its time, up to `until`
    recovered                           a list of callables (now) that `recover` calls at its end; of a request whose
                                        callback was cut nothing more is heard, so they ask again for what they miss
    after_step                          a deque of callables for the driver to run outside any lock: user callbacks go
                                        there, never straight out of on_response
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from kwire._codec import CoreBase, PlanTable
from kwire.engine.addresses import Address
from kwire.engine.cluster import Cluster
from kwire.engine.connection import CLOSE, CLOSED, CONNECT, OPEN, WARN, Connection
from kwire.engine.node import Node
from kwire.engine.outage import Outage
from kwire.engine.request import ANY, CONTROLLER, Request
from kwire.engine.retry import Backoff, RandomFraction
from kwire.engine.settings import ClientSettings
from kwire.engine.versions import Versions
from kwire.errors import CodecError, ConnectError, KafkaError, KafkaTimeoutError
from kwire.protocol import APIS, decode_response_body, response_plans

_PLANS = PlanTable(response_plans)

NEXT_BROKER_AFTER = 0.3
"""Seconds after which, if no broker could be reached yet, another address is tried at the same time."""

OnMade = Callable[[Connection, float], None]
OnLost = Callable[[Connection, KafkaError, float], None]


class Core(CoreBase):
    """See the module's text for the contract."""

    def __init__(self, settings: ClientSettings, rng: RandomFraction) -> None:
        super().__init__(_PLANS, decode_response_body, settings.request_timeout_ms / 1000)
        self.settings = settings
        self.rng = rng
        self.retry_backoff = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms, rng)
        self.reconnect_backoff = Backoff(settings.reconnect_backoff_ms, settings.reconnect_backoff_max_ms, rng)
        self.recovered: list[Callable[[float], None]] = []
        self.early: list[Callable[[float, float], None]] = []
        self._connections: set[Connection] = set()
        self._connection_count = 0
        self._anywhere: deque[Request] = deque()
        addresses = settings.addresses
        first = int(rng() * len(addresses)) % len(addresses)
        self._bootstrap = addresses[first:] + addresses[:first]
        self._bootstrap_ids = -2
        self.longest_wait = self.reconnect_backoff.longest
        self._first_contact = Outage(lambda: "the cluster", self.warn)
        self.cluster = Cluster(self)

    # -- the driver's verbs -----------------------------------------------------------------------------------------

    def connection_made(self, connection: Connection, now: float) -> None:
        """The socket is connected."""
        if connection.state != CLOSED:
            connection.become(OPEN)
            connection.on_made(connection, now)

    def connection_lost(self, connection: Connection, error: str | BaseException, now: float) -> None:
        """The socket could not be connected, or has ended."""
        if connection.state != CLOSED:
            cause = str(error) or type(error).__name__
            self._lose(connection, ConnectError("connection lost", {str(connection.address): cause}), now)

    def run_early(self, seconds: float, now: float) -> None:
        """Runs what is due, and what components may do so much before its time."""
        self.handle_timer(now)
        for do in self.early:
            do(now + seconds, now)

    def recover(self, now: float) -> None:
        """After a step that was cut: forgets all connections, fails all requests under way.

        What was cut may have left anything half done, so nothing is unwound: connections and nodes begin anew. The
        driver closes all its sockets; no events are left.
        """
        self.events.clear()
        for connection in list(self._connections):
            connection.become(CLOSED)
            connection.drop_requests()
        self._connections.clear()
        self._anywhere.clear()
        for node in self._nodes.values():
            node.reset()
        self._recovering = True
        error = ConnectError("a step was interrupted; the connections were closed")
        for request in list(self._requests):
            request.fail(error, now)
        self._requests.clear()
        self._recovering = False
        self._timers.recover(now)
        for listener in list(self.recovered):
            listener(now)
        self.dirty = False

    def close(self, now: float) -> None:
        """Closes all connections and fails whatever is not answered."""
        self.closed = True
        self.cluster.stop()
        error = KafkaError("the client was closed")
        for node in list(self._nodes.values()):
            node.drop(error, now)
        for connection in list(self._connections):
            self.lose_connection(connection, error, now)
        for request in list(self._requests):
            request.fail(error, now)
        self._anywhere.clear()
        self._timers.clear()

    # -- for components ---------------------------------------------------------------------------------------------

    def versions(self, node_id: int) -> Versions | None:
        """What the broker offers on its present connection; None without one."""
        node = self._nodes.get(node_id)
        return node.versions if node is not None and node.connection is not None else None

    def broker_states(self) -> dict[str, str]:
        """Each address with the last error there, for messages; an address that works says so."""
        return {
            str(node.address): str(node.last_error) if node.last_error else node.state
            for node in [*self._nodes.values()]
        }

    def connect_error(self) -> ConnectError | None:
        """The last error at each address; None while a broker is connected."""
        if any(node.connection is not None for node in self._nodes.values()):
            return None
        causes = {str(node.address): node.trouble for node in self._candidates()}
        return ConnectError("no broker is connected", causes)

    def why_not_connected(self, now: float) -> str:
        """Since when no broker is connected, and the last error at each address; "" while one is."""
        error = self.connect_error()
        if error is None:
            return ""
        lasted = max(node.out_of_reach(now) for node in self._candidates())
        return f"{error} (for {lasted:.1f} s)" if lasted else str(error)

    def warn(self, text: str) -> None:
        """Hands a text for the log to the driver."""
        self.events.append((WARN, text))

    def describe_node(self, node_id: int) -> str:
        """A broker and the state of its connection in words, with the last error there: for messages."""
        node = self._nodes.get(node_id)
        if node is None:
            return f"broker {node_id}: not in the metadata"
        return f"{node.who}: {node.last_error or node.state}"

    def versions_of(self, api_key: int) -> Sequence[int]:
        """The versions of that API that kwire knows."""
        return APIS[api_key].versions

    def unreadable(self, connection: Connection, request: Request, error: CodecError, now: float) -> None:
        """The answer to `request` is not what it should be."""
        name = APIS[request.api_key].name
        error.message = f"{name} v{request.version} response of {connection.address}: {error.message}"
        request.fail(error, now)

    def dispatch(self, request: Request, now: float) -> None:
        """A request for any broker, for the controller, or for one that is not known."""
        target = request.target
        if target == CONTROLLER:
            target = self.cluster.controller_id if self.cluster.controller_id in self._nodes else ANY
        if target == ANY:
            self._anywhere.append(request)
            self._pump(now)
            return
        node = self._nodes.get(target)
        if node is None:
            self.cluster.refresh(now)
            request.fail(ConnectError(f"broker {target} is not in the metadata of the cluster"), now)
            return
        node.submit(request, now)

    def too_late(self, request: Request, now: float) -> None:
        """The deadline of the request has come."""
        name = APIS[request.api_key].name
        request.fail(KafkaTimeoutError(f"{name} was not answered in time"), now)

    # -- requests for any broker ------------------------------------------------------------------------------------

    def _pump(self, now: float) -> None:
        """Gives what waits for any broker to the least busy ready one, or makes sure that one is being connected."""
        while self._anywhere and self._anywhere[0].done:
            self._anywhere.popleft()
        if not self._anywhere:
            return
        ready = [node for node in self._nodes.values() if node.connection is not None]
        if ready:
            best = min(ready, key=lambda node: node.load)
            waiting, self._anywhere = self._anywhere, deque()
            for request in waiting:
                best.submit(request, now)
            return
        if not any(node.state == "negotiating" for node in self._candidates()):
            self._try_next_broker(now)

    def _try_next_broker(self, now: float) -> None:
        idle = [node for node in self._candidates() if node.state == "idle"]
        if not self._anywhere or not idle:
            return
        tried = self._anywhere[0].tried
        node = min(idle, key=lambda node: (str(node.address) in tried, node.failures))
        self._first_contact.begin(now)
        self.call_at(now + NEXT_BROKER_AFTER, self._try_another_at_once)
        node.connect(now)

    def _try_another_at_once(self, now: float) -> None:
        if not any(node.connection is not None for node in self._nodes.values()):
            self._try_next_broker(now)

    def _candidates(self) -> list[Node]:
        """All nodes, after making sure that each bootstrap address has one."""
        known = {node.address for node in self._nodes.values()}
        for address in self._bootstrap:
            if address not in known:
                self._nodes[self._bootstrap_ids] = Node(self, self._bootstrap_ids, address)
                self._bootstrap_ids -= 1
        return list(self._nodes.values())

    def node_is_ready(self, node: Node, now: float) -> None:
        """A node got its connection."""
        self._first_contact.end(now)
        self._pump(now)

    def node_has_failed(self, node: Node, error: ConnectError, now: float) -> None:
        """An attempt to connect failed: requests for any broker that have tried all addresses fail."""
        address = str(node.address)
        cause = error.causes.get(address, str(error))
        everywhere = {str(candidate.address) for candidate in self._candidates()}
        waiting, self._anywhere = self._anywhere, deque()
        for request in waiting:
            request.tried[address] = cause
            if everywhere <= request.tried.keys():
                request.fail(ConnectError("no broker could be reached", request.tried), now)
            elif not request.done:
                self._anywhere.append(request)
        if not self._first_contact.reached and all(node.last_error for node in self._candidates()):
            reason = "; ".join(f"{node.address}: {node.trouble}" for node in self._candidates())
            self._first_contact.lasts(reason, self.longest_wait, now)
        self.cluster.connection_trouble(now)
        self._pump(now)

    def node_is_lost(self, node: Node, error: KafkaError, now: float) -> None:
        """A ready connection ended."""
        self.cluster.connection_trouble(now)
        self._pump(now)

    def node_backoff_over(self, node: Node, now: float) -> None:
        """A node may be tried again."""
        self._pump(now)

    # -- what the metadata says about brokers -----------------------------------------------------------------------

    def update_brokers(self, brokers: dict[int, Address], *, complete: bool, now: float) -> None:
        """The brokers of the cluster by id; when `complete`, those not named are gone."""
        for node_id, address in brokers.items():
            node = self._nodes.get(node_id)
            if node is None:
                node = self._adopted(address, node_id) or Node(self, node_id, address)
                self._nodes[node_id] = node
            else:
                node.move(address, now)
        if complete and brokers:
            for node_id in [known for known in self._nodes if known not in brokers and known >= 0]:
                self._forget(node_id, now)

    def forget_brokers(self, now: float) -> None:
        """What the metadata said about brokers is void: only the bootstrap addresses are left."""
        for node_id in [known for known in self._nodes if known >= 0]:
            self._forget(node_id, now)

    def _adopted(self, address: Address, node_id: int) -> Node | None:
        """The bootstrap node at this very address, which from now on has the broker's id."""
        nodes: dict[int, Node] = self._nodes
        for known, node in list(nodes.items()):
            if known < -1 and node.address == address:
                del self._nodes[known]
                node.node_id = node_id
                return node
        return None

    def _forget(self, node_id: int, now: float) -> None:
        node = self._nodes.pop(node_id)
        error = ConnectError(f"broker {node_id} ({node.address}) left the cluster")
        node.drop(error, now)
        node.fail_queue(error, now)

    # -- for nodes and negotiations ---------------------------------------------------------------------------------

    def open_connection(self, address: Address, now: float, on_made: OnMade, on_lost: OnLost) -> Connection:
        """A fresh connection that the driver is told to connect."""
        self._connection_count += 1
        settings = self.settings
        connection = Connection(
            self._connection_count, address, settings.client_id, settings.receive_message_max_bytes, self.events
        )
        connection.on_made = on_made
        connection.on_lost = on_lost
        self._connections.add(connection)
        self.events.append((CONNECT, connection))
        return connection

    def close_connection(self, connection: Connection, now: float) -> None:
        """Closes it without telling its owner."""
        connection.on_lost = _not_told
        self.lose_connection(connection, ConnectError("closed"), now)

    def lose_connection(self, connection: Connection, error: KafkaError, now: float) -> None:
        """Tells the driver to close it; requests under way on it fail with `error`, then its owner is told."""
        if connection.state != CLOSED:
            self.events.append((CLOSE, connection))
            self._lose(connection, error, now)

    def _lose(self, connection: Connection, error: KafkaError, now: float) -> None:
        connection.become(CLOSED)
        self._connections.discard(connection)
        requests = connection.drop_requests()
        connection.on_lost(connection, error, now)
        for request in requests:
            request.fail(error, now)


def _not_told(connection: Connection, error: KafkaError, now: float) -> None:
    """Stands where the owner of a connection that was closed on purpose was."""
