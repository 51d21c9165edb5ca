"""The build for sanitizers: what lies behind bytes that are decoded is not theirs, and a sanitizer says so."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(os.environ.get("KWIRE_SANITIZED") != "1", reason="needs make test-asan")

READ_BEYOND_A_FRAME = """
import ctypes
import pyarrow
from kwire._codec import FrameReceiver

frame = FrameReceiver().feed(bytes([0, 0, 0, 5]) + b"frame" + bytes(4))[0]
start = pyarrow.py_buffer(frame).address
assert ctypes.string_at(start, 5) == b"frame"
print("up to its end", flush=True)
ctypes.string_at(start, 6)
"""


def test_a_byte_behind_a_frame_is_found() -> None:
    done = subprocess.run([sys.executable, "-c", READ_BEYOND_A_FRAME], capture_output=True, text=True, check=False)
    assert done.stdout == "up to its end\n"
    assert done.returncode != 0
    assert "AddressSanitizer: heap-buffer-overflow" in done.stderr


def test_the_extension_of_the_sanitizers_is_the_one_in_use() -> None:
    from kwire import _codec

    assert "build/asan" in str(_codec.__file__)
