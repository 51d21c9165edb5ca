"""AlterUserScramCredentials (key 51), version 0: sets and removes SCRAM credentials of users (KIP-554).

Sources: Apache's definitions of 3.9.2 and 4.4.0 (v0).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, bytes_, i8, i16, i32, string
from kwire.schema.messages import Request, Response, Struct

__all__ = ["AlterUserScramCredentialsRequest", "AlterUserScramCredentialsResponse"]


class AlterUserScramCredentialsRequest(Request, key=51, versions="0", flexible="0+"):
    """`mechanism`: 1 SCRAM-SHA-256, 2 SCRAM-SHA-512. `salted_password` is secret."""

    class ScramCredentialDeletion(Struct):
        name: str = string("0+", default="")
        mechanism: int = i8("0+", default=0)

    class ScramCredentialUpsertion(Struct):
        name: str = string("0+", default="")
        mechanism: int = i8("0+", default=0)
        iterations: int = i32("0+", default=0)
        salt: bytes = bytes_("0+", default=b"")
        salted_password: bytes = bytes_("0+", default=b"", secret=True)

    deletions: Sequence[ScramCredentialDeletion] = array(ScramCredentialDeletion, "0+", default=())
    upsertions: Sequence[ScramCredentialUpsertion] = array(ScramCredentialUpsertion, "0+", default=())


class AlterUserScramCredentialsResponse(Response, key=51, versions="0", flexible="0+"):
    """What became of each user."""

    class AlterUserScramCredentialsResult(Struct):
        user: str = string("0+", default="")
        error_code: int = i16("0+", default=0)
        error_message: str | None = string("0+", default="", nullable="0+")

    throttle_time_ms: int = i32("0+", default=0)
    results: Sequence[AlterUserScramCredentialsResult] = array(AlterUserScramCredentialsResult, "0+", default=())
