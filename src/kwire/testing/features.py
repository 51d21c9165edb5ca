"""Finalized features: what a cluster of a release has switched on, and what the release could switch on (KIP-584).

                                       3.5      3.9      4.0      4.1      4.2      4.3      4.4     switched on
    metadata.version                   1-11     1-21     7-25     7-27     7-29     7-30     7-33    the newest
    kraft.version                               0-1      0-1      0-1      0-1      0-1      0-1     1
    transaction.version                                  0-2      0-2      0-2      0-2      0-2     2
    group.version                                        0-1      0-1      0-1      0-1      0-1     1
    eligible.leader.replicas.version                     0-1      0-1      0-1      0-1      0-1     1; 4.0: 0
    share.version                                                 0-1      0-1      0-1      0-2     the newest; 4.1: 0
    streams.version                                                        0-1      0-1      0-1     1

Seen on the releases themselves, 3.0.2 to 4.4.0, newly formatted; a release between two of these is taken for the older
one. A feature at 0 is not among the finalized ones. ApiVersions 3 leaves out of the supported ones those that begin at
0 (KIP-1022).
"""

from __future__ import annotations

from collections.abc import Mapping

from kwire.errors import ConfigError
from kwire.testing.release import Release

_Levels = dict[str, tuple[int, int]]

_SINCE_3_9: _Levels = {"kraft.version": (0, 1)}
_SINCE_4_0: _Levels = {
    **_SINCE_3_9,
    "transaction.version": (0, 2),
    "group.version": (0, 1),
    "eligible.leader.replicas.version": (0, 1),
}
_SINCE_4_1: _Levels = {**_SINCE_4_0, "share.version": (0, 1)}
_SINCE_4_2: _Levels = {**_SINCE_4_1, "streams.version": (0, 1)}
_SUPPORTED: dict[tuple[int, ...], _Levels] = {
    (3, 5): {"metadata.version": (1, 11)},
    (3, 9): {"metadata.version": (1, 21), **_SINCE_3_9},
    (4, 0): {"metadata.version": (7, 25), **_SINCE_4_0},
    (4, 1): {"metadata.version": (7, 27), **_SINCE_4_1},
    (4, 2): {"metadata.version": (7, 29), **_SINCE_4_2},
    (4, 3): {"metadata.version": (7, 30), **_SINCE_4_2},
    (4, 4): {"metadata.version": (7, 33), **_SINCE_4_2, "share.version": (0, 2)},
}
_NEEDED = {
    **dict.fromkeys((68, 69), "group.version"),
    **dict.fromkeys((76, 77, 78, 79, 90, 91, 92), "share.version"),
}
_SWITCHED_OFF: dict[tuple[int, ...], str] = {(4, 0): "eligible.leader.replicas.version", (4, 1): "share.version"}


def is_switched_off(key: int, features: Mapping[str, int]) -> bool:
    """Whether requests of this key need a feature that is not on: they are refused, but listed all the same."""
    return key in _NEEDED and not features.get(_NEEDED[key])


def supported_features(release: Release) -> _Levels:
    """The lowest and highest level of each feature that the release knows."""
    seen = [number for number in _SUPPORTED if number <= release.number[:2]]
    return _SUPPORTED[max(seen)] if seen else {}


def finalized_features(release: Release, wanted: Mapping[str, int] | None = None) -> dict[str, int]:
    """The level of each feature that is on: as the release comes, but for those `wanted` otherwise.

    Raises ConfigError for a feature or level that the release does not have.
    """
    supported = supported_features(release)
    levels = {name: high for name, (_, high) in supported.items() if _SWITCHED_OFF.get(release.number[:2]) != name}
    for name, level in (wanted or {}).items():
        if name not in supported:
            raise ConfigError(f"feature {name!r}: release {release.name} has {', '.join(sorted(supported)) or 'none'}")
        low, high = supported[name]
        if not low <= level <= high:
            raise ConfigError(f"feature {name} {level}: expected {low} to {high} in release {release.name}")
        levels[name] = level
    return {name: level for name, level in levels.items() if level}
