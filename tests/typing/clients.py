"""What type checkers must see in the clients' keywords. Checked by mypy, never run; an idle ignore fails, too."""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from typing import assert_type

from kwire import Admin, Consumer, OffsetAndMetadata, Producer, ProducerOptions, TopicPartition, aio
from kwire.consumer import ConsumerRecord, ConsumerRecords
from kwire.producer import Delivery, RecordMetadata

producer = Producer("a:1,b:1", acks="all", linger_ms=5, compression="lz4", enable_idempotence=None)
assert_type(producer, Producer)
assert_type(producer.send("t", b"v"), Delivery)
Producer(["a:1", ("b", 1)], acks=1)
Producer("a:1", lingr_ms=5)  # type: ignore[call-arg]
Producer("a:1", linger_ms="5")  # type: ignore[arg-type]
Producer("a:1", acks="most")  # type: ignore[arg-type]
Producer("a:1", acks=2)  # type: ignore[arg-type]
Producer("a:1", auto_offset_reset="latest")  # type: ignore[call-arg]
Producer("a:1", compression="brotli")  # type: ignore[arg-type]
Producer("a:1", compression=None)
assert_type(Producer.from_config({"linger.ms": "5"}, batch_size=1), Producer)
Producer.from_config({}, batchsize=1)  # type: ignore[call-arg]

consumer = Consumer("a:1", group_id=None, auto_offset_reset="earliest", max_poll_records=None)
assert_type(consumer.poll(timeout=1.0), ConsumerRecords)
consumer.commit(consumer.poll())
consumer.commit("t")  # type: ignore[arg-type]

records = consumer.poll()
next_offsets = {tp: part[-1].offset + 1 for tp, part in records.by_partition().items()}
plain: dict[tuple[str, int], int] = {("t", 0): 5}
with_notes: dict[TopicPartition, OffsetAndMetadata] = {TopicPartition("t", 0): OffsetAndMetadata(5, "note")}
mixed: dict[TopicPartition, int | OffsetAndMetadata] = {TopicPartition("t", 0): 5}
consumer.commit(next_offsets)
consumer.commit(plain)
consumer.commit(with_notes)
consumer.commit_async(mixed, callback=lambda offsets, error: None)
consumer.commit(records[0])
consumer.commit({"t": 5})  # type: ignore[type-var]
producer.send_offsets_to_transaction(records, consumer.group_metadata())
producer.send_offsets_to_transaction(next_offsets, consumer.group_metadata())
producer.send_offsets_to_transaction({("t", 0): 5}, consumer.group_metadata())
producer.send_offsets_to_transaction(with_notes, consumer.group_metadata())
producer.send_offsets_to_transaction({("t", 0): "5"}, consumer.group_metadata())  # type: ignore[dict-item]
consumer.poll(timeout_ms=500)  # type: ignore[arg-type]


def by_length(key: bytes | None, partitions: Sequence[int], available: list[int]) -> int | None:
    return None if key is None else partitions[len(key) % len(partitions)]


Producer("a:1", partitioner="consistent_random")
Producer("a:1", partitioner=by_length)
Producer("a:1", partitioner="sticky")  # type: ignore[arg-type]
Producer("a:1", partitioner=lambda key: 0)  # type: ignore[arg-type,misc]
options: ProducerOptions = {"acks": "all", "linger_ms": 5}
Producer("a:1", **options)
Consumer(fetch_min_bytes=None)  # type: ignore[arg-type]

with Admin("a:1", client_id="me") as admin:
    assert_type(admin, Admin)
    assert_type(admin.list_consumer_group_offsets("g"), dict[TopicPartition, OffsetAndMetadata])
    assert_type(
        admin.list_consumer_group_offsets("g", partitions=[("t", 0)]), dict[TopicPartition, OffsetAndMetadata | None]
    )
    assert_type(
        admin.list_consumer_group_offsets({"g": None}), dict[str, dict[TopicPartition, OffsetAndMetadata | None]]
    )
Admin("a:1", acks=1)  # type: ignore[call-arg]


def token() -> tuple[str, float]:
    return "token", 300.0


def token_with_extensions() -> tuple[str, float, Mapping[str, str]]:
    return "token", 300, {"logicalCluster": "lkc-1"}


async def token_of_a_loop() -> tuple[str, float]:
    return "token", 300.0


Producer(security_protocol="SASL_SSL", sasl_mechanism="OAUTHBEARER", sasl_oauth_token=token)
Producer(sasl_oauth_token=token_with_extensions, sasl_oauthbearer_extensions={"a": "b"})
Consumer(sasl_oauth_token=token_of_a_loop)
Consumer(sasl_oauth_token="token")  # type: ignore[arg-type]
Admin(sasl_credentials=lambda: ("alice", "secret"))
Admin(sasl_credentials=("alice", "secret"))  # type: ignore[arg-type]
Admin(security_protocol="SSL", ssl_context=ssl.create_default_context(), ssl_enabled_protocols=["TLSv1.3"])
Admin(security_protocol="TLS")  # type: ignore[arg-type]
Admin(sasl_password=b"secret")  # type: ignore[arg-type]
Admin(ssl_endpoint_identification_algorithm="", ssl_cipher_suites="HIGH")


async def on_an_event_loop() -> None:
    async with aio.Producer("a:1", acks="all", linger_ms=0) as producer:
        delivery = producer.send("t", b"v", key=b"k")
        assert_type(delivery, Delivery)
        assert_type(await delivery, RecordMetadata)
        assert_type(await producer.flush(timeout=1), None)
        assert_type(await producer.drain(), None)
    async with aio.Consumer("a:1", auto_offset_reset="earliest") as consumer:
        consumer.subscribe(["t"])
        assert_type(await consumer.poll(timeout=1.0), ConsumerRecords)
        async for record in consumer:
            assert_type(record, ConsumerRecord)
        assert_type(await consumer.position(("t", 0)), int)
        await consumer.commit(next_offsets)
        await producer.send_offsets_to_transaction(next_offsets, consumer.group_metadata())
    async with aio.Admin("a:1") as admin:
        assert_type(await admin.list_topics(), list[str])
        assert_type(await admin.list_streams_group_offsets("g"), dict[TopicPartition, OffsetAndMetadata])
    aio.Producer("a:1", lingr_ms=5)  # type: ignore[call-arg]
    aio.Consumer(fetch_min_bytes=None)  # type: ignore[arg-type]
