"""The quick path over a record takes nothing that the careful one does not, and reads it the same way.

Records are parsed by a quick path, which is for nearly all of them, and by a careful one, which judges those that the
quick one refuses. So the two agree if whatever the quick one accepts is accepted, and read alike, by the careful one.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kwire._codec import record_paths
from tests.reference.primitives import unzigzag

LETTERS = (0x00, 0x01, 0x02, 0x80, 0x81)
SIZES = range(13, 17)
SKIPPED = b"\x81"
"""What stands for bytes that no path looks at: attributes, keys, values. As part of a varint it would be noticed."""

Varint = tuple[bytes, int | None]


def varints(letters: tuple[int, ...]) -> list[Varint]:
    """Every varint of up to three bytes; None for the value of one that goes on after them."""
    made: list[Varint] = []
    for one in letters:
        if one < 0x80:
            made.append((bytes([one]), unzigzag(one)))
            continue
        for two in letters:
            if two < 0x80:
                made.append((bytes([one, two]), unzigzag(one & 0x7F | two << 7)))
                continue
            for three in letters:
                value = one & 0x7F | (two & 0x7F) << 7 | three << 14
                made.append((bytes([one, two, three]), unzigzag(value) if three < 0x80 else None))
    return made


def payloads(size: int, length: int) -> Iterator[bytes]:
    """One payload of `size` bytes, the first `length`, for each way in which the quick path can read such bytes."""
    every = varints((*LETTERS, 2 * length))
    start = bytes([2 * length]) + SKIPPED
    for timestamp, is_short in every:
        for delta, is_short_too in every:
            head = start + timestamp + delta
            if is_short is None or is_short_too is None:
                yield head
            else:
                yield from _with_key(head, size, every)


def _with_key(head: bytes, size: int, every: list[Varint]) -> Iterator[bytes]:
    for key, key_size in every:
        at = len(head) + len(key)
        if key_size is None or key_size < -1 or key_size > size - at - 3:
            yield head + key
        else:
            yield from _with_value(head + key + SKIPPED * key_size, size, every)


def _with_value(head: bytes, size: int, every: list[Varint]) -> Iterator[bytes]:
    for value, value_size in every:
        at = len(head) + len(value)
        if value_size is None or value_size < -1 or value_size > size - at:
            yield head + value
        else:
            for headers in HEADERS:
                yield head + value + SKIPPED * value_size + headers


HEADERS = (b"\0", b"\2\0\1", SKIPPED)
"""No header, one, and a count that goes on."""


@pytest.mark.parametrize("size", SIZES)
def test_both_paths_agree_on_every_payload(size: int) -> None:
    """Every payload of `size` bytes out of 00, 01, 02, 80, 81 and the length, by one payload for all that read alike.

    The first byte is the length, any from 6 to one more than the payload has: no record is shorter. With another letter
    first the quick path accepts nothing: it accepts only as many bytes as the length says, and the other varints out of
    these letters stand for -1, 0, 1, or more than 60.

    The quick path reads its fields in order, and what it reads next depends on the fields before alone. So it is
    enough to try, at each place where a varint is read, every varint out of these letters, until the path can only
    refuse: after a varint that goes on after three bytes, or a size out of bounds. Where it looks at no byte (in
    attributes, key, value, and what follows a refusal) one payload stands for all. The headers and their count are
    parsed by a function that both paths call.
    """
    accepted = 0
    for length in range(6, size + 1):
        for payload in payloads(size, length):
            quick, careful = record_paths((payload + SKIPPED * size)[:size])
            if quick is not None:
                accepted += 1
                assert quick == careful, payload.hex()
                assert quick[0] <= size, payload.hex()
    assert accepted > 1000, accepted
