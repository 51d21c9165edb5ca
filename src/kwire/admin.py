"""Admin: what is asked of a cluster, from its topics and groups to its quorum.

Layer 5: its calls are in `kwire._admin`, by subject; what is asked of whom is in `kwire.engine.admin`.
"""

from __future__ import annotations

from collections.abc import Mapping

from kwire._admin.access import AccessCalls
from kwire._admin.cluster import ClusterCalls
from kwire._admin.configs import ConfigCalls
from kwire._admin.groups import GroupCalls
from kwire._admin.quorum import QuorumCalls
from kwire._admin.replicas import ReplicaCalls
from kwire._admin.share_groups import ShareGroupCalls
from kwire._admin.streams_groups import StreamsGroupCalls
from kwire._admin.topics import TopicCalls
from kwire._admin.transactions import TransactionCalls
from kwire._typing import TYPE_CHECKING, Any, Self, Unpack
from kwire.engine.common import absent
from kwire.engine.common.absent import missing, without
from kwire.engine.settings.clients import AdminSettings
from kwire.engine.settings.config import configured_by, keywords

__all__ = [
    "AclBinding",
    "AclFilter",
    "Admin",
    "BrokerInfo",
    "ClusterDescription",
    "ConfigEntry",
    "ConfigResource",
    "ConfigSynonym",
    "CreatedTopic",
    "DelegationToken",
    "FeatureMetadata",
    "FeatureUpdate",
    "FencedProducer",
    "FinalizedVersionRange",
    "GroupDescription",
    "GroupListing",
    "LogDirDescription",
    "MemberDescription",
    "MemberToRemove",
    "NewPartitions",
    "NewTopic",
    "PartitionInfo",
    "PartitionReassignment",
    "ProducerState",
    "QuorumInfo",
    "QuorumReplica",
    "RaftVoterEndpoint",
    "ReplicaInfo",
    "ReplicaLogDirInfo",
    "ShareGroupDescription",
    "ShareMemberDescription",
    "SharePartitionOffsetInfo",
    "StreamsGroupDescription",
    "StreamsMemberAssignment",
    "StreamsMemberDescription",
    "StreamsSubtopology",
    "StreamsTopicInfo",
    "SupportedVersionRange",
    "TaskId",
    "TopicInfo",
    "TopicPartitionReplica",
    "TopologyDescription",
    "TopologyNode",
    "TransactionDescription",
    "TransactionListing",
]

if TYPE_CHECKING:
    from kwire.engine.admin.a13_leave_group import MemberToRemove as MemberToRemove
    from kwire.engine.admin.a19_create_topics import CreatedTopic as CreatedTopic
    from kwire.engine.admin.a19_create_topics import NewTopic as NewTopic
    from kwire.engine.admin.a37_create_partitions import NewPartitions as NewPartitions
    from kwire.engine.admin.access_results import AclBinding as AclBinding
    from kwire.engine.admin.access_results import AclFilter as AclFilter
    from kwire.engine.admin.access_results import DelegationToken as DelegationToken
    from kwire.engine.admin.cluster_results import BrokerInfo as BrokerInfo
    from kwire.engine.admin.cluster_results import ClusterDescription as ClusterDescription
    from kwire.engine.admin.config_results import ConfigEntry as ConfigEntry
    from kwire.engine.admin.config_results import ConfigResource as ConfigResource
    from kwire.engine.admin.config_results import ConfigSynonym as ConfigSynonym
    from kwire.engine.admin.group_results import GroupDescription as GroupDescription
    from kwire.engine.admin.group_results import GroupListing as GroupListing
    from kwire.engine.admin.group_results import MemberDescription as MemberDescription
    from kwire.engine.admin.quorum_results import FeatureMetadata as FeatureMetadata
    from kwire.engine.admin.quorum_results import FeatureUpdate as FeatureUpdate
    from kwire.engine.admin.quorum_results import FinalizedVersionRange as FinalizedVersionRange
    from kwire.engine.admin.quorum_results import QuorumInfo as QuorumInfo
    from kwire.engine.admin.quorum_results import QuorumReplica as QuorumReplica
    from kwire.engine.admin.quorum_results import RaftVoterEndpoint as RaftVoterEndpoint
    from kwire.engine.admin.quorum_results import SupportedVersionRange as SupportedVersionRange
    from kwire.engine.admin.replica_results import LogDirDescription as LogDirDescription
    from kwire.engine.admin.replica_results import PartitionReassignment as PartitionReassignment
    from kwire.engine.admin.replica_results import ReplicaInfo as ReplicaInfo
    from kwire.engine.admin.replica_results import ReplicaLogDirInfo as ReplicaLogDirInfo
    from kwire.engine.admin.replica_results import TopicPartitionReplica as TopicPartitionReplica
    from kwire.engine.admin.share_group_results import ShareGroupDescription as ShareGroupDescription
    from kwire.engine.admin.share_group_results import ShareMemberDescription as ShareMemberDescription
    from kwire.engine.admin.share_group_results import SharePartitionOffsetInfo as SharePartitionOffsetInfo
    from kwire.engine.admin.streams_group_results import StreamsGroupDescription as StreamsGroupDescription
    from kwire.engine.admin.streams_group_results import StreamsMemberAssignment as StreamsMemberAssignment
    from kwire.engine.admin.streams_group_results import StreamsMemberDescription as StreamsMemberDescription
    from kwire.engine.admin.streams_group_results import StreamsSubtopology as StreamsSubtopology
    from kwire.engine.admin.streams_group_results import StreamsTopicInfo as StreamsTopicInfo
    from kwire.engine.admin.streams_group_results import TaskId as TaskId
    from kwire.engine.admin.streams_group_results import TopologyDescription as TopologyDescription
    from kwire.engine.admin.streams_group_results import TopologyNode as TopologyNode
    from kwire.engine.admin.transaction_results import FencedProducer as FencedProducer
    from kwire.engine.admin.transaction_results import ProducerState as ProducerState
    from kwire.engine.admin.transaction_results import TransactionDescription as TransactionDescription
    from kwire.engine.admin.transaction_results import TransactionListing as TransactionListing
    from kwire.engine.metadata.metadata import PartitionInfo as PartitionInfo
    from kwire.engine.metadata.metadata import TopicInfo as TopicInfo
    from kwire.engine.settings.options import AdminOptions, Servers
else:
    from importlib import import_module

    _HOMES = {
        "AclBinding": "access_results",
        "AclFilter": "access_results",
        "BrokerInfo": "cluster_results",
        "ClusterDescription": "cluster_results",
        "ConfigEntry": "config_results",
        "ConfigResource": "config_results",
        "ConfigSynonym": "config_results",
        "CreatedTopic": "a19_create_topics",
        "DelegationToken": "access_results",
        "FeatureMetadata": "quorum_results",
        "FeatureUpdate": "quorum_results",
        "FencedProducer": "transaction_results",
        "FinalizedVersionRange": "quorum_results",
        "GroupDescription": "group_results",
        "GroupListing": "group_results",
        "LogDirDescription": "replica_results",
        "MemberDescription": "group_results",
        "MemberToRemove": "a13_leave_group",
        "NewPartitions": "a37_create_partitions",
        "NewTopic": "a19_create_topics",
        "PartitionReassignment": "replica_results",
        "ProducerState": "transaction_results",
        "QuorumInfo": "quorum_results",
        "QuorumReplica": "quorum_results",
        "RaftVoterEndpoint": "quorum_results",
        "ReplicaInfo": "replica_results",
        "ReplicaLogDirInfo": "replica_results",
        "ShareGroupDescription": "share_group_results",
        "ShareMemberDescription": "share_group_results",
        "SharePartitionOffsetInfo": "share_group_results",
        "StreamsGroupDescription": "streams_group_results",
        "StreamsMemberAssignment": "streams_group_results",
        "StreamsMemberDescription": "streams_group_results",
        "StreamsSubtopology": "streams_group_results",
        "StreamsTopicInfo": "streams_group_results",
        "SupportedVersionRange": "quorum_results",
        "TaskId": "streams_group_results",
        "TopicPartitionReplica": "replica_results",
        "TopologyDescription": "streams_group_results",
        "TopologyNode": "streams_group_results",
        "TransactionDescription": "transaction_results",
        "TransactionListing": "transaction_results",
    }
    """What calls take and return, imported when it is first asked for, from `kwire.engine.admin`."""

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            return getattr(import_module(f"kwire.engine.admin.{_HOMES[name]}"), name)
        if name in ("PartitionInfo", "TopicInfo"):
            return getattr(import_module("kwire.engine.metadata.metadata"), name)
        raise missing(__name__, name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


@configured_by(AdminSettings)
@without(absent.ADMIN)
class Admin(
    TopicCalls,
    GroupCalls,
    AccessCalls,
    ShareGroupCalls,
    StreamsGroupCalls,
    ConfigCalls,
    ClusterCalls,
    ReplicaCalls,
    TransactionCalls,
    QuorumCalls,
):
    """Administration of a cluster, from any thread.

        with Admin("host:9092") as admin:
            admin.create_topics({"topic": 12})

    Keywords are the settings below. Each call takes `timeout=` in seconds (default
    `default_api_timeout_ms`) and is retried within it where that can help. Errors: ConfigError for arguments;
    ConnectError with a cause for each address; UnknownTopicError; BrokerError, also code 35 where the broker is too old
    for the call; KafkaTimeoutError. Where some of several things fail, the error is that of the first: its `failures`
    has each with its error, its `results` the others with what the call returns of them.
    """

    def __init__(self, bootstrap_servers: Servers | None = None, **options: Unpack[AdminOptions]) -> None:
        self._open(AdminSettings(**keywords(bootstrap_servers, options)))

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], bootstrap_servers: Servers | None = None, **options: Unpack[AdminOptions]
    ) -> Self:
        """From a mapping of dotted names (Java's, librdkafka's, with or without `kafka.`); keywords win.

        One mapping may serve all clients: what only other kinds have is ignored, with a line at DEBUG.
        """
        return cls._configured(AdminSettings, config, bootstrap_servers, options)
