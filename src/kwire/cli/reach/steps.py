"""One step of reaching a broker: its time, what it found out, and its fault with what to do about it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from kwire.cli.reach.advice import Where, advice
from kwire.cli.settings import in_dots
from kwire.cli.trouble import error_text
from kwire.drivers.sockets import cause_of
from kwire.engine.common.addresses import Address
from kwire.errors import AuthError, ConnectError, KafkaError

RESOLVE, TCP, TLS, VERSIONS, LOGIN, METADATA = "resolve", "tcp", "tls", "versions", "login", "metadata"


@dataclass
class Step:
    """One thing that was tried. `ms` is None where it did not end in time."""

    name: str
    ms: float | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    fault: str | None = None
    advice: str | None = None


@dataclass
class Reach:
    """One address and how far one came there. `broker` is its id, None for a bootstrap address of no known broker."""

    address: Address
    broker: int | None
    steps: list[Step] = field(default_factory=list)
    brokers: dict[int, Address] = field(default_factory=dict)
    """What its metadata says of the cluster."""

    @property
    def fault(self) -> Step | None:
        """The step that failed, None where the broker answered all. Of several TCP addresses one is enough."""
        last = self.steps[-1]
        return last if last.fault else None

    @property
    def total_ms(self) -> float:
        return sum(step.ms or 0.0 for step in self.steps)


class StoppedError(Exception):
    """A step has failed, and the rest cannot be tried."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


@asynccontextmanager
async def taken(reach: Reach, name: str, where: Where, deadline: float) -> AsyncIterator[Step]:
    """Notes the time and the fault of the block, which ends at that time of the loop; StoppedError where it failed."""
    step = Step(name)
    reach.steps.append(step)
    now = asyncio.get_running_loop().time
    began = now()
    try:
        async with asyncio.timeout_at(deadline):
            yield step
    except (OSError, KafkaError) as error:
        if isinstance(error, TimeoutError) and error.errno is None:
            step.fault = f"no answer within {now() - began:.1f} s"
        else:
            step.ms = (now() - began) * 1000
            step.fault = _words(error)
        step.advice = advice(name, error, where)
        raise StoppedError(error) from error
    step.ms = (now() - began) * 1000


def _words(error: Exception) -> str:
    if isinstance(error, AuthError):
        return in_dots(error.message or error.reason)
    if isinstance(error, ConnectError) and error.causes:
        return "; ".join(map(in_dots, error.causes.values()))
    if isinstance(error, KafkaError):
        return in_dots(error_text(error))
    return cause_of(error)
