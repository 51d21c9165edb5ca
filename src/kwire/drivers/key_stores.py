"""Java's key and trust stores: which format a file has, and PKCS12 by `cryptography`.

Layer 4. `cryptography` is imported for a PKCS12 store only. Errors name a setting and a file, and never a password.
"""

from __future__ import annotations

from kwire._typing import Any, NamedTuple
from kwire.drivers.pem_files import file_error, read_file
from kwire.engine.common.secret import Secret
from kwire.errors.wording import SettingName, Wording

_JKS, _JCEKS = b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce"
_SEQUENCE = b"\x30"


class Store(NamedTuple):
    """What a store has, as PEM text: certificates, that of the key first and then its chain, and the key if any."""

    certificates: str
    key: str


def open_store(setting: str, path: str, password: Secret | None, kind: str | None) -> Store | str:
    """A PKCS12 store opened, or the text of a PEM file; raises ConfigError for JKS, with the command that converts it.

    `kind` is what the settings say of it; the file's content decides.
    """
    data = read_file(setting, path)
    if data[:4] in (_JKS, _JCEKS):
        raise file_error(setting, path, _conversion(path, "JKS" if data[:4] == _JKS else "JCEKS"))
    is_pem = b"-----BEGIN " in data
    if is_pem != (kind == "PEM") and kind is not None and (is_pem or kind == "PEM"):
        found = "is a PEM file" if is_pem else "has no PEM text in it"
        wanted = Wording("{setting}={kind!r}", setting=SettingName(setting.replace("location", "type")), kind=kind)
        raise file_error(setting, path, Wording(" {found}, but {wanted}", found=found, wanted=wanted))
    if is_pem:
        return data.decode("utf-8", "replace")
    if not data.startswith(_SEQUENCE):
        raise file_error(setting, path, " is neither a PEM file nor a PKCS12 store")
    return _pkcs12(setting, path, data, password)


def _conversion(path: str, kind: str) -> str:
    from shlex import quote

    stem = path.removesuffix(".jks").removesuffix(".jceks")
    return (
        f" is a {kind} store, which only Java reads; convert it with: keytool -importkeystore "
        f"-srckeystore {quote(path)} -srcstoretype {kind} -destkeystore {quote(stem + '.p12')} -deststoretype PKCS12"
    )


def _pkcs12(setting: str, path: str, data: bytes, password: Secret | None) -> Store:
    try:
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, pkcs12
    except ImportError:
        needed = ' is a PKCS12 store, which needs the package cryptography: pip install "kwire[tls]"'
        raise file_error(setting, path, needed) from None
    try:
        found = pkcs12.load_pkcs12(data, password.encode() if password is not None else None)
    except Exception as error:  # cryptography has no class of its own for these
        raise file_error(setting, path, _fault(setting, password, error)) from None
    key = ""
    if found.key is not None:
        key = found.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    others = [entry.certificate for entry in found.additional_certs]
    return Store("".join(map(_pem, others if found.cert is None else _chain(found.cert.certificate, others))), key)


def _chain(own: Any, others: list[Any]) -> list[Any]:
    """The certificates with each before the one that signed it."""
    chain = [own]
    while above := [other for other in others if other.subject == chain[-1].issuer and other not in chain]:
        chain.append(above[0])
    return chain + [other for other in others if other not in chain]


def _pem(certificate: Any) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    text: str = certificate.public_bytes(Encoding.PEM).decode()
    return text


def _fault(setting: str, password: Secret | None, error: Exception) -> str:
    name = SettingName(setting.replace("location", "password"))
    if "password" not in str(error).lower():  # cryptography has no other sign of it
        return " is damaged, or not a PKCS12 store"
    if password is None:
        return Wording(" has a password: {name} is needed", name=name)
    return Wording(" cannot be opened: {name} is wrong, or the file is damaged", name=name)
