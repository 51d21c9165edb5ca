"""Questions as waits, in virtual time: answers, errors, one limit for several, and cuts that leave nothing."""

from __future__ import annotations

import pytest

from kwire import errors
from kwire.engine.admin import calls, group_calls
from kwire.engine.admin.inquiry import Inquiry
from kwire.engine.common.waits import Until
from kwire.engine.settings.clients import AdminSettings
from tests.engine.embedded_world import EmbeddedClient, EmbeddedWorld
from tests.engine.waiting import WorldDoor, cut_at_each_step


class Asker:
    """A client of an embedded cluster that asks."""

    def __init__(self, **properties: object) -> None:
        self.shared = EmbeddedWorld(topics={"t": 2}, seed=3, **properties)
        self.client = EmbeddedClient(self.shared, AdminSettings(**self.shared.settings({})))
        self.door = WorldDoor(self.client)

    def inquiry(self, patience: float = 30.0) -> Inquiry:
        return Inquiry(self.door, self.client.core, patience)


def test_a_question_is_answered() -> None:
    it = Asker()
    assert it.door.run(it.inquiry().ask(calls.list_topics(internal=False))) == ["t"]
    assert [type(step) for step in it.door.steps] == [Until]


def test_a_question_about_nothing_takes_no_step() -> None:
    it = Asker()
    assert it.door.run(it.inquiry().ask(calls.describe_topics([]))) == {}
    assert it.door.steps == []


def test_the_error_of_the_answer_is_raised() -> None:
    it = Asker()
    with pytest.raises(errors.UnknownTopicError):
        it.door.run(it.inquiry(5.0).ask(calls.describe_topics(["missing"])))


def test_several_questions_have_one_limit() -> None:
    it = Asker()
    inquiry = it.inquiry(7.0)
    began = it.client.now
    it.door.run(inquiry.ask(calls.list_topics(internal=False)))
    it.client.run(began + 5)
    assert inquiry.seconds_left == pytest.approx(2.0)
    it.shared.faults.mute("Metadata", times=None)
    with pytest.raises(errors.KafkaTimeoutError):
        it.door.run(inquiry.ask(calls.list_topics(internal=False)))
    assert it.client.now - began == pytest.approx(7.0, abs=0.5)


def test_groups_of_either_protocol_are_described_in_turn() -> None:
    it = Asker()
    with pytest.raises(errors.BrokerError, match="GROUP_ID_NOT_FOUND"):
        it.door.run(group_calls.describe_groups(it.inquiry(), ["missing"]))
    assert it.door.run(group_calls.progress(it.inquiry(), "missing", stable=True)) == {}


def test_what_is_cut_at_each_step_leaves_nothing_behind() -> None:
    it = Asker()
    before = len(it.client.core.cluster.listeners), len(it.client.core.recovered)
    found = cut_at_each_step(it.door, lambda: group_calls.progress(it.inquiry(), "g", stable=True))
    assert found == {}
    assert (len(it.client.core.cluster.listeners), len(it.client.core.recovered)) == before
    assert it.door.run(it.inquiry().ask(calls.list_topics(internal=False))) == ["t"]
