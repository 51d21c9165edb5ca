"""Rows of the files that lie beside segments, and of those of a whole log directory."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from kwire.cli.dumping.kinds import (
    ABORTED,
    CHECKPOINT,
    EPOCHS,
    OFFSET_INDEX,
    PRODUCERS,
    PROPERTIES,
    STATE,
    TIME_INDEX,
    DumpFile,
)
from kwire.cli.dumping.segments import Damage
from kwire.errors.listing import counted
from kwire.log_files.indexes import (
    offset_entries,
    parse_aborted,
    parse_checkpoint,
    parse_producers,
    time_entries,
)
from kwire.log_files.storage import FileInfo, Storage, read_until_zeros, read_whole


class Entry(NamedTuple):
    """A row: what it is called, and its values by key."""

    kind: str
    values: dict[str, Any]


Rows = Iterator[Entry | Damage]

_NUMBER = re.compile(r"-?\d{1,19}")


def rows_beside(storage: Storage, file: DumpFile) -> Rows:
    """The rows of a file without records."""
    yield from _READERS[file.kind](storage, file)


def _offset_index(storage: Storage, file: DumpFile) -> Rows:
    content = read_until_zeros(storage, _info(file))
    yield from _ascending(offset_entries(content, file.base_offset), ("offset", "position"), "offset", 8)
    yield from _rest(file, 8)


def _time_index(storage: Storage, file: DumpFile) -> Rows:
    content = read_until_zeros(storage, _info(file))
    yield from _ascending(time_entries(content, file.base_offset), ("timestamp", "offset"), "time", 12)
    yield from _rest(file, 12)


def _ascending(pairs: Iterator[tuple[int, int]], keys: Sequence[str], kind: str, size: int) -> Rows:
    before: tuple[int, int] | None = None
    for number, pair in enumerate(pairs):
        yield Entry(kind, dict(zip(keys, pair, strict=True)))
        if before is not None and (pair[0] <= before[0] or pair[1] < before[1]):
            yield Damage(number * size, f"{keys[0]} {pair[0]} and {keys[1]} {pair[1]} do not follow those before")
        before = pair


def _rest(file: DumpFile, size: int) -> Rows:
    if file.size % size:
        yield Damage(
            file.size - file.size % size, f"{counted(file.size % size, 'byte')} left over: entries have {size}"
        )


def _aborted(storage: Storage, file: DumpFile) -> Rows:
    entries = parse_aborted(read_whole(storage, _info(file)))
    if entries is None:
        yield Damage(0, "entries of another version, or cut off")
    for each in entries or ():
        keys = ("producer_id", "first_offset", "last_offset", "last_stable_offset")
        yield Entry("aborted", dict(zip(keys, each, strict=True)))


def _producers(storage: Storage, file: DumpFile) -> Rows:
    entries = parse_producers(read_whole(storage, _info(file)))
    if entries is None:
        yield Damage(0, "another version, cut off, or its checksum is not that of its content")
    for each in entries or ():
        yield Entry("producer", each._asdict())


def _epochs(storage: Storage, file: DumpFile) -> Rows:
    yield from _checkpoint(storage, file, "epoch", ("epoch", "start_offset"))


def _offsets(storage: Storage, file: DumpFile) -> Rows:
    yield from _checkpoint(storage, file, "checkpoint", ("topic", "partition", "offset"))


def _checkpoint(storage: Storage, file: DumpFile, kind: str, keys: Sequence[str]) -> Rows:
    content = read_whole(storage, _info(file))
    lines = list(parse_checkpoint(content))
    if content and not lines and not content.startswith(b"0\n0"):  # brokers make them empty at first
        yield Damage(0, "no checkpoint of version 0")
    for number, fields in enumerate(lines):
        if len(fields) != len(keys) or not all(map(_NUMBER.fullmatch, fields[keys[0] == "topic" :])):
            yield Damage(0, f"entry {number} is not {' '.join(keys)}: {' '.join(fields)}")
            continue
        yield Entry(kind, {key: text if key == "topic" else int(text) for key, text in zip(keys, fields, strict=True)})


def _properties(storage: Storage, file: DumpFile) -> Rows:
    """`name=value` of meta.properties, `name: value` of partition.metadata."""
    for line in read_whole(storage, _info(file)).decode(errors="replace").splitlines():
        if line.strip() and not line.startswith(("#", "!")):
            name, _, value = line.partition("=" if "=" in line else ":")
            yield Entry("property", {"name": name.strip(), "value": value.strip()})


def _state(storage: Storage, file: DumpFile) -> Rows:
    try:
        content = json.loads(read_whole(storage, _info(file)) or b"{}")
        for name, value in content.items():
            yield Entry("property", {"name": name, "value": value})
    except (ValueError, AttributeError, RecursionError) as error:
        yield Damage(0, f"no JSON object: {error}")


def _info(file: DumpFile) -> FileInfo:
    return FileInfo(file.path, file.size, False)


_READERS: dict[str, Callable[[Storage, DumpFile], Rows]] = {
    OFFSET_INDEX: _offset_index,
    TIME_INDEX: _time_index,
    ABORTED: _aborted,
    PRODUCERS: _producers,
    EPOCHS: _epochs,
    CHECKPOINT: _offsets,
    PROPERTIES: _properties,
    STATE: _state,
}
