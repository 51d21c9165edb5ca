"""ListGroups: asked of every broker, each of which lists the groups that it coordinates. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.group_results import GroupListing
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import EachBroker
from kwire.errors import KafkaError
from kwire.schema.api_keys import LIST_GROUPS

if TYPE_CHECKING:
    from kwire.engine.ports import Services

Listed = tuple[GroupListing, ...]


class ListGroups(AdminApi[int, Listed]):
    """All groups, sorted by their ids."""

    api_key = LIST_GROUPS
    what = "ListGroups"
    retries_codes = True

    def __init__(self) -> None:
        self.lookup = EachBroker()

    @override
    def split(self, core: Services) -> Sequence[int] | None:
        return list(core.cluster.brokers) or None

    @override
    def request(self, core: Services, keys: Sequence[int], version: int) -> protocol.ListGroupsRequest:
        return protocol.ListGroupsRequest()

    @override
    def result(
        self, keys: Sequence[int], response: protocol.ListGroupsResponse, version: int
    ) -> Mapping[int, Listed | KafkaError]:
        if response.error_code:
            raise errors.broker.error_for(response.error_code, f"ListGroups of broker {keys[0]}")
        rows = tuple(
            GroupListing(row.group_id, row.protocol_type, row.group_state, row.group_type.capitalize())
            for row in response.groups
        )
        return dict.fromkeys(keys, rows)

    @override
    def merge(self, results: Mapping[int, Listed]) -> list[GroupListing]:
        found = {listing.group_id: listing for listed in results.values() for listing in listed}
        return [found[group_id] for group_id in sorted(found)]
