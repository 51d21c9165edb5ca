"""Every API that kwire knows, by key and by name. A key's file is imported when its messages are first asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from kwire import errors
from kwire._typing import Any, cast
from kwire.schema.fields import Versions
from kwire.schema.messages import Request, Response

__all__ = ["APIS", "Api", "Apis"]


class Api:
    """One API: its key, name and messages. `versions` is the range that kwire knows (requests and responses alike)."""

    __slots__ = ("__dict__", "key", "name")

    def __init__(self, key: int, name: str) -> None:
        self.key: int = key
        self.name: str = name

    @cached_property
    def request(self) -> type[Request]:
        return cast("type[Request]", getattr(self._module(), f"{self.name}Request"))

    @cached_property
    def response(self) -> type[Response]:
        return cast("type[Response]", getattr(self._module(), f"{self.name}Response"))

    @cached_property
    def versions(self) -> range:
        return self.request.__versions__

    @property
    def flexible(self) -> Versions:
        """The versions with tagged fields and compact lengths."""
        return self.request.__flexible__

    @property
    def module_name(self) -> str:
        return f"kwire.schema.k{self.key:02d}_{_snake_case(self.name)}"

    def _module(self) -> object:
        from importlib import import_module

        return import_module(self.module_name)

    def __repr__(self) -> str:
        return f"<Api {self.key} {self.name}>"


def _snake_case(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


class Apis(Mapping[int | str, Api]):
    """`APIS[3]` and `APIS["Metadata"]` are the same Api; iteration yields the keys, ascending."""

    def __init__(self, names: Mapping[int, str]) -> None:
        self._by_key = {key: Api(key, name) for key, name in names.items()}
        self._by_name = {api.name: api for api in self._by_key.values()}

    def __getitem__(self, key: int | str) -> Api:
        found = self._by_name.get(key) if isinstance(key, str) else self._by_key.get(key)
        if found is None:
            raise errors.UnknownVersionError(
                f"no API {key!r}; kwire knows {', '.join(map(_label, self._by_key.values()))}"
            )
        return found

    def get(self, key: int | str, default: Any = None) -> Any:
        """The Api, or `default` where there is none: `Mapping.get` would wait for a KeyError."""
        if key not in self:
            return default
        return self[key]

    def __contains__(self, key: object) -> bool:
        return key in self._by_key or key in self._by_name

    def __iter__(self) -> Iterator[int | str]:
        return iter(self._by_key)

    def __len__(self) -> int:
        return len(self._by_key)


def _label(api: Api) -> str:
    return f"{api.key} {api.name}"


APIS = Apis({
    0: "Produce",
    1: "Fetch",
    2: "ListOffsets",
    3: "Metadata",
    4: "LeaderAndIsr",
    5: "StopReplica",
    6: "UpdateMetadata",
    7: "ControlledShutdown",
    8: "OffsetCommit",
    9: "OffsetFetch",
    10: "FindCoordinator",
    11: "JoinGroup",
    12: "Heartbeat",
    13: "LeaveGroup",
    14: "SyncGroup",
    15: "DescribeGroups",
    16: "ListGroups",
    17: "SaslHandshake",
    18: "ApiVersions",
    19: "CreateTopics",
    20: "DeleteTopics",
    21: "DeleteRecords",
    22: "InitProducerId",
    23: "OffsetForLeaderEpoch",
    24: "AddPartitionsToTxn",
    25: "AddOffsetsToTxn",
    26: "EndTxn",
    27: "WriteTxnMarkers",
    28: "TxnOffsetCommit",
    29: "DescribeAcls",
    30: "CreateAcls",
    31: "DeleteAcls",
    32: "DescribeConfigs",
    33: "AlterConfigs",
    34: "AlterReplicaLogDirs",
    35: "DescribeLogDirs",
    36: "SaslAuthenticate",
    37: "CreatePartitions",
    38: "CreateDelegationToken",
    39: "RenewDelegationToken",
    40: "ExpireDelegationToken",
    41: "DescribeDelegationToken",
    42: "DeleteGroups",
    43: "ElectLeaders",
    44: "IncrementalAlterConfigs",
    45: "AlterPartitionReassignments",
    46: "ListPartitionReassignments",
    47: "OffsetDelete",
    48: "DescribeClientQuotas",
    49: "AlterClientQuotas",
    50: "DescribeUserScramCredentials",
    51: "AlterUserScramCredentials",
    52: "Vote",
    53: "BeginQuorumEpoch",
    54: "EndQuorumEpoch",
    55: "DescribeQuorum",
    56: "AlterPartition",
    57: "UpdateFeatures",
    58: "Envelope",
    59: "FetchSnapshot",
    60: "DescribeCluster",
    61: "DescribeProducers",
    62: "BrokerRegistration",
    63: "BrokerHeartbeat",
    64: "UnregisterBroker",
    65: "DescribeTransactions",
    66: "ListTransactions",
    67: "AllocateProducerIds",
    68: "ConsumerGroupHeartbeat",
    69: "ConsumerGroupDescribe",
    70: "ControllerRegistration",
    71: "GetTelemetrySubscriptions",
    72: "PushTelemetry",
    73: "AssignReplicasToDirs",
    74: "ListConfigResources",
    75: "DescribeTopicPartitions",
    76: "ShareGroupHeartbeat",
    77: "ShareGroupDescribe",
    78: "ShareFetch",
    79: "ShareAcknowledge",
    80: "AddRaftVoter",
    81: "RemoveRaftVoter",
    82: "UpdateRaftVoter",
    83: "InitializeShareGroupState",
    84: "ReadShareGroupState",
    85: "WriteShareGroupState",
    86: "DeleteShareGroupState",
    87: "ReadShareGroupStateSummary",
    88: "StreamsGroupHeartbeat",
    89: "StreamsGroupDescribe",
    90: "DescribeShareGroupOffsets",
    91: "AlterShareGroupOffsets",
    92: "DeleteShareGroupOffsets",
    93: "StreamsGroupTopologyDescriptionUpdate",
    94: "UnregisterController",
})  # fmt: skip
