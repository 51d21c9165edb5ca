"""`decoder=avro`: each value is an Avro record, whose fields become the columns.

    decoder.schema            the reader's schema: its JSON, or a file
    decoder.writerSchema      the schema that all values were written with, if it is another one
    decoder.registry          a registry's URL, or a folder of <id>.avsc: values are framed, their ids say the writer's
    decoder.registry.subject  without decoder.schema: the reader's schema is the newest of this subject, once per query

The schemas are made into plans in the task, one for each writer's; the codec does the rest (`decode_avro`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql.types import StructType

from kwire.errors import ConfigError
from kwire.registry.avro_text import AvroText
from kwire.spark.decoding.contract import Decode, Fault
from kwire.spark.decoding.ddl import parse_schema
from kwire.spark.decoding.options import DecoderSettings
from kwire.spark.decoding.schema_registry import SchemaSource, parse_registry

if TYPE_CHECKING:
    import pyarrow as pa

    from kwire._values import AvroPlan

_SUFFIXES: Final = (
    "schema", "writerSchema", "registry", "registry.subject", "registry.user", "registry.password", "registry.caFile",
    "registry.token", "registry.certFile", "registry.keyFile",
)  # fmt: skip


@dataclass(frozen=True)
class AvroFormat:
    """`column` is the name of the one column of a schema that is not a record."""

    schema: StructType
    inputs: tuple[str, ...]
    reader: AvroText
    column: str
    writer: AvroText | None = None
    registry: SchemaSource | None = None
    name: str = "avro"

    def open(self, fields: Sequence[str]) -> Decode:
        import pyarrow as pa

        from kwire._values import decode_avro, framed_ids
        from kwire.columns.avro_plan import AvroReader
        from kwire.registry.avro_plans import AvroPlans

        reader = AvroReader(self.reader.parse(), self.column, set(fields))
        if self.registry is None:
            plan = reader.plan(self.writer.parse() if self.writer else reader.schema)

            def plans_of(values: pa.Array) -> AvroPlan | dict[int, AvroPlan]:
                return plan
        else:
            plans = AvroPlans(self.registry.by_id, reader)

            def plans_of(values: pa.Array) -> AvroPlan | dict[int, AvroPlan]:
                return plans.of(framed_ids(values))

        def decode(raw: pa.RecordBatch) -> tuple[list[pa.Array], Sequence[Fault]]:
            values = raw.column(0)
            built = decode_avro(values, reader.layout, plans_of(values))
            return pa.record_batch(built).columns, [_fault(*fault) for fault in built.faults]

        return decode


def parse(settings: DecoderSettings) -> AvroFormat:
    """The decoder that the options ask for; ConfigError names the one at fault."""
    from kwire.columns.avro_plan import AvroReader
    from kwire.columns.layout import RecursiveTypeError

    settings.check_suffixes(_SUFFIXES)
    registry = _registry(settings)
    text = _reader_text(settings, registry)
    writer = None
    try:
        reader = AvroReader(text.parse(), settings.column)
        if settings.text("writerSchema"):
            writer = _schema_text(settings, "writerSchema")
            reader.plan(writer.parse())
        columns = ", ".join(f"`{name.replace('`', '``')}` {kind}" for name, kind in reader.fields)
        schema = parse_schema(columns)
    except RecursiveTypeError as fault:
        raise ConfigError(
            f"{settings.option('schema')}: {fault}. Leave the field out of this schema, and give the whole one as "
            f"{settings.option('writerSchema')} where no registry has it; or decode with a function, "
            f"{settings.role}=package.module:function"
        ) from None
    except ConfigError as fault:
        raise ConfigError(f"{settings.option('schema')}: {fault}") from None
    if registry is not None and writer is not None:
        raise ConfigError(
            f"{settings.option('writerSchema')} and {settings.option('registry')}: with a registry, each value says "
            "its writer's schema"
        )
    return AvroFormat(schema, (settings.column,), text, settings.column, writer, registry)


def _registry(settings: DecoderSettings) -> SchemaSource | None:
    where = settings.text("registry")
    if not where:
        for suffix in _SUFFIXES:
            if suffix.startswith("registry.") and settings.text(suffix):
                raise ConfigError(f"{settings.option(suffix)} is given without {settings.option('registry')}")
        return None
    parts = ("user", "password", "caFile", "token", "certFile", "keyFile")
    user, password, ca, token, cert, key = (settings.text(f"registry.{part}", "") or "" for part in parts)
    option = settings.option("registry")
    return parse_registry(option, where, user, password, ca, token=token, cert_file=cert, key_file=key)


def _reader_text(settings: DecoderSettings, registry: SchemaSource | None) -> AvroText:
    subject = settings.text("registry.subject")
    if settings.text("schema") or not subject or registry is None:
        return _schema_text(settings, "schema")
    if registry.is_folder:
        raise ConfigError(f"{settings.option('registry.subject')}: a folder has no subjects; give a schema")
    return registry.latest(subject)


def _schema_text(settings: DecoderSettings, suffix: str) -> AvroText:
    what = "an Avro schema as JSON, or the path of a file with one"
    if suffix == "schema" and settings.text("registry"):
        what += f"; or {settings.option('registry.subject')}"
    content = settings.content(suffix, what)
    try:
        return AvroText(content.decode())
    except UnicodeDecodeError:
        raise ConfigError(f"{settings.option(suffix)}: the file is not UTF-8 text") from None


def _fault(row: int, byte: int, place: str, reason: str) -> Fault:
    return Fault(row, f"{place}: {reason} (byte {byte})" if place else f"{reason} (byte {byte})")
