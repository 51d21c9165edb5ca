"""Bearer tokens from a token endpoint, for a Registry's `token`."""

from __future__ import annotations

import os
from typing import Any

from kwire.drivers.oauth_endpoint import fetch_token
from kwire.engine.common.secret import hiding_arguments
from kwire.engine.settings.security import SecuritySettings


class ClientCredentials:
    """A callable that asks an OAuth token endpoint for a token, by client credentials (RFC 6749, section 4.4).

        Registry(url, token=ClientCredentials("https://login.example/token", "client", "secret", scope="registry"))

    Calling it raises AuthError where the endpoint refuses, ConnectError where it cannot be reached.
    """

    @hiding_arguments
    def __init__(
        self,
        token_endpoint_url: str,
        client_id: str,
        client_secret: str,
        *,
        scope: str | None = None,
        ca_location: str | os.PathLike[str] | None = None,
    ) -> None:
        given: dict[str, Any] = {
            "sasl_oauthbearer_token_endpoint_url": token_endpoint_url,
            "sasl_oauthbearer_client_id": client_id,
            "sasl_oauthbearer_client_secret": client_secret,
            "sasl_oauthbearer_scope": scope,
            "https_ca_location": None if ca_location is None else os.fspath(ca_location),
        }
        self._settings = SecuritySettings(**given)

    def __call__(self) -> tuple[str, float]:
        """A token, and the seconds that it lasts."""
        return fetch_token(self._settings)
