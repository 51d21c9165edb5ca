"""Calls that ask several brokers at once, each about its part, and ask again what may succeed later.

Layer 3, no I/O. An `AdminApi` describes one API: what its arguments come apart into (keys), who is asked about a key
(`lookup.py`), the request for the keys of one broker, the result of each in its response, and how to join them.
`FanOutCall` runs it: keys without a result are looked up and asked about at each try, so a controller, leader or
coordinator that moves is found. One error that will not pass ends the call, or where all are to be told, its key alone.
Java's AdminApiDriver does the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import partial

from kwire import errors
from kwire._typing import TYPE_CHECKING, Any, Generic, TypeVar, override
from kwire.engine.calls.calls import Call, OnDone
from kwire.engine.calls.hedged_request import HedgedRequest
from kwire.engine.calls.lookup import Lookup
from kwire.engine.calls.refusals import all_of, where_missing
from kwire.engine.common.request import ANY, CONTROLLER, Request, patience_ms
from kwire.engine.common.retry import afresh, is_retriable
from kwire.errors import BrokerError, ConfigError, KafkaError
from kwire.errors.listing import first_of
from kwire.protocol import APIS
from kwire.schema.error_codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    NOT_CONTROLLER,
    NOT_COORDINATOR,
    NOT_LEADER_OR_FOLLOWER,
    THROTTLING_QUOTA_EXCEEDED,
)

if TYPE_CHECKING:
    from kwire.engine.ports import Services

Key = TypeVar("Key")
Result = TypeVar("Result")
Value = TypeVar("Value")

_MAX_NAMED = 3
"""How many brokers that have not answered are named in errors."""

_DONE_BEFORE = "an earlier try of this call, whose answer was lost, may have done it"

NOT_LOOKED_AT = frozenset(
    {
        COORDINATOR_LOAD_IN_PROGRESS,
        COORDINATOR_NOT_AVAILABLE,
        NOT_COORDINATOR,
        NOT_CONTROLLER,
        NOT_LEADER_OR_FOLLOWER,
        THROTTLING_QUOTA_EXCEEDED,
    }
)
"""Codes of a broker that is not, or not yet, the one to ask (coordinator, controller, leader), or that throttles: the
request had no effect, so it is safe to repeat it whatever it does."""


class AdminApi(Generic[Key, Result]):
    """One API with the arguments of one call. `what` says in errors what was asked."""

    api_key: int
    what: str
    lookup: Lookup[Key]
    versions: Sequence[int] | None = None
    """The versions that will do; None: all."""
    retries_codes = False
    """Whether every retriable code is asked again, not only those that say that the request had no effect."""
    without_effect: Set[int] = NOT_LOOKED_AT
    """The codes that say so."""
    means_done: Set[int] = frozenset()
    """Codes with which a broker refuses what it has done already, on an earlier try."""
    patience_ms = 0
    """How long the broker of the next request may take, for requests that say so."""
    asks_one_by_one = False
    """Whether a request is about one key alone."""
    answered: Request | HedgedRequest | None = None
    """The request whose response is looked at."""
    tells_all = False
    """Whether the call goes on with the other keys when one has failed, and names all that have."""
    when_too_old = ""
    """What to do instead where a broker is too old for it."""

    @property
    def asked(self) -> str:
        """The broker whose response is looked at, in words."""
        return "" if self.answered is None else str(self.answered.asked)

    def split(self, core: Services) -> Sequence[Key] | None:
        """Returns the keys to ask about; None while they are not known (the brokers, before there is metadata)."""
        raise NotImplementedError

    def request(self, core: Services, keys: Sequence[Key], version: int) -> Any:
        """The request about these keys."""
        raise NotImplementedError

    def result(self, keys: Sequence[Key], response: Any, version: int) -> Mapping[Key, Result | KafkaError]:
        """Returns the result or the error of each key. An error that is raised is the outcome for all of them."""
        raise NotImplementedError

    def merge(self, results: Mapping[Key, Result]) -> Any:
        """The result of the call, from those of all keys, in the order of `split`."""
        return results

    def explain(self, error: KafkaError) -> KafkaError:
        """The error that ends the call, as the user has to hear it."""
        return where_missing(error, self.api_key, self.when_too_old) if self.when_too_old else error


class FanOutCall(Call, Generic[Key, Result]):
    """Runs one AdminApi; `keys` is what it came apart into, once known."""

    def __init__(
        self, core: Services, api: AdminApi[Key, Result], *, deadline: float, now: float, on_done: OnDone | None = None
    ) -> None:
        self._api = api
        self._deadline = deadline
        self._found: dict[Key, Result] = {}
        self._failed: dict[Key, KafkaError] = {}
        self._asked: dict[Key, Request | HedgedRequest] = {}
        self._unanswered: set[Key] = set()
        """What was asked for once without an answer, and may have been done then."""
        self._asked_last: dict[Key, int] = {}
        """The broker that a key was asked about last, unless the request was lost."""
        core.retry_refused(now)
        self.keys = api.split(core)
        api.lookup.call = self
        super().__init__(core, api.what, deadline, on_done)
        core.cluster.listeners.append(self.send)
        api.lookup.begin(now)
        self.send(now)

    @override
    def timed_out(self) -> KafkaError:
        late = super().timed_out()
        unsettled = [key for key in self.keys or () if not self._is_settled(key)]
        reasons = {key: self._api.lookup.why_not_found(key) for key in unsettled}
        if not self._api.tells_all:
            return next((reason for reason in reasons.values() if reason is not None), late)
        failed = {**self._failed, **{key: reasons[key] or late for key in unsettled}}
        return self._with_results(all_of(self._in_order(failed))) if failed else late

    @override
    def under_way(self) -> str:
        name = APIS[self._api.api_key].name
        silent = dict.fromkeys(str(request.asked) for request in self._asked.values() if request.asked is not None)
        if silent:
            return f"{name} has not been answered yet by {first_of(silent, _MAX_NAMED)}"
        unreached = dict.fromkeys(request.target for request in self._asked.values() if isinstance(request, Request))
        if unreached:
            return first_of((self.core.describe_node(target) for target in unreached), _MAX_NAMED)
        return self._api.lookup.under_way() or self.core.cluster.how_far

    @override
    def on_end(self) -> None:
        if self.send in self.core.cluster.listeners:
            self.core.cluster.listeners.remove(self.send)
        if self._asked:
            self._cancel_asked()
        self._api.lookup.end()

    @override
    def ask_again(self, now: float) -> None:
        self._cancel_asked()
        self._api.lookup.recover(now)
        self.send(now)

    def send(self, now: float) -> None:
        """Asks about every key that is neither answered nor being asked about, as far as it is known whom."""
        if self.done or self._is_complete(now):
            return
        refusal = self.core.refusal
        if refusal is not None:
            self.fail(self._api.explain(afresh(refusal)), now)
            return
        if self.keys is None:
            self.core.cluster.refresh(now)
            return
        if self._api.retries_codes:
            self._leave_former()
        try:
            by_target = self._targets(self.keys, now)
        except KafkaError as error:
            self.fail(self._api.explain(error), now)
            return
        if self._is_complete(now):
            return
        for target, keys in by_target.items():
            for asked in [[key] for key in keys] if self._api.asks_one_by_one else [keys]:
                if not self.done:
                    self._ask(target, asked, now)

    def _is_complete(self, now: float) -> bool:
        """Whether every key has its result; ends the call then."""
        if self.keys is None:
            self.keys = self._api.split(self.core)
        if self.keys is None or len(self._found) + len(self._failed) < len(self.keys):
            return False
        if self._failed:
            self.fail(self._with_results(self._api.explain(all_of(self._in_order(self._failed)))), now)
        else:
            self.succeed(self._api.merge(self._in_order(self._found)), now)
        return True

    def _with_results(self, error: KafkaError) -> KafkaError:
        """The error of some keys, with the results of the others, if any has one."""
        if self._found:
            error.results = self._api.merge(self._in_order(self._found)) or {}
        return error

    def _in_order(self, by_key: Mapping[Key, Value]) -> dict[Key, Value]:
        return {key: by_key[key] for key in self.keys or () if key in by_key}

    def _is_settled(self, key: Key) -> bool:
        return key in self._found or key in self._failed

    def _targets(self, keys: Sequence[Key], now: float) -> dict[int, list[Key]]:
        by_target: dict[int, list[Key]] = defaultdict(list)
        for key in keys:
            if self._is_settled(key) or key in self._asked:
                continue
            try:
                target = self._api.lookup.find(key, now)
            except KafkaError as error:
                if not self._api.tells_all:
                    raise
                self._failed[key] = error
            else:
                if target is not None and not self._is_to_wait(key, target):
                    by_target[target].append(key)
        self._api.lookup.ask(now)
        return by_target

    def _is_to_wait(self, key: Key, target: int) -> bool:
        """Whether that broker has refused it a moment ago. Metadata that came since may have another one to ask."""
        return self._retry is not None and self._retry.active and self._asked_last.get(key) == self._broker_at(target)

    def _broker_at(self, target: int) -> int:
        return self.core.cluster.controller_id if target == CONTROLLER else target

    def _ask(self, target: int, keys: list[Key], now: float) -> None:
        self._asked_last.update(dict.fromkeys(keys, self._broker_at(target)))
        left = self._deadline - now
        purpose = self._api.lookup.purpose
        send = partial(HedgedRequest, self.core) if target == ANY else partial(self.core.request, target)
        request: Request | HedgedRequest = send(
            self._api.api_key,
            partial(self._message, keys, patience_ms(min(self.core.settings.request_timeout_ms / 1000, left))),
            partial(self._on_response, keys),
            partial(self._on_error, keys, purpose),
            now,
            versions=self._api.versions,
            purpose=purpose,
        )
        if not request.done:
            self._asked.update(dict.fromkeys(keys, request))

    def _message(self, keys: list[Key], patience: int, version: int) -> Any:
        """The request. An argument that no check has found at fault ends its call, and nothing else."""
        self._api.patience_ms = patience
        try:
            return self._api.request(self.core, keys, version)
        except KafkaError:
            raise
        except Exception as error:
            kind = type(error).__name__  # its text may have what is secret
            raise ConfigError(f"{self.what}: no request can be made of these arguments ({kind})") from None

    def _on_response(self, keys: list[Key], response: Any, version: int, now: float) -> None:
        self._api.answered = self._asked.get(keys[0])
        try:
            results = self._api.result(keys, response, version)
        except KafkaError as error:
            self._on_failed(keys, error, now)
            return
        self._forget(keys)
        failed: dict[Key, KafkaError] = {}
        for key in keys:
            result = results.get(key, _UnsaidError(f"the response to {self.what} has no entry for {key}"))
            if isinstance(result, KafkaError):
                failed[key] = result
            else:
                self._found[key] = result
        if not self._is_complete(now):
            self.on_failed(failed, now)

    def _on_error(self, keys: list[Key], purpose: int, error: KafkaError, now: float) -> None:
        if self._api.lookup.asks_coordinators(error, purpose):
            self._forget(keys)
            self.send(now)
        else:
            self._on_failed(keys, error, now)

    def _on_failed(self, keys: list[Key], error: KafkaError, now: float) -> None:
        if not isinstance(error, BrokerError):
            self._note_unanswered(keys)
            for key in keys:
                self._asked_last.pop(key, None)
        self._forget(keys)
        self.on_failed(dict.fromkeys(keys, error), now)

    def on_failed(self, failed: Mapping[Key, KafkaError], now: float) -> None:
        """These were asked about, or looked up, in vain."""
        final = {key: self._told(key, error) for key, error in failed.items() if not self._may_retry(error)}
        if final and not self._api.tells_all:
            self.fail(self._api.explain(next(iter(final.values()))), now)
            return
        self._failed.update(final)
        if self._is_complete(now):
            return
        for key, error in failed.items():
            if key not in final:
                self._api.lookup.refused(key, error, now)
                self.retry(self.send, error, now)

    def _told(self, key: Key, error: KafkaError) -> KafkaError:
        """The error; where an earlier try may be why there is one, it says so."""
        if key not in self._unanswered or not isinstance(error, BrokerError) or error.code not in self._api.means_done:
            return error
        told = errors.broker.error_for(error.code, f"{error.context}; {_DONE_BEFORE}")
        told.failures, told.api_key = error.failures, error.api_key
        return told

    def _note_unanswered(self, keys: Iterable[Key]) -> None:
        self._unanswered.update(key for key in keys if key in self._asked and self._asked[key].asked is not None)

    def _may_retry(self, error: KafkaError) -> bool:
        if self._api.retries_codes:
            return isinstance(error, _UnsaidError) or is_retriable(error)
        return error.code in self._api.without_effect if isinstance(error, BrokerError) else is_retriable(error)

    def _cancel_asked(self) -> None:
        self._note_unanswered(self._asked)
        for request in self._asked.values():
            request.cancel()
        self._asked.clear()

    def _leave_former(self) -> None:
        """A broker that hangs holds up nothing that another one has taken over; what it may still say is dropped."""
        left = {
            request
            for key, request in self._asked.items()
            if isinstance(request, Request) and self._api.lookup.is_elsewhere(key, request.target)
        }
        for request in left:
            request.cancel()
            keys = [key for key, asked in self._asked.items() if asked is request]
            self._note_unanswered(keys)
            self._forget(keys)

    def _forget(self, keys: Iterable[Key]) -> None:
        for key in keys:
            self._asked.pop(key, None)


class _UnsaidError(KafkaError):
    """A response that leaves a key out."""
