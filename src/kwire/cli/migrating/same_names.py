"""What is different where kwire has a call under the same name, and which defaults differ without an error."""

from __future__ import annotations

from collections.abc import Mapping

from kwire.cli.migrating.peers import AIOKAFKA, CONFLUENT, KAFKA_PYTHON

_CLOSE = "it flushes, and raises a DeliveryError with the records that failed"
_CLOSE_CONSUMER = (
    "it commits what is finished, and not the records of the last poll, since nobody has said that they are done: "
    "call commit() before"
)
_COMMITS = "without arguments what poll() has handed out is committed; {(topic, partition): offset} commits others"
_COMMITTED = "it takes a list of partitions, and returns {TopicPartition: OffsetAndMetadata or None}"
_FLUSH = "it returns nothing, and raises a DeliveryError with the records that failed"
_LIST = "it takes one list of partitions, not an argument for each"
_NO_COROUTINE = "no coroutine, and it takes one list of partitions, nothing for all"
_POSITION = "it takes one partition, and returns its offset"
_SEEK = "it is seek((topic, partition), offset); an offset may be a datetime, 'earliest' or 'latest', too"
_SENDS_OFFSETS = (
    "the offsets are {(topic, partition): offset} or records of a poll, the group is consumer.group_metadata()"
)
_SUBSCRIBE = (
    "a pattern is pattern=, of the whole name as in Java; a listener is an object with on_assigned, on_revoked and "
    "on_lost, each called with the partitions"
)
_TIMES = (
    "it takes {(topic, partition): milliseconds or datetime}, and returns {TopicPartition: offset and time, or None}"
)
_TIMESTAMP = "timestamp_ms= is timestamp="

_ADMIN = {
    "abort_transaction": "abort_transaction(partition, producer), with a producer of describe_producers()",
    "alter_configs": "alter_configs({('topic', name): {config: value}}) resets all that is not given; "
    "incremental_alter_configs() does not",
    "alter_consumer_group_offsets": "alter_consumer_group_offsets(group, {(topic, partition): offset})",
    "alter_partition_reassignments": "alter_partition_reassignments({(topic, partition): [brokers] or None})",
    "alter_replica_log_dirs": "alter_replica_log_dirs({(topic, partition, broker): directory})",
    "alter_user_scram_credentials": "alter_user_scram_credentials({user: {'SCRAM-SHA-256': password, or None}})",
    "create_acls": "create_acls([('topic', name, 'literal', 'User:bob', '*', 'read', 'allow')]), or "
    "kwire.admin.AclBinding",
    "create_partitions": "create_partitions({topic: number of partitions in all})",
    "create_topics": "create_topics({topic: number of partitions}), or {topic: kwire.admin.NewTopic(num_partitions=3, "
    "replication_factor=2, configs={...})}; a topic that exists raises TopicAlreadyExistsError",
    "delete_acls": "delete_acls([{'principal': 'User:bob'}]): a filter leaves out what it does not look at; returns "
    "{filter: what was deleted}",
    "delete_consumer_groups": "delete_consumer_groups([group, ...])",
    "delete_records": "delete_records({(topic, partition): offset or 'latest'}), returns {partition: first offset "
    "left}",
    "delete_topics": "delete_topics([topic, ...])",
    "describe_acls": "describe_acls({'name': topic, ...}), or without a filter; returns kwire.admin.AclBinding",
    "describe_cluster": "returns a kwire.admin.ClusterDescription: .cluster_id, .controller, .brokers {id: broker}",
    "describe_configs": "describe_configs([('topic', name)]), returns {resource: {config: entry}} with .value and "
    ".is_default",
    "describe_consumer_groups": "describe_consumer_groups([group]), returns {group: kwire.admin.GroupDescription}",
    "describe_features": "returns a kwire.admin.FeatureMetadata",
    "describe_log_dirs": "describe_log_dirs([broker]), returns {broker: {path: kwire.admin.LogDirDescription}}",
    "describe_metadata_quorum": "returns a kwire.admin.QuorumInfo",
    "describe_producers": "describe_producers([(topic, partition)]), returns {partition: kwire.admin.ProducerState "
    "...}",
    "describe_topics": "describe_topics([topic]), returns {topic: kwire.admin.TopicInfo}, and .partitions of it "
    "{number: partition}",
    "describe_transactions": "describe_transactions([id]), returns {id: kwire.admin.TransactionDescription}",
    "describe_user_scram_credentials": "describe_user_scram_credentials([user]), returns {user: {mechanism: "
    "iterations}}",
    "elect_leaders": "elect_leaders('preferred' or 'unclean', [(topic, partition)]), returns {partition: got "
    "another leader}",
    "incremental_alter_configs": "incremental_alter_configs({('topic', name): {config: value, or None to reset, or "
    "('append' or 'subtract', value)}})",
    "list_config_resources": "list_config_resources([type]), returns kwire.admin.ConfigResource",
    "list_consumer_group_offsets": "list_consumer_group_offsets(group), returns {partition: OffsetAndMetadata}",
    "list_consumer_groups": "list_consumer_groups(states=[...], types=[...]), returns kwire.admin.GroupListing",
    "list_groups": "list_groups(states=[...], types=[...]), returns kwire.admin.GroupListing",
    "list_offsets": "list_offsets({(topic, partition): 'earliest', 'latest' or a datetime}), returns {partition: "
    "offset "
    "and time}",
    "list_partition_reassignments": "list_partition_reassignments([(topic, partition)] or nothing)",
    "list_topics": "returns the names; describe_topics() has their partitions, describe_cluster() the brokers",
    "list_transactions": "list_transactions(states=[...], pattern=...), returns kwire.admin.TransactionListing",
    "update_features": "update_features({feature: level})",
}
_RECORD = {
    name: f"an attribute, no call: record.{name}"
    for name in ("headers", "key", "offset", "partition", "topic", "value")
}

DIFFERENT: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    CONFLUENT: {
        "Admin": _ADMIN,
        "Producer": {
            "close": _CLOSE,
            "flush": f"{_FLUSH}; callbacks need none of it",
            "init_transactions": "timeout= is a keyword; the first transaction calls it by itself",
            "send_offsets_to_transaction": _SENDS_OFFSETS,
        },
        "Consumer": {
            "assign": "it takes partitions; at={partition: offset} says where to begin. In a listener there is "
            "nothing to "
            "assign: seek() moves",
            "assignment": "it returns a set of TopicPartition, without offsets",
            "close": _CLOSE_CONSUMER,
            "commit": f"it waits, and takes records or offsets in its first argument; {_COMMITS}",
            "committed": _COMMITTED,
            "offsets_for_times": _TIMES,
            "poll": "it returns the records of several partitions: `for record in consumer.poll(timeout=1.0)`, none "
            "when "
            "the time is over; errors are raised",
            "position": _POSITION,
            "seek": _SEEK,
            "subscribe": f"a name that begins with ^ is refused: {_SUBSCRIBE}",
        },
        "Record": {**_RECORD, "timestamp": "attributes, no call: record.timestamp in ms, and record.timestamp_type"},
        "Registry": {
            "delete_subject": "permanent= is a keyword, and ends what a delete without it has begun",
            "delete_version": "permanent= is a keyword",
        },
        "ShareConsumer": {
            "acknowledge": "acknowledge(record, 'accept', 'release', 'reject' or 'renew')",
            "commit_async": "callback=f, called with {partition: error or None}",
            "poll": "timeout= is in seconds, and returns a sequence of records",
            "set_acknowledgement_commit_callback": "f({partition: set of offsets}, error or None)",
        },
    },
    AIOKAFKA: {
        "Admin": _ADMIN,
        "ByPartition": {
            "keys": "these are the records' keys here: by_partition() is the dict",
            "values": "these are the records' values here: by_partition().values() are lists of records",
        },
        "Producer": {
            "flush": f"`await flush()`: {_FLUSH}",
            "send": "no coroutine: it returns a Delivery at once, which is awaited for the metadata. BufferFull is "
            "raised "
            f"where send() would wait: `await producer.drain()` waits; {_TIMESTAMP}",
            "send_offsets_to_transaction": _SENDS_OFFSETS,
        },
        "Consumer": {
            "commit": _COMMITS,
            "committed": _COMMITTED,
            "offsets_for_times": _TIMES,
            "pause": _LIST,
            "resume": _LIST,
            "seek": _SEEK,
            "seek_to_beginning": _NO_COROUTINE,
            "seek_to_end": _NO_COROUTINE,
            "subscribe": _SUBSCRIBE,
        },
    },
    KAFKA_PYTHON: {
        "Admin": _ADMIN,
        "ByPartition": {
            "keys": "these are the records' keys here: by_partition() is the dict",
            "values": "these are the records' values here: by_partition().values() are lists of records",
        },
        "Producer": {
            "close": f"{_CLOSE}; timeout= is in seconds in both",
            "flush": f"{_FLUSH}; timeout= is in seconds in both",
            "send": f"it returns a Delivery, and {_TIMESTAMP}",
            "send_offsets_to_transaction": _SENDS_OFFSETS,
        },
        "Consumer": {
            "close": _CLOSE_CONSUMER,
            "commit": _COMMITS,
            "committed": _COMMITTED,
            "offsets_for_times": _TIMES,
            "poll": "timeout= is in seconds, and a loop over its result has records: by_partition() is the dict",
            "commit_async": "callback= is a keyword, and is called with the offsets and the error or None",
            "pause": _LIST,
            "resume": _LIST,
            "seek": _SEEK,
            "seek_to_beginning": _LIST,
            "seek_to_end": _LIST,
            "subscribe": _SUBSCRIBE,
        },
    },
}
"""By peer and kind: methods that kwire has under the same name, and what is not as it was."""

DEFAULTS: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    CONFLUENT: {
        "Consumer": {
            "allow_auto_create_topics": "by default True here, False in librdkafka: on a broker that creates topics, a "
            "consumer creates those that it subscribes to",
            "isolation_level": "by default read_uncommitted here, read_committed in librdkafka: set it where topics "
            "are "
            "written in transactions",
        },
        "Producer": {
            "partitioner": "by default keys go to other partitions than librdkafka's: give "
            "partitioner='consistent_random' where those of a key have to stay together",
        },
    },
    AIOKAFKA: {
        "Consumer": {
            "partition_assignment_strategy": "by default range and cooperative-sticky here, roundrobin alone there: "
            "give "
            "'roundrobin' for as long as the group has members of both",
        },
        "Producer": {"acks": "by default 'all' here, 1 there; and records are idempotent where the broker can"},
    },
}
"""By peer and kind: settings whose defaults differ so that a program does something else without an error."""
