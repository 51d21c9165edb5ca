"""CreateDelegationToken: a token that logs in as who asks for it, or as another; asked of the controller.

Layer 3, no I/O. Another owner came with version 3 (KIP-373).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.access_api import OneAnswer, refusal
from kwire.engine.admin.access_results import DelegationToken
from kwire.engine.admin.tokens import NEEDS, delegation_token
from kwire.engine.calls.lookup import Controller
from kwire.schema.api_keys import CREATE_DELEGATION_TOKEN
from kwire.schema.error_codes import UNSUPPORTED_VERSION

if TYPE_CHECKING:
    from kwire.engine.ports import Services

_FIRST_VERSION_WITH_OWNERS = 3


class CreateDelegationToken(OneAnswer[DelegationToken]):
    """The new token."""

    api_key = CREATE_DELEGATION_TOKEN
    needs = NEEDS

    def __init__(
        self, owner: tuple[str, str] | None, renewers: Sequence[tuple[str, str]], max_lifetime_ms: int
    ) -> None:
        super().__init__(Controller())
        self._owner = owner
        self._renewers = renewers
        self._max_lifetime_ms = max_lifetime_ms

    @override
    def request(self, core: Services, keys: Sequence[None], version: int) -> protocol.CreateDelegationTokenRequest:
        made = protocol.CreateDelegationTokenRequest
        renewers = [made.CreatableRenewers(principal_type=kind, principal_name=name) for kind, name in self._renewers]
        request = made(renewers=renewers, max_lifetime_ms=self._max_lifetime_ms)
        if version >= _FIRST_VERSION_WITH_OWNERS:
            request.owner_principal_type, request.owner_principal_name = self._owner or (None, None)
        elif self._owner is not None:
            raise errors.broker.error_for(UNSUPPORTED_VERSION, "a token of another owner needs Kafka 3.3 or newer")
        return request

    @override
    def result(
        self, keys: Sequence[None], response: protocol.CreateDelegationTokenResponse, version: int
    ) -> Mapping[None, DelegationToken]:
        if response.error_code:
            raise refusal(response.error_code, self.what)
        times = (response.issue_timestamp_ms, response.expiry_timestamp_ms, response.max_timestamp_ms)
        return {None: delegation_token(response, *times, self._renewers)}
