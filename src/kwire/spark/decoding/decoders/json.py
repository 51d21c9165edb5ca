"""`decoder=json`: each value is a JSON object, whose fields become the columns of `decoder.schema`.

    decoder.framing     none, or confluent: a zero and a schema's id in four bytes stand before each value

The work is done in `kwire._values` (`decode_json`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructType

from kwire.errors import ConfigError
from kwire.spark.decoding.contract import Decode, Fault
from kwire.spark.decoding.decoders.texts import check_columns, fault, text_plan, time_zone
from kwire.spark.decoding.options import DecoderSettings

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class JsonFormat:
    """`time_zone` is that of timestamps that name none."""

    schema: StructType
    inputs: tuple[str, ...]
    time_zone: str = "UTC"
    framed: bool = False
    name: str = "json"

    def open(self, fields: Sequence[str]) -> Decode:
        import pyarrow as pa

        from kwire._values import decode_json
        from kwire.registry.columns import NO_FRAME, without_frames

        chosen = StructType([each for each in self.schema.fields if each.name in fields])
        plan = text_plan(chosen, self.time_zone)

        def decode(raw: pa.RecordBatch) -> tuple[list[pa.Array], Sequence[Fault]]:
            values, missing = without_frames(raw.column(0)) if self.framed else (raw.column(0), [])
            columns = decode_json(values, plan)
            faults = [*(Fault(row, NO_FRAME) for row in missing), *(fault(*each) for each in columns.faults)]
            return pa.record_batch(columns).columns, sorted(faults, key=lambda each: each.row)

        return decode


def parse(settings: DecoderSettings) -> JsonFormat:
    """The decoder that the options ask for; ConfigError names the one at fault."""
    settings.check_suffixes(("schema", "timeZone", "framing"))
    schema = settings.ddl_schema()
    for each in schema.fields:
        _check_maps(each.name, each.dataType, settings.option("schema"))
    check_columns(schema, settings)
    framed = settings.given.choice(settings.option("framing"), ("none", "confluent"), "none") == "confluent"
    return JsonFormat(schema, (settings.column,), time_zone(settings), framed)


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
