"""`kwire shares`: share groups (KIP-932), how far they are, and where they go on.

`kwire groups` lists and describes them, too, beside groups of the other kinds; what only share groups have is here.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING, Any

from kwire.cli.group_kinds import SHARE
from kwire.cli.groups import add_names, add_reset, delete, describe, reset
from kwire.cli.nouns import Verb, add_noun, administering, consent, listed
from kwire.cli.output import done, found, show
from kwire.cli.usage import Commands, Parser

if TYPE_CHECKING:
    from kwire.admin import Admin
    from kwire.engine.common.addresses import TopicPartition


def add_parser(commands: Commands) -> None:
    """Adds the noun and its verbs."""
    add_noun(commands, "shares", "Lists, describes, deletes and resets share groups.", _VERBS)


def _add_group_and_topics(parser: Parser) -> None:
    parser.add_argument("group", metavar="GROUP")
    parser.add_argument("topics", nargs="+", metavar="TOPIC")


def _list(options: argparse.Namespace) -> int:
    with administering(options) as admin:
        rows = [(row.group_id, row.state) for row in admin.list_groups() if row.type == SHARE]
    show(("group", "state"), rows, options.output)
    return 0


def _offsets(options: argparse.Namespace) -> int:
    with administering(options) as admin:
        groups, code = found(options, options.names, partial(_all_offsets, admin))
    rows = [
        (group, tp.topic, tp.partition, info and info.start_offset, info and info.lag)
        for group, partitions in groups.items()
        for tp, info in sorted(partitions.items())
    ]
    show(("group", "topic", "partition", "start", "lag"), rows, options.output)
    return code


def _all_offsets(admin: Admin, groups: list[str]) -> dict[str, dict[TopicPartition, Any]]:
    """How far the groups are. Raises BrokerError for one that does not exist, which has no offsets either."""
    admin.describe_share_groups(groups)
    return admin.list_share_group_offsets(dict.fromkeys(groups))


def _forget(options: argparse.Namespace) -> int:
    group, topics = options.group, list(dict.fromkeys(options.topics))
    consent(options, f"forget how far {group!r} is in {listed(topics)}")
    with administering(options) as admin:
        return done(options, "topic", topics, lambda: admin.delete_share_group_offsets(group, topics))


_VERBS = (
    Verb(
        "list", "Lists the share groups.", _list, "  kwire shares                                     all share groups"
    ),
    Verb(
        "describe",
        "Shows the members of share groups, and what each of them fetches from.",
        describe,
        "  kwire shares describe billing                    its members",
        add_names,
    ),
    Verb(
        "offsets",
        "Shows how far share groups are: the first offset that is not done, and how many records are not done.",
        _offsets,
        "  kwire shares offsets billing                     partition by partition",
        add_names,
    ),
    Verb(
        "reset",
        "Lets a share group without members go on elsewhere. Shows what would change; --execute does it.",
        reset,
        "  kwire shares reset billing --to earliest --topic orders --execute",
        add_reset,
    ),
    Verb(
        "forget",
        "Deletes how far a share group without members is in some topics.",
        _forget,
        "  kwire shares forget billing orders               asks first; --yes does not",
        _add_group_and_topics,
        destroys=True,
    ),
    Verb(
        "delete",
        "Deletes share groups and how far they are; they may not have members.",
        delete,
        "  kwire shares delete billing                      asks first; --yes does not",
        add_names,
        destroys=True,
    ),
)
