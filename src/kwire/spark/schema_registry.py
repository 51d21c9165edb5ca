"""Schemas by their ids: from a registry with Confluent's HTTP interface, or from a folder of `<id>.avsc`.

    GET /schemas/ids/{id}                        {"schema": "...", "schemaType": "AVRO", "references": [...]}
    GET /subjects/{subject}/versions/{version}   the same, with the id; version `latest`, too
    a reference                                  {"name": "...", "subject": "...", "version": 1}

It blocks, within a limit of time per request. A schema that an id stands for never changes: each process fetches it
once. Certificates are always checked; a redirect is followed without the password; answers have a limit. Errors say the
registry without what may be secret in its URL. No Arrow, no Spark; urllib only when a registry is asked.
"""

from __future__ import annotations

import json
import os
import time
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from kwire.columns.avro_schema import AvroType, named_types, parse_avro_schema
from kwire.drivers.http_answers import RETRIED, TransientError, told_by_refusal, whole_body
from kwire.engine.secret import Secret, without_secrets
from kwire.engine.security_conflicts import is_loopback
from kwire.errors import ConfigError, KafkaError

if TYPE_CHECKING:
    from urllib.request import OpenerDirector

TIMEOUT_S: Final = 10.0
_TRIES: Final = 3
_FIRST_WAIT_S: Final = 0.2
_MAX_ANSWER: Final = 8 << 20
_MAX_REFERENCES: Final = 200
_SAID: Final = 300


class RegistryError(KafkaError):
    """A registry that does not answer as one, or refuses to; trying the job again may help."""


class UnknownSchemaError(RegistryError):
    """An id or subject that the registry does not have, or not as an Avro schema."""


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


@dataclass(frozen=True)
class Registry:
    """Where schemas are: `url` of a registry, without user and password, or a folder's path."""

    url: str
    user: str = ""
    password: Secret = Secret("")  # noqa: RUF009 - a str
    ca_file: str = ""

    @property
    def is_folder(self) -> bool:
        return not self.url.startswith(("http://", "https://"))

    def by_id(self, id_: int) -> SchemaText:
        """The schema of an id; UnknownSchemaError when there is none, RegistryError when that cannot be found out."""
        known = _FETCHED.get((self, id_))
        if known is None:
            known = self._of_folder(id_) if self.is_folder else self._resolved(f"/schemas/ids/{id_}", f"schema {id_}")
            if len(_FETCHED) >= _MAX_FETCHED:
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
        client = _Client(self)
        references: dict[tuple[str, int], str] = {}
        text = _with_references(client, client.get(path, what), what, references)
        return SchemaText(text, tuple(references.values()))


_MAX_FETCHED: Final = 10_000
_FETCHED: Final[dict[tuple[Registry, int], SchemaText]] = {}


def parse_registry(option: str, text: str, user: str, password: str, ca_file: str) -> Registry:
    """The registry that options name; what stands before an @ in the URL is user and password, too."""
    if "://" not in text or text.startswith("file:"):
        folder = Path(text.removeprefix("file://").removeprefix("file:"))
        if not folder.is_dir():
            named = "such folder" if "@" in text else f"folder {folder}"
            raise ConfigError(f"{option}: there is no {named}; a registry's URL begins with http:// or https://")
        return Registry(text)
    parts = urlsplit(text)
    host = parts.netloc.rpartition("@")[2]
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigError(f"{option}: expected the http:// or https:// URL of a registry, or a folder")
    if ca_file and not os.path.isfile(ca_file):
        raise ConfigError(f"{option}.caFile: there is no file {ca_file}")
    url = urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
    return Registry(
        url, user or unquote(parts.username or ""), Secret(password or unquote(parts.password or "")), ca_file
    )


def _with_references(client: _Client, answer: dict[str, Any], what: str, found: dict[tuple[str, int], str]) -> str:
    """The text of an answer; what it refers to is fetched into `found`, the deepest first."""
    text, kind, references = answer.get("schema"), answer.get("schemaType") or "AVRO", answer.get("references") or []
    if not isinstance(text, str) or not isinstance(references, list):
        raise RegistryError(f"{what}: the answer of {client.url} has no schema")
    if kind != "AVRO":
        raise UnknownSchemaError(f"{what} of {client.url} is {str(kind)[:40]}, not Avro")
    for reference in references:
        try:
            subject, version = str(reference["subject"]), int(reference["version"])
        except (TypeError, KeyError, ValueError):
            raise RegistryError(
                f"{what}: the answer of {client.url} has a reference without subject and version"
            ) from None
        if (subject, version) in found:
            continue
        if client.requests > _MAX_REFERENCES:
            raise RegistryError(f"{what} of {client.url} refers to more than {_MAX_REFERENCES} schemas")
        below = client.get(f"/subjects/{quote(subject, safe='')}/versions/{version}", f"version {version} of {subject}")
        found[subject, version] = _with_references(client, below, what, found)
    return text


class _Client:
    """A registry while one schema and what it refers to are fetched."""

    def __init__(self, registry: Registry) -> None:
        self.url = registry.url
        self.requests = 0
        self._registry = registry
        self._opener = _opener(registry)

    def get(self, path: str, what: str) -> dict[str, Any]:
        self.requests += 1
        wait = _FIRST_WAIT_S
        for left in range(_TRIES - 1, -1, -1):
            try:
                return self._get(path, what)
            except TransientError as fault:
                if not left:
                    raise RegistryError(f"{what} cannot be fetched from {self.url}: {fault}") from None
            time.sleep(wait)
            wait *= 2
        raise AssertionError("unreachable")

    def _get(self, path: str, what: str) -> dict[str, Any]:
        import http.client
        from urllib.error import HTTPError, URLError

        end = time.monotonic() + TIMEOUT_S
        try:
            with self._opener.open(self._request(path), timeout=TIMEOUT_S) as response:
                body = whole_body(response, end, _MAX_ANSWER)
        except HTTPError as refusal:
            with refusal:
                raise self._refused(refusal, what, end) from None
        except URLError as error:
            raise TransientError(str(error.reason)) from None
        except (OSError, http.client.HTTPException) as error:
            raise TransientError(f"{type(error).__name__}: {error}") from None
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise RegistryError(f"{what}: the answer of {self.url} is not a JSON object: is it a schema registry?")
        return answer

    def _request(self, path: str) -> Any:
        from urllib.request import Request

        request = Request(self.url + path, headers={"Accept": "application/json", "User-Agent": "kwire"})
        user, password = self._registry.user, self._registry.password.reveal()
        if user or password:
            token = b64encode(f"{user}:{password}".encode()).decode()
            request.add_unredirected_header("Authorization", f"Basic {token}")
        return request

    def _refused(self, refusal: Any, what: str, end: float) -> Exception:
        said = str(told_by_refusal(refusal, end, _MAX_ANSWER).get("message", ""))[:_SAID]
        said = without_secrets(said, [self._registry.password.reveal()] if self._registry.password else [])
        why = f"HTTP status {refusal.code}" + (f": {said}" if said else "")
        if refusal.code in RETRIED:
            return TransientError(why)
        if refusal.code == 404:
            return UnknownSchemaError(f"{what} is not in the registry {self.url} ({why})")
        return RegistryError(f"{what} cannot be fetched from {self.url}: {why}")


def _opener(registry: Registry) -> OpenerDirector:
    import ssl
    from urllib.request import HTTPSHandler, ProxyHandler, build_opener

    try:
        context = ssl.create_default_context(cafile=registry.ca_file or None)
    except (OSError, ssl.SSLError) as fault:
        raise ConfigError(f"the certificates in {registry.ca_file} cannot be loaded: {fault}") from None
    handlers = [HTTPSHandler(context=context)]
    if is_loopback(urlsplit(registry.url).hostname or ""):
        return build_opener(*handlers, ProxyHandler({}))
    return build_opener(*handlers)
