"""Users of `kwire broker`, as its options name them, and the files by which clients log in.

A password is never printed: it goes into a file that only its owner can read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from kwire.cli.usage import UsageError

if TYPE_CHECKING:
    from kwire.testing import Broker

_FILES = {
    "ssl_ca_pem": ("ssl.ca.location", "ca.pem"),
    "ssl_certificate_pem": ("ssl.certificate.location", "client.pem"),
    "ssl_key_pem": ("ssl.key.location", "client.key"),
}
"""The settings with PEM texts: by which name a file of it is given, and what the file is called here."""


def read_users(given: Iterable[str], path: str | None) -> dict[str, str]:
    """Passwords by name, of NAME:PASSWORD arguments and of the lines of a file. UsageError, without the text."""
    users = dict(_user(text, "--user") for text in given)
    if path is not None:
        try:
            lines = Path(path).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--users-file {path}: {getattr(error, 'strerror', None) or 'not UTF-8'}") from None
        for number, line in enumerate(lines, 1):
            if line.strip() and not line.startswith("#"):
                name, password = _user(line, f"--users-file {path}, line {number}")
                users[name] = password
    return users


def _user(text: str, where: str) -> tuple[str, str]:
    name, _, password = text.partition(":")
    if not name or not password:
        raise UsageError(f"{where}: write NAME:PASSWORD")
    return name, password


def write_client_files(broker: Broker, user: str | None, folder: Path) -> tuple[dict[str, str], Path]:
    """(the settings to show, the file of all settings) of a client that logs in as `user`, the broker's first.

    UsageError for a folder that cannot be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return _write_client_files(broker, user, folder)
    except OSError as error:
        raise UsageError(f"--client-files {folder}: {error.strerror}") from error


def _write_client_files(broker: Broker, user: str | None, folder: Path) -> tuple[dict[str, str], Path]:
    shown = {"bootstrap.servers": broker.bootstrap_servers}
    hidden = {}
    for name, value in broker.client_settings.items():
        if name in _FILES:
            dotted, file = _FILES[name]
            _write(folder / file, value)
            shown[dotted] = str(folder / file)
        elif name == "sasl_password":
            hidden["sasl.password"] = value
        elif name == "sasl_oauth_token":
            shown["sasl.oauthbearer.unsecured.claims"] = f"sub={user}"
        else:
            shown[name.replace("_", ".")] = value
    path = folder / "client.properties"
    _write(path, "".join(f"{name}={_escaped(value)}\n" for name, value in {**shown, **hidden}.items()))
    return shown, path


def as_lines(settings: Mapping[str, str]) -> str:
    """Settings as a person pastes them."""
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def _write(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.chmod(0o600)
    path.write_text(text, encoding="utf-8")


def _escaped(value: str) -> str:
    """The value as java.util.Properties reads it back."""
    escaped = value.replace("\\", "\\\\")
    return "\\" + escaped if escaped[:1].isspace() else escaped
