"""Registry: the schema registry of a cluster, for threads. What its calls say and keep is in `front.py`."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterable, Mapping

from kwire.engine.common.secret import hiding_arguments
from kwire.registry.door import ThreadDoor
from kwire.registry.front import RegistryFront, given_schema
from kwire.registry.schema import RegisteredSchema, Schema, SchemaReference
from kwire.registry.settings import RegistrySettings, Token, settings_of


class Registry(RegistryFront):
    """A schema registry with Confluent's HTTP interface, which Apicurio, Karapace and Redpanda have, too; any thread
    may use it.

        registry = Registry("http://localhost:8081")
        id_ = registry.register("orders-value", '{"type": "record", ...}')

    `urls`: one URL, or several of the same registry, of which one that does not answer is followed by the next. A path
    in front of the interface is part of it ("http://host:8080/apis/ccompat/v7").
    Who asks: `username` and `password` (or both in the URL), or `token`, a bearer token or a callable that returns one,
    with the seconds that it lasts if it likes to (see `client_credentials`).
    https: what the system trusts or `ssl_ca_location`, with the client's certificate if one is given (PEM files); or an
    `ssl_context` as it is.
    One try takes `request_timeout_ms` at most. What may go better is tried `retries` times more, after
    `retry_backoff_ms`, twice that, and so on; a call takes `default_api_timeout_ms` at most.

    `headers` go with each request: what a gateway in front of the registry asks for.

    Rules of schemas (Confluent's data contracts) are not run: serializers refuse a schema that has some, unless
    `ignore_rules`.

    What an id stands for never changes, so it is asked for once, by one thread while others wait for it. There is
    nothing to close. It pickles as its configuration. Errors: RegistryError, with its kinds UnknownSchemaError and
    IncompatibleSchemaError; ConfigError for arguments.
    """

    _door: ThreadDoor

    @hiding_arguments
    def __init__(
        self,
        urls: str | Iterable[str],
        *,
        username: str = "",
        password: str = "",
        token: str | Callable[[], Token] | None = None,
        ssl_context: ssl.SSLContext | None = None,
        ssl_ca_location: str | os.PathLike[str] | None = None,
        ssl_certificate_location: str | os.PathLike[str] | None = None,
        ssl_key_location: str | os.PathLike[str] | None = None,
        ssl_key_password: str = "",
        request_timeout_ms: int = 10_000,
        default_api_timeout_ms: int = 60_000,
        retries: int = 2,
        retry_backoff_ms: int = 200,
        ignore_rules: bool = False,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._open(
            settings_of(
                urls,
                username=username,
                password=password,
                token=token,
                ssl_context=ssl_context,
                ssl_ca_location=ssl_ca_location,
                ssl_certificate_location=ssl_certificate_location,
                ssl_key_location=ssl_key_location,
                ssl_key_password=ssl_key_password,
                request_timeout_ms=request_timeout_ms,
                default_api_timeout_ms=default_api_timeout_ms,
                retries=retries,
                retry_backoff_ms=retry_backoff_ms,
                ignore_rules=ignore_rules,
                headers=headers,
            )
        )

    # -- schemas ----------------------------------------------------------------------------------------------------

    def by_id(self, id_: int) -> Schema:
        """The schema of an id."""
        return self._door.run(self._by_id(id_))

    def by_guid(self, guid: str) -> Schema:
        """The schema of a GUID, which newer registries give besides the id."""
        return self._door.run(self._by_guid(guid))

    def resolve(self, schema: Schema, *, what: str = "the schema") -> dict[SchemaReference, Schema]:
        """The schemas that this one refers to, and those that they refer to: each before the ones that need it.

        `what` is what errors call it.
        """
        return self._door.run(self._resolved(schema, what))

    # -- subjects ---------------------------------------------------------------------------------------------------

    def register(
        self,
        subject: str,
        schema: Schema | str,
        schema_type: str | None = None,
        references: Iterable[SchemaReference] = (),
        *,
        normalize: bool = False,
    ) -> int:
        """The id of the schema, which is a version of the subject from now on, if it was none.

        `schema` is a Schema; or a text with its `schema_type`, AVRO (the default), PROTOBUF or JSON, and `references`.
        IncompatibleSchemaError where the subject's compatibility forbids it.
        """
        given = given_schema(schema, schema_type, references)
        registered = self._door.run(self._registering(subject, given, normalize=normalize))
        return registered.id

    def lookup(
        self,
        subject: str,
        schema: Schema | str,
        schema_type: str | None = None,
        references: Iterable[SchemaReference] = (),
        *,
        normalize: bool = False,
    ) -> RegisteredSchema:
        """Which version of the subject this schema is; UnknownSchemaError where it is none."""
        given = given_schema(schema, schema_type, references)
        return self._door.run(self._lookup(subject, given, normalize=normalize))

    def latest(self, subject: str) -> RegisteredSchema:
        """The newest version of a subject."""
        return self._door.run(self._latest(subject))

    def version(self, subject: str, version: int) -> RegisteredSchema:
        """One version of a subject."""
        return self._door.run(self._version(subject, version))

    def versions(self, subject: str, *, deleted: bool = False) -> list[int]:
        """The versions of a subject; with those deleted for now, if asked for."""
        return self._door.run(self._versions(subject, deleted=deleted))

    def subjects(self, prefix: str = "", *, deleted: bool = False) -> list[str]:
        """The subjects whose names begin with `prefix`; with those deleted for now, if asked for."""
        return self._door.run(self._subjects(prefix, deleted=deleted))

    def delete_subject(self, subject: str, *, permanent: bool = False) -> list[int]:
        """Deletes all versions of a subject, and returns them. Their ids go on to be known; `permanent`, after a delete
        without it, ends that."""
        return self._door.run(self._delete_subject(subject, permanent=permanent))

    def delete_version(self, subject: str, version: int, *, permanent: bool = False) -> int:
        """Deletes one version of a subject, and returns it."""
        return self._door.run(self._delete_version(subject, version, permanent=permanent))

    # -- compatibility ----------------------------------------------------------------------------------------------

    def compatible(
        self,
        subject: str,
        schema: Schema | str,
        schema_type: str | None = None,
        references: Iterable[SchemaReference] = (),
        *,
        version: int | str | None = "latest",
        normalize: bool = False,
    ) -> bool:
        """Whether the subject would take this schema as its next version: compared with the latest one, with another
        `version`, or with as many as its compatibility asks for (None)."""
        given = given_schema(schema, schema_type, references)
        return not self._door.run(self._incompatibilities(subject, given, version, normalize=normalize))

    def incompatibilities(
        self,
        subject: str,
        schema: Schema | str,
        schema_type: str | None = None,
        references: Iterable[SchemaReference] = (),
        *,
        version: int | str | None = "latest",
        normalize: bool = False,
    ) -> list[str]:
        """Why the subject would not take this schema as its next version, in the registry's words; nothing where it
        would: compared as `compatible` does it."""
        given = given_schema(schema, schema_type, references)
        return self._door.run(self._incompatibilities(subject, given, version, normalize=normalize))

    def compatibility(self, subject: str | None = None) -> str:
        """BACKWARD, FORWARD, FULL, each also with _TRANSITIVE, or NONE: of a subject, or of all without one of their
        own."""
        return self._door.run(self._compatibility(subject))

    def set_compatibility(self, level: str, subject: str | None = None) -> str:
        """Sets the compatibility of a subject, or of all without one of their own."""
        return self._door.run(self._set_compatibility(level, subject))

    def _open(self, settings: RegistrySettings) -> None:
        super()._open(settings)
        self._door = ThreadDoor()
