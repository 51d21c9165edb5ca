"""What an error code meant in each release, Kafka 0.7 to 4.4: names and flags moved, two codes changed their meaning.

    from kwire.errors import history
    history.meaning(3, "0.7").name             # "WrongPartitionCode"
    history.meaning(6, "0.10.1").name          # "NOT_LEADER_FOR_PARTITION"
    history.meaning(136, "3.9") is None        # the code came with 4.4

Names are those of the release's own code: up to 0.8.2 the constants of the class ErrorMapping that its brokers answer
with, since then those of the enum Errors. Releases before 0.9 do not say which errors pass (`retriable` is None). A
bugfix release has what the last of its line has. The proposal of 2012 and the draft of the 0.8 guide list no codes.
Layer 0: imports nothing of kwire but `kwire.errors`.

Sources: ErrorMapping of 0.7.2, 0.8.0, 0.8.1.1 and 0.8.2.2; Errors and its exceptions of the last release of each line
from 0.9.0 to 4.4.0; the error tables of the guides of 0.9 and 0.10.1, which say the same.
"""

from __future__ import annotations

from bisect import bisect_right

from kwire._typing import NamedTuple
from kwire.errors import BrokerError, ConfigError
from kwire.errors.broker import by_code

__all__ = ["ErrorMeaning", "codes_of", "meaning"]

_Line = tuple[int, ...]

_OLDEST: _Line = (0, 7)
_ENUM: _Line = (0, 9, 0)
# The line of releases that a code came with, and the last code that came with it.
_CAME: tuple[tuple[_Line, int], ...] = (
    ((0, 7), 4), ((0, 8, 0), 11), ((0, 8, 1), 13), ((0, 8, 2), 20), ((0, 9, 0), 31), ((0, 10, 0), 35),
    ((0, 10, 1), 43), ((0, 10, 2), 44), ((0, 11, 0), 55), ((1, 0), 60), ((1, 1), 71), ((2, 0), 72), ((2, 1), 76),
    ((2, 2), 81), ((2, 3), 82), ((2, 4), 87), ((2, 5), 88), ((2, 7), 96), ((2, 8), 104), ((3, 0), 105), ((3, 1), 106),
    ((3, 3), 108), ((3, 5), 112), ((3, 6), 113), ((3, 7), 119), ((3, 8), 120), ((3, 9), 127), ((4, 0), 129),
    ((4, 1), 133), ((4, 4), 136),
)  # fmt: skip
_BROUGHT_NONE: tuple[_Line, ...] = ((2, 6), (3, 2), (3, 4), (4, 2), (4, 3))
_LINES = sorted([line for line, _ in _CAME] + list(_BROUGHT_NONE))
_CONSTANTS = {
    -1: "UnknownCode",
    0: "NoError",
    1: "OffsetOutOfRangeCode",
    2: "InvalidMessageCode",
    3: "UnknownTopicOrPartitionCode",
    4: "InvalidFetchSizeCode",
    5: "LeaderNotAvailableCode",
    6: "NotLeaderForPartitionCode",
    7: "RequestTimedOutCode",
    8: "BrokerNotAvailableCode",
    9: "ReplicaNotAvailableCode",
    10: "MessageSizeTooLargeCode",
    11: "StaleControllerEpochCode",
    12: "OffsetMetadataTooLargeCode",
    13: "StaleLeaderEpochCode",
    14: "OffsetsLoadInProgressCode",
    15: "ConsumerCoordinatorNotAvailableCode",
    16: "NotCoordinatorForConsumerCode",
    17: "InvalidTopicCode",
    18: "MessageSetSizeTooLargeCode",
    19: "NotEnoughReplicasCode",
    20: "NotEnoughReplicasAfterAppendCode",
}
# Older names in the enum: which name, up to which line (without it).
_RENAMED: dict[int, tuple[str, _Line]] = {
    -1: ("UNKNOWN", (1, 0)),
    6: ("NOT_LEADER_FOR_PARTITION", (2, 6)),
    14: ("GROUP_LOAD_IN_PROGRESS", (0, 11, 0)),
    15: ("GROUP_COORDINATOR_NOT_AVAILABLE", (0, 11, 0)),
    16: ("NOT_COORDINATOR_FOR_GROUP", (0, 11, 0)),
}
# The flag changed with this line; before it was the contrary.
_FLAG_CHANGED: dict[int, _Line] = {9: (2, 6), 46: (1, 0), 51: (3, 3)}
# Codes that meant something else up to a line (without it): the text.
_OTHER_MEANING: dict[int, tuple[str, _Line]] = {
    3: ("the partition is not one of this broker's", (0, 8, 0)),
    13: ("the leader epoch in the request is older than the broker's", (0, 9, 0)),
}


class ErrorMeaning(NamedTuple):
    """What one release says of a code. `retriable` is None where the release has no such flag.

    `since` is the line of releases that brought the code, `error` the class that kwire raises for it, whatever the
    release.
    """

    code: int
    name: str
    retriable: bool | None
    text: str
    since: str

    @property
    def error(self) -> type[BrokerError]:
        return by_code(self.code)


def meaning(code: int, release: str) -> ErrorMeaning | None:
    """What `code` means in a release ("0.7", "0.9.0.1", "3.9", "4.4.0"); None when the release does not have the code.

    ConfigError for a release that is not known.
    """
    line = _line(release)
    since = _since(code)
    return None if since is None or since > line else _meaning(code, line, since)


def codes_of(release: str) -> dict[int, ErrorMeaning]:
    """{code: meaning} of all codes that a release has, ascending. ConfigError as for `meaning`."""
    line = _line(release)
    known = [(code, _since(code)) for code in range(-1, _CAME[-1][1] + 1)]
    return {code: _meaning(code, line, since) for code, since in known if since is not None and since <= line}


def _line(release: str) -> _Line:
    parts = release.split(".")
    if all(part.isascii() and part.isdecimal() for part in parts) and len(parts) > 1:
        number = tuple(map(int, parts))
        line = number[: 3 if number[0] == 0 and number[1] > 7 else 2]
        if line in _LINES:
            return line
    known = ", ".join(".".join(map(str, line)) for line in _LINES)
    raise ConfigError(f"no release {release!r}; kwire knows the error codes of the lines {known}")


def _since(code: int) -> _Line | None:
    """The line that the code came with."""
    if not -1 <= code <= _CAME[-1][1]:
        return None
    return _CAME[bisect_right([last for _, last in _CAME], code - 1)][0]


def _meaning(code: int, line: _Line, since: _Line) -> ErrorMeaning:
    now = by_code(code)
    text, until = _OTHER_MEANING.get(code, (now.text, _OLDEST))
    retriable: bool | None = now.retriable
    if line < _ENUM:
        retriable = None
    elif line < _FLAG_CHANGED.get(code, _OLDEST):
        retriable = not retriable
    shown = text if line < until else now.text
    return ErrorMeaning(code, _name(code, line, now.name), retriable, shown, ".".join(map(str, since)))


def _name(code: int, line: _Line, now: str) -> str:
    if line < (0, 8, 0) and code == 3:
        return "WrongPartitionCode"
    if line < _ENUM:
        return _CONSTANTS[code]
    older, until = _RENAMED.get(code, (now, _OLDEST))
    return older if line < until else now
