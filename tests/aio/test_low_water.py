"""Low-water marks over TLS on an event loop: what comes dribbling is read whole, with fewer wake-ups."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from kwire import aio
from kwire.drivers.loop_tls import TlsSocket
from kwire.drivers.tls import RECEIVED_AT_ONCE
from tests.aio.conftest import Run
from tests.drivers.low_water import VALUES, dribbling, never_look, note_marks
from tests.timing import PATIENT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="low-water marks are set on Linux only")


@pytest.mark.parametrize("piece", [65536, 5000, 999])
def test_a_consumer_reads_what_comes_dribbling(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, piece: int
) -> None:
    never_look(monkeypatch)
    marks = note_marks(monkeypatch)
    with dribbling(tmp_path, piece) as settings:
        assert run(values_of(settings)) == VALUES
    assert max(marks) > len(VALUES[0])


def test_what_was_awaited_is_read_in_the_step_that_begins_with_it(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The transport reads once only: the rest, if less than the next mark, would wait in the socket for more."""
    never_look(monkeypatch)
    more: list[int] = []
    receive_more = TlsSocket._receive_more

    def note(sock: TlsSocket) -> int:
        more.append(receive_more(sock))
        return more[-1]

    monkeypatch.setattr(TlsSocket, "_receive_more", note)
    with dribbling(tmp_path, 65536) as settings:
        assert run(values_of(settings)) == VALUES
    assert max(more) == RECEIVED_AT_ONCE


async def values_of(settings: dict[str, Any]) -> list[bytes]:
    found: list[bytes] = []
    async with aio.Consumer(**settings, auto_offset_reset="earliest") as consumer:
        consumer.assign([("t", 0)])
        while len(found) < len(VALUES):
            polled = await consumer.poll(timeout=PATIENT)
            assert polled
            found.extend(polled.values())
    return found
