"""UpdateFeatures: features get other levels, asked of the controller. Layer 3, no I/O.

v0 knows downgrades only as allowed or not, and no validate_only. From v2 on all is done or nothing, and a success names
no feature.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.quorum_results import FeatureUpdate
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import Controller
from kwire.engine.calls.refusals import each_of, said
from kwire.errors import KafkaError
from kwire.protocol import APIS
from kwire.schema.api_keys import UPDATE_FEATURES

if TYPE_CHECKING:
    from kwire.engine.ports import Services

    FeatureUpdateKey = protocol.UpdateFeaturesRequest.FeatureUpdateKey

UPGRADE_TYPES = {"upgrade": 1, "safe-downgrade": 2, "unsafe-downgrade": 3}
_FIRST_VERSION_WITH_TYPES = 1
_FIRST_VERSION_ALL_OR_NOTHING = 2


class UpdateFeatures(AdminApi[str, None]):
    """Sets the levels; the result is None."""

    api_key = UPDATE_FEATURES
    tells_all = True
    what = "UpdateFeatures"

    def __init__(self, updates: Mapping[str, FeatureUpdate], *, validate_only: bool) -> None:
        self.lookup = Controller()
        self._updates = updates
        self._validate_only = validate_only
        if validate_only:
            self.versions = APIS[self.api_key].versions[_FIRST_VERSION_WITH_TYPES:]
            self.when_too_old = "validate_only=True needs Kafka 3.3 or newer"
        else:
            self.when_too_old = "there are no features before Kafka 2.7"

    @override
    def split(self, core: Services) -> Sequence[str]:
        return list(self._updates)

    @override
    def request(self, core: Services, keys: Sequence[str], version: int) -> protocol.UpdateFeaturesRequest:
        request = protocol.UpdateFeaturesRequest(
            timeout_ms=self.patience_ms,
            feature_updates=[_update(name, self._updates[name], version) for name in keys],
        )
        if self._validate_only:
            request.validate_only = True
        return request

    @override
    def result(
        self, keys: Sequence[str], response: protocol.UpdateFeaturesResponse, version: int
    ) -> Mapping[str, KafkaError | None]:
        if response.error_code:
            text = said(f"{self.what} of {', '.join(keys)}", response.error_message)
            raise errors.broker.error_for(response.error_code, text)
        if version >= _FIRST_VERSION_ALL_OR_NOTHING:
            return dict.fromkeys(keys)
        return each_of(((row.feature, row.error_code, row.error_message) for row in response.results), self.what)


def _update(name: str, wanted: FeatureUpdate, version: int) -> FeatureUpdateKey:
    row = protocol.UpdateFeaturesRequest.FeatureUpdateKey(feature=name, max_version_level=wanted.max_version_level)
    kind = UPGRADE_TYPES[wanted.upgrade_type]
    if version >= _FIRST_VERSION_WITH_TYPES:
        row.upgrade_type = kind
    else:
        row.allow_downgrade = kind != UPGRADE_TYPES["upgrade"]
    return row
