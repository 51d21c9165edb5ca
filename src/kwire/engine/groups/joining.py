"""One try to join a classic group: JoinGroup, the leader's assignment, SyncGroup.

Layer 3, no I/O. The outcome of a try goes to its owner, which decides on the next one.

    JoinGroup      held by the coordinator until all members have joined, up to the rebalance timeout of the slowest;
                   v0 takes the session timeout for that
    second join    v4 and later send a member without an id MEMBER_ID_REQUIRED and its id (KIP-394): asked again at once
    session        a broker before 0.10.1 allows 30 s at most, where the default is 45 s: it is asked again with that
    leader         the member that JoinGroup shows all subscriptions runs the assignor when it has the topics' metadata;
                   a static leader that came back may be asked to skip that (KIP-814)
    SyncGroup      held until the leader has handed in the assignment

A request that is held and one that was lost on a half-open connection look the same. So one without an answer is sent
again on another connection, to the coordinator looked up anew, soon enough for the session of a member that is not
waited for: a coordinator answers the last one only, and one that has gone on repeats what it had answered. Where a
coordinator from before v4 would make another member of it, a member without an id waits the whole time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from kwire import errors, protocol
from kwire._codec import Timer
from kwire._typing import TYPE_CHECKING, NamedTuple, override
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.common.recovery import Recoverable
from kwire.engine.groups.assignors import ClusterView
from kwire.engine.groups.coordinator import written
from kwire.engine.groups.member import PROTOCOL_TYPE
from kwire.errors import ConnectError, KafkaError
from kwire.schema.api_keys import JOIN_GROUP, SYNC_GROUP
from kwire.schema.error_codes import INVALID_SESSION_TIMEOUT, MEMBER_ID_REQUIRED

if TYPE_CHECKING:
    from kwire.engine.common.request import Request
    from kwire.engine.groups.assignors import Assignors
    from kwire.engine.groups.coordinator import Coordinator, WaitingRequest
    from kwire.engine.groups.member import Member
    from kwire.engine.ports import Services
    from kwire.engine.settings.clients import ConsumerSettings

    Row = tuple[str, str | None, bytes]

DEFAULT_SESSION_TIMEOUT_MS = 45_000
OLD_SESSION_TIMEOUT_MS = 30_000
HELD_FOR_S = 5.0
"""Seconds that the coordinator is given beyond the rebalance timeout."""

ASK_AGAIN_AFTER = 2 / 3
"""The part of the session timeout, where that is less than the request timeout, after which a request is sent again."""

LOOK_AGAIN_AFTER_S = 1.0
"""Seconds after which a connection on which an answer comes in is looked at again."""

_FIRST_JOIN_WITH_REQUIRED_ID = 4


class Asked(NamedTuple):
    """What the coordinator is asked, and until when."""

    api_key: int
    message: Callable[[int], object]
    on_response: Callable[..., None]
    versions: range
    until: float


class Joining(Recoverable):
    """One try at a time.

    on_joined(now)              JoinGroup is answered
    on_roles(topics, skips)     the topics that the member assigns, as the leader; None: another one leads. `skips`:
                                they were assigned before
    on_synced(partitions, now)  SyncGroup is answered
    on_failed(error, now)       the try has failed
    """

    def __init__(
        self,
        core: Services,
        settings: ConsumerSettings,
        coordinator: Coordinator,
        member: Member,
        assignors: Assignors,
        *,
        on_joined: Callable[[float], None],
        on_roles: Callable[[frozenset[str] | None, bool], None],
        on_synced: Callable[[tuple[TopicPartition, ...], float], None],
        on_failed: Callable[[KafkaError, float], None],
    ) -> None:
        self._core = core
        self._coordinator = coordinator
        self._member = member
        self._assignors = assignors
        self._on_joined = on_joined
        self._on_roles = on_roles
        self._on_synced = on_synced
        self._on_failed = on_failed
        self._rack = settings.client_rack
        self._request_timeout = settings.request_timeout_ms / 1000
        self._patience = max(settings.request_timeout_ms, settings.max_poll_interval_ms) / 1000 + HELD_FOR_S
        self._asked: Asked
        self._again: Timer | None = None
        self._request: Request | WaitingRequest | None = None
        self._offer: tuple[Sequence[tuple[str, bytes]], str] = ((), "")
        self._rows: list[Row] | None = None
        self._skips = False
        self._gave_up = False
        self._tracked: frozenset[str] = frozenset()

    @property
    def in_progress(self) -> bool:
        """Whether a try is on."""
        return self._request is not None or self._rows is not None

    @property
    def may_be_held(self) -> bool:
        """Whether the coordinator may hold a request of this try, or of one that was given up: it reads nothing more on
        that connection. Answers come in order, so one to a later request ends that."""
        return self._request is not None or self._gave_up

    def begin(self, topics: Sequence[str], owned: Sequence[TopicPartition], reason: str, now: float) -> None:
        """Sends JoinGroup: these topics are wanted, these partitions owned."""
        self.cancel()
        offered = self._assignors.metadata(topics, owned, self._member.generation, self._rack or None)
        self._offer = (offered, reason)
        self._join(now)

    def cancel(self) -> None:
        """Ends the try; neither callback is called."""
        if self._request is not None:
            self._request.cancel()
            self._stop_asking_again()
            self._request = None
            self._gave_up = True
        self._rows = None

    @override
    def recover(self, now: float) -> None:
        """The membership joins again, by its state, on another connection."""
        self.cancel()
        self._gave_up = False

    def forget_topics(self) -> None:
        """It leads no more: the topics of others are of no interest."""
        self._core.cluster.untrack(list(self._tracked), owner=self)
        self._tracked = frozenset()

    # -- JoinGroup --------------------------------------------------------------------------------------------------

    def _join(self, now: float) -> None:
        self._send(JOIN_GROUP, partial(self._member.join, *self._offer), self._on_join, self._member.join_versions, now)

    def _on_join(self, response: protocol.JoinGroupResponse, version: int, now: float) -> None:
        self._end_request()
        member = self._member
        if response.error_code == MEMBER_ID_REQUIRED and response.member_id and not member.member_id:
            member.member_id = response.member_id
            self._join(now)
        elif response.error_code == INVALID_SESSION_TIMEOUT and member.session_timeout_ms == DEFAULT_SESSION_TIMEOUT_MS:
            member.session_timeout_ms = OLD_SESSION_TIMEOUT_MS
            self._join(now)
        elif response.error_code:
            self._fail(response.error_code, "JoinGroup", now)
        elif response.protocol_type not in (None, PROTOCOL_TYPE):
            text = f"group {member.group_id!r} is of type {response.protocol_type!r}, not {PROTOCOL_TYPE!r}"
            self._on_failed(KafkaError(text), now)
        elif response.generation_id < 0 or not response.member_id:
            who = f"generation {response.generation_id}, member {response.member_id!r}"
            self._on_failed(
                KafkaError(f"the coordinator accepted this consumer in group {member.group_id!r} as {who}"), now
            )
        else:
            self._take_part(response, now)

    def _take_part(self, response: protocol.JoinGroupResponse, now: float) -> None:
        member = self._member
        member.member_id = response.member_id
        member.generation = response.generation_id
        member.protocol = response.protocol_name or ""
        self._on_joined(now)
        if response.leader != response.member_id:
            self.forget_topics()
            self._on_roles(None, False)
            self._sync({}, now)
            return
        rows = [(row.member_id, row.group_instance_id, row.metadata) for row in response.members]
        self._lead(rows, response.skip_assignment, now)

    # -- the leader -------------------------------------------------------------------------------------------------

    def _lead(self, rows: list[Row], skip: bool, now: float) -> None:
        try:
            topics = frozenset(self._assignors.subscribed_topics(rows))
        except KafkaError as error:
            self._on_failed(error, now)
            return
        self.forget_topics()
        self._tracked = topics
        self._rows = rows
        self._skips = skip
        self._core.cluster.track(sorted(topics), now, owner=self, may_create=False)
        self.on_metadata(now)

    def on_metadata(self, now: float) -> None:
        """Some metadata came: the leader that waits for it may go on."""
        rows, topics = self._rows, self._tracked
        if rows is None or any(self._core.cluster.topic(name) is None for name in topics):
            return
        self._rows = None
        self._on_roles(topics, self._skips)
        if self._skips:
            self._sync({}, now)
            return
        try:
            view = ClusterView.of(self._core.cluster, topics)
            assignments = self._assignors.assign(self._member.protocol, view, rows)
        except Exception as error:
            self._on_failed(self._raised(error), now)
        else:
            self._sync(assignments, now)

    def _raised(self, error: Exception) -> KafkaError:
        """What an assignor, or reading what members say, has raised, as an error of kwire."""
        if isinstance(error, KafkaError):
            return error
        failure = KafkaError(f"the assignor {self._member.protocol!r} raised {type(error).__name__}: {error}")
        failure.__cause__ = error
        return failure

    # -- SyncGroup --------------------------------------------------------------------------------------------------

    def _sync(self, assignments: dict[str, bytes], now: float) -> None:
        message = partial(self._member.sync, assignments)
        self._send(SYNC_GROUP, message, self._on_sync, self._member.sync_versions, now)

    def _on_sync(self, response: protocol.SyncGroupResponse, version: int, now: float) -> None:
        self._end_request()
        if response.error_code:
            self._fail(response.error_code, "SyncGroup", now)
            return
        member = self._member
        try:
            partitions = self._assignors.assigned(member.protocol, response.assignment, member.generation)
        except Exception as error:
            self._on_failed(self._raised(error), now)
            return
        impossible = next((tp for tp in partitions if tp.partition < 0), None)
        if impossible is not None:
            what = f"partition {impossible.partition} of {impossible.topic!r}"
            text = f"the assignment of group {member.group_id!r} by {member.protocol!r} has {what}"
            self._on_failed(KafkaError(text), now)
            return
        self._on_synced(tuple(partitions), now)

    # -- both -------------------------------------------------------------------------------------------------------

    def _send(
        self,
        api_key: int,
        message: Callable[[int], object],
        on_response: Callable[..., None],
        versions: range,
        now: float,
    ) -> None:
        self._asked = Asked(api_key, message, on_response, versions, now + self._patience)
        self._ask(now)

    def _ask(self, now: float) -> None:
        asked = self._asked
        self._request = self._coordinator.request(
            asked.api_key,
            asked.message,
            asked.on_response,
            self._on_error,
            now,
            timeout=self._patience,
            versions=asked.versions,
        )
        if self._request.done:
            self._request = None
        else:
            self._again = self._core.call_at(min(now + self._ask_again_after, asked.until), self._ask_again)

    @property
    def _ask_again_after(self) -> float:
        session = self._member.session_timeout_ms / 1000
        return min(self._request_timeout, session * ASK_AGAIN_AFTER)

    def _ask_again(self, now: float) -> None:
        """The answer takes long: over a connection that works it will come, if there is one."""
        request = written(self._request)
        may_be_repeated = request is not None and self._may_be_repeated(request)
        since = request.sent_at if request is not None and may_be_repeated else now
        due = min(since + self._ask_again_after, self._asked.until)
        if due > now or (request is not None and self._coordinator.is_answering(request)):
            self._again = self._core.call_at(max(due, now + LOOK_AGAIN_AFTER_S), self._ask_again)
            return
        self.cancel()
        self._gave_up = False
        if request is not None:
            self._coordinator.hang_up(request, now)
        if now < self._asked.until:
            self._ask(now)
        else:
            self._on_failed(self._unanswered(), now)

    def _may_be_repeated(self, request: Request) -> bool:
        """Whether the coordinator knows the member by its id, or answers a new one at once."""
        return bool(self._member.member_id) or request.version >= _FIRST_JOIN_WITH_REQUIRED_ID

    def _unanswered(self) -> ConnectError:
        name, limit = protocol.APIS[self._asked.api_key].name, round(self._patience * 1000)
        return ConnectError(
            f"the coordinator of group {self._member.group_id!r} did not answer {name} within {limit} ms"
        )

    def _fail(self, code: int, api: str, now: float) -> None:
        self._on_failed(errors.broker.error_for(code, f"{api} of group {self._member.group_id!r}"), now)

    def _end_request(self) -> None:
        self._stop_asking_again()
        self._request = None
        self._gave_up = False

    def _stop_asking_again(self) -> None:
        if self._again is not None:
            self._again.cancel()
            self._again = None

    def _on_error(self, error: KafkaError, now: float) -> None:
        self._end_request()
        self._on_failed(error, now)
