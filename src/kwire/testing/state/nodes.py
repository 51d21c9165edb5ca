"""The nodes of the embedded cluster: where each listens, which of them live, and which is the controller.

Plain state for the broker's thread; no sockets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from kwire.engine.common.addresses import Address
from kwire.errors import ConfigError

NO_NODE = -1


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A listener of a node: where it listens, and where clients that come by it are told to come."""

    bound: Address
    advertised: Address

    @classmethod
    def at(cls, host: str, port: int) -> Self:
        """One whose clients are told where it listens."""
        return cls(Address(host, port), Address(host, port))


@dataclass(slots=True, eq=False)
class Node:
    """One broker by id. `endpoints` are its listeners, in the order of every node's; `rack` is None without one."""

    node_id: int
    rack: str | None = None
    endpoints: Sequence[Endpoint] = ()
    alive: bool = True


class Nodes:
    """The nodes by id, which count from `first_id`. The controller stays where it is until its node dies."""

    def __init__(self, count: int = 1, racks: Sequence[str | None] = (), first_id: int = 1) -> None:
        if racks and len(racks) != count:
            raise ConfigError(f"racks {', '.join(map(repr, racks))}: expected one for each of {count} nodes")
        self._nodes = {first_id + n: Node(first_id + n, racks[n] if racks else None) for n in range(count)}
        self.controller = first_id

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes.values())

    def __getitem__(self, node_id: int) -> Node:
        """Raises ConfigError for an id that no node has."""
        if node_id not in self._nodes:
            raise ConfigError(f"no node {node_id}; there are {', '.join(map(str, self._nodes))}")
        return self._nodes[node_id]

    @property
    def ids(self) -> list[int]:
        return list(self._nodes)

    @property
    def alive(self) -> list[Node]:
        return [node for node in self._nodes.values() if node.alive]

    def is_alive(self, node_id: int) -> bool:
        return node_id in self._nodes and self._nodes[node_id].alive

    def set_alive(self, node_id: int, alive: bool) -> bool:
        """Whether that changed anything. The controller moves when its node dies."""
        node = self[node_id]
        if node.alive is alive:
            return False
        node.alive = alive
        if not self.is_alive(self.controller):
            self.controller = min((each.node_id for each in self.alive), default=NO_NODE)
        return True
