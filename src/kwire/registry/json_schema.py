"""JSON values by the JSON schemas of a registry, checked by jsonschema.

Written without white space and as UTF-8, as Confluent's serializers do. A schema's references are known to it by their
names, which its `$ref`s use.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any

from kwire._typing import override
from kwire.errors import ConfigError, SerializationError, UnknownSchemaError
from kwire.registry.flows import Flow
from kwire.registry.framing import Framed, Framing
from kwire.registry.front import RegistryFront, given_schema
from kwire.registry.schema import Schema, SchemaReference
from kwire.registry.serializer import Decode, Encode, References, SchemaDeserializer, SchemaSerializer, missing
from kwire.registry.subjects import Strategy, SubjectName

if TYPE_CHECKING:
    from kwire.registry.columns import Decode as DecodeColumns

try:
    import jsonschema
    import referencing
    from referencing.jsonschema import DRAFT7
except ImportError as error:
    raise missing("jsonschema", "json-schema", error) from None

Check = Callable[[Any], None]


class JsonSchemaSerializer(SchemaSerializer):
    """Writes values as JSON; `to_dict(value)` makes of each what json writes, if it is something else.

    `schema` is a JSON schema's text, or a Schema with references; it may be left out with `use_latest`. Values are
    checked against it unless validate=False.

    The other keywords are those of all serializers: see `SchemaSerializer`.
    """

    kind = "JSON"

    def __init__(
        self,
        registry: RegistryFront,
        schema: Schema | str | None = None,
        *,
        subject: SubjectName | Strategy = "topic",
        auto_register: bool = True,
        use_latest: bool = False,
        normalize: bool = False,
        framing: Framing = "prefix",
        validate: bool = True,
        to_dict: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__(
            registry,
            subject,
            framing,
            auto_register=auto_register,
            use_latest=use_latest,
            normalize=normalize,
        )
        if schema is None and not use_latest:
            raise ConfigError("schema: give one, or use_latest=True")
        self._schema = _given(schema)
        self._name = None if self._schema is None else _title(_parsed(self._schema, "schema"))
        self._validate = validate
        self._to_dict = to_dict

    @override
    def schema_for(self, context: Any) -> Flow[Schema]:
        yield from ()
        assert self._schema is not None
        return self._schema

    @override
    def record_name(self, value: Any) -> str | None:
        return self._name

    @override
    def encoder(self, schema: Schema, references: References) -> Encode:
        check = check_by(schema, references, "the schema") if self._validate else None
        to_dict = self._to_dict

        def encode(value: Any) -> bytes:
            made = value if to_dict is None else to_dict(value)
            if check is not None:
                check(made)
            return json.dumps(made, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()

        return encode


class JsonSchemaDeserializer(SchemaDeserializer):
    """Reads JSON values, checked against `schema` (None: each against that whose id it has) unless validate=False.

    `from_dict(value)` makes something else of each.
    """

    kind = "JSON"

    def __init__(
        self,
        registry: RegistryFront,
        schema: Schema | str | None = None,
        *,
        validate: bool = True,
        from_dict: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__(registry)
        self._schema = _given(schema)
        self._validate = validate
        self._from_dict = from_dict

    @override
    def columns(self, field: str, wanted: Collection[str] | None) -> DecodeColumns:
        if self._schema is None:
            raise ConfigError("a JsonSchemaDeserializer makes columns by its own schema: give one")
        from kwire.registry.json_columns import JsonColumns

        return JsonColumns(_parsed(self._schema, "the schema"), wanted)

    @override
    def known(self, id_: int | str) -> Decode | None:
        return super().known(id_) if self._validate else self._decode

    @override
    def decoder(self, schema: Schema, references: References, what: str) -> Flow[Decode]:
        if self._schema is not None:
            schema, what = self._schema, "the schema"
            references = yield from self._registry._resolved(schema, what)
        check = check_by(schema, references, what)
        return lambda framed: self._decode(framed, check)

    def _decode(self, framed: Framed, check: Check | None = None) -> Any:
        value = json.loads(framed.payload)
        if check is not None:
            check(value)
        return value if self._from_dict is None else self._from_dict(value)


def check_by(schema: Schema, references: References, what: str) -> Check:
    """What raises for a value that a schema does not allow."""
    parsed = _parsed(schema, what)
    try:
        kind = jsonschema.validators.validator_for(parsed)
        kind.check_schema(parsed)
        validator = kind(parsed, registry=_known(references.items(), what))
    except jsonschema.exceptions.SchemaError as error:
        raise ConfigError(f"{what} is no JSON schema: {error.message}") from None

    def check(value: Any) -> None:
        wrong = next(validator.iter_errors(value), None)
        if wrong is not None:
            raise SerializationError(f"{wrong.json_path}: {wrong.message}")

    return check


def _known(references: Iterable[tuple[SchemaReference, Schema]], what: str) -> Any:
    """The references by their names; nothing is fetched from elsewhere."""
    resources = [
        (reference.name, referencing.Resource.from_contents(_parsed(each, what), default_specification=DRAFT7))
        for reference, each in references
    ]
    return referencing.Registry().with_resources(resources)


def _parsed(schema: Schema, what: str) -> Any:
    if schema.schema_type != "JSON":
        raise UnknownSchemaError(f"{what} is {schema.schema_type}, not a JSON schema")
    try:
        return json.loads(schema.text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{what} is no JSON: {error}") from None


def _given(schema: Schema | str | None) -> Schema | None:
    return None if schema is None else given_schema(schema, None if isinstance(schema, Schema) else "JSON", ())


def _title(parsed: Any) -> str | None:
    title = parsed.get("title") if isinstance(parsed, dict) else None
    return title if isinstance(title, str) else None
