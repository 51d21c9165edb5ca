"""The 0.7 client against answers written here byte by byte: what a broker may send, and what it never should."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kwire import errors
from kwire.engine.common.addresses import Address, parse_address
from kwire.legacy import Client
from kwire.testing import Broker
from tests.reference import generations as reference
from tests.reference.messages_0_7 import message
from tests.timing import PATIENT

HI = message(b"hi")


@contextmanager
def answering(*answers: bytes | None, cut: bool = False) -> Iterator[Client]:
    """A client of a broker that meets each request with the next answer; None closes, b"" is silence.

    It waits half a second where one is silence or cut off, and as long as it takes for others.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    left = list(answers)

    def serve() -> None:
        while left:
            try:
                connection, _ = listener.accept()
            except OSError:
                return  # the test is over
            with connection:
                while left and (size := connection.recv(4, socket.MSG_WAITALL)):
                    connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
                    answer = left.pop(0)
                    if answer is None:
                        break
                    connection.sendall(answer)
                    if not answer:
                        connection.recv(1)  # silence lasts until the client goes

    server = threading.Thread(target=serve, daemon=True)
    server.start()
    within_ms = 500 if cut or b"" in answers else 60_000
    client = Client(f"127.0.0.1:{listener.getsockname()[1]}", request_timeout_ms=within_ms)
    try:
        yield client
    finally:
        client.close()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        server.join(PATIENT)


Call = Callable[[Client], Any]


def fetch(client: Client) -> Any:
    return client.fetch("t", 0, 24)


def offsets(client: Client) -> Any:
    return client.offsets("t")


def messages(client: Client) -> Any:
    return list(client.messages("t"))


def multi_fetch(client: Client) -> Any:
    return client.multi_fetch([("t", 0, 0), ("t", 1, 0)])


@pytest.mark.parametrize(
    ("call", "answer", "error", "text"),
    [
        (fetch, reference.fetched_7(1, b""), errors.broker.OFFSET_OUT_OF_RANGE, "partition 0 offset 24"),
        (fetch, reference.fetched_7(2, b""), errors.broker.CORRUPT_MESSAGE, "offset 24"),
        (fetch, reference.fetched_7(3, b""), errors.UnknownTopicError, "no such partition"),
        (fetch, reference.fetched_7(4, b""), errors.broker.INVALID_FETCH_SIZE, "offset 24"),
        (fetch, reference.fetched_7(-1, b""), errors.UnknownTopicError, "illegal topic name"),
        (fetch, reference.fetched_7(77, b""), errors.BrokerError, "77"),
        (fetch, reference.fetched_7(0, HI[:9]), errors.LimitError, "the message takes 12 bytes"),
        (fetch, reference.fetched_7(0, HI[:2]), errors.LimitError, "not even a message's length"),
        (fetch, reference.fetched_7(0, HI[:-1] + b"!"), errors.CorruptError, "checksum"),
        (fetch, b"\x00\x00\x00\x01\x00", errors.TruncatedError, "error_code"),
        (fetch, b"\xff\xff\xff\xff", errors.FrameError, "-1"),
        (fetch, b"\x7f\xff\xff\xff", errors.FrameError, "2147483647"),
        (fetch, b"", errors.KafkaTimeoutError, r"no answer within 0\.5 s"),
        (offsets, b"\x00\x00\x00\x06\x00\x00\x7f\xff\xff\xff", errors.InvalidLengthError, "offsets"),
        (offsets, reference.offsets_answer_7(3, []), errors.UnknownTopicError, "no such partition"),
        (offsets, reference.frame(b"\xff\xff"), errors.UnknownTopicError, "offsets of topic 't' partition 0"),
        (messages, reference.offsets_answer_7(0, []), errors.CorruptError, "the broker names no offset"),
        (multi_fetch, reference.multi_fetched_7(0, [(0, HI)]), errors.CorruptError, "1 parts answer 2 fetches"),
        (multi_fetch, reference.frame(b"\x00\x00\x00\x00\x00\x63"), errors.TruncatedError, r"parts\[0\]"),
    ],
)
def test_an_answer_becomes_its_error(call: Call, answer: bytes, error: type[errors.KafkaError], text: str) -> None:
    with answering(answer) as client, pytest.raises(error, match=text) as caught:
        call(client)
    assert isinstance(caught.value, errors.KafkaError)


def test_what_precedes_damage_is_given_first_and_the_way_past_it_is_said() -> None:
    bad = HI[:-1] + b"!"
    with answering(reference.fetched_7(0, HI + bad + HI), reference.fetched_7(0, bad + HI)) as client:
        before = client.fetch("t", 3, 24)
        assert (before.values(), before.consumed) == ([b"hi"], 12)
        with pytest.raises(errors.CorruptError, match=r"partition 3 offset 36: .*the next one begins at 48") as caught:
            client.fetch("t", 3, 36)
    error = caught.value
    assert (error.topic, error.partition, error.record_offset, error.seek_to) == ("t", 3, 36, 48)


def test_a_closed_connection_is_tried_once_more() -> None:
    with answering(reference.fetched_7(0, b""), None, reference.fetched_7(0, HI)) as client:
        assert client.fetch("t").values() == []
        assert client.fetch("t").values() == [b"hi"]
    with answering(reference.fetched_7(0, b""), None, None) as client:
        client.fetch("t")
        with pytest.raises(errors.ConnectError, match="closing the connection"):
            client.fetch("t")
    with answering(None) as client, pytest.raises(errors.ConnectError, match="closing the connection"):
        client.fetch("t")


def test_an_answer_that_is_cut_off_is_an_error() -> None:
    whole = reference.fetched_7(0, HI)
    with answering(whole[:-3], whole, cut=True) as client, pytest.raises(errors.KafkaError):
        client.fetch("t")


def test_parts_keep_their_order_and_errors() -> None:
    with answering(reference.multi_fetched_7(0, [(3, b""), (0, HI + HI[:5])])) as client:
        refused, found = multi_fetch(client)
    assert isinstance(refused, errors.UnknownTopicError)
    assert (found.values(), found.consumed) == ([b"hi"], 12)


def test_a_broker_that_hangs_hides_nothing_of_another_one() -> None:
    hanging = socket.create_server(("127.0.0.1", 0))
    with hanging, answering(None) as closing, Broker(generation="0.7") as well:
        places = [closing.brokers[0], Address(*hanging.getsockname()), parse_address(well.bootstrap_servers)]
        client = Client([str(address) for address in places], request_timeout_ms=500)
        for address in places:
            client.produce("t", [b"a"], broker=address)
        with pytest.raises(errors.DeliveryError, match="or hangs") as caught:
            client.close()
        assert [str(cause).partition(" topic")[0] for cause in caught.value.exceptions] == [
            f"{address}:" for address in places[:2]
        ]
        assert isinstance(caught.value.__cause__, errors.KafkaTimeoutError)


def test_an_answer_on_another_connection_confirms_nothing() -> None:
    """What was produced before a silence may be lost: only the connection it went over could tell."""
    with answering(b"", b"", reference.fetched_7(0, HI)) as client:
        client.produce("t", [b"a"])
        with pytest.raises(errors.KafkaTimeoutError):
            client.fetch("t")
        with pytest.raises(errors.DeliveryError) as caught:
            client.flush()
        assert [str(cause) for cause in caught.value.exceptions] == [
            f"{client.brokers[0]}: topic 't' partition -1, 11 bytes"
        ]
        client.flush()
        assert client.fetch("t").values() == [b"hi"]
