"""`decoder=avro` on batches, without Spark: schemas as text, as files, from a folder and from a registry."""

from __future__ import annotations

import json
import pickle
import ssl
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kwire import records
from kwire.errors import ConfigError, RegistryError
from kwire.spark.decoding import schema_registry
from kwire.spark.decoding.contract import DecodeError
from kwire.spark.decoding.decoding import Decoding
from kwire.spark.decoding.options import parse_decoding
from kwire.spark.decoding.schema_registry import SchemaSource, parse_registry
from kwire.spark.options.given import GivenOptions
from kwire.spark.reading.columns import ColumnBatches
from tests.certificates import Authority
from tests.reference.primitives import uvarint, zigzag
from tests.registry.server import RegistryServer, serving

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"], "default": None}],
}
OLD = {**ORDER, "fields": [{"name": "id", "type": "int"}]}


def order(id_: int, note: str | None = None) -> bytes:
    text = b"\0" if note is None else b"\2" + long(len(note)) + note.encode()
    return long(id_) + text


def long(value: int) -> bytes:
    return uvarint(zigzag(value))


def framed(id_: int, value: bytes) -> bytes:
    return b"\0" + struct.pack(">I", id_) + value


def decoding(**options: str) -> Decoding:
    given = {"decoder": "avro"} | {f"decoder.{name.replace('_', '.')}": value for name, value in options.items()}
    made = parse_decoding(GivenOptions(given))
    return pickle.loads(pickle.dumps(made))  # type: ignore[no-any-return]


def rows(how: Decoding, values: list[bytes | None], columns: tuple[str, ...] = ("id", "note")) -> list[dict[str, Any]]:
    batches = ColumnBatches(columns, how)
    found = records.decode(records.encode(values, base_offset=7))
    made = [*batches.add(found, "topic", 2), *batches.flush()]
    return [row for batch in made for row in batch.to_pylist()]


@pytest.fixture(autouse=True)
def nothing_fetched() -> None:
    schema_registry._client.cache_clear()


@pytest.fixture
def registry() -> Iterator[RegistryServer]:
    with serving() as server:
        yield server


def test_fields_become_columns() -> None:
    how = decoding(schema=json.dumps(ORDER))
    assert how.ddl(["id", "note", "offset"]) == "id BIGINT, note STRING, offset BIGINT"
    assert rows(how, [order(1, "x"), None, order(2)], ("note", "offset", "id")) == [
        {"note": "x", "offset": 7, "id": 1},
        {"note": None, "offset": 8, "id": None},
        {"note": None, "offset": 9, "id": 2},
    ]


def test_a_schema_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "order.avsc").write_text(json.dumps(ORDER))
    assert rows(decoding(schema=str(tmp_path / "order.avsc")), [order(5)]) == [{"id": 5, "note": None}]


def test_values_of_another_writer() -> None:
    how = decoding(schema=json.dumps(ORDER), writerSchema=json.dumps(OLD))
    assert rows(how, [long(-3)]) == [{"id": -3, "note": None}]


def test_a_value_that_is_no_record_and_a_key() -> None:
    options = {"keyDecoder": "avro", "keyDecoder.schema": '"long"', "decoder": "avro", "decoder.schema": "string"}
    how = parse_decoding(GivenOptions(options))
    assert how.ddl(["key", "value"]) == "key BIGINT, value STRING"
    batches = ColumnBatches(("key", "value"), how)
    made = [*batches.add(records.decode(records.encode([(b"\x02x", b"\x05")])), "t", 0), *batches.flush()]
    assert [row for batch in made for row in batch.to_pylist()] == [{"key": -3, "value": "x"}]


@pytest.mark.parametrize("schema", [ORDER, "long"])
def test_values_are_read_even_if_no_column_is_wanted(schema: Any) -> None:
    assert rows(decoding(schema=json.dumps(schema), mode="drop"), [order(1), b"\x80", b""], ("offset",))[1:] == []


def test_a_bad_value_is_named_with_its_place_and_byte() -> None:
    with pytest.raises(DecodeError) as caught:
        rows(decoding(schema=json.dumps(ORDER)), [order(1), b"\x02\x05"])
    assert "topic-2 at offset 8 cannot be decoded as avro: note: a union has no branch of this number (byte 1)" in str(
        caught.value
    )
    kept = decoding(schema=json.dumps(ORDER), mode="column")
    assert rows(kept, [order(1), b"\x02\x05"], ("id", "_corrupt")) == [
        {"id": 1, "_corrupt": None},
        {"id": None, "_corrupt": b"\x02\x05"},
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "decoder: the option decoder.schema must be given: an Avro schema as JSON"),
        ({"registry": "http://r"}, "with one; or decoder.registry.subject"),
        ({"schema": "order.avsc"}, "decoder.schema: is 'order.avsc' a file? Then give its path, './order.avsc'"),
        ({"schema": "{"}, "decoder.schema: the Avro schema is not JSON"),
        ({"schema": '{"type":"record","name":"R","fields":[]}'}, "decoder.schema: expected a column name"),
        ({"schema": '"long"', "writerSchema": '"string"'}, "string cannot be read as long"),
        ({"schema": '"long"', "writerSchema": '"long"', "registry": "http://r"}, "each value says its writer's schema"),
        ({"schema": '"long"', "sep": ","}, "decoder.sep has no meaning with decoder=avro"),
        ({"schema": '"long"', "registry": "/nowhere"}, "decoder.registry: there is no folder /nowhere"),
        ({"schema": '"long"', "registry": "ftp://host"}, "decoder.registry: expected the http:// or https:// URL"),
        ({"schema": '"long"', "registry.user": "me"}, "decoder.registry.user is given without decoder.registry"),
        ({"schema": '"long"', "registry.token": "t"}, "decoder.registry.token is given without decoder.registry"),
        (
            {"schema": '"long"', "registry": "http://r", "registry.token": "t", "registry.user": "me"},
            "decoder.registry.token and a user or password exclude each other",
        ),
        (
            {"schema": '"long"', "registry": "http://r", "registry.certFile": "/no"},
            "decoder.registry.certFile: there is no file /no",
        ),
        (
            {"schema": '"long"', "registry": "http://r", "registry.certFile": "-----BEGIN PRIVATE KEY-----\nMIG"},
            "decoder.registry.certFile: there is no file [hidden] (PEM text, where a path is meant)",
        ),
        (
            {"schema": '"long"', "registry": "http://r", "registry.keyFile": __file__},
            "decoder.registry.keyFile is given without decoder.registry.certFile",
        ),
        (
            {"schema": '"long"', "registry": "http://r", "registry.caFile": "/no"},
            "decoder.registry.caFile: there is no",
        ),
    ],
)
def test_options_that_cannot_be(options: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_decoding(GivenOptions({"decoder": "avro", **{f"decoder.{name}": text for name, text in options.items()}}))
    assert said in str(caught.value)


def test_a_record_within_itself_is_named_with_what_to_do_and_that_works() -> None:
    def tree(*fields: dict[str, Any]) -> str:
        return json.dumps({"type": "record", "name": "Tree", "fields": [{"name": "id", "type": "long"}, *fields]})

    whole = tree({"name": "next", "type": ["null", "Tree"]})
    with pytest.raises(ConfigError) as caught:
        decoding(schema=whole)
    assert "decoder.schema: Avro schema, at next: record Tree contains itself, which no column can" in str(caught.value)
    assert "give the whole one as decoder.writerSchema" in str(caught.value)
    assert "or decode with a function, decoder=package.module:function" in str(caught.value)
    how = decoding(schema=tree(), writerSchema=whole)
    value = long(1) + long(1) + long(2) + long(0)
    assert rows(how, [value], ("id",)) == [{"id": 1}]


# --- schemas by id ---


def test_a_folder_of_schemas(tmp_path: Path) -> None:
    (tmp_path / "1.avsc").write_text(json.dumps(OLD))
    (tmp_path / "70000.avsc").write_text(json.dumps(ORDER))
    how = decoding(schema=json.dumps(ORDER), registry=str(tmp_path), mode="null")
    found = rows(how, [framed(1, long(5)), framed(70_000, order(6, "n")), framed(2, long(5)), b"\1"])
    assert found == [{"id": 5, "note": None}, {"id": 6, "note": "n"}, *[{"id": None, "note": None}] * 2]
    with pytest.raises(DecodeError, match=r"schema 2 is not in the folder: there is no .*2.avsc"):
        rows(decoding(schema=json.dumps(ORDER), registry=f"file:{tmp_path}"), [framed(2, b"")])


def test_a_registry_is_asked_once_for_each_id(registry: RegistryServer) -> None:
    registry.add(1, OLD)
    registry.add(2, ORDER)
    how = decoding(schema=json.dumps(ORDER), registry=registry.url)
    for _ in range(2):
        assert rows(how, [framed(1, long(5)), framed(2, order(6)), framed(1, long(7))]) == [
            {"id": 5, "note": None},
            {"id": 6, "note": None},
            {"id": 7, "note": None},
        ]
    assert sorted(path for path, _ in registry.requests) == ["/schemas/ids/1", "/schemas/ids/2"]


def test_the_newest_schema_of_a_subject_is_the_readers(registry: RegistryServer) -> None:
    registry.answers["/subjects/orders%2Fvalue/versions/latest"] = (200, {"schema": json.dumps(ORDER), "id": 2})
    registry.add(1, OLD)
    options = {"decoder.registry.subject": "orders/value", "decoder.registry": registry.url, "decoder": "avro"}
    how = parse_decoding(GivenOptions(options))
    assert rows(how, [framed(1, long(5))]) == [{"id": 5, "note": None}]


def test_a_schema_that_refers_to_others(registry: RegistryServer) -> None:
    money = {"type": "record", "name": "shop.Money", "fields": [{"name": "cents", "type": "shop.Cents"}]}
    cents = {"type": "fixed", "name": "shop.Cents", "size": 2}
    top = {"type": "record", "name": "Bill", "fields": [{"name": "total", "type": "shop.Money"}]}
    refers = [{"name": "shop.Money", "subject": "money", "version": 3}]
    registry.add(9, top, references=refers)
    below = {"schema": json.dumps(money), "references": [{"name": "shop.Cents", "subject": "cents", "version": 1}]}
    registry.answers["/subjects/money/versions/3"] = (200, below)
    registry.answers["/subjects/cents/versions/1"] = (200, {"schema": json.dumps(cents)})
    registry.answers["/subjects/bills/versions/latest"] = (
        200,
        {"id": 9, "schema": json.dumps(top), "references": refers},
    )
    options = {"decoder.registry.subject": "bills", "decoder.registry": registry.url, "decoder": "avro"}
    how = pickle.loads(pickle.dumps(parse_decoding(GivenOptions(options))))
    assert rows(how, [framed(9, b"ab")], ("total",)) == [{"total": {"cents": b"ab"}}]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((404, {"message": "Schema 7 not found"}), r"schema 7 is not in the registry http://.* \(HTTP status 404: Sch"),
        ((200, {"schema": "syntax = 'proto3';", "schemaType": "PROTOBUF"}), "schema 7 of http.* is PROTOBUF, not Avro"),
        ((200, {"schema": "{"}), "schema 7: the Avro schema is not JSON"),
        ((200, {"schema": '"string"'}), "schema 7: the writer's Avro schema cannot be read with the reader's"),
    ],
)
def test_an_id_without_a_schema_that_fits_is_a_fault_of_its_rows(
    registry: RegistryServer, answer: Any, said: str
) -> None:
    registry.answers["/schemas/ids/7"] = answer
    registry.add(1, OLD)
    options = {"schema": json.dumps(ORDER), "registry": registry.url}
    assert rows(decoding(**options, mode="drop"), [framed(7, b""), framed(1, long(4))]) == [{"id": 4, "note": None}]
    with pytest.raises(DecodeError, match=said):
        rows(decoding(**options), [framed(7, b"")])


def test_bytes_that_are_no_values_do_not_ask_for_every_id(registry: RegistryServer) -> None:
    how = decoding(schema=json.dumps(ORDER), registry=registry.url, mode="null")
    assert len(rows(how, [framed(id_, b"") for id_ in range(500)])) == 500
    assert len(registry.requests) == 50


# --- security ---


def test_user_and_password_are_sent_and_shown_nowhere(registry: RegistryServer) -> None:
    echo = "me:s3cret-word may not; Authorization: Basic bWU6czNjcmV0LXdvcmQ="
    registry.answers["/schemas/ids/7"] = (403, {"message": echo})
    with_user = parse_registry("decoder.registry", registry.url, "me", "s3cret-word", "")
    in_url = parse_registry("decoder.registry", registry.url.replace("//", "//me:s3cret%2Dword@"), "", "", "")
    for given in (with_user, in_url):
        with pytest.raises(RegistryError) as caught:
            given.by_id(7)
        assert "s3cret" not in str(caught.value) + repr(given)
        assert "bWU6" not in str(caught.value)
        assert "@" not in str(caught.value)
    assert {header for _, header in registry.requests} == {"Basic bWU6czNjcmV0LXdvcmQ="}


def test_a_token_is_sent_and_shown_nowhere(registry: RegistryServer) -> None:
    registry.answers["/schemas/ids/7"] = (403, {"message": "s3cret-token may not"})
    options = {"decoder": "avro", "decoder.schema": '"long"', "decoder.registry": registry.url}
    found = parse_decoding(GivenOptions({**options, "decoder.registry.token": "s3cret-token"})).value
    assert found is not None
    with pytest.raises(RegistryError) as caught:
        found.format.registry.by_id(7)  # type: ignore[attr-defined]
    assert "s3cret" not in str(caught.value) + repr(found)
    assert {header for _, header in registry.requests} == {"Bearer s3cret-token"}


def test_a_registry_that_asks_for_a_certificate(tmp_path: Path) -> None:
    authority = Authority()
    files = authority.issue().write(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.certificate, files.key)
    context.load_verify_locations(cadata=authority.pem)
    context.verify_mode = ssl.CERT_REQUIRED
    own = authority.issue("client").write(tmp_path, "client")
    (tmp_path / "authority.pem").write_text(authority.pem)
    given = {"ca_file": str(tmp_path / "authority.pem")}
    with serving(context) as registry:
        registry.add(7, OLD)
        with pytest.raises(RegistryError):
            parse_registry("r", registry.url, "", "", **given).by_id(7)
        with_key = parse_registry(
            "r", registry.url, "", "", **given, cert_file=str(own.certificate), key_file=str(own.key)
        )
        assert json.loads(with_key.by_id(7).text) == OLD


def test_a_key_that_is_encrypted_is_refused_and_not_asked_about(tmp_path: Path) -> None:
    issued = Authority().issue("client")
    (tmp_path / "client.pem").write_text(issued.pem + issued.encrypted_key_pem)
    registry = parse_registry("r", "https://127.0.0.1:1", "", "", "", cert_file=str(tmp_path / "client.pem"))
    with pytest.raises(ConfigError, match="is encrypted"):
        registry.by_id(7)


@pytest.mark.parametrize("url", ["me:s3cret@registry:8081", "htps://me:s3cret@registry", "file:/me:s3cret@x"])
def test_an_error_does_not_show_a_password_in_a_url_that_is_none(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_registry("decoder.registry", url, "", "", "")
    assert "s3cret" not in str(caught.value)


def test_a_folder_with_a_name_that_no_system_takes_is_not_there() -> None:
    for name in ("x" * 5000, "a\0b"):
        with pytest.raises(ConfigError, match="there is no folder"):
            parse_registry("decoder.registry", name, "", "", "")


def test_a_registry_url_that_is_none() -> None:
    with pytest.raises(ConfigError, match="expected the http"):
        parse_registry("decoder.registry", "http://[::1", "", "", "")


def test_tls_is_checked(tmp_path: Path) -> None:
    authority = Authority()
    files = authority.issue("registry").write(tmp_path)
    (tmp_path / "ca.pem").write_text(authority.pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.certificate, files.key)
    with serving(context) as server:
        server.add(7, OLD)
        with pytest.raises(RegistryError, match=r"CERTIFICATE_VERIFY_FAILED|certificate verify failed"):
            SchemaSource(server.url).by_id(7)
        trusting = parse_registry("decoder.registry", server.url, "", "", str(tmp_path / "ca.pem"))
        assert json.loads(trusting.by_id(7).text) == OLD
