"""The same messages through foreign codecs: kio and kafka-python read what kwire writes and write the same bytes."""

from __future__ import annotations

import importlib
import io
from typing import Any

import pytest

from kwire.protocol import ApiVersionsResponse, MetadataResponse
from kwire.schema.messages import Message, Struct
from kwire.schema.registry import APIS
from tests.each import each
from tests.schema.apache_versions import ROWS
from tests.schema.messages.checks import by_api
from tests.schema.messages.every import MESSAGES, api_name
from tests.schema.messages.typical import typical

# What is newer than the peers' newest releases.
NEWER_THAN_KIO = {
    ("ApiVersions", 5),
    ("TxnOffsetCommit", 6),
    ("DeleteGroups", 3),
    ("StreamsGroupHeartbeat", 1),
    ("StreamsGroupDescribe", 1),
    ("StreamsGroupTopologyDescriptionUpdate", 0),
    ("UnregisterController", 0),
}
NEWER_THAN_KAFKA_PYTHON = {("ApiVersions", 5)}
KEYS_OF_KAFKA_PYTHON = (0, 1, 2, 3, 18, 19, 20, 22)
# A bit field, which kafka-python makes a set of and cannot write again.
CHANGED_BY_KAFKA_PYTHON = {"topic_authorized_operations", "cluster_authorized_operations"}


IN_KIO = [
    (cls, version)
    for cls, version in MESSAGES
    if ROWS[cls.__api_key__].newest.has(version) and (api_name(cls), version) not in NEWER_THAN_KIO  # type: ignore[attr-defined]
]
IN_KAFKA_PYTHON = [
    (cls, version)
    for cls, version in MESSAGES
    if cls.__api_key__ in KEYS_OF_KAFKA_PYTHON and (api_name(cls), version) not in NEWER_THAN_KAFKA_PYTHON  # type: ignore[attr-defined]
]


@by_api(IN_KIO)
@each("with_nulls", [False, True])
def test_kio_reads_and_writes_the_same(cls: type[Message], version: int, with_nulls: bool) -> None:
    serial = pytest.importorskip("kio.serial")
    name = api_name(cls)
    folder = APIS[name].module_name.rpartition(".")[2][4:]
    direction = "request" if cls.__name__.endswith("Request") else "response"
    entity = getattr(importlib.import_module(f"kio.schema.{folder}.v{version}.{direction}"), cls.__name__)
    encoded = typical(cls, version, with_nulls=with_nulls).encode(version)
    decoded, size = serial.entity_reader(entity)(encoded, 0)
    assert size == len(encoded)
    written = io.BytesIO()
    serial.entity_writer(entity)(written, decoded)
    assert written.getvalue() == encoded


@by_api(IN_KAFKA_PYTHON)
@each("with_nulls", [False, True])
def test_kafka_python_reads_the_same_values(cls: type[Message], version: int, with_nulls: bool) -> None:
    modules = [pytest.importorskip(f"kafka.protocol.{name}") for name in ("producer", "consumer", "metadata", "admin")]
    theirs = next(getattr(module, cls.__name__) for module in modules if hasattr(module, cls.__name__))
    message = typical(cls, version, with_nulls=with_nulls)
    if isinstance(message, ApiVersionsResponse):
        message.error_code = 0  # after any other code kafka-python expects a body of v0
    encoded = message.encode(version)
    decoded = theirs.decode(encoded, version=version)
    assert_same_values(message, decoded, version)
    if not isinstance(message, MetadataResponse) or version < 8:
        decoded._header = None
        assert bytes(decoded.encode(version=version)) == encoded


def assert_same_values(ours: Struct, theirs: Any, version: int) -> None:
    for field in ours.__fields__:
        if field.versions.has(version) and field.name not in CHANGED_BY_KAFKA_PYTHON:
            mine, other = getattr(ours, field.name), getattr(theirs, field.name)
            if field.struct is not None and mine is not None:
                pairs = zip(mine, other, strict=True) if field.kind == "array" else [(mine, other)]
                for one, another in pairs:
                    assert_same_values(one, another, version)
            else:
                assert mine == other, field.name
