"""`kwire acls`: who may do what. Lists, creates and deletes access control entries."""

from __future__ import annotations

import argparse
from itertools import product
from typing import TYPE_CHECKING

from kwire.cli.completing import groups, offers, topics, transactional_ids
from kwire.cli.nouns import Verb, add_noun, administering, consent
from kwire.cli.output import done, show
from kwire.cli.usage import Commands, Parser, UsageError, none_of, usage_errors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire.admin import AclFilter

_KEYS = ("resource_type", "name", "pattern_type", "principal", "host", "operation", "permission")
_TYPES = ("topic", "group", "cluster", "transactional_id", "delegation_token", "user")
_KNOWN = ", ".join(_TYPES)
_CLUSTER_NAME = "kafka-cluster"


def add_parser(commands: Commands) -> None:
    """Adds the noun and its verbs."""
    add_noun(commands, "acls", "Lists, creates and deletes access control entries.", _VERBS)


def _add_filter(parser: Parser) -> None:
    _add_resource(parser, required=False)
    parser.add_argument(
        "--pattern", choices=("literal", "prefixed", "match"), help="match: whatever holds for a resource of that name"
    )
    parser.add_argument("--principal", metavar="TYPE:NAME", help="as in User:bob")
    parser.add_argument("--host", metavar="ADDRESS", help="the one that the entry has; '*' is all hosts")
    parser.add_argument("--operation", metavar="OPERATION", help="read, write, describe, alter-configs ...")
    parser.add_argument("--permission", choices=("allow", "deny"))


def _add_entry(parser: Parser) -> None:
    _add_resource(parser, required=True)
    parser.add_argument("--prefixed", action="store_true", help="for all whose names begin with NAME")
    parser.add_argument(
        "--principal", action="append", required=True, metavar="TYPE:NAME", help="as in User:bob; may be repeated"
    )
    parser.add_argument(
        "--operation",
        action="append",
        required=True,
        metavar="OPERATION",
        help="read, write, describe, alter-configs, all ...; may be repeated",
    )
    parser.add_argument("--host", default="*", metavar="ADDRESS", help="only from there (default: from everywhere)")
    parser.add_argument("--deny", action="store_true", help="forbid it, whatever else allows it")


def _add_resource(parser: Parser, *, required: bool) -> None:
    types = parser.add_argument(
        "type",
        nargs=None if required else "?",
        type=_type,
        metavar="TYPE",
        help=_KNOWN,
    )
    names = parser.add_argument(
        "name", nargs="?", metavar="NAME", help="'*' is all of the type; the cluster needs none"
    )
    offers(types, _TYPES)
    offers(names, _offered)


def _offered(prefix: str, given: argparse.Namespace) -> Iterable[str]:
    """The names that there are of the type."""
    offer = {"topic": topics, "group": groups, "transactional_id": transactional_ids}.get(given.type)
    return () if offer is None else offer(prefix, given)


def _type(text: str) -> str:
    """The type as Admin calls it."""
    word = text.lower().replace("-", "_")
    if word not in _TYPES:
        raise none_of(text, _TYPES, _KNOWN)
    return word


def _list(options: argparse.Namespace) -> int:
    with administering(options) as admin, usage_errors():
        rows = admin.describe_acls(_filter(options))
    show(_KEYS, rows, options.output)
    return 0


def _create(options: argparse.Namespace) -> int:
    from kwire.admin import AclBinding

    name = options.name or (_CLUSTER_NAME if options.type == "cluster" else None)
    if name is None:
        raise UsageError(f"name the {options.type}; '*' is all")
    pattern = "prefixed" if options.prefixed else "literal"
    permission = "deny" if options.deny else "allow"
    entries = [
        AclBinding(
            options.type,
            name,
            pattern,
            principal,
            options.host,
            operation.lower().replace("-", "_"),
            permission,
        )
        for principal, operation in product(dict.fromkeys(options.principal), dict.fromkeys(options.operation))
    ]
    with administering(options) as admin, usage_errors():
        return done(options, "acl", entries, lambda: admin.create_acls(entries))


def _delete(options: argparse.Namespace) -> int:
    """Deletes the entries that were found before it asked, and no others."""
    wanted = _filter(options)
    if not any(wanted):
        raise UsageError("say which: a TYPE, a NAME, --principal or another filter")
    with administering(options) as admin, usage_errors():
        entries = admin.describe_acls(wanted)
        if not entries:
            return done(options, "acl", [])
        consent(options, f"delete {len(entries)} ACL{'s' if len(entries) > 1 else ''}: {'; '.join(map(str, entries))}")
        return done(options, "acl", entries, lambda: admin.delete_acls(entries))


def _filter(options: argparse.Namespace) -> AclFilter:
    from kwire.admin import AclFilter

    return AclFilter(
        options.type,
        options.name,
        options.pattern,
        options.principal,
        options.host,
        options.operation,
        options.permission,
    )


_VERBS = (
    Verb(
        "list",
        "Lists access control entries, all or those that filters find.",
        _list,
        "  kwire acls                                       all entries\n"
        "  kwire acls list topic orders --pattern match     whatever holds for a topic\n"
        "  kwire acls --principal User:bob",
        _add_filter,
    ),
    Verb(
        "create",
        "Creates an entry for each principal and operation.",
        _create,
        "  kwire acls create topic orders --principal User:bob --operation read --operation describe\n"
        "  kwire acls create group billing- --prefixed --principal User:bob --operation read",
        _add_entry,
    ),
    Verb(
        "delete",
        "Deletes the entries that filters find.",
        _delete,
        "  kwire acls delete --principal User:bob           shows them and asks first; --yes does not",
        _add_filter,
        destroys=True,
    ),
)
