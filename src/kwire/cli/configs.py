"""`kwire configs`: what is set for topics, brokers, groups and client metrics, and setting it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kwire.cli.completing import brokers, groups, offers, topics
from kwire.cli.nouns import Verb, add_noun, administering
from kwire.cli.output import done, found, show
from kwire.cli.usage import Commands, Parser, UsageError, none_of

if TYPE_CHECKING:
    from kwire.admin import Admin, ConfigEntry, ConfigResource

_TYPES = {
    **{f"{name}{s}": name for name in ("topic", "broker", "group", "broker-logger") for s in ("s", "")},
    "client-metrics": "client-metrics",
}
_KNOWN = "topics, brokers, groups, client-metrics, broker-loggers"
_ALL_BROKERS = "default"
_SET_ELSEWHERE = ("default-config", "static-broker-config")
_SET_FOR_ALL = "dynamic-default-broker-config"
_OPERATIONS = {"+": "append", "-": "subtract"}
_CHANGE = re.compile(r"([\w.-]*\w)([+-]?)=(.*)", re.DOTALL)
_NAMES_HELP = f"of a broker the id, or '{_ALL_BROKERS}': of all brokers"
_KEYS = ("type", "name", "config", "value", "source", "value_type", "read_only")


def add_parser(commands: Commands) -> None:
    """Adds the noun and its verbs."""
    add_noun(commands, "configs", "Lists, describes, sets and unsets configs of topics, brokers and groups.", _VERBS)


def _add_places(parser: Parser) -> None:
    _add_type(parser, nargs="?")
    offers(parser.add_argument("names", nargs="*", metavar="NAME", help="only of these (default: of all)"), _offered)


def _add_names(parser: Parser) -> None:
    _add_type(parser)
    offers(parser.add_argument("names", nargs="+", metavar="NAME", help=_NAMES_HELP), _offered)


def _add_changes(parser: Parser) -> None:
    _add_type(parser)
    offers(parser.add_argument("name", metavar="NAME", help=_NAMES_HELP), _offered)
    parser.add_argument("changes", nargs="+", metavar="CONFIG=VALUE", help="+= and -= add to a list and take from it")


def _add_resets(parser: Parser) -> None:
    _add_type(parser)
    offers(parser.add_argument("name", metavar="NAME", help=_NAMES_HELP), _offered)
    parser.add_argument("configs", nargs="+", metavar="CONFIG")


def _add_type(parser: Parser, nargs: str | None = None) -> None:
    types = parser.add_argument(
        "type",
        nargs=nargs,
        type=_type,
        metavar="TYPE",
        help="topics, brokers, groups, client-metrics or broker-loggers",
    )
    offers(types, _KNOWN.split(", "))


def _offered(prefix: str, given: argparse.Namespace) -> Iterable[str]:
    """The names that there are of the type."""
    if given.type == "broker":
        return [_ALL_BROKERS, *brokers(prefix, given)]
    offer = {"topic": topics, "broker-logger": brokers, "group": groups}.get(given.type)
    return () if offer is None else offer(prefix, given)


def _type(text: str) -> str:
    """The type as Admin calls it."""
    if text not in _TYPES:
        raise none_of(text, _TYPES, _KNOWN)
    return _TYPES[text]


def _list(options: argparse.Namespace) -> int:
    with administering(options) as admin:
        wanted = [
            (kind, name)
            for kind in ([options.type] if options.type else ["topic", "broker"])
            for name in (options.names or _names(admin, kind))
        ]
        return _shown(admin, options, wanted, everything=False)


def _describe(options: argparse.Namespace) -> int:
    with administering(options) as admin:
        return _shown(admin, options, [(options.type, name) for name in options.names], everything=True)


def _set(options: argparse.Namespace) -> int:
    return _change(options, dict(map(_parsed, options.changes)))


def _unset(options: argparse.Namespace) -> int:
    wrong = [text for text in options.configs if "=" in text]
    if wrong:
        raise UsageError(f"{wrong[0].partition('=')[0]!r}: name the configs without values")
    return _change(options, dict.fromkeys(options.configs))


def _change(options: argparse.Namespace, changes: Mapping[str, Any]) -> int:
    resource = _resource(options.type, options.name)
    with administering(options) as admin:
        return done(options, "name", [resource[1]], lambda: admin.incremental_alter_configs({resource: changes}))


def _parsed(text: str) -> tuple[str, Any]:
    """What incremental_alter_configs takes for NAME=VALUE. No error has the value, which may be a password."""
    change = _CHANGE.fullmatch(text)
    if change is None:
        raise UsageError(f"{text.partition('=')[0]!r}: write CONFIG=VALUE, as in retention.ms=86400000")
    name, sign, value = change.groups()
    return name, (_OPERATIONS[sign], value) if sign else value


def _resource(kind: str, name: str) -> tuple[str, str]:
    if kind == "broker" and name == _ALL_BROKERS:
        return kind, ""
    if kind.startswith("broker") and not name.isdecimal():
        raise UsageError(f"{name!r}: a broker is named by its id, all of them by '{_ALL_BROKERS}'")
    return kind, name


def _names(admin: Admin, kind: str) -> Iterable[str]:
    """All that has configs of this type."""
    if kind == "topic":
        return admin.list_topics()
    if kind.startswith("broker"):
        ids = map(str, admin.describe_cluster().brokers)
        return [_ALL_BROKERS, *ids] if kind == "broker" else list(ids)
    return [resource.name for resource in admin.list_config_resources([kind])]


def _shown(admin: Admin, options: argparse.Namespace, wanted: Iterable[tuple[str, str]], *, everything: bool) -> int:
    """Shows all configs, or those that somebody has set on the running cluster."""
    configs, code = found(options, [_resource(*each) for each in wanted], admin.describe_configs)
    rows = [
        (
            resource.type,
            resource.name or (_ALL_BROKERS if resource.type == "broker" else ""),
            entry.name,
            entry.value,
            entry.source,
            entry.type,
            entry.is_read_only,
        )
        for resource, entries in configs.items()
        for entry in sorted(entries.values())
        if everything or _is_set(resource, entry)
    ]
    show(_KEYS if everything else _KEYS[:5], rows if everything else [row[:5] for row in rows], options.output)
    return code


def _is_set(resource: ConfigResource, entry: ConfigEntry) -> bool:
    """Whether somebody has set it just there, on the running cluster."""
    return entry.source not in _SET_ELSEWHERE and (entry.source != _SET_FOR_ALL or not resource.name)


_VERBS = (
    Verb(
        "list",
        "Lists what is set on the running cluster: for all topics and brokers, or for those that are named.",
        _list,
        "  kwire configs                                    whatever is set for topics and brokers\n"
        "  kwire configs list topics orders                 what is set for a topic",
        _add_places,
    ),
    Verb(
        "describe",
        "Shows all configs that hold, and where each is set.",
        _describe,
        "  kwire configs describe topics orders             with the defaults\n  kwire configs describe brokers 1",
        _add_names,
    ),
    Verb(
        "set",
        "Sets configs; others stay as they are.",
        _set,
        "  kwire configs set topics orders retention.ms=86400000 cleanup.policy+=compact\n"
        "  kwire configs set brokers default log.cleaner.threads=2",
        _add_changes,
    ),
    Verb(
        "unset",
        "Puts configs back to their defaults.",
        _unset,
        "  kwire configs unset topics orders retention.ms",
        _add_resets,
    ),
)
