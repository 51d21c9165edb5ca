"""Schemas by their ids: from a registry with Confluent's HTTP interface, or from a folder of `<id>.avsc`.

It blocks, within a limit of time for a schema, and for all that it refers to. Each process has one `kwire.registry`
client for each registry, imported when one is asked, so it asks once for each id. Errors say the registry without what
may be secret in its URL. No Arrow, no Spark.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit, urlunsplit

from kwire.engine.common.secret import Secret, shown_path
from kwire.errors import ConfigError, RegistryError, UnknownSchemaError
from kwire.registry.avro_text import AvroText, avro_text

if TYPE_CHECKING:
    from kwire.registry import Registry, Schema


@dataclass(frozen=True)
class SchemaSource:
    """Where schemas are: `url` of a registry, without user and password, or a folder's path."""

    url: str
    user: str = ""
    password: Secret = Secret("")  # noqa: RUF009 - a str
    ca_file: str = ""
    token: Secret = Secret("")  # noqa: RUF009 - a str
    cert_file: str = ""
    key_file: str = ""

    @property
    def is_folder(self) -> bool:
        return not self.url.startswith(("http://", "https://"))

    def by_id(self, id_: int) -> AvroText:
        """The schema of an id; UnknownSchemaError when there is none, RegistryError when that cannot be found out."""
        if self.is_folder:
            return self._of_folder(id_)
        schema = _client(self).by_id(id_)
        return self._resolved(schema, f"schema {id_}")

    def latest(self, subject: str) -> AvroText:
        """The newest schema of a subject."""
        schema = _client(self).latest(subject).schema
        return self._resolved(schema, f"the subject {subject}")

    def _resolved(self, schema: Schema, what: str) -> AvroText:
        return avro_text(schema, _client(self).resolve(schema, what=what), f"{what} of {self.url}")

    def _of_folder(self, id_: int) -> AvroText:
        path = Path(self.url.removeprefix("file://").removeprefix("file:")) / f"{id_}.avsc"
        try:
            return AvroText(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise UnknownSchemaError(f"schema {id_} is not in the folder: there is no {path}") from None
        except (OSError, UnicodeDecodeError) as fault:
            raise RegistryError(f"schema {id_}: cannot read {path}: {fault}") from None


@lru_cache(maxsize=100)
def _client(source: SchemaSource) -> Registry:
    from kwire.registry import Registry

    return Registry(
        source.url,
        username=source.user,
        password=source.password.reveal(),
        token=source.token.reveal() or None,
        ssl_ca_location=source.ca_file or None,
        ssl_certificate_location=source.cert_file or None,
        ssl_key_location=source.key_file or None,
    )


_NO_URL: Final = "{}: expected the http:// or https:// URL of a registry, or a folder"


def parse_registry(
    option: str,
    text: str,
    user: str,
    password: str,
    ca_file: str,
    *,
    token: str = "",
    cert_file: str = "",
    key_file: str = "",
) -> SchemaSource:
    """The registry that options name; what stands before an @ in the URL is user and password, too."""
    if "://" not in text or text.startswith("file:"):
        folder = Path(text.removeprefix("file://").removeprefix("file:"))
        if not os.path.isdir(folder):  # `is_dir()` raises for a name that is too long
            named = "such folder" if "@" in text else f"folder {folder}"
            raise ConfigError(f"{option}: there is no {named}; a registry's URL begins with http:// or https://")
        return SchemaSource(text)
    try:
        parts = urlsplit(text)
    except ValueError:
        raise ConfigError(_NO_URL.format(option)) from None
    host = parts.netloc.rpartition("@")[2]
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigError(_NO_URL.format(option))
    for name, file in (("caFile", ca_file), ("certFile", cert_file), ("keyFile", key_file)):
        if file and not os.path.isfile(file):
            raise ConfigError(f"{option}.{name}: there is no file {shown_path(file)}")
    if key_file and not cert_file:
        raise ConfigError(f"{option}.keyFile is given without {option}.certFile")
    url = urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
    user, password = user or unquote(parts.username or ""), password or unquote(parts.password or "")
    if token and (user or password):
        raise ConfigError(f"{option}.token and a user or password exclude each other")
    return SchemaSource(url, user, Secret(password), ca_file, Secret(token), cert_file, key_file)
