"""The extension as it is linked: what may be written cannot be executed, and what was looked up cannot be written."""

from __future__ import annotations

import os
import struct
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from kwire import _codec

_LOAD, _DYNAMIC, _STACK, _RELRO = 1, 2, 0x6474E551, 0x6474E552
_EXECUTE, _WRITE = 1, 2
_FLAGS, _BIND_NOW = 30, 8

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or sys.maxsize < 2**32 or os.environ.get("KWIRE_EXACT_BLOCKS") == "1",
    reason="of shipped builds for 64-bit Linux",
)


class Segment(NamedTuple):
    kind: int
    flags: int
    content: bytes


def segments() -> list[Segment]:
    data = Path(_codec.__file__).read_bytes()
    assert data[:5] == b"\x7fELF\x02"
    begin, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    found = []
    for at in range(begin, begin + count * size, size):
        kind, flags, offset, _, _, length = struct.unpack_from("<IIQQQQ", data, at)
        found.append(Segment(kind, flags, data[offset : offset + length]))
    return found


def test_code_is_apart_from_constants_and_variables() -> None:
    loaded = [each for each in segments() if each.kind == _LOAD]
    code = [each for each in loaded if each.flags & _EXECUTE]
    assert len(code) == 1
    assert not any(each.flags & _EXECUTE and each.flags & _WRITE for each in segments())
    assert b"max_decompressed_bytes" not in code[0].content
    assert any(b"max_decompressed_bytes" in each.content for each in loaded)
    assert [each.flags & _EXECUTE for each in segments() if each.kind == _STACK] == [0]


def test_what_it_calls_is_looked_up_at_once_and_kept_from_writing() -> None:
    (dynamic,) = (each for each in segments() if each.kind == _DYNAMIC)
    flags = dict(struct.iter_unpack("<QQ", dynamic.content[: len(dynamic.content) // 16 * 16])).get(_FLAGS, 0)
    assert flags & _BIND_NOW
    assert [len(each.content) > 0 for each in segments() if each.kind == _RELRO] == [True]
