"""`kwire consume`: the records of a topic on standard output."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime
from typing import TYPE_CHECKING

from kwire.cli.connecting import add_connection_options, settings_of
from kwire.cli.rendering import FORMATS, record_table_head, write_records
from kwire.errors import ConfigError

if TYPE_CHECKING:
    from kwire.consumer import Consumer, TopicPartition

_EPILOG = """\
examples:
  kwire consume orders                                  every record there is now, values only
  kwire consume orders --follow --format json           and those that come, until Ctrl-C
  kwire consume orders --from 2024-05-01T12:00:00+00:00 from a time on
  kwire consume orders --partition 3 --from 1500 --count 10 --format table
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command and its options."""
    parser = commands.add_parser(
        "consume",
        help="print the records of a topic",
        description="Prints the records of a topic, up to its present end or for ever.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument(
        "--partition", type=int, action="append", metavar="N", help="only this one; may be repeated (default: all)"
    )
    parser.add_argument(
        "--from",
        dest="start",
        default="earliest",
        metavar="WHERE",
        help="earliest, latest, an offset, or a time such as 2024-05-01T12:00:00+00:00 (default %(default)s)",
    )
    parser.add_argument("--count", type=int, metavar="N", help="end after so many records")
    parser.add_argument("--follow", action="store_true", help="wait for new records instead of ending")
    parser.add_argument("--format", choices=FORMATS, default="value", help="(default %(default)s)")
    add_connection_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints until the end, the count, or Ctrl-C."""
    from kwire.consumer import Consumer

    start = parse_start(options.start)
    if options.count is not None and options.count < 1:
        raise ConfigError(f"--count {options.count}: at least 1")
    with Consumer.from_config(
        settings_of(options), bootstrap_servers=options.bootstrap_servers, allow_auto_create_topics=False
    ) as consumer:
        _assign(consumer, options, start)
        if options.format == "table":
            print(record_table_head(place=True), flush=True)
        left = options.count
        while (left is None or left > 0) and (options.follow or not consumer.done()):
            records = consumer.poll(timeout=None, max_records=left)
            written = write_records(records, options.format, sys.stdout.buffer, place=True)
            sys.stdout.buffer.flush()
            left = None if left is None else left - written
    return 0


def parse_start(text: str) -> int | str | datetime:
    """What --from means. Raises ConfigError."""
    if text in ("earliest", "latest"):
        return text
    if text.isdecimal():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ConfigError(
            f"--from {text!r}: earliest, latest, an offset, or a time such as 2024-05-01T12:00:00+00:00"
        ) from None
    return moment.astimezone() if moment.tzinfo is None else moment


def _assign(consumer: Consumer, options: argparse.Namespace, start: int | str | datetime) -> None:
    partitions: list[TopicPartition] = consumer.partitions_for(options.topic)
    if options.partition is not None:
        missing = sorted(set(options.partition) - {place.partition for place in partitions})
        if missing:
            raise ConfigError(f"{options.topic!r} has no partition {missing[0]}; it has 0 to {len(partitions) - 1}")
        partitions = [place for place in partitions if place.partition in options.partition]
    ends = {} if options.follow else consumer.end_offsets(partitions)
    consumer.assign(partitions, until={(place.topic, place.partition): end for place, end in ends.items()})
    for place in partitions:
        consumer.seek(place, start)
