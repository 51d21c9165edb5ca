"""`kwire registry`: the subjects and schemas of a schema registry. Shows, registers, checks and deletes them."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from kwire.cli.connecting import add_settings_options
from kwire.cli.nouns import Elsewhere, Verb, add_noun, consent, listed
from kwire.cli.output import done, show
from kwire.cli.registry_settings import add_registry_option, registry_of
from kwire.cli.schema_files import SCHEMA_TYPES, place_of, registered_at, schema_text
from kwire.cli.terminal import print_error
from kwire.cli.usage import Commands, Parser, UsageError
from kwire.errors import RegistryError, UnknownSchemaError

if TYPE_CHECKING:
    from kwire.registry import Registry, Schema, SchemaReference

_REFERENCE = re.compile(r"([^=]+)=(.+):(\d{1,9})", re.DOTALL)
_COMPATIBILITY = "compatibility"
_KEYS = ("subject", "version", "id", "guid", "type", "references", "schema")
_INCOMPATIBLE = 1

_SECURE_EXAMPLE = """
a registry with a login:
  kwire registry --config client.properties
where client.properties has, beside settings of the brokers:
    schema.registry.url=https://registry:8081
    basic.auth.user.info=alice:...
    schema.registry.ssl.ca.location=/etc/kafka/ca.pem
"""


def add_parser(commands: Commands) -> None:
    """Adds the noun and its verbs."""
    says = "Lists, shows, registers, checks and deletes schemas of a schema registry."
    add_noun(commands, "registry", says, _VERBS, Elsewhere(_add_options, _SECURE_EXAMPLE))


def _add_options(parser: Parser) -> None:
    group = parser.add_argument_group("registry and settings")
    add_registry_option(group)
    add_settings_options(parser, group, "registry")


def _add_prefix(parser: Parser) -> None:
    parser.add_argument("prefix", nargs="?", default="", metavar="PREFIX", help="only subjects that begin so")
    _add_deleted(parser)


def _add_subject(parser: Parser) -> None:
    parser.add_argument("subject", metavar="SUBJECT")
    _add_deleted(parser)


def _add_deleted(parser: Parser) -> None:
    parser.add_argument("--deleted", action="store_true", help="also those that are deleted, but not for good")


def _add_place(parser: Parser) -> None:
    parser.add_argument("subject", metavar="SUBJECT[:VERSION]", help="(default: its latest version)")


def _add_id(parser: Parser) -> None:
    parser.add_argument("id", metavar="ID", help="a number, or a GUID")


def _add_schema(parser: Parser) -> None:
    parser.add_argument("subject", metavar="SUBJECT")
    parser.add_argument("file", metavar="FILE", help="the schema; - is standard input")
    parser.add_argument(
        "--type", choices=tuple(SCHEMA_TYPES), help="(default: what the name of the file says, or avro)"
    )
    parser.add_argument(
        "--reference",
        action="append",
        default=[],
        metavar="NAME=SUBJECT:VERSION",
        help="a schema that this one refers to, by the name that it has there; may be repeated",
    )
    parser.add_argument("--normalize", action="store_true", help="have schemas compared by what they mean")


def _add_places(parser: Parser) -> None:
    parser.add_argument("names", nargs="+", metavar="SUBJECT[:VERSION]", help="without a version: all of them")
    parser.add_argument("--permanent", action="store_true", help="for good: their ids are unknown from then on")


def _add_optional_subject(parser: Parser) -> None:
    parser.add_argument("subject", nargs="?", metavar="SUBJECT", help="(default: what holds for all without their own)")


def _add_change(parser: Parser) -> None:
    parser.add_argument(
        "words", nargs="+", metavar="[SUBJECT] compatibility=LEVEL", help="BACKWARD, FORWARD, FULL, NONE"
    )


# -- verbs ---------------------------------------------------------------------------------------------------------


def _list(options: argparse.Namespace) -> int:
    registry = registry_of(options, alone=True)
    subjects = registry.subjects(options.prefix)
    if not options.deleted:
        show(("subject",), [(each,) for each in sorted(subjects)], options.output)
        return 0
    every = registry.subjects(options.prefix, deleted=True)
    show(("subject", "deleted"), [(each, each not in subjects) for each in sorted(every)], options.output)
    return 0


def _versions(options: argparse.Namespace) -> int:
    registry = registry_of(options, alone=True)
    if not options.deleted:
        show(("version",), [(each,) for each in registry.versions(options.subject)], options.output)
        return 0
    every = registry.versions(options.subject, deleted=True)
    try:
        left = registry.versions(options.subject)
    except UnknownSchemaError:
        left = []
    show(("version", "deleted"), [(each, each not in left) for each in every], options.output)
    return 0


def _describe(options: argparse.Namespace) -> int:
    registry = registry_of(options, alone=True)
    found = registered_at(registry, options.subject)
    row = (found.subject, found.version, found.id, found.guid, *_of_schema(found.schema))
    if options.output != "table":
        show(_KEYS, [row], options.output)
        return 0
    show(_KEYS[:-1], [row[:-1]], options.output)
    print(f"\n{_readable(found.schema)}")
    return 0


def _get(options: argparse.Namespace) -> int:
    registry = registry_of(options, alone=True)
    schema = registry.by_id(int(options.id)) if options.id.isdecimal() else registry.by_guid(options.id)
    if options.output == "table":
        print(schema.text)
    else:
        show(("id", *_KEYS[4:]), [(options.id, *_of_schema(schema))], options.output)
    return 0


def _register(options: argparse.Namespace) -> int:
    schema = _given(options)
    id_ = registry_of(options, alone=True).register(options.subject, schema, normalize=options.normalize)
    show(("subject", "id"), [(options.subject, id_)], options.output)
    return 0


def _check(options: argparse.Namespace) -> int:
    schema, registry = _given(options), registry_of(options, alone=True)
    level = registry.compatibility(options.subject)
    against = None if level.endswith("_TRANSITIVE") else "latest"
    reasons = registry.incompatibilities(options.subject, schema, version=against, normalize=options.normalize)
    if options.output != "table":
        keys = ("subject", _COMPATIBILITY, "compatible", "reasons")
        show(keys, [(options.subject, level, not reasons, reasons)], options.output)
    elif not reasons:
        print(f"{options.subject} would take it ({level})")
    for reason in reasons:
        print_error(f"kwire registry: {options.subject} would not take it ({level}): {reason}")
    return _INCOMPATIBLE if reasons else 0


def _delete(options: argparse.Namespace) -> int:
    names = list(dict.fromkeys(options.names))
    for_good = " for good" if options.permanent else ""
    consent(options, f"delete {listed(names)}{for_good}; what was written by it may not be read any more")
    registry = registry_of(options, alone=True)
    acts = [partial(_of_name, name, partial(_delete_one, registry, name, options.permanent)) for name in names]
    return done(options, "subject", names, *acts)


def _config(options: argparse.Namespace) -> int:
    level = registry_of(options, alone=True).compatibility(options.subject)
    show(("subject", _COMPATIBILITY), [(options.subject, level)], options.output)
    return 0


def _set(options: argparse.Namespace) -> int:
    *subject, change = options.words
    name, equals, level = change.partition("=")
    if name != _COMPATIBILITY or not equals or len(subject) > 1:
        raise UsageError("write kwire registry set [SUBJECT] compatibility=BACKWARD")
    of = subject[0] if subject else None
    show(
        ("subject", _COMPATIBILITY),
        [(of, registry_of(options, alone=True).set_compatibility(level, of))],
        options.output,
    )
    return 0


# -- help ----------------------------------------------------------------------------------------------------------


def _of_schema(schema: Schema) -> tuple[Any, ...]:
    references = [f"{each.name}={each.subject}:{each.version}" for each in schema.references]
    return (schema.schema_type.lower(), references or None, schema.text)


def _readable(schema: Schema) -> str:
    if schema.schema_type == "PROTOBUF":
        return schema.text.rstrip("\n")
    try:
        return json.dumps(json.loads(schema.text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return schema.text


def _given(options: argparse.Namespace) -> Schema:
    """The schema of a file, as the options say."""
    from kwire.registry import Schema

    text, kind = schema_text(options.file, options.type)
    return Schema(text, kind, tuple(map(_reference, options.reference)))


def _reference(text: str) -> SchemaReference:
    from kwire.registry import SchemaReference

    found = _REFERENCE.fullmatch(text)
    if found is None:
        raise UsageError(f"--reference {text!r}: write NAME=SUBJECT:VERSION")
    return SchemaReference(found[1], found[2], int(found[3]))


def _delete_one(registry: Registry, name: str, permanent: bool) -> None:
    """Deletes a subject or a version; for good after it was deleted at all, as registries want it."""
    subject, version = place_of(name)
    delete: Callable[..., object] = partial(registry.delete_subject, subject)
    if version is not None:
        number = registered_at(registry, name).version if version == "latest" else int(version)
        delete = partial(registry.delete_version, subject, number or 0)
    try:
        delete()
    except UnknownSchemaError:
        if not permanent:
            raise
    if permanent:
        delete(permanent=True)


def _of_name(name: str, act: Callable[[], None]) -> None:
    """The act, whose refusal is told as that of the name."""
    try:
        act()
    except RegistryError as error:
        error.failures = {name: error}
        raise


_VERBS: Sequence[Verb] = (
    Verb(
        "list",
        "Lists the subjects.",
        _list,
        "  kwire registry --registry http://registry:8081    all subjects\n"
        "  kwire registry list orders- --deleted             those that begin so, with deleted ones",
        _add_prefix,
    ),
    Verb(
        "describe",
        "Shows a version of a subject: its schema with type, id and references.",
        _describe,
        "  kwire registry describe orders-value              the latest version\n"
        "  kwire registry describe orders-value:2 --json",
        _add_place,
    ),
    Verb(
        "versions",
        "Lists the versions of a subject.",
        _versions,
        "  kwire registry versions orders-value",
        _add_subject,
    ),
    Verb(
        "get",
        "Prints the schema of an id, just as it is.",
        _get,
        "  kwire registry get 7 > order.avsc",
        _add_id,
    ),
    Verb(
        "register",
        "Makes a schema the next version of a subject, unless it is one already; shows its id.",
        _register,
        "  kwire registry register orders-value order.avsc\n"
        "  kwire registry register orders-value order.proto --reference customer.proto=customer.proto:1",
        _add_schema,
    ),
    Verb(
        "check",
        "Says whether a subject would take a schema as its next version; if not, why, and with exit code 1.",
        _check,
        "  kwire registry check orders-value order.avsc",
        _add_schema,
    ),
    Verb(
        "delete",
        "Deletes subjects, or versions of them.",
        _delete,
        "  kwire registry delete orders-value                asks first; --yes does not\n"
        "  kwire registry delete orders-value:2 --permanent",
        _add_places,
        destroys=True,
    ),
    Verb(
        "config",
        "Shows the compatibility of a subject, or of all subjects without one of their own.",
        _config,
        "  kwire registry config orders-value",
        _add_optional_subject,
    ),
    Verb(
        "set",
        "Sets the compatibility of a subject, or of all subjects without one of their own.",
        _set,
        "  kwire registry set orders-value compatibility=FULL_TRANSITIVE\n  kwire registry set compatibility=BACKWARD",
        _add_change,
    ),
)
