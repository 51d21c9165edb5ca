"""ApiVersions, as Admin reads the features of a cluster with it: any broker, or one, answers. Layer 3, no I/O.

v3 (Kafka 2.4) brought the features; up to v2 there are none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, override
from kwire._version import __version__
from kwire.engine.admin.quorum_results import FeatureMetadata, FinalizedVersionRange, SupportedVersionRange
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import AnyBroker, NamedBroker
from kwire.schema.api_keys import API_VERSIONS

if TYPE_CHECKING:
    from kwire.engine.ports import Services


class DescribeFeatures(AdminApi[None, FeatureMetadata]):
    """The FeatureMetadata that a broker has."""

    api_key = API_VERSIONS
    retries_codes = True
    what = "ApiVersions"
    when_too_old = "there are no features before Kafka 2.7"

    def __init__(self, broker: int | None) -> None:
        self.lookup = AnyBroker() if broker is None else NamedBroker(lambda _: broker)

    @override
    def split(self, core: Services) -> Sequence[None]:
        return [None]

    @override
    def request(self, core: Services, keys: Sequence[None], version: int) -> protocol.ApiVersionsRequest:
        return protocol.ApiVersionsRequest(client_software_name="kwire", client_software_version=__version__)

    @override
    def result(
        self, keys: Sequence[None], response: protocol.ApiVersionsResponse, version: int
    ) -> Mapping[None, FeatureMetadata]:
        if response.error_code:
            raise errors.broker.error_for(response.error_code, self.what)
        epoch = response.finalized_features_epoch
        return {
            None: FeatureMetadata(
                {
                    row.name: FinalizedVersionRange(row.min_version_level, row.max_version_level)
                    for row in response.finalized_features
                },
                None if epoch < 0 else epoch,
                {
                    row.name: SupportedVersionRange(row.min_version, row.max_version)
                    for row in response.supported_features
                },
            )
        }

    @override
    def merge(self, results: Mapping[None, FeatureMetadata]) -> FeatureMetadata:
        return results[None]
