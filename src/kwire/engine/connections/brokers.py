"""The brokers of a cluster: by id as the metadata names them, and by bootstrap address until their id is known.

Layer 3, no I/O. Requests for whichever broker can be reached wait here: they go to the least busy one that is ready
and answers, else another address is tried, and after NEXT_BROKER_AFTER_S one more at the same time. They go to one that
seems to hang while no other can be tried, or once it answers again, and fail when all addresses have failed. Nodes
report to `Brokers` (`ports.NodeOwner`); `on_trouble(error, now)` is called when a connection fails or ends, and
`on_silence(now)` while a broker hangs: leaders may have moved. What waits while brokers refuse this client is failed
when `refusals.py` says so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from kwire._codec import Timer
from kwire.engine.common.addresses import Address
from kwire.engine.common.outage import Outage
from kwire.engine.common.request import Purpose, Request
from kwire.engine.common.retry import RandomFraction, afresh, cause_at
from kwire.engine.connections.connections import Connections
from kwire.engine.connections.link import IDLE, NEGOTIATING
from kwire.engine.connections.node import Node
from kwire.engine.connections.refusals import Refusals
from kwire.errors import AuthError, ConnectError, KafkaError

NEXT_BROKER_AFTER_S = 0.3
"""Seconds after which, if no broker could be reached yet, another address is tried at the same time; and after which
one that seemed to hang is looked at again."""


class Brokers:
    """`nodes` is the dict that the core sends by: id -> Node, ids below -1 are bootstrap addresses."""

    def __init__(
        self,
        nodes: dict[int, Node],
        connections: Connections,
        rng: RandomFraction,
        on_trouble: Callable[[KafkaError, float], None],
        on_silence: Callable[[float], None],
    ) -> None:
        self.nodes = nodes
        self._connections = connections
        self._on_trouble = on_trouble
        self._on_silence = on_silence
        self._waiting: deque[Request] = deque()
        addresses = connections.settings.addresses
        first = int(rng() * len(addresses)) % len(addresses)
        self._bootstrap = addresses[first:] + addresses[:first]
        self._bootstrap_ids = -2
        self._look: Timer | None = None
        self._first_contact = Outage(lambda: "the cluster", connections.warn)
        self.refusals = Refusals(connections, self._candidates, self._fail_waiting, self._pump)

    # -- requests for any broker ------------------------------------------------------------------------------------

    def submit(self, request: Request, now: float) -> None:
        """Sends the request to whichever broker can be reached."""
        node = self._least_asked() if request.purpose == Purpose.METADATA else None
        if node is not None:
            node.submit(request, now)
            return
        self._waiting.append(request)
        self._pump(now)

    @property
    def are_busy(self) -> bool:
        """Whether some broker is connected, and each that is has requests to answer first."""
        ready = self._ready
        return bool(ready) and all(node.load for node in ready)

    @property
    def _ready(self) -> list[Node]:
        return [node for node in self.nodes.values() if node.connection is not None]

    def _least_asked(self) -> Node | None:
        """The broker to ask for metadata apart from data; None while none is connected."""
        return min(self._ready, key=lambda node: (node.load_of(Purpose.METADATA), -node.heard_at), default=None)

    def _pump(self, now: float) -> None:
        """Passes what waits to the least busy broker that is ready, or makes sure that one is being connected."""
        while self._waiting and self._waiting[0].done:
            self._waiting.popleft()
        if not self._waiting:
            return
        best = self._best(now)
        if best is not None:
            waiting, self._waiting = self._waiting, deque()
            for request in waiting:
                best.submit(request, now)
            return
        if self._ready:
            self._look_again(now)
        if self.refusals.error is not None:
            self.refusals.tell_soon(now)
        elif self.refusals.others_hang or not any(node.state == NEGOTIATING for node in self._candidates()):
            self._try_next(now)

    def _look_again(self, now: float) -> None:
        """A broker that seems to hang may answer before another one can be reached."""
        if self._look is None or not self._look.active:
            self._look = self._connections.call_at(now + NEXT_BROKER_AFTER_S, self._pump)

    def _best(self, now: float) -> Node | None:
        """The least busy broker that is ready; one that seems to hang only while no other can be tried.

        Of those that are equally busy it is the one that answered last.
        """
        ready = self._ready
        answering = [node for node in ready if not node.is_silent(now)]
        if len(answering) == 1:
            return answering[0]
        if ready and not answering and any(node.state in (IDLE, NEGOTIATING) for node in self._candidates()):
            return None
        return min(answering or ready, key=lambda node: (node.load, -node.heard_at), default=None)

    def _try_next(self, now: float) -> None:
        idle = [node for node in self._candidates() if node.state == IDLE]
        if not self._waiting or not idle:
            return
        tried = self._waiting[0].tried
        node = min(idle, key=lambda node: (str(node.address) in tried, node.failures))
        self._first_contact.begin(now)
        self._connections.call_at(now + NEXT_BROKER_AFTER_S, self._try_another_at_once)
        node.connect(now)

    def _try_another_at_once(self, now: float) -> None:
        if all(node.is_silent(now) for node in self._ready):
            self._try_next(now)

    def _candidates(self) -> list[Node]:
        """All nodes, after making sure that each bootstrap address has one."""
        known = {node.address for node in self.nodes.values()}
        for address in self._bootstrap:
            if address not in known:
                self.nodes[self._bootstrap_ids] = Node(self, self._connections, self._bootstrap_ids, address)
                self._bootstrap_ids -= 1
        return list(self.nodes.values())

    def _fail_waiting(self, error: AuthError, now: float) -> None:
        waiting, self._waiting = self._waiting, deque()
        for request in waiting:
            request.fail(afresh(error), now)
        for node in list(self.nodes.values()):
            node.fail_queue(afresh(error), now)

    # -- what nodes say ---------------------------------------------------------------------------------------------

    def node_is_ready(self, node: Node, now: float) -> None:
        """It got its connection."""
        self._first_contact.end(now)
        self.refusals.look_again()
        self._pump(now)

    def node_has_failed(self, node: Node, error: KafkaError, now: float) -> None:
        """An attempt to connect failed: requests for any broker that have tried all addresses fail."""
        if isinstance(error, AuthError):
            self.refusals.begin(now)
        address = str(node.address)
        cause = cause_at(node.address, error)
        candidates = self._candidates()
        everywhere = {str(candidate.address) for candidate in candidates}
        waiting, self._waiting = self._waiting, deque()
        for request in waiting:
            request.tried[address] = cause
            if everywhere <= request.tried.keys():
                request.fail(self._unreachable(request.tried), now)
            elif not request.done:
                self._waiting.append(request)
        self._tell_of_first_contact(now)
        self._on_trouble(error, now)
        self._pump(now)

    def _tell_of_first_contact(self, now: float) -> None:
        candidates = self._candidates()
        if self.refusals.exist or self._first_contact.reached:
            return
        if all(candidate.last_error or candidate.slowness for candidate in candidates):
            reason = "; ".join(f"{candidate.address}: {candidate.trouble}" for candidate in candidates)
            self._first_contact.lasts(reason, self._connections.reconnect_backoff.longest, now)

    def _unreachable(self, tried: dict[str, str]) -> KafkaError:
        refusal = next((node.refusal for node in self.nodes.values() if node.refusal is not None), None)
        return afresh(refusal) if refusal is not None else ConnectError("no broker could be reached", tried)

    def node_is_slow(self, node: Node, now: float) -> None:
        """An attempt to connect takes long."""
        self._tell_of_first_contact(now)

    def node_is_lost(self, node: Node, error: KafkaError, now: float) -> None:
        """A connection that was ready ended."""
        if isinstance(error, AuthError):
            self.refusals.begin(now)
        self._on_trouble(error, now)
        self._pump(now)

    def node_hangs(self, now: float) -> None:
        """It has not answered a request for longer than brokers take."""
        self._on_silence(now)

    def node_may_connect(self, node: Node, now: float) -> None:
        """The backoff after a failure has ended."""
        self._pump(now)

    def node_is_refused(self, node: Node, now: float) -> None:
        """Something waits for it while it refuses this client."""
        if self.refusals.error is not None:
            self.refusals.tell_soon(now)

    # -- what the metadata says -------------------------------------------------------------------------------------

    def update(self, addresses: dict[int, Address], *, complete: bool, now: float) -> None:
        """The brokers of the cluster by id; when `complete`, those not named are gone. No broker has a negative id."""
        for node_id, address in addresses.items():
            if node_id < 0:
                continue
            node = self.nodes.get(node_id)
            if node is None:
                self.nodes[node_id] = self._adopted(address, node_id) or Node(self, self._connections, node_id, address)
            else:
                node.move(address, now)
        if complete and addresses:
            for node_id in [known for known in self.nodes if known not in addresses and known >= 0]:
                self._forget(node_id, now)

    def forget_ids(self, now: float) -> None:
        """Forgets all that the metadata said about brokers: only the bootstrap addresses are left."""
        for node_id in [known for known in self.nodes if known >= 0]:
            self._forget(node_id, now)

    def _adopted(self, address: Address, node_id: int) -> Node | None:
        """The bootstrap node at this very address, which from now on has the broker's id."""
        for known, node in list(self.nodes.items()):
            if known < -1 and node.address == address:
                del self.nodes[known]
                node.node_id = node_id
                return node
        return None

    def _forget(self, node_id: int, now: float) -> None:
        node = self.nodes.pop(node_id)
        error = ConnectError(f"broker {node_id} ({node.address}) left the cluster")
        node.drop(error, now)
        node.fail_queue(error, now)

    # -- their ends -------------------------------------------------------------------------------------------------

    def drop(self, error: KafkaError, now: float) -> None:
        """Closes all connections and attempts."""
        for node in list(self.nodes.values()):
            node.drop(error, now)
        self._waiting.clear()

    def reset(self) -> None:
        """After an interrupted step: forgets all connections, attempts and waiting requests."""
        self._waiting.clear()
        self._look = None
        self.refusals.reset()
        for node in self.nodes.values():
            node.reset()

    # -- words ------------------------------------------------------------------------------------------------------

    def connect_error(self) -> ConnectError | None:
        """The last error at each address; None while a broker is connected."""
        if self._ready:
            return None
        return ConnectError("no broker is connected", {str(node.address): node.trouble for node in self._candidates()})

    def why_not_connected(self, now: float) -> str:
        """The last error at each address and since when that is so; "" while a broker is connected."""
        error = self.connect_error()
        if error is None:
            return ""
        lasted = max(node.outage.lasted(now) for node in self._candidates())
        return f"{error} (for {lasted:.1f} s)" if lasted else str(error)
