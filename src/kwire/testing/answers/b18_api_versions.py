"""ApiVersions (key 18).

Behaviour
    Lists the keys that this broker can answer, with the versions that the release served: fewer keys than a real broker
    of that release has. Before a login it may be asked once.

Version notes
    releases before 0.10 do not know the key (see release.py)
    a version that the release does not have is answered in v0 with UNSUPPORTED_VERSION; from 2.4 on that answer names
    key 18's own range, so that the client can ask again (KIP-511)
    v3   flexible, but its response header stays v0 for ever; a client software name or version that is not of letters,
         digits, dots and dashes, with none of these at its ends, is INVALID_REQUEST (KIP-511); features (see
         features.py), without those supported ones that begin at 0
    v4   every supported feature
    v5   cluster_id and node_id: not checked
"""

from __future__ import annotations

import re

from kwire.errors import broker as codes
from kwire.protocol import ApiVersionsRequest, ApiVersionsResponse
from kwire.testing.features import supported_features
from kwire.testing.release import Release
from kwire.testing.requests import RequestContext

KEY = 18
_Version = ApiVersionsResponse.ApiVersion
_Supported = ApiVersionsResponse.SupportedFeatureKey
_Finalized = ApiVersionsResponse.FinalizedFeatureKey
_NAMES_CLIENT_SINCE, _FEATURES_FROM_0_SINCE = 3, 4
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?")


def answer(context: RequestContext[ApiVersionsRequest]) -> ApiVersionsResponse:
    """What the release lists."""
    request = context.request
    names = request.client_software_name, request.client_software_version
    if context.version >= _NAMES_CLIENT_SINCE and not all(map(_SOFTWARE.fullmatch, names)):
        return refuse(context, codes.INVALID_REQUEST.code)
    context.session.versions_told()
    finalized = context.cluster.features
    return ApiVersionsResponse(
        api_keys=[
            _Version(api_key=key, min_version=low, max_version=high)
            for key, (low, high) in context.release.listed.items()
        ],
        supported_features=[
            _Supported(name=name, min_version=low, max_version=high)
            for name, (low, high) in supported_features(context.release).items()
            if low or context.version >= _FEATURES_FROM_0_SINCE
        ],
        finalized_features_epoch=context.cluster.features_epoch if finalized else -1,
        finalized_features=[
            _Finalized(name=name, min_version_level=level, max_version_level=level) for name, level in finalized.items()
        ],
    )


def refuse(context: RequestContext[ApiVersionsRequest], code: int) -> ApiVersionsResponse:
    """The error alone."""
    return ApiVersionsResponse(error_code=code)


def unsupported_version(release: Release) -> ApiVersionsResponse:
    """The v0 body for a version that the release does not have."""
    low, high = release.served[KEY]
    own = [_Version(api_key=KEY, min_version=low, max_version=high)] if release.api_versions_names_itself else []
    return ApiVersionsResponse(error_code=codes.UNSUPPORTED_VERSION.code, api_keys=own)
