"""What Admin takes and returns about the features of a cluster and its quorum. Layer 3: values only."""

from __future__ import annotations

from collections.abc import Mapping

from kwire._typing import TYPE_CHECKING, NamedTuple
from kwire.engine.common.notebooks import in_notebooks

if TYPE_CHECKING:
    from uuid import UUID


@in_notebooks
class FinalizedVersionRange(NamedTuple):
    """The levels of a feature that the cluster has switched on: that of the newest is what counts."""

    min_version_level: int
    max_version_level: int


@in_notebooks
class SupportedVersionRange(NamedTuple):
    """The levels of a feature that a broker could work with."""

    min_version: int
    max_version: int


@in_notebooks
class FeatureMetadata(NamedTuple):
    """The features of a cluster (KIP-584), and how new that is: with KRaft the epoch grows with the metadata, whatever
    changes; None where there are no features."""

    finalized_features: Mapping[str, FinalizedVersionRange]
    finalized_features_epoch: int | None
    supported_features: Mapping[str, SupportedVersionRange]


@in_notebooks
class FeatureUpdate(NamedTuple):
    """The level that a feature shall have, 0 to switch it off, and what may be done for it: "upgrade",
    "safe-downgrade", or "unsafe-downgrade", which may lose metadata."""

    max_version_level: int
    upgrade_type: str = "upgrade"


@in_notebooks
class QuorumReplica(NamedTuple):
    """One voter or observer, and how far it is. Its directory is None before Kafka 3.9, its times, in milliseconds
    since 1970, before 3.3 or where they are not known."""

    replica_id: int
    replica_directory_id: UUID | None
    log_end_offset: int
    last_fetch_timestamp: int | None
    last_caught_up_timestamp: int | None


@in_notebooks
class RaftVoterEndpoint(NamedTuple):
    """Where a controller listens; `listener` is that listener's name, "CONTROLLER" mostly."""

    listener: str
    host: str
    port: int


@in_notebooks
class QuorumInfo(NamedTuple):
    """The quorum of the metadata. `nodes` has where each controller listens, and is empty before Kafka 3.9."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[QuorumReplica, ...]
    observers: tuple[QuorumReplica, ...]
    nodes: Mapping[int, tuple[RaftVoterEndpoint, ...]]
