"""The 0.7 broker, row by row as a real 0.7.2 was seen to answer; bytes over real sockets."""

from __future__ import annotations

import gzip
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from kwire import records
from kwire.errors import ConfigError, UnknownTopicError
from kwire.protocol import kafka_0_7 as wire
from kwire.testing import Broker
from tests.reference.messages_0_7 import message

HI, YO = message(b"hi"), message(b"yo")  # 12 bytes each


class Peer:
    """A connection to a broker: whole frames in and out, and whether it is still open."""

    def __init__(self, broker: Broker) -> None:
        self.socket = socket.create_connection(("127.0.0.1", broker.port), 10)

    def send(self, request: Any) -> None:
        self.raw(wire.encode_request(request))

    def raw(self, data: bytes) -> None:
        self.socket.sendall(data)

    def frame(self) -> bytes:
        """The next answer without its size."""
        return self.exactly(int.from_bytes(self.exactly(4), "big"))

    def exactly(self, count: int) -> bytes:
        got = b""
        while len(got) < count:
            piece = self.socket.recv(count - len(got))
            assert piece, f"closed after {got!r}"
            got += piece
        return got

    def closed(self) -> bool:
        """Whether the broker closes it without a word."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def produce(self, topic: str, data: bytes, partition: int = 0) -> None:
        self.send(wire.ProduceRequest(topic=topic, partition=partition, messages=data))

    def fetch(self, topic: str, offset: int = 0, partition: int = 0, max_size: int = 1 << 20) -> tuple[int, bytes]:
        """(error code, bytes)."""
        self.send(wire.FetchRequest(topic=topic, partition=partition, offset=offset, max_size=max_size))
        frame = self.frame()
        return int.from_bytes(frame[:2], "big", signed=True), frame[2:]

    def offsets(self, topic: str, time: int = wire.LATEST, most: int = 10, partition: int = 0) -> list[int]:
        self.send(wire.OffsetsRequest(topic=topic, partition=partition, time=time, max_offsets=most))
        answer = self.frame()
        header, found = wire.decode_response(len(answer).to_bytes(4, "big") + answer, 4)
        assert header.error_code == 0
        assert isinstance(found, wire.OffsetsResponse)
        return list(found.offsets)


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(generation="0.7", num_partitions=2) as running:
        yield running


@pytest.fixture
def peer(broker: Broker) -> Iterator[Peer]:
    made = Peer(broker)
    yield made
    made.socket.close()


@pytest.mark.parametrize("offset", [0, 7, -1, 1 << 40])
def test_an_unknown_topic_is_empty_at_any_offset(peer: Peer, offset: int) -> None:
    assert peer.fetch("nowhere", offset) == (0, b"")


@pytest.mark.parametrize(("topic", "partition"), [("t", 2), ("t", -1), ("nowhere", 2), ("nowhere", -1)])
def test_a_partition_that_cannot_be_is_error_3(broker: Broker, peer: Peer, topic: str, partition: int) -> None:
    broker.append("t", HI)
    assert peer.fetch(topic, partition=partition) == (3, b"")


def test_each_part_of_a_multi_fetch_has_its_own_error(broker: Broker, peer: Peer) -> None:
    broker.append("t", HI)
    ask = wire.MultiFetchRequest.Fetch
    wanted = [("t", 0, 0), ("t", 9, 0), ("nowhere", 0, 5), ("t", 0, 13), ("a/b", 0, 0), ("t", 1, 99)]
    peer.send(
        wire.MultiFetchRequest(
            fetches=[ask(topic=t, partition=p, offset=o, max_size=99) for t, p, o in wanted],
        )
    )
    answer = peer.frame()
    header, found = wire.decode_response(len(answer).to_bytes(4, "big") + answer, 2)
    assert header.error_code == 0
    assert isinstance(found, wire.MultiFetchResponse)
    assert [(part.error_code, bytes(part.messages)) for part in found.parts] == [
        (0, HI),
        (3, b""),
        (0, b""),
        (1, b""),
        (-1, b""),
        (0, b""),
    ]


def test_offsets_outside_of_the_log(broker: Broker, peer: Peer) -> None:
    broker.append("t", HI + YO)
    assert peer.fetch("t", 24) == (0, b"")
    assert peer.fetch("t", 25) == (1, b"")
    assert peer.fetch("t", -1) == (1, b"")
    peer.produce("empty", b"")
    assert peer.fetch("empty", 1) == (1, b"")
    assert peer.fetch("empty", 0) == (0, b"")
    assert peer.fetch("t", 1 << 40, partition=1) == (0, b"")


@pytest.mark.parametrize(("offset", "max_size", "got"), [(3, 99, HI[3:]), (0, 5, HI[:5]), (0, 1, HI[:1]), (0, 0, b"")])
def test_a_fetch_gives_raw_bytes(broker: Broker, peer: Peer, offset: int, max_size: int, got: bytes) -> None:
    broker.append("t", HI)
    assert peer.fetch("t", offset, max_size=max_size) == (0, got)


def test_a_negative_max_size_announces_what_it_cannot_keep(broker: Broker, peer: Peer) -> None:
    broker.append("t", HI)
    peer.send(wire.FetchRequest(topic="t", partition=0, offset=0, max_size=-1))
    assert peer.exactly(6).hex(" ") == "00 00 00 01 00 00"
    assert peer.closed()


@pytest.mark.parametrize("topic", ["", "/", "a/b", "..", ".", "a\x00", "x" * 256])
def test_topic_names_that_cannot_be(broker: Broker, topic: str) -> None:
    assert Peer(broker).fetch(topic) == (-1, b"")
    for request in (
        wire.ProduceRequest(topic=topic, messages=HI),
        wire.MultiProduceRequest(produces=[wire.MultiProduceRequest.Produce(topic=topic, messages=HI)]),
        wire.OffsetsRequest(topic=topic),
    ):
        peer = Peer(broker)
        peer.send(request)
        assert peer.closed()
    assert broker.topics() == {}


def test_a_name_must_fit_a_folder(broker: Broker, peer: Peer) -> None:
    peer.produce("x" * 253, HI)
    assert peer.fetch("x" * 253) == (0, HI)
    assert peer.fetch("y" * 255) == (0, b"")
    peer.produce("y" * 255, HI)
    assert peer.closed()


def test_a_null_topic_closes(peer: Peer) -> None:
    frame = bytearray(wire.encode_request(wire.FetchRequest(topic="")))
    frame[6:8] = b"\xff\xff"
    peer.raw(bytes(frame))
    assert peer.closed()


def test_a_fetch_ends_where_a_segment_does() -> None:
    with Broker(generation="0.7", log_file_size=20) as broker:
        peer = Peer(broker)
        for _ in range(5):
            peer.produce("t", HI)
        assert peer.fetch("t", 0) == (0, HI * 2)
        assert peer.fetch("t", 24) == (0, HI * 2)
        assert peer.fetch("t", 48) == (0, HI)
        assert peer.offsets("t") == [60, 48, 24, 0]
        assert peer.offsets("t", most=2) == [60, 48]
        assert peer.offsets("t", wire.EARLIEST) == [0]
        broker.delete_records("t", before=30)
        assert peer.fetch("t", 0) == (1, b"")
        assert peer.offsets("t", wire.EARLIEST) == [24]


@pytest.mark.parametrize(
    "request_",
    [
        wire.ProduceRequest(topic="t", messages=HI),
        wire.ProduceRequest(topic="t", messages=b""),
        wire.MultiProduceRequest(),
        wire.MultiProduceRequest(produces=[wire.MultiProduceRequest.Produce(topic="t", messages=HI)]),
    ],
)
def test_produce_is_never_answered(peer: Peer, request_: Any) -> None:
    peer.send(request_)
    assert peer.offsets("elsewhere") == [0]  # the next answer is that of the next request


def test_a_message_that_is_too_large_drops_its_part_only(broker: Broker, peer: Peer) -> None:
    large = message(bytes(1_000_001), 0)
    part = wire.MultiProduceRequest.Produce
    peer.send(
        wire.MultiProduceRequest(
            produces=[
                part(topic="t", messages=HI),
                part(topic="u", messages=YO + large),
                part(topic="v", messages=message(bytes(1_000_000))),
            ]
        )
    )
    assert peer.fetch("t") == (0, HI)
    assert peer.fetch("u") == (0, b"")
    assert broker.offsets("v") == (0, 1_000_010)
    assert "u" in broker.topics()
    wrapped = message(gzip.compress(message(bytes(2_000_000), 0)), 1, 1)
    peer.produce("w", wrapped)
    assert peer.fetch("w") == (0, wrapped)


BAD = {
    "checksum": HI[:-1] + b"!",
    "checksum inside gzip": message(gzip.compress(HI[:-1] + b"!"), 1, 1),
    "magic": HI[:4] + b"\x02" + HI[5:],
    "codec": HI[:5] + b"\x03" + HI[6:],
    "gzip": message(b"not gzip", 1, 1),
    "negative length": b"\xff\xff\xff\xff" + HI,
    "length below the header": b"\x00\x00\x00\x04\x00\x00\x00\x00" + HI,
    "only a part of a message": HI[:-1],
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_a_set_that_cannot_be_stored_closes(broker: Broker, bad: bytes) -> None:
    peer = Peer(broker)
    peer.produce("t", bad)
    assert peer.closed()
    part = wire.MultiProduceRequest.Produce
    peer = Peer(broker)
    parts = [part(topic="a", messages=HI), part(topic="b", messages=bad), part(topic="c", messages=YO)]
    peer.send(wire.MultiProduceRequest(produces=parts))
    assert peer.closed()
    assert broker.record_set("a") == HI
    assert broker.record_set("t") == b""
    assert "c" not in broker.topics()


@pytest.mark.parametrize("length", [13, -1, -5, 1 << 30])
def test_a_length_of_messages_beyond_the_frame_closes(broker: Broker, peer: Peer, length: int) -> None:
    frame = wire.encode_request(wire.ProduceRequest(topic="t", messages=HI))
    peer.raw(frame[:-16] + length.to_bytes(4, "big", signed=True) + HI)
    assert peer.closed()
    assert broker.topics() == {}


def test_tails_are_left_away(broker: Broker, peer: Peer) -> None:
    peer.produce("t", HI + YO[:-1])
    assert peer.fetch("t") == (0, HI)
    frame = bytearray(wire.encode_request(wire.ProduceRequest(topic="t", messages=YO)) + b"behind")
    frame[:4] = (len(frame) - 4).to_bytes(4, "big")
    peer.raw(bytes(frame))
    assert peer.fetch("t") == (0, HI + YO)


def test_partitions_may_be_said_by_topic() -> None:
    with Broker(generation="0.7", topics={"wide": 3}, max_message_size=10) as broker:
        peer = Peer(broker)
        assert peer.fetch("wide", 99, partition=2) == (0, b"")
        assert peer.fetch("wide", partition=3) == peer.fetch("narrow", partition=1) == (3, b"")
        peer.produce("wide", message(bytes(11)), 2)
        assert peer.fetch("wide", 99, partition=2) == (1, b"")
        assert broker.topics() == {"wide": 3}


def test_partition_minus_one_is_any(broker: Broker, peer: Peer) -> None:
    for _ in range(64):
        peer.produce("t", HI, -1)
    assert peer.offsets("elsewhere") == [0]
    ends = [broker.offsets("t", partition=index)[1] for index in (0, 1)]
    assert sum(ends) == 64 * 12
    assert min(ends) > 0
    peer.produce("t", HI, 2)
    assert peer.closed()


STORED = {
    "gzip in gzip in snappy": message(gzip.compress(message(gzip.compress(HI), 1, 1)), 1, 1),
    "two gzip members": message(gzip.compress(HI) + gzip.compress(YO), 1, 1),
    "unused attribute bits": HI[:5] + b"\xf8" + HI[6:],
    "magic 0": message(b"hi", 0),
    "xerial snappy": records.encode([b"hi"], generation="0.7", compression="snappy"),
}


@pytest.mark.parametrize("good", STORED.values(), ids=STORED)
def test_what_can_be_read_is_stored_byte_for_byte(peer: Peer, good: bytes) -> None:
    peer.produce("t", good)
    assert peer.fetch("t") == (0, good)
    assert records.decode(good, generation="0.7").values()[0] == b"hi"


def test_offsets(broker: Broker, peer: Peer) -> None:
    assert peer.offsets("nowhere") == peer.offsets("nowhere", wire.EARLIEST, most=0) == [0]
    assert peer.offsets("nowhere", 5) == []
    broker.append("t", HI)
    assert peer.offsets("t") == [12, 0]
    assert peer.offsets("t", wire.EARLIEST) == [0]
    assert peer.offsets("t", most=0) == []
    assert peer.offsets("t", 1) == []
    assert peer.offsets("t", (1 << 62)) == [12, 0]


@pytest.mark.parametrize(("partition", "most"), [(0, -1), (2, 1), (-1, 1)])
def test_offsets_that_cannot_be_close(broker: Broker, peer: Peer, partition: int, most: int) -> None:
    broker.append("t", HI)
    peer.send(wire.OffsetsRequest(topic="t", partition=partition, max_offsets=most))
    assert peer.closed()


@pytest.mark.parametrize("request_type", [5, 6, 18, 255, -1])
def test_other_requests_close(peer: Peer, request_type: int) -> None:
    peer.raw(b"\x00\x00\x00\x08" + request_type.to_bytes(2, "big", signed=True) + bytes(6))
    assert peer.closed()


@pytest.mark.parametrize("size", [0, -1, 104_857_601])
def test_frames_of_impossible_sizes_close(peer: Peer, size: int) -> None:
    peer.raw(size.to_bytes(4, "big", signed=True))
    assert peer.closed()


def test_a_body_that_is_too_short_closes(peer: Peer) -> None:
    peer.raw(b"\x00\x00\x00\x05\x00\x01\x00\x01t")
    assert peer.closed()


def test_a_metadata_request_of_0_8_is_met_with_silence(peer: Peer) -> None:
    from kwire import protocol

    peer.raw(protocol.encode_request(protocol.MetadataRequest(), 0, client_id="c"))
    assert peer.offsets("nowhere") == [0]
    peer.raw(protocol.encode_request(protocol.ApiVersionsRequest(), 0, client_id="c"))
    assert peer.closed()


def test_requests_are_answered_in_order_however_they_come(broker: Broker) -> None:
    fetch = wire.encode_request(wire.FetchRequest(topic="t", max_size=99))
    both = wire.encode_request(wire.ProduceRequest(topic="t", messages=HI)) + fetch
    peer = Peer(broker)
    peer.raw(both + fetch)
    assert (peer.frame(), peer.frame()) == (b"\x00\x00" + HI, b"\x00\x00" + HI)
    for byte in both:
        peer.raw(bytes([byte]))
    assert peer.frame() == b"\x00\x00" + HI * 2
    peer.raw(fetch)
    peer.socket.shutdown(socket.SHUT_WR)
    assert peer.frame() == b"\x00\x00" + HI * 2
    assert peer.closed()


def test_a_topic_name_that_is_not_text_is_an_illegal_one(broker: Broker, peer: Peer) -> None:
    def frame(request_type: int, *parts: bytes) -> bytes:
        content = request_type.to_bytes(2, "big") + b"".join(parts)
        return len(content).to_bytes(4, "big") + content

    bad, good = b"\x00\x06a\xff\xe2\x82b\xc3", b"\x00\x01t"
    place = bytes(4) + bytes(8) + b"\0\0\0\x63"
    peer.produce("t", HI)
    peer.raw(frame(1, bad, place))
    assert peer.frame() == b"\xff\xff"
    peer.raw(frame(2, b"\0\2", bad, place, good, place))
    assert peer.frame() == b"\0\0" + b"\0\0\0\2\xff\xff" + b"\0\0\0\x0e\0\0" + HI
    part = bytes(4) + len(YO).to_bytes(4, "big") + YO
    peer.raw(frame(3, b"\0\2", good, part, bad, part))
    assert peer.closed()
    assert broker.record_set("t") == HI + YO


def test_a_bad_size_behind_a_good_request_closes(broker: Broker, peer: Peer) -> None:
    fetch = wire.encode_request(wire.FetchRequest(topic="t", max_size=99))
    peer.raw(wire.encode_request(wire.ProduceRequest(topic="t", messages=HI)) + fetch + b"\xff\xff\xff\xff")
    assert peer.frame() == b"\x00\x00" + HI
    assert peer.closed()


def test_what_is_not_flushed_cannot_be_seen() -> None:
    with Broker(generation="0.7", log_flush_interval=3) as broker:
        peer = Peer(broker)
        peer.produce("t", HI + YO)
        assert peer.offsets("t") == [0]
        assert peer.fetch("t") == (0, b"")
        assert peer.fetch("t", 12) == (1, b"")
        peer.produce("t", message(gzip.compress(b""), 1, 1))  # counts for nothing
        assert peer.offsets("t") == [0]
        peer.produce("t", HI)
        assert peer.offsets("t")[-1] == 0
        code, data = peer.fetch("t")
        assert (code, records.decode(data, generation="0.7").values()) == (0, [b"hi", b"yo", b"hi"])


def test_faults_go_by_the_names_of_0_7(broker: Broker) -> None:
    broker.faults.close("Offsets")
    broker.faults.error("Fetch", 4)
    peer = Peer(broker)
    assert peer.fetch("t") == (4, b"")
    peer.send(wire.OffsetsRequest(topic="t"))
    assert peer.closed()
    assert broker.request_count("Offsets") == 1
    with pytest.raises(ConfigError, match="no API is named 'Metadata'; known are Produce, Fetch, MultiFetch"):
        broker.faults.close("Metadata")


def test_without_a_client(broker: Broker) -> None:
    assert broker.release == "0.7.2"
    assert broker.append("t", HI, partition=1) == 0
    assert broker.append("t", YO, partition=1) == 12
    assert broker.topics() == {"t": 2}
    broker.create_topic("three", 3)
    assert broker.topics() == {"t": 2, "three": 3}
    broker.delete_topic("t")
    with pytest.raises(UnknownTopicError, match="no topic 't'"):
        broker.record_set("t")
    with pytest.raises(ConfigError, match="would refuse it"):
        broker.append("t", HI[:-1])
    with pytest.raises(ConfigError, match="would refuse it"):
        broker.create_topic("a/b", 1)
    with pytest.raises(ConfigError, match="topics of Kafka 0"):
        broker.create_topic("t", 1, settings={"a": "b"})
    with pytest.raises(ConfigError, match=r"generation '0\.6'"):
        Broker(generation="0.6")
