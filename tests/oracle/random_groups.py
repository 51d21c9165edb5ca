"""Random groups over several generations: topics, racks, members that come, go, change and lie about what they own.

Seeded, so that a case can be had again by its number.
"""

import random
from collections.abc import Sequence

from kwire import TopicPartition
from kwire.engine.groups.assignors import Assignment, Assignors, assignors_of
from kwire.engine.groups.assignors.blobs import decode_subscription, encode_assignment, encode_subscription
from tests.oracle.assignors import Member

_TOPICS = ((1, 2, 3, 5, 20), (40, 60, 120, 250))
_MEMBERS = ((1, 2, 3, 5, 8, 20), (8, 30, 60))


class Reader:
    """One member: what it reads, what it has, and the assignors that remember its last assignment."""

    def __init__(self, rng: random.Random, assignor: str, number: int, topics: Sequence[str], racks: Sequence[str]):
        self.member_id = f"consumer-{rng.choice('abü𐀀')}-{number}-{rng.randrange(16**8):08x}"
        self.instance = f"static-{rng.randrange(10**6)}" if rng.random() < 0.2 else None
        self.rack = rng.choice(racks) if racks and rng.random() < 0.9 else None
        self.topics = list(topics)
        self.assignors: Assignors = assignors_of(assignor)
        self.owned: list[TopicPartition] = []
        self.generation = -1
        self.version = 3 if rng.random() < 0.8 else rng.randrange(4)


class Group:
    """One group with one assignor; a wide one reads many topics."""

    def __init__(self, assignor: str, seed: int, *, is_wide: bool = False) -> None:
        self.rng = rng = random.Random(f"{assignor} {seed}")
        self.assignor = assignor
        self.generation = 0
        names = [f"{rng.choice(['t', 'topic-', 'Orders.', 'x_'])}{n}" for n in range(rng.choice(_TOPICS[is_wide]))]
        self.most = rng.choice([1, 3, 8, 30][: 2 if is_wide else None])
        self.topics = {name: rng.randint(1, self.most) for name in names}
        self.equal = rng.random() < 0.5
        self.racks = ["a", "b", "c"][: rng.choice([0, 0, 1, 2, 3])]
        self.replicas = rng.choice([1, 2, 3])
        self.readers = [self.new_reader() for _ in range(rng.choice(_MEMBERS[is_wide]))]

    def new_reader(self) -> Reader:
        """A member that has just started."""
        chosen = list(self.topics)
        if not self.equal:
            chosen = self.rng.sample(chosen, self.rng.randint(0 if self.rng.random() < 0.1 else 1, len(chosen)))
        return Reader(self.rng, self.assignor, self.rng.randrange(1000), chosen or ["missing"], self.racks)

    def placed(self) -> dict[str, list[list[str | None]]]:
        """The racks of each partition's replicas."""
        rng = self.rng
        racks: list[str | None] = [*self.racks, *([None] if rng.random() < 0.1 else [])] or [None]
        spread = rng.random() < 0.2
        return {
            name: [racks if spread else [rng.choice(racks) for _ in range(self.replicas)] for _ in range(count)]
            for name, count in self.topics.items()
        }

    def rows(self) -> list[Member]:
        """What the members send."""
        rows = []
        for reader in self.readers:
            owned = reader.owned if reader.assignors.cooperative else []
            [(_, data)] = reader.assignors.metadata(reader.topics, owned, reader.generation, reader.rack)
            older = encode_subscription(decode_subscription(data), reader.version)
            rows.append(Member(reader.member_id, reader.instance, older))
        return rows

    def take(self, results: dict[str, bytes]) -> None:
        """The members have got their assignments, but for some that missed this generation."""
        self.generation += 1
        for reader in self.readers:
            if self.rng.random() < 0.1:
                continue
            data = results[reader.member_id]
            reader.owned = reader.assignors.assigned(self.assignor, data, self.generation)
            reader.generation = self.generation

    def change(self) -> None:
        """Something happens before the next rebalance."""
        rng = self.rng
        for _ in range(rng.choice([0, 1, 1, 2, 5])):
            rng.choice([self._join, self._join, self._leave, self._grow, self._resubscribe, self._lie, self._remove])()

    def _join(self) -> None:
        self.readers.append(self.new_reader())

    def _leave(self) -> None:
        if len(self.readers) > 1:
            self.readers.remove(self.rng.choice(self.readers))

    def _grow(self) -> None:
        name = self.rng.choice(list(self.topics))
        self.topics[name] += self.rng.randint(1, self.most)

    def _resubscribe(self) -> None:
        reader = self.rng.choice(self.readers)
        reader.topics = self.new_reader().topics

    def _lie(self) -> None:
        """A member has in mind what another one owns, in some generation."""
        reader, other = self.rng.choice(self.readers), self.rng.choice(self.readers)
        mine = self.rng.sample(other.owned, self.rng.randint(0, len(other.owned)))
        reader.owned = sorted({*reader.owned, *mine})
        reader.generation = self.rng.choice([-1, self.generation, self.generation - 1, reader.generation])
        if self.rng.random() < 0.5 and reader.owned:
            data = encode_assignment(Assignment(reader.owned))
            reader.assignors.assigned(self.assignor, data, max(reader.generation, 0))

    def _remove(self) -> None:
        if len(self.topics) > 1 and self.rng.random() < 0.3:
            del self.topics[self.rng.choice(list(self.topics))]
