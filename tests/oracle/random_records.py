"""Records that a message format can carry, by seed: what the oracle writes and kwire must read."""

import random

from tests.oracle.records import Headers, JavaRecord

CODECS_OF_MAGIC = {
    0: ("none", "gzip", "snappy", "lz4"),
    1: ("none", "gzip", "snappy", "lz4"),
    2: ("none", "gzip", "snappy", "lz4", "zstd"),
}
FORMATS = [(magic, codec) for magic, codecs in CODECS_OF_MAGIC.items() for codec in codecs]
BASE_TIME = 1_700_000_000_000


def random_records(seed: int, magic: int, *, base_offset: int, count: int, gap: int = 1) -> list[JavaRecord]:
    """`count` records from `base_offset` on; with `gap` above 1 the offsets have holes, as compaction leaves them."""
    rng = random.Random(seed)
    offset, made = base_offset, []
    for _ in range(count):
        offset += rng.randrange(gap)
        timestamp = -1 if magic == 0 else BASE_TIME + rng.randrange(-1000, 100_000)
        headers = _headers(rng) if magic == 2 else ()
        made.append(JavaRecord(offset, timestamp, _bytes(rng, 40), _bytes(rng, 700), headers))
        offset += 1
    return made


def _headers(rng: random.Random) -> Headers:
    return tuple((rng.choice(("h", "größe", "")), _bytes(rng, 20)) for _ in range(rng.randrange(3)))


def _bytes(rng: random.Random, longest: int) -> bytes | None:
    if rng.random() < 0.1:
        return None
    size = rng.choice((0, 1, 63, 64, rng.randrange(longest)))
    return bytes(rng.choices(b"abcdefgh", k=size)) if rng.random() < 0.7 else rng.randbytes(size)
