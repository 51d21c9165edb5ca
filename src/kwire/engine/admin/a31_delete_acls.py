"""DeleteAcls: removes the access control entries that filters find; asked of the controller. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.access_api import AccessChange, in_turn, refusal
from kwire.engine.admin.access_results import AclBinding, AclFilter
from kwire.engine.admin.acls import NEEDS, binding, filter_fields
from kwire.errors import KafkaError
from kwire.schema.api_keys import DELETE_ACLS

if TYPE_CHECKING:
    from kwire.engine.ports import Services

    Row = protocol.DeleteAclsResponse.DeleteAclsFilterResult

Deleted = tuple[AclBinding, ...]


class DeleteAcls(AccessChange[AclFilter, Deleted]):
    """{filter: the entries that it removed}."""

    api_key = DELETE_ACLS
    needs = NEEDS

    @override
    def request(self, core: Services, keys: Sequence[AclFilter], version: int) -> protocol.DeleteAclsRequest:
        made = protocol.DeleteAclsRequest
        return made(filters=[made.DeleteAclsFilter(**filter_fields(acl, version)) for acl in keys])

    @override
    def result(
        self, keys: Sequence[AclFilter], response: protocol.DeleteAclsResponse, version: int
    ) -> Mapping[AclFilter, Deleted | KafkaError]:
        return {acl: _deleted(acl, row) for acl, row in in_turn(keys, response.filter_results, self.what)}


def _deleted(acl: AclFilter, row: Row) -> Deleted | KafkaError:
    if row.error_code:
        return refusal(row.error_code, f"DeleteAcls of {acl}", row.error_message)
    for kept in row.matching_acls:
        if kept.error_code:
            what = f"DeleteAcls of {acl}: not deleted: {binding(kept, kept.resource_name, kept)}"
            return refusal(kept.error_code, what, kept.error_message)
    return tuple(sorted(binding(gone, gone.resource_name, gone) for gone in row.matching_acls))
