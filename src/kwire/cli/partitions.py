"""`kwire partitions`: where replicas are. Moves them to other brokers, and elects leaders."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kwire.cli.nouns import Verb, add_noun, administering, consent, listed
from kwire.cli.output import done, found, show
from kwire.cli.partition_names import name_of, partition_named, partitions_named
from kwire.cli.usage import Commands, Parser, UsageError, usage_errors
from kwire.errors import BrokerError
from kwire.schema.error_codes import UNSUPPORTED_VERSION

if TYPE_CHECKING:
    from kwire.admin import Admin, PartitionReassignment
    from kwire.engine.common.addresses import TopicPartition


def add_parser(commands: Commands) -> None:
    """Adds the noun and its verbs."""
    add_noun(commands, "partitions", "Lists partitions, moves their replicas and elects their leaders.", _VERBS)


def _add_topics(parser: Parser) -> None:
    parser.add_argument("names", nargs="*", metavar="TOPIC", help="only of these")
    parser.add_argument("--reassigning", action="store_true", help="only those whose replicas are being moved")


def _add_replicas(parser: Parser) -> None:
    parser.add_argument("moves", nargs="+", metavar="TOPIC:PARTITION=BROKER,BROKER", help="the preferred leader first")


def _add_partitions(parser: Parser) -> None:
    parser.add_argument("names", nargs="+", metavar="TOPIC:PARTITION")


def _add_elections(parser: Parser) -> None:
    parser.add_argument("names", nargs="*", metavar="TOPIC[:PARTITION]")
    parser.add_argument("--all", action="store_true", help="in all partitions of the cluster")
    parser.add_argument(
        "--unclean",
        action="store_true",
        help="where no replica in sync is alive any other that is, which loses records; asks first",
    )


def _list(options: argparse.Namespace) -> int:
    with administering(options) as admin:
        topics, code = found(options, options.names or list(admin.describe_topics()), admin.describe_topics)
        moving = _reassignments(admin)
    rows = []
    for topic, info in sorted(topics.items()):
        for number, partition in sorted(info.partitions.items()):
            move = moving.get((topic, number))
            changes = ([], []) if move is None else (list(move.adding_replicas), list(move.removing_replicas))
            nodes = (list(partition.replicas), list(partition.isr))
            if move is not None or not options.reassigning:
                rows.append((topic, number, partition.leader, *nodes, *changes))
    show(("topic", "partition", "leader", "replicas", "in_sync", "adding", "removing"), rows, options.output)
    return code


def _reassignments(admin: Admin) -> Mapping[tuple[str, int], PartitionReassignment]:
    """What is in progress; nothing of brokers that cannot say, before Kafka 2.4."""
    try:
        return {(tp.topic, tp.partition): move for tp, move in admin.list_partition_reassignments().items()}
    except BrokerError as error:
        if error.code != UNSUPPORTED_VERSION:
            raise
        return {}


def _reassign(options: argparse.Namespace) -> int:
    return _move(options, dict(map(_parsed, options.moves)))


def _cancel(options: argparse.Namespace) -> int:
    return _move(options, dict.fromkeys(map(partition_named, options.names)))


def _move(options: argparse.Namespace, replicas: Mapping[TopicPartition, Sequence[int] | None]) -> int:
    with administering(options) as admin, usage_errors():
        return done(
            options, "partition", list(replicas), lambda: admin.alter_partition_reassignments(replicas), named=name_of
        )


def _parsed(text: str) -> tuple[TopicPartition, list[int]]:
    name, _, brokers = text.partition("=")
    ids = brokers.split(",")
    if not all(each.isdecimal() for each in ids):
        raise UsageError(f"{text!r}: write TOPIC:PARTITION=BROKER,BROKER, as in orders:3=1,2")
    return partition_named(name), list(map(int, ids))


def _elect(options: argparse.Namespace) -> int:
    if options.all == bool(options.names):
        raise UsageError("name partitions, or give --all")
    where = "all partitions" if options.all else listed(options.names)
    if options.unclean:
        consent(options, f"elect leaders in {where} that may lack records")
    with administering(options) as admin:
        partitions = partitions_named(admin, admin.describe_topics() if options.all else options.names)
        kind = "unclean" if options.unclean else "preferred"
        return done(options, "partition", partitions, lambda: admin.elect_leaders(kind, partitions), named=name_of)


_VERBS = (
    Verb(
        "list",
        "Lists partitions: leader, replicas, and those that are being moved here or away.",
        _list,
        "  kwire partitions                                 all partitions\n"
        "  kwire partitions --reassigning                   those whose replicas are being moved",
        _add_topics,
    ),
    Verb(
        "reassign",
        "Begins to move partitions to other brokers.",
        _reassign,
        "  kwire partitions reassign orders:3=1,2 orders:4=2,3",
        _add_replicas,
    ),
    Verb(
        "cancel",
        "Cancels what 'reassign' has begun.",
        _cancel,
        "  kwire partitions cancel orders:3",
        _add_partitions,
    ),
    Verb(
        "elect",
        "Makes the first replica of partitions their leader.",
        _elect,
        "  kwire partitions elect orders:3 audit            one partition; all of a topic\n"
        "  kwire partitions elect --all                     after brokers have been restarted",
        _add_elections,
        destroys=True,
    ),
)
