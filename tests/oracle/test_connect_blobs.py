"""What workers of Kafka Connect hand out, as Connect's own classes write it."""

import subprocess

import pytest

from kwire import protocol
from kwire.protocol import group_blobs
from tests.brokers import find_release
from tests.brokers.maven import resolve_tools
from tests.oracle.compiling import program

_ORDERS = group_blobs.ConnectAssignment.ConnectorAssignment(connector="orders", tasks=[-1, 0, 3])
_GONE = group_blobs.ConnectAssignment.ConnectorAssignment(connector="gone", tasks=[-1, 1])


def _expected_assignment(version: int) -> group_blobs.ConnectAssignment:
    made = group_blobs.ConnectAssignment(
        leader="leader-1", leader_url="http://leader:8083/", config_offset=9, assignment=[_ORDERS]
    )
    if version == 0:
        made.error = 1
    else:
        made.revoked, made.delay = [_GONE], 60_000
    return made


@pytest.mark.kafka
def test_every_version() -> None:
    jars = resolve_tools(find_release("4.4.0"))
    run = subprocess.run(program("ConnectBlobs", jars), capture_output=True, text=True, timeout=120, check=True)
    rows = [line.split("\t") for line in run.stdout.splitlines()]
    assert [(kind, int(version)) for kind, version, _ in rows] == [
        *(("metadata", 0), ("assignment", 0)),
        *(("assignment", 1), ("metadata", 1), ("metadata", 1)),
        *(("assignment", 2), ("metadata", 2), ("metadata", 2)),
    ]
    for kind, version, text in rows:
        data = bytes.fromhex(text)
        decode = protocol.decode_member_metadata if kind == "metadata" else protocol.decode_member_assignment
        found = decode(data, protocol_type="connect")
        assert found is not None
        assert (found.version, found.end) == (int(version), len(data))
        if kind == "assignment":
            assert found.message == _expected_assignment(int(version))
        else:
            _assert_state(found.message, int(version))
        assert found.message.to_blob(int(version)) == data


def _assert_state(state: object, version: int) -> None:
    assert isinstance(state, group_blobs.ConnectWorkerState)
    assert (state.url, state.config_offset) == ("http://größe:8083/", 7)
    if state.allocation is not None:
        held = protocol.decode_member_assignment(state.allocation, protocol_type="connect")
        assert held is not None
        assert held.message == _expected_assignment(version)
