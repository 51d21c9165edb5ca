"""`kwire producers`: which idempotent and transactional producers partitions remember, and fencing them."""

from __future__ import annotations

import argparse

from kwire.cli.nouns import Verb, add_noun, administering, consent, listed
from kwire.cli.output import done, found, show
from kwire.cli.partition_names import partitions_named
from kwire.cli.rendering import utc
from kwire.cli.usage import Commands, Parser


def add_parser(commands: Commands) -> None:
    """Adds the noun and its verbs."""
    add_noun(
        commands, "producers", "Lists the idempotent producers of partitions, and fences transactional ones.", _VERBS
    )


def _add_partitions(parser: Parser) -> None:
    parser.add_argument("names", nargs="*", metavar="TOPIC[:PARTITION]", help="only of these (default: of all)")
    parser.add_argument("--open", action="store_true", help="only those with an open transaction there")


def _add_ids(parser: Parser) -> None:
    parser.add_argument("names", nargs="+", metavar="TRANSACTIONAL_ID")


def _list(options: argparse.Namespace) -> int:
    with administering(options) as admin:
        partitions = partitions_named(admin, options.names or admin.describe_topics())
        producers, code = found(options, partitions, admin.describe_producers)
    rows = [
        (
            tp.topic,
            tp.partition,
            each.producer_id,
            each.producer_epoch,
            each.last_sequence if each.last_sequence >= 0 else None,
            utc(each.last_timestamp) if each.last_timestamp >= 0 else None,
            each.current_transaction_start_offset,
        )
        for tp, states in producers.items()
        for each in states
        if each.current_transaction_start_offset is not None or not options.open
    ]
    show(
        ("topic", "partition", "producer_id", "epoch", "last_sequence", "last_write", "open_from"), rows, options.output
    )
    return code


def _fence(options: argparse.Namespace) -> int:
    names = list(dict.fromkeys(options.names))
    consent(options, f"fence the producers of {listed(names)} and abort their transactions")
    with administering(options) as admin:
        return done(options, "transactional_id", names, lambda: admin.fence_producers(names))


_VERBS = (
    Verb(
        "list",
        "Lists the idempotent and transactional producers that partitions remember.",
        _list,
        "  kwire producers list orders:3                    of one partition: the last write of each\n"
        "  kwire producers --open                           what holds up readers of committed records",
        _add_partitions,
    ),
    Verb(
        "fence",
        "Fences the producers of transactional ids: they can write no more, and what they have open is aborted.",
        _fence,
        "  kwire producers fence billing-1                  asks first; --yes does not",
        _add_ids,
        destroys=True,
    ),
)
