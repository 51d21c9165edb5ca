"""Tries an installed kwire by itself: no tool of development, no optional package, nothing of the source tree.

`make wheel` runs it in a bare environment, and cibuildwheel beside each wheel that is published.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import kwire
from kwire import Admin, Consumer, Producer, protocol, records, testing
from kwire._values import ColumnLayout, TextPlan, decode_json

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
RECORDS = 1000


def main() -> None:
    """All that is tried; the first thing that fails ends it."""
    installed = Path(kwire.__file__)
    assert installed.is_relative_to(sysconfig.get_path("platlib")), f"{installed} is not the installed package"
    try_records()
    try_values()
    try_messages()
    try_clients()
    try_shell()
    print(f"kwire {kwire.__version__} on Python {sys.version.split()[0]}, {sysconfig.get_platform()}: works")


def try_records() -> None:
    """Each format and each codec, there and back."""
    for codec in CODECS:
        for magic in (0, 1, 2):
            if (magic, codec) not in {(0, "zstd"), (1, "zstd")}:
                wire = records.encode([b"first", (b"second", b"key")], magic=magic, compression=codec)
                assert records.decode(wire).values() == [b"first", b"second"], (magic, codec)


def try_values() -> None:
    """The decoders of values, an extension of their own."""
    plan = TextPlan(ColumnLayout([("", "+s", (1,)), ("n", "l", ())]))
    columns = decode_json(records.decode(records.encode([b'{"n": 1}'])), plan)
    assert (len(columns), columns.faults) == (1, [])


def try_messages() -> None:
    """A request's frame, there and back."""
    request = protocol.ApiVersionsRequest(client_software_name="trial", client_software_version="1")
    frame = protocol.encode_request(request, 3, correlation_id=7, client_id="trial")
    header, found = protocol.decode_request(frame)
    assert (header.correlation_id, found) == (7, request)


def try_clients() -> None:
    """Clients and the embedded broker, over TCP."""
    with testing.Broker() as broker:
        with Admin(broker.bootstrap_servers) as admin:
            admin.create_topics({"trial": 1})
        with Producer(broker.bootstrap_servers, compression="zstd") as producer:
            deliveries = [producer.send("trial", b"%d" % number, key=b"key") for number in range(RECORDS)]
            assert [delivery.result(timeout=30).offset for delivery in deliveries] == list(range(RECORDS))
        with Consumer(broker.bootstrap_servers, group_id="trial", auto_offset_reset="earliest") as consumer:
            consumer.subscribe(["trial"])
            values: list[bytes | None] = []
            while len(values) < RECORDS:
                values += consumer.poll(timeout=30).values()
            consumer.commit()
    assert values == [b"%d" % number for number in range(RECORDS)]


def try_shell() -> None:
    """The command that was installed with the package."""
    command = Path(sysconfig.get_path("scripts")) / "kwire"
    assert "usage" in shown_by(command, "--help").lower()
    frame = protocol.encode_response(protocol.ApiVersionsResponse(error_code=35), 0, correlation_id=7)
    assert "UNSUPPORTED_VERSION" in shown_by(command, "decode", "--response", "ApiVersions:0", "--hex", frame.hex())
    assert Path(kwire.__file__).with_name("cli").joinpath("decode_page.html").is_file()


def shown_by(command: Path, *arguments: str) -> str:
    """What the command prints; it has to succeed."""
    return subprocess.run([command, *arguments], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
