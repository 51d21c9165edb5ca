"""The same stories of groups told to real Kafka and to the embedded broker of the same release: the same answers.

Each story is told in every version of its main request. Member ids are compared by the order in which they came up,
texts of errors not at all.
"""

from __future__ import annotations

import socket
import struct
import time
import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import zip_longest
from typing import Any

import pytest

from kwire import protocol
from kwire.protocol import (
    AlterShareGroupOffsetsRequest,
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    CreateTopicsRequest,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    DescribeShareGroupOffsetsRequest,
    ListGroupsRequest,
    MetadataRequest,
    ShareAcknowledgeRequest,
    ShareFetchRequest,
    ShareGroupDescribeRequest,
    ShareGroupHeartbeatRequest,
)
from kwire.testing import Broker
from tests.brokers import Cluster
from tests.testing.groups.requests import (
    commit,
    delete_offsets,
    fetch_offsets,
    find_coordinator,
    heartbeat,
    join,
    leave,
    sync,
)
from tests.testing.wire import batch, produce

pytestmark = pytest.mark.wall_clock

WITHIN_S = 15.0
NOT_COMPARED = {"throttle_time_ms", "error_message", "acknowledge_error_message", "host", "port", "node_id", "records"}
RETRIED = {14, 15, 16}
NOT_LEADER = 6
Spans = dict[int, tuple[int, int]]
Story = Callable[["Talk", int], None]


class Talk:
    """Connections to one broker by name, what was heard on them, and the names of what differs by broker."""

    def __init__(self, servers: str, spans: Spans, topic: str, topic_id: uuid.UUID) -> None:
        host, _, port = servers.rpartition(":")
        self._address = host, int(port)
        self.spans, self.topic, self.topic_id = spans, topic, topic_id
        self._sockets: dict[str, socket.socket] = {}
        self._asked: dict[str, tuple[int, int, str]] = {}
        self._names: dict[Any, str] = {topic: "<topic>", topic_id: "<topic id>"}
        self.heard: list[str] = []
        self.ignored = set(NOT_COMPARED)

    def version(self, key: int, wanted: int) -> int:
        """The version nearest to the one wanted that the release has."""
        low, high = self.spans[key]
        return min(max(wanted, low), high)

    def has(self, key: int, version: int = 0) -> bool:
        return key in self.spans and self.spans[key][1] >= version

    def send(self, who: str, request: protocol.Request, version: int) -> None:
        if who not in self._sockets:
            self._sockets[who] = socket.create_connection(self._address, WITHIN_S)
        self._asked[who] = request.__api_key__, version, f"{who}: {type(request).__name__} {version}"
        self._sockets[who].sendall(protocol.encode_request(request, version, correlation_id=1, client_id=who))

    def receive(self, who: str) -> Any:
        key, version, label = self._asked[who]
        stream = self._sockets[who].makefile("rb")
        size = stream.read(4)
        response = protocol.decode_response(size + stream.read(struct.unpack(">i", size)[0]), key, version)[1]
        self.note(getattr(response, "member_id", None))
        self.heard.append(f"{label} -> {self._comparable(response.to_dict())}")
        return response

    def ask(self, who: str, request: protocol.Request, version: int) -> Any:
        """Asks until the coordinator is there and has loaded its groups."""
        until = time.monotonic() + WITHIN_S
        while True:
            self.send(who, request, version)
            response = self.receive(who)
            if not RETRIED & set(_codes(response.to_dict())) or time.monotonic() > until:
                return response
            self.heard.pop()
            time.sleep(0.1)

    def group(self) -> str:
        """The name of a new group."""
        made = uuid.uuid4().hex
        self._names[made], self._names[made + "none"] = "<group>", "<no group>"
        return made

    def note(self, member_id: str | None) -> None:
        """From now on this id goes by the order in which it came up."""
        if member_id and member_id not in self._names:
            self._names[member_id] = f"<member {len(self._names)}>"

    def close(self) -> None:
        for each in self._sockets.values():
            each.close()

    def _comparable(self, value: Any) -> Any:
        if isinstance(value, dict):
            for key in ("member_id", "leader"):
                self.note(value.get(key))
            return {key: self._comparable(item) for key, item in value.items() if key not in self.ignored}
        if isinstance(value, list | tuple):
            return sorted((self._comparable(item) for item in value), key=str)
        if isinstance(value, str | uuid.UUID):
            return self._names.get(value, value)
        return value


def _codes(value: Any) -> Iterable[int]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "error_code":
                yield item
            else:
                yield from _codes(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _codes(item)


def enter(talk: Talk, who: str, group: str, version: int, **options: Any) -> str:
    """A member joins, in two steps where it has to; its answer may still be to come."""
    if version >= 4 and not options.get("instance"):
        member: str = talk.ask(who, join(group, **options), version).member_id
        talk.send(who, join(group, member, **options), version)
        return member
    talk.send(who, join(group, **options), version)
    return ""


def a_life(talk: Talk, version: int) -> None:
    """Two members come, work and go."""
    g = talk.group()
    key_version = {key: talk.version(key, version) for key in (8, 9, 10, 12, 13, 14, 15, 16)}
    talk.ask("x", find_coordinator(key_version[10], g), key_version[10])
    talk.ask("x", DescribeGroupsRequest(groups=[g]), key_version[15])
    talk.ask("a", heartbeat("nobody", 1, group=g), key_version[12])
    talk.ask("a", sync("nobody", 1, group=g), key_version[14])
    talk.ask("a", leave("nobody", group=g, version=key_version[13]), key_version[13])
    talk.ask("a", join(g, "nobody"), version)
    enter(talk, "a", g, version)
    a = talk.receive("a").member_id
    talk.ask("x", DescribeGroupsRequest(groups=[g]), key_version[15])
    talk.ask("x", commit({(talk.topic, 0): 1}, a, 1, group=g), talk.version(8, 2))
    talk.ask("a", heartbeat(a, 1, group=g), key_version[12])
    talk.ask("a", join(g, a), version)
    talk.ask("a", sync(a, 5, group=g), key_version[14])
    talk.ask("a", sync("nobody", 1, group=g), key_version[14])
    talk.ask("a", sync(a, 1, group=g, protocol_type=None), key_version[14])
    talk.ask("a", sync(a, 1, group=g, protocol_name="other"), key_version[14])
    talk.ask("a", sync(a, 1, {a: b"all"}, group=g), key_version[14])
    talk.ask("a", sync(a, 1, {a: b"other"}, group=g), key_version[14])
    talk.ask("a", heartbeat(a, 1, group=g), key_version[12])
    talk.ask("a", heartbeat(a, 7, group=g), key_version[12])
    talk.ask("x", DescribeGroupsRequest(groups=[g]), key_version[15])
    for commit_version in range(max(talk.spans[8][0], 1), min(talk.spans[8][1], 9) + 1):
        talk.ask("a", commit({(talk.topic, 0): 5 + commit_version}, a, 1, group=g, metadata="m"), commit_version)
        talk.ask("x", commit({(talk.topic, 0): 1, ("none", 0): 1, (talk.topic, 9): 1}, group=g), commit_version)
        talk.ask("x", commit({(talk.topic, 0): 1}, "nobody", 1, group=g), commit_version)
        talk.ask("x", commit({(talk.topic, 0): 1}, a, 8, group=g), commit_version)
        talk.ask("x", commit({(talk.topic, 0): 1}, "nobody", 1, group=g + "none"), commit_version)
        talk.ask("x", commit({(talk.topic, 0): 1}, a, 1, group=g, metadata="x" * 5000), commit_version)
    for fetch_version in range(max(talk.spans[9][0], 1), min(talk.spans[9][1], 9) + 1):
        talk.ask("x", fetch_offsets(fetch_version, {talk.topic: [0, 9], "none": [0]}, group=g), fetch_version)
        talk.ask("x", fetch_offsets(fetch_version, {talk.topic: [0]}, group=g + "none"), fetch_version)
        if fetch_version >= 2:
            talk.ask("x", fetch_offsets(fetch_version, None, group=g), fetch_version)
    b = enter(talk, "b", g, version)
    time.sleep(0.3)
    talk.ask("a", heartbeat(a, 1, group=g), key_version[12])
    talk.ask("a", sync(a, 1, group=g), key_version[14])
    talk.ask("x", DescribeGroupsRequest(groups=[g]), key_version[15])
    if key_version[8] >= 1:
        talk.ask("a", commit({(talk.topic, 0): 50}, a, 1, group=g), min(key_version[8], 9) or 1)
    talk.ask("a", join(g, a), version)
    b = talk.receive("b").member_id or b
    talk.send("b", sync(b, 2, group=g), key_version[14])
    time.sleep(0.2)
    talk.ask("a", sync(a, 2, {a: b"one", b: b"two"}, group=g), key_version[14])
    talk.receive("b")
    talk.ask("b", join(g, b), version)
    talk.ask("x", join(g, protocol_type="other"), version)
    talk.ask("x", join(g, protocols=["other"]), version)
    talk.ask("x", join(g, session_ms=10), version)
    talk.ask("x", join("", session_ms=10_000), version)
    for list_version in range(talk.spans[16][0], talk.spans[16][1] + 1):
        groups = talk.ask("x", ListGroupsRequest(), list_version).groups
        talk.heard[-1] = str(talk._comparable([each.to_dict() for each in groups if each.group_id == g]))
    if talk.has(42):
        talk.ask("x", DeleteGroupsRequest(groups_names=[g, g + "none"]), talk.version(42, version))
    if talk.has(47):
        talk.ask("x", delete_offsets({talk.topic: [0], "none": [0]}, group=g), 0)
    talk.ask("b", leave(b, group=g, version=key_version[13]), key_version[13])
    talk.ask("b", heartbeat(b, 2, group=g), key_version[12])
    talk.ask("a", heartbeat(a, 2, group=g), key_version[12])
    talk.ask("a", join(g, a, protocols=["range", "more"]), version)
    talk.ask("a", leave(a, group=g, version=key_version[13]), key_version[13])
    talk.ask("x", DescribeGroupsRequest(groups=[g]), key_version[15])
    talk.ask("a", join(g, a), version)
    if talk.has(47):
        talk.ask("x", delete_offsets({talk.topic: [0], "none": [0]}, group=g), 0)
        talk.ask("x", delete_offsets({talk.topic: [0]}, group=g + "none"), 0)
    if talk.has(42):
        talk.ask("x", DeleteGroupsRequest(groups_names=[g]), talk.version(42, version))
        talk.ask("x", DeleteGroupsRequest(groups_names=[g]), talk.version(42, version))


def static_members(talk: Talk, version: int) -> None:
    """A static member is replaced, fenced, and removed by an administrator."""
    if version < 5:
        return
    g = talk.group()
    for key in (8, 12, 13, 14):
        assert talk.has(key)
    beat_version, sync_version, leave_version = talk.version(12, 4), talk.version(14, 5), talk.version(13, version)
    talk.ask("x", find_coordinator(talk.version(10, 6), g), talk.version(10, 6))
    a = talk.ask("a", join(g, instance="i"), version).member_id
    talk.ask("a", sync(a, 1, {a: b"all"}, group=g, instance="i"), sync_version)
    again = talk.ask("b", join(g, instance="i"), version).member_id
    talk.ask("a", heartbeat(a, 1, group=g, instance="i"), beat_version)
    talk.ask("a", heartbeat(a, 1, group=g, instance="unknown"), beat_version)
    talk.ask("a", join(g, a, instance="i"), version)
    talk.ask("a", sync(a, 1, group=g, instance="i"), sync_version)
    fields = {"group_instance_id": "i"} if talk.version(8, 9) >= 7 else {}
    talk.ask("a", commit({(talk.topic, 0): 1}, a, 1, group=g, **fields), talk.version(8, 9))
    talk.ask("b", sync(again, 1, group=g, instance="i"), sync_version)
    if sync_version >= 5:
        named = {"protocol_type": "consumer", "protocol_name": "other"}
        talk.ask("b", sync(again, 1, group=g, instance="i", **named), sync_version)
        talk.ask("b", sync(again, 1, group=g, instance="i", **(named | {"protocol_name": "range"})), sync_version)
    talk.ask("x", DescribeGroupsRequest(groups=[g]), talk.version(15, 6))
    talk.ask("x", leave("", group=g, instance="i"), max(leave_version, 3))
    talk.ask("x", leave("", group=g, instance="i"), max(leave_version, 3))
    talk.ask("x", leave(again, group=g), max(leave_version, 3))
    talk.ask("b", heartbeat(again, 1, group=g, instance="i"), beat_version)


def offsets_alone(talk: Talk, version: int) -> None:
    """Offsets of a group without members, in ZooKeeper, too, where there is one."""
    g = talk.group()
    if talk.has(10):
        talk.ask("x", find_coordinator(talk.version(10, 6), g), talk.version(10, 6))
    for commit_version in range(max(talk.spans[8][0], 1), min(talk.spans[8][1], 9) + 1):
        asked = {(talk.topic, 0): commit_version, ("none", 0): 1, (talk.topic, 9): 1}
        talk.ask("x", commit(asked, group=g, metadata=None), commit_version)
        for fetch_version in range(max(talk.spans[9][0], 1), min(talk.spans[9][1], 9) + 1):
            talk.ask("x", fetch_offsets(fetch_version, {talk.topic: [0, 9], "none": [0]}, group=g), fetch_version)
    if talk.spans[8][0] == 0 and talk.spans[8][1] < 8:
        for asked in ({(talk.topic, 0): 3, ("none", 0): 1, (talk.topic, 9): 1}, {(talk.topic, 0): 4}):
            talk.ask("z", commit(asked, group=g, metadata="m" * (5000 if len(asked) > 1 else 1)), 0)
            talk.ask("z", fetch_offsets(0, {talk.topic: [0, 9], "none": [0]}, group=g), 0)
    if talk.has(8, 10):
        ids = {"t": talk.topic_id, "none": uuid.UUID(int=77)}
        talk.ask("x", commit({("t", 0): 3, ("t", 9): 3, ("none", 0): 3}, group=g, ids=ids), 10)
        talk.ask("x", fetch_offsets(10, {"t": [0, 9], "none": [0]}, group=g, ids=ids), 10)
        talk.ask("x", fetch_offsets(10, None, group=g), 10)
    if talk.has(15):
        talk.ask("x", DescribeGroupsRequest(groups=[g]), talk.version(15, 6))
        groups = talk.ask("x", ListGroupsRequest(), talk.spans[16][1]).groups
        talk.heard[-1] = str(talk._comparable([each.to_dict() for each in groups if each.group_id == g]))


def consumers(talk: Talk, version: int) -> None:
    """Two consumers of KIP-848 share a topic, then go."""
    g, t = talk.group(), talk.topic

    def beat(who: str, member: str, epoch: int, owned: Iterable[int] | None = (), **fields: Any) -> Any:
        parts = ConsumerGroupHeartbeatRequest.TopicPartitions(topic_id=talk.topic_id, partitions=tuple(owned or ()))
        given = None if owned is None else [parts] if owned else []
        request = ConsumerGroupHeartbeatRequest(
            **{"group_id": g, "member_id": member, "member_epoch": epoch, "topic_partitions": given, **fields}
        )
        return talk.ask(who, request, version)

    def describe() -> None:
        talk.ask("x", ConsumerGroupDescribeRequest(group_ids=[g, g + "none"]), talk.version(69, version))

    first = {"rebalance_timeout_ms": 5000, "subscribed_topic_names": [t]}
    talk.ask("x", find_coordinator(6, g), 6)
    beat("a", "a", 1, None)
    beat("a", "a", -1, None)
    for wrong in (
        {"group_id": ""}, {"instance_id": ""}, {"rack_id": ""}, {"rebalance_timeout_ms": -1},
        {"subscribed_topic_names": None}, {"topic_partitions": None}, {"member_epoch": -3}, {"member_epoch": -2},
        {"server_assignor": "none"},
    ):  # fmt: skip
        beat("a", "a", 0, **(first | wrong))
    a = beat("a", "a" if version else "", 0, **first).member_id
    describe()
    owned = [0, 1, 2, 3]
    beat("a", a, 1, owned)
    beat("a", a, 1, None)
    beat("a", a, 1, owned, **first)
    beat("a", a, 0, [], **first)
    beat("a", a, 3, owned)
    b = beat("b", "b" if version else "", 0, **first).member_id
    describe()
    beat("b", b, 2, [])
    beat("a", a, 1, owned)
    describe()
    beat("a", a, 1, owned)
    kept = [0, 1]
    beat("a", a, 1, kept)
    beat("a", a, 2, kept)
    beat("a", a, 1, kept)
    beat("b", b, 2, [])
    describe()
    beat("b", b, 2, [2, 3])
    for commit_version in range(talk.spans[8][0], min(talk.spans[8][1], 9) + 1):
        talk.ask("x", commit({(t, 0): 3}, a, 2, group=g), commit_version)
        talk.ask("x", commit({(t, 0): 3}, "nobody", 2, group=g), commit_version)
        talk.ask("x", commit({(t, 0): 3}, group=g), commit_version)
        talk.ask("x", commit({(t, 0): 3}, a, 9, group=g), commit_version)
    for member, epoch in ((a, 2), (a, 9), ("nobody", 2), (None, -1)):
        asked = fetch_offsets(9, {t: [0]}, group=g, member_id=member, member_epoch=epoch)
        talk.ask("x", asked, 9)
    talk.ask("x", DescribeGroupsRequest(groups=[g]), 6)
    talk.ask("x", DescribeGroupsRequest(groups=[g]), 5)
    talk.ask("x", delete_offsets({t: [0]}, group=g), 0)
    talk.ask("x", DeleteGroupsRequest(groups_names=[g]), 2)
    talk.ask("x", heartbeat(a, 2, group=g), 4)
    talk.ask("x", sync(a, 2, group=g), 5)
    talk.ask("x", leave(a, group=g), 5)
    beat("b", b, -1, None)
    describe()
    beat("a", a, 2, kept)
    describe()
    beat("a", a, -1, None)
    describe()
    talk.ask("x", DeleteGroupsRequest(groups_names=[g]), 2)
    describe()


def static_consumers(talk: Talk, version: int) -> None:
    """Static consumers of KIP-848 leave for a while and come back."""
    g = talk.group()
    first = {"rebalance_timeout_ms": 5000, "subscribed_topic_names": [talk.topic], "topic_partitions": []}

    def beat(member: str, epoch: int, instance: str | None = "i", **fields: Any) -> Any:
        request = ConsumerGroupHeartbeatRequest(
            group_id=g, member_id=member, member_epoch=epoch, instance_id=instance, **fields
        )
        return talk.ask("a", request, version)

    talk.ask("x", find_coordinator(6, g), 6)
    a = beat("a", 0, **first).member_id
    beat("b", 0, **first)
    beat("b", 1)
    beat(a, 1, "unknown")
    beat("b", -2)
    beat(a, -2)
    talk.ask("x", ConsumerGroupDescribeRequest(group_ids=[g]), talk.version(69, version))
    c = beat("c", 0, **first).member_id
    beat(a, 1)
    talk.ask("x", ConsumerGroupDescribeRequest(group_ids=[g]), talk.version(69, version))
    beat(c, -1)
    talk.ask("x", ConsumerGroupDescribeRequest(group_ids=[g]), talk.version(69, version))


def patterns(talk: Talk, version: int) -> None:
    """Subscriptions by pattern."""
    if version < 1:
        return
    g = talk.group()
    talk.ask("x", find_coordinator(6, g), 6)

    def beat(epoch: int, **fields: Any) -> Any:
        request = ConsumerGroupHeartbeatRequest(group_id=g, member_id="a", member_epoch=epoch, **fields)
        return talk.ask("a", request, version)

    first: dict[str, Any] = {"rebalance_timeout_ms": 5000, "topic_partitions": []}
    for wrong in ("(", "a(?=b)", r"(a)\1", ""):
        beat(0, subscribed_topic_regex=wrong, **first)
    epoch = beat(0, subscribed_topic_regex=f"{talk.topic}|none.*", **first).member_epoch
    time.sleep(0.5)
    talk.heard.append(f"assigned: {beat(epoch, topic_partitions=[]).assignment is not None}")


def migration(talk: Talk, version: int) -> None:
    """A classic member's group is joined by a consumer, which leaves again."""
    g = talk.group()
    talk.ask("x", find_coordinator(6, g), 6)
    subscription = protocol.ConsumerProtocolSubscription(topics=[talk.topic]).to_blob(1)
    assigned = protocol.ConsumerProtocolAssignment.TopicPartition(topic=talk.topic, partitions=[0, 1, 2, 3])
    everything = protocol.ConsumerProtocolAssignment(assigned_partitions=[assigned]).to_blob(1)
    a = talk.ask("a", join(g, metadata=subscription), 3).member_id
    talk.ask("a", sync(a, 1, {a: everything}, group=g), 5)
    first = {"rebalance_timeout_ms": 5000, "subscribed_topic_names": [talk.topic], "topic_partitions": []}

    def beat(epoch: int, **fields: Any) -> Any:
        request = ConsumerGroupHeartbeatRequest(group_id=g, member_id="n", member_epoch=epoch, **fields)
        return talk.ask("n", request, version)

    n = beat(0, **first).member_epoch
    talk.ask("x", ConsumerGroupDescribeRequest(group_ids=[g]), 1)
    talk.ask("a", heartbeat(a, 1, group=g), 4)
    talk.ask("a", sync(a, 1, group=g), 5)
    joined = talk.ask("a", join(g, a, metadata=subscription), 9)
    talk.ask("a", join(g, a, protocols=["other"], metadata=subscription), 9)
    talk.ask("a", sync(a, joined.generation_id, group=g), 5)
    talk.ask("a", heartbeat(a, joined.generation_id, group=g), 4)
    beat(n)
    talk.ask("x", ConsumerGroupDescribeRequest(group_ids=[g]), 1)
    joined = talk.ask("a", join(g, a, metadata=subscription), 9)
    talk.ask("a", sync(a, joined.generation_id, group=g), 5)
    talk.ask("x", commit({(talk.topic, 0): 3}, a, joined.generation_id, group=g), 9)
    talk.ask("x", commit({(talk.topic, 0): 3}, a, 99, group=g), 9)
    talk.ask("x", DescribeGroupsRequest(groups=[g]), 6)
    beat(-1)
    talk.ask("a", heartbeat(a, joined.generation_id, group=g), 4)
    talk.ask("x", DescribeGroupsRequest(groups=[g]), 5)
    talk.ask("a", join(g, a, metadata=subscription), 9)
    talk.ask("a", leave(a, group=g), 5)


def shares(talk: Talk, version: int) -> None:
    """Members of a share group fetch and acknowledge."""
    g = talk.group()
    talk.ask("x", find_coordinator(6, g), 6)
    member = str(uuid.uuid4())
    talk.note(member)

    def beat(who: str, epoch: int, **fields: Any) -> Any:
        request = ShareGroupHeartbeatRequest(**{"group_id": g, "member_id": who, "member_epoch": epoch, **fields})
        return talk.ask("a", request, version)

    beat(member, 1)
    for wrong in (
        {"group_id": ""}, {"member_id": ""}, {"rack_id": ""}, {"subscribed_topic_names": None}, {"member_epoch": -2},
    ):  # fmt: skip
        beat("a", 0, **({"subscribed_topic_names": [talk.topic]} | wrong))
    talk.ignored |= {"member_epoch", "group_epoch", "assignment_epoch"}
    answer = beat(member, 0, subscribed_topic_names=[talk.topic])
    while not answer.assignment or not answer.assignment.topic_partitions:
        talk.heard.pop()
        time.sleep(0.2)
        answer = beat(member, answer.member_epoch)
    beat(member, answer.member_epoch)
    beat(member, 50)
    talk.ask("x", ShareGroupDescribeRequest(group_ids=[g, g + "none"]), version)
    talk.ask("x", join(g), 9)
    talk.ask("x", heartbeat(member, 1, group=g), 4)
    talk.ask("x", sync(member, 1, group=g), 5)
    talk.ask("x", leave(member, group=g), 5)
    talk.ask("x", commit({(talk.topic, 0): 1}, group=g), 9)
    talk.ask("x", fetch_offsets(9, {talk.topic: [0]}, group=g), 9)
    talk.ask("x", delete_offsets({talk.topic: [0]}, group=g), 0)
    talk.ask("x", DeleteGroupsRequest(groups_names=[g]), 2)
    talk.ask("x", DescribeGroupsRequest(groups=[g]), 6)
    request = ConsumerGroupHeartbeatRequest(
        group_id=g, member_id="c", rebalance_timeout_ms=1, subscribed_topic_names=["t"], topic_partitions=[]
    )
    talk.ask("x", request, 1)
    share_records(talk, g, member)
    beat(member, -1)
    beat(member, -1)
    share_offsets(talk, g)


def share_records(talk: Talk, g: str, member: str) -> None:
    asked, said = ShareFetchRequest.FetchTopic, ShareAcknowledgeRequest.AcknowledgeTopic
    newest = talk.spans[78][1]

    def fetch(epoch: int, *given: tuple[int, int, list[int]], index: int = 0, **fields: Any) -> Any:
        batches = [
            asked.FetchPartition.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=types)
            for first, last, types in given
        ]
        wanted = asked.FetchPartition(partition_index=index, acknowledgement_batches=batches)
        limits = {"max_wait_ms": 300, "min_bytes": 1, "max_bytes": 1 << 20, "max_records": 100, "batch_size": 100}
        request = ShareFetchRequest(
            **{
                "group_id": g, "member_id": member, "share_session_epoch": epoch,
                "topics": [asked(topic_id=talk.topic_id, partitions=[wanted])], **limits, **fields,
            }
        )  # fmt: skip
        return talk.ask("f", request, newest)

    def acknowledge(epoch: int, *given: tuple[int, int, list[int]]) -> None:
        batches = [
            said.AcknowledgePartition.AcknowledgementBatch(
                first_offset=first, last_offset=last, acknowledge_types=types
            )
            for first, last, types in given
        ]
        partition = said.AcknowledgePartition(partition_index=0, acknowledgement_batches=batches)
        request = ShareAcknowledgeRequest(
            group_id=g,
            member_id=member,
            share_session_epoch=epoch,
            topics=[said(topic_id=talk.topic_id, partitions=[partition])],
        )
        talk.ask("f", request, talk.spans[79][1])

    acknowledge(0, (0, 0, [1]))
    acknowledge(1, (0, 0, [1]))
    fetch(3)
    fetch(0, (0, 0, [1]))
    while any(row.error_code == NOT_LEADER for topic in fetch(0).responses for row in topic.partitions):
        talk.heard.pop()
        time.sleep(0.2)
    fetch(1, index=99)
    talk.ask("p", produce(batch(*[b"v"] * 5), topic_id=talk.topic_id), 13)
    talk.ask("p", produce(batch(*[b"v"] * 5), topic_id=talk.topic_id), 13)
    first = fetch(2, forgotten_topics_data=[ShareFetchRequest.ForgottenTopic(topic_id=talk.topic_id, partitions=[99])])
    start = first.responses[0].partitions[0].acquired_records[0].first_offset
    fetch(9)
    acknowledge(3, (start, start + 1, [1, 2]), (start + 2, start + 2, [3]))
    fetch(4)
    acknowledge(5, (start, start, [1]))
    acknowledge(6, (start + 3, start + 3, [9]))
    acknowledge(7, (start + 4, start + 3, [1]))
    acknowledge(8, (start + 50, start + 50, [1]))
    acknowledge(9, (start + 3, start + 9, [2]))
    fetch(10, max_records=2)
    fetch(11, max_records=2, share_acquire_mode=1)
    fetch(-1, (start + 3, start + 4, [1, 1]))
    time.sleep(0.5)
    fetch(0, batch_size=2)
    acknowledge(-1)


def share_offsets(talk: Talk, g: str) -> None:
    asked = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup
    for topics in (None, [asked.DescribeShareGroupOffsetsRequestTopic(topic_name=talk.topic, partitions=[0])]):
        for version in range(talk.spans[90][0], talk.spans[90][1] + 1):
            talk.ask("x", DescribeShareGroupOffsetsRequest(groups=[asked(group_id=g, topics=topics)]), version)
    talk.ask("x", DescribeShareGroupOffsetsRequest(groups=[asked(group_id=g + "none", topics=None)]), 0)
    change = AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic
    partitions = [change.AlterShareGroupOffsetsRequestPartition(partition_index=n, start_offset=1) for n in (0, 9)]
    for name in (talk.topic, "none"):
        topic = change(topic_name=name, partitions=partitions)
        talk.ask("x", AlterShareGroupOffsetsRequest(group_id=g, topics=[topic]), 0)
    talk.ask("x", DeleteGroupsRequest(groups_names=[g]), 2)


STORIES: dict[str, tuple[Story, int]] = {
    "a life": (a_life, 11),
    "static members": (static_members, 11),
    "offsets alone": (offsets_alone, 8),
    "consumers": (consumers, 68),
    "static consumers": (static_consumers, 68),
    "patterns": (patterns, 68),
    "migration": (migration, 68),
    "shares": (shares, 76),
}


def _versions(story: str, spans: Spans) -> Iterable[int]:
    key = STORIES[story][1]
    if key not in spans or (story == "offsets alone"):
        return [0] if key in spans else []
    if key == 68 and spans[8][1] < 10:
        return []
    low, high = spans[key]
    return range(max(low, 1) if story == "migration" else low, high + 1)


def _told(servers: str, topic_id: uuid.UUID, *, spans: Spans, topic: str, story: str, version: int) -> list[str]:
    talk = Talk(servers, spans, topic, topic_id)
    try:
        STORIES[story][0](talk, version)
    except (OSError, struct.error, AssertionError, IndexError) as error:
        talk.heard.append(f"ends with {error!r}")
    finally:
        talk.close()
    return talk.heard


def _topic_of(servers: str, spans: Spans, topic: str) -> uuid.UUID:
    talk = Talk(servers, spans, topic, uuid.UUID(int=0))
    until = time.monotonic() + WITHIN_S
    version = talk.version(3, 10)
    if talk.has(19):
        wanted = CreateTopicsRequest.CreatableTopic(name=topic, num_partitions=4, replication_factor=1)
        talk.ask("m", CreateTopicsRequest(topics=[wanted], timeout_ms=10_000), talk.version(19, 4))
    request = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=topic)])
    while time.monotonic() < until:
        [found] = talk.ask("m", request, version).topics
        if found.error_code == 0 and all(each.error_code == 0 for each in found.partitions):
            time.sleep(1)
            talk.close()
            topic_id: uuid.UUID = found.topic_id
            return topic_id
        time.sleep(0.1)
    raise AssertionError(f"{topic} was not made")


def is_a_fault_of(release: str, heard: str) -> bool:
    """What the embedded broker does not copy: 4.0 and 4.1 describe a group as Dead until its first assignment."""
    return release.startswith(("4.0.", "4.1.")) and "DescribeGroupsRequest" in heard and "'Dead'" in heard


@pytest.mark.parametrize("story", STORIES)
def test_the_stories_of_groups_are_those_of_kafka(kafka: Cluster, new_topic: Callable[[], str], story: str) -> None:
    release = kafka.release.version
    spans = protocol.versions_of(release)
    if kafka.release.name == "2.8.2-kraft" or not _versions(story, spans):
        pytest.skip("the release does not have this")
    topic = new_topic()
    with Broker(release=release, offsets_topic_num_partitions=4, num_partitions=1) as broker:
        servers = kafka.bootstrap_servers, broker.bootstrap_servers
        ids = [_topic_of(each, spans, topic) for each in servers]
        different = []
        with ThreadPoolExecutor(2) as pool:
            for version in _versions(story, spans):
                told = partial(_told, spans=spans, topic=topic, story=story, version=version)
                theirs, ours = pool.map(told, servers, ids)
                different += [
                    f"{version}.{at} Kafka {a}\n      kwire {b}"
                    for at, (a, b) in enumerate(zip_longest(theirs, ours, fillvalue=""))
                    if a != b and not is_a_fault_of(release, a)
                ]
    assert not different, f"{len(different)} answers differ\n" + "\n".join(different)
