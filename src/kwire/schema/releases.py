"""Which keys and versions each release of Apache Kafka speaks, from 0.8.0 to 4.4.0.

Taken from the releases' own classes (enum ApiKeys, before 1.0 the table Protocol) and held against running brokers; for
0.8, whose brokers answer with code of their own, from the class RequestKeys. A bugfix release speaks what the others of
its line do, so lines are listed ("0.10.2", "3.9"), as their last release has them. A line holds what any listener of it
serves: a broker lists fewer keys in ApiVersions when others are for the controllers of KRaft, or for brokers with
ZooKeeper, or need a setting. Left out are versions that brokers offer only when told to use unstable ones (they would
be InitProducerId 6, and 0 of keys 76 to 79 and 83 to 87 in 3.9 and 4.0), and JoinGroup and Heartbeat of 0.8.2, which
have other bodies than from 0.9 on and which no client of that time used.

Brokers from 4.0 on advertise Produce 0-13 but accept only 3-13 (KAFKA-18659); the table says what they accept.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from kwire import errors
from kwire.schema.api_keys import PRODUCE

__all__ = ["RELEASES", "first_release_with", "infer_release", "versions_of"]

RELEASES = (
    "0.8.0", "0.8.1", "0.8.2", "0.9.0", "0.10.0", "0.10.1", "0.10.2", "0.11.0", "1.0", "1.1", "2.0", "2.1", "2.2",
    "2.3", "2.4", "2.5", "2.6", "2.7", "2.8", "3.0", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9",
    "4.0", "4.1", "4.2", "4.3", "4.4",
)  # fmt: skip
# By key: from which line on which range holds.
_HISTORY = {
    0: (
        "0.8.0:0-0 0.9.0:0-1 0.10.0:0-2 0.11.0:0-3 1.0:0-5 2.0:0-6 2.1:0-7 2.4:0-8 2.8:0-9 3.7:0-10 3.8:0-11 4.0:3-12 "
        "4.1:3-13"
    ),
    1: (
        "0.8.0:0-0 0.9.0:0-1 0.10.0:0-2 0.10.1:0-3 0.11.0:0-5 1.0:0-6 1.1:0-7 2.0:0-8 2.1:0-10 2.3:0-11 2.7:0-12 "
        "3.1:0-13 3.5:0-15 3.7:0-16 3.9:0-17 4.0:4-17 4.1:4-18"
    ),
    2: "0.8.0:0-0 0.10.1:0-1 0.11.0:0-2 2.0:0-3 2.1:0-4 2.2:0-5 2.8:0-6 3.0:0-7 3.5:0-8 3.9:0-9 4.0:1-10 4.2:1-11",
    3: "0.8.0:0-0 0.10.0:0-1 0.10.1:0-2 0.11.0:0-4 1.0:0-5 2.0:0-6 2.1:0-7 2.3:0-8 2.4:0-9 2.8:0-11 3.1:0-12 4.0:0-13",
    4: "0.8.0:0-0 1.0:0-1 2.2:0-2 2.4:0-4 2.8:0-5 3.2:0-6 3.4:0-7 4.0:none",
    5: "0.8.0:0-0 2.2:0-1 2.4:0-2 2.6:0-3 3.4:0-4 4.0:none",
    6: "0.8.0:0-0 0.9.0:0-1 0.10.0:0-2 0.10.2:0-3 1.0:0-4 2.2:0-5 2.4:0-6 2.8:0-7 3.4:0-8 4.0:none",
    7: "0.8.0:0-0 0.9.0:0-1 0.10.0:1-1 1.0:0-1 2.2:0-2 2.4:0-3 4.0:none",
    8: "0.8.1:0-0 0.8.2:0-1 0.9.0:0-2 0.11.0:0-3 2.0:0-4 2.1:0-6 2.3:0-7 2.4:0-8 3.7:0-9 4.0:2-9 4.2:2-10",
    9: "0.8.1:0-0 0.8.2:0-1 0.10.2:0-2 0.11.0:0-3 2.0:0-4 2.1:0-5 2.4:0-6 2.5:0-7 3.0:0-8 3.7:0-9 4.0:1-9 4.2:1-10",
    10: "0.8.2:0-0 0.11.0:0-1 2.0:0-2 2.4:0-3 3.0:0-4 3.8:0-5 3.9:0-6",
    11: "0.9.0:0-0 0.10.1:0-1 0.11.0:0-2 2.0:0-3 2.2:0-4 2.3:0-5 2.4:0-6 2.5:0-7 3.2:0-9",
    12: "0.9.0:0-0 0.11.0:0-1 2.0:0-2 2.3:0-3 2.4:0-4",
    13: "0.9.0:0-0 0.11.0:0-1 2.0:0-2 2.4:0-4 3.2:0-5",
    14: "0.9.0:0-0 0.11.0:0-1 2.0:0-2 2.3:0-3 2.4:0-4 2.5:0-5",
    15: "0.9.0:0-0 0.11.0:0-1 2.0:0-2 2.3:0-3 2.4:0-5 4.0:0-6",
    16: "0.9.0:0-0 0.11.0:0-1 2.0:0-2 2.4:0-3 2.6:0-4 3.8:0-5",
    17: "0.10.0:0-0 1.0:0-1",
    18: "0.10.0:0-0 0.11.0:0-1 2.0:0-2 2.4:0-3 3.9:0-4 4.4:0-5",
    19: "0.10.1:0-0 0.10.2:0-1 0.11.0:0-2 2.0:0-3 2.4:0-5 2.7:0-6 2.8:0-7 4.0:2-7",
    20: "0.10.1:0-0 0.11.0:0-1 2.0:0-2 2.1:0-3 2.4:0-4 2.7:0-5 2.8:0-6 4.0:1-6",
    21: "0.11.0:0-0 2.0:0-1 2.6:0-2",
    22: "0.11.0:0-0 2.0:0-1 2.4:0-2 2.5:0-3 2.7:0-4 3.8:0-5",
    23: "0.11.0:0-0 2.0:0-1 2.1:0-2 2.3:0-3 2.8:0-4 4.0:2-4",
    24: "0.11.0:0-0 2.0:0-1 2.7:0-2 2.8:0-3 3.6:0-4 3.8:0-5",
    25: "0.11.0:0-0 2.0:0-1 2.7:0-2 2.8:0-3 3.8:0-4",
    26: "0.11.0:0-0 2.0:0-1 2.7:0-2 2.8:0-3 3.8:0-4 4.0:0-5",
    27: "0.11.0:0-0 2.8:0-1 4.0:1-1 4.2:1-2",
    28: "0.11.0:0-0 2.0:0-1 2.1:0-2 2.5:0-3 3.8:0-4 4.0:0-5 4.4:0-6",
    29: "0.11.0:0-0 2.0:0-1 2.5:0-2 3.3:0-3 4.0:1-3",
    30: "0.11.0:0-0 2.0:0-1 2.5:0-2 3.3:0-3 4.0:1-3",
    31: "0.11.0:0-0 2.0:0-1 2.5:0-2 3.3:0-3 4.0:1-3",
    32: "0.11.0:0-0 1.1:0-1 2.0:0-2 2.6:0-3 2.8:0-4 4.0:1-4",
    33: "0.11.0:0-0 2.0:0-1 2.8:0-2",
    34: "1.0:0-0 2.0:0-1 2.8:0-2 4.0:1-2",
    35: "1.0:0-0 2.0:0-1 2.6:0-2 3.2:0-3 3.3:0-4 4.0:1-4 4.3:1-5",
    36: "1.0:0-0 2.2:0-1 2.5:0-2",
    37: "1.0:0-0 2.0:0-1 2.5:0-2 2.7:0-3",
    38: "1.1:0-0 2.0:0-1 2.4:0-2 3.3:0-3 4.0:1-3",
    39: "1.1:0-0 2.0:0-1 2.5:0-2 4.0:1-2",
    40: "1.1:0-0 2.0:0-1 2.5:0-2 4.0:1-2",
    41: "1.1:0-0 2.0:0-1 2.5:0-2 3.3:0-3 4.0:1-3",
    42: "1.1:0-0 2.0:0-1 2.4:0-2 4.4:0-3",
    43: "2.2:0-0 2.4:0-2",
    44: "2.3:0-0 2.4:0-1",
    45: "2.4:0-0 4.1:0-1",
    46: "2.4:0-0",
    47: "2.4:0-0",
    48: "2.6:0-0 2.8:0-1",
    49: "2.6:0-0 2.8:0-1",
    50: "2.7:0-0",
    51: "2.7:0-0",
    52: "2.8:0-0 3.9:0-1 4.0:0-2",
    53: "2.8:0-0 3.9:0-1",
    54: "2.8:0-0 3.9:0-1",
    55: "2.8:0-0 3.3:0-1 3.9:0-2",
    56: "2.7:0-0 3.2:0-1 3.3:0-2 3.5:0-3 4.0:2-3",
    57: "2.7:0-0 3.3:0-1 4.0:0-2",
    58: "2.8:0-0",
    59: "2.8:0-0 3.9:0-1",
    60: "2.8:0-0 3.7:0-1 4.0:0-2",
    61: "2.8:0-0",
    62: "2.8:0-0 3.4:0-1 3.7:0-3 3.9:0-4",
    63: "2.8:0-0 3.7:0-1 4.3:0-2",
    64: "2.8:0-0",
    65: "3.0:0-0",
    66: "3.0:0-0 3.8:0-1 4.1:0-2",
    67: "3.0:0-0",
    68: "3.7:0-0 4.0:0-1",
    69: "3.8:0-0 4.0:0-1",
    70: "3.7:0-0",
    71: "3.7:0-0",
    72: "3.7:0-0",
    73: "3.7:0-0",
    74: "3.7:0-0 4.1:0-1",
    75: "3.8:0-0",
    76: "4.1:1-1",
    77: "4.1:1-1",
    78: "4.1:1-1 4.2:1-2",
    79: "4.1:1-1 4.2:1-2",
    80: "3.9:0-0 4.2:0-1",
    81: "3.9:0-0",
    82: "3.9:0-0",
    83: "4.1:0-0",
    84: "4.1:0-0",
    85: "4.1:0-0 4.2:0-1",
    86: "4.1:0-0",
    87: "4.1:0-0 4.2:0-1",
    88: "4.2:0-0 4.4:0-1",
    89: "4.2:0-0 4.4:0-1",
    90: "4.1:0-0 4.2:0-1",
    91: "4.1:0-0",
    92: "4.1:0-0",
    93: "4.4:0-0",
    94: "4.4:0-0",
}


def versions_of(release: str) -> dict[int, tuple[int, int]]:
    """{api_key: (least, most)} of what `release` ("0.9.0.1", "0.9.0", "4.4.0", "4.4") accepts.

    ConfigError for a release that is not known.
    """
    parts = release.split(".")
    line = ".".join(parts[: 3 if parts[0] == "0" else 2])
    if line not in RELEASES:
        raise errors.ConfigError(f"no release {release!r}; kwire knows the lines {', '.join(RELEASES)}")
    return dict(_table()[line])


def first_release_with(api_key: int, oldest: int, newest: int) -> str:
    """The first line ("0.11", "2.3") that accepts one of these versions of the API; "" where none does."""
    for line in RELEASES:
        spoken = _table()[line].get(api_key)
        if spoken is not None and spoken[0] <= newest and spoken[1] >= oldest:
            return line.removesuffix(".0") if line.count(".") > 1 else line
    return ""


def infer_release(versions: Mapping[int, tuple[int, int]]) -> str:
    """The line of releases ("3.9") whose versions are nearest to those that a broker lists in ApiVersions.

    Nearest has the fewest listed keys with another range, then the fewest keys that the broker does not list; of lines
    that are the same in what the broker lists, the newest. Brokers that are not Apache's are like some release, too.
    ConfigError when `versions` is empty: then the broker is older than 0.10.0, or did not answer.
    """
    if not versions:
        raise errors.ConfigError("no versions to infer a release from; brokers before 0.10.0 do not list any")

    def distance(line: str) -> tuple[int, int, int]:
        spoken = _table()[line]
        other = sum(not _same(key, listed, spoken.get(key)) for key, listed in versions.items())
        return other, len(spoken.keys() - versions.keys()), -RELEASES.index(line)

    return min(RELEASES, key=distance)


def _same(key: int, listed: tuple[int, int], spoken: tuple[int, int] | None) -> bool:
    """Whether a listed range is that of the table, or Produce's from 0 where the table says more."""
    if spoken is None:
        return False
    return tuple(listed) == spoken or (key == PRODUCE and listed[0] == 0 and listed[1] == spoken[1])


@cache
def _table() -> dict[str, dict[int, tuple[int, int]]]:
    made: dict[str, dict[int, tuple[int, int]]] = {line: {} for line in RELEASES}
    for key, history in _HISTORY.items():
        steps = dict(step.split(":") for step in history.split())
        held = "none"
        for line in RELEASES:
            held = steps.get(line, held)
            if held != "none":
                first, _, last = held.partition("-")
                made[line][key] = int(first), int(last)
    return made
