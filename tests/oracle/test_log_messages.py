"""Messages of Kafka's own topics, of control records and of group members against Kafka's own generated classes.

As for the messages of the protocol: Kafka draws a message from its schema, and kwire must read and write the same.
"""

import importlib
from typing import Any

import pytest

from kwire import protocol
from kwire.schema import logs
from kwire.schema.logs.base import MetadataRecord, RecordKey
from tests.oracle import messages
from tests.oracle.comparing import assert_message_agrees
from tests.oracle.driver import Oracle, to_base64
from tests.schema.messages.typical import typical

_GROUP = "org.apache.kafka.coordinator.group.generated."
_CLIENTS = "org.apache.kafka.common.message."
_METADATA = "org.apache.kafka.common.metadata."
_PACKAGES = {
    "control_records": _CLIENTS,
    "group_blobs": _CLIENTS,
    "logs.consumer_groups": _GROUP,
    "logs.consumer_offsets": _GROUP,
    "logs.metadata_nodes": _METADATA,
    "logs.metadata_settings": _METADATA,
    "logs.metadata_topics": _METADATA,
    "logs.remote_log_metadata": "org.apache.kafka.server.log.remote.metadata.storage.generated.",
    "logs.share_groups": _GROUP,
    "logs.share_state": "org.apache.kafka.coordinator.share.generated.",
    "logs.streams_groups": _GROUP,
    "logs.transaction_state": "org.apache.kafka.coordinator.transaction.generated.",
}
_ONLY_BEFORE_4_1 = frozenset({"ShareGroupPartitionMetadataKey", "ShareGroupPartitionMetadataValue"})
# Written by assignors and by Connect, with schemas of their own.
_NOT_GENERATED = {
    *("StickyAssignorUserData", "CooperativeStickyAssignorUserData"),
    *("ConnectWorkerState", "ConnectAssignment"),
}
# Not in 3.9, or there in the layout of an early access.
_NOT_AS_IN_3_9 = (
    *("ClearElr", "ConsumerGroupRegularExpression", "ControlRecordTypeSchema", "EndTxnMarker", "Legacy", "Streams"),
    *("ShareGroupCurrent", "ShareGroupMetadataValue", "ShareGroupPartitionMetadataValue", "ShareGroupState"),
    *("ShareGroupTarget", "ShareSnapshot", "ShareUpdate", "UnregisterController", "RemoteLogSegmentMetadataSnapshot"),
)
# Its schema lacks the byte that says whether a struct is there, so that nothing can be drawn from it.
_NOT_DRAWN = {"ConsumerGroupMemberMetadataValue"}
_SEEDS = range(6)


def _messages(also: frozenset[str] = frozenset()) -> list[Any]:
    found = []
    for room, package in _PACKAGES.items():
        module = importlib.import_module(f"kwire.schema.{room}")
        classes = [getattr(module, name) for name in module.__all__]
        found += [
            pytest.param(cls, package, id=cls.__name__)
            for cls in classes
            if hasattr(cls, "__versions__") and cls.__name__ not in (_ONLY_BEFORE_4_1 - also) | _NOT_GENERATED
        ]
    return found


@pytest.mark.parametrize(("cls", "package"), _messages())
def test_every_version(oracle: Oracle, cls: Any, package: str) -> None:
    name = package + cls.__name__
    assert messages.versions(oracle, name) == cls.__versions__
    for version in cls.__versions__:
        for nulls in (False, True):
            data = typical(cls, version, with_nulls=nulls).encode(version)
            json = messages.to_json(oracle, name, version, data)
            assert messages.to_bytes(oracle, name, version, json) == data
            assert_message_agrees(cls, version, data, json, f"{name} v{version}, nulls {nulls}")
        for seed in _SEEDS if cls.__name__ not in _NOT_DRAWN else ():
            drawn = messages.random_message(oracle, name, version, seed)
            assert_message_agrees(cls, version, drawn.data, drawn.json, f"{name} v{version} seed {seed}")


@pytest.mark.parametrize(("cls", "package"), _messages())
def test_the_default_is_kafkas(oracle: Oracle, cls: Any, package: str) -> None:
    """Bytes of a message with nothing set: what is not written is what Kafka would not write."""
    for version in cls.__versions__:
        data = cls().encode(version)
        json = messages.to_json(oracle, package + cls.__name__, version, data)
        assert messages.to_bytes(oracle, package + cls.__name__, version, json) == data


def test_every_room_of_the_logs_is_compared() -> None:
    assert {f"logs.{room}" for room in logs.ROOMS} <= set(_PACKAGES)


def _log_classes(base: type[Any]) -> list[Any]:
    rooms = [importlib.import_module(f"kwire.schema.logs.{room}") for room in logs.ROOMS]
    classes = [getattr(room, name) for room in rooms for name in room.__all__]
    found = [cls for cls in classes if isinstance(cls, type) and issubclass(cls, base)]
    return [pytest.param(cls, id=cls.__name__) for cls in found if cls.__name__ not in _ONLY_BEFORE_4_1]


_COORDINATORS = {
    "share_state": ("org.apache.kafka.coordinator.share.ShareCoordinatorRecordSerde", "__share_group_state"),
    "transaction_state": (
        "org.apache.kafka.coordinator.transaction.TransactionCoordinatorRecordSerde",
        "__transaction_state",
    ),
}
_GROUP_COORDINATOR = ("org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde", "__consumer_offsets")


@pytest.mark.parametrize("cls", _log_classes(RecordKey))
def test_coordinators_read_what_kwire_puts_into_their_logs(oracle: Oracle, cls: Any) -> None:
    serde, topic = _COORDINATORS.get(cls.__module__.rpartition(".")[2], _GROUP_COORDINATOR)
    value_class = getattr(logs, cls.__name__.removesuffix("Key") + "Value")
    key = typical(cls, 0).to_log()
    for version in value_class.__versions__:
        value = typical(value_class, version).to_log(version)
        read = oracle.ask("log-record", serde=serde, key=to_base64(key), value=to_base64(value))
        assert read == {"key": cls.__name__, "value": value_class.__name__, "version": version}
        ours = protocol.decode_log_record(topic, key, value)
        assert ours is not None
        assert ours.key is not None
        assert ours.value is not None
        assert (ours.key.name, ours.value.name, ours.value.version) == (cls.__name__, value_class.__name__, version)
        assert (ours.key.message, ours.value.message) == (typical(cls, 0), typical(value_class, version))
        assert (ours.key.end, ours.value.end) == (len(key), len(value))


@pytest.mark.parametrize("cls", _log_classes(MetadataRecord))
def test_controllers_read_what_kwire_puts_into_their_log(oracle: Oracle, cls: Any) -> None:
    remote = cls.__module__.endswith("remote_log_metadata")
    for version in cls.__versions__:
        value = typical(cls, version).to_log(version)
        if not remote:
            read = oracle.ask(
                "log-record", serde="org.apache.kafka.metadata.MetadataRecordSerde", value=to_base64(value)
            )
            assert read == {"value": cls.__name__, "version": version}
        ours = protocol.decode_log_record("__remote_log_metadata" if remote else "__cluster_metadata", None, value)
        assert ours is not None
        assert ours.value is not None
        assert (ours.value.message, ours.value.version) == (typical(cls, version), version)
        assert ours.value.end == len(value)


def _in_old() -> list[Any]:
    cases = _messages(also=_ONLY_BEFORE_4_1)
    return [case for case in cases if not case.values[0].__name__.startswith(_NOT_AS_IN_3_9)]


@pytest.mark.parametrize(("cls", "package"), _in_old())
def test_what_3_9_wrote(old_oracle: Oracle, cls: Any, package: str) -> None:
    """There the version of a coordinator's key is its type."""
    name = package + cls.__name__
    for version in messages.versions(old_oracle, name):
        ours = 0 if issubclass(cls, RecordKey) else version
        for seed in _SEEDS if cls.__name__ not in _NOT_DRAWN else ():
            drawn = messages.random_message(old_oracle, name, version, seed)
            assert_message_agrees(cls, ours, drawn.data, drawn.json, f"{name} v{version} seed {seed}")
        if issubclass(cls, RecordKey):
            assert version in (cls.__api_key__, 0)
