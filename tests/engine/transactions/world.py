"""A transactional producer on the embedded cluster in virtual time, with verbs that wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kwire._codec import Delivery
from kwire.engine.groups.tenure import ConsumerGroupMetadata
from kwire.engine.transactions.manager import TransactionManager
from kwire.engine.transactions.offsets import member_of, offsets_of
from kwire.engine.transactions.outcome import Outcome
from kwire.testing.answers.handlers import HANDLERS
from kwire.testing.features import finalized_features
from kwire.testing.release import Release
from tests.engine.embedded_clients import EmbeddedProducer, EmbeddedReader
from tests.engine.embedded_world import EmbeddedWorld

Start = Callable[[float], Outcome]

NOBODY = ConsumerGroupMetadata.outside("g")
"""As a consumer that has assigned partitions to itself."""


class TransactionWorld(EmbeddedWorld):
    """A cluster whose transaction.version is `version`."""

    def __init__(self, version: int = 2, *, release: str = "4.4.0", seed: int = 0, **more: Any) -> None:
        more.setdefault("topics", {"t": 3})
        super().__init__(release=release, seed=seed, **more)
        self.finalize(version, release)

    def finalize(self, version: int, release: str = "4.4.0") -> None:
        wanted = {"transaction.version": version} if int(release.split(".")[0]) >= 4 else {}
        self.cluster.features.clear()
        self.cluster.features.update(finalized_features(Release.find(release, HANDLERS), wanted))

    def producer(self, name: str = "tx", **given: Any) -> TransactionalProducer:
        return TransactionalProducer(self, transactional_id=name, **{"linger_ms": 0, **given})

    def committed(self, topic: str = "t") -> list[bytes]:
        """What a read_committed reader gets of a topic."""
        return self._read(topic, "read_committed")

    def written(self, topic: str = "t") -> list[bytes]:
        """What was appended, aborted or not."""
        return self._read(topic, "read_uncommitted")

    def _read(self, topic: str, isolation: str) -> list[bytes]:
        reader = EmbeddedReader(self, topic, isolation_level=isolation)
        quiet = 0
        while quiet < 3:
            quiet = 0 if reader.poll(1.0) else quiet + 1
        self.remove(reader)
        return [value for value in reader.values() if value is not None]


class TransactionalProducer(EmbeddedProducer):
    """The verbs of `kwire.Producer`, in the world's time."""

    @property
    def manager(self) -> TransactionManager:
        assert self.sender.transactions is not None
        return self.sender.transactions

    @property
    def state(self) -> str:
        return self.manager.state

    @property
    def epoch(self) -> int:
        return self.manager.identity.epoch

    def start(self, verb: Start) -> Outcome:
        return verb(self.now)

    def wait(self, outcome: Outcome) -> Any:
        self.run(lambda: outcome.done)
        return outcome.value()

    def init(self, **more: Any) -> Any:
        return self.wait(self.manager.initialise(self.now, **more))

    def begin(self) -> None:
        self.manager.begin(self.now)

    def commit(self) -> None:
        self.wait(self.manager.commit(self.now))

    def abort(self) -> None:
        self.wait(self.manager.abort(self.now))

    def offsets(self, given: Any, group: Any) -> Outcome:
        return self.manager.send_offsets(offsets_of(given), member_of(group), self.now)

    def send_offsets(self, given: Any, group: Any) -> None:
        self.wait(self.offsets(given, group))

    def send_all(self, *values: bytes, topic: str = "t", **more: Any) -> list[Delivery]:
        return [self.send(topic, value, **more) for value in values]

    def transact(self, *values: bytes, **more: Any) -> None:
        self.begin()
        self.send_all(*values, **more)
        self.commit()
