"""How an Apache Kafka release differs from the others, as far as a client can see it on this broker.

Seen on the releases themselves, 0.8.0 to 4.4.0:

    a request that the broker cannot read     0.8: closes the connection; 0.9: says nothing and answers the next one;
                                              from 0.10 on: closes
    version of a Metadata request             before 0.10: not read, the answer is that of version 0
    ApiVersions of an unknown version         from 0.10 on: a v0 body with error 35; from 2.4 on it names key 18's range
    a record set of Produce 3 that is not one
    batch of magic 2                          to 2.0: closes; to 2.3: CORRUPT_MESSAGE; from 2.4 on: INVALID_RECORD
    special times of ListOffsets              to 2.8: times like any other; 3.0 to 3.8: known in every version; from 3.9
                                              on: in the versions that have them, else UNSUPPORTED_VERSION
    ApiVersions before a login                from 1.0 on: only once
    a refused login                           from 2.1 on: told 0.1 s later
    the end of a session by max_reauth_ms     to 2.4: not after a login with bare tokens
    the end of a session by its token         to 3.2: only with max_reauth_ms, then the lesser of both
    Produce 0 to 2                            refused from 4.0 on, but listed all the same (KAFKA-18659)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kwire import protocol
from kwire.errors import BrokerError
from kwire.errors import broker as codes

_PRODUCE = 0


@dataclass(frozen=True, slots=True)
class Release:
    """A release by name, with the versions it serves of the keys that this broker can answer."""

    name: str
    number: tuple[int, ...]
    served: Mapping[int, tuple[int, int]]

    @classmethod
    def find(cls, name: str, keys: Iterable[int]) -> Release:
        """Raises ConfigError for a release whose versions are not known."""
        known = protocol.versions_of(name)
        served = {}
        for key in keys:
            if key in known:
                able = protocol.APIS[key].versions
                low, high = max(known[key][0], able[0]), min(known[key][1], able[-1])
                if low <= high:
                    served[key] = (low, high)
        number = tuple(int(part) for part in name.split("."))
        if number >= (4,):
            served[_PRODUCE] = (max(3, served[_PRODUCE][0]), served[_PRODUCE][1])
        return cls(name, number, served)

    @property
    def listed(self) -> dict[int, tuple[int, int]]:
        """What ApiVersions says, which is not always what is served."""
        listed = dict(sorted(self.served.items()))
        if self.number >= (4,):
            listed[_PRODUCE] = (0, listed[_PRODUCE][1])
        return listed

    @property
    def silent_when_confused(self) -> bool:
        return (0, 9) <= self.number < (0, 10)

    @property
    def api_versions_names_itself(self) -> bool:
        return self.number >= (2, 4)

    @property
    def tells_versions_once(self) -> bool:
        return self.number >= (1,)

    @property
    def has_reauthentication(self) -> bool:
        return self.number >= (2, 2)

    @property
    def ends_bare_logins(self) -> bool:
        return self.number >= (2, 5)

    @property
    def tokens_end_sessions(self) -> bool:
        return self.number >= (3, 3)

    @property
    def delays_refused_logins(self) -> bool:
        return self.number >= (2, 1)

    @property
    def reads_metadata_version(self) -> bool:
        """Before 0.10 Metadata is answered in version 0, whatever was asked."""
        return self.number >= (0, 10)

    @property
    def newest_magic(self) -> int:
        """The newest record format that the release can store."""
        return 0 if self.number < (0, 10) else 1 if self.number < (0, 11) else 2

    @property
    def lists_brokers_without_topics(self) -> bool:
        """0.8 lists only brokers that a partition names."""
        return self.number >= (0, 9)

    @property
    def code_of_wrong_batches(self) -> type[BrokerError] | None:
        """What a record set that is not one batch of magic 2 is answered with; None: the connection closes."""
        if self.number < (2, 1):
            return None
        return codes.INVALID_RECORD if self.number >= (2, 4) else codes.CORRUPT_MESSAGE

    def special_time_since(self, time: int) -> int | None:
        """The ListOffsets version from which on a time below -2 has its meaning; None: it is a time like any other.

        Before 3.9 a meaning that the release knows holds in every version.
        """
        if self.number < (3,):
            return None
        known = {-3: 7, -4: 8, -5: 9, -6: 11}
        return known.get(time, 2**15) if self.number >= (3, 9) else 0 if time in (-3, -4) else None

    def serves(self, key: int, version: int) -> bool:
        low, high = self.served.get(key, (0, -1))
        return low <= version <= high
