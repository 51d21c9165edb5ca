"""What a call of `Admin` about share groups asks, from its arguments. Layer 3, no I/O; see `calls.py`.

Loaded by the first such call. Share groups are deleted as any others: `group_calls.delete_groups`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kwire._typing import TYPE_CHECKING, Any
from kwire.engine.admin.a77_share_group_describe import DescribeShareGroups
from kwire.engine.admin.calls import Question
from kwire.engine.admin.group_arguments import group_id, group_ids, offsets_found, offsets_wanted
from kwire.engine.admin.share_group_offsets import (
    AlterShareGroupOffsets,
    DeleteShareGroupOffsets,
    ListShareGroupOffsets,
)
from kwire.engine.admin.share_group_results import ShareGroupDescription
from kwire.engine.calls import arguments
from kwire.errors import ConfigError

if TYPE_CHECKING:
    from kwire.engine.admin.group_arguments import OffsetsWanted, Partitions


def describe_share_groups(groups: Iterable[str], *, operations: bool) -> Question[dict[str, ShareGroupDescription]]:
    """`Admin.describe_share_groups`."""
    ids = group_ids(groups)
    arguments.flag(operations, "include_authorized_operations")
    return Question(DescribeShareGroups(ids, operations=operations) if ids else None, dict)


def list_offsets(groups: OffsetsWanted, partitions: Partitions) -> Question[Any]:
    """`Admin.list_share_group_offsets`: of one group its offsets, of several a dict of those of each."""
    wanted = offsets_wanted(groups, partitions)
    return Question(ListShareGroupOffsets(wanted) if wanted else None, offsets_found(groups, wanted))


def alter_offsets(group: str, offsets: Mapping[Any, int]) -> Question[None]:
    """`Admin.alter_share_group_offsets`."""
    if not isinstance(offsets, Mapping):
        raise ConfigError(f"offsets={offsets!r}: expected a mapping {{(topic, partition): offset}}")
    rows = {tp: arguments.offset(tp, value) for tp, value in arguments.by_partition(offsets, "offsets").items()}
    return Question(AlterShareGroupOffsets(group_id(group), rows) if rows else None, lambda found: None)


def delete_offsets(group: str, topics: Iterable[str]) -> Question[None]:
    """`Admin.delete_share_group_offsets`."""
    names = arguments.topic_names(arguments.to_delete(topics, "topics"))
    return Question(DeleteShareGroupOffsets(group_id(group), names) if names else None, lambda found: None)
