"""The membership of a consumer in its group, by the protocol that the settings name.

Layer 3, no I/O.
"""

from __future__ import annotations

from kwire._typing import TYPE_CHECKING
from kwire.engine.calls.lookup import GROUP
from kwire.engine.groups.coordinator import Coordinator

if TYPE_CHECKING:
    from kwire.engine.consumer.subscription import Subscription
    from kwire.engine.groups.membership import Membership
    from kwire.engine.ports import Services
    from kwire.engine.settings.clients import ConsumerSettings


def open_membership(core: Services, settings: ConsumerSettings, subscription: Subscription) -> Membership:
    """A membership that is not active yet."""
    assert settings.group_id is not None
    coordinator = Coordinator(core, GROUP, settings.group_id)
    if settings.group_protocol == "consumer":
        from kwire.engine.groups.consumer_group import ConsumerMembership

        return ConsumerMembership(core, settings, coordinator, subscription)
    from kwire.engine.groups.classic import ClassicMembership

    return ClassicMembership(core, settings, coordinator, subscription)
