"""The extensions as they are built: what may be written cannot be executed, what was looked up not written; arrays of
bytes on the stack are guarded."""

from __future__ import annotations

import os
import struct
import sys
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

from kwire import _codec, _values

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


def segments(extension: ModuleType) -> list[Segment]:
    data = Path(extension.__file__ or "").read_bytes()
    assert data[:5] == b"\x7fELF\x02"
    begin, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    found = []
    for at in range(begin, begin + count * size, size):
        kind, flags, offset, _, _, length = struct.unpack_from("<IIQQQQ", data, at)
        found.append(Segment(kind, flags, data[offset : offset + length]))
    return found


@pytest.mark.parametrize(
    ("extension", "constant"), [(_codec, b"max_decompressed_bytes"), (_values, b"The root is a struct")]
)
def test_code_is_apart_from_constants_and_variables(extension: ModuleType, constant: bytes) -> None:
    found = segments(extension)
    loaded = [each for each in found if each.kind == _LOAD]
    code = [each for each in loaded if each.flags & _EXECUTE]
    assert len(code) == 1
    assert not any(each.flags & _EXECUTE and each.flags & _WRITE for each in found)
    assert constant not in code[0].content
    assert any(constant in each.content for each in loaded)
    assert [each.flags & _EXECUTE for each in found if each.kind == _STACK] == [0]


@pytest.mark.parametrize("extension", [_codec, _values])
def test_what_it_calls_is_looked_up_at_once_and_kept_from_writing(extension: ModuleType) -> None:
    found = segments(extension)
    (dynamic,) = (each for each in found if each.kind == _DYNAMIC)
    flags = dict(struct.iter_unpack("<QQ", dynamic.content[: len(dynamic.content) // 16 * 16])).get(_FLAGS, 0)
    assert flags & _BIND_NOW
    assert [len(each.content) > 0 for each in found if each.kind == _RELRO] == [True]


def test_arrays_of_bytes_on_the_stack_are_guarded() -> None:
    assert b"\0__stack_chk_fail\0" in Path(_codec.__file__).read_bytes()
