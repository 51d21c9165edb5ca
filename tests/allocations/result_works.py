"""Batches that end, are placed or split without memory for it: `python -m tests.allocations.result_works [NAME...]`.

Each record is in one batch or has failed, and each callback is called once: in the end, as a client recovers from a
step that was cut.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from itertools import count

from kwire._codec import Batch, Delivery
from kwire.errors import CodecError, KafkaError
from tests.allocations.refusals import is_out_of_memory, refused
from tests.codec.test_accumulator import PARTITIONS, TOPIC, Path, read

RECORDS = 30


class Sent:
    """Records in an accumulator, each with a callback; those of one partition in one batch."""

    def __init__(self, *, placed: bool) -> None:
        self.path = Path(batch_size=4096, linger=1.0)
        self.accumulator = self.path.accumulator
        self.called: Counter[int] = Counter()
        self.deliveries = [self._send(number) for number in range(RECORDS)]
        if placed:
            self.path.know()
        self.batches = self.path.drain() if placed else []

    def _send(self, number: int) -> Delivery:
        headers = [("h", b"")] if number % 7 == 0 else ()
        partition = number % PARTITIONS if number % 2 else None
        delivery = self.path.send(TOPIC, b"%d" % number, partition=partition, headers=headers)
        for _ in range(2):
            delivery.add_done_callback(lambda _: self.called.update([number]))
        return delivery

    def check_batches(self) -> None:
        """No record is in two batches; the result of one that is in none is known."""
        written = Counter(value for batch in self.accumulator.pending for value in read(batch).values())
        assert not [value for value, times in written.items() if times > 1]
        for number, delivery in enumerate(self.deliveries):
            assert b"%d" % number in written or delivery.done()

    def finish(self, error: KafkaError | None = None) -> None:
        """The rest of the client's life, with memory."""
        self.accumulator.announce()
        self.path.know()
        self.check_batches()
        for batch in self.accumulator.pending:
            self.accumulator.complete(batch, 0, -1, error)
        while self.accumulator.after_step:
            self.accumulator.after_step.popleft()()
        assert self.called == Counter(dict.fromkeys(range(RECORDS), 2)), self.called
        assert (self.accumulator.is_empty, self.accumulator.used) == (True, 0)


def ends(n: int, error: KafkaError | None) -> bool:
    sent = Sent(placed=True)

    def complete() -> None:
        for batch in sent.batches:
            sent.accumulator.complete(batch, 0, -1, error)

    came, _ = refused(n, complete)
    sent.finish(error)
    if error is not None:
        assert len(sent.accumulator.failed) == len(sent.batches), "the next flush tells of each"
    return came


def places(n: int) -> bool:
    sent = Sent(placed=False)
    came, _ = refused(n, sent.path.know)
    sent.finish()
    failures = [failure for each in sent.deliveries if (failure := each.exception(0)) is not None]
    assert all(map(is_out_of_memory, failures))
    return came


def parts(n: int, part: Callable[[Sent, Batch], object]) -> bool:
    sent = Sent(placed=True)
    came, _ = refused(n, lambda: part(sent, sent.batches[0]))
    sent.check_batches()
    failures = [failure for each in sent.deliveries if each.done() and (failure := each.exception(0)) is not None]
    assert not any(map(is_out_of_memory, failures)), "it is parted as a whole, or stays as it is"
    sent.finish()
    return came


WORKS: dict[str, Callable[[int], bool]] = {
    "complete": lambda n: ends(n, None),
    "fail": lambda n: ends(n, KafkaError("refused")),
    "place": places,
    "split": lambda n: parts(n, lambda sent, batch: sent.accumulator.split(batch)),
    "without-headers": lambda n: parts(n, lambda sent, batch: sent.accumulator.without_headers(batch, CodecError("h"))),
}

if __name__ == "__main__":
    for name in sys.argv[1:] or WORKS:
        tried = next(n for n in count(1) if not WORKS[name](n))
        print(name, tried, flush=True)
