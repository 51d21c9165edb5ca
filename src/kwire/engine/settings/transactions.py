"""The settings of transactional producers, and what they need of the others.

Layer 3, no I/O. Names and defaults are Java's.
"""

from __future__ import annotations

from collections.abc import Collection

from kwire._typing import Any, override
from kwire.engine.settings.kinds import Settings, optional_setting, setting
from kwire.errors.wording import Wording

_INT_MAX = 2**31 - 1


class TransactionSettings(Settings):
    """A part of the settings of a Producer."""

    acks: Any
    enable_idempotence: Any
    retries: Any

    transactional_id: str | None = optional_setting(
        str,
        "Makes a transactional producer: this name is its own over restarts, and a newer producer with it takes over.",
    )
    transaction_timeout_ms: int = setting(
        int,
        60_000,
        "The broker aborts a transaction that is open for this long; brokers take 15 minutes at most by default.",
        minimum=1,
        maximum=_INT_MAX,
    )
    transaction_two_phase_commit_enable: bool = setting(
        bool,
        False,
        "Take part in another system's two-phase commit (KIP-939): brokers never abort these transactions by time.",
    )

    @override
    def conflicts(self, chosen: Collection[str]) -> list[str]:
        found = super().conflicts(chosen)
        if self.transactional_id is None:
            if self.transaction_two_phase_commit_enable:
                found.append(Wording("{transaction_two_phase_commit_enable}=True needs a {transactional_id}"))
            return found
        if self.enable_idempotence is False:
            found.append(Wording("{transactional_id} needs {enable_idempotence}, which is False"))
        if self.transaction_two_phase_commit_enable and "transaction_timeout_ms" in chosen:
            found.append(
                Wording(
                    "{transaction_timeout_ms} cannot be set with {transaction_two_phase_commit_enable}=True: such "
                    "transactions do not time out"
                )
            )
        return found
