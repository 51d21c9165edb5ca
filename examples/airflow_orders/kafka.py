"""kwire for Airflow: a hook, operators that write and read topics, and a sensor that waits without a worker.

    write = ProduceToTopicOperator(task_id="write", topic="orders", records=made, records_kwargs={"day": "{{ ds }}"})
    wait = AwaitMessageSensor(task_id="wait", topics=["approvals"], apply_function="my_dags.rules:approved")
    read = ConsumeFromTopicOperator(task_id="read", topics=["orders"], group_id="billing", apply_function=bill)

Connections are those of Airflow's own Kafka provider: of type `kafka`, with settings under their dotted names as
"extra" ({"bootstrap.servers": "broker:9092", "security.protocol": "SASL_SSL", ...}). For Airflow 3.

A task may run twice: what is read is committed after it was worked on, and what a trigger found when its sensor goes
on; what is written twice is there twice.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from pkgutil import resolve_name
from typing import Any

from airflow.sdk import BaseHook, BaseOperator, BaseSensorOperator, Context
from airflow.triggers.base import BaseTrigger, TriggerEvent

import kwire
import kwire.aio

DEFAULT_CONNECTION = "kafka_default"
_FROM_THE_START = {"enable_auto_commit": False, "auto_offset_reset": "earliest"}


class KwireHook(BaseHook):
    """The clients of a connection; a client's keywords go over the connection's settings."""

    conn_name_attr = "kafka_conn_id"
    default_conn_name = DEFAULT_CONNECTION
    conn_type = "kafka"
    hook_name = "Apache Kafka (kwire)"

    def __init__(self, kafka_conn_id: str = DEFAULT_CONNECTION) -> None:
        super().__init__()
        self.kafka_conn_id = kafka_conn_id

    @property
    def config(self) -> dict[str, Any]:
        """The connection's settings."""
        config: dict[str, Any] = self.get_connection(self.kafka_conn_id).extra_dejson
        return config

    def producer(self, **options: Any) -> kwire.Producer:
        return kwire.Producer.from_config(self.config, **options)

    def consumer(self, **options: Any) -> kwire.Consumer:
        return kwire.Consumer.from_config(self.config, **options)

    def admin(self, **options: Any) -> kwire.Admin:
        return kwire.Admin.from_config(self.config, **options)

    get_conn = admin

    async def aio_consumer(self, **options: Any) -> kwire.aio.Consumer:
        """For triggers."""
        connection = await self.aget_connection(self.kafka_conn_id)
        return kwire.aio.Consumer.from_config(connection.extra_dejson, **options)

    def test_connection(self) -> tuple[bool, str]:
        """What the button of that name says."""
        try:
            with self.admin() as admin:
                cluster = admin.describe_cluster(timeout=10)
        except kwire.KafkaError as error:
            return False, str(error)
        return True, f"brokers that answer: {len(cluster.brokers)}"


class ProduceToTopicOperator(BaseOperator):
    """Writes records to a topic, and returns how many, once the brokers have all of them.

    `records` are values, or (value, key) pairs, or a function (or "module:function") that is called with
    `records_kwargs` and returns them; bytes and text are written as they are.
    """

    template_fields = ("topic", "records_kwargs", "kafka_conn_id")

    def __init__(
        self,
        *,
        topic: str,
        records: Iterable[Any] | Callable[..., Iterable[Any]] | str,
        records_kwargs: Mapping[str, Any] | None = None,
        kafka_conn_id: str = DEFAULT_CONNECTION,
        **operator: Any,
    ) -> None:
        super().__init__(**operator)
        self.topic = topic
        self.records = records
        self.records_kwargs = records_kwargs or {}
        self.kafka_conn_id = kafka_conn_id

    def execute(self, context: Context) -> int:
        given = resolve_name(self.records) if isinstance(self.records, str) else self.records
        count = 0
        with KwireHook(self.kafka_conn_id).producer() as producer:
            for record in given(**self.records_kwargs) if callable(given) else given:
                value, key = record if isinstance(record, tuple) else (record, None)
                producer.send(self.topic, _bytes(value), key=_bytes(key))
                count += 1
            producer.flush()
        return count


class ConsumeFromTopicOperator(BaseOperator):
    """Reads what a group has not read yet, to where the topics ended when the task began, or `max_records`.

    `apply_function` (or "module:function") is called with each record; what it returns, but None, is the task's result.
    What was worked on is committed after each poll, and so is what precedes the record at which the function raises.
    """

    template_fields = ("topics", "group_id", "kafka_conn_id")

    def __init__(
        self,
        *,
        topics: Sequence[str],
        group_id: str,
        apply_function: Callable[[kwire.ConsumerRecord], Any] | str,
        max_records: int | None = None,
        kafka_conn_id: str = DEFAULT_CONNECTION,
        **operator: Any,
    ) -> None:
        super().__init__(**operator)
        self.topics = topics
        self.group_id = group_id
        self.apply_function = apply_function
        self.max_records = max_records
        self.kafka_conn_id = kafka_conn_id

    def execute(self, context: Context) -> list[Any]:
        function = self.apply_function
        apply = resolve_name(function) if isinstance(function, str) else function
        results: list[Any] = []
        left = self.max_records
        with KwireHook(self.kafka_conn_id).consumer(group_id=self.group_id, **_FROM_THE_START) as consumer:
            ends = consumer.end_offsets([each for topic in self.topics for each in consumer.partitions_for(topic)])
            consumer.subscribe(self.topics)
            while left != 0 and not _has_read(consumer, ends):
                records = consumer.poll(1.0, max_records=left)
                left = left and left - len(records)
                positions: dict[tuple[str, int], int] = {}
                try:
                    for record in records:
                        results.append(apply(record))
                        positions[record.topic, record.partition] = record.offset + 1
                finally:
                    consumer.commit(positions)
        return [result for result in results if result is not None]


class AwaitMessageSensor(BaseSensorOperator):
    """Waits in the triggerer until a function says something of a record; that is the task's result.

    `apply_function` is "module:function", importable by the triggerer: called with each record, it returns what JSON
    can say, or None where the sensor is to wait on. A new group begins with what is in the topics already.
    """

    template_fields = ("topics", "group_id", "kafka_conn_id")

    def __init__(
        self,
        *,
        topics: Sequence[str],
        apply_function: str,
        group_id: str,
        kafka_conn_id: str = DEFAULT_CONNECTION,
        **sensor: Any,
    ) -> None:
        super().__init__(**sensor)
        self.topics = topics
        self.apply_function = apply_function
        self.group_id = group_id
        self.kafka_conn_id = kafka_conn_id

    def execute(self, context: Context) -> None:
        trigger = AwaitMessageTrigger(self.topics, self.apply_function, self.group_id, self.kafka_conn_id)
        self.defer(trigger=trigger, method_name="finish", timeout=self.timeout)

    def finish(self, context: Context, event: Mapping[str, Any]) -> Any:
        """Goes on after the trigger."""
        offsets = {(topic, partition): offset for topic, partition, offset in event["offsets"]}
        with KwireHook(self.kafka_conn_id).admin() as admin:
            admin.alter_consumer_group_offsets(self.group_id, offsets)
        return event["result"]


class AwaitMessageTrigger(BaseTrigger):
    """Reads on the event loop of the triggerer, beside all other triggers; commits nothing."""

    def __init__(self, topics: Sequence[str], apply_function: str, group_id: str, kafka_conn_id: str) -> None:
        super().__init__()
        self.arguments = {
            "topics": list(topics),
            "apply_function": apply_function,
            "group_id": group_id,
            "kafka_conn_id": kafka_conn_id,
        }

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return f"{type(self).__module__}.{type(self).__qualname__}", self.arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        hook = KwireHook(self.arguments["kafka_conn_id"])
        consumer = await hook.aio_consumer(group_id=self.arguments["group_id"], **_FROM_THE_START)
        async with consumer:
            consumer.subscribe(self.arguments["topics"])
            found = await self._first(consumer)
        # After the group was left: the sensor commits in its place.
        yield TriggerEvent(found)

    async def _first(self, consumer: kwire.aio.Consumer) -> dict[str, Any]:
        apply = resolve_name(self.arguments["apply_function"])
        seen: dict[tuple[str, int], int] = {}
        async for record in consumer:
            seen[record.topic, record.partition] = record.offset + 1
            if (result := apply(record)) is not None:
                return {"result": result, "offsets": [[*place, offset] for place, offset in seen.items()]}
        raise kwire.KafkaError("the consumer was closed while it waited")


def _has_read(consumer: kwire.Consumer, ends: Mapping[Any, int]) -> bool:
    """Whether the group has given this consumer partitions, and it has read them to these ends."""
    assigned = consumer.assignment()
    return bool(assigned) and all(consumer.position(each) >= ends[each] for each in assigned)


def _bytes(given: Any) -> bytes | None:
    return given.encode() if isinstance(given, str) else given
