"""What a file of a broker's log directory is, by its name and the name of its folder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from kwire.log_files.names import LOG, LOG_0_7, is_left_behind, parse_file_name, partition_of_folder
from kwire.log_files.storage import FileInfo, LocalStorage, Storage

SEGMENT, SEGMENT_0_7, KRAFT_SNAPSHOT = "segment", "0.7 segment", "metadata snapshot"
OFFSET_INDEX, TIME_INDEX, ABORTED = "offset index", "time index", "index of aborted transactions"
PRODUCERS, EPOCHS, CHECKPOINT = "producer snapshot", "leader epochs", "checkpoint"
PROPERTIES, STATE = "properties", "state"

KINDS: Final = (
    SEGMENT, SEGMENT_0_7, KRAFT_SNAPSHOT, OFFSET_INDEX, TIME_INDEX, ABORTED, PRODUCERS, EPOCHS, CHECKPOINT, PROPERTIES,
    STATE,
)  # fmt: skip
OF_RECORDS: Final = (SEGMENT, SEGMENT_0_7, KRAFT_SNAPSHOT)
METADATA_TOPIC: Final = "__cluster_metadata"

_BY_SUFFIX = {
    LOG: SEGMENT,
    LOG_0_7: SEGMENT_0_7,
    ".index": OFFSET_INDEX,
    ".timeindex": TIME_INDEX,
    ".txnindex": ABORTED,
    ".snapshot": PRODUCERS,
}
_BY_NAME = {
    "bootstrap.checkpoint": KRAFT_SNAPSHOT,
    "leader-epoch-checkpoint": EPOCHS,
    "meta.properties": PROPERTIES,
    "partition.metadata": PROPERTIES,
    "quorum-state": STATE,
    ".kafka_cleanshutdown": STATE,
}
_SNAPSHOT = re.compile(r"(\d{20})-\d{10}\.checkpoint")
_IN_BETWEEN = re.compile(r"\.(deleted|swap|cleaned|part)$")


class DumpFile(NamedTuple):
    """A file and what it is; of a segment and of what lies beside it also which partition's and from which offset."""

    path: str
    size: int
    kind: str
    topic: str = ""
    partition: int = -1
    base_offset: int = 0


def files_under(paths: Iterable[str], storage: Storage | None = None) -> Iterator[tuple[str, DumpFile | None]]:
    """Each path with what it is: of a folder the files that are known, at any depth; None for a path of another kind,
    or where nothing is."""
    storage = storage or LocalStorage()
    for path in paths:
        info = storage.info(path)
        if info is None or not info.is_folder:
            yield path, None if info is None else classified(info)
            continue
        for each in sorted(storage.tree(path)):
            found = classified(each)
            if found is not None:
                yield each.path, found


def classified(info: FileInfo, kind: str | None = None) -> DumpFile | None:
    """What the file is: by its name, or else of that kind."""
    folder, _, name = info.path.rpartition("/")
    name = _IN_BETWEEN.sub("", name)
    topic, partition = _partition(folder)
    snapshot = _SNAPSHOT.fullmatch(name)
    if snapshot:
        return DumpFile(info.path, info.size, kind or KRAFT_SNAPSHOT, METADATA_TOPIC, 0, int(snapshot[1]))
    parsed = parse_file_name(name)
    base = 0 if parsed is None else parsed.base_offset
    found = kind or _BY_NAME.get(name) or (None if parsed is None else _BY_SUFFIX.get(parsed.suffix))
    if found is None and name.endswith("-checkpoint"):
        found = CHECKPOINT
    if found is None:
        return None
    return DumpFile(info.path, info.size, found, METADATA_TOPIC if found == KRAFT_SNAPSHOT else topic, partition, base)


def _partition(folder: str) -> tuple[str, int]:
    name = folder.rpartition("/")[2]
    if is_left_behind(name):  # topic-0.<uuid>-delete
        folder = folder[: -len(name)] + name.rpartition(".")[0]
    return partition_of_folder(folder) or ("", -1)
