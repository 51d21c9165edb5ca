"""`kwire users`: who logs in by SCRAM. Lists, sets and deletes credentials."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kwire.cli.completing import offers
from kwire.cli.nouns import Verb, add_noun, administering, consent, listed
from kwire.cli.output import done, found, show
from kwire.cli.passwords import add_password_options, new_password
from kwire.cli.usage import Commands, Parser, UsageError, none_of, positive, usage_errors

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kwire.admin import Admin

_MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
_DEFAULT_ITERATIONS = 8192


def add_parser(commands: Commands) -> None:
    """Adds the noun and its verbs."""
    add_noun(commands, "users", "Lists, sets and deletes the credentials of users who log in by SCRAM.", _VERBS)


def _add_optional_names(parser: Parser) -> None:
    parser.add_argument("names", nargs="*", metavar="USER", help="only these")


def _add_credential(parser: Parser) -> None:
    parser.add_argument("name", metavar="USER")
    parser.add_argument("more", nargs="*", help=argparse.SUPPRESS)
    _add_mechanisms(parser, f"default: {_MECHANISMS[1]}")
    parser.add_argument(
        "--iterations",
        type=positive,
        default=_DEFAULT_ITERATIONS,
        metavar="N",
        help="of the hash (default: %(default)s)",
    )
    add_password_options(parser)


def _add_names_to_delete(parser: Parser) -> None:
    parser.add_argument("names", nargs="+", metavar="USER")
    _add_mechanisms(parser, "default: all that the user has")


def _add_mechanisms(parser: Parser, default: str) -> None:
    mechanisms = parser.add_argument(
        "--mechanism",
        action="append",
        default=[],
        type=_mechanism,
        metavar="MECHANISM",
        help=f"{' or '.join(_MECHANISMS)}; may be repeated ({default})",
    )
    offers(mechanisms, _MECHANISMS)


def _mechanism(text: str) -> str:
    word = text.upper().replace("_", "-")
    if word not in _MECHANISMS:
        raise none_of(text, _MECHANISMS, " and ".join(_MECHANISMS))
    return word


def _list(options: argparse.Namespace) -> int:
    with administering(options) as admin:
        users, code = _credentials(admin, options)
    rows = [(user, *each) for user, mechanisms in users.items() for each in mechanisms.items()]
    show(("user", "mechanism", "iterations"), rows, options.output)
    return code


def _set(options: argparse.Namespace) -> int:
    if options.more:
        raise UsageError("one USER is needed and nothing else: a password is no argument, which all users would see")
    password = new_password(options, options.name)
    detail = {"password": password, "iterations": options.iterations}
    pairs = [(options.name, each) for each in options.mechanism or _MECHANISMS[1:]]
    with administering(options) as admin, usage_errors():
        wanted = {options.name: {mechanism: detail for _, mechanism in pairs}}
        return done(options, "credential", pairs, lambda: admin.alter_user_scram_credentials(wanted), named=" ".join)


def _delete(options: argparse.Namespace) -> int:
    options.names = list(dict.fromkeys(options.names))
    with administering(options) as admin:
        users: Mapping[str, Iterable[str]] = dict.fromkeys(options.names, options.mechanism)
        code = 0
        if not options.mechanism:
            users, code = _credentials(admin, options)
        pairs = [(user, mechanism) for user, mechanisms in users.items() for mechanism in dict.fromkeys(mechanisms)]
        consent(options, f"delete the credentials {listed(list(map(' '.join, pairs)))}")
        wanted = {user: dict.fromkeys(mechanisms) for user, mechanisms in users.items()}
        failed = done(options, "credential", pairs, lambda: admin.alter_user_scram_credentials(wanted), named=" ".join)
    return failed or code


def _credentials(admin: Admin, options: argparse.Namespace) -> tuple[Mapping[str, Mapping[str, int]], int]:
    """The credentials of the users that are named, or of all, and the exit code."""
    if not options.names:
        return admin.describe_user_scram_credentials(), 0
    return found(options, options.names, admin.describe_user_scram_credentials)


_VERBS = (
    Verb(
        "list",
        "Lists the users with a SCRAM credential.",
        _list,
        "  kwire users                                      all users: mechanisms, iterations",
        _add_optional_names,
    ),
    Verb(
        "set",
        "Sets the password of a user: asked for on the terminal, or the first line of a file or of standard input.",
        _set,
        "  kwire users set bob --mechanism SCRAM-SHA-256    asks for the password\n"
        "  kwire users set bob --password-file bob.secret",
        _add_credential,
    ),
    Verb(
        "delete",
        "Deletes credentials of users, who can then log in no more.",
        _delete,
        "  kwire users delete bob                           asks first; --yes does not",
        _add_names_to_delete,
        destroys=True,
    ),
)
