"""Every message of the Kafka protocol, both directions: the public face of the schema.

A frame is size int32 (not counting itself), header, body. The functions named `*_request` and `*_response` work on
whole frames, those named `*_body` on frames whose size field was already taken off (as `kwire._codec.FrameReceiver`
does); the latter leave left-over bytes alone. The message classes (`MetadataRequest`, `FetchResponse`, ...) are
imported when they are first used, and so are `describe`, which explains a frame field by field, and the generations
before them: `kafka_0_7`, `proposal` and `draft_0_8`.

What Kafka writes down for itself has messages, too: `decode_log_record` reads the records of its internal topics and of
control batches; `decode_member_metadata`, `decode_member_assignment` and `decode_user_data` what the members of a group
tell each other. `logs`, `control_records` and `group_blobs` have the classes.

Layer 2, as the schema behind it: no I/O.
"""

from __future__ import annotations

from importlib import import_module

from kwire import errors
from kwire._codec import Plan, encode_frame, encode_frame_parts
from kwire._typing import TYPE_CHECKING, Any
from kwire.schema.framing import checked_size
from kwire.schema.headers import RequestHeader, ResponseHeader, request_header_version, response_header_version
from kwire.schema.messages import Message, Request, Response
from kwire.schema.registry import APIS, Api
from kwire.schema.releases import infer_release, versions_of

if TYPE_CHECKING:
    from kwire.schema import control_records as control_records
    from kwire.schema import group_blobs as group_blobs
    from kwire.schema import logs as logs
    from kwire.schema.describing.frames import describe as describe
    from kwire.schema.describing.frames import describe_records as describe_records
    from kwire.schema.describing.tree import Description as Description
    from kwire.schema.generations import draft_0_8 as draft_0_8
    from kwire.schema.generations import proposal as proposal
    from kwire.schema.generations import wire_0_7 as kafka_0_7
    from kwire.schema.group_blobs import ConsumerProtocolAssignment as ConsumerProtocolAssignment
    from kwire.schema.group_blobs import ConsumerProtocolSubscription as ConsumerProtocolSubscription
    from kwire.schema.group_blobs import decode_member_assignment as decode_member_assignment
    from kwire.schema.group_blobs import decode_member_metadata as decode_member_metadata
    from kwire.schema.group_blobs import decode_user_data as decode_user_data
    from kwire.schema.k00_produce import ProduceRequest as ProduceRequest
    from kwire.schema.k00_produce import ProduceResponse as ProduceResponse
    from kwire.schema.k01_fetch import FetchRequest as FetchRequest
    from kwire.schema.k01_fetch import FetchResponse as FetchResponse
    from kwire.schema.k02_list_offsets import ListOffsetsRequest as ListOffsetsRequest
    from kwire.schema.k02_list_offsets import ListOffsetsResponse as ListOffsetsResponse
    from kwire.schema.k03_metadata import MetadataRequest as MetadataRequest
    from kwire.schema.k03_metadata import MetadataResponse as MetadataResponse
    from kwire.schema.k04_leader_and_isr import LeaderAndIsrRequest as LeaderAndIsrRequest
    from kwire.schema.k04_leader_and_isr import LeaderAndIsrResponse as LeaderAndIsrResponse
    from kwire.schema.k05_stop_replica import StopReplicaRequest as StopReplicaRequest
    from kwire.schema.k05_stop_replica import StopReplicaResponse as StopReplicaResponse
    from kwire.schema.k06_update_metadata import UpdateMetadataRequest as UpdateMetadataRequest
    from kwire.schema.k06_update_metadata import UpdateMetadataResponse as UpdateMetadataResponse
    from kwire.schema.k07_controlled_shutdown import ControlledShutdownRequest as ControlledShutdownRequest
    from kwire.schema.k07_controlled_shutdown import ControlledShutdownResponse as ControlledShutdownResponse
    from kwire.schema.k08_offset_commit import OffsetCommitRequest as OffsetCommitRequest
    from kwire.schema.k08_offset_commit import OffsetCommitResponse as OffsetCommitResponse
    from kwire.schema.k09_offset_fetch import OffsetFetchRequest as OffsetFetchRequest
    from kwire.schema.k09_offset_fetch import OffsetFetchResponse as OffsetFetchResponse
    from kwire.schema.k10_find_coordinator import FindCoordinatorRequest as FindCoordinatorRequest
    from kwire.schema.k10_find_coordinator import FindCoordinatorResponse as FindCoordinatorResponse
    from kwire.schema.k11_join_group import JoinGroupRequest as JoinGroupRequest
    from kwire.schema.k11_join_group import JoinGroupResponse as JoinGroupResponse
    from kwire.schema.k12_heartbeat import HeartbeatRequest as HeartbeatRequest
    from kwire.schema.k12_heartbeat import HeartbeatResponse as HeartbeatResponse
    from kwire.schema.k13_leave_group import LeaveGroupRequest as LeaveGroupRequest
    from kwire.schema.k13_leave_group import LeaveGroupResponse as LeaveGroupResponse
    from kwire.schema.k14_sync_group import SyncGroupRequest as SyncGroupRequest
    from kwire.schema.k14_sync_group import SyncGroupResponse as SyncGroupResponse
    from kwire.schema.k15_describe_groups import DescribeGroupsRequest as DescribeGroupsRequest
    from kwire.schema.k15_describe_groups import DescribeGroupsResponse as DescribeGroupsResponse
    from kwire.schema.k16_list_groups import ListGroupsRequest as ListGroupsRequest
    from kwire.schema.k16_list_groups import ListGroupsResponse as ListGroupsResponse
    from kwire.schema.k17_sasl_handshake import SaslHandshakeRequest as SaslHandshakeRequest
    from kwire.schema.k17_sasl_handshake import SaslHandshakeResponse as SaslHandshakeResponse
    from kwire.schema.k18_api_versions import ApiVersionsRequest as ApiVersionsRequest
    from kwire.schema.k18_api_versions import ApiVersionsResponse as ApiVersionsResponse
    from kwire.schema.k19_create_topics import CreateTopicsRequest as CreateTopicsRequest
    from kwire.schema.k19_create_topics import CreateTopicsResponse as CreateTopicsResponse
    from kwire.schema.k20_delete_topics import DeleteTopicsRequest as DeleteTopicsRequest
    from kwire.schema.k20_delete_topics import DeleteTopicsResponse as DeleteTopicsResponse
    from kwire.schema.k21_delete_records import DeleteRecordsRequest as DeleteRecordsRequest
    from kwire.schema.k21_delete_records import DeleteRecordsResponse as DeleteRecordsResponse
    from kwire.schema.k22_init_producer_id import InitProducerIdRequest as InitProducerIdRequest
    from kwire.schema.k22_init_producer_id import InitProducerIdResponse as InitProducerIdResponse
    from kwire.schema.k23_offset_for_leader_epoch import OffsetForLeaderEpochRequest as OffsetForLeaderEpochRequest
    from kwire.schema.k23_offset_for_leader_epoch import OffsetForLeaderEpochResponse as OffsetForLeaderEpochResponse
    from kwire.schema.k24_add_partitions_to_txn import AddPartitionsToTxnRequest as AddPartitionsToTxnRequest
    from kwire.schema.k24_add_partitions_to_txn import AddPartitionsToTxnResponse as AddPartitionsToTxnResponse
    from kwire.schema.k25_add_offsets_to_txn import AddOffsetsToTxnRequest as AddOffsetsToTxnRequest
    from kwire.schema.k25_add_offsets_to_txn import AddOffsetsToTxnResponse as AddOffsetsToTxnResponse
    from kwire.schema.k26_end_txn import EndTxnRequest as EndTxnRequest
    from kwire.schema.k26_end_txn import EndTxnResponse as EndTxnResponse
    from kwire.schema.k27_write_txn_markers import WriteTxnMarkersRequest as WriteTxnMarkersRequest
    from kwire.schema.k27_write_txn_markers import WriteTxnMarkersResponse as WriteTxnMarkersResponse
    from kwire.schema.k28_txn_offset_commit import TxnOffsetCommitRequest as TxnOffsetCommitRequest
    from kwire.schema.k28_txn_offset_commit import TxnOffsetCommitResponse as TxnOffsetCommitResponse
    from kwire.schema.k29_describe_acls import DescribeAclsRequest as DescribeAclsRequest
    from kwire.schema.k29_describe_acls import DescribeAclsResponse as DescribeAclsResponse
    from kwire.schema.k30_create_acls import CreateAclsRequest as CreateAclsRequest
    from kwire.schema.k30_create_acls import CreateAclsResponse as CreateAclsResponse
    from kwire.schema.k31_delete_acls import DeleteAclsRequest as DeleteAclsRequest
    from kwire.schema.k31_delete_acls import DeleteAclsResponse as DeleteAclsResponse
    from kwire.schema.k32_describe_configs import DescribeConfigsRequest as DescribeConfigsRequest
    from kwire.schema.k32_describe_configs import DescribeConfigsResponse as DescribeConfigsResponse
    from kwire.schema.k33_alter_configs import AlterConfigsRequest as AlterConfigsRequest
    from kwire.schema.k33_alter_configs import AlterConfigsResponse as AlterConfigsResponse
    from kwire.schema.k34_alter_replica_log_dirs import AlterReplicaLogDirsRequest as AlterReplicaLogDirsRequest
    from kwire.schema.k34_alter_replica_log_dirs import AlterReplicaLogDirsResponse as AlterReplicaLogDirsResponse
    from kwire.schema.k35_describe_log_dirs import DescribeLogDirsRequest as DescribeLogDirsRequest
    from kwire.schema.k35_describe_log_dirs import DescribeLogDirsResponse as DescribeLogDirsResponse
    from kwire.schema.k36_sasl_authenticate import SaslAuthenticateRequest as SaslAuthenticateRequest
    from kwire.schema.k36_sasl_authenticate import SaslAuthenticateResponse as SaslAuthenticateResponse
    from kwire.schema.k37_create_partitions import CreatePartitionsRequest as CreatePartitionsRequest
    from kwire.schema.k37_create_partitions import CreatePartitionsResponse as CreatePartitionsResponse
    from kwire.schema.k38_create_delegation_token import CreateDelegationTokenRequest as CreateDelegationTokenRequest
    from kwire.schema.k38_create_delegation_token import CreateDelegationTokenResponse as CreateDelegationTokenResponse
    from kwire.schema.k39_renew_delegation_token import RenewDelegationTokenRequest as RenewDelegationTokenRequest
    from kwire.schema.k39_renew_delegation_token import RenewDelegationTokenResponse as RenewDelegationTokenResponse
    from kwire.schema.k40_expire_delegation_token import ExpireDelegationTokenRequest as ExpireDelegationTokenRequest
    from kwire.schema.k40_expire_delegation_token import ExpireDelegationTokenResponse as ExpireDelegationTokenResponse
    from kwire.schema.k41_describe_delegation_token import (
        DescribeDelegationTokenRequest as DescribeDelegationTokenRequest,
    )
    from kwire.schema.k41_describe_delegation_token import (
        DescribeDelegationTokenResponse as DescribeDelegationTokenResponse,
    )
    from kwire.schema.k42_delete_groups import DeleteGroupsRequest as DeleteGroupsRequest
    from kwire.schema.k42_delete_groups import DeleteGroupsResponse as DeleteGroupsResponse
    from kwire.schema.k43_elect_leaders import ElectLeadersRequest as ElectLeadersRequest
    from kwire.schema.k43_elect_leaders import ElectLeadersResponse as ElectLeadersResponse
    from kwire.schema.k44_incremental_alter_configs import (
        IncrementalAlterConfigsRequest as IncrementalAlterConfigsRequest,
    )
    from kwire.schema.k44_incremental_alter_configs import (
        IncrementalAlterConfigsResponse as IncrementalAlterConfigsResponse,
    )
    from kwire.schema.k45_alter_partition_reassignments import (
        AlterPartitionReassignmentsRequest as AlterPartitionReassignmentsRequest,
    )
    from kwire.schema.k45_alter_partition_reassignments import (
        AlterPartitionReassignmentsResponse as AlterPartitionReassignmentsResponse,
    )
    from kwire.schema.k46_list_partition_reassignments import (
        ListPartitionReassignmentsRequest as ListPartitionReassignmentsRequest,
    )
    from kwire.schema.k46_list_partition_reassignments import (
        ListPartitionReassignmentsResponse as ListPartitionReassignmentsResponse,
    )
    from kwire.schema.k47_offset_delete import OffsetDeleteRequest as OffsetDeleteRequest
    from kwire.schema.k47_offset_delete import OffsetDeleteResponse as OffsetDeleteResponse
    from kwire.schema.k48_describe_client_quotas import DescribeClientQuotasRequest as DescribeClientQuotasRequest
    from kwire.schema.k48_describe_client_quotas import DescribeClientQuotasResponse as DescribeClientQuotasResponse
    from kwire.schema.k49_alter_client_quotas import AlterClientQuotasRequest as AlterClientQuotasRequest
    from kwire.schema.k49_alter_client_quotas import AlterClientQuotasResponse as AlterClientQuotasResponse
    from kwire.schema.k50_describe_user_scram_credentials import (
        DescribeUserScramCredentialsRequest as DescribeUserScramCredentialsRequest,
    )
    from kwire.schema.k50_describe_user_scram_credentials import (
        DescribeUserScramCredentialsResponse as DescribeUserScramCredentialsResponse,
    )
    from kwire.schema.k51_alter_user_scram_credentials import (
        AlterUserScramCredentialsRequest as AlterUserScramCredentialsRequest,
    )
    from kwire.schema.k51_alter_user_scram_credentials import (
        AlterUserScramCredentialsResponse as AlterUserScramCredentialsResponse,
    )
    from kwire.schema.k52_vote import VoteRequest as VoteRequest
    from kwire.schema.k52_vote import VoteResponse as VoteResponse
    from kwire.schema.k53_begin_quorum_epoch import BeginQuorumEpochRequest as BeginQuorumEpochRequest
    from kwire.schema.k53_begin_quorum_epoch import BeginQuorumEpochResponse as BeginQuorumEpochResponse
    from kwire.schema.k54_end_quorum_epoch import EndQuorumEpochRequest as EndQuorumEpochRequest
    from kwire.schema.k54_end_quorum_epoch import EndQuorumEpochResponse as EndQuorumEpochResponse
    from kwire.schema.k55_describe_quorum import DescribeQuorumRequest as DescribeQuorumRequest
    from kwire.schema.k55_describe_quorum import DescribeQuorumResponse as DescribeQuorumResponse
    from kwire.schema.k56_alter_partition import AlterPartitionRequest as AlterPartitionRequest
    from kwire.schema.k56_alter_partition import AlterPartitionResponse as AlterPartitionResponse
    from kwire.schema.k57_update_features import UpdateFeaturesRequest as UpdateFeaturesRequest
    from kwire.schema.k57_update_features import UpdateFeaturesResponse as UpdateFeaturesResponse
    from kwire.schema.k58_envelope import EnvelopeRequest as EnvelopeRequest
    from kwire.schema.k58_envelope import EnvelopeResponse as EnvelopeResponse
    from kwire.schema.k59_fetch_snapshot import FetchSnapshotRequest as FetchSnapshotRequest
    from kwire.schema.k59_fetch_snapshot import FetchSnapshotResponse as FetchSnapshotResponse
    from kwire.schema.k60_describe_cluster import DescribeClusterRequest as DescribeClusterRequest
    from kwire.schema.k60_describe_cluster import DescribeClusterResponse as DescribeClusterResponse
    from kwire.schema.k61_describe_producers import DescribeProducersRequest as DescribeProducersRequest
    from kwire.schema.k61_describe_producers import DescribeProducersResponse as DescribeProducersResponse
    from kwire.schema.k62_broker_registration import BrokerRegistrationRequest as BrokerRegistrationRequest
    from kwire.schema.k62_broker_registration import BrokerRegistrationResponse as BrokerRegistrationResponse
    from kwire.schema.k63_broker_heartbeat import BrokerHeartbeatRequest as BrokerHeartbeatRequest
    from kwire.schema.k63_broker_heartbeat import BrokerHeartbeatResponse as BrokerHeartbeatResponse
    from kwire.schema.k64_unregister_broker import UnregisterBrokerRequest as UnregisterBrokerRequest
    from kwire.schema.k64_unregister_broker import UnregisterBrokerResponse as UnregisterBrokerResponse
    from kwire.schema.k65_describe_transactions import DescribeTransactionsRequest as DescribeTransactionsRequest
    from kwire.schema.k65_describe_transactions import DescribeTransactionsResponse as DescribeTransactionsResponse
    from kwire.schema.k66_list_transactions import ListTransactionsRequest as ListTransactionsRequest
    from kwire.schema.k66_list_transactions import ListTransactionsResponse as ListTransactionsResponse
    from kwire.schema.k67_allocate_producer_ids import AllocateProducerIdsRequest as AllocateProducerIdsRequest
    from kwire.schema.k67_allocate_producer_ids import AllocateProducerIdsResponse as AllocateProducerIdsResponse
    from kwire.schema.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest as ConsumerGroupHeartbeatRequest
    from kwire.schema.k68_consumer_group_heartbeat import (
        ConsumerGroupHeartbeatResponse as ConsumerGroupHeartbeatResponse,
    )
    from kwire.schema.k69_consumer_group_describe import ConsumerGroupDescribeRequest as ConsumerGroupDescribeRequest
    from kwire.schema.k69_consumer_group_describe import ConsumerGroupDescribeResponse as ConsumerGroupDescribeResponse
    from kwire.schema.k70_controller_registration import ControllerRegistrationRequest as ControllerRegistrationRequest
    from kwire.schema.k70_controller_registration import (
        ControllerRegistrationResponse as ControllerRegistrationResponse,
    )
    from kwire.schema.k71_get_telemetry_subscriptions import (
        GetTelemetrySubscriptionsRequest as GetTelemetrySubscriptionsRequest,
    )
    from kwire.schema.k71_get_telemetry_subscriptions import (
        GetTelemetrySubscriptionsResponse as GetTelemetrySubscriptionsResponse,
    )
    from kwire.schema.k72_push_telemetry import PushTelemetryRequest as PushTelemetryRequest
    from kwire.schema.k72_push_telemetry import PushTelemetryResponse as PushTelemetryResponse
    from kwire.schema.k73_assign_replicas_to_dirs import AssignReplicasToDirsRequest as AssignReplicasToDirsRequest
    from kwire.schema.k73_assign_replicas_to_dirs import AssignReplicasToDirsResponse as AssignReplicasToDirsResponse
    from kwire.schema.k74_list_config_resources import ListConfigResourcesRequest as ListConfigResourcesRequest
    from kwire.schema.k74_list_config_resources import ListConfigResourcesResponse as ListConfigResourcesResponse
    from kwire.schema.k75_describe_topic_partitions import (
        DescribeTopicPartitionsRequest as DescribeTopicPartitionsRequest,
    )
    from kwire.schema.k75_describe_topic_partitions import (
        DescribeTopicPartitionsResponse as DescribeTopicPartitionsResponse,
    )
    from kwire.schema.k76_share_group_heartbeat import ShareGroupHeartbeatRequest as ShareGroupHeartbeatRequest
    from kwire.schema.k76_share_group_heartbeat import ShareGroupHeartbeatResponse as ShareGroupHeartbeatResponse
    from kwire.schema.k77_share_group_describe import ShareGroupDescribeRequest as ShareGroupDescribeRequest
    from kwire.schema.k77_share_group_describe import ShareGroupDescribeResponse as ShareGroupDescribeResponse
    from kwire.schema.k78_share_fetch import ShareFetchRequest as ShareFetchRequest
    from kwire.schema.k78_share_fetch import ShareFetchResponse as ShareFetchResponse
    from kwire.schema.k79_share_acknowledge import ShareAcknowledgeRequest as ShareAcknowledgeRequest
    from kwire.schema.k79_share_acknowledge import ShareAcknowledgeResponse as ShareAcknowledgeResponse
    from kwire.schema.k80_add_raft_voter import AddRaftVoterRequest as AddRaftVoterRequest
    from kwire.schema.k80_add_raft_voter import AddRaftVoterResponse as AddRaftVoterResponse
    from kwire.schema.k81_remove_raft_voter import RemoveRaftVoterRequest as RemoveRaftVoterRequest
    from kwire.schema.k81_remove_raft_voter import RemoveRaftVoterResponse as RemoveRaftVoterResponse
    from kwire.schema.k82_update_raft_voter import UpdateRaftVoterRequest as UpdateRaftVoterRequest
    from kwire.schema.k82_update_raft_voter import UpdateRaftVoterResponse as UpdateRaftVoterResponse
    from kwire.schema.k83_initialize_share_group_state import (
        InitializeShareGroupStateRequest as InitializeShareGroupStateRequest,
    )
    from kwire.schema.k83_initialize_share_group_state import (
        InitializeShareGroupStateResponse as InitializeShareGroupStateResponse,
    )
    from kwire.schema.k84_read_share_group_state import ReadShareGroupStateRequest as ReadShareGroupStateRequest
    from kwire.schema.k84_read_share_group_state import ReadShareGroupStateResponse as ReadShareGroupStateResponse
    from kwire.schema.k85_write_share_group_state import WriteShareGroupStateRequest as WriteShareGroupStateRequest
    from kwire.schema.k85_write_share_group_state import WriteShareGroupStateResponse as WriteShareGroupStateResponse
    from kwire.schema.k86_delete_share_group_state import DeleteShareGroupStateRequest as DeleteShareGroupStateRequest
    from kwire.schema.k86_delete_share_group_state import DeleteShareGroupStateResponse as DeleteShareGroupStateResponse
    from kwire.schema.k87_read_share_group_state_summary import (
        ReadShareGroupStateSummaryRequest as ReadShareGroupStateSummaryRequest,
    )
    from kwire.schema.k87_read_share_group_state_summary import (
        ReadShareGroupStateSummaryResponse as ReadShareGroupStateSummaryResponse,
    )
    from kwire.schema.k88_streams_group_heartbeat import StreamsGroupHeartbeatRequest as StreamsGroupHeartbeatRequest
    from kwire.schema.k88_streams_group_heartbeat import StreamsGroupHeartbeatResponse as StreamsGroupHeartbeatResponse
    from kwire.schema.k89_streams_group_describe import StreamsGroupDescribeRequest as StreamsGroupDescribeRequest
    from kwire.schema.k89_streams_group_describe import StreamsGroupDescribeResponse as StreamsGroupDescribeResponse
    from kwire.schema.k90_describe_share_group_offsets import (
        DescribeShareGroupOffsetsRequest as DescribeShareGroupOffsetsRequest,
    )
    from kwire.schema.k90_describe_share_group_offsets import (
        DescribeShareGroupOffsetsResponse as DescribeShareGroupOffsetsResponse,
    )
    from kwire.schema.k91_alter_share_group_offsets import (
        AlterShareGroupOffsetsRequest as AlterShareGroupOffsetsRequest,
    )
    from kwire.schema.k91_alter_share_group_offsets import (
        AlterShareGroupOffsetsResponse as AlterShareGroupOffsetsResponse,
    )
    from kwire.schema.k92_delete_share_group_offsets import (
        DeleteShareGroupOffsetsRequest as DeleteShareGroupOffsetsRequest,
    )
    from kwire.schema.k92_delete_share_group_offsets import (
        DeleteShareGroupOffsetsResponse as DeleteShareGroupOffsetsResponse,
    )
    from kwire.schema.k93_streams_group_topology_description_update import (
        StreamsGroupTopologyDescriptionUpdateRequest as StreamsGroupTopologyDescriptionUpdateRequest,
    )
    from kwire.schema.k93_streams_group_topology_description_update import (
        StreamsGroupTopologyDescriptionUpdateResponse as StreamsGroupTopologyDescriptionUpdateResponse,
    )
    from kwire.schema.k94_unregister_controller import UnregisterControllerRequest as UnregisterControllerRequest
    from kwire.schema.k94_unregister_controller import UnregisterControllerResponse as UnregisterControllerResponse
    from kwire.schema.logs.lookup import LogRecord as LogRecord
    from kwire.schema.logs.lookup import decode_log_record as decode_log_record
    from kwire.schema.logs.parts import LogPart as LogPart

__all__ = [
    "APIS",
    "AddOffsetsToTxnRequest",
    "AddOffsetsToTxnResponse",
    "AddPartitionsToTxnRequest",
    "AddPartitionsToTxnResponse",
    "AddRaftVoterRequest",
    "AddRaftVoterResponse",
    "AllocateProducerIdsRequest",
    "AllocateProducerIdsResponse",
    "AlterClientQuotasRequest",
    "AlterClientQuotasResponse",
    "AlterConfigsRequest",
    "AlterConfigsResponse",
    "AlterPartitionReassignmentsRequest",
    "AlterPartitionReassignmentsResponse",
    "AlterPartitionRequest",
    "AlterPartitionResponse",
    "AlterReplicaLogDirsRequest",
    "AlterReplicaLogDirsResponse",
    "AlterShareGroupOffsetsRequest",
    "AlterShareGroupOffsetsResponse",
    "AlterUserScramCredentialsRequest",
    "AlterUserScramCredentialsResponse",
    "Api",
    "ApiVersionsRequest",
    "ApiVersionsResponse",
    "AssignReplicasToDirsRequest",
    "AssignReplicasToDirsResponse",
    "BeginQuorumEpochRequest",
    "BeginQuorumEpochResponse",
    "BrokerHeartbeatRequest",
    "BrokerHeartbeatResponse",
    "BrokerRegistrationRequest",
    "BrokerRegistrationResponse",
    "ConsumerGroupDescribeRequest",
    "ConsumerGroupDescribeResponse",
    "ConsumerGroupHeartbeatRequest",
    "ConsumerGroupHeartbeatResponse",
    "ConsumerProtocolAssignment",
    "ConsumerProtocolSubscription",
    "ControlledShutdownRequest",
    "ControlledShutdownResponse",
    "ControllerRegistrationRequest",
    "ControllerRegistrationResponse",
    "CreateAclsRequest",
    "CreateAclsResponse",
    "CreateDelegationTokenRequest",
    "CreateDelegationTokenResponse",
    "CreatePartitionsRequest",
    "CreatePartitionsResponse",
    "CreateTopicsRequest",
    "CreateTopicsResponse",
    "DeleteAclsRequest",
    "DeleteAclsResponse",
    "DeleteGroupsRequest",
    "DeleteGroupsResponse",
    "DeleteRecordsRequest",
    "DeleteRecordsResponse",
    "DeleteShareGroupOffsetsRequest",
    "DeleteShareGroupOffsetsResponse",
    "DeleteShareGroupStateRequest",
    "DeleteShareGroupStateResponse",
    "DeleteTopicsRequest",
    "DeleteTopicsResponse",
    "DescribeAclsRequest",
    "DescribeAclsResponse",
    "DescribeClientQuotasRequest",
    "DescribeClientQuotasResponse",
    "DescribeClusterRequest",
    "DescribeClusterResponse",
    "DescribeConfigsRequest",
    "DescribeConfigsResponse",
    "DescribeDelegationTokenRequest",
    "DescribeDelegationTokenResponse",
    "DescribeGroupsRequest",
    "DescribeGroupsResponse",
    "DescribeLogDirsRequest",
    "DescribeLogDirsResponse",
    "DescribeProducersRequest",
    "DescribeProducersResponse",
    "DescribeQuorumRequest",
    "DescribeQuorumResponse",
    "DescribeShareGroupOffsetsRequest",
    "DescribeShareGroupOffsetsResponse",
    "DescribeTopicPartitionsRequest",
    "DescribeTopicPartitionsResponse",
    "DescribeTransactionsRequest",
    "DescribeTransactionsResponse",
    "DescribeUserScramCredentialsRequest",
    "DescribeUserScramCredentialsResponse",
    "Description",
    "ElectLeadersRequest",
    "ElectLeadersResponse",
    "EndQuorumEpochRequest",
    "EndQuorumEpochResponse",
    "EndTxnRequest",
    "EndTxnResponse",
    "EnvelopeRequest",
    "EnvelopeResponse",
    "ExpireDelegationTokenRequest",
    "ExpireDelegationTokenResponse",
    "FetchRequest",
    "FetchResponse",
    "FetchSnapshotRequest",
    "FetchSnapshotResponse",
    "FindCoordinatorRequest",
    "FindCoordinatorResponse",
    "GetTelemetrySubscriptionsRequest",
    "GetTelemetrySubscriptionsResponse",
    "HeartbeatRequest",
    "HeartbeatResponse",
    "IncrementalAlterConfigsRequest",
    "IncrementalAlterConfigsResponse",
    "InitProducerIdRequest",
    "InitProducerIdResponse",
    "InitializeShareGroupStateRequest",
    "InitializeShareGroupStateResponse",
    "JoinGroupRequest",
    "JoinGroupResponse",
    "LeaderAndIsrRequest",
    "LeaderAndIsrResponse",
    "LeaveGroupRequest",
    "LeaveGroupResponse",
    "ListConfigResourcesRequest",
    "ListConfigResourcesResponse",
    "ListGroupsRequest",
    "ListGroupsResponse",
    "ListOffsetsRequest",
    "ListOffsetsResponse",
    "ListPartitionReassignmentsRequest",
    "ListPartitionReassignmentsResponse",
    "ListTransactionsRequest",
    "ListTransactionsResponse",
    "LogPart",
    "LogRecord",
    "Message",
    "MetadataRequest",
    "MetadataResponse",
    "OffsetCommitRequest",
    "OffsetCommitResponse",
    "OffsetDeleteRequest",
    "OffsetDeleteResponse",
    "OffsetFetchRequest",
    "OffsetFetchResponse",
    "OffsetForLeaderEpochRequest",
    "OffsetForLeaderEpochResponse",
    "ProduceRequest",
    "ProduceResponse",
    "PushTelemetryRequest",
    "PushTelemetryResponse",
    "ReadShareGroupStateRequest",
    "ReadShareGroupStateResponse",
    "ReadShareGroupStateSummaryRequest",
    "ReadShareGroupStateSummaryResponse",
    "RemoveRaftVoterRequest",
    "RemoveRaftVoterResponse",
    "RenewDelegationTokenRequest",
    "RenewDelegationTokenResponse",
    "Request",
    "RequestHeader",
    "Response",
    "ResponseHeader",
    "SaslAuthenticateRequest",
    "SaslAuthenticateResponse",
    "SaslHandshakeRequest",
    "SaslHandshakeResponse",
    "ShareAcknowledgeRequest",
    "ShareAcknowledgeResponse",
    "ShareFetchRequest",
    "ShareFetchResponse",
    "ShareGroupDescribeRequest",
    "ShareGroupDescribeResponse",
    "ShareGroupHeartbeatRequest",
    "ShareGroupHeartbeatResponse",
    "StopReplicaRequest",
    "StopReplicaResponse",
    "StreamsGroupDescribeRequest",
    "StreamsGroupDescribeResponse",
    "StreamsGroupHeartbeatRequest",
    "StreamsGroupHeartbeatResponse",
    "StreamsGroupTopologyDescriptionUpdateRequest",
    "StreamsGroupTopologyDescriptionUpdateResponse",
    "SyncGroupRequest",
    "SyncGroupResponse",
    "TxnOffsetCommitRequest",
    "TxnOffsetCommitResponse",
    "UnregisterBrokerRequest",
    "UnregisterBrokerResponse",
    "UnregisterControllerRequest",
    "UnregisterControllerResponse",
    "UpdateFeaturesRequest",
    "UpdateFeaturesResponse",
    "UpdateMetadataRequest",
    "UpdateMetadataResponse",
    "UpdateRaftVoterRequest",
    "UpdateRaftVoterResponse",
    "VoteRequest",
    "VoteResponse",
    "WriteShareGroupStateRequest",
    "WriteShareGroupStateResponse",
    "WriteTxnMarkersRequest",
    "WriteTxnMarkersResponse",
    "control_records",
    "decode_log_record",
    "decode_member_assignment",
    "decode_member_metadata",
    "decode_request",
    "decode_request_body",
    "decode_request_header",
    "decode_response",
    "decode_response_body",
    "decode_user_data",
    "describe",
    "describe_records",
    "draft_0_8",
    "encode_request",
    "encode_request_parts",
    "encode_response",
    "encode_response_parts",
    "group_blobs",
    "infer_release",
    "kafka_0_7",
    "logs",
    "proposal",
    "versions_of",
]

# What few programs need: name, and the module that has it or is it.
_ELSEWHERE = {
    "ConsumerProtocolAssignment": "kwire.schema.group_blobs",
    "ConsumerProtocolSubscription": "kwire.schema.group_blobs",
    "Description": "kwire.schema.describing.tree",
    "LogPart": "kwire.schema.logs.parts",
    "LogRecord": "kwire.schema.logs.lookup",
    "control_records": "kwire.schema.control_records",
    "decode_log_record": "kwire.schema.logs.lookup",
    "decode_member_assignment": "kwire.schema.group_blobs",
    "decode_member_metadata": "kwire.schema.group_blobs",
    "decode_user_data": "kwire.schema.group_blobs",
    "describe": "kwire.schema.describing.frames",
    "describe_records": "kwire.schema.describing.frames",
    "draft_0_8": "kwire.schema.generations.draft_0_8",
    "group_blobs": "kwire.schema.group_blobs",
    "kafka_0_7": "kwire.schema.generations.wire_0_7",
    "logs": "kwire.schema.logs",
    "proposal": "kwire.schema.generations.proposal",
}
_API_VERSIONS = 18
_UNSUPPORTED_VERSION = 35
# The plans of header and message, by message class and version.
_REQUEST_PLANS: dict[tuple[type[Request], int], tuple[Plan, Plan]] = {}
_RESPONSE_PLANS: dict[tuple[type[Response], int], tuple[Plan, Plan]] = {}
# The same of responses by API key and version.
_ANSWER_PLANS: dict[tuple[int, int], tuple[Plan, Plan]] = {}


def encode_request(m: Request, version: int, *, correlation_id: int = 0, client_id: str | None = None) -> bytes:
    """The whole frame of a request. Brokers up to 0.9 need a `client_id` that is not None."""
    header_plan, plan = _request_plans(m, version)
    header = RequestHeader(
        request_api_key=m.__api_key__, request_api_version=version, correlation_id=correlation_id, client_id=client_id
    )
    return encode_frame(header_plan, header, plan, m)


def encode_request_parts(
    m: Request, version: int, *, correlation_id: int = 0, client_id: str | None = None
) -> list[Any]:
    """The frame of a request as a list of buffers to send in order; large `records` are not copied into it."""
    header_plan, plan = _request_plans(m, version)
    header = RequestHeader(
        request_api_key=m.__api_key__, request_api_version=version, correlation_id=correlation_id, client_id=client_id
    )
    return encode_frame_parts(header_plan, header, plan, m)


def encode_response(m: Response, version: int, *, correlation_id: int = 0) -> bytes:
    """The whole frame of a response."""
    header_plan, plan = _response_plans(m, version)
    return encode_frame(header_plan, ResponseHeader(correlation_id=correlation_id), plan, m)


def encode_response_parts(m: Response, version: int, *, correlation_id: int = 0) -> list[Any]:
    """The frame of a response as a list of buffers to send in order; large `records` are not copied into it."""
    header_plan, plan = _response_plans(m, version)
    return encode_frame_parts(header_plan, ResponseHeader(correlation_id=correlation_id), plan, m)


def decode_request(frame: Any, *, strict: bool = True) -> tuple[RequestHeader, Request]:
    """(header, message) of a whole frame (bytes-like). `strict` refuses bytes left over.

    UnknownVersionError for an API key or version that kwire does not know, other CodecErrors for bytes that are not
    what they should be; FrameError when the size field is not the size of the frame.
    """
    return _decode_request_at(frame, checked_size(frame), strict)


def decode_request_body(frame: Any, *, strict: bool = False) -> tuple[RequestHeader, Request]:
    """As `decode_request`, of a frame without its size field."""
    return _decode_request_at(frame, 0, strict)


def decode_request_header(frame: Any) -> RequestHeader:
    """The header of a request frame without its size field, also when key or version are not known.

    Of a version that is not known only the part that every version has is read (key, version, correlation id, client).
    """
    return _decode_request_header_at(frame, 0)[0]


def decode_response(frame: Any, api_key: int, version: int, *, strict: bool = True) -> tuple[ResponseHeader, Response]:
    """(header, message) of a whole frame (bytes-like) that answers a request of `api_key` and `version`.

    An ApiVersions answer with error 35 is read as version 0, whatever was asked, and when its body is of no version at
    all the message has only the error code. Errors as for `decode_request`.
    """
    return _decode_response_at(frame, checked_size(frame), api_key, version, strict)


def decode_response_body(
    frame: Any, api_key: int, version: int, *, strict: bool = False
) -> tuple[ResponseHeader, Response]:
    """As `decode_response`, of a frame without its size field."""
    return _decode_response_at(frame, 0, api_key, version, strict)


def _request_plans(m: Request, version: int) -> tuple[Plan, Plan]:
    known = _REQUEST_PLANS.get((type(m), version))
    if known is not None:
        return known
    if not isinstance(m, Request):
        raise errors.CodecError(f"{type(m).__qualname__} is no request")
    header_version = request_header_version(m.__api_key__, version, m.__flexible__)
    plans = _REQUEST_PLANS[(type(m), version)] = RequestHeader.plan(header_version), m.plan(version)
    return plans


def _response_plans(m: Response, version: int) -> tuple[Plan, Plan]:
    known = _RESPONSE_PLANS.get((type(m), version))
    if known is not None:
        return known
    if not isinstance(m, Response):
        raise errors.CodecError(f"{type(m).__qualname__} is no response")
    header_version = response_header_version(m.__api_key__, version, m.__flexible__)
    plans = _RESPONSE_PLANS[(type(m), version)] = ResponseHeader.plan(header_version), m.plan(version)
    return plans


def request_plans(api_key: int, version: int) -> tuple[Plan, Plan]:
    """What writes the header and the body of that request, for a PlanTable."""
    api = APIS[api_key]
    return RequestHeader.plan(request_header_version(api_key, version, api.flexible)), api.request.plan(version)


def response_plans(api_key: int, version: int) -> tuple[Plan, Plan] | None:
    """What reads the header and the body of that response, for a PlanTable; None where it takes `decode_response`."""
    return None if api_key == _API_VERSIONS else _answer_plans(api_key, version)


def _answer_plans(api_key: int, version: int) -> tuple[Plan, Plan]:
    api = APIS[api_key]
    plan = api.response.plan(version)
    header_plan = ResponseHeader.plan(response_header_version(api_key, version, api.flexible))
    plans = _ANSWER_PLANS[api_key, version] = header_plan, plan
    return plans


def _decode_request_header_at(frame: Any, start: int) -> tuple[RequestHeader, int]:
    common, _ = RequestHeader.plan(0).decode_prefix(frame, start)
    key, version = common.request_api_key, common.request_api_version
    if key in APIS and version in APIS[key].versions:
        header_version = request_header_version(key, version, APIS[key].flexible)
    else:
        header_version = 0 if (key, version) == (7, 0) else 1
    header, end = RequestHeader.plan(header_version).decode_prefix(frame, start)
    return header, end


def _decode_request_at(frame: Any, start: int, strict: bool) -> tuple[RequestHeader, Request]:
    header, end = _decode_request_header_at(frame, start)
    plan = APIS[header.request_api_key].request.plan(header.request_api_version)
    return header, plan.decode(frame, strict, end)


def _decode_response_at(
    frame: Any, start: int, api_key: int, version: int, strict: bool
) -> tuple[ResponseHeader, Response]:
    header_plan, plan = _ANSWER_PLANS.get((api_key, version)) or _answer_plans(api_key, version)
    header, end = header_plan.decode_prefix(frame, start)
    if api_key == _API_VERSIONS and bytes(memoryview(frame)[end : end + 2]) == _UNSUPPORTED_VERSION.to_bytes(2, "big"):
        return header, _unsupported_version_answer(APIS[api_key], frame, end)
    return header, plan.decode(frame, strict, end)


def _unsupported_version_answer(api: Api, frame: Any, start: int) -> Response:
    """Brokers answer with a body of v0; some other servers with one of no version, of which the code is enough."""
    try:
        answer: Response = api.response.plan(0).decode(frame, False, start)
    except errors.CodecError:
        answer = api.response.from_dict({"error_code": _UNSUPPORTED_VERSION})
    return answer


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        for ending in ("Request", "Response"):
            api_name = name.removesuffix(ending)
            if api_name != name and api_name in APIS:
                found = globals()[name] = getattr(APIS[api_name], ending.lower())
                return found
        if name in _ELSEWHERE:
            module = import_module(_ELSEWHERE[name])
            found = globals()[name] = getattr(module, name, module)
            return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
