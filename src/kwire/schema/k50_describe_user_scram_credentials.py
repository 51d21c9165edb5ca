"""DescribeUserScramCredentials (key 50), version 0: which SCRAM credentials users have (KIP-554).

Sources: Apache's definitions of 3.9.2 and 4.4.0 (v0).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, i8, i16, i32, string
from kwire.schema.messages import Request, Response, Struct

__all__ = ["DescribeUserScramCredentialsRequest", "DescribeUserScramCredentialsResponse"]


class DescribeUserScramCredentialsRequest(Request, key=50, versions="0", flexible="0+"):
    """Which users; None or an empty list asks for all."""

    class UserName(Struct):
        name: str = string("0+", default="")

    users: Sequence[UserName] | None = array(UserName, "0+", default=(), nullable="0+")


class DescribeUserScramCredentialsResponse(Response, key=50, versions="0", flexible="0+"):
    """Mechanisms and iterations, never a password."""

    class DescribeUserScramCredentialsResult(Struct):
        class CredentialInfo(Struct):
            mechanism: int = i8("0+", default=0)
            iterations: int = i32("0+", default=0)

        user: str = string("0+", default="")
        error_code: int = i16("0+", default=0)
        error_message: str | None = string("0+", default="", nullable="0+")
        credential_infos: Sequence[CredentialInfo] = array(CredentialInfo, "0+", default=())

    throttle_time_ms: int = i32("0+", default=0)
    error_code: int = i16("0+", default=0)
    error_message: str | None = string("0+", default="", nullable="0+")
    results: Sequence[DescribeUserScramCredentialsResult] = array(DescribeUserScramCredentialsResult, "0+", default=())
