"""One partition's log: where it begins and ends, and where in its files an offset or a time is.

A live log grows while it is looked at: all that is said holds for the sizes that its files had when they were listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import zip_longest
from typing import Final

from kwire._codec import scan_records
from kwire.engine.common.numbers import whole_number
from kwire.log_files.folders import LogFolder, Segment
from kwire.log_files.frames import Frame, frames
from kwire.log_files.indexes import OffsetIndex, TimeIndex, parse_checkpoint
from kwire.log_files.overlaps import Stretch, disjoint
from kwire.log_files.storage import LocalStorage, Storage, read_until_zeros, read_whole

# A segment's index counts its offsets in 31 bits.
_MAX_OFFSETS: Final = 1 << 31
_START_OFFSETS: Final = "log-start-offset-checkpoint"
_LEADER_EPOCHS: Final = "leader-epoch-checkpoint"


class PartitionLog:
    """Looks things up in the folders of one partition, of which there are several only where replicas are merged.

    `storages` are those that the segments' `root` counts. Opens files only for as long as a question takes.
    """

    def __init__(self, storages: Sequence[Storage], folders: Sequence[LogFolder]) -> None:
        self._storages = storages
        self.folders = folders
        self.topic = folders[0].topic
        self.partition = folders[0].partition
        self._offset_index = lru_cache(maxsize=4)(self._read_offset_index)

    @property
    def is_local(self) -> bool:
        return all(isinstance(storage, LocalStorage) for storage in self._storages)

    def storage_of(self, segment: Segment) -> Storage:
        return self._storages[segment.root]

    @cached_property
    def stretches(self) -> list[Stretch]:
        """All offsets in order, each once, and the segments that hold them."""
        segments = [segment for folder in self.folders for segment in folder.segments if segment.size]
        segments.sort(key=lambda segment: segment.base_offset)
        if len(self.folders) > 1 or self.folders[0].is_tiered:
            return disjoint(segments, self._end_of, self._all_frames, self._noted_epochs())
        return [
            Stretch(segment, segment.base_offset, self._end_of(segment) if after is None else after.base_offset, True)
            for segment, after in zip_longest(segments, segments[1:])
        ]

    @cached_property
    def chosen(self) -> list[Stretch]:
        """What is read; the rest only tells of transactions."""
        names = {name for folder in self.folders for name in folder.chosen or ()}
        takes_all = any(folder.chosen is None for folder in self.folders)
        return [each for each in self.stretches if takes_all or each.segment.path in names]

    @cached_property
    def start_offset(self) -> int:
        """The first offset that is read: that of the first segment, or what the broker has noted as the log's start."""
        empty = max(segment.base_offset for folder in self.folders for segment in folder.segments)
        first = self.chosen[0].first if self.chosen else empty
        return max([first, *(offset for folder in self.folders for offset in self._noted_starts(folder))])

    @cached_property
    def end_offset(self) -> int:
        """The offset after the last whole batch that is read."""
        return max(self.chosen[-1].end if self.chosen else 0, self.start_offset)

    def size_of(self, start: int, end: int) -> int:
        """About how many bytes these offsets take: whole segments."""
        return sum(each.segment.size for each in self.chosen if each.first < end and each.end > start)

    def position_of(self, segment: Segment, offset: int) -> int:
        """Where the first batch begins that has records from `offset` on, or somewhat before it."""
        if offset <= segment.base_offset:
            return 0
        near = self.offset_index(segment).before(offset)
        for frame in self.frames(segment, near):
            if (frame.base_offset if segment.is_0_7 else frame.last_offset) >= offset:
                return frame.position
        return near  # damage in between is for the reader to judge

    def position_after(self, segment: Segment, offset: int) -> int:
        """Where the batches end that have records before `offset`; the segment's size where that is not known."""
        if offset >= segment.base_offset + _MAX_OFFSETS:
            return segment.size
        for frame in self.frames(segment, self.offset_index(segment).before(offset)):
            if frame.base_offset >= offset and not frame.is_old_set:
                return frame.position
            if frame.last_offset >= offset - 1:
                return frame.end
        return segment.size

    def offset_of_time(self, timestamp: int) -> int | None:
        """The offset of the first record that late (and of `start_offset` on); None without one."""
        for stretch in self.chosen:
            if stretch.end > self.start_offset:
                found = self._time_in(stretch, timestamp)
                if found is not None:
                    return found
        return None

    def frames(self, segment: Segment, start: int = 0, end: int | None = None) -> Iterator[Frame]:
        return frames(self.storage_of(segment), segment, start, end)

    def frames_of(self, stretch: Stretch) -> Iterator[Frame]:
        """The batches with offsets of the stretch."""
        for frame in self.frames(stretch.segment, self.position_of(stretch.segment, stretch.first)):
            if not stretch.to_last_byte and frame.base_offset >= stretch.end:
                return
            if frame.last_offset >= stretch.first:
                yield frame

    def offset_index(self, segment: Segment) -> OffsetIndex:
        """Empty where there is none, or none that can be right."""
        return self._offset_index(segment)

    def _read_offset_index(self, segment: Segment) -> OffsetIndex:
        return OffsetIndex(self._index_content(segment, ".index"), segment.base_offset, segment.size)

    def _index_content(self, segment: Segment, suffix: str) -> bytes:
        found = segment.companions.get(suffix)
        return b"" if found is None else read_until_zeros(self.storage_of(segment), found)

    def _end_of(self, segment: Segment) -> int:
        """By its own batches: the last segment has no follower to tell."""
        for start in (*reversed(self.offset_index(segment).positions), 0):
            end = None
            for frame in self.frames(segment, start):
                end = frame.last_offset + 1
            if end is not None:
                return end
        return segment.base_offset

    def _all_frames(self, segment: Segment) -> Iterator[Frame]:
        return self.frames(segment)

    def _time_in(self, stretch: Stretch, timestamp: int) -> int | None:
        segment = stretch.segment
        times = TimeIndex(self._index_content(segment, ".timeindex"), segment.base_offset)
        is_closed = stretch is not self.stretches[-1]
        if is_closed and times.greatest is not None and times.greatest < timestamp:
            return None
        near = times.before(timestamp)
        start = 0 if near is None else self.offset_index(segment).before(near)
        first = max(self.start_offset, stretch.first)
        for frame in self.frames(segment, start):
            if frame.max_timestamp >= timestamp and frame.last_offset >= first:
                found = self._first_record(segment, frame, timestamp, first)
                if found is not None:
                    return found if found < stretch.end or stretch.to_last_byte else None
        return None

    def _first_record(self, segment: Segment, frame: Frame, timestamp: int, first: int) -> int | None:
        with self.storage_of(segment).open(segment.path) as file:
            content = file.read_at(frame.position, frame.size)
        records, fault = scan_records(content, min_offset=first)
        if fault is not None:
            return max(frame.base_offset, first)  # reading from there says what is wrong
        return next((record.offset for record in records if record.timestamp >= timestamp), None)

    def _noted_starts(self, folder: LogFolder) -> Iterator[int]:
        for line in self._noted(folder, f"{folder.path.rpartition('/')[0] or '.'}/{_START_OFFSETS}"):
            if line[:-1] == [self.topic, str(self.partition)] and (offset := whole_number(line[-1])) is not None:
                yield offset

    def _noted_epochs(self) -> list[tuple[int, int]]:
        """(leader epoch, its first offset) as brokers have noted them."""
        lines = [line for folder in self.folders for line in self._noted(folder, f"{folder.path}/{_LEADER_EPOCHS}")]
        noted = [tuple(map(whole_number, line)) for line in lines if len(line) == 2]
        return [(epoch, offset) for epoch, offset in noted if epoch is not None and offset is not None]

    def _noted(self, folder: LogFolder, path: str) -> Iterator[list[str]]:
        storage = self.storage_of(folder.segments[0])
        found = storage.info(path)
        if found is not None and not found.is_folder:
            yield from parse_checkpoint(read_whole(storage, found))
