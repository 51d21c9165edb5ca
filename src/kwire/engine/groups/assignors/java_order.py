"""The order in which Java's collections hand out strings, which the assignors' results depend on.

Layer 3, no I/O. Java's assignors go over members and topics as HashMap and HashSet do, and give the first ones more, so
a leader that is to give the very same result needs the same order. The rules are those of the documented classes:

    String.hashCode     s[0]*31^(n-1) + ... + s[n-1] over UTF-16 units, in 32 bits
    HashMap             a table of 16, 32, ... bins; bin (h ^ h >>> 16) & (bins - 1); doubled when more than 3/4 as many
                        keys are in it, and below 64 bins also when a ninth key comes to one bin; a bin keeps the order
                        in which its keys came, also when it is split
    String.compareTo    by UTF-16 units: a character above U+FFFF stands before U+E000

A bin of nine and more keys in a table of 64 and more becomes a tree in Java, whose order is not followed here: names
would have to be made for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

_FIRST_BINS = 16
_BINS_WITH_TREES = 64
_BIN_LIMIT = 8
_COMPUTED_BIN_LIMIT = 7
_MASK = 0xFFFFFFFF
_LAST_BMP = "\uffff"


def string_hash(text: str) -> int:
    """What String.hashCode returns, without a sign."""
    value = 0
    units = text.encode("latin-1") if text.isascii() else _utf16_units(text)
    for unit in units:
        value = (value * 31 + unit) & _MASK
    return value


def spread(value: int) -> int:
    """The hash as HashMap uses it: its upper half mixed into the lower."""
    return value ^ (value >> 16)


def hash_order(keys: Iterable[str]) -> list[str]:
    """The keys as a HashMap or HashSet hands them out into which they were put in this order."""
    hashes = {key: spread(string_hash(key)) for key in dict.fromkeys(keys)}
    mask = _bins(list(hashes.values())) - 1
    return sorted(hashes, key=lambda key: hashes[key] & mask)


def computed_order(calls: Sequence[str]) -> list[str]:
    """The keys as a HashMap hands them out that was filled by computeIfAbsent, called with each of these.

    That one puts a key before those of its bin, and doubles the table at the next call: the last key does not any more.
    """
    hashes = {key: spread(string_hash(key)) for key in calls}
    known = list(hashes.values())
    is_new = len(hashes) > 1 and calls.count(calls[-1]) == 1
    mask = _bins(known[:-1] if is_new else known, _COMPUTED_BIN_LIMIT) - 1
    newest_first = list(reversed(hashes))
    newest_first.sort(key=lambda key: hashes[key] & mask)
    return newest_first


def text_order(texts: Iterable[str]) -> list[str]:
    """The texts sorted as String.compareTo has them."""
    found = list(texts)
    if all(text.isascii() or max(text) <= _LAST_BMP for text in found):
        found.sort()
    else:
        found.sort(key=text_key)
    return found


def text_key(text: str) -> bytes:
    """Sorts as String.compareTo does."""
    return text.encode("utf-16-be", "surrogatepass")


class Bins:
    """How many bins a HashMap or HashSet has by now. It never gets fewer."""

    def __init__(self) -> None:
        self.count = _FIRST_BINS

    def grow_for(self, value: int, others: Collection[int], limit: int = _BIN_LIMIT) -> None:
        """A key with this (spread) hash comes to those with the others."""
        mask = self.count - 1
        if self.count < _BINS_WITH_TREES and sum((other ^ value) & mask == 0 for other in others) >= limit:
            self.count *= 2
        self.grow_to(len(others) + 1)

    def grow_to(self, keys: int) -> None:
        """So many keys are in it."""
        while keys * 4 > self.count * 3:
            self.count *= 2


def _bins(hashes: Sequence[int], limit: int = _BIN_LIMIT) -> int:
    bins = Bins()
    bins.grow_to(len(hashes))
    if len(hashes) <= limit or bins.count >= _BINS_WITH_TREES:
        return bins.count
    bins = Bins()
    for number, value in enumerate(hashes):
        bins.grow_for(value, hashes[:number], limit)
    return bins.count


def _utf16_units(text: str) -> Iterator[int]:
    data = text_key(text)
    return (data[at] << 8 | data[at + 1] for at in range(0, len(data), 2))
