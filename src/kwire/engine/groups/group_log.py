"""The life of a membership in lines for the log: when and why it joins, what it is assigned, gives up, loses.

Layer 3, no I/O: the front says where the lines go, and puts them together outside the lock, if anybody reads them.
INFO has what changes who reads what; DEBUG each heartbeat and each commit. Nothing is logged for a record or a poll.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from kwire import errors
from kwire._typing import TYPE_CHECKING
from kwire.errors.listing import first_of

if TYPE_CHECKING:
    from kwire.engine.calls.offsets import OffsetAndMetadata
    from kwire.engine.common.addresses import TopicPartition

_SHOWN = 10

Write = Callable[[object], object]
"""Takes a line, of which str() is the text."""

Who = Callable[[], tuple[str, int]]
"""The member id and the generation, or member epoch, at present; "" and a number below 1 where there are none."""


class Line:
    """One line. Control characters, which a broker may have put into a name or an error, are escaped."""

    __slots__ = ("_text", "_values", "_who")

    def __init__(self, who: tuple[str, str | None, str, str, int], text: str, values: tuple[object, ...]) -> None:
        self._who = who
        self._text = text
        self._values = values

    def __str__(self) -> str:
        group, instance, member, counted, number = self._who
        parts = [f"group {group!r}"]
        if instance is not None:
            parts.append(f"instance {instance!r}")
        if member and number > 0:
            parts.append(f"member {member!r}, {counted} {number}")
        text = f"{', '.join(parts)}: {self._text % self._values}"
        return text if text.isprintable() else text.encode("unicode_escape").decode()


class Listed:
    """The first few of these partitions, with their offsets where a mapping has them, as text."""

    __slots__ = ("_rows",)

    def __init__(self, rows: Iterable[TopicPartition] | Mapping[TopicPartition, object]) -> None:
        self._rows = rows

    def __str__(self) -> str:
        rows = self._rows
        texts = [f"{tp}: {row}" for tp, row in rows.items()] if isinstance(rows, Mapping) else sorted(rows)
        return first_of(texts, _SHOWN) if texts else "no partitions"


class GroupLog:
    """The lines of one membership. `write_info`, `write_debug` and `reads_debug` are set by the front.

    _counted   what its group counts: generations, or member epochs
    _last      the member that it was last
    """

    def __init__(self, group_id: str, instance_id: str | None, counted: str, who: Who) -> None:
        self.write_info: Write = _ignore
        self.write_debug: Write = _ignore
        self.reads_debug: Callable[[], bool] = _nobody
        self._group_id = group_id
        self._instance_id = instance_id
        self._counted = counted
        self._who = who
        self._last = ("", 0)
        self._failure = ""

    def info(self, text: str, *values: object) -> None:
        """A line about who reads what."""
        self._failure = ""
        self.write_info(self._line(text, values))

    def debug(self, text: str, *values: object) -> None:
        """A line about a single request."""
        self.write_debug(self._line(text, values))

    def failed(self, what: str, error: object) -> None:
        """A try failed, and is made again: logged once while its error stays the same."""
        failure = f"{what} failed: {error}"
        if failure != self._failure:
            self.info("%s", failure)
            self._failure = failure

    def assigned(self, partitions: Collection[TopicPartition], in_all: int) -> None:
        """These are new, of so many that are read now."""
        self.info("assigned %s; %d in all", Listed(partitions), in_all)

    def lost(self, partitions: Collection[TopicPartition]) -> None:
        """These may be another member's now: logged for the member that had them."""
        self.write_info(self._line_of(self._last, "lost %s", (Listed(partitions),)))

    def committed(self, rows: Mapping[TopicPartition, OffsetAndMetadata], codes: Mapping[tuple[str, int], int]) -> None:
        """A commit was answered: what of it is stored, and what is not."""
        if not self.reads_debug():
            return
        stored = {tp: row.offset for tp, row in rows.items() if codes.get(tp) == 0}
        refused = {tp: errors.broker.by_code(codes.get(tp, -1)).__name__ for tp in rows if codes.get(tp) != 0}
        self.debug("committed %s; refused: %s", Listed(stored), Listed(refused) if refused else "none")

    def _line(self, text: str, values: tuple[object, ...]) -> Line:
        who = self._who()
        if who[1] > 0:
            self._last = who
        return self._line_of(who, text, values)

    def _line_of(self, who: tuple[str, int], text: str, values: tuple[object, ...]) -> Line:
        return Line((self._group_id, self._instance_id, who[0], self._counted, who[1]), text, values)


def _ignore(line: object) -> None:
    """Where there is no log."""


def _nobody() -> bool:
    """The same."""
    return False
