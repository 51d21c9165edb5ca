"""Quotas of clients: the entities that have them, and filters of these, from arguments and from responses. Layer 3.

An entity is a user, a client id or both, or an address: (("user", "bob"), ("client-id", "c")). A name of None is the
default: of all that have no quota of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite

from kwire._typing import Any, NamedTuple
from kwire.engine.calls.arguments import checked_name
from kwire.engine.calls.words import word_in
from kwire.engine.common.secret import shown
from kwire.errors import ConfigError

Entity = tuple[tuple[str, str | None], ...]
Limits = dict[str, float]

TYPES = ("user", "client-id", "ip")
"""In the order that results have."""
NEEDS = "Kafka 2.6 or newer (before, kafka-configs.sh writes quotas to ZooKeeper)"


class Component(NamedTuple):
    """What a filter looks for in an entity: a type with a name, with the default (None), or with `any_name`."""

    type: str
    name: str | None
    any_name: bool


def ordered(pairs: Iterable[tuple[str, str | None]]) -> Entity:
    """An entity of its pairs, which a broker may have in any order."""
    return tuple(sorted(pairs, key=lambda pair: (TYPES.index(pair[0]) if pair[0] in TYPES else len(TYPES), pair[0])))


def quota_entity(given: object) -> Entity:
    """The entity that an argument means: pairs, or one pair alone."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise ConfigError(f"{given!r} is not an entity: expected (('user', name), ('client-id', name)), or one of them")
    pairs = list(given)
    if len(pairs) == 2 and isinstance(pairs[0], str):
        pairs = [(pairs[0], pairs[1])]
    made = [_pair(pair, given) for pair in pairs]
    if not made or len({kind for kind, _ in made}) < len(made):
        raise ConfigError(f"{given!r} is not an entity: expected each type once, of {', '.join(TYPES)}")
    return ordered(made)


def quota_changes(given: object, of: Entity) -> dict[str, float | None]:
    """The quotas of an entity by name, None for those to be removed."""
    if not isinstance(given, Mapping):
        raise ConfigError(f"quotas of {of}: {given!r} is not a mapping {{name: number, or None to remove it}}")
    return {checked_name(name, "the name of a quota"): _limit(name, value, of) for name, value in given.items()}


def _limit(name: str, value: object, of: Entity) -> float | None:
    if value is None:
        return None
    try:
        if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
            return float(value)
    except OverflowError:
        pass
    raise ConfigError(f"quotas of {of}: {name!r}: {value!r}; expected a number, or None to remove it")


def quota_component(given: object) -> Component:
    """What a filter is to look for: a type alone, a pair, or a mapping with `entity_type` and perhaps `match`."""
    if isinstance(given, str):
        return Component(_type(given, given), None, any_name=True)
    if isinstance(given, Mapping):
        if "entity_type" not in given or set(given) - {"entity_type", "match"}:
            raise ConfigError(f"{given!r} is not a component of a filter: expected entity_type, and perhaps match")
        if "match" not in given:
            return quota_component(given["entity_type"])
        given = (given["entity_type"], given["match"])
    return Component(*_pair(given, given), any_name=False)


def _pair(given: object, whole: object) -> tuple[str, str | None]:
    if not isinstance(given, tuple) or len(given) != 2:
        raise ConfigError(f"{whole!r}: {given!r} is not (type, name), where a name of None is the default")
    kind: Any = given[0]
    name: Any = given[1]
    if name is not None:
        checked_name(name, f"the name of an entity in {shown(whole)}")
    return _type(kind, whole), name


def _type(given: object, whole: object) -> str:
    kind = word_in(given, TYPES)
    if kind is None:
        raise ConfigError(f"{whole!r}: {given!r} is not a type of entity; there are {', '.join(TYPES)}")
    return kind
