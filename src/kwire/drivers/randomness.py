"""Randomness for spreading retries and choosing partitions, from the system: nothing to import, nothing to seed after a
fork. The nonces of logins come from it, too.
"""

from __future__ import annotations

from os import urandom

_BITS = 53


def random_bits(bits: int) -> int:
    """A number of `bits` random bits."""
    return int.from_bytes(urandom((bits + 7) // 8), "big") >> (-bits % 8)


def random_fraction() -> float:
    """Uniform over [0, 1)."""
    return random_bits(_BITS) / (1 << _BITS)
