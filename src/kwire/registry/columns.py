"""Records with the fields of their keys or values as columns: what stands around the decoders, which need pyarrow.

A field whose name another column has is called value_<name>, or key_<name>. Values whose ids are in front are decoded
at once, those with GUIDs in a header schema by schema.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from kwire.engine.consumer.records import COLUMNS as RAW
from kwire.errors import SerializationError
from kwire.registry.framing import HEADERS, ID_FRAME_SIZE, header_id

if TYPE_CHECKING:
    import pyarrow as pa

    from kwire._values import BuiltColumns

    Decode = Callable[[pa.Array, str | None], BuiltColumns | None]

NO_FRAME: Final = "it does not begin with a zero and the id of a schema, as framed values do"

OnError = Literal["raise", "null"]
Fault = tuple[int, int, str, str]


def with_fields(batch: pa.RecordBatch, field: str, decode: Decode, errors: OnError) -> pa.RecordBatch:
    """The batch with the fields that `decode` finds in the place of a binary column: of values with their frames, or of
    those of one GUID without. SerializationError for one that cannot be read, unless that is to be null."""
    import pyarrow as pa

    decoded, faults = _decoded(batch, field, decode)
    if faults and errors == "raise":
        raise _refusal(batch, field, faults)
    names: list[str] = []
    arrays: list[pa.Array] = []
    for name, array in zip(batch.schema.names, batch.columns, strict=True):
        if name != field:
            names.append(name)
            arrays.append(array)
        elif decoded is not None:
            names += [_free(each, field, {*RAW, *batch.schema.names}) for each in decoded.schema.names]
            arrays += decoded.columns
    return pa.RecordBatch.from_arrays(arrays, names=names)


def _decoded(batch: pa.RecordBatch, field: str, decode: Decode) -> tuple[pa.RecordBatch | None, list[Fault]]:
    import pyarrow as pa

    values = batch.column(field)
    by_guid = _rows_by_guid(batch, field)
    if not by_guid:
        return _built(decode, values, None)
    parts: list[pa.RecordBatch] = []
    places: list[int] = []
    faults: list[Fault] = []
    for guid, rows in by_guid.items():
        part, wrong = _built(decode, values.take(pa.array(rows, pa.int64())), guid)
        if part is not None:
            parts.append(part)
            places += rows
        faults += [(rows[row], byte, place, reason) for row, byte, place, reason in wrong]
    order = pa.array(sorted(range(len(places)), key=places.__getitem__), pa.int64())
    whole = pa.Table.from_batches(parts).combine_chunks().take(order).to_batches() if parts else []
    return (whole[0] if whole else None), sorted(faults)


def _built(decode: Decode, values: pa.Array, guid: str | None) -> tuple[pa.RecordBatch | None, list[Fault]]:
    import pyarrow as pa

    missing: list[int] = []
    if guid is None and getattr(decode, "takes_bare_values", False):
        values, missing = without_frames(values)
    found = decode(values, guid)
    if found is None:
        return None, []
    return pa.record_batch(found), sorted([*found.faults, *((row, 0, "", NO_FRAME) for row in missing)])


def without_frames(values: pa.Array) -> tuple[pa.Array, list[int]]:
    """The values without the ids in front of them, and the rows of those that have none, which are null."""
    import pyarrow.compute as pc

    framed = pc.and_(pc.starts_with(values, b"\0"), pc.greater_equal(pc.binary_length(values), ID_FRAME_SIZE))
    missing = pc.indices_nonzero(pc.and_(values.is_valid(), pc.invert(framed)))
    return pc.if_else(framed, pc.binary_replace_slice(values, 0, ID_FRAME_SIZE, b""), None), missing.to_pylist()


def _rows_by_guid(batch: pa.RecordBatch, field: str) -> dict[str | None, list[int]]:
    """The rows of each schema that a header names, None for those without such a header; {} where none has one."""
    import pyarrow.compute as pc

    headers = batch.column("headers")
    named = pc.equal(headers.flatten().field("key"), HEADERS[field])
    if not pc.any(named).as_py():
        return {}
    raws = headers.flatten().field("value").filter(named).to_pylist()
    rows = pc.list_parent_indices(headers).filter(named).to_pylist()
    guids = {row: header_id(raw) for row, raw in reversed(list(zip(rows, raws, strict=True)))}
    found: dict[str | None, list[int]] = {}
    for row in range(batch.num_rows):
        found.setdefault(guids.get(row), []).append(row)
    return found


def _free(name: str, field: str, taken: Collection[str]) -> str:
    return f"{field}_{name}" if name in taken and name != field else name


def _refusal(batch: pa.RecordBatch, field: str, faults: Sequence[Fault]) -> SerializationError:
    row, byte, place, reason = faults[0]
    topic, partition, offset = (batch.column(name)[row].as_py() for name in ("topic", "partition", "offset"))
    said = f"{place}: {reason} (byte {byte})" if place else f"{reason} (byte {byte})"
    more = f"; {len(faults) - 1} more of these records" if len(faults) > 1 else ""
    raw: Any = batch.column(field)[row].as_py()
    return SerializationError(
        f"the {field} of {topic}-{partition} at offset {offset} cannot be deserialized: {said}{more}",
        topic=topic,
        partition=partition,
        offset=offset,
        field=field,
        raw=raw,
    )
