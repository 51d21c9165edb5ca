"""Which keys and versions Apache Kafka 4.4.0 and 3.9.2 have, as their own classes say: what the schema must cover.

One row per key: the name, the versions in 4.4.0, those with tagged fields, and the versions in 3.9.2. "none" where a
release does not have the key. Versions that a release marks unstable are included.
"""

from __future__ import annotations

from typing import NamedTuple

from kwire.schema.fields import Versions


class Row(NamedTuple):
    key: int
    name: str
    newest: Versions
    flexible: Versions
    old: Versions

    @property
    def known(self) -> range:
        """Every version that one of the two releases has."""
        held = [versions for versions in (self.newest, self.old) if versions.last >= 0]
        return range(min(v.first for v in held), max(v.last for v in held) + 1)

    @property
    def dropped(self) -> list[int]:
        """The versions that only 3.9.2 has."""
        return [version for version in self.known if self.old.has(version) and not self.newest.has(version)]


_TABLE = """
0 Produce 3-13 9+ 0-11
1 Fetch 4-18 12+ 0-17
2 ListOffsets 1-11 6+ 0-9
3 Metadata 0-13 9+ 0-12
4 LeaderAndIsr none 4+ 0-7
5 StopReplica none 2+ 0-4
6 UpdateMetadata none 6+ 0-8
7 ControlledShutdown none 3+ 0-3
8 OffsetCommit 2-10 8+ 0-9
9 OffsetFetch 1-10 6+ 0-9
10 FindCoordinator 0-6 3+ 0-6
11 JoinGroup 0-9 6+ 0-9
12 Heartbeat 0-4 4+ 0-4
13 LeaveGroup 0-5 4+ 0-5
14 SyncGroup 0-5 4+ 0-5
15 DescribeGroups 0-6 5+ 0-5
16 ListGroups 0-5 3+ 0-5
17 SaslHandshake 0-1 none 0-1
18 ApiVersions 0-5 3+ 0-4
19 CreateTopics 2-7 5+ 0-7
20 DeleteTopics 1-6 4+ 0-6
21 DeleteRecords 0-2 2+ 0-2
22 InitProducerId 0-6 2+ 0-5
23 OffsetForLeaderEpoch 2-4 4+ 0-4
24 AddPartitionsToTxn 0-5 3+ 0-5
25 AddOffsetsToTxn 0-4 3+ 0-4
26 EndTxn 0-5 3+ 0-4
27 WriteTxnMarkers 1-2 1+ 0-1
28 TxnOffsetCommit 0-6 3+ 0-4
29 DescribeAcls 1-3 2+ 0-3
30 CreateAcls 1-3 2+ 0-3
31 DeleteAcls 1-3 2+ 0-3
32 DescribeConfigs 1-4 4+ 0-4
33 AlterConfigs 0-2 2+ 0-2
34 AlterReplicaLogDirs 1-2 2+ 0-2
35 DescribeLogDirs 1-5 2+ 0-4
36 SaslAuthenticate 0-2 2+ 0-2
37 CreatePartitions 0-3 2+ 0-3
38 CreateDelegationToken 1-3 2+ 0-3
39 RenewDelegationToken 1-2 2+ 0-2
40 ExpireDelegationToken 1-2 2+ 0-2
41 DescribeDelegationToken 1-3 2+ 0-3
42 DeleteGroups 0-3 2+ 0-2
43 ElectLeaders 0-2 2+ 0-2
44 IncrementalAlterConfigs 0-1 1+ 0-1
45 AlterPartitionReassignments 0-1 0+ 0
46 ListPartitionReassignments 0 0+ 0
47 OffsetDelete 0 none 0
48 DescribeClientQuotas 0-1 1+ 0-1
49 AlterClientQuotas 0-1 1+ 0-1
50 DescribeUserScramCredentials 0 0+ 0
51 AlterUserScramCredentials 0 0+ 0
52 Vote 0-2 0+ 0-1
53 BeginQuorumEpoch 0-1 1+ 0-1
54 EndQuorumEpoch 0-1 1+ 0-1
55 DescribeQuorum 0-2 0+ 0-2
56 AlterPartition 2-3 0+ 0-3
57 UpdateFeatures 0-2 0+ 0-1
58 Envelope 0 0+ 0
59 FetchSnapshot 0-1 0+ 0-1
60 DescribeCluster 0-2 0+ 0-1
61 DescribeProducers 0 0+ 0
62 BrokerRegistration 0-4 0+ 0-4
63 BrokerHeartbeat 0-2 0+ 0-1
64 UnregisterBroker 0 0+ 0
65 DescribeTransactions 0 0+ 0
66 ListTransactions 0-2 0+ 0-1
67 AllocateProducerIds 0 0+ 0
68 ConsumerGroupHeartbeat 0-1 0+ 0
69 ConsumerGroupDescribe 0-1 0+ 0
70 ControllerRegistration 0 0+ 0
71 GetTelemetrySubscriptions 0 0+ 0
72 PushTelemetry 0 0+ 0
73 AssignReplicasToDirs 0 0+ 0
74 ListConfigResources 0-1 0+ 0
75 DescribeTopicPartitions 0 0+ 0
76 ShareGroupHeartbeat 1 0+ 0
77 ShareGroupDescribe 1 0+ 0
78 ShareFetch 1-2 0+ 0
79 ShareAcknowledge 1-2 0+ 0
80 AddRaftVoter 0-1 0+ 0
81 RemoveRaftVoter 0 0+ 0
82 UpdateRaftVoter 0 0+ 0
83 InitializeShareGroupState 0 0+ 0
84 ReadShareGroupState 0 0+ 0
85 WriteShareGroupState 0-1 0+ 0
86 DeleteShareGroupState 0 0+ 0
87 ReadShareGroupStateSummary 0-1 0+ 0
88 StreamsGroupHeartbeat 0-1 0+ none
89 StreamsGroupDescribe 0-1 0+ none
90 DescribeShareGroupOffsets 0-1 0+ none
91 AlterShareGroupOffsets 0 0+ none
92 DeleteShareGroupOffsets 0 0+ none
93 StreamsGroupTopologyDescriptionUpdate 0 0+ none
94 UnregisterController 0 0+ none
"""


def _row(line: str) -> Row:
    key, name, *ranges = line.split()
    newest, flexible, old = map(Versions.parse, ranges)
    return Row(int(key), name, newest, flexible, old)


ROWS = {row.key: row for row in map(_row, _TABLE.strip().splitlines())}
UNSTABLE = {22: 6, 76: 0, 77: 0, 78: 0, 79: 0}
"""The versions that a release had marked as unstable and that no later one made stable, by key."""
