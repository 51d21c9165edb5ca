"""Programs as users write them: what type checkers must take without a complaint. Checked, never run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import assert_type

import kwire
from kwire import *  # noqa: F403
from kwire import Admin, Consumer, ConsumerRecord, ConsumerRecords, Delivery, Producer, TopicPartition, errors, protocol
from kwire import records as records
from kwire import testing as testing


def produce(servers: str) -> int:
    with Producer(servers, compression="lz4", acks="all") as producer:
        delivery = producer.send("orders", b"value", key=b"key", timestamp=datetime.now(UTC), headers=[("a", b"b")])
        assert_type(delivery, Delivery)
        delivery.add_done_callback(lambda done: print(done.exception()))
        producer.send_many("orders", [b"a", (b"value", b"key"), None])
        producer.send_many("orders", kwire.records.decode(b""))
        producer.flush(timeout=timedelta(seconds=5))
        return delivery.result(timeout=10).offset


def read_all(servers: str) -> list[bytes | None]:
    values: list[bytes | None] = []
    with Consumer(servers, auto_offset_reset="earliest") as consumer:
        partitions = consumer.partitions_for("orders")
        consumer.assign(partitions, until=consumer.end_offsets(partitions))
        consumer.seek_to_beginning()
        while not consumer.done():
            values += consumer.poll(timeout=1.0).values()
    return values


def read_from(servers: str, start: datetime) -> None:
    with Consumer(servers) as consumer:
        partitions = consumer.partitions_for("orders")
        consumer.assign(partitions, at=dict.fromkeys(partitions, start))
        consumer.assign(partitions, at=consumer.beginning_offsets(partitions))
        consumer.assign([("orders", 0)], at={("orders", 0): "earliest"}, until={("orders", 0): 100})
        consumer.seek(TopicPartition("orders", 0), 5)
        consumer.offsets_for_times(dict.fromkeys(partitions, start), timeout=timedelta(seconds=1))
        polled = consumer.poll(timeout=timedelta(milliseconds=500), max_records=100)
        assert_type(polled, ConsumerRecords)
        assert_type(polled[0], ConsumerRecord)
        assert_type(polled[1:], ConsumerRecords)
        print(polled.to_arrow().num_rows, polled.to_pandas().shape)
        for record in consumer:
            print(record.topic, record.partition, record.offset, record.key, record.headers)


def administer(servers: str) -> None:
    with Admin(servers) as admin:
        admin.create_topics({"orders": 12, "logs": {"num_partitions": 3}})
        partitions = [TopicPartition("orders", 0)]
        admin.list_offsets(dict.fromkeys(partitions, "latest"))
        admin.list_offsets({("orders", 0): datetime.now(UTC)})


def look(frame: bytes) -> None:
    header, message = protocol.decode_request(frame)
    if isinstance(message, protocol.MetadataRequest) and message.topics is not None:
        print(header.client_id, [topic.name for topic in message.topics])
    print(kwire.protocol.MetadataRequest(topics=None).encode(1), kwire.protocol.APIS[3].versions)


def test_of_a_service(kwire_broker: testing.Broker) -> None:
    kwire_broker.append("orders", records.encode([b"a"]))
    kwire_broker.faults.error("Produce", errors.broker.NotLeaderOrFollowerError, times=3)
    try:
        with kwire.testing.Broker(topics={"orders": 1}) as broker:
            produce(broker.bootstrap_servers)
    except errors.DeliveryError as group:
        print([str(error) for error in group.exceptions])
    except (errors.ClientClosedError, errors.ConnectError, errors.KafkaTimeoutError) as error:
        print(error)
