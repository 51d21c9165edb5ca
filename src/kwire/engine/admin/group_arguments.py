"""Arguments of the calls of `Admin` about groups of any type: ids, and which offsets are wanted. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kwire._typing import TYPE_CHECKING, Any
from kwire.engine.calls import arguments
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import ConfigError

if TYPE_CHECKING:
    Names = Iterable[str] | str | None
    Partitions = Iterable[tuple[str, int]] | None
    SeveralGroups = list[str] | tuple[str, ...] | set[str] | frozenset[str] | Mapping[str, Partitions]
    OffsetsWanted = str | SeveralGroups


def group_id(given: object) -> str:
    """The id of a group."""
    return arguments.checked_name(given, "a group id")


def group_ids(given: object, name: str = "groups") -> list[str]:
    """Group ids, each once, of one id or an iterable of them."""
    return names(given, name, group_id)


def names(given: object, name: str, checked: Callable[[object], str]) -> list[str]:
    """Of one name or an iterable of names: what `checked` makes of each, once."""
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, Iterable) or isinstance(given, bytes):
        raise ConfigError(f"{name}={given!r}: expected an iterable of str")
    return list(dict.fromkeys(map(checked, given)))


def offsets_wanted(groups: OffsetsWanted, partitions: Partitions) -> dict[str, list[TopicPartition] | None]:
    """The partitions of each group whose offsets are wanted, None: all of them."""
    if isinstance(groups, Mapping):
        if partitions is not None:
            raise ConfigError("partitions= is for all groups; where groups is a mapping, it has those of each")
        return {group_id(name): _partitions(each) for name, each in groups.items()}
    return dict.fromkeys(group_ids(groups), _partitions(partitions))


def offsets_found(
    groups: OffsetsWanted, wanted: Mapping[str, list[TopicPartition] | None]
) -> Callable[[Mapping[str, Any]], Any]:
    """What makes the answer of the offsets of each group: those of one group, or by group; None for a partition that
    was wanted and has none."""

    def answer(found: Mapping[str, Any]) -> Any:
        rows = {name: {**dict.fromkeys(wanted[name] or ()), **found[name]} for name in found}
        return rows[groups] if isinstance(groups, str) else rows

    return answer


def _partitions(given: Partitions) -> list[TopicPartition] | None:
    return None if given is None else list(dict.fromkeys(arguments.partitions(given)))
