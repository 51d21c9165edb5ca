"""The brokers of a cluster: by id as the metadata names them, and by bootstrap address until their id is known.

Layer 3, no I/O. Requests for whichever broker can be reached wait here: they go to the least busy one that is ready
and answers, else another address is tried, and after NEXT_BROKER_AFTER_S one more at the same time. They go to one that
seems to hang while no other can be tried, and fail when all addresses have failed. Nodes report to `Brokers`
(`ports.NodeOwner`); `on_trouble(now)` is called when a connection fails or ends, since leaders may have moved.

While a broker refuses this client (AuthError) and no other is connected, everything that waits for any broker fails
with that error, and so does what comes until one is tried again. Brokers not tried yet have OTHERS_FOR_S before that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from kwire._codec import Timer
from kwire.engine.addresses import Address
from kwire.engine.connections import Connections
from kwire.engine.node import Node
from kwire.engine.outage import Outage
from kwire.engine.request import Request
from kwire.engine.retry import RandomFraction, afresh
from kwire.errors import AuthError, ConnectError, KafkaError

NEXT_BROKER_AFTER_S = 0.3
"""Seconds after which, if no broker could be reached yet, another address is tried at the same time."""

OTHERS_FOR_S = 2.0
"""Seconds after a refusal that brokers which were not tried yet have to prove better."""

REFUSED_AFTER_S = 0.02
"""Seconds after which what was submitted to brokers that refuse is failed: never within `submit` itself."""


class Brokers:
    """`nodes` is the dict that the core sends by: id -> Node, ids below -1 are bootstrap addresses."""

    def __init__(
        self,
        nodes: dict[int, Node],
        connections: Connections,
        rng: RandomFraction,
        on_trouble: Callable[[float], None],
    ) -> None:
        self.nodes = nodes
        self._connections = connections
        self._on_trouble = on_trouble
        self._waiting: deque[Request] = deque()
        addresses = connections.settings.addresses
        first = int(rng() * len(addresses)) % len(addresses)
        self._bootstrap = addresses[first:] + addresses[:first]
        self._bootstrap_ids = -2
        self._first_contact = Outage(lambda: "the cluster", connections.warn)
        self.refused = False
        self._others_had_time = False
        self._others_timer: Timer | None = None
        self._failing: Timer | None = None

    # -- requests for any broker ------------------------------------------------------------------------------------

    def submit(self, request: Request, now: float) -> None:
        """Sends the request to whichever broker can be reached."""
        self._waiting.append(request)
        self._pump(now)

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
        if self.refusal is not None:
            self._fail_waiting_soon(now)
        elif self._others_hang or not any(node.state == "negotiating" for node in self._candidates()):
            self._try_next(now)

    def _best(self, now: float) -> Node | None:
        """The least busy broker that is ready; one that seems to hang only while no other can be tried.

        Of those that are equally busy it is the one heard from last.
        """
        ready = [node for node in self.nodes.values() if node.connection is not None]
        answering = [node for node in ready if not node.is_silent(now)]
        if ready and not answering and any(node.state in ("idle", "negotiating") for node in self._candidates()):
            return None
        return min(answering or ready, key=lambda node: (node.load, -node.heard_at), default=None)

    def _try_next(self, now: float) -> None:
        idle = [node for node in self._candidates() if node.state == "idle"]
        if not self._waiting or not idle:
            return
        tried = self._waiting[0].tried
        node = min(idle, key=lambda node: (str(node.address) in tried, node.failures))
        self._first_contact.begin(now)
        self._connections.call_at(now + NEXT_BROKER_AFTER_S, self._try_another_at_once)
        node.connect(now)

    def _try_another_at_once(self, now: float) -> None:
        if not any(node.connection is not None and not node.is_silent(now) for node in self.nodes.values()):
            self._try_next(now)

    def _candidates(self) -> list[Node]:
        """All nodes, after making sure that each bootstrap address has one."""
        known = {node.address for node in self.nodes.values()}
        for address in self._bootstrap:
            if address not in known:
                self.nodes[self._bootstrap_ids] = Node(self, self._connections, self._bootstrap_ids, address)
                self._bootstrap_ids -= 1
        return list(self.nodes.values())

    # -- refusals ---------------------------------------------------------------------------------------------------

    @property
    def refusal(self) -> AuthError | None:
        """Why no broker can be used, while at least one refuses this client; None while another one may do."""
        if not self.refused:
            return None
        nodes = self._candidates()
        if any(node.connection is not None for node in nodes):
            return None
        if not self._others_hang and any(not node.refusal and not node.last_error for node in nodes):
            return None
        return next((node.refusal for node in nodes if node.refusal is not None), None)

    def retry_refused(self, now: float) -> None:
        """Brokers that refused this client are asked again soon: a user's call wants to know."""
        if self.refused:
            for node in list(self.nodes.values()):
                node.retry_refused(now)

    def _note_refusal(self, now: float) -> None:
        """One refused: if no other can be used, what waits is told."""
        if not self.refused:
            self.refused = True
            self._others_had_time = False
            self._others_timer = self._connections.call_at(now + OTHERS_FOR_S, self._others_are_late)
        self._fail_waiting_soon(now)

    def _others_are_late(self, now: float) -> None:
        self._others_had_time = True
        self._fail_waiting(now)
        self._pump(now)

    @property
    def _others_hang(self) -> bool:
        """Whether brokers that do not refuse have had time enough: nothing waits for them then."""
        return self.refused and self._others_had_time

    def _fail_waiting_soon(self, now: float) -> None:
        if self._failing is None or not self._failing.active:
            self._failing = self._connections.call_at(now + REFUSED_AFTER_S, self._fail_waiting)

    def _fail_waiting(self, now: float) -> None:
        """Fails what waits, if no broker can be used."""
        refusal = self.refusal
        if refusal is None:
            return
        waiting, self._waiting = self._waiting, deque()
        for request in waiting:
            request.fail(afresh(refusal), now)
        for node in list(self.nodes.values()):
            node.fail_queue(afresh(refusal), now)

    def _forget_refusals(self) -> None:
        """A broker can be used: the next refusal begins anew."""
        self.refused = any(node.refusal is not None for node in self.nodes.values())
        if not self.refused and self._others_timer is not None:
            self._others_timer.cancel()

    # -- what nodes say ---------------------------------------------------------------------------------------------

    def node_is_ready(self, node: Node, now: float) -> None:
        """It got its connection."""
        self._first_contact.end(now)
        self._forget_refusals()
        self._pump(now)

    def node_has_failed(self, node: Node, error: KafkaError, now: float) -> None:
        """An attempt to connect failed: requests for any broker that have tried all addresses fail."""
        if isinstance(error, AuthError):
            self._note_refusal(now)
        address = str(node.address)
        cause = error.causes.get(address, str(error)) if isinstance(error, ConnectError) else str(error)
        candidates = self._candidates()
        everywhere = {str(candidate.address) for candidate in candidates}
        waiting, self._waiting = self._waiting, deque()
        for request in waiting:
            request.tried[address] = cause
            if everywhere <= request.tried.keys():
                request.fail(self._unreachable(request.tried), now)
            elif not request.done:
                self._waiting.append(request)
        if (
            not self.refused
            and not self._first_contact.reached
            and all(candidate.last_error for candidate in candidates)
        ):
            reason = "; ".join(f"{candidate.address}: {candidate.trouble}" for candidate in candidates)
            self._first_contact.lasts(reason, self._connections.reconnect_backoff.longest, now)
        self._on_trouble(now)
        self._pump(now)

    def _unreachable(self, tried: dict[str, str]) -> KafkaError:
        refusal = next((node.refusal for node in self.nodes.values() if node.refusal is not None), None)
        return afresh(refusal) if refusal is not None else ConnectError("no broker could be reached", tried)

    def node_is_lost(self, node: Node, error: KafkaError, now: float) -> None:
        """A connection that was ready ended."""
        if isinstance(error, AuthError):
            self._note_refusal(now)
        self._on_trouble(now)
        self._pump(now)

    def node_may_connect(self, node: Node, now: float) -> None:
        """The backoff after a failure is over."""
        self._pump(now)

    def node_is_refused(self, node: Node, now: float) -> None:
        """Something waits for it while it refuses this client."""
        if self.refusal is not None:
            self._fail_waiting_soon(now)

    # -- what the metadata says -------------------------------------------------------------------------------------

    def update(self, addresses: dict[int, Address], *, complete: bool, now: float) -> None:
        """The brokers of the cluster by id; when `complete`, those not named are gone."""
        for node_id, address in addresses.items():
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
        """After a step that was cut: forgets all connections, attempts and waiting requests."""
        self._waiting.clear()
        self.refused = False
        for node in self.nodes.values():
            node.reset()

    # -- words ------------------------------------------------------------------------------------------------------

    def states(self) -> dict[str, str]:
        """Each address with the last error there, for messages; an address that works says so."""
        return {
            str(node.address): str(node.last_error) if node.last_error else node.state
            for node in list(self.nodes.values())
        }

    def connect_error(self) -> ConnectError | None:
        """The last error at each address; None while a broker is connected."""
        if any(node.connection is not None for node in self.nodes.values()):
            return None
        return ConnectError("no broker is connected", {str(node.address): node.trouble for node in self._candidates()})

    def why_not_connected(self, now: float) -> str:
        """The last error at each address and since when that is so; "" while a broker is connected."""
        error = self.connect_error()
        if error is None:
            return ""
        lasted = max(node.outage.lasted(now) for node in self._candidates())
        return f"{error} (for {lasted:.1f} s)" if lasted else str(error)
