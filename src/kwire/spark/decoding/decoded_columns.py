"""Batches of raw columns to batches of decoded ones: the half of decoding that runs in workers.

Joins what the decoders return with the raw columns, and does with bad records what the mode says. A decoder that
raises, and a result of another schema, end the task with a DecodeError that names the records.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from kwire.errors.listing import counted
from kwire.spark.decoding.arrow_types import arrow_schema
from kwire.spark.decoding.contract import CORRUPT, ColumnDecoder, DecodeError, Fault, PlaceOf


class DecodedColumns:
    """The function that `Decoding.open` returns."""

    def __init__(self, decoders: Sequence[ColumnDecoder], columns: Sequence[str]) -> None:
        self._columns = tuple(columns)
        self._decoders = [_Opened(each, columns) for each in decoders if each.is_needed(columns)]

    def __call__(self, raw: pa.RecordBatch, where: PlaceOf) -> pa.RecordBatch:
        made: dict[str, pa.Array] = {}
        dropped: set[int] = set()
        for each in self._decoders:
            columns, bad_rows = each.decode(raw, where)
            made |= columns
            dropped.update(bad_rows)
        arrays = [made[name] if name in made else raw.column(name) for name in self._columns]
        batch = pa.RecordBatch.from_arrays(arrays, names=list(self._columns))
        return batch.take(_rows_without(dropped, batch.num_rows)) if dropped else batch


class _Opened:
    """One decoder in a task."""

    def __init__(self, decoder: ColumnDecoder, columns: Sequence[str]) -> None:
        chosen = decoder.chosen_fields(columns)
        schema = decoder.format.schema
        self._decoder = decoder
        self._names = [decoder.prefix + name for name in chosen]
        self._types = [each.type for each in arrow_schema(schema) if each.name in chosen]
        self._inputs = list(decoder.format.inputs)
        self._decode = decoder.format.open(chosen)

    def decode(self, raw: pa.RecordBatch, where: PlaceOf) -> tuple[dict[str, pa.Array], Sequence[int]]:
        """The result columns, and the rows to drop."""
        try:
            arrays, faults = self._decode(raw.select(self._inputs))
        except Exception as error:
            raise self._failure(raw, where, f"{type(error).__name__}: {error}") from error
        self._check(arrays, raw, where)
        made = dict(zip(self._names, arrays, strict=True))
        if faults and self._decoder.mode == "fail":
            raise self._refusal(faults, where)
        if self._decoder.mode == "column":
            made[CORRUPT[self._decoder.column]] = _bytes_at(raw.column(self._decoder.column), faults)
        return made, [fault.row for fault in faults] if self._decoder.mode == "drop" else ()

    def _check(self, arrays: Sequence[pa.Array], raw: pa.RecordBatch, where: PlaceOf) -> None:
        if len(arrays) != len(self._types):
            raise self._failure(raw, where, f"expected {counted(len(self._types), 'column')}, got {len(arrays)}")
        for name, expected, array in zip(self._names, self._types, arrays, strict=True):
            if array.type != expected:
                raise self._failure(raw, where, f"column {name}: expected {expected}, got {array.type}")
            if len(array) != raw.num_rows:
                raise self._failure(
                    raw, where, f"column {name}: expected {counted(raw.num_rows, 'row')}, got {len(array)}"
                )

    def _failure(self, raw: pa.RecordBatch, where: PlaceOf, reason: str) -> DecodeError:
        first, last = where(0), where(raw.num_rows - 1)
        if first[:2] == last[:2]:
            places = f"{first.topic}-{first.partition}, offsets {first.offset} to {last.offset}"
        else:
            places = f"{first} to {last}"
        decoder = self._decoder
        return DecodeError(f"{decoder.option}={decoder.format.name} failed on {places}: {reason}", first, reason)

    def _refusal(self, faults: Sequence[Fault], where: PlaceOf) -> DecodeError:
        place, reason = where(faults[0].row), faults[0].reason
        more = f"; {len(faults) - 1} more in the same batch" if len(faults) > 1 else ""
        decoder = self._decoder
        return DecodeError(
            f"{decoder.column} of {place} cannot be decoded as {decoder.format.name}: {reason}{more} "
            f"({decoder.option}.mode=null, drop or column reads on)",
            place,
            reason,
        )


def _bytes_at(raw: pa.Array, faults: Sequence[Fault]) -> pa.Array:
    """The raw bytes in the rows at fault, null elsewhere."""
    if not faults:
        return pa.nulls(len(raw), raw.type)
    bad_rows = {fault.row for fault in faults}
    return raw.take(pa.array([row if row in bad_rows else None for row in range(len(raw))], pa.int64()))


def _rows_without(dropped: set[int], rows: int) -> pa.Array:
    return pa.array([row for row in range(rows) if row not in dropped], pa.int64())
