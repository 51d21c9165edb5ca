"""`kwire transactions`: list and describe transactions, and end those that hang."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from kwire.cli.nouns import Verb, add_noun, administering, consent, listed
from kwire.cli.output import done, found, of_item, show
from kwire.cli.partition_names import name_of, partition_named
from kwire.cli.rendering import utc
from kwire.cli.usage import Commands, Parser, natural, seconds, usage_errors
from kwire.errors import KafkaError

if TYPE_CHECKING:
    from kwire.admin import Admin, ProducerState
    from kwire.engine.common.addresses import TopicPartition


def add_parser(commands: Commands) -> None:
    """Adds the noun and its verbs."""
    add_noun(commands, "transactions", "Lists and describes transactions, and ends those that hang.", _VERBS)


def _add_filters(parser: Parser) -> None:
    parser.add_argument(
        "--state",
        action="append",
        default=[],
        metavar="STATE",
        help="only those in this state: Ongoing, Empty, PrepareCommit, CompleteAbort ...; may be repeated",
    )
    parser.add_argument(
        "--producer-id",
        action="append",
        default=[],
        type=natural,
        metavar="ID",
        help="only of this one; may be repeated",
    )
    parser.add_argument("--open-for", type=seconds, metavar="SECONDS", help="only those open for longer (Kafka 3.8)")
    parser.add_argument("--pattern", metavar="REGEX", help="only ids that it matches as a whole (Kafka 4.1)")


def _add_ids(parser: Parser) -> None:
    parser.add_argument("names", nargs="+", metavar="TRANSACTIONAL_ID")


def _add_partitions(parser: Parser) -> None:
    parser.add_argument("partitions", nargs="+", metavar="TOPIC:PARTITION")
    parser.add_argument("--producer-id", type=natural, metavar="ID", help="whose, where several have one open")


def _list(options: argparse.Namespace) -> int:
    with administering(options) as admin, usage_errors():
        transactions = admin.list_transactions(
            states=options.state,
            producer_ids=options.producer_id,
            min_duration=options.open_for,
            pattern=options.pattern,
        )
    rows = [(each.transactional_id, each.state, each.producer_id, each.coordinator_id) for each in transactions]
    show(("transactional_id", "state", "producer_id", "coordinator"), rows, options.output)
    return 0


def _describe(options: argparse.Namespace) -> int:
    with administering(options) as admin:
        transactions, code = found(options, options.names, admin.describe_transactions)
    rows = [
        (
            name,
            each.state,
            each.producer_id,
            each.producer_epoch,
            each.coordinator_id,
            each.timeout_ms,
            utc(each.started) if each.started >= 0 else None,
            list(map(name_of, each.partitions)),
        )
        for name, each in transactions.items()
    ]
    keys = ("transactional_id", "state", "producer_id", "epoch", "coordinator", "timeout_ms", "started", "partitions")
    show(keys, rows, options.output)
    return code


def _abort(options: argparse.Namespace) -> int:
    partitions = list(dict.fromkeys(map(partition_named, options.partitions)))
    consent(options, f"abort the transaction that is open in {listed(list(map(name_of, partitions)))}")
    with administering(options) as admin:
        acts = [of_item(tp, partial(_abort_in, admin, tp, options.producer_id)) for tp in partitions]
        return done(options, "partition", partitions, *acts, named=name_of)


def _terminate(options: argparse.Namespace) -> int:
    names = list(dict.fromkeys(options.names))
    consent(options, f"abort the transactions of {listed(names)} and fence their producers")
    with administering(options) as admin:
        acts = [of_item(name, partial(admin.force_terminate_transaction, name)) for name in names]
        return done(options, "transactional_id", names, *acts)


def _abort_in(admin: Admin, tp: TopicPartition, producer_id: int | None) -> None:
    producer = _open_in(admin, tp, producer_id)
    _refuse_known(admin, tp, producer)
    admin.abort_transaction(tp, producer)


def _open_in(admin: Admin, tp: TopicPartition, producer_id: int | None) -> ProducerState:
    """The producer whose transaction is open in the partition."""
    producers = [
        each
        for each in admin.describe_producers([tp])[tp]
        if each.current_transaction_start_offset is not None and producer_id in (None, each.producer_id)
    ]
    if not producers:
        whose = "" if producer_id is None else f" of producer {producer_id}"
        raise KafkaError(f"no transaction{whose} is open in {name_of(tp)}")
    if len(producers) > 1:
        ids = ", ".join(str(each.producer_id) for each in producers)
        raise KafkaError(f"several transactions are open in {name_of(tp)}; choose by --producer-id, of {ids}")
    return producers[0]


def _refuse_known(admin: Admin, tp: TopicPartition, producer: ProducerState) -> None:
    """KafkaError for a transaction that a coordinator knows: it may still commit what would be aborted here."""
    names = [row.transactional_id for row in admin.list_transactions(producer_ids=[producer.producer_id])]
    for name, known in admin.describe_transactions(names).items():
        if tp in known.partitions:
            raise KafkaError(
                f"what is open in {name_of(tp)} does not hang, its coordinator has it as {known.state}: "
                f"'kwire transactions terminate {name}' ends it in all partitions"
            )


_VERBS = (
    Verb(
        "list",
        "Lists the transactional ids of all coordinators.",
        _list,
        "  kwire transactions                               all transactional ids\n"
        "  kwire transactions --state Ongoing --open-for 600",
        _add_filters,
    ),
    Verb(
        "describe",
        "Shows producer, time-out and partitions of transactions.",
        _describe,
        "  kwire transactions describe billing-1            since when it is open, and where",
        _add_ids,
    ),
    Verb(
        "abort",
        "Aborts what hangs in partitions: a transaction that no coordinator knows any more.",
        _abort,
        "  kwire transactions abort orders:3                asks first; --yes does not",
        _add_partitions,
        destroys=True,
    ),
    Verb(
        "terminate",
        "Aborts the open transactions of transactional ids, and fences their producers.",
        _terminate,
        "  kwire transactions terminate billing-1           in all its partitions",
        _add_ids,
        destroys=True,
    ),
)
