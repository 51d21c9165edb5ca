"""The version gate and bad frames: every answer is well formed, every refusal typed, and nothing breaks the broker."""

from __future__ import annotations

import random
import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire import protocol
from kwire.testing.answers.handlers import HANDLERS
from kwire.testing.requests import CloseConnectionError
from tests.testing.frames import corpus, damage, spans
from tests.testing.in_process import InProcess

RELEASES = ["0.8.2.2", "0.9.0.1", "0.10.2.2", "1.1.1", "2.4.1", "2.8.2", "3.9.2", "4.4.0"]


def broker_of(release: str) -> InProcess:
    made = InProcess(release)
    made.cluster.create_topic("orders", 2)
    return made


@pytest.mark.parametrize("release", RELEASES)
def test_every_version_of_every_key_is_answered_in_its_own_version(release: str) -> None:
    broker = broker_of(release)
    frames = corpus(release)
    for frame in frames:
        key, version, correlation_id = struct.unpack_from(">hhi", frame)
        answer = b"".join(bytes(part) for part in broker.raw(frame).parts)
        header, response = protocol.decode_response(answer, key, version)
        assert header.correlation_id == correlation_id
        assert type(response) is protocol.APIS[key].response
    asked = {struct.unpack_from(">h", frame)[0] for frame in frames}
    assert asked == spans(release).keys() & HANDLERS.keys()


@pytest.mark.parametrize("release", RELEASES)
def test_damaged_frames_are_answered_or_refused_and_nothing_else(release: str) -> None:
    rng = random.Random(release)
    broker = broker_of(release)
    frames = corpus(release)
    refused = 0
    for _ in range(2000):
        damaged = bytearray(rng.choice(frames))
        for _ in range(rng.choice((1, 1, 1, 2, 5))):
            damage(damaged, rng)
        try:
            answer = broker.raw(bytes(damaged))
        except CloseConnectionError:
            refused += 1
            continue
        if answer.parts:
            frame = b"".join(bytes(part) for part in answer.parts)
            assert struct.unpack_from(">i", frame)[0] == len(frame) - 4
    assert refused or release.startswith("0.9"), "0.9 alone says nothing to what it cannot read"
    assert broker.raw(frames[0]).parts, "the broker still serves"


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_refused(data: bytes) -> None:
    broker = broker_of("4.4.0")
    with suppress(CloseConnectionError):
        assert broker.raw(data).parts


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (b"", "a frame of 0 bytes"),
        (b"\0\3\0\0\0\0", "a frame of 6 bytes"),
        (struct.pack(">hhih", 99, 0, 1, -1), "API key 99 version 0 is not served by release 4.4.0"),
        (struct.pack(">hhih", 3, 99, 1, -1), "Metadata version 99 is not served by release 4.4.0"),
        (struct.pack(">hhihi", 3, 0, 1, -1, 5), "Metadata version 0: .*topics"),
    ],
)
def test_the_log_line_names_what_is_wrong(frame: bytes, said: str) -> None:
    with pytest.raises(CloseConnectionError, match=said):
        InProcess().raw(frame)


def test_bytes_behind_the_last_field_are_left_alone() -> None:
    assert InProcess().raw(struct.pack(">hhihi", 3, 0, 1, -1, 0) + b"more").parts


def test_0_9_leaves_what_it_cannot_read_unanswered(caplog: pytest.LogCaptureFixture) -> None:
    broker = broker_of("0.9.0.1")
    assert not broker.raw(struct.pack(">hhih", 99, 0, 1, -1)).parts
    assert "API key 99" in caplog.text
    assert broker.raw(corpus("0.9.0.1")[-1]).parts
