"""Any message that a version can carry, by seed: much cheaper than a search by Hypothesis, for tests of thousands."""

from __future__ import annotations

import random
from typing import Any
from uuid import UUID

from kwire.schema.fields import Field
from tests.schema.messages.limits import INTS

_TEXTS = ("", "a", "orders", "größe", "\U0001f600", "x" * 130)


def random_message(cls: Any, version: int, rng: random.Random) -> Any:
    """An instance with any value in each field that `version` has, and the default elsewhere."""
    present = [field for field in cls.__fields__ if field.versions.has(version)]
    return cls(**{field.name: _value(field, version, rng) for field in present})


def _value(field: Field, version: int, rng: random.Random) -> Any:
    if field.nullable.has(version) and rng.random() < 0.25:
        return None
    if field.kind == "struct":
        return random_message(field.struct, version, rng)
    if field.kind != "array":
        return _scalar(field.kind, rng)
    count = rng.choice((0, 1, 2, 3))
    if field.struct is not None:
        return [random_message(field.struct, version, rng) for _ in range(count)]
    return [_scalar(field.element or "", rng) for _ in range(count)]


def _scalar(kind: str, rng: random.Random) -> Any:
    if kind in INTS:
        least, most = INTS[kind]
        return rng.choice((0, 1, least, most, rng.randint(least, most)))
    if kind in ("bytes", "records"):
        return rng.randbytes(rng.choice((0, 1, 20, 130)))
    if kind == "bool":
        return rng.random() < 0.5
    if kind == "float64":
        return rng.choice((0.0, -1.5, 1e300, rng.random()))
    if kind == "uuid":
        return UUID(int=rng.choice((0, rng.getrandbits(128))))
    return rng.choice(_TEXTS)
