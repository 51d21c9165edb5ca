"""The embedded broker's options for TLS and SASL, checked, and the settings that a client needs for them."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from kwire.errors import ConfigError
from kwire.testing.release import Release
from kwire.testing.sasl import MECHANISMS, Accounts
from kwire.testing.sasl.oauthbearer import unsecured_token
from kwire.testing.serving.transport import PlainTransport, Transport

if TYPE_CHECKING:
    from kwire.testing.certificates import Certificates

_TOKEN_LIFETIME_S = 3600.0
_MAX_ITERATIONS = 10_000_000
_FIRST_WITH_TLS = (0, 9)
_FIRST_WITH_TLS_1_3 = (2, 6)


@dataclass(frozen=True)
class Security:
    """The options as they hold. `accounts` is None without SASL, `certificates` without TLS."""

    accounts: Accounts | None = None
    certificates: Certificates | None = None
    client_certificate: bool = False
    tls_1_3: bool = True

    @property
    def protocol(self) -> str:
        """PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL."""
        below = "PLAINTEXT" if self.certificates is None else "SSL"
        return below if self.accounts is None else f"SASL_{below}"

    @property
    def ca_pem(self) -> str:
        """Raises ConfigError without TLS."""
        if self.certificates is None:
            raise ConfigError("the broker has no certificates: it was made without tls=True")
        return self.certificates.ca_pem

    def new_transport(self) -> Callable[[socket.socket], Transport]:
        """Makes the transport of a socket that the server accepted."""
        if self.certificates is None:
            return PlainTransport
        from kwire.testing.serving.tls import TlsTransport, server_context

        context = server_context(self.certificates, client_certificate=self.client_certificate, tls_1_3=self.tls_1_3)
        return partial(TlsTransport, context)

    def configs(self) -> dict[str, str]:
        """What a broker of Kafka would have in its configuration, as far as clients may see it."""
        configs = {"ssl.client.auth": "required" if self.client_certificate else "none"}
        if self.accounts is not None:
            configs["sasl.enabled.mechanisms"] = ",".join(self.accounts.mechanisms)
            configs["connections.max.reauth.ms"] = str(self.accounts.max_reauth_ms)
        return configs

    def client_settings(self) -> dict[str, Any]:
        """The keywords of kwire's clients that log in as the first user, by the first mechanism."""
        settings: dict[str, Any] = {"security_protocol": self.protocol}
        if self.certificates is not None:
            settings["ssl_ca_pem"] = self.certificates.ca_pem
        if self.certificates is not None and self.client_certificate:
            settings["ssl_certificate_pem"] = self.certificates.client_certificate_pem
            settings["ssl_key_pem"] = self.certificates.client_key_pem
        if self.accounts is not None:
            settings |= _login(self.accounts)
        return settings


def _login(accounts: Accounts) -> dict[str, Any]:
    mechanism = accounts.mechanisms[0]
    user, password = next(iter(accounts.users.items()))
    if mechanism == "OAUTHBEARER":
        return {"sasl_mechanism": mechanism, "sasl_oauth_token": lambda: _token(user)}
    return {"sasl_mechanism": mechanism, "sasl_username": user, "sasl_password": password}


def _token(user: str) -> tuple[str, float]:
    return unsecured_token(user, time.time(), _TOKEN_LIFETIME_S), _TOKEN_LIFETIME_S


def make_security(
    release: Release,
    hosts: Iterable[str],
    *,
    users: Mapping[str, str] | None,
    mechanisms: Iterable[str] | None,
    scram_iterations: int,
    max_reauth_ms: int,
    tls: bool | Literal["mutual"],
    certificates: Certificates | None,
) -> Security:
    """Raises ConfigError for options that the release does not have or that do not fit each other."""
    return Security(
        _accounts(release, users, mechanisms, scram_iterations, max_reauth_ms),
        _certificates(release, hosts, tls, certificates),
        client_certificate=tls == "mutual",
        tls_1_3=release.number >= _FIRST_WITH_TLS_1_3,
    )


def _accounts(
    release: Release,
    users: Mapping[str, str] | None,
    mechanisms: Iterable[str] | None,
    scram_iterations: int,
    max_reauth_ms: int,
) -> Accounts | None:
    if not users:
        for name, given in (("mechanisms", mechanisms), ("max_reauth_ms", max_reauth_ms)):
            if given:
                raise ConfigError(f"{name}: no users; give users={{'alice': 'secret'}}")
        return None
    if not isinstance(users, Mapping):
        raise TypeError(f"users is a mapping of names to passwords, not {type(users).__name__}")
    if not all(isinstance(text, str) and text for pair in users.items() for text in pair):
        raise ConfigError("users: names and passwords must be non-empty strings")
    if not 1 <= scram_iterations <= _MAX_ITERATIONS:
        raise ConfigError(f"scram_iterations {scram_iterations}: expected 1 to {_MAX_ITERATIONS}")
    if max_reauth_ms and not release.has_reauthentication:
        raise ConfigError(f"max_reauth_ms: release {release.name} has no re-authentication; 2.2.0 is the first")
    if max_reauth_ms < 0:
        raise ConfigError(f"max_reauth_ms {max_reauth_ms}: expected milliseconds, or 0 for sessions without end")
    return Accounts(dict(users), _mechanisms(release, mechanisms), scram_iterations, max_reauth_ms)


def _mechanisms(release: Release, wanted: Iterable[str] | None) -> tuple[str, ...]:
    """The wanted ones; else all that check a password and that the release has."""
    known = [name for name, since in MECHANISMS.items() if release.number >= since]
    if not known:
        raise ConfigError(f"users: release {release.name} has none of {', '.join(MECHANISMS)}; 0.10.0.0 has PLAIN")
    if wanted is None:
        return tuple(name for name in known if name != "OAUTHBEARER")
    chosen = (wanted,) if isinstance(wanted, str) else tuple(wanted)
    for name in chosen:
        if name not in known:
            raise ConfigError(f"mechanism {name!r}: release {release.name} has {', '.join(known)} here")
    if not chosen:
        raise ConfigError("mechanisms: name one, or leave the option out")
    return chosen


def _certificates(
    release: Release, hosts: Iterable[str], tls: bool | Literal["mutual"], given: Certificates | None
) -> Certificates | None:
    if tls not in (True, False, "mutual"):
        raise ConfigError(f"tls {tls!r}: True, or 'mutual' for clients that need a certificate")
    if not tls:
        if given is not None:
            raise ConfigError("certificates: they are presented with tls=True only")
        return None
    if release.number < _FIRST_WITH_TLS:
        raise ConfigError(f"tls: release {release.name} has none; 0.9.0.0 is the first")
    if given is not None:
        return given
    from kwire.testing.certificates import LOOPBACK, Certificates

    return Certificates(dict.fromkeys((*LOOPBACK, *hosts)))
