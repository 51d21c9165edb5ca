"""Where a client's OAUTHBEARER tokens come from: a callable of the user, a token endpoint, or claims for tests.

Layer 4: reads the wall clock, and knows the endpoint's client. The engine calls the source apart from the driver.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial

from kwire._typing import Any
from kwire.engine.connections.sasl.oauthbearer import unsecured_token
from kwire.engine.settings.clients import ClientSettings


def token_source(settings: ClientSettings) -> Callable[[], Any] | None:
    """The callable that returns (token, lifetime in seconds); None where the settings name none."""
    if settings.sasl_oauth_token is not None:
        source: Callable[[], Any] = settings.sasl_oauth_token
        return source
    if settings.sasl_oauthbearer_unsecured_claims is not None:
        lifetime = settings.sasl_oauthbearer_unsecured_lifetime_ms / 1000
        return partial(_unsecured, settings.sasl_oauthbearer_unsecured_claims, lifetime)
    if settings.sasl_oauthbearer_token_endpoint_url is not None:
        from kwire.drivers import oauth_endpoint

        return oauth_endpoint.token_source(settings)
    return None


def _unsecured(claims: Mapping[str, object], lifetime: float) -> tuple[str, float]:
    return unsecured_token(claims, time.time(), lifetime), lifetime
