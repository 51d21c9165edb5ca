"""What a client waits for because of its telemetry: its instance id, and the last push before it closes.

Layer 3, no I/O: generators of `kwire.engine.common.waits`.
"""

from __future__ import annotations

from kwire._typing import TYPE_CHECKING
from kwire.engine.common.waits import Until
from kwire.errors import KafkaError, KafkaTimeoutError

if TYPE_CHECKING:
    from uuid import UUID

    from kwire.engine.common.waits import Door, Wait
    from kwire.engine.telemetry.telemetry import Telemetry


def client_instance_id(door: Door, telemetry: Telemetry, timeout: float) -> Wait[UUID]:
    """The id that a broker has given to the client; raises its refusal, and KafkaTimeoutError after so many seconds."""
    door.call(telemetry.begin)
    yield Until(lambda: telemetry.client_instance_id is not None or telemetry.refusal is not None, timeout)
    found, refusal = door.call(lambda now: (telemetry.client_instance_id, telemetry.refusal))
    if found is not None:
        return found
    raise refusal or KafkaTimeoutError(f"no broker has given this client an instance id within {timeout:g} s")


def last_push(
    door: Door, telemetry: Telemetry, farewell: Wait[None] | None, until: float, patience: float
) -> Wait[None]:
    """What the client does before it closes, then the last push, for so many seconds at most; a farewell that fails is
    still followed by it."""
    failure: KafkaError | None = None
    if farewell is not None:
        try:
            yield from farewell
        except KafkaError as error:
            failure = error
    door.call(telemetry.end)
    yield Until(lambda: telemetry.is_over, min(patience, max(until - door.now(), 0.0)))
    door.clean_up(telemetry.give_up)
    if failure is not None:
        raise failure
