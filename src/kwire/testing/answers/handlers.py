"""Which file answers which API key: one file per API, loaded when its key is first asked for."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from types import ModuleType

_FILES = (
    "b00_produce",
    "b01_fetch",
    "b02_list_offsets",
    "b03_metadata",
    "b08_offset_commit",
    "b09_offset_fetch",
    "b10_find_coordinator",
    "b11_join_group",
    "b12_heartbeat",
    "b13_leave_group",
    "b14_sync_group",
    "b15_describe_groups",
    "b16_list_groups",
    "b17_sasl_handshake",
    "b18_api_versions",
    "b19_create_topics",
    "b20_delete_topics",
    "b21_delete_records",
    "b22_init_producer_id",
    "b23_offset_for_leader_epoch",
    "b24_add_partitions_to_txn",
    "b25_add_offsets_to_txn",
    "b26_end_txn",
    "b27_write_txn_markers",
    "b28_txn_offset_commit",
    "b29_describe_acls",
    "b30_create_acls",
    "b31_delete_acls",
    "b32_describe_configs",
    "b33_alter_configs",
    "b34_alter_replica_log_dirs",
    "b35_describe_log_dirs",
    "b36_sasl_authenticate",
    "b37_create_partitions",
    "b38_create_delegation_token",
    "b39_renew_delegation_token",
    "b40_expire_delegation_token",
    "b41_describe_delegation_token",
    "b42_delete_groups",
    "b43_elect_leaders",
    "b44_incremental_alter_configs",
    "b45_alter_partition_reassignments",
    "b46_list_partition_reassignments",
    "b47_offset_delete",
    "b48_describe_client_quotas",
    "b49_alter_client_quotas",
    "b50_describe_user_scram_credentials",
    "b51_alter_user_scram_credentials",
    "b55_describe_quorum",
    "b57_update_features",
    "b60_describe_cluster",
    "b61_describe_producers",
    "b65_describe_transactions",
    "b66_list_transactions",
    "b68_consumer_group_heartbeat",
    "b69_consumer_group_describe",
    "b71_get_telemetry_subscriptions",
    "b72_push_telemetry",
    "b74_list_config_resources",
    "b75_describe_topic_partitions",
    "b76_share_group_heartbeat",
    "b77_share_group_describe",
    "b78_share_fetch",
    "b79_share_acknowledge",
    "b90_describe_share_group_offsets",
    "b91_alter_share_group_offsets",
    "b92_delete_share_group_offsets",
)


class Handlers(Mapping[int, ModuleType]):
    """The modules by API key, which is the number in their names."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = {int(name[1:].partition("_")[0]): name for name in names}
        self._loaded: dict[int, ModuleType] = {}

    def __getitem__(self, key: int) -> ModuleType:
        found = self._loaded.get(key)
        if found is None:
            found = self._loaded[key] = importlib.import_module(f"kwire.testing.answers.{self._names[key]}")
        return found

    def __contains__(self, key: object) -> bool:
        return key in self._names

    def __iter__(self) -> Iterator[int]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


HANDLERS = Handlers(_FILES)
