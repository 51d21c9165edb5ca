"""Which partitions' logs lie under the paths that a user names: folders, patterns, single segments.

Files are listed, nothing is opened but the manifests of tiered storage, which say whether segments can be read at all.
"""

from __future__ import annotations

import fnmatch
import json
import logging
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from kwire.errors import ConfigError
from kwire.log_files.names import (
    INTERNAL_TOPICS,
    LOG,
    LOG_0_7,
    MANIFEST,
    FileName,
    is_left_behind,
    parse_file_name,
    partition_of_folder,
)
from kwire.log_files.storage import FileInfo, Storage, read_whole

_log = logging.getLogger("kwire.log_files")

_MAGIC_OF_PATTERNS: Final = re.compile(r"[*?\[{]")

Wanted = Callable[[str, int], bool]


@dataclass(frozen=True)
class Segment:
    """One file of records and the files beside it, by suffix. `root` is the number of its storage."""

    path: str
    size: int
    base_offset: int
    is_0_7: bool = False
    is_tiered: bool = False
    root: int = 0
    companions: Mapping[str, FileInfo] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class LogFolder:
    """The segments of one folder by base offset. `chosen` holds the paths of those that are read, None for all: the
    others still say which transactions were aborted.
    """

    path: str
    topic: str
    partition: int
    segments: tuple[Segment, ...]
    chosen: frozenset[str] | None = None

    @property
    def is_tiered(self) -> bool:
        return any(segment.is_tiered for segment in self.segments)


def find_logs(
    storage: Storage,
    paths: Iterable[str],
    *,
    root: int = 0,
    wanted: Wanted | None = None,
    place: tuple[str, int] | None = None,
) -> list[LogFolder]:
    """The logs under `paths`, by topic, partition and folder.

    A path is a partition's folder, a folder of such folders at any depth, a segment, or a pattern of them (`*`, `?`,
    `[...]`, `{a,b}`; `*` ends at a `/`). `wanted` chooses partitions; without it Kafka's internal topics are read only
    where the path has their name. `root` is the storage's number, `place` the topic and partition of a folder whose
    name does not say them.

    Raises ConfigError where nothing is there, for a folder whose partition is unknown, and for tiered segments that
    cannot be read.
    """
    found: dict[str, LogFolder] = {}
    for path in paths:
        for info in _expanded(storage, path):
            for folder in _folders_of(storage, root, info, place):
                is_named = folder.topic not in INTERNAL_TOPICS or folder.topic in path
                if wanted(folder.topic, folder.partition) if wanted else is_named:
                    found[folder.path] = _joined(found.get(folder.path), folder)
    folders = sorted(found.values(), key=lambda folder: (folder.topic, folder.partition, folder.path))
    if place and len(folders) > 1:
        raise ConfigError(f"topic and partition are given, but there are {len(folders)} folders: {_listed(folders)}")
    for folder in folders:
        _check_manifests(storage, folder)
    return folders


def _listed(folders: Iterable[LogFolder]) -> str:
    return ", ".join(folder.path for folder in folders)


def _joined(known: LogFolder | None, more: LogFolder) -> LogFolder:
    """The same folder, named by two paths."""
    if known is None or known.chosen is None:
        return known or more
    return replace(more, chosen=None if more.chosen is None else known.chosen | more.chosen)


def _expanded(storage: Storage, path: str) -> Iterator[FileInfo]:
    """What a path or a pattern stands for."""
    info = storage.info(path)
    if info is not None:
        yield info
        return
    if not _MAGIC_OF_PATTERNS.search(path):
        raise ConfigError(f"{storage.shown(path)}: nothing is there")
    matches = {found.path: found for plain in _without_braces(path) for found in _matches(storage, plain)}
    if not matches:
        raise ConfigError(f"{storage.shown(path)}: nothing matches this pattern")
    yield from (matches[name] for name in sorted(matches))


def _without_braces(pattern: str) -> Iterator[str]:
    found = re.search(r"\{([^{}]*)\}", pattern)
    if found is None:
        yield pattern
        return
    for choice in found[1].split(","):
        yield from _without_braces(pattern[: found.start()] + choice + pattern[found.end() :])


def _matches(storage: Storage, pattern: str) -> Iterator[FileInfo]:
    """Names are compared folder by folder, from the first one with a wildcard on."""
    parts = pattern.split("/")
    first = next((n for n, part in enumerate(parts) if _MAGIC_OF_PATTERNS.search(part)), len(parts))
    start = storage.info("/".join(parts[:first]) or "/" if pattern.startswith("/") or first else ".")
    level = [start] if start is not None else []
    for part in filter(None, parts[first:]):
        level = [
            entry
            for folder in level
            if folder.is_folder
            for entry in storage.files(folder.path)
            if fnmatch.fnmatchcase(name := entry.path.rstrip("/").rpartition("/")[2], part) and not is_left_behind(name)
        ]
    yield from level


def _folders_of(storage: Storage, root: int, info: FileInfo, place: tuple[str, int] | None) -> Iterator[LogFolder]:
    if not info.is_folder:
        parent, _, name = info.path.rpartition("/")
        parsed = parse_file_name(name)
        if parsed is None or parsed.suffix not in (LOG, LOG_0_7):
            raise ConfigError(f"{storage.shown(info.path)}: not a segment (00000000000000000000.log), nor a folder")
        files = [file for file in storage.files(parent or ".") if not file.is_folder]
        folder = _folder(storage, root, parent, files, place)
        assert folder is not None  # it holds the segment
        yield replace(folder, chosen=frozenset({info.path}))
        return
    by_folder: dict[str, list[FileInfo]] = defaultdict(list)
    for file in storage.tree(info.path):
        by_folder[file.path.rpartition("/")[0]].append(file)
    for path, files in by_folder.items():
        below = path[len(info.path.rstrip("/")) :].split("/")
        if not any(map(is_left_behind, below)) and (folder := _folder(storage, root, path, files, place)):
            yield folder


def _folder(
    storage: Storage, root: int, path: str, files: Iterable[FileInfo], place: tuple[str, int] | None
) -> LogFolder | None:
    """The log of one folder; None where no segment is in it."""
    by_stem: dict[str, dict[str, FileInfo]] = defaultdict(dict)
    names: dict[str, FileName] = {}
    for file in files:
        name = file.path.rpartition("/")[2]
        parsed = parse_file_name(name)
        if parsed is not None:
            by_stem[parsed.stem][parsed.suffix] = file
            names[parsed.stem] = parsed
        elif name.endswith(f"{LOG}.swap"):
            _log.warning("%s is left out: it was copied while its broker compacted the log", storage.shown(file.path))
    segments = []
    for stem, companions in by_stem.items():
        own = companions.get(LOG) or companions.get(LOG_0_7)
        if own is not None:
            is_0_7 = LOG not in companions
            segments.append(
                Segment(own.path, own.size, names[stem].base_offset, is_0_7, names[stem].is_tiered, root, companions)
            )
    if not segments:
        return None
    partition = place or partition_of_folder(path)
    if partition is None:
        raise ConfigError(
            f"{storage.shown(path)}: holds segments, but its name is not that of a partition (topic-0); "
            "say the options topic and partition"
        )
    segments.sort(key=lambda segment: (segment.base_offset, segment.path))
    return LogFolder(path, *partition, tuple(segments))


def _check_manifests(storage: Storage, folder: LogFolder) -> None:
    for segment in folder.segments:
        manifest = segment.companions.get(MANIFEST)
        if manifest is None:
            continue
        where = storage.shown(manifest.path)
        try:
            content = json.loads(read_whole(storage, manifest))
            kinds = [kind for kind in ("compression", "encryption") if content.get(kind)]
        except (ValueError, AttributeError, RecursionError):
            raise ConfigError(
                f"{where}: not a manifest of Aiven's plug-in for tiered storage that kwire knows"
            ) from None
        if kinds:
            raise ConfigError(
                f"{storage.shown(segment.path)}: chunks of tiered storage (Aiven's plug-in), not a plain segment: its "
                f"manifest {where} says {' and '.join(kinds)}. Only segments stored as they are can be read"
            )
