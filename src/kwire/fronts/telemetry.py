"""A client's metrics under the names by which brokers subscribe to them (KIP-714): those of Java's client, with dots.

Layer 5, below the clients. `org.apache.kafka.`, then Java's group without "-metrics", then the name: the group is that
of the client, and for what a consumer fetches or asks its coordinator `fetch.manager` or `coordinator`. By topic of a
producer it is `producer.topic`; by API, which Java does not have, `api` follows the group.

Averages and rates are over the time since the last push; largest values are over the life of the client.
"""

from __future__ import annotations

from collections.abc import Iterator
from weakref import ref

from kwire._typing import TYPE_CHECKING, Any, cast
from kwire.engine.telemetry.otlp import Sample
from kwire.engine.telemetry.telemetry import Collected, Telemetry
from kwire.fronts.metrics_table import ROWS, TOTAL

if TYPE_CHECKING:
    from kwire.engine.telemetry.otlp import Tags
    from kwire.fronts.front import Front
    from kwire.fronts.metrics import Metrics
    from kwire.fronts.metrics_table import Key

PREFIX = "org.apache.kafka"

_GROUPS = {"admin": "admin.client", "share consumer": "consumer.share"}
_FETCH = ("bytes-consumed-", "fetch-", "records-")
_COORDINATOR = (
    "assigned-partitions",
    "commit-",
    "failed-rebalance-",
    "heartbeat-",
    "join-",
    "rebalance-",
    "sync-",
)
_RESOURCE = ("client_rack", "group_id", "group_instance_id", "transactional_id")


class Collector:
    """Takes a snapshot for each push."""

    def __init__(self, client: Front[Any]) -> None:
        self._client = ref(client)
        self._group = _GROUPS.get(client._kind, client._kind)
        self._last = client.metrics()
        self._names: dict[tuple[str, str], str] = {}
        settings = client.settings
        self._resource = {name: str(value) for name in _RESOURCE if (value := getattr(settings, name, None))}

    def __call__(self) -> Collected:
        """What is to be pushed now; nothing of a client that nobody has any more."""
        client = self._client()
        if client is None:
            return Collected((), self._resource)
        earlier, self._last = self._last, client.metrics()
        return Collected(self._samples(self._last, earlier), self._resource)

    def _samples(self, found: Metrics, earlier: Metrics) -> Iterator[Sample]:
        window = found.since(earlier)
        for key, value in {**found, **window}.items():
            if value == value:  # not NaN
                name, tags = _parts(key)
                row = ROWS.get(name)  # a rate is not in the table
                yield Sample(self._full_name(name, tags), tags, value, row is not None and row.kind == TOTAL)

    def _full_name(self, name: str, tags: Tags) -> str:
        by = tags[0][0] if tags else ""
        found = self._names.get((name, by))
        if found is None:
            found = self._names[name, by] = self._made_name(name, by)
        return found

    def _made_name(self, name: str, by: str) -> str:
        parts = [PREFIX, self._group]
        if by == "api":
            parts.append("api")
        elif self._group == "producer":
            parts += [by] if by else []
        elif name.startswith(_FETCH):
            parts.append("fetch.manager")
        elif name.startswith(_COORDINATOR):
            parts.append("coordinator")
        return ".".join((*parts, name.replace("-", ".")))


def _parts(key: Key) -> tuple[str, Tags]:
    if isinstance(key, str):
        return key, ()
    return str(key[0]), cast("Tags", key[1:])


def telemetry_of(client: Front[Any]) -> Telemetry:
    """That of a client which is put together."""
    return Telemetry(client._core, Collector(client))
