"""A corpus of what Kafka's classes wrote and read, kept in the repository so that it is compared without Java too.

records.jsonl       {"name", "bytes", "answer"}: the answer to "read", or {"refused": the Java exception's class}
messages.jsonl.gz   {"name", "api_key", "direction", "version", "bytes", "json"}: every API, direction and version

Bytes are in base64. `python -m tests.oracle` writes both anew with the classes of the releases of plugin.py.
"""

import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.oracle import messages
from tests.oracle import records as java
from tests.oracle.comparing import message_class
from tests.oracle.damage import first_checked_place, flip_bits, with_right_checksum
from tests.oracle.driver import Oracle, RefusedError, to_base64
from tests.oracle.random_records import BASE_TIME, FORMATS, random_records
from tests.oracle.records import BatchOptions
from tests.schema.apache_versions import ROWS
from tests.schema.messages.typical import typical

Entry = dict[str, Any]

FOLDER = Path(__file__).parent / "corpus"
RECORDS = FOLDER / "records.jsonl"
MESSAGES = FOLDER / "messages.jsonl.gz"

_DAMAGED_PER_FORMAT = 6


def load(path: Path) -> list[Entry]:
    """The entries of one of the two files."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


def save(path: Path, entries: list[Entry]) -> None:
    """One entry a line."""
    path.parent.mkdir(exist_ok=True)
    data = "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries).encode("utf-8")
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def build_records(oracle: Oracle) -> list[Entry]:
    """Every format plain, compacted and damaged, and all that only record batches can be."""
    entries = []
    for name, data in _record_cases(oracle):
        entries.append({"name": name, "bytes": to_base64(data), "answer": judge(oracle, data)})
    return entries


def judge(oracle: Oracle, data: bytes) -> Entry:
    """What the oracle reads, or which exception refuses it."""
    try:
        return oracle.ask("read", bytes=to_base64(data))
    except RefusedError as refused:
        return {"refused": refused.java_class}


def build_messages(oracle: Oracle, old_oracle: Oracle) -> list[Entry]:
    """One random message of every API, direction and version; versions that were dropped come from the old classes."""
    entries = []
    for api_key, row in ROWS.items():
        for direction in ("Request", "Response"):
            name = row.name + direction
            for version in row.known:
                writer = oracle if row.newest.has(version) else old_oracle
                drawn = _drawn(writer, api_key, direction, name, version)
                entries.append(
                    {
                        "name": name,
                        "api_key": api_key,
                        "direction": direction,
                        "version": version,
                        "bytes": to_base64(drawn.data),
                        "json": drawn.json,
                    }
                )
    return entries


def _drawn(writer: Oracle, api_key: int, direction: str, name: str, version: int) -> messages.RandomMessage:
    """Of a schema from which the release draws nulls that it cannot read, a message that kwire made and Kafka read."""
    try:
        return messages.random_message(writer, name, version, seed=version)
    except RefusedError:
        data = typical(message_class(api_key, direction), version, with_nulls=False).encode(version)
        return messages.RandomMessage(data, messages.to_json(writer, name, version, data))


def _record_cases(oracle: Oracle) -> Iterator[tuple[str, bytes]]:
    whole = []
    for magic, codec in FORMATS:
        plain = java.write(
            oracle, random_records(1, magic, base_offset=9, count=5), BatchOptions(magic, codec, base_offset=9)
        )
        whole.append(plain)
        yield f"magic {magic}, {codec}", plain
        if magic:
            options = BatchOptions(magic, codec, "LogAppendTime", base_offset=9, log_append_time=BASE_TIME)
            yield (
                f"magic {magic}, {codec}, log append time",
                java.write(oracle, random_records(2, magic, base_offset=9, count=3), options),
            )
        wrote = random_records(3, magic, base_offset=9, count=5, gap=4)
        yield f"magic {magic}, {codec}, compacted", java.write(oracle, wrote, BatchOptions(magic, codec, base_offset=7))
        yield from _damaged(oracle, magic, codec, plain)
    yield "all formats, one after another", b"".join(whole)
    yield "a trailing partial batch", whole[-1] + whole[0][:-1]
    yield from _special_batches(oracle)


def _damaged(oracle: Oracle, magic: int, codec: str, plain: bytes) -> Iterator[tuple[str, bytes]]:
    """Only what Kafka refuses: what it reads in spite of damage, it may read more freely than kwire."""
    rng = random.Random(f"{magic} {codec}")
    found = 0
    single = plain if magic == 2 or codec != "none" else plain[: 12 + int.from_bytes(plain[8:12], "big")]
    while found < _DAMAGED_PER_FORMAT:
        place = rng.randrange(first_checked_place(magic), len(single))
        data = flip_bits(single, place, rng)
        if found % 2:
            data = with_right_checksum(data)
        if "refused" in judge(oracle, data):
            found += 1
            yield f"magic {magic}, {codec}, damaged at byte {place}", data


def _special_batches(oracle: Oracle) -> Iterator[tuple[str, bytes]]:
    transactional = BatchOptions(
        base_offset=3, producer_id=2**40, producer_epoch=7, base_sequence=2**31 - 2, is_transactional=True
    )
    yield "transactional", java.write(oracle, random_records(5, 2, base_offset=3, count=3), transactional)
    trailing_gap = BatchOptions(base_offset=3, last_offset=40, partition_leader_epoch=5)
    yield "compacted at its end", java.write(oracle, random_records(6, 2, base_offset=6, count=2), trailing_gap)
    for kind in ("COMMIT", "ABORT"):
        yield (
            f"end of a transaction, {kind.lower()}",
            java.write_end_marker(oracle, kind, offset=8, timestamp=BASE_TIME, producer_id=4, epoch=1),
        )
    yield (
        "change of a KRaft leader",
        java.write_leader_change(oracle, offset=8, timestamp=BASE_TIME, leader_id=2, voters=(1, 2, 3)),
    )
    for is_control in (False, True):
        yield (
            f"compacted to nothing{', control' * is_control}",
            java.write_empty_batch(
                oracle, base_offset=5, last_offset=8, timestamp=BASE_TIME, producer_id=4, is_control=is_control
            ),
        )
