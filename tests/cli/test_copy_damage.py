"""`kwire copy` of a log that is damaged: it ends and says where, or leaves out what it must and nothing else."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kwire.testing import Broker
from kwire.testing.records.log_0_7 import _Segment
from tests.cli.conftest import Kwire
from tests.cli.test_copy import copied, old, source_of
from tests.reference.messages_0_7 import message

__all__ = ["old"]

Place = Callable[[list[bytes]], str]


def on_broker(old: Broker, segments: list[bytes]) -> str:
    """A log as it stands on a broker's disk when that has failed: no client can write it."""
    assert old._contents is not None
    log = old._contents.log_to_write("clicks", 0)
    at = 0
    log._segments.clear()
    for content in segments:
        log._segments.append(_Segment(at, 1, bytearray(content), len(content)))
        at += len(content)
    return source_of(old)


def in_folder(folder: Path, segments: list[bytes]) -> str:
    at = 0
    for content in segments:
        (folder / f"{at:020d}.kafka").write_bytes(content)
        at += len(content)
    return str(folder)


@pytest.fixture(params=["broker", "folder"])
def place(request: pytest.FixtureRequest, old: Broker, tmp_path: Path) -> Place:
    if request.param == "broker":
        return lambda segments: on_broker(old, segments)
    return lambda segments: in_folder(tmp_path, segments)


def messages(*names: str) -> list[bytes]:
    return [message(name.encode()) for name in names]


def with_bad_payload(whole: bytes) -> bytes:
    return whole[:-1] + bytes([whole[-1] ^ 1])


def with_length(whole: bytes, length: int) -> bytes:
    return length.to_bytes(4, "big", signed=True) + whole[4:]


def test_it_ends_at_a_damaged_message_and_says_where_and_what_would_work(
    kwire: Kwire, broker: Broker, place: Place
) -> None:
    a, b, c = messages("a", "b", "c")
    source = place([a + with_bad_payload(b) + c])
    to = f"{broker.bootstrap_servers}/clicks"
    done = kwire("copy", "--from", source, "--to", to)
    assert done.code == 1
    where = r"topic 'clicks' partition 0 offset 11" if "://" in source else r"0\.kafka, what begins at byte 11"
    assert re.search(rf"{where}: the checksum does not match.* the next one begins at 22; --skip-corrupt leaves it out",
                     done.err)  # fmt: skip
    assert copied(broker, 0) == [b"a"]
    again = kwire("copy", "--quiet", "--skip-corrupt", "--from", source, "--to", to)
    assert again.err.endswith("\n1 record to clicks; damaged and left out: 1, of 11 bytes\n")
    assert copied(broker, 0) == [b"a", b"c"]


def test_damaged_messages_are_left_out_and_told(kwire: Kwire, broker: Broker, place: Place) -> None:
    a, b, c, d, e, f = messages("a", "b", "c", "d", "e", "f")
    wrapped = message(gzip.compress(b + c), 1, 1)
    wrong_inside = message(gzip.compress(with_bad_payload(b) + c), 1, 1)
    no_gzip = message(b"no gzip", 1, 1)
    segments = [with_bad_payload(a) + b + with_bad_payload(wrapped), c + wrong_inside + no_gzip + wrapped, d + e + f]
    at = [0, 11 + 11, 22 + len(wrapped) + 11, 33 + len(wrapped) + len(wrong_inside)]
    sizes = [11, len(wrapped), len(wrong_inside), len(no_gzip)]
    to = f"{broker.bootstrap_servers}/clicks"
    source = place(segments)
    done = kwire("copy", "--skip-corrupt", "--from", source, "--to", to)
    assert done.code == 0
    assert copied(broker, 0) == [b"b", b"c", b"b", b"c", b"d", b"e", b"f"]
    told = re.findall(r"left out: a message, (\d+) bytes up to (\d+): ", done.err)
    assert told == [(str(size), str(offset + size)) for offset, size in zip(at, sizes, strict=True)]
    assert done.err.endswith(f"\n7 records to clicks; damaged and left out: 4, of {sum(sizes)} bytes\n")
    again = kwire("copy", "--quiet", "--skip-corrupt", "--from", source, "--to", to)
    assert "\n0 records to clicks" in again.err
    assert len(copied(broker, 0)) == 7


@pytest.mark.parametrize("length", [0, -1, 4, 9, 60, 2**31 - 1])
def test_where_a_length_cannot_be_right_it_goes_on_with_the_next_segment(
    kwire: Kwire, broker: Broker, place: Place, length: int
) -> None:
    a, b, c, d = messages("a", "b", "c", "d")
    source = place([a + with_length(b, length) + c, d])
    to = f"{broker.bootstrap_servers}/clicks"
    refused = kwire("copy", "--from", source, "--to", to)
    assert refused.code == 1
    assert "--skip-corrupt leaves it out" in refused.err
    done = kwire("copy", "--skip-corrupt", "--from", source, "--to", to)
    assert done.code == 0
    assert "left out: the rest of its segment, 22 bytes up to 33: " in done.err
    assert done.err.endswith("\n1 record to clicks; damaged and left out: 1, of 22 bytes\n")
    assert copied(broker, 0) == [b"a", b"d"]


def test_the_last_segment_may_end_within_a_message(kwire: Kwire, broker: Broker, tmp_path: Path) -> None:
    """As a broker leaves it that died while it wrote; what is left behind is told all the same."""
    a, b = messages("a", "b")
    source = in_folder(tmp_path, [a, b + a[:-1]])
    done = kwire("copy", "--from", source, "--to", f"{broker.bootstrap_servers}/clicks")
    assert done.code == 0
    assert "00011.kafka: the last 10 bytes are not a whole message and are left out\n" in done.err
    assert done.err.endswith("\n2 records to clicks\n")
    assert copied(broker, 0) == [b"a", b"b"]
