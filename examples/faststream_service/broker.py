"""A FastStream broker on kwire: a subscriber is a `kwire.aio.Worker`, publishers share one `kwire.aio.Producer`.

    broker = KwireBroker("localhost:9092")

    @broker.subscriber("orders", group_id="billing", dead_letter_topic="orders.dead")
    @broker.publisher("invoices")
    async def bill(order: Order) -> Invoice: ...

FastStream gives its own brokers' bases to no one else: they are in `faststream._internal`, so a release of FastStream
may change them (this is for 0.7). Dependencies, middlewares, filters, codecs, `Context`, lifespans, ASGI and AsyncAPI
are FastStream's; which record comes when, what is committed and what becomes of failures are the Worker's: a handler
that raises is called again, then its record goes to the dead letters. So there are no acknowledgements.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from faststream._internal.broker import BrokerUsecase
from faststream._internal.configs import PublisherUsecaseConfig, SubscriberUsecaseConfig
from faststream._internal.endpoint.publisher import PublisherUsecase
from faststream._internal.endpoint.publisher.fake import FakePublisher
from faststream._internal.endpoint.subscriber import SubscriberUsecase
from faststream._internal.endpoint.subscriber.call_item import CallsCollection
from faststream._internal.endpoint.utils import process_msg
from faststream._internal.logger import LoggerState
from faststream._internal.logger.params_storage import ManualLoggerStorage
from faststream._internal.producer import ProducerProto
from faststream.exceptions import StopConsume
from faststream.message import StreamMessage
from faststream.middlewares import AckPolicy
from faststream.response import PublishCommand, PublishType
from faststream.specification.schema import BrokerSpec

from examples.faststream_service.messages import KwireCommand, KwireConfig, KwireProducer, decode, parse
from examples.faststream_service.pages import PublisherPage, ReadTopics, SubscriberPage, WrittenTopic
from kwire import aio


@dataclass(kw_only=True)
class _SubscriberConfig(SubscriberUsecaseConfig):
    ack_policy = AckPolicy.MANUAL  # the Worker knows what is done

    def __post_init__(self) -> None:
        self.parser, self.decoder = parse, decode


class KwireSubscriber(SubscriberUsecase[aio.ConsumerRecord]):
    """Runs a Worker; one without a handler is read by `get_one()` or `async for`."""

    def __init__(self, config: _SubscriberConfig, topics: Sequence[str], options: dict[str, Any], page: Any) -> None:
        super().__init__(config, page, page.calls)
        self._topics, self._options = topics, options
        self._worker: aio.Worker | None = None
        self._consumer: aio.Consumer | None = None

    @property
    def topics(self) -> list[str]:
        return [f"{self._outer_config.prefix}{topic}" for topic in self._topics]

    async def start(self) -> None:
        await super().start()
        options = self._outer_config.settings | self._options
        if self.calls:
            self._worker = aio.Worker(
                self._outer_config.servers, self.topics, handler=self._handle, signals=False, **options
            )
            self._run = asyncio.create_task(self._worker.run())
            self._run.add_done_callback(self._on_end)
        else:
            self._consumer = aio.Consumer(self._outer_config.servers, **options)
            self._consumer.subscribe(self.topics)
        self._post_start()

    async def stop(self) -> None:
        if self._worker is not None:
            self._worker.stop(self._outer_config.graceful_timeout)
            await asyncio.wait([self._run])
            self._worker = None
        await super().stop()
        if self._consumer is not None:
            await self._consumer.close()
            self._consumer = None

    def _on_end(self, run: asyncio.Task[None]) -> None:
        self.running = False
        if not run.cancelled() and (error := run.exception()) is not None:
            self._log(logging.CRITICAL, "the worker has ended by an error, and the service with it", exc_info=error)
            if app := self._outer_config.context.get("app"):
                app.exit()

    async def _handle(self, record: aio.ConsumerRecord) -> None:
        try:
            await self.process_message(record)
        except StopConsume:
            if self._worker is not None:
                self._worker.stop()

    async def get_one(self, *, timeout: float = 5.0) -> StreamMessage[aio.ConsumerRecord] | None:
        assert self._consumer is not None, "start the subscriber first; it must not have a handler"
        records = await self._consumer.poll(timeout, max_records=1)
        return await self._processed(next(iter(records), None))

    async def __aiter__(self) -> AsyncIterator[StreamMessage[aio.ConsumerRecord]]:
        assert self._consumer is not None, "start the subscriber first; it must not have a handler"
        async for record in self._consumer:
            if (message := await self._processed(record)) is not None:
                yield message

    async def _processed(self, record: aio.ConsumerRecord | None) -> StreamMessage[aio.ConsumerRecord] | None:
        parser, decoder = self._get_parser_and_decoder()
        middlewares = [each(record, context=self._outer_config.context) for each in self._broker_middlewares]
        return await process_msg(record, middlewares=middlewares, parser=parser, decoder=decoder)

    def _make_response_publisher(self, message: StreamMessage[Any]) -> Iterable[FakePublisher]:
        return [_Reply(self._outer_config.producer, message.reply_to)]

    def get_log_context(self, message: StreamMessage[Any] | None) -> dict[str, str]:
        return {"topic": ",".join(self.topics), **super().get_log_context(message)}


class _Reply(FakePublisher):
    def __init__(self, producer: ProducerProto[Any], topic: str) -> None:
        super().__init__(producer=producer)
        self._topic = topic

    def patch_command(self, cmd: PublishCommand) -> PublishCommand:
        cmd = super().patch_command(cmd)
        cmd.destination = self._topic
        return cmd


class KwirePublisher(PublisherUsecase):
    """Writes what its handler returns to a topic, and what is given to `publish()`."""

    async def publish(self, message: Any, *, key: bytes | None = None, **options: Any) -> aio.RecordMetadata:
        """Returns once the brokers have it; `options` are headers, correlation_id and reply_to."""
        command = KwireCommand(message, key=key, _publish_type=PublishType.PUBLISH, **options)
        return await self._publish(command, _extra_middlewares=())

    async def request(self, message: Any, **options: Any) -> Any:
        return await self._outer_config.producer.request(message)

    async def _publish(self, cmd: PublishCommand, *, _extra_middlewares: Iterable[Any]) -> Any:
        cmd.destination = self.specification.topic
        cmd.correlation_id = cmd.correlation_id or self._outer_config.id_generator()
        return await self._basic_publish(
            cmd, producer=self._outer_config.producer, _extra_middlewares=_extra_middlewares
        )


class KwireBroker(BrokerUsecase[aio.ConsumerRecord, aio.Producer, KwireConfig]):
    """`settings` are those of both kinds of client: where they log in, by which certificates."""

    def __init__(
        self,
        bootstrap_servers: str = "localhost:9092",
        *,
        logger: logging.Logger = logging.getLogger("faststream.kwire"),  # noqa: B008
        middlewares: Sequence[Any] = (),
        graceful_timeout: float = 15.0,
        **settings: Any,
    ) -> None:
        config = KwireConfig(
            servers=bootstrap_servers,
            settings=settings,
            broker_middlewares=middlewares,
            graceful_timeout=graceful_timeout,
            logger=LoggerState(storage=ManualLoggerStorage(logger)),
        )
        config.producer = KwireProducer(config)
        url = bootstrap_servers.split(",")
        page = BrokerSpec(url, "kafka", protocol_version=None, description=None, tags=(), security=None)
        super().__init__(config=config, specification=page, routers=())

    def subscriber(self, *topics: str, title: str | None = None, **options: Any) -> Any:
        """`options` are those of a Worker: group_id, concurrency, retries, dead_letter_topic, auto_offset_reset ..."""
        config = _SubscriberConfig(_outer_config=self.config)
        about = ReadTopics(title_=title, description_=None, topics=topics)
        page = SubscriberPage(self.config, about, CallsCollection())
        subscriber = KwireSubscriber(config, topics, options, page)
        super().subscriber(subscriber)
        return subscriber.add_call(parser_=None, decoder_=None, dependencies_=())

    def publisher(self, topic: str, *, title: str | None = None, schema: Any = None) -> KwirePublisher:
        """Decorates a handler whose results go there, or is published by; `schema` is for the page of AsyncAPI."""
        about = WrittenTopic(title_=title, description_=None, schema_=schema, topic=topic)
        publisher = KwirePublisher(PublisherUsecaseConfig(_outer_config=self.config), PublisherPage(self.config, about))
        super().publisher(publisher)
        return publisher

    async def publish(self, message: Any, topic: str, *, key: bytes | None = None, **options: Any) -> Any:
        """Returns the record's place once the brokers have it; `options` are headers, correlation_id, reply_to."""
        options["correlation_id"] = options.get("correlation_id") or self.config.id_generator()
        command = KwireCommand(message, key=key, destination=topic, _publish_type=PublishType.PUBLISH, **options)
        return await self._basic_publish(command, producer=self.config.producer)

    async def request(self, message: Any, topic: str, timeout: float = 0.5) -> Any:
        return await self.config.producer.request(message)

    async def ping(self, timeout: float | None) -> bool:
        try:
            async with aio.Admin(self.config.servers, **self.config.settings) as admin:
                await admin.describe_cluster(timeout=timeout)
        except Exception as error:
            self.config.logger.log("the brokers cannot be reached", logging.WARNING, exc_info=error)
            return False
        return True

    async def _connect(self) -> aio.Producer:
        self.config.producer.client = client = aio.Producer(self.config.servers, **self.config.settings)
        return client

    async def start(self) -> None:
        await self.connect()
        await super().start()

    async def stop(self, *exception: Any) -> None:
        """Handlers finish, what they published is acknowledged, and what they did is committed."""
        await super().stop(*exception)
        if self._connection is not None:
            await self._connection.close()
            self._connection = self.config.producer.client = None
