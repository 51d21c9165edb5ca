"""ShareConsumer for asyncio: records of a share group (KIP-932), acknowledged one by one.

Layer 5: puts the engine's share group on the loop driver; its logic is in `kwire.engine.share`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from time import monotonic

import kwire.share_consumer
from kwire._typing import TYPE_CHECKING, Any, Never, Self, TypeVar, Unpack, override
from kwire.aio.client import Client
from kwire.aio.like import like
from kwire.engine.calls import arguments
from kwire.engine.common import absent
from kwire.engine.common.absent import without
from kwire.engine.consumer.polling import LOOK_EVERY_S
from kwire.engine.settings.clients import ShareConsumerSettings
from kwire.engine.settings.config import configured_by, keywords
from kwire.engine.share.acknowledging import Outcomes
from kwire.engine.share.records import ShareRecords
from kwire.fronts.share_consumer import CLOSING_S, ShareConsumerFront

if TYPE_CHECKING:
    from kwire.engine.settings.options import Servers, ShareConsumerOptions, Timeout

__all__ = ["ShareConsumer"]

T = TypeVar("T")


@configured_by(ShareConsumerSettings)
@without(absent.SHARE_CONSUMER)
@like(kwire.share_consumer.ShareConsumer)
class ShareConsumer(ShareConsumerFront, Client[ShareConsumerSettings]):
    """Reads records that a share group's members acknowledge one by one; any member may get any record. Use it from one
    task at a time (`wakeup` and `close` from any of its loop). Needs Kafka 4.1 or newer.

        async with kwire.aio.ShareConsumer("host:9092", group_id="workers") as consumer:
            consumer.subscribe(["jobs"])
            for record in await consumer.poll(timeout=1.0):
                consumer.acknowledge(record, "accept" if await work(record) else "release")

    What waits is a coroutine; a poll that is cancelled loses no record. Keywords are the settings below. Errors:
    ConfigError for settings and arguments; ConnectError; UnknownTopicError; BrokerError; and for bad data in the log
    one of the CodecErrors.
    """

    kind = "share consumer"
    callers = "task"

    def __init__(self, bootstrap_servers: Servers | None = None, **options: Unpack[ShareConsumerOptions]) -> None:
        self._open(ShareConsumerSettings(**keywords(bootstrap_servers, options)))

    @classmethod
    def from_config(
        cls,
        config: Mapping[str, Any],
        bootstrap_servers: Servers | None = None,
        **options: Unpack[ShareConsumerOptions],
    ) -> Self:
        """From a mapping of dotted names (Java's, librdkafka's, with or without `kafka.`); keywords win.

        One mapping may serve all clients: what only other kinds have is passed over, with a line at DEBUG.
        """
        return cls._configured(ShareConsumerSettings, config, bootstrap_servers, options)

    @override
    def _open(self, settings: ShareConsumerSettings) -> None:
        super()._open(settings)
        self._open_polling()

    async def poll(self, timeout: Timeout = 0.0, max_records: int | None = None, **unknown: Never) -> ShareRecords:
        absent.refuse_keywords("poll", unknown, absent.POLL_KEYWORDS)
        patience = arguments.poll_seconds(timeout)
        count = arguments.record_count(max_records, "max_records")
        records = await self._alone_while(lambda: self._poll(patience, count))
        self._polling.arrived = True  # nothing is awaited from here to the caller's assignment
        return records

    async def _poll(self, timeout: float | None, count: int | None) -> ShareRecords:
        polling, wait = self._polling, self._driver.wait
        self._call_inside(polling.begin)
        try:
            deadline = float("inf") if timeout is None else monotonic() + timeout
            while (left := deadline - monotonic()) > 0:
                if await wait(polling.ready, min(left, LOOK_EVERY_S)):
                    break
                self._call_inside(polling.check)
            return self._call_inside(lambda now: polling.take(count, now))
        finally:
            if not self._closed:
                self._driver.step(polling.end)

    async def commit(self, *, timeout: Timeout = None) -> Outcomes:
        outcomes: Outcomes = await self._alone_while(lambda: self._ask(timeout, self._polling.commit))
        return outcomes

    def wakeup(self) -> None:
        """Makes a poll that waits, or else the next one, return at once with nothing; from any task of the loop."""
        self._polling.woken = True
        if self._driver.loop is not None:
            self._driver.wake()

    @override
    async def close(self, timeout: Timeout = None) -> None:
        given = arguments.seconds(timeout)
        driver, until = self._driver, monotonic() + (CLOSING_S if given is None else given)
        if not driver.at_home:
            await super().close()
            return
        async with self._turn_to_close(until) as is_open:
            try:
                if is_open and driver.has_resources:
                    done: list[float] = []
                    driver.step(lambda now: self._polling.close(now, done.append))
                    await driver.wait(lambda: bool(done), max(until - monotonic(), 0.0))
            finally:
                await super().close()

    async def _alone_while(self, work: Callable[[], Awaitable[T]]) -> T:
        """As `_alone`, for work that waits."""
        self._alone(self._driver.check_loop)
        self._used = True
        try:
            return await work()
        finally:
            self._used = False
