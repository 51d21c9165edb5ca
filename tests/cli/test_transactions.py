"""`kwire transactions` against the embedded broker."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from kwire import Admin, Producer
from kwire.errors import KafkaError
from kwire.testing import Broker
from tests.cli.conftest import Kwire
from tests.cli.processes import answered


@pytest.fixture
def producer(broker: Broker) -> Iterator[Producer]:
    """A producer with an open transaction in a partition."""
    with Producer(broker.bootstrap_servers, transactional_id="tx") as made:
        made.init_transactions()
        made.begin_transaction()
        made.send("orders", b"open", partition=1).result(10)
        yield made
        try:
            made.abort_transaction()
        except KafkaError:
            pass  # the test has ended it


@pytest.fixture
def coordinator_has_forgotten(producer: Producer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Admin, "list_transactions", lambda admin, **filters: [])


def test_transactions_are_listed_by_state(kwire: Kwire, broker: Broker, producer: Producer) -> None:
    assert kwire("transactions").lines[0].split() == ["transactional", "id", "state", "producer", "id", "coordinator"]
    [row] = map(json.loads, kwire("transactions", "--state", "Ongoing", "--pattern", "t.", "--json").lines)
    assert (row["transactional_id"], row["state"], row["coordinator"]) == ("tx", "Ongoing", 1)
    assert kwire("transactions", "--producer-id", str(row["producer_id"])).lines[1].split()[0] == "tx"
    assert kwire("transactions", "--state", "Empty", "--json").out == b""
    odd = kwire("transactions", "--state", "Open")
    assert (odd.code, "'Open' is not a state of transactions" in odd.err) == (2, True)


def test_a_transaction_is_described_beside_one_that_is_not_there(
    kwire: Kwire, broker: Broker, producer: Producer
) -> None:
    outcome = kwire("transactions", "describe", "tx", "none", "--json")
    assert (outcome.code, "'none'" in outcome.err) == (3, True)
    row = json.loads(outcome.out)
    assert (row["state"], row["partitions"], row["timeout_ms"]) == ("Ongoing", ["orders:1"], 60_000)
    assert row["started"].endswith("Z")
    producer.commit_transaction()
    assert json.loads(kwire("transactions", "describe", "tx", "--json").out)["partitions"] == []


def test_what_a_coordinator_knows_is_not_aborted_but_terminated(
    kwire: Kwire, broker: Broker, producer: Producer
) -> None:
    refused = kwire("transactions", "abort", "orders:1", "orders:2", "--yes", "--json")
    assert refused.code == 1
    assert "'kwire transactions terminate tx' ends it" in refused.err
    assert "no transaction is open in orders:2" in refused.err
    assert [json.loads(line)["partition"] for line in refused.lines] == ["orders:1", "orders:2"]
    assert kwire("transactions", "list", "--state", "Ongoing", "--json").lines
    assert answered("n", "transactions", "terminate", "tx")[0] == 1
    code, said = answered("y", "transactions", "terminate", "tx")
    assert (code, said) == (0, "Abort the transactions of 'tx' and fence their producers? [y/N] ")
    assert broker.values("orders", committed=True) == []
    with pytest.raises(KafkaError):
        producer.commit_transaction()


@pytest.mark.usefixtures("coordinator_has_forgotten")
def test_what_no_coordinator_knows_is_aborted(kwire: Kwire, broker: Broker) -> None:
    assert kwire("transactions", "abort", "orders:1", "--producer-id", "987", "--yes").code == 1
    outcome = kwire("transactions", "abort", "orders:1", "--yes", "--json")
    assert (outcome.code, json.loads(outcome.out)) == (0, {"partition": "orders:1", "error": None})
    again = kwire("transactions", "abort", "orders:1", "orders:9", "--yes")
    assert again.code == 1
    assert len(again.err.splitlines()) == 2


def test_a_partition_that_is_none_is_wrong_usage(kwire: Kwire, broker: Broker) -> None:
    outcome = kwire("transactions", "abort", "orders", "--yes")
    assert (outcome.code, "'orders': write TOPIC:PARTITION, as in orders:3" in outcome.err) == (2, True)
