"""A request that any broker can answer, sent to a second one when the first is silent: the first response counts.

Layer 3, no I/O. Only for requests that change nothing, since both brokers may carry them out.
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire._typing import TYPE_CHECKING
from kwire.engine.common.request import ANY, Message, MessageOrBuilder, OnError, OnResponse, Purpose, Request
from kwire.engine.metadata.refresh import HEDGE_AFTER_S
from kwire.errors import KafkaError

if TYPE_CHECKING:
    from kwire.engine.ports import Services


class HedgedRequest:
    """One such request. Exactly one of the callbacks is called, once, unless it is cancelled."""

    def __init__(
        self,
        core: Services,
        api_key: int,
        message: MessageOrBuilder,
        on_response: OnResponse,
        on_error: OnError,
        now: float,
        *,
        versions: Sequence[int] | None = None,
        purpose: int = Purpose.DATA,
    ) -> None:
        self.done = False
        self._core = core
        self._api_key = api_key
        self._message = message
        self._on_response = on_response
        self._on_error = on_error
        self._versions = versions
        self._purpose = purpose
        self._requests: list[Request] = []
        self._timer = core.call_at(now + HEDGE_AFTER_S, self._ask)
        self._ask(now)

    @property
    def asked(self) -> str | None:
        """The addresses of the brokers that were asked; None before there is one."""
        return ", ".join(dict.fromkeys(str(one.asked) for one in self._requests if one.asked is not None)) or None

    def cancel(self) -> None:
        """Neither callback will run."""
        self.done = True
        self._timer.cancel()
        for request in self._requests:
            request.cancel()

    def _ask(self, now: float) -> None:
        request = self._core.request(
            ANY,
            self._api_key,
            self._message,
            self._answered,
            self._failed,
            now,
            versions=self._versions,
            purpose=self._purpose,
        )
        self._requests.append(request)

    def _answered(self, response: Message, version: int, now: float) -> None:
        self.cancel()
        self._on_response(response, version, now)

    def _failed(self, error: KafkaError, now: float) -> None:
        if all(request.done for request in self._requests):
            self.cancel()
            self._on_error(error, now)
