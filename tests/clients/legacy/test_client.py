"""The 0.7 client against the 0.7 broker: what goes in comes out; refusals are errors."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import pytest

from kwire import errors
from kwire.legacy import Client, Position
from kwire.testing import Broker
from tests.reference.messages_0_7 import message, read
from tests.timing import PATIENT

CODECS = ("none", "gzip", "snappy")


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(generation="0.7", num_partitions=2) as running:
        yield running


@pytest.fixture
def client(broker: Broker) -> Iterator[Client]:
    with Client(broker.bootstrap_servers, request_timeout_ms=20_000) as made:
        yield made


def fill(client: Client, topic: str = "t", sets: int = 9) -> list[bytes]:
    values = [[b"%d-%d" % (number, each) for each in range(4)] for number in range(sets)]
    for number, part in enumerate(values):
        client.produce(topic, part, partition=0, compression=CODECS[number % 3])
    return [value for part in values for value in part]


def test_what_goes_in_comes_out(broker: Broker, client: Client) -> None:
    sent = fill(client)
    assert [found.value for found in client.messages("t")] == sent
    log = broker.record_set("t")
    assert [(found.offset, found.value, found.next.offset) for found in client.messages("t")] == read(log)
    assert client.fetch("t").values() == sent


def test_reading_resumes_behind_any_message(client: Client) -> None:
    sent = fill(client)
    for number, found in enumerate(client.messages("t")):
        rest = [later.value for later in client.messages("t", start=found.next)]
        assert rest == sent[number + 1 :]
        assert next(client.messages("t", start=found.position)) == found


def test_small_fetches_grow_to_what_is_there(broker: Broker) -> None:
    with Client(broker.bootstrap_servers, fetch_max_bytes=1) as client:
        sent = fill(client, sets=3)
        assert [found.value for found in client.messages("t")] == sent
        with pytest.raises(errors.LimitError, match=r"topic 't' partition 0 offset 0.*max_bytes is 1"):
            client.fetch("t")
        with pytest.raises(errors.LimitError, match="the message takes 13 bytes, max_bytes is 6"):
            client.fetch("t", max_bytes=6)


def test_segments_are_passed_one_by_one() -> None:
    with Broker(generation="0.7", log_file_size=50) as broker, Client(broker.bootstrap_servers) as client:
        sent = fill(client)
        assert len(client.offsets("t", max_offsets=99)) > 4
        assert [found.value for found in client.messages("t")] == sent
        second = client.offsets("t", max_offsets=99)[-2]
        broker.delete_records("t", before=second)
        kept = [found.value for found in client.messages("t")]
        assert kept == sent[len(sent) - len(kept) :]
        with pytest.raises(errors.broker.OFFSET_OUT_OF_RANGE, match="topic 't' partition 0 offset 0"):
            client.fetch("t")


def test_until_and_following(broker: Broker, client: Client) -> None:
    sent = fill(client, sets=3)
    middle = next(islice(client.messages("t"), 4, None))
    assert [found.value for found in client.messages("t", until=middle.offset)] == sent[:4]
    followed = client.messages("t", start="latest", until=None, poll_interval=0.01)
    later: list[bytes] = []
    reader = threading.Thread(target=lambda: later.extend(found.value for found in islice(followed, 2)))
    reader.start()
    broker.faults.delay("Fetch", 0.01)
    client.produce("t", [b"x", b"y"], partition=0)
    client.flush()
    give_up = time.monotonic() + PATIENT
    while len(later) < 2 and time.monotonic() < give_up:
        client.produce("t", [b"z"], partition=0)  # the reader may have asked for the latest only after x and y
        client.flush()
    reader.join(PATIENT)
    assert later in ([b"x", b"y"], [b"y", b"z"], [b"z", b"z"])


def test_multi_requests(client: Client) -> None:
    client.multi_produce([("a", 0, [b"1"]), ("b", 1, [b"2", b"3"]), ("a", 0, [b"4"])])
    found = client.multi_fetch([("a", 0, 0), ("b", 1, 0), ("b", 7, 0), ("a", 0, 999), ("c", 0, 0)])
    assert [each.values() if not isinstance(each, Exception) else type(each) for each in found] == [
        [b"1", b"4"],
        [b"2", b"3"],
        errors.UnknownTopicError,
        errors.broker.OFFSET_OUT_OF_RANGE,
        [],
    ]
    assert client.multi_fetch([]) == []


def test_offsets(broker: Broker, client: Client) -> None:
    assert client.offsets("t") == [0]
    client.produce("t", [b"hi"], partition=0)
    assert client.offsets("t", max_offsets=5) == [12, 0]
    assert client.offsets("t", time="earliest") == [0]
    assert client.offsets("t", time=datetime(2000, 1, 1, tzinfo=UTC)) == []
    assert client.offsets("t", time=1 << 60) == [12]
    with pytest.raises(errors.ConfigError, match="time='newest': 'latest', 'earliest', ms"):
        client.offsets("t", time="newest")


def test_an_offset_inside_a_message_says_so(client: Client) -> None:
    client.produce("t", [b"hi" * 50], partition=0)
    with pytest.raises(errors.CodecError, match=r"offset 2.*an offset is one at which a message begins"):
        client.fetch("t", offset=2)


@pytest.mark.parametrize("length", [0x40, 0x7FFFFFF0, 0x7FFFFFFF])
def test_what_looks_like_a_larger_message_than_there_is(client: Client, length: int) -> None:
    """An offset inside a message, where a length and a magic seem to stand."""
    client.produce("t", [length.to_bytes(4, "big") + b"\0hardly"], partition=0, magic=0)
    with pytest.raises(errors.TruncatedError, match=rf"offset 9: 11 bytes are left.*would take {length + 4};"):
        list(client.messages("t", start=9))


def test_produced_sets_are_asked_for_now_and_then(broker: Broker, client: Client) -> None:
    for _ in range(1000):
        client.produce("t", [b"x"], partition=0)
    assert broker.request_count("Offsets") == 1
    client.produce("t", [b"x"], partition=9)
    with pytest.raises(errors.DeliveryError) as caught:
        client.flush()
    assert len(caught.value.exceptions) == 1


def test_reads_try_once_more_on_a_new_connection(broker: Broker, client: Client) -> None:
    fill(client, sets=1)
    client.flush()
    assert broker.close_connections() == 1
    assert len(client.fetch("t")) == 4
    broker.faults.close("Fetch", times=2)
    with pytest.raises(errors.ConnectError, match="Fetch was answered by closing the connection"):
        client.fetch("t")
    assert len(client.fetch("t")) == 4


@pytest.mark.parametrize(("topic", "partition"), [("a/b", 0), ("t", 5), ("t", -2), ("x" * 255, 0)])
def test_a_refused_produce_is_told_at_the_next_answer(client: Client, topic: str, partition: int) -> None:
    client.produce("good", [b"1"], partition=0)
    client.flush()
    client.produce(topic, [b"2"], partition=partition)
    with pytest.raises(errors.DeliveryError, match="the broker closed the connection before it answered") as caught:
        client.flush()
    assert [str(cause) for cause in caught.value.exceptions] == [
        f"{client.brokers[0]}: topic {topic!r} partition {partition}, 11 bytes"
    ]
    client.flush()
    assert client.fetch("good").values() == [b"1"]


def test_a_fetch_does_not_hide_a_refused_produce(client: Client) -> None:
    client.produce("t", [b"2"], partition=9)
    with pytest.raises(errors.DeliveryError):
        client.fetch("t")
    assert client.fetch("t").values() == []


def test_the_end_of_a_block_flushes(broker: Broker) -> None:
    with pytest.raises(errors.DeliveryError), Client(broker.bootstrap_servers) as client:
        client.produce("t", [b"2"], partition=9)
    client.close()
    with pytest.raises(errors.KafkaError, match="the client is closed"):
        client.fetch("t")


def test_silence_ends_at_the_deadline(broker: Broker) -> None:
    with Client(broker.bootstrap_servers, request_timeout_ms=300) as client:
        broker.faults.mute("Fetch")
        with pytest.raises(errors.KafkaTimeoutError, match=r"no answer within 0\.3 s"):
            client.fetch("t")
        assert client.fetch("t").values() == []


def test_nobody_there() -> None:
    with Broker(generation="0.7") as broker:
        address = broker.bootstrap_servers
    with Client(address) as client:
        with pytest.raises(errors.ConnectError, match=f"no connection: {address}: .*refused"):
            client.fetch("t")
        with pytest.raises(errors.ConnectError):
            client.produce("t", [b"1"])
        client.flush()


def test_a_newer_broker_is_recognised() -> None:
    with Broker() as modern, Client(modern.bootstrap_servers) as client:
        with pytest.raises(errors.ConnectError, match=r"how a newer broker refuses 0\.7"):
            client.offsets("t")


def test_several_brokers_have_partitions_of_their_own() -> None:
    with Broker(generation="0.7") as one, Broker(generation="0.7") as two:
        with Client([one.bootstrap_servers, two.bootstrap_servers]) as client:
            for number in range(4):
                client.produce("t", [b"%d" % number])
            client.flush()
            found = [client.fetch("t", broker=address).values() for address in client.brokers]
            assert sorted(found) == [[b"0", b"2"], [b"1", b"3"]]
            with pytest.raises(errors.ConfigError, match="several brokers, and each has partitions of its own"):
                client.fetch("t")
            with pytest.raises(errors.ConfigError, match="there are 127"):
                client.fetch("t", broker="elsewhere:1")


def test_messages_in_messages(broker: Broker, client: Client) -> None:
    inner = message(gzip.compress(message(b"a") + message(b"b")), 1, 1)
    broker.append("t", message(gzip.compress(inner + message(b"c")), 1, 1))
    broker.append("t", message(b"d"))
    found = list(client.messages("t"))
    wrapper = found[-1].offset
    assert [(each.position, each.value) for each in found] == [
        (Position(0, 0), b"a"),
        (Position(0, 1), b"b"),
        (Position(0, 2), b"c"),
        (Position(wrapper), b"d"),
    ]
    assert [each.value for each in client.messages("t", start=Position(0, 2))] == [b"c", b"d"]


def test_damage_names_its_place(broker: Broker) -> None:
    with Client(broker.bootstrap_servers, max_decompressed_bytes=100) as client:
        client.produce("t", [b"x" * 1000], partition=0, compression="gzip")
        with pytest.raises(errors.LimitError, match=r"topic 't' partition 0 offset 0.*max_decompressed_bytes"):
            client.fetch("t")


def test_many_threads_share_a_client(client: Client) -> None:
    def work(name: str) -> None:
        for number in range(50):
            client.produce(name, [b"%d" % number], partition=0)

    threads = [threading.Thread(target=work, args=(f"t{each}",)) for each in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for each in range(4):
        assert client.fetch(f"t{each}").values() == [b"%d" % number for number in range(50)]


@pytest.mark.parametrize("options", [{"request_timeout_ms": 0}, {"fetch_max_bytes": 0}])
def test_options_that_cannot_be(options: dict[str, Any]) -> None:
    with pytest.raises(errors.ConfigError, match="both are at least 1"):
        Client("localhost:1", **options)
