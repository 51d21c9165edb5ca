"""Compressed input of commands on files: gzip is opened on the way, of others the error says what opens it."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader, BytesIO
from typing import BinaryIO, cast

from kwire.errors import ConfigError, CorruptError, LimitError

__all__ = ["HEAD_SIZE", "MAX_INPUT", "read_limited", "unzipped", "unzipped_text"]

MAX_INPUT = 256 * 1024 * 1024
"""The most that is read of gzip data and pipes, where the user does not say."""

HEAD_SIZE = 4
_PART = 1024 * 1024
_GZIP = b"\x1f\x8b"
_BZIP2 = b"BZh"
_BZIP2_BLOCK = b"1AY&SY"
_LONGEST_HEAD = HEAD_SIZE + len(_BZIP2_BLOCK)
_OPENED_BY = {
    b"\x28\xb5\x2f\xfd": "zstd -dc",
    b"\xfd7zX": "xz -dc",
    _BZIP2: "bzip2 -dc",
    b"\x04\x22\x4d\x18": "lz4 -dc",
}


class _WithHead:
    """A stream whose first bytes were read already."""

    def __init__(self, head: bytes, source: BinaryIO) -> None:
        self._head = head
        self._source = source

    def read(self, size: int) -> bytes:
        if not self._head:
            return self._source.read(size)
        taken, self._head = self._head[:size], self._head[size:]
        return taken


@contextmanager
def unzipped(head: bytes, source: BinaryIO, name: str, reader: str) -> Iterator[tuple[bytes, BinaryIO, bool]]:
    """(head, source, whether it was compressed) of what the file holds; `reader` is a command that takes it as input.

    CorruptError for damaged gzip data, ConfigError for a compression that is not opened here.
    """
    _refuse_others(head, name, reader)
    if not head.startswith(_GZIP):
        yield head, source, False
        return
    with _gzip_of(cast(BinaryIO, _WithHead(head, source)), name) as inside:
        yield inside.read(HEAD_SIZE), cast(BinaryIO, inside), True


@contextmanager
def unzipped_text(stream: BufferedReader, name: str, reader: str) -> Iterator[BufferedReader]:
    """The text of a file; the errors of `unzipped`."""
    head = stream.peek(_LONGEST_HEAD)
    if not head.startswith(_BZIP2) or head[HEAD_SIZE:].startswith(_BZIP2_BLOCK):  # else it is a text that begins so
        _refuse_others(head, name, reader)
    if not head.startswith(_GZIP):
        yield stream
        return
    with _gzip_of(stream, name) as inside:
        yield cast(BufferedReader, inside)


def _refuse_others(head: bytes, name: str, reader: str) -> None:
    for magic, command in _OPENED_BY.items():
        if head.startswith(magic):
            raise ConfigError(f"{name} is compressed: {command} {name} | {reader}")


@contextmanager
def _gzip_of(source: BinaryIO, name: str) -> Iterator[gzip.GzipFile]:
    try:
        with gzip.GzipFile(fileobj=source, mode="rb") as inside:
            yield inside
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise CorruptError(f"{name}: the gzip data are damaged or cut off: {error}") from error


def read_limited(head: bytes, source: BinaryIO, limit: int) -> bytes:
    """All of it after the head; LimitError where it is longer than `limit`: a few bytes of gzip may stand for any
    number."""
    found = BytesIO()
    found.write(head)
    while part := source.read(min(_PART, limit + 1)):
        if found.tell() + len(part) > limit:
            raise LimitError(
                f"the input has more than {limit} bytes, the limit for gzip data or a pipe: unpack it "
                "into a file, or give a larger --max-input"
            )
        found.write(part)
    return found.getvalue()
