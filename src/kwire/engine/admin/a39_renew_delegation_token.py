"""RenewDelegationToken: puts off when a token expires; asked of the controller. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Sequence

from kwire import protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.token_expiry import TokenExpiry
from kwire.schema.api_keys import RENEW_DELEGATION_TOKEN

if TYPE_CHECKING:
    from kwire.engine.ports import Services


class RenewDelegationToken(TokenExpiry):
    """Has the token expire so many ms from now."""

    api_key = RENEW_DELEGATION_TOKEN

    @override
    def request(self, core: Services, keys: Sequence[None], version: int) -> protocol.RenewDelegationTokenRequest:
        return protocol.RenewDelegationTokenRequest(hmac=self._hmac, renew_period_ms=self._period_ms)
