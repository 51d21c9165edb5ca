"""Messages that only the Scala classes of the brokers of 0.8.2 and 0.9.0 have, or only they take, against them.

Version 0 of keys 4-7 is in no table of schemas, and null metadata of committed offsets goes through Scala code alone.
The classes read headers, too, and hold partitions, brokers and replicas in sets and maps. So a message has at most one
of each, but any number of in-sync replicas, and the plain values are compared without their order; the bytes are
compared as they are.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from kwire import protocol
from kwire.schema.messages import Struct
from tests.oracle import schemas
from tests.oracle.comparing import message_class
from tests.oracle.schemas import Case
from tests.schema.messages.plain import plain_values
from tests.schema.messages.random import random_message
from tests.schema.messages.typical import typical
from tests.thorough import THOROUGH

pytestmark = pytest.mark.kafka

_DRAWS = 60 if THOROUGH else 8
_NAMES = {4: "LeaderAndIsr", 5: "StopReplica", 6: "UpdateMetadata", 7: "ControlledShutdown"}
_KEYS = {"0.8.2.2": (4, 5, 6, 7), "0.9.0.1": (7,)}
_CORRELATION_ID = 77
_CLIENT_ID = "größe"


@pytest.mark.parametrize("release", _KEYS)
def test_values_and_bytes_of_whole_frames_are_the_same(release: str) -> None:
    cases = [Case(direction, key, 0) for key in _KEYS[release] for direction in ("request", "response")]
    drawn = [(case, message) for case in cases for message in _drawn(case)]
    asked = [(_NAMES[case.key] + case.direction.title(), _headed(case, message)) for case, message in drawn]
    answers = schemas.read_and_write_in_scala(schemas.jars_of(release), asked)
    for (case, message), (_, data), answer in zip(drawn, asked, answers, strict=True):
        what = f"{release} {case} {message}"
        assert answer.refusal == "", what
        assert answer.data == data, what
        expected = [*_header_values(case), *_leaves(plain_values(message, 0))]
        assert sorted(map(repr, answer.values)) == sorted(map(repr, expected)), what


@pytest.mark.parametrize(("release", "commits"), [("0.8.2.2", range(2)), ("0.9.0.1", range(3))])
def test_null_metadata_of_committed_offsets_is_kept(release: str, commits: range) -> None:
    cases = [Case("request", 8, version) for version in commits] + [Case("response", 9, version) for version in (0, 1)]
    asked = []
    for case in cases:
        message = typical(message_class(case.key, case.direction.title()), case.version, with_nulls=True)
        _shorten(message)
        name = "OffsetCommitRequest" if case.key == 8 else "OffsetFetchResponse"
        asked.append((name, _headed(case, message)))
    for (name, data), answer in zip(
        asked, schemas.read_and_write_in_scala(schemas.jars_of(release), asked), strict=True
    ):
        assert (answer.refusal, answer.data) == ("", data), name
        assert answer.values.count(None) == 1, f"{name}: {answer.values}"


def _headed(case: Case, message: Any) -> bytes:
    """What follows the key of a request, or the size of a response."""
    if case.direction == "response":
        return protocol.encode_response(message, case.version, correlation_id=_CORRELATION_ID)[4:]
    return protocol.encode_request(message, case.version, correlation_id=_CORRELATION_ID, client_id=_CLIENT_ID)[6:]


def _header_values(case: Case) -> list[Any]:
    if case.direction == "response":
        return [_CORRELATION_ID]
    return [0, _CORRELATION_ID] if case.key == 7 else [0, _CORRELATION_ID, _CLIENT_ID]


def _drawn(case: Case) -> Iterator[Any]:
    cls = message_class(case.key, case.direction.title())
    for message in (
        typical(cls, 0),
        *(random_message(cls, 0, random.Random(f"{case} {seed}")) for seed in range(_DRAWS)),
    ):
        _shorten(message)
        yield message


def _shorten(struct: Struct) -> None:
    for field in struct.__fields__:
        if field.kind == "array" and field.name != "isr":
            kept = list(getattr(struct, field.name))[:1]
            setattr(struct, field.name, kept)
            for item in kept:
                if isinstance(item, Struct):
                    _shorten(item)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    else:
        yield value
