"""Schemas asked of a registry with Confluent's HTTP interface, each with those that it refers to.

    GET /schemas/ids/{id}                        {"schema": "...", "schemaType": "AVRO", "references": [...]}
    GET /subjects/{subject}/versions/{version}   the same, with the id; version `latest`, too
    a reference                                  {"name": "...", "subject": "...", "version": 1}

It blocks, within limits of time and bytes for each request and for the schema as a whole. Certificates are always
checked; a redirect is followed without password and token, and never from https to http. Errors say the registry
without what may be secret in its URL. No Arrow, no Spark; imported only when a registry is asked.
"""

from __future__ import annotations

import json
import ssl
import time
from base64 import b64encode
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote
from urllib.request import Request

from kwire.columns.avro_schema import MAX_SCHEMA_CHARACTERS
from kwire.drivers.http_exchange import RETRIED, Answer, CarefulRedirects, Limits, TransientError, exchange
from kwire.engine.common.secret import without_secrets
from kwire.engine.connections.sasl.exchange import quoted
from kwire.errors import ConfigError
from kwire.spark.decoding.registry_errors import RegistryError, UnknownSchemaError

if TYPE_CHECKING:
    from kwire.spark.decoding.schema_registry import Registry

REQUEST_TIMEOUT_S: Final = 10.0
SCHEMA_TIMEOUT_S: Final = 60.0
MAX_ANSWER: Final = 8 << 20
MAX_REFERENCES: Final = 200
_MAX_VERSION: Final = (1 << 31) - 1
_TRIES: Final = 3
_FIRST_WAIT_S: Final = 0.2
_SAID: Final = 1000


def fetch_schema(registry: Registry, path: str, what: str) -> tuple[str, tuple[str, ...]]:
    """The text of the schema at `path` and the texts that it refers to, each before the ones that need it.

    RegistryError where the registry does not answer as one within the limits; UnknownSchemaError where it has no such
    schema.
    """
    client = _Client(registry)
    text = client.with_references(client.get(path, what), what)
    return text, tuple(client.references.values())


class _Client:
    """A registry while one schema and what it refers to are fetched."""

    def __init__(self, registry: Registry) -> None:
        self.references: dict[tuple[str, int], str] = {}
        self._registry = registry
        self._context = _context(registry)
        self._end = time.monotonic() + SCHEMA_TIMEOUT_S
        self._characters = 0
        self._requests = 0

    def with_references(self, answer: dict[str, Any], what: str) -> str:
        """The text of an answer; what it refers to is fetched into `references`, the deepest first."""
        text, kind, references = answer.get("schema"), answer.get("schemaType") or "AVRO", answer.get("references")
        if not isinstance(text, str) or not isinstance(references or [], list):
            raise RegistryError(f"{what}: the answer of {self._registry.url} has no schema")
        if kind != "AVRO":
            shown = quoted(kind[:40]) if isinstance(kind, str) else "of another kind"
            raise UnknownSchemaError(f"{what} of {self._registry.url} is {shown}, not Avro")
        self._characters += len(text)
        if self._characters > MAX_SCHEMA_CHARACTERS:
            raise RegistryError(
                f"{what} of {self._registry.url} has with its references more than {MAX_SCHEMA_CHARACTERS} characters"
            )
        for reference in references or ():
            self._take_reference(reference, what)
        return text

    def _take_reference(self, reference: Any, what: str) -> None:
        subject, version = _subject_and_version(reference)
        if subject is None or version is None:
            raise RegistryError(
                f"{what}: the answer of {self._registry.url} has a reference without subject and version"
            )
        if (subject, version) in self.references:
            return
        if self._requests > MAX_REFERENCES:
            raise RegistryError(f"{what} of {self._registry.url} refers to more than {MAX_REFERENCES} schemas")
        shown = f"version {version} of {quoted(subject)}"
        below = self.get(f"/subjects/{quote(subject, safe='')}/versions/{version}", shown)
        self.references[subject, version] = self.with_references(below, what)

    def get(self, path: str, what: str) -> dict[str, Any]:
        """The JSON object at `path`; what may go better is tried again."""
        self._requests += 1
        wait = _FIRST_WAIT_S
        for left in range(_TRIES - 1, -1, -1):
            try:
                return self._get(path, what)
            except TransientError as fault:
                if not left or time.monotonic() + wait > self._end:
                    raise RegistryError(f"{what} cannot be fetched from {self._registry.url}: {fault}") from None
            time.sleep(wait)
            wait *= 2
        raise AssertionError("unreachable")

    def _get(self, path: str, what: str) -> dict[str, Any]:
        limits = Limits(min(time.monotonic() + REQUEST_TIMEOUT_S, self._end), MAX_ANSWER)
        try:
            answer = exchange(self._request(path), self._context, limits, CarefulRedirects())
        except ssl.SSLError as error:
            raise RegistryError(f"{what} cannot be fetched from {self._registry.url}: {quoted(str(error))}") from None
        if not answer.is_success:
            raise self._refused(answer, what)
        try:
            found = json.loads(answer.body)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise RegistryError(
                f"{what}: the answer of {self._registry.url} is not a JSON object: is it a schema registry?"
            )
        return found

    def _request(self, path: str) -> Request:
        request = Request(self._registry.url + path, headers={"Accept": "application/json", "User-Agent": "kwire"})
        if authorization := self._authorization():
            request.add_unredirected_header("Authorization", authorization)
        return request

    def _authorization(self) -> str:
        """The header by which the registry knows who asks; "" where it asks for none."""
        user, password = self._registry.user, self._registry.password.reveal()
        if self._registry.token:
            return f"Bearer {self._registry.token.reveal()}"
        return f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}" if user or password else ""

    def _refused(self, answer: Answer, what: str) -> Exception:
        message = answer.json_object().get("message")
        said = message[:_SAID] if isinstance(message, str) else ""
        secrets = [each.reveal() for each in (self._registry.password, self._registry.token) if each]
        secrets.append(self._authorization().partition(" ")[2])
        said = quoted(without_secrets(said, secrets))
        why = f"HTTP status {answer.status}" + (f": {said}" if said else "")
        if answer.status in RETRIED:
            return TransientError(why)
        if answer.status == 404:
            return UnknownSchemaError(f"{what} is not in the registry {self._registry.url} ({why})")
        return RegistryError(f"{what} cannot be fetched from {self._registry.url}: {why}")


def _subject_and_version(reference: Any) -> tuple[str | None, int | None]:
    """None for what cannot be one; a registry may have any JSON there."""
    if not isinstance(reference, dict):
        return None, None
    subject, version = reference.get("subject"), reference.get("version")
    if not isinstance(subject, str) or not subject or not subject.isprintable():
        return None, None
    return subject, version if type(version) is int and 0 <= version <= _MAX_VERSION else None


def _context(registry: Registry) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=registry.ca_file or None)
    except (OSError, ssl.SSLError) as fault:
        raise ConfigError(f"the certificates in {registry.ca_file} cannot be loaded: {fault}") from None
    if registry.cert_file:
        try:
            context.load_cert_chain(registry.cert_file, registry.key_file or None, _no_password)
        except (OSError, ssl.SSLError) as fault:
            files = " and ".join(filter(None, (registry.cert_file, registry.key_file)))
            raise ConfigError(f"the certificate and its key in {files} cannot be loaded: {fault}") from None
    return context


def _no_password() -> str:
    """In place of a prompt at the terminal."""
    raise ConfigError("the key of the registry's client certificate is encrypted: give one that is not")
