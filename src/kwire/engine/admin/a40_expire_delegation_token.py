"""ExpireDelegationToken: has a token expire at another time, or at once; asked of the controller. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Sequence

from kwire import protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.token_expiry import TokenExpiry
from kwire.schema.api_keys import EXPIRE_DELEGATION_TOKEN
from kwire.schema.error_codes import DELEGATION_TOKEN_NOT_FOUND

if TYPE_CHECKING:
    from kwire.engine.ports import Services


class ExpireDelegationToken(TokenExpiry):
    """Has the token expire so many ms from now; a negative period ends it."""

    api_key = EXPIRE_DELEGATION_TOKEN
    means_done = frozenset({DELEGATION_TOKEN_NOT_FOUND})

    @override
    def request(self, core: Services, keys: Sequence[None], version: int) -> protocol.ExpireDelegationTokenRequest:
        return protocol.ExpireDelegationTokenRequest(hmac=self._hmac, expiry_time_period_ms=self._period_ms)
