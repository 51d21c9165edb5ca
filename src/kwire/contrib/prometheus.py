"""A client's metrics for Prometheus, by prometheus_client: `pip install "kwire[prometheus]"`.

Names are those of `metrics()` after `kwire_<kind of client>_`, with `_` for `-`, in seconds and bytes: a total in ms
ends in `_seconds_total`. What is counted by topic, partition or API has these as labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakKeyDictionary, WeakValueDictionary

from prometheus_client.core import REGISTRY, CollectorRegistry, CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kwire.contrib.clients import TOTAL, AnyClient, exported, table_row_of

_SECONDS = {"ms": 1e-3, "ns": 1e-9, "s": 1.0}

_collectors: WeakKeyDictionary[CollectorRegistry, ClientCollector] = WeakKeyDictionary()
"""One for each registry: a family of metrics may stand in a page only once, however many clients have it."""


class ClientCollector(Collector):
    """Takes a snapshot of each of its clients for each scrape. Clients that nobody has any more are gone."""

    def __init__(self) -> None:
        self._clients: WeakValueDictionary[int, AnyClient] = WeakValueDictionary()
        """By identity: of this a thread may take all while another adds some, of a WeakSet not."""

    def add(self, client: AnyClient) -> None:
        """Exports this one, too."""
        self._clients[id(client)] = client

    def remove(self, client: AnyClient) -> None:
        """Exports it no more."""
        self._clients.pop(id(client), None)

    def collect(self) -> Iterator[Metric]:
        """All metrics as they are now."""
        families: dict[str, Metric] = {}
        for client in self._listed():
            prefix = "kwire_" + client._kind.replace(" ", "_")
            for metric in exported(client.metrics()):
                name = f"{prefix}_{_stem(metric.name)}"
                row = table_row_of(metric.name)
                family = CounterMetricFamily if row.kind == TOTAL else GaugeMetricFamily
                if name not in families:
                    families[name] = family(name, row.doc)
                for tags, value in metric.values:
                    labels = {"client_id": client.settings.client_id, **dict(zip(row.tags, tags, strict=True))}
                    suffix = "_total" if row.kind == TOTAL else ""
                    families[name].add_sample(name + suffix, labels, value * _SECONDS.get(row.unit, 1.0))
        yield from families.values()

    def _listed(self) -> list[AnyClient]:
        return [client for seen in self._clients.valuerefs() if (client := seen()) is not None]

    def describe(self) -> list[Metric]:
        """Nothing: clients may come later."""
        return []


def _stem(name: str) -> str:
    unit = table_row_of(name).unit
    stem = name.removesuffix("-total").removesuffix("-ns").removesuffix("-seconds-ago").replace("-", "_")
    return stem + ("_seconds" if unit in _SECONDS else "")


def export(client: AnyClient, registry: CollectorRegistry | None = None) -> ClientCollector:
    """Adds this client's metrics to a registry, prometheus_client's own by default; the collector that has them there.

    Clients of one kind in one process need a `client_id` each, the label that tells them apart.
    """
    where = REGISTRY if registry is None else registry
    made = ClientCollector()
    collector = _collectors.setdefault(where, made)
    if collector is made:  # of threads that come at once one has its own
        where.register(made)
    collector.add(client)
    return collector
