"""What no decoder can leave out, done by the standard library and by the compression libraries, in C and all at once.

Nothing is checked or found here: to it comes kwire's index, which is the checksum and the places of all fields.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from struct import Struct
from typing import NamedTuple

import cramjam
from isal import isal_zlib

from benchmarks.compare.contenders import inputs
from benchmarks.compare.contenders.meters import Case, Cases, run_case
from benchmarks.compare.contenders.task import Task
from benchmarks.compare.rows import BATCH_COUNTS, RECORDS, batch_row
from kwire import compression

_HEADER_BYTES = 61
_MAX_BYTES = 2**22
_BLOCK = 2**16

prepare = inputs.prepare


def codec(task: Task) -> dict[str, float]:
    """One case, in process."""
    return run_case(task, cases())


def cases() -> Cases:
    """Reading."""
    n = RECORDS
    most = max(BATCH_COUNTS)
    return {
        "columns": Case(_copy_each, _columns, n),
        "records-fields": Case(_read_each, _rows, n),
        "values": Case(_split, partial(_Values.of, n), n),
        batch_row(most, "values"): Case(_split, partial(_Values.of, most, keep=0), most),
        **{f"values-{name}": Case(_decompress_and_split, partial(_Compressed.of, name), n) for name in _DECOMPRESS},
    }


class _Values(NamedTuple):
    """All values end to end, what cuts them apart, and some of them: Python gives no memory back that has one."""

    end_to_end: bytes
    unpack: Callable[[bytes], tuple[bytes, ...]]
    kept: tuple[bytes, ...]

    @classmethod
    def of(cls, count: int, *, keep: int = 100) -> _Values:
        values = [value for value, _, _ in inputs.items(count=count)]
        end_to_end, unpack = b"".join(values), Struct("".join(f"{len(value)}s" for value in values)).unpack
        return cls(end_to_end, unpack, unpack(end_to_end)[:: count // keep] if keep else ())


def _split(values: _Values) -> tuple[bytes, ...]:
    """An object for each value."""
    return values.unpack(values.end_to_end)


class _Compressed(NamedTuple):
    """The records of a batch, and how to decompress them into memory that is there."""

    content: bytes
    decompress: Callable[[bytes], object]
    values: _Values

    @classmethod
    def of(cls, codec_name: str) -> _Compressed:
        packed = inputs.batch(compression=codec_name)[_HEADER_BYTES:]
        plain = bytes(compression.decompress(codec_name, packed, _MAX_BYTES))
        return cls(*_DECOMPRESS[codec_name](packed, plain), _Values.of(RECORDS))


def _gzip(packed: bytes, plain: bytes) -> tuple[bytes, Callable[[bytes], object]]:
    return packed, partial(isal_zlib.decompress, wbits=31, bufsize=len(plain))


def _lz4(packed: bytes, plain: bytes) -> tuple[bytes, Callable[[bytes], object]]:
    """Block by block, without the frame around them: Kafka's have 64 KiB each."""
    room = memoryview(bytearray(len(plain)))
    into, pieces = cramjam.lz4.decompress_block_into, [slice(at, at + _BLOCK) for at in range(0, len(plain), _BLOCK)]
    blocks = [(bytes(cramjam.lz4.compress_block(plain[each], store_size=False)), room[each]) for each in pieces]
    return packed, lambda _: [into(block, place, output_len=len(place)) for block, place in blocks]


def _zstd(packed: bytes, plain: bytes) -> tuple[bytes, Callable[[bytes], object]]:
    into, room = cramjam.zstd.decompress_into, bytearray(len(plain))
    return packed, lambda content: into(content, room)


_DECOMPRESS = {"gzip": _gzip, "lz4": _lz4, "zstd": _zstd}


def _decompress_and_split(given: _Compressed) -> tuple[bytes, ...]:
    given.decompress(given.content)
    return _split(given.values)


def _columns() -> list[bytes]:
    """Four columns: eight bytes of each offset and timestamp; keys and values, with four bytes for where each ends."""
    items = inputs.items()
    numbers, ends = bytes(8 * len(items)), bytes(4 * len(items))
    keys, values = (b"".join(item[field] for item in items) for field in (1, 0))
    return [numbers, numbers, ends, keys, ends, values]


def _copy_each(columns: list[bytes]) -> list[bytearray]:
    return [bytearray(column) for column in columns]


def _rows() -> tuple[Struct, bytes]:
    """Offset, timestamp, key and value of each record, one after the other."""
    items = inputs.items()
    row = Struct(f">qq{len(items[0][1])}s{len(items[0][0])}s")
    return row, b"".join(row.pack(offset, when, key, value) for offset, (value, key, when) in enumerate(items))


def _read_each(given: tuple[Struct, bytes]) -> None:
    """Makes the four objects of each record and keeps none."""
    row, rows = given
    for _offset, _timestamp, _key, _value in row.iter_unpack(rows):
        pass
