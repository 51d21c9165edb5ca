"""What the configs mean that have an effect here, in a few words: the documentation in DescribeConfigs.

All others have none: for what they do in Kafka, Kafka's own documentation is the place.
"""

from __future__ import annotations

from collections.abc import Mapping

TOPIC_TEXTS: Mapping[str, str] = {
    "cleanup.policy": "What happens to old records: delete, compact (the last one of each key stays), or both.",
    "delete.retention.ms": "How long a record without a value stays in a compacted log, in ms.",
    "max.compaction.lag.ms": "After how many ms a record is compacted whatever else is to be compacted.",
    "max.message.bytes": "The largest record batch that is taken, in bytes.",
    "message.timestamp.after.max.ms": "How many ms a record may be ahead of the broker's clock.",
    "message.timestamp.before.max.ms": "How many ms a record may be behind the broker's clock.",
    "message.timestamp.difference.max.ms": "How many ms a record may be off the broker's clock.",
    "message.timestamp.type": "Who stamps records: their producer (CreateTime) or the broker (LogAppendTime).",
    "min.cleanable.dirty.ratio": "Which part of a log must be new before it is compacted.",
    "min.compaction.lag.ms": "How many ms a record stays as it is before it may be compacted.",
    "min.insync.replicas": "How many replicas must be in sync for records with acks=all to be taken.",
    "retention.bytes": "How many bytes of a partition are kept; -1 keeps all.",
    "retention.ms": "How long records are kept, in ms; -1 keeps them for ever.",
    "segment.bytes": "How many bytes a segment of a log may have.",
    "segment.ms": "How many ms the records of a segment may span.",
    "unclean.leader.election.enable": "Whether a replica that is not in sync may lead when no other is alive.",
}

BROKER_TEXTS: Mapping[str, str] = {
    "advertised.listeners": "Where clients are told to reach the broker.",
    "authorizer.class.name": "The authorizer, which decides what clients may do; empty: everything.",
    "auto.create.topics.enable": "Whether a topic is made when a client asks for its metadata.",
    "broker.id": "The id of the node.",
    "broker.rack": "The rack of the node.",
    "connections.max.reauth.ms": "After how many ms a client has to log in again; 0: never.",
    "default.replication.factor": "How many replicas a new topic has by default.",
    "group.consumer.assignment.interval.ms": "How many ms lie between two assignments of a consumer group.",
    "group.consumer.assignors": "The assignors of consumer groups; the first is the default.",
    "group.consumer.heartbeat.interval.ms": "How often members of consumer groups send heartbeats, in ms.",
    "group.consumer.max.size": "How many members a consumer group may have.",
    "group.consumer.migration.policy": "Whether classic groups may become consumer groups, and the reverse.",
    "group.consumer.session.timeout.ms": "After how many ms of silence a member of a consumer group is removed.",
    "group.initial.rebalance.delay.ms": "How many ms a new classic group waits for more members.",
    "group.max.session.timeout.ms": "The longest session timeout that members of classic groups may have.",
    "group.max.size": "How many members a classic group may have.",
    "group.min.session.timeout.ms": "The shortest session timeout that members of classic groups may have.",
    "group.share.assignment.interval.ms": "How many ms lie between two assignments of a share group.",
    "group.share.delivery.count.limit": "How often a record is delivered to a share group before it is given up.",
    "group.share.heartbeat.interval.ms": "How often members of share groups send heartbeats, in ms.",
    "group.share.max.size": "How many members a share group may have.",
    "group.share.partition.max.record.locks": "How many records of a partition a share group may have in flight.",
    "group.share.record.lock.duration.ms": "How many ms a member of a share group has for a record.",
    "group.share.session.timeout.ms": "After how many ms of silence a member of a share group is removed.",
    "listeners": "Where the broker listens.",
    "log.cleaner.backoff.ms": "How many ms after an append the log cleaner looks at a compacted log.",
    "log.retention.check.interval.ms": "How many ms lie between two looks for old segments.",
    "max.incremental.fetch.session.cache.slots": "How many fetch sessions a node may have.",
    "message.max.bytes": "The largest record batch that is taken, in bytes; topics may say otherwise.",
    "node.id": "The id of the node.",
    "num.partitions": "How many partitions a new topic has by default.",
    "offset.metadata.max.bytes": "How many bytes of metadata may be committed with an offset.",
    "offsets.retention.minutes": "How long the offsets of an empty group are kept.",
    "offsets.topic.num.partitions": "How many partitions __consumer_offsets has.",
    "replica.selector.class": "How readers are sent to a replica: by their rack, or not at all.",
    "sasl.enabled.mechanisms": "The mechanisms by which clients may log in.",
    "share.coordinator.state.topic.num.partitions": "How many partitions __share_group_state has.",
    "socket.request.max.bytes": "The largest request that is taken, in bytes.",
    "ssl.client.auth": "Whether clients need a certificate.",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "How often transactions are checked for timeouts.",
    "transaction.max.timeout.ms": "The longest time that a transaction may ask for.",
    "transaction.state.log.num.partitions": "How many partitions __transaction_state has.",
    "transaction.two.phase.commit.enable": "Whether transactions may be prepared, and ended by another process.",
    "transactional.id.expiration.ms": "After how many ms without use a transactional id is forgotten.",
}
