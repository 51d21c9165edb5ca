"""`kwire decode` of frames and of record fields: from hex in every form, from files, and down to one byte."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from kwire import errors, protocol, records
from kwire.cli.hex_dumps import bytes_of_hex, looks_like_hex
from tests.cli.captures import CLIENT, SERVER, tcp
from tests.cli.conftest import Kwire
from tests.timing import PATIENT

REQUEST = protocol.encode_request(
    protocol.MetadataRequest(topics=[protocol.MetadataRequest.MetadataRequestTopic(name="orders")]),
    9, correlation_id=7, client_id="app",
)  # fmt: skip
RESPONSE = protocol.encode_response(
    protocol.MetadataResponse(topics=[protocol.MetadataResponse.MetadataResponseTopic(name="orders", error_code=3)]),
    9, correlation_id=7,
)  # fmt: skip


def xxd(data: bytes) -> str:
    rows = [data[at : at + 16] for at in range(0, len(data), 16)]
    return "\n".join(f"{16 * n:08x}: {row.hex(' ', -2):39}  {_printable(row)}" for n, row in enumerate(rows))


def hexdump_canonical(data: bytes) -> str:
    lines = []
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        digits = "  ".join(part.hex(" ") for part in (row[:8], row[8:]) if part)
        lines.append(f"{at:08x}  {digits:48}  |{_printable(row)}|")
    return "\n".join([*lines, f"{len(data):08x}"])


def hexdump_words(data: bytes) -> str:
    lines = []
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        lines.append(f"{at:07x} " + " ".join(row[n : n + 2][::-1].hex() for n in range(0, len(row), 2)))
    return "\n".join([*lines, f"{len(data):07x}"])


def tcpdump(*packets: bytes) -> str:
    lines = []
    for packet in packets:
        lines.append("14:03:07.123456 IP 10.0.0.1.51234 > 10.0.0.2.9092: Flags [P.], length 40")
        for at in range(0, len(packet), 16):
            lines.append(f"\t0x{at:04x}:  {packet[at : at + 16].hex(' ', -2)}")
    return "\n".join(lines)


def _printable(row: bytes) -> str:
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)


EVEN = REQUEST + b"\0" * (len(REQUEST) % 2)
FORMS = {
    "digits": REQUEST.hex(),
    "blanks": REQUEST.hex(" ", 4),
    "colons": REQUEST.hex(":"),
    "0x": ", ".join(f"0x{byte:02x}" for byte in REQUEST),
    "escapes": "".join(f"\\x{byte:02x}" for byte in REQUEST),
    "lines": "\n".join(REQUEST[at : at + 5].hex(" ") for at in range(0, len(REQUEST), 5)),
    "xxd": xxd(REQUEST),
    "hexdump -C": hexdump_canonical(REQUEST),
    "tcpdump -x": tcpdump(tcp(CLIENT, SERVER, 1, REQUEST[:20]), tcp(CLIENT, SERVER, 21, REQUEST[20:])),
}


@pytest.mark.parametrize("form", FORMS)
def test_hex_in_every_form(form: str) -> None:
    assert bytes_of_hex(FORMS[form])[0] == REQUEST
    assert looks_like_hex(FORMS[form].encode()) == (form != "tcpdump -x") or form == "tcpdump -x"


def test_words_of_hexdump_and_od_are_turned_around() -> None:
    assert bytes_of_hex(hexdump_words(EVEN))[0] == EVEN


@pytest.mark.parametrize(
    ("command", "exact"),
    [(["xxd"], True), (["hexdump", "-C"], True), (["hexdump"], False), (["od", "-An", "-tx1"], True)],
    ids=lambda command: " ".join(command) if isinstance(command, list) else "",
)
def test_what_the_tools_of_this_machine_print(command: list[str], exact: bool) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    printed = subprocess.run(command, input=EVEN, capture_output=True, check=True, timeout=PATIENT).stdout.decode()
    assert bytes_of_hex(printed)[0] == EVEN
    assert looks_like_hex(printed.encode()) or not exact


def test_text_that_is_no_hex() -> None:
    assert not looks_like_hex(b"hello world")
    assert not looks_like_hex(b"")
    assert not looks_like_hex(REQUEST)
    with pytest.raises(errors.ConfigError, match="'h'"):
        bytes_of_hex("hello")
    with pytest.raises(errors.ConfigError, match="odd number"):
        bytes_of_hex("012")


def test_a_request_says_itself_what_it_is(kwire: Kwire) -> None:
    outcome = kwire("decode", "--hex", REQUEST.hex())
    assert outcome.code == 0
    assert outcome.lines[0].startswith("Metadata request v9, correlation id 7, client 'app'")
    assert any(line.split()[2:4] == ["name", "compact"] for line in outcome.lines)


def test_hex_from_a_pipe_is_seen_to_be_hex(kwire: Kwire) -> None:
    outcome = kwire("decode", "-", stdin=xxd(REQUEST).encode())
    assert outcome.lines[0].startswith("Metadata request v9")
    assert f"taken for hex, {len(REQUEST)} bytes" in outcome.err
    assert kwire("decode", "--hex", "-", stdin=xxd(REQUEST).encode()).lines == outcome.lines


def test_a_file_of_frames(kwire: Kwire, tmp_path: Path) -> None:
    path = tmp_path / "frames.bin"
    path.write_bytes(REQUEST * 3)
    outcome = kwire("decode", "--json", str(path))
    assert [json.loads(line)["correlation_id"] for line in outcome.lines] == [7, 7, 7]
    at = kwire("decode", "--at", str(len(REQUEST) + REQUEST.index(b"orders")), str(path))
    assert at.lines[0] == f"at byte {len(REQUEST)}:"
    assert at.lines[-1].split()[2:] == ["name", "compact", "string", '"orders"']


def test_a_response_is_named_by_its_request(kwire: Kwire) -> None:
    for name in ("Metadata:9", "metadata:9", "3:9"):
        outcome = kwire("decode", "--response", name, "--hex", RESPONSE.hex())
        assert outcome.code == 0
        assert outcome.lines[0].startswith("Metadata response v9")
        assert any("UNKNOWN_TOPIC_OR_PARTITION" in line for line in outcome.lines)


def test_an_unnamed_response_gets_advice(kwire: Kwire) -> None:
    outcome = kwire("decode", "--hex", RESPONSE.hex())
    assert outcome.code == 1
    assert "name its request with --response API:VERSION" in outcome.err
    assert "Metadata:9" in outcome.err
    assert outcome.err.count("\n") == 1
    odd = kwire("decode", "--hex", "0000000a" + "ee" * 10)
    assert "No response known to kwire fits" in odd.err


def test_a_cut_frame_is_shown_as_far_as_it_goes(kwire: Kwire) -> None:
    outcome = kwire("decode", "--hex", REQUEST[:-4].hex())
    assert outcome.code == 1
    assert any("undecoded" in line for line in outcome.lines)
    assert outcome.lines[-1].startswith("TruncatedError: ")
    assert "damaged" in outcome.err


def test_colours_on_demand(kwire: Kwire) -> None:
    plain = kwire("decode", "--hex", REQUEST.hex()).out
    coloured = kwire("decode", "--color", "always", "--hex", REQUEST.hex()).out
    assert b"\x1b[" not in plain
    assert b"\x1b[" in coloured


def test_fields_of_records(kwire: Kwire, tmp_path: Path) -> None:
    data = records.encode([(b"one", b"k"), b"two"]) + records.encode([b"three"], compression="lz4", base_offset=2)
    outcome = kwire("decode", "-", stdin=data)
    assert outcome.code == 0
    (line,) = (line for line in outcome.lines if '"three"' in line)
    assert line.startswith("~")
    assert line.split()[-4:] == ["value", "varint", "bytes", '"three"']
    at = kwire("decode", "--at", str(data.index(b"two")), "-", stdin=data)
    assert at.lines[-1].split()[2:] == ["value", "varint", "bytes", '"two"']
    plain = json.loads(kwire("decode", "--json", "-", stdin=data).out)
    assert [field["type"] for field in plain["fields"]] == ["record batch", "record batch"]
    damaged = kwire("decode", "-", stdin=data.replace(b"one", b"0ne"))
    assert damaged.code == 1
    assert "WRONG" in damaged.out.decode()


def test_frames_and_messages_of_kafka_0_7(kwire: Kwire) -> None:
    old = protocol.kafka_0_7
    data = records.encode([b"one", b"two"], generation="0.7")
    asked = old.encode_request(old.ProduceRequest(topic="orders", messages=data))
    request = kwire("decode", "--generation", "0.7", "--hex", asked.hex())
    assert request.lines[0].startswith("Produce request, ")
    assert any(line.endswith('"two"') for line in request.lines)
    answer = old.encode_response(old.FetchResponse(messages=data)).hex()
    for name in ("Fetch", "1"):
        response = kwire("decode", "--generation", "0.7", "--response", name, "--hex", answer)
        assert any(line.endswith('"two"') for line in response.lines)
    fields = kwire("decode", "--generation", "0.7", "-", stdin=data)
    assert any(line.endswith('"two"') for line in fields.lines)
    wrong = kwire("decode", "--generation", "0.7", "--response", "Fetch:1", "--hex", answer)
    assert "has no versions" in wrong.err


def test_a_segment_of_an_own_topic_is_known_by_its_folder(kwire: Kwire, tmp_path: Path) -> None:
    key, value = protocol.logs.OffsetCommitKey(group="g", topic="t"), protocol.logs.OffsetCommitValue(offset=42)
    folder = tmp_path / "__consumer_offsets-12"
    folder.mkdir()
    path = folder / "00000000000000000000.log"
    path.write_bytes(records.encode([(value.to_log(3), key.to_log())]))
    assert "OffsetCommitValue v3" in kwire("decode", str(path)).out.decode()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--response", "Metadatum:9"], "write API:VERSION"),
        (["--response", "Metadata"], "write API:VERSION"),
        (["--at", "999"], "--at 999: the input has"),
    ],
)
def test_wrong_usage(kwire: Kwire, arguments: list[str], said: str) -> None:
    outcome = kwire("decode", *arguments, "--hex", REQUEST.hex())
    assert outcome.code == 2
    assert said in outcome.err
