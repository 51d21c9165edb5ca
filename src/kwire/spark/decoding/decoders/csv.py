"""`decoder=csv`: each value is one CSV record without a header, its fields in the order of `decoder.schema`.

Options, as Spark's CSV source has them: `sep`, `quote`, `escape` (one character each, the latter two may be empty),
`nullValue`. The work is done in `kwire._values` (`decode_csv`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.types import ArrayType, MapType, StructType

from kwire.errors import ConfigError
from kwire.spark.decoding.contract import Decode, Fault
from kwire.spark.decoding.decoders.texts import check_columns, fault, text_plan, time_zone
from kwire.spark.decoding.options import DecoderSettings

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class CsvFormat:
    """`time_zone` is that of timestamps that name none."""

    schema: StructType
    inputs: tuple[str, ...]
    separator: bytes = b","
    quote: bytes = b'"'
    escape: bytes = b"\\"
    null: bytes = b""
    time_zone: str = "UTC"
    name: str = "csv"

    def open(self, fields: Sequence[str]) -> Decode:
        import pyarrow as pa

        from kwire._values import CsvPlan, decode_csv

        chosen = StructType([each for each in self.schema.fields if each.name in fields])
        texts = text_plan(chosen, self.time_zone)
        numbers = {name: number for number, name in enumerate(chosen.fieldNames(), 1)}
        places = [numbers.get(name, -1) for name in self.schema.fieldNames()]
        plan = CsvPlan(texts, places, self.separator, self.quote, self.escape, self.null)

        def decode(raw: pa.RecordBatch) -> tuple[list[pa.Array], Sequence[Fault]]:
            columns = decode_csv(raw.column(0), plan)
            return pa.record_batch(columns).columns, [fault(*each) for each in columns.faults]

        return decode


def parse(settings: DecoderSettings) -> CsvFormat:
    """The decoder that the options ask for; ConfigError names the one at fault."""
    settings.check_suffixes(("schema", "timeZone", "sep", "quote", "escape", "nullValue"))
    schema = settings.ddl_schema()
    for each in schema.fields:
        if isinstance(each.dataType, ArrayType | MapType | StructType):
            raise ConfigError(f"{settings.option('schema')}: {each.name}: a field of CSV cannot be nested")
    check_columns(schema, settings)
    separator, quote, escape = (
        _character(settings, suffix, default) for suffix, default in (("sep", ","), ("quote", '"'), ("escape", "\\"))
    )
    if not separator or separator in (quote, escape):
        raise ConfigError(f"{settings.option('sep')} must be one character, and neither the quote nor the escape")
    null = settings.raw("nullValue") or ""
    return CsvFormat(schema, (settings.column,), separator, quote, escape, null.encode(), time_zone(settings))


def _character(settings: DecoderSettings, suffix: str, default: str) -> bytes:
    text = settings.raw(suffix)
    text = default if text is None else "\t" if text == "\\t" else text
    if len(text) > 1 or not text.isascii() or text in ("\n", "\r"):
        raise ConfigError(f"{settings.option(suffix)}: expected one ASCII character (\\t is a tab), got {text!r}")
    return text.encode()
