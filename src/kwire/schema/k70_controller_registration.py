"""ControllerRegistration (key 70), version 0: a controller makes itself known to the active controller (KIP-919).

Sources: Apache's definitions of 3.9.2 and 4.4.0 (v0).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, bool_, i16, i32, string, u16, uuid
from kwire.schema.messages import Request, Response, Struct

__all__ = ["ControllerRegistrationRequest", "ControllerRegistrationResponse"]


class ControllerRegistrationRequest(Request, key=70, versions="0", flexible="0+"):
    """The controller, its listeners and what it can do."""

    class Listener(Struct):
        name: str = string("0+", default="")
        host: str = string("0+", default="")
        port: int = u16("0+", default=0)
        security_protocol: int = i16("0+", default=0)

    class Feature(Struct):
        name: str = string("0+", default="")
        min_supported_version: int = i16("0+", default=0)
        max_supported_version: int = i16("0+", default=0)

    controller_id: int = i32("0+", default=0)
    incarnation_id: UUID = uuid("0+", default=NO_UUID)
    zk_migration_ready: bool = bool_("0+", default=False)
    listeners: Sequence[Listener] = array(Listener, "0+", default=())
    features: Sequence[Feature] = array(Feature, "0+", default=())


class ControllerRegistrationResponse(Response, key=70, versions="0", flexible="0+"):
    """Whether it was taken."""

    throttle_time_ms: int = i32("0+", default=0)
    error_code: int = i16("0+", default=0)
    error_message: str | None = string("0+", default="", nullable="0+")
