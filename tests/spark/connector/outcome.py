"""What a read came to: its rows as a multiset, or the kind of its error, in words that hold for both sources."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = tuple[Any, ...]

_KINDS: Final = {
    "no record that late": r"No offset matched|has no record .*(time|late)",
    "records are lost": r"Some data may have been lost|DataLossError|Could not read records",
    "starts after its end": r"UNRESOLVED_START_OFFSET_GREATER|greater than the (resolved )?end (offset|timestamp)"
    r"|Beginning offset \d+ is after the ending offset",
    "not these partitions": r"don't match what are assigned",
    "ends before the log": r"can't be earliest",
    "starts after the log": r"can't be latest",
    "no topic": r"topic option required|no column 'topic'|null topic|topic is null",
    "no value": r"Required attribute 'value' not found",
    "wrong type": r"unsupported type|must be an? ",
    "no such partition": r"Invalid partition|not present in metadata|has \d+ partitions, and no partition",
    "too large": r"RecordTooLarge|larger than|too large",
    "refused option": r"is not supported",
}
# Both are found when the read is planned, in another order: options at fault twice have either error.
_OF_BOUNDS: Final = {"no record that late", "starts after its end"}


@dataclass(frozen=True)
class Outcome:
    """Rows, or the kind of error and, for people, its text."""

    rows: Counter[Row] = field(default_factory=Counter)
    error: str | None = None
    text: str = field(default="", compare=False)

    def agrees_with(self, other: Outcome) -> bool:
        return self == other or {self.error, other.error} == _OF_BOUNDS

    def difference(self, other: Outcome) -> str:
        """What `other` has otherwise, short enough to be read."""
        missing, added = self.rows - other.rows, other.rows - self.rows
        return (
            f"{self.error or f'{self.rows.total()} rows'} against {other.error or f'{other.rows.total()} rows'}; "
            f"missing {_places(missing)}, added {_places(added)}\n{self.text[:1500]}\n{other.text[:3000]}"
        )


def read_batch(
    spark: SparkSession, source: str, options: Mapping[str, str], through: Callable[[DataFrame], DataFrame]
) -> Outcome:
    """Reads with one of the two sources; the rows go `through` a function of the frame. An error of neither kind is
    raised.
    """
    try:
        return Outcome(rows_of(through(spark.read.format(source).options(**options).load())))
    except (PySparkException, Py4JJavaError) as error:
        return Outcome(error=kind_of(str(error)), text=str(error))


def rows_of(frame: DataFrame) -> Counter[Row]:
    """All rows, in an order-free form, times in microseconds: Python's go no further than the year 9999."""
    columns = [f"unix_micros(`{name}`)" if kind == "timestamp" else f"`{name}`" for name, kind in frame.dtypes]
    return Counter(_plain(row) for row in frame.selectExpr(*columns).collect())


def kind_of(text: str) -> str:
    """The kind of error that a text tells of; the text itself if it is of no known kind."""
    for kind, pattern in _KINDS.items():
        if re.search(pattern, text):
            return kind
    return text


def _plain(row: Row) -> Row:
    return tuple(_bytes(value) for value in row)


def _bytes(value: Any) -> Any:
    if isinstance(value, bytearray):
        return bytes(value)
    return tuple((name, _bytes(each)) for name, each in value) if isinstance(value, list) else value


def _places(rows: Counter[Row]) -> str:
    shown = sorted(str(row)[:80] for row in rows.elements())
    return f"{len(shown)} {shown[:5]}"
