"""The broker's properties that have an effect here, by Kafka's names with underscores.

Defaults are Kafka's, but for `group_initial_rebalance_delay_ms` (0, as in the file that Kafka ships for a first start)
and `default_replication_factor` (3, or as many nodes as live).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from kwire.errors import ConfigError
from kwire.testing.settings.config_names import TOPIC_DEFAULTS


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerProperties:
    """Times in milliseconds where the name says so."""

    default_replication_factor: int = 3
    min_insync_replicas: int = 1
    unclean_leader_election_enable: bool = False
    replica_selector_class: str = ""
    max_incremental_fetch_session_cache_slots: int = 1000

    log_retention_check_interval_ms: int = 300_000
    log_cleaner_backoff_ms: int = 15_000

    offsets_topic_num_partitions: int = 50
    offset_metadata_max_bytes: int = 4096
    offsets_retention_minutes: int = 10_080
    group_initial_rebalance_delay_ms: int = 0
    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_max_size: int = 2**31 - 1

    group_consumer_session_timeout_ms: int = 45_000
    group_consumer_heartbeat_interval_ms: int = 5_000
    group_consumer_max_size: int = 2**31 - 1
    group_consumer_assignors: str = "uniform,range"
    group_consumer_assignment_interval_ms: int = 0
    group_consumer_migration_policy: str = "bidirectional"
    group_consumer_regex_refresh_interval_ms: int = 600_000

    group_share_session_timeout_ms: int = 45_000
    group_share_heartbeat_interval_ms: int = 5_000
    group_share_assignment_interval_ms: int = 0
    group_share_max_size: int = 200
    group_share_record_lock_duration_ms: int = 30_000
    group_share_delivery_count_limit: int = 5
    group_share_partition_max_record_locks: int = 2_000

    share_coordinator_state_topic_num_partitions: int = 50

    transaction_state_log_num_partitions: int = 50
    transaction_max_timeout_ms: int = 900_000
    transactional_id_expiration_ms: int = 604_800_000
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = 10_000
    transaction_two_phase_commit_enable: bool = False
    unstable_api_versions_enable: bool = False

    delegation_token_secret_key: str = field(default="", repr=False)
    delegation_token_max_lifetime_ms: int = 604_800_000
    delegation_token_expiry_time_ms: int = 86_400_000

    @property
    def selects_replicas_by_rack(self) -> bool:
        return self.replica_selector_class.rpartition(".")[2] == "RackAwareReplicaSelector"

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> BrokerProperties:
        """Raises TypeError for an unknown name, as a call with a wrong keyword does; ConfigError for a wrong value."""
        known: dict[str, Any] = {each.name: each.default for each in fields(cls)}
        for name, value in given.items():
            if name not in known:
                raise TypeError(f"Broker has no option {name!r}")
            wanted = type(known[name])
            if type(value) is not wanted:
                raise ConfigError(f"{name} {value!r}: expected {wanted.__name__}")
            if wanted is int and value < (1 if name.endswith("_num_partitions") else 0):
                raise ConfigError(f"{name} {value}: it is too small")
        return cls(**given)


def read_properties(texts: Mapping[str, str]) -> dict[str, Any]:
    """Properties by their keywords, from Kafka's names (with dots) and texts. Raises ConfigError."""
    types = {each.name: type(each.default) for each in fields(BrokerProperties)}
    return {
        name.replace(".", "_"): _value(name, text, types.get(name.replace(".", "_"))) for name, text in texts.items()
    }


def _value(name: str, text: str, kind: type | None) -> bool | int | str:
    if name.replace(".", "_") in TOPIC_DEFAULTS:
        return text
    if kind is None:
        raise ConfigError(f"property {name!r} has no effect here")
    if kind is bool and text in ("true", "false"):
        return text == "true"
    if kind is int and text.removeprefix("-").isdecimal():
        return int(text)
    if kind is str:
        return text
    raise ConfigError(f"property {name} {text!r}: expected {'true or false' if kind is bool else 'a whole number'}")
