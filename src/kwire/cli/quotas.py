"""`kwire quotas`: how much users, client ids and addresses may do. Lists, sets and unsets quotas."""

from __future__ import annotations

import argparse
from math import isfinite
from typing import TYPE_CHECKING

from kwire.cli.nouns import Verb, add_noun, administering
from kwire.cli.output import done, show
from kwire.cli.usage import Commands, Parser, UsageError, usage_errors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire.engine.admin.quotas import Entity

_TYPES = {"user": "user", "client_id": "client-id", "ip": "ip"}
_DEFAULT = "<default>"


def add_parser(commands: Commands) -> None:
    """Adds the noun and its verbs."""
    add_noun(commands, "quotas", "Lists, sets and unsets quotas of users, client ids and addresses.", _VERBS)


def _add_entity(parser: Parser) -> None:
    for option, metavar in (("user", "USER"), ("client-id", "ID"), ("ip", "ADDRESS")):
        parser.add_argument(f"--{option}", metavar=metavar)
        parser.add_argument(
            f"--default-{option}",
            action="store_true",
            help="what holds for all without a quota of their own" if option == "user" else "the same",
        )


def _add_filter(parser: Parser) -> None:
    _add_entity(parser)
    parser.add_argument("--strict", action="store_true", help="none that is about something else besides")


def _add_quotas(parser: Parser) -> None:
    parser.add_argument(
        "quotas",
        nargs="+",
        metavar="QUOTA=NUMBER",
        help="producer_byte_rate, consumer_byte_rate, request_percentage, controller_mutation_rate or "
        "connection_creation_rate",
    )
    _add_entity(parser)
    parser.add_argument("--validate-only", action="store_true", help="only ask whether it could be set")


def _add_names(parser: Parser) -> None:
    parser.add_argument("quotas", nargs="+", metavar="QUOTA")
    _add_entity(parser)


def _list(options: argparse.Namespace) -> int:
    with administering(options) as admin, usage_errors():
        found = admin.describe_client_quotas(_entity(options), strict=options.strict)
    rows = [(*_named(entity), quota, value) for entity, quotas in found.items() for quota, value in quotas.items()]
    show(("user", "client_id", "ip", "quota", "value"), rows, options.output)
    return 0


def _set(options: argparse.Namespace) -> int:
    return _alter(options, dict(map(_parsed, options.quotas)), validate_only=options.validate_only)


def _unset(options: argparse.Namespace) -> int:
    wrong = [text for text in options.quotas if "=" in text]
    if wrong:
        raise UsageError(f"{wrong[0].partition('=')[0]!r}: name the quotas without numbers")
    return _alter(options, dict.fromkeys(options.quotas), validate_only=False)


def _alter(options: argparse.Namespace, changes: Mapping[str, float | None], *, validate_only: bool) -> int:
    entity = _entity(options)
    if not entity:
        raise UsageError("say whose: --user, --client-id or --ip, or --default-user, --default-client-id, --default-ip")
    with administering(options) as admin, usage_errors():
        return done(
            options,
            "entity",
            [entity],
            lambda: admin.alter_client_quotas({entity: changes}, validate_only=validate_only),
            named=lambda pairs: ", ".join(f"{kind} {_DEFAULT if name is None else name}" for kind, name in pairs),
        )


def _entity(options: argparse.Namespace) -> Entity:
    """What the options name; empty for nothing. UsageError for a name and a default of the same type."""
    pairs: list[tuple[str, str | None]] = []
    for key, kind in _TYPES.items():
        name, is_default = getattr(options, key), getattr(options, f"default_{key}")
        if name is not None and is_default:
            raise UsageError(f"--{kind} and --default-{kind} exclude each other")
        if name is not None or is_default:
            pairs.append((kind, name))
    return tuple(pairs)


def _named(entity: Entity) -> list[str | None]:
    """The name in each column, `<default>` as Kafka's tools spell it."""
    names = {kind: _DEFAULT if name is None else name for kind, name in entity}
    return [names.get(kind) for kind in _TYPES.values()]


def _parsed(text: str) -> tuple[str, float]:
    name, _, number = text.partition("=")
    try:
        value = float(number)
    except ValueError:
        value = float("nan")
    if not name or not isfinite(value):
        raise UsageError(f"{name!r}: write QUOTA=NUMBER, as in producer_byte_rate=1000000")
    return name, value


_VERBS = (
    Verb(
        "list",
        "Lists quotas, all or those of users, client ids and addresses that are named.",
        _list,
        "  kwire quotas                                     all quotas\n"
        "  kwire quotas --user bob                          of bob, and of bob with some client id",
        _add_filter,
    ),
    Verb(
        "set",
        "Sets quotas; others stay as they are.",
        _set,
        "  kwire quotas set producer_byte_rate=1000000 --user bob\n"
        "  kwire quotas set request_percentage=50 --default-user --client-id app",
        _add_quotas,
    ),
    Verb(
        "unset",
        "Removes quotas, so that the default holds.",
        _unset,
        "  kwire quotas unset producer_byte_rate --user bob",
        _add_names,
    ),
)
