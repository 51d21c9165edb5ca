"""`decoder=package:function`: a user's function, imported in the worker, from raw columns to the declared ones.

The function takes a pyarrow.RecordBatch of the raw columns that `decoder.columns` names (`value` by default, `key` for
a keyDecoder) and returns a RecordBatch or a Table with the columns of `decoder.schema` and as many rows. Columns are
found by name and cast where Arrow can do so without loss. What it raises ends the task; a record that it cannot read it
makes null.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.types import StructType

from kwire.errors import ConfigError
from kwire.errors.listing import counted
from kwire.spark.decoding.contract import Decode, Fault
from kwire.spark.decoding.named_function import find_function, names_function
from kwire.spark.decoding.options import DecoderSettings

if TYPE_CHECKING:
    import pyarrow as pa

_RAW: Final = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")


@dataclass(frozen=True)
class CallableFormat:
    """`name` is `package:function`."""

    name: str
    schema: StructType
    inputs: tuple[str, ...]

    def open(self, fields: Sequence[str]) -> Decode:
        from kwire.spark.decoding.arrow_types import arrow_schema

        try:
            function = find_function(self.name)
        except ConfigError as fault:
            raise ConfigError(f"decoder {fault} (workers must be able to import the module)") from fault
        wanted = [each for each in arrow_schema(self.schema) if each.name in fields]

        def decode(raw: pa.RecordBatch) -> tuple[list[pa.Array], Sequence[Fault]]:
            returned = function(raw)
            _check_result(returned, raw.num_rows, self.schema.fieldNames())
            return [_array(returned, each) for each in wanted], ()

        return decode


def parse(settings: DecoderSettings) -> CallableFormat:
    """The decoder that the options name. The function itself is looked up in the workers only."""
    name = settings.given.text(settings.role) or ""
    if not names_function(name):
        raise ConfigError(
            f"{settings.role}: expected package.module:function, a module that workers can import, got '{name}'"
        )
    settings.check_suffixes(("schema", "columns"))
    if settings.text("mode", "fail") != "fail":
        raise ConfigError(f"{settings.option('mode')}: a function decides itself what to do with a bad record")
    return CallableFormat(name, settings.ddl_schema(), _inputs(settings))


def _inputs(settings: DecoderSettings) -> tuple[str, ...]:
    by_lower_name = {name.lower(): name for name in _RAW}
    names = [name.strip() for name in (settings.text("columns") or settings.column).split(",")]
    for name in names:
        if name.lower() not in by_lower_name:
            raise ConfigError(f"{settings.option('columns')}: there is no '{name}'; there are {', '.join(_RAW)}")
    return tuple(dict.fromkeys(by_lower_name[name.lower()] for name in names))


def _check_result(returned: Any, rows: int, names: Sequence[str]) -> None:
    import pyarrow as pa

    if not isinstance(returned, pa.RecordBatch | pa.Table):
        raise TypeError(f"expected a pyarrow.RecordBatch or Table, got {type(returned).__name__}")
    if sorted(returned.schema.names) != sorted(names):
        raise ValueError(f"expected the columns {', '.join(names)}, got {', '.join(returned.schema.names)}")
    if returned.num_rows != rows:
        raise ValueError(f"expected {counted(rows, 'row')}, one for each record, got {returned.num_rows}")


def _array(returned: pa.RecordBatch | pa.Table, wanted: pa.Field) -> pa.Array:
    import pyarrow as pa

    array = returned.column(wanted.name)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
        if isinstance(array, pa.ChunkedArray):
            array = array.chunk(0)
    if array.type == wanted.type:
        return array
    try:
        return array.cast(wanted.type)
    except pa.ArrowInvalid as error:
        raise ValueError(f"column {wanted.name}: {error}") from None
    except pa.ArrowNotImplementedError:
        raise TypeError(f"column {wanted.name}: expected {wanted.type}, got {array.type}") from None
