"""`kwire topics`: list, create and delete topics."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from kwire.cli.connecting import add_connection_options, opened, waiting
from kwire.cli.rendering import table
from kwire.cli.settings import name_value_pairs
from kwire.cli.trouble import trouble_on_stderr
from kwire.cli.usage import UsageError, positive

if TYPE_CHECKING:
    from kwire.admin import Admin, TopicInfo

_ACTIONS = ("list", "describe", "create", "delete")
_LOOKS = ("list", "describe")
_EPILOG = """\
examples:
  kwire topics                                     all topics: partitions, replicas, records
  kwire topics list orders                         the partitions of a topic: leader, replicas, offsets
  kwire topics create orders:12 events             12 partitions; as many as the broker's default
  kwire topics create audit:1 --replication 3 --topic-config retention.ms=86400000
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
    parser.add_argument("action", nargs="?", metavar="ACTION", default="list", help="list (default), create, delete")
    parser.add_argument("names", nargs="*", metavar="NAME[:PARTITIONS]")
    parser.add_argument("--replication", type=positive, metavar="N", help="of new topics (default: the broker's)")
    parser.add_argument(
        "--topic-config",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of new topics, as in retention.ms=86400000; may be repeated",
    )
    add_connection_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Does what the action says; errors of the broker are raised."""
    from kwire.admin import Admin

    if options.action not in _ACTIONS:
        raise UsageError(
            f"{options.action!r} is not one of {', '.join(_ACTIONS)}; "
            f"to see a topic: kwire topics list {options.action}"
        )
    if options.action not in _LOOKS and not options.names:
        raise UsageError(f"name the topics to {options.action}")
    wanted = _wanted(options) if options.action == "create" else {}
    with trouble_on_stderr("topics"), ExitStack() as stack:
        try:
            admin = stack.enter_context(opened(Admin, options, **waiting(options)))
        except UsageError as error:
            raise _with_hint(error, options.action) from error
        if options.action == "create":
            admin.create_topics(wanted)
        elif options.action == "delete":
            admin.delete_topics(options.names)
        elif options.names:
            print(_partitions(admin, options.names))
        else:
            print(_topics(admin))
    return 0


def _with_hint(error: UsageError, action: str) -> UsageError:
    """The error, which for an unknown setting says how a new topic is given one."""
    text = str(error)
    if action == "create" and text.startswith("unknown setting"):
        text = f"{text.partition(';')[0]} of the client; --topic-config NAME=VALUE gives one to the topic"
    return UsageError(text)


def _wanted(options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """What Admin.create_topics takes."""
    configs = name_value_pairs("--topic-config", options.topic_config)
    wanted = {}
    for text in options.names:
        name, colon, count = text.partition(":")
        if colon and (not count.isdecimal() or not int(count)):
            raise UsageError(f"{text!r}: write NAME or NAME:PARTITIONS, as in orders:12")
        detail: dict[str, Any] = {"configs": configs}
        if colon:
            detail["num_partitions"] = int(count)
        if options.replication is not None:
            detail["replication_factor"] = options.replication
        wanted[name] = detail
    return wanted


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
