"""`manage.py consume_orders`: bills orders as they come from Kafka, until SIGTERM or Ctrl-C.

Start as many as there is work for: together they are one consumer group. An order may come twice, after a crash for
instance, so that billing it again must do no harm. One that fails four times goes to the topic 'orders.dead'.
"""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import close_old_connections

from kwire import Worker
from orders.models import Order


class Command(BaseCommand):
    help = "Bills orders as they come from Kafka."

    def handle(self, *args: Any, **options: Any) -> None:
        worker = Worker(
            settings.KAFKA_BOOTSTRAP_SERVERS,
            "orders",
            group_id="billing",
            handler=bill,
            concurrency=4,
            retries=3,
            dead_letter_topic="orders.dead",
            value_deserializer="json",
        )
        self.stdout.write("billing; Ctrl-C ends it")
        worker.run()
        self.stdout.write("all that was begun is billed")


def bill(record: Any) -> None:
    """Runs in a thread of the worker, which has a database connection of its own: one that died is replaced."""
    close_old_connections()
    if not Order.objects.filter(pk=record.value["number"]).update(billed=True):
        raise Order.DoesNotExist(f"there is no order {record.value['number']}")
