"""Metrics as OpenTelemetry's message MetricsData, which PushTelemetry carries: the fields of it that clients fill.

Layer 3, no I/O. The messages are those of opentelemetry/proto/metrics/v1/metrics.proto, in the wire format of Protocol
Buffers: each field is a tag (its number, and how its value is written), then a varint, 8 bytes, or a length and so many
bytes.

    MetricsData       1 ResourceMetrics                        one
    ResourceMetrics   1 Resource, 2 ScopeMetrics               one
    Resource          1 KeyValue of each attribute
    ScopeMetrics      2 Metric of each name
    Metric            1 name, 5 Gauge or 7 Sum
    Gauge             1 NumberDataPoint of each set of attributes
    Sum               1 NumberDataPoint of each, 2 temporality (1 delta, 2 cumulative), 3 is_monotonic
    NumberDataPoint   2 start and 3 time in ns since 1970 (fixed64), 4 the value (double), 7 KeyValue of each attribute
    KeyValue          1 key, 2 AnyValue, whose field 1 is a string
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from struct import Struct

from kwire._typing import NamedTuple

Tags = tuple[tuple[str, str], ...]

_VARINT, _FIXED64, _LENGTH = 0, 1, 2
_DELTA, _CUMULATIVE = 1, 2
_GAUGE_FIELD, _SUM_FIELD = 5, 7
_MAX_OVERHEAD = 6
"""Bytes of a tag and a length below 2 GiB."""

_fixed64 = Struct("<BQ").pack
_double = Struct("<Bd").pack


class Sample(NamedTuple):
    """One value of a metric, under the name that subscriptions select by. A `total` only grows."""

    name: str
    tags: Tags
    value: float
    total: bool


class Times(NamedTuple):
    """In seconds since 1970: since when totals count, and when all was looked at."""

    start: float
    now: float


def encode(
    samples: Iterable[Sample], resource: Mapping[str, str], times: Times, *, delta: bool, max_bytes: int
) -> bytes:
    """The message, of `max_bytes` at most: what has no tags comes first, and what does not fit is left out."""
    head = b"".join(_part(1, _key_value(*each)) for each in resource.items())
    room = max_bytes - len(head) - 4 * _MAX_OVERHEAD
    of_gauge = _fixed64(_tag(3, _FIXED64), _ns(times.now))
    of_total = _fixed64(_tag(2, _FIXED64), _ns(times.start)) + of_gauge
    metrics: dict[tuple[str, bool], list[bytes]] = {}
    for sample in sorted(samples, key=lambda sample: bool(sample.tags)):
        point = _part(1, (of_total if sample.total else of_gauge) + _value(sample))
        found = metrics.get((sample.name, sample.total))
        room -= len(point) if found is not None else len(point) + _size_of_metric(sample.name)
        if room < 0:
            break
        if found is None:
            metrics[sample.name, sample.total] = found = []
        found.append(point)
    body = b"".join(_part(2, _metric(name, total, points, delta)) for (name, total), points in metrics.items())
    return _part(1, _part(1, head) + _part(2, body))


def _ns(seconds: float) -> int:
    """In whole microseconds: a float has no more of the time since 1970."""
    return round(seconds * 1e6) * 1000


def _size_of_metric(name: str) -> int:
    return len(name.encode()) + 3 * _MAX_OVERHEAD + 4


def _metric(name: str, total: bool, points: list[bytes], delta: bool) -> bytes:
    data = b"".join(points)
    if total:
        data += _number(2, _DELTA if delta else _CUMULATIVE) + _number(3, 1)
    return _part(1, name.encode()) + _part(_SUM_FIELD if total else _GAUGE_FIELD, data)


def _value(sample: Sample) -> bytes:
    return _double(_tag(4, _FIXED64), sample.value) + b"".join([_attribute(*tag) for tag in sample.tags])


@lru_cache(2048)
def _attribute(key: str, value: str) -> bytes:
    """Cached, because many points have the same."""
    return _part(7, _key_value(key, value))


def _key_value(key: str, value: str) -> bytes:
    return _part(1, key.encode()) + _part(2, _part(1, value.encode("utf-8", "replace")))


def _part(field: int, data: bytes) -> bytes:
    size = len(data)
    return bytes((_tag(field, _LENGTH), size)) + data if size < 0x80 else _long_part(field, data)


def _long_part(field: int, data: bytes) -> bytes:
    return bytes((_tag(field, _LENGTH),)) + _varint(len(data)) + data


def _number(field: int, value: int) -> bytes:
    return bytes((_tag(field, _VARINT),)) + _varint(value)


def _tag(field: int, kind: int) -> int:
    return field << 3 | kind


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
