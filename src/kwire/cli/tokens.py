"""`kwire tokens`: delegation tokens. Lists, creates, renews and deletes them by their ids.

The hmac of a token is the password of who logs in with it: `create` alone shows it, or writes it to a file that only
its owner reads. The other verbs look it up by the token's id, so that it is an argument of none.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from kwire.cli.nouns import Verb, add_noun, administering, consent, listed
from kwire.cli.output import done, of_item, show
from kwire.cli.passwords import secret_file
from kwire.cli.places import duration
from kwire.cli.rendering import utc
from kwire.cli.usage import Commands, Parser
from kwire.errors import KafkaError

if TYPE_CHECKING:
    from kwire.admin import Admin, DelegationToken

_KEYS = ("token", "owner", "requester", "issued", "expires", "ends", "renewers")


def add_parser(commands: Commands) -> None:
    """Adds the noun and its verbs."""
    add_noun(commands, "tokens", "Lists, creates, renews and deletes delegation tokens.", _VERBS)


def _add_owners(parser: Parser) -> None:
    parser.add_argument(
        "--owner", action="append", metavar="PRINCIPAL", help="only tokens of User:bob; may be repeated (default: all)"
    )


def _add_token(parser: Parser) -> None:
    parser.add_argument("--owner", metavar="PRINCIPAL", help="whose token: User:bob (default: who asks for it)")
    parser.add_argument(
        "--renewer",
        action="append",
        default=[],
        metavar="PRINCIPAL",
        help="who may renew it beside its owner; may be repeated",
    )
    parser.add_argument(
        "--lifetime", type=duration, metavar="TIME", help="until it ends for good: 12h, 7d (default: the brokers')"
    )
    parser.add_argument(
        "--hmac-file", metavar="FILE", help="a new file for the password of the token, instead of showing it"
    )


def _add_renewal(parser: Parser) -> None:
    _add_ids(parser)
    parser.add_argument(
        "--for",
        dest="period",
        type=duration,
        metavar="TIME",
        help="how long from now: 12h, 1d (default: the brokers'); never beyond its lifetime",
    )


def _add_ids(parser: Parser) -> None:
    parser.add_argument("names", nargs="+", metavar="TOKEN", help="its id, as 'kwire tokens' lists it")


def _list(options: argparse.Namespace) -> int:
    with administering(options) as admin:
        tokens = admin.describe_delegation_token(options.owner)
    show(_KEYS, map(_row, tokens), options.output)
    return 0


def _create(options: argparse.Namespace) -> int:
    with secret_file(options.hmac_file) as keep, administering(options) as admin:
        token = admin.create_delegation_token(
            owner=options.owner, renewers=options.renewer, max_lifetime_ms=_or_default(options.lifetime)
        )
        shown = keep(token.hmac.reveal())
    show((*_KEYS, "hmac"), [(*_row(token), shown)], options.output)
    return 0


def _renew(options: argparse.Namespace) -> int:
    period = _or_default(options.period)
    return _each(options, lambda admin, token: admin.renew_delegation_token(token, renew_time_period_ms=period))


def _delete(options: argparse.Namespace) -> int:
    consent(options, f"delete {listed(list(dict.fromkeys(options.names)))}; who logs in with it can do so no more")
    return _each(options, lambda admin, token: admin.expire_delegation_token(token))


def _each(options: argparse.Namespace, act: Callable[[Admin, DelegationToken], object]) -> int:
    """Acts on the tokens of these ids."""
    ids = list(dict.fromkeys(options.names))
    with administering(options) as admin:
        tokens = {token.token_id: token for token in admin.describe_delegation_token()}
        acts = [of_item(each, partial(_act, act, admin, tokens, each)) for each in ids]
        return done(options, "token", ids, *acts)


def _act(
    act: Callable[[Admin, DelegationToken], object], admin: Admin, tokens: Mapping[str, DelegationToken], token_id: str
) -> None:
    if token_id not in tokens:
        raise KafkaError(f"no token {token_id!r} that you may see; 'kwire tokens' lists those there are")
    act(admin, tokens[token_id])


def _row(token: DelegationToken) -> tuple[object, ...]:
    times = map(utc, (token.issue_timestamp, token.expiry_timestamp, token.max_timestamp))
    return (token.token_id, token.owner, token.requester, *times, list(token.renewers))


def _or_default(milliseconds: int | None) -> int:
    """What a call of Admin takes: -1 leaves it to the brokers."""
    return -1 if milliseconds is None else milliseconds


_VERBS = (
    Verb(
        "list",
        "Lists the delegation tokens that you may see, without their passwords.",
        _list,
        "  kwire tokens                                     yours, and those that you may describe\n"
        "  kwire tokens --owner User:bob",
        _add_owners,
    ),
    Verb(
        "create",
        "Creates a token. Its id and hmac are user and password of a login by SCRAM; the hmac is shown here only.",
        _create,
        "  kwire tokens create --lifetime 7d --renewer User:scheduler --hmac-file job.secret\n"
        "    with it log in:  -X sasl.mechanism=SCRAM-SHA-256 -X sasl.scram.token.auth=true, the id as sasl.username",
        _add_token,
    ),
    Verb(
        "renew",
        "Lets tokens expire later, within their lifetime.",
        _renew,
        "  kwire tokens renew 7V0yZ4bVQ2eN --for 1d          a day from now",
        _add_renewal,
    ),
    Verb(
        "delete",
        "Deletes tokens: nobody logs in with them any more.",
        _delete,
        "  kwire tokens delete 7V0yZ4bVQ2eN                  asks first; --yes does not",
        _add_ids,
        destroys=True,
    ),
)
