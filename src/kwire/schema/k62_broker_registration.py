"""BrokerRegistration (key 62), versions 0-4: a broker comes to a KRaft cluster (KIP-631).

    v1   request: is_migrating_zk_broker (KIP-866)
    v2   request: log_dirs (KIP-858)
    v3   request: previous_broker_epoch (KIP-966)
    v4   features whose least version is 0 are listed, too (KAFKA-17011)

Sources: Apache's definitions of 3.9.2 and 4.4.0 (v0-v4).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, bool_, i16, i32, i64, string, u16, uuid, uuids
from kwire.schema.messages import Request, Response, Struct

__all__ = ["BrokerRegistrationRequest", "BrokerRegistrationResponse"]


class BrokerRegistrationRequest(Request, key=62, versions="0-4", flexible="0+"):
    """The broker, its listeners and what it can do."""

    class Listener(Struct):
        name: str = string("0+", default="")
        host: str = string("0+", default="")
        port: int = u16("0+", default=0)
        security_protocol: int = i16("0+", default=0)

    class Feature(Struct):
        name: str = string("0+", default="")
        min_supported_version: int = i16("0+", default=0)
        max_supported_version: int = i16("0+", default=0)

    broker_id: int = i32("0+", default=0)
    cluster_id: str = string("0+", default="")
    incarnation_id: UUID = uuid("0+", default=NO_UUID)
    listeners: Sequence[Listener] = array(Listener, "0+", default=())
    features: Sequence[Feature] = array(Feature, "0+", default=())
    rack: str | None = string("0+", default="", nullable="0+")
    is_migrating_zk_broker: bool = bool_("1+", default=False)
    log_dirs: Sequence[UUID] = uuids("2+", default=(), ignorable=True)
    previous_broker_epoch: int = i64("3+", default=-1, ignorable=True)


class BrokerRegistrationResponse(Response, key=62, versions="0-4", flexible="0+"):
    """The epoch that the broker got."""

    throttle_time_ms: int = i32("0+", default=0)
    error_code: int = i16("0+", default=0)
    broker_epoch: int = i64("0+", default=-1)
