"""The lag of streams, from the progress that Spark reports.

    spark.streams.addListener(LagListener())
    lag(query.lastProgress)                    {TopicPartition("orders", 0): 17, ...}

Spark's own Kafka source has metrics in its progress, `avgOffsetsBehindLatest` and so on, a Python source cannot have
any; their offsets are there alike. Asks no broker.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql.streaming import StreamingQueryListener

from kwire.engine.common.addresses import TopicPartition
from kwire.errors import ConfigError
from kwire.spark.ranges.stream_offsets import Offsets, offsets_from_json

_log = logging.getLogger("kwire.spark")

Publish = Callable[[str, Mapping[str, float]], object]


def lag(progress: Any) -> dict[TopicPartition, int]:
    """How many offsets each partition had, when the batch was planned, that the query has not read with it.

    `progress` is a StreamingQueryProgress (`query.lastProgress`, one of `query.recentProgress`, `event.progress`), its
    JSON, or a dict made of that. Of partitions that several sources read, the largest. Sources that are not Kafka's
    count nothing, nor do those of Spark 4.0 and 4.1, which tell no latest offset of a Python source.
    """
    behind: dict[TopicPartition, int] = {}
    for source in _parsed(progress)["sources"]:
        read, there = (_offsets(source.get(name)) for name in ("endOffset", "latestOffset"))
        for tp, offset in there.items():
            behind[tp] = max(behind.get(tp, 0), offset - read.get(tp, 0))
    return behind


class LagListener(StreamingQueryListener):
    """Publishes the lag of every query of a session under the names that Spark's Kafka source has for it.

    After each progress `publish(query, metrics)` is called, which logs one line at INFO (logger kwire.spark) unless
    another function is given. `query` is the query's name, or its id where it has none; `metrics` are the numbers of
    `avgOffsetsBehindLatest`, `maxOffsetsBehindLatest` and `minOffsetsBehindLatest`, over the partitions of all of its
    sources. The last ones of each query that runs are in `metrics`, too, by query.
    """

    def __init__(self, publish: Publish | None = None) -> None:
        self.metrics: dict[str, Mapping[str, float]] = {}
        self._publish = publish or _to_log
        self._names: dict[str, str] = {}

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - Spark's names, here and below
        pass

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        behind = lag(event.progress).values()
        if not behind:
            return
        query = str(event.progress.name or event.progress.id)
        self._names[str(event.progress.id)] = query
        self.metrics[query] = {
            "avgOffsetsBehindLatest": sum(behind) / len(behind),
            "maxOffsetsBehindLatest": max(behind),
            "minOffsetsBehindLatest": min(behind),
        }
        self._publish(query, self.metrics[query])

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        pass

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        self.metrics.pop(self._names.pop(str(event.id), ""), None)


def _to_log(query: str, metrics: Mapping[str, float]) -> None:
    _log.info("%s: %s", query, ", ".join(f"{name}={value}" for name, value in metrics.items()))


def _parsed(progress: Any) -> Any:
    text = progress if isinstance(progress, str) else getattr(progress, "json", None)
    return progress if text is None else json.loads(text)


def _offsets(value: Any) -> Offsets:
    """The offsets of a source; none where it has none, or those of another kind."""
    try:
        return offsets_from_json(json.loads(value) if isinstance(value, str) else value)
    except (ValueError, RecursionError, ConfigError):
        return {}
