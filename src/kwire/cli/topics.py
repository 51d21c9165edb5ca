"""`kwire topics`: list, describe, create, alter and delete topics."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from kwire.cli.nouns import Verb, add_noun, administering, consent, listed
from kwire.cli.output import done, found, show
from kwire.cli.settings import name_value_pairs
from kwire.cli.usage import Commands, Parser, UsageError, positive
from kwire.schema.error_codes import TOPIC_ALREADY_EXISTS, UNKNOWN_TOPIC_OR_PARTITION

if TYPE_CHECKING:
    from kwire.admin import Admin, TopicInfo


def add_parser(commands: Commands) -> None:
    """Adds the noun and its verbs."""
    add_noun(commands, "topics", "Lists, describes, creates, alters and deletes topics.", _VERBS)


def _add_names(parser: Parser) -> None:
    parser.add_argument("names", nargs="+", metavar="TOPIC")


def _add_optional_names(parser: Parser) -> None:
    parser.add_argument("names", nargs="*", metavar="TOPIC", help="describe only these")


def _add_looks(parser: Parser) -> None:
    _add_names(parser)
    parser.add_argument(
        "--under-replicated", action="store_true", help="only partitions with replicas that are not in sync"
    )


def _add_details(parser: Parser) -> None:
    parser.add_argument("names", nargs="+", metavar="TOPIC[:PARTITIONS]")
    parser.add_argument(
        "--partitions", type=positive, metavar="N", help="of those named without a number (default: the broker's)"
    )
    parser.add_argument("--replication", type=positive, metavar="N", help="of new topics (default: the broker's)")
    _add_configs(parser, "a config of new topics")
    parser.add_argument("--if-not-exists", action="store_true", help="leave alone what is there already")


def _add_changes(parser: Parser) -> None:
    _add_names(parser)
    parser.add_argument("--partitions", type=positive, metavar="N", help="how many there shall be, never fewer")
    _add_configs(parser, "a config to set")


def _add_names_to_delete(parser: Parser) -> None:
    _add_names(parser)
    parser.add_argument("--if-exists", action="store_true", help="what is not there is no error")


def _add_configs(parser: Parser, what: str) -> None:
    parser.add_argument(
        "--topic-config",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=f"{what}, as in retention.ms=86400000; may be repeated",
    )


def _list(options: argparse.Namespace) -> int:
    if options.names:
        return _describe(options)
    with administering(options) as admin:
        topics = admin.describe_topics()
        spans = _spans(admin, topics)
    records = dict.fromkeys(topics, 0)
    for (name, _), (start, end) in spans.items():
        records[name] += end - start
    rows = [(name, len(topic.partitions), _replicas(topic), records[name]) for name, topic in sorted(topics.items())]
    show(("topic", "partitions", "replicas", "offsets_in_use"), rows, options.output)
    return 0


def _describe(options: argparse.Namespace) -> int:
    with administering(options) as admin:
        topics, code = found(options, options.names, admin.describe_topics)
        rows = _partitions(topics, _spans(admin, topics))
    if getattr(options, "under_replicated", False):
        rows = (row for row in rows if len(row[4]) < len(row[3]))
    show(("topic", "partition", "leader", "replicas", "in_sync", "start", "end"), rows, options.output)
    return code


def _create(options: argparse.Namespace) -> int:
    wanted = _wanted(options)
    with _hinted(), administering(options) as admin:
        forgiven = TOPIC_ALREADY_EXISTS if options.if_not_exists else None
        return done(options, "topic", list(wanted), lambda: admin.create_topics(wanted), forgiven=forgiven)


def _alter(options: argparse.Namespace) -> int:
    configs = name_value_pairs("--topic-config", options.topic_config)
    if not configs and options.partitions is None:
        raise UsageError("say what to alter: --partitions N or --topic-config NAME=VALUE")

    acts: list[Callable[[Admin], object]] = []
    if configs:
        acts.append(lambda admin: admin.incremental_alter_configs({("topic", name): configs for name in options.names}))
    if options.partitions is not None:
        acts.append(lambda admin: admin.create_partitions(dict.fromkeys(options.names, options.partitions)))
    with _hinted(), administering(options) as admin:
        return done(options, "topic", options.names, *(partial(act, admin) for act in acts))


def _delete(options: argparse.Namespace) -> int:
    names = list(dict.fromkeys(options.names))
    consent(options, f"delete {listed(names)} with all records")
    with administering(options) as admin:
        forgiven = UNKNOWN_TOPIC_OR_PARTITION if options.if_exists else None
        return done(options, "topic", names, lambda: admin.delete_topics(names), forgiven=forgiven)


@contextmanager
def _hinted() -> Iterator[None]:
    """Says of what is no setting of the client how a topic is given one."""
    try:
        yield
    except UsageError as error:
        text = str(error)
        if text.startswith("unknown setting"):
            text = f"{text.partition(';')[0]} of the client; --topic-config NAME=VALUE gives one to the topic"
        elif text.startswith("--config names"):
            text = f"{text}, one of the topic by --topic-config NAME=VALUE"
        raise UsageError(text) from error


def _wanted(options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """What Admin.create_topics takes."""
    configs = name_value_pairs("--topic-config", options.topic_config)
    wanted: dict[str, dict[str, Any]] = {}
    for text in options.names:
        name, colon, count = text.partition(":")
        if colon and (not count.isdecimal() or not int(count)):
            raise UsageError(f"{text!r}: write NAME or NAME:PARTITIONS, as in orders:12")
        detail: dict[str, Any] = {"configs": configs}
        partitions = int(count) if colon else options.partitions
        if partitions is not None:
            detail["num_partitions"] = partitions
        if options.replication is not None:
            detail["replication_factor"] = options.replication
        if wanted.setdefault(name, detail) != detail:
            raise UsageError(f"{name!r} is given twice, with different numbers of partitions")
    return wanted


def _replicas(topic: TopicInfo) -> int:
    return max((len(partition.replicas) for partition in topic.partitions.values()), default=0)


def _partitions(
    topics: Mapping[str, TopicInfo], spans: Mapping[tuple[str, int], tuple[int, int]]
) -> Iterable[tuple[Any, ...]]:
    for name, topic in sorted(topics.items()):
        for index, partition in sorted(topic.partitions.items()):
            nodes = (list(partition.replicas), list(partition.isr))
            yield (name, index, partition.leader, *nodes, *spans.get((name, index), (None, None)))


def _spans(admin: Admin, topics: Mapping[str, TopicInfo]) -> dict[tuple[str, int], tuple[int, int]]:
    """(start, end) of each partition that has a leader."""
    places = [
        (name, index)
        for name, topic in topics.items()
        for index, partition in topic.partitions.items()
        if partition.leader >= 0
    ]
    starts = admin.list_offsets(dict.fromkeys(places, "earliest"))
    ends = admin.list_offsets(dict.fromkeys(places, "latest"))
    spans = {}
    for place, start in starts.items():
        end = ends[place]
        if start is not None and end is not None:
            spans[place.topic, place.partition] = (start.offset, end.offset)
    return spans


_VERBS = (
    Verb(
        "list",
        "Lists all topics: partitions, replicas, offsets in use.",
        _list,
        "  kwire topics                                     all topics: partitions, replicas, records",
        _add_optional_names,
    ),
    Verb(
        "describe",
        "Shows the partitions of topics: leader, replicas, offsets.",
        _describe,
        "  kwire topics describe orders                     leader, replicas and offsets of each partition",
        _add_looks,
    ),
    Verb(
        "create",
        "Creates topics.",
        _create,
        "  kwire topics create orders:12 events             12 partitions; as many as the broker's default\n"
        "  kwire topics create audit:1 --replication 3 --topic-config retention.ms=86400000",
        _add_details,
    ),
    Verb(
        "alter",
        "Gives topics more partitions, or other configs.",
        _alter,
        "  kwire topics alter orders --partitions 24        keys go to other partitions from then on\n"
        "  kwire topics alter orders --topic-config retention.ms=3600000",
        _add_changes,
    ),
    Verb(
        "delete",
        "Deletes topics with all their records.",
        _delete,
        "  kwire topics delete events                       asks first; --yes does not",
        _add_names_to_delete,
        destroys=True,
    ),
)
