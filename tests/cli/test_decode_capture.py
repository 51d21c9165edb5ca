"""`kwire decode` of packet captures: pairs, filters, gaps, truncation, and what is said about guesses."""

from __future__ import annotations

import gzip
import json
import random
import struct
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kwire import protocol, records
from tests.cli.captures import CLIENT, FILES, SERVER, START_NS, Packet, Wire, pcap, pcapng, shuffled, tcp
from tests.cli.conftest import Kwire
from tests.thorough import THOROUGH

ORDERS = UUID(int=7 << 64)
VALUES = [b"value %d" % n for n in range(40)]


def request(message: Any, version: int, correlation_id: int) -> bytes:
    return protocol.encode_request(message, version, correlation_id=correlation_id, client_id="app")


def response(message: Any, version: int, correlation_id: int) -> bytes:
    return protocol.encode_response(message, version, correlation_id=correlation_id)


def produce(correlation_id: int, *, acks: int = -1, topic: str = "orders") -> bytes:
    data = protocol.ProduceRequest.TopicProduceData
    part = data.PartitionProduceData(index=0, records=records.encode(VALUES, compression="gzip"))
    return request(
        protocol.ProduceRequest(acks=acks, topic_data=[data(name=topic, partition_data=[part])]), 9, correlation_id
    )


def produced(correlation_id: int, *, error_code: int = 0) -> bytes:
    topic = protocol.ProduceResponse.TopicProduceResponse
    part = topic.PartitionProduceResponse(error_code=error_code, base_offset=100)
    return response(protocol.ProduceResponse(responses=[topic(name="orders", partition_responses=[part])]), 9,
                    correlation_id)  # fmt: skip


def metadata(correlation_id: int) -> bytes:
    topic = protocol.MetadataResponse.MetadataResponseTopic(name="orders", topic_id=ORDERS)
    return response(protocol.MetadataResponse(topics=[topic]), 12, correlation_id)


def fetched(correlation_id: int) -> bytes:
    topic = protocol.FetchResponse.FetchableTopicResponse
    part = topic.PartitionData(records=records.encode(VALUES))
    return response(protocol.FetchResponse(responses=[topic(topic_id=ORDERS, partitions=[part])]), 13, correlation_id)


def conversation(wire: Wire | None = None) -> Wire:
    """ApiVersions, Metadata, two Produces at once, one without an answer, a Fetch by topic id: 9 frames."""
    wire = wire or Wire().open()
    offer = protocol.ApiVersionsResponse(
        api_keys=[
            protocol.ApiVersionsResponse.ApiVersion(api_key=key, min_version=least, max_version=most)
            for key, (least, most) in protocol.versions_of("3.9.0").items()
        ]
    )
    wire.ask(request(protocol.ApiVersionsRequest(), 3, 1)).answer(response(offer, 3, 1))
    wire.ask(request(protocol.MetadataRequest(topics=None), 12, 2)).answer(metadata(2))
    wire.ask(produce(3) + produce(4, acks=0)).answer(produced(3, error_code=6))
    wire.ask(request(protocol.FetchRequest(), 13, 5)).answer(fetched(5))
    return wire


def write(folder: Path, data: bytes) -> str:
    path = folder / "trace.pcap"
    path.write_bytes(data)
    return str(path)


EXPECTED = [
    ("request", "ApiVersions", 3, 1), ("response", "ApiVersions", 3, 1), ("request", "Metadata", 12, 2),
    ("response", "Metadata", 12, 2), ("request", "Produce", 9, 3), ("request", "Produce", 9, 4),
    ("response", "Produce", 9, 3), ("request", "Fetch", 13, 5), ("response", "Fetch", 13, 5),
]  # fmt: skip


def heads(lines: list[str]) -> list[tuple[str, str, int, int]]:
    rows = [json.loads(line) for line in lines]
    return [(row["kind"], row["api_name"], row["version"], row["correlation_id"]) for row in rows]


@pytest.mark.parametrize("form", FILES)
@pytest.mark.parametrize("size", [1448, 100, 7])
def test_requests_and_their_responses(kwire: Kwire, tmp_path: Path, form: str, size: int) -> None:
    wire = Wire().open()
    for packet_wire, way in ((conversation(), size),):
        for packet in packet_wire.packets[3:]:
            payload = packet.data[52:]
            (wire.ask if packet.data[12:16] == bytes([10, 0, 0, 1]) else wire.answer)(payload, size=way)
    outcome = kwire("decode", "--json", write(tmp_path, FILES[form](wire.packets)))
    assert outcome.code == 0
    assert heads(outcome.lines) == EXPECTED
    rows = [json.loads(line) for line in outcome.lines]
    assert [row.get("answers") for row in rows] == [None, 1, None, 3, None, None, 5, None, 8]
    assert all("errors" not in row for row in rows)
    assert rows[0]["from"] == "10.0.0.1:51234"
    assert rows[0]["to"] == "10.0.0.2:9092"
    assert "10.0.0.2:9092 was taken for a broker" in outcome.err
    assert "10.0.0.2:9092 offers the versions of Kafka 3.9" in outcome.err


def test_the_order_of_packets_does_not_matter(kwire: Kwire, tmp_path: Path) -> None:
    wire = conversation()
    rng = random.Random(1)
    for _ in range(20):
        packets = [*wire.packets[:3], *shuffled(wire.packets[3:], rng)]
        outcome = kwire("decode", "--json", "--summary", write(tmp_path, pcap(packets)))
        assert sorted(heads(outcome.lines)) == sorted(EXPECTED)
        assert "belong to no frame" not in outcome.err


def test_the_summary_is_a_line_per_frame(kwire: Kwire, tmp_path: Path) -> None:
    outcome = kwire("decode", "--summary", write(tmp_path, pcap(conversation().packets)))
    assert len(outcome.lines) == 9
    first, answer = outcome.lines[0].split(), outcome.lines[1].split()
    assert first[:7] == ["1", "2023-11-14T22:13:20.126456Z", "1", "→", "ApiVersions", "v3", "id"]
    assert answer[3] == "←"
    assert answer[-2:] == ["1.000", "ms"]
    assert first[-1] == "B"


def test_the_summary_names_topics_partitions_and_error_codes(kwire: Kwire, tmp_path: Path) -> None:
    path = write(tmp_path, pcap(conversation().packets))
    lines = kwire("decode", "--summary", path).lines
    ends = {(line.split()[3], line.split()[4]): line.rpartition("  ")[2] for line in lines[3:]}
    assert ends["←", "Metadata"] == "orders"
    assert ends["→", "Produce"] == "orders-0"
    assert ends["←", "Produce"] == "orders-0 NOT_LEADER_OR_FOLLOWER"
    assert ends["←", "Fetch"] == "orders-0"
    rows = [json.loads(line) for line in kwire("decode", "--summary", "--json", path).lines]
    (failed,) = [row for row in rows if "error_codes" in row]
    assert (failed["topics"], failed["error_codes"]) == ({"orders": [0]}, ["NOT_LEADER_OR_FOLLOWER"])


def test_a_compressed_capture(kwire: Kwire, tmp_path: Path) -> None:
    data = pcap(conversation().packets)
    plain = kwire("decode", "--summary", write(tmp_path, data))
    packed = kwire("decode", "--summary", write(tmp_path, gzip.compress(data)))
    assert (packed.code, packed.out) == (0, plain.out)


def test_many_topics_and_partitions_are_cut_short(kwire: Kwire, tmp_path: Path) -> None:
    topic = protocol.OffsetFetchRequest.OffsetFetchRequestTopic
    asked = protocol.OffsetFetchRequest(
        group_id="g", topics=[topic(name=f"t{n}", partition_indexes=range(5)) for n in range(5)]
    )
    wire = Wire().open().ask(request(asked, 7, 1))
    (line,) = kwire("decode", "--summary", "--port", "9092", write(tmp_path, pcap(wire.packets))).lines
    assert line.endswith("  t0-0,1,2,+2 t1-0,1,2,+2 t2-0,1,2,+2 +2 topics")


def test_fields_of_a_frame(kwire: Kwire, tmp_path: Path) -> None:
    outcome = kwire("decode", "--frame", "5", write(tmp_path, pcap(conversation().packets)))
    text = outcome.out.decode()
    assert text.startswith("#5  2023-11-14T22:13:20.130456Z  10.0.0.1:51234 → 10.0.0.2:9092\nProduce request v9")
    assert "all in-sync replicas" in text
    assert '"value 39"' not in text
    assert "20 more, not shown" in text
    every = kwire("decode", "--frame", "5", "--items", "all", write(tmp_path, pcap(conversation().packets)))
    assert b'"value 39"' in every.out


def test_topics_are_named_by_what_metadata_told(kwire: Kwire, tmp_path: Path) -> None:
    path = write(tmp_path, pcap(conversation().packets))
    assert "orders" in kwire("decode", "--key", "Fetch", path).out.decode()
    assert (
        heads(kwire("decode", "--json", "--topic", "orders", path).lines)
        == [row for row in EXPECTED if row[1] in ("Produce", "Metadata") or row == EXPECTED[-1]][1:]
    )
    assert kwire("decode", "--topic", "none", path).lines == []


@pytest.mark.parametrize(
    ("arguments", "numbers"),
    [
        (["--key", "produce"], [5, 6, 7]),
        (["--key", "0", "--key", "Fetch"], [5, 6, 7, 8, 9]),
        (["--correlation", "3"], [5, 7]),
        (["--frame", "4"], [4]),
        (["--errors"], [7]),
        (["--from", "22:13:20.131"], [7, 8, 9]),
        (["--to", "2023-11-14T22:13:20.127Z"], [1]),
        (["--from", "2023-11-15"], []),
        (["--port", "9092"], [1, 2, 3, 4, 5, 6, 7, 8, 9]),
        (["--port", "9093"], []),
    ],
)
def test_filters(kwire: Kwire, tmp_path: Path, arguments: list[str], numbers: list[int]) -> None:
    path = write(tmp_path, pcap(conversation().packets))
    for summary in ([], ["--summary"]):
        lines = kwire("decode", "--json", *summary, *arguments, path).lines
        assert [json.loads(line)["frame"] for line in lines] == numbers


def test_errors_are_named(kwire: Kwire, tmp_path: Path) -> None:
    outcome = kwire("decode", "--summary", "--errors", write(tmp_path, pcap(conversation().packets)))
    (line,) = outcome.lines
    assert line.endswith("NOT_LEADER_OR_FOLLOWER")


@pytest.mark.parametrize("form", FILES)
def test_from_a_byte_of_the_file_to_its_field(kwire: Kwire, tmp_path: Path, form: str) -> None:
    data = FILES[form](conversation().packets)
    path = write(tmp_path, data)
    at = data.rindex(b"orders")
    outcome = kwire("decode", "--at", str(at), path)
    head, title, *_, line = outcome.out.decode().rstrip().splitlines()
    assert head.startswith("#7 ")
    assert title.startswith("Produce response v9")
    assert line.split()[2:] == ["name", "compact", "string", '"orders"']
    inside = kwire("decode", "--frame", "7", "--at", "0", path)
    assert inside.out.decode().rstrip().splitlines()[-1].split()[2:4] == ["size", "int32"]
    nowhere = kwire("decode", "--at", "3", path)
    assert (nowhere.out, "byte 3 of the file belongs to no frame" in nowhere.err) == (b"", True)


def test_a_lost_packet_costs_its_frame_and_says_so(kwire: Kwire, tmp_path: Path) -> None:
    wire = Wire().open()
    for number in range(1, 40):
        wire.ask(request(protocol.MetadataRequest(topics=None), 12, number), size=20).answer(metadata(number), size=30)
    packets = [packet for place, packet in enumerate(wire.packets) if place != 40]
    outcome = kwire("decode", "--json", "--summary", write(tmp_path, pcap(packets)))
    rows = [json.loads(line) for line in outcome.lines]
    whole = [row for row in rows if row["kind"] in ("request", "response") and "missing" not in row]
    assert len(whole) >= 76
    assert sum("missing" in row for row in rows) <= 2


def test_a_capture_with_a_snap_length_shows_the_beginning_of_every_frame(kwire: Kwire, tmp_path: Path) -> None:
    packets = [Packet(packet.data, packet.time_ns, 14 + 52 + 24) for packet in conversation().packets]
    outcome = kwire("decode", "--json", write(tmp_path, pcap(packets)))
    rows = [json.loads(line) for line in outcome.lines]
    assert [(row["kind"], row["api_name"]) for row in rows if row["frame"] != 6 and "api_name" in row][:5] == [
        (kind, name) for kind, name, *_ in EXPECTED
    ][:5]
    produce_row = rows[4]
    assert produce_row["missing"] > 0
    assert produce_row["errors"][0]["error"] == "TruncatedError"
    assert produce_row["fields"][1]["fields"][3]["value"] == "app"


def test_a_capture_that_begins_in_the_middle_finds_the_next_frame(kwire: Kwire, tmp_path: Path) -> None:
    big = produce(9) + produce(10)
    wire = Wire()
    wire.ask(big[40:], size=300).answer(produced(10))
    conversation(wire)
    outcome = kwire("decode", "--json", "--summary", "--port", "9092", write(tmp_path, pcap(wire.packets)))
    rows = [json.loads(line) for line in outcome.lines]
    assert [(row["api_name"], row["correlation_id"]) for row in rows[:2]] == [("Produce", 10), ("Produce", 10)]
    assert heads(outcome.lines[2:]) == EXPECTED
    assert "belong to no frame" in outcome.err


def test_a_response_without_its_request_is_said(kwire: Kwire, tmp_path: Path) -> None:
    wire = Wire().open().answer(produced(77)).ask(produce(1)).answer(produced(1))
    outcome = kwire("decode", write(tmp_path, pcap(wire.packets)), "--port", "9092")
    assert "response, correlation id 77" in outcome.out.decode()
    assert "its request is not in the capture" in outcome.out.decode()
    assert "responses whose request is not in the capture: 1" in outcome.err


def test_a_size_of_a_gigabyte_is_no_frame(kwire: Kwire, tmp_path: Path) -> None:
    wire = Wire().open().ask(produce(1)).ask(struct.pack(">i", 2**30) + b"\xee" * 200).ask(produce(2))
    outcome = kwire("decode", "--json", "--summary", write(tmp_path, pcap(wire.packets)))
    assert [json.loads(line)["correlation_id"] for line in outcome.lines] == [1, 2]
    assert "204 bytes of its requests belong to no frame" in outcome.err


def test_what_is_not_kafka_is_counted_and_passed_over(kwire: Kwire, tmp_path: Path) -> None:
    web = Wire(client=("10.0.0.1", 4000), server=("10.0.0.3", 80)).open().ask(b"GET / HTTP/1.1\r\n\r\n")
    tls = Wire(client=("10.0.0.1", 4001), server=("10.0.0.3", 9093)).open().ask(b"\x16\x03\x01" + bytes(200))
    odd = [Packet(b"\x45" + bytes(60), START_NS), Packet(b"\x75" + bytes(60), START_NS)]
    packets = [*web.packets, *tls.packets, *odd, *conversation().packets]
    outcome = kwire("decode", "--json", "--summary", write(tmp_path, pcap(packets)))
    assert heads(outcome.lines) == EXPECTED
    assert "connections with TLS, which cannot be read here: 1" in outcome.err
    assert "connections that do not begin with a Kafka request: 1" in outcome.err
    assert "packets skipped, not TCP: 1" in outcome.err


def test_sasl_tokens_are_told_apart_and_masked(kwire: Kwire, tmp_path: Path) -> None:
    handshake = protocol.SaslHandshakeRequest(mechanism="PLAIN")
    token = b"\0alice\0hunter2"
    wire = Wire().open()
    wire.ask(request(handshake, 0, 1)).answer(response(protocol.SaslHandshakeResponse(mechanisms=["PLAIN"]), 0, 1))
    wire.ask(len(token).to_bytes(4, "big") + token).answer(bytes(4))
    conversation(wire)
    outcome = kwire("decode", write(tmp_path, pcap(wire.packets)))
    text = outcome.out.decode()
    assert text.count("SASL token") == 2
    assert "hunter2" not in text
    assert token.hex() not in text
    lines = kwire("decode", "--json", "--summary", write(tmp_path, pcap(wire.packets))).lines
    assert heads([*lines[:2], *lines[4:]])[2:] == EXPECTED
    wrapped = Wire().open().ask(request(protocol.SaslAuthenticateRequest(auth_bytes=token), 2, 1))
    path = write(tmp_path, pcap(wrapped.packets))
    assert token.hex() not in kwire("decode", path).out.decode()
    assert token.hex() in kwire("decode", "--secrets", path).out.decode()


def conversation_of_0_7(wire: Wire) -> Wire:
    old = protocol.kafka_0_7
    data = records.encode([b"one", b"two"], generation="0.7")
    wire.ask(old.encode_request(old.ProduceRequest(topic="t", messages=data)))
    wire.ask(old.encode_request(old.OffsetsRequest(topic="orders")) + old.encode_request(old.FetchRequest(topic="t")))
    wire.answer(old.encode_response(old.OffsetsResponse(offsets=[22, 0])))
    wire.answer(old.encode_response(old.FetchResponse(messages=data)))
    fetches = [old.MultiFetchRequest.Fetch(topic="orders")] * 2
    wire.ask(old.encode_request(old.MultiFetchRequest(fetches=fetches)))
    parts = [old.FetchedPart(error_code=1), old.FetchedPart(messages=data)]
    return wire.answer(old.encode_response(old.MultiFetchResponse(parts=parts)))


def test_kafka_0_7_is_told_or_found_out_and_said(kwire: Kwire, tmp_path: Path) -> None:
    packets = [*conversation_of_0_7(Wire(client=("10.0.0.9", 4000)).open()).packets, *conversation().packets]
    path = write(tmp_path, pcap(packets))
    outcome = kwire("decode", "--json", path)
    rows = [json.loads(line) for line in outcome.lines]
    assert [(row["kind"], row["api_name"], row["generation"]) for row in rows if row["connection"] == 1] == [
        ("request", "Produce", "0.7"), ("request", "Offsets", "0.7"), ("request", "Fetch", "0.7"),
        ("response", "Offsets", "0.7"), ("response", "Fetch", "0.7"), ("request", "MultiFetch", "0.7"),
        ("response", "MultiFetch", "0.7"),
    ]  # fmt: skip
    assert [row.get("answers") for row in rows[:7]] == [None, None, None, 2, 3, None, 6]
    assert all("errors" not in row for row in rows)
    assert heads([line for line in outcome.lines if json.loads(line)["connection"] == 2]) == EXPECTED
    assert "connection 1 was taken for Kafka 0.7, by its first request" in outcome.err
    text = kwire("decode", "--frame", "7", path).out.decode()
    assert "OffsetOutOfRangeCode" in text
    assert '"two"' in text
    told = write(tmp_path, pcap(conversation_of_0_7(Wire()).packets))
    lines = kwire("decode", "--summary", "--generation", "0.7", "--port", "9092", told).lines
    assert [line.split()[4:6] for line in lines][:2] == [["Produce", "0.7"], ["Offsets", "0.7"]]


def test_tokens_of_kafka_0_9_come_without_a_handshake(kwire: Kwire, tmp_path: Path) -> None:
    token = b"\x60\x82\x02\x5a" + b"gssapi" * 20
    wire = Wire().open().ask(len(token).to_bytes(4, "big") + token).answer(b"\x00\x00\x00\x04\x60\x01\x02\x03")
    wire.ask(request(protocol.MetadataRequest(topics=None), 12, 2)).answer(metadata(2))
    outcome = kwire("decode", "--port", "9092", write(tmp_path, pcap(wire.packets)))
    assert outcome.out.decode().count("SASL token") == 2
    assert "gssapi" not in outcome.out.decode()
    assert "Metadata response v12" in outcome.out.decode()


def test_times_beyond_the_calendar_are_numbers(kwire: Kwire, tmp_path: Path) -> None:
    packets = [Packet(packet.data, 2**63) for packet in conversation().packets]
    outcome = kwire("decode", "--summary", write(tmp_path, pcapng(packets, nanoseconds=True)))
    assert len(outcome.lines) == 9
    far = [Packet(packet.data, 2**62 * 1000) for packet in conversation().packets]
    assert " ns " in kwire("decode", "--summary", write(tmp_path, pcapng(far))).lines[0]


def test_a_port_used_again_is_another_connection(kwire: Kwire, tmp_path: Path) -> None:
    first = conversation().close()
    second = conversation(Wire(client_sequence=99, server_sequence=5, time_ns=first.time_ns).open())
    outcome = kwire("decode", "--json", "--summary", write(tmp_path, pcap([*first.packets, *second.packets])))
    assert heads(outcome.lines) == EXPECTED * 2
    assert {json.loads(line)["connection"] for line in outcome.lines} == {1, 2}


def test_several_connections_at_once(kwire: Kwire, tmp_path: Path) -> None:
    wires = [conversation(Wire(client=("10.0.0.1", 4000 + n)).open()) for n in range(5)]
    packets = [packet for step in zip(*(wire.packets for wire in wires), strict=True) for packet in step]
    outcome = kwire("decode", "--json", "--summary", write(tmp_path, pcap(packets)))
    for number in range(1, 6):
        assert heads([line for line in outcome.lines if json.loads(line)["connection"] == number]) == EXPECTED


def test_a_capture_from_a_pipe(kwire: Kwire) -> None:
    outcome = kwire("decode", "--json", "--summary", "-", stdin=pcap(conversation().packets))
    assert heads(outcome.lines) == EXPECTED


def test_a_capture_without_kafka_says_so(kwire: Kwire, tmp_path: Path) -> None:
    outcome = kwire("decode", write(tmp_path, pcap([Packet(tcp(CLIENT, SERVER, 1, b"x" * 20), START_NS)])))
    assert (outcome.code, outcome.out) == (0, b"")
    assert "no frame to show" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--key", "Fetsch"], "not an API"),
        (["--from", "noon"], "write a time as 14:03"),
        (["--as", "capture", "--hex", "00"], "--as capture needs a file"),
    ],
)
def test_wrong_usage(kwire: Kwire, tmp_path: Path, arguments: list[str], said: str) -> None:
    file = [] if "--hex" in arguments else [write(tmp_path, pcap(conversation().packets))]
    outcome = kwire("decode", *arguments, *file)
    assert outcome.code == 2
    assert said in outcome.err


def test_damaged_captures_end_in_one_line_or_none(kwire: Kwire, tmp_path: Path) -> None:
    whole = [write_file(conversation().packets) for write_file in FILES.values()]
    rng = random.Random(2)
    for _ in range(150 if THOROUGH else 15):
        data = bytearray(rng.choice(whole))
        for _ in range(rng.randint(1, 8)):
            data[rng.randrange(24, len(data))] = rng.choice((0, 0xFF, rng.randrange(256)))
        outcome = kwire("decode", write(tmp_path, bytes(data)))
        assert "Traceback" not in outcome.err
        assert outcome.code == 0 or outcome.err.splitlines()[-1].startswith("kwire decode: ")
