"""The services that parts of the engine may ask of the whole, by role, so that each can be tested with a stub.

Layer 3. `Core` puts the parts together and fulfils `Services`; `Connections` fulfils `ConnectionServices`, and
`Brokers` is the `NodeOwner`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from kwire._codec import Timer
from kwire._typing import TYPE_CHECKING, Any
from kwire.engine.common.addresses import Address
from kwire.engine.common.request import MessageOrBuilder, OnError, OnResponse, Request
from kwire.engine.common.retry import Backoff, RandomFraction
from kwire.errors import AuthError, ConnectError, KafkaError

if TYPE_CHECKING:
    from typing import Protocol

    from kwire.engine.connections.authentication import Login
    from kwire.engine.connections.connection import Connection
    from kwire.engine.connections.node import Node
    from kwire.engine.connections.versions import Versions
    from kwire.engine.metadata.cluster import Cluster
    from kwire.engine.settings.clients import ClientSettings
else:
    Protocol = object

OnMade = Callable[["Connection", float], None]
OnLost = Callable[["Connection", KafkaError, float], None]
RunApart = Callable[
    [Callable[[], Any], Callable[[Any, float], None], Callable[[BaseException, float], None]],
    None,
]
"""run_apart(function, on_result, on_error): see the text of `core.py`."""


class Services(Protocol):
    """For components (the producer's sender, the fetcher, calls): see the text of `core.py`."""

    settings: Any
    rng: RandomFraction
    retry_backoff: Backoff
    cluster: Cluster
    wall_clock: Callable[[], float]
    early: list[Callable[[float, float], None]]
    recovered: list[Callable[[float], None]]

    @property
    def after_step(self) -> deque[Callable[[], object]]: ...

    @property
    def closed(self) -> bool: ...

    def request(
        self,
        target: int,
        api_key: int,
        message: MessageOrBuilder,
        on_response: OnResponse,
        on_error: OnError,
        now: float,
        *,
        deadline: float | None = None,
        timeout: float | None = None,
        expect_response: bool = True,
        purpose: int = 0,
        versions: Sequence[int] | None = None,
    ) -> Request: ...

    def call_at(self, when: float, callback: Callable[[float], object]) -> Timer: ...

    def versions(self, node_id: int) -> Versions | None: ...

    def finalized_feature(self, name: str) -> int: ...

    def warn(self, text: str) -> None: ...

    def describe_node(self, node_id: int) -> str: ...

    def name_node(self, node_id: int) -> str: ...

    def update_brokers(self, addresses: dict[int, Address], *, complete: bool, now: float) -> None: ...

    def connect_error(self) -> ConnectError | None: ...

    @property
    def refused(self) -> bool: ...

    @property
    def refusal(self) -> AuthError | None: ...

    def refusal_of(self, node_id: int) -> AuthError | None: ...

    def retry_refused(self, now: float) -> None: ...


class ConnectionServices(Protocol):
    """For links and negotiations: connections of their own, and timers."""

    @property
    def settings(self) -> ClientSettings: ...

    @property
    def reconnect_backoff(self) -> Backoff: ...

    @property
    def refusal_backoff(self) -> Backoff: ...

    @property
    def rng(self) -> RandomFraction: ...

    @property
    def run_apart(self) -> RunApart: ...

    @property
    def login(self) -> Login | None:
        """How the client logs in; None for one that does not."""

    def call_at(self, when: float, callback: Callable[[float], object]) -> Timer: ...

    def open(self, address: Address, now: float, on_made: OnMade, on_lost: OnLost) -> Connection:
        """A fresh connection that the driver is told to connect."""

    def close(self, connection: Connection, now: float) -> None:
        """Closes it without telling its owner."""

    def lose(self, connection: Connection, error: KafkaError, now: float) -> None:
        """Closes it: requests in flight fail with `error`, then its owner is told."""

    def warn(self, text: str) -> None:
        """Hands a text for the log to the driver."""


class NodeOwner(Protocol):
    """Receives what a node reports of its connection for data."""

    def node_is_ready(self, node: Node, now: float) -> None:
        """It got its connection."""

    def node_has_failed(self, node: Node, error: KafkaError, now: float) -> None:
        """An attempt to connect failed."""

    def node_is_lost(self, node: Node, error: KafkaError, now: float) -> None:
        """A connection that was ready ended."""

    def node_may_connect(self, node: Node, now: float) -> None:
        """The backoff after a failure is over."""

    def node_is_refused(self, node: Node, now: float) -> None:
        """Something waits for it while it refuses this client."""
