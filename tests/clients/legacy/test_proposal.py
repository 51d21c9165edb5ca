"""The proposal of 2012, exchanged: its client and its broker, in every dialect that can carry the request."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from kwire import errors
from kwire.legacy import ProposalClient
from kwire.protocol import proposal
from kwire.testing import Broker
from tests.timing import PATIENT

DIALECTS = {
    "ours": proposal.Dialect(),
    "printed": proposal.PRINTED,
    "printed header": proposal.Dialect(fetch_header="printed"),
    "wide": proposal.Dialect(offsets="int64", no_error=0, produce=8, fetch=9),
    "no error": proposal.Dialect(produce_error=False),
}


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(generation="proposal", num_partitions=2) as running:
        yield running


@pytest.fixture
def client(broker: Broker) -> Iterator[ProposalClient]:
    with ProposalClient(broker.bootstrap_servers, request_timeout_ms=20_000) as made:
        yield made


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_one_partition_in_every_dialect(dialect: proposal.Dialect) -> None:
    with (
        Broker(generation="proposal", dialect=dialect) as broker,
        ProposalClient(broker.bootstrap_servers, dialect=dialect) as client,
    ):
        assert client.produce({("t", 0): [b"hi", b"yo"]}) == {("t", 0): 0}
        assert client.produce({("t", 0): [b"again"]}) == {("t", 0): 24}
        found = client.fetch({("t", 0): 12})[("t", 0)]
        assert [(record.offset, record.value) for record in found] == [(12, b"yo"), (24, b"again")]
        with pytest.raises(errors.broker.OFFSET_OUT_OF_RANGE):
            client.fetch({("t", 0): 99})


def test_many_partitions_in_one_request(client: ProposalClient) -> None:
    places = {("t", 0): [b"a"], ("u", 1): [b"b"], ("t", 1): [b"c"]}
    assert client.produce(places) == {("t", 0): 0, ("t", 1): 0, ("u", 1): 0}
    found = client.fetch(dict.fromkeys(places, 0))
    assert {place: record.values() for place, record in found.items()} == places


def test_a_set_that_is_refused_is_named(broker: Broker, client: ProposalClient) -> None:
    with pytest.raises(errors.broker.UNKNOWN_TOPIC_OR_PARTITION, match="t-7"):
        client.produce({("t", 0): [b"a"], ("t", 7): [b"b"]})
    assert broker.offsets("t") == (0, 11)
    with pytest.raises(errors.BrokerError, match="t-0"):
        client.produce({("t", 0): [bytes(1_000_001)]})


def test_no_acks_no_answer(broker: Broker, client: ProposalClient) -> None:
    assert client.produce({("t", 0): [b"a"]}, required_acks=0) == {}
    assert client.fetch({("t", 0): 0})[("t", 0)].values() == [b"a"]


def test_a_fetch_waits_for_its_bytes(broker: Broker, client: ProposalClient) -> None:
    waiting: list[list[bytes | None]] = []
    reader = threading.Thread(
        target=lambda: waiting.append(client.fetch({("t", 0): 0}, max_wait_ms=20_000, min_bytes=12)[("t", 0)].values())
    )
    reader.start()
    broker.wait_for_waiting()
    with ProposalClient(broker.bootstrap_servers) as other:
        other.produce({("t", 0): [b""]})
        broker.wait_for_waiting()
        other.produce({("t", 0): [b"enough"]})
    reader.join(PATIENT)
    assert waiting == [[b"", b"enough"]]
    begin = time.monotonic()
    assert client.fetch({("t", 1): 0}, max_wait_ms=50)[("t", 1)].values() == []
    assert time.monotonic() - begin >= 0.05


def test_printed_sets_cannot_be_more_than_one() -> None:
    with Broker(generation="proposal", dialect=proposal.PRINTED, num_partitions=2) as broker:
        with ProposalClient(broker.bootstrap_servers, dialect=proposal.PRINTED) as client:
            with pytest.raises(errors.CodecError, match="2 message sets without lengths"):
                client.produce({("t", 0): [b"a"], ("t", 1): [b"b"]})
            with pytest.raises(errors.ConnectError):
                client.fetch({("t", 0): 0, ("t", 1): 0})


def test_another_dialect_is_not_understood() -> None:
    with Broker(generation="proposal", dialect=proposal.Dialect(produce=8, fetch=9)) as broker:
        with ProposalClient(broker.bootstrap_servers) as client, pytest.raises(errors.ConnectError):
            client.produce({("t", 0): [b"a"]})
