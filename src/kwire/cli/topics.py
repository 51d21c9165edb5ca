"""`kwire topics`: list, create and delete topics."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kwire.cli.connecting import add_connection_options, settings_of
from kwire.cli.rendering import table
from kwire.errors import ConfigError

if TYPE_CHECKING:
    from kwire.admin import Admin, TopicInfo

_EPILOG = """\
examples:
  kwire topics                                     all topics: partitions, replicas, records
  kwire topics list orders                         the partitions of a topic: leader, replicas, offsets
  kwire topics create orders:12 events             12 partitions; as many as the broker's default
  kwire topics create audit:1 --replication 3
  kwire topics delete events
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command and its options."""
    parser = commands.add_parser(
        "topics",
        help="list, create and delete topics",
        description="Lists, creates and deletes topics.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("action", nargs="?", choices=("list", "create", "delete"), default="list")
    parser.add_argument("names", nargs="*", metavar="NAME[:PARTITIONS]")
    parser.add_argument("--replication", type=int, metavar="N", help="of new topics (default: the broker's)")
    add_connection_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Does what the action says; errors of the broker are raised."""
    from kwire.admin import Admin

    if options.action != "list" and not options.names:
        raise ConfigError(f"name the topics to {options.action}")
    with Admin.from_config(settings_of(options), bootstrap_servers=options.bootstrap_servers) as admin:
        if options.action == "create":
            _create(admin, options)
        elif options.action == "delete":
            admin.delete_topics(options.names)
        elif options.names:
            print(_partitions(admin, options.names))
        else:
            print(_topics(admin))
    return 0


def _create(admin: Admin, options: argparse.Namespace) -> None:
    wanted = {}
    for text in options.names:
        name, colon, count = text.partition(":")
        if colon and (not count.isdecimal() or not int(count)):
            raise ConfigError(f"{text!r}: write NAME or NAME:PARTITIONS, as in orders:12")
        detail = {"num_partitions": int(count)} if colon else {}
        if options.replication is not None:
            detail["replication_factor"] = options.replication
        wanted[name] = detail
    admin.create_topics(wanted)


def _topics(admin: Admin) -> str:
    found = admin.describe_topics()
    spans = _spans(admin, found)
    rows = []
    for name, topic in sorted(found.items()):
        records = sum(end - start for (owner, _), (start, end) in spans.items() if owner == name)
        replicas = max((len(partition.replicas) for partition in topic.partitions.values()), default=0)
        rows.append((name, len(topic.partitions), replicas, records))
    return table(("topic", "partitions", "replicas", "offsets in use"), rows)


def _partitions(admin: Admin, names: list[str]) -> str:
    found = admin.describe_topics(names)
    spans = _spans(admin, found)
    rows = []
    for name, topic in sorted(found.items()):
        for index, partition in sorted(topic.partitions.items()):
            nodes = (",".join(map(str, partition.replicas)), ",".join(map(str, partition.isr)))
            rows.append((name, index, partition.leader, *nodes, *spans.get((name, index), ("?", "?"))))
    return table(("topic", "partition", "leader", "replicas", "in sync", "start", "end"), rows)


def _spans(admin: Admin, topics: dict[str, TopicInfo]) -> dict[tuple[str, int], tuple[int, int]]:
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
