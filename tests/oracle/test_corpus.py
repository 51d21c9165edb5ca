"""The corpus of Kafka's own bytes, compared without Java; and that it is what Kafka's classes still say, with Java."""

import base64
from functools import cache

import pytest

from kwire import records
from kwire.errors import CodecError
from kwire.schema.messages import Message
from tests.each import each
from tests.oracle import corpus
from tests.oracle.comparing import assert_message_agrees, message_class, seen_by_kwire
from tests.oracle.corpus import Entry
from tests.oracle.driver import Oracle
from tests.oracle.records import from_answer
from tests.schema.apache_versions import ROWS
from tests.schema.messages.checks import by_api
from tests.schema.messages.every import MESSAGES

RECORDS = {entry["name"]: entry for entry in corpus.load(corpus.RECORDS)}


@each("name", RECORDS)
def test_records_read_as_kafka_reads_them(name: str) -> None:
    entry = RECORDS[name]
    data = base64.b64decode(entry["bytes"])
    if "refused" in entry["answer"]:
        with pytest.raises(CodecError):
            seen_by_kwire(data)
        return
    expected = from_answer(entry["answer"])
    assert seen_by_kwire(data) == list(expected.records)
    assert records.decode(data).consumed == expected.consumed


@cache
def _messages() -> dict[tuple[str, int], Entry]:
    return {(entry["name"], entry["version"]): entry for entry in corpus.load(corpus.MESSAGES)}


@by_api(MESSAGES)
def test_messages_read_and_written_as_kafka_does(cls: type[Message], version: int) -> None:
    entry = _messages()[cls.__name__, version]
    assert message_class(entry["api_key"], entry["direction"]) is cls
    assert_message_agrees(cls, version, base64.b64decode(entry["bytes"]), entry["json"], entry["name"])


def test_the_messages_are_of_every_version() -> None:
    kept: dict[tuple[int, str], set[int]] = {}
    for entry in corpus.load(corpus.MESSAGES):
        kept.setdefault((entry["api_key"], entry["direction"]), set()).add(entry["version"])
    for api_key, row in ROWS.items():
        for direction in ("Request", "Response"):
            assert kept[api_key, direction] == set(row.known)


def test_kafka_still_says_so(oracle: Oracle) -> None:
    for entry in corpus.load(corpus.RECORDS):
        assert corpus.judge(oracle, base64.b64decode(entry["bytes"])) == entry["answer"], entry["name"]
