"""DescribeCluster, and Metadata where brokers do not have it: brokers and controller, asked of any broker.

Layer 3, no I/O.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.authorized_operations import names_in
from kwire.engine.admin.cluster_results import BrokerInfo, ClusterDescription
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import AnyBroker
from kwire.engine.calls.refusals import where_missing
from kwire.engine.metadata.metadata import metadata_request
from kwire.errors import KafkaError
from kwire.protocol import APIS
from kwire.schema.api_keys import DESCRIBE_CLUSTER, METADATA

if TYPE_CHECKING:
    from kwire.engine.ports import Services

_FIRST_VERSION_WITH_FENCED_BROKERS = 2
_METADATA_WITH_OPERATIONS = range(8, 11)


class DescribeCluster(AdminApi[None, ClusterDescription]):
    """The cluster as a broker sees it."""

    api_key = DESCRIBE_CLUSTER
    retries_codes = True
    what = "DescribeCluster"

    def __init__(self, *, include_authorized_operations: bool, include_fenced_brokers: bool) -> None:
        self.lookup = AnyBroker()
        self._operations = include_authorized_operations
        self._fenced = include_fenced_brokers
        needed = _FIRST_VERSION_WITH_FENCED_BROKERS if include_fenced_brokers else 0
        self.versions = range(needed, APIS[DESCRIBE_CLUSTER].versions[-1] + 1)

    @override
    def split(self, core: Services) -> Sequence[None]:
        return [None]

    @override
    def request(self, core: Services, keys: Sequence[None], version: int) -> protocol.DescribeClusterRequest:
        return protocol.DescribeClusterRequest(
            include_cluster_authorized_operations=self._operations, include_fenced_brokers=self._fenced
        )

    @override
    def result(
        self, keys: Sequence[None], response: protocol.DescribeClusterResponse, version: int
    ) -> Mapping[None, ClusterDescription]:
        if response.error_code:
            text = f": {response.error_message}" if response.error_message else ""
            raise errors.broker.error_for(response.error_code, f"DescribeCluster{text}")
        brokers = {
            row.broker_id: BrokerInfo(row.broker_id, row.host, row.port, row.rack, row.is_fenced)
            for row in sorted(response.brokers, key=lambda row: row.broker_id)
        }
        operations = names_in(response.cluster_authorized_operations)
        return {None: ClusterDescription(response.cluster_id, brokers.get(response.controller_id), brokers, operations)}

    @override
    def merge(self, results: Mapping[None, ClusterDescription]) -> ClusterDescription:
        return results[None]

    @override
    def explain(self, error: KafkaError) -> KafkaError:
        return where_missing(error, DESCRIBE_CLUSTER, "fenced brokers are listed from Kafka 4.0 on")


class ClusterMetadata(AdminApi[None, ClusterDescription]):
    """Brokers and controller, for brokers without DescribeCluster."""

    api_key = METADATA
    retries_codes = True
    what = "Metadata of the cluster"

    def __init__(self, *, include_authorized_operations: bool) -> None:
        self.lookup = AnyBroker()
        self._operations = include_authorized_operations
        if include_authorized_operations:
            self.versions = _METADATA_WITH_OPERATIONS

    @override
    def split(self, core: Services) -> Sequence[None]:
        return [None]

    @override
    def request(self, core: Services, keys: Sequence[None], version: int) -> protocol.MetadataRequest:
        request = metadata_request(version, [], allow_auto_create=False)
        if self._operations:
            request.include_cluster_authorized_operations = True
        return request

    @override
    def result(
        self, keys: Sequence[None], response: protocol.MetadataResponse, version: int
    ) -> Mapping[None, ClusterDescription]:
        brokers = {
            row.node_id: BrokerInfo(row.node_id, row.host, row.port, row.rack)
            for row in sorted(response.brokers, key=lambda row: row.node_id)
        }
        operations = names_in(response.cluster_authorized_operations)
        return {None: ClusterDescription(response.cluster_id, brokers.get(response.controller_id), brokers, operations)}

    @override
    def merge(self, results: Mapping[None, ClusterDescription]) -> ClusterDescription:
        return results[None]

    @override
    def explain(self, error: KafkaError) -> KafkaError:
        return where_missing(error, METADATA, "authorized operations are told from Kafka 2.3 on")
