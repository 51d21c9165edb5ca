"""What both kinds of Admin share: how a question of theirs is made a wait.

Layer 5, below the clients; what is asked of whom is in `kwire.engine.admin`.
"""

from __future__ import annotations

from kwire._typing import TYPE_CHECKING, TypeVar
from kwire.engine.admin.inquiry import Inquiry
from kwire.engine.settings.clients import AdminSettings
from kwire.fronts.front import Front

if TYPE_CHECKING:
    from kwire.engine.admin.calls import Question
    from kwire.engine.common.waits import Wait
    from kwire.engine.settings.options import Timeout

T = TypeVar("T")


class AdminFront(Front[AdminSettings]):
    """The base of the Admins."""

    _kind = "admin"

    def _inquiry(self, timeout: Timeout) -> Inquiry:
        return Inquiry(self._door, self._core, self._patience(timeout))

    def _asked(self, question: Question[T], timeout: Timeout) -> Wait[T]:
        return self._inquiry(timeout).ask(question)
