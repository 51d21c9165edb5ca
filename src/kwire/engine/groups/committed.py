"""What a group has committed: OffsetFetch, by one request, or repeated until every partition is answered.

Layer 3, no I/O. Offsets of an open transaction are not returned: the coordinator answers UNSTABLE_OFFSET_COMMIT
(KIP-447, version 7 and later) and is asked again, because the transaction may yet be aborted and the offset with it.

The requests go over the connection for data, where no held JoinGroup stands before them; to a broker from before 0.10
over the coordinator's, the only one that knows what such a broker can.

    again, at the same broker   COORDINATOR_LOAD_IN_PROGRESS, UNSTABLE_OFFSET_COMMIT, UNKNOWN_TOPIC_OR_PARTITION,
                                UNKNOWN_TOPIC_ID, STALE_MEMBER_EPOCH and UNKNOWN_MEMBER_ID (the member hears of both)
    again, after a look-up      COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, lost connections
    no offset                   UNKNOWN_TOPIC_OR_PARTITION in version 0, where ZooKeeper has none
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.calls.calls import Call, OnDone
from kwire.engine.calls.offsets import OffsetAndMetadata
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.common.request import OnError, Purpose, Request
from kwire.engine.common.retry import is_retriable
from kwire.engine.groups.coordinator import Coordinator, WaitingRequest
from kwire.engine.groups.membership import GroupMetadata, Membership
from kwire.engine.groups.offset_messages import fetch_request, group_code_in, is_about, offsets_in, versions_for
from kwire.errors import AuthError, KafkaError, KafkaTimeoutError
from kwire.schema.api_keys import OFFSET_FETCH
from kwire.schema.error_codes import NONE, STALE_MEMBER_EPOCH, UNKNOWN_MEMBER_ID, UNKNOWN_TOPIC_OR_PARTITION

if TYPE_CHECKING:
    from kwire.engine.ports import Services

Found = Mapping[TopicPartition, OffsetAndMetadata | KafkaError | None]
OnFound = Callable[[Found, float], None]


class OffsetFetches:
    """Asks the coordinator of one consumer's group what it has of partitions: one request each time."""

    def __init__(self, core: Services, coordinator: Coordinator, membership: Membership, *, names_member: bool) -> None:
        self._core = core
        self._coordinator = coordinator
        self._membership = membership
        self._names_member = names_member
        self.group_id = membership.metadata.group_id
        self._last: KafkaError | None = None

    @property
    def trouble(self) -> str:
        """Why there may be no answer, in words."""
        return str(self._last or f"the coordinator is {self._coordinator.who}")

    def ask(
        self, partitions: Collection[TopicPartition], on_found: OnFound, on_error: OnError, now: float
    ) -> Request | WaitingRequest:
        """Asks about these: on_found has what was committed in each, None for nothing, or its error. An error of the
        whole request goes to on_error; the coordinator and the member have been notified by then."""
        return self._coordinator.request(
            OFFSET_FETCH,
            partial(self._message, partitions),
            partial(self._on_response, partitions, on_found, on_error),
            partial(self._on_error, on_error),
            now,
            purpose=Purpose.DATA,
            versions=versions_for(OFFSET_FETCH, [self._core.cluster.topic_id(tp.topic) for tp in partitions]),
        )

    def _message(self, partitions: Collection[TopicPartition], version: int) -> protocol.OffsetFetchRequest:
        member = GroupMetadata(self.group_id)
        if self._names_member and self._membership.active and self._membership.metadata.generation_id >= 0:
            member = self._membership.metadata
        return fetch_request(partitions, member, self._core.cluster, version)

    def _on_response(
        self,
        partitions: Collection[TopicPartition],
        on_found: OnFound,
        on_error: OnError,
        response: protocol.OffsetFetchResponse,
        version: int,
        now: float,
    ) -> None:
        is_ours = is_about(self.group_id, response, version)
        code = group_code_in(response, version)
        if code and is_ours:
            self._on_error(on_error, errors.broker.error_for(code, f"OffsetFetch of group {self.group_id!r}"), now)
            return
        self._last = None
        rows = offsets_in(response, self._core.cluster.names, version) if is_ours else {}
        found: dict[TopicPartition, OffsetAndMetadata | KafkaError | None] = {}
        for tp in partitions:
            row = rows.get(tp)
            if row is None:
                found[tp] = KafkaTimeoutError(
                    f"the response to OffsetFetch of group {self.group_id!r} has no entry for {tp}"
                )
            elif row.code == NONE or (version == 0 and row.code == UNKNOWN_TOPIC_OR_PARTITION):
                found[tp] = row.committed
            else:
                found[tp] = self._refused(tp, row.code, now)
        on_found(found, now)

    def _refused(self, tp: TopicPartition, code: int, now: float) -> KafkaError:
        error = errors.broker.error_for(code, f"OffsetFetch of {tp} by group {self.group_id!r}")
        if not self._coordinator.is_lost(error, now) and error.stale_metadata:
            self._core.cluster.refresh(now)
        self._last = error
        return error

    def _on_error(self, on_error: OnError, error: KafkaError, now: float) -> None:
        self._coordinator.is_lost(error, now)
        code = getattr(error, "code", 0)
        if code in (STALE_MEMBER_EPOCH, UNKNOWN_MEMBER_ID):
            if code == UNKNOWN_MEMBER_ID:
                self._membership.refused(code, now)
            error = KafkaTimeoutError(str(error))
        self._last = error
        on_error(error, now)


class CommittedCall(Call):
    """What the group committed in these partitions, None where it is nothing: {tp: OffsetAndMetadata | None}."""

    def __init__(
        self,
        core: Services,
        fetches: OffsetFetches,
        partitions: Collection[TopicPartition],
        now: float,
        deadline: float,
        on_done: OnDone | None = None,
    ) -> None:
        self._fetches = fetches
        self._partitions = tuple(partitions)
        self._found: dict[TopicPartition, OffsetAndMetadata | None] = {}
        self._request: Request | WaitingRequest | None = None
        core.retry_refused(now)
        super().__init__(core, f"the committed offsets of group {fetches.group_id!r}", deadline, on_done)
        self.ask_again(now)

    @override
    def ask_again(self, now: float) -> None:
        """Asks about what is not known."""
        left = [tp for tp in self._partitions if tp not in self._found]
        if not left:
            self.succeed({tp: self._found[tp] for tp in self._partitions}, now)
        elif not self.done:
            self._request = self._fetches.ask(left, self._on_found, self._on_error, now)

    def _on_found(self, found: Found, now: float) -> None:
        again: KafkaError | None = None
        for tp, row in found.items():
            if not isinstance(row, KafkaError):
                self._found[tp] = row
            elif is_retriable(row):
                again = row
            else:
                self.fail(row, now)
                return
        if again is not None:
            self.retry(self.ask_again, again, now)
        else:
            self.ask_again(now)

    def _on_error(self, error: KafkaError, now: float) -> None:
        if is_retriable(error) or (isinstance(error, AuthError) and self.core.refusal is None):
            self.retry(self.ask_again, error, now)
        else:
            self.fail(error, now)

    @override
    def on_end(self) -> None:
        if self._request is not None:
            self._request.cancel()
