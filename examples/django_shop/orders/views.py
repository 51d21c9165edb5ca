"""Orders come in, and are shown."""

import json
import logging

from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_POST

from kwire import Delivery
from orders.kafka import producer
from orders.models import Order

logger = logging.getLogger(__name__)


@require_POST
@transaction.atomic
def place(request: HttpRequest) -> HttpResponse:
    """The order is sent only if its transaction commits. A process that dies in between tells nobody: where that must
    not happen, write what is to be sent into a table and send it from there (an outbox)."""
    wanted = json.loads(request.body)
    order = Order.objects.create(customer=wanted["customer"], cents=wanted["cents"])
    transaction.on_commit(lambda: tell(order))
    if wanted["cents"] > 100_000:
        raise ValueError("nobody buys that much")  # takes the order back, and nothing is sent
    return JsonResponse({"number": order.pk}, status=201)


def tell(order: Order) -> None:
    """Without a wait for Kafka; what could not be delivered is logged."""
    message = {"number": order.pk, "customer": order.customer, "cents": order.cents}
    producer().send("orders", message, key=order.customer).add_done_callback(log_failure)


def log_failure(delivery: Delivery) -> None:
    if error := delivery.exception():
        logger.error("an order was not delivered: %s", error)


def show(request: HttpRequest, number: int) -> HttpResponse:
    order = get_object_or_404(Order, pk=number)
    return JsonResponse({"customer": order.customer, "cents": order.cents, "billed": order.billed})
