"""Avro values of a registry to columns, by the compiled decoder. They look as the reader's schema says; without one, as
the newest says of the schemas met so far: that with the greatest id."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, NamedTuple

from kwire._values import BuiltColumns, decode_avro, framed_ids
from kwire.columns.avro_plan import AvroReader
from kwire.errors import SerializationError, UnknownSchemaError
from kwire.registry.avro_plans import AvroPlans
from kwire.registry.avro_text import AvroText

if TYPE_CHECKING:
    import pyarrow as pa


class AvroColumns:
    """Of one deserializer and one field. `wanted` are the names of the columns that are to be made; None: all."""

    def __init__(
        self,
        text_of: Callable[[int | str], AvroText],
        reader: AvroText | None,
        field: str,
        wanted: Collection[str] | None,
    ) -> None:
        self._text_of = text_of
        self._field = field
        self._wanted = wanted
        self._newest = -1
        self._is_given = reader is not None
        self._readers: _Readers | None = None
        if reader is not None:
            self._read_as(reader)

    def decode(self, values: pa.Array, guid: str | None) -> BuiltColumns | None:
        """The columns of values; None where there is no schema to make any of."""
        ids: Collection[int] = framed_ids(values) if guid is None else ()
        if not self._is_given:
            self._take_newer(ids, guid)
        readers = self._readers
        if readers is None:
            if values.null_count < len(values):
                raise SerializationError(f"none of these {self._field}s names a schema that the registry has")
            return None
        plans = readers.by_id.of(ids) if guid is None else readers.by_guid.of({guid})[guid]
        return decode_avro(values, readers.by_id.reader.layout, plans)

    def _take_newer(self, ids: Collection[int], guid: str | None) -> None:
        """Reads as the newest of these that there is, from now on. GUIDs have no order: one is taken if there is none
        yet."""
        newer: list[int | str] = [each for each in sorted(ids, reverse=True) if each > self._newest]
        if guid is not None and self._readers is None:
            newer.append(guid)
        for each in newer:
            try:
                self._read_as(self._text_of(each))
            except UnknownSchemaError:
                continue
            self._newest = each if isinstance(each, int) else 0
            return

    def _read_as(self, text: AvroText) -> None:
        """From the next values on; other threads may be reading some."""
        reader = AvroReader(text.parse_framed(), self._field, self._wanted)
        self._readers = _Readers(AvroPlans(self._text_of, reader), AvroPlans(self._text_of, reader))


class _Readers(NamedTuple):
    """What values become, and the plans of those with ids and those with GUIDs."""

    by_id: AvroPlans[int]
    by_guid: AvroPlans[str]
