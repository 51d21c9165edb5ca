"""Files of a broker's log directory, in memory: segments of every format with their indexes, and all that lies beside.

log-folders   a drawn folder: segments that are damaged batches, .index, .timeindex, .txnindex, .snapshot and
              checkpoints from the input; its bounds, offsets by time, transactions, and its records with each policy
log-files     one file of each kind as `kwire dump` prints it
"""

from __future__ import annotations

import contextlib
import io
import struct
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cache

from kwire import errors, records
from kwire._codec import crc32c
from kwire.cli.dumping.beside import rows_beside
from kwire.cli.dumping.kinds import KINDS, OF_RECORDS, DumpFile
from kwire.cli.dumping.segments import Wanted, segment_rows
from kwire.cli.dumping.writing import write
from kwire.log_files.folders import find_logs
from kwire.log_files.partition_log import PartitionLog
from kwire.log_files.reading import OnCorrupt, ReadPolicy, StoppedAtDamage, read_piece
from kwire.log_files.splits import pieces_of
from kwire.log_files.storage import FileInfo
from kwire.log_files.transactions import find_transactions
from tests.fuzz.drawing import Drawing
from tests.fuzz.records import WORDS, right, wants_a_large_window
from tests.fuzz.targets import target

MEMORY = (16 << 20, 64 << 10)
_POLICIES: tuple[OnCorrupt, ...] = ("fail", "skip", "stop")


class MemoryFile:
    """One open file."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def read_at(self, position: int, size: int) -> bytes:
        assert position >= 0
        assert 0 <= size <= 1 << 24
        return self._content[position : position + size]

    def close(self) -> None:
        """Nothing is open."""


class MemoryStorage:
    """Files by path, all in one folder."""

    hop_bytes = 64
    read_bytes = 256

    def __init__(self, files: dict[str, bytes]) -> None:
        self._files = files

    def info(self, path: str) -> FileInfo | None:
        if path in self._files:
            return FileInfo(path, len(self._files[path]), False)
        return FileInfo(path, 0, True) if any(each.startswith(f"{path}/") for each in self._files) else None

    def files(self, folder: str) -> Iterator[FileInfo]:
        return (FileInfo(path, len(content), False) for path, content in self._files.items() if path.startswith(folder))

    def tree(self, folder: str) -> Iterator[FileInfo]:
        return self.files(folder)

    def open(self, path: str) -> AbstractContextManager[MemoryFile]:
        return nullcontext(MemoryFile(self._files[path]))

    def shown(self, path: str) -> str:
        return path


@cache
def _batches() -> list[bytes]:
    made = [records.encode([b"%d" % n, b"x"], base_offset=n * 2, magic=magic) for n, magic in enumerate((2, 1, 0, 2))]
    made += [records.encode([b"c" * 30] * 3, base_offset=20, compression=codec) for codec in ("gzip", "lz4")]
    made += [
        records.encode([(b"\0\0\0\0\0\0", struct.pack(">hh", 0, kind))], base_offset=30 + kind, producer_id=7,
                       producer_epoch=0, base_sequence=0, is_transactional=True, is_control=True) for kind in (0, 1)
    ]  # fmt: skip
    made.append(
        records.encode([b"t"], base_offset=25, producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)
    )
    return [*made, bytes(40)]


def _segment(drawing: Drawing) -> bytes:
    """Batches that are whole, changed or cut, with right checksums or not."""
    content = b""
    for _ in range(drawing.below(6)):
        batch = bytearray(drawing.choice(_batches()))
        if drawing.byte() > 150:
            at = drawing.byte() % len(batch)
            batch[at : at + drawing.below(3)] = drawing.take(drawing.below(5))
        content += bytes(batch) if drawing.flag() else right(bytes(batch))
    return content + drawing.blob()


@target(
    seeds=lambda: [bytes(range(n, n + 100)) for n in range(0, 150, 10)], traced="log_files", max_len=400, budget=MEMORY
)
def log_folders(data: bytes) -> None:
    """a folder of damaged segments and indexes: bounds, times, transactions, records with each policy"""
    drawing = Drawing(data)
    files: dict[str, bytes] = {}
    bases = [0, drawing.byte(), drawing.number(3)][: 1 + drawing.below(3)]
    old = drawing.byte() > 240
    for base in bases:
        name = f"t-0/{base}.kafka" if old else f"t-0/{base:020d}.log"
        content = _segment(drawing)
        if wants_a_large_window(content):
            return
        files[name] = content
        stem = name.rsplit(".", 1)[0]
        for suffix in (".index", ".timeindex", ".txnindex", ".snapshot"):
            if drawing.flag():
                content = drawing.blob() + bytes(drawing.below(3) * 12)
                files[stem + suffix] = _snapshot(content) if suffix == ".snapshot" and drawing.flag() else content
    if drawing.flag():
        files["t-0/leader-epoch-checkpoint"] = drawing.blob()
    storage = MemoryStorage(files)
    with contextlib.suppress(errors.KafkaError):
        for folder in find_logs(storage, ["t-0"]):
            _read_log(storage, PartitionLog([storage], [folder]), drawing)


def _snapshot(content: bytes) -> bytes:
    entries = struct.pack(">i", len(content) // 38) + content
    return struct.pack(">hI", 1, crc32c(entries)) + entries


def _read_log(storage: MemoryStorage, log: PartitionLog, drawing: Drawing) -> None:
    start, end = log.start_offset, log.end_offset
    assert start <= end
    log.size_of(start, end)
    with contextlib.suppress(errors.KafkaError):
        find_transactions(log, start)
    policy = ReadPolicy(drawing.choice(_POLICIES), drawing.flag(), drawing.flag())
    try:
        for number, piece in enumerate(
            pieces_of(log, start, min(end, start + 1000), drawing.choice((1, 100, 1 << 30)))
        ):
            for read, _ in read_piece(storage, piece, policy, lambda error, position: None):
                read.values()
            if number > 50:
                break
    except (errors.CodecError, StoppedAtDamage):
        pass


def _file_seeds() -> Iterator[bytes]:
    for number in range(len(KINDS)):
        yield bytes([number, 0]) + struct.pack(">ii", 5, 100) * 3 + bytes(24)
        yield bytes([number, 1]) + b"0\n2\n0 5\n3 8\n"
        yield bytes([number, 0]) + b"0\n1\ntopic 1 7\n"
        yield bytes([number, 0]) + b"version=1\nbroker.id: 3\n# x\n"
        yield bytes([number, 0]) + b'{"votedId": 3, "leaderEpoch": 1}'
        yield bytes([number, 2]) + _snapshot(struct.pack(">qhiqiqihq", 7, 1, 2, 3, 4, 5, 6, 7, 8)[:38])
        yield bytes([number, 3]) + b"".join(_batches())


@target(seeds=_file_seeds, words=WORDS, traced="cli/dumping", max_len=800, budget=(16 << 20, 128 << 10))
def log_files(data: bytes) -> None:
    """a file of each kind as kwire dump prints it"""
    drawing = Drawing(data)
    kind, how = list(KINDS)[drawing.byte() % len(KINDS)], drawing.byte()
    content = drawing.rest()
    if wants_a_large_window(content):
        return
    content = right(content) if how & 4 else content
    path = f"{how & 1:020d}.log"
    storage = MemoryStorage({path: content})
    topic = ("t", "__consumer_offsets", "__transaction_state", "__cluster_metadata")[how >> 4 & 3]
    file = DumpFile(path, len(content), kind, topic)
    wanted = Wanted(0, with_records=bool(how & 1), secrets=bool(how & 2), check_crc=bool(how & 8))
    with (
        contextlib.suppress(errors.KafkaError),
        contextlib.redirect_stdout(_Output()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        is_of_records = kind in OF_RECORDS
        rows = segment_rows(storage, file, wanted) if is_of_records else rows_beside(storage, file)
        write(file, rows, ("table", "json")[how & 1], with_records=wanted.with_records and is_of_records)


class _Output(io.TextIOWrapper):
    """A standard output with a buffer below it, as commands want it."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", errors="surrogateescape")
