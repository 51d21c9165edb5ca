"""Producer id and epoch of a transactional producer: set by `manager.py`, read by the sender.

Layer 3, no I/O. Stands where `producer/idempotence.py` stands for other producers. The sender never raises such an
epoch by itself: a sequence that cannot go on ends its transaction, and the coordinator raises the epoch after that.

States, and what may follow each, printed from MOVES:

    state    what it is                            may be followed by
    ASKING   the coordinator has not answered yet  KNOWN, REFUSED
    KNOWN    batches are numbered                  KNOWN, REFUSED
    REFUSED  nothing is sent any more

"""

from __future__ import annotations

from collections.abc import Iterable

from kwire import protocol
from kwire._codec import ASKING, KNOWN, REFUSED, IdempotenceBase, PartitionQueue
from kwire._typing import override
from kwire.engine.common.lifecycle import Lifecycle, Moves, State
from kwire.engine.common.recovery import Recoverable
from kwire.errors import KafkaError

MOVES: Moves = {
    ASKING: State(
        "the coordinator has not answered yet", {KNOWN: "it has", REFUSED: "the producer can no longer be used"}
    ),
    KNOWN: State("batches are numbered", {KNOWN: "another epoch", REFUSED: "the producer can no longer be used"}),
    REFUSED: State("nothing is sent any more", {}),
}


def without_id(response: protocol.InitProducerIdResponse) -> KafkaError:
    """The error for an answer by which no batch can be numbered."""
    given = f"producer id {response.producer_id}, epoch {response.producer_epoch}"
    return KafkaError(f"the answer to InitProducerId has {given}: both must be at least 0")


class TransactionalIdentity(IdempotenceBase, Lifecycle, Recoverable):
    """Producer id and epoch as the coordinator has given them."""

    MOVES = MOVES
    required = True

    def __init__(self) -> None:
        self.state = ASKING
        self.not_offered = False
        self.producer_id = -1
        self.epoch = -1
        self.error = None
        self.last_error: KafkaError | None = None

    def set(self, producer_id: int, epoch: int) -> None:
        """The coordinator's producer id and epoch from now on."""
        self.producer_id = producer_id
        self.epoch = epoch
        self.move(KNOWN)

    def end(self, error: KafkaError) -> None:
        """Nothing is sent any more."""
        self.error = error
        if self.state != REFUSED:
            self.move(REFUSED)

    @override
    def recover(self, now: float) -> None:
        """After an interrupted step: the manager asks again."""

    def renew(self, queue: PartitionQueue, now: float) -> bool:
        """Another epoch for one partition is not to be had."""
        return False

    def end_sequences(self, queues: Iterable[PartitionQueue]) -> bool:
        """Whether the coordinator has given another epoch since these partitions were numbered."""
        return all(
            (queue.sequences.producer_id, queue.sequences.producer_epoch) != (self.producer_id, self.epoch)
            for queue in queues
        )

    @override
    def ask(self, now: float) -> None:
        """Done by the manager."""

    @override
    def may_ask_again(self, node: int) -> bool:
        return False

    @override
    def ask_again(self, node: int, now: float) -> None:
        """Done by the manager."""
