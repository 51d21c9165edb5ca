"""What a call of `Admin` about groups of Kafka Streams asks, from its arguments. Layer 3, no I/O; see `calls.py`.

Loaded by the first such call. Their offsets are those of consumer groups, and they are deleted as any others:
`group_calls`.
"""

from __future__ import annotations

from collections.abc import Iterable

from kwire.engine.admin.a89_streams_group_describe import DescribeStreamsGroups
from kwire.engine.admin.calls import Question
from kwire.engine.admin.group_arguments import group_ids
from kwire.engine.admin.streams_group_results import StreamsGroupDescription
from kwire.engine.calls.arguments import flag


def describe_streams_groups(
    groups: Iterable[str], *, operations: bool, topology: bool
) -> Question[dict[str, StreamsGroupDescription]]:
    """`Admin.describe_streams_groups`."""
    ids = group_ids(groups)
    flag(operations, "include_authorized_operations")
    flag(topology, "include_topology_description")
    api = DescribeStreamsGroups(ids, operations=operations, topology=topology) if ids else None
    return Question(api, dict)
