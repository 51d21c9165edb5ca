"""DescribeUserScramCredentials (key 50).

Behaviour
    The SCRAM mechanisms that a user has a password for, and their iterations: of the users asked for, or of all where
    none is. A user without any is RESOURCE_NOT_FOUND, one that is asked for twice DUPLICATE_RESOURCE.

Version notes
    there is v0
"""

from __future__ import annotations

from collections import Counter

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResponse
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import CLUSTER, DESCRIBE

Context = RequestContext[DescribeUserScramCredentialsRequest]
_Result = DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult
_Info = DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult.CredentialInfo


def answer(context: Context) -> DescribeUserScramCredentialsResponse:
    """The credentials by user, without their secrets."""
    try:
        context.require(DESCRIBE, CLUSTER)
    except BrokerError as refused:
        return refuse(context, refused.code)
    asked = context.request.users
    known = context.cluster.scram.by_user()
    counts = Counter([user.name for user in asked] if asked else list(known))
    return DescribeUserScramCredentialsResponse(
        error_message=None, results=[_result(user, count, known.get(user, {})) for user, count in counts.items()]
    )


def refuse(context: Context, code: int) -> DescribeUserScramCredentialsResponse:
    """The error alone."""
    return DescribeUserScramCredentialsResponse(error_code=code, results=[])


def _result(user: str, count: int, known: dict[int, int]) -> _Result:
    if count > 1:
        return _Result(user=user, error_code=codes.DUPLICATE_RESOURCE.code, error_message="asked for twice")
    if not known:
        return _Result(user=user, error_code=codes.RESOURCE_NOT_FOUND.code, error_message="no SCRAM credentials")
    infos = [_Info(mechanism=mechanism, iterations=iterations) for mechanism, iterations in sorted(known.items())]
    return _Result(user=user, error_message=None, credential_infos=infos)
