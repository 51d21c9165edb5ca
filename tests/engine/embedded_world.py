"""Clients of the engine on an embedded cluster, all in virtual time: no sockets, no threads, no chance but the seed's.

    world = EmbeddedWorld(nodes=3, topics={"t": 6}, seed=7)
    producer, reader = EmbeddedProducer(world, linger_ms=5), EmbeddedReader(world, "t")     # embedded_clients.py
    world.disturb()                              # nodes die, leaders and coordinators move, answers are lost
    world.run(lambda: ...)
    world.calm()

Every client is a core with connections of its own; all share the clock, the agenda and the cluster. The nodes are the
`BrokerApis` of `kwire.testing`, driven as its server does: one request of a connection after the other, flows resumed
when they are due or touched, timers called.
"""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kwire.engine.common.addresses import Address
from kwire.engine.connections.connection import CLOSED, Connection
from kwire.engine.settings.clients import ClientSettings, ConsumerSettings
from kwire.testing.answers.handlers import HANDLERS
from kwire.testing.cluster import ClusterState
from kwire.testing.faults import Faults
from kwire.testing.release import Release
from kwire.testing.requests import CloseConnectionError, Flow, Suspend
from kwire.testing.serving.apis import Answer, BrokerApis
from kwire.testing.settings.properties import BrokerProperties
from kwire.testing.state.nodes import Endpoint, Nodes
from tests.engine.world import Peer, World

EPOCH_MS = 1_700_000_000_000
START = 1000.0
ELECTED_AFTER_S = 1.0


class Served:
    """A node's end of one connection: what came in and waits, and the flow in progress."""

    def __init__(self, client: EmbeddedClient, connection: Connection, apis: BrokerApis) -> None:
        self.client, self.connection = client, connection
        self.serve = apis.connect()
        self.inbox: deque[bytes] = deque()
        self.api_key = -1
        self.flow: Flow[Answer] | None = None
        self.suspended: Suspend | None = None

    def take(self, frame: bytes) -> None:
        self.inbox.append(frame)
        self.progress()

    def progress(self) -> None:
        while self.flow is None and self.inbox and self.connection in self.client.open:
            frame = self.inbox.popleft()
            self.api_key = int.from_bytes(frame[4:6], "big")
            self.flow = self.serve(frame[4:])
            self.step()

    def step(self) -> None:
        assert self.flow is not None
        try:
            self.suspended = next(self.flow)
        except StopIteration as finished:
            self.flow, self.suspended = None, None
            self.client.send_answer(self.connection, finished.value)
        except CloseConnectionError as error:
            self.flow, self.suspended = None, None
            self.client.lose(self.connection, f"closed by the node: {error}")

    def close(self) -> None:
        """The connection is gone. What was read may be done all the same, and nobody told."""
        if self.suspended is not None and self.client.shared.outlives_connection(self.api_key):
            self.client.shared.orphans.append(self)
            return
        if self.flow is not None:
            self.flow.close()
        self.flow, self.suspended = None, None
        self.serve.close()


class EmbeddedClient(World):
    """One client: a core, and its connections to the nodes."""

    def __init__(self, shared: EmbeddedWorld, settings: ClientSettings) -> None:
        self.shared = shared
        peers: dict[Address, Peer] = {address: Peer() for address in shared.addresses.values()}
        super().__init__(peers, settings, rng=0.5)
        self.order, self.agenda = shared.order, shared.agenda
        self.served: dict[Connection, Served] = {}
        self.answered_until: dict[Connection, float] = {}
        self.dead = False
        self.asked: Counter[int] = Counter()
        """Requests in each second."""
        shared.clients.append(self)

    @property
    def now(self) -> float:
        return self.shared.now

    @now.setter
    def now(self, moment: float) -> None:
        """The shared world moves time."""

    def run(self, until: Callable[[], bool] | float) -> None:
        self.shared.run(until)

    def connect(self, connection: Connection) -> None:
        node = self.shared.node_at(connection.address)
        delay = self.shared.latency()

        def made() -> None:
            if connection.state == CLOSED or self.dead:
                return
            if node is None or not self.shared.cluster.nodes.is_alive(node):
                self.core.connection_lost(connection, "connection refused", self.now)
                return
            self.open.add(connection)
            self.inbox[connection] = b""
            self.served[connection] = Served(self, connection, self.shared.apis[node])
            self.core.connection_made(connection, self.now)

        self.at(self.now + delay, made)

    def deliver(self, connection: Connection, frame: bytes) -> None:
        """The frame reaches the node, behind those that were sent before."""
        self.asked[int(self.now)] += 1
        when = max(self.now + self.shared.latency(), self.busy_until.get(connection, 0.0))
        self.busy_until[connection] = when

        def arrive() -> None:
            if connection not in self.open or connection in self.shared.half_open:
                return
            resumes = self.shared.hung_until(connection)
            if resumes > self.now:
                self.busy_until[connection] = max(resumes, self.busy_until[connection])
                self.at(self.busy_until[connection], arrive)
            else:
                self.served[connection].take(frame)

        self.at(when, arrive)

    def send_answer(self, connection: Connection, answer: Answer) -> None:
        """The answer is on its way, behind those that were sent before, or the connection dies with it."""
        if connection in self.shared.half_open:
            return
        data = b"".join(bytes(part) for part in answer.parts)
        if data and self.shared.loses_answer():
            self.lose(connection, "reset with an answer on its way")
            return

        def arrive() -> None:
            self.receive(connection, data)
            if answer.close_reason is not None:
                self.lose(connection, answer.close_reason)

        resumes = self.shared.hung_until(connection)
        when = max(self.now + self.shared.latency(), self.answered_until.get(connection, 0.0), resumes)
        self.answered_until[connection] = when
        self.at(when, arrive)

    def lose(self, connection: Connection, reason: str) -> None:
        served = self.served.pop(connection, None)
        if served is not None:
            served.close()
        super().lose(connection, reason)

    def lose_all(self, address: Address, reason: str = "reset") -> None:
        for connection in [each for each in self.served if each.address == address]:
            self.lose(connection, reason)

    def play_events(self) -> None:
        """What the driver does after each step, too: callbacks of users."""
        super().play_events()
        while self.core.after_step:
            self.core.after_step.popleft()()

    def forget_closed(self) -> None:
        """What the client closed by itself."""
        for connection in [each for each in self.served if each not in self.open]:
            self.served.pop(connection).close()


class EmbeddedWorld:
    """The cluster, the clients and the clock."""

    def __init__(
        self,
        *,
        nodes: int = 3,
        topics: Mapping[str, int] | None = None,
        release: str = "4.4.0",
        seed: int = 0,
        racks: Iterable[str | None] = (),
        auto_create_topics: bool = False,
        **properties: Any,
    ) -> None:
        self.now = START
        self.rng = random.Random(seed)
        self.cluster = ClusterState(
            nodes=Nodes(nodes, list(racks)),
            clock=self.wall_clock,
            now=lambda: self.now,
            auto_create_topics=auto_create_topics,
            properties=BrokerProperties.parse(properties),
            features={"group.version": 1, "share.version": 1},
        )
        self.faults = Faults()
        known = Release.find(release, HANDLERS)
        self.apis = {node: BrokerApis(self.cluster, known, self.faults, node=node) for node in self.cluster.nodes.ids}
        for node in self.cluster.nodes:
            node.endpoints = [Endpoint.at("node", node.node_id)]
        self.addresses = {node.node_id: Address("node", node.node_id) for node in self.cluster.nodes}
        self.clients: list[EmbeddedClient] = []
        self.agenda: list[tuple[float, int, Callable[[], None]]] = []
        self.order = itertools.count()
        self.loss = 0.0
        self.outliving: frozenset[int] = frozenset()
        """Keys of requests that a node, which works on them, does now and then although their connection is gone."""
        self.orphans: list[Served] = []
        self.hangs = 0.0
        self.half_open: set[Connection] = set()
        """Connections whose bytes get lost in both directions, without a word."""
        self._hung: dict[Address, float] = {}
        self.disturbing = False
        self.happened: list[tuple[float, str]] = []
        for name, partitions in (topics or {}).items():
            self.cluster.create_topic(name, partitions)

    def wall_clock(self) -> int:
        return EPOCH_MS + int((self.now - START) * 1000)

    def node_at(self, address: Address) -> int | None:
        return next((node for node, at in self.addresses.items() if at == address), None)

    def latency(self) -> float:
        """Half a millisecond to five; now and then a tenth of a second while the world is disturbed."""
        if self.disturbing and self.rng.random() < 0.02:
            return 0.1
        return self.rng.uniform(0.0005, 0.005)

    def loses_answer(self) -> bool:
        return self.loss > 0 and self.rng.random() < self.loss

    def outlives_connection(self, api_key: int) -> bool:
        return api_key in self.outliving and self.rng.random() < 0.5

    # Clients.

    def settings(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Keywords for the settings of a client, the addresses of the nodes among them."""
        return {"bootstrap_servers": [tuple(address) for address in self.addresses.values()], **given}

    def client(self, **settings: Any) -> EmbeddedClient:
        """A core alone, with a consumer's settings: for coordinators, commits and calls."""
        return EmbeddedClient(self, ConsumerSettings(**self.settings(settings)))

    def remove(self, client: EmbeddedClient) -> None:
        """The client is killed: its connections end, and it does nothing any more."""
        self.clients.remove(client)
        client.dead = True
        client.open.clear()
        client.forget_closed()

    # Time.

    def at(self, when: float, action: Callable[[], None]) -> None:
        heapq.heappush(self.agenda, (when, next(self.order), action))

    def run(self, until: Callable[[], bool] | float) -> None:
        """Plays until the condition holds or the time has come; a condition that does not hold in 1000 s fails."""
        limit = until if isinstance(until, float) else self.now + 1000
        for _ in range(1_000_000):
            self.play()
            if not isinstance(until, float) and until():
                return
            moment = self.next_moment()
            if moment > limit:
                assert isinstance(until, float), f"not in time; lately {self.happened[-20:]}"
                self.now = limit
                return
            self.now = max(self.now, moment)
            while self.agenda and self.agenda[0][0] <= self.now:
                heapq.heappop(self.agenda)[2]()
                self.play()
            for client in list(self.clients):
                client.core.handle_timer(self.now)
        raise AssertionError(f"too much happens; lately {self.happened[-20:]}")

    def next_moment(self) -> float:
        moments = [client.core.get_timer() for client in self.clients]
        moments += [each.suspended.until for each in self.served() if each.suspended is not None]
        moments += [self.cluster.timers.next_due, self.agenda[0][0] if self.agenda else None]
        return min((moment for moment in moments if moment is not None), default=math.inf)

    def served(self) -> list[Served]:
        self.orphans = [each for each in self.orphans if each.flow is not None]
        return [each for client in self.clients for each in client.served.values()] + self.orphans

    def play(self) -> None:
        """Lets clients and nodes do what they can do now."""
        while True:
            for client in list(self.clients):
                client.play_events()
                client.forget_closed()
            self.cluster.timers.run_due(self.now)
            happened = frozenset(self.cluster.touched)
            self.cluster.touched.clear()
            for each in self.served():
                suspended = each.suspended
                if suspended and (suspended.until <= self.now or not happened.isdisjoint(suspended.wakers)):
                    each.step()
                    each.progress()
            if not self.cluster.touched and not any(
                client.core.events or client.core.after_step for client in self.clients
            ):
                return

    # What breaks.

    def kill(self, node: int) -> None:
        """The node dies with all its connections."""
        self.note(f"kill {node}")
        self.cluster.kill(node)
        for client in self.clients:
            client.lose_all(self.addresses[node], "the node died")

    def revive(self, node: int) -> None:
        self.note(f"revive {node}")
        self.cluster.revive(node)

    def move_leader(self, topic: str, partition: int, node: int) -> None:
        self.note(f"{topic}-{partition} to {node}")
        self.cluster.move_leader(self.cluster.topics[topic].partitions[partition], node)

    def move_coordinator(self, kind: int, key: str, node: int) -> None:
        self.note(f"coordinator of {key} to {node}")
        self.cluster.coordinators.move(kind, key, node)

    def hang(self, node: int, seconds: float) -> None:
        """The node does nothing for so long, and then all that it was asked meanwhile; others lead after a second."""
        self.note(f"{node} hangs for {seconds:.1f} s")
        self._hung[self.addresses[node]] = self.now + seconds
        if seconds > ELECTED_AFTER_S:
            self.at(self.now + ELECTED_AFTER_S, lambda: self._elect_others(node))

    def _elect_others(self, node: int) -> None:
        others = [each.node_id for each in self.cluster.nodes.alive if each.node_id != node]
        led = [row for topic in self.cluster.topics.values() for row in topic.partitions if row.leader == node]
        for partition in led if others else ():
            self.cluster.move_leader(partition, self.rng.choice(others))

    def hung_until(self, connection: Connection) -> float:
        """When the node at the other end goes on, if it hangs."""
        return self._hung.get(connection.address, 0.0)

    def disturb(
        self, every: float = 1.0, *, loss: float = 0.01, keys: Iterable[tuple[int, str]] = (), hangs: float = 0.0
    ) -> None:
        """From now on something breaks every so many seconds; an answer is lost with probability `loss`.

        `keys` are the (kind, key) whose coordinators may move. One node always lives. `hangs`: how much of it is
        silent, nodes that hang and connections that are half open.
        """
        self.loss, self.disturbing, self.hangs = loss, True, hangs
        moved = list(keys)

        def strike() -> None:
            if self.disturbing:
                self.strike(moved)
                self.at(self.now + self.rng.expovariate(1 / every), strike)

        self.at(self.now + self.rng.expovariate(1 / every), strike)

    def strike(self, keys: list[tuple[int, str]]) -> None:
        """One misfortune."""
        alive = [node.node_id for node in self.cluster.nodes.alive]
        chosen = self.rng.choice(alive)
        if self.hangs and self.rng.random() < self.hangs:
            self.strike_silently(chosen)
            return
        kind = self.rng.choice(["kill", "leader", "coordinator", "connections"])
        if kind == "kill" and len(alive) > 1:
            self.kill(chosen)
            self.at(self.now + self.rng.uniform(0.1, 5.0), lambda: self.revive(chosen))
        elif kind == "leader":
            topic = self.rng.choice(list(self.cluster.topics.values()))
            self.move_leader(topic.name, self.rng.randrange(len(topic.partitions)), chosen)
        elif kind == "coordinator" and keys:
            self.move_coordinator(*self.rng.choice(keys), chosen)
        elif self.clients:
            client = self.rng.choice(self.clients)
            self.note(f"connections of client {self.clients.index(client)} to {chosen}")
            client.lose_all(self.addresses[chosen])

    def strike_silently(self, node: int) -> None:
        """One misfortune of which nobody is told."""
        connections = [each.connection for each in self.served()]
        if self.rng.random() < 0.5 or not connections:
            self.hang(node, self.rng.uniform(0.5, 20.0))
        else:
            chosen = self.rng.choice(connections)
            self.note(f"a connection to {chosen.address.port} is half open")
            self.half_open.add(chosen)

    def calm(self) -> None:
        """Nothing breaks any more, and every node lives."""
        self.disturbing, self.loss = False, 0.0
        self._hung.clear()
        for node in self.cluster.nodes.ids:
            self.revive(node)

    def note(self, what: str) -> None:
        self.happened.append((self.now, what))
