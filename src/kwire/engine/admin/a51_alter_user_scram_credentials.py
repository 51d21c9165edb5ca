"""AlterUserScramCredentials: sets and removes SCRAM credentials; asked of the controller. Layer 3, no I/O.

A controller refuses a request that names a user twice (in KRaft, whatever the mechanisms are): then each credential
has a request of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.access_api import AccessChange, refusal
from kwire.engine.admin.scram_users import MECHANISMS, NEEDS, Salted
from kwire.engine.calls.rows import by_key
from kwire.errors import KafkaError
from kwire.schema.api_keys import ALTER_USER_SCRAM_CREDENTIALS
from kwire.schema.error_codes import RESOURCE_NOT_FOUND

if TYPE_CHECKING:
    from kwire.engine.ports import Services

Credential = tuple[str, str]
"""A user and a mechanism."""


class AlterUserScramCredentials(AccessChange[Credential, None]):
    """Sets each of these credentials, or removes it for None."""

    api_key = ALTER_USER_SCRAM_CREDENTIALS
    means_done = frozenset({RESOURCE_NOT_FOUND})
    needs = NEEDS

    def __init__(self, changes: Mapping[Credential, Salted | None]) -> None:
        super().__init__(list(changes))
        self._changes = changes
        self.asks_one_by_one = len({user for user, _ in changes}) < len(changes)

    @override
    def request(
        self, core: Services, keys: Sequence[Credential], version: int
    ) -> protocol.AlterUserScramCredentialsRequest:
        made = protocol.AlterUserScramCredentialsRequest
        wanted = [(user, MECHANISMS[mechanism], self._changes[user, mechanism]) for user, mechanism in keys]
        return made(
            deletions=[
                made.ScramCredentialDeletion(name=user, mechanism=mechanism)
                for user, mechanism, salted in wanted
                if salted is None
            ],
            upsertions=[
                made.ScramCredentialUpsertion(name=user, mechanism=mechanism, **salted._asdict())
                for user, mechanism, salted in wanted
                if salted is not None
            ],
        )

    @override
    def result(
        self, keys: Sequence[Credential], response: protocol.AlterUserScramCredentialsResponse, version: int
    ) -> Mapping[Credential, KafkaError | None]:
        asked = dict(keys)
        rows = (
            (
                (row.user, asked[row.user]),
                refusal(row.error_code, f"{self.what} of {row.user!r}", row.error_message) if row.error_code else None,
            )
            for row in response.results
            if row.user in asked
        )
        return by_key(rows, self.what)
