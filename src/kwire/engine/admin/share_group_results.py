"""What Admin returns about share groups. Layer 3: values only."""

from __future__ import annotations

from kwire._typing import NamedTuple
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.common.notebooks import in_notebooks


@in_notebooks
class ShareMemberDescription(NamedTuple):
    """One member, with the partitions that it fetches from: others may fetch from them, too."""

    member_id: str
    client_id: str
    host: str
    assignment: tuple[TopicPartition, ...]
    subscription: tuple[str, ...]
    epoch: int
    rack_id: str | None = None


@in_notebooks
class ShareGroupDescription(NamedTuple):
    """One share group with its members; `target_epoch` is that of the newest assignment. `authorized_operations`
    ("read", "delete" ...) is None unless asked for."""

    group_id: str
    state: str
    assignor: str
    members: tuple[ShareMemberDescription, ...]
    epoch: int
    target_epoch: int
    authorized_operations: frozenset[str] | None = None


@in_notebooks
class SharePartitionOffsetInfo(NamedTuple):
    """How far a share group is in a partition: the first offset that is not done. `lag` is how many records are not
    done, None before Kafka 4.2."""

    start_offset: int
    leader_epoch: int | None = None
    lag: int | None = None
