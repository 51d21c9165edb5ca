"""CreateAcls: adds access control entries; asked of the controller. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.access_api import AccessChange, in_turn, refusal
from kwire.engine.admin.access_results import AclBinding
from kwire.engine.admin.acls import NEEDS, check_version, code
from kwire.errors import KafkaError
from kwire.schema.api_keys import CREATE_ACLS

if TYPE_CHECKING:
    from kwire.engine.ports import Services

    AclCreation = protocol.CreateAclsRequest.AclCreation


class CreateAcls(AccessChange[AclBinding, None]):
    """Adds the entries; one that is there already is no error."""

    api_key = CREATE_ACLS
    needs = NEEDS

    @override
    def request(self, core: Services, keys: Sequence[AclBinding], version: int) -> protocol.CreateAclsRequest:
        return protocol.CreateAclsRequest(creations=[_creation(acl, version) for acl in keys])

    @override
    def result(
        self, keys: Sequence[AclBinding], response: protocol.CreateAclsResponse, version: int
    ) -> Mapping[AclBinding, KafkaError | None]:
        return {
            acl: refusal(row.error_code, f"CreateAcls of {acl}", row.error_message) if row.error_code else None
            for acl, row in in_turn(keys, response.results, self.what)
        }


def _creation(acl: AclBinding, version: int) -> AclCreation:
    check_version(acl, version)
    return protocol.CreateAclsRequest.AclCreation(
        resource_type=code("resource_type", acl.resource_type),
        resource_name=acl.name,
        resource_pattern_type=code("pattern_type", acl.pattern_type),
        principal=acl.principal,
        host=acl.host,
        operation=code("operation", acl.operation),
        permission_type=code("permission_type", acl.permission_type),
    )
