"""Error codes of every release of the matrix, and the types and states in logs, against Kafka's own classes."""

import pytest

from kwire import protocol
from kwire.errors import broker, history
from kwire.schema.control_records import CONTROL_RECORD_TYPES
from kwire.schema.logs import lookup
from kwire.schema.logs.transaction_state import TRANSACTION_STATES
from tests.brokers import EVERY_RUN, RELEASES, find_release
from tests.brokers.maven import resolve_clients, resolve_release
from tests.oracle.constants import Constant, constants

_ERRORS = "org.apache.kafka.common.protocol.Errors"
_APIS = "org.apache.kafka.common.protocol.ApiKeys"
_MAPPING = "kafka.common.ErrorMapping$"
_CONTROL = "org.apache.kafka.common.record.internal.ControlRecordType"
_STATES = "org.apache.kafka.coordinator.transaction.TransactionState"
_TYPES = {
    "org.apache.kafka.coordinator.group.generated.CoordinatorRecordType": lookup._GROUPS,
    "org.apache.kafka.coordinator.transaction.generated.CoordinatorRecordType": lookup._TRANSACTIONS,
    "org.apache.kafka.coordinator.share.generated.CoordinatorRecordType": lookup._SHARES,
    "org.apache.kafka.common.metadata.MetadataRecordType": lookup._METADATA,
    "org.apache.kafka.server.log.remote.metadata.storage.generated.MetadataRecordType": lookup._REMOTE_LOG,
}
# The enum of 0.9.0 lacks it, its brokers (ErrorMapping) and the next release have it.
_LATE_IN_THE_ENUM = {4}
_NOT_IN_THE_MATRIX = (
    *("0.10.1.1", "1.0.2", "2.0.1", "2.2.2", "2.3.1", "2.5.1", "2.6.3", "2.7.2"),
    *("3.1.2", "3.2.3", "3.3.2", "3.4.1", "3.6.2", "3.7.2", "3.8.1"),
)
# In 2.7 the messages of KRaft were there, but no listener took them.
_NOT_SERVED = {"2.7.2": {52, 53, 54, 55}}


def _releases() -> list[object]:
    """Those of every run; the others, once each, with the long matrix."""
    once = {release.version: release.name for release in RELEASES}
    return [
        pytest.param(name, marks=() if name in EVERY_RUN else pytest.mark.kafka_all, id=version)
        for version, name in once.items()
    ]


@pytest.mark.kafka
@pytest.mark.parametrize("name", _releases())
def test_error_codes(name: str) -> None:
    release = find_release(name)
    jars = resolve_release(release)
    if release.number < (0, 9):
        (theirs,) = constants(jars, _MAPPING).values()
        ours = history.codes_of(release.version)
        assert {row.number: row.name for row in theirs} == {code: row.name for code, row in ours.items()}
    else:
        _assert_errors_agree(release.version, constants(jars, _ERRORS)[_ERRORS])


def _assert_errors_agree(version: str, theirs: list[Constant]) -> None:
    ours = history.codes_of(version)
    late = _LATE_IN_THE_ENUM if version == "0.9.0.1" else set()
    assert {row.number: (row.name, row.more[0] == "true") for row in theirs} == {
        code: (row.name, row.retriable) for code, row in ours.items() if code not in late
    }
    if version == "4.4.0":
        stale = {row.number for row in theirs if row.more[1] == "true"}
        assert stale == {code for code in ours if broker.by_code(code).stale_metadata}


@pytest.mark.kafka
@pytest.mark.kafka_all
@pytest.mark.parametrize("version", _NOT_IN_THE_MATRIX)
def test_releases_of_which_no_broker_is_started(version: str) -> None:
    jars = resolve_clients(version)
    _assert_errors_agree(version, constants(jars, _ERRORS)[_ERRORS])
    if version != "0.10.1.1":  # its versions are in a table of schemas, not in the enum
        rows = [(row.number, *map(int, row.more)) for row in constants(jars, _APIS)[_APIS]]
        served = {key: (least, most) for key, least, most in rows if 0 <= least <= most}
        unserved = _NOT_SERVED.get(version, set())
        assert {key: span for key, span in served.items() if key not in unserved} == protocol.versions_of(version)


@pytest.mark.kafka
def test_types_and_states_of_logs() -> None:
    found = constants(resolve_release(find_release("4.4.0")), _CONTROL, _STATES, *_TYPES)
    assert {row.number: row.name for row in found[_CONTROL] if row.number >= 0} == {
        number: kind.name for number, kind in CONTROL_RECORD_TYPES.items()
    }
    states = {row.number: row.name.replace("_", "") for row in found[_STATES]}
    assert states == {number: name.upper() for number, name in TRANSACTION_STATES.items()}
    for name, types in _TYPES.items():
        theirs = {row.number: row.name.replace("_", "") for row in found[name]}
        ours = {number: message.upper() for number, (_, message) in types.items()}
        if "coordinator.group" in name:
            assert ours.pop(9) == "SHAREGROUPPARTITIONMETADATA"
        if "etadataRecordType" in name:
            theirs = {number: constant.removesuffix("RECORD") for number, constant in theirs.items()}
        assert theirs == ours
