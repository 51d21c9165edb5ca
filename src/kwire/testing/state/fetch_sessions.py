"""The fetch sessions of one node (KIP-227): what it remembers of a reader, so that requests name only what changed.

    session id  epoch          answer
    any         -1             everything that is asked for, without a session; the named one ends
    any         0              everything, and a new session if there is room; the named one ends
    unknown     above 0        FETCH_SESSION_ID_NOT_FOUND
    known       not the next   INVALID_FETCH_SESSION_EPOCH
    known       the next       the partitions that have records or an error, whose high watermark or log start changed,
                               or that are to be read elsewhere; those with records go to the end of the order

A session is by topic names or by ids; a request of the other kind is FETCH_SESSION_TOPIC_ID_ERROR. One without
partitions ends. When there is no room, a session that was not used for two minutes goes; else, of those that are as old
as that, the smallest one, if it is smaller than the new one. Source: FetchSession of Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from kwire.errors import broker as codes
from kwire.protocol import FetchRequest, FetchResponse

_Asked = FetchRequest.FetchTopic.FetchPartition
_Row = FetchResponse.FetchableTopicResponse.PartitionData
Key = tuple[str | UUID, int]
_WITHOUT_SESSION, _WITH_NEW_SESSION = -1, 0
_IDS_SINCE = 13
_SESSIONS_SINCE = 7
_SAFE_S = 120.0
_LAST_EPOCH = 2**31 - 1


class Wanted(NamedTuple):
    """A partition to read, by topic name or id."""

    topic: str
    topic_id: UUID
    asked: _Asked


@dataclass(slots=True)
class _Cached:
    wanted: Wanted
    high_watermark: int = -1
    log_start_offset: int = -1

    def take_news(self, row: _Row) -> bool:
        """Whether the reader is to be told; remembers what it knows then."""
        failed = bool(row.error_code) or row.diverging_epoch.epoch >= 0
        news = (
            failed
            or bool(row.records)
            or row.high_watermark != self.high_watermark
            or row.log_start_offset != self.log_start_offset
            or row.preferred_read_replica >= 0
        )
        self.high_watermark = -1 if failed else row.high_watermark
        self.log_start_offset = row.log_start_offset
        return news


@dataclass(slots=True)
class _Session:
    session_id: int
    by_id: bool
    created: float
    last_used: float
    epoch: int = 1
    partitions: dict[Key, _Cached] = field(default_factory=dict)


@dataclass(slots=True)
class FetchSessions:
    """The sessions by id; there may be `slots` of them."""

    first_id: int
    slots: int
    _sessions: dict[int, _Session] = field(default_factory=dict)
    _given: int = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(self, request: FetchRequest, version: int, now: float) -> Fetching:
        """What a request asks for. Raises BrokerError."""
        if request.session_epoch in (_WITHOUT_SESSION, _WITH_NEW_SESSION):
            self._sessions.pop(request.session_id, None)
            may_open = version >= _SESSIONS_SINCE and request.session_epoch == _WITH_NEW_SESSION
            return Fetching(self, None, _wanted(request), version >= _IDS_SINCE, may_open=may_open)
        session = self._sessions.get(request.session_id)
        if session is None:
            raise codes.FETCH_SESSION_ID_NOT_FOUND(f"no fetch session {request.session_id}")
        if session.epoch != request.session_epoch:
            raise codes.INVALID_FETCH_SESSION_EPOCH(f"epoch {request.session_epoch}; it is {session.epoch}")
        if session.by_id != (version >= _IDS_SINCE):
            raise codes.FETCH_SESSION_TOPIC_ID_ERROR("the session is of the other kind of topic names")
        return self._go_on(session, request, now)

    def open(self, partitions: dict[Key, _Cached], by_id: bool, now: float) -> int:
        """The id of a new session; 0 when there is no room, or nothing to remember."""
        if not partitions or not self._has_room(len(partitions), now):
            return 0
        self._given += 1
        session = _Session(self.first_id + self._given, by_id, now, now)
        session.partitions = partitions
        self._sessions[session.session_id] = session
        return session.session_id

    def _go_on(self, session: _Session, request: FetchRequest, now: float) -> Fetching:
        for wanted in _wanted(request):
            key = _key(wanted, session.by_id)
            if key in session.partitions:
                session.partitions[key].wanted = wanted
            else:
                session.partitions[key] = _Cached(wanted)
        for topic in request.forgotten_topics_data:
            for index in topic.partitions:
                session.partitions.pop((topic.topic_id if session.by_id else topic.topic, index), None)
        session.last_used = now
        wanted_now = [cached.wanted for cached in session.partitions.values()]
        if not session.partitions:
            del self._sessions[session.session_id]
            return Fetching(self, None, wanted_now, session.by_id)
        session.epoch = 1 if session.epoch == _LAST_EPOCH else session.epoch + 1
        return Fetching(self, session, wanted_now, session.by_id)

    def _has_room(self, size: int, now: float) -> bool:
        if len(self._sessions) < self.slots:
            return True
        held = list(self._sessions.values())
        unused = min(held, key=lambda each: each.last_used, default=None)
        if unused is None:
            return False
        if now - unused.last_used <= _SAFE_S:
            old = [each for each in held if now - each.created > _SAFE_S and len(each.partitions) < size]
            if not old:
                return False
            unused = min(old, key=lambda each: len(each.partitions))
        del self._sessions[unused.session_id]
        return True


class Fetching:
    """One request: what is to be read, and what of it is told."""

    def __init__(
        self,
        sessions: FetchSessions,
        session: _Session | None,
        wanted: Sequence[Wanted],
        by_id: bool,
        *,
        may_open: bool = False,
    ) -> None:
        self.wanted = wanted
        self._sessions = sessions
        self._session = session
        self._epoch = 0 if session is None else session.epoch
        self._by_id = by_id
        self._may_open = may_open

    def respond(self, rows: Sequence[_Row], now: float) -> FetchResponse:
        """The answer of the rows, which are in the order of `wanted`."""
        pairs = list(zip(self.wanted, rows, strict=True))
        session = self._session
        if session is None:
            return _response(self._open(pairs, now) if self._may_open else 0, pairs)
        if session.epoch != self._epoch:
            return FetchResponse(error_code=codes.INVALID_FETCH_SESSION_EPOCH.code)
        included = []
        for wanted, row in pairs:
            key = _key(wanted, self._by_id)
            cached = session.partitions.get(key)
            if cached is None:
                continue
            if row.records:
                session.partitions[key] = session.partitions.pop(key)
            if cached.take_news(row):
                included.append((wanted, row))
        return _response(session.session_id, included)

    def throttled(self) -> FetchResponse:
        """The answer to a reader that went over its quota: nothing, in the same session."""
        return FetchResponse(session_id=0 if self._session is None else self._session.session_id)

    def _open(self, pairs: Sequence[tuple[Wanted, _Row]], now: float) -> int:
        partitions = {}
        for wanted, row in pairs:
            cached = partitions[_key(wanted, self._by_id)] = _Cached(wanted)
            cached.take_news(row)
        return self._sessions.open(partitions, self._by_id, now)


def _wanted(request: FetchRequest) -> list[Wanted]:
    return [Wanted(topic.topic, topic.topic_id, asked) for topic in request.topics for asked in topic.partitions]


def _key(wanted: Wanted, by_id: bool) -> Key:
    return (wanted.topic_id if by_id else wanted.topic, wanted.asked.partition)


def _response(session_id: int, pairs: Sequence[tuple[Wanted, _Row]]) -> FetchResponse:
    """Rows of a topic that follow each other share an entry."""
    made = FetchResponse.FetchableTopicResponse
    topics: list[FetchResponse.FetchableTopicResponse] = []
    for wanted, row in pairs:
        if not topics or (topics[-1].topic, topics[-1].topic_id) != (wanted.topic, wanted.topic_id):
            topics.append(made(topic=wanted.topic, topic_id=wanted.topic_id, partitions=[]))
        topics[-1].partitions = [*topics[-1].partitions, row]
    return FetchResponse(session_id=session_id, responses=topics)
