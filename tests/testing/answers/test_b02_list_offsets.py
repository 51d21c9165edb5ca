"""ListOffsets: ends, times, the list of version 0, and what each version knows of special times."""

from __future__ import annotations

import pytest

from kwire.errors import broker as codes
from kwire.protocol import ListOffsetsRequest
from tests.testing.in_process import InProcess
from tests.testing.wire import batch

Topic = ListOffsetsRequest.ListOffsetsTopic
Partition = Topic.ListOffsetsPartition


@pytest.fixture
def broker() -> InProcess:
    """Offsets 0 to 4 with the times 1000, 1001, 500, 2000, 1000; the first batch deleted in part."""
    made = InProcess("3.9.2")
    made.cluster.create_topic("orders", 2)
    from kwire import records
    from kwire.testing.records.record_sets import entries_of

    log = made.cluster.topics["orders"].partitions[0].log
    for record_set in (batch(b"a", b"b"), records.encode([(b"c", None, 500), (b"d", None, 2000)]), batch(b"e")):
        log.append(entries_of(record_set))
    return made


def asked(timestamp: int, *, partition: int = 0, most: int = 1, topic: str = "orders") -> ListOffsetsRequest:
    wanted = Partition(partition_index=partition, timestamp=timestamp, max_num_offsets=most)
    return ListOffsetsRequest(replica_id=-1, topics=[Topic(name=topic, partitions=[wanted])])


def answer(broker: InProcess, version: int, timestamp: int, *, partition: int = 0) -> tuple[int, int, int]:
    request = asked(timestamp, partition=partition)
    if version:
        request.topics[0].partitions[0].max_num_offsets = Partition().max_num_offsets
    found = broker.ask(request, version).topics[0].partitions[0]
    return found.error_code, found.timestamp, found.offset


@pytest.mark.parametrize("version", range(1, 10))
@pytest.mark.parametrize(
    ("timestamp", "found"),
    [
        (-1, (0, -1, 5)), (-2, (0, -1, 0)), (0, (0, 1000, 0)), (1001, (0, 1001, 1)), (1002, (0, 2000, 3)),
        (2000, (0, 2000, 3)), (2001, (0, -1, -1)),
    ],
)  # fmt: skip
def test_ends_and_times(broker: InProcess, version: int, timestamp: int, found: tuple[int, int, int]) -> None:
    assert answer(broker, version, timestamp) == found


@pytest.mark.parametrize(
    ("timestamp", "since", "found"), [(-3, 7, (0, 2000, 3)), (-4, 8, (0, -1, 0)), (-5, 9, (0, -1, -1))]
)
def test_special_times_are_known_since_a_version(
    broker: InProcess, timestamp: int, since: int, found: tuple[int, int, int]
) -> None:
    assert answer(broker, since, timestamp) == found
    assert answer(broker, since - 1, timestamp) == (codes.UNSUPPORTED_VERSION.code, -1, -1)


def test_the_newest_special_time() -> None:
    broker = InProcess("4.4.0")
    broker.cluster.create_topic("orders", 1)
    assert answer(broker, 11, -6) == (0, -1, -1)
    assert answer(broker, 10, -6)[0] == codes.UNSUPPORTED_VERSION.code
    assert answer(broker, 11, -7)[0] == codes.UNSUPPORTED_VERSION.code


def test_deleted_records_are_not_found(broker: InProcess) -> None:
    broker.cluster.topics["orders"].partitions[0].log.delete_before(1)
    assert answer(broker, 5, -2) == (0, -1, 1)
    assert answer(broker, 5, 0) == (0, 1001, 1)


def test_an_empty_partition(broker: InProcess) -> None:
    assert answer(broker, 9, -3, partition=1) == (0, -1, -1)
    assert answer(broker, 9, 1, partition=1) == (0, -1, -1)
    assert answer(broker, 9, -1, partition=1) == (0, -1, 0)
    assert answer(broker, 9, -1, partition=2)[0] == codes.UNKNOWN_TOPIC_OR_PARTITION.code


@pytest.mark.parametrize(
    ("timestamp", "most", "offsets"), [(-1, 1, [5]), (-1, 5, [5, 0]), (-2, 5, [0]), (1, 5, [0]), (-1, 0, [])]
)
def test_version_0_lists_segment_borders(broker: InProcess, timestamp: int, most: int, offsets: list[int]) -> None:
    found = broker.ask(asked(timestamp, most=most), 0).topics[0].partitions[0]
    assert list(found.old_style_offsets) == offsets


def test_the_leader_epoch_is_answered_and_checked(broker: InProcess) -> None:
    broker.cluster.topics["orders"].partitions[0].leader_epoch = 3
    request = asked(-1)
    assert broker.ask(request, 4).topics[0].partitions[0].leader_epoch == 3
    request.topics[0].partitions[0].current_leader_epoch = 2
    assert broker.ask(request, 4).topics[0].partitions[0].error_code == codes.FENCED_LEADER_EPOCH.code
