"""Orders are written, somebody approves them, then they are billed; a report says what came in meanwhile.

airflow db migrate
export AIRFLOW_CONN_KAFKA_DEFAULT='{"conn_type": "kafka", "extra": {"bootstrap.servers": "localhost:9092"}}'
AIRFLOW__CORE__DAGS_FOLDER=examples/airflow_orders python -m examples.airflow_orders.dag      a run, in this process
echo '{"approved": true, "by": "me"}' | kwire produce approvals                               what it waits for
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from airflow.sdk import DAG, get_current_context, task

import kwire
from examples.airflow_orders.kafka import (
    AwaitMessageSensor,
    ConsumeFromTopicOperator,
    KwireHook,
    ProduceToTopicOperator,
)


def orders_of(run: str) -> Iterator[tuple[str, str]]:
    """(value, key) of each order."""
    for number in range(10):
        customer = f"customer-{number % 3}"
        yield json.dumps({"run": run, "customer": customer, "price": number + 0.5}), customer


def approval(record: kwire.ConsumerRecord) -> dict[str, Any] | None:
    """Who approved what; None for a record that approves nothing."""
    said: dict[str, Any] = json.loads(record.value or b"{}")
    return {"by": said["by"], "offset": record.offset} if said.get("approved") else None


def total(record: kwire.ConsumerRecord) -> float:
    """What an order costs with tax."""
    return round(json.loads(record.value or b"{}")["price"] * 1.19, 2)


with DAG("orders", schedule=None, start_date=datetime(2025, 1, 1), catchup=False) as dag:
    write = ProduceToTopicOperator(
        task_id="write", topic="orders", records=orders_of, records_kwargs={"run": "{{ run_id }}"}
    )
    wait = AwaitMessageSensor(
        task_id="wait",
        topics=["approvals"],
        group_id="airflow-approvals",
        apply_function="examples.airflow_orders.dag:approval",
        timeout=3600,
    )
    bill = ConsumeFromTopicOperator(task_id="bill", topics=["orders"], group_id="airflow-billing", apply_function=total)

    @task
    def report() -> dict[str, int]:
        """Orders by customer since the run began; read without a group, so it may run again."""
        began = get_current_context()["dag_run"].start_date
        with KwireHook().consumer() as consumer:
            partitions = consumer.partitions_for("orders")
            consumer.assign(partitions, at=dict.fromkeys(partitions, began), until=consumer.end_offsets(partitions))
            return Counter((record.key or b"").decode() for record in consumer)

    write >> wait >> bill >> report()


if __name__ == "__main__":
    dag.test()
