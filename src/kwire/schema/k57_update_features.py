"""UpdateFeatures (key 57), versions 0-2: sets the finalized versions of cluster features (KIP-584).

    v1   request: validate_only; upgrade_type instead of allow_downgrade (KIP-778)
    v2   response: no results per feature any more

Sources: Apache's definitions of 3.9.2 (v0-v1) and 4.4.0 (v0-v2).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, bool_, i8, i16, i32, string
from kwire.schema.messages import Request, Response, Struct

__all__ = ["UpdateFeaturesRequest", "UpdateFeaturesResponse"]


class UpdateFeaturesRequest(Request, key=57, versions="0-2", flexible="0+"):
    """`upgrade_type`: 1 upgrade, 2 safe downgrade, 3 unsafe downgrade. A level below 1 deletes."""

    class FeatureUpdateKey(Struct):
        feature: str = string("0+", default="")
        max_version_level: int = i16("0+", default=0)
        allow_downgrade: bool = bool_("0", default=False)
        upgrade_type: int = i8("1+", default=1)

    timeout_ms: int = i32("0+", default=60000)
    feature_updates: Sequence[FeatureUpdateKey] = array(FeatureUpdateKey, "0+", default=())
    validate_only: bool = bool_("1+", default=False)


class UpdateFeaturesResponse(Response, key=57, versions="0-2", flexible="0+"):
    """Whether the features were changed."""

    class UpdatableFeatureResult(Struct):
        feature: str = string("0+", default="")
        error_code: int = i16("0+", default=0)
        error_message: str | None = string("0+", default="", nullable="0+")

    throttle_time_ms: int = i32("0+", default=0)
    error_code: int = i16("0+", default=0)
    error_message: str | None = string("0+", default="", nullable="0+")
    results: Sequence[UpdatableFeatureResult] = array(UpdatableFeatureResult, "0-1", default=(), ignorable=True)
