"""Offsets by time: ListOffsets at every version, to the leaders of the partitions asked for.

Layer 3, no I/O. A time is milliseconds since the epoch, EARLIEST or LATEST. Version 0 answers with the beginnings of
segments, of which the first is the log's end or beginning; it knows no times of single records, so a time is refused
there (code 35) rather than answered with the beginning of some segment.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, NamedTuple, override
from kwire.engine.calls.calls import Call
from kwire.engine.calls.words import word_in
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.common.notebooks import in_notebooks
from kwire.engine.common.request import patience_ms
from kwire.engine.common.retry import afresh
from kwire.engine.settings.offset_reset import EARLIEST as EARLIEST
from kwire.engine.settings.offset_reset import LATEST as LATEST
from kwire.errors import BrokerError, ConfigError, KafkaError
from kwire.errors.wording import Wording
from kwire.schema.api_keys import LIST_OFFSETS
from kwire.schema.error_codes import UNSUPPORTED_VERSION

if TYPE_CHECKING:
    from kwire.engine.ports import Services

NO_OFFSET = -1
_MAX_TIME = 2**63 - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
READ_COMMITTED = 1

_FIRST_VERSION_WITH_ISOLATION = 2
OffsetPartition = protocol.ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition

_NAMES = {"earliest": EARLIEST, "latest": LATEST}
_ISOLATION_LEVELS = {"read_uncommitted": 0, "read_committed": 1}


@in_notebooks
class OffsetAndTimestamp(NamedTuple):
    """An offset found by time: `timestamp` and `leader_epoch` are -1 where the broker does not tell them."""

    offset: int
    timestamp: int
    leader_epoch: int


@in_notebooks
class OffsetAndMetadata(NamedTuple):
    """An offset to commit, or committed: that of the next record to read. `metadata` is a text of the committer's own;
    `leader_epoch` that of the record before the offset, None where unknown."""

    offset: int
    metadata: str = ""
    leader_epoch: int | None = None


def time_of(when: datetime | int | str) -> int:
    """ "earliest", "latest", a datetime (naive: local time) or ms since the epoch, as ListOffsets wants it.

    A datetime becomes the millisecond that it lies in, as in send(): so what was sent after it is found. One before
    1970 becomes 0; below that are the numbers of EARLIEST and LATEST.
    """
    if (name := word_in(when, _NAMES)) is not None:
        return _NAMES[name]
    if isinstance(when, datetime):
        return max((_in_utc(when) - _EPOCH) // _MILLISECOND, 0)
    if isinstance(when, bool) or not isinstance(when, int) or not 0 <= when <= _MAX_TIME:
        raise ConfigError(f"{when!r} is not a time: expected 'earliest', 'latest', a datetime or milliseconds")
    return when


def _in_utc(when: datetime) -> datetime:
    try:
        return when.astimezone(UTC)
    except (OverflowError, ValueError, OSError):  # of a local time at the end of all years
        raise ConfigError(f"{when!r} is not a time: this system cannot tell what it is in UTC") from None


def isolation_code(level: str) -> int:
    """An isolation level as ListOffsets wants it."""
    name = word_in(level, _ISOLATION_LEVELS)
    if name is None:
        raise ConfigError(
            Wording(
                "{isolation_level}={given!r}: expected one of {levels}",
                given=level,
                levels=", ".join(map(repr, _ISOLATION_LEVELS)),
            )
        )
    return _ISOLATION_LEVELS[name]


def versions_for(isolation: int) -> Sequence[int]:
    """The versions of ListOffsets that can carry the isolation level."""
    versions = protocol.APIS[LIST_OFFSETS].versions
    return range(_FIRST_VERSION_WITH_ISOLATION, versions[-1] + 1) if isolation == READ_COMMITTED else versions


def too_old_for(isolation: int, error: KafkaError) -> KafkaError:
    """The error as the user has to hear it where a broker cannot tell what was committed."""
    if isolation == READ_COMMITTED and isinstance(error, BrokerError) and error.code == UNSUPPORTED_VERSION:
        return errors.broker.error_for(
            error.code,
            Wording("{isolation_level}='read_committed' needs Kafka 0.11 or newer: {why}", why=error.context),
        )
    return error


def list_offsets_request(
    core: Services, times: Mapping[TopicPartition, int], isolation: int, version: int
) -> protocol.ListOffsetsRequest:
    """Asks a leader for the offsets of these times; the BrokerError of code 35 where the version knows no times."""
    made = protocol.ListOffsetsRequest
    topics: dict[str, list[OffsetPartition]] = defaultdict(list)
    for tp, time in times.items():
        if version == 0 and time >= 0:
            raise errors.broker.error_for(
                UNSUPPORTED_VERSION,
                f"the offset of a time in {tp.topic}-{tp.partition}: brokers "
                "before Kafka 0.10.1 cannot look offsets up by time; seek to 'earliest' or an offset",
            )
        row = OffsetPartition(
            partition_index=tp.partition,
            timestamp=time,
            current_leader_epoch=core.cluster.leader_epoch(tp.topic, tp.partition),
        )
        topics[tp.topic].append(row)
    return made(
        replica_id=-1,
        isolation_level=isolation,
        timeout_ms=patience_ms(core.settings.request_timeout_ms / 1000),
        topics=[made.ListOffsetsTopic(name=name, partitions=rows) for name, rows in topics.items()],
    )


def offset_in(
    row: protocol.ListOffsetsResponse.ListOffsetsTopicResponse.ListOffsetsPartitionResponse, version: int
) -> int:
    """The offset that a response row tells; NO_OFFSET where there is none."""
    return (row.old_style_offsets or (NO_OFFSET,))[0] if version == 0 else row.offset


class PartitionsLookup(Call):
    """The partitions of a topic, as a list; an error where there is none, or it may not be used."""

    def __init__(self, core: Services, topic: str, now: float, deadline: float) -> None:
        self._topic = topic
        core.retry_refused(now)
        super().__init__(core, f"the partitions of {topic!r}", deadline)
        core.cluster.listeners.append(self.ask_again)
        core.cluster.track([topic], now, owner=self, may_create=False)
        self.ask_again(now)

    @override
    def ask_again(self, now: float) -> None:
        """Looks at what the metadata says by now."""
        cluster = self.core.cluster
        info = cluster.topic(self._topic)
        error = cluster.definite_error(self._topic, 0, newer_than=cluster.generation)
        if error is not None:
            self.fail(error, now)
        elif info is not None and info.partitions:
            self.succeed([TopicPartition(self._topic, partition) for partition in sorted(info.partitions)], now)
        elif (refusal := self.core.refusal) is not None:
            self.fail(afresh(refusal), now)

    @override
    def timed_out(self) -> KafkaError:
        return self.core.cluster.unknown_topic(self._topic) or super().timed_out()

    @override
    def under_way(self) -> str:
        return self.core.cluster.how_far

    @override
    def on_end(self) -> None:
        if self.ask_again in self.core.cluster.listeners:
            self.core.cluster.listeners.remove(self.ask_again)
        self.core.cluster.untrack([self._topic], owner=self)
