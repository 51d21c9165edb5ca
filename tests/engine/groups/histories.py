"""Members of a group that do what programs do, and the history of what they read and committed, in virtual time.

History   a Story of test_group_model.py whose members read: its releases, its logs, and what must hold
Reader    one member: polls, works, commits in every way there is, seeks back, pauses, is replaced by a twin

What is checked, at each poll and at each commit that the coordinator takes:

    positions     a partition begins where the group has committed, or at the start, and goes on without a gap; after a
                  seek, from there. A partition that is paused, or is not the member's, gives nothing
    at least once all that precedes a committed offset was handed out to some member; with automatic commits, and to
                  one that has polled again or left since
    a success     of a commit that was asked for: the coordinator has taken one of each of its partitions since
    owners        no two in one generation, by `Story.check`
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from kwire import records
from kwire.engine.calls.calls import Call
from kwire.engine.calls.lookup import GROUP
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.consumer.records import ConsumerRecords
from kwire.engine.groups.committable import committable
from kwire.errors import BrokerError, ConfigError, KafkaError
from kwire.testing.answers.handlers import HANDLERS
from kwire.testing.contents import Contents
from kwire.testing.groups.offsets import Committed
from kwire.testing.release import Release
from tests.engine.groups.group_world import GroupMember
from tests.engine.groups.test_group_model import Story

RELEASES = [
    "0.9.0.1", "0.10.0.1", "0.10.2.2", "0.11.0.3", "1.1.1", "2.0.1", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.8.2",
    "3.9.2", "4.0.2", "4.2.0", "4.4.0",
]  # fmt: skip
STRATEGIES = [("range",), ("roundrobin",), ("sticky",), ("cooperative-sticky",), ("range", "cooperative-sticky")]
APIS = ["Heartbeat", "JoinGroup", "SyncGroup", "OffsetCommit", "OffsetFetch", "FindCoordinator", "Fetch", "ListOffsets"]
CODES = [-1, 7, 14, 15, 16, 22, 25, 27]
NEW_CODES = [7, 14, 15, 16, 25, 110]
"""Others are for good (ConsumerGroupHeartbeat)."""
PATIENCE_S = 10.0
"""Of a commit."""

MOST_REQUESTS = 250
"""In a second, of one member."""


class History(Story):
    """One group. By its seed all commit by themselves (`automatic`) or all by calls."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        self.release = rng.choice(RELEASES)
        number = tuple(map(int, self.release.split(".")))
        self.new_protocol = number >= (4,) and rng.random() < 0.5
        self.automatic = rng.random() < 0.4
        self.seeks = rng.random() < 0.5
        super().__init__(seed, rng.choice(STRATEGIES), self.release)
        self.has_static = number >= (2, 3)
        self.is_over = False
        self.magic = Release.find(self.release, HANDLERS).newest_magic
        self.contents = Contents(self.world.cluster)
        self.delivered: dict[TopicPartition, set[int]] = defaultdict(set)
        self.finished: dict[TopicPartition, set[int]] = defaultdict(set)
        self.commits: dict[TopicPartition, list[tuple[float, int]]] = defaultdict(list)
        self.happened: Counter[str] = Counter()
        self.wrong: list[str] = []
        """What is found within steps of the broker and the core, which may not fail."""
        offsets = self.world.cluster.groups.offsets
        self.store = offsets.commit
        offsets.commit = self.committed  # type: ignore[method-assign]

    def settings(self) -> dict[str, Any]:
        own = super().settings()
        if self.new_protocol:
            for name in ("partition_assignment_strategy", "session_timeout_ms", "heartbeat_interval_ms"):
                del own[name]
            own["group_protocol"] = "consumer"
        return {**own, "enable_auto_commit": self.automatic}

    def make(self, name: str, **settings: Any) -> Reader:
        return Reader(self, name, **settings)

    def happen(self) -> None:
        """One thing happens, to the group or to what its coordinator says."""
        rng, faults = self.rng, self.world.faults
        chance = rng.random()
        if chance < 0.7:
            super().happen()
        elif chance < 0.8:
            self.send_a_twin()
        elif chance < 0.86:
            codes = NEW_CODES if self.new_protocol else CODES
            faults.error(self.some_api(), rng.choice(codes), times=rng.choice([1, 3]))
        elif chance < 0.9:
            faults.delay(self.some_api(), rng.choice([0.2, 2.0]))
        elif chance < 0.95:
            faults.close(self.some_api(), after_effect=rng.random() < 0.5)
        else:
            faults.mute(self.some_api(), after_effect=rng.random() < 0.5)

    def some_api(self) -> str:
        return self.rng.choice([*APIS, "ConsumerGroupHeartbeat"] if self.new_protocol else APIS)

    def send_a_twin(self) -> None:
        """A static member is killed and started again, or started twice."""
        static = [member for member in self.members if member.instance_id is not None]
        if not static:
            return
        member = self.rng.choice(static)
        if self.rng.random() < 0.7:
            self.members.remove(member)
            self.world.remove(member)
        self.join(group_instance_id=member.instance_id)

    def write(self) -> None:
        """Something, and then something again."""
        if self.is_over:
            return
        stamp = self.world.wall_clock() if self.magic else None
        for number in range(self.partitions):
            if count := self.rng.choice([0, 0, 1, 3]):
                self.contents.append("t", number, records.encode([(b"x", None, stamp)] * count, magic=self.magic))
        self.world.at(self.world.now + self.rng.uniform(0.01, 0.3), self.write)

    # -- what must hold ---------------------------------------------------------------------------------------------

    def check(self) -> None:
        super().check()
        assert not self.wrong, self.wrong[:3]

    def committed(self, group_id: str, topic: str, partition: int, row: Committed) -> None:
        """The coordinator takes a commit."""
        tp = TopicPartition(topic, partition)
        done = self.finished[tp] if self.automatic else self.delivered[tp]
        skipped = [offset for offset in range(row.offset) if offset not in done]
        if skipped:
            self.wrong.append(f"{tp} is committed at {row.offset}, without {skipped[:5]}; {self.world.happened[-10:]}")
        self.commits[tp].append((self.world.now, row.offset))
        self.store(group_id, topic, partition, row)

    def starts(self, tp: TopicPartition, since: float) -> set[int]:
        """Where one may begin who has learned since then what is committed."""
        before = [offset for when, offset in self.commits[tp] if when <= since]
        return {before[-1] if before else 0, *(offset for when, offset in self.commits[tp] if when > since)}

    def has_committed(self, tp: TopicPartition, since: float) -> bool:
        return any(when >= since for when, _ in self.commits[tp])

    def is_read(self) -> bool:
        """Whether all was handed out, and is committed."""
        logs = self.world.cluster.topics["t"].partitions
        ends = [log.log.end_offset for log in logs]
        stored = self.world.cluster.groups.offsets.of("g")
        return all(
            not end or (stored[row].offset == end if (row := ("t", number)) in stored else False)
            for number, end in enumerate(ends)
        )

    def settle(self) -> None:
        self.is_over = True
        self.world.faults.clear()
        self.drop_twins()
        for member in self.members:  # what was never to be answered
            for address in self.world.addresses.values():
                member.lose_all(address)
        self.world.run(self.world.now + PATIENCE_S + 2.0)  # until polls have told of it
        super().settle()
        self.world.run(self.is_read)
        for tp, row in self.delivered.items():
            assert row == set(range(self.contents.offsets(tp.topic, tp.partition)[1]))

    def drop_fenced(self) -> None:
        """Members that a twin has taken the place of; programs end by that."""
        for member in list(self.members):
            if member.is_fenced:
                self.members.remove(member)
                self.world.remove(member)

    def drop_twins(self) -> None:
        """Of those that share an instance id: they could go on for ever to take it from each other."""
        last = {member.instance_id: member for member in self.members}
        for member in list(self.members):
            if member.instance_id is not None and last[member.instance_id] is not member:
                self.members.remove(member)
                self.world.remove(member)


class Reader(GroupMember):
    """One member. `due` is what a partition has to give next, None where that is what the group has committed."""

    def __init__(self, history: History, name: str, **given: Any) -> None:
        super().__init__(history.world, name, **given)
        self.history, self.rng = history, history.rng
        self.instance_id = given["group_instance_id"]
        self.due: dict[TopicPartition, int | None] = {}
        self.since: dict[TopicPartition, float] = {}
        self.paused: set[TopicPartition] = set()
        self.in_hand: list[tuple[TopicPartition, int]] = []
        self.stepped = [self.now, self.now]
        self.waits_for: Call | None = None
        self.listen = self.on_event

    @property
    def is_fenced(self) -> bool:
        names = {error.name for error in self.faults if isinstance(error, BrokerError)}
        return not names.isdisjoint({"FENCED_INSTANCE_ID", "UNRELEASED_INSTANCE_ID"})

    def on_event(self, kind: str, partitions: Iterable[TopicPartition]) -> None:
        for tp in partitions:
            self.paused.discard(tp)
            if kind == "assigned":
                self.due[tp], self.since[tp] = None, self.stepped[-2]
            else:
                del self.due[tp]

    def step(self) -> None:
        """One poll that does not wait, and what the program does with what it gave."""
        if self.waits_for is not None and not self.waits_for.done:
            return
        self.waits_for = None
        for tp, offset in self.in_hand:
            self.history.finished[tp].add(offset)
        self.in_hand = []
        try:
            self.polling.begin(self.now)
            self.hear()
            taken = self.polling.take_records(self.rng.choice([1, 5, 100]), self.now)
        except KafkaError as error:
            self.faults.append(error)
            self.history.happened[type(error).__name__] += 1
            self.history.drop_fenced()
            return
        self.fetcher.hand_out.arrived = True
        for tp, part in taken.by_partition().items():
            self.take(tp, [record.offset for record in part])
        self.stepped = [*self.stepped[-3:], self.now]
        self.act(taken)

    def take(self, tp: TopicPartition, offsets: list[int]) -> None:
        assert tp in self.owned, f"{tp} is not {self.name}'s"
        assert tp not in self.paused, f"{tp} is paused"
        due, history = self.due[tp], self.history
        wanted = history.starts(tp, self.since[tp]) if due is None else {due}
        assert offsets[0] in wanted, f"{self.name}, {tp}: {offsets[0]} where {wanted} was due; {self.told[-3:]}"
        assert offsets == list(range(offsets[0], offsets[0] + len(offsets)))
        self.due[tp] = offsets[-1] + 1
        history.delivered[tp].update(offsets)
        self.in_hand += [(tp, offset) for offset in offsets]

    # -- what programs do -------------------------------------------------------------------------------------------

    def act(self, taken: ConsumerRecords) -> None:
        self.fetcher.settle()
        if self.history.is_over:
            self.resume_all()
            if not self.history.automatic:
                self.commit(None, waits=True)
            return
        chance = self.rng.random()
        if chance < 0.5:
            self.commit_somehow(taken)
        elif chance < 0.55 and self.history.seeks:
            self.seek_back()
        elif chance < 0.6 and self.owned:
            self.pause(self.rng.choice(sorted(self.owned)))
        elif chance < 0.7:
            self.resume_all()

    def commit_somehow(self, taken: ConsumerRecords) -> None:
        if self.history.automatic:
            return
        chance = self.rng.random()
        if chance < 0.6:
            self.commit(None, waits=chance < 0.2)
        elif chance < 0.85 and taken:
            self.commit(taken, waits=chance < 0.7)
        elif taken:
            firsts = {tp: part[0].offset + self.rng.randrange(len(part)) for tp, part in taken.by_partition().items()}
            self.commit(firsts, waits=chance < 0.9)

    def commit(self, what: Any, *, waits: bool) -> None:
        began = self.now

        def decided(call: Any, now: float) -> None:
            if call.error is None:
                missing = [tp for tp in call.rows if not self.history.has_committed(tp, began)]
                self.history.wrong += [f"{tp} was not committed, as the call says" for tp in missing]
            else:
                self.history.happened["commit: " + type(call.error).__name__] += 1

        try:
            rows = committable(what)
            call = self.offsets.commit(rows, self.now, self.now + PATIENCE_S, decided, given=what)
        except ConfigError:
            assert not self.membership.active
            return
        if waits:
            self.waits_for = call

    def seek_back(self) -> None:
        known = sorted(tp for tp in self.owned if self.due.get(tp) is not None)
        if known:
            tp = self.rng.choice(known)
            due = self.due[tp]
            assert due is not None
            place = self.due[tp] = self.rng.randrange(max(due - 10, 0), due + 1)
            self.history.finished[tp].update(offset for at, offset in self.in_hand if at == tp and offset < place)
            self.subscription.state(tp).seek(place)
            self.fetcher.pump(self.now)

    def pause(self, tp: TopicPartition) -> None:
        self.paused.add(tp)
        self.subscription.state(tp).paused = True
        self.fetcher.pump(self.now)

    def resume_all(self) -> None:
        for tp in self.paused:
            self.subscription.state(tp).paused = False
        self.paused.clear()
        self.fetcher.pump(self.now)


def play(seed: int) -> History:
    """One history, and what holds in its end."""
    history = History(seed)
    history.world.disturb(2.0, loss=0.01, keys=[(GROUP, "g")], hangs=history.rng.choice([0.0, 0.0, 0.4]))
    history.write()
    history.join()
    history.play(30)
    history.settle()
    return history
