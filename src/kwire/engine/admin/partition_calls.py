"""What a call of `Admin` about partitions and their records asks, from its arguments. Layer 3, no I/O; see `calls.py`.

Loaded by the first such call.
"""

from __future__ import annotations

from collections.abc import Mapping

from kwire._typing import Any, TypeVar
from kwire.engine.admin.a21_delete_records import HIGH_WATERMARK, DeleteRecords
from kwire.engine.admin.a37_create_partitions import CreatePartitions, NewPartitions
from kwire.engine.admin.calls import Question, broker_ids, details
from kwire.engine.calls import arguments
from kwire.engine.calls.words import word_in
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import ConfigError

Partition = TypeVar("Partition", bound=tuple[str, int])


def create_partitions(wanted: Mapping[str, Any], *, validate_only: bool) -> Question[None]:
    """`Admin.create_partitions`."""
    if not isinstance(wanted, Mapping):
        raise ConfigError("topics: expected a mapping {topic: number of partitions in all}")
    counts = {arguments.topic_name(name): _new_partitions(name, detail) for name, detail in wanted.items()}
    api = CreatePartitions(counts, validate_only=arguments.flag(validate_only, "validate_only"))
    return Question(api if counts else None, lambda found: None)


def delete_records(before: Mapping[Partition, int | str]) -> Question[dict[TopicPartition, int]]:
    """`Admin.delete_records`."""
    offsets = {
        tp: HIGH_WATERMARK if word_in(where, ["latest"]) else arguments.offset(tp, where)
        for tp, where in arguments.by_partition(before, "before").items()
    }
    return Question(DeleteRecords(offsets) if offsets else None, dict)


def _new_partitions(name: str, detail: object) -> NewPartitions:
    if isinstance(detail, NewPartitions):
        made = detail
    elif isinstance(detail, Mapping):
        made = NewPartitions(**{"total_count": None, **details(name, detail, NewPartitions._fields)})
    elif isinstance(detail, int):
        made = NewPartitions(detail)
    else:
        raise ConfigError(f"topic {name!r}: {detail!r} is neither a number of partitions nor a NewPartitions")
    count, rows = made
    if isinstance(count, bool) or not isinstance(count, int) or not 0 < count < 2**31:
        raise ConfigError(f"topic {name!r}: total_count={count!r}; a number from 1, of all partitions together")
    if rows is None:
        return made
    if not isinstance(rows, list | tuple):
        raise ConfigError(f"topic {name!r}: new_assignments={rows!r}: expected the broker ids of each new partition")
    return NewPartitions(count, [broker_ids(each, f"topic {name!r}: one of new_assignments") for each in rows])
