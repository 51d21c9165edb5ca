"""`kwire groups` and `kwire lag`: groups, their members, how far they have read, and where they go on."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from kwire.cli.completing import offers
from kwire.cli.connecting import add_connection_options
from kwire.cli.group_kinds import described
from kwire.cli.nouns import Verb, add_noun, administering, consent, listed
from kwire.cli.output import add_output_options, done, exit_code, found, show
from kwire.cli.terminal import print_error
from kwire.cli.usage import Commands, Parser, none_of, seconds
from kwire.errors import BrokerError
from kwire.schema.error_codes import GROUP_ID_NOT_FOUND

if TYPE_CHECKING:
    from kwire.admin import Admin

_STATES = ("Stable", "Empty", "Dead", "PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling",
           "NotReady")  # fmt: skip
_TYPES = ("classic", "consumer", "share", "streams")
_LAG_EPILOG = """\
examples:
  kwire lag billing                                the lag of the group, partition by partition
  kwire lag billing audit --json                   of two groups, one object per line
  kwire lag billing --watch                        again every 2 s: rates of reading and writing, time to catch up
  kwire lag billing --watch 10 --json              lines for a monitor, every 10 s
"""
_WATCH_S = 2.0


def add_parser(commands: Commands) -> None:
    """Adds both commands and their options."""
    add_noun(commands, "groups", "Lists, describes, deletes and resets groups.", _VERBS)
    lag = commands.add_parser(
        "lag",
        help="the lag of consumer groups",
        description="Shows how many records lie between a group's committed offset and the end of each partition.",
        epilog=_LAG_EPILOG,
    )
    add_names(lag)
    lag.add_argument(
        "-w",
        "--watch",
        nargs="?",
        type=seconds,
        const=_WATCH_S,
        metavar="SECONDS",
        help="show it again every 2 s, or as often as said, with rates, until Ctrl-C; give it after the groups",
    )
    add_output_options(lag)
    add_connection_options(lag)
    lag.set_defaults(run=_lag)


def add_names(parser: Parser) -> None:
    """Adds the groups that a verb is about."""
    parser.add_argument("names", nargs="+", metavar="GROUP")


def _add_filters(parser: Parser) -> None:
    for option, values, names in (
        ("state", "Stable, Empty, Dead ...", _STATES),
        ("type", "classic, consumer, share or streams", _TYPES),
    ):
        chosen = parser.add_argument(
            f"--{option}",
            action="extend",
            default=[],
            type=partial(_some_of, names),
            metavar=option.upper(),
            help=f"only groups of this {option}: {values}; may be repeated",
        )
        offers(chosen, names)


def _some_of(known: Sequence[str], text: str) -> list[str]:
    """The words of a list with commas, in small letters, as an argparse type."""
    chosen = [word for word in text.lower().split(",") if word]
    for word in chosen:
        if word not in map(str.lower, known):
            raise none_of(word, map(str.lower, known), ", ".join(known))
    return chosen


def add_reset(parser: Parser) -> None:
    """Adds the arguments of `reset`."""
    parser.add_argument("group", metavar="GROUP")
    parser.add_argument(
        "--to",
        required=True,
        metavar="WHERE",
        help="earliest, latest, an offset, a time such as 2024-05-01T12:00:00+00:00, -1h (an hour ago), or +10 and "
        "-10: that many records on or back from what is committed",
    )
    parser.add_argument(
        "--topic",
        action="append",
        default=[],
        dest="topics",
        metavar="TOPIC[:PARTITION]",
        help="only this one; may be repeated (default: whatever the group has committed in)",
    )
    parser.add_argument("--execute", action="store_true", help="do it, instead of only showing what would change")


def _list(options: argparse.Namespace) -> int:
    with administering(options) as admin:
        rows = [
            (row.group_id, row.type, row.state, row.protocol_type)
            for row in admin.list_groups(states=options.state or None, types=options.type or None)
        ]
    show(("group", "type", "state", "protocol"), rows, options.output)
    return 0


def describe(options: argparse.Namespace) -> int:
    """Shows members of groups, of whichever kind."""
    with administering(options) as admin:
        groups, code = found(options, options.names, partial(described, admin))
    rows: list[Sequence[Any]] = []
    for name, group in groups.items():
        whole = (name, group.type, group.state, group.assignor)
        rows.extend((*whole, *member) for member in group.members)
        if not group.members:
            rows.append((*whole, None, None, None, []))
    show(("group", "type", "state", "assignor", "member", "client", "host", "partitions"), rows, options.output)
    return code


def delete(options: argparse.Namespace) -> int:
    """Deletes groups, of whichever kind."""
    names = list(dict.fromkeys(options.names))
    consent(options, f"delete {listed(names)} with what they have committed")
    with administering(options) as admin:
        return done(options, "group", names, lambda: admin.delete_consumer_groups(names))


def reset(options: argparse.Namespace) -> int:
    """Runs the verb; what it needs is imported for it alone."""
    from kwire.cli import resetting

    return resetting.reset(options)


def _lag(options: argparse.Namespace) -> int:
    """Shows the lag of each group, and says which do not exist; other errors of the broker are raised."""
    from kwire._inside import progress as progress_of

    with administering(options) as admin:
        progress = {name: progress_of(admin, name) for name in options.names}
        missing = _missing(admin, [name for name, rows in progress.items() if not rows])
        if options.watch is not None and len(missing) < len(progress):
            _watch(options, admin)
    rows = [
        (name, tp.topic, tp.partition, row.committed and row.committed.offset, row.end, row.lag)
        for name, partitions in progress.items()
        for tp, row in partitions.items()
    ]
    if len(missing) < len(progress):
        show(("group", "topic", "partition", "committed", "end", "lag"), rows, options.output)
    for name, partitions in progress.items():
        if name in missing:
            _say(f"consumer group {name!r} does not exist; 'kwire groups' lists those that do")
        elif all(row.committed is None for row in partitions.values()):
            _say(f"consumer group {name!r} has no committed offsets yet")
    return exit_code(len(progress), len(missing))


def _watch(options: argparse.Namespace, admin: Admin) -> NoReturn:
    from kwire._inside import progress as progress_of
    from kwire.cli.lag_watch import Key, Place, watch

    def look() -> dict[Key, Place]:
        return {
            (name, tp.topic, tp.partition): Place(row.committed and row.committed.offset, row.end)
            for name in options.names
            for tp, row in progress_of(admin, name).items()
        }

    watch(options, look)


def _say(text: str) -> None:
    print_error(f"kwire lag: {text}")


def _missing(admin: Admin, names: Sequence[str]) -> set[str]:
    """Which of these groups do not exist."""
    try:
        admin.describe_consumer_groups(names)
    except BrokerError as error:
        if any(getattr(each, "code", 0) != GROUP_ID_NOT_FOUND for each in error.failures.values()):
            raise
        return set(error.failures)
    return set()


_VERBS = (
    Verb(
        "list",
        "Lists all groups: type, state, kind of their members.",
        _list,
        "  kwire groups                                     all groups\n"
        "  kwire groups list --state Empty --type classic   some of them",
        _add_filters,
    ),
    Verb(
        "describe",
        "Shows the members of groups, and what each of them reads.",
        describe,
        "  kwire groups describe billing                    its members",
        add_names,
    ),
    Verb(
        "delete",
        "Deletes groups and what they have committed; they may not have members.",
        delete,
        "  kwire groups delete billing                      asks first; --yes does not",
        add_names,
        destroys=True,
    ),
    Verb(
        "reset",
        "Lets a group without members go on elsewhere. Shows what would change; --execute does it.",
        reset,
        "  kwire groups reset billing --to earliest --topic orders\n"
        "  kwire groups reset billing --to -1h --execute    those of the last hour again\n"
        "  kwire groups reset billing --to +1 --topic orders:3 --execute     over a record that cannot be read",
        add_reset,
    ),
)
