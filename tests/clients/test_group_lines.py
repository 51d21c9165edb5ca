"""What the log says of a group's life: two members come, one leaves, the other one is lost and comes back."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from kwire import Consumer, ShareConsumer
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.groups.group_log import GroupLog
from kwire.testing import Broker
from tests.clients.group_lines import BROKER, HALVES, LIVES, REFUSALS, Told, options
from tests.timing import PATIENT


def poll_until(done: Callable[[], bool], *consumers: Any) -> None:
    deadline = time.monotonic() + PATIENT
    while not done():
        assert time.monotonic() < deadline
        for consumer in consumers:
            consumer.poll(0.02)


@pytest.mark.parametrize("kind", LIVES)
def test_a_life_is_told(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "kwire.clients")
    told, details = Told(caplog, logging.INFO), Told(caplog, logging.DEBUG)
    made = ShareConsumer if kind == "share" else Consumer
    with Broker(**BROKER) as broker, ExitStack() as stack:
        one, two = (stack.enter_context(made(broker.bootstrap_servers, **options(kind))) for _ in range(2))
        one.subscribe(["t"])
        poll_until(lambda: told.has(r"assigned .*; 12 in all"), one)
        if isinstance(one, Consumer):
            one.commit({("t", 0): 0})
            poll_until(lambda: details.has(r"committed t-0: 0; refused: none"), one)
        two.subscribe(["t"])
        poll_until(lambda: told.has(r"assigned t-.*; 6 in all", times=HALVES[kind]), one, two)
        one.close()
        poll_until(lambda: told.has(r"assigned t-.*; 12 in all", times=2), two)
        broker.faults.error(*REFUSALS[kind])
        poll_until(lambda: told.has(r"assigned t-.*; 12 in all", times=3) and details.has("heartbeat"), two)
    told.check(LIVES[kind])
    assert details.has("heartbeat failed: .*")


def test_lists_are_bounded_and_control_characters_escaped() -> None:
    lines: list[str] = []
    log = GroupLog("g", "i", "generation", lambda: ("m", 3))
    log.write_info = lambda line: lines.append(str(line))
    log.assigned([TopicPartition("t", number) for number in range(5000)], 5000)
    log.info("joins: %s", "a reason\nERROR of another program")
    log.failed("joining", "refused")
    log.failed("joining", "refused")
    assert lines[0].startswith("group 'g', instance 'i', member 'm', generation 3: assigned t-0, t-1, ")
    assert lines[0].endswith(" and 4990 more; 5000 in all")
    assert lines[1].endswith(r"joins: a reason\nERROR of another program")
    assert lines[2:] == ["group 'g', instance 'i', member 'm', generation 3: joining failed: refused"]
