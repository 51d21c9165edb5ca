"""The records of a piece: range after range of its file, decoded batch by batch, and what happens at damage.

    fail   raises the CodecError, with file, byte, topic, partition and offset
    skip   goes on at the next batch that is whole: after the damaged one, or the first that can be found
    stop   ends the partition there, as a broker's recovery does

Zeros up to the end are room that was allocated ahead. A cut in a log's last segment is where its broker was writing.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from typing import Final, Literal, NamedTuple

from kwire._codec import Records, scan_generation, scan_records
from kwire._typing import TYPE_CHECKING
from kwire.compression import DEFAULT_MAX_DECOMPRESSED_BYTES
from kwire.errors import CodecError, CorruptError, LimitError, TruncatedError
from kwire.log_files.frames import MIN_FRAME
from kwire.log_files.splits import Piece
from kwire.log_files.storage import OpenFile, Storage

if TYPE_CHECKING:
    from typing_extensions import Buffer as BytesLike

_log = logging.getLogger("kwire.log_files")

OnCorrupt = Literal["fail", "skip", "stop"]
OnDamage = Callable[[CodecError, int], None]

# How much is looked at for zeros, or for the next batch after damage.
_SEARCH_BYTES: Final = 1 << 20
# Decompressed content and index of one read; a batch that needs more is decoded by itself.
_TOTAL_BYTES: Final = 64 << 20
_HEAD_BYTES: Final = 64
_CANDIDATE: Final = re.compile(
    rb"(?s)(?=[\x00-\x7f].{7}[\x00-\x07].{7}(?:\x02.{4}\x00[\x00-\x7f]|[\x00\x01][\x00-\x0f]))"
)
_CANDIDATE_0_7: Final = re.compile(rb"(?s)(?=[\x00-\x07].{3}[\x00\x01])")


class ReadPolicy(NamedTuple):
    """How records are read and what happens where that cannot be done."""

    on_corrupt: OnCorrupt = "fail"
    check_crc: bool = True
    include_control: bool = False


DEFAULT_POLICY: Final = ReadPolicy()


class StoppedAtDamage(Exception):  # noqa: N818 - no error: the end of what a partition has
    """With `stop`: nothing after this belongs to the partition."""


def read_piece(
    storage: Storage, piece: Piece, policy: ReadPolicy, on_damage: OnDamage | None = None
) -> Iterator[tuple[Records, int]]:
    """The records, a range of the file at a time, each with the file's position that its batches count from.

    `on_damage(error, position)` is told of damage that is passed over, in place of the log.
    """
    with storage.open(piece.path) as file:
        yield from _PieceReader(storage, file, piece, policy, on_damage).read()


class _Fault(NamedTuple):
    error: CodecError
    size: int = 0  # of the damaged batch, as it says; 0 where that cannot be believed
    offset: int | None = None


class _PieceReader:
    def __init__(
        self, storage: Storage, file: OpenFile, piece: Piece, policy: ReadPolicy, on_damage: OnDamage | None
    ) -> None:
        self._on_damage = on_damage
        self._file = file
        self._piece = piece
        self._policy = policy
        self._position = piece.start
        self._read_bytes = storage.read_bytes
        self._shown = storage.shown(piece.path)

    def read(self) -> Iterator[tuple[Records, int]]:
        wanted = self._read_bytes
        goes_on = True
        while goes_on and self._position < self._piece.end:
            data = self._read_at(self._position, min(wanted, self._piece.end - self._position))
            records, fault = self._decode(data)
            if records.consumed:
                yield records, self._position
                self._position += records.consumed
            wanted = max(records.needed, self._read_bytes)
            if fault is not None:
                goes_on = self._pass(fault)
            elif records.needed > self._piece.end - self._position:
                goes_on = self._pass(_Fault(self._cut(records.needed)))

    def _read_at(self, position: int, size: int) -> BytesLike:
        data = self._file.read_at(position, size)
        if memoryview(data).nbytes < size:
            raise TruncatedError(f"{self._shown}: the file has become shorter than {position + size} bytes")
        return data

    def _decode(self, data: BytesLike) -> tuple[Records, _Fault | None]:
        records, fault = self._scan(data, _TOTAL_BYTES)
        if fault is not None and isinstance(fault.error, LimitError):
            if records.consumed:
                return records, None
            records, fault = self._scan(data, None)
        return records, fault

    def _scan(self, data: BytesLike, total: int | None) -> tuple[Records, _Fault | None]:
        if self._piece.is_0_7:
            return self._scan_0_7(data, total)
        records, fault = scan_records(
            data,
            check_crc=self._policy.check_crc,
            max_decompressed_bytes=DEFAULT_MAX_DECOMPRESSED_BYTES if total is None else total,
            max_total_bytes=total,
            min_offset=self._piece.first_offset,
            end_offset=self._piece.end_offset,
            skip_control=not self._policy.include_control,
            aborted=self._aborted_in(data),
        )
        if fault is None:
            return records, None
        return records, _Fault(self._placed(fault.error, self._position), fault.size, fault.base_offset)

    def _scan_0_7(self, data: BytesLike, total: int | None) -> tuple[Records, _Fault | None]:
        origin = self._piece.base_offset + self._position
        limit = DEFAULT_MAX_DECOMPRESSED_BYTES if total is None else total
        records, error = scan_generation("0.7", data, self._policy.check_crc, limit, origin, total)
        if error is None:
            return records, None
        at = records.consumed
        size = 4 + int.from_bytes(memoryview(data)[at : at + 4], "big", signed=True)
        return records, _Fault(self._placed(error, self._position), max(size, 0), origin + at)

    def _aborted_in(self, data: BytesLike) -> list[tuple[int, int]]:
        """The transactions whose markers are still to come: one that has ended must not drop the next one's records."""
        if not self._piece.aborted:
            return []
        first = int.from_bytes(memoryview(data)[:8], "big")
        return [(each.producer_id, each.first) for each in self._piece.aborted if each.last >= first]

    def _placed(self, error: CodecError, counted_from: int) -> CodecError:
        """The error, its place counted from the file's begin."""
        place = None if error.offset is None else counted_from + error.offset
        return type(error)(error.message, error.field, place)

    def _cut(self, needed: int) -> CodecError:
        end = self._piece.end
        if end < self._piece.size:
            text = f"a batch of {needed} bytes begins here, but the next one at byte {end}, says the .index"
            return CorruptError(text, None, self._position)
        text = f"the segment ends within a batch of {needed} bytes, of which {end - self._position} are left"
        return TruncatedError(text, None, self._position)

    def _pass(self, fault: _Fault) -> bool:
        """Goes to where reading goes on; False where it does not."""
        piece, policy = self._piece, self._policy
        if isinstance(fault.error, LimitError):
            raise self._named(fault)
        if self._only_zeros_follow():
            return False
        found = self._next_batch(fault)
        is_cut = fault.offset is None or piece.end - self._position < MIN_FRAME
        if is_cut and found is None and piece.may_be_cut and piece.end == piece.size:
            _log.info("%s", self._named(fault))
            return False
        if policy.on_corrupt == "fail":
            raise self._named(fault)
        if self._on_damage is None:
            _log.warning("%s (onCorrupt=%s)", self._named(fault), policy.on_corrupt)
        else:
            self._on_damage(fault.error, self._position)
        if policy.on_corrupt == "stop":
            raise StoppedAtDamage
        self._position = piece.end if found is None else found
        return found is not None

    def _named(self, fault: _Fault) -> CodecError:
        offset = "" if fault.offset is None else f", offset {fault.offset}"
        place = f"{self._shown} at byte {self._position}: {self._piece.topic}-{self._piece.partition}{offset}"
        return type(fault.error)(f"{place}: {fault.error.message}", fault.error.field, fault.error.offset)

    def _only_zeros_follow(self) -> bool:
        for position in range(self._position, self._piece.end, _SEARCH_BYTES):
            content = bytes(self._read_at(position, min(_SEARCH_BYTES, self._piece.end - position)))
            if content.count(0) < len(content):
                return False
        return True

    def _next_batch(self, fault: _Fault) -> int | None:
        """Where the next batch begins: after the damaged one if its length can be right, else the first whole one."""
        after = self._position + fault.size
        if fault.size and (after == self._piece.end or self._follows(after, fault.offset)):
            return after
        position = self._position + 1
        while position < self._piece.end:
            window = bytes(self._read_at(position, min(_SEARCH_BYTES + _HEAD_BYTES, self._piece.end - position)))
            for found in self._candidate.finditer(window, 0, len(window)):
                if found.start() < _SEARCH_BYTES and self._is_whole(position + found.start()):
                    return position + found.start()
            position += _SEARCH_BYTES
        return None

    @property
    def _candidate(self) -> re.Pattern[bytes]:
        return _CANDIDATE_0_7 if self._piece.is_0_7 else _CANDIDATE

    def _follows(self, position: int, offset: int | None) -> bool:
        """Whether a batch begins there whose offset can come after `offset`."""
        if position >= self._piece.end:
            return False
        head = bytes(self._read_at(position, min(_HEAD_BYTES, self._piece.end - position)))
        if self._candidate.match(head) is None:
            return False
        return self._piece.is_0_7 or offset is None or 0 < int.from_bytes(head[:8], "big") - offset < 1 << 31

    def _is_whole(self, position: int) -> bool:
        head = bytes(self._read_at(position, min(12, self._piece.end - position)))
        at = 0 if self._piece.is_0_7 else 8
        size = at + 4 + int.from_bytes(head[at : at + 4], "big", signed=True)
        if size <= at + 4 or position + size > self._piece.end:
            return False
        data = self._read_at(position, size)
        if self._piece.is_0_7:
            records, error = scan_generation("0.7", data, True, DEFAULT_MAX_DECOMPRESSED_BYTES, 0)
            return error is None and records.consumed == size
        records, fault = scan_records(data)
        return fault is None and records.consumed == size
