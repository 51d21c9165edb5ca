"""The corpus of Kafka's own bytes, compared without Java; and that it is what Kafka's classes still say, with Java."""

import base64

import pytest

from kwire import protocol, records
from kwire.errors import CodecError
from tests.oracle import corpus
from tests.oracle.comparing import assert_message_agrees, message_class, seen_by_kwire
from tests.oracle.corpus import Entry
from tests.oracle.driver import Oracle
from tests.oracle.records import from_answer


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


@pytest.mark.parametrize("entry", _named(corpus.load(corpus.MESSAGES), "name", "version"))
def test_messages_read_and_written_as_kafka_does(entry: Entry) -> None:
    message = message_class(entry["api_key"], entry["direction"])
    data = base64.b64decode(entry["bytes"])
    assert_message_agrees(message, entry["version"], data, entry["json"], entry["name"])


def test_the_messages_are_of_every_version() -> None:
    for api_key in corpus.API_NAMES:
        for direction in ("Request", "Response"):
            kept = {
                entry["version"]
                for entry in corpus.load(corpus.MESSAGES)
                if (entry["api_key"], entry["direction"]) == (api_key, direction)
            }
            assert kept == set(protocol.APIS[api_key].versions)


def test_kafka_still_says_so(oracle: Oracle) -> None:
    for entry in corpus.load(corpus.RECORDS):
        assert corpus.judge(oracle, base64.b64decode(entry["bytes"])) == entry["answer"], entry["name"]
