"""DescribeAcls: the access control entries that a filter finds; any broker answers. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.access_api import AccessQuery, refusal
from kwire.engine.admin.access_results import AclBinding, AclFilter
from kwire.engine.admin.acls import NEEDS, binding, filter_fields
from kwire.schema.api_keys import DESCRIBE_ACLS

if TYPE_CHECKING:
    from kwire.engine.ports import Services


class DescribeAcls(AccessQuery[list[AclBinding]]):
    """The entries, sorted."""

    api_key = DESCRIBE_ACLS
    needs = NEEDS

    def __init__(self, wanted: AclFilter) -> None:
        super().__init__()
        self._wanted = wanted

    @override
    def request(self, core: Services, keys: Sequence[None], version: int) -> protocol.DescribeAclsRequest:
        return protocol.DescribeAclsRequest(**filter_fields(self._wanted, version))

    @override
    def result(
        self, keys: Sequence[None], response: protocol.DescribeAclsResponse, version: int
    ) -> Mapping[None, list[AclBinding]]:
        if response.error_code:
            raise refusal(response.error_code, self.what, response.error_message)
        found = [
            binding(resource, resource.resource_name, row) for resource in response.resources for row in resource.acls
        ]
        return {None: sorted(found)}
