"""What the decoders of texts, json and csv, share: a schema laid out for the codec, and time zones."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from typing import Final
from zoneinfo import ZoneInfo

from pyspark.sql.types import ArrayType, DataType, DecimalType, MapType, StructField, StructType

from kwire.errors import ConfigError
from kwire.spark.decoder_options import DecoderSettings
from kwire.spark.decoding import Fault

_FORMATS: Final = {
    "boolean": "b",
    "byte": "c",
    "short": "s",
    "integer": "i",
    "long": "l",
    "float": "f",
    "double": "g",
    "string": "u",
    "binary": "z",
    "date": "tdD",
    "timestamp": "tsu:UTC",
    "timestamp_ntz": "tsu:",
}
_Node = tuple[str, str, tuple[int, ...]]
_FIXED_ZONE: Final = re.compile(r"(?:UTC|GMT|Z)|([+-])(\d\d):(\d\d)")
_ZONE_YEARS: Final = range(1850, 2101)


def time_zone(settings: DecoderSettings) -> str:
    """The zone of timestamps that name none; ConfigError for one that there is not."""
    name = settings.text("timeZone") or "UTC"
    try:
        zone_table(name)
    except (KeyError, ValueError, OSError):
        raise ConfigError(
            f"{settings.option('timeZone')}: there is no time zone '{name}'; Europe/Paris or +02:00 would be one"
        ) from None
    return name


def fault(row: int, byte: int, place: str, reason: str) -> Fault:
    """A fault as the codec describes it."""
    return Fault(row, f"{place}: {reason} (byte {byte})" if place else f"{reason} (byte {byte})")


def layout_nodes(schema: StructType) -> list[_Node]:
    """The columns as `ColumnLayout` takes them: each node with the numbers of its children."""
    nodes: list[_Node] = []
    _add_node(nodes, "", schema)
    return nodes


def _add_node(nodes: list[_Node], name: str, of: DataType) -> int:
    number = len(nodes)
    nodes.append((name, "", ()))
    if isinstance(of, StructType):
        arrow, children = "+s", [(each.name, each.dataType) for each in of.fields]
    elif isinstance(of, ArrayType):
        arrow, children = "+l", [("element", of.elementType)]
    elif isinstance(of, MapType):
        entries = StructType([StructField("key", of.keyType), StructField("value", of.valueType)])
        arrow, children = "+m", [("entries", entries)]
    elif isinstance(of, DecimalType):
        arrow, children = f"d:{of.precision},{of.scale}", []
    else:
        arrow, children = _FORMATS[of.typeName()], []
    nodes[number] = (name, arrow, tuple(_add_node(nodes, child, kind) for child, kind in children))
    return number


@cache
def zone_table(name: str) -> tuple[tuple[int | None, int], ...]:
    """How far east of Greenwich the clocks of a zone are: (until when they show this, seconds), the last until None.

    A time that clocks show twice is the earlier one, and one that they leave out counts from before, as in Java.
    """
    fixed = _FIXED_ZONE.fullmatch(name)
    if fixed:
        return ((None, int(f"{fixed[1] or ''}1") * (int(fixed[2] or 0) * 3600 + int(fixed[3] or 0) * 60)),)
    zone = ZoneInfo(name)
    days = [datetime(year, month, 1, tzinfo=UTC) for year in _ZONE_YEARS for month in range(1, 13)]
    table: list[tuple[int | None, int]] = []
    for before, after in pairwise(days):
        while _east(zone, before) != _east(zone, after):
            change = _first_change(zone, before, after)
            old, new = _east(zone, change - timedelta(seconds=1)), _east(zone, change)
            table.append((int(change.timestamp()) + max(old, new), old))
            before = change
    return (*table, (None, _east(zone, days[-1])))


def _first_change(zone: ZoneInfo, before: datetime, after: datetime) -> datetime:
    """The first second of another offset than at `before`, between the two."""
    while after - before > timedelta(seconds=1):
        middle = before + timedelta(seconds=(after - before) // timedelta(seconds=1) // 2)
        if _east(zone, middle) == _east(zone, before):
            before = middle
        else:
            after = middle
    return after


def _east(zone: ZoneInfo, at: datetime) -> int:
    offset = at.astimezone(zone).utcoffset()
    return 0 if offset is None else int(offset.total_seconds())
