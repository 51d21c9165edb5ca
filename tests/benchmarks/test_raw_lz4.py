"""Where the floor of consuming lz4 finds the blocks of a batch."""

from __future__ import annotations

import random

from benchmarks.compare.contenders.raw_lz4 import blocks_of

from kwire import records


def test_the_blocks_of_a_batch_are_found_compressed_or_stored() -> None:
    noise = random.Random(1).randbytes(50)
    stored = records.encode([noise], compression="lz4")
    ((begin, end, is_stored),) = blocks_of(stored, 0)
    assert is_stored
    assert noise in stored[begin:end]

    packed = records.encode([b"a" * 500, b"b" * 70_000], compression="lz4")
    found = list(blocks_of(packed, 0))
    assert [is_stored for _, _, is_stored in found] == [False, False]
    assert [end + 4 for _, end, _ in found] == [found[1][0], len(packed)]
