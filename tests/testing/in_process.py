"""A broker without sockets, threads or time: frames in, frames out, the clock moved by hand."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from kwire import protocol
from kwire.testing.answers.handlers import HANDLERS
from kwire.testing.cluster import ClusterState
from kwire.testing.faults import Faults
from kwire.testing.features import finalized_features
from kwire.testing.release import Release
from kwire.testing.requests import Flow, Suspend
from kwire.testing.sasl import Accounts
from kwire.testing.serving.apis import Answer, BrokerApis
from kwire.testing.settings.properties import BrokerProperties
from kwire.testing.state.nodes import Endpoint, Nodes
from tests.timing import PATIENT

PORT = 19092
WALL_CLOCK_MS = 1_700_000_000_000


class Waiting:
    """A request that has not been answered yet."""

    def __init__(self, broker: InProcess, flow: Flow[Answer], key: int, version: int) -> None:
        self._broker, self._flow, self._key, self._version = broker, flow, key, version
        self.suspended: Suspend | None = None
        self.answer: Answer | None = None
        self.step()

    def step(self) -> None:
        """Drives the flow to its next wait, as the server does when time passed or a partition was touched."""
        try:
            self.suspended = next(self._flow)
        except StopIteration as finished:
            self.suspended, self.answer = None, finished.value

    def wake(self) -> bool:
        """What the server does after each request; tells whether the answer is there."""
        touched = frozenset(self._broker.cluster.touched)
        self._broker.cluster.touched.clear()
        suspended = self.suspended
        if suspended is not None and (suspended.until <= self._broker.now or touched & suspended.wakers):
            self.step()
        return self.answer is not None

    @property
    def response(self) -> Any:
        assert self.answer is not None, "not answered yet"
        if not self.answer.parts:
            return None
        frame = b"".join(bytes(part) for part in self.answer.parts)
        header, response = protocol.decode_response(frame, self._key, self._version)
        assert header.correlation_id == 77
        return response


class InProcess:
    """The APIs of some nodes over fresh state, on one connection; `now` is its monotonic clock in seconds."""

    def __init__(
        self,
        release: str = "4.4.0",
        accounts: Accounts | None = None,
        *,
        nodes: int = 1,
        racks: Sequence[str | None] = (),
        **options: Any,
    ) -> None:
        self.now = 0.0
        properties = options.get("properties") or BrokerProperties()
        known = Release.find(release, HANDLERS, unstable=properties.unstable_api_versions_enable)
        options["nodes"] = Nodes(nodes, racks)
        options["features"] = finalized_features(known, options.get("features"))
        self.cluster = ClusterState(clock=lambda: WALL_CLOCK_MS, now=lambda: self.now, release=known.number, **options)
        for node in self.cluster.nodes:
            node.endpoints = [Endpoint.at("127.0.0.1", PORT + node.node_id - 1)]
        self.faults = Faults()
        self.nodes = {
            node: BrokerApis(self.cluster, known, self.faults, accounts, node) for node in self.cluster.nodes.ids
        }
        self.apis = self.nodes[1]
        self.reconnect()

    def advance(self, seconds: float) -> None:
        """Moves time on, and does what is due by then."""
        self.now += seconds
        self.cluster.timers.run_due(self.now)

    def reconnect(self) -> None:
        """Goes on by a new connection, to node 1."""
        self._serve = self.apis.connect()

    def begin(self, request: protocol.Request, version: int, *, node: int | None = None) -> Waiting:
        """Hands in a request as the frame that a client would send; to another node by a new connection."""
        frame = protocol.encode_request(request, version, correlation_id=77, client_id="test")
        serve = self._serve if node is None else self.nodes[node].connect()
        return Waiting(self, serve(frame[4:]), request.__api_key__, version)

    def ask(self, request: protocol.Request, version: int, *, node: int | None = None) -> Any:
        """The response to a request that is answered at once; None where there is none."""
        waiting = self.begin(request, version, node=node)
        assert waiting.answer is not None, f"suspended until {waiting.suspended}"
        return waiting.response

    def raw(self, frame: bytes) -> Answer:
        """The answer to the bytes of a frame, without the size field."""
        flow = self._serve(frame)
        started = time.monotonic()
        while time.monotonic() - started < PATIENT:
            try:
                suspended = next(flow)
            except StopIteration as finished:
                answer: Answer = finished.value
                return answer
            due = self.cluster.timers.next_due
            self.now = max(self.now, suspended.until if due is None else min(suspended.until, due))
            self.cluster.timers.run_due(self.now)
        raise AssertionError("the flow never ends")
