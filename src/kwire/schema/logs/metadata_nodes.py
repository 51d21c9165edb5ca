"""`__cluster_metadata`, the records of brokers and controllers (KIP-500, KIP-631).

    key     none
    value   frame version uvarint (1), record type uvarint, version uvarint, then the fields (flexible)

    RegisterBrokerRecord             v1 in_controlled_shutdown, v2 is_migrating_zk_broker, v3 log_dirs,
                                     v4 cordoned_log_dirs
    BrokerRegistrationChangeRecord   v1 in_controlled_shutdown, v2 log_dirs, v3 cordoned_log_dirs

Source: Apache's definitions of 4.4.0. The previews of KRaft in 2.8 to 3.2 wrote some records otherwise under the same
versions; such bytes are refused or misread.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, bool_, i8, i16, i32, i64, string, u16, uuid, uuids
from kwire.schema.logs.base import MetadataRecord
from kwire.schema.messages import Struct

__all__ = [
    "BrokerRegistrationChangeRecord",
    "FenceBrokerRecord",
    "RegisterBrokerRecord",
    "RegisterControllerRecord",
    "UnfenceBrokerRecord",
    "UnregisterBrokerRecord",
    "UnregisterControllerRecord",
    "ZkMigrationStateRecord",
]


class RegisterBrokerRecord(MetadataRecord, key=0, versions="0-4", flexible="0+"):
    """Type 0: a broker that has started, fenced until it has caught up."""

    class BrokerEndpoint(Struct):
        name: str = string("0+", default="")
        host: str = string("0+", default="")
        port: int = u16("0+", default=0)
        security_protocol: int = i16("0+", default=0)

    class BrokerFeature(Struct):
        name: str = string("0+", default="")
        min_supported_version: int = i16("0+", default=0)
        max_supported_version: int = i16("0+", default=0)

    broker_id: int = i32("0+", default=0)
    is_migrating_zk_broker: bool = bool_("2+", default=False)
    incarnation_id: UUID = uuid("0+", default=NO_UUID)
    broker_epoch: int = i64("0+", default=0)
    end_points: Sequence[BrokerEndpoint] = array(BrokerEndpoint, "0+", default=())
    features: Sequence[BrokerFeature] = array(BrokerFeature, "0+", default=())
    rack: str | None = string("0+", default="", nullable="0+")
    fenced: bool = bool_("0+", default=True)
    in_controlled_shutdown: bool = bool_("1+", default=False)
    log_dirs: Sequence[UUID] = uuids("3+", default=(), tag=0)
    cordoned_log_dirs: Sequence[UUID] | None = uuids("4+", default=None, nullable="4+", tag=1)


class UnregisterBrokerRecord(MetadataRecord, key=1, versions="0", flexible="0+"):
    """Type 1: a broker that is gone for good."""

    broker_id: int = i32("0+", default=0)
    broker_epoch: int = i64("0+", default=0)


class FenceBrokerRecord(MetadataRecord, key=7, versions="0", flexible="0+"):
    """Type 7: a broker that may not lead (up to 3.2; type 17 since then)."""

    id: int = i32("0+", default=0)
    epoch: int = i64("0+", default=0)


class UnfenceBrokerRecord(MetadataRecord, key=8, versions="0", flexible="0+"):
    """Type 8: a broker that may lead (up to 3.2; type 17 since then)."""

    id: int = i32("0+", default=0)
    epoch: int = i64("0+", default=0)


class BrokerRegistrationChangeRecord(MetadataRecord, key=17, versions="0-3", flexible="0+"):
    """Type 17: what changed of a broker.

    `fenced`: 1 from now on, -1 no longer, 0 as before; `in_controlled_shutdown`: 1 from now on, 0 as before.
    """

    broker_id: int = i32("0+", default=0)
    broker_epoch: int = i64("0+", default=0)
    fenced: int = i8("0+", default=0, tag=0)
    in_controlled_shutdown: int = i8("1+", default=0, tag=1)
    log_dirs: Sequence[UUID] = uuids("2+", default=(), tag=2)
    cordoned_log_dirs: Sequence[UUID] | None = uuids("3+", default=None, nullable="3+", tag=3)


class RegisterControllerRecord(MetadataRecord, key=27, versions="0", flexible="0+"):
    """Type 27: a controller that has started."""

    class ControllerEndpoint(Struct):
        name: str = string("0+", default="")
        host: str = string("0+", default="")
        port: int = u16("0+", default=0)
        security_protocol: int = i16("0+", default=0)

    class ControllerFeature(Struct):
        name: str = string("0+", default="")
        min_supported_version: int = i16("0+", default=0)
        max_supported_version: int = i16("0+", default=0)

    controller_id: int = i32("0+", default=0)
    incarnation_id: UUID = uuid("0+", default=NO_UUID)
    zk_migration_ready: bool = bool_("0+", default=False)
    end_points: Sequence[ControllerEndpoint] = array(ControllerEndpoint, "0+", default=())
    features: Sequence[ControllerFeature] = array(ControllerFeature, "0+", default=())


class UnregisterControllerRecord(MetadataRecord, key=29, versions="0", flexible="0+"):
    """Type 29: a controller that is gone for good."""

    controller_id: int = i32("0+", default=0)


class ZkMigrationStateRecord(MetadataRecord, key=21, versions="0", flexible="0+"):
    """Type 21: how far the migration from ZooKeeper is. 0 none, 1 in progress, 2 about to begin, 3 done."""

    zk_migration_state: int = i8("0+", default=0)
