"""`kwire registry` against a registry on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from kwire.cli.registry_settings import VARIABLE
from tests.cli.conftest import Kwire
from tests.registry.server import RegistryServer, serving

ORDER = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
WIDER = {**ORDER, "fields": [*ORDER["fields"], {"name": "note", "type": "string", "default": ""}]}
OTHER = {**ORDER, "fields": [{"name": "total", "type": "double"}]}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[RegistryServer]:
    """A registry that the environment names."""
    with serving() as found:
        monkeypatch.setenv(VARIABLE, found.url)
        yield found


@pytest.fixture
def schema(tmp_path: Path) -> Any:
    """Writes a schema into a file, and returns its path."""

    def write(schema: Any, name: str = "order.avsc") -> str:
        path = tmp_path / name
        path.write_text(schema if isinstance(schema, str) else json.dumps(schema))
        return str(path)

    return write


def rows(kwire: Kwire, *arguments: str) -> list[Any]:
    outcome = kwire("registry", *arguments, "--json")
    assert outcome.code == 0, outcome.err
    return [json.loads(line) for line in outcome.lines]


def test_a_schema_is_registered_listed_and_shown(server: RegistryServer, kwire: Kwire, schema: Any) -> None:
    assert rows(kwire, "register", "orders-value", schema(ORDER)) == [{"subject": "orders-value", "id": 1}]
    assert rows(kwire, "register", "orders-value", schema(WIDER)) == [{"subject": "orders-value", "id": 2}]
    assert rows(kwire) == [{"subject": "orders-value"}]
    assert rows(kwire, "list", "other") == []
    assert rows(kwire, "versions", "orders-value") == [{"version": 1}, {"version": 2}]
    (found,) = rows(kwire, "describe", "orders-value:1")
    assert (found["version"], found["id"], found["type"], found["references"]) == (1, 1, "avro", None)
    assert json.loads(found["schema"]) == ORDER
    assert json.loads(kwire("registry", "get", "2").out) == WIDER
    assert json.loads(kwire("registry", "get", found["guid"]).out) == ORDER
    table = kwire("registry", "describe", "orders-value").out.decode()
    assert "orders-value" in table
    assert '  "name": "Order"' in table


def test_the_name_of_the_file_says_the_type_and_references_go_along(
    server: RegistryServer, kwire: Kwire, schema: Any
) -> None:
    rows(kwire, "register", "customer.proto", schema('syntax = "proto3"; message Customer {}', "customer.proto"))
    order = schema('syntax = "proto3"; import "customer.proto"; message Order {}', "order.proto")
    rows(kwire, "register", "orders-value", order, "--reference", "customer.proto=customer.proto:1")
    (found,) = rows(kwire, "describe", "orders-value")
    assert (found["type"], found["references"]) == ("protobuf", ["customer.proto=customer.proto:1"])
    rows(kwire, "register", "json-value", schema({"type": "object"}), "--type", "json")
    assert rows(kwire, "describe", "json-value")[0]["type"] == "json"


def test_a_wrong_reference_is_a_usage_error(server: RegistryServer, kwire: Kwire, schema: Any) -> None:
    outcome = kwire("registry", "register", "s", schema(ORDER), "--reference", "customer.proto:1")
    assert outcome.code == 2
    assert "write NAME=SUBJECT:VERSION" in outcome.err


def test_check_says_why_a_subject_would_not_take_a_schema(server: RegistryServer, kwire: Kwire, schema: Any) -> None:
    rows(kwire, "register", "orders-value", schema(ORDER))
    assert kwire("registry", "check", "orders-value", schema(WIDER)).code == 0
    outcome = kwire("registry", "check", "orders-value", schema(OTHER))
    assert outcome.code == 1
    assert "would not take it (BACKWARD): the reader's schema lacks a default" in outcome.err


def test_check_compares_with_all_versions_where_the_compatibility_is_transitive(
    server: RegistryServer, kwire: Kwire, schema: Any
) -> None:
    rows(kwire, "register", "s", schema(ORDER))
    rows(kwire, "set", "s", "compatibility=full_transitive")
    assert kwire("registry", "check", "s", schema(WIDER)).code == 0
    assert "POST /compatibility/subjects/s/versions?verbose=true" in server.asked


def test_compatibility_is_shown_and_set(server: RegistryServer, kwire: Kwire) -> None:
    assert rows(kwire, "config") == [{"subject": None, "compatibility": "BACKWARD"}]
    assert rows(kwire, "set", "s", "compatibility=none") == [{"subject": "s", "compatibility": "NONE"}]
    assert rows(kwire, "config", "s") == [{"subject": "s", "compatibility": "NONE"}]
    assert rows(kwire, "set", "compatibility=FULL") == [{"subject": None, "compatibility": "FULL"}]
    assert kwire("registry", "set", "s", "level=FULL").code == 2
    refused = kwire("registry", "set", "s", "compatibility=WEIRD")
    assert refused.code == 1
    assert server.url in refused.err


def test_subjects_and_versions_are_deleted_and_for_good(server: RegistryServer, kwire: Kwire, schema: Any) -> None:
    for each in (ORDER, WIDER):
        rows(kwire, "register", "s", schema(each))
    assert kwire("registry", "delete", "s").code == 2, "nobody can be asked"
    assert rows(kwire, "delete", "s:1", "--yes") == [{"subject": "s:1", "error": None}]
    assert rows(kwire, "versions", "s", "--deleted") == [
        {"version": 1, "deleted": True},
        {"version": 2, "deleted": False},
    ]
    rows(kwire, "delete", "s", "--yes")
    assert rows(kwire, "list") == []
    assert rows(kwire, "list", "--deleted") == [{"subject": "s", "deleted": True}]
    rows(kwire, "delete", "s", "--permanent", "--yes")
    assert rows(kwire, "list", "--deleted") == []


def test_a_subject_that_is_not_there_fails_alone(server: RegistryServer, kwire: Kwire, schema: Any) -> None:
    rows(kwire, "register", "s", schema(ORDER))
    outcome = kwire("registry", "delete", "s", "none", "--yes")
    assert outcome.code == 3
    assert f"the subject none is not in the registry {server.url}" in outcome.err


def test_the_address_and_the_login_of_a_file_and_no_password_is_shown(
    server: RegistryServer, kwire: Kwire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE)
    config = tmp_path / "client.properties"
    config.write_text(
        f"bootstrap.servers=broker:9092\nschema.registry.url={server.url}\nbasic.auth.user.info=alice:wonderland\n"
    )
    config.chmod(0o600)
    assert kwire("registry", "--config", str(config)).code == 0
    assert server.requests[-1][1] == "Basic YWxpY2U6d29uZGVybGFuZA=="
    kwire(
        "registry", "--config", str(config), "-X", "schema.registry.bearer.auth.token=t", "-X", "basic.auth.user.info="
    )
    assert server.requests[-1][1] == "Bearer t"
    server.answers["/subjects"] = (403, {"message": "alice:wonderland may not"})
    refused = kwire("registry", "--config", str(config))
    assert refused.code == 1
    assert server.url in refused.err
    assert "may not" in refused.err
    assert "wonderland" not in refused.err


def test_sasl_inherit_takes_the_login_of_the_brokers(server: RegistryServer, kwire: Kwire) -> None:
    given = ("basic.auth.credentials.source=SASL_INHERIT", "sasl.username=alice", "sasl.password=wonderland")
    assert kwire("registry", *(word for each in given for word in ("-X", each))).code == 0
    assert server.requests[-1][1] == "Basic YWxpY2U6d29uZGVybGFuZA=="


def test_a_setting_that_no_registry_has_is_a_usage_error(server: RegistryServer, kwire: Kwire) -> None:
    for name, text in (("linger.ms", "is no setting of a schema registry"), ("schema.registry.colour", "unknown")):
        outcome = kwire("registry", "-X", f"{name}=1")
        assert outcome.code == 2
        assert f"'{name}'" in outcome.err
        assert text in outcome.err


def test_settings_mean_what_they_do_in_a_mapping_of_a_program(server: RegistryServer, kwire: Kwire) -> None:
    assert kwire("registry", "-X", "schema.registry.bearer.auth.logical.cluster=lsrc-1").code == 0
    refused = kwire("registry", "-X", "bearer.auth.credentials.source=OAUTHBEARER")
    assert refused.code == 2
    assert "bearer.auth.client.secret" in refused.err
    assert kwire("registry", "-X", "schema.registry.request.timeout.ms=soon").code == 2


def test_a_registry_that_is_silent_is_given_up_within_the_timeout(server: RegistryServer, kwire: Kwire) -> None:
    server.pause_s = 2
    begun = monotonic()
    outcome = kwire("registry", "--timeout", "0.3")
    assert outcome.code == 1
    assert server.url in outcome.err
    assert monotonic() - begun < 1.9


def test_another_url_is_asked_where_one_does_not_answer(server: RegistryServer, kwire: Kwire) -> None:
    outcome = kwire("registry", "--registry", "http://127.0.0.1:1", "--registry", server.url)
    assert outcome.code == 0, outcome.err
    assert kwire("registry", "--registry", "ftp://alice:wonderland@host").code == 2


def test_a_profile_names_the_registry_and_its_password_is_not_shown(
    server: RegistryServer, kwire: Kwire, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    path = tmp_path / "kwire" / "config.toml"
    path.parent.mkdir()
    path.write_text(f'[lab]\nschema.registry.url = "{server.url}"\nbasic.auth.user.info = "alice:wonderland"\n')
    path.chmod(0o600)
    assert kwire("registry", "--profile", "lab").code == 0
    assert server.requests[-1][1] == "Basic YWxpY2U6d29uZGVybGFuZA=="
    shown = kwire("config", "show", "lab")
    assert server.url in shown.out.decode()
    assert "wonderland" not in shown.out.decode()
