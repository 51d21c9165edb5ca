"""Reads the hand-explained vectors of this folder; their format is said at the head of each file."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_HEX_LINE = re.compile(r"((?:[0-9a-f]{2} )*[0-9a-f]{2})(?:\s{2,}.*)?$")


class Vector(NamedTuple):
    message: str
    version: int
    data: bytes
    values: dict[str, Any]


def load(name: str) -> list[Vector]:
    """The vectors of a file of this folder, in its order."""
    vectors = []
    sections = re.split(r"^# ", (Path(__file__).parent / name).read_text(), flags=re.M)[1:]
    for section in sections:
        title, *lines = section.strip().splitlines()
        found = re.match(r"(\w+) (\d+)[:.]", title)
        assert found is not None, title
        *explained, literal = lines
        data = bytes.fromhex("".join(_hex(line) for line in explained))
        assert literal.startswith("= "), title
        vectors.append(Vector(found[1], int(found[2]), data, _with_uuids(ast.literal_eval(literal[2:]))))
    return vectors


class FrameVector(NamedTuple):
    module: str
    message: str
    frame: bytes
    values: dict[str, Any]
    header: dict[str, Any]


def load_frames(name: str) -> list[FrameVector]:
    """The vectors of a file of whole frames."""
    vectors = []
    for section in re.split(r"^# ", (Path(__file__).parent / name).read_text(), flags=re.M)[1:]:
        title, *lines = section.strip().splitlines()
        found = re.match(r"(\w+) (\w+):", title)
        assert found is not None, title
        *explained, message, header = lines
        assert message.startswith("= "), title
        assert header.startswith("& "), title
        data = bytes.fromhex("".join(_hex(line) for line in explained))
        vectors.append(
            FrameVector(found[1], found[2], data, ast.literal_eval(message[2:]), ast.literal_eval(header[2:]))
        )
    return vectors


def _hex(line: str) -> str:
    found = _HEX_LINE.match(line)
    assert found is not None, line
    return found[1]


def _with_uuids(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_uuids(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_uuids(item) for item in value]
    return UUID(value) if isinstance(value, str) and _UUID.fullmatch(value) else value
