"""`kwire consume`: the records of topics on standard output.

Without --group it is no member of a group and commits nothing, whatever group the settings name. With it, records are
committed as soon as they are written: at least once.
"""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from kwire.cli.connecting import add_connection_options, opened, waiting
from kwire.cli.format_strings import compiled
from kwire.cli.interrupting import sigterm_as_interrupt
from kwire.cli.places import AGO, ENDS
from kwire.cli.read_bounds import Bound, ends, parse_bound, starts
from kwire.cli.record_output import FORMATS
from kwire.cli.registry_settings import add_registry_option, registry_of
from kwire.cli.settings import name_value_pairs
from kwire.cli.topic_choice import matching, pattern_of
from kwire.cli.trouble import trouble_on_stderr
from kwire.cli.usage import Commands, UsageError, natural, positive
from kwire.cli.value_forms import FORMS, SCHEMA_FORMS, Form
from kwire.errors import ConfigError, ConnectError, KafkaTimeoutError, UnknownTopicError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from kwire.cli.consuming import Printer
    from kwire.cli.record_columns import Look
    from kwire.cli.record_filters import Filter
    from kwire.cli.record_output import Renderer
    from kwire.consumer import Consumer, TopicPartition

_EPILOG = """\
examples:
  kwire consume orders                                  every record there is now, values only
  kwire consume orders --follow --format json           and those that come, until Ctrl-C
  kwire consume orders '^audit-'                        and of all topics whose names begin so
  kwire consume orders --from -10                       the last ten of each partition
  kwire consume orders --from -1h --to -30m             from an hour ago to half an hour ago (s, m, h or d)
  kwire consume orders --from 2024-05-01T12:00:00+00:00 from a time on
  kwire consume orders -p 3 --from 1500 --count 10 --format table
  kwire consume orders -f '%T %p:%o %k=%s\\n'            a line as kcat's -f makes it
  kwire consume orders --key-as int64 --value-as json -J --filter 'value.amount > `100`'
  kwire consume orders --value-as avro --registry http://registry:8081 -J
  kwire consume orders --value-as text --output orders.parquet    a row for each record, for DuckDB or pandas
  kwire consume orders --group billing                  as a member of a group, until Ctrl-C

format strings (-f):
  %s %S value, its size    %k %K key, its size    %h headers, name=value,name=value    %R size in 4 bytes, big-endian
  %t topic    %p partition    %o offset    %T timestamp in ms    %U as 2024-05-01T12:00:00.000Z    %% percent
  \\n \\r \\t \\0 \\xHH as in C. A null key or value has the size -1, and prints as --null says

filters: key=TEXT, value=TEXT, header.NAME=TEXT, each also with ~REGEX, or an expression of JMESPath on the record as
--format json has it, with a value that is JSON in its place. Of several all must be true.

with --group:
  The members of a group share the partitions of the topics: start the command twice, and each prints half. What is
  printed is committed, every five seconds and when the command ends, so the next start goes on there. Ctrl-C and
  SIGTERM leave the group, and the other members take over at once. What is printed but not committed when the command
  is killed is printed again by the next one. --from is for partitions in which the group has committed nothing yet:
  latest (the default), earliest, or -1h. To begin anew, take another name, or: kwire groups delete GROUP.
  -e ends it at the end that the partitions have when it starts, --to before that, --follow -e when nothing is left.
  Not with --output: the file is there once it is whole, and what is committed before would be lost if it never is.
"""
_FIRST_ANSWER_S = 1.0


def add_parser(commands: Commands) -> None:
    """Adds the command and its options."""
    parser = commands.add_parser(
        "consume",
        help="print the records of topics",
        description="Prints the records of topics, up to their current end or for ever.",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "topics", nargs="+", metavar="TOPIC", help="a name, or ^REGEX: all topics whose names begin with such a text"
    )
    parser.add_argument("--pattern", action="store_true", help="each TOPIC is a regular expression for whole names")
    _add_bounds(parser)
    _add_look(parser)
    add_connection_options(parser)
    parser.set_defaults(run=run)


def _add_bounds(parser: argparse.ArgumentParser) -> None:
    """What is read."""
    parser.add_argument(
        "-p", "--partition", type=natural, action="append", metavar="N", help="only this one; may be repeated"
    )
    parser.add_argument(
        "-o",
        "--from",
        dest="start",
        metavar="WHERE",
        help="earliest (default; or beginning), latest (or end), an offset, -N (the last N of each partition), -1h (an "
        "hour ago), a time such as 2024-05-01T12:00:00+00:00, or @MS since 1970; with --group see below",
    )
    parser.add_argument(
        "--to",
        dest="end",
        metavar="WHERE",
        help="end before this place in each partition, as --from names it (default: the end it has at the start)",
    )
    parser.add_argument("-c", "--count", type=record_count, metavar="N", help="end after N printed records")
    parser.add_argument("--follow", action="store_true", help="wait for new records instead of ending")
    parser.add_argument(
        "-e",
        "--exit-eof",
        action="store_true",
        help="end when the end is reached: for --group; with --follow when no record is left that came meanwhile",
    )
    parser.add_argument(
        "--filter",
        dest="filters",
        action="append",
        default=[],
        metavar="TEST",
        help="only records with key=TEXT, value=TEXT or header.NAME=TEXT, with key~REGEX and so on, or of which an "
        "expression of JMESPath is true; may be repeated",
    )
    parser.add_argument(
        "-G", "--group", metavar="GROUP", help="read as a member of this consumer group, from its committed offsets"
    )
    parser.add_argument(
        "--isolation-level",
        choices=("read_committed", "read_uncommitted"),
        help="whether records of transactions that are open or aborted are left out (default: the setting's)",
    )


def _add_look(parser: argparse.ArgumentParser) -> None:
    """What is printed of it."""
    look = parser.add_mutually_exclusive_group()
    look.add_argument("--format", choices=FORMATS, default="value", help="(default %(default)s)")
    look.add_argument("-J", "--json", dest="format", action="store_const", const="json", help="--format json")
    look.add_argument(
        "-f", "--format-string", metavar="TEXT", help="print each record as this, with tokens such as %%s"
    )
    look.add_argument(
        "--output",
        metavar="FILE",
        help="write a file of columns, .parquet or .arrow, which is there once it is whole; Ctrl-C ends it",
    )
    for field in ("key", "value"):
        parser.add_argument(
            f"--{field}-as",
            choices=[*FORMS, *SCHEMA_FORMS],
            default="bytes",
            metavar="FORM",
            help=f"what a {field} is: {', '.join((*FORMS, *SCHEMA_FORMS))} (default %(default)s: as it is)"
            if field == "key"
            else "what a value is, alike",
        )
    add_registry_option(parser)
    parser.add_argument(
        "--on-error",
        choices=("fail", "keep"),
        default="fail",
        help="whether what is not of its form ends the command, or is printed as base64 (default %(default)s)",
    )
    parser.add_argument("--null", default="", metavar="TEXT", help="shown for null, but in JSON (default: nothing)")


def record_count(text: str) -> int:
    """A number of records, as an argparse type: to those who know -c as -X, it says what it is here."""
    try:
        return positive(text)
    except argparse.ArgumentTypeError:
        hint = "; a setting is given by -X NAME=VALUE" if "=" in text else ""
        raise argparse.ArgumentTypeError(f"a number of records, 1 or more, is needed{hint}") from None


def run(options: argparse.Namespace) -> int:
    """Prints until the end, the count, or Ctrl-C."""
    from kwire.cli.consuming import Printer
    from kwire.consumer import Consumer

    start, end = parse_bound("--from", options.start or "earliest"), _end(options)
    pattern = pattern_of(options.topics, whole=options.pattern)
    choose, writing = _output(options)
    open_ended = _is_open_ended(options, start, end)
    settings = {"allow_auto_create_topics": False, **waiting(options), **_membership(options), **_isolation(options)}
    if open_ended:
        settings["auto_offset_reset"] = start
    ending = nullcontext() if options.group is None else sigterm_as_interrupt()
    with trouble_on_stderr("consume"), ending, opened(Consumer, options, **settings) as consumer, writing as render:
        printer = Printer(render, choose, options.count, _head(options))
        if options.group is not None:
            _read_in_group(consumer, options, pattern, printer, end)
            return 0
        partitions = _partitions(consumer, options, pattern)
        if open_ended:
            _subscribe(consumer, options, pattern)
        else:
            until = ends(consumer, partitions, end, follow=options.follow)
            consumer.assign(partitions, at=starts(consumer, partitions, start), until=until)
        _read_assigned(consumer, options, printer)
    return 0


def _is_open_ended(options: argparse.Namespace, start: Bound, end: Bound | None) -> bool:
    """Whether partitions and topics that are created meanwhile are read as well: where nothing names single ones."""
    is_whole = options.partition is None and end is None and isinstance(start, str)
    return is_whole and options.group is None and options.follow and not options.exit_eof


def _subscribe(consumer: Consumer, options: argparse.Namespace, pattern: str | None) -> None:
    if pattern is None:
        consumer.subscribe(options.topics)
    else:
        consumer.subscribe(pattern=pattern)


def _read_assigned(consumer: Consumer, options: argparse.Namespace, printer: Printer) -> None:
    from kwire.cli.consuming import print_assigned

    printer.write_head()
    patience = None if options.follow else _patience(consumer)
    print_assigned(consumer, printer, patience=patience, live_end=options.follow and options.exit_eof)


def _read_in_group(
    consumer: Consumer, options: argparse.Namespace, pattern: str | None, printer: Printer, end: Bound | None
) -> None:
    from kwire.cli.consuming import print_in_group

    is_bounded = end is not None or (options.exit_eof and not options.follow)
    partitions = _partitions(consumer, options, pattern) if pattern is None or is_bounded else []
    until = ends(consumer, partitions, end, follow=options.follow) if is_bounded else None
    if partitions:
        consumer.committed(partitions[:1])  # polls would wait for the group's coordinator for ever, not for --timeout
    _subscribe(consumer, options, pattern)
    printer.write_head()
    print_in_group(consumer, printer, until=until, live_end=options.follow and options.exit_eof)
    if consumer.settings.enable_auto_commit:
        consumer.commit()


def _end(options: argparse.Namespace) -> Bound | None:
    end = None if options.end is None else parse_bound("--to", options.end)
    if options.follow and end is not None and not isinstance(end, int):
        raise UsageError(f"--to {options.end} with --follow: an offset is needed, up to which records are waited for")
    return end


def _output(options: argparse.Namespace) -> tuple[Filter | None, AbstractContextManager[Renderer]]:
    """Which records are written, and what writes them while a block runs."""
    from kwire.cli.record_columns import Look
    from kwire.cli.record_filters import parse_filter, passing
    from kwire.cli.record_output import renderer

    key, value = _forms(options)
    look = Look(key, value, options.null, options.on_error == "keep")
    choose = passing([parse_filter(text, look) for text in options.filters]) if options.filters else None
    if options.output is not None:
        return choose, _file(options, look)
    if options.format_string is not None:
        return choose, nullcontext(compiled(options.format_string, look))
    return choose, nullcontext(renderer(options.format, look))


def _forms(options: argparse.Namespace) -> list[Form]:
    """What keys and values are."""
    names = (options.key_as, options.value_as)
    if not set(names) & set(SCHEMA_FORMS):
        if options.registry is not None:
            raise UsageError(f"--registry is for --key-as and --value-as {', '.join(SCHEMA_FORMS)}")
        return [FORMS[name] for name in names]
    from kwire.cli.schema_forms import showing

    registry = registry_of(options)
    return [FORMS[name] if name in FORMS else showing(name, registry) for name in names]


def _file(options: argparse.Namespace, look: Look) -> AbstractContextManager[Renderer]:
    from kwire.cli.consume_file import check_output, writing_file

    check_output(options.output)
    if options.group:
        raise UsageError("--group cannot be combined with --output: what is read is committed before the file is whole")
    for name, is_given in (("--null", options.null), ("--on-error keep", look.keeps)):
        if is_given:
            raise UsageError(f"{name} cannot be combined with --output")
    return writing_file(options.output, look, options.count)


def _head(options: argparse.Namespace) -> bytes:
    from kwire.cli.record_output import head_of

    return head_of(options.format) if options.format_string is None and options.output is None else b""


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


def _isolation(options: argparse.Namespace) -> dict[str, Any]:
    return {} if options.isolation_level is None else {"isolation_level": options.isolation_level}


def _partitions(consumer: Consumer, options: argparse.Namespace, pattern: str | None) -> list[TopicPartition]:
    """The partitions of all topics, of which --partition may choose."""
    topics = list(dict.fromkeys(options.topics)) if pattern is None else matching(options, pattern)
    found: list[TopicPartition] = []
    for topic in topics:
        partitions = _partitions_of(consumer, topic)
        if options.partition is not None:
            missing = sorted(set(options.partition) - {place.partition for place in partitions})
            if missing:
                raise ConfigError(f"{topic!r} has no partition {missing[0]}; it has 0 to {len(partitions) - 1}")
            partitions = [place for place in partitions if place.partition in options.partition]
        found += partitions
    return found


def _partitions_of(consumer: Consumer, topic: str) -> list[TopicPartition]:
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


def _patience(consumer: Consumer) -> float:
    return consumer.settings.default_api_timeout_ms / 1000
