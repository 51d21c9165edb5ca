"""`decoder=json`: each value is a JSON object, whose fields become the columns of `decoder.schema`.

The work is done in the codec (`decode_json`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructType

from kwire.errors import ConfigError
from kwire.spark.decoder_options import DecoderSettings
from kwire.spark.decoders.texts import fault, layout_nodes, time_zone, zone_table
from kwire.spark.decoding import Decode, Fault

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class JsonFormat:
    """`time_zone` is that of timestamps that name none."""

    schema: StructType
    inputs: tuple[str, ...]
    time_zone: str = "UTC"
    name: str = "json"

    def open(self, fields: Sequence[str]) -> Decode:
        import pyarrow as pa

        from kwire._codec import ColumnLayout, TextPlan, decode_json

        chosen = StructType([each for each in self.schema.fields if each.name in fields])
        plan = TextPlan(ColumnLayout(layout_nodes(chosen)), zone_table(self.time_zone))

        def decode(raw: pa.RecordBatch) -> tuple[list[pa.Array], Sequence[Fault]]:
            columns = decode_json(raw.column(0), plan)
            return pa.record_batch(columns).columns, [fault(*each) for each in columns.faults]

        return decode


def parse(settings: DecoderSettings) -> JsonFormat:
    """The decoder that the options ask for; ConfigError names the one at fault."""
    settings.check_suffixes(("schema", "timeZone"))
    schema = settings.ddl_schema()
    for each in schema.fields:
        _check_maps(each.name, each.dataType, settings.option("schema"))
    return JsonFormat(schema, (settings.column,), time_zone(settings))


def _check_maps(name: str, of: DataType, option: str) -> None:
    if isinstance(of, StructType):
        for each in of.fields:
            _check_maps(f"{name}.{each.name}", each.dataType, option)
    elif isinstance(of, ArrayType):
        _check_maps(f"{name}[]", of.elementType, option)
    elif isinstance(of, MapType):
        if not isinstance(of.keyType, StringType):
            raise ConfigError(f"{option}: {name}: the keys of a map in JSON are STRING")
        _check_maps(f"{name}{{}}", of.valueType, option)
