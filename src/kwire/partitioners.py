"""Which partition a key goes to, as other producers choose it: for records that are to stand beside theirs.

    producer.send("clicks", value, key=key, partition=partitioners.fnv1a(key, partitions))

`Producer` chooses as `java` does by itself, and takes Java's and librdkafka's partitioners by name: `partitioner=`. A
producer of another kind for all of its records is a callable there:

    Producer(..., partitioner=lambda key, numbers, available: key and partitioners.scala_0_8(key, len(numbers)))

The functions of Scala's producers take text as java.lang.String hashes it,
and bytes as java.util.Arrays does (their partitioner of byte arrays; an array's own hash is its address). Layer 1:
knows keys and numbers only. Each raises ConfigError for less than one partition.
Sources: DefaultPartitioner, ByteArrayPartitioner and Utils of releases 0.7.2, 0.8.0, 0.8.1.1 and 0.8.2.0;
java.lang.String and java.util.Arrays; librdkafka's partitioners `consistent` and `fnv1a`, the latter also Sarama's.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from kwire._codec import murmur2
from kwire.errors import ConfigError

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["crc32", "fnv1a", "java", "java_hash", "scala_0_7", "scala_0_8", "scala_0_8_2"]

_MIN_INT = -(2**31)


def java(key: Buffer, partitions: int) -> int:
    """The Java producer since 0.8.2: murmur2 without its sign bit."""
    return (murmur2(key) & 0x7FFFFFFF) % _some(partitions)


def scala_0_7(key: str | Buffer, partitions: int) -> int:
    """The producer of 0.7: the absolute value of the hash, which the least int has none of.

    ConfigError for a key with that hash where 0.7 refuses it. `partitions` counts those of all brokers.
    """
    hashed = java_hash(key)
    if hashed == _MIN_INT and hashed % _some(partitions):
        raise ConfigError(f"the hash of {key!r} is {hashed}: 0.7 chooses a partition below 0 and fails")
    return abs(hashed) % _some(partitions)


def scala_0_8(key: str | Buffer, partitions: int) -> int:
    """The Scala producer of 0.8.0 and 0.8.1: the hash without its sign bit, which is not its absolute value."""
    return (java_hash(key) & 0x7FFFFFFF) % _some(partitions)


def scala_0_8_2(key: str | Buffer, partitions: int) -> int:
    """The Scala producer from 0.8.2 on: the absolute value of the hash, 0 for the least int."""
    hashed = java_hash(key)
    return 0 if hashed == _MIN_INT else abs(hashed) % _some(partitions)


def crc32(key: Buffer, partitions: int) -> int:
    """librdkafka's `consistent`: CRC-32 (zlib's)."""
    return zlib.crc32(key) % _some(partitions)


def fnv1a(key: Buffer, partitions: int) -> int:
    """Sarama's hash partitioner and librdkafka's `fnv1a`: FNV-1a of 32 bits, the absolute value of it as an int."""
    hashed = 0x811C9DC5
    for byte in memoryview(key).cast("B"):
        hashed = (hashed ^ byte) * 0x01000193 & 0xFFFFFFFF
    return abs(_signed(hashed)) % _some(partitions)


def java_hash(key: str | Buffer) -> int:
    """hashCode of a java.lang.String, Arrays.hashCode of bytes: an int of 32 bits with a sign."""
    if isinstance(key, str):
        pairs = key.encode("utf-16-be", "surrogatepass")
        return _polynomial(0, [pairs[at] << 8 | pairs[at + 1] for at in range(0, len(pairs), 2)])
    return _polynomial(1, memoryview(key).cast("b").tolist())


def _polynomial(hashed: int, units: list[int]) -> int:
    for unit in units:
        hashed = (31 * hashed + unit) & 0xFFFFFFFF
    return _signed(hashed)


def _signed(number: int) -> int:
    return number - 2**32 if number >= 2**31 else number


def _some(partitions: int) -> int:
    if partitions < 1:
        raise ConfigError(f"partitions={partitions}: at least 1")
    return partitions
