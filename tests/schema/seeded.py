"""Random messages by seed: what `strategies` draws, without Hypothesis's search, where thousands of them are wanted."""

from __future__ import annotations

import random
from typing import Any
from uuid import UUID

from kwire.schema.fields import Field
from tests.schema.strategies import INTS

_TEXTS = ("", "a", "orders", "größe", "\U0001f600", "x" * 130)


def seeded(cls: Any, version: int, dice: random.Random) -> Any:
    """An instance with any value in each field that `version` has, and the default elsewhere."""
    present = [field for field in cls.__fields__ if field.versions.has(version)]
    return cls(**{field.name: _value(field, version, dice) for field in present})


def _value(field: Field, version: int, dice: random.Random) -> Any:
    if field.nullable.has(version) and dice.random() < 0.25:
        return None
    if field.kind == "struct":
        return seeded(field.struct, version, dice)
    if field.kind != "array":
        return _scalar(field.kind, dice)
    count = dice.choice((0, 1, 2, 3))
    if field.struct is not None:
        return [seeded(field.struct, version, dice) for _ in range(count)]
    return [_scalar(field.element or "", dice) for _ in range(count)]


def _scalar(kind: str, dice: random.Random) -> Any:
    if kind in INTS:
        least, most = INTS[kind]
        return dice.choice((0, 1, least, most, dice.randint(least, most)))
    if kind in ("bytes", "records"):
        return dice.randbytes(dice.choice((0, 1, 20, 130)))
    if kind == "bool":
        return dice.random() < 0.5
    if kind == "float64":
        return dice.choice((0.0, -1.5, 1e300, dice.random()))
    if kind == "uuid":
        return UUID(int=dice.choice((0, dice.getrandbits(128))))
    return dice.choice(_TEXTS)
