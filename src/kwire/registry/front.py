"""What both registries share: the flows of their calls, by Confluent's HTTP interface, and what they keep.

    GET    /schemas/ids/{id}, /schemas/guids/{guid}
    GET    /subjects, /subjects/{subject}/versions, /subjects/{subject}/versions/{version or latest}
    POST   /subjects/{subject}, /subjects/{subject}/versions, /compatibility/subjects/{subject}/versions/{version}
    DELETE /subjects/{subject}, /subjects/{subject}/versions/{version}
    GET    /config, /config/{subject}; PUT to set

What an id, a GUID or a version stands for is kept: it never changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final, Self, TypeVar
from urllib.parse import quote, urlencode

from kwire.columns.avro_schema import MAX_SCHEMA_CHARACTERS
from kwire.drivers.loggers import LateLogger
from kwire.engine.common.secret import hiding_arguments
from kwire.engine.connections.sasl.exchange import quoted
from kwire.errors import ConfigError, RegistryError, UnknownSchemaError
from kwire.registry.answers import body_of, registered, schema_of
from kwire.registry.cache import Cache
from kwire.registry.flows import Flow, Once
from kwire.registry.requests import Ask, Asking, Site, not_json
from kwire.registry.schema import RegisteredSchema, Schema, SchemaReference
from kwire.registry.settings import RegistrySettings

T = TypeVar("T")

_log = LateLogger("kwire.registry")

MAX_REFERENCES: Final = 200
SERIALIZED: Final = "?format=serialized"
SCHEMA_TYPES: Final = ("AVRO", "PROTOBUF", "JSON")


class RegistryFront:
    """The base of the registries for threads and for asyncio."""

    _door: Any

    @classmethod
    @hiding_arguments
    def from_config(cls, config: Mapping[str, Any], **keywords: Any) -> Self:
        """From a mapping of the names that Confluent's clients have for a registry: `url`, `basic.auth.user.info`,
        `ssl.ca.location`, `bearer.auth.token` and so on, each with or without `schema.registry.`; keywords win.

        One mapping may serve clients, too: what only they have is ignored, with a line at DEBUG.
        """
        from kwire.registry.config import keywords_of

        make: Any = cls
        made: Self = make(**{**keywords_of(config, partial(_log.debug, "from_config(): %s")), **keywords})
        return made

    def _open(self, settings: RegistrySettings) -> None:
        self.settings = settings
        self._site = Site(settings)
        self._schemas = Cache()
        self._registered = Cache()

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.settings)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {self.settings.urls}>"

    # -- schemas ----------------------------------------------------------------------------------------------------

    def _by_id(self, id_: int, query: str = "") -> Flow[Schema]:
        if type(id_) is not int:
            raise ConfigError(f"id={id_!r}: expected an int")
        return self._kept(f"/schemas/ids/{id_}{query}", f"schema {id_}")

    def _by_guid(self, guid: str, query: str = "") -> Flow[Schema]:
        return self._kept(f"/schemas/guids/{quote(guid, safe='')}{query}", f"schema {guid}")

    def _of_frame(self, id_: int | str, *, serialized: bool) -> Flow[Schema]:
        """The schema that a value names; of Protobuf as the descriptor in base64, if asked for `serialized`."""
        query = SERIALIZED if serialized else ""
        return self._by_id(id_, query) if isinstance(id_, int) else self._by_guid(id_, query)

    def _kept(self, path: str, what: str) -> Flow[Schema]:
        """A schema that is the same for ever."""
        found: Schema | None = self._schemas.get(path)
        if found is None:
            generation = self._schemas.generation
            found = yield Once((path, generation), partial(self._fetched, path, what, generation))
        return found

    def _fetched(self, path: str, what: str, generation: int) -> Flow[Schema]:
        answer = yield from self._ask(dict, Ask(path, what))
        schema = schema_of(answer, what, self.settings.urls)
        if len(schema.text) > MAX_SCHEMA_CHARACTERS:
            raise self._too_long(what)
        self._schemas.put(path, schema, len(schema.text), generation)
        return schema

    def _resolved(self, schema: Schema, what: str, *, serialized: bool = False) -> Flow[dict[SchemaReference, Schema]]:
        """What a schema refers to, and what that refers to: each before the ones that need it."""
        found: dict[SchemaReference, Schema] = {}
        asking = Asking(self._site, what, SERIALIZED if serialized else "")
        asking.characters = len(schema.text)
        yield from self._resolve(schema, asking, found)
        return found

    def _resolve(self, schema: Schema, asking: Asking, found: dict[SchemaReference, Schema]) -> Flow[None]:
        for reference in schema.references:
            if reference in found:
                continue
            asking.references += 1
            if asking.references > MAX_REFERENCES:
                raise RegistryError(
                    f"{asking.what} of {self.settings.urls} refers to more than {MAX_REFERENCES} schemas"
                )
            below = yield from self._referenced(reference, asking)
            asking.characters += len(below.text)
            if asking.characters > MAX_SCHEMA_CHARACTERS:
                raise self._too_long(asking.what)
            yield from self._resolve(below, asking, found)
            found[reference] = below

    def _referenced(self, reference: SchemaReference, asking: Asking) -> Flow[Schema]:
        shown = f"version {reference.version} of {quoted(reference.subject)}"
        path = f"/subjects/{quote(reference.subject, safe='')}/versions/{reference.version}{asking.query}"
        known: Schema | None = self._schemas.get(path)
        if known is None:
            generation = self._schemas.generation
            answer = yield from self._ask(dict, Ask(path, shown), asking)
            known = schema_of(answer, shown, self.settings.urls)
            self._schemas.put(path, known, len(known.text), generation)
        return known

    def _too_long(self, what: str) -> RegistryError:
        return RegistryError(
            f"{what} of {self.settings.urls} has with its references more than {MAX_SCHEMA_CHARACTERS} characters"
        )

    # -- subjects ---------------------------------------------------------------------------------------------------

    def _latest(self, subject: str) -> Flow[RegisteredSchema]:
        return self._version(subject, "latest")

    def _version(self, subject: str, version: int | str) -> Flow[RegisteredSchema]:
        ask = Ask(f"{_subject(subject)}/versions/{version}", _of_subject(subject, version))
        answer = yield from self._ask(dict, ask)
        schema = schema_of(answer, ask.what, self.settings.urls)
        return registered(answer, subject, schema, ask.what, self.settings.urls)

    def _versions(self, subject: str, *, deleted: bool) -> Flow[list[int]]:
        path = f"{_subject(subject)}/versions{_query(deleted=deleted)}"
        return self._ask(list, Ask(path, f"the subject {quoted(subject)}"))

    def _subjects(self, prefix: str, *, deleted: bool) -> Flow[list[str]]:
        path = f"/subjects{_query(subjectPrefix=prefix, deleted=deleted)}"
        return self._ask(list, Ask(path, "the list of subjects"))

    def _registering(self, subject: str, schema: Schema, *, normalize: bool) -> Flow[RegisteredSchema]:
        path = f"{_subject(subject)}/versions{_query(normalize=normalize)}"
        return self._known(subject, schema, Ask(path, f"the schema of {quoted(subject)}", "registered at", "POST"))

    def _lookup(self, subject: str, schema: Schema, *, normalize: bool) -> Flow[RegisteredSchema]:
        ask = Ask(
            f"{_subject(subject)}{_query(normalize=normalize)}", f"this schema of {quoted(subject)}", method="POST"
        )
        return self._known(subject, schema, ask)

    def _known(self, subject: str, schema: Schema, ask: Ask) -> Flow[RegisteredSchema]:
        """What the registry says of a schema of a subject; it says the same for ever, unless that is deleted."""
        key = (ask.path, schema)
        found: RegisteredSchema | None = self._registered.get(key)
        if found is None:
            generation = self._registered.generation
            found = yield Once((key, generation), partial(self._told, subject, schema, ask, generation))
        return found

    def _told(self, subject: str, schema: Schema, ask: Ask, generation: int) -> Flow[RegisteredSchema]:
        answer = yield from self._ask(dict, ask._replace(body=body_of(schema)))
        found = registered(answer, subject, schema, ask.what, self.settings.urls)
        self._registered.put((ask.path, schema), found, len(schema.text), generation)
        return found

    def _incompatibilities(
        self, subject: str, schema: Schema, version: int | str | None, *, normalize: bool
    ) -> Flow[list[str]]:
        against = "" if version is None else f"/{version}"
        path = f"/compatibility{_subject(subject)}/versions{against}{_query(normalize=normalize, verbose=True)}"
        ask = Ask(path, f"a schema for {quoted(subject)}", "compared at", "POST", body_of(schema))
        try:
            answer = yield from self._ask(dict, ask)
        except UnknownSchemaError:
            if isinstance(version, int):
                raise
            return []  # of a subject without versions, as newer registries say
        is_compatible = answer.get("is_compatible")
        if type(is_compatible) is not bool:
            raise not_json(ask, self.settings.urls)
        if is_compatible:
            return []
        messages = answer.get("messages")
        told = [each for each in messages if isinstance(each, str)] if isinstance(messages, list) else []
        return told or [f"the registry {self.settings.urls} gives no reason"]

    def _delete_subject(self, subject: str, *, permanent: bool) -> Flow[list[int]]:
        path = f"{_subject(subject)}{_query(permanent=permanent)}"
        return self._deleting(list, Ask(path, f"the subject {quoted(subject)}", "deleted at", "DELETE"))

    def _delete_version(self, subject: str, version: int | str, *, permanent: bool) -> Flow[int]:
        path = f"{_subject(subject)}/versions/{version}{_query(permanent=permanent)}"
        return self._deleting(int, Ask(path, _of_subject(subject, version), "deleted at", "DELETE"))

    def _deleting(self, kind: type[T], ask: Ask) -> Flow[T]:
        try:
            return (yield from self._ask(kind, ask))
        finally:  # a subject that is gone for good begins with version 1 again
            self._registered.clear()
            self._schemas.clear()

    # -- compatibility ----------------------------------------------------------------------------------------------

    def _compatibility(self, subject: str | None) -> Flow[str]:
        path = f"{_config(subject)}{_query(defaultToGlobal=subject is not None)}"
        return self._level("compatibilityLevel", Ask(path, _compatibility_of(subject)))

    def _set_compatibility(self, level: str, subject: str | None) -> Flow[str]:
        ask = Ask(_config(subject), _compatibility_of(subject), "set at", "PUT", {"compatibility": level.upper()})
        return self._level("compatibility", ask)

    def _level(self, field: str, ask: Ask) -> Flow[str]:
        answer = yield from self._ask(dict, ask)
        level = answer.get(field)
        if not isinstance(level, str):
            raise not_json(ask, self.settings.urls)
        return level

    # -- help -------------------------------------------------------------------------------------------------------

    def _ask(self, kind: type[T], ask: Ask, asking: Asking | None = None) -> Flow[T]:
        """The answer, which must be JSON of that kind."""
        asking = asking or Asking(self._site, ask.what)
        answer = yield from asking.ask(ask)
        if not isinstance(answer, kind):
            raise not_json(ask, self.settings.urls)
        return answer


def given_schema(schema: Schema | str, schema_type: str | None, references: Iterable[SchemaReference]) -> Schema:
    """A schema as a call names it; text is Avro where nothing else is said."""
    if isinstance(schema, Schema):
        if schema_type is not None or tuple(references):
            raise ConfigError("schema_type and references go with a schema's text: a Schema has its own")
        return schema
    kind = "AVRO" if schema_type is None else schema_type
    if not isinstance(schema, str):
        raise ConfigError(f"schema: expected its text or a Schema, got {type(schema).__name__}")
    if kind not in SCHEMA_TYPES:
        raise ConfigError(f"schema_type={kind!r}: expected one of {', '.join(SCHEMA_TYPES)}")
    return Schema(schema, kind, tuple(references))


def _again(kind: type[RegistryFront], settings: RegistrySettings) -> RegistryFront:
    made = kind.__new__(kind)
    made._open(settings)
    return made


def _subject(subject: str) -> str:
    if not isinstance(subject, str) or not subject:
        raise ConfigError(f"subject={subject!r}: expected a name")
    return f"/subjects/{quote(subject, safe='')}"


def _config(subject: str | None) -> str:
    return "/config" if subject is None else f"/config/{quote(subject, safe='')}"


def _compatibility_of(subject: str | None) -> str:
    return "the compatibility of the registry" if subject is None else f"the compatibility of {quoted(subject)}"


def _of_subject(subject: str, version: int | str) -> str:
    return f"the subject {quoted(subject)}" if version == "latest" else f"version {version} of {quoted(subject)}"


def _query(**parameters: str | bool) -> str:
    """What is set of them, as a query."""
    given = {name: "true" if value is True else value for name, value in parameters.items() if value}
    return f"?{urlencode(given)}" if given else ""
