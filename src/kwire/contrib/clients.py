"""What Prometheus and OpenTelemetry share: one client's metrics as such a system has them.

Layer 7, above the clients; imports no library of either system.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

from kwire.fronts.front import Front
from kwire.fronts.metrics import Metrics
from kwire.fronts.metrics_table import ROWS, TOTAL, Key, Metric

__all__ = ["TOTAL", "AnyClient", "Exported", "exported", "table_row_of"]

AnyClient: TypeAlias = Front[Any]
"""A Producer, Consumer, ShareConsumer or Admin, for threads or asyncio."""


class Exported(NamedTuple):
    """One metric with all its values, each with the values of its tags in order: () where it has none.

    Where a metric is there by its tags, its sum is left out: these systems sum by themselves.
    """

    name: str
    values: list[tuple[tuple[str, ...], float]]


def table_row_of(name: str) -> Metric:
    """What the table says of it."""
    return ROWS[name]


def exported(metrics: Metrics) -> Iterable[Exported]:
    """The metrics of a snapshot, by name."""
    by_name: dict[str, list[tuple[tuple[str, ...], float]]] = {}
    for key, value in metrics.items():
        name, tags = _parts(key)
        if len(tags) == len(ROWS[name].tags):
            by_name.setdefault(name, []).append((tags, value))
    return [Exported(name, values) for name, values in by_name.items()]


def _parts(key: Key) -> tuple[str, tuple[str, ...]]:
    if isinstance(key, str):
        return key, ()
    name, *tags = key
    return str(name), tuple(tag[1] for tag in tags)
