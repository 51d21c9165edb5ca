"""Numbered records into every partition of a topic while a group reads it."""

import threading
from typing import Self

import kwire
from tests.brokers.groups.members import Partition

_PAUSE_S = 0.02


class Traffic:
    """A thread that sends a few records to each partition, again and again; a context manager."""

    def __init__(self, servers: str, topic: str, partitions: int) -> None:
        self._servers = servers
        self._topic = topic
        self._sent = [0] * partitions
        self._over = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def stop(self) -> dict[Partition, int]:
        """Ends it; the end of each partition."""
        self.__exit__()
        assert self._failure is None
        return {(self._topic, partition): count for partition, count in enumerate(self._sent)}

    def _run(self) -> None:
        try:
            with kwire.Producer(self._servers) as producer:
                while not self._over.is_set():
                    for partition in range(len(self._sent)):
                        producer.send(self._topic, b"%d" % self._sent[partition], partition=partition)
                        self._sent[partition] += 1
                    self._over.wait(_PAUSE_S)
        except BaseException as failure:
            self._failure = failure
