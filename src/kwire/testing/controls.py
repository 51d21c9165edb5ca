"""What a test does to the nodes of a `Broker`: they die and come back, leaders and coordinators move.

Methods of `Broker`, for any thread: each does its work on the broker's own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

from kwire.errors import ConfigError, UnknownTopicError
from kwire.testing.cluster import ClusterState
from kwire.testing.faults import Faults
from kwire.testing.serving.listener import Listener
from kwire.testing.serving.server import Server
from kwire.testing.state.coordinators import GROUP, SHARE, TRANSACTION
from kwire.testing.state.partition import Partition
from kwire.testing.state.quotas import CLIENT_ID, USER

_T = TypeVar("_T")
_KINDS = {"group": GROUP, "transaction": TRANSACTION, "share": SHARE}


class NodeControls(ABC):
    """The part of `Broker` that is about nodes, by their ids: 1, 2, 3 ... Raises ConfigError for an unknown one."""

    _server: Server
    _listeners: dict[int, list[Listener]]
    faults: Faults

    @abstractmethod
    def _run(self, work: Callable[[], _T]) -> _T: ...

    @abstractmethod
    def _state(self) -> ClusterState:
        """Raises ConfigError for a generation that has no nodes."""

    @property
    def nodes(self) -> list[int]:
        """The ids of all nodes, dead or alive."""
        return list(self._listeners)

    def kill(self, node: int) -> None:
        """The node dies at once: its connections close and new ones are refused.

        Others that are in sync lead what it led and coordinate what it coordinated.
        """

        def work() -> None:
            self._state().kill(node)
            for listener in self._listeners[node]:
                listener.enabled = False
                self._server.stop_listening(listener)
                for connection in list(listener.connections):
                    connection.close()

        self._run(work)

    def revive(self, node: int) -> None:
        """The node is back on its port, with all records; it leads only what had no leader."""

        def work() -> None:
            self._state().revive(node)
            for listener in self._listeners[node]:
                listener.enabled = True
                self._server.listen(listener)

        self._run(work)

    def is_alive(self, node: int) -> bool:
        """Whether the node lives."""
        return self._run(lambda: self._state().nodes[node].alive)

    @property
    def controller(self) -> int:
        """The node that is the controller; -1 while none lives."""
        return self._run(lambda: self._state().nodes.controller)

    def leader_of(self, topic: str, partition: int = 0) -> int:
        """The node that leads a partition; -1 for none. Raises UnknownTopicError."""
        return self._run(lambda: self._found(topic, partition).leader)

    def in_sync(self, topic: str, partition: int = 0) -> list[int]:
        """The replicas that are in sync. Raises UnknownTopicError."""
        return self._run(lambda: list(self._found(topic, partition).isr))

    def move_leader(self, topic: str, partition: int, node: int) -> None:
        """Makes a living node the leader, in a new epoch; it becomes a replica if it was none."""
        self._run(lambda: self._state().move_leader(self._found(topic, partition), node))

    def lose_records(self, topic: str, partition: int, offset: int) -> None:
        """Loses the records from `offset` on, whole batches, as an unclean election does; another replica leads."""
        self._run(lambda: self._state().truncate(self._found(topic, partition), offset))

    def coordinator_of(self, key: str, kind: str = "group") -> int:
        """The node that coordinates a "group", a "transaction" or a "share" partition; -1 while none lives."""
        found = self._run(lambda: self._state().coordinators.leader(_kind(kind), key))
        return -1 if found is None else found

    def move_coordinator(self, key: str, node: int, kind: str = "group") -> None:
        """Makes a living node the coordinator."""

        def work() -> None:
            if not self._state().nodes[node].alive:
                raise ConfigError(f"node {node} is down, so it cannot coordinate {key!r}")
            self._state().coordinators.move(_kind(kind), key, node)

        self._run(work)

    # What clients may do, and how much.

    def deny(self, operation: str, resource: str, name: str | None = None, *, principal: str | None = None) -> None:
        """Refuses an operation ("read", "write", "describe", "all", ...) on a resource: "topic", "group", "cluster",
        "transactional_id", ... of a name, or of any; to one principal ("User:alice") or to all."""
        self._run(lambda: self._state().authorizer.deny(operation, resource, name, principal))

    def permit(self, operation: str, resource: str, name: str | None = None, *, principal: str | None = None) -> None:
        """Takes back what `deny` refused in the same words."""
        self._run(lambda: self._state().authorizer.permit(operation, resource, name, principal))

    def throttle(
        self,
        api: str | None,
        ms: int,
        *,
        times: int | None = None,
        client_id: str | None = None,
        user: str | None = None,
    ) -> None:
        """Throttles requests of an API (None: of any) by so many milliseconds: the answer says so, and the connection
        is not read from meanwhile. For the next `times` requests or until 0 ms are asked for, of one client or user."""
        self.faults.throttle(api, ms, times=times, client_id=client_id, user=user)

    def set_quota(
        self, name: str, limit: float | None, *, user: str | None = None, client_id: str | None = None
    ) -> None:
        """Sets "producer_byte_rate" or "consumer_byte_rate" of clients by user and client id; None takes it back."""
        pairs: list[tuple[str, str | None]] = [
            (kind, given) for kind, given in ((USER, user), (CLIENT_ID, client_id)) if given is not None
        ]
        self._run(lambda: self._state().quotas.set(frozenset(pairs or [(CLIENT_ID, None)]), name, limit))

    def _found(self, topic: str, partition: int) -> Partition:
        known = self._state().topics.get(topic)
        if known is None or not 0 <= partition < len(known.partitions):
            raise UnknownTopicError(f"the broker has no partition {topic}-{partition}")
        return known.partitions[partition]


def _kind(name: str) -> int:
    if name not in _KINDS:
        raise ConfigError(f"kind {name!r}: {', '.join(_KINDS)} are known")
    return _KINDS[name]
