"""Folders of segments as tests want them, written by the codec."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kwire import records
from kwire.log_files.folders import find_logs
from kwire.log_files.partition_log import PartitionLog
from kwire.log_files.reading import DEFAULT_POLICY, ReadPolicy, StoppedAtDamage, read_piece
from kwire.log_files.splits import pieces_of
from kwire.log_files.storage import LocalStorage

STORAGE = LocalStorage()


def batch(first: int, count: int = 10, **options: Any) -> bytes:
    """Records whose values are their offsets, with timestamps 1000 + offset."""
    items = [(b"%d" % offset, b"k", 1000 + offset) for offset in range(first, first + count)]
    return records.encode(items, base_offset=first, **options)


def write_segment(
    folder: Path, batches: Sequence[bytes], *, base: int = 0, index: bool = True, tail: bytes = b""
) -> Path:
    """A segment with an index entry, as brokers write them, for each batch but the first; padded with zeros."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{base:020d}.log"
    path.write_bytes(b"".join(batches) + tail)
    if index:
        entries, position = b"", 0
        for content in batches:
            last = records.decode(content).batches[-1].last_offset
            if position:
                entries += struct.pack(">ii", last - base, position)
            position += len(content)
        path.with_suffix(".index").write_bytes(entries + bytes(80))
    return path


def open_log(path: Path | str, **found: Any) -> PartitionLog:
    """The one log under a path."""
    (folder,) = find_logs(STORAGE, [str(path)], **found)
    return PartitionLog([STORAGE], [folder])


def read(
    log: PartitionLog,
    start: int | None = None,
    end: int | None = None,
    *,
    target: int = 1 << 40,
    policy: ReadPolicy = DEFAULT_POLICY,
) -> list[records.Record]:
    """The records of the log, piece after piece."""
    found: list[records.Record] = []
    first = log.start_offset if start is None else start
    last = log.end_offset if end is None else end
    try:
        for piece in pieces_of(log, first, last, target):
            for some, _ in read_piece(STORAGE, piece, policy):
                found.extend(some)
    except StoppedAtDamage:
        pass
    return found


def offsets(found: Sequence[records.Record]) -> list[int]:
    return [record.offset for record in found]
