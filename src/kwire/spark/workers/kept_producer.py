"""A producer that a process keeps for the next task or the next commit."""

from __future__ import annotations

from kwire.errors import KafkaError
from kwire.producer import Producer


class KeptProducer:
    """Who borrows it waits for all that it sends: there is nothing to flush."""

    def __init__(self, producer: Producer) -> None:
        self.producer = producer

    def close(self) -> None:
        try:
            self.producer.close(timeout=0)
        except KafkaError:
            pass  # who failed with it has said what was not delivered
