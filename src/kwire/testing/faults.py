"""What a test may make the embedded broker do wrong.

Each rule is about the requests of one API (by name, "Produce"; None is any) and holds for the next `times` of them,
None for ever. Rules are used in the order in which they were made. `Faults` only remembers; `apis.py` and the
server ask it and act.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from kwire import protocol
from kwire.errors import BrokerError, ConfigError

Kind = Literal["error", "delay", "close", "mute", "truncate"]


@dataclass(slots=True)
class ThrottleRule:
    """Clients to throttle: by `ms`, for the next `times` requests of an API; None is any, or for ever."""

    key: int | None
    ms: int
    times: int | None
    client_id: str | None
    user: str | None


@dataclass(slots=True)
class Rule:
    """One fault: `amount` is the error code, the seconds or the bytes, as `kind` has it."""

    kind: Kind
    key: int | None
    times: int | None
    amount: float = 0
    takes_effect: bool = False


class Faults:
    """The faults of one broker; every method may be called from any thread, before and while it runs.

    `keys` are the names of its APIs, where they are not those of `kwire.protocol`.
    """

    def __init__(self, keys: Mapping[str, int] | None = None) -> None:
        self._keys = keys
        self._lock = threading.Lock()
        self._rules: list[Rule] = []
        self._throttles: list[ThrottleRule] = []
        self._bytes_per_second: int | None = None

    def error(self, api: str | None, code: int | type[BrokerError], *, times: int | None = 1) -> None:
        """Answers with an error (a code, or a class of `kwire.errors.broker`), in every partition or topic asked about.

        Nothing takes effect.
        """
        self._add(Rule("error", self._key(api), times, code if isinstance(code, int) else code.code))

    def delay(self, api: str | None, seconds: float, *, times: int | None = 1) -> None:
        """Begins to work on the request only after `seconds`."""
        if seconds < 0:
            raise ConfigError(f"seconds {seconds}: a delay must not be negative")
        self._add(Rule("delay", self._key(api), times, seconds))

    def close(self, api: str | None, *, times: int | None = 1, after_effect: bool = False) -> None:
        """Closes the connection instead of an answer; `after_effect`: the request has done its work by then."""
        self._add(Rule("close", self._key(api), times, takes_effect=after_effect))

    def mute(self, api: str | None, *, times: int | None = 1, after_effect: bool = False) -> None:
        """Never answers, nor anything after it on that connection, which stays open."""
        self._add(Rule("mute", self._key(api), times, takes_effect=after_effect))

    def truncate(self, api: str | None, size: int, *, times: int | None = 1) -> None:
        """Sends the first `size` bytes of the answer's frame and closes the connection."""
        if size < 0:
            raise ConfigError(f"size {size}: a frame cannot be cut below zero bytes")
        self._add(Rule("truncate", self._key(api), times, size, takes_effect=True))

    def slow(self, bytes_per_second: int | None) -> None:
        """Sends answers no faster than this, on each connection; None is full speed again."""
        if bytes_per_second is not None and bytes_per_second < 1:
            raise ConfigError(f"bytes_per_second {bytes_per_second}: at least 1, or None for full speed")
        with self._lock:
            self._bytes_per_second = bytes_per_second

    def throttle(
        self,
        api: str | None,
        ms: int,
        *,
        times: int | None = None,
        client_id: str | None = None,
        user: str | None = None,
    ) -> None:
        """Tells clients that they went over a quota by `ms`, and does as a broker does then."""
        if ms < 0:
            raise ConfigError(f"ms {ms}: a throttle time must not be negative")
        _check_times(times)
        with self._lock:
            if ms == 0:
                self._throttles = [rule for rule in self._throttles if rule.key != self._key(api)]
                return
            self._throttles.append(ThrottleRule(self._key(api), ms, times, client_id, user))

    def clear(self) -> None:
        """Forgets every rule and the speed limit."""
        with self._lock:
            self._rules.clear()
            self._throttles.clear()
            self._bytes_per_second = None

    @property
    def bytes_per_second(self) -> int | None:
        """The speed limit of each connection, None for full speed."""
        return self._bytes_per_second

    @property
    def pending(self) -> int:
        """How many rules have not been used up."""
        with self._lock:
            return len(self._rules)

    def take(self, key: int) -> list[Rule]:
        """Uses up the rules for a request of `key`: every delay, and the first of any other kind."""
        taken: list[Rule] = []
        with self._lock:
            for rule in list(self._rules):
                if rule.key not in (None, key):
                    continue
                if rule.kind != "delay" and any(other.kind != "delay" for other in taken):
                    continue
                taken.append(rule)
                if rule.times is not None:
                    rule.times -= 1
                    if rule.times == 0:
                        self._rules.remove(rule)
        return taken

    def take_throttle(self, key: int, client_id: str, user: str | None) -> int:
        """Uses up a rule that throttles this request; 0 without any."""
        if not self._throttles:
            return 0
        with self._lock:
            for rule in self._throttles:
                if rule.key in (None, key) and rule.client_id in (None, client_id) and rule.user in (None, user):
                    if rule.times is not None:
                        rule.times -= 1
                        if rule.times == 0:
                            self._throttles.remove(rule)
                    return rule.ms
        return 0

    def _add(self, rule: Rule) -> None:
        _check_times(rule.times)
        with self._lock:
            self._rules.append(rule)

    def _key(self, api: str | None) -> int | None:
        return None if api is None else key_of(api, self._keys)


def _check_times(times: int | None) -> None:
    if times is not None and times < 1:
        raise ConfigError(f"times {times}: at least 1, or None for every request")


def key_of(api: str, keys: Mapping[str, int] | None = None) -> int:
    """The key of an API by its name ("Produce"): one of `keys`, or as Kafka names them. Raises ConfigError."""
    known = {found.name: found.key for found in protocol.APIS.values()} if keys is None else keys
    if api not in known:
        raise ConfigError(f"no API is named {api!r}; known are {', '.join(known)}")
    return known[api]
