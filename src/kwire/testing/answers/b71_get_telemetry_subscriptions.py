"""GetTelemetrySubscriptions (key 71).

Behaviour
    A client without an id gets one. What it is asked for is what the resources of client metrics that match it say
    together: their metrics, and the shortest interval. One that asks before that is over, since it asked or pushed, is
    THROTTLING_QUOTA_EXCEEDED, unless its last push was refused because of its subscription or codec.

Version notes
    v0   the only one; a broker lists the key where it hands metrics on: here with client_telemetry=True
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.protocol import GetTelemetrySubscriptionsRequest, GetTelemetrySubscriptionsResponse
from kwire.testing.requests import RequestContext
from kwire.testing.state.telemetry import ACCEPTED, labels_of

Context = RequestContext[GetTelemetrySubscriptionsRequest]


def answer(context: Context) -> GetTelemetrySubscriptionsResponse:
    """The subscription of the client."""
    telemetry, given = context.cluster.telemetry, context.request.client_instance_id
    wanted = telemetry.subscription(labels_of(context.client_id, given, context.session.host))
    try:
        known = telemetry.ask(given, wanted)
    except BrokerError as error:
        return refuse(context, error.code)
    return GetTelemetrySubscriptionsResponse(
        client_instance_id=known,
        subscription_id=wanted.id_for(known),
        accepted_compression_types=ACCEPTED,
        push_interval_ms=wanted.interval_ms,
        telemetry_max_bytes=telemetry.max_bytes,
        delta_temporality=telemetry.delta,
        requested_metrics=wanted.metrics,
    )


def refuse(context: Context, code: int) -> GetTelemetrySubscriptionsResponse:
    """The error alone."""
    return GetTelemetrySubscriptionsResponse(error_code=code)
