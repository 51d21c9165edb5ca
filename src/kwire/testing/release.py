"""How an Apache Kafka release differs from the others, as far as a client can see it on this broker.

Seen on the releases themselves, 0.8.0 to 4.4.0:

    a request that the broker cannot read     0.8: closes the connection; 0.9: says nothing and answers the next one;
                                              from 0.10 on: closes
    version of a Metadata request             before 0.10: not read, the answer is that of version 0
    ApiVersions of an unknown version         from 0.10 on: a v0 body with error 35; from 2.4 on it names key 18's range
    a record set of Produce 3 that is not one
    batch of magic 2                          to 2.0: closes; to 2.3: CORRUPT_MESSAGE; from 2.4 on: INVALID_RECORD
    a record without a key, where one is wanted: to 2.3: CORRUPT_MESSAGE; from 2.4 on: INVALID_RECORD
    special times of ListOffsets              to 2.8: times like any other; 3.0 to 3.8: known in every version; from 3.9
                                              on: in the versions that have them, else UNSUPPORTED_VERSION
    ApiVersions before a login                from 1.0 on: only once
    a refused login                           from 2.1 on: told 0.1 s later
    what only the controller does             to 3.2 (ZooKeeper): the other nodes answer NOT_CONTROLLER
    a client over its quota                   to 1.1: answered late; from 2.0 on: at once, and not read from meanwhile
    the end of a session by max_reauth_ms     to 2.4: not after a login with bare tokens
    the end of a session by its token         to 3.2: only with max_reauth_ms, then the lesser of both
    a transactional batch of Produce          from 2.0 on: only with a transactional id in the request; from 3.6 on:
                                              only to partitions that are part of the transaction
    a producer that is not known here and     0.11: OUT_OF_ORDER_SEQUENCE_NUMBER; to 2.4: UNKNOWN_PRODUCER_ID; from 2.5
    does not begin at sequence 0              on: taken
    UpdateFeatures                            to 3.9: each feature by itself; from 4.0 on: all or nothing
    EndTxn of a newer epoch than the present  to 2.4: taken for the present one
    a classic group without members           to 0.10.0: is no more; later: Empty, to 3.9 only as long as it has offsets
    a commit for what does not exist          0.8: taken for any topic; to 1.1: for any partition of a topic
    a heartbeat between JoinGroup and         to 2.4: REBALANCE_IN_PROGRESS; from 2.5 on: taken
    SyncGroup
    a refused JoinGroup                       to 2.2: says generation 0; from 2.3 on: -1
    a new consumer or share group             to 4.2: its first assignment has epoch 1; from 4.3 on: 2
    a consumer that joins again               to 4.1: FENCED_MEMBER_EPOCH unless it has just joined; from 4.2 on: taken
    a consumer's commit with an older epoch   to 4.2: STALE_MEMBER_EPOCH; from 4.3 on: taken if it had them then
    Produce 0 to 2                            refused from 4.0 on, but listed all the same (KAFKA-18659)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kwire import protocol
from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.schema.api_keys import DESCRIBE_QUORUM, INIT_PRODUCER_ID, PRODUCE

_KRAFT_SINCE = (3, 3)


@dataclass(frozen=True, slots=True)
class Release:
    """A release by name, with the versions it serves of the keys that this broker can answer."""

    name: str
    number: tuple[int, ...]
    served: Mapping[int, tuple[int, int]]

    @classmethod
    def find(cls, name: str, keys: Iterable[int], *, unstable: bool = False) -> Release:
        """With `unstable` also the versions that the release has by unstable.api.versions.enable only.

        Raises ConfigError for a release whose versions are not known.
        """
        known = protocol.versions_of(name)
        served, number = {}, tuple(int(part) for part in name.split("."))
        for key in keys:
            if key in known and (key != DESCRIBE_QUORUM or number >= _KRAFT_SINCE):
                able = protocol.APIS[key].versions
                low, high = max(known[key][0], able[0]), min(known[key][1], able[-1])
                if low <= high:
                    served[key] = (low, high)
        if number >= (4,):
            served[PRODUCE] = (max(3, served[PRODUCE][0]), served[PRODUCE][1])
        if unstable and number >= (4, 2) and INIT_PRODUCER_ID in served:
            served[INIT_PRODUCER_ID] = (0, 6)
        return cls(name, number, served)

    @property
    def listed(self) -> dict[int, tuple[int, int]]:
        """What ApiVersions says, which is not always what is served."""
        listed = dict(sorted(self.served.items()))
        if self.number >= (4,):
            listed[PRODUCE] = (0, listed[PRODUCE][1])
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
    def updates_features_together(self) -> bool:
        return self.number >= (4,)

    @property
    def wants_transactional_ids(self) -> bool:
        """Whether a Produce with transactional batches must name a transactional id."""
        return self.number >= (2,)

    @property
    def fences_newer_epochs(self) -> bool:
        return self.number >= (2, 5)

    @property
    def code_of_unknown_producers(self) -> type[BrokerError] | None:
        """What a producer that is not known to the partition is told if it does not begin at sequence 0."""
        if self.number < (1,):
            return codes.OUT_OF_ORDER_SEQUENCE_NUMBER
        return codes.UNKNOWN_PRODUCER_ID if self.number < (2, 5) else None

    @property
    def verifies_transactions(self) -> bool:
        return self.number >= (3, 6)

    @property
    def reads_metadata_version(self) -> bool:
        """Before 0.10 Metadata is answered in version 0, whatever was asked."""
        return self.number >= (0, 10)

    @property
    def mutes_throttled_clients(self) -> bool:
        return self.number >= (2,)

    @property
    def is_kraft(self) -> bool:
        """Without ZooKeeper any node does what only the controller can do."""
        return self.number >= _KRAFT_SINCE

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

    @property
    def has_share_coordinator(self) -> bool:
        return self.number >= (4,)

    @property
    def code_of_refused_records(self) -> type[BrokerError]:
        """What a record without a key is answered with where the topic wants one."""
        return codes.INVALID_RECORD if self.number >= (2, 4) else codes.CORRUPT_MESSAGE

    @property
    def has_heartbeats_before_sync(self) -> bool:
        """Before 2.5 a heartbeat between JoinGroup and SyncGroup is told to join again."""
        return self.number >= (2, 5)

    @property
    def keeps_empty_groups(self) -> bool:
        """Before 0.10.1 a group is gone with its last member, and commits alone make none."""
        return self.number >= (0, 10, 1)

    @property
    def keeps_missing_metadata(self) -> bool:
        """Before 0.10 offsets that were committed without metadata are answered without, then with an empty text."""
        return self.number < (0, 10)

    @property
    def checks_committed_topics(self) -> bool:
        """0.8 takes offsets for any topic, and only gives back those of partitions that exist."""
        return self.number >= (0, 9)

    @property
    def checks_committed_partitions(self) -> bool:
        """Before 2.0 only the topic of a committed offset has to exist."""
        return self.number >= (2,)

    @property
    def generation_of_refused_joins(self) -> int:
        return -1 if self.number >= (2, 3) else 0

    @property
    def operations_not_asked_for(self) -> int:
        """What stands for authorized operations in descriptions of groups where nobody asked for them."""
        return -(2**31) if self.number >= (2, 5) else 0

    @property
    def has_new_coordinator(self) -> bool:
        """The coordinator that came with KIP-848. Before it, describing a group that is not stable shows no
        assignments, an empty group goes with its last offset, and a commit to a missing group is told
        ILLEGAL_GENERATION in every version.
        """
        return self.number >= (4,)

    @property
    def first_group_epoch(self) -> int:
        """What the epoch of a new group grows from."""
        return 1 if self.number >= (4, 3) else 0

    @property
    def takes_members_back(self) -> bool:
        """Whether a consumer may join its group again at any epoch; before 4.2 only if it has just joined."""
        return self.number >= (4, 2)

    @property
    def assigns_to_nobody(self) -> bool:
        """Whether a consumer group that has become empty has a target assignment of its epoch."""
        return self.number >= (4, 4)

    @property
    def takes_older_epochs(self) -> bool:
        """Whether consumers may commit with an epoch from which on they had the partitions (KIP-1251)."""
        return self.number >= (4, 3)

    def name_of_state(self, state: str) -> str:
        """The state of a classic group; before 1.1 one of them has another name."""
        return "AwaitingSync" if state == "CompletingRebalance" and self.number < (1, 1) else state

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
