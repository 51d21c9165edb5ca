"""Keys 0-20 against the schema tables of the clients of 0.8.2, 0.9.0 and 0.10.1: layouts, values and bytes.

The differences are named: fields in which kwire lets null travel, because the brokers' Scala code (metadata of offsets)
or later releases (record sets, configuration values) do, and these classes do not; a flag that was an int8 first; and
JoinGroup 0 of 0.8.2, another message under the same number, which kwire does not have. What a release's brokers read
with Scala code alone is in no table of its clients: `test_scala_messages.py` has it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from kwire import protocol
from kwire.schema.fields import Field
from tests.oracle import schemas
from tests.oracle.comparing import message_class
from tests.oracle.schemas import Array, Case, Layout
from tests.reference import protocol as reference
from tests.schema.messages.plain import plain_values
from tests.schema.messages.random import random_message
from tests.schema.messages.typical import typical
from tests.thorough import THOROUGH

pytestmark = pytest.mark.kafka

_RELEASES = ("0.8.2.2", "0.9.0.1", "0.10.1.1")
_DRAWS = 60 if THOROUGH else 8
_BOTH = ("request", "response")

_SCALA_ONLY = {
    "0.8.2.2": {Case(direction, key, 0) for direction, key in product(_BOTH, (4, 5, 6, 7))},
    "0.9.0.1": {Case(direction, 7, 0) for direction in _BOTH},
    "0.10.1.1": set(),
}
# In the table of 0.8.2, but not served by its brokers.
_UNSERVED = {
    "0.8.2.2": {Case(direction, key, 0) for direction, key in product(_BOTH, (11, 12))},
    "0.9.0.1": set(),
    "0.10.1.1": set(),
}
_ANOTHER_MESSAGE = {"0.8.2.2": {Case("request", 11, 0), Case("response", 11, 0)}}

_RECORDS = {
    ("request", 0, "topic_data.partition_data.records", "NULLABLE_BYTES", "BYTES"),
    ("response", 1, "responses.partitions.records", "NULLABLE_BYTES", "BYTES"),
}
_COMMITTED_METADATA = {
    ("request", 8, "topics.partitions.committed_metadata", "NULLABLE_STRING", "STRING"),
    ("response", 9, "topics.partitions.metadata", "NULLABLE_STRING", "STRING"),
}
_DIFFERENCES = {
    "0.8.2.2": _RECORDS | _COMMITTED_METADATA,
    "0.9.0.1": _RECORDS | _COMMITTED_METADATA | {("request", 5, "delete_partitions", "BOOLEAN", "INT8")},
    "0.10.1.1": _RECORDS | {("request", 19, "topics.configs.value", "NULLABLE_STRING", "STRING")},
}

# The same differences in the layouts of the reference codec.
_RECORD_SET = {"record_set bytes?": "record_set bytes"}
_IN_THE_REFERENCE = {
    "0.9.0.1": {
        **_RECORD_SET,
        ", metadata string?": ", metadata string",
        "delete_partitions bool": "delete_partitions int8",
    },
    "0.10.1.1": {**_RECORD_SET, "config_value string?": "config_value string"},
}

_JOIN_GROUP_0_OF_0_8_2 = {
    "request": (
        ("group_id", "STRING"),
        ("session_timeout", "INT32"),
        ("topics", Array("STRING", nullable=False)),
        ("consumer_id", "STRING"),
        ("partition_assignment_strategy", "STRING"),
    ),
    "response": (
        ("error_code", "INT16"),
        ("group_generation_id", "INT32"),
        ("consumer_id", "STRING"),
        ("assigned_partitions", Array((("topic", "STRING"), ("partitions", Array("INT32", False))), nullable=False)),
    ),
}


def _theirs(release: str) -> dict[Case, Layout]:
    return schemas.layouts(schemas.jars_of(release))


def _compared(release: str) -> list[Case]:
    return sorted(set(_theirs(release)) - _ANOTHER_MESSAGE.get(release, set()))


@pytest.mark.parametrize("release", _RELEASES)
def test_every_version_of_the_release_is_in_its_table(release: str) -> None:
    served = {
        Case(direction, key, version)
        for key, (least, most) in protocol.versions_of(release).items()
        for version, direction in product(range(least, most + 1), _BOTH)
    }
    assert served - set(_theirs(release)) == _SCALA_ONLY[release]
    assert set(_theirs(release)) - served == _UNSERVED[release]


@pytest.mark.parametrize("release", _RELEASES)
def test_the_layouts_are_the_same_but_for_the_named_differences(release: str) -> None:
    found = {
        (case.direction, case.key, *difference)
        for case in _compared(release)
        for difference in _differences(_layout(_class_of(case), case.version), _theirs(release)[case])
    }
    assert found == _DIFFERENCES[release]


def test_join_group_0_of_0_8_2_is_another_message() -> None:
    for case in _ANOTHER_MESSAGE["0.8.2.2"]:
        assert _theirs("0.8.2.2")[case] == _JOIN_GROUP_0_OF_0_8_2[case.direction]
        assert list(_differences(_layout(_class_of(case), 0), _theirs("0.8.2.2")[case])) != []
    assert not {11, 12} & set(protocol.versions_of("0.8.2.2"))


@pytest.mark.parametrize("release", _IN_THE_REFERENCE)
def test_the_layouts_of_the_reference_codec_are_the_same_by_name_and_type(release: str) -> None:
    for case, layout in _theirs(release).items():
        expected = reference.LAYOUTS[case.key, case.direction, case.version]
        for ours, theirs in _IN_THE_REFERENCE[release].items():
            expected = expected.replace(ours, theirs)
        assert schemas.as_text(layout) == expected, case


@pytest.mark.parametrize("release", _RELEASES)
def test_values_and_bytes_are_the_same(release: str) -> None:
    drawn = [(case, message) for case in _compared(release) for message in _drawn(release, case)]
    bodies = [(case, message.encode(case.version)) for case, message in drawn]
    answers = schemas.read_and_write(schemas.jars_of(release), bodies)
    for (case, message), (_, body), answer in zip(drawn, bodies, answers, strict=True):
        what = f"{release} {case} {message}"
        assert answer.refusal == "", what
        assert answer.values == plain_values(message, case.version), what
        assert answer.data == body, what
        assert _class_of(case).decode(answer.data, case.version) == message, what


@pytest.mark.parametrize("release", _RELEASES)
def test_null_is_refused_where_only_kwire_lets_it_travel(release: str) -> None:
    nulls = {(direction, key) for direction, key, _, ours, _ in _DIFFERENCES[release] if ours.startswith("NULLABLE")}
    cases = [case for case in _compared(release) if (case.direction, case.key) in nulls]
    bodies = [(case, typical(_class_of(case), case.version, with_nulls=True).encode(case.version)) for case in cases]
    for case, answer in zip(cases, schemas.read_and_write(schemas.jars_of(release), bodies), strict=True):
        assert answer.refusal, f"{release} {case}: read as {answer.values}"


def _drawn(release: str, case: Case) -> Iterator[Any]:
    """Messages that the release can carry: the first with a value of its own in every field, the others by chance."""
    cls = _class_of(case)
    refused = {path for direction, key, path, *_ in _DIFFERENCES[release] if (direction, key) == case[:2]}
    yield typical(cls, case.version)
    for seed in range(_DRAWS):
        message = random_message(cls, case.version, random.Random(f"{release} {case} {seed}"))
        _put_empty_ones_for_nulls(message, refused)
        yield message


def _put_empty_ones_for_nulls(struct: Any, paths: set[str], above: str = "") -> None:
    for field in struct.__fields__:
        path, value = f"{above}{field.name}", getattr(struct, field.name)
        if value is None and path in paths:
            setattr(struct, field.name, "" if field.kind == "string" else b"")
        elif field.kind == "array" and field.struct is not None:
            for item in value or ():
                _put_empty_ones_for_nulls(item, paths, f"{path}.")


def _class_of(case: Case) -> Any:
    return message_class(case.key, case.direction.title())


def _layout(cls: Any, version: int) -> Layout:
    """kwire's own layout in the terms of the tables."""
    return tuple((field.name, _type(field, version)) for field in cls.__fields__ if field.versions.has(version))


def _type(field: Field, version: int) -> Any:
    nullable = field.nullable.has(version)
    if field.kind != "array":
        return ("NULLABLE_" if nullable else "") + _plain_type(field.kind)
    if field.struct is None:
        return Array(_plain_type(field.element or ""), nullable)
    inner = _layout(field.struct, version)
    return Array(inner[0][1] if len(inner) == 1 else inner, nullable)


def _plain_type(kind: str) -> str:
    return {"bool": "BOOLEAN", "records": "BYTES"}.get(kind, kind.upper())


def _differences(ours: Layout, theirs: Layout, above: str = "") -> Iterator[tuple[str, str, str]]:
    """Path, kwire's type and the table's type of each field that differs; names are each one's own."""
    if len(ours) != len(theirs):
        yield above, f"{len(ours)} fields", f"{len(theirs)} fields"
    for (name, mine), (_, other) in zip(ours, theirs, strict=False):
        path = f"{above}{name}"
        if isinstance(mine, Array) and isinstance(other, Array):
            if mine.nullable != other.nullable:
                yield path, str(mine), str(other)
            mine, other = mine.element, other.element
        if isinstance(mine, str) or isinstance(other, str) or isinstance(mine, Array) or isinstance(other, Array):
            if mine != other:
                yield path, str(mine), str(other)
        else:
            yield from _differences(mine, other, f"{path}.")
