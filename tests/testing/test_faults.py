"""Faults: which requests they hit, how often, and what happens then."""

from __future__ import annotations

import math

import pytest

from kwire.errors import ConfigError
from kwire.errors import broker as codes
from kwire.protocol import APIS, MetadataRequest
from kwire.testing.answers.handlers import HANDLERS
from kwire.testing.features import is_switched_off
from kwire.testing.requests import CloseConnectionError
from tests.testing.frames import requests
from tests.testing.in_process import InProcess
from tests.testing.wire import batch, fetch, produce

ALL_TOPICS = MetadataRequest(topics=None)


@pytest.fixture
def broker() -> InProcess:
    made = InProcess("3.9.2")
    made.cluster.create_topic("orders", 2)
    return made


def end_offset(broker: InProcess) -> int:
    return broker.cluster.topics["orders"].partitions[0].log.end_offset


def test_an_error_is_answered_so_often_and_nothing_takes_effect(broker: InProcess) -> None:
    broker.faults.error("Produce", codes.CORRUPT_MESSAGE)
    broker.faults.error("Produce", codes.CORRUPT_MESSAGE.code)
    answered = []
    for _ in range(3):
        response = broker.ask(produce(batch(b"a")), 9)
        answered.append(response.responses[0].partition_responses[0].error_code)
    assert answered == [2, 2, 0]
    assert end_offset(broker) == 1
    assert broker.faults.pending == 0


@pytest.mark.parametrize("key", sorted(HANDLERS))
def test_every_api_can_answer_an_error(broker: InProcess, key: int) -> None:
    for version in APIS[key].versions:
        if broker.apis.release.serves(key, version) and not is_switched_off(key, broker.cluster.features):
            broker.faults.error(None, 7)
            [request, *_] = requests(key, version)
            assert "error_code=7" in repr(broker.ask(request, version))


def test_only_the_named_api_is_hit(broker: InProcess) -> None:
    broker.faults.error("Produce", 2, times=None)
    assert broker.ask(fetch(0), 11).responses[0].partitions[0].error_code == 0
    assert broker.faults.pending == 1
    broker.faults.clear()
    assert broker.faults.pending == 0


def test_a_delay_holds_the_request_back(broker: InProcess) -> None:
    broker.faults.delay("Produce", 2.0)
    waiting = broker.begin(produce(batch(b"a")), 9)
    assert end_offset(broker) == 0
    broker.now = 1.9
    assert not waiting.wake()
    broker.now = 2.0
    assert waiting.wake()
    assert end_offset(broker) == 1


@pytest.mark.parametrize("after_effect", [False, True])
def test_close(broker: InProcess, after_effect: bool) -> None:
    broker.faults.close("Produce", after_effect=after_effect)
    with pytest.raises(CloseConnectionError, match="Produce"):
        broker.ask(produce(batch(b"a")), 9)
    assert end_offset(broker) == after_effect
    assert broker.ask(ALL_TOPICS, 9).topics


@pytest.mark.parametrize("after_effect", [False, True])
def test_mute(broker: InProcess, after_effect: bool) -> None:
    broker.faults.mute("Produce", after_effect=after_effect)
    waiting = broker.begin(produce(batch(b"a")), 9)
    assert waiting.suspended is not None
    assert waiting.suspended.until == math.inf
    waiting.step()
    assert waiting.answer is None
    assert end_offset(broker) == after_effect


def test_truncate(broker: InProcess) -> None:
    broker.faults.truncate("Metadata", 7)
    waiting = broker.begin(ALL_TOPICS, 9)
    assert waiting.answer is not None
    assert waiting.answer.close_reason
    assert [len(part) for part in waiting.answer.parts] == [7]  # type: ignore[arg-type]


def test_a_delay_comes_before_another_fault(broker: InProcess) -> None:
    broker.faults.error("Metadata", 5)
    broker.faults.delay("Metadata", 1.0)
    waiting = broker.begin(ALL_TOPICS, 9)
    broker.now = 1.0
    assert waiting.wake()
    assert waiting.response.topics[0].error_code == 5


def test_what_cannot_be_meant_is_refused(broker: InProcess) -> None:
    with pytest.raises(ConfigError, match=r"'Prodcue'.*Produce"):
        broker.faults.error("Prodcue", 2)
    with pytest.raises(ConfigError, match="times 0"):
        broker.faults.close("Produce", times=0)
    with pytest.raises(ConfigError, match="seconds -1"):
        broker.faults.delay("Produce", -1)
    with pytest.raises(ConfigError, match="bytes_per_second 0"):
        broker.faults.slow(0)
    with pytest.raises(ConfigError, match="size -1"):
        broker.faults.truncate("Fetch", -1)
