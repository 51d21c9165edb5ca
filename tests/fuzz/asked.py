"""What brokers answer to an Admin, and what the members of a group tell its leader, in virtual time.

    admin-answers      each call of an Admin, whose brokers' answers are drawn: mostly about what was asked
    legacy-answers     calls of the clients of Kafka 0.7 and of the proposal, whose brokers' answers are drawn
    group-assignments  subscriptions of members, those of other clients and wrong ones too, before each assignor

Only KafkaErrors come out of a call. An assignor gives a partition to one member at most, of those that may have it, and
what it holds back it gives in the rounds that follow.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from typing import Any
from unittest import mock

from kwire import Admin, TopicPartition, errors, protocol, records
from kwire.drivers.blocking import ConnectionClosedError
from kwire.engine.common.addresses import Address
from kwire.engine.groups.assignors import ClusterView, MemberSubscription, assignors_of
from kwire.engine.groups.assignors.blobs import decode_assignment, encode_subscription
from kwire.engine.settings.clients import AdminSettings
from kwire.legacy import client, proposal
from kwire.protocol import group_blobs
from kwire.schema.api_keys import API_VERSIONS, FIND_COORDINATOR, METADATA
from tests.clients.test_admin_any_argument import CALLS
from tests.engine.waiting import WorldDoor
from tests.engine.world import HANG_UP, Answer, Broker, Peer, World
from tests.fuzz.broker import aim
from tests.fuzz.drawing import Drawing, DrawnRandom
from tests.fuzz.targets import target
from tests.schema.messages.random import random_message

MEMORY = (48 << 20, 256 << 10)
_HERE = Address("a", 1)
_NAMES = ("t", "g", "x", "b", "m", "User:b", "User", "user", "/d", "Stable", "consumer", "", "SCRAM-SHA-256")
_HONEST = (METADATA, API_VERSIONS, FIND_COORDINATOR)


class _Oracle(Broker):
    """Answers each request with what is drawn; where brokers and coordinators are, mostly as it is."""

    def __init__(self, release: str, drawing: Drawing) -> None:
        super().__init__(release, 0, _HERE)
        self.topics = {"t": [0, 0], "u": [0]}
        self._drawing = drawing
        honest = {**self.handlers, FIND_COORDINATOR: self._coordinator}
        self.handlers = {key: self._drawn(key, honest.get(key)) for key in self.versions}

    def answer(self, frame: bytes, now: float) -> Answer:
        try:
            return super().answer(frame, now)
        except errors.CodecError:
            return HANG_UP  # no version can carry what was drawn

    def _coordinator(self, message: Any, version: int, now: float) -> Any:
        made = protocol.FindCoordinatorResponse
        rows = [made.Coordinator(key=key, node_id=0, host="a", port=1) for key in message.coordinator_keys]
        return made(node_id=0, host="a", port=1, coordinators=rows)

    def _drawn(self, key: int, honest: Any) -> Any:
        def answer(message: Any, version: int, now: float) -> Any:
            if honest is not None and self._drawing.byte() < 220:
                return honest(message, version, now)
            if not self._drawing.left:
                return None
            made = random_message(protocol.APIS[key].response, version, DrawnRandom(self._drawing))
            aim(made, made.__fields__, self._drawing, _NAMES)
            return made

        return answer


class _Everywhere(dict[Address, Peer]):
    """What is drawn names brokers anywhere: every address is the same broker."""

    def __missing__(self, address: Address) -> Peer:
        return self[_HERE]


def _look(found: Any) -> None:
    repr(found)
    if hasattr(found, "_repr_html_"):
        found._repr_html_()


@target(seeds=lambda: [bytes([n, 0, *((n * m) & 0xFF for m in range(60))]) for n in range(len(CALLS))],
        traced="engine", max_len=300, budget=MEMORY, share=2)  # fmt: skip
def admin_answers(data: bytes) -> None:
    """each call of an Admin, before brokers that answer anything which the protocol can carry"""
    drawing = Drawing(data)
    call = drawing.choice(CALLS)
    broker = _Oracle(drawing.choice(("4.4.0", "4.4.0", "2.8.2", "0.11.0.3")), drawing)
    settings = AdminSettings(bootstrap_servers="a:1", default_api_timeout_ms=1000, request_timeout_ms=300)
    world = World(_Everywhere({_HERE: broker}), settings)
    admin = Admin.__new__(Admin)
    admin.settings, admin._core, door = settings, world.core, WorldDoor(world)
    admin._door = door  # type: ignore[assignment]
    try:
        _look(getattr(admin, call.name)(*call.positional, **call.keywords))
    except errors.KafkaError as error:
        _look(error.results)
        repr((error, str(error), error.failures))
    finally:
        door.closed = True
        world.core.close(world.now)


class _Told:
    """In place of a connection: what it receives is drawn, and at last it is closed."""

    open = True

    def __init__(self, address: Address, drawing: Drawing) -> None:
        self.address = address
        self._drawing = drawing
        self._received = 0

    def close(self) -> None:
        """Nothing is open."""

    def send(self, frame: bytes, timeout: float) -> None:
        """Nobody reads it."""

    def receive(self, timeout: float) -> bytes:
        self._received += 1
        assert self._received < 1000, "asks without end"
        if not self._drawing.left:
            raise ConnectionClosedError("closed")
        return _old_answer(self._drawing)


@cache
def _old_sets() -> tuple[bytes, ...]:
    whole = [records.encode([b"a", b"bb"], generation="0.7", compression=codec) for codec in ("none", "gzip")]
    return (*whole, b"", whole[0][:-1], whole[0][:3], whole[0] + whole[1], b"\x7f\xff\xff\xff\1\0", bytes(9))


def _old_answer(drawing: Drawing) -> bytes:
    how = drawing.byte()
    if how > 230:
        return drawing.blob()
    sets = [drawing.choice(_old_sets()) for _ in range(how & 3)]
    if how & 4:
        body = b"".join(drawing.number(8).to_bytes(8, "big") for _ in sets)
        body = len(sets).to_bytes(4, "big") + body
    elif how & 8:
        body = b"".join((2 + len(each)).to_bytes(4, "big") + bytes([0, drawing.below(5)]) + each for each in sets)
    else:
        body = b"".join(sets)
    head = drawing.choice((b"\0\0", b"\0\0", b"\0\1", b"\0\3", b"\xff\xff", b"\0\x63"))
    return drawing.take(drawing.below(9)) + head + body if how & 16 else head + body


_OLD_CALLS: tuple[Callable[[Any], Any], ...] = (
    lambda client: client.fetch("t"), lambda client: client.multi_fetch([("t", 0, 0), ("t", 1, 5)]),
    lambda client: client.offsets("t", max_offsets=5), lambda client: list(islice(client.messages("t"), 50)),
    lambda client: list(islice(client.messages("t", start=0, until=100), 50)),
    lambda client: (client.produce("t", [b"v"]), client.flush()),
)  # fmt: skip
_PROPOSED_CALLS: tuple[Callable[[Any], Any], ...] = (
    lambda client: client.produce({("t", 0): [b"v"], ("t", 1): [b"w"]}), lambda client: client.fetch({("t", 0): 0}),
)  # fmt: skip


def _old_seeds() -> Iterator[bytes]:
    for number in range(8):
        for how in range(0, 30, 3):
            yield bytes([number, how, number, 0, 1, 0, 2, 0, 3, *range(number, number + 30)])


@target(seeds=_old_seeds, traced="legacy", max_len=200, budget=(16 << 20, 64 << 10), share=0.5)  # fmt: skip
def legacy_answers(data: bytes) -> None:
    """calls of the clients of Kafka 0.7 and of the proposal, before brokers that answer anything"""
    drawing = Drawing(data)
    call = drawing.choice((*_OLD_CALLS, *_PROPOSED_CALLS))
    proposed = call in _PROPOSED_CALLS
    module = proposal if proposed else client

    def told(address: Address) -> _Told:
        return _Told(address, drawing)

    with mock.patch.object(module, "BlockingConnection", told):
        asking: Any = proposal.ProposalClient("a:1") if proposed else client.Client("a:1")
        with contextlib.suppress(errors.KafkaError):
            repr(call(asking))
        with contextlib.suppress(errors.KafkaError):
            asking.close()


_TOPICS = ("a", "b", "c", "\u00e9", "\U0001f600")
_ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative-sticky")


def _partition(drawing: Drawing) -> TopicPartition:
    return TopicPartition(drawing.choice(_TOPICS), drawing.below(9) - 1)


def _user_data(drawing: Drawing) -> bytes | None:
    how = drawing.below(5)
    if how == 0:
        return drawing.blob_or_none()
    if how == 1:
        return group_blobs.CooperativeStickyAssignorUserData(generation=drawing.below(5) - 1).encode(0)
    if how > 2:
        return None
    row = group_blobs.StickyAssignorUserData.TopicPartition
    rows = [
        row(topic=drawing.choice(_TOPICS), partitions=[drawing.below(9) - 1 for _ in range(drawing.below(5))])
        for _ in range(drawing.below(4))
    ]
    version = drawing.below(2)
    return group_blobs.StickyAssignorUserData(previous_assignment=rows, generation=drawing.below(5)).encode(version)


def _metadata(drawing: Drawing) -> bytes:
    said = MemberSubscription(
        [drawing.choice(_TOPICS) for _ in range(drawing.below(5))],
        _user_data(drawing),
        [_partition(drawing) for _ in range(drawing.below(9))],
        drawing.below(6) - 2,
        drawing.choice((None, "r", "q", "")),
    )
    made = encode_subscription(said, drawing.below(4))
    if drawing.byte() > 240:
        at = drawing.byte() % len(made)
        made = made[:at] + drawing.take(drawing.below(3)) + made[at + drawing.below(3) :]
    return made


def _cluster(drawing: Drawing) -> ClusterView:
    counts = {topic: drawing.below(8) for topic in _TOPICS}
    if drawing.flag():
        return ClusterView({topic: count for topic, count in counts.items() if count})
    racks = (frozenset[str](), frozenset("r"), frozenset("q"), frozenset("rq"))
    found = {topic: [drawing.choice(racks) for _ in range(count)] for topic, count in counts.items()}
    return ClusterView({topic: count for topic, count in counts.items() if count}, found)


@target(seeds=lambda: [bytes([n % 4, *((n * m + m * m) & 0xFF for m in range(120))]) for n in range(40)],
        traced="engine/groups/assignors", max_len=300, budget=(8 << 20, 64 << 10))  # fmt: skip
def group_assignments(data: bytes) -> None:
    """what members of a classic group say that they want and own, to each assignor of its leader"""
    drawing = Drawing(data)
    name = drawing.choice(_ASSIGNORS)
    assignors, cluster = assignors_of(name), _cluster(drawing)
    rows = [
        (f"m{number}", drawing.choice((None, None, "i", "j")), _metadata(drawing))
        for number in range(1 + drawing.below(6))
    ]
    for generation in range(4):
        try:
            wanted = assignors.subscribed_topics(rows)
            told = assignors.assign(name, cluster, rows)
        except errors.CodecError:
            return
        found = {member: decode_assignment(blob).partitions for member, blob in told.items()}
        _check_given(cluster, wanted, found, is_last=generation == 3 or name != "cooperative-sticky")
        rows = list(_next_round(rows, found, generation))


def _check_given(cluster: ClusterView, wanted: set[str], found: Any, *, is_last: bool) -> None:
    given = [partition for partitions in found.values() for partition in partitions]
    everything = {partition for topic in wanted for partition in cluster.partitions(topic)}
    assert len(given) == len(set(given)), "a partition has two readers"
    assert everything.issuperset(given), "a partition that is not there has a reader"
    assert not is_last or everything == set(given), "a partition has no reader"


def _next_round(rows: Any, found: Any, generation: int) -> Iterator[Any]:
    """The members again, who now have what they were given."""
    for member, instance, metadata in rows:
        with contextlib.suppress(errors.CodecError):
            topics = group_blobs.ConsumerProtocolSubscription.decode(metadata[2:], 0, strict=False).topics
            said = MemberSubscription(topics, None, found[member], generation + 10)
            yield member, instance, encode_subscription(said)
