"""Schemas by their ids: from a registry with Confluent's HTTP interface, or from a folder of `<id>.avsc`.

It blocks, within a limit of time for a schema with all that it refers to. A schema that an id stands for never changes:
each process fetches it once. What is said to a registry is `registry_client.py`'s, which is imported when one is asked.
Errors say the registry without what may be secret in its URL. No Arrow, no Spark.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from kwire.columns.avro_schema import AvroType, named_types, parse_avro_schema
from kwire.engine.common.secret import Secret
from kwire.errors import ConfigError
from kwire.spark.decoding.registry_errors import RegistryError, UnknownSchemaError


@dataclass(frozen=True)
class SchemaText:
    """An Avro schema as its text, with those that it refers to, each before the ones that need it."""

    text: str
    references: tuple[str, ...] = ()

    def parse(self) -> AvroType:
        known: dict[str, AvroType] = {}
        for reference in self.references:
            known |= named_types(parse_avro_schema(reference, known))
        return parse_avro_schema(self.text, known)

    @property
    def size(self) -> int:
        """In characters, the references included."""
        return len(self.text) + sum(map(len, self.references))


@dataclass(frozen=True)
class Registry:
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

    def by_id(self, id_: int) -> SchemaText:
        """The schema of an id; UnknownSchemaError when there is none, RegistryError when that cannot be found out."""
        known = _FETCHED.get((self, id_))
        if known is None:
            known = self._of_folder(id_) if self.is_folder else self._resolved(f"/schemas/ids/{id_}", f"schema {id_}")
            if len(_FETCHED) >= _MAX_FETCHED or sum(each.size for each in list(_FETCHED.values())) > _MAX_CHARACTERS:
                _FETCHED.clear()
            _FETCHED[self, id_] = known
        return known

    def latest(self, subject: str) -> SchemaText:
        """The newest schema of a subject."""
        return self._resolved(f"/subjects/{quote(subject, safe='')}/versions/latest", f"the subject {subject}")

    def _of_folder(self, id_: int) -> SchemaText:
        path = Path(self.url.removeprefix("file://").removeprefix("file:")) / f"{id_}.avsc"
        try:
            return SchemaText(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise UnknownSchemaError(f"schema {id_} is not in the folder: there is no {path}") from None
        except (OSError, UnicodeDecodeError) as fault:
            raise RegistryError(f"schema {id_}: cannot read {path}: {fault}") from None

    def _resolved(self, path: str, what: str) -> SchemaText:
        from kwire.spark.decoding.registry_client import fetch_schema

        return SchemaText(*fetch_schema(self, path, what))


_NO_URL: Final = "{}: expected the http:// or https:// URL of a registry, or a folder"
_MAX_FETCHED: Final = 1000
_MAX_CHARACTERS: Final = 16 << 20
_FETCHED: Final[dict[tuple[Registry, int], SchemaText]] = {}


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
) -> Registry:
    """The registry that options name; what stands before an @ in the URL is user and password, too."""
    if "://" not in text or text.startswith("file:"):
        folder = Path(text.removeprefix("file://").removeprefix("file:"))
        if not folder.is_dir():
            named = "such folder" if "@" in text else f"folder {folder}"
            raise ConfigError(f"{option}: there is no {named}; a registry's URL begins with http:// or https://")
        return Registry(text)
    try:
        parts = urlsplit(text)
    except ValueError:
        raise ConfigError(_NO_URL.format(option)) from None
    host = parts.netloc.rpartition("@")[2]
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigError(_NO_URL.format(option))
    for name, file in (("caFile", ca_file), ("certFile", cert_file), ("keyFile", key_file)):
        if file and not os.path.isfile(file):
            raise ConfigError(f"{option}.{name}: there is no file {file}")
    if key_file and not cert_file:
        raise ConfigError(f"{option}.keyFile is given without {option}.certFile")
    url = urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
    user, password = user or unquote(parts.username or ""), password or unquote(parts.password or "")
    if token and (user or password):
        raise ConfigError(f"{option}.token and a user or password exclude each other")
    return Registry(url, user, Secret(password), ca_file, Secret(token), cert_file, key_file)
