"""The file systems of `format("kwire-log")`: local ones by the operating system, all others by pyarrow.

A path without a scheme, or with `file:`, is local. `s3://`, `gs://`, `hdfs://` and `abfs://` are pyarrow's own; what it
does not know goes to fsspec, where that is installed. Credentials stay with pyarrow: they are never shown.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from kwire.errors import ConfigError
from kwire.log_files.storage import FileInfo, LocalStorage, Storage

if TYPE_CHECKING:
    from typing_extensions import Buffer as BytesLike

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?=/)")
_ALIASES: Final = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}


def storage_of(uri: str) -> tuple[Storage, str]:
    """The file system of a URI or a local path, and the path there."""
    found = _SCHEME.match(uri)
    scheme = found[1].lower() if found else "file"
    if scheme == "file":
        return LocalStorage(), os.path.abspath(_local_path(uri) if found else uri)
    scheme = _ALIASES.get(scheme, scheme)
    rest = uri[found.end() :] if found else uri
    bare, pattern = _before_pattern(rest)
    try:
        filesystem, path = _open(scheme, f"{scheme}:{bare}")
    except (OSError, ValueError, ImportError, TypeError) as fault:
        raise ConfigError(f"{_shown_root(uri)}: {_without_secrets(str(fault), uri)}") from None
    return ArrowStorage(filesystem, scheme), path + pattern


def storages_of(uris: Sequence[str]) -> list[tuple[Storage, list[str]]]:
    """Each file system once, with its paths; the same list for the same URIs in every process."""
    found: dict[str, tuple[Storage, list[str]]] = {}
    for uri in uris:
        storage, path = storage_of(uri)
        root = "" if isinstance(storage, LocalStorage) else "/".join(uri.split("/", 3)[:3]) + uri.partition("?")[1]
        found.setdefault(root, (storage, []))[1].append(path)
    return list(found.values())


def _local_path(uri: str) -> str:
    parts = urlsplit(uri)
    if parts.netloc not in ("", "localhost"):
        raise ConfigError(f"{uri}: a file: URI has three slashes before a local path (file:///var/lib/kafka)")
    return unquote(parts.path)


def _before_pattern(rest: str) -> tuple[str, str]:
    """A URI's query (`?region=...`) belongs to the file system; wildcards are for later, since no URI may have them."""
    path, mark, query = rest.partition("?")
    if mark and "=" not in query:
        path, query = rest, ""
    first = re.search(r"[*?\[{]", path)
    if first is None:
        return rest if query or not mark else path, ""
    cut = path.rfind("/", 0, first.start())
    return path[:cut] + (f"?{query}" if query else ""), path[cut:]


def _open(scheme: str, uri: str) -> tuple[Any, str]:
    from pyarrow import fs

    try:
        opened: tuple[Any, str] = fs.FileSystem.from_uri(uri)
        return opened
    except ValueError as fault:
        try:
            import fsspec  # type: ignore[import-not-found]
        except ImportError:
            raise fault from None
        made, path = fsspec.core.url_to_fs(uri)
        return fs.PyFileSystem(fs.FSSpecHandler(made)), path


def _shown_root(uri: str) -> str:
    return re.sub(r"//[^/@]*@", "//", uri.partition("?")[0])


def _without_secrets(text: str, uri: str) -> str:
    """The text without the user and password of the URI, in whichever spelling it has them."""
    found = re.search(r"//([^/@]*)@", uri)
    if found is not None:
        for secret in {found[1], unquote(found[1]), *found[1].split(":"), *unquote(found[1]).split(":")} - {""}:
            text = text.replace(secret, "[hidden]")
    return text


class ArrowStorage:
    """A file system of pyarrow."""

    hop_bytes: Final = 1 << 18
    read_bytes: Final = 16 << 20

    def __init__(self, filesystem: Any, scheme: str) -> None:
        self._filesystem = filesystem
        self._scheme = scheme

    def info(self, path: str) -> FileInfo | None:
        from pyarrow import fs

        found = self._filesystem.get_file_info(path)
        return None if found.type == fs.FileType.NotFound else _info(found)

    def files(self, folder: str) -> Iterator[FileInfo]:
        from pyarrow import fs

        yield from map(_info, self._filesystem.get_file_info(fs.FileSelector(folder)))

    def tree(self, folder: str) -> Iterator[FileInfo]:
        from pyarrow import fs

        found = self._filesystem.get_file_info(fs.FileSelector(folder, recursive=True))
        yield from (info for info in map(_info, found) if not info.is_folder)

    def open(self, path: str) -> ArrowFile:
        return ArrowFile(self._filesystem.open_input_file(path))

    def shown(self, path: str) -> str:
        return f"{self._scheme}://{path}"


def _info(found: Any) -> FileInfo:
    is_folder = not found.is_file
    return FileInfo(found.path, 0 if is_folder else found.size, is_folder)


class ArrowFile:
    """One open file; a range is one request."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def __enter__(self) -> ArrowFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    def read_at(self, position: int, size: int) -> BytesLike:
        content: bytes = self._file.read_at(size, position)
        return content
