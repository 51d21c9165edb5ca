"""What stands for the names that programs import from other clients: errors, values, enumerations, codes.

Those of clients are in `kwire.engine.common.absent`. A name that kwire has under the same spelling is found by itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from kwire.cli.migrating.peers import AIOKAFKA, CONFLUENT, KAFKA_PYTHON
from kwire.engine.common.absent import Differs, Missing, NotNeeded

_CONNECT = "it is kwire.errors.ConnectError here; constructors do not connect, so the first call raises it"
_CODE = "it is kwire.errors.broker.{} here"
_CLOSED = "it is kwire.errors.ClientClosedError here"
_CONFIG = "it is kwire.errors.ConfigError here, a ValueError, too"
_RETRIED = NotNeeded("kwire tries again by itself, and raises KafkaTimeoutError or ConnectError at its deadline")
_BASE = "it is kwire.errors.BrokerError here: .code and .retriable; each code is a class in kwire.errors.broker"
_WORDS = Differs("a word instead, in any spelling: {}")
_LISTENER = Differs("no base class: a listener is an object with on_assigned, on_revoked and on_lost, each optional")
_TOKENS = Differs("sasl_oauth_token= takes a callable without arguments that returns (token, lifetime in seconds)")
_SERDE = Differs("a callable (value, context), or (value); 'string', 'json', 'int32', 'float64' are names of some")
_DESERDE = Differs("a callable (bytes or None, context), or (bytes or None); 'string' and 'json' are names of two")
_RETURNED = Differs("calls of Admin return values of kwire.admin, which have attributes")
_RULES = Missing("rules of schemas are not run: ignore_rules=True of a Registry passes over them")
_COLUMNS = Differs("records of a poll are ConsumerRecords: a sequence, and columns")
_HASH = NotNeeded("partitioner= has it by name: 'murmur2', 'consistent', 'fnv1a'; any other rule is a callable")
_RESULT = Differs("results are tuples with names, or dicts of plain values")
_PRIVATE = Missing("kwire makes its own connections; kwire.protocol has the messages of all APIs")


def _words(*examples: str) -> Differs:
    return Differs(_WORDS.format(", ".join(map(repr, examples))))


def _broker(**names: str) -> dict[str, str]:
    return {theirs: _CODE.format(ours) for theirs, ours in names.items()}


_ERRORS: Mapping[str, str] = {
    "AuthenticationFailedError": "it is kwire.errors.AuthError here",
    "AuthenticationMethodNotSupported": "it is kwire.errors.AuthError here",
    "AuthorizationError": "each kind has a class in kwire.errors.broker: TopicAuthorizationFailedError and others",
    "BrokerResponseError": _BASE,
    "Cancelled": Differs("asyncio.CancelledError on an event loop; ClientClosedError for a client that was closed"),
    "CorrelationIdError": "it is kwire.errors.FrameError here",
    **dict.fromkeys(("for_code", "kafka_errors"), Differs("each code is a class in kwire.errors.broker, with .code")),
    "IllegalArgumentError": _CONFIG,
    "IllegalOperation": "it is kwire.errors.UnsupportedError or ConfigError here",
    "IllegalStateError": "it is kwire.errors.ConfigError or ConcurrentUseError here; of transactions "
    "TransactionStateError",
    "IncompatibleBrokerVersion": "it is kwire.errors.UnsupportedError here, which names broker and API",
    "InvalidMetadataError": _RETRIED,
    "InvalidReceiveError": "it is kwire.errors.FrameError here",
    "KafkaConfigurationError": _CONFIG,
    "KafkaConnectionError": _CONNECT,
    "KafkaProtocolError": "it is kwire.errors.CodecError or FrameError here",
    "KafkaUnavailableError": _CONNECT,
    "MetadataEmptyBrokerList": _RETRIED,
    "NoBrokersAvailable": _CONNECT,
    "NodeNotReadyError": _RETRIED,
    "ProducerClosed": _CLOSED,
    "ConsumerStoppedError": _CLOSED,
    "OffsetOutOfRangeError": "it is kwire.errors.broker.OffsetOutOfRangeError here; error.failures has the partition",
    "QuotaViolationError": NotNeeded("clients wait as long as brokers tell them to"),
    **dict.fromkeys(
        ("MessageSizeTooLargeError", "RecordTooLargeError"),
        "it is kwire.errors.LimitError of send() here, and kwire.errors.broker.MessageTooLargeError of a broker",
    ),
    "RetriableError": "BrokerError.retriable says so",
    "StaleMetadata": _RETRIED,
    "TooManyInFlightRequests": NotNeeded("send() waits for room in buffer_memory, or raises BufferFull"),
    "UnrecognizedBrokerVersion": NotNeeded("versions are agreed on with each broker"),
    "UnsupportedCodecError": "it is kwire.errors.UnknownCodecError here",
    **_broker(
        ConcurrentTransactions="ConcurrentTransactionsError",
        CorruptRecordError="CorruptMessageError",
        CorruptRecordException="CorruptMessageError",
        DuplicateSequenceNumber="DuplicateSequenceNumberError",
        GroupCoordinatorNotAvailableError="CoordinatorNotAvailableError",
        GroupLoadInProgressError="CoordinatorLoadInProgressError",
        InvalidConfigurationError="InvalidConfigError",
        InvalidFetchRequestError="InvalidFetchSizeError",
        InvalidMessageError="CorruptMessageError",
        InvalidReplicationAssignmentError="InvalidReplicaAssignmentError",
        NetworkExceptionError="NetworkError",
        NotCoordinatorForGroupError="NotCoordinatorError",
        NotLeaderForPartitionError="NotLeaderOrFollowerError",
        StaleLeaderEpochCodeError="NetworkError",
        UnknownBrokerIdError="BrokerNotAvailableError",
        UnknownError="UnknownServerError",
    ),
}
_ENUMERATIONS = {
    "ACLOperation": _words("read", "write", "all"),
    "ACLPermissionType": _words("allow", "deny"),
    "ACLResourcePatternType": _words("literal", "prefixed", "match"),
    "AclOperation": _words("read", "write", "all"),
    "AclPermissionType": _words("allow", "deny"),
    "AcknowledgeType": _words("accept", "release", "reject"),
    "AlterConfigOp": Differs("{config: value}, {config: None} to reset, {config: ('append' or 'subtract', value)}"),
    "AlterConfigOpType": Differs("{config: value}, {config: None} to reset, {config: ('append' or 'subtract', value)}"),
    "ConfigResourceType": _words("topic", "broker", "group"),
    "ConfigSource": _words("DYNAMIC_TOPIC_CONFIG"),
    "ConfigSourceType": _words("DYNAMIC_TOPIC_CONFIG"),
    "ConfigType": _words("string", "list"),
    "ConsumerGroupState": _words("Stable", "Empty", "Dead"),
    "ConsumerGroupType": _words("classic", "consumer"),
    "ElectionType": _words("preferred", "unclean"),
    "GroupState": _words("Stable", "Empty", "Dead"),
    "GroupType": _words("classic", "consumer"),
    "IsolationLevel": _words("read_committed", "read_uncommitted"),
    "OffsetSpec": Differs("'earliest', 'latest' or a datetime; there is none for the largest timestamp"),
    "OffsetTimestamp": Differs("a datetime, or milliseconds"),
    "ResourcePatternType": _words("literal", "prefixed", "match"),
    "ResourceType": _words("topic", "group", "cluster"),
    "ScramMechanism": _words("SCRAM-SHA-256", "SCRAM-SHA-512"),
    "TransactionState": _words("Ongoing", "CompleteCommit"),
    "UpdateFeatureType": _words("upgrade", "safe_downgrade"),
}
_VALUES = {
    "ACL": "it is kwire.admin.AclBinding here, or a tuple",
    "ACLFilter": "it is kwire.admin.AclFilter here, or a dict of what it looks at",
    "AclBindingFilter": "it is kwire.admin.AclFilter here, or a dict of what it looks at",
    "AbortTransactionSpec": "abort_transaction() takes a partition and a producer of describe_producers()",
    "ConsumerGroupListing": "it is kwire.admin.GroupListing here",
    "ConsumerGroupMetadata": "it is kwire.GroupMetadata here",
    "ConsumerGroupDescription": "it is kwire.admin.GroupDescription here",
    "ConsumerGroupTopicPartitions": Differs("a group and {(topic, partition): offset}"),
    "DescribeClusterResult": "it is kwire.admin.ClusterDescription here",
    "OffsetAndTimestamp": Differs("what offsets_for_times() and list_offsets() return has .offset and .timestamp"),
    "PartitionProducerState": "it is kwire.admin.ProducerState here",
    "PartitionMetadata": "it is kwire.admin.PartitionInfo here",
    "RecordsToDelete": "delete_records() takes {(topic, partition): offset}",
    "ResourcePattern": Differs("a tuple or dict in create_acls() and describe_acls()"),
    "ResourcePatternFilter": Differs("a tuple or dict in create_acls() and describe_acls()"),
    "TopicCollection": Differs("a list of names, or of ids"),
    "TopicDescription": "it is kwire.admin.TopicInfo here",
    "TopicPartitionInfo": "it is kwire.admin.PartitionInfo here",
    **dict.fromkeys(
        (
            *(
                "BrokerMetadata",
                "ClusterMetadata",
                "DeletedRecords",
                "GroupMember",
                "GroupMetadata",
                "ListConsumerGroupsResult",
            ),
            *(
                "ListOffsetsResultInfo",
                "MemberAssignment",
                "MemberState",
                "Node",
                "ScramCredentialInfo",
                "TopicMetadata",
            ),
            *("UserScramCredentialsDescription",),
        ),
        _RESULT,
    ),
    **dict.fromkeys(
        ("UserScramCredentialAlteration", "UserScramCredentialDeletion", "UserScramCredentialUpsertion"),
        Differs("alter_user_scram_credentials({user: {'SCRAM-SHA-256': password, None to delete}})"),
    ),
}
_OFFSET = "{} in seek() and at="

NAMES: Mapping[str, Mapping[str, str]] = {
    CONFLUENT: {
        **_ENUMERATIONS,
        **_VALUES,
        **dict.fromkeys(
            (
                *("Association", "AssociationCreateOrUpdateInfo", "AssociationCreateOrUpdateRequest"),
                *("AssociationInfo", "AssociationResponse"),
            ),
            Missing("kwire.registry has no call for associations"),
        ),
        **dict.fromkeys(
            ("AsyncAvroSerializer", "AsyncJSONSerializer", "AsyncProtobufSerializer"),
            Differs(
                "the serializer of kwire.registry with a kwire.aio.Registry, as value_serializer=; "
                "`await serializer.prepare(topic)` before the first send()"
            ),
        ),
        "AvroConsumer": "it is kwire.Consumer here, with value_deserializer=kwire.registry.AvroDeserializer(registry)",
        "AvroProducer": "it is kwire.Producer here, with value_serializer=kwire.registry.AvroSerializer(registry, "
        "schema)",
        "CachedSchemaRegistryClient": "it is kwire.registry.Registry(url) here, which asks once for what never changes",
        "ConcurrentModificationException": "it is kwire.errors.ConcurrentUseError here",
        "ConsumeError": "it is the error itself here: a BrokerError, or a SerializationError with topic, partition, "
        "offset",
        "IllegalStateException": "it is kwire.errors.ConfigError or ClientClosedError here",
        "KafkaError": Differs("errors are raised: kwire.errors has a class for each code, with .code and .retriable"),
        "KeyDeserializationError": "it is kwire.errors.SerializationError here, with field == 'key'",
        "KeySerializationError": "it is kwire.errors.SerializationError here, with field == 'key'",
        "Message": "it is kwire.ConsumerRecord here, with attributes: record.value",
        "MessageField": _words("key", "value"),
        "Messages": _COLUMNS,
        "OFFSET_BEGINNING": _OFFSET.format("'earliest'"),
        "OFFSET_END": _OFFSET.format("'latest'"),
        "OFFSET_INVALID": Differs("None, where there is no offset"),
        "OFFSET_STORED": NotNeeded("without at= reading begins at what the group has committed"),
        "ProduceError": "it is what Delivery.exception() returns here",
        "SchemaRegistryError": "it is kwire.errors.RegistryError here, with .status and .error_code",
        "ServerConfig": Missing("only the compatibility of subjects is asked for and set"),
        "TopicPartition": Differs("it has no offset in kwire: offsets are the values of {TopicPartition: offset}"),
        "Uuid": Differs("uuid.UUID"),
        "ValueDeserializationError": "it is kwire.errors.SerializationError here, with field == 'value'",
        "ValueSerializationError": "it is kwire.errors.SerializationError here, with field == 'value'",
        **dict.fromkeys(("consistent", "fnv1a", "murmur2"), _HASH),
        **dict.fromkeys(("libversion", "version"), "it is kwire.__version__ here"),
        **dict.fromkeys(
            ("TIMESTAMP_CREATE_TIME", "TIMESTAMP_LOG_APPEND_TIME", "TIMESTAMP_NOT_AVAILABLE"),
            Differs("record.timestamp_type is 0 for the create time, 1 for the append time, -1 for none"),
        ),
        **dict.fromkeys(
            ("DoubleSerializer", "IntegerSerializer", "StringSerializer", "Serializer", "SerializerBuilder"), _SERDE
        ),
        **dict.fromkeys(
            ("DoubleDeserializer", "IntegerDeserializer", "StringDeserializer", "Deserializer", "DeserializerBuilder"),
            _DESERDE,
        ),
        **dict.fromkeys(
            ("dual_schema_id_deserializer", "prefix_schema_id_deserializer"),
            NotNeeded("deserializers read both framings"),
        ),
        "header_schema_id_serializer": "framing='header' of the serializer",
        "prefix_schema_id_serializer": NotNeeded("it is what serializers do unless framing='header'"),
        "record_subject_name_strategy": "subject='record' of the serializer",
        "topic_record_subject_name_strategy": "subject='topic-record' of the serializer",
        "topic_subject_name_strategy": NotNeeded("it is what serializers do: subject='topic'"),
        **dict.fromkeys(
            ("Metadata", "MetadataProperties", "MetadataTags", "Rule", "RuleKind", "RuleMode", "RuleParams", "RuleSet"),
            _RULES,
        ),
        "ConfigCompatibilityLevel": _words("BACKWARD", "FULL", "NONE"),
        "meta_pb2": Missing("a file of confluent-kafka: make it from confluent/meta.proto by protoc, as your own"),
        "kafkatest": Missing("kwire.testing has a broker for tests"),
        "string_type": "it is str",
    },
    AIOKAFKA: {
        **_ERRORS,
        **_VALUES,
        "AIOKafkaClient": _PRIVATE,
        "AbstractTokenProvider": _TOKENS,
        "ConsumerRebalanceListener": _LISTENER,
        "NoError": NotNeeded("errors are raised"),
        "ProducerFenced": "it is kwire.errors.broker.ProducerFencedError here",
        "create_ssl_context": "ssl_ca_location=, ssl_certificate_location= and ssl_key_location=, or "
        "ssl_context=ssl.create_default_context(cafile=...)",
    },
    KAFKA_PYTHON: {
        **_ENUMERATIONS,
        **_ERRORS,
        **_VALUES,
        "AsyncConsumerRebalanceListener": _LISTENER,
        "ConsumerRebalanceListener": _LISTENER,
        "DefaultSerializer": "it is value_serializer='string' or value_deserializer='string' here",
        "DefaultPartitioner": NotNeeded("it is what partitioner= is unless it is given"),
        "Deserializer": Differs("lambda data, context: mine.deserialize(context.topic, context.headers, data)"),
        "JsonSerializer": "it is value_serializer='json' or value_deserializer='json' here",
        "NoError": NotNeeded("errors are raised"),
        "Partitioner": Differs("partitioner= takes a callable (key, partitions, available)"),
        "Serializer": Differs("lambda value, context: mine.serialize(context.topic, context.headers, value)"),
        **dict.fromkeys(("DeserializeWrapper", "SerializeWrapper"), NotNeeded("callables are taken as they are")),
        "StickyPartitioner": NotNeeded("records without a key stay with one partition for a batch"),
        "SubscriptionType": Missing("kwire keeps to itself how a consumer is subscribed"),
        "murmur2": _HASH,
    },
}
"""By peer: a name, and what to write instead or why there is nothing."""

_RAISED = "errors are raised: "
CODES: Mapping[str, str] = {
    "_ALL_BROKERS_DOWN": f"{_RAISED}kwire.errors.ConnectError, once the deadline of the call has passed",
    "_APPLICATION": f"{_RAISED}your own exceptions pass through kwire as they are",
    "_ASSIGNMENT_LOST": "the listener's on_lost(partitions) is called",
    "_AUTHENTICATION": f"{_RAISED}kwire.errors.AuthError",
    "_AUTO_OFFSET_RESET": f"{_RAISED}kwire.errors.NoOffsetForPartitionError",
    "_FATAL": f"{_RAISED}kwire.errors.TransactionError that is not .abortable, or ProducerFencedError",
    "_FENCED": f"{_RAISED}kwire.errors.broker.ProducerFencedError",
    "_KEY_DESERIALIZATION": f"{_RAISED}kwire.errors.SerializationError",
    "_KEY_SERIALIZATION": f"{_RAISED}kwire.errors.SerializationError",
    "_MAX_POLL_EXCEEDED": "on_lost(partitions) is called, and the next poll joins again",
    "_MSG_TIMED_OUT": "Delivery.exception() is a kwire.errors.KafkaTimeoutError",
    "_NO_OFFSET": "commit() of nothing does nothing; committed() has None",
    "_PARTITION_EOF": "assign(until=consumer.end_offsets(partitions)) ends a read, and done() says when",
    "_PURGE_INFLIGHT": f"{_RAISED}of a transaction that was aborted kwire.errors.TransactionAbortedError",
    "_PURGE_QUEUE": f"{_RAISED}of a transaction that was aborted kwire.errors.TransactionAbortedError",
    "_QUEUE_FULL": "send() waits for up to max_block_ms; with nowait=True it raises kwire.errors.BufferFull",
    "_RESOLVE": f"{_RAISED}kwire.errors.ConnectError, with causes by address",
    "_SSL": f"{_RAISED}kwire.errors.ConnectError or AuthError",
    "_STATE": f"{_RAISED}kwire.errors.ClientClosedError, or TransactionStateError",
    "_TIMED_OUT": f"{_RAISED}kwire.errors.KafkaTimeoutError, a TimeoutError, too",
    "_TRANSPORT": f"{_RAISED}kwire.errors.ConnectError, once the deadline of the call has passed",
    "_UNKNOWN_PARTITION": f"{_RAISED}kwire.errors.UnknownTopicError",
    "_UNKNOWN_TOPIC": f"{_RAISED}kwire.errors.UnknownTopicError",
    "_VALUE_DESERIALIZATION": f"{_RAISED}kwire.errors.SerializationError",
    "_VALUE_SERIALIZATION": f"{_RAISED}kwire.errors.SerializationError",
}
"""librdkafka's own codes, attributes of confluent-kafka's KafkaError."""

CODE_SPELLINGS = {
    "INVALID_MSG": "CORRUPT_MESSAGE",
    "INVALID_MSG_SIZE": "INVALID_FETCH_SIZE",
    "MSG_SIZE_TOO_LARGE": "MESSAGE_TOO_LARGE",
    "NOT_LEADER_FOR_PARTITION": "NOT_LEADER_OR_FOLLOWER",
    "STALE_CTRL_EPOCH": "STALE_CONTROLLER_EPOCH",
    "TOPIC_EXCEPTION": "INVALID_TOPIC_EXCEPTION",
    "UNKNOWN": "UNKNOWN_SERVER_ERROR",
    "UNKNOWN_TOPIC_OR_PART": "UNKNOWN_TOPIC_OR_PARTITION",
}
"""librdkafka's spelling of Kafka's codes, where it has one of its own."""

_FUTURES = dict.fromkeys(
    ("add_done_callback", "cancel", "done", "exception", "get", "items", "keys", "result", "values"),
    Differs("no futures: a call returns its results by item, or raises; error.failures has each that failed"),
)
ATTRIBUTES: Mapping[str, Mapping[str, str]] = {
    "Error": {
        "code": "error.code, an attribute; or `except` the class of that code",
        "fatal": "kwire.errors.TransactionError.abortable is False of what ends a producer",
        "name": "type(error).__name__",
        "retriable": "error.retriable, an attribute",
        "str": "str(error)",
        "txn_requires_abort": "kwire.errors.TransactionError.abortable",
    },
    "Future": _FUTURES,
    "Futures": _FUTURES,
    "Key": {},
    "Metadata": {
        "log_start_offset": Missing("a Delivery knows topic, partition, offset and timestamp"),
        "timestamp_type": Missing("a Delivery knows topic, partition, offset and timestamp"),
        "topic_partition": "it is (metadata.topic, metadata.partition)",
        **dict.fromkeys(
            ("checksum", "serialized_header_size", "serialized_key_size", "serialized_value_size"),
            Missing("a Delivery knows topic, partition, offset and timestamp"),
        ),
    },
    "Partition": {},
    "Record": {
        "checksum": Missing("it is checked, and not kept"),
        "delivery_count": "records.delivery_count(record), of what poll() returned",
        "deserialized_key": "record.key, with key_deserializer=",
        "deserialized_value": "record.value, with value_deserializer=",
        "error": Differs("errors are raised, never returned as records"),
        "latency": Missing("metrics() has the latency of requests; of one record take the time before and after"),
        "leader_epoch": Missing("records do not tell the epoch of their batch; kwire.records.decode() does"),
        "serialized_header_size": "the length of what record.raw_headers has",
        "serialized_key_size": "len(record.key)",
        "serialized_value_size": "len(record.value)",
        **dict.fromkeys(
            ("set_error", "set_headers", "set_key", "set_topic", "set_value"),
            Missing("records do not change: keep what you make of them beside them"),
        ),
    },
}
"""By kind of things: what kwire's has not, or has under another name."""
