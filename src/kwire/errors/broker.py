"""The error codes that brokers answer with, one exception class per code.

`errors.broker.NotLeaderOrFollowerError` and, by Apache's own constant, `errors.broker.NOT_LEADER_OR_FOLLOWER` are the
same class. Classes are made from the table when they are first asked for. Layer 0: imports nothing of kwire but
`kwire.errors`.

Sources: the error tables of the protocol guides of 0.9 and 0.10.1 (codes -1..43); names and flags as of Kafka 4.4.0
(-1..136). `retriable` says that the same request may succeed later; `stale_metadata` that the metadata must be fetched
again before it can.
"""

from __future__ import annotations

from functools import lru_cache, partial

from kwire._typing import Any, NamedTuple
from kwire.errors import BrokerError
from kwire.errors.quoting import quoted
from kwire.errors.wording import Wording

MAX_CONTEXT = 4000
"""So many characters say what an error code was answered to."""

_PLAIN, _RETRIABLE, _STALE = 0, 1, 2

_TABLE = (
    (-1, "UNKNOWN_SERVER_ERROR", _PLAIN, "the broker failed in a way it has no code for; its log says more"),
    (0, "NONE", _PLAIN, "no error"),
    (1, "OFFSET_OUT_OF_RANGE", _PLAIN, "the offset is before the first or after the last that the partition holds"),
    (2, "CORRUPT_MESSAGE", _RETRIABLE, "a checksum or size is wrong, or a compacted topic got a record without key"),
    (3, "UNKNOWN_TOPIC_OR_PARTITION", _STALE, "the broker does not have this topic or partition"),
    (4, "INVALID_FETCH_SIZE", _PLAIN, "the fetch size cannot be used"),
    (5, "LEADER_NOT_AVAILABLE", _STALE, "the partition has no leader at the moment; one is being elected"),
    (6, "NOT_LEADER_OR_FOLLOWER", _STALE, "the broker is not, or no longer, the one that serves this partition"),
    (7, "REQUEST_TIMED_OUT", _RETRIABLE, "the broker could not finish within the time the request allowed"),
    (8, "BROKER_NOT_AVAILABLE", _PLAIN, "the broker is not available"),
    (9, "REPLICA_NOT_AVAILABLE", _STALE, "the replica is not available on this broker"),
    (10, "MESSAGE_TOO_LARGE", _PLAIN, "larger than the broker or topic takes (message.max.bytes, max.message.bytes)"),
    (11, "STALE_CONTROLLER_EPOCH", _PLAIN, "another broker has become the controller"),
    (12, "OFFSET_METADATA_TOO_LARGE", _PLAIN, "the text committed with the offset is too long"),
    (13, "NETWORK_EXCEPTION", _STALE, "the connection ended before the answer came"),
    (14, "COORDINATOR_LOAD_IN_PROGRESS", _RETRIABLE, "the coordinator is still reading its state"),
    (15, "COORDINATOR_NOT_AVAILABLE", _RETRIABLE, "there is no coordinator at the moment"),
    (16, "NOT_COORDINATOR", _RETRIABLE, "another broker coordinates this group or transaction"),
    (17, "INVALID_TOPIC_EXCEPTION", _PLAIN, "the topic name is not allowed, or the topic may not be used this way"),
    (18, "RECORD_LIST_TOO_LARGE", _PLAIN, "the batch is larger than a log segment"),
    (19, "NOT_ENOUGH_REPLICAS", _RETRIABLE, "fewer replicas in sync than min.insync.replicas; nothing was written"),
    (20, "NOT_ENOUGH_REPLICAS_AFTER_APPEND", _RETRIABLE, "written, but to fewer replicas than min.insync.replicas"),
    (21, "INVALID_REQUIRED_ACKS", _PLAIN, "acks must be 0, 1 or -1 (all)"),
    (22, "ILLEGAL_GENERATION", _PLAIN, "the group has moved on to another generation"),
    (23, "INCONSISTENT_GROUP_PROTOCOL", _PLAIN, "the member shares no assignment protocol with the group"),
    (24, "INVALID_GROUP_ID", _PLAIN, "the group id cannot be used"),
    (25, "UNKNOWN_MEMBER_ID", _PLAIN, "the coordinator does not know this member"),
    (26, "INVALID_SESSION_TIMEOUT", _PLAIN, "outside the broker's group.min and group.max.session.timeout.ms"),
    (27, "REBALANCE_IN_PROGRESS", _PLAIN, "the group is being rebalanced; the member must join again"),
    (28, "INVALID_COMMIT_OFFSET_SIZE", _PLAIN, "the commit is too large"),
    (29, "TOPIC_AUTHORIZATION_FAILED", _PLAIN, "not allowed on this topic"),
    (30, "GROUP_AUTHORIZATION_FAILED", _PLAIN, "not allowed in this group"),
    (31, "CLUSTER_AUTHORIZATION_FAILED", _PLAIN, "not allowed on this cluster"),
    (32, "INVALID_TIMESTAMP", _PLAIN, "the record's timestamp is too far from the broker's clock"),
    (33, "UNSUPPORTED_SASL_MECHANISM", _PLAIN, "the broker does not offer this SASL mechanism"),
    (34, "ILLEGAL_SASL_STATE", _PLAIN, "not the request that the SASL exchange expects now"),
    (35, "UNSUPPORTED_VERSION", _PLAIN, "the broker does not speak this version of the request"),
    (36, "TOPIC_ALREADY_EXISTS", _PLAIN, "a topic of this name exists"),
    (37, "INVALID_PARTITIONS", _PLAIN, "the number of partitions cannot be used"),
    (38, "INVALID_REPLICATION_FACTOR", _PLAIN, "the replication factor is below 1 or above the number of brokers"),
    (39, "INVALID_REPLICA_ASSIGNMENT", _PLAIN, "the replicas cannot be placed as asked"),
    (40, "INVALID_CONFIG", _PLAIN, "a configuration entry cannot be used"),
    (41, "NOT_CONTROLLER", _RETRIABLE, "another broker is the controller"),
    (42, "INVALID_REQUEST", _PLAIN, "the broker cannot make sense of the request; its log says more"),
    (43, "UNSUPPORTED_FOR_MESSAGE_FORMAT", _PLAIN, "the topic's message format is too old for this request"),
    (44, "POLICY_VIOLATION", _PLAIN, "a policy set on the broker forbids it"),
    (45, "OUT_OF_ORDER_SEQUENCE_NUMBER", _PLAIN, "a batch of this producer is missing before this one"),
    (46, "DUPLICATE_SEQUENCE_NUMBER", _PLAIN, "this batch was appended before"),
    (47, "INVALID_PRODUCER_EPOCH", _PLAIN, "a newer instance of this producer has taken over"),
    (48, "INVALID_TXN_STATE", _PLAIN, "the transaction's state does not allow it"),
    (49, "INVALID_PRODUCER_ID_MAPPING", _PLAIN, "the producer id does not belong to this transactional id"),
    (50, "INVALID_TRANSACTION_TIMEOUT", _PLAIN, "transaction.timeout.ms is above the broker's limit for it"),
    (51, "CONCURRENT_TRANSACTIONS", _RETRIABLE, "another operation on this transaction is in progress"),
    (52, "TRANSACTION_COORDINATOR_FENCED", _PLAIN, "the coordinator that asks is no longer the one in charge"),
    (53, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", _PLAIN, "not allowed to use this transactional id"),
    (54, "SECURITY_DISABLED", _PLAIN, "the broker has no security features switched on"),
    (55, "OPERATION_NOT_ATTEMPTED", _PLAIN, "not tried, because another part of the same request failed"),
    (56, "KAFKA_STORAGE_ERROR", _STALE, "the broker's disk failed"),
    (57, "LOG_DIR_NOT_FOUND", _PLAIN, "the broker has no such log directory"),
    (58, "SASL_AUTHENTICATION_FAILED", _PLAIN, "the broker refused the credentials"),
    (59, "UNKNOWN_PRODUCER_ID", _PLAIN, "the broker holds nothing of this producer, perhaps since its records expired"),
    (60, "REASSIGNMENT_IN_PROGRESS", _PLAIN, "the partition is being moved"),
    (61, "DELEGATION_TOKEN_AUTH_DISABLED", _PLAIN, "the broker has delegation tokens switched off"),
    (62, "DELEGATION_TOKEN_NOT_FOUND", _PLAIN, "the broker does not know this delegation token"),
    (63, "DELEGATION_TOKEN_OWNER_MISMATCH", _PLAIN, "neither the token's owner nor its renewer"),
    (64, "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED", _PLAIN, "not on a connection without or with token authentication"),
    (65, "DELEGATION_TOKEN_AUTHORIZATION_FAILED", _PLAIN, "not allowed on this delegation token"),
    (66, "DELEGATION_TOKEN_EXPIRED", _PLAIN, "the delegation token has expired"),
    (67, "INVALID_PRINCIPAL_TYPE", _PLAIN, "this type of principal is not supported"),
    (68, "NON_EMPTY_GROUP", _PLAIN, "the group still has members"),
    (69, "GROUP_ID_NOT_FOUND", _PLAIN, "there is no such group"),
    (70, "FETCH_SESSION_ID_NOT_FOUND", _RETRIABLE, "the broker has dropped the fetch session"),
    (71, "INVALID_FETCH_SESSION_EPOCH", _RETRIABLE, "not the next request of the fetch session"),
    (72, "LISTENER_NOT_FOUND", _STALE, "the leader has no listener like the one that was asked"),
    (73, "TOPIC_DELETION_DISABLED", _PLAIN, "the broker does not let topics be deleted (delete.topic.enable)"),
    (74, "FENCED_LEADER_EPOCH", _STALE, "there is a newer leader than the request was meant for"),
    (75, "UNKNOWN_LEADER_EPOCH", _RETRIABLE, "the broker has not heard of the leader the request was meant for"),
    (76, "UNSUPPORTED_COMPRESSION_TYPE", _PLAIN, "the request's version cannot carry the partition's compression"),
    (77, "STALE_BROKER_EPOCH", _PLAIN, "the broker has registered again since"),
    (78, "OFFSET_NOT_AVAILABLE", _RETRIABLE, "the new leader does not yet know its high watermark"),
    (79, "MEMBER_ID_REQUIRED", _PLAIN, "the member must join again with the id it was given"),
    (80, "PREFERRED_LEADER_NOT_AVAILABLE", _STALE, "the preferred leader is not available"),
    (81, "GROUP_MAX_SIZE_REACHED", _PLAIN, "the group has as many members as the broker allows"),
    (82, "FENCED_INSTANCE_ID", _PLAIN, "another member has taken over this group.instance.id"),
    (83, "ELIGIBLE_LEADERS_NOT_AVAILABLE", _STALE, "no replica can become leader at the moment"),
    (84, "ELECTION_NOT_NEEDED", _STALE, "the partition has the leader that was asked for"),
    (85, "NO_REASSIGNMENT_IN_PROGRESS", _PLAIN, "the partition is not being moved"),
    (86, "GROUP_SUBSCRIBED_TO_TOPIC", _PLAIN, "the group reads this topic, so its offsets cannot be deleted"),
    (87, "INVALID_RECORD", _PLAIN, "the broker's checks refused a record"),
    (88, "UNSTABLE_OFFSET_COMMIT", _RETRIABLE, "offsets of an open transaction wait to be settled"),
    (89, "THROTTLING_QUOTA_EXCEEDED", _RETRIABLE, "a quota is used up"),
    (90, "PRODUCER_FENCED", _PLAIN, "a newer producer uses the same transactional id"),
    (91, "RESOURCE_NOT_FOUND", _PLAIN, "there is no such resource"),
    (92, "DUPLICATE_RESOURCE", _PLAIN, "the request names a resource twice"),
    (93, "UNACCEPTABLE_CREDENTIAL", _PLAIN, "the credential is not good enough"),
    (94, "INCONSISTENT_VOTER_SET", _PLAIN, "one of the two sides is not a voter"),
    (95, "INVALID_UPDATE_VERSION", _PLAIN, "not a version that can follow the present one"),
    (96, "FEATURE_UPDATE_FAILED", _PLAIN, "the features could not be updated"),
    (97, "PRINCIPAL_DESERIALIZATION_FAILURE", _PLAIN, "the principal of a forwarded request cannot be read"),
    (98, "SNAPSHOT_NOT_FOUND", _PLAIN, "there is no such snapshot"),
    (99, "POSITION_OUT_OF_RANGE", _PLAIN, "the position is outside the snapshot"),
    (100, "UNKNOWN_TOPIC_ID", _STALE, "the broker does not have a topic of this id"),
    (101, "DUPLICATE_BROKER_REGISTRATION", _PLAIN, "another broker uses this id"),
    (102, "BROKER_ID_NOT_REGISTERED", _PLAIN, "no broker has registered with this id"),
    (103, "INCONSISTENT_TOPIC_ID", _STALE, "the topic was deleted and made again under the same name"),
    (104, "INCONSISTENT_CLUSTER_ID", _PLAIN, "the broker belongs to another cluster"),
    (105, "TRANSACTIONAL_ID_NOT_FOUND", _PLAIN, "there is no such transactional id"),
    (106, "FETCH_SESSION_TOPIC_ID_ERROR", _RETRIABLE, "the fetch session mixes topics with and without ids"),
    (107, "INELIGIBLE_REPLICA", _PLAIN, "a replica may not be in the in-sync set"),
    (108, "NEW_LEADER_ELECTED", _PLAIN, "done, and the partition has a new leader"),
    (109, "OFFSET_MOVED_TO_TIERED_STORAGE", _PLAIN, "the offset is no longer on the broker's own disk"),
    (110, "FENCED_MEMBER_EPOCH", _PLAIN, "the member has been replaced; it must give up its partitions and join again"),
    (111, "UNRELEASED_INSTANCE_ID", _PLAIN, "another member still uses this instance id"),
    (112, "UNSUPPORTED_ASSIGNOR", _PLAIN, "the group does not support this assignor"),
    (113, "STALE_MEMBER_EPOCH", _PLAIN, "the member must wait for its new epoch and try again"),
    (114, "MISMATCHED_ENDPOINT_TYPE", _PLAIN, "a broker's request to a controller, or the other way round"),
    (115, "UNSUPPORTED_ENDPOINT_TYPE", _PLAIN, "this type of endpoint is not supported"),
    (116, "UNKNOWN_CONTROLLER_ID", _PLAIN, "there is no such controller"),
    (117, "UNKNOWN_SUBSCRIPTION_ID", _PLAIN, "the telemetry subscription is out of date"),
    (118, "TELEMETRY_TOO_LARGE", _PLAIN, "more telemetry than the broker takes at once"),
    (119, "INVALID_REGISTRATION", _PLAIN, "the controller refused the broker's registration"),
    (120, "TRANSACTION_ABORTABLE", _PLAIN, "the transaction must be aborted; the producer can go on after that"),
    (121, "INVALID_RECORD_STATE", _PLAIN, "the record cannot be acknowledged in its state"),
    (122, "SHARE_SESSION_NOT_FOUND", _RETRIABLE, "the broker has dropped the share session"),
    (123, "INVALID_SHARE_SESSION_EPOCH", _RETRIABLE, "not the next request of the share session"),
    (124, "FENCED_STATE_EPOCH", _PLAIN, "the share group's state has moved on"),
    (125, "INVALID_VOTER_KEY", _PLAIN, "not the key of the voter that was asked"),
    (126, "DUPLICATE_VOTER", _PLAIN, "a voter already"),
    (127, "VOTER_NOT_FOUND", _PLAIN, "not one of the voters"),
    (128, "INVALID_REGULAR_EXPRESSION", _PLAIN, "the broker cannot read the regular expression"),
    (
        129,
        "REBOOTSTRAP_REQUIRED",
        _PLAIN,
        "the client knows a cluster that is no longer so; it must bootstrap again",
    ),
    (130, "STREAMS_INVALID_TOPOLOGY", _PLAIN, "the topology cannot be used"),
    (131, "STREAMS_INVALID_TOPOLOGY_EPOCH", _PLAIN, "the topology epoch cannot be used"),
    (132, "STREAMS_TOPOLOGY_FENCED", _PLAIN, "the topology epoch is out of date"),
    (133, "SHARE_SESSION_LIMIT_REACHED", _RETRIABLE, "the broker has as many share sessions as it allows"),
    (134, "GROUP_DELETION_FAILED", _PLAIN, "the group could not be deleted; the answer says why"),
    (
        135,
        "STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED",
        _PLAIN,
        "the description was not stored; the answer says why",
    ),
    (136, "CONTROLLER_ID_NOT_REGISTERED", _PLAIN, "no controller has registered with this id"),
)


class _Row(NamedTuple):
    code: int
    name: str
    kind: int
    text: str

    @property
    def class_name(self) -> str:
        if self.code == 0:
            return "NoError"
        words = self.name.removesuffix("_EXCEPTION").removesuffix("_ERROR").split("_")
        return "".join(word.capitalize() for word in words) + "Error"


_ROWS = {row[0]: _Row(*row) for row in _TABLE}
_CODES = {name: row.code for row in _ROWS.values() for name in (row.name, row.class_name)}


def by_code(code: int) -> type[BrokerError]:
    """The class of an error code. One that kwire does not know is an UnknownServerError that carries the number."""
    row = _ROWS.get(code)
    if row is None:
        return _unknown(code)
    made = globals().get(row.class_name)
    if made is None:
        made = _class(row.class_name, BrokerError, row)
        globals()[row.class_name] = globals()[row.name] = made
    found: type[BrokerError] = made
    return found


def error_for(code: int, context: str = "") -> BrokerError:
    """The exception for an error code; `context` says which broker, topic and partition answered it, perhaps in the
    broker's own words: it is made printable, and cut after MAX_CONTEXT characters."""
    printable = partial(quoted, limit=MAX_CONTEXT)
    return by_code(code)(context.changed(printable) if isinstance(context, Wording) else printable(context))


def _class(class_name: str, base: type[BrokerError], row: _Row) -> type[BrokerError]:
    body = {
        "__module__": __name__,
        "__qualname__": class_name,
        "__doc__": f"{row.name} ({row.code}): {row.text}.",
        "code": row.code,
        "name": row.name,
        "retriable": row.kind != _PLAIN,
        "stale_metadata": row.kind == _STALE,
        "text": row.text,
    }
    return type(class_name, (base,), body)


@lru_cache(maxsize=256)
def _unknown(code: int) -> type[BrokerError]:
    row = _Row(code, f"UNKNOWN_CODE_{code}", _PLAIN, f"error code {code}, which this release of kwire does not know")
    made = _class("UnknownServerError", by_code(-1), row)
    made.__reduce__ = _reduced  # type: ignore[method-assign, assignment]
    return made


def _reduced(error: BrokerError) -> tuple[Any, ...]:
    """Classes of unknown codes cannot be found by name: they are pickled as their number."""
    return error_for, (error.code, error.context)


def __getattr__(name: str) -> type[BrokerError]:
    if name in _CODES:
        return by_code(_CODES[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_CODES})
