"""The contract between a read and its decoders: a format, where a record is, and what a bad one becomes.

Nothing here imports Arrow: planning and look-up processes do without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol

from pyspark.sql.types import BinaryType, StructField, StructType

from kwire.errors import KafkaError

if TYPE_CHECKING:
    import pyarrow as pa

Mode = Literal["fail", "null", "drop", "column"]
MODES: Final[tuple[Mode, ...]] = ("fail", "null", "drop", "column")
CORRUPT: Final = {"key": "_corruptKey", "value": "_corrupt"}


class RecordPlace(NamedTuple):
    """Where a record is."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} at offset {self.offset}"


PlaceOf = Callable[[int], RecordPlace]


class Fault(NamedTuple):
    """A record that a decoder cannot read: its row in the batch, and why."""

    row: int
    reason: str


Decode = Callable[["pa.RecordBatch"], "tuple[list[pa.Array], Sequence[Fault]]"]


class Format(Protocol):
    """A decoder and its settings: made from the options where the job is planned, pickled, opened in each task."""

    @property
    def name(self) -> str:
        """What error messages call it: `json`, `package:function`."""

    @property
    def schema(self) -> StructType:
        """The decoded fields, known without reading a record; all nullable, of the types in `ddl.py`."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The raw columns that decoding needs."""

    def open(self, fields: Sequence[str]) -> Decode:
        """Returns the function that decodes batches of the columns `inputs`.

        It returns one array for each of `fields`, names from `schema` in its order, as long as the batch and of the
        types of `arrow_types.py`; and the rows at fault, sorted, which are null in all arrays. A null key or
        value is null fields and no fault. It does not raise for what a record contains.
        """


class DecodeError(KafkaError):
    """A record that a decoder could not read, with `decoder.mode=fail`; `reason` is the decoder's."""

    def __init__(self, message: str, place: RecordPlace | None = None, reason: str = "") -> None:
        super().__init__(message, place, reason)
        self.place = place
        self.reason = reason

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True)
class ColumnDecoder:
    """The decoder of one column, `key` or `value`; `option` is the name of its option, for error texts."""

    option: str
    column: str
    format: Format
    mode: Mode = "fail"
    prefix: str = ""

    def result_fields(self) -> list[StructField]:
        """The columns that take the place of the raw one."""
        fields = [StructField(self.prefix + each.name, each.dataType, True) for each in self.format.schema.fields]
        if self.mode == "column":
            fields.append(StructField(CORRUPT[self.column], BinaryType(), True))
        return fields

    def chosen_fields(self, columns: Sequence[str]) -> list[str]:
        """The fields, by the format's names, that appear in `columns`."""
        return [name for name in self.format.schema.fieldNames() if self.prefix + name in columns]

    def is_needed(self, columns: Sequence[str]) -> bool:
        """Whether `columns` depend on decoding: bad records fail or drop rows even if no field of theirs is chosen."""
        return self.mode in ("fail", "drop") or any(each.name in columns for each in self.result_fields())
