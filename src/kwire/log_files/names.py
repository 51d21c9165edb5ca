"""The names in Kafka's log directories: of partitions' folders, of segments and of what lies beside them.

    orders-0/00000000000000000042.log                     a broker's log directory, since 0.8
    orders-0/00000000000000000042.kafka                   Kafka 0.7
    orders-0-<topic id>/42-<uuid>.log                     LocalTieredStorage, Kafka's own example of tiered storage
    orders-<topic id>/0/00000000000000000042-<uuid>.log   Aiven's plug-in for tiered storage

Pure functions of names.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_UUID: Final = "[A-Za-z0-9_-]{22}"
_SEGMENT: Final = re.compile(rf"(\d{{20}}|\d+(?=-))(-{_UUID})?(\.[a-z-]+(?:_[a-z]+)*)")
_PARTITION: Final = re.compile(r"(.+)-(\d+)")
_TIERED_PARTITION: Final = re.compile(rf"(.+)-(\d+)-{_UUID}")
_TIERED_TOPIC: Final = re.compile(rf"(.+)-{_UUID}")
_LEFT_BEHIND: Final = re.compile(r".+\.[^.]+-(delete|stray|future)")

LOG: Final = ".log"
LOG_0_7: Final = ".kafka"
MANIFEST: Final = ".rsm-manifest"

INTERNAL_TOPICS: Final = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata", "__remote_log_metadata"}
)


class FileName(NamedTuple):
    """The parts of a name: `stem` is what the files of one segment have in common."""

    stem: str
    base_offset: int
    is_tiered: bool
    suffix: str


def parse_file_name(name: str) -> FileName | None:
    """None for what is neither a segment nor one of its companions, `.deleted`, `.cleaned` and `.swap` among them."""
    found = _SEGMENT.fullmatch(name)
    if found is None:
        return None
    digits, uuid, suffix = found.groups()
    return FileName(digits + (uuid or ""), int(digits), uuid is not None, suffix)


def partition_of_folder(path: str) -> tuple[str, int] | None:
    """Topic and partition as the last names of a folder's path say them; None where they do not."""
    parent, name = path.rstrip("/").rpartition("/")[::2]
    found = _TIERED_PARTITION.fullmatch(name) or _PARTITION.fullmatch(name)
    if found:
        return found[1], int(found[2])
    above = _TIERED_TOPIC.fullmatch(parent.rpartition("/")[2])
    if name.isdecimal() and above:
        return above[1], int(name)
    return None


def is_left_behind(name: str) -> bool:
    """Whether it is the folder of a partition that is being deleted, moved, or that the broker does not know."""
    return _LEFT_BEHIND.fullmatch(name) is not None
