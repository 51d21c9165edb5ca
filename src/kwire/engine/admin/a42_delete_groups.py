"""DeleteGroups: groups without members, each asked of its coordinator. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.groups_api import GroupsApi
from kwire.engine.calls.refusals import each_of
from kwire.errors import KafkaError
from kwire.schema.api_keys import DELETE_GROUPS
from kwire.schema.error_codes import GROUP_ID_NOT_FOUND

if TYPE_CHECKING:
    from kwire.engine.ports import Services


class DeleteGroups(GroupsApi[None]):
    """Deletes the groups with their offsets; the result is None."""

    api_key = DELETE_GROUPS
    means_done = frozenset({GROUP_ID_NOT_FOUND})

    @override
    def request(self, core: Services, keys: Sequence[str], version: int) -> protocol.DeleteGroupsRequest:
        return protocol.DeleteGroupsRequest(groups_names=list(keys))

    @override
    def result(
        self, keys: Sequence[str], response: protocol.DeleteGroupsResponse, version: int
    ) -> Mapping[str, KafkaError | None]:
        return each_of(((row.group_id, row.error_code, None) for row in response.results), "DeleteGroups")

    @override
    def merge(self, results: Mapping[str, None]) -> None:
        return None
