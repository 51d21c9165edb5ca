"""What the decoders of texts, json and csv, share: a schema laid out for the codec, and time zones.

No Arrow and no Spark session; only PySpark's type classes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise
from typing import Final
from zoneinfo import ZoneInfo

from pyspark.sql.types import ArrayType, DataType, DecimalType, MapType, StructField, StructType

from kwire._values import ColumnLayout, TextPlan
from kwire.columns.layout import DDL
from kwire.errors import ConfigError
from kwire.spark.decoding.contract import Fault
from kwire.spark.decoding.options import DecoderSettings

_FORMATS: Final = {text: form for form, text in DDL.items()}
_Node = tuple[str, str, tuple[int, ...]]
_FIXED_ZONE: Final = re.compile(r"(?:UTC|GMT|Z)?(?:([+-])(\d\d):(\d\d))?")
_MAX_OFFSET_S: Final = 18 * 3600
# Today's rule of a zone holds for all years to come, and the calendar repeats itself: these cycles end beyond 9999.
_CYCLE_FROM: Final = int(datetime(2100, 1, 1, tzinfo=UTC).timestamp())
_CYCLE_S: Final = 146_097 * 86_400
_CYCLES: Final = 20
_ZONE_FROM: Final = int(datetime(1850, 1, 1, tzinfo=UTC).timestamp())
# No zone has changed its clocks twice within a week.
_WEEK_S: Final = 7 * 86_400


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


def check_columns(schema: StructType, settings: DecoderSettings) -> None:
    """Raises ConfigError for a column that no text can fill."""
    for each in schema.fields:
        try:
            text_plan(StructType([each]), "UTC")
        except ConfigError as refusal:
            raise ConfigError(f"{settings.option('schema')}: {each.name}: {refusal}") from None


def text_plan(schema: StructType, zone: str) -> TextPlan:
    """How texts become these columns; `zone` is that of timestamps that name none."""
    nodes: list[_Node] = []
    _add_node(nodes, "", schema)
    return TextPlan(ColumnLayout(nodes), zone_table(zone))


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
        arrow, children = _FORMATS[of.simpleString()], []
    nodes[number] = (name, arrow, tuple(_add_node(nodes, child, kind) for child, kind in children))
    return number


@cache
def zone_table(name: str) -> tuple[tuple[int | None, int], ...]:
    """How far east of Greenwich the clocks of a zone are: (until when they show this, seconds), the last until None.

    A time that clocks show twice is the earlier one, and one that they leave out counts from before, as in Java.
    """
    fixed = _FIXED_ZONE.fullmatch(name)
    if fixed:
        return ((None, _fixed_offset(fixed)),)
    zone = ZoneInfo(name)
    table = list(_changes(zone))
    repeated = [row for row in table if row[0] >= _CYCLE_FROM]
    later = [(until + cycle * _CYCLE_S, east) for cycle in range(1, _CYCLES) for until, east in repeated]
    return (*table, *later, (None, _east(zone, _CYCLE_FROM + _CYCLE_S)))


def _fixed_offset(found: re.Match[str]) -> int:
    seconds = int(found[2] or 0) * 3600 + int(found[3] or 0) * 60
    if seconds > _MAX_OFFSET_S or int(found[3] or 0) > 59:
        raise ValueError(found[0])
    return -seconds if found[1] == "-" else seconds


def _changes(zone: ZoneInfo) -> Iterator[tuple[int, int]]:
    until = _CYCLE_FROM + _CYCLE_S
    for before, after in pairwise([*range(_ZONE_FROM, until, _WEEK_S), until]):
        while _east(zone, before) != _east(zone, after):
            change = _first_change(zone, before, after)
            old, new = _east(zone, change - 1), _east(zone, change)
            yield change + max(old, new), old
            before = change


def _first_change(zone: ZoneInfo, before: int, after: int) -> int:
    """The first second of another offset than at `before`, between the two."""
    old = _east(zone, before)
    while after - before > 1:
        middle = (before + after) // 2
        if _east(zone, middle) == old:
            before = middle
        else:
            after = middle
    return after


def _east(zone: ZoneInfo, at: int) -> int:
    offset = datetime.fromtimestamp(at, zone).utcoffset()
    return 0 if offset is None else int(offset.total_seconds())
