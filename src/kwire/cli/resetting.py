"""`kwire groups reset`: where a group goes on in each partition, shown first, committed with --execute."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from kwire.cli.group_kinds import described, move, progress
from kwire.cli.nouns import administering
from kwire.cli.output import attempted, exit_code, show, tell
from kwire.cli.partition_names import partitions_named
from kwire.cli.places import ENDS, moment
from kwire.cli.usage import UsageError
from kwire.engine.common.numbers import whole_number
from kwire.errors import BrokerError, KafkaError
from kwire.schema.error_codes import GROUP_ID_NOT_FOUND, UNSUPPORTED_VERSION

if TYPE_CHECKING:
    from kwire.admin import Admin
    from kwire.engine.common.addresses import TopicPartition

_STEP = re.compile(r"[+-]\d{1,18}")


class Step(NamedTuple):
    """That many records on from what is committed; back, if it is negative."""

    records: int


Target = int | str | datetime | Step


def reset(options: argparse.Namespace) -> int:
    """Shows what would change, and with --execute commits it. An error for a group with members."""
    target = parse_target(options.to)
    with administering(options) as admin:
        group = options.group
        kind, members = _kind_and_members(admin, group)
        before = progress(admin, group, kind)
        partitions = partitions_named(admin, options.topics, "--topic ") if options.topics else sorted(before)
        if not partitions:
            raise KafkaError(f"group {group!r} has committed nothing; name the topics by --topic")
        after = _targets(admin, partitions, target, before)
        rows = [(group, tp.topic, tp.partition, before.get(tp), offset) for tp, offset in after.items()]
        show(("group", "topic", "partition", "from", "to"), rows, options.output)
        if members:
            raise KafkaError(
                f"group {group!r} has {members} member{'s' if members > 1 else ''}, who would go on from where they "
                "are: stop them first"
            )
        if not options.execute:
            print(f"kwire {options.command}: nothing was changed; --execute does it", file=sys.stderr)
            return 0
        failures = attempted([lambda: move(admin, group, kind, after)])
    tell(options, failures)
    return exit_code(len(after), len(failures))


def parse_target(text: str) -> Target:
    """What --to means. UsageError for anything else."""
    if text.lower() in ENDS:
        return ENDS[text.lower()]
    offset = whole_number(text)
    if offset is not None:
        return offset
    if _STEP.fullmatch(text):
        return Step(int(text))
    found = moment(text)
    if found is None:
        raise UsageError(
            f"--to {text!r}: earliest, latest, an offset, +10 or -10 (records on or back), -1h (an hour ago), or a "
            "time such as 2024-05-01T12:00:00+00:00"
        )
    return found


def _kind_and_members(admin: Admin, group: str) -> tuple[str, int]:
    """The kind of the group, and how many members it has; none, of a group that is not there yet, and before Kafka 0.9,
    where there are offsets of groups and no groups."""
    try:
        found = described(admin, [group])[group]
    except BrokerError as error:
        if error.code not in (GROUP_ID_NOT_FOUND, UNSUPPORTED_VERSION):
            raise
        return "", 0
    return found.type, len(found.members)


def _targets(
    admin: Admin, partitions: list[TopicPartition], target: Target, before: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """The new offset of each partition, between its first and its end."""
    starts, ends = (
        {tp: row.offset for tp, row in admin.list_offsets(dict.fromkeys(partitions, end)).items() if row is not None}
        for end in ("earliest", "latest")
    )
    if isinstance(target, datetime):
        found = admin.list_offsets(dict.fromkeys(partitions, target))
        wanted = {tp: ends[tp] if row is None else row.offset for tp, row in found.items()}
    elif isinstance(target, Step):
        uncommitted = [str(tp) for tp in partitions if tp not in before]
        if uncommitted:
            raise KafkaError(f"nothing is committed in {', '.join(uncommitted)}, so there is nothing to step from")
        wanted = {tp: before[tp] + target.records for tp in partitions}
    elif isinstance(target, str):
        wanted = starts if target == "earliest" else ends
    else:
        wanted = dict.fromkeys(partitions, target)
    return {tp: min(max(wanted[tp], starts[tp]), ends[tp]) for tp in partitions}
