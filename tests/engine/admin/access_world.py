"""A world with one broker that answers the APIs of a test, and a question of an Admin that it is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kwire.engine.admin.calls import Question
from kwire.engine.calls.fan_out import FanOutCall
from kwire.engine.common.addresses import Address
from kwire.engine.settings.clients import AdminSettings
from tests.engine.world import Broker, World

HERE = Address("a", 1)


class AccessWorld(World):
    """`asked` has the requests of these APIs; `answers` makes the response to a request of a version."""

    def __init__(self, release: str, answers: Mapping[int, Callable[[Any, int], Any]]) -> None:
        self.asked: list[Any] = []
        broker = Broker(release)
        broker.handlers |= {key: self._noted(answer) for key, answer in answers.items()}
        super().__init__({HERE: broker}, AdminSettings(bootstrap_servers="a:1"))

    def ask(self, question: Question[Any]) -> Any:
        """The answer; raises the error in its place."""
        assert question.api is not None
        call = FanOutCall(self.core, question.api, deadline=self.now + 30, now=self.now)
        self.run(lambda: call.done)
        return question.finish(call.value())

    def _noted(self, answer: Callable[[Any, int], Any]) -> Callable[[Any, int, float], Any]:
        def handle(message: Any, version: int, now: float) -> Any:
            self.asked.append(message)
            return answer(message, version)

        return handle
