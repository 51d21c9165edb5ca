"""DescribeUserScramCredentials: the mechanisms and iterations of users; any broker answers. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.access_api import AccessApi, refusal
from kwire.engine.admin.scram_users import MECHANISMS, NEEDS
from kwire.engine.calls.lookup import AnyBroker
from kwire.engine.calls.refusals import all_of
from kwire.engine.calls.rows import by_key
from kwire.errors import KafkaError
from kwire.schema.api_keys import DESCRIBE_USER_SCRAM_CREDENTIALS

if TYPE_CHECKING:
    from kwire.engine.ports import Services

    Row = protocol.DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult

Iterations = dict[str, int]
Found = dict[str, Iterations]
_NAMES = {code: name for name, code in MECHANISMS.items()}


class DescribeUserScramCredentials(AccessApi[str | None, Found]):
    """{user: {mechanism: iterations}}; of all users for None."""

    api_key = DESCRIBE_USER_SCRAM_CREDENTIALS
    needs = NEEDS
    what = "DescribeUserScramCredentials"
    retries_codes = True
    tells_all = True

    def __init__(self, users: Sequence[str] | None) -> None:
        self.lookup = AnyBroker()
        self._users = users

    @override
    def split(self, core: Services) -> Sequence[str | None]:
        return [None] if self._users is None else self._users

    @override
    def request(
        self, core: Services, keys: Sequence[str | None], version: int
    ) -> protocol.DescribeUserScramCredentialsRequest:
        made = protocol.DescribeUserScramCredentialsRequest
        return made(users=None if self._users is None else [made.UserName(name=user) for user in keys if user])

    @override
    def result(
        self, keys: Sequence[str | None], response: protocol.DescribeUserScramCredentialsResponse, version: int
    ) -> Mapping[str | None, Found | KafkaError]:
        if response.error_code:
            raise refusal(response.error_code, self.what, response.error_message)
        rows: list[tuple[str | None, Found | KafkaError]] = [(row.user, self._outcome(row)) for row in response.results]
        found = by_key(rows, self.what)
        if self._users is not None:
            return found
        failed = {user: outcome for user, outcome in found.items() if isinstance(outcome, KafkaError)}
        results = self.merge({user: row for user, row in found.items() if not isinstance(row, KafkaError)})
        if failed:
            raise all_of(failed, results)
        return {None: results}

    @override
    def explain(self, error: KafkaError) -> KafkaError:
        """Of all users, its error has those of users."""
        return super().explain(error.failures.get(None, error))

    @override
    def merge(self, results: Mapping[str | None, Found]) -> Found:
        return {user: iterations for found in results.values() for user, iterations in found.items()}

    def _outcome(self, row: Row) -> Found | KafkaError:
        if row.error_code:
            return refusal(row.error_code, f"{self.what} of {row.user!r}", row.error_message)
        return {
            row.user: {
                _NAMES.get(info.mechanism, f"unknown ({info.mechanism})"): info.iterations
                for info in row.credential_infos
            }
        }
