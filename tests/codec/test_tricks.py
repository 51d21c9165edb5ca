"""The allocator tricks and the build without them."""

from __future__ import annotations

import os
import sys

from kwire import _codec
from kwire._codec import keep_arenas
from tests.codec.test_misbehaving_objects import Inner


def test_the_extension_says_whether_it_has_them() -> None:
    assert os.environ.get("KWIRE_PLAIN") != "1" or _codec.PLAIN_MEMORY
    assert "build/plain" not in str(_codec.__file__) or _codec.PLAIN_MEMORY


def test_a_few_values_of_a_large_poll_are_kept_until_the_next() -> None:
    values: list[bytes | None] = [b"value %d" % i for i in range(9000)]
    alone = sys.getrefcount(values[0])
    keep_arenas(values)
    kept, other = sys.getrefcount(values[0]), sys.getrefcount(values[1])
    keep_arenas([b"a few"])
    let_go = sys.getrefcount(values[0])
    assert (kept, other, let_go) == (alone + (not _codec.PLAIN_MEMORY), alone, alone)


def test_instances_that_are_used_again_are_as_new() -> None:
    for _ in range(3):
        made = [Inner(number=i, other=-i) for i in range(1000)]
        data = [inner.to_dict() for inner in made]
        assert data == [{"number": i, "other": -i} for i in range(1000)]
        del made
        assert Inner() == Inner(number=0, other=0)
