"""The inputs in the tree: for each target a text file, base64, an input a line, shortest first; and single findings."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).with_name("corpus")


def read_corpus(name: str) -> list[bytes]:
    path = FOLDER / f"{name}.txt"
    return [base64.b64decode(line) for line in path.read_text().splitlines()] if path.exists() else []


def write_corpus(name: str, inputs: Iterable[bytes]) -> None:
    lines = [base64.b64encode(data).decode() for data in sorted(set(inputs), key=lambda data: (len(data), data))]
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines))


def unpack(inputs: Iterable[bytes], folder: Path) -> None:
    """A file for each input, as libFuzzer wants them, under the names that libFuzzer gives."""
    folder.mkdir(parents=True, exist_ok=True)
    for data in inputs:
        (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)


def packed(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in folder.iterdir()] if folder.exists() else []
