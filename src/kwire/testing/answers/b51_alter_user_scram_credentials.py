"""AlterUserScramCredentials (key 51).

Behaviour
    Sets and removes SCRAM passwords of users, who may log in by them from then on. All changes of a user are made or
    refused together: an unknown mechanism is UNSUPPORTED_SASL_MECHANISM, too few (below 4096) or too many iterations
    and an empty name UNACCEPTABLE_CREDENTIAL, a credential to remove that is not there RESOURCE_NOT_FOUND, a user
    that is named twice (up to 3.2: with the same mechanism) DUPLICATE_RESOURCE.

Version notes
    there is v0
"""

from __future__ import annotations

from collections import Counter

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import AlterUserScramCredentialsRequest, AlterUserScramCredentialsResponse
from kwire.testing.requests import RequestContext
from kwire.testing.sasl.scram import MIN_ITERATIONS, ScramCredentials
from kwire.testing.state.authorizer import ALTER, CLUSTER
from kwire.testing.state.scram_users import MECHANISMS

Context = RequestContext[AlterUserScramCredentialsRequest]
_Result = AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult
_MAX_ITERATIONS = 16_384


def answer(context: Context) -> AlterUserScramCredentialsResponse:
    """One result per user."""
    return AlterUserScramCredentialsResponse(results=[_alter(context, user) for user in _users(context)])


def refuse(context: Context, code: int) -> AlterUserScramCredentialsResponse:
    """Every user answered with `code`."""
    return AlterUserScramCredentialsResponse(results=[_Result(user=user, error_code=code) for user in _users(context)])


def _users(context: Context) -> list[str]:
    request = context.request
    names = [each.name for each in request.deletions] + [each.name for each in request.upsertions]
    return list(dict.fromkeys(names))


def _alter(context: Context, user: str) -> _Result:
    request, scram = context.request, context.cluster.scram
    gone = [each for each in request.deletions if each.name == user]
    made = [each for each in request.upsertions if each.name == user]
    try:
        context.require(ALTER, CLUSTER)
        counts = Counter([each.mechanism for each in gone] + [each.mechanism for each in made])
        if not user:
            raise codes.UNACCEPTABLE_CREDENTIAL("a user's name is empty")
        if unknown := [mechanism for mechanism in counts if mechanism not in MECHANISMS]:
            raise codes.UNSUPPORTED_SASL_MECHANISM(f"SCRAM mechanism {unknown[0]}")
        if max(counts.values()) > 1 or (context.release.is_kraft and len(counts) > 1):
            raise codes.DUPLICATE_RESOURCE("the request changes it twice")
        for each in gone:
            if each.mechanism not in scram.by_user().get(user, {}):
                raise codes.RESOURCE_NOT_FOUND("there is no such credential to remove")
        for new in made:
            if not MIN_ITERATIONS <= new.iterations <= _MAX_ITERATIONS:
                raise codes.UNACCEPTABLE_CREDENTIAL(f"{new.iterations} iterations")
    except BrokerError as refused:
        return _Result(user=user, error_code=refused.code, error_message=refused.context)
    for each in gone:
        scram.remove(user, each.mechanism)
    for new in made:
        hash_name = MECHANISMS[new.mechanism][1]
        scram.set(
            user,
            new.mechanism,
            ScramCredentials.of_salted(bytes(new.salted_password), hash_name, new.iterations, bytes(new.salt)),
        )
    return _Result(user=user, error_message=None)
