"""What the APIs about access have in common: who is asked, and what errors say. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kwire import errors
from kwire._typing import TYPE_CHECKING, TypeVar, override
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import AnyBroker, Controller, Lookup
from kwire.engine.calls.refusals import where_missing
from kwire.errors import BrokerError, KafkaError
from kwire.errors.listing import counted
from kwire.protocol import APIS
from kwire.schema.error_codes import (
    DELEGATION_TOKEN_AUTH_DISABLED,
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
    SECURITY_DISABLED,
)

if TYPE_CHECKING:
    from kwire.engine.ports import Services

Key = TypeVar("Key")
Result = TypeVar("Result")
Row = TypeVar("Row")

_HINTS = {
    DELEGATION_TOKEN_AUTH_DISABLED: "the brokers have no delegation.token.secret.key",
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: "log in by SASL or with a certificate, and not with a token",
    SECURITY_DISABLED: "the brokers have no authorizer.class.name",
}


def refusal(code: int, what: str, text: str | None = None) -> BrokerError:
    """The error of what failed, with the broker's words."""
    return errors.broker.error_for(code, ": ".join(part for part in (what, text, _HINTS.get(code)) if part))


def in_turn(keys: Sequence[Key], rows: Sequence[Row], what: str) -> Iterable[tuple[Key, Row]]:
    """Pairs what was asked with the rows of a response, which name nothing: one that has too few leaves out the last
    keys, of one that has too many it is not known which row is whose."""
    if len(rows) > len(keys):
        raise KafkaError(
            f"the response to {what} has {counted(len(rows), 'entry', 'entries')} for {len(keys)} that were asked about"
        )
    return zip(keys, rows, strict=False)


class AccessApi(AdminApi[Key, Result]):
    """`needs` is the first release that has the API, and what serves before it."""

    needs: str

    @override
    def explain(self, error: KafkaError) -> KafkaError:
        return where_missing(error, self.api_key, f"it needs {self.needs}")


class OneAnswer(AccessApi[None, Result]):
    """A request with one result, which is that of the call."""

    def __init__(self, lookup: Lookup[None]) -> None:
        self.what = APIS[self.api_key].name
        self.lookup = lookup

    @override
    def split(self, core: Services) -> Sequence[None]:
        return [None]

    @override
    def merge(self, results: Mapping[None, Result]) -> Result:
        return results[None]


class AccessQuery(OneAnswer[Result]):
    """A question that any broker answers."""

    retries_codes = True

    def __init__(self) -> None:
        super().__init__(AnyBroker())


class AccessChange(AccessApi[Key, Result]):
    """Changes, each of which may fail by itself; asked of the controller."""

    tells_all = True

    def __init__(self, keys: Sequence[Key]) -> None:
        self.what = APIS[self.api_key].name
        self.lookup = Controller()
        self._keys = keys

    @override
    def split(self, core: Services) -> Sequence[Key]:
        return self._keys
