"""Properties of Kafka's Java clients that a Spark job shares between them, and that have no effect here.

One dictionary often serves all clients of a team: what belongs to another client, or to a consumer group that a Spark
read does not join, is no fault. Unknown names are, and so is what asks for something that kwire does not do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kwire.engine.settings.clients import ClientSettings, ConsumerSettings, ProducerSettings, names_of, owners_of
from kwire.engine.settings.foreign import verdict
from kwire.engine.settings.groups import GroupSettings
from kwire.engine.settings.kinds import Setting

ROWS: Final[dict[type[ClientSettings], Mapping[str, Setting]]] = {
    table: names_of(table) for table in (ConsumerSettings, ProducerSettings)
}
_JVM: Final = "security.providers"
"""A job shares it with what it has in Java."""
_GROUP: Final = names_of(GroupSettings).keys() | {"internal.leave.group.on.close", "rebalance.timeout.ms"}


def why_without_effect(name: str, value: str, table: type[ClientSettings]) -> str | None:
    """Why a property changes nothing for a client with this table; None if it may, or if nobody has it."""
    if table is ConsumerSettings and name in _GROUP:
        return "a read joins no consumer group"
    if name in ROWS[table]:
        return None
    owners = owners_of(name)
    if owners and table.client not in owners:
        return f"a property of {owners[0].lower()}s"
    return "not needed by kwire" if name == _JVM or _is_ignored(name, value) else None


def is_as_it_is(name: str, value: str) -> bool:
    """Whether a property that is refused asks for what happens anyway, such as plain bytes and no commits."""
    return (name, value.strip().lower()) == ("enable.auto.commit", "false") or _is_ignored(name, value)


def _is_ignored(name: str, value: str) -> bool:
    judged = verdict(name, value)
    return judged is not None and judged.refusal is None
