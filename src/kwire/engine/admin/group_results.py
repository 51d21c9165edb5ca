"""What Admin returns about groups. Layer 3: values only."""

from __future__ import annotations

from kwire._typing import NamedTuple
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.common.notebooks import in_notebooks


@in_notebooks
class GroupListing(NamedTuple):
    """One group of the cluster. `state` is "" before Kafka 2.6, `type` ("Classic", "Consumer", "Share", "Streams")
    before 3.7; `protocol_type` is "consumer" for consumers, and "" for a group that only has offsets."""

    group_id: str
    protocol_type: str
    state: str
    type: str


@in_notebooks
class MemberDescription(NamedTuple):
    """One member; `epoch` and `target` (what it shall read) only in a group of the new protocol (KIP-848), there also
    `rack_id`, and `upgraded`: whether the member itself speaks that protocol (None before Kafka 4.0)."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    host: str
    assignment: tuple[TopicPartition, ...]
    target: tuple[TopicPartition, ...] | None = None
    epoch: int | None = None
    rack_id: str | None = None
    upgraded: bool | None = None


@in_notebooks
class GroupDescription(NamedTuple):
    """One group with its members; `assignor` is "" while there is none, `epoch` and `target_epoch`, that of the newest
    assignment, are None in a classic group. `authorized_operations` ("read", "delete" ...) is None unless asked for."""

    group_id: str
    type: str
    state: str
    protocol_type: str
    assignor: str
    members: tuple[MemberDescription, ...]
    epoch: int | None = None
    target_epoch: int | None = None
    authorized_operations: frozenset[str] | None = None
