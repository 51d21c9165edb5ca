"""LeaveGroup: members put out of their group by an administrator, asked of its coordinator. Layer 3, no I/O.

Up to version 2 a request names one member, by its id; from 3 on several, static ones by their group_instance_id
(KIP-345).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, NamedTuple, override
from kwire.engine.admin.groups_api import GroupApi, explained
from kwire.engine.calls.rows import by_key
from kwire.errors import KafkaError
from kwire.schema.api_keys import LEAVE_GROUP
from kwire.schema.error_codes import UNKNOWN_MEMBER_ID

if TYPE_CHECKING:
    from kwire.engine.ports import Services

_FIRST_VERSION_WITH_MANY = 3
_VERSIONS_WITH_MANY = range(_FIRST_VERSION_WITH_MANY, 6)


class MemberToRemove(NamedTuple):
    """A member of a group: a static one by its `group_instance_id`, any by its `member_id`."""

    group_instance_id: str | None = None
    member_id: str = ""

    @property
    def name(self) -> str:
        """What errors call it."""
        return self.group_instance_id or self.member_id


class RemoveMembers(GroupApi[None]):
    """Puts members out of the group; `reason` is what the broker logs."""

    api_key = LEAVE_GROUP
    means_done = frozenset({UNKNOWN_MEMBER_ID})

    def __init__(self, group_id: str, members: Sequence[MemberToRemove], reason: str) -> None:
        super().__init__(group_id)
        self._members = members
        self._reason = reason
        if len(members) > 1 or any(member.group_instance_id for member in members):
            self.versions = _VERSIONS_WITH_MANY

    @override
    def request(self, core: Services, keys: Sequence[str], version: int) -> protocol.LeaveGroupRequest:
        if version < _FIRST_VERSION_WITH_MANY:
            return protocol.LeaveGroupRequest(group_id=self._group_id, member_id=self._members[0].member_id)
        made = protocol.LeaveGroupRequest.MemberIdentity
        return protocol.LeaveGroupRequest(
            group_id=self._group_id,
            members=[
                made(member_id=member.member_id, group_instance_id=member.group_instance_id, reason=self._reason)
                for member in self._members
            ],
        )

    @override
    def result(self, keys: Sequence[str], response: protocol.LeaveGroupResponse, version: int) -> Mapping[str, None]:
        if version < _FIRST_VERSION_WITH_MANY:
            self.raise_all((), {self._members[0].name: response.error_code})
            return dict.fromkeys(keys)
        if response.error_code:
            raise errors.broker.error_for(response.error_code, self.what)
        codes = by_key(
            ((row.group_instance_id or row.member_id, row.error_code) for row in response.members), self.what
        )
        self.raise_all([member.name for member in self._members], codes)
        return dict.fromkeys(keys)

    @override
    def explain(self, error: KafkaError) -> KafkaError:
        return explained(error, "group_instance_id needs Kafka 2.4 or newer; members of older brokers have a member_id")
