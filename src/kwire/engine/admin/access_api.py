"""What the APIs about access have in common: who is asked, and what errors say. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Sequence

from kwire import errors
from kwire._typing import TYPE_CHECKING, TypeVar, override
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import AnyBroker, Controller
from kwire.errors import BrokerError, KafkaError
from kwire.protocol import APIS
from kwire.schema.error_codes import SECURITY_DISABLED, UNSUPPORTED_VERSION

if TYPE_CHECKING:
    from kwire.engine.ports import Services

Key = TypeVar("Key")
Result = TypeVar("Result")

_HINTS = {SECURITY_DISABLED: "the brokers have no authorizer.class.name"}


def refusal(code: int, what: str, text: str | None = None) -> BrokerError:
    """The error of what failed, with the broker's words."""
    return errors.broker.error_for(code, ": ".join(part for part in (what, text, _HINTS.get(code)) if part))


class AccessApi(AdminApi[Key, Result]):
    """`needs` is the first release that has the API, and what serves before it."""

    needs: str

    @override
    def explain(self, error: KafkaError) -> KafkaError:
        origin = next(iter(error.failures.values()), error)
        if not isinstance(origin, BrokerError) or origin.api_key != self.api_key:
            return error
        explained = errors.broker.error_for(UNSUPPORTED_VERSION, f"{origin.context}; it needs {self.needs}")
        explained.failures = error.failures
        return explained


class AccessQuery(AccessApi[None, Result]):
    """One question that any broker answers; the result of the call is the response's."""

    retries_codes = True

    def __init__(self) -> None:
        self.what = APIS[self.api_key].name
        self.lookup = AnyBroker()

    @override
    def split(self, core: Services) -> Sequence[None]:
        return [None]


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
