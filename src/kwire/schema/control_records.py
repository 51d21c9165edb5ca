"""What stands in a control batch: a marker that ends a transaction, or news of the KRaft quorum.

    key     version int16, then ControlRecordTypeSchema; more bytes may follow and are ignored
    value   a marker: version int16, then EndTxnMarker; the quorum's: a message with the version as its first field

A reader takes a newer version of key and marker for the newest that it knows. 4.4.0 writes version 0 of everything
here.

Sources: KIP-98 (markers of transactions), KIP-595, KIP-630, KIP-853 (the quorum's); Apache's definitions of 4.4.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire._typing import NamedTuple
from kwire.schema.fields import NO_UUID, array, i16, i32, i64, string, struct, u16, uuid
from kwire.schema.messages import Message, Struct

__all__ = [
    "CONTROL_RECORD_TYPES",
    "ControlRecordType",
    "ControlRecordTypeSchema",
    "EndTxnMarker",
    "KRaftVersionRecord",
    "LeaderChangeMessage",
    "SnapshotFooterRecord",
    "SnapshotHeaderRecord",
    "VotersRecord",
]


class ControlRecordTypeSchema(Message, versions="0"):
    """What kind of control record this is, see `CONTROL_RECORD_TYPES`."""

    type: int = i16("0+", default=0)


class EndTxnMarker(Message, versions="0"):
    """Ends the transaction of the batch's producer: written by the transaction coordinator, type ABORT or COMMIT."""

    coordinator_epoch: int = i32("0+", default=0)


class LeaderChangeMessage(Message, versions="0-1", flexible="0+"):
    """The leader of the quorum since this offset: the first record of an epoch."""

    class Voter(Struct):
        voter_id: int = i32("0+", default=0)
        voter_directory_id: UUID = uuid("1+", default=NO_UUID)

    version: int = i16("0+", default=0)
    leader_id: int = i32("0+", default=0)
    voters: Sequence[Voter] = array(Voter, "0+", default=())
    granting_voters: Sequence[Voter] = array(Voter, "0+", default=())


class SnapshotHeaderRecord(Message, versions="0", flexible="0+"):
    """Opens a snapshot: up to when it tells the log."""

    version: int = i16("0+", default=0)
    last_contained_log_timestamp: int = i64("0+", default=0)


class SnapshotFooterRecord(Message, versions="0", flexible="0+"):
    """Ends a snapshot."""

    version: int = i16("0+", default=0)


class KRaftVersionRecord(Message, versions="0", flexible="0+"):
    """The version of the quorum's own protocol from here on (the feature kraft.version)."""

    version: int = i16("0+", default=0)
    k_raft_version: int = i16("0+", default=0)


class VotersRecord(Message, versions="0", flexible="0+"):
    """The voters of the quorum from here on, with their addresses."""

    class Voter(Struct):
        class Endpoint(Struct):
            name: str = string("0+", default="")
            host: str = string("0+", default="")
            port: int = u16("0+", default=0)

        class KRaftVersionFeature(Struct):
            min_supported_version: int = i16("0+", default=0)
            max_supported_version: int = i16("0+", default=0)

        voter_id: int = i32("0+", default=0)
        voter_directory_id: UUID = uuid("0+", default=NO_UUID)
        endpoints: Sequence[Endpoint] = array(Endpoint, "0+", default=())
        k_raft_version_feature: KRaftVersionFeature = struct("0+", default_factory=KRaftVersionFeature)

    version: int = i16("0+", default=0)
    voters: Sequence[Voter] = array(Voter, "0+", default=())


class ControlRecordType(NamedTuple):
    """A type of control record: Apache's name of it, and the message in the value."""

    name: str
    message: type[Message]


CONTROL_RECORD_TYPES = {
    0: ControlRecordType("ABORT", EndTxnMarker),
    1: ControlRecordType("COMMIT", EndTxnMarker),
    2: ControlRecordType("LEADER_CHANGE", LeaderChangeMessage),
    3: ControlRecordType("SNAPSHOT_HEADER", SnapshotHeaderRecord),
    4: ControlRecordType("SNAPSHOT_FOOTER", SnapshotFooterRecord),
    5: ControlRecordType("KRAFT_VERSION", KRaftVersionRecord),
    6: ControlRecordType("KRAFT_VOTERS", VotersRecord),
}
