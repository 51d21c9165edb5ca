"""What to do about the errors of brokers that their users can do something about, for `kwire help errors`."""

from __future__ import annotations

from collections.abc import Mapping

_NEW_MEMBER = (
    "A consumer joins its group again by itself; if it happens often, poll more often or raise max.poll.interval.ms."
)
_ANOTHER_PRODUCER = "Another producer uses the same transactional.id: give each process its own, and end this one."

ADVICE: Mapping[str, str] = {
    "UNKNOWN_SERVER_ERROR": "Look into the broker's log at the time of the request.",
    "OFFSET_OUT_OF_RANGE": (
        "The log begins later, mostly since retention has deleted it: 'kwire topics describe TOPIC' shows from "
        "where to where; --from earliest, or 'kwire groups reset', begins there."
    ),
    "CORRUPT_MESSAGE": "To a compacted topic every record needs a key; otherwise look for a damaged network or disk.",
    "UNKNOWN_TOPIC_OR_PARTITION": (
        "'kwire topics' lists those that there are; without the right to describe a topic it looks as if there "
        "were none."
    ),
    "LEADER_NOT_AVAILABLE": (
        "If it stays: 'kwire topics describe TOPIC' shows which brokers have the replicas; start one of them."
    ),
    "REQUEST_TIMED_OUT": (
        "If it stays, the brokers are slow, or replicas do not keep up: 'kwire topics describe TOPIC --"
        "under-replicated'."
    ),
    "MESSAGE_TOO_LARGE": (
        "Send less at once (batch.size, max.request.size), compress, or raise max.message.bytes: 'kwire configs "
        "set topics TOPIC max.message.bytes=...'."
    ),
    "NOT_ENOUGH_REPLICAS": (
        "'kwire topics describe TOPIC --under-replicated' shows which replicas are missing; start their brokers, "
        "or lower min.insync.replicas."
    ),
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND": (
        "'kwire topics describe TOPIC --under-replicated' shows which replicas are missing."
    ),
    "INVALID_TOPIC_EXCEPTION": (
        "Names have letters, digits, '.', '_' and '-', 249 at most; internal topics are written by brokers only."
    ),
    "ILLEGAL_GENERATION": _NEW_MEMBER,
    "UNKNOWN_MEMBER_ID": _NEW_MEMBER,
    "FENCED_MEMBER_EPOCH": _NEW_MEMBER,
    "INCONSISTENT_GROUP_PROTOCOL": (
        "All members of a group need a partition.assignment.strategy in common; groups of Kafka Connect or "
        "Streams take no consumers."
    ),
    "INVALID_SESSION_TIMEOUT": "Set session.timeout.ms to what the brokers allow.",
    "TOPIC_AUTHORIZATION_FAILED": (
        "An ACL is missing: kwire acls create topic TOPIC --principal User:NAME --operation read (or write, "
        "describe ...)."
    ),
    "GROUP_AUTHORIZATION_FAILED": (
        "An ACL is missing: kwire acls create group GROUP --principal User:NAME --operation read."
    ),
    "CLUSTER_AUTHORIZATION_FAILED": (
        "An ACL is missing: kwire acls create cluster --principal User:NAME --operation describe (or alter, "
        "create ...)."
    ),
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": (
        "An ACL is missing: kwire acls create transactional-id ID --principal User:NAME --operation write."
    ),
    "INVALID_TIMESTAMP": (
        "Look at the clock of this machine, and at message.timestamp.before.max.ms and "
        "message.timestamp.after.max.ms of the topic."
    ),
    "UNSUPPORTED_SASL_MECHANISM": "Set sasl.mechanism to one of those that the broker offers; the error names them.",
    "SASL_AUTHENTICATION_FAILED": (
        "Look at sasl.username, sasl.password and sasl.mechanism; 'kwire users' lists SCRAM users."
    ),
    "UNSUPPORTED_VERSION": "The broker is too old for this: 'kwire brokers' shows releases.",
    "TOPIC_ALREADY_EXISTS": "--if-not-exists leaves it alone; 'kwire topics alter' changes it.",
    "INVALID_PARTITIONS": "Partitions can be added, never removed.",
    "INVALID_REPLICATION_FACTOR": (
        "'kwire brokers' shows how many brokers there are; --replication says how many replicas."
    ),
    "INVALID_CONFIG": "'kwire configs describe' shows names and present values.",
    "POLICY_VIOLATION": "Ask those who run the brokers; the error has their policy's words.",
    "OUT_OF_ORDER_SEQUENCE_NUMBER": (
        "Records may be lost: a broker has lost a part of its log, or batches were reordered. Open a new "
        "producer, and look at what was not acknowledged."
    ),
    "INVALID_PRODUCER_EPOCH": _ANOTHER_PRODUCER,
    "PRODUCER_FENCED": _ANOTHER_PRODUCER,
    "INVALID_TRANSACTION_TIMEOUT": (
        "Set transaction.timeout.ms to what the brokers allow (15 minutes, unless configured)."
    ),
    "CONCURRENT_TRANSACTIONS": (
        "If it stays: 'kwire transactions describe ID' shows what is open, 'terminate' aborts it."
    ),
    "KAFKA_STORAGE_ERROR": "A disk of the broker has failed: its log says which.",
    "REASSIGNMENT_IN_PROGRESS": (
        "'kwire partitions --reassigning' shows what is being moved, 'partitions cancel' ends it."
    ),
    "NON_EMPTY_GROUP": "Stop its members first: 'kwire groups describe GROUP' shows where they run.",
    "GROUP_ID_NOT_FOUND": (
        "'kwire groups' lists those that there are; a group without members and commits is forgotten."
    ),
    "TOPIC_DELETION_DISABLED": "Set delete.topic.enable=true on the brokers.",
    "GROUP_MAX_SIZE_REACHED": "Start fewer members, or raise group.max.size on the brokers.",
    "FENCED_INSTANCE_ID": "Two consumers have the same group.instance.id: give each its own.",
    "UNRELEASED_INSTANCE_ID": (
        "Wait until the other consumer's session is over, or give this one another group.instance.id."
    ),
    "GROUP_SUBSCRIBED_TO_TOPIC": "Stop the members that read it first.",
    "INVALID_RECORD": "The error names the record: a missing key, say, or a timestamp that the topic does not take.",
    "UNSTABLE_OFFSET_COMMIT": (
        "If it stays, a transaction hangs: 'kwire transactions --state Ongoing' shows which are open."
    ),
    "THROTTLING_QUOTA_EXCEEDED": "'kwire quotas' shows what is allowed.",
    "UNACCEPTABLE_CREDENTIAL": "SCRAM needs 4096 iterations at least: kwire users set NAME --iterations 8192.",
    "TRANSACTION_ABORTABLE": "Abort the transaction and begin it anew.",
    "UNSUPPORTED_ASSIGNOR": "Set group.remote.assignor to one of the broker's, mostly uniform or range.",
    "INVALID_REGULAR_EXPRESSION": "The brokers read patterns as RE2 does, without look-ahead and back references.",
}
