"""What FastStream publishes as records, and records as what FastStream handles."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from faststream._internal.configs import BrokerConfig
from faststream._internal.parser import DefaultCodec
from faststream._internal.producer import ProducerProto
from faststream.exceptions import FeatureNotSupportedException
from faststream.message import StreamMessage, decode_message
from faststream.response import PublishCommand, PublishType, Response

from kwire import aio


@dataclass(kw_only=True)
class KwireConfig(BrokerConfig):
    """What the endpoints of a broker share."""

    servers: str
    settings: dict[str, Any] = field(default_factory=dict)


class KwireCommand(PublishCommand):
    """What is to be published, with a record's key."""

    def __init__(self, body: Any, *, key: bytes | None = None, **options: Any) -> None:
        super().__init__(body, **options)
        self.key = key


class KwireResponse(Response):
    """What a handler returns that wants to give its record a key: `KwireResponse(invoice, key=b"customer-3")`."""

    def __init__(self, body: Any, *, key: bytes | None = None, **options: Any) -> None:
        super().__init__(body, **options)
        self.key = key

    def as_publish_command(self) -> KwireCommand:
        same = {"key": self.key, "headers": self.headers, "correlation_id": self.correlation_id}
        return KwireCommand(self.body, _publish_type=PublishType.PUBLISH, **same)


async def parse(record: aio.ConsumerRecord) -> StreamMessage[aio.ConsumerRecord]:
    """A record as FastStream knows messages; headers are text there."""
    headers = {name: value.decode() for name, value in record.headers if value is not None}
    return StreamMessage(
        record,
        record.value or b"",
        headers=headers,
        content_type=headers.get("content-type"),
        correlation_id=headers.get("correlation_id"),
        reply_to=headers.get("reply_to", ""),
        message_id=f"{record.topic}-{record.partition}-{record.offset}",
    )


async def decode(message: StreamMessage[Any]) -> Any:
    return decode_message(message)


class KwireProducer(ProducerProto[PublishCommand]):
    """Sends what is published, and waits until it is acknowledged."""

    _parser, _decoder = staticmethod(parse), staticmethod(decode)

    def __init__(self, config: KwireConfig) -> None:
        self._config = config
        self.codec = config.broker_codec or DefaultCodec()
        self.client: aio.Producer | None = None

    async def publish(self, cmd: PublishCommand) -> aio.RecordMetadata:
        assert self.client is not None, "connect() or start() the broker first"
        value, content_type = await self.codec.encode(cmd.body, self._config.fd_config._serializer)
        texts = {"content-type": content_type, "correlation_id": cmd.correlation_id, "reply_to": cmd.reply_to}
        headers = {name: text for name, text in texts.items() if text} | cmd.headers
        return await self.client.send(
            cmd.destination,
            None if cmd.body is None else value,
            key=getattr(cmd, "key", None),
            headers=[(name, str(text).encode()) for name, text in headers.items()],
        )

    async def request(self, cmd: PublishCommand) -> Any:
        raise FeatureNotSupportedException("Kafka has no requests: publish with reply_to, and subscribe to that topic")

    async def publish_batch(self, cmd: PublishCommand) -> None:
        raise FeatureNotSupportedException("publish each message: what is sent at once leaves in one batch anyway")
