"""What a call of `Admin` about the cluster asks. Layer 3, no I/O; see `calls.py`.

Loaded by the first such call.
"""

from __future__ import annotations

from kwire._typing import TYPE_CHECKING
from kwire.engine.admin.a60_describe_cluster import ClusterMetadata, DescribeCluster
from kwire.engine.admin.calls import Question
from kwire.engine.admin.cluster_results import ClusterDescription
from kwire.engine.calls.arguments import flag
from kwire.errors import BrokerError
from kwire.schema.api_keys import DESCRIBE_CLUSTER

if TYPE_CHECKING:
    from kwire.engine.admin.inquiry import Inquiry
    from kwire.engine.common.waits import Wait


def describe_cluster(
    inquiry: Inquiry, *, include_authorized_operations: bool, include_fenced_brokers: bool
) -> Wait[ClusterDescription]:
    """`Admin.describe_cluster`: as metadata tells it where brokers have no DescribeCluster."""
    flag(include_authorized_operations, "include_authorized_operations")
    flag(include_fenced_brokers, "include_fenced_brokers")
    api = DescribeCluster(
        include_authorized_operations=include_authorized_operations, include_fenced_brokers=include_fenced_brokers
    )
    try:
        return (yield from inquiry.ask(Question(api, _described)))
    except BrokerError as error:
        if include_fenced_brokers or error.api_key != DESCRIBE_CLUSTER:
            raise
    metadata = ClusterMetadata(include_authorized_operations=include_authorized_operations)
    return (yield from inquiry.ask(Question(metadata, _described)))


def _described(found: ClusterDescription) -> ClusterDescription:
    return found
