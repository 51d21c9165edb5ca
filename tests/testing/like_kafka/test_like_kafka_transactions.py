"""The same transactions on real Kafka and on the embedded broker of the same release: the same answers, the same logs.

Every request that has several versions is asked in each of them. Kafka writes its markers soon after the answer of
EndTxn: here they are waited for. Producer ids are compared by the order in which they were met.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

import pytest

from kwire import protocol, records
from kwire.errors import broker as codes
from kwire.protocol import (
    AddOffsetsToTxnRequest,
    ConsumerGroupHeartbeatRequest,
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    FindCoordinatorRequest,
    ListOffsetsRequest,
    ListTransactionsRequest,
    OffsetFetchRequest,
    TxnOffsetCommitRequest,
    WriteTxnMarkersRequest,
)
from kwire.testing import Broker
from tests.brokers import Cluster
from tests.testing.groups.requests import join, leave, sync
from tests.testing.like_kafka.test_like_kafka import asker, topic_to_make, wait_for_producer_ids, wait_for_topic
from tests.testing.state.transaction_requests import add_request, end_request, init_request, produce_request
from tests.testing.wire import fetch

pytestmark = pytest.mark.needs("transactions")

PRODUCE, FETCH, LIST_OFFSETS, OFFSET_FETCH, INIT, ADD, ADD_OFFSETS, END = 0, 1, 2, 9, 22, 24, 25, 26
MARKERS, TXN_OFFSETS = 27, 28
JOIN = 11
DESCRIBE_PRODUCERS, DESCRIBE, LIST = 61, 65, 66
SETTLED_WITHIN_S = 20
NOW_MS = int(
    time.time() * 1000
)  # of this run; Kafka would begin a new segment with a marker that is much younger than the batches
IN_ANY_ORDER = {"aborted_transactions", "transaction_states", "results_by_partition", "topics", "partitions"}
NOT_READY = {codes.COORDINATOR_LOAD_IN_PROGRESS.code, codes.COORDINATOR_NOT_AVAILABLE.code, codes.NOT_COORDINATOR.code}
ABOUT_TO_END = codes.CONCURRENT_TRANSACTIONS.code, codes.NOT_ENOUGH_REPLICAS.code
FREE = {"throttle_time_ms", "error_message", "transaction_start_time_ms", "last_timestamp", "current_leader",
        "node_endpoints", "diverging_epoch", "preferred_read_replica", "session_id", "topic_id",
        "leader_epoch"}  # fmt: skip
LAST_FOR_CLIENTS = {PRODUCE: 12, ADD: 3, END: 5, FETCH: 12, OFFSET_FETCH: 9, TXN_OFFSETS: 5}


class Side:
    """One of the two brokers: asks it by one connection, and knows its producer ids by the order of meeting them."""

    def __init__(self, servers: str, spans: dict[int, tuple[int, int]], topic: str, number: tuple[int, ...]) -> None:
        host, _, port = servers.rpartition(":")
        self.topic = topic
        self.spans = spans
        self.number = number
        self._socket = socket.create_connection((host, int(port)), 20)
        self._stream = self._socket.makefile("rb")
        self._ids: dict[int, str] = {}
        self.told: list[tuple[str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()
        self._socket.close()

    def versions(self, key: int) -> range:
        """The versions that clients ask."""
        low, high = self.spans.get(key, (0, -1))
        return range(low, min(high, LAST_FOR_CLIENTS.get(key, high)) + 1)

    def ask(self, request: protocol.Request, version: int) -> Any:
        self._socket.sendall(protocol.encode_request(request, version, correlation_id=9, client_id="c"))
        size = self._stream.read(4)
        data = size + self._stream.read(struct.unpack(">i", size)[0])
        return protocol.decode_response(data, request.__api_key__, version)[1]

    def note(self, what: str, request: protocol.Request, version: int) -> Any:
        """Asks, and notes the answer for the comparison."""
        answer = self.ask(request, version)
        self.told.append((f"{what}, version {version}", self._comparable(answer.to_dict())))
        return answer

    def settled(self, what: str, request: protocol.Request, version: int) -> Any:
        """As `note`, but asks again as long as the answer is that a transaction is about to end."""
        until = time.monotonic() + SETTLED_WITHIN_S
        while _has(answer := self.ask(request, version).to_dict(), *ABOUT_TO_END):
            assert time.monotonic() < until, f"{what}: still {answer}"
            time.sleep(0.02)
        self.told.append((f"{what}, version {version}", self._comparable(answer)))
        return answer

    def _comparable(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: self._comparable(item, name) for name, item in value.items() if name not in FREE}
        if isinstance(value, list | tuple):
            found = [self._comparable(item) for item in value]
            return sorted(found, key=repr) if key in IN_ANY_ORDER else found
        if key == "producer_id" and value >= 0:
            return self._ids.setdefault(value, f"producer {len(self._ids)}")
        if key == "timestamp" and value >= NOW_MS:
            return "now"
        if key == "transactional_id" and value:
            return value.removeprefix(self.topic)
        return value.replace(self.topic, "topic") if isinstance(value, str) else value

    # Steps that need no comparison of every answer.

    def new_producer(self, name: str) -> tuple[int, int]:
        version = self.versions(INIT)[-1]
        answer = self.settled(f"init {name}", init_request(self.topic + name), version)
        assert answer["error_code"] == 0, answer
        return answer["producer_id"], answer["producer_epoch"]

    def end_of(self, producer: tuple[int, int], *, commit: bool) -> protocol.Request:
        return end_request(*producer, commit=commit, transactional_id=self.topic + "p")

    def wait_for_markers(self, partition: int = 0) -> None:
        until = time.monotonic() + SETTLED_WITHIN_S
        while True:
            found = self._fetched(partition)
            if found.last_stable_offset == found.high_watermark:
                return
            assert time.monotonic() < until, f"no marker in partition {partition}"
            time.sleep(0.02)

    def _fetched(self, partition: int) -> Any:
        request = fetch(0, topic=self.topic, partitions=[partition], isolation_level=1)
        return self.ask(request, self.versions(FETCH)[-1]).responses[0].partitions[0]

    def note_log(self, partition: int = 0) -> None:
        """The bytes of the log, but for ids, times and checksums."""
        data = self.ask(fetch(0, topic=self.topic, partitions=[partition]), self.versions(FETCH)[-1])
        stored = bytes(data.responses[0].partitions[0].records)
        self.told.append((f"log of partition {partition}", self._comparable_log(stored)))

    def _comparable_log(self, stored: bytes) -> list[tuple[str, str]]:
        found, at = [], 0
        while at < len(stored):
            size = struct.unpack_from(">i", stored, at + 8)[0] + 12
            batch = bytearray(stored[at : at + size])
            producer_id = struct.unpack_from(">q", batch, 43)[0]
            batch[12:16] = batch[17:21] = b"\0" * 4
            batch[27:51] = b"\0" * 24
            found.append((self._ids.get(producer_id, str(producer_id)), batch.hex()))
            at += size
        return found


def _has(value: Any, *wanted: int) -> bool:
    """Whether an answer has one of these error codes anywhere."""
    if isinstance(value, dict):
        return any(
            item in wanted if name.endswith("error_code") else _has(item, *wanted) for name, item in value.items()
        )
    return isinstance(value, list | tuple) and any(_has(item, *wanted) for item in value)


def produce(
    side: Side, name: str, producer: tuple[int, int], sequence: int, *, partition: int = 0, version: int, **fields: Any
) -> None:
    named = {"topic": side.topic, "transactional_id": side.topic + "p", "timestamp": NOW_MS}
    request = produce_request([b"a", b"b"], *producer, sequence, partition, **{**named, **fields})
    side.settled(f"{name}: produce", request, version)


def add(side: Side, what: str, name: str, producer: tuple[int, int], partitions: Sequence[int], version: int) -> None:
    request = add_request(*producer, partitions, side.topic, side.topic + name)
    side.settled(f"{what}: add", request, version)


def end(side: Side, what: str, name: str, producer: tuple[int, int], version: int, *, commit: bool) -> Any:
    request = end_request(*producer, commit=commit, transactional_id=side.topic + name)
    return side.settled(f"{what}: {'commit' if commit else 'abort'}", request, version)


# The stories. Each is told of both sides.


def wrong_ids(side: Side) -> None:
    """Requests that cannot be right, in every version."""
    producer_id, epoch = side.new_producer("wrong")
    for version in side.versions(INIT):
        for what, request in {
            "empty": init_request(""),
            "no time": init_request(side.topic + "x", 0),
            "too much time": init_request(side.topic + "x", 10**9),
        }.items():
            side.note(f"init, {what}", request, version)
        if version >= 3:
            for what, fields in {
                "no epoch": {"producer_id": producer_id},
                "no id": {"producer_epoch": 0},
                "another id": {"producer_id": producer_id + 50, "producer_epoch": epoch},
                "another epoch": {"producer_id": producer_id, "producer_epoch": epoch + 5},
            }.items():
                side.note(f"init, {what}", init_request(side.topic + "wrong", **fields), version)
    for version in side.versions(ADD):
        for what, name, producer in (
            ("unknown", "unknown", (producer_id, epoch)),
            ("another id", "wrong", (producer_id + 50, epoch)),
            ("another epoch", "wrong", (producer_id, epoch + 1)),
        ):
            add(side, what, name, producer, [0], version)
        add(side, "missing", "wrong", (producer_id, epoch), [0, 9], version)
        side.note("add to nothing", add_request(producer_id, epoch, [0], side.topic, ""), version)
    for version in side.versions(ADD_OFFSETS):
        for what, name, producer in (
            ("unknown", "unknown", (producer_id, epoch)),
            ("another id", "wrong", (producer_id + 50, epoch)),
            ("another epoch", "wrong", (producer_id, epoch + 1)),
        ):
            request = AddOffsetsToTxnRequest(
                transactional_id=side.topic + name,
                producer_id=producer[0],
                producer_epoch=producer[1],
                group_id="g",
            )
            side.note(f"add offsets, {what}", request, version)
    for version in side.versions(END):
        for commit in (True, False):
            end(side, "unknown", "unknown", (producer_id, epoch), version, commit=commit)
            end(side, "another id", "wrong", (producer_id + 50, epoch), version, commit=commit)
            end(side, "another epoch", "wrong", (producer_id, epoch + 1), version, commit=commit)
        end(side, "empty", "wrong", (producer_id, epoch), version, commit=True)


def in_v1(side: Side) -> None:
    """Commits and aborts, each in another version, then what comes too late."""
    producer = side.new_producer("p")
    sequence = 0
    produce_version = min(side.versions(PRODUCE)[-1], 11)
    for n in range(4):
        commit = n % 2 == 0
        version = side.versions(ADD)[min(n, len(side.versions(ADD)) - 1)]
        ending = [each for each in side.versions(END) if each < 5]
        add(side, "v1", "p", producer, [0, 1], version)
        produce(side, "v1", producer, sequence, version=produce_version)
        produce(side, "v1 again", producer, sequence, version=produce_version)
        produce(side, "v1 too far", producer, sequence + 9, version=produce_version)
        produce(side, "v1 plain", producer, sequence + 2, version=produce_version, is_transactional=False)
        sequence += 2
        note_reads(side)
        end(side, "v1", "p", producer, ending[min(n, len(ending) - 1)], commit=commit)
        side.wait_for_markers()
        end(side, "v1 again", "p", producer, ending[-1], commit=commit)
        end(side, "v1 otherwise", "p", producer, ending[-1], commit=not commit)
        note_reads(side)
    side.note_log(0)
    side.note_log(1)


def outside(side: Side) -> None:
    """Batches that are in no transaction."""
    producer = side.new_producer("p")
    versions = [each for each in side.versions(PRODUCE) if 3 <= each <= 11]
    for version in versions:
        produce(side, "without id", producer, 0, version=version, transactional_id=None)
    for version in versions:
        produce(side, "not added", producer, 0, version=version, partition=2)
        if side.told[-1][1]["responses"][0]["partition_responses"][0]["error_code"] == 0:
            break
    add(side, "outside", "p", producer, [0], side.versions(ADD)[-1])
    for what in ("outside", "outside again"):  # the second is answered once the markers are written
        end(side, what, "p", producer, min(side.versions(END)[-1], 4), commit=False)
    if side.number < (1,):
        return  # 0.11 does not know a repeated batch after a marker
    for version in versions:
        produce(side, "after the end", producer, 0, version=version)
        if side.told[-1][1]["responses"][0]["partition_responses"][0]["error_code"] == 0:
            break


def fenced(side: Side) -> None:
    """A second producer takes the transactional id, in and outside of a transaction."""
    old = side.new_producer("p")
    produce_version = min(side.versions(PRODUCE)[-1], 11)
    for ongoing in (False, True):
        if ongoing:
            add(side, "old", "p", old, [1], side.versions(ADD)[-1])
            produce(side, "old", old, 0, version=produce_version, partition=1)
            side.note("init over an open one", init_request(side.topic + "p"), side.versions(INIT)[-1])
        new = side.new_producer("p")
        for version in side.versions(ADD):
            add(side, "fenced", "p", old, [0], version)
        for version in side.versions(END):
            end(side, "fenced", "p", old, version, commit=True)
        produce(side, "fenced", old, 2, version=produce_version, partition=1)
        if 4 in side.versions(INIT):
            for version in (3, 4):
                request = init_request(side.topic + "p", producer_id=old[0], producer_epoch=old[1])
                side.note("fenced: init", request, version)
            request = init_request(side.topic + "p", producer_id=new[0], producer_epoch=new[1])
            for what in ("goes on", "goes on again"):
                answer = side.note(what, request, 4)
            new = answer.producer_id, answer.producer_epoch
        old = new
    side.wait_for_markers(1)
    note_reads(side, 1)
    side.note_log(1)


def in_v2(side: Side) -> None:
    """The protocol of KIP-890: partitions are added by writing to them, each end raises the epoch."""
    producer = side.new_producer("p")
    for n in range(3):
        commit = n != 1
        for partition in (0, 1):
            produce(side, "v2", producer, 0, version=12, partition=partition)
        produce(side, "v2 again", producer, 0, version=12)
        produce(side, "v2 next", producer, 2, version=12)
        produce(side, "v2 too far", producer, 9, version=12)
        note_reads(side)
        describe(side, "p")
        answer = end(side, "v2", "p", producer, 5, commit=commit)
        side.wait_for_markers()
        side.wait_for_markers(1)
        end(side, "v2 again", "p", producer, 5, commit=commit)
        end(side, "v2 otherwise", "p", producer, 5, commit=not commit)
        produce(side, "v2 of the epoch before", producer, 4, version=12)
        producer = answer["producer_id"], answer["producer_epoch"]
        produce(side, "v2 not from 0", producer, 3, version=12)
        describe(side, "p")
        end(side, "v2 with nothing in it", "p", producer, 5, commit=True)
        answer = end(side, "v2 with nothing in it", "p", producer, 5, commit=False)
        producer = answer["producer_id"], answer["producer_epoch"]
        note_reads(side)
    side.note_log(0)
    side.note_log(1)


def markers(side: Side) -> None:
    """Markers that come without a coordinator, of other epochs, other coordinators and other protocols."""
    side.new_producer("p")
    producer = producer_id, epoch = side.new_producer("p")
    add(side, "markers", "p", producer, [0], side.versions(ADD)[-1])
    sequence = 0
    for version in side.versions(MARKERS):
        tries = [(-1, 0, 0), (0, 0, 2), (0, 0, 0), (0, 3, 0), (0, 2, 0), (1, 3, 2), (1, 3, 2), (1, 3, 0)]
        for raised, coordinator_epoch, transaction_version in tries:
            if raised == 0 and version == side.versions(MARKERS)[0]:
                produce(side, "markers", producer, sequence, version=min(side.versions(PRODUCE)[-1], 11))
                sequence += 2
            what = f"marker {raised}, {coordinator_epoch}, {transaction_version}"
            for name, index in ((side.topic, 0), (side.topic, 9), ("is-not-there", 0)):
                marker = WriteTxnMarkersRequest.WritableTxnMarker(
                    producer_id=producer_id,
                    producer_epoch=epoch + raised,
                    coordinator_epoch=coordinator_epoch,
                    transaction_version=transaction_version if version >= 2 else 0,
                    topics=[
                        WriteTxnMarkersRequest.WritableTxnMarker.WritableTxnMarkerTopic(
                            name=name, partition_indexes=[index]
                        )
                    ],
                )
                side.note(what, WriteTxnMarkersRequest(markers=[marker]), version)
    note_reads(side)
    side.note_log(0)
    markers_of_open_transactions(side)


def markers_of_open_transactions(side: Side) -> None:
    """As the protocol v2 has them: the epoch must be a newer one."""
    for raised in (0, 1):
        producer = side.new_producer("q")
        add(side, "open", "q", producer, [1], side.versions(ADD)[-1])
        produce(
            side,
            "open",
            producer,
            0,
            partition=1,
            transactional_id=side.topic + "q",
            version=min(side.versions(PRODUCE)[-1], 11),
        )
        marker = WriteTxnMarkersRequest.WritableTxnMarker(
            producer_id=producer[0],
            producer_epoch=producer[1] + raised,
            transaction_version=2 if side.versions(MARKERS)[-1] >= 2 else 0,
            topics=[
                WriteTxnMarkersRequest.WritableTxnMarker.WritableTxnMarkerTopic(name=side.topic, partition_indexes=[1])
            ],
        )
        for _ in range(2):
            side.note(f"open {raised}", WriteTxnMarkersRequest(markers=[marker]), side.versions(MARKERS)[-1])
        note_reads(side, 1)
        side.note("init over an open one", init_request(side.topic + "q"), side.versions(INIT)[-1])


def offsets(side: Side) -> None:
    """Offsets of a group: added, held, read while they are pending, committed and aborted, in every version."""
    group = side.topic + "g"
    producer = side.new_producer("p")
    last_v1 = max(each for each in side.versions(TXN_OFFSETS) if each < 5)
    # Before 3.6 Kafka holds offsets of no transaction for ever.
    for version in side.versions(TXN_OFFSETS) if side.number >= (3, 6) else ():
        hold(side, "outside", producer, group, 1, version)
        if version >= 5:
            side.settled("end of what that began", side.end_of(producer, commit=False), 4)
        hold(side, "another epoch", (producer[0], producer[1] + 1), group, 1, version)
        hold(side, "another id", (producer[0] + 50, producer[1]), group, 1, version)
        hold(side, "no group", producer, "", 1, version)
        if version >= 5:
            side.settled("end of what that began", side.end_of(producer, commit=False), 4)
    for n, version in enumerate(each for each in side.versions(TXN_OFFSETS) if each <= last_v1):
        add_offsets(side, producer, group)
        hold(side, "held", producer, group, 10 + n, version)
        if side.number >= (2,):
            hold(side, "missing", producer, group, 10 + n, version, partition=9)
        if version >= 3 and side.number >= (3, 5):
            hold(side, "a generation", producer, group, 5, version, generation_id=3)
            hold(side, "a member", producer, group, 5, version, member_id="m", generation_id=3)
            hold(side, "an instance", producer, group, 5, version, group_instance_id="i")
            hold(side, "a member without generation", producer, group, 5, version, member_id="m")
        note_offsets(side, group)
        side.settled("end", side.end_of(producer, commit=n % 2 == 0), side.versions(END)[0])
        wait_for_offsets(side, group)
        note_offsets(side, group)


def members(side: Side) -> None:
    """Offsets for groups that have members, by those and by others: who is checked for what, in every version."""
    producer = side.new_producer("p")
    held_by_members(side, producer, side.topic + "g")
    if side.versions(JOIN)[-1] >= 5:
        held_by_members(side, producer, side.topic + "static", instance="i")
    if side.number >= (4,):
        held_by_consumers(side, producer, side.topic + "consumers")


def held_by_members(side: Side, producer: tuple[int, int], group: str, instance: str | None = None) -> None:
    """A classic group before its assignment, with it, and when its only member has left."""
    version = min(side.versions(JOIN)[-1], 5)
    entered = side.ask(join(group, instance=instance), version)
    if entered.error_code == codes.MEMBER_ID_REQUIRED.code:
        entered = side.ask(join(group, entered.member_id), version)
    assert not entered.error_code, entered
    member, generation = entered.member_id, entered.generation_id
    hold_as(side, "before the assignment", producer, group, member, generation, instance)
    synced = side.ask(sync(member, generation, {member: b""}, group=group, instance=instance), min(version, 3))
    assert not synced.error_code, synced
    hold_as(side, "a member", producer, group, member, generation, instance)
    left = side.ask(leave(member, group=group, version=3 if instance else 1), 3 if instance else 1)
    assert not left.error_code, left
    hold_as(side, "after the last one", producer, group, member, generation, instance)


def held_by_consumers(side: Side, producer: tuple[int, int], group: str) -> None:
    """A group of KIP-848 with a member, and when that has left."""
    beat = ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=5000,
        subscribed_topic_names=[side.topic],
        topic_partitions=[],
    )
    entered = side.ask(beat, 1)
    assert not entered.error_code, entered
    hold_as(side, "a consumer", producer, group, "m", entered.member_epoch, None)
    side.ask(ConsumerGroupHeartbeatRequest(group_id=group, member_id="m", member_epoch=-1), 1)
    hold_as(side, "after the last consumer", producer, group, "m", entered.member_epoch, None)


def hold_as(
    side: Side, when: str, producer: tuple[int, int], group: str, member: str, generation: int, instance: str | None
) -> None:
    """Offsets by the member, by nobody, and by everyone who is almost the member."""
    named: dict[str, dict[str, Any]] = {
        "nobody": {},
        "itself": {"member_id": member, "generation_id": generation, "group_instance_id": instance},
        "by its generation": {"generation_id": generation},
        "by its id": {"member_id": member},
        "of a later generation": {"member_id": member, "generation_id": generation + 1},
        "of an earlier generation": {"member_id": member, "generation_id": generation - 1},
        "another": {"member_id": "another", "generation_id": generation},
        "by an instance": {"group_instance_id": "i"},
        "by another instance": {"member_id": member, "generation_id": generation, "group_instance_id": "j"},
        "as its own successor": {"member_id": "another", "generation_id": generation, "group_instance_id": instance},
    }
    for version in side.versions(TXN_OFFSETS):
        if version < 5:
            add_offsets(side, producer, group)
        for who, fields in named.items():
            if version >= 3 or not fields:
                hold(side, f"{when}, {who}", producer, group, 1, version, **fields)
        side.settled("end", side.end_of(producer, commit=False), min(side.versions(END)[-1], 4))
        wait_for_end(side)


def hold(
    side: Side, what: str, producer: tuple[int, int], group: str, offset: int, version: int, *, partition: int = 0,
    **fields: Any,
) -> None:  # fmt: skip
    topic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
    asked = topic.TxnOffsetCommitRequestPartition(
        partition_index=partition, committed_offset=offset, committed_metadata="m"
    )
    request = TxnOffsetCommitRequest(
        transactional_id=side.topic + "p",
        group_id=group,
        producer_id=producer[0],
        producer_epoch=producer[1],
        topics=[topic(name=side.topic, partitions=[asked])],
        **fields,
    )
    side.settled(f"{what}: hold {offset}", request, version)


def add_offsets(side: Side, producer: tuple[int, int], group: str) -> None:
    request = AddOffsetsToTxnRequest(
        transactional_id=side.topic + "p", producer_id=producer[0], producer_epoch=producer[1], group_id=group
    )
    side.settled("add offsets", request, side.versions(ADD_OFFSETS)[-1])


def offset_fetch(side: Side, group: str, version: int, *, stable: bool) -> OffsetFetchRequest:
    if version >= 8:
        asked = OffsetFetchRequest.OffsetFetchRequestGroup
        topic = asked.OffsetFetchRequestTopics(name=side.topic, partition_indexes=[0, 1])
        return OffsetFetchRequest(groups=[asked(group_id=group, topics=[topic])], require_stable=stable)
    topics = [OffsetFetchRequest.OffsetFetchRequestTopic(name=side.topic, partition_indexes=[0, 1])]
    return OffsetFetchRequest(group_id=group, topics=topics, **({"require_stable": stable} if version >= 7 else {}))


def note_offsets(side: Side, group: str) -> None:
    """What readers of the group's offsets are told."""
    for version in [each for each in side.versions(OFFSET_FETCH) if each >= 1]:
        for stable in (False, True) if version >= 7 else (False,):
            side.note(f"offsets, stable {stable}", offset_fetch(side, group, version, stable=stable), version)


def wait_for_offsets(side: Side, group: str) -> None:
    """Kafka's group coordinator learns of the marker a moment after the answer of EndTxn."""
    version = side.versions(OFFSET_FETCH)[-1]
    if version < 7:
        time.sleep(0.5)
        return
    until = time.monotonic() + SETTLED_WITHIN_S
    while _has(
        side.ask(offset_fetch(side, group, version, stable=True), version).to_dict(), codes.UNSTABLE_OFFSET_COMMIT.code
    ):
        assert time.monotonic() < until, "the offsets stay unstable"
        time.sleep(0.02)


def wait_for_end(side: Side) -> None:
    """Until the markers are written: a marker that comes between two offsets ends the check of the second."""
    if DESCRIBE not in side.spans:
        time.sleep(0.5)
        return
    request = DescribeTransactionsRequest(transactional_ids=[side.topic + "p"])
    until = time.monotonic() + SETTLED_WITHIN_S
    while side.ask(request, 0).transaction_states[0].transaction_state != "CompleteAbort":
        assert time.monotonic() < until, "the transaction does not end"
        time.sleep(0.02)


def note_reads(side: Side, partition: int = 0) -> None:
    """What readers are told, in the versions that know transactions or came shortly before."""
    for version in [each for each in side.versions(FETCH) if each >= 4]:
        for isolation in (0, 1):
            for offset in (0, 1):
                request = fetch(offset, topic=side.topic, partitions=[partition], isolation_level=isolation)
                found = side.ask(request, version).responses[0].partitions[0]
                decoded = records.decode(bytes(found.records or b""))
                aborted = _aborted_with_records(found, decoded)
                told = {
                    "error_code": found.error_code,
                    "high_watermark": found.high_watermark,
                    "last_stable_offset": found.last_stable_offset if isolation else None,
                    "aborted_transactions": side._comparable(aborted, "aborted_transactions"),
                    "records": [(each.offset, each.value) for each in decoded],
                }
                side.told.append((f"fetch {offset}, isolation {isolation}, version {version}", told))
    for version in [each for each in side.versions(LIST_OFFSETS) if each >= 1]:
        for isolation in (0, 1) if version >= 2 else (0,):
            for when in (-1, -2, NOW_MS, 10**15):
                wanted = ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition(
                    partition_index=partition, timestamp=when
                )
                topic = ListOffsetsRequest.ListOffsetsTopic(name=side.topic, partitions=[wanted])
                request = ListOffsetsRequest(replica_id=-1, isolation_level=isolation, topics=[topic])
                side.note(f"offsets {'now' if when == NOW_MS else when}, isolation {isolation}", request, version)


def _aborted_with_records(found: Any, decoded: records.Records) -> list[Any]:
    """Up to 2.4 Kafka lists those of which there is only the marker, too."""
    markers = {batch.base_offset for batch in decoded.batches if batch.is_control}
    return [each.to_dict() for each in found.aborted_transactions or () if each.first_offset not in markers]


def describe(side: Side, name: str) -> None:
    if DESCRIBE in side.spans:
        side.note("describe", DescribeTransactionsRequest(transactional_ids=[side.topic + name, "no", ""]), 0)
    for version in side.versions(LIST):
        pattern = {"transactional_id_pattern": side.topic + ".*"} if version >= 2 else {}
        answer = side.ask(ListTransactionsRequest(state_filters=["Ongoing", "Dead", "?"], **pattern), version)
        known = [each.to_dict() for each in answer.transaction_states if each.transactional_id.startswith(side.topic)]
        side.told.append((f"list, version {version}", side._comparable(known, "transaction_states")))
        side.told.append((f"list, version {version}", list(answer.unknown_state_filters)))
    if DESCRIBE_PRODUCERS in side.spans:
        topic = DescribeProducersRequest.TopicRequest(name=side.topic, partition_indexes=[0, 9])
        side.note("producers", DescribeProducersRequest(topics=[topic]), 0)


STORIES = {
    "offsets": offsets,
    "wrong ids": wrong_ids,
    "v1": in_v1,
    "outside": outside,
    "fenced": fenced,
    "markers": markers,
    "v2": in_v2,
    "members": members,
}


def wait_for_leaders(
    ask: Callable[[protocol.Request, int], Any], topic: str, spans: dict[int, tuple[int, int]]
) -> None:
    """A new partition is led a moment after the metadata say so."""
    until = time.monotonic() + SETTLED_WITHIN_S
    request = fetch(0, topic=topic, partitions=[0, 1, 2])
    while any(each.error_code for each in ask(request, min(spans[FETCH][1], 12)).responses[0].partitions):
        assert time.monotonic() < until, f"no leader of {topic}"
        time.sleep(0.05)


def wait_for_group_coordinator(ask: Callable[[protocol.Request, int], Any], group: str) -> None:
    until = time.monotonic() + SETTLED_WITHIN_S
    request = OffsetFetchRequest(group_id=group, topics=[])
    while ask(FindCoordinatorRequest(key=group), 0).error_code or ask(request, 2).error_code in NOT_READY:
        assert time.monotonic() < until, f"no coordinator of {group}"
        time.sleep(0.05)


def wait_for_coordinator(ask: Callable[[protocol.Request, int], Any], transactional_id: str) -> None:
    """A fresh Kafka makes the topic of its transactions when it is first asked for a coordinator."""
    until = time.monotonic() + SETTLED_WITHIN_S
    while True:
        found = ask(FindCoordinatorRequest(key=transactional_id, key_type=1), 1)
        if not found.error_code and ask(init_request(transactional_id), 0).error_code not in NOT_READY:
            return
        assert time.monotonic() < until, f"no coordinator: {found}"
        time.sleep(0.05)


@pytest.mark.parametrize("name", STORIES)
def test_transactions_are_those_of_kafka(name: str, kafka: Cluster, new_topic: Callable[[], str]) -> None:
    release, topic = kafka.release.version, new_topic()
    spans = protocol.versions_of(release)
    if name == "v2" and kafka.release.number < (4,):
        pytest.skip("transaction.version 2 came with 4.0")
    if name == "wrong ids" and kafka.release.version == "1.1.1":
        pytest.skip("1.1.1 gets stuck in CONCURRENT_TRANSACTIONS by an epoch that nobody has")
    with Broker(release=release) as broker:
        told = []
        for servers in (kafka.bootstrap_servers, broker.bootstrap_servers):
            ask = asker(servers)
            wait_for_producer_ids(ask, spans)
            ask(topic_to_make(topic, 3), spans[19][1])
            wait_for_topic(ask, topic, min(spans[3][1], 10))
            wait_for_coordinator(ask, topic + "warm")
            wait_for_leaders(ask, topic, spans)
            wait_for_group_coordinator(ask, topic + "g")
            with Side(servers, spans, topic, kafka.release.number) as side:
                STORIES[name](side)
                told.append(side.told)
    different = [
        f"{what}:\n  Kafka {expected}\n  kwire {found}"
        for (what, expected), (_, found) in zip(*told, strict=True)
        if expected != found
    ]
    assert not different, f"{len(different)} of {len(told[0])} answers differ, first\n" + "\n".join(different[:10])
