"""What RenewDelegationToken and ExpireDelegationToken have in common. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import protocol
from kwire._typing import override
from kwire.engine.admin.access_api import OneAnswer, refusal
from kwire.engine.admin.tokens import NEEDS
from kwire.engine.calls.lookup import Controller


class TokenExpiry(OneAnswer[int]):
    """When the token expires from now on, in ms since 1970."""

    needs = NEEDS

    def __init__(self, hmac: bytes, period_ms: int) -> None:
        super().__init__(Controller())
        self._hmac = hmac
        self._period_ms = period_ms

    @override
    def result(
        self,
        keys: Sequence[None],
        response: protocol.RenewDelegationTokenResponse | protocol.ExpireDelegationTokenResponse,
        version: int,
    ) -> Mapping[None, int]:
        if response.error_code:
            raise refusal(response.error_code, self.what)
        return {None: response.expiry_timestamp_ms}
