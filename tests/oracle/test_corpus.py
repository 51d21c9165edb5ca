"""The corpus of Kafka's own bytes, compared without Java; and that it is what Kafka's classes still say, with Java."""

import base64

import pytest

from kwire import records
from kwire.errors import CodecError
from tests.oracle import corpus
from tests.oracle.comparing import assert_message_agrees, message_class, seen_by_kwire
from tests.oracle.corpus import Entry
from tests.oracle.driver import Oracle
from tests.oracle.records import from_answer
from tests.schema.apache_versions import ROWS
from tests.thorough import THOROUGH


def _named(entries: list[Entry], *fields: str) -> list[object]:
    return [pytest.param(entry, id="-".join(str(entry[field]) for field in fields)) for entry in entries]


@pytest.mark.parametrize("entry", _named(corpus.load(corpus.RECORDS), "name"))
def test_records_read_as_kafka_reads_them(entry: Entry) -> None:
    data = base64.b64decode(entry["bytes"])
    if "refused" in entry["answer"]:
        with pytest.raises(CodecError):
            seen_by_kwire(data)
        return
    expected = from_answer(entry["answer"])
    assert seen_by_kwire(data) == list(expected.records)
    assert records.decode(data).consumed == expected.consumed


def _tested_messages() -> list[Entry]:
    """All in `make test-all`; else the oldest and the newest version of each."""
    entries = corpus.load(corpus.MESSAGES)
    if THOROUGH:
        return entries
    ends = {entry["name"]: entry["version"] for entry in entries}
    begins = {entry["name"]: entry["version"] for entry in reversed(entries)}
    return [entry for entry in entries if entry["version"] in (begins[entry["name"]], ends[entry["name"]])]


@pytest.mark.parametrize("entry", _named(_tested_messages(), "name", "version"))
def test_messages_read_and_written_as_kafka_does(entry: Entry) -> None:
    message = message_class(entry["api_key"], entry["direction"])
    data = base64.b64decode(entry["bytes"])
    assert_message_agrees(message, entry["version"], data, entry["json"], entry["name"])


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
