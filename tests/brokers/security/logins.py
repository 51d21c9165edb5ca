"""The settings with which kwire's clients log in at a listener, as keywords."""

import base64
import json
import time
from collections.abc import Callable
from typing import Any

from tests.brokers.keys import Keys
from tests.brokers.listeners import USERS, Listener
from tests.certificates import PASSWORD as PASSWORD_OF_KEYS

Settings = dict[str, Any]

PASSWORD = USERS["alice"]
NO_KERBEROS = "no KDC or no gssapi is installed (make kerberos)"
TOKEN_LIFETIME_S = 3600


def settings_for(listener: Listener, mechanism: str | None, keys: Keys) -> Settings:
    """What a client of that listener needs; `mechanism` is None for one without SASL."""
    found: Settings = {"security_protocol": listener.protocol}
    if listener.protocol.endswith("SSL"):
        found["ssl_ca_location"] = str(keys.ca)
    if listener.name == "MTLS":
        found |= {"ssl_certificate_location": str(keys.client_certificate), "ssl_key_location": str(keys.client_key)}
    return found | (login(mechanism) if mechanism else {})


def login(mechanism: str) -> Settings:
    """The settings of a user whom every SASL listener knows."""
    if mechanism == "OAUTHBEARER":
        return {"sasl_mechanism": mechanism, "sasl_oauth_token": unsecured_token()}
    if mechanism == "GSSAPI":
        return {"sasl_mechanism": mechanism, "sasl_kerberos_service_name": "kafka"}
    return {"sasl_mechanism": mechanism, "sasl_username": "alice", "sasl_password": PASSWORD}


def unsecured_token(lifetime: float = TOKEN_LIFETIME_S, *, begins: float = 0.0) -> Callable[[], tuple[str, float]]:
    """A source of tokens without a signature, which the listeners take; one that begins in the past may be over."""

    def source() -> tuple[str, float]:
        now = time.time()
        header = {"alg": "none"}
        claims = {"sub": "alice", "iat": int(now + begins), "exp": now + begins + lifetime}
        parts = (base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in (header, claims))
        return ".".join([*parts, ""]), lifetime

    return source


def secrets() -> list[str]:
    """What no output may show: passwords as they are, and as base64 and PLAIN would carry them."""
    words = [*USERS.values(), PASSWORD_OF_KEYS]
    plain = [f"\0{name}\0{password}" for name, password in USERS.items()]
    encoded = [base64.b64encode(word.encode()).decode().rstrip("=") for word in (*words, *plain)]
    # Tokens all begin alike: their header and the first claim.
    return [*words, *encoded, unsecured_token()()[0][:40]]
