"""What the marks of a consumer over TLS were: `python -m tests.drivers.low_water_program threads|loop FOLDER`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from kwire import Consumer, aio
from tests.drivers.low_water import VALUES, dribbling, note_marks
from tests.timing import PATIENT


def read_on_threads(settings: dict[str, Any]) -> None:
    with Consumer(**settings, auto_offset_reset="earliest") as consumer:
        consumer.assign([("t", 0)])
        count = 0
        while count < len(VALUES):
            count += len(consumer.poll(timeout=PATIENT))


async def read_on_loop(settings: dict[str, Any]) -> None:
    async with aio.Consumer(**settings, auto_offset_reset="earliest") as consumer:
        consumer.assign([("t", 0)])
        count = 0
        while count < len(VALUES):
            count += len(await consumer.poll(timeout=PATIENT))


def main(driver: str, folder: str) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch, dribbling(Path(folder), 65536) as settings:
        marks = note_marks(monkeypatch)
        if driver == "threads":
            read_on_threads(settings)
        else:
            asyncio.run(read_on_loop(settings))
        print(*sorted(set(marks)))


if __name__ == "__main__":
    main(*sys.argv[1:])
