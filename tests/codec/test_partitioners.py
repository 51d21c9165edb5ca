"""The choices of other producers, by values that their languages' own documentation and tools give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kwire import partitioners
from kwire.errors import ConfigError

# hashCode is int.MIN_VALUE.
LEAST = "polygenelubricants"


@pytest.mark.parametrize(
    ("key", "hashed"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("Aa", 2112),
        ("BB", 2112),
        ("ä", 228),
        ("\U0001f600", 0xD83D * 31 + 0xDE00),
        (LEAST, -(2**31)),
        (b"", 1),
        (b"\x01\x02\x03", 30817),
        (b"\xff", 30),
    ],
)
def test_java_hash(key: Any, hashed: int) -> None:
    assert partitioners.java_hash(key) == hashed


def test_the_scala_producers_differ_in_what_is_below_zero() -> None:
    key = "user-1"
    hashed = partitioners.java_hash(key)
    assert hashed < 0
    assert partitioners.scala_0_7(key, 7) == partitioners.scala_0_8_2(key, 7) == -hashed % 7
    assert partitioners.scala_0_8(key, 7) == (hashed + 2**31) % 7
    assert partitioners.scala_0_8(key, 7) != partitioners.scala_0_7(key, 7)
    assert [choose("hello", 7) for choose in (partitioners.scala_0_7, partitioners.scala_0_8)] == [99162322 % 7] * 2


def test_the_least_hash() -> None:
    assert partitioners.scala_0_8(LEAST, 3) == partitioners.scala_0_8_2(LEAST, 3) == 0
    assert partitioners.scala_0_7(LEAST, 4) == 0
    with pytest.raises(ConfigError, match=r"'polygenelubricants' is -2147483648: 0\.7 chooses a partition below 0"):
        partitioners.scala_0_7(LEAST, 3)


@pytest.mark.parametrize(
    ("choose", "key", "hashed"),
    [
        (partitioners.fnv1a, b"", 2**32 - 0x811C9DC5),
        (partitioners.fnv1a, b"a", 2**32 - 0xE40C292C),
        (partitioners.fnv1a, b"foobar", 2**32 - 0xBF9CF968),
        (partitioners.crc32, b"123456789", 0xCBF43926),
        (partitioners.java, b"21", -973932308 & 0x7FFFFFFF),
        (partitioners.java, b"foobar", -790332482 & 0x7FFFFFFF),
    ],
)
def test_hashes_of_bytes(choose: Callable[[Any, int], int], key: bytes, hashed: int) -> None:
    assert [choose(key, count) for count in (1, 7, 2**31 - 1)] == [0, hashed % 7, hashed % (2**31 - 1)]
    assert choose(memoryview(key), 7) == hashed % 7
    with pytest.raises(ConfigError, match="partitions=0: at least 1"):
        choose(key, 0)
