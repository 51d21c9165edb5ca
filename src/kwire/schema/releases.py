"""Which keys and versions each release of Apache Kafka speaks, from 0.8.0 to 4.4.0.

Taken from the releases' own classes (enum ApiKeys, before 1.0 the table Protocol) and held against running brokers; for
0.8 and 0.9, whose brokers answer with code of their own, from those brokers. A bugfix release speaks what the first of
its line does, so lines are listed ("0.10.2", "3.9"). Unstable versions, which brokers offer only when told to, are left
out: they would be InitProducerId 6.

Brokers from 4.0 on advertise Produce 0-13 but accept only 3-13 (KAFKA-18659); the table says what they accept.
"""

from __future__ import annotations

from kwire import errors

__all__ = ["RELEASES", "versions_of"]

_KEYS = (0, 1, 2, 3, 18, 19, 20, 22)
_TABLE = {
    # line     Produce  Fetch  ListOffsets  Metadata  ApiVersions  CreateTopics  DeleteTopics  InitProducerId
    "0.8.0": "0-0 0-0 0-0 0-0",
    "0.8.1": "0-0 0-0 0-0 0-0",
    "0.8.2": "0-0 0-0 0-0 0-0",
    "0.9.0": "0-1 0-1 0-0 0-0",
    "0.10.0": "0-2 0-2 0-0 0-1 0-0",
    "0.10.1": "0-2 0-3 0-1 0-2 0-0 0-0 0-0",
    "0.10.2": "0-2 0-3 0-1 0-2 0-0 0-1 0-0",
    "0.11.0": "0-3 0-5 0-2 0-4 0-1 0-2 0-1 0-0",
    "1.0": "0-5 0-6 0-2 0-5 0-1 0-2 0-1 0-0",
    "1.1": "0-5 0-7 0-2 0-5 0-1 0-2 0-1 0-0",
    "2.0": "0-6 0-8 0-3 0-6 0-2 0-3 0-2 0-1",
    "2.1": "0-7 0-10 0-4 0-7 0-2 0-3 0-3 0-1",
    "2.2": "0-7 0-10 0-5 0-7 0-2 0-3 0-3 0-1",
    "2.3": "0-7 0-11 0-5 0-8 0-2 0-3 0-3 0-1",
    "2.4": "0-8 0-11 0-5 0-9 0-3 0-5 0-4 0-2",
    "2.5": "0-8 0-11 0-5 0-9 0-3 0-5 0-4 0-3",
    "2.6": "0-8 0-11 0-5 0-9 0-3 0-5 0-4 0-3",
    "2.7": "0-8 0-12 0-5 0-9 0-3 0-6 0-5 0-4",
    "2.8": "0-9 0-12 0-6 0-11 0-3 0-7 0-6 0-4",
    "3.0": "0-9 0-12 0-7 0-11 0-3 0-7 0-6 0-4",
    "3.1": "0-9 0-13 0-7 0-12 0-3 0-7 0-6 0-4",
    "3.2": "0-9 0-13 0-7 0-12 0-3 0-7 0-6 0-4",
    "3.3": "0-9 0-13 0-7 0-12 0-3 0-7 0-6 0-4",
    "3.4": "0-9 0-13 0-7 0-12 0-3 0-7 0-6 0-4",
    "3.5": "0-9 0-15 0-8 0-12 0-3 0-7 0-6 0-4",
    "3.6": "0-9 0-15 0-8 0-12 0-3 0-7 0-6 0-4",
    "3.7": "0-10 0-16 0-8 0-12 0-3 0-7 0-6 0-4",
    "3.8": "0-11 0-16 0-8 0-12 0-3 0-7 0-6 0-5",
    "3.9": "0-11 0-17 0-9 0-12 0-4 0-7 0-6 0-5",
    "4.0": "3-12 4-17 1-10 0-13 0-4 2-7 1-6 0-5",
    "4.1": "3-13 4-18 1-10 0-13 0-4 2-7 1-6 0-5",
    "4.2": "3-13 4-18 1-11 0-13 0-4 2-7 1-6 0-5",
    "4.3": "3-13 4-18 1-11 0-13 0-4 2-7 1-6 0-5",
    "4.4": "3-13 4-18 1-11 0-13 0-5 2-7 1-6 0-5",
}
RELEASES = tuple(_TABLE)


def versions_of(release: str) -> dict[int, tuple[int, int]]:
    """{api_key: (least, most)} of what a broker of `release` ("0.9.0.1", "0.9.0", "4.4.0", "4.4") accepts.

    Holds the keys that kwire knows. ConfigError for a release that is not known.
    """
    parts = release.split(".")
    line = ".".join(parts[: 3 if parts[0] == "0" else 2])
    if line not in _TABLE:
        raise errors.ConfigError(f"no release {release!r}; kwire knows the lines {', '.join(RELEASES)}")
    ranges = [text.split("-") for text in _TABLE[line].split()]
    return {key: (int(least), int(most)) for key, (least, most) in zip(_KEYS, ranges, strict=False)}
