"""What the serializers of all kinds of schemas do: finding the schema, its id, and where that is written.

A serializer is a callable (value, context) -> bytes | None, a deserializer (bytes | None, context) -> value; `context`
is a `SerializationContext` or confluent-kafka's. They ask the registry when they meet a subject or an id for the first
time. With a `kwire.aio.Registry` that takes an `await`, which a call has not: `prepare` asks before, as
`kwire.aio.Consumer` does by itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, cast

from kwire.engine.common.serialization import SerializationContext
from kwire.errors import ConfigError, KafkaError, SerializationError
from kwire.registry.flows import Flow
from kwire.registry.framing import FRAMINGS, HEADERS, Framed, Framing, guid_frame, id_frame, unframed
from kwire.registry.front import RegistryFront
from kwire.registry.schema import RegisteredSchema, Schema, SchemaReference
from kwire.registry.subjects import Strategy, SubjectName, strategy_of

if TYPE_CHECKING:
    import pyarrow as pa

    from kwire.registry.columns import Decode as DecodeColumns
    from kwire.registry.columns import OnError

T = TypeVar("T")
Encode = Callable[[Any], bytes]
Decode = Callable[[Framed], Any]
References = dict[SchemaReference, Schema]

ASKED_AGAIN_AFTER_S: Final = 5.0
"""Seconds for which a schema that was looked for in vain is not looked for again: thousands of values may name it."""

MAX_KEPT: Final = 1000
"""Subjects or schemas that one serializer keeps what it needs of."""


class _Known(NamedTuple):
    """A subject whose schema is known."""

    frame: bytes
    encode: Encode


class SchemaSerializer:
    """The base of the serializers. `subject` is "topic", "record", "topic-record", or a callable(context, record name).

    `auto_register` registers the schema, else it must be there; `use_latest` writes by the newest of the subject as it
    is at first use; `normalize` has the registry compare schemas by what they mean. The schema's id stands in front of
    the value, or its GUID in a header with framing="header".
    """

    kind = ""

    def __init__(
        self,
        registry: RegistryFront,
        subject: SubjectName | Strategy,
        framing: Framing,
        *,
        auto_register: bool,
        use_latest: bool,
        normalize: bool,
    ) -> None:
        if framing not in FRAMINGS:
            raise ConfigError(f"framing={framing!r}: expected one of {', '.join(map(repr, FRAMINGS))}")
        _check_registry(registry)
        self._registry = registry
        self._subject = strategy_of(subject)
        self._in_header = framing == "header"
        self._auto_register = auto_register
        self._use_latest = use_latest
        self._normalize = normalize
        self._known: dict[str, _Known] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_known": {}}

    def __call__(self, value: Any, context: Any = None) -> bytes | None:
        """The bytes of a value; None of None. SerializationError for one that does not fit its schema."""
        if value is None:
            return None
        if context is None:
            raise SerializationError("a serializer needs a SerializationContext, for the topic")
        try:
            known = self._of_subject(context, value)
            payload = known.encode(value)
            if not self._in_header:
                return known.frame + payload
            self._add_header(context, known.frame)
            return payload
        except KafkaError:
            raise
        except Exception as error:
            raise SerializationError(
                f"the {context.field} cannot be written as {self.kind}: {type(error).__name__}: {error}",
                topic=context.topic,
                field=str(context.field),
            ) from error

    def prepare(self, topic: str, field: str = "value") -> Any:
        """Finds, or registers, the schema for records of this topic; to be awaited with a `kwire.aio.Registry`."""
        context = SerializationContext(topic, field)
        return self._registry._door.run(self._prepare(self._subject(context, self.record_name(None)), context))

    @property
    def needs_await(self) -> bool:
        """Whether `prepare` must be awaited before values of a new subject."""
        return not self._registry._door.blocks

    def preparing(self, value: Any, context: Any) -> bool:
        """Whether `prepare` has to be awaited before this value can be written."""
        return (
            self.needs_await
            and value is not None
            and self._subject(context, self.record_name(value)) not in self._known
        )

    def _of_subject(self, context: Any, value: Any) -> _Known:
        subject = self._subject(context, self.record_name(value))
        known = self._known.get(subject)
        if known is None:
            _check_blocks(self._registry, f"the schema of {subject}", f"prepare({context.topic!r})")
            known = self._registry._door.run(self._prepare(subject, context))
        return known

    def _prepare(self, subject: str, context: Any) -> Flow[_Known]:
        if self._use_latest:
            registered: RegisteredSchema = yield from self._registry._latest(subject)
        else:
            schema = yield from self.schema_for(context)
            tell = self._registry._registering if self._auto_register else self._registry._lookup
            registered = yield from tell(subject, schema, normalize=self._normalize)
        written = registered.schema
        check_rules(self._registry, written, f"the schema of {subject}")
        references = yield from self._registry._resolved(written, f"the schema of {subject}")
        with _as_bad_schema(f"the schema of {subject}"):
            encode = self.encoder(written, references)
        known = _Known(self._frame(registered) + self.frame_end(), encode)
        _put(self._known, subject, known)
        return known

    def _frame(self, registered: RegisteredSchema) -> bytes:
        if not self._in_header:
            return id_frame(registered.id)
        if registered.guid is None:
            raise SerializationError(
                f"the registry has no GUID for schema {registered.id}, which framing='header' needs"
            )
        return guid_frame(registered.guid)

    def _add_header(self, context: Any, frame: bytes) -> None:
        if not isinstance(context.headers, list):
            raise SerializationError("framing='header' needs the record's headers as a list")
        context.headers.append((HEADERS[str(context.field)], frame))

    # -- for the subclass to define ---------------------------------------------------------------------------------

    def schema_for(self, context: Any) -> Flow[Schema]:
        """The schema that is registered or looked up."""
        raise NotImplementedError

    def record_name(self, value: Any) -> str | None:
        """How the schema calls what it describes."""
        raise NotImplementedError

    def encoder(self, schema: Schema, references: References) -> Encode:
        """What makes bytes of values."""
        raise NotImplementedError

    def frame_end(self) -> bytes:
        """What stands after the id."""
        return b""


class SchemaDeserializer:
    """The base of the deserializers."""

    kind = ""
    as_serialized = False
    """Whether schemas are asked for as Protobuf's descriptors."""

    def __init__(self, registry: RegistryFront) -> None:
        _check_registry(registry)
        self._registry = registry
        self._known: dict[int | str, Decode] = {}
        self._failed: dict[int | str, tuple[KafkaError, float]] = {}
        self._columns: dict[tuple[str, Collection[str] | None], DecodeColumns] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_known": {}, "_failed": {}, "_columns": {}}

    def __call__(self, raw: bytes | None, context: Any = None) -> Any:
        """The value of bytes; None of None. SerializationError for bytes that are none."""
        if raw is None:
            return None
        try:
            framed = unframed(raw, context)
            decode = self.known(framed.id)
            if decode is None:
                self._check_failed(framed.id)
                decode = self._at_once(self._prepare(framed.id), f"schema {framed.id}")
            return decode(framed)
        except KafkaError:
            raise
        except Exception as error:
            raise SerializationError(f"it is no {self.kind}: {type(error).__name__}: {error}", raw=raw) from error

    def prepare(self, records: Iterable[Any], field: str = "value") -> Any:
        """Finds the schemas of these records; to be awaited with a `kwire.aio.Registry`. What has none is left out."""
        ids = {each for record in records if (each := _named(record, field)) is not None}
        return self._registry._door.run(self._prepare_all([each for each in ids if self.known(each) is None]))

    def _at_once(self, flow: Flow[T], what: str) -> T:
        """The result of a flow; where it would have to be awaited, that of what is known."""
        if not self.needs_await:
            return cast("T", self._registry._door.run(flow))
        try:
            next(flow)
        except StopIteration as end:
            return cast("T", end.value)
        finally:
            flow.close()
        _check_blocks(self._registry, what, "prepare(records)")
        raise AssertionError("unreachable")

    def _prepare_all(self, ids: list[int | str]) -> Flow[None]:
        for id_ in ids:
            try:
                yield from self._prepare(id_)
            except KafkaError:
                pass  # the record that names it raises this

    def _prepare(self, id_: int | str) -> Flow[Decode]:
        try:
            decode = yield from self._decoder_of(id_)
        except KafkaError as error:
            _put(self._failed, id_, (error, time.monotonic() + ASKED_AGAIN_AFTER_S))
            raise
        _put(self._known, id_, decode)
        return decode

    def _check_failed(self, id_: int | str) -> None:
        """Raises what was wrong with a schema, if that was looked for just now."""
        error, until = self._failed.get(id_, (None, 0.0))
        if error is not None and time.monotonic() < until:
            raise copy(error)

    def _decoder_of(self, id_: int | str) -> Flow[Decode]:
        front, what = self._registry, f"schema {id_}"
        schema = yield from front._of_frame(id_, serialized=self.as_serialized)
        check_rules(front, schema, what)
        references = yield from front._resolved(schema, what, serialized=self.as_serialized)
        with _as_bad_schema(what):
            return (yield from self.decoder(schema, references, what))

    @property
    def needs_await(self) -> bool:
        """Whether `prepare` must be awaited, since a call cannot ask the registry."""
        return not self._registry._door.blocks

    def known(self, id_: int | str) -> Decode | None:
        """What reads values of this schema, where that is known already."""
        return self._known.get(id_)

    def to_columns(
        self,
        batch: pa.RecordBatch,
        field: str = "value",
        *,
        wanted: Collection[str] | None = None,
        errors: OnError = "raise",
    ) -> pa.RecordBatch:
        """Records as `ConsumerRecords.to_arrow` makes them, with columns in the place of their keys or values."""
        from kwire.registry.columns import with_fields

        chosen = None if wanted is None else frozenset(wanted)
        decode = self._columns.get((field, chosen))
        if decode is None:
            decode = self.columns(field, chosen)
            _put(self._columns, (field, chosen), decode)
        return with_fields(batch, field, decode, errors)

    # -- for the subclass to define ---------------------------------------------------------------------------------

    def columns(self, field: str, wanted: Collection[str] | None) -> DecodeColumns:
        """What makes columns of values."""
        raise ConfigError(f"{type(self).__name__} makes no columns")

    def decoder(self, schema: Schema, references: References, what: str) -> Flow[Decode]:
        """What makes values of bytes written by this schema."""
        raise NotImplementedError


@contextmanager
def _as_bad_schema(what: str) -> Iterator[None]:
    """ConfigError for whatever the library of a format raises of a schema that somebody has registered."""
    try:
        yield
    except KafkaError:
        raise
    except Exception as error:
        raise ConfigError(f"{what} cannot be used: {type(error).__name__}: {error}") from None


def _named(record: Any, field: str) -> int | str | None:
    raw = getattr(record, field)
    if raw is None:
        return None
    try:
        return unframed(raw, SerializationContext(record.topic, field, record.headers)).id
    except SerializationError:
        return None


def _put(kept: dict[Any, Any], key: Any, value: Any) -> None:
    if len(kept) >= MAX_KEPT:
        kept.clear()
    kept[key] = value


def _check_registry(registry: Any) -> None:
    if not isinstance(registry, RegistryFront):
        raise ConfigError(f"expected a Registry first, got {type(registry).__name__}")


def _check_blocks(registry: RegistryFront, what: str, call: str) -> None:
    if not registry._door.blocks:
        raise SerializationError(
            f"{what} is not known yet, and asking takes an await: await {call} of the serializer first"
        )


def check_rules(registry: RegistryFront, schema: Schema, what: str) -> None:
    """A rule may encrypt: values without it would show, or be, what they must not."""
    if schema.has_rules and not registry.settings.ignore_rules:
        raise SerializationError(
            f"{what} has rules, which kwire does not run: Registry(ignore_rules=True) does without"
        )


def missing(package: str, extra: str, error: ImportError) -> ConfigError:
    """For a library that is not installed."""
    return ConfigError(f"{package} is needed for this, which is not installed ({error}): pip install 'kwire[{extra}]'")
