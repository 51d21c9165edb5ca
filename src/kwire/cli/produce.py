"""`kwire produce`: lines, JSON, CSV, tables and whole files to a topic; what became of them is told at the end."""

from __future__ import annotations

import argparse

from kwire.cli.connecting import add_compression_option, add_connection_options
from kwire.cli.registry_settings import add_registry_option
from kwire.cli.usage import Commands, natural, options_first, per_second

_EPILOG = """\
examples:
  seq 1000 | kwire produce orders
  kwire produce orders --key-separator : pairs.txt            "k1:v1" is key k1 and value v1
  kwire produce orders -k customer-3 -H trace=1 < lines.txt   one key and one header for all
  kwire produce photos --whole *.jpg                          a record for each file
  kwire consume orders --format json | kwire produce copy --format json
  kwire produce orders --format csv --key-column id --value-column total orders.csv
  kwire produce orders monday.parquet tuesday.parquet         columns key, value, timestamp, partition, headers
  kwire produce orders --value-as avro --value-schema order.avsc --register < objects.json
  kwire produce orders --transaction lines.txt                all of it or nothing
  kwire produce orders --compression zstd -X linger.ms=50 < lines.txt

Ends with exit code 0 when every record is acknowledged, 3 when some are, else with 1. Lines that were not written are
told with the reason. Of an input with a fault, what stands before it is written, but in a transaction nothing.
"""

FORMATS = ("lines", "json", "csv", "parquet", "arrow")
IGNORABLE = ("partition", "timestamp", "headers")


def add_parser(commands: Commands) -> None:
    """Adds the command and its options."""
    from kwire.engine.settings.values import PARTITIONERS

    parser = commands.add_parser(
        "produce",
        help="write lines, JSON, CSV, tables or files to a topic",
        description="Writes each line of standard input or of files as a record; or rows of tables, or whole files.",
        epilog=_EPILOG,
    )
    parser.add_argument("topic", metavar="TOPIC")
    parser.add_argument(
        "files", nargs="*", default=[], metavar="FILE", help="what to read; - is standard input (default)"
    )
    _add_input_options(parser)
    record = parser.add_argument_group("records")
    record.add_argument("-k", "--key", metavar="KEY", help="the key of every record, whatever the input says")
    record.add_argument(
        "-H", "--header", action="append", default=[], metavar="NAME=VALUE", help="a header; may be repeated"
    )
    record.add_argument("-p", "--partition", type=natural, metavar="N", help="write to this partition only")
    record.add_argument(
        "--timestamp",
        type=_timestamp,
        metavar="TIME",
        help="of every record: milliseconds since 1970 or 2024-05-01T12:00:00+00:00 (default: the input's, or now)",
    )
    record.add_argument(
        "--null", metavar="TEXT", help="a key or value of lines or CSV that is null; '' are empty ones (default: none)"
    )
    record.add_argument(
        "-Z", dest="null", action="store_const", const="", help="--null '': empty keys and values are null"
    )
    record.add_argument(
        "--ignore",
        action="append",
        default=[],
        choices=IGNORABLE,
        help="what not to take from JSON or columns; may be repeated",
    )
    record.add_argument(
        "--own-topics", action="store_true", help="write records to the topics that JSON or columns name for them"
    )
    writing = parser.add_argument_group("writing")
    writing.add_argument("--acks", choices=("all", "1", "0"), help="who has to have a record (default: all)")
    add_compression_option(writing)
    writing.add_argument(
        "--partitioner", choices=PARTITIONERS, metavar="NAME", help=f"one of {', '.join(PARTITIONERS)}"
    )
    writing.add_argument("--rate", type=per_second, metavar="N", help="write at most N records a second")
    writing.add_argument(
        "--transaction",
        dest="transaction",
        action="store_const",
        const="all",
        help="write everything in one transaction: readers with read_committed see all of it or nothing",
    )
    writing.add_argument(
        "--transaction-per-file",
        dest="transaction",
        action="store_const",
        const="file",
        help="write each file in a transaction of its own",
    )
    writing.add_argument(
        "--transactional-id", metavar="ID", help="of the transaction (default: a new one); goes with --transaction"
    )
    add_connection_options(parser)
    parser.arranged = lambda given: options_first(given, parser._option_string_actions)
    parser.set_defaults(run=run)


def _add_input_options(parser: argparse.ArgumentParser) -> None:
    from kwire.cli.value_forms import FORMS, SCHEMA_FORMS

    group = parser.add_argument_group("input", f"FORM is one of {', '.join((*FORMS, *SCHEMA_FORMS))}.")
    group.add_argument(
        "--format",
        choices=FORMATS,
        help="(default: lines; for files named .parquet, .arrow or .feather what the name says)",
    )
    group.add_argument("--whole", action="store_true", help="each file is one record, as it is")
    group.add_argument(
        "-D", "--delimiter", metavar="TEXT", help=r"what stands between records (default: \n; also \t, \0, \x1e)"
    )
    group.add_argument(
        "-K", "--key-separator", metavar="TEXT", help="what stands between key and value (default: no keys)"
    )
    for what in ("key", "value"):
        group.add_argument(
            f"--{what}-as",
            choices=(*FORMS, *SCHEMA_FORMS),
            default="bytes",
            metavar="FORM",
            help=f"what a {what} is in the input (default: bytes)",
        )
    for what in ("key", "value"):
        group.add_argument(
            f"--{what}-schema",
            metavar="SCHEMA",
            help=f"by which a {what} is written that is avro or jsonschema: a file, an id or SUBJECT[:VERSION] "
            f"(default: the latest of TOPIC-{what})",
        )
    group.add_argument(
        "--register", action="store_true", help="make the schema of a file a version of the topic's subject"
    )
    add_registry_option(group)
    for what in ("key", "value", "timestamp", "partition", "topic"):
        group.add_argument(
            f"--{what}-column", metavar="NAME", help=f"the column of CSV or tables that is the {what} (default: {what})"
        )


def _timestamp(text: str) -> int:
    from kwire.cli.produce_input import timestamp_of

    try:
        return timestamp_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def run(options: argparse.Namespace) -> int:
    """Sends until the inputs end, and says what became of the records."""
    from kwire.cli.produce_writing import write

    return write(options)
