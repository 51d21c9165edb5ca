"""Error codes of every release of the matrix, and the types and states in logs, against Kafka's own classes."""

import pytest

from kwire.errors import broker, history
from kwire.schema.control_records import CONTROL_RECORD_TYPES
from kwire.schema.logs import lookup
from kwire.schema.logs.transaction_state import TRANSACTION_STATES
from tests.brokers import EVERY_RUN, RELEASES
from tests.oracle.constants import Constant, constants

_ERRORS = "org.apache.kafka.common.protocol.Errors"
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
_VERSIONS = sorted({release.number for release in RELEASES})
_EVERY_RUN = {release.number for release in RELEASES if release.name in EVERY_RUN}
_NAMES = {release.number: release.name for release in RELEASES}
# The enum of 0.9.0 lacks it, its brokers (ErrorMapping) and the next release have it.
_LATE_IN_THE_ENUM = {4}


def _releases() -> list[object]:
    """Those of every run; the others with the long matrix."""
    marks = {number: () if number in _EVERY_RUN else pytest.mark.kafka_all for number in _VERSIONS}
    return [pytest.param(_NAMES[number], marks=marks[number], id=".".join(map(str, number))) for number in _VERSIONS]


@pytest.mark.kafka
@pytest.mark.parametrize("release", _releases())
def test_error_codes(release: str) -> None:
    version = release.partition("-")[0]
    ours = history.codes_of(version)
    if version.startswith("0.8"):
        (theirs,) = constants(release, _MAPPING).values()
        assert {row.number: row.name for row in theirs} == {code: row.name for code, row in ours.items()}
        return
    (theirs,) = constants(release, _ERRORS).values()
    known = [Constant(code, row.name, row.retriable) for code, row in ours.items()]
    if version == "0.9.0.1":
        known = [row for row in known if row.number not in _LATE_IN_THE_ENUM]
    assert [row[:3] for row in sorted(theirs)] == [row[:3] for row in known]
    if version == "4.4.0":
        stale = {row.number for row in theirs if row.stale_metadata}
        assert stale == {code for code in ours if broker.by_code(code).stale_metadata}


@pytest.mark.kafka
def test_types_and_states_of_logs() -> None:
    found = constants("4.4.0", _CONTROL, _STATES, *_TYPES)
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
