"""`kwire consume` and `produce` with keys and values by the schemas of a registry."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from kwire import Producer, registry
from kwire.cli.registry_settings import VARIABLE
from kwire.testing import Broker
from tests.cli.conftest import Kwire
from tests.registry.messages import CLASSES, an_order
from tests.registry.server import RegistryServer, serving

ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [{"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"], "default": None}],
}
ODD = {
    "type": "record",
    "name": "Odd",
    "fields": [
        {"name": "raw", "type": "bytes"},
        {"name": "hash", "type": {"type": "fixed", "name": "Hash", "size": 2}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}]},
        {"name": "hour", "type": {"type": "int", "logicalType": "time-millis"}},
        {"name": "ratio", "type": "double"},
        {"name": "colour", "type": {"type": "enum", "name": "Colour", "symbols": ["RED", "BLUE"]}},
        {"name": "sizes", "type": {"type": "map", "values": {"type": "array", "items": "bytes"}}},
        {"name": "next", "type": ["null", "Odd"], "default": None},
    ],
}
ODD_VALUE: dict[str, Any] = {
    "raw": b"\xff\0",
    "hash": b"ab",
    "price": Decimal("12.50"),
    "at": datetime(2024, 5, 1, 12, 0, 0, 7000, UTC),
    "day": date(2024, 5, 1),
    "hour": time(1, 2, 3),
    "ratio": float("nan"),
    "colour": "BLUE",
    "sizes": {"x": [b"1", b"\xfe"]},
    "next": None,
}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[RegistryServer]:
    """A registry that the environment names."""
    with serving() as found:
        monkeypatch.setenv(VARIABLE, found.url)
        yield found


def put(broker: Broker, serializer: Any, *values: Any, key: Any = None) -> None:
    """Writes values to partition 0 of orders; bytes as they are."""
    with Producer(broker.bootstrap_servers, value_serializer=serializer) as producer:
        for value in values:
            producer.send("orders", value, partition=0, key=key)


def as_avro(server: RegistryServer, schema: Any, **more: Any) -> Any:
    return registry.AvroSerializer(registry.Registry(server.url), json.dumps(schema), **more)


def test_avro_is_shown_as_json_in_every_format(broker: Broker, server: RegistryServer, kwire: Kwire) -> None:
    put(broker, as_avro(server, ORDER), {"id": 7, "note": "ü"}, {"id": 8, "note": None}, None)
    shown = kwire("consume", "orders", "--value-as", "avro")
    assert shown.lines == ['{"id":7,"note":"ü"}', '{"id":8,"note":null}', ""], shown.err
    lines = kwire("consume", "orders", "--value-as", "avro", "-J").lines
    assert [json.loads(line)["value"] for line in lines] == [{"id": 7, "note": "ü"}, {"id": 8, "note": None}, None]
    assert '"{""id"":7,""note"":""ü""}"' in kwire("consume", "orders", "--value-as", "avro", "--format", "csv").lines[1]
    assert kwire("consume", "orders", "--value-as", "avro", "-f", "%o %s;").out.startswith(
        '0 {"id":7,"note":"ü"};'.encode()
    )
    assert '{"id":7' in kwire("consume", "orders", "--value-as", "avro", "--format", "table").lines[1]
    assert server.asked.count("GET /schemas/ids/1") == 5, "once by each command"


def test_what_json_has_no_word_for_is_text(broker: Broker, server: RegistryServer, kwire: Kwire) -> None:
    put(broker, as_avro(server, ODD), ODD_VALUE)
    assert json.loads(kwire("consume", "orders", "--value-as", "avro").out) == {
        "raw": {"base64": "/wA="},
        "hash": "ab",
        "price": "12.50",
        "at": "2024-05-01T12:00:00.007000+00:00",
        "day": "2024-05-01",
        "hour": "01:02:03",
        "ratio": "NaN",
        "colour": "BLUE",
        "sizes": {"x": ["1", {"base64": "/g=="}]},
        "next": None,
    }


def test_a_header_may_name_the_schema(broker: Broker, server: RegistryServer, kwire: Kwire) -> None:
    put(broker, as_avro(server, ORDER, framing="header"), {"id": 7, "note": None})
    assert kwire("consume", "orders", "--value-as", "avro").lines == ['{"id":7,"note":null}']
    kept = kwire("consume", "orders", "--value-as", "jsonschema", "--on-error", "keep")
    assert kept.lines == ["DgA="], "the bytes of the value, without those of the header"


def test_json_by_a_schema_is_shown(broker: Broker, server: RegistryServer, kwire: Kwire) -> None:
    schema = '{"type": "object", "required": ["id"]}'
    put(broker, registry.JsonSchemaSerializer(registry.Registry(server.url), schema), {"id": 7})
    assert kwire("consume", "orders", "--value-as", "jsonschema").lines == ['{"id":7}']


def test_protobuf_is_shown_by_the_registrys_descriptor(broker: Broker, server: RegistryServer, kwire: Kwire) -> None:
    made = registry.ProtobufSerializer(registry.Registry(server.url), CLASSES["Order"])
    put(broker, made, an_order())
    shown = kwire("consume", "orders", "--value-as", "protobuf")
    assert shown.lines == ['{"id":"7","lines":[{"sku":"a"}],"at":"1970-01-01T00:00:05Z"}'], shown.err


def test_filters_see_what_was_read(broker: Broker, server: RegistryServer, kwire: Kwire) -> None:
    put(broker, as_avro(server, ORDER), {"id": 7, "note": "a"}, {"id": 8, "note": "b"})
    for test in ("value.id > `7`", "value~b"):
        assert kwire("consume", "orders", "--value-as", "avro", "--filter", test).lines == ['{"id":8,"note":"b"}']
    refused = kwire("consume", "orders", "--value-as", "avro", "--filter", "value=b")
    assert refused.code == 2
    assert "value.id == `7`" in refused.err


def test_keys_are_shown_by_a_schema(broker: Broker, server: RegistryServer, kwire: Kwire) -> None:
    key = as_avro(server, ORDER)({"id": 7, "note": None}, registry.SerializationContext("orders", "key"))
    put(broker, None, b"x", key=key)
    assert kwire("consume", "orders", "--key-as", "avro", "-f", "%k=%s\n").lines == ['{"id":7,"note":null}=x']


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"plain", "no schema id in front"),
        (b"\0\0\0\0\x63x", "schema 99 is not in the registry"),
        (b"\0\0\0\0\x01\x0e", "Avro"),
    ],
)
def test_what_does_not_fit_ends_the_command_or_is_kept(
    broker: Broker, server: RegistryServer, kwire: Kwire, data: bytes, why: str
) -> None:
    put(broker, as_avro(server, ORDER), {"id": 7, "note": None})
    put(broker, None, data)
    ended = kwire("consume", "orders", "--value-as", "avro")
    assert (ended.code, ended.lines) == (1, ['{"id":7,"note":null}'])
    assert "offset 1: the value does not fit --value-as" in ended.err
    assert why in ended.err
    kept = kwire("consume", "orders", "--value-as", "avro", "--on-error", "keep", "-J")
    assert kept.code == 0
    assert json.loads(kept.lines[1])["value"].keys() == {"base64"}


def test_a_registry_that_is_away_is_named(broker: Broker, server: RegistryServer, kwire: Kwire) -> None:
    put(broker, as_avro(server, ORDER), {"id": 7, "note": None})
    ended = kwire("consume", "orders", "--value-as", "avro", "--registry", "http://127.0.0.1:1", "--on-error", "keep")
    assert ended.code == 1
    assert "http://127.0.0.1:1" in ended.err


def test_settings_of_the_registry_may_stand_beside_the_consumers(
    broker: Broker, server: RegistryServer, kwire: Kwire, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(broker, as_avro(server, ORDER), {"id": 7, "note": None})
    monkeypatch.delenv(VARIABLE)
    given = ("-X", f"schema.registry.url={server.url}", "-X", "basic.auth.user.info=a:b", "-X", "fetch.min.bytes=1")
    assert kwire("consume", "orders", "--value-as", "avro", *given).lines == ['{"id":7,"note":null}']
    assert server.requests[-1][1] == "Basic YTpi"


def test_a_registry_without_a_form_that_asks_it_is_a_usage_error(kwire: Kwire) -> None:
    assert kwire("consume", "orders", "--registry", "http://host").code == 2


def test_files_of_columns_have_the_texts(broker: Broker, server: RegistryServer, kwire: Kwire, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    put(broker, as_avro(server, ORDER), {"id": 7, "note": None})
    path = str(tmp_path / "orders.parquet")
    assert kwire("consume", "orders", "--value-as", "avro", "--output", path).code == 0
    assert parquet.read_table(path)["value"].to_pylist() == ['{"id":7,"note":null}']


# -- produce -------------------------------------------------------------------------------------------------------


@pytest.fixture
def schema(tmp_path: Path) -> Any:
    """Writes a schema into a file, and returns its path."""

    def write(schema: Any) -> str:
        path = tmp_path / "schema.avsc"
        path.write_text(json.dumps(schema))
        return str(path)

    return write


def test_what_consume_prints_is_what_produce_reads(
    broker: Broker, server: RegistryServer, kwire: Kwire, schema: Any
) -> None:
    inner = {**ODD_VALUE, "day": None, "ratio": 0.5}
    put(broker, as_avro(server, ODD), {**ODD_VALUE, "next": inner}, None)
    lines = kwire("consume", "orders", "--value-as", "avro", "-J").out
    sent = kwire("produce", "copy", "--value-as", "avro", "--value-schema", "1", "--format", "json", stdin=lines)
    assert sent.code == 0, sent.err
    before, after = (kwire("consume", topic, "--value-as", "hex").lines for topic in ("orders", "copy"))
    assert len(before) == 2
    assert after == before


def test_lines_of_json_are_values_by_the_latest_schema_of_the_topic(
    broker: Broker, server: RegistryServer, kwire: Kwire, schema: Any
) -> None:
    missing = kwire("produce", "orders", "--value-as", "avro", stdin=b'{"id": 7}\n')
    assert missing.code == 1
    assert "orders-value" in missing.err
    assert "--value-schema" in missing.err
    path = schema(ORDER)
    given = ("produce", "orders", "--value-as", "avro")
    refused = kwire(*given, "--value-schema", path, stdin=b'{"id": 7}\n')
    assert refused.code == 1
    assert "--register makes it a version of orders-value" in refused.err
    assert kwire(*given, "--value-schema", path, "--register", stdin=b'{"id": 7}\n').code == 0
    for named in ((), ("--value-schema", "orders-value:1"), ("--value-schema", path)):
        assert kwire(*given, *named, stdin=b'{"id": 7}\n').code == 0
    assert kwire("consume", "orders", "--value-as", "avro").lines == ['{"id":7,"note":null}'] * 4


def test_keys_are_written_by_a_schema(broker: Broker, server: RegistryServer, kwire: Kwire, schema: Any) -> None:
    given = ("--key-as", "avro", "--key-schema", schema({"type": "string"}), "--register", "-K", "=")
    assert kwire("produce", "orders", *given, stdin=b'"k"=v\n').code == 0
    assert kwire("consume", "orders", "--key-as", "avro", "-f", "%k=%s\\n").lines == ['"k"=v']


def test_json_is_checked_by_its_schema(broker: Broker, server: RegistryServer, kwire: Kwire, schema: Any) -> None:
    path = schema({"type": "object", "properties": {"id": {"type": "integer"}}})
    given = ("produce", "orders", "--value-as", "jsonschema", "--value-schema", path, "--register")
    outcome = kwire(*given, stdin=b'{"id": 7}\n{"id": "x"}\n')
    assert outcome.code == 1
    assert "standard input, line 2: $.id: 'x' is not of type 'integer'" in outcome.err
    assert kwire("consume", "orders", "--value-as", "jsonschema").lines == ['{"id":7}']


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"price": "x"}, "price: "),
        ({"raw": 5}, "raw: a text is expected, not 5"),
        ({"hash": "abc"}, "hash: 2 bytes are expected, not 3"),
        ({"at": "noon"}, 'at: "noon" is no time in ISO 8601'),
        ({"day": 1 << 40}, "day: 1099511627776 does not fit into 32 bits"),
        ({"ratio": "x"}, 'ratio: a number is expected, not "x"'),
        ({"colour": "PINK"}, 'colour: one of RED, BLUE is expected, not "PINK"'),
        ({"sizes": {"x": ["", 7]}}, "sizes.x[1]: a text is expected, not 7"),
        ({"next": {"raw": ""}}, "next.hash: it is missing, and has no default"),
        ({"colours": 1}, "colours (did you mean colour?) is no field of the schema"),
    ],
)
def test_a_fault_is_told_with_file_line_and_field(
    broker: Broker, server: RegistryServer, kwire: Kwire, schema: Any, tmp_path: Path, change: Any, said: str
) -> None:
    good = {
        **ODD_VALUE,
        "raw": "",
        "hash": "ab",
        "price": "1",
        "at": 5,
        "day": None,
        "hour": 1,
        "ratio": 1,
        "sizes": {},
    }
    path = tmp_path / "values.json"
    path.write_text(f"{json.dumps(good)}\n{json.dumps({**good, **change})}\n")
    given = ("--value-as", "avro", "--value-schema", schema(ODD), "--register")
    outcome = kwire("produce", "orders", *given, str(path))
    assert outcome.code == 1
    assert f"{path}, line 2: {said}" in outcome.err


def test_options_of_schemas_that_do_not_fit_are_usage_errors(kwire: Kwire) -> None:
    for given in (
        ("--value-as", "protobuf"),
        ("--value-schema", "1"),
        ("--register",),
        ("--registry", "http://host"),
        ("--value-as", "avro", "--own-topics"),
    ):
        assert kwire("produce", "orders", *given).code == 2, given
