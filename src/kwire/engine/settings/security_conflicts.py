"""Which settings of TLS and SASL need or exclude each other.

Layer 3, no I/O. Each refusal names the settings at fault, and none shows a value that may be a secret.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from kwire._typing import TYPE_CHECKING
from kwire.errors.wording import SettingName, Wording, joined

if TYPE_CHECKING:
    from kwire.engine.settings.security import SecuritySettings

_CAS = ("ssl_ca_location", "ssl_ca_pem", "ssl_truststore_location")
_CERTIFICATES = ("ssl_certificate_location", "ssl_certificate_pem", "ssl_keystore_location")
_KEYS = ("ssl_key_location", "ssl_key_pem", "ssl_keystore_location")
_TLS = (
    "ssl_context",
    *_CAS,
    "ssl_crl_location",
    *_CERTIFICATES,
    "ssl_key_location",
    "ssl_key_pem",
    "ssl_key_password",
    "ssl_truststore_password",
    "ssl_keystore_password",
)
_PASSWORD = ("sasl_username", "sasl_password")
_OF_PASSWORD = (*_PASSWORD, "sasl_credentials")
TOKEN_SOURCES = ("sasl_oauth_token", "sasl_oauthbearer_token_endpoint_url", "sasl_oauthbearer_unsecured_claims")
_ENDPOINT = ("sasl_oauthbearer_client_id", "sasl_oauthbearer_client_secret")
_OF_ENDPOINT = (*_ENDPOINT, "sasl_oauthbearer_scope", "https_ca_location", "https_ca_pem")
_OAUTH = (*TOKEN_SOURCES, *_OF_ENDPOINT, "sasl_oauthbearer_extensions")
_KERBEROS = ("sasl_kerberos_principal", "sasl_kerberos_keytab")
_SCRAM = (*_OF_PASSWORD, "sasl_scram_token_auth")
_OF_MECHANISM = {
    "PLAIN": _OF_PASSWORD,
    "SCRAM-SHA-256": _SCRAM,
    "SCRAM-SHA-512": _SCRAM,
    "OAUTHBEARER": _OAUTH,
    "GSSAPI": _KERBEROS,
}
_SASL = (*_SCRAM, *_OAUTH, *_KERBEROS)
_NEEDED = {"ssl_truststore_password": _CAS[-1:], "ssl_keystore_password": _CERTIFICATES[-1:]}
_LOOPBACK = ("localhost", "::1")


def conflicts(settings: SecuritySettings, chosen: Collection[str]) -> list[str]:
    """The refusals; `chosen` has the keywords that are not at their defaults."""
    if "security_protocol" in chosen and settings.security_protocol == "PLAINTEXT":
        return []  # it was refused
    found: list[str] = []
    if settings.uses_tls:
        found += _of_tls(settings, chosen)
    else:
        found += _without(settings, "TLS", "'SSL' or 'SASL_SSL'", [name for name in _TLS if name in chosen])
    if settings.uses_sasl:
        found += _of_sasl(settings, chosen)
    else:
        given = [name for name in ("sasl_mechanism", *_SASL) if name in chosen]
        found += _without(settings, "SASL", "'SASL_SSL' or 'SASL_PLAINTEXT'", given)
    return found


def _without(settings: SecuritySettings, what: str, protocols: str, given: list[str]) -> Iterator[str]:
    if given:
        yield Wording(
            "{given} cannot take effect: {security_protocol}={protocol!r} is without {what}; use {protocols}",
            given=_listed(given),
            protocol=settings.security_protocol,
            what=what,
            protocols=protocols,
        )


def _of_tls(settings: SecuritySettings, chosen: Collection[str]) -> Iterator[str]:
    if "ssl_context" in chosen:
        return
    yield from _one_at_most(_CAS, chosen)
    yield from _one_at_most(_CERTIFICATES, chosen)
    yield from _one_at_most(_KEYS, chosen)
    keys = [name for name in _KEYS if name in chosen]
    certificates = [name for name in _CERTIFICATES if name in chosen]
    if keys and not certificates:
        yield Wording(
            "{key} without a certificate: {ssl_certificate_location} or {ssl_certificate_pem} is needed",
            key=SettingName(keys[0]),
        )
    pem = settings.ssl_certificate_pem
    if pem is not None and not keys and "PRIVATE KEY-----" not in pem.reveal():
        yield Wording("{ssl_certificate_pem} without a key: {ssl_key_location} or {ssl_key_pem} is needed")
    if "ssl_key_password" in chosen and not certificates:
        yield Wording(
            "{ssl_key_password} without a key: {ssl_key_location}, {ssl_key_pem} or {ssl_keystore_location} is needed"
        )
    for password, stores in _NEEDED.items():
        if password in chosen and stores[0] not in chosen:
            yield Wording(
                "{password} without a store: {store} is needed",
                password=SettingName(password),
                store=SettingName(stores[0]),
            )


def _of_sasl(settings: SecuritySettings, chosen: Collection[str]) -> Iterator[str]:
    mechanism = settings.sasl_mechanism
    if mechanism is None:
        if "sasl_mechanism" not in chosen:
            yield Wording(
                "{security_protocol}={protocol!r} needs {sasl_mechanism}{likely}",
                protocol=settings.security_protocol,
                likely=_likely(chosen),
            )
        return
    own = _OF_MECHANISM[mechanism]
    foreign = [name for name in _SASL if name in chosen and name not in own]
    if foreign:
        yield Wording(
            "{foreign} cannot take effect: {sasl_mechanism}={mechanism!r} does not use it",
            foreign=_listed(foreign),
            mechanism=mechanism,
        )
    if own is _OAUTH:
        yield from _of_oauth(settings, chosen)
    elif own is not _KERBEROS:
        yield from _of_password(mechanism, chosen)


def _of_password(mechanism: str, chosen: Collection[str]) -> Iterator[str]:
    missing = [name for name in _PASSWORD if name not in chosen]
    if "sasl_credentials" not in chosen:
        if missing:
            yield Wording(
                "{sasl_mechanism}={mechanism!r} needs {missing}", mechanism=mechanism, missing=_listed(missing)
            )
    elif len(missing) < len(_PASSWORD):
        given = [name for name in _PASSWORD if name in chosen]
        yield Wording("{sasl_credentials} returns user and password: leave out {given}", given=_listed(given))


def _likely(chosen: Collection[str]) -> str:
    """Which mechanisms the settings given are for."""
    fitting = [mechanism for mechanism, names in _OF_MECHANISM.items() if any(name in chosen for name in names)]
    return f": {' or '.join(map(repr, fitting or _OF_MECHANISM))}"


def _of_oauth(settings: SecuritySettings, chosen: Collection[str]) -> Iterator[str]:
    sources = [name for name in TOKEN_SOURCES if name in chosen]
    if not sources:
        yield Wording("{sasl_mechanism}='OAUTHBEARER' needs {sources}", sources=_listed(TOKEN_SOURCES, " or "))
    yield from _one_at_most(TOKEN_SOURCES, chosen)
    if "sasl_oauthbearer_token_endpoint_url" in sources:
        missing = [name for name in _ENDPOINT if name not in chosen]
        if missing:
            yield Wording("{sasl_oauthbearer_token_endpoint_url} needs {missing}", missing=_listed(missing))
        fault = _fault_of_url(settings.sasl_oauthbearer_token_endpoint_url or "")
        if fault:
            yield Wording("{sasl_oauthbearer_token_endpoint_url} {fault}", fault=fault)
    else:
        unused = [name for name in _OF_ENDPOINT if name in chosen]
        if unused:
            yield Wording(
                "{unused} cannot take effect without {sasl_oauthbearer_token_endpoint_url}", unused=_listed(unused)
            )


def _fault_of_url(url: str) -> str:
    """Why that URL cannot be a token endpoint, "" if it can; the URL is not shown, since it may hold a password."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or port == 0 or parts.scheme not in ("http", "https") or not _is_visible(url):
        return "is not an https URL"
    if parts.username is not None:
        return Wording(
            "has a user or password in it: give {sasl_oauthbearer_client_id} and {sasl_oauthbearer_client_secret}"
        )
    if parts.scheme == "http" and not is_loopback(host):
        return "is http, which would show the client's secret to the network: only https is accepted"
    return ""


def _is_visible(url: str) -> bool:
    return all("!" <= letter <= "~" and letter not in '\\"<>' for letter in url)


def is_loopback(host: str) -> bool:
    """Whether a host, without brackets, is this machine by its name."""
    return host.lower() in _LOOPBACK or (host.startswith("127.") and host.replace(".", "").isdecimal())


def _one_at_most(names: tuple[str, ...], chosen: Collection[str]) -> Iterator[str]:
    given = [name for name in names if name in chosen]
    if len(given) > 1:
        yield Wording("{given} exclude each other: give only one of them", given=_listed(given))


def _listed(names: Sequence[str], last: str = " and ") -> str:
    """Names of settings: `a, b and c`."""
    first = joined(", ", map(SettingName, names[:-1]))
    return joined(last, [*([first] if first else []), SettingName(names[-1])])
