"""`kwire consume`: the records of a topic on standard output.

Without --group it is no member of a group and commits nothing, whatever group the settings name. With it, records are
committed as soon as they are written: at least once.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from kwire.cli.connecting import add_connection_options, opened, waiting
from kwire.cli.places import AGO, ENDS, moment
from kwire.cli.rendering import FORMATS, record_table_head, write_records
from kwire.cli.settings import name_value_pairs
from kwire.cli.trouble import trouble_on_stderr
from kwire.cli.usage import Commands, UsageError, positive
from kwire.errors import ConfigError, ConnectError, KafkaTimeoutError, UnknownTopicError

if TYPE_CHECKING:
    from kwire.consumer import Consumer, TopicPartition

_EPILOG = """\
examples:
  kwire consume orders                                  every record there is now, values only
  kwire consume orders --follow --format json           and those that come, until Ctrl-C
  kwire consume orders --from -10                       the last ten of each partition
  kwire consume orders --from -1h                       those of the last hour (s, m, h or d)
  kwire consume orders --from 2024-05-01T12:00:00+00:00 from a time on
  kwire consume orders --partition 3 --from 1500 --count 10 --format table
  kwire consume orders --group billing                  as a member of a group, until Ctrl-C

with --group:
  The members of a group share the partitions of the topic: start the command twice, and each prints half. What is
  printed is committed, every five seconds and when the command ends, so the next start goes on there. Ctrl-C and
  SIGTERM leave the group, and the other members take over at once. What is printed but not committed when the command
  is killed is printed again by the next one. --from is for partitions in which the group has committed nothing yet:
  latest (the default), earliest, or -1h. To begin anew, take another name, or: kwire groups delete GROUP
"""
_FIRST_ANSWER_S = 1.0


@dataclass(frozen=True)
class Last:
    """Where to begin: this number of records before the end of each partition."""

    count: int


Start = int | str | datetime | Last


def add_parser(commands: Commands) -> None:
    """Adds the command and its options."""
    parser = commands.add_parser(
        "consume",
        help="print the records of a topic",
        description="Prints the records of a topic, up to its current end or for ever.",
        epilog=_EPILOG,
    )
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument(
        "--partition", type=int, action="append", metavar="N", help="only this one; may be repeated (default: all)"
    )
    parser.add_argument(
        "--from",
        dest="start",
        metavar="WHERE",
        help="earliest (default), latest (or end), an offset, -N (the last N of each partition), -1h (an hour ago), or "
        "a time such as 2024-05-01T12:00:00+00:00; with --group see below",
    )
    parser.add_argument(
        "--group", metavar="GROUP", help="read as a member of this consumer group, from its committed offsets"
    )
    parser.add_argument("-c", "--count", type=record_count, metavar="N", help="end after N records")
    parser.add_argument("--follow", action="store_true", help="wait for new records instead of ending")
    parser.add_argument("--format", choices=FORMATS, default="value", help="(default %(default)s)")
    parser.add_argument("--null", default="", metavar="TEXT", help="shown for a null value by --format value")
    add_connection_options(parser)
    parser.set_defaults(run=run)


def record_count(text: str) -> int:
    """A number of records, as an argparse type: to those who know -c as -X, it says what it is here."""
    try:
        return positive(text)
    except ValueError:
        hint = "; a setting is given by -X NAME=VALUE" if "=" in text else ""
        raise argparse.ArgumentTypeError(f"a number of records, 1 or more, is needed{hint}") from None


def run(options: argparse.Namespace) -> int:
    """Prints until the end, the count, or Ctrl-C."""
    from kwire.consumer import Consumer

    start = parse_start(options.start or "earliest")
    settings = {"allow_auto_create_topics": False, **waiting(options), **_membership(options)}
    ending = nullcontext() if options.group is None else sigterm_as_interrupt()
    with trouble_on_stderr("consume"), ending, opened(Consumer, options, **settings) as consumer:
        if options.group is None:
            _assign(consumer, options, start)
        else:
            _partitions(consumer, options.topic)
            consumer.subscribe([options.topic])
        if options.format == "table":
            print(record_table_head(place=True), flush=True)
        _print_records(consumer, options)
        if options.group is not None and consumer.settings.enable_auto_commit:
            consumer.commit()
    return 0


@contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """SIGTERM ends the block as Ctrl-C does, so that a member leaves its group."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _membership(options: argparse.Namespace) -> dict[str, Any]:
    """What --group and --from mean as settings of the consumer."""
    if options.group is None:
        if "group.id" in name_value_pairs("-X", options.settings):
            raise UsageError("-X group.id: name the group by --group, to read as a member of it")
        return {"group_id": None, "group_instance_id": None}
    if not options.group:
        raise UsageError("--group is empty")
    if options.partition is not None:
        raise UsageError("--partition cannot be combined with --group: the group assigns the partitions")
    if options.start is None:
        return {"group_id": options.group}
    ago = AGO.fullmatch(options.start)
    if ago is not None:
        reset = f"by_duration:P{'' if ago[2] == 'd' else 'T'}{ago[1]}{ago[2].upper()}"
    elif options.start.lower() in ENDS:
        reset = ENDS[options.start.lower()]
    else:
        raise UsageError(
            f"--from {options.start!r} with --group: earliest, latest or -1h, where the group has no committed offsets"
        )
    return {"group_id": options.group, "auto_offset_reset": reset}


def _print_records(consumer: Consumer, options: argparse.Namespace) -> None:
    """Raises KafkaTimeoutError when nothing comes though the end is not reached. A group's topic has no end."""
    follow = options.follow or options.group is not None
    patience = None if follow else _patience(consumer)
    null = options.null.encode()
    left = options.count
    while (left is None or left > 0) and (follow or not consumer.done()):
        records = consumer.poll(timeout=patience, max_records=left)
        written = write_records(records, options.format, sys.stdout.buffer, place=True, null=null)
        sys.stdout.buffer.flush()
        left = None if left is None else left - written
        if not written and patience is not None and not consumer.done():
            raise KafkaTimeoutError(f"no record of {options.topic!r} came within {patience:g} s, before its end")


def parse_start(text: str) -> Start:
    """What --from means. UsageError for anything else."""
    if text.lower() in ENDS:
        return ENDS[text.lower()]
    if text.isdecimal():
        return int(text)
    if text.startswith("-") and text[1:].isdecimal():
        return Last(int(text[1:]))
    found = moment(text)
    if found is None:
        raise UsageError(
            f"--from {text!r}: earliest, latest, an offset, -10 (the last ten), -1h (an hour ago), "
            "or a time such as 2024-05-01T12:00:00+00:00"
        )
    return found


def _assign(consumer: Consumer, options: argparse.Namespace, start: Start) -> None:
    partitions = _partitions(consumer, options.topic)
    if options.partition is not None:
        missing = sorted(set(options.partition) - {place.partition for place in partitions})
        if missing:
            raise ConfigError(f"{options.topic!r} has no partition {missing[0]}; it has 0 to {len(partitions) - 1}")
        partitions = [place for place in partitions if place.partition in options.partition]
    ends = {} if options.follow else consumer.end_offsets(partitions)
    consumer.assign(partitions, until={(place.topic, place.partition): end for place, end in ends.items()})
    if isinstance(start, Last):
        for place, offset in _before_the_end(consumer, partitions, start.count).items():
            consumer.seek(place, offset)
    else:
        for place in partitions:
            consumer.seek(place, start)


def _partitions(consumer: Consumer, topic: str) -> list[TopicPartition]:
    """The partitions of the topic. One that does not exist is an error after the first answer, not after --timeout."""
    patience = _patience(consumer)
    try:
        try:
            return consumer.partitions_for(topic, min(_FIRST_ANSWER_S, patience))
        except (ConnectError, KafkaTimeoutError):
            return consumer.partitions_for(topic, max(patience - _FIRST_ANSWER_S, 0.0))
    except UnknownTopicError as error:
        servers = ", ".join(map(str, consumer.settings.addresses))
        raise UnknownTopicError(f"there is no topic {topic!r} at {servers}; 'kwire topics' lists them") from error


def _before_the_end(consumer: Consumer, partitions: Sequence[TopicPartition], count: int) -> dict[TopicPartition, int]:
    begins, ends = consumer.beginning_offsets(partitions), consumer.end_offsets(partitions)
    return {place: max(begins[place], end - count) for place, end in ends.items()}


def _patience(consumer: Consumer) -> float:
    return consumer.settings.default_api_timeout_ms / 1000
