"""Types of `broker.py`: one class per error code, and the same class under Apache's own name.

Generated from the table there by `make docs`.
"""

from kwire.errors import BrokerError

def by_code(code: int) -> type[BrokerError]:
    """The class of an error code. One that kwire does not know is an UnknownServerError that carries the number."""

def error_for(code: int, context: str = "") -> BrokerError:
    """The exception for an error code; `context` says which broker, topic and partition answered it, perhaps in the
    broker's own words: it is made printable, and cut after MAX_CONTEXT characters."""

class UnknownServerError(BrokerError):
    """UNKNOWN_SERVER_ERROR (-1): the broker failed in a way it has no code for; its log says more."""

class NoError(BrokerError):
    """NONE (0): no error."""

class OffsetOutOfRangeError(BrokerError):
    """OFFSET_OUT_OF_RANGE (1): the offset is before the first or after the last that the partition holds."""

class CorruptMessageError(BrokerError):
    """CORRUPT_MESSAGE (2): a checksum or size is wrong, or a compacted topic got a record without key."""

class UnknownTopicOrPartitionError(BrokerError):
    """UNKNOWN_TOPIC_OR_PARTITION (3): the broker does not have this topic or partition."""

class InvalidFetchSizeError(BrokerError):
    """INVALID_FETCH_SIZE (4): the fetch size cannot be used."""

class LeaderNotAvailableError(BrokerError):
    """LEADER_NOT_AVAILABLE (5): the partition has no leader at the moment; one is being elected."""

class NotLeaderOrFollowerError(BrokerError):
    """NOT_LEADER_OR_FOLLOWER (6): the broker is not, or no longer, the one that serves this partition."""

class RequestTimedOutError(BrokerError):
    """REQUEST_TIMED_OUT (7): the broker could not finish within the time the request allowed."""

class BrokerNotAvailableError(BrokerError):
    """BROKER_NOT_AVAILABLE (8): the broker is not available."""

class ReplicaNotAvailableError(BrokerError):
    """REPLICA_NOT_AVAILABLE (9): the replica is not available on this broker."""

class MessageTooLargeError(BrokerError):
    """MESSAGE_TOO_LARGE (10): larger than the broker or topic takes (message.max.bytes, max.message.bytes)."""

class StaleControllerEpochError(BrokerError):
    """STALE_CONTROLLER_EPOCH (11): another broker has become the controller."""

class OffsetMetadataTooLargeError(BrokerError):
    """OFFSET_METADATA_TOO_LARGE (12): the text committed with the offset is too long."""

class NetworkError(BrokerError):
    """NETWORK_EXCEPTION (13): the connection ended before the answer came."""

class CoordinatorLoadInProgressError(BrokerError):
    """COORDINATOR_LOAD_IN_PROGRESS (14): the coordinator is still reading its state."""

class CoordinatorNotAvailableError(BrokerError):
    """COORDINATOR_NOT_AVAILABLE (15): there is no coordinator at the moment."""

class NotCoordinatorError(BrokerError):
    """NOT_COORDINATOR (16): another broker coordinates this group or transaction."""

class InvalidTopicError(BrokerError):
    """INVALID_TOPIC_EXCEPTION (17): the topic name is not allowed, or the topic may not be used this way."""

class RecordListTooLargeError(BrokerError):
    """RECORD_LIST_TOO_LARGE (18): the batch is larger than a log segment."""

class NotEnoughReplicasError(BrokerError):
    """NOT_ENOUGH_REPLICAS (19): fewer replicas in sync than min.insync.replicas; nothing was written."""

class NotEnoughReplicasAfterAppendError(BrokerError):
    """NOT_ENOUGH_REPLICAS_AFTER_APPEND (20): written, but to fewer replicas than min.insync.replicas."""

class InvalidRequiredAcksError(BrokerError):
    """INVALID_REQUIRED_ACKS (21): acks must be 0, 1 or -1 (all)."""

class IllegalGenerationError(BrokerError):
    """ILLEGAL_GENERATION (22): the group has moved on to another generation."""

class InconsistentGroupProtocolError(BrokerError):
    """INCONSISTENT_GROUP_PROTOCOL (23): the member shares no assignment protocol with the group."""

class InvalidGroupIdError(BrokerError):
    """INVALID_GROUP_ID (24): the group id cannot be used."""

class UnknownMemberIdError(BrokerError):
    """UNKNOWN_MEMBER_ID (25): the coordinator does not know this member."""

class InvalidSessionTimeoutError(BrokerError):
    """INVALID_SESSION_TIMEOUT (26): outside the broker's group.min and group.max.session.timeout.ms."""

class RebalanceInProgressError(BrokerError):
    """REBALANCE_IN_PROGRESS (27): the group is being rebalanced; the member must join again."""

class InvalidCommitOffsetSizeError(BrokerError):
    """INVALID_COMMIT_OFFSET_SIZE (28): the commit is too large."""

class TopicAuthorizationFailedError(BrokerError):
    """TOPIC_AUTHORIZATION_FAILED (29): not allowed on this topic."""

class GroupAuthorizationFailedError(BrokerError):
    """GROUP_AUTHORIZATION_FAILED (30): not allowed in this group."""

class ClusterAuthorizationFailedError(BrokerError):
    """CLUSTER_AUTHORIZATION_FAILED (31): not allowed on this cluster."""

class InvalidTimestampError(BrokerError):
    """INVALID_TIMESTAMP (32): the record's timestamp is too far from the broker's clock."""

class UnsupportedSaslMechanismError(BrokerError):
    """UNSUPPORTED_SASL_MECHANISM (33): the broker does not offer this SASL mechanism."""

class IllegalSaslStateError(BrokerError):
    """ILLEGAL_SASL_STATE (34): not the request that the SASL exchange expects now."""

class UnsupportedVersionError(BrokerError):
    """UNSUPPORTED_VERSION (35): the broker does not speak this version of the request."""

class TopicAlreadyExistsError(BrokerError):
    """TOPIC_ALREADY_EXISTS (36): a topic of this name exists."""

class InvalidPartitionsError(BrokerError):
    """INVALID_PARTITIONS (37): the number of partitions cannot be used."""

class InvalidReplicationFactorError(BrokerError):
    """INVALID_REPLICATION_FACTOR (38): the replication factor is below 1 or above the number of brokers."""

class InvalidReplicaAssignmentError(BrokerError):
    """INVALID_REPLICA_ASSIGNMENT (39): the replicas cannot be placed as asked."""

class InvalidConfigError(BrokerError):
    """INVALID_CONFIG (40): a configuration entry cannot be used."""

class NotControllerError(BrokerError):
    """NOT_CONTROLLER (41): another broker is the controller."""

class InvalidRequestError(BrokerError):
    """INVALID_REQUEST (42): the broker cannot make sense of the request; its log says more."""

class UnsupportedForMessageFormatError(BrokerError):
    """UNSUPPORTED_FOR_MESSAGE_FORMAT (43): the topic's message format is too old for this request."""

class PolicyViolationError(BrokerError):
    """POLICY_VIOLATION (44): a policy set on the broker forbids it."""

class OutOfOrderSequenceNumberError(BrokerError):
    """OUT_OF_ORDER_SEQUENCE_NUMBER (45): a batch of this producer is missing before this one."""

class DuplicateSequenceNumberError(BrokerError):
    """DUPLICATE_SEQUENCE_NUMBER (46): this batch was appended before."""

class InvalidProducerEpochError(BrokerError):
    """INVALID_PRODUCER_EPOCH (47): a newer instance of this producer has taken over."""

class InvalidTxnStateError(BrokerError):
    """INVALID_TXN_STATE (48): the transaction's state does not allow it."""

class InvalidProducerIdMappingError(BrokerError):
    """INVALID_PRODUCER_ID_MAPPING (49): the producer id does not belong to this transactional id."""

class InvalidTransactionTimeoutError(BrokerError):
    """INVALID_TRANSACTION_TIMEOUT (50): transaction.timeout.ms is above the broker's limit for it."""

class ConcurrentTransactionsError(BrokerError):
    """CONCURRENT_TRANSACTIONS (51): another operation on this transaction is in progress."""

class TransactionCoordinatorFencedError(BrokerError):
    """TRANSACTION_COORDINATOR_FENCED (52): the coordinator that asks is no longer the one in charge."""

class TransactionalIdAuthorizationFailedError(BrokerError):
    """TRANSACTIONAL_ID_AUTHORIZATION_FAILED (53): not allowed to use this transactional id."""

class SecurityDisabledError(BrokerError):
    """SECURITY_DISABLED (54): the broker has no security features switched on."""

class OperationNotAttemptedError(BrokerError):
    """OPERATION_NOT_ATTEMPTED (55): not tried, because another part of the same request failed."""

class KafkaStorageError(BrokerError):
    """KAFKA_STORAGE_ERROR (56): the broker's disk failed."""

class LogDirNotFoundError(BrokerError):
    """LOG_DIR_NOT_FOUND (57): the broker has no such log directory."""

class SaslAuthenticationFailedError(BrokerError):
    """SASL_AUTHENTICATION_FAILED (58): the broker refused the credentials."""

class UnknownProducerIdError(BrokerError):
    """UNKNOWN_PRODUCER_ID (59): the broker holds nothing of this producer, perhaps since its records expired."""

class ReassignmentInProgressError(BrokerError):
    """REASSIGNMENT_IN_PROGRESS (60): the partition is being moved."""

class DelegationTokenAuthDisabledError(BrokerError):
    """DELEGATION_TOKEN_AUTH_DISABLED (61): the broker has delegation tokens switched off."""

class DelegationTokenNotFoundError(BrokerError):
    """DELEGATION_TOKEN_NOT_FOUND (62): the broker does not know this delegation token."""

class DelegationTokenOwnerMismatchError(BrokerError):
    """DELEGATION_TOKEN_OWNER_MISMATCH (63): neither the token's owner nor its renewer."""

class DelegationTokenRequestNotAllowedError(BrokerError):
    """DELEGATION_TOKEN_REQUEST_NOT_ALLOWED (64): not on a connection without or with token authentication."""

class DelegationTokenAuthorizationFailedError(BrokerError):
    """DELEGATION_TOKEN_AUTHORIZATION_FAILED (65): not allowed on this delegation token."""

class DelegationTokenExpiredError(BrokerError):
    """DELEGATION_TOKEN_EXPIRED (66): the delegation token has expired."""

class InvalidPrincipalTypeError(BrokerError):
    """INVALID_PRINCIPAL_TYPE (67): this type of principal is not supported."""

class NonEmptyGroupError(BrokerError):
    """NON_EMPTY_GROUP (68): the group still has members."""

class GroupIdNotFoundError(BrokerError):
    """GROUP_ID_NOT_FOUND (69): there is no such group."""

class FetchSessionIdNotFoundError(BrokerError):
    """FETCH_SESSION_ID_NOT_FOUND (70): the broker has dropped the fetch session."""

class InvalidFetchSessionEpochError(BrokerError):
    """INVALID_FETCH_SESSION_EPOCH (71): not the next request of the fetch session."""

class ListenerNotFoundError(BrokerError):
    """LISTENER_NOT_FOUND (72): the leader has no listener like the one that was asked."""

class TopicDeletionDisabledError(BrokerError):
    """TOPIC_DELETION_DISABLED (73): the broker does not let topics be deleted (delete.topic.enable)."""

class FencedLeaderEpochError(BrokerError):
    """FENCED_LEADER_EPOCH (74): there is a newer leader than the request was meant for."""

class UnknownLeaderEpochError(BrokerError):
    """UNKNOWN_LEADER_EPOCH (75): the broker has not heard of the leader the request was meant for."""

class UnsupportedCompressionTypeError(BrokerError):
    """UNSUPPORTED_COMPRESSION_TYPE (76): the request's version cannot carry the partition's compression."""

class StaleBrokerEpochError(BrokerError):
    """STALE_BROKER_EPOCH (77): the broker has registered again since."""

class OffsetNotAvailableError(BrokerError):
    """OFFSET_NOT_AVAILABLE (78): the new leader does not yet know its high watermark."""

class MemberIdRequiredError(BrokerError):
    """MEMBER_ID_REQUIRED (79): the member must join again with the id it was given."""

class PreferredLeaderNotAvailableError(BrokerError):
    """PREFERRED_LEADER_NOT_AVAILABLE (80): the preferred leader is not available."""

class GroupMaxSizeReachedError(BrokerError):
    """GROUP_MAX_SIZE_REACHED (81): the group has as many members as the broker allows."""

class FencedInstanceIdError(BrokerError):
    """FENCED_INSTANCE_ID (82): another member has taken over this group.instance.id."""

class EligibleLeadersNotAvailableError(BrokerError):
    """ELIGIBLE_LEADERS_NOT_AVAILABLE (83): no replica can become leader at the moment."""

class ElectionNotNeededError(BrokerError):
    """ELECTION_NOT_NEEDED (84): the partition has the leader that was asked for."""

class NoReassignmentInProgressError(BrokerError):
    """NO_REASSIGNMENT_IN_PROGRESS (85): the partition is not being moved."""

class GroupSubscribedToTopicError(BrokerError):
    """GROUP_SUBSCRIBED_TO_TOPIC (86): the group reads this topic, so its offsets cannot be deleted."""

class InvalidRecordError(BrokerError):
    """INVALID_RECORD (87): the broker's checks refused a record."""

class UnstableOffsetCommitError(BrokerError):
    """UNSTABLE_OFFSET_COMMIT (88): offsets of an open transaction wait to be settled."""

class ThrottlingQuotaExceededError(BrokerError):
    """THROTTLING_QUOTA_EXCEEDED (89): a quota is used up."""

class ProducerFencedError(BrokerError):
    """PRODUCER_FENCED (90): a newer producer uses the same transactional id."""

class ResourceNotFoundError(BrokerError):
    """RESOURCE_NOT_FOUND (91): there is no such resource."""

class DuplicateResourceError(BrokerError):
    """DUPLICATE_RESOURCE (92): the request names a resource twice."""

class UnacceptableCredentialError(BrokerError):
    """UNACCEPTABLE_CREDENTIAL (93): the credential is not good enough."""

class InconsistentVoterSetError(BrokerError):
    """INCONSISTENT_VOTER_SET (94): one of the two sides is not a voter."""

class InvalidUpdateVersionError(BrokerError):
    """INVALID_UPDATE_VERSION (95): not a version that can follow the present one."""

class FeatureUpdateFailedError(BrokerError):
    """FEATURE_UPDATE_FAILED (96): the features could not be updated."""

class PrincipalDeserializationFailureError(BrokerError):
    """PRINCIPAL_DESERIALIZATION_FAILURE (97): the principal of a forwarded request cannot be read."""

class SnapshotNotFoundError(BrokerError):
    """SNAPSHOT_NOT_FOUND (98): there is no such snapshot."""

class PositionOutOfRangeError(BrokerError):
    """POSITION_OUT_OF_RANGE (99): the position is outside the snapshot."""

class UnknownTopicIdError(BrokerError):
    """UNKNOWN_TOPIC_ID (100): the broker does not have a topic of this id."""

class DuplicateBrokerRegistrationError(BrokerError):
    """DUPLICATE_BROKER_REGISTRATION (101): another broker uses this id."""

class BrokerIdNotRegisteredError(BrokerError):
    """BROKER_ID_NOT_REGISTERED (102): no broker has registered with this id."""

class InconsistentTopicIdError(BrokerError):
    """INCONSISTENT_TOPIC_ID (103): the topic was deleted and made again under the same name."""

class InconsistentClusterIdError(BrokerError):
    """INCONSISTENT_CLUSTER_ID (104): the broker belongs to another cluster."""

class TransactionalIdNotFoundError(BrokerError):
    """TRANSACTIONAL_ID_NOT_FOUND (105): there is no such transactional id."""

class FetchSessionTopicIdError(BrokerError):
    """FETCH_SESSION_TOPIC_ID_ERROR (106): the fetch session mixes topics with and without ids."""

class IneligibleReplicaError(BrokerError):
    """INELIGIBLE_REPLICA (107): a replica may not be in the in-sync set."""

class NewLeaderElectedError(BrokerError):
    """NEW_LEADER_ELECTED (108): done, and the partition has a new leader."""

class OffsetMovedToTieredStorageError(BrokerError):
    """OFFSET_MOVED_TO_TIERED_STORAGE (109): the offset is no longer on the broker's own disk."""

class FencedMemberEpochError(BrokerError):
    """FENCED_MEMBER_EPOCH (110): the member has been replaced; it must give up its partitions and join again."""

class UnreleasedInstanceIdError(BrokerError):
    """UNRELEASED_INSTANCE_ID (111): another member still uses this instance id."""

class UnsupportedAssignorError(BrokerError):
    """UNSUPPORTED_ASSIGNOR (112): the group does not support this assignor."""

class StaleMemberEpochError(BrokerError):
    """STALE_MEMBER_EPOCH (113): the member must wait for its new epoch and try again."""

class MismatchedEndpointTypeError(BrokerError):
    """MISMATCHED_ENDPOINT_TYPE (114): a broker's request to a controller, or the other way round."""

class UnsupportedEndpointTypeError(BrokerError):
    """UNSUPPORTED_ENDPOINT_TYPE (115): this type of endpoint is not supported."""

class UnknownControllerIdError(BrokerError):
    """UNKNOWN_CONTROLLER_ID (116): there is no such controller."""

class UnknownSubscriptionIdError(BrokerError):
    """UNKNOWN_SUBSCRIPTION_ID (117): the telemetry subscription is out of date."""

class TelemetryTooLargeError(BrokerError):
    """TELEMETRY_TOO_LARGE (118): more telemetry than the broker takes at once."""

class InvalidRegistrationError(BrokerError):
    """INVALID_REGISTRATION (119): the controller refused the broker's registration."""

class TransactionAbortableError(BrokerError):
    """TRANSACTION_ABORTABLE (120): the transaction must be aborted; the producer can go on after that."""

class InvalidRecordStateError(BrokerError):
    """INVALID_RECORD_STATE (121): the record cannot be acknowledged in its state."""

class ShareSessionNotFoundError(BrokerError):
    """SHARE_SESSION_NOT_FOUND (122): the broker has dropped the share session."""

class InvalidShareSessionEpochError(BrokerError):
    """INVALID_SHARE_SESSION_EPOCH (123): not the next request of the share session."""

class FencedStateEpochError(BrokerError):
    """FENCED_STATE_EPOCH (124): the share group's state has moved on."""

class InvalidVoterKeyError(BrokerError):
    """INVALID_VOTER_KEY (125): not the key of the voter that was asked."""

class DuplicateVoterError(BrokerError):
    """DUPLICATE_VOTER (126): a voter already."""

class VoterNotFoundError(BrokerError):
    """VOTER_NOT_FOUND (127): not one of the voters."""

class InvalidRegularExpressionError(BrokerError):
    """INVALID_REGULAR_EXPRESSION (128): the broker cannot read the regular expression."""

class RebootstrapRequiredError(BrokerError):
    """REBOOTSTRAP_REQUIRED (129): the client knows a cluster that is no longer so; it must bootstrap again."""

class StreamsInvalidTopologyError(BrokerError):
    """STREAMS_INVALID_TOPOLOGY (130): the topology cannot be used."""

class StreamsInvalidTopologyEpochError(BrokerError):
    """STREAMS_INVALID_TOPOLOGY_EPOCH (131): the topology epoch cannot be used."""

class StreamsTopologyFencedError(BrokerError):
    """STREAMS_TOPOLOGY_FENCED (132): the topology epoch is out of date."""

class ShareSessionLimitReachedError(BrokerError):
    """SHARE_SESSION_LIMIT_REACHED (133): the broker has as many share sessions as it allows."""

class GroupDeletionFailedError(BrokerError):
    """GROUP_DELETION_FAILED (134): the group could not be deleted; the answer says why."""

class StreamsTopologyDescriptionUpdateFailedError(BrokerError):
    """STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED (135): the description was not stored; the answer says why."""

class ControllerIdNotRegisteredError(BrokerError):
    """CONTROLLER_ID_NOT_REGISTERED (136): no controller has registered with this id."""

UNKNOWN_SERVER_ERROR = UnknownServerError
NONE = NoError
OFFSET_OUT_OF_RANGE = OffsetOutOfRangeError
CORRUPT_MESSAGE = CorruptMessageError
UNKNOWN_TOPIC_OR_PARTITION = UnknownTopicOrPartitionError
INVALID_FETCH_SIZE = InvalidFetchSizeError
LEADER_NOT_AVAILABLE = LeaderNotAvailableError
NOT_LEADER_OR_FOLLOWER = NotLeaderOrFollowerError
REQUEST_TIMED_OUT = RequestTimedOutError
BROKER_NOT_AVAILABLE = BrokerNotAvailableError
REPLICA_NOT_AVAILABLE = ReplicaNotAvailableError
MESSAGE_TOO_LARGE = MessageTooLargeError
STALE_CONTROLLER_EPOCH = StaleControllerEpochError
OFFSET_METADATA_TOO_LARGE = OffsetMetadataTooLargeError
NETWORK_EXCEPTION = NetworkError
COORDINATOR_LOAD_IN_PROGRESS = CoordinatorLoadInProgressError
COORDINATOR_NOT_AVAILABLE = CoordinatorNotAvailableError
NOT_COORDINATOR = NotCoordinatorError
INVALID_TOPIC_EXCEPTION = InvalidTopicError
RECORD_LIST_TOO_LARGE = RecordListTooLargeError
NOT_ENOUGH_REPLICAS = NotEnoughReplicasError
NOT_ENOUGH_REPLICAS_AFTER_APPEND = NotEnoughReplicasAfterAppendError
INVALID_REQUIRED_ACKS = InvalidRequiredAcksError
ILLEGAL_GENERATION = IllegalGenerationError
INCONSISTENT_GROUP_PROTOCOL = InconsistentGroupProtocolError
INVALID_GROUP_ID = InvalidGroupIdError
UNKNOWN_MEMBER_ID = UnknownMemberIdError
INVALID_SESSION_TIMEOUT = InvalidSessionTimeoutError
REBALANCE_IN_PROGRESS = RebalanceInProgressError
INVALID_COMMIT_OFFSET_SIZE = InvalidCommitOffsetSizeError
TOPIC_AUTHORIZATION_FAILED = TopicAuthorizationFailedError
GROUP_AUTHORIZATION_FAILED = GroupAuthorizationFailedError
CLUSTER_AUTHORIZATION_FAILED = ClusterAuthorizationFailedError
INVALID_TIMESTAMP = InvalidTimestampError
UNSUPPORTED_SASL_MECHANISM = UnsupportedSaslMechanismError
ILLEGAL_SASL_STATE = IllegalSaslStateError
UNSUPPORTED_VERSION = UnsupportedVersionError
TOPIC_ALREADY_EXISTS = TopicAlreadyExistsError
INVALID_PARTITIONS = InvalidPartitionsError
INVALID_REPLICATION_FACTOR = InvalidReplicationFactorError
INVALID_REPLICA_ASSIGNMENT = InvalidReplicaAssignmentError
INVALID_CONFIG = InvalidConfigError
NOT_CONTROLLER = NotControllerError
INVALID_REQUEST = InvalidRequestError
UNSUPPORTED_FOR_MESSAGE_FORMAT = UnsupportedForMessageFormatError
POLICY_VIOLATION = PolicyViolationError
OUT_OF_ORDER_SEQUENCE_NUMBER = OutOfOrderSequenceNumberError
DUPLICATE_SEQUENCE_NUMBER = DuplicateSequenceNumberError
INVALID_PRODUCER_EPOCH = InvalidProducerEpochError
INVALID_TXN_STATE = InvalidTxnStateError
INVALID_PRODUCER_ID_MAPPING = InvalidProducerIdMappingError
INVALID_TRANSACTION_TIMEOUT = InvalidTransactionTimeoutError
CONCURRENT_TRANSACTIONS = ConcurrentTransactionsError
TRANSACTION_COORDINATOR_FENCED = TransactionCoordinatorFencedError
TRANSACTIONAL_ID_AUTHORIZATION_FAILED = TransactionalIdAuthorizationFailedError
SECURITY_DISABLED = SecurityDisabledError
OPERATION_NOT_ATTEMPTED = OperationNotAttemptedError
KAFKA_STORAGE_ERROR = KafkaStorageError
LOG_DIR_NOT_FOUND = LogDirNotFoundError
SASL_AUTHENTICATION_FAILED = SaslAuthenticationFailedError
UNKNOWN_PRODUCER_ID = UnknownProducerIdError
REASSIGNMENT_IN_PROGRESS = ReassignmentInProgressError
DELEGATION_TOKEN_AUTH_DISABLED = DelegationTokenAuthDisabledError
DELEGATION_TOKEN_NOT_FOUND = DelegationTokenNotFoundError
DELEGATION_TOKEN_OWNER_MISMATCH = DelegationTokenOwnerMismatchError
DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = DelegationTokenRequestNotAllowedError
DELEGATION_TOKEN_AUTHORIZATION_FAILED = DelegationTokenAuthorizationFailedError
DELEGATION_TOKEN_EXPIRED = DelegationTokenExpiredError
INVALID_PRINCIPAL_TYPE = InvalidPrincipalTypeError
NON_EMPTY_GROUP = NonEmptyGroupError
GROUP_ID_NOT_FOUND = GroupIdNotFoundError
FETCH_SESSION_ID_NOT_FOUND = FetchSessionIdNotFoundError
INVALID_FETCH_SESSION_EPOCH = InvalidFetchSessionEpochError
LISTENER_NOT_FOUND = ListenerNotFoundError
TOPIC_DELETION_DISABLED = TopicDeletionDisabledError
FENCED_LEADER_EPOCH = FencedLeaderEpochError
UNKNOWN_LEADER_EPOCH = UnknownLeaderEpochError
UNSUPPORTED_COMPRESSION_TYPE = UnsupportedCompressionTypeError
STALE_BROKER_EPOCH = StaleBrokerEpochError
OFFSET_NOT_AVAILABLE = OffsetNotAvailableError
MEMBER_ID_REQUIRED = MemberIdRequiredError
PREFERRED_LEADER_NOT_AVAILABLE = PreferredLeaderNotAvailableError
GROUP_MAX_SIZE_REACHED = GroupMaxSizeReachedError
FENCED_INSTANCE_ID = FencedInstanceIdError
ELIGIBLE_LEADERS_NOT_AVAILABLE = EligibleLeadersNotAvailableError
ELECTION_NOT_NEEDED = ElectionNotNeededError
NO_REASSIGNMENT_IN_PROGRESS = NoReassignmentInProgressError
GROUP_SUBSCRIBED_TO_TOPIC = GroupSubscribedToTopicError
INVALID_RECORD = InvalidRecordError
UNSTABLE_OFFSET_COMMIT = UnstableOffsetCommitError
THROTTLING_QUOTA_EXCEEDED = ThrottlingQuotaExceededError
PRODUCER_FENCED = ProducerFencedError
RESOURCE_NOT_FOUND = ResourceNotFoundError
DUPLICATE_RESOURCE = DuplicateResourceError
UNACCEPTABLE_CREDENTIAL = UnacceptableCredentialError
INCONSISTENT_VOTER_SET = InconsistentVoterSetError
INVALID_UPDATE_VERSION = InvalidUpdateVersionError
FEATURE_UPDATE_FAILED = FeatureUpdateFailedError
PRINCIPAL_DESERIALIZATION_FAILURE = PrincipalDeserializationFailureError
SNAPSHOT_NOT_FOUND = SnapshotNotFoundError
POSITION_OUT_OF_RANGE = PositionOutOfRangeError
UNKNOWN_TOPIC_ID = UnknownTopicIdError
DUPLICATE_BROKER_REGISTRATION = DuplicateBrokerRegistrationError
BROKER_ID_NOT_REGISTERED = BrokerIdNotRegisteredError
INCONSISTENT_TOPIC_ID = InconsistentTopicIdError
INCONSISTENT_CLUSTER_ID = InconsistentClusterIdError
TRANSACTIONAL_ID_NOT_FOUND = TransactionalIdNotFoundError
FETCH_SESSION_TOPIC_ID_ERROR = FetchSessionTopicIdError
INELIGIBLE_REPLICA = IneligibleReplicaError
NEW_LEADER_ELECTED = NewLeaderElectedError
OFFSET_MOVED_TO_TIERED_STORAGE = OffsetMovedToTieredStorageError
FENCED_MEMBER_EPOCH = FencedMemberEpochError
UNRELEASED_INSTANCE_ID = UnreleasedInstanceIdError
UNSUPPORTED_ASSIGNOR = UnsupportedAssignorError
STALE_MEMBER_EPOCH = StaleMemberEpochError
MISMATCHED_ENDPOINT_TYPE = MismatchedEndpointTypeError
UNSUPPORTED_ENDPOINT_TYPE = UnsupportedEndpointTypeError
UNKNOWN_CONTROLLER_ID = UnknownControllerIdError
UNKNOWN_SUBSCRIPTION_ID = UnknownSubscriptionIdError
TELEMETRY_TOO_LARGE = TelemetryTooLargeError
INVALID_REGISTRATION = InvalidRegistrationError
TRANSACTION_ABORTABLE = TransactionAbortableError
INVALID_RECORD_STATE = InvalidRecordStateError
SHARE_SESSION_NOT_FOUND = ShareSessionNotFoundError
INVALID_SHARE_SESSION_EPOCH = InvalidShareSessionEpochError
FENCED_STATE_EPOCH = FencedStateEpochError
INVALID_VOTER_KEY = InvalidVoterKeyError
DUPLICATE_VOTER = DuplicateVoterError
VOTER_NOT_FOUND = VoterNotFoundError
INVALID_REGULAR_EXPRESSION = InvalidRegularExpressionError
REBOOTSTRAP_REQUIRED = RebootstrapRequiredError
STREAMS_INVALID_TOPOLOGY = StreamsInvalidTopologyError
STREAMS_INVALID_TOPOLOGY_EPOCH = StreamsInvalidTopologyEpochError
STREAMS_TOPOLOGY_FENCED = StreamsTopologyFencedError
SHARE_SESSION_LIMIT_REACHED = ShareSessionLimitReachedError
GROUP_DELETION_FAILED = GroupDeletionFailedError
STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED = StreamsTopologyDescriptionUpdateFailedError
CONTROLLER_ID_NOT_REGISTERED = ControllerIdNotRegisteredError
