"""`decoder=protobuf` on batches, without Spark: the options, and what they make of messages."""

from __future__ import annotations

import base64
import pickle
from pathlib import Path
from typing import Any

import pytest

from kwire import records
from kwire.errors import ConfigError
from kwire.spark.decoding.contract import DecodeError
from kwire.spark.decoding.decoding import Decoding
from kwire.spark.decoding.options import parse_decoding
from kwire.spark.options.given import GivenOptions
from kwire.spark.reading.columns import ColumnBatches

pytest.importorskip("google.protobuf")

from google.protobuf import descriptor_pb2


def descriptors() -> bytes:
    file = descriptor_pb2.FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    order = file.message_type.add(name="Order")
    order.field.add(name="id", number=1, type=4, label=1)
    order.field.add(name="note", number=2, type=9, label=1)
    order.field.add(name="state", number=3, type=14, label=1, type_name=".shop.State")
    order.field.add(name="took", number=4, type=11, label=1, type_name=".shop.Duration")
    took = file.message_type.add(name="Duration")
    took.field.add(name="seconds", number=1, type=3, label=1)
    took.field.add(name="nanos", number=2, type=5, label=1)
    state = file.enum_type.add(name="State")
    state.value.add(name="OPEN", number=0)
    state.value.add(name="PAID", number=1)
    return descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()


ORDER = b"\x08\x05\x12\x01x\x18\x01"


def decoding(**options: str) -> Decoding:
    given = {"decoder": "protobuf", "decoder.schema": base64.b64encode(descriptors()).decode()}
    given |= {"decoder.messageName": "shop.Order"} | {f"decoder.{name}": text for name, text in options.items()}
    return pickle.loads(pickle.dumps(parse_decoding(GivenOptions(given))))  # type: ignore[no-any-return]


def rows(how: Decoding, values: list[bytes | None], columns: tuple[str, ...]) -> list[dict[str, Any]]:
    batches = ColumnBatches(columns, how)
    found = records.decode(records.encode(values, base_offset=7))
    made = [*batches.add(found, "topic", 2), *batches.flush()]
    return [row for batch in made for row in batch.to_pylist()]


def test_fields_become_columns() -> None:
    how = decoding()
    assert how.ddl(["id", "state", "took"]) == "id BIGINT, state STRING, took INTERVAL DAY TO SECOND"
    assert rows(how, [ORDER, None, b""], ("note", "offset", "state", "took")) == [
        {"note": "x", "offset": 7, "state": "PAID", "took": None},
        {"note": None, "offset": 8, "state": None, "took": None},
        {"note": None, "offset": 9, "state": None, "took": None},
    ]


def test_messages_are_read_even_if_no_column_is_wanted() -> None:
    assert rows(decoding(mode="drop"), [ORDER, b"\x80"], ("offset",)) == [{"offset": 7}]


def test_descriptors_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "shop.desc").write_bytes(descriptors())
    how = decoding(schema=str(tmp_path / "shop.desc"), messageName="Order")
    assert rows(how, [ORDER], ("id",)) == [{"id": 5}]


def test_options_of_from_protobuf() -> None:
    given = {"emit.default.values": "true", "enums.as.ints": "true", "upcast.unsigned.ints": "TRUE"}
    how = decoding(**given)
    assert how.ddl(["id", "state"]) == "id DECIMAL(20,0), state INT"
    assert rows(how, [b""], ("id", "note", "state")) == [{"id": 0, "note": "", "state": 0}]


def test_framed_messages() -> None:
    assert rows(decoding(framing="Confluent"), [b"\0\0\0\0\x09\0" + ORDER], ("id",)) == [{"id": 5}]


def test_a_bad_message_is_named_with_its_place_and_byte() -> None:
    with pytest.raises(DecodeError) as caught:
        rows(decoding(), [ORDER, ORDER[:-1]], ("id",))
    assert "topic-2 at offset 8 cannot be decoded as protobuf: " in str(caught.value)
    assert "the bytes end before the field does (byte 6)" in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"schema": ""}, "decoder: the option decoder.schema must be given: the path of a descriptor set"),
        ({"schema": "not base64!"}, "decoder.schema: expected the path of a descriptor set, or its bytes in base64"),
        ({"schema": "AAAA"}, "decoder.schema: these bytes are not a descriptor set"),
        ({"messageName": ""}, "the option decoder.messageName must be given"),
        ({"messageName": "Bill"}, "decoder.messageName: there is no message Bill; there are shop.Duration, shop.Order"),
        ({"framing": "other"}, "decoder.framing: expected 'none' or 'confluent', got 'other'"),
        ({"enums.as.ints": "maybe"}, "decoder.enums.as.ints: expected true or false"),
        ({"registry": "http://r"}, "decoder.registry has no meaning with decoder=protobuf"),
    ],
)
def test_options_that_cannot_be(options: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        decoding(**options)
    assert said in str(caught.value)


def test_a_message_within_itself_is_named_with_what_to_do() -> None:
    file = descriptor_pb2.FileDescriptorProto(name="tree.proto", package="shop", syntax="proto3")
    file.message_type.add(name="Tree").field.add(name="next", number=1, type=11, label=1, type_name=".shop.Tree")
    schema = base64.b64encode(descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()).decode()
    with pytest.raises(ConfigError) as caught:
        decoding(schema=schema, messageName="shop.Tree")
    assert "decoder.messageName: next: message shop.Tree contains itself, which no column can. Leave the field out" in (
        str(caught.value)
    )
    assert "or decode with a function, decoder=package.module:function" in str(caught.value)
