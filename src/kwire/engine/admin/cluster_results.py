"""What Admin returns about the cluster. Layer 3: values only."""

from __future__ import annotations

from kwire._typing import NamedTuple
from kwire.engine.common.notebooks import in_notebooks


@in_notebooks
class BrokerInfo(NamedTuple):
    """One broker, as clients reach it. `is_fenced` says that it is registered and does not serve."""

    id: int
    host: str
    port: int
    rack: str | None = None
    is_fenced: bool = False


@in_notebooks
class ClusterDescription(NamedTuple):
    """The brokers of a cluster by their ids. `cluster_id` is None before Kafka 0.10.1, `controller` while there is
    none, and before 0.10; with KRaft it is the broker to send requests for the controller to.

    `authorized_operations` are those that this client may do on the cluster; None if they were not asked for.
    """

    cluster_id: str | None
    controller: BrokerInfo | None
    brokers: dict[int, BrokerInfo]
    authorized_operations: frozenset[str] | None = None
