"""Every key and version of the newest releases is there, with its name, tagged versions, files and secrets; no more."""

from __future__ import annotations

import inspect
import sys

import pytest

from kwire import protocol
from kwire.schema.headers import request_header_version, response_header_version
from kwire.schema.messages import Message, Struct
from tests.each import each
from tests.schema.apache_versions import ROWS, UNSTABLE, Row


def _structs(cls: type[Struct]) -> list[type[Struct]]:
    """A message and all that it nests."""
    inner = [field.struct for field in cls.__fields__ if field.struct is not None]
    return [cls, *(found for struct in inner for found in _structs(struct))]


@each("row", ROWS.values())
def test_every_version_is_there(row: Row) -> None:
    api = protocol.APIS[row.key]
    assert (api.key, api.name) == (row.key, row.name)
    for message in (api.request, api.response):
        assert message.__versions__ == row.known
        for version in row.known:
            assert message.__flexible__.has(version) == row.flexible.has(version)
            assert message.plan(version).version == version


def test_the_newest_release_has_618_pairs() -> None:
    assert sum(row.newest.last - row.newest.first + 1 for row in ROWS.values()) == 309
    assert sum(row.newest.last >= 0 for row in ROWS.values()) == 91
    assert list(ROWS) == list(range(95))


@each("row", ROWS.values())
def test_every_file_tells_purpose_versions_and_source(row: Row) -> None:
    api = protocol.APIS[row.key]
    text = " ".join((sys.modules[api.request.__module__].__doc__ or "").split())
    known = f"versions {row.known[0]}-{row.known[-1]}" if len(row.known) > 1 else f"version {row.known[0]}"
    assert text.startswith(f"{row.name} (key {row.key}), {known}: ")
    assert "Source: " in text or "Sources: " in text
    for version in row.known[1:]:
        assert f" v{version} " in text, f"what v{version} changes"
    for message in (api.request, api.response):
        assert message.__doc__
    if row.key in UNSTABLE:
        assert "not stable" in text


@each("row", ROWS.values())
def test_types_name_each_message(row: Row) -> None:
    for message in (protocol.APIS[row.key].request, protocol.APIS[row.key].response):
        assert getattr(protocol, message.__name__) is message
        assert message.__name__ in protocol.__all__
        for struct in _structs(message):
            found: object = sys.modules[struct.__module__]
            for part in struct.__qualname__.split("."):
                found = getattr(found, part)
            assert found is struct
            assert set(inspect.get_annotations(struct)) - set(struct.__renamed__) == {
                field.name for field in struct.__fields__
            }


def test_header_versions_of_old_messages() -> None:
    shutdown = protocol.APIS["ControlledShutdown"]
    assert [request_header_version(7, version, shutdown.flexible) for version in shutdown.versions] == [0, 1, 1, 2]
    assert [response_header_version(7, version, shutdown.flexible) for version in shutdown.versions] == [0, 0, 0, 1]


def test_controlled_shutdown_of_0_8_has_no_client_id() -> None:
    frame = protocol.encode_request(protocol.ControlledShutdownRequest(broker_id=5), 0, correlation_id=9)
    assert frame == bytes.fromhex("0000000c 0007 0000 00000009 00000005")
    header, message = protocol.decode_request(frame)
    assert (header.correlation_id, message) == (9, protocol.ControlledShutdownRequest(broker_id=5))


SECRETS = {
    "AlterConfigsRequest": {"value"},
    "IncrementalAlterConfigsRequest": {"value"},
    "AlterUserScramCredentialsRequest": {"salted_password"},
    "CreateDelegationTokenResponse": {"hmac"},
    "RenewDelegationTokenRequest": {"hmac"},
    "ExpireDelegationTokenRequest": {"hmac"},
    "DescribeDelegationTokenResponse": {"hmac"},
    "SaslAuthenticateRequest": {"auth_bytes"},
    "SaslAuthenticateResponse": {"auth_bytes"},
    "EnvelopeRequest": {"request_data"},
    "EnvelopeResponse": {"response_data"},
}


def test_secrets_are_marked() -> None:
    found: dict[str, set[str]] = {}
    for api in protocol.APIS.values():
        for message in (api.request, api.response):
            for struct in _structs(message):
                names = {field.name for field in struct.__fields__ if field.secret}
                if names:
                    found.setdefault(message.__name__, set()).update(names)
    assert found == SECRETS


def _planted(cls: type[Struct]) -> Struct:
    """An instance with "planted" in every secret field, one of each nested struct."""
    values = {}
    for field in cls.__fields__:
        if field.secret:
            values[field.name] = b"planted" if field.kind == "bytes" else "planted"
        elif field.struct is not None:
            inner = _planted(field.struct)
            values[field.name] = [inner] if field.kind == "array" else inner
    return cls(**values)


@pytest.mark.parametrize("name", SECRETS)
def test_secrets_are_not_shown(name: str) -> None:
    cls: type[Message] = getattr(protocol, name)
    message = _planted(cls)
    assert "planted" in str(message.to_dict())
    assert "planted" not in repr(message)
    assert "<secret>" in repr(message)


def test_older_names_of_fields_still_work() -> None:
    commit = protocol.TxnOffsetCommitRequest(generation_id=7)
    assert commit.generation_id_or_member_epoch == commit.generation_id == 7
    commit.generation_id = 8
    assert commit == protocol.TxnOffsetCommitRequest(generation_id_or_member_epoch=8)
    assert protocol.TxnOffsetCommitRequest.from_dict({"generation_id": 8}) == commit
    assert "generation_id" not in commit.to_dict()
    assert protocol.TxnOffsetCommitRequest.decode(commit.encode(3), 3).generation_id == 8
    vote = protocol.VoteRequest.TopicData.PartitionData(candidate_id=3, candidate_epoch=4)
    assert (vote.replica_id, vote.replica_epoch) == (3, 4)
    names = protocol.ListConfigResourcesResponse.ConfigResource(resource_name="r")
    answer = protocol.ListConfigResourcesResponse(client_metrics_resources=[names])
    assert list(answer.config_resources) == [names]
    with pytest.raises(TypeError, match="generation_id is the older name of generation_id_or_member_epoch; give one"):
        protocol.TxnOffsetCommitRequest(generation_id=1, generation_id_or_member_epoch=1)
    with pytest.raises(TypeError, match="has no field nonsense"):
        protocol.TxnOffsetCommitRequest(nonsense=1)  # type: ignore[call-arg]
