"""docs/old-generations.md: its code runs, and its bytes are what its words say."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kwire import protocol, records
from kwire.protocol import draft_0_8, kafka_0_7, proposal
from tests.snippets import ROOT, run, snippet

DOCUMENT = "docs/old-generations.md"


def test_the_code_runs() -> None:
    assert run(snippet(DOCUMENT, "records.encode("))["found"].consumed > 0
    assert run(snippet(DOCUMENT, "client.messages("))["first"].value == b"one"
    assert run(snippet(DOCUMENT, "partitioners.scala_0_7("))


def frames(heading: str) -> dict[str, bytes]:
    """The bytes of a section by the words before them."""
    text = (ROOT / DOCUMENT).read_text(encoding="utf-8")
    section = text.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^    (\S+(?: \d)?) +((?:[0-9a-f]{2} )*[0-9a-f]{2})(?:\s{2,}.*)?$", section, re.MULTILINE)
    return {name: bytes.fromhex(digits) for name, digits in rows}


def test_the_same_fetch_in_three_of_them() -> None:
    shown = frames("The same fetch in three of them")
    old: Any = kafka_0_7.decode_request(shown["0.7"])[1]
    assert (old.topic, old.partition, old.offset, old.max_size) == ("t", 0, 24, 1 << 20)
    header, proposed = proposal.decode_request(shown["proposal"])
    wanted = proposal.FetchRequest.OffsetData(topic="t", partitions=[0], offsets=[24])
    assert (header.correlation_id, header.client_id) == (8, "c")
    assert proposed == proposal.FetchRequest(max_wait=100, min_bytes=1, topic_offsets=[wanted])
    new: Any = protocol.decode_request(shown["0.8.0"])[1]
    assert new.topics[0].partitions[0].fetch_offset == 24
    assert new.topics[0].partitions[0].partition_max_bytes == 1 << 20


def test_the_metadata_of_the_draft_and_of_0_8_0() -> None:
    shown = frames("The metadata of the draft, and of 0.8.0")
    draft: Any = draft_0_8.decode_response(shown["draft"], 3)[1]
    real: Any = protocol.decode_response(shown["0.8.0"], 3, 0)[1]
    assert draft.topics[0].topic_name == real.topics[0].name == "t"
    assert draft.topics[0].partitions[0].leader == real.topics[0].partitions[0].leader_id == 1
    assert draft.brokers[0].port == real.brokers[0].port == 9092


@pytest.mark.parametrize("magic", [0, 1])
def test_the_messages(magic: int) -> None:
    shown = frames("Messages of 0.7")
    assert records.encode([b"hi"], generation="0.7", magic=magic) == shown[f"magic {magic}"]
