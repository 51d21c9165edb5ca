"""What reading segments asks of a file system, and the local one.

Paths are the file system's own, with `/` between names. Another implementation stands on pyarrow (kwire.spark).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Final, NamedTuple, Protocol

from kwire._codec import OutputBlock
from kwire._typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer as BytesLike


_FIRST_READ: Final = 16 << 10
# No entry of an index has as many.
_ZEROS: Final = 64


class FileInfo(NamedTuple):
    """One file or folder; a folder's size is 0."""

    path: str
    size: int
    is_folder: bool


class OpenFile(Protocol):
    """A file that is read by ranges."""

    def read_at(self, position: int, size: int) -> BytesLike:
        """`size` bytes from `position` on; fewer only where the file ends."""

    def close(self) -> None: ...


class Storage(Protocol):
    """A file system. `hop_bytes` is how much a read takes that wants a header, `read_bytes` one that wants records: as
    much as a round trip is worth.
    """

    @property
    def hop_bytes(self) -> int: ...

    @property
    def read_bytes(self) -> int: ...

    def info(self, path: str) -> FileInfo | None:
        """None where nothing is there."""

    def files(self, folder: str) -> Iterator[FileInfo]:
        """What a folder holds, folders included, and not what those hold."""

    def tree(self, folder: str) -> Iterator[FileInfo]:
        """All files below a folder, at any depth; no folders."""

    def open(self, path: str) -> AbstractContextManager[OpenFile]: ...

    def shown(self, path: str) -> str:
        """The path as users write it and as errors and the column `_file` show it."""


def read_whole(storage: Storage, info: FileInfo) -> bytes:
    """A small file."""
    with storage.open(info.path) as file:
        return bytes(file.read_at(0, info.size))


def read_until_zeros(storage: Storage, info: FileInfo) -> bytes:
    """The head of a file up to the zeros that fill it: brokers allocate ten megabytes for an index of a few bytes."""
    content, size = b"", _FIRST_READ
    with storage.open(info.path) as file:
        while len(content) < info.size:
            more = bytes(file.read_at(len(content), min(size, info.size - len(content))))
            content += more
            if not any(more[-_ZEROS:]) or not more:
                break
            size *= 2
    return content


class LocalStorage:
    """Files of this machine."""

    hop_bytes: Final = 4096
    read_bytes: Final = 1 << 20  # what is decoded is then still in the processor's caches

    def info(self, path: str) -> FileInfo | None:
        try:
            status = os.stat(path)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                return None
            raise
        is_folder = os.path.isdir(path)
        return FileInfo(path, 0 if is_folder else status.st_size, is_folder)

    def files(self, folder: str) -> Iterator[FileInfo]:
        with os.scandir(folder) as entries:
            for entry in entries:
                is_folder = entry.is_dir()
                try:
                    size = 0 if is_folder else entry.stat().st_size
                except FileNotFoundError:  # deleted since, as brokers do with old segments
                    continue
                yield FileInfo(os.path.join(folder, entry.name), size, is_folder)

    def tree(self, folder: str) -> Iterator[FileInfo]:
        for entry in self.files(folder):
            if entry.is_folder:
                yield from self.tree(entry.path)
            else:
                yield entry

    def open(self, path: str) -> LocalFile:
        return LocalFile(path)

    def shown(self, path: str) -> str:
        return path


class LocalFile:
    """Reads into blocks of the codec's pool, which are used again once their records are gone."""

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))

    def __enter__(self) -> LocalFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        os.close(self._descriptor)

    def read_at(self, position: int, size: int) -> BytesLike:
        block = OutputBlock(size)
        while size > 0:
            count = os.preadv(self._descriptor, [block.room(size)], position)
            if not count:
                break
            block.advance(count)
            position, size = position + count, size - count
        return block.finish()
