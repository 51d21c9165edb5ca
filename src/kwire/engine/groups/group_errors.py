"""What to do about errors that end a membership, in words.

Layer 3, no I/O.
"""

from __future__ import annotations

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING
from kwire.errors import BrokerError, KafkaError
from kwire.errors.wording import Wording, joined
from kwire.schema.error_codes import (
    FENCED_INSTANCE_ID,
    GROUP_ID_NOT_FOUND,
    INVALID_REGULAR_EXPRESSION,
    UNRELEASED_INSTANCE_ID,
    UNSUPPORTED_ASSIGNOR,
    UNSUPPORTED_VERSION,
)

if TYPE_CHECKING:
    from kwire.engine.ports import Services
    from kwire.engine.settings.clients import ConsumerSettings

_ADVICE = {
    FENCED_INSTANCE_ID: Wording("another member has taken this {group_instance_id}"),
    UNRELEASED_INSTANCE_ID: Wording("another member of the group has this {group_instance_id}, and has not left"),
    INVALID_REGULAR_EXPRESSION: "the pattern goes to the broker, which takes regular expressions of RE2",
    UNSUPPORTED_ASSIGNOR: Wording("{group_remote_assignor} names none of the broker's assignors"),
    GROUP_ID_NOT_FOUND: Wording(
        "this {group_id} belongs to a group of another type, which the broker does not convert"
    ),
}


def explained(error: KafkaError, what: str, instead: str, node: int | None, core: Services) -> KafkaError:
    """The error of a heartbeat with what to do about it.

    `what` names the kind of group, and `instead` says what to set where the broker has no such groups.
    """
    if not isinstance(error, BrokerError):
        return error
    if error.code == UNSUPPORTED_VERSION:
        text = Wording(
            "{broker} does not support {what}, or has them switched off; {instead}",
            broker=_broker(node, core),
            what=what,
            instead=instead,
        )
    else:
        text = joined("; ", (part for part in (error.context, _ADVICE.get(error.code, "")) if part))
    return errors.broker.error_for(error.code, text)


def overdue_words(settings: ConsumerSettings) -> str:
    """Why a member leaves whose consumer has not polled for too long."""
    return Wording(
        "group {group!r}: there was no poll for {max_poll_interval_ms}={interval}, so this consumer leaves the group; "
        "its next poll joins again. Poll more often, with a smaller {max_poll_records}, or allow more time",
        group=settings.group_id,
        interval=settings.max_poll_interval_ms,
    )


def _broker(node: int | None, core: Services) -> str:
    """The broker and its release, as far as its versions tell it."""
    versions = core.versions(node) if node is not None else None
    who = core.name_node(node) if node is not None else "the cluster"
    if versions is None:
        return who
    return f"{who}, as Kafka {'before 0.10' if versions.before_0_10 else protocol.infer_release(versions.ranges)},"
