"""Transactions on the embedded broker: each edge of the state table, fencing, markers, time-outs, expiry."""

from __future__ import annotations

from typing import Any

import pytest

from kwire import records
from kwire.errors import broker as codes
from kwire.protocol import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    ListOffsetsRequest,
    ListTransactionsRequest,
    WriteTxnMarkersRequest,
)
from kwire.testing import Broker
from kwire.testing.records.control_batches import end_marker
from kwire.testing.settings.properties import BrokerProperties
from kwire.testing.state.coordinators import TRANSACTION
from kwire.testing.state.transactions import State
from tests.expressions import UNREADABLE
from tests.testing.in_process import WALL_CLOCK_MS, InProcess
from tests.testing.state.transaction_requests import (
    V1,
    V2,
    TransactionalProducer,
    add_request,
    broker_of,
    describe,
    end_request,
    init_request,
    produce_request,
)
from tests.testing.wire import fetch, values

LAST_EPOCH = 2**15 - 1


def state_of(broker: InProcess) -> str:
    state: str = describe(broker).transaction_state
    return state


def read(broker: InProcess, offset: int = 0, *, committed: bool = True, partition: int = 0) -> Any:
    topic_id = broker.cluster.topics["orders"].topic_id
    request = fetch(offset, partitions=[partition], topic_id=topic_id, isolation_level=int(committed))
    return broker.ask(request, 13).responses[0].partitions[0]


def committed_values(broker: InProcess, partition: int = 0) -> list[bytes | None]:
    """What a reader of committed records makes of the answer."""
    answer = read(broker, partition=partition)
    skipped = sorted((each.first_offset, each.producer_id) for each in answer.aborted_transactions)
    found: list[bytes | None] = []
    decoded = records.decode(answer.records)
    aborted: set[int] = set()
    for batch in decoded.batches:
        while skipped and skipped[0][0] <= batch.base_offset:
            aborted.add(skipped.pop(0)[1])
        if batch.is_control:
            aborted.discard(batch.producer_id)
        elif not (batch.is_transactional and batch.producer_id in aborted):
            found += [record.value for record in decoded if batch.base_offset <= record.offset <= batch.last_offset]
    return found


# Commit and abort.


@pytest.mark.parametrize("v2", [False, True])
def test_a_committed_transaction_is_read_and_an_aborted_one_is_not(v2: bool) -> None:
    broker = broker_of(features=V2 if v2 else V1)
    producer = TransactionalProducer(broker, v2=v2)
    producer.write(b"a", b"b")
    assert read(broker).records == b""
    assert values(read(broker, committed=False).records) == [b"a", b"b"]
    producer.commit()
    assert committed_values(broker) == [b"a", b"b"]
    producer.write(b"c")
    producer.abort()
    producer.write(b"d")
    producer.commit()
    assert committed_values(broker) == [b"a", b"b", b"d"]
    answer = read(broker)
    assert [(each.producer_id, each.first_offset) for each in answer.aborted_transactions] == [
        (producer.producer_id, 3)
    ]
    assert read(broker, committed=False).aborted_transactions is None


def test_the_last_stable_offset_is_the_start_of_the_oldest_open_transaction() -> None:
    broker = broker_of()
    one, other = TransactionalProducer(broker, "one"), TransactionalProducer(broker, "other")
    one.write(b"a")
    other.write(b"b")
    other.commit()
    assert read(broker).last_stable_offset == 0
    one.commit()
    assert read(broker).last_stable_offset == 4
    assert committed_values(broker) == [b"a", b"b"]


def test_a_waiting_reader_of_committed_records_is_woken_by_the_marker() -> None:
    broker = broker_of()
    producer = TransactionalProducer(broker)
    producer.write(b"a")
    topic_id = broker.cluster.topics["orders"].topic_id
    waiting = broker.begin(fetch(0, topic_id=topic_id, isolation_level=1, max_wait_ms=5000), 13)
    assert not waiting.wake()
    producer.commit()
    assert waiting.wake()
    assert values(waiting.response.responses[0].partitions[0].records)[:1] == [b"a"]


@pytest.mark.parametrize(("when", "expected"), [(-1, 1), (-2, 0), (1000, 0), (1001, -1)])
def test_offsets_are_listed_up_to_the_last_stable_one(when: int, expected: int) -> None:
    broker = broker_of()
    broker.cluster.topics["orders"].partitions[0].log.append([])
    broker.ask(produce_request([b"plain"], -1, -1, -1, is_transactional=False, transactional_id=None), 11)
    TransactionalProducer(broker).write(b"a")
    wanted = ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition(partition_index=0, timestamp=when)
    topic = ListOffsetsRequest.ListOffsetsTopic(name="orders", partitions=[wanted])
    committed = broker.ask(ListOffsetsRequest(replica_id=-1, isolation_level=1, topics=[topic]), 7)
    assert committed.topics[0].partitions[0].offset == expected
    if when == -1:
        every = broker.ask(ListOffsetsRequest(replica_id=-1, topics=[topic]), 7)
        assert every.topics[0].partitions[0].offset == 2


def test_a_marker_is_a_control_batch_of_the_producer() -> None:
    broker = broker_of()
    producer = TransactionalProducer(broker)
    producer.write(b"a")
    producer.commit()
    decoded = records.decode(read(broker, 1).records)
    [batch] = decoded.batches
    assert (batch.is_control, batch.is_transactional, batch.base_sequence) == (True, True, -1)
    assert (batch.producer_id, batch.producer_epoch) == (producer.producer_id, producer.epoch)
    assert (decoded[0].key, decoded[0].value) == (b"\0\0\0\1", b"\0\0\0\0\0\0")
    assert decoded[0].timestamp == WALL_CLOCK_MS


# The states.


@pytest.mark.parametrize("v2", [False, True])
def test_a_transaction_goes_through_its_states(v2: bool) -> None:
    broker = broker_of(features=V2 if v2 else V1)
    producer = TransactionalProducer(broker, v2=v2)
    seen = [state_of(broker)]
    for commit in (True, False):
        producer.write(b"a")
        seen.append(state_of(broker))
        assert producer.end(commit=commit) == 0
        seen.append(state_of(broker))
    broker.ask(init_request(), 4)
    seen.append(state_of(broker))
    assert seen == ["Empty", "Ongoing", "CompleteCommit", "Ongoing", "CompleteAbort", "Empty"]


V1_ENDS = [
    (State.EMPTY, True, codes.INVALID_TXN_STATE.code),
    (State.EMPTY, False, codes.INVALID_TXN_STATE.code),
    (State.COMPLETE_COMMIT, True, 0),
    (State.COMPLETE_COMMIT, False, codes.INVALID_TXN_STATE.code),
    (State.COMPLETE_ABORT, True, codes.INVALID_TXN_STATE.code),
    (State.COMPLETE_ABORT, False, 0),
    (State.PREPARE_COMMIT, True, codes.CONCURRENT_TRANSACTIONS.code),
    (State.PREPARE_COMMIT, False, codes.INVALID_TXN_STATE.code),
    (State.PREPARE_ABORT, True, codes.INVALID_TXN_STATE.code),
    (State.PREPARE_ABORT, False, codes.CONCURRENT_TRANSACTIONS.code),
]


@pytest.mark.parametrize(("state", "commit", "code"), V1_ENDS)
def test_ends_outside_of_a_transaction_in_v1(state: State, commit: bool, code: int) -> None:
    broker = broker_of()
    producer = TransactionalProducer(broker)
    broker.cluster.transactions.find("mine").state = state  # type: ignore[union-attr]
    assert producer.end(commit=commit) == code


FENCED, REFUSED, AGAIN = (
    codes.PRODUCER_FENCED.code, codes.INVALID_TXN_STATE.code, codes.CONCURRENT_TRANSACTIONS.code
)  # fmt: skip
V2_ENDS = [  # state, commit, with the epoch before the present one, code, whether the epoch is raised
    (State.EMPTY, False, False, 0, True),
    (State.EMPTY, True, False, REFUSED, False),
    (State.EMPTY, False, True, FENCED, False),
    (State.COMPLETE_ABORT, False, False, 0, True),
    (State.COMPLETE_ABORT, True, False, REFUSED, False),
    (State.COMPLETE_ABORT, False, True, 0, False),
    (State.COMPLETE_ABORT, True, True, REFUSED, False),
    (State.COMPLETE_COMMIT, False, False, 0, True),
    (State.COMPLETE_COMMIT, True, False, REFUSED, False),
    (State.COMPLETE_COMMIT, False, True, REFUSED, False),
    (State.COMPLETE_COMMIT, True, True, 0, False),
    (State.PREPARE_COMMIT, True, True, AGAIN, False),
    (State.PREPARE_COMMIT, True, False, FENCED, False),
    (State.PREPARE_ABORT, False, True, AGAIN, False),
    (State.PREPARE_ABORT, True, True, REFUSED, False),
]


@pytest.mark.parametrize(("state", "commit", "earlier", "code", "raises"), V2_ENDS)
def test_ends_outside_of_a_transaction_in_v2(
    state: State, commit: bool, earlier: bool, code: int, raises: bool
) -> None:
    broker = broker_of(features=V2)
    given = broker.ask(init_request(), 4)
    found = broker.cluster.transactions.find("mine")
    assert found is not None
    found.state, found.epoch = state, 7
    answer = broker.ask(end_request(given.producer_id, 6 if earlier else 7, commit=commit), 5)
    assert answer.error_code == code
    assert found.epoch == (8 if raises else 7)
    if not code:
        assert (answer.producer_id, answer.producer_epoch) == (given.producer_id, found.epoch)


def test_v2_goes_on_with_a_new_id_after_the_last_epoch() -> None:
    broker = broker_of(features=V2)
    producer = TransactionalProducer(broker, v2=True)
    found = broker.cluster.transactions.find("mine")
    assert found is not None
    found.epoch = producer.epoch = LAST_EPOCH - 1
    first = producer.producer_id
    producer.write(b"a")
    end = end_request(first, LAST_EPOCH - 1, commit=True)
    producer.commit()
    assert (producer.producer_id != first, producer.epoch) == (True, 0)
    again = broker.ask(end, 5)
    assert (again.error_code, again.producer_id, again.producer_epoch) == (0, producer.producer_id, 0)
    marker = records.decode(read(broker, 1).records).batches[0]
    assert (marker.producer_id, marker.producer_epoch) == (first, LAST_EPOCH)


def test_init_goes_on_with_a_new_id_after_the_last_epoch() -> None:
    broker = broker_of()
    producer = TransactionalProducer(broker)
    found = broker.cluster.transactions.find("mine")
    assert found is not None
    found.epoch = LAST_EPOCH - 1
    answer = broker.ask(init_request(), 4)
    assert (answer.error_code, answer.producer_id != producer.producer_id, answer.producer_epoch) == (0, True, 0)


# Fencing.


@pytest.mark.parametrize("v2", [False, True])
def test_a_new_producer_aborts_the_open_transaction_and_fences_the_old_one(v2: bool) -> None:
    broker = broker_of(features=V2 if v2 else V1)
    old = TransactionalProducer(broker, v2=v2)
    old.write(b"a")
    assert broker.ask(init_request(), 4).error_code == codes.CONCURRENT_TRANSACTIONS.code
    assert state_of(broker) == "CompleteAbort"
    new = TransactionalProducer(broker, v2=v2)
    assert (new.producer_id, new.epoch) == (old.producer_id, old.epoch + 2)
    assert old.send(b"b") == codes.INVALID_PRODUCER_EPOCH.code
    assert old.end(commit=True) == codes.PRODUCER_FENCED.code
    assert committed_values(broker) == []


@pytest.mark.parametrize(("version", "code"), [(1, codes.INVALID_PRODUCER_EPOCH.code), (2, FENCED)])
def test_older_versions_know_no_fencing(version: int, code: int) -> None:
    broker = broker_of()
    old = TransactionalProducer(broker)
    TransactionalProducer(broker)
    added = broker.ask(add_request(old.producer_id, old.epoch), version)
    assert added.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code == code
    assert broker.ask(end_request(old.producer_id, old.epoch, commit=True), version).error_code == code


def test_a_producer_that_goes_on_gets_the_next_epoch_and_a_fenced_one_does_not() -> None:
    broker = broker_of()
    producer = TransactionalProducer(broker)
    going_on = init_request(producer_id=producer.producer_id, producer_epoch=0)
    assert [broker.ask(going_on, 4).producer_epoch for _ in range(2)] == [1, 1], "the second is a repetition"
    TransactionalProducer(broker)
    for version, code in ((3, codes.INVALID_PRODUCER_EPOCH.code), (4, FENCED)):
        assert broker.ask(going_on, version).error_code == code
    stranger = init_request(producer_id=producer.producer_id + 99, producer_epoch=0)
    assert broker.ask(stranger, 4).error_code == FENCED


# What is refused.


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (init_request(""), codes.INVALID_REQUEST),
        (init_request(timeout_ms=0), codes.INVALID_TRANSACTION_TIMEOUT),
        (init_request(timeout_ms=900_001), codes.INVALID_TRANSACTION_TIMEOUT),
        (init_request(producer_id=5), codes.INVALID_REQUEST),
        (init_request(None, producer_epoch=5), codes.INVALID_REQUEST),
    ],
)
def test_ids_that_are_refused(request_: Any, code: type[codes.INVALID_REQUEST]) -> None:
    answer = broker_of().ask(request_, 4)
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (code.code, -1, -1)


def test_partitions_that_do_not_exist_are_not_added_nor_are_their_neighbours() -> None:
    broker = broker_of()
    producer = TransactionalProducer(broker)
    answer = broker.ask(add_request(producer.producer_id, 0, [0, 9]), 3)
    told = [each.partition_error_code for each in answer.results_by_topic_v3_and_below[0].results_by_partition]
    assert told == [codes.OPERATION_NOT_ATTEMPTED.code, codes.UNKNOWN_TOPIC_OR_PARTITION.code]
    assert state_of(broker) == "Empty"


@pytest.mark.parametrize(
    ("release", "version", "code"),
    [("4.4.0", 10, REFUSED), ("4.4.0", 11, codes.TRANSACTION_ABORTABLE.code), ("3.9.2", 9, REFUSED), ("2.8.2", 9, 0)],
)
def test_writing_to_a_partition_outside_of_the_transaction(release: str, version: int, code: int) -> None:
    producer = TransactionalProducer(broker_of(release))
    assert producer.add(1) == 0
    assert producer.send(b"a", version=version) == code


def test_a_transactional_batch_needs_a_transactional_id_in_its_request() -> None:
    broker = broker_of()
    producer = TransactionalProducer(broker)
    assert producer.add(0) == 0
    answer = broker.ask(produce_request([b"a"], producer.producer_id, 0, 0, transactional_id=None), 11)
    code = answer.responses[0].partition_responses[0].error_code
    assert code == codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED.code


def test_a_plain_batch_within_the_own_transaction_is_refused() -> None:
    broker = broker_of()
    producer = TransactionalProducer(broker)
    producer.write(b"a")
    answer = broker.ask(produce_request([b"b"], producer.producer_id, 0, 1, is_transactional=False), 11)
    assert answer.responses[0].partition_responses[0].error_code == REFUSED


def test_in_v2_the_first_batch_of_a_transaction_begins_at_sequence_0() -> None:
    broker = broker_of(features=V2)
    producer = TransactionalProducer(broker, v2=True)
    answer = broker.ask(produce_request([b"a"], producer.producer_id, 0, 5), 12)
    assert answer.responses[0].partition_responses[0].error_code == codes.OUT_OF_ORDER_SEQUENCE_NUMBER.code


def test_sequences_go_on_over_transactions_in_v1() -> None:
    broker = broker_of()
    producer = TransactionalProducer(broker)
    for n in range(3):
        producer.write(b"%d" % n)
        producer.commit()
    assert committed_values(broker) == [b"0", b"1", b"2"]


# Time.


def test_a_transaction_that_takes_too_long_is_aborted_by_the_next_look() -> None:
    properties = BrokerProperties(transaction_abort_timed_out_transaction_cleanup_interval_ms=1000)
    broker = broker_of(properties=properties)
    producer = TransactionalProducer(broker)
    broker.ask(init_request(timeout_ms=2500), 4)
    producer = TransactionalProducer(broker)
    broker.cluster.transactions.find("mine").timeout_ms = 2500  # type: ignore[union-attr]
    producer.write(b"a")
    broker.advance(2.9)
    assert state_of(broker) == "Ongoing"
    broker.advance(0.2)
    assert state_of(broker) == "CompleteAbort"
    assert producer.end(commit=True) == FENCED
    assert read(broker).last_stable_offset == 2


def test_a_transactional_id_that_is_not_used_is_forgotten() -> None:
    broker = broker_of(properties=BrokerProperties(transactional_id_expiration_ms=10_000))
    producer = TransactionalProducer(broker)
    broker.advance(6)
    producer.write(b"a")
    producer.commit()
    broker.advance(6)
    assert state_of(broker) == "CompleteCommit"
    broker.advance(5)
    assert describe(broker).error_code == codes.TRANSACTIONAL_ID_NOT_FOUND.code
    assert producer.add(0) == codes.INVALID_PRODUCER_ID_MAPPING.code


# What is told of them.


def test_a_transaction_is_described_with_its_partitions() -> None:
    broker = broker_of()
    producer = TransactionalProducer(broker)
    assert producer.add(2, 0) == 0
    found = describe(broker)
    assert (found.error_code, found.producer_id, found.producer_epoch) == (0, producer.producer_id, 0)
    assert (found.transaction_timeout_ms, found.transaction_start_time_ms) == (60_000, WALL_CLOCK_MS)
    assert [(topic.topic, list(topic.partitions)) for topic in found.topics] == [("orders", [0, 2])]
    assert describe(broker, "").error_code == codes.INVALID_REQUEST.code


def test_transactions_are_listed_by_filters() -> None:
    broker = broker_of()
    for name in ("a1", "a2", "b1"):
        producer = TransactionalProducer(broker, name)
    producer.write(b"x")
    asked = {
        "all": ListTransactionsRequest(),
        "ongoing": ListTransactionsRequest(state_filters=["Ongoing", "Nonsense"]),
        "by producer": ListTransactionsRequest(producer_id_filters=[producer.producer_id]),
        "by pattern": ListTransactionsRequest(transactional_id_pattern="a."),
        "younger": ListTransactionsRequest(duration_filter=5000, state_filters=["Ongoing"]),
    }
    answers = {name: broker.ask(request, 2) for name, request in asked.items()}
    found = {name: [each.transactional_id for each in answer.transaction_states] for name, answer in answers.items()}
    assert found == {
        "all": ["a1", "a2", "b1"],
        "ongoing": ["b1"],
        "by producer": ["b1"],
        "by pattern": ["a1", "a2"],
        "younger": [],
    }
    assert list(answers["ongoing"].unknown_state_filters) == ["Nonsense"]
    for pattern in UNREADABLE:
        broken = broker.ask(ListTransactionsRequest(transactional_id_pattern=pattern), 2)
        assert broken.error_code == codes.INVALID_REGULAR_EXPRESSION.code


def test_producers_are_described_with_their_open_transaction() -> None:
    broker = broker_of()
    producer = TransactionalProducer(broker)
    producer.write(b"a", b"b")
    topic = DescribeProducersRequest.TopicRequest(name="orders", partition_indexes=[0, 1, 9])
    [found] = broker.ask(DescribeProducersRequest(topics=[topic]), 0).topics
    [known] = found.partitions[0].active_producers
    assert (known.producer_id, known.producer_epoch, known.last_sequence) == (producer.producer_id, 0, 1)
    assert (known.current_txn_start_offset, known.coordinator_epoch, known.last_timestamp) == (0, -1, 1000)
    assert not found.partitions[1].active_producers
    assert found.partitions[2].error_code == codes.UNKNOWN_TOPIC_OR_PARTITION.code


# What brokers ask each other.


def test_partitions_are_verified_for_brokers() -> None:
    broker = broker_of()
    producer = TransactionalProducer(broker)
    assert producer.add(0) == 0
    asked = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction(
        transactional_id="mine",
        producer_id=producer.producer_id,
        verify_only=True,
        topics=[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name="orders", partitions=[0, 1])],
    )
    [found] = broker.ask(AddPartitionsToTxnRequest(transactions=[asked]), 5).results_by_transaction
    told = [each.partition_error_code for each in found.topic_results[0].results_by_partition]
    assert told == [0, codes.TRANSACTION_ABORTABLE.code]


@pytest.mark.parametrize(
    ("epoch", "coordinator_epoch", "transaction_version", "code"),
    [
        (0, 0, 0, 0),
        (0, 0, 2, codes.INVALID_PRODUCER_EPOCH.code),
        (1, 0, 2, 0),
        (-1, 0, 0, codes.INVALID_PRODUCER_EPOCH.code),
    ],
)
def test_markers_end_a_transaction_without_its_coordinator(
    epoch: int, coordinator_epoch: int, transaction_version: int, code: int
) -> None:
    broker = broker_of()
    producer = TransactionalProducer(broker)
    producer.write(b"a")
    marker = WriteTxnMarkersRequest.WritableTxnMarker(
        producer_id=producer.producer_id,
        producer_epoch=epoch,
        coordinator_epoch=coordinator_epoch,
        transaction_version=transaction_version,
        topics=[WriteTxnMarkersRequest.WritableTxnMarker.WritableTxnMarkerTopic(name="orders", partition_indexes=[0])],
    )
    [found] = broker.ask(WriteTxnMarkersRequest(markers=[marker]), 2).markers
    assert found.topics[0].partitions[0].error_code == code
    assert read(broker).last_stable_offset == (0 if code else 2)


def test_a_marker_of_an_older_coordinator_is_refused() -> None:
    broker = broker_of()
    producer = TransactionalProducer(broker)
    partition = broker.cluster.topics["orders"].partitions[0]

    def end_by(coordinator_epoch: int) -> None:
        partition.end_transaction(
            producer.producer_id, 0, commit=True, coordinator_epoch=coordinator_epoch, raises_epoch=False, timestamp=1
        )

    end_by(3)
    with pytest.raises(codes.TRANSACTION_COORDINATOR_FENCED):
        end_by(2)


def test_two_phase_commit_is_only_for_brokers_that_are_set_so() -> None:
    request = init_request(enable2_pc=True, timeout_ms=0)
    refused = broker_of(properties=BrokerProperties(unstable_api_versions_enable=True)).ask(request, 6)
    assert refused.error_code == codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED.code
    broker = broker_of(
        properties=BrokerProperties(transaction_two_phase_commit_enable=True, unstable_api_versions_enable=True)
    )
    assert broker.ask(request, 6).error_code == 0
    assert describe(broker).transaction_timeout_ms == 2**31 - 1
    kept = broker.ask(init_request(keep_prepared_txn=True), 6)
    assert kept.error_code == codes.UNSUPPORTED_VERSION.code


# Who may.

WRITES_ID = ("write", "transactional_id", "mine")
DENIED = [
    (WRITES_ID, init_request(), 4, codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
    (("idempotent_write", "cluster", None), init_request(None), 4, codes.CLUSTER_AUTHORIZATION_FAILED),
    (WRITES_ID, add_request(1, 0), 3, codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
    (("write", "topic", "orders"), add_request(1, 0), 3, codes.TOPIC_AUTHORIZATION_FAILED),
    (("cluster_action", "cluster", None), AddPartitionsToTxnRequest(), 4, codes.CLUSTER_AUTHORIZATION_FAILED),
    (WRITES_ID, AddOffsetsToTxnRequest(transactional_id="mine"), 3, codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
    (("read", "group", "g"), AddOffsetsToTxnRequest(group_id="g"), 3, codes.GROUP_AUTHORIZATION_FAILED),
    (WRITES_ID, end_request(1, 0, commit=True), 4, codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
    (WRITES_ID, produce_request([b"a"], 1, 0, 0), 11, codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
    (
        ("describe", "transactional_id", "mine"),
        DescribeTransactionsRequest(transactional_ids=["mine"]),
        0,
        codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ),
    (
        ("read", "topic", "orders"),
        DescribeProducersRequest(topics=[DescribeProducersRequest.TopicRequest(name="orders", partition_indexes=[0])]),
        0,
        codes.TOPIC_AUTHORIZATION_FAILED,
    ),
]


@pytest.mark.parametrize(("denied", "request_", "version", "code"), DENIED)
def test_what_is_denied(denied: tuple[str, str, str | None], request_: Any, version: int, code: Any) -> None:
    broker = broker_of()
    broker.cluster.authorizer.deny(*denied, None)
    if denied[0] == "idempotent_write":
        broker.cluster.authorizer.deny("write", "topic", None, None)
    assert code.code in error_codes(broker.ask(request_, version).to_dict())


def error_codes(value: Any) -> set[int]:
    """Every error code in an answer."""
    if isinstance(value, dict):
        own = {item for name, item in value.items() if name.endswith("error_code")}
        return own.union(*(error_codes(item) for item in value.values()))
    return set().union(*map(error_codes, value)) if isinstance(value, list | tuple) else set()


def test_transactions_that_may_not_be_described_are_not_listed() -> None:
    broker = broker_of()
    TransactionalProducer(broker, "a")
    TransactionalProducer(broker, "b")
    broker.cluster.authorizer.deny("describe", "transactional_id", "a", None)
    assert [each.transactional_id for each in broker.ask(ListTransactionsRequest(), 0).transaction_states] == ["b"]


# Several nodes.


def test_another_node_than_the_coordinator_says_so() -> None:
    broker = broker_of(nodes=3)
    leader = broker.cluster.coordinators.leader(TRANSACTION, "mine")
    for node in (1, 2, 3):
        code = broker.ask(init_request(), 4, node=node).error_code
        assert code == (0 if node == leader else codes.NOT_COORDINATOR.code)


def test_markers_wait_for_a_leader_to_come_back() -> None:
    broker = broker_of(nodes=2)
    broker.cluster.create_topic("lone", 1, assignment=[[2]])
    broker.cluster.coordinators.move(TRANSACTION, "mine", 1)
    producer = TransactionalProducer(broker)
    lone = broker.cluster.topics["lone"].partitions[0]
    added = broker.ask(add_request(producer.producer_id, 0, [0], "lone"), 3)
    assert error_codes(added.to_dict()) == {0}
    broker.ask(produce_request([b"a"], producer.producer_id, 0, 0, topic="lone"), 11, node=2)
    broker.cluster.kill(2)
    assert producer.end(commit=True) == 0
    assert (state_of(broker), lone.last_stable_offset) == ("PrepareCommit", 0)
    assert producer.end(commit=True) == codes.CONCURRENT_TRANSACTIONS.code
    assert producer.add(0) == codes.CONCURRENT_TRANSACTIONS.code
    broker.cluster.revive(2)
    broker.advance(0.2)
    assert (state_of(broker), lone.last_stable_offset) == ("CompleteCommit", 2)


def test_markers_may_be_written_later_than_the_answer() -> None:
    broker = broker_of(features=V2)
    broker.cluster.transactions.markers_after_s = 0.03
    producer = TransactionalProducer(broker, v2=True)
    producer.write(b"a")
    producer.commit()
    assert (state_of(broker), committed_values(broker)) == ("PrepareCommit", [])
    broker.advance(0.04)
    assert (state_of(broker), committed_values(broker)) == ("CompleteCommit", [b"a"])


@pytest.mark.parametrize(("markers_after_s", "code", "at_s"), [(0.03, 0, 0.04), (1.0, 51, 0.1)])
def test_a_batch_from_before_the_markers_is_tried_every_20_ms_for_100_ms(
    markers_after_s: float, code: int, at_s: float
) -> None:
    broker = broker_of(features=V2)
    broker.cluster.transactions.markers_after_s = markers_after_s
    producer = TransactionalProducer(broker, v2=True)
    producer.write(b"a")
    producer.commit()
    waiting = broker.begin(produce_request([b"b"], producer.producer_id, producer.epoch, 0), 12)
    while waiting.answer is None:
        broker.advance(0.02)
        waiting.wake()
    assert broker.now == pytest.approx(at_s)
    assert waiting.response.responses[0].partition_responses[0].error_code == code


def test_a_transaction_goes_on_at_another_coordinator() -> None:
    broker = broker_of(nodes=2)
    broker.cluster.coordinators.move(TRANSACTION, "mine", 1)
    producer = TransactionalProducer(broker)
    assert producer.add(0) == 0
    broker.cluster.coordinators.move(TRANSACTION, "mine", 2)
    assert producer.end(commit=True) == codes.NOT_COORDINATOR.code
    ended = broker.ask(end_request(producer.producer_id, 0, commit=True), 4, node=2)
    assert ended.error_code == 0


# Logs that a test writes by hand.


def test_markers_are_no_values_and_what_is_not_committed_can_be_left_out() -> None:
    def batch_of(producer_id: int, value: bytes) -> bytes:
        return records.encode(
            [value], producer_id=producer_id, producer_epoch=0, base_sequence=0, is_transactional=True
        )

    with Broker(topics=["t"]) as broker:
        for producer_id, value, commit in ((1, b"kept", True), (2, b"aborted", False)):
            broker.append("t", batch_of(producer_id, value))
            broker.append("t", bytes(end_marker(producer_id, 0, commit, 0, 1).data))
        broker.append("t", [b"plain"])
        broker.append("t", batch_of(3, b"open"))
        broker.append("t", [b"after"])
        assert broker.values("t") == [b"kept", b"aborted", b"plain", b"open", b"after"]
        assert broker.values("t", committed=True) == [b"kept", b"plain"]
        assert broker.values("t", partition=0, committed=True) == [b"kept", b"plain"]
