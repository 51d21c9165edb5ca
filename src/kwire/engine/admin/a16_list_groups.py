"""ListGroups: asked of every broker, each of which lists the groups that it coordinates. Layer 3, no I/O.

Brokers filter by state from version 4 on (KIP-518), by type from 5 on (KIP-848). Those before that only know classic
groups, so a filter by type needs no broker; a state they do not say, so that such a filter is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.group_results import GroupListing
from kwire.engine.admin.groups_api import explained
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import EachBroker
from kwire.errors import KafkaError
from kwire.schema.api_keys import LIST_GROUPS

if TYPE_CHECKING:
    from kwire.engine.ports import Services

Listed = tuple[GroupListing, ...]

_VERSIONS_WITH_STATES = range(4, 6)
_FIRST_VERSION_WITH_TYPES = 5
_CLASSIC = "Classic"


class ListGroups(AdminApi[int, Listed]):
    """The groups in one of these states, of one of these types and protocol types, sorted by their ids; an empty filter
    lets all pass."""

    api_key = LIST_GROUPS
    what = "ListGroups"
    retries_codes = True

    def __init__(
        self, *, states: Sequence[str] = (), types: Sequence[str] = (), protocol_types: Sequence[str] = ()
    ) -> None:
        self.lookup = self._brokers = EachBroker()
        self._states = states
        self._types = types
        self._protocol_types = protocol_types
        if states:
            self.versions = _VERSIONS_WITH_STATES

    @override
    def split(self, core: Services) -> Sequence[int] | None:
        return self._brokers.ids(core)

    @override
    def request(self, core: Services, keys: Sequence[int], version: int) -> protocol.ListGroupsRequest:
        types = self._types if version >= _FIRST_VERSION_WITH_TYPES else ()
        return protocol.ListGroupsRequest(states_filter=self._states, types_filter=types)

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
        return dict.fromkeys(keys, tuple(filter(self._passes, rows)))

    @override
    def merge(self, results: Mapping[int, Listed]) -> list[GroupListing]:
        found = {listing.group_id: listing for listed in results.values() for listing in listed}
        return [found[group_id] for group_id in sorted(found)]

    @override
    def explain(self, error: KafkaError) -> KafkaError:
        if not self._states:
            return error
        return explained(
            error,
            "groups are listed by their states from Kafka 2.6 on; before that a description of each has its state",
        )

    def _passes(self, row: GroupListing) -> bool:
        """What a broker that is too old to filter, or that knows no such filter, has let pass."""
        return (not self._types or (row.type or _CLASSIC) in self._types) and (
            not self._protocol_types or row.protocol_type in self._protocol_types
        )
