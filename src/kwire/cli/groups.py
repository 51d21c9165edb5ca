"""`kwire groups` and `kwire lag`: consumer groups, their members, and how far they have read."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from kwire.cli.connecting import add_connection_options, opened, waiting
from kwire.cli.rendering import table
from kwire.cli.trouble import trouble_on_stderr
from kwire.cli.usage import UsageError
from kwire.errors import BrokerError
from kwire.schema.error_codes import GROUP_ID_NOT_FOUND

if TYPE_CHECKING:
    from kwire.admin import Admin
    from kwire.engine.admin.group_calls import Progress
    from kwire.engine.common.addresses import TopicPartition

    Table = tuple[Sequence[str], list[Sequence[Any]]]

_ACTIONS = ("list", "describe", "delete")
_EPILOG = """\
examples:
  kwire groups                        all groups: kind, state, type of their members
  kwire groups describe billing       the members of a group, and what each of them reads
  kwire groups delete billing         the group and its offsets; it may not have members
  kwire lag billing                   the lag of the group, partition by partition
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds both commands and their options."""
    groups = commands.add_parser(
        "groups",
        help="list, describe and delete consumer groups",
        description="Lists, describes and deletes groups.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    groups.add_argument(
        "action", nargs="?", metavar="ACTION", default="list", help="list (default), describe or delete"
    )
    groups.add_argument("names", nargs="*", metavar="GROUP")
    lag = commands.add_parser(
        "lag",
        help="the lag of consumer groups",
        description="Shows how many records lie between a group's committed offset and the end of each partition.",
    )
    lag.add_argument("names", nargs="+", metavar="GROUP")
    for parser, run in ((groups, run_groups), (lag, run_lag)):
        parser.add_argument("--json", action="store_true", help="one JSON object per line instead of a table")
        add_connection_options(parser)
        parser.set_defaults(run=run)


def run_groups(options: argparse.Namespace) -> int:
    """Does what the action says; errors of the broker are raised."""
    if options.action not in _ACTIONS:
        raise UsageError(
            f"{options.action!r} is not one of {', '.join(_ACTIONS)}; "
            f"to see a group: kwire groups describe {options.action}"
        )
    if (options.action == "list") == bool(options.names):
        raise UsageError(f"name the groups to {options.action}" if not options.names else "list takes no names")
    with ExitStack() as stack:
        admin = _admin(options, stack, "groups")
        if options.action == "delete":
            admin.delete_consumer_groups(options.names)
        else:
            _show(_listed(admin) if options.action == "list" else _described(admin, options.names), options)
    return 0


def run_lag(options: argparse.Namespace) -> int:
    """Shows the lag of each group, and says which do not exist; other errors of the broker are raised."""
    with ExitStack() as stack:
        admin = _admin(options, stack, "lag")
        found = {name: admin._progress(name) for name in options.names}
        missing = _missing(admin, [name for name, rows in found.items() if not rows])
        if len(missing) < len(found):
            _show(_lags(found), options)
        for name, rows in found.items():
            if name in missing:
                print(
                    f"kwire lag: consumer group {name!r} does not exist; 'kwire groups' lists those that do",
                    file=sys.stderr,
                )
            elif all(row.committed is None for row in rows.values()):
                print(f"kwire lag: consumer group {name!r} has no committed offsets yet", file=sys.stderr)
    return 1 if missing else 0


def _admin(options: argparse.Namespace, stack: ExitStack, command: str) -> Admin:
    from kwire.admin import Admin

    stack.enter_context(trouble_on_stderr(command))
    return stack.enter_context(opened(Admin, options, **waiting(options)))


def _show(what: Table, options: argparse.Namespace) -> None:
    head, rows = what
    if options.json:
        for row in rows:
            print(json.dumps(dict(zip(head, row, strict=True)), ensure_ascii=False))
    else:
        print(table(head, [["-" if entry in ("", None) else entry for entry in row] for row in rows]))


def _listed(admin: Admin) -> Table:
    rows: list[Sequence[Any]] = [(row.group_id, row.type, row.state, row.protocol_type) for row in admin.list_groups()]
    return ("group", "type", "state", "protocol"), rows


def _described(admin: Admin, names: Sequence[str]) -> Table:
    rows: list[Sequence[Any]] = []
    for group in admin.describe_consumer_groups(names).values():
        whole = (group.group_id, group.type, group.state, group.assignor)
        rows.extend(
            (*whole, member.member_id, member.client_id, member.host, " ".join(map(str, sorted(member.assignment))))
            for member in group.members
        )
        if not group.members:
            rows.append((*whole, "", "", "", ""))
    return ("group", "type", "state", "assignor", "member", "client", "host", "partitions"), rows


def _missing(admin: Admin, names: Sequence[str]) -> set[str]:
    """Which of these groups do not exist."""
    try:
        admin.describe_consumer_groups(names)
    except BrokerError as error:
        if any(getattr(each, "code", 0) != GROUP_ID_NOT_FOUND for each in error.failures.values()):
            raise
        return set(error.failures)
    return set()


def _lags(found: Mapping[str, Mapping[TopicPartition, Progress]]) -> Table:
    rows: list[Sequence[Any]] = [
        (name, tp.topic, tp.partition, row.committed and row.committed.offset, row.end, row.lag)
        for name, partitions in found.items()
        for tp, row in partitions.items()
    ]
    return ("group", "topic", "partition", "committed", "end", "lag"), rows
