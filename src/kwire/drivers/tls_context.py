"""The `ssl.SSLContext` of a client, made of its settings.

Layer 4; imported only where TLS is used. Every fault is a ConfigError that names the setting, the file and the reason;
passwords and keys are in none. Text and stores reach OpenSSL through a private file that is gone at once.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime

from kwire._typing import NamedTuple
from kwire.drivers.key_stores import open_store
from kwire.drivers.pem_files import (
    as_file,
    certificates_in,
    end_of,
    file_error,
    file_named_by,
    keys_in,
    read_file,
    revocations_in,
)
from kwire.engine.common.secret import Secret
from kwire.engine.common.warning import warn_caller
from kwire.engine.settings.security import SecuritySettings
from kwire.errors import ConfigError
from kwire.errors.wording import SettingName, Wording, joined

_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_TLS_1_3_SUITES = ("TLS_AES_", "TLS_CHACHA20_")
_ENDINGS = (".pem", ".crt", ".cer")
_HASH_DIGITS = 8


class Identity(NamedTuple):
    """A client's certificate with its chain, and its key, with the names of the settings that they come from."""

    certificate: str
    certificate_from: Wording
    key: str
    key_from: Wording
    password: Secret | None


def make_context(settings: SecuritySettings) -> ssl.SSLContext:
    """The context for all connections of a client; warns of checks that are switched off."""
    if settings.ssl_context is not None:
        given: ssl.SSLContext = settings.ssl_context
        return given
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.hostname_checks_common_name = False  # RFC 9525, 2: only a subjectAltName names a host
    _offer(context, settings)
    _trust(context, settings)
    identity = _identity(settings)
    if identity is not None:
        _identify(context, identity)
    _relax(context, settings)
    return context


def _offer(context: ssl.SSLContext, settings: SecuritySettings) -> None:
    versions = settings.ssl_enabled_protocols
    suites = (settings.ssl_cipher_suites or "").split(":")
    older = [_openssl_name(suite) for suite in suites if suite and not suite.startswith(_TLS_1_3_SUITES)]
    if settings.ssl_cipher_suites and not older:
        if "TLSv1.3" not in versions:
            raise ConfigError(
                Wording("{ssl_cipher_suites} has suites of TLS 1.3 only, but {ssl_enabled_protocols} is without it")
            )
        versions = ("TLSv1.3",)
    context.minimum_version = _VERSIONS[versions[0]]
    context.maximum_version = _VERSIONS[versions[-1]]
    if older:
        try:
            context.set_ciphers(":".join(older))
        except ssl.SSLError:
            raise ConfigError(
                Wording(
                    "{ssl_cipher_suites}={suites!r}: {library} has none of them",
                    suites=settings.ssl_cipher_suites,
                    library=ssl.OPENSSL_VERSION,
                )
            ) from None


def _openssl_name(suite: str) -> str:
    """Java's name of a suite of TLS 1.2 as OpenSSL's: TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 is
    ECDHE-RSA-AES128-GCM-SHA256; other names stay as they are.
    """
    exchange, with_, cipher = suite.removeprefix("TLS_").partition("_WITH_")
    if not suite.startswith("TLS_") or not with_:
        return suite
    cipher = cipher.replace("AES_", "AES").replace("_CBC_", "_").replace("POLY1305_SHA256", "POLY1305")
    return (cipher if exchange == "RSA" else f"{exchange}-{cipher}").replace("_", "-")


def _trust(context: ssl.SSLContext, settings: SecuritySettings) -> None:
    if not load_trust_store(context, settings):
        context.load_default_certs()
    if settings.ssl_crl_location is not None:
        _load_revocations(context, settings.ssl_crl_location)


def load_trust_store(context: ssl.SSLContext, settings: SecuritySettings) -> bool:
    """Trusts the certificates that the settings have, if any."""
    if settings.ssl_ca_pem is not None:
        load_authorities(context, Wording("{ssl_ca_pem}"), settings.ssl_ca_pem)
    elif settings.ssl_ca_location is not None:
        load_location(context, "ssl_ca_location", settings.ssl_ca_location)
    elif settings.ssl_truststore_location is not None:
        path, kind = settings.ssl_truststore_location, settings.ssl_truststore_type
        store = open_store("ssl_truststore_location", path, settings.ssl_truststore_password, kind)
        certificates = store if isinstance(store, str) else store.certificates
        load_authorities(context, file_named_by("ssl_truststore_location", path), certificates)
    else:
        return False
    return True


def load_location(context: ssl.SSLContext, setting: str, path: str) -> None:
    """Trusts the certificates of a PEM file, or of a directory: hashed as OpenSSL has it, or one file each."""
    if not os.path.isdir(path):
        load_authorities(context, file_named_by(setting, path), _pem_of_file(setting, path))
        return
    names = sorted(os.listdir(path))
    if any(_is_hashed(name) for name in names):
        context.load_verify_locations(capath=path)
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        return
    files = [os.path.join(path, name) for name in names if name.endswith(_ENDINGS)]
    if not files:
        raise file_error(setting, path, f" is a directory without certificates ({', '.join(_ENDINGS)})")
    for file in files:
        load_authorities(context, file_named_by(setting, file), _pem_of_file(setting, file))


def _is_hashed(name: str) -> bool:
    stem, dot, number = name.partition(".")
    return bool(dot) and number.isdigit() and len(stem) == _HASH_DIGITS


def _pem_of_file(setting: str, path: str) -> str:
    data = read_file(setting, path)
    if b"-----BEGIN " not in data:
        hint = ""
        if data.startswith((b"\x30\x80", b"\x30\x81", b"\x30\x82", b"\xfe\xed\xfe\xed")):
            hint = Wording("; a PKCS12 store belongs in {ssl_truststore_location} or {ssl_keystore_location}")
        raise file_error(setting, path, joined("", (" has no PEM text in it", hint)))
    return data.decode("utf-8", "replace")


def load_authorities(context: ssl.SSLContext, source: Wording, text: str) -> None:
    """Trusts each certificate of PEM text, whoever has signed it, as Java does with those of a trust store."""
    found = certificates_in(text)
    if not found:
        raise ConfigError(Wording("{source} has no certificate in it", source=source))
    _check_certificates(context, source, found)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN


def _check_certificates(context: ssl.SSLContext, source: Wording, certificates: list[str]) -> None:
    """Loads certificates as trusted; tells which one cannot be read."""
    for number, certificate in enumerate(certificates, 1):
        try:
            context.load_verify_locations(cadata=certificate)
        except (ssl.SSLError, ValueError, TypeError):
            raise ConfigError(
                Wording(
                    "{source}: certificate {number} of {count} cannot be read",
                    source=source,
                    number=number,
                    count=len(certificates),
                )
            ) from None


def _load_revocations(context: ssl.SSLContext, path: str) -> None:
    lists = revocations_in(_pem_of_file("ssl_crl_location", path))
    if not lists:
        raise file_error("ssl_crl_location", path, " has no list of revoked certificates in it")
    try:
        with as_file("".join(lists)) as private:
            context.load_verify_locations(cafile=private)
    except ssl.SSLError:
        raise file_error("ssl_crl_location", path, ": its list of revoked certificates cannot be read") from None
    context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF


def _identity(settings: SecuritySettings) -> Identity | None:
    """The client's certificate and key, wherever the settings have them; None without."""
    if settings.ssl_keystore_location is not None:
        return _identity_of_store(settings, settings.ssl_keystore_location)
    certificate, certificate_from = _text(
        "ssl_certificate", settings.ssl_certificate_location, settings.ssl_certificate_pem
    )
    if certificate is None:
        return None
    key, key_from = _text("ssl_key", settings.ssl_key_location, settings.ssl_key_pem)
    if key is None:
        key, key_from = certificate, certificate_from
    return Identity(certificate, certificate_from, key, key_from, settings.ssl_key_password)


def _text(setting: str, path: str | None, pem: Secret | None) -> tuple[str | None, Wording]:
    """PEM text, and where it comes from."""
    if path is not None:
        return _pem_of_file(f"{setting}_location", path), file_named_by(f"{setting}_location", path)
    return (None if pem is None else pem.reveal()), Wording("{setting}", setting=SettingName(f"{setting}_pem"))


def _identity_of_store(settings: SecuritySettings, path: str) -> Identity:
    source = file_named_by("ssl_keystore_location", path)
    password = settings.ssl_keystore_password or settings.ssl_key_password
    store = open_store("ssl_keystore_location", path, password, settings.ssl_keystore_type)
    if isinstance(store, str):
        return Identity(store, source, store, source, settings.ssl_key_password or password)
    return Identity(store.certificates, source, store.key, source, None)


def _identify(context: ssl.SSLContext, identity: Identity) -> None:
    """Makes the context show this certificate to brokers that ask for one."""
    certificates, keys = certificates_in(identity.certificate), keys_in(identity.key)
    if not certificates:
        raise ConfigError(Wording("{source} has no certificate in it", source=identity.certificate_from))
    if not keys:
        needed = Wording("; {ssl_key_location} or {ssl_key_pem} is needed")
        raise ConfigError(
            Wording(
                "{source} has no private key in it{needed}",
                source=identity.key_from,
                needed=needed if identity.key is identity.certificate else "",
            )
        )
    if identity.password is None and _is_encrypted(keys[0]):
        raise ConfigError(
            Wording("{source}: the key is encrypted, and {ssl_key_password} is needed", source=identity.key_from)
        )
    _check_certificates(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), identity.certificate_from, certificates)
    password = identity.password.reveal() if identity.password is not None else ""
    with as_file("".join([keys[0], *certificates])) as path:
        try:
            context.load_cert_chain(
                path, password=password
            )  # with a password OpenSSL does not ask the terminal for one
        except (ssl.SSLError, ValueError) as error:
            raise ConfigError(_why_not(identity, keys[0], error)) from None
    _warn_of_end(identity.certificate_from, certificates[0])


def _is_encrypted(key: str) -> bool:
    return "ENCRYPTED" in "".join(key.splitlines()[:2])


def _why_not(identity: Identity, key: str, error: Exception) -> str:
    reason = getattr(error, "reason", None)
    source, certificate = identity.key_from, identity.certificate_from
    if reason == "KEY_VALUES_MISMATCH":
        if source == certificate:
            return Wording("{source}: the key is not that of its first certificate", source=source)
        return Wording(
            "{source} is not the key of the certificate in {certificate}", source=source, certificate=certificate
        )
    if reason:
        words = reason.replace("_", " ").lower()
        return Wording("{certificate} cannot be used: {words}", certificate=certificate, words=words)
    if _is_encrypted(key):
        return Wording("{source}: the key cannot be decrypted: {ssl_key_password} is wrong", source=source)
    return Wording("{source}: the private key cannot be read", source=source)


def _warn_of_end(source: Wording, certificate: str) -> None:
    end = end_of(certificate)
    if end is not None and end < datetime.now(UTC):
        warn_caller(f"{source}: the client's own certificate expired on {end:%Y-%m-%d %H:%M:%S} UTC")


def _relax(context: ssl.SSLContext, settings: SecuritySettings) -> None:
    """Switches off the checks that the settings do not want, with a warning."""
    for text in _relaxed(context, settings):
        warn_caller(text)


def _relaxed(context: ssl.SSLContext, settings: SecuritySettings) -> Iterator[str]:
    if not settings.enable_ssl_certificate_verification:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        yield (
            "enable_ssl_certificate_verification=False: the certificates of brokers are not checked at all, so anyone "
            "on the way can read and change everything, passwords included; use it in tests only"
        )
    elif not settings.ssl_endpoint_identification_algorithm:
        context.check_hostname = False
        yield (
            "ssl_endpoint_identification_algorithm='': the host names in certificates of brokers are not checked, so "
            "the holder of any certificate of the same authority can pretend to be a broker"
        )
