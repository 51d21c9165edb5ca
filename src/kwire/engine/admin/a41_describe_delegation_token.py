"""DescribeDelegationToken: the tokens of owners that the one who asks may see; any broker answers. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.access_api import AccessQuery, refusal
from kwire.engine.admin.access_results import DelegationToken
from kwire.engine.admin.tokens import NEEDS, delegation_token
from kwire.schema.api_keys import DESCRIBE_DELEGATION_TOKEN

if TYPE_CHECKING:
    from kwire.engine.ports import Services

    Row = protocol.DescribeDelegationTokenResponse.DescribedDelegationToken

Tokens = list[DelegationToken]


class DescribeDelegationToken(AccessQuery[Tokens]):
    """The tokens, by their ids; of all owners for None."""

    api_key = DESCRIBE_DELEGATION_TOKEN
    needs = NEEDS

    def __init__(self, owners: Sequence[tuple[str, str]] | None) -> None:
        super().__init__()
        self._owners = owners

    @override
    def request(self, core: Services, keys: Sequence[None], version: int) -> protocol.DescribeDelegationTokenRequest:
        made = protocol.DescribeDelegationTokenRequest
        if self._owners is None:
            return made(owners=None)
        owner = made.DescribeDelegationTokenOwner
        return made(owners=[owner(principal_type=kind, principal_name=name) for kind, name in self._owners])

    @override
    def result(
        self, keys: Sequence[None], response: protocol.DescribeDelegationTokenResponse, version: int
    ) -> Mapping[None, Tokens]:
        if response.error_code:
            raise refusal(response.error_code, self.what)
        return {None: sorted((_token(row) for row in response.tokens), key=lambda each: each.token_id)}


def _token(row: Row) -> DelegationToken:
    renewers = [(each.principal_type, each.principal_name) for each in row.renewers]
    return delegation_token(row, row.issue_timestamp, row.expiry_timestamp, row.max_timestamp, renewers)
