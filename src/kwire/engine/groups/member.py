"""A member of a classic group, as its coordinator knows it; and what its requests say.

Layer 3, no I/O. A static member (KIP-345) has a group_instance_id, which needs newer versions: without one they begin
at 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kwire import protocol
from kwire._typing import TYPE_CHECKING
from kwire.engine.groups.membership import NO_GENERATION, NO_MEMBER, GroupMetadata

if TYPE_CHECKING:
    from kwire.engine.settings.clients import ConsumerSettings

PROTOCOL_TYPE = "consumer"
MAX_REASON = 255

_FIRST_LEAVE_WITH_MANY = 3
_FIRST_JOIN_WITH_INSTANCE = 5
_FIRST_WITH_INSTANCE = 3
_NEWEST_JOIN, _NEWEST_HEARTBEAT, _NEWEST_LEAVE, _NEWEST_SYNC = 9, 4, 5, 5


class Member:
    """The identity of one member. It is new after `forget`; after `forget_generation` the id is kept.

    session_timeout_ms   what the coordinator gets; less than the setting where the broker allows no more
    """

    def __init__(self, settings: ConsumerSettings) -> None:
        self.group_id = settings.group_id or ""
        self.instance_id = settings.group_instance_id
        self.session_timeout_ms = settings.session_timeout_ms
        self.rebalance_timeout_ms = settings.max_poll_interval_ms
        self.member_id = NO_MEMBER
        self.generation = NO_GENERATION
        self.protocol = ""
        self._metadata = GroupMetadata(self.group_id, NO_GENERATION, NO_MEMBER, self.instance_id)

    @property
    def metadata(self) -> GroupMetadata:
        """How commits name it."""
        known = self._metadata
        if known.generation_id != self.generation or known.member_id != self.member_id:
            known = GroupMetadata(self.group_id, self.generation, self.member_id, self.instance_id)
            self._metadata = known
        return known

    @property
    def is_known(self) -> bool:
        """Whether the coordinator has taken it in, as far as it knows."""
        return self.generation != NO_GENERATION and self.member_id != NO_MEMBER

    def forget(self) -> None:
        """The coordinator does not know it any more."""
        self.member_id = NO_MEMBER
        self.forget_generation()

    def forget_generation(self) -> None:
        """Its generation has ended, and it was not part of the next."""
        self.generation = NO_GENERATION
        self.protocol = ""

    # -- requests ---------------------------------------------------------------------------------------------------

    def join(self, protocols: Sequence[tuple[str, bytes]], reason: str, version: int) -> protocol.JoinGroupRequest:
        """It offers these assignors, each with its subscription."""
        made = protocol.JoinGroupRequest
        return made(
            group_id=self.group_id,
            session_timeout_ms=self.session_timeout_ms,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=[made.JoinGroupRequestProtocol(name=name, metadata=data) for name, data in protocols],
            reason=reason[:MAX_REASON],
        )

    def sync(self, assignments: dict[str, bytes], version: int) -> protocol.SyncGroupRequest:
        """It wants its part; the leader hands in everyone's."""
        made = protocol.SyncGroupRequest
        return made(
            group_id=self.group_id,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=self.protocol,
            assignments=[
                made.SyncGroupRequestAssignment(member_id=member, assignment=data)
                for member, data in assignments.items()
            ],
        )

    def heartbeat(self, version: int) -> protocol.HeartbeatRequest:
        """It lives."""
        return protocol.HeartbeatRequest(
            group_id=self.group_id,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
        )

    def leaving(self, reason: str) -> Callable[[int], protocol.LeaveGroupRequest]:
        """It leaves: the message for a version, though the member may have been forgotten by then."""
        made = protocol.LeaveGroupRequest
        group_id, member_id, instance_id = self.group_id, self.member_id, self.instance_id

        def message(version: int) -> protocol.LeaveGroupRequest:
            if version < _FIRST_LEAVE_WITH_MANY:
                return made(group_id=group_id, member_id=member_id)
            row = made.MemberIdentity(member_id=member_id, group_instance_id=instance_id, reason=reason[:MAX_REASON])
            return made(group_id=group_id, members=[row])

        return message

    @property
    def join_versions(self) -> range:
        """The versions of JoinGroup that can say who it is."""
        return range(_FIRST_JOIN_WITH_INSTANCE if self.instance_id else 0, _NEWEST_JOIN + 1)

    @property
    def sync_versions(self) -> range:
        """As `join_versions`, for SyncGroup."""
        return range(_FIRST_WITH_INSTANCE if self.instance_id else 0, _NEWEST_SYNC + 1)

    @property
    def heartbeat_versions(self) -> range:
        """As `join_versions`, for Heartbeat."""
        return range(_FIRST_WITH_INSTANCE if self.instance_id else 0, _NEWEST_HEARTBEAT + 1)

    @property
    def leave_versions(self) -> range:
        """As `join_versions`, for LeaveGroup."""
        return range(_FIRST_WITH_INSTANCE if self.instance_id else 0, _NEWEST_LEAVE + 1)
