"""`kwire producers` against the embedded broker."""

from __future__ import annotations

import json

import pytest

from kwire import Producer
from kwire.errors import KafkaError
from kwire.testing import Broker
from tests.cli.conftest import Kwire
from tests.cli.processes import answered


def test_the_producers_of_partitions_are_listed(kwire: Kwire, broker: Broker) -> None:
    with Producer(broker.bootstrap_servers) as idempotent:
        idempotent.send("orders", b"a", partition=2).result(10)
    with Producer(broker.bootstrap_servers, transactional_id="tx") as producer:
        producer.init_transactions()
        with producer.transaction():
            producer.send("orders", b"b", partition=2).result(10)
            [opened] = map(json.loads, kwire("producers", "list", "orders:2", "--open", "--json").lines)
            assert (opened["topic"], opened["partition"], opened["open_from"]) == ("orders", 2, 1)
            assert opened["last_write"].endswith("Z")
    rows = [json.loads(line) for line in kwire("producers", "--json").lines]
    assert [(row["partition"], row["last_sequence"], row["open_from"]) for row in rows] == [
        (2, 0, None), (2, None, None),  # nothing written since the transaction ended
    ]  # fmt: skip
    assert len({row["producer_id"] for row in rows}) == 2
    assert kwire("producers", "list", "orders:0", "--json").out == b""
    missing = kwire("producers", "list", "orders:7")
    assert (missing.code, "'orders' has no partition 7" in missing.err) == (1, True)


def test_producers_are_fenced_after_a_question(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers, transactional_id="tx") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send("orders", b"a").result(10)
        shown = "Fence the producers of 'tx' and abort their transactions? [y/N] "
        assert answered("n", "producers", "fence", "tx")[0] == 1
        assert answered("y", "producers", "fence", "tx") == (0, shown)
        with pytest.raises(KafkaError):
            producer.commit_transaction()
    assert broker.values("orders", committed=True) == []
