"""Which of the records that a consumer has returned it may still commit, and as whom transactions name it.

Layer 3, no I/O. A program holds records for longer than its consumer may hold their partition: it works while the group
goes on, polls in between, unsubscribes. Offsets of such records belong to the partition's next owner. The coordinator
refuses them from a member that is none any more, so `group_metadata()` keeps naming that member until polls have
reported the loss and the consumer has rejoined. From a member that has rejoined it would take them; so each partition
that the group assigns is numbered, and records know under which number they were returned (`Subscription`).

    lost       the member is none any more: nothing is committed in its name
    ended      the highest number of each partition that went: records that bear it, or a lower one, are not committed
    withdrawn  partitions that went and did not come back: nor are offsets that are given without records

Java's client has the first rule only: ConsumerCoordinator changes its groupMetadata in onJoinComplete.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from kwire._codec import ConsumerRecord, tenure_of
from kwire._typing import TYPE_CHECKING, Self
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.consumer.deserialization import as_received
from kwire.engine.consumer.records import ConsumerRecords
from kwire.engine.groups.membership import NO_GENERATION, NO_MEMBER, GroupMetadata
from kwire.errors import CommitFailedError, ConfigError
from kwire.errors.wording import Wording

if TYPE_CHECKING:
    from kwire.engine.consumer.subscription import Subscription
    from kwire.engine.groups.committable import CommittableOffsets
    from kwire.engine.groups.membership import Membership

_NOTHING: Mapping[TopicPartition, int] = MappingProxyType({})


class ConsumerGroupMetadata(GroupMetadata):
    """What `group_metadata()` returns: the member, and what only its consumer knows. A value; it may be pickled.

    lost   why the member is none any more, in words
    """

    lost: str | None = None
    _is_outside = False
    _ended: Mapping[TopicPartition, int] = _NOTHING
    _withdrawn: frozenset[TopicPartition] = frozenset()

    @classmethod
    def outside(cls, group_id: str, ended: Mapping[TopicPartition, int] = _NOTHING) -> Self:
        """Of a consumer that has assigned partitions to itself: no member, so the coordinator checks nothing."""
        made = cls(group_id)
        made._is_outside, made._ended = True, ended
        return made

    @classmethod
    def of(cls, membership: Membership, subscription: Subscription) -> Self:
        """Of a consumer as it is now. CommitFailedError before its first join."""
        if membership.is_outside:
            return cls.outside(membership.group_id, subscription.ended)
        member = membership.joined_as
        if member is None:
            raise _not_joined(membership)
        made = cls(*member)
        made.lost, made._ended, made._withdrawn = membership.lost_by, subscription.ended, subscription.withdrawn
        return made

    def why_not(self, given: object, rows: CommittableOffsets) -> CommitFailedError | None:
        """Why a transaction may not commit these offsets, given as records or without them."""
        if self.lost is not None and rows:
            return CommitFailedError(
                f"the offsets were not sent: this consumer has lost its partitions: {self.lost}; their next owners "
                "read these records again. poll() joins again"
            )
        return why_not(given, rows, self._ended, self._withdrawn)


def why_not(
    given: object, rows: CommittableOffsets, ended: Mapping[TopicPartition, int], withdrawn: frozenset[TopicPartition]
) -> CommitFailedError | None:
    """Why these offsets may not be committed, since a partition went after its records were returned."""
    if not ended:
        return None
    tenures = _tenures_of(given)
    for tp in rows:
        tenure = tenures.get(tp, 0)
        if tenure <= ended.get(tp, 0) if tenure else tp in withdrawn:
            return CommitFailedError(
                f"{tp} was not committed: the group took it from this consumer after these records were returned, and "
                "they are read again by its next owner; or its topic was recreated"
            )
    return None


def _tenures_of(given: object) -> Mapping[TopicPartition, int]:
    """Under which assignments the records were returned that a commit was given."""
    if isinstance(given, ConsumerRecords):
        return {tp: tenure_of(records) for tp, records in given.by_partition().items()}
    given = as_received(given)
    if isinstance(given, ConsumerRecord):
        return {TopicPartition(given.topic, given.partition): tenure_of(given)}
    return _NOTHING


def why_not_alone(
    given: object, rows: CommittableOffsets | None, subscription: Subscription, *, is_member: bool
) -> CommitFailedError | None:
    """As `why_not` for a commit without a transaction. Offsets that are given as such, by a consumer that has left its
    group, are the caller's to know."""
    if rows is None or not subscription.ended:
        return None
    if not (is_member or isinstance(as_received(given), ConsumerRecords | ConsumerRecord)):
        return None
    return why_not(given, rows, subscription.ended, subscription.withdrawn)


def checked(group: GroupMetadata) -> GroupMetadata:
    """The metadata. ConfigError for what the program has put together and names nobody: no coordinator checks that."""
    if _names_nobody(group) and not (isinstance(group, ConsumerGroupMetadata) and group._is_outside):
        raise ConfigError(
            Wording(
                "{group!r} names no member, so no coordinator could refuse the offsets of one that has lost its "
                "partitions: give what group_metadata() returns; that of a consumer with this {group_id} that has "
                "called assign() is for programs that share their partitions out by themselves",
                group=group,
            )
        )
    return group


def _names_nobody(group: GroupMetadata) -> bool:
    return group.generation_id <= NO_GENERATION and group.member_id == NO_MEMBER


def _not_joined(membership: Membership) -> CommitFailedError | ConfigError:
    if not membership.active:
        return ConfigError("group_metadata(): call subscribe(), to be a member of the group, or assign() first")
    return CommitFailedError(
        f"group_metadata(): this consumer has not joined group {membership.group_id!r} yet: poll() does that. Ask for "
        "the metadata once there are records to commit"
    )
