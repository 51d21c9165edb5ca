"""What the shell offers for an argument when its user presses TAB: topics, groups and brokers of the cluster, settings,
files. Mostly the argument's metavar says which: TOPIC, GROUP, FILE ...; `offers` gives an argument something else.

The cluster is the one that the arguments before name, and is asked for a second at most; where it is away nothing is
offered, and nobody is told. Imports no client until it is asked for one.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from kwire.errors import KafkaError

if TYPE_CHECKING:
    from kwire.admin import Admin

Given = argparse.Namespace
Offer = Callable[[str, Given], Iterable[str]]
"""Takes what is typed of the word, and the arguments before it."""
Act = TypeVar("Act", bound=argparse.Action)

_PATIENCE_MS = 1000


def offers(action: Act, offer: Offer | Iterable[str]) -> Act:
    """The argument, for which this is offered from now on."""
    action.completer = lambda prefix, parsed_args, **_: (  # type: ignore[attr-defined]
        offer(prefix, parsed_args) if callable(offer) else offer
    )
    return action


def offered(prefix: str, action: argparse.Action, parsed_args: Given, **_: object) -> Iterable[str]:
    """What the argument's name or metavar stands for."""
    for key in (*action.option_strings, action.metavar):
        if isinstance(key, str) and key in _OFFERS:
            return _OFFERS[key](prefix, parsed_args)
    return ()


def topics(prefix: str, given: Given) -> Iterable[str]:
    """The topics of the cluster; its own, as __consumer_offsets, for what begins so."""
    return [name for name in _asked(given, lambda admin: admin.list_topics()) if name[:1] != "_" or prefix[:1] == "_"]


def partitions(prefix: str, given: Given) -> Iterable[str]:
    """TOPIC:PARTITION, once the topic is there."""
    topic, colon, _ = prefix.partition(":")
    if not colon:
        return [f"{name}:" for name in topics(prefix, given)]
    numbers = _asked(given, lambda admin: map(str, admin.describe_topics([topic])[topic].partitions))
    return [f"{topic}:{number}" for number in numbers]


def topics_or_partitions(prefix: str, given: Given) -> Iterable[str]:
    """TOPIC, or TOPIC:PARTITION once the colon is there."""
    return partitions(prefix, given) if ":" in prefix else topics(prefix, given)


def groups(prefix: str, given: Given) -> Iterable[str]:
    """The groups of the cluster, of all types."""
    return _asked(given, lambda admin: [row.group_id for row in admin.list_groups()])


def brokers(prefix: str, given: Given) -> Iterable[str]:
    """The ids of the brokers."""
    return _asked(given, lambda admin: map(str, admin.describe_cluster().brokers))


def transactional_ids(prefix: str, given: Given) -> Iterable[str]:
    """The transactional ids that coordinators know."""
    return _asked(given, lambda admin: [row.transactional_id for row in admin.list_transactions()])


def users(prefix: str, given: Given) -> Iterable[str]:
    """The users with a SCRAM credential."""
    return _asked(given, lambda admin: admin.describe_user_scram_credentials())


def tokens(prefix: str, given: Given) -> Iterable[str]:
    """The ids of the delegation tokens that one may see."""
    return _asked(given, lambda admin: [token.token_id for token in admin.describe_delegation_token()])


def files(prefix: str, given: Given) -> Iterable[str]:
    """Files and folders."""
    from argcomplete.completers import FilesCompleter

    return FilesCompleter()(prefix)


def _operations(prefix: str, given: Given) -> Iterable[str]:
    from kwire.engine.admin.acls import OPERATIONS

    return OPERATIONS


def _profiles(prefix: str, given: Given) -> Iterable[str]:
    from kwire.cli.profiles import read_profiles

    try:
        return read_profiles().settings
    except KafkaError:
        return ()


def _settings(prefix: str, given: Given) -> Iterable[str]:
    from kwire.cli.settings import dotted_names

    return [f"{name}=" for name in dotted_names()]


def _asked(given: Given, question: Callable[[Admin], Iterable[str]]) -> list[str]:
    """What the cluster says within a moment; nothing if it does not."""
    from kwire.admin import Admin
    from kwire.cli.connecting import opened

    options = Given(**{**vars(given), "command": None})
    try:
        with opened(Admin, options, default_api_timeout_ms=_PATIENCE_MS) as admin:
            return list(question(admin))
    except KafkaError:
        return []


_OFFERS: Mapping[str, Offer] = {
    "TOPIC": topics,
    "TOPIC:PARTITION": partitions,
    "TOPIC[:PARTITION]": topics_or_partitions,
    "GROUP": groups,
    "BROKER": brokers,
    "TRANSACTIONAL_ID": transactional_ids,
    "USER": users,
    "TOKEN": tokens,
    "OPERATION": _operations,
    "FILE": files,
    "FOLDER": files,
    "PROFILE": _profiles,
    "--profile": _profiles,
    "-X": _settings,
}
