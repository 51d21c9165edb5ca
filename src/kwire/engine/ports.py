"""What a component of a client (the producer's sender, the fetcher, a call) may ask of its core.

Layer 3. `Core` fulfils it; a test may with a stub. What the rooms below the core ask of others stands beside those who
ask: `connections/services.py`, `NodeOwner`, `LinkOwner`, `ClusterOwner`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from kwire._codec import KnownAnswer, Timer
from kwire._typing import TYPE_CHECKING, Any
from kwire.engine.common.addresses import Address
from kwire.engine.common.recovery import Recoverable
from kwire.engine.common.request import MessageOrBuilder, OnError, OnResponse, Request
from kwire.engine.common.retry import Backoff, RandomFraction
from kwire.errors import AuthError, ConnectError, KafkaError

if TYPE_CHECKING:
    from typing import Protocol

    from kwire.engine.connections.versions import Versions
    from kwire.engine.metadata.cluster import Cluster
else:
    Protocol = object


class Services(Protocol):
    """For components (the producer's sender, the fetcher, calls): see the text of `core.py`."""

    settings: Any
    rng: RandomFraction
    retry_backoff: Backoff
    cluster: Cluster
    wall_clock: Callable[[], float]
    early: list[Callable[[float, float], None]]
    recovered: list[Recoverable]

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
        timeout: float | None = None,
        expect_response: bool = True,
        purpose: int = 0,
        versions: Sequence[int] | None = None,
        known: KnownAnswer | None = None,
    ) -> Request: ...

    @property
    def answer_began_at(self) -> float:
        """When the first bytes came of the answer that is being handled."""

    def call_at(self, when: float, callback: Callable[[float], object]) -> Timer: ...

    def versions(self, node_id: int) -> Versions | None: ...

    def finalized_feature(self, name: str) -> int: ...

    def warn(self, text: str) -> None: ...

    def note_trouble(self, error: KafkaError, now: float) -> None: ...

    def describe_node(self, node_id: int) -> str: ...

    def name_node(self, node_id: int) -> str: ...

    def update_brokers(self, addresses: dict[int, Address], *, complete: bool, now: float) -> None: ...

    def is_put_off(self, node_id: int, now: float) -> bool: ...

    def is_receiving(self, node_id: int, purpose: int) -> bool: ...

    def connection_life(self, node_id: int, purpose: int) -> int: ...

    def hang_up(self, node_id: int, purpose: int, now: float) -> None: ...

    def connect_error(self) -> ConnectError | None: ...

    @property
    def refused(self) -> bool: ...

    @property
    def refusal(self) -> AuthError | None: ...

    def refusal_of(self, node_id: int) -> AuthError | None: ...

    def retry_refused(self, now: float) -> None: ...
