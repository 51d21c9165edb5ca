"""Produce's rows, which have code of their own: byte for byte what the schema says of requests, and of responses the
same as their messages say, in the usual form and in any other, at every version.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kwire import protocol
from kwire._codec import Delivery
from kwire.schema.k00_produce import ProduceRequest
from tests.engine.produce_world import Leader, ProducerWorld
from tests.engine.world import Answer

_VERSIONS = range(14)
_PLACES = [("t", 2), ("u", 0), ("t", 0), ("t", 1)]
_LARGE = b"large enough to be sent from where it is" * 50
Change = Callable[[protocol.ProduceResponse], None]


class _Exact(Leader):
    """Speaks one version of Produce; keeps the frames, and says what a test lays into its mouth."""

    def __init__(self, version: int) -> None:
        super().__init__("4.4.0" if version > 11 else "3.9.2")
        self.versions = {**self.versions, 0: (version, version)}
        self.frames: list[bytes] = []
        self.change: Change = lambda response: None
        self.cut: Callable[[bytes], bytes] = bytes

    def answer(self, frame: bytes, now: float) -> Answer:
        answer = super().answer(frame, now)
        if frame[4:6] == b"\0\0":
            self.frames.append(frame)
            assert answer is not None
            return [self.cut(part) for part in answer]
        return answer

    def produce(self, message: Any, version: int, now: float) -> Any:
        response = super().produce(message, version, now)
        for topic in response.responses:
            for row in topic.partition_responses:
                row.base_offset += 1_000 * (row.index + 1)
                row.log_append_time_ms = 5_000 + row.index
                row.log_start_offset = 3
        self.change(response)
        return response


def _sent(leader: _Exact, *, value: bytes = b"v") -> dict[tuple[str, int], Delivery]:
    """One record for each place; they go in one request."""
    world = ProducerWorld(leader, topics={"t": [0, 0, 0], "u": [0]}, enable_idempotence=False)
    world.complete(world.send(b"first", "t", partition=0), world.send(b"first", "u", partition=0))
    leader.frames.clear()
    deliveries = {place: world.send(value, place[0], partition=place[1]) for place in _PLACES}
    world.complete(*deliveries.values())
    return deliveries


def _told(deliveries: dict[tuple[str, int], Delivery]) -> dict[tuple[str, int], tuple[int, int]]:
    return {place: (each.result().offset, each.result().timestamp) for place, each in deliveries.items()}


@pytest.mark.parametrize("version", _VERSIONS)
def test_a_request_is_byte_for_byte_what_the_schema_says(version: int) -> None:
    for value in (b"v", _LARGE):
        leader = _Exact(version)
        _sent(leader, value=value)
        [frame] = leader.frames
        header, message = protocol.decode_request(frame)
        assert isinstance(message, ProduceRequest)
        assert sorted(len(topic.partition_data) for topic in message.topic_data) == [1, 3]
        again = protocol.encode_request(
            message, version, correlation_id=header.correlation_id, client_id=header.client_id
        )
        assert frame == again


@pytest.mark.parametrize("version", _VERSIONS)
def test_each_record_has_the_offset_and_time_of_its_row(version: int) -> None:
    deliveries = _sent(_Exact(version))
    told = _told(deliveries)
    assert {place: offset for place, (offset, _) in told.items()} == {
        ("t", 2): 3_000, ("u", 0): 1_001, ("t", 0): 1_001, ("t", 1): 2_000
    }  # fmt: skip
    if version >= 2:
        assert {place: when for place, (_, when) in told.items()} == {
            ("t", 2): 5_002, ("u", 0): 5_000, ("t", 0): 5_000, ("t", 1): 5_001
        }  # fmt: skip


def _reverse(response: protocol.ProduceResponse) -> None:
    response.responses = [*response.responses][::-1]
    for topic in response.responses:
        topic.partition_responses = [*topic.partition_responses][::-1]


def _repeat(response: protocol.ProduceResponse) -> None:
    response.responses = [*response.responses, *response.responses]


def _tag_rows(response: protocol.ProduceResponse) -> None:
    for topic in response.responses:
        for row in topic.partition_responses:
            row.unknown_tagged_fields[7] = b"?"


def _tag_topics(response: protocol.ProduceResponse) -> None:
    for topic in response.responses:
        topic.unknown_tagged_fields[7] = b"?"


def _tag_all(response: protocol.ProduceResponse) -> None:
    response.unknown_tagged_fields[7] = b"?"


def _say_something(response: protocol.ProduceResponse) -> None:
    response.responses[0].partition_responses[0].error_message = "well"


@pytest.mark.parametrize("change", [_reverse, _repeat, _tag_rows, _tag_topics, _tag_all, _say_something])
@pytest.mark.parametrize("version", [8, 9, 12, 13])
def test_a_response_of_another_form_says_the_same(version: int, change: Change) -> None:
    leader = _Exact(version)
    usual = _told(_sent(leader))
    if version < 9 and change in (_tag_rows, _tag_topics, _tag_all):
        return
    leader = _Exact(version)
    leader.change = change
    assert _told(_sent(leader)) == usual


@pytest.mark.parametrize("version", _VERSIONS)
def test_a_row_with_an_error_is_that_of_its_batch_alone(version: int) -> None:
    leader = _Exact(version)

    def refuse(response: protocol.ProduceResponse) -> None:
        for topic in response.responses:
            for row in topic.partition_responses:
                if row.index == 1:
                    row.error_code = 87

    leader.change = refuse
    world = ProducerWorld(leader, topics={"t": [0, 0, 0]}, enable_idempotence=False)
    deliveries = [world.send(b"v", "t", partition=partition) for partition in range(3)]
    world.run(lambda: all(delivery.done() for delivery in deliveries))
    assert [delivery.exception() is None for delivery in deliveries] == [True, False, True]
    assert deliveries[2].result().offset == 3_000


@pytest.mark.parametrize("version", [3, 8, 9, 13])
def test_a_batch_without_a_row_fails_and_the_others_are_written(version: int) -> None:
    leader = _Exact(version)

    def forget(response: protocol.ProduceResponse) -> None:
        rows = response.responses[0].partition_responses
        response.responses[0].partition_responses = [row for row in rows if row.index != 1]

    leader.change = forget
    world = ProducerWorld(leader, topics={"t": [0, 0, 0]}, enable_idempotence=False)
    deliveries = [world.send(b"v", "t", partition=partition) for partition in range(3)]
    world.run(lambda: all(delivery.done() for delivery in deliveries))
    assert [str(delivery.exception() or "") for delivery in deliveries] == [
        "", "the response to Produce has no entry for t-1", ""
    ]  # fmt: skip


@pytest.mark.parametrize("version", [3, 8, 9, 13])
def test_a_response_that_is_cut_off_anywhere_confirms_nothing(version: int) -> None:
    leader = _Exact(version)
    _sent(leader)
    for left in range(4, 40):
        leader = _Exact(version)
        leader.cut = lambda frame, left=left: (left).to_bytes(4, "big") + frame[4 : 4 + left]  # type: ignore[misc]
        world = ProducerWorld(leader, topics={"t": [0, 0, 0]}, enable_idempotence=False, retries=0)
        deliveries = [world.send(b"v", "t", partition=partition) for partition in range(3)]
        world.run(lambda of=deliveries: all(delivery.done() for delivery in of))  # type: ignore[misc]
        assert all(delivery.exception() is not None for delivery in deliveries), left


@pytest.mark.parametrize("version", [1, 9, 13])
def test_a_leader_that_asks_for_a_pause_has_it(version: int) -> None:
    leader = _Exact(version)
    leader.throttle = 700
    world = ProducerWorld(leader, linger_ms=0, enable_idempotence=False)
    world.complete(world.send(b"v"))
    before = world.now
    world.complete(world.send(b"v"))
    assert world.now - before >= 0.69
