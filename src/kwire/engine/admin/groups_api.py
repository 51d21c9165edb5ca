"""What the APIs about groups have in common: each group is asked about at its coordinator. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from kwire import errors
from kwire._typing import TYPE_CHECKING, Any, Generic, TypeVar, override
from kwire.engine.calls.fan_out import NOT_LOOKED_AT, AdminApi
from kwire.engine.calls.lookup import GROUP, CoordinatorLookup
from kwire.engine.calls.refusals import all_of, name_of
from kwire.errors import BrokerError, KafkaError
from kwire.errors.listing import first_of
from kwire.protocol import APIS
from kwire.schema.error_codes import UNSUPPORTED_VERSION

if TYPE_CHECKING:
    from kwire.engine.ports import Services

Result = TypeVar("Result")

_MAX_NAMED = 5


class GroupsApi(AdminApi[str, Result]):
    """The keys are group ids."""

    tells_all = True

    def __init__(self, groups: Sequence[str]) -> None:
        self.what = f"{APIS[self.api_key].name} of {', '.join(groups)}"
        self.lookup = CoordinatorLookup(GROUP)
        self._groups = groups

    @override
    def split(self, core: Services) -> Sequence[str]:
        return self._groups


class GroupApi(AdminApi[str, Result], Generic[Result]):
    """One call about one group."""

    def __init__(self, group_id: str) -> None:
        self.what = f"{APIS[self.api_key].name} of group {group_id!r}"
        self.lookup = CoordinatorLookup(GROUP)
        self._group_id = group_id

    @override
    def split(self, core: Services) -> Sequence[str]:
        return [self._group_id]

    @override
    def merge(self, results: Mapping[str, Result]) -> Result:
        return results[self._group_id]

    def raise_all(
        self,
        asked: Iterable[Any],
        codes: Mapping[Any, int | KafkaError],
        reasons: Mapping[Any, str | None] = MappingProxyType({}),
    ) -> None:
        """Raises the error of all that failed, if any did (see `error_of`), and one where some have no code."""
        error = error_of(self.what, codes, reasons)
        if error is not None:
            raise error
        left_out = [name_of(key) for key in asked if key not in codes]
        if left_out:
            raise KafkaError(f"the response to {self.what} has no entry for {first_of(left_out, _MAX_NAMED)}")


def error_of(
    what: str, codes: Mapping[Any, int | KafkaError], reasons: Mapping[Any, str | None] = MappingProxyType({})
) -> KafkaError | None:
    """The error of a group of which these have errors or their codes, None where none has; one that says that the
    request had no effect is the first, to be asked again. `reasons` are what the broker or kwire says about each."""
    failed = sorted((code not in NOT_LOOKED_AT, key, code) for key, code in codes.items() if code)
    if not failed:
        return None
    return all_of({key: _error(f"{what}: {name_of(key)}", code, reasons.get(key)) for _, key, code in failed})


def explained(error: KafkaError, why: str) -> KafkaError:
    """The error; where it says that the broker is too old, with what the call needs before it, as in its failures."""
    if isinstance(error, BrokerError) and error.code == UNSUPPORTED_VERSION:
        better = errors.broker.error_for(error.code, f"{why}: {error.context}")
        better.failures = {key: explained(each, why) for key, each in error.failures.items()}
        return better
    return error


def _error(what: str, code: int | KafkaError, reason: str | None) -> KafkaError:
    if isinstance(code, KafkaError):
        return code
    return errors.broker.error_for(code, what + (f": {reason}" if reason else ""))


def share_groups_needed(error: KafkaError) -> KafkaError:
    """The error of a call about share groups; where it says that the broker is too old, with what would do."""
    return explained(error, "share groups need Kafka 4.1 or newer")
