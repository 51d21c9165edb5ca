"""What becomes of keys and values in the reader: which columns they turn into, and what happens to a bad one.

A `Decoding` is made from the options once (`options.py`) and pickled into every task; there `open()`
makes the function that turns batches of raw columns into batches of the columns that Spark sees. The formats stand in
`decoders/`, one module each. Nothing here imports Arrow: planning and look-up processes do without it.

    raw columns     key, value, topic, partition, offset, ...       what the codec fills
    result columns  the same, but the fields of a decoder in the place of its column, and after them, with
                    decoder.mode=column, the bytes that could not be decoded
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.types import StructField, StructType

from kwire.errors import ConfigError
from kwire.spark.decoding.contract import ColumnDecoder, PlaceOf
from kwire.spark.decoding.ddl import ddl, parse_schema
from kwire.spark.decoding.schema import ALL_COLUMNS, FILE_COLUMNS, spark_ddl

if TYPE_CHECKING:
    import pyarrow as pa


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

    def open(self, columns: Sequence[str]) -> Callable[[pa.RecordBatch, PlaceOf], pa.RecordBatch]:
        """Returns the function that makes batches of `columns`, result columns, from batches of `raw_columns(columns)`.

        It gets the place of each row of the raw batch with it, for errors. Rows are fewer where bad ones are dropped.
        """
        from kwire.spark.decoding.decoded_columns import DecodedColumns

        return DecodedColumns(self.decoders, columns)

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
            f"{blamed.option}: the column {name} would appear twice; give the decoded fields a prefix "
            f"with {blamed.option}.prefix"
        )
    taken[folded] = decoder
