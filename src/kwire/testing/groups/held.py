"""An answer that is not there yet, and the flow that waits for it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kwire.testing.requests import Flow, RequestContext, Suspend
from kwire.testing.state.coordinators import GROUP

if TYPE_CHECKING:
    from kwire.testing.cluster import ClusterState

ResponseT = TypeVar("ResponseT")


class Held(Generic[ResponseT]):
    """The answer to one request, None until it is decided; only the first decision counts."""

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster
        self.response: ResponseT | None = None

    def answer(self, response: ResponseT) -> None:
        """Decides the answer and wakes the flow that waits for it."""
        if self.response is None:
            self.response = response
            self._cluster.wake([self])


def wait_for(context: RequestContext[Any], group_id: str, held: Held[ResponseT]) -> Flow[ResponseT]:
    """Waits until the answer is decided: by the group, or because its coordinator moves."""
    cluster = context.cluster
    wakers = frozenset([held, cluster.coordinators.slot(GROUP, group_id)])
    while held.response is None:
        yield Suspend(math.inf, wakers)
        cluster.groups.follow_coordinator(group_id)
    return held.response
