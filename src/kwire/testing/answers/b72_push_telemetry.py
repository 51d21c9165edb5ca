"""PushTelemetry (key 72).

Behaviour
    What is pushed is kept for tests (`Broker.telemetry`). Refused are: no client instance id, or a push after the last
    one (INVALID_REQUEST); one before the interval is over, unless the client has asked since, or it is the last
    (THROTTLING_QUOTA_EXCEEDED); another subscription id than that of the client by now (UNKNOWN_SUBSCRIPTION_ID);
    another codec (UNSUPPORTED_COMPRESSION_TYPE); too many bytes (TELEMETRY_TOO_LARGE); what cannot be decompressed
    (INVALID_RECORD).

Version notes
    v0   the only one; a broker lists the key where it hands metrics on: here with client_telemetry=True
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.protocol import PushTelemetryRequest, PushTelemetryResponse
from kwire.testing.requests import RequestContext
from kwire.testing.state.telemetry import TelemetryPush, labels_of

Context = RequestContext[PushTelemetryRequest]


def answer(context: Context) -> PushTelemetryResponse:
    """Takes it, or says why not."""
    telemetry, request = context.cluster.telemetry, context.request
    labels = labels_of(context.client_id, request.client_instance_id, context.session.host)
    push = TelemetryPush(
        client_instance_id=request.client_instance_id,
        client_id=context.client_id,
        terminating=request.terminating,
        compression="",
        metrics=bytes(request.metrics),
    )
    try:
        telemetry.push(telemetry.subscription(labels), request.subscription_id, request.compression_type, push)
    except BrokerError as error:
        return refuse(context, error.code)
    return PushTelemetryResponse()


def refuse(context: Context, code: int) -> PushTelemetryResponse:
    """The error alone."""
    return PushTelemetryResponse(error_code=code)
