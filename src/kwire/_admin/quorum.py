"""Admin: features, the quorum of the metadata, and brokers that are gone. Layer 5: signatures and docstrings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kwire._client import Client
from kwire._typing import TYPE_CHECKING, Any
from kwire.engine import admin as engine
from kwire.engine.settings.clients import AdminSettings
from kwire.fronts.admin import AdminFront

if TYPE_CHECKING:
    from uuid import UUID

    from kwire.engine.admin.quorum_results import FeatureMetadata, FeatureUpdate, QuorumInfo
    from kwire.engine.settings.options import Timeout


class QuorumCalls(AdminFront, Client[AdminSettings]):
    """Calls of an Admin about features, the quorum of the metadata, and brokers that are gone."""

    def describe_features(self, *, broker: int | None = None, timeout: Timeout = None) -> FeatureMetadata:
        """The features that the cluster has switched on, and those that a broker, any or `broker`, could work with.
        Both are empty before Kafka 2.7."""
        return self._door.run(self._asked(engine.quorum_calls.describe_features(broker), timeout))

    def update_features(
        self,
        updates: Mapping[str, int | tuple[int, str] | FeatureUpdate | Mapping[str, Any]],
        *,
        validate_only: bool = False,
        timeout: Timeout = None,
    ) -> None:
        """Sets the levels of features: {name: level}, with 0 to switch one off, or {name: (level, "upgrade" |
        "safe-downgrade" | "unsafe-downgrade")}. Raises BrokerError (code 95 for a level that cannot be); its `failures`
        has the error of each feature that failed. From Kafka 4.0 on all are set or none."""
        self._door.run(self._asked(engine.quorum_calls.update_features(updates, validate_only=validate_only), timeout))

    def describe_metadata_quorum(self, *, timeout: Timeout = None) -> QuorumInfo:
        """The controllers that keep the metadata of a KRaft cluster: which leads, who votes, and how far each is."""
        return self._door.run(self._asked(engine.quorum_calls.describe_metadata_quorum(), timeout))

    def add_raft_voter(
        self,
        voter_id: int,
        voter_directory_id: UUID | str,
        endpoints: Iterable[tuple[str, str, int] | Mapping[str, Any]],
        *,
        cluster_id: str | None = None,
        timeout: Timeout = None,
    ) -> None:
        """Makes a controller that runs, and observes, a voter. It listens at these (listener, host, port); its
        directory is as `describe_metadata_quorum` or its file `meta.properties` has it. Raises BrokerError (code 126
        where it is a voter already)."""
        self._door.run(
            self._asked(
                engine.quorum_calls.add_raft_voter(voter_id, voter_directory_id, endpoints, cluster_id=cluster_id),
                timeout,
            )
        )

    def remove_raft_voter(
        self,
        voter_id: int,
        voter_directory_id: UUID | str,
        *,
        cluster_id: str | None = None,
        timeout: Timeout = None,
    ) -> None:
        """Makes a voter an observer again. Raises BrokerError (code 127 where it is no voter)."""
        self._door.run(
            self._asked(
                engine.quorum_calls.remove_raft_voter(voter_id, voter_directory_id, cluster_id=cluster_id), timeout
            )
        )

    def unregister_broker(self, broker: int, *, timeout: Timeout = None) -> None:
        """Makes a KRaft cluster forget a broker that has stopped for good; it must not have replicas. Raises
        BrokerError (code 102 for one that it does not know)."""
        self._door.run(self._asked(engine.quorum_calls.unregister_broker(broker), timeout))
