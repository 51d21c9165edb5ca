"""Low-water marks over TLS on an event loop: what comes dribbling is read whole, with fewer wake-ups."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kwire import aio
from tests.aio.conftest import Run
from tests.drivers.low_water import AWAITED_AT_ONCE, VALUES, dribbling, never_look, note_marks
from tests.timing import PATIENT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="low-water marks are set on Linux only")


@pytest.mark.parametrize("piece", [65536, 5000, 999])
def test_a_consumer_reads_what_comes_dribbling(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, piece: int
) -> None:
    never_look(monkeypatch)
    marks = note_marks(monkeypatch)
    found: list[bytes] = []

    async def main() -> None:
        async with aio.Consumer(**settings, auto_offset_reset="earliest") as consumer:
            consumer.assign([("t", 0)])
            while len(found) < len(VALUES):
                polled = await consumer.poll(timeout=PATIENT)
                assert polled
                found.extend(polled.values())

    with dribbling(tmp_path, piece) as settings:
        run(main())
    assert found == VALUES
    assert max(marks) == AWAITED_AT_ONCE
