"""What the embedded broker remembers of clients that come and go, up to a bound."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from kwire.errors import BrokerError, ConfigError
from kwire.errors import broker as codes
from kwire.protocol import DescribeConfigsRequest
from kwire.testing import Broker
from kwire.testing.records import producer_state
from kwire.testing.records.producer_state import ProducerStates
from kwire.testing.records.record_sets import Entry, entries_of
from kwire.testing.settings.config_names import BROKER
from kwire.testing.state import quotas, telemetry
from kwire.testing.state.quotas import CLIENT_ID, Quotas
from kwire.testing.state.telemetry import Telemetry, TelemetryPush
from kwire.testing.state.timers import SWEEP_AT, Timers
from tests.testing.in_process import InProcess
from tests.testing.wire import batch


def test_cancelled_calls_are_forgotten_long_before_their_time() -> None:
    timers = Timers()
    kept = timers.call_at(1e9, lambda: None)
    for _ in range(100 * SWEEP_AT):
        timers.call_at(1e8, lambda: None).cancel()
    assert timers.held <= SWEEP_AT
    assert (timers.next_due, kept.pending) == (1e9, True)


def test_the_last_pushes_of_metrics_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "MAX_PUSHES", 3)
    taking = Telemetry(lambda: 1000.0, dict)
    for number in range(5):
        _push(taking, uuid4(), b"%d" % number)
    assert [each.metrics for each in taking.pushes] == [b"2", b"3", b"4"]


def test_of_clients_that_push_the_last_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "MAX_INSTANCES", 2)
    taking = Telemetry(lambda: 1000.0, dict)
    first, *others = (uuid4() for _ in range(4))
    for instance in (first, *others):
        _push(taking, instance, b"x")
    _push(taking, first, b"y")  # too early, if it were known
    with pytest.raises(BrokerError, match="too early"):
        _push(taking, others[-1], b"y")


def test_accounts_of_quotas_are_forgotten_once_they_owe_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quotas, "SWEEP_AT", 2)
    now = 0.0
    kept = Quotas(lambda: now)
    kept.set(frozenset({(CLIENT_ID, None)}), "producer_byte_rate", 10.0)
    for number in range(10):
        now += 100.0
        kept.charge("producer_byte_rate", "u", f"c{number}", 50.0)
    assert kept.account_count <= 2
    assert kept.charge("producer_byte_rate", "u", "c9", 10.0) == 5000


def test_a_partition_remembers_the_producers_that_wrote_last_and_open_transactions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(producer_state, "MAX_PRODUCERS", 3)
    states = ProducerStates()
    for producer_id in range(1, 8):
        states.remember(_entry(producer_id, transactional=producer_id == 1))
    assert [producer_id for producer_id, _ in states] == [1, 6, 7]


def test_of_a_producer_the_last_five_batches_are_recognised_when_they_come_again() -> None:
    states = ProducerStates()
    batches = [_entry(1, base_sequence=number) for number in range(6)]
    for each in batches:
        states.check(each)
        states.remember(each)
    assert states.find_duplicate(batches[0]) is None
    assert all(states.find_duplicate(each) for each in batches[1:])
    with pytest.raises(BrokerError, match="sends sequence 0 where 6 is next"):
        states.check(batches[0])


def test_nodes_and_partitions_have_a_limit() -> None:
    with pytest.raises(ConfigError, match="nodes"):
        Broker(nodes=101)
    cluster = InProcess().cluster
    with pytest.raises(BrokerError, match="10001 partitions; expected 1 to 10000"):
        cluster.create_topic("t", 10_001)
    cluster.create_topic("t", 10_000)


def _push(taking: Telemetry, instance: UUID, metrics: bytes) -> None:
    wanted = taking.subscription({})
    push = TelemetryPush(instance, "c", False, "none", metrics)
    taking.push(wanted, wanted.id_for(instance), 0, push)


def _entry(producer_id: int, *, base_sequence: int = 0, transactional: bool = False) -> Entry:
    identity = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": base_sequence}
    (found,) = entries_of(batch(b"a", **identity, is_transactional=transactional))
    return found


def test_no_number_of_digits_makes_the_id_of_a_broker() -> None:
    broker = InProcess("4.4.0")
    resource = DescribeConfigsRequest.DescribeConfigsResource(resource_type=BROKER, resource_name="9" * 5000)
    [found] = broker.ask(DescribeConfigsRequest(resources=[resource]), 4).results
    assert found.error_code == codes.INVALID_REQUEST.code
