"""What becomes of keys and values in the reader: which columns they turn into, and what happens to a bad one.

A `Decoding` is made from the options once (`kwire.spark.decoder_options`) and pickled into every task; there `open()`
makes the function that turns batches of raw columns into batches of the columns that Spark sees. The formats stand in
`kwire.spark.decoders`, one module each. Nothing here imports Arrow: planning and look-up processes do without it.

    raw columns     key, value, topic, partition, offset, ...       what the codec fills
    result columns  the same, but the fields of a decoder in the place of its column, and after them, with
                    decoder.mode=column, the bytes that could not be decoded
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol

from pyspark.sql.types import BinaryType, StructField, StructType

from kwire.errors import ConfigError, KafkaError
from kwire.spark.ddl import ddl, parse_schema
from kwire.spark.schema import ALL_COLUMNS, FILE_COLUMNS, spark_ddl

if TYPE_CHECKING:
    import pyarrow as pa

Mode = Literal["fail", "null", "drop", "column"]
MODES: Final[tuple[Mode, ...]] = ("fail", "null", "drop", "column")
CORRUPT: Final = {"key": "_corruptKey", "value": "_corrupt"}


class Place(NamedTuple):
    """Where a record is."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} at offset {self.offset}"


Where = Callable[[int], Place]


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
        """The decoded fields, known without reading a record; all nullable, of the types in `kwire.spark.ddl`."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The raw columns that decoding needs."""

    def open(self, fields: Sequence[str]) -> Decode:
        """Returns the function that decodes batches of the columns `inputs`.

        It returns one array for each of `fields`, names from `schema` in its order, as long as the batch and of the
        types of `kwire.spark.arrow_types`; and the rows at fault, sorted, which are null in all arrays. A null key or
        value is null fields and no fault. It does not raise for what a record contains.
        """


class DecodeError(KafkaError):
    """A record that a decoder could not read, with `decoder.mode=fail`; `reason` is the decoder's."""

    def __init__(self, message: str, place: Place | None = None, reason: str = "") -> None:
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


@dataclass(frozen=True)
class Decoding:
    """The decoders of a read; without any there is nothing to do, and the raw columns are the result."""

    key: ColumnDecoder | None = None
    value: ColumnDecoder | None = None

    def __bool__(self) -> bool:
        return self.decoders != ()

    @property
    def decoders(self) -> tuple[ColumnDecoder, ...]:
        return tuple(each for each in (self.key, self.value) if each is not None)

    def result_names(self, raw: Sequence[str]) -> tuple[str, ...]:
        """The result columns for these raw ones; ConfigError when a name would stand twice, in any case of letters."""
        return tuple(self._result_schema(raw).fieldNames()) if self else tuple(raw)

    def ddl(self, columns: Sequence[str]) -> str:
        """The Spark schema of these result columns."""
        if not self:
            return spark_ddl(columns)
        of_files = [name for name in columns if name in FILE_COLUMNS and self._owner(name) is None]
        schema = self._result_schema([*ALL_COLUMNS, *of_files])
        return ddl(StructType([schema[name] for name in columns]))

    def _result_schema(self, raw: Sequence[str]) -> StructType:
        by_column = {each.column: each for each in self.decoders}
        fields: list[StructField] = []
        taken: dict[str, ColumnDecoder | None] = {}
        for field in parse_schema(spark_ddl(raw)).fields:
            decoder = by_column.get(field.name)
            for each in [field] if decoder is None else decoder.result_fields():
                _check_name(each.name, decoder, taken)
                fields.append(each)
        return StructType(fields)

    def raw_columns(self, columns: Sequence[str]) -> tuple[str, ...]:
        """The raw columns that the codec must fill for these result columns."""
        needed = [name for name in columns if self._owner(name) is None]
        for each in self.decoders:
            if each.is_needed(columns):
                needed += [each.column, *each.format.inputs]
        return tuple(dict.fromkeys(needed))

    def open(self, columns: Sequence[str]) -> Callable[[pa.RecordBatch, Where], pa.RecordBatch]:
        """Returns the function that makes batches of `columns`, result columns, from batches of `raw_columns(columns)`.

        It gets the place of each row of the raw batch with it, for errors. Rows are fewer where bad ones are dropped.
        """
        from kwire.spark.decoded_columns import DecodedColumns

        return DecodedColumns(self, columns)

    def _owner(self, name: str) -> ColumnDecoder | None:
        for each in self.decoders:
            if any(field.name == name for field in each.result_fields()):
                return each
        return None


NO_DECODING: Final = Decoding()


def _check_name(name: str, decoder: ColumnDecoder | None, taken: dict[str, ColumnDecoder | None]) -> None:
    folded = name.lower()
    if folded in taken:
        blamed: Any = decoder or taken[folded]
        raise ConfigError(
            f"{blamed.option}: the column {name} would stand twice; put a text before the names of the decoded fields "
            f"with {blamed.option}.prefix"
        )
    taken[folded] = decoder
