"""`__cluster_metadata`, the records of configuration, security, features and of the log itself (KIP-500, KIP-631).

    key     none
    value   frame version uvarint (1), record type uvarint, version uvarint, then the fields (flexible)

Source: Apache's definitions of 4.4.0 (all version 0). The previews of KRaft in 2.8 to 3.2 wrote some records otherwise
under the same versions; such bytes are refused or misread.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, bool_, bytes_, f64, i8, i16, i32, i64, string, strings, uuid
from kwire.schema.logs.base import MetadataRecord
from kwire.schema.messages import Struct

__all__ = [
    "AbortTransactionRecord",
    "AccessControlEntryRecord",
    "BeginTransactionRecord",
    "ClientQuotaRecord",
    "ConfigRecord",
    "DelegationTokenRecord",
    "EndTransactionRecord",
    "FeatureLevelRecord",
    "NoOpRecord",
    "ProducerIdsRecord",
    "RemoveAccessControlEntryRecord",
    "RemoveDelegationTokenRecord",
    "RemoveUserScramCredentialRecord",
    "UserScramCredentialRecord",
]


class ConfigRecord(MetadataRecord, key=4, versions="0", flexible="0+"):
    """Type 4: a setting; no value removes it. `resource_type`: 2 topic, 4 broker, 16 client metrics, 32 group."""

    resource_type: int = i8("0+", default=0)
    resource_name: str = string("0+", default="")
    name: str = string("0+", default="")
    value: str | None = string("0+", default="", nullable="0+", secret=True)


class DelegationTokenRecord(MetadataRecord, key=10, versions="0", flexible="0+"):
    """Type 10: a delegation token. Its secret is not in the log."""

    owner: str = string("0+", default="")
    requester: str = string("0+", default="")
    renewers: Sequence[str] = strings("0+", default=())
    issue_timestamp: int = i64("0+", default=0)
    max_timestamp: int = i64("0+", default=0)
    expiration_timestamp: int = i64("0+", default=0)
    token_id: str = string("0+", default="")


class UserScramCredentialRecord(MetadataRecord, key=11, versions="0", flexible="0+"):
    """Type 11: a SCRAM credential. `mechanism`: 1 SHA-256, 2 SHA-512."""

    name: str = string("0+", default="")
    mechanism: int = i8("0+", default=0)
    salt: bytes = bytes_("0+", default=b"", secret=True)
    stored_key: bytes = bytes_("0+", default=b"", secret=True)
    server_key: bytes = bytes_("0+", default=b"", secret=True)
    iterations: int = i32("0+", default=0)


class FeatureLevelRecord(MetadataRecord, key=12, versions="0", flexible="0+"):
    """Type 12: the level of a feature from here on; 0 switches it off."""

    name: str = string("0+", default="")
    feature_level: int = i16("0+", default=0)


class ClientQuotaRecord(MetadataRecord, key=14, versions="0", flexible="0+"):
    """Type 14: a quota, or with `remove` its end."""

    class EntityData(Struct):
        entity_type: str = string("0+", default="")
        entity_name: str | None = string("0+", default="", nullable="0+")

    entity: Sequence[EntityData] = array(EntityData, "0+", default=())
    key: str = string("0+", default="")
    value: float = f64("0+", default=0.0)
    remove: bool = bool_("0+", default=False)


class ProducerIdsRecord(MetadataRecord, key=15, versions="0", flexible="0+"):
    """Type 15: a block of producer ids was given to a broker."""

    broker_id: int = i32("0+", default=0)
    broker_epoch: int = i64("0+", default=-1)
    next_producer_id: int = i64("0+", default=0)


class AccessControlEntryRecord(MetadataRecord, key=18, versions="0", flexible="0+"):
    """Type 18: an ACL."""

    id: UUID = uuid("0+", default=NO_UUID)
    resource_type: int = i8("0+", default=0)
    resource_name: str = string("0+", default="")
    pattern_type: int = i8("0+", default=0)
    principal: str = string("0+", default="")
    host: str = string("0+", default="")
    operation: int = i8("0+", default=0)
    permission_type: int = i8("0+", default=0)


class RemoveAccessControlEntryRecord(MetadataRecord, key=19, versions="0", flexible="0+"):
    """Type 19: an ACL that is gone."""

    id: UUID = uuid("0+", default=NO_UUID)


class NoOpRecord(MetadataRecord, key=20, versions="0", flexible="0+"):
    """Type 20: nothing; keeps the log growing so that followers see that the leader is there (KIP-835)."""


class RemoveUserScramCredentialRecord(MetadataRecord, key=22, versions="0", flexible="0+"):
    """Type 22: a SCRAM credential that is gone."""

    name: str = string("0+", default="")
    mechanism: int = i8("0+", default=0)


class BeginTransactionRecord(MetadataRecord, key=23, versions="0", flexible="0+"):
    """Type 23: the records up to the next of type 24 hold together (KIP-868)."""

    name: str | None = string("0+", default=None, nullable="0+", tag=0)


class EndTransactionRecord(MetadataRecord, key=24, versions="0", flexible="0+"):
    """Type 24: what began with type 23 holds."""


class AbortTransactionRecord(MetadataRecord, key=25, versions="0", flexible="0+"):
    """Type 25: what began with type 23 does not hold."""

    reason: str | None = string("0+", default=None, nullable="0+", tag=0)


class RemoveDelegationTokenRecord(MetadataRecord, key=26, versions="0", flexible="0+"):
    """Type 26: a delegation token that is gone."""

    token_id: str = string("0+", default="")
