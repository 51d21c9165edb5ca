"""`kwire produce`: one record per line of standard input."""

from __future__ import annotations

import argparse
import sys

from kwire.cli.connecting import add_compression_option, add_connection_options, opened, producing
from kwire.cli.trouble import trouble_on_stderr
from kwire.cli.usage import Commands, UsageError
from kwire.errors import ConfigError

_EPILOG = """\
examples:
  seq 1000 | kwire produce orders
  kwire produce orders --key-separator : < pairs.txt          "k1:v1" is key k1 and value v1
  kwire produce orders --compression zstd -X linger.ms=50 < lines.txt

Ends with exit code 0 when every record is acknowledged, else with 1 and the reasons.
"""


def add_parser(commands: Commands) -> None:
    """Adds the command and its options."""
    parser = commands.add_parser(
        "produce",
        help="write lines of standard input to a topic",
        description="Writes each line of standard input as one record.",
        epilog=_EPILOG,
    )
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument("--key-separator", metavar="TEXT", help="what stands between key and value (default: no keys)")
    parser.add_argument("--partition", type=int, metavar="N", help="write to this partition only")
    add_compression_option(parser)
    add_connection_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Sends until the input ends; a failed delivery is raised when the producer closes."""
    from kwire.producer import Producer

    separator = None if options.key_separator is None else options.key_separator.encode()
    if separator == b"":
        raise UsageError("--key-separator is empty")
    count = 0
    with trouble_on_stderr("produce"), opened(Producer, options, **producing(options)) as producer:
        for count, line in enumerate(sys.stdin.buffer, 1):
            key, value = _split(line.removesuffix(b"\n"), separator, count)
            producer.send(options.topic, value, key=key, partition=options.partition)
    print(f"{count} records to {options.topic}", file=sys.stderr)
    return 0


def _split(line: bytes, separator: bytes | None, number: int) -> tuple[bytes | None, bytes]:
    if separator is None:
        return None, line
    key, found, value = line.partition(separator)
    if not found:
        raise ConfigError(f"line {number} has no {separator.decode()!r} between key and value")
    return key, value
