"""PEM text: its blocks, the files that hold it, and a file that is there only while OpenSSL reads it.

Layer 4. Errors name a setting and a file; nothing here shows what is in one.
"""

from __future__ import annotations

import os
import re
from binascii import a2b_base64
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from kwire.engine.common.secret import is_pem
from kwire.errors import ConfigError
from kwire.errors.wording import SettingName, Wording, joined

_CERTIFICATE_LABELS = ("CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE")
_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)
_TEXT_FOR_A_PATH = (
    "{setting} is PEM text, where the path of a file is meant; "
    "{ssl_ca_pem}, {ssl_certificate_pem} and {ssl_key_pem} take text"
)
_MAX_BYTES = 16 * 1024 * 1024
_SEQUENCE, _VERSION, _UTC_TIME = 0x30, 0xA0, 0x17


def read_file(setting: str, path: str) -> bytes:
    """The content of the file that a setting names."""
    if is_pem(path):
        raise ConfigError(Wording(_TEXT_FOR_A_PATH, setting=SettingName(setting)))
    try:
        with open(path, "rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise file_error(setting, path, f" cannot be read: {error.strerror}") from None
    if len(data) > _MAX_BYTES:
        raise file_error(setting, path, f" is larger than {_MAX_BYTES} bytes: not what is meant?")
    return data


def file_error(setting: str, path: str, what: str) -> ConfigError:
    """The error about a file that a setting names."""
    return ConfigError(joined("", (file_named_by(setting, path), what)))


def file_named_by(setting: str, path: str) -> Wording:
    """A file by its setting and its path."""
    return Wording("{setting}={path!r}", setting=SettingName(setting), path=path)


def certificates_in(text: str) -> list[str]:
    """The blocks of PEM text that are certificates, each with its first and last line."""
    return [block for label, block in blocks(text) if label in _CERTIFICATE_LABELS]


def keys_in(text: str) -> list[str]:
    """The blocks of PEM text that are private keys."""
    return [block for label, block in blocks(text) if label.endswith("PRIVATE KEY")]


def revocations_in(text: str) -> list[str]:
    """The blocks of PEM text that are lists of revoked certificates."""
    return [block for label, block in blocks(text) if label == "X509 CRL"]


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """The labels and texts of all blocks, in lines of 64; what stands around them is ignored.

    As in Java's properties, line ends may be the two characters `\\n`, or spaces.
    """
    for label, content in _BLOCK.findall(text.replace("\\n", "\n")):
        head, _, body = content.rpartition("\n\n") if ":" in content else ("", "", content)
        letters = "".join(body.split())
        lines = [head.strip(), ""] if head else []
        lines += [letters[begin : begin + 64] for begin in range(0, len(letters), 64)]
        yield label, "\n".join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----", ""])


@contextmanager
def as_file(text: str) -> Iterator[str]:
    """A path at which the text can be read until the end of the block, by this user only.

    It lies in memory where the system can do that, and nowhere else.
    """
    descriptor, path = _private_file()
    try:
        with open(descriptor, "w", encoding="ascii", errors="replace", closefd=False) as file:
            file.write(text)
        yield path
    finally:
        os.close(descriptor)
        if not path.startswith("/proc/"):
            os.unlink(path)


def _private_file() -> tuple[int, str]:
    if hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd"):
        descriptor = os.memfd_create("kwire")
        return descriptor, f"/proc/self/fd/{descriptor}"
    from tempfile import mkstemp

    return mkstemp()


def end_of(certificate: str) -> datetime | None:
    """When a certificate (one PEM block) ceases to be valid; None if it cannot be told."""
    try:
        der = a2b_base64("".join(line for line in certificate.splitlines() if not line.startswith("-----")))
        to_be_signed = _content(_content(der, 0), 0)
        position = 0
        fields: list[bytes] = []
        while len(fields) < 4:  # serial number, algorithm, issuer, validity
            begin, end = _span(to_be_signed, position)
            if to_be_signed[position] != _VERSION:
                fields.append(to_be_signed[begin:end])
            position = end
        return _second_time(fields[3])
    except (ValueError, IndexError):
        return None


def _second_time(validity: bytes) -> datetime:
    position = _span(validity, 0)[1]
    begin, end = _span(validity, position)
    text = validity[begin:end].decode("ascii").rstrip("Z")
    if validity[position] == _UTC_TIME:
        text = ("19" if text >= "50" else "20") + text
    return datetime.strptime(text, "%Y%m%d%H%M%S").replace(tzinfo=UTC)


def _content(der: bytes, position: int) -> bytes:
    if der[position] != _SEQUENCE:
        raise ValueError
    begin, end = _span(der, position)
    return der[begin:end]


def _span(der: bytes, position: int) -> tuple[int, int]:
    """Where the content of a DER value begins and ends."""
    length = der[position + 1]
    begin = position + 2
    if length & 0x80:
        size = length & 0x7F
        length = int.from_bytes(der[begin : begin + size])
        begin += size
    if begin + length > len(der):
        raise ValueError
    return begin, begin + length
