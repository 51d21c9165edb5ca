"""`kwire copy` from cluster to cluster: every record of a topic, with key, value, timestamp and headers, once, in the
partition of the same number.

How far it is stands in the cluster that is copied to, as the offsets of a group without members: that of a partition
is where the source is read next, with the id of the source's topic. It is committed in the transaction of the records,
so a run that was killed anywhere loses and doubles nothing for who reads committed: the next one aborts what was left
open, and goes on. Where the source loses records, or is made anew, while it is followed, the run does as the next one
would.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from kwire import OffsetAndMetadata, TopicPartition
from kwire._inside import offsets_at
from kwire._inside import topic_id as topic_id_of
from kwire.admin import Admin
from kwire.cli.connecting import opened, producing, waiting
from kwire.cli.partition_names import name_of
from kwire.cli.places import ENDS, moment
from kwire.cli.terminal import Progress, progress
from kwire.cli.usage import UsageError
from kwire.consumer import Consumer
from kwire.errors import KafkaError, KafkaTimeoutError, UnknownTopicError
from kwire.errors.broker import OffsetOutOfRangeError, UnsupportedVersionError
from kwire.errors.listing import counted
from kwire.producer import Producer

if TYPE_CHECKING:
    from datetime import datetime

    from kwire.engine.consumer.records import ConsumerRecords

_PREFIX = "kwire.copy "
_BATCH_SIZE = str(1 << 18)
_TRANSACTION_S = 1.0
_TRANSACTION_RECORDS = 500_000
_POLL_S = 0.2


class Place(NamedTuple):
    """A topic, and the brokers that have it."""

    servers: str
    topic: str


def copy_between(options: argparse.Namespace, source: Place, to: Place) -> int:
    """Copies what is there now and not copied yet; with --follow what comes, too, until Ctrl-C."""
    with ExitStack() as stack:
        reading = _reading(options)
        cluster, topic_id = _identity(reading, source)
        consumer = _reader(reading, source, cluster, stack)
        partitions = consumer.partitions_for(source.topic)
        admin = stack.enter_context(opened(Admin, options, to.servers, shared=True, **waiting(options)))
        if source.topic == to.topic and admin.describe_cluster().cluster_id == cluster and source.servers == to.servers:
            raise UsageError(f"--from and --to are one topic, {to.topic!r} of {to.servers}")
        _make_room(admin, to.topic, len(partitions))
        job = _job(cluster, source)
        config = {"batch.size": _BATCH_SIZE}
        settings = {**producing(options), "transactional_id": f"{job} {to.topic}"}
        producer = stack.enter_context(opened(Producer, options, to.servers, config, **settings))
        producer.init_transactions()  # before the progress is read: what an earlier run left open ends here
        ends = consumer.end_offsets(partitions)

        def starts_by_now() -> dict[TopicPartition, int]:
            noted = Noted(job, to.topic, _identity(reading, source)[1])
            return _starts(admin, consumer, noted, consumer.end_offsets(partitions), options.start)

        starts = _starts(admin, consumer, Noted(job, to.topic, topic_id), ends, options.start)
        consumer.assign(partitions, at=starts, until=None if options.follow else ends)
        with producer.transaction():  # before there are records, which without it would be somebody else's
            places = {
                TopicPartition(to.topic, tp.partition): OffsetAndMetadata(offset, topic_id)
                for tp, offset in starts.items()
            }
            producer.send_offsets_to_transaction(places, consumer.group_metadata())
        left = sum(ends[tp] - offset for tp, offset in starts.items())
        with progress(f"{source.topic} to {to.topic}", None if options.follow else left) as told:
            copied = Copied(source.topic, topic_id)
            return _Copy(consumer, copied, producer, to.topic, starts_by_now, told).run(follow=options.follow)


class Noted(NamedTuple):
    """Where it is noted how far a copy is: the offsets of this group in the topic that is copied to. Their metadata is
    the id of the topic that is copied, "" where its brokers have none."""

    group: str
    topic: str
    copied_id: str


class Copied(NamedTuple):
    """The topic that is copied, and its id, "" where its brokers have none."""

    name: str
    id: str


class _Copy:
    """One run, and what it has done."""

    def __init__(
        self,
        consumer: Consumer,
        source: Copied,
        producer: Producer,
        topic: str,
        starts_by_now: Callable[[], Mapping[TopicPartition, int]],
        told: Progress,
    ) -> None:
        self._consumer = consumer
        self._source = source
        self._producer = producer
        self._topic = topic
        self._starts_by_now = starts_by_now
        self._told = told
        self._records = 0
        self._begun = time.monotonic()

    def run(self, *, follow: bool) -> int:
        """Raises KafkaTimeoutError when nothing comes though the end is not reached."""
        try:
            self._run(None if follow else self._consumer.settings.default_api_timeout_ms / 1000)
        except KeyboardInterrupt:
            self._tell("; what is left is copied by the next run")
            raise
        self._tell()
        return 0

    def _run(self, patience: float | None) -> None:
        while patience is None or not self._consumer.done():
            try:
                found = self._consumer.poll(patience)
                if found:
                    self._in_one_transaction(found)
            except OffsetOutOfRangeError:
                self._go_on_where_a_new_run_would()
                continue
            if not found and patience is not None and not self._consumer.done():
                raise KafkaTimeoutError(
                    f"no record of {self._source.name!r} came within {patience:g} s, before its end"
                )

    def _go_on_where_a_new_run_would(self) -> None:
        """KafkaError where another topic has the source's name by now."""
        for tp, offset in self._starts_by_now().items():
            self._consumer.seek(tp, offset)

    def _check_source(self) -> None:
        """Raises KafkaError if the records that are at hand may be another topic's."""
        known = topic_id_of(self._consumer, self._source.name)
        if self._source.id and known and str(known) != self._source.id:
            self._starts_by_now()

    def _in_one_transaction(self, found: ConsumerRecords) -> None:
        """Copies these, and what comes within a moment."""
        until = time.monotonic() + _TRANSACTION_S
        offsets: dict[TopicPartition, OffsetAndMetadata] = {}
        records = 0
        with self._producer.transaction():
            while found:
                self._check_source()
                for tp, some in found.by_partition().items():
                    self._producer.send_many(self._topic, some, partition=tp.partition)
                    offset = OffsetAndMetadata(self._consumer.position(tp), self._source.id)
                    offsets[TopicPartition(self._topic, tp.partition)] = offset
                records += len(found)
                if records >= _TRANSACTION_RECORDS or time.monotonic() > until:
                    break
                found = self._consumer.poll(_POLL_S)
            self._producer.send_offsets_to_transaction(offsets, self._consumer.group_metadata())
        self._records += records
        self._told.advance(records)

    def _tell(self, more: str = "") -> None:
        rate = self._records / max(time.monotonic() - self._begun, 1e-9)
        print(f"{counted(self._records, 'record', spec=',')} to {self._topic}, {rate:,.0f}/s{more}", file=sys.stderr)


def _reading(options: argparse.Namespace) -> argparse.Namespace:
    """The options for clients of the source."""
    if options.from_config is None:
        return options
    return argparse.Namespace(**{**vars(options), "config": options.from_config, "profile": "", "settings": []})


def _identity(reading: argparse.Namespace, source: Place) -> tuple[str, str]:
    """The ids of its cluster and topic, as they are now; the cluster's addresses and "", where brokers have none."""
    with opened(Admin, reading, source.servers, shared=True, **waiting(reading)) as admin:
        cluster = admin.describe_cluster().cluster_id or source.servers
        found = admin.describe_topics([source.topic])[source.topic].topic_id
    return cluster, str(found or "")


def _job(cluster: str, source: Place) -> str:
    return f"{_PREFIX}{cluster}/{source.topic}"


def _reader(reading: argparse.Namespace, source: Place, cluster: str, stack: ExitStack) -> Consumer:
    """A consumer of the source."""
    settings = {
        "group_id": _job(cluster, source),
        "enable_auto_commit": False,
        "auto_offset_reset": "none",
        "allow_auto_create_topics": False,
        "isolation_level": "read_committed",
        **waiting(reading),
    }
    consumer = stack.enter_context(opened(Consumer, reading, source.servers, shared=True, **settings))
    try:
        consumer.end_offsets(consumer.partitions_for(source.topic))
    except UnsupportedVersionError:  # brokers before 0.11, which have no transactions
        settings["isolation_level"] = "read_uncommitted"
        consumer = stack.enter_context(opened(Consumer, reading, source.servers, shared=True, **settings))
    return consumer


def _make_room(admin: Admin, topic: str, partitions: int) -> None:
    """Creates the topic, if it is not there. KafkaError where it has too few partitions."""
    try:
        there = len(admin.describe_topics([topic])[topic].partitions)
    except UnknownTopicError:
        admin.create_topics({topic: partitions})
        return
    if there < partitions:
        raise KafkaError(
            f"{topic!r} has {counted(there, 'partition')} and the source {partitions}: "
            f"'kwire topics alter {topic} --partitions {partitions}' adds the others"
        )


def _starts(
    admin: Admin, consumer: Consumer, noted: Noted, ends: Mapping[TopicPartition, int], start: str | None
) -> dict[TopicPartition, int]:
    """Where the source is read on in each partition."""
    copies = {tp: TopicPartition(noted.topic, tp.partition) for tp in ends}
    progress_of = admin.list_consumer_group_offsets(noted.group, require_stable=True)
    firsts = consumer.beginning_offsets(list(ends))
    known = {tp: progress_of[copy].offset for tp, copy in copies.items() if copy in progress_of}
    new = [tp for tp in ends if tp not in known]
    if start is None:
        _refuse_mixing(admin, [copies[tp] for tp in new])
    for tp, offset in known.items():
        another_id = noted.copied_id and progress_of[copies[tp]].metadata not in ("", noted.copied_id)
        if another_id or offset > ends[tp]:
            raise KafkaError(
                f"{name_of(tp)} is of another topic of that name than the one that was copied, up to {offset}. "
                f"'kwire groups delete {noted.group!r}' and --start earliest have it copied from its beginning, after "
                "the records of the other"
            )
        if offset < firsts[tp]:
            print(f"kwire copy: {name_of(tp)}: {offset} to {firsts[tp] - 1} are gone from the source", file=sys.stderr)
    found = {tp: max(offset, firsts[tp]) for tp, offset in known.items()}
    return {**found, **_first_starts(consumer, new, start or "earliest", firsts, ends)}


def _refuse_mixing(admin: Admin, copies: Iterable[TopicPartition]) -> None:
    """KafkaError for a partition that has records already, of which no run has noted how far it was."""
    ends = admin.list_offsets(dict.fromkeys(copies, "latest"))
    for copy, info in ends.items():
        if info is not None and info.offset > 0:
            raise KafkaError(
                f"{name_of(copy)} has records already, and no note of a copy: --start WHERE adds those of the source "
                "to them, from there on"
            )


def _first_starts(
    consumer: Consumer,
    partitions: Iterable[TopicPartition],
    start: str,
    firsts: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
) -> dict[TopicPartition, int]:
    """What --start means in each of the partitions."""
    where = start_of(start)
    if isinstance(where, str):
        return {tp: (firsts if where == "earliest" else ends)[tp] for tp in partitions}
    return offsets_at(consumer, dict.fromkeys(partitions, where), ends)


def start_of(text: str) -> str | datetime:
    """What --start says: an end, or a time. UsageError for anything else."""
    found = ENDS.get(text.lower()) or moment(text)
    if found is None:
        raise UsageError(
            f"--start {text!r}: earliest, latest, -1h (an hour ago), or a time such as 2024-05-01T12:00:00"
        )
    return found
