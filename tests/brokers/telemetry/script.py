"""A client of telemetry (KIP-714) that does it right and wrong on one connection, and the error codes that it gets."""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID

from kwire import protocol
from kwire.compression import compress
from kwire.testing import Broker
from tests.brokers.cluster import Cluster
from tests.brokers.wire import wire_to

INTERVAL_MS = 300
METRICS = b"\x0a\x00"
"""A message with one empty ResourceMetrics."""

MAX_BYTES = 1 << 20
NO_ID, STRANGER = UUID(int=0), UUID("7d1c1a05-3f43-4a3e-9d2b-0e0a6b7f5f11")


def codes(cluster: Cluster | Broker) -> dict[str, int]:
    """What is done, by its error code. The subscription of all clients has INTERVAL_MS."""
    with wire_to(cluster) as wire:
        found: dict[str, int] = {}

        def ask(what: str, given: UUID) -> Any:
            answer = wire.call(protocol.GetTelemetrySubscriptionsRequest(client_instance_id=given), 0)
            found[what] = answer.error_code
            return answer

        def pause() -> None:
            time.sleep(2 * INTERVAL_MS / 1000)

        def push(what: str, **fields: Any) -> None:
            request = {"client_instance_id": known, "subscription_id": subscription.subscription_id, "metrics": METRICS}
            found[what] = wire.call(protocol.PushTelemetryRequest(**{**request, **fields}), 0).error_code

        subscription = ask("a client without an id asks", NO_ID)
        known = subscription.client_instance_id
        ask("it asks again too early", known)
        push("it pushes at once")
        push("it pushes again too early")
        pause()
        push("it pushes in time, by zstd", compression_type=4, metrics=compress("zstd", METRICS))
        pause()
        push("it names another subscription", subscription_id=subscription.subscription_id + 1)
        ask("it asks again because of that", known)
        push("it pushes at once after that")
        pause()
        push("it uses a codec that is none", compression_type=9)
        ask("it asks again because of that, too", known)
        pause()
        push("it sends too much", metrics=bytes(MAX_BYTES + 1))
        pause()
        push("it says zstd and sends something else", compression_type=4, metrics=b"nonsense")
        push("it has no id", client_instance_id=NO_ID)
        push("a client with an id of its own pushes without asking", client_instance_id=STRANGER)
        push("it ends, too early, which is allowed", terminating=True)
        pause()
        push("it pushes after its end")
        ask("it asks after its end", known)
        return found
