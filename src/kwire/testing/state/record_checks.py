"""What a topic's settings say of single records: their time, and that a compacted topic wants keys.

    INVALID_RECORD     without a key, where the topic is compacted (releases before 2.4: CORRUPT_MESSAGE)
    INVALID_TIMESTAMP  too far from the broker's time: message.timestamp.before.max.ms, message.timestamp.after.max.ms,
                       to 3.9 message.timestamp.difference.max.ms. Not where the broker stamps the records, nor of
                       records without a time

A batch is looked at record by record only if its own header does not say that all is well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kwire import records
from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.testing.records.record_sets import Entry
from kwire.testing.settings.topic_settings import TopicSettings


class Fault(NamedTuple):
    """What is wrong with the record `at` that place in its batch."""

    at: int
    code: type[BrokerError]
    text: str


def check_records(entries: Sequence[Entry], settings: TopicSettings, now_ms: int) -> None:
    """Raises BrokerError for the first record that the topic does not take."""
    for fault in find_faults(entries, settings, now_ms):
        raise fault.code(fault.text)


def find_faults(entries: Sequence[Entry], settings: TopicSettings, now_ms: int) -> list[Fault]:
    """Every record that the topic does not take."""
    checks = _Checks(settings, now_ms)
    return [fault for entry in entries if checks.may_fail(entry) for fault in checks.faults_of(entry)]


class _Checks:
    """`earliest` and `latest` are the times (ms) that a record may have; None is no limit."""

    def __init__(self, settings: TopicSettings, now_ms: int) -> None:
        before, after = settings.timestamp_before, settings.timestamp_after
        self._wants_keys = settings.compacts
        self._earliest = None if before is None or settings.append_time else now_ms - before
        self._latest = None if after is None or settings.append_time else now_ms + after

    def may_fail(self, entry: Entry) -> bool:
        """Whether the records have to be looked at."""
        if self._wants_keys or self._earliest is not None:
            return True
        return self._latest is not None and entry.max_timestamp > self._latest

    def faults_of(self, entry: Entry) -> Iterator[Fault]:
        for index, record in enumerate(records.decode(entry.data)):
            if self._wants_keys and record.key is None:
                yield Fault(index, codes.INVALID_RECORD, "a compacted topic takes no record without a key")
            elif not self._is_of_time(record.timestamp):
                text = f"timestamp {record.timestamp} of record {index} is not within {self._earliest}..{self._latest}"
                yield Fault(index, codes.INVALID_TIMESTAMP, text)

    def _is_of_time(self, timestamp: int) -> bool:
        if timestamp < 0:
            return True
        is_late_enough = self._earliest is None or timestamp >= self._earliest
        return is_late_enough and (self._latest is None or timestamp <= self._latest)
