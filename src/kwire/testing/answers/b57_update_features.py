"""UpdateFeatures (key 57).

Behaviour
    Sets the finalized level of features, for all nodes at once; level 0 switches a feature off. A level that the
    release does not have, a lower one without a downgrade and a higher one as a downgrade are INVALID_UPDATE_VERSION.
    Releases up to 3.9 do what they can and answer each feature by itself, later ones do all or nothing. Kafka's rules
    of which features need each other are not checked.

Version notes
    v0   allow_downgrade has no effect, as in Kafka
    v1   upgrade_type: 1 upgrade, 2 and 3 downgrades; validate_only
    v2   a success names no features
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import UpdateFeaturesRequest, UpdateFeaturesResponse
from kwire.testing.features import supported_features
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import ALTER, CLUSTER

Context = RequestContext[UpdateFeaturesRequest]
_Asked = UpdateFeaturesRequest.FeatureUpdateKey
_Result = UpdateFeaturesResponse.UpdatableFeatureResult

_UPGRADE, _DOWNGRADES = 1, (2, 3)


def answer(context: Context) -> UpdateFeaturesResponse:
    """Sets what may be set."""
    try:
        context.require(ALTER, CLUSTER)
        context.check_controller()
    except BrokerError as refused:
        return _refused(refused)
    updates = context.request.feature_updates
    refusals = {asked.feature: found for asked in updates if (found := _refusal(context, asked)) is not None}
    if refusals and context.release.updates_features_together:
        return _refused(next(iter(refusals.values())))
    if not context.request.validate_only:
        _update(context, [asked for asked in updates if asked.feature not in refusals])
    return UpdateFeaturesResponse(
        error_message=None,
        results=[_result(asked.feature, refusals.get(asked.feature)) for asked in updates],
    )


def refuse(context: Context, code: int) -> UpdateFeaturesResponse:
    """The error alone."""
    return UpdateFeaturesResponse(error_code=code, error_message=None)


def _refused(refused: BrokerError) -> UpdateFeaturesResponse:
    return UpdateFeaturesResponse(error_code=refused.code, error_message=refused.context)


def _result(feature: str, refused: BrokerError | None) -> _Result:
    if refused is None:
        return _Result(feature=feature, error_message=None)
    return _Result(feature=feature, error_code=refused.code, error_message=refused.context)


def _refusal(context: Context, asked: _Asked) -> BrokerError | None:
    """Why the feature cannot be set so, if it cannot."""
    levels = supported_features(context.release).get(asked.feature)
    present = context.cluster.features.get(asked.feature, 0)
    level, kind = asked.max_version_level, asked.upgrade_type
    reason = None
    if levels is None:
        reason = f"release {context.release.name} has no such feature"
    elif kind not in (_UPGRADE, *_DOWNGRADES):
        reason = f"upgrade type {kind} is unknown"
    elif not levels[0] <= level <= levels[1]:
        reason = f"expected {levels[0]} to {levels[1]}"
    elif level < present and kind == _UPGRADE:
        reason = f"it is {present}, and to go back needs a downgrade"
    elif level > present and kind in _DOWNGRADES:
        reason = f"it is {present}, so this is not a downgrade"
    return None if reason is None else codes.INVALID_UPDATE_VERSION(f"feature {asked.feature} {level}: {reason}")


def _update(context: Context, updates: list[_Asked]) -> None:
    features = context.cluster.features
    before = dict(features)
    for asked in updates:
        features.pop(asked.feature, None)
        if asked.max_version_level:
            features[asked.feature] = asked.max_version_level
    if features != before:
        context.cluster.features_epoch += 1
