"""When a client asks what brokers want of its metrics and pushes these, in virtual time, to brokers of any manners."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from kwire import errors, protocol
from kwire.compression import CODECS, decompress
from kwire.engine.common.addresses import Address
from kwire.engine.common.request import ANY
from kwire.engine.telemetry.otlp import Sample
from kwire.engine.telemetry.subscription import DEFAULT_INTERVAL_S, MAX_BYTES, MAX_INTERVAL_S, MIN_INTERVAL_S
from kwire.engine.telemetry.telemetry import ENDED, ENDING, PUSHING, RETRY_S, SUBSCRIBED, Collected, Telemetry
from kwire.errors import ConnectError
from kwire.schema.api_keys import GET_TELEMETRY_SUBSCRIPTIONS, METADATA, PUSH_TELEMETRY
from tests.engine.moves import MadeMoves
from tests.engine.test_lies import Lie, lies_in
from tests.engine.world import Broker, World

HERE = Address("broker", 9092)
ID = UUID(int=7)
NAME = "org.apache.kafka.producer.record.send.total"


class Collecting(Broker):
    """Answers as `says`, by field names, and keeps what is pushed with the time."""

    def __init__(self, release: str = "4.4.0") -> None:
        super().__init__(release)
        self.says: dict[str, Any] = {}
        self.codes: list[int] = []
        self.asked: list[float] = []
        self.pushes: list[tuple[float, Any]] = []
        self.silent = False
        self.handlers[GET_TELEMETRY_SUBSCRIPTIONS] = self.subscriptions
        self.handlers[PUSH_TELEMETRY] = self.push

    def subscriptions(self, message: Any, version: int, now: float) -> Any:
        self.asked.append(now)
        given = {"client_instance_id": ID, "subscription_id": 1, "push_interval_ms": 10_000, "requested_metrics": [""]}
        made = protocol.GetTelemetrySubscriptionsResponse(**given, telemetry_max_bytes=1 << 20)
        for name, value in self.says.items():
            setattr(made, name, value)
        return made

    def push(self, message: Any, version: int, now: float) -> Any:
        self.pushes.append((now, message))
        if self.silent:
            return None
        return protocol.PushTelemetryResponse(error_code=self.codes.pop(0) if self.codes else 0)


class Client:
    """A client that counts to one more with each push."""

    def __init__(self, broker: Collecting | None = None) -> None:
        self.broker = broker or Collecting()
        self.world = World({HERE: self.broker})
        self.total = 0
        self.telemetry = Telemetry(self.world.core, self.collect)
        self.began = self.world.now

    def collect(self) -> Collected:
        self.total += 1
        return Collected([Sample(NAME, (), self.total, True), Sample("other", (), 1.5, False)], {})

    def run(self, until: float | Callable[[], bool]) -> None:
        self.world.run(self.began + until if isinstance(until, float) else until)

    @property
    def push_times(self) -> list[float]:
        return [now - self.began for now, _ in self.broker.pushes]

    @property
    def ask_times(self) -> list[float]:
        return [now - self.began for now in self.broker.asked]

    def values(self, name: str = NAME) -> list[float]:
        return [
            point.as_double
            for _, push in self.broker.pushes
            for metric in _metrics(push)
            if metric.name == name
            for point in (metric.sum.data_points or metric.gauge.data_points)
        ]


def _metrics(push: Any) -> Any:
    data = bytes(decompress(CODECS[push.compression_type], push.metrics, MAX_BYTES))
    return MetricsData.FromString(data).resource_metrics[0].scope_metrics[0].metrics


def test_the_first_push_comes_after_half_to_one_and_a_half_intervals_and_each_other_after_one() -> None:
    client = Client()
    client.run(35.0)
    assert client.ask_times == pytest.approx([0.0], abs=0.1)
    assert client.push_times == pytest.approx([10, 20, 30], abs=0.1)
    assert {push.client_instance_id for _, push in client.broker.pushes} == {ID}
    assert not any(push.terminating for _, push in client.broker.pushes)
    assert client.values() == [1, 2, 3]


@pytest.mark.parametrize(
    ("said", "taken"),
    [(0, DEFAULT_INTERVAL_S), (-5, DEFAULT_INTERVAL_S), (1, MIN_INTERVAL_S), (2**31 - 1, MAX_INTERVAL_S)],
)
def test_an_interval_that_cannot_be_meant_is_bounded(said: int, taken: float) -> None:
    client = Client()
    client.broker.says = {"push_interval_ms": said}
    client.run(2.5 * taken)
    assert client.push_times == pytest.approx([taken, 2 * taken], rel=0.1)


def test_what_comes_with_a_throttle_time_is_followed_after_it() -> None:
    client = Client()
    client.broker.says = {"throttle_time_ms": 25_000}
    client.run(40.0)
    assert client.push_times == pytest.approx([25, 35], abs=0.1)


def test_deltas_are_of_what_was_taken() -> None:
    client = Client()
    client.broker.says = {"delta_temporality": True}
    client.broker.codes = [0, errors.broker.UNKNOWN_SERVER_ERROR.code, 0]
    client.run(35.0)
    assert client.values() == [1, 1, 2]
    assert client.values("other") == [1.5] * 3


@pytest.mark.parametrize("codec", range(5))
def test_messages_are_compressed_by_the_first_codec_that_the_broker_accepts(codec: int) -> None:
    client = Client()
    client.broker.says = {"accepted_compression_types": [99, -1, codec, 1]}
    client.run(12.0)
    assert client.broker.pushes[0][1].compression_type == codec
    assert client.values() == [1]


def test_a_broker_that_wants_nothing_is_asked_again_after_its_interval() -> None:
    client = Client()
    client.broker.says = {"requested_metrics": []}
    client.run(25.0)
    assert client.ask_times == pytest.approx([0, 10, 20], abs=0.1)
    assert not client.broker.pushes
    assert client.telemetry.client_instance_id == ID


@pytest.mark.parametrize(
    ("requested", "pushed"),
    [(["*"], 2), ([""], 2), (["org.apache.kafka."], 1), (["other", "nothing"], 1), (["nothing"], 0), (["*", "x"], 2)],
)
def test_metrics_are_chosen_by_the_beginnings_of_their_names(requested: list[str], pushed: int) -> None:
    client = Client()
    client.broker.says = {"requested_metrics": requested}
    client.run(12.0)
    assert len(client.values(NAME) + client.values("other")) == pushed


def test_a_broker_that_gives_no_id_gets_nothing() -> None:
    client = Client()
    client.broker.says = {"client_instance_id": UUID(int=0)}
    client.run(25.0)
    assert len(client.broker.asked) == 3
    assert not client.broker.pushes


def test_a_client_keeps_the_id_that_it_was_given_first() -> None:
    client = Client()
    client.broker.says = {"requested_metrics": []}
    client.run(5.0)
    client.broker.says = {"client_instance_id": UUID(int=8)}
    client.run(25.0)
    assert client.broker.requests[-1][2].client_instance_id == ID
    assert client.telemetry.client_instance_id == ID


@pytest.mark.parametrize("error", [errors.broker.UNKNOWN_SUBSCRIPTION_ID, errors.broker.UNSUPPORTED_COMPRESSION_TYPE])
def test_a_subscription_that_is_another_one_is_asked_for_at_once_but_not_for_ever(
    error: type[errors.BrokerError],
) -> None:
    client = Client()
    client.broker.codes = [error.code]
    client.run(25.0)
    assert client.ask_times == pytest.approx([0, 10], abs=0.1)
    assert client.push_times == pytest.approx([10, 20], abs=0.1)
    liar = Client()
    liar.broker.codes = [error.code] * 1000
    liar.run(100.0)
    assert len(liar.broker.asked) < 8


def test_a_push_after_another_subscription_is_no_earlier_than_an_interval_after_the_last() -> None:
    client = Client()
    client.world.core.rng = lambda: 0.0
    client.broker.codes = [errors.broker.UNKNOWN_SUBSCRIPTION_ID.code]
    client.run(20.0)
    assert client.push_times == pytest.approx([5, 15], abs=0.1)


def test_a_message_that_is_too_large_is_followed_by_smaller_ones() -> None:
    client = Client()
    client.broker.says = {"telemetry_max_bytes": 250}
    client.broker.codes = [errors.broker.TELEMETRY_TOO_LARGE.code] * 2
    client.run(35.0)
    sizes = [len(push.metrics) for _, push in client.broker.pushes]
    assert sizes[0] > sizes[1] > sizes[2]


def test_a_broker_that_takes_a_few_bytes_gets_messages_without_metrics() -> None:
    client = Client()
    client.broker.says = {"telemetry_max_bytes": 1}
    client.run(12.0)
    assert client.values() == []
    assert len(client.broker.pushes) == 1


@pytest.mark.parametrize("error", [errors.broker.INVALID_REQUEST, errors.broker.INVALID_RECORD])
def test_a_client_that_is_refused_for_good_stops(error: type[errors.BrokerError]) -> None:
    client = Client()
    client.broker.codes = [error.code]
    client.run(900.0)
    assert len(client.broker.pushes) == len(client.broker.asked) == 1
    assert client.telemetry.state == ENDED
    assert [text for _, text in client.world.warned if "enable_metrics_push" in text]


def test_a_question_that_is_refused_for_good_ends_it_too() -> None:
    client = Client()
    client.broker.says = {"error_code": errors.broker.INVALID_REQUEST.code}
    client.run(900.0)
    assert client.telemetry.state == ENDED
    assert len(client.broker.asked) == 1


def test_a_question_that_fails_otherwise_is_asked_again_after_an_interval() -> None:
    client = Client()
    client.broker.says = {"error_code": errors.broker.THROTTLING_QUOTA_EXCEEDED.code}
    client.run(2.5 * DEFAULT_INTERVAL_S)
    assert client.ask_times == pytest.approx([0, DEFAULT_INTERVAL_S, 2 * DEFAULT_INTERVAL_S], rel=0.01, abs=0.1)


def test_a_broker_without_telemetry_is_asked_seldom_and_the_log_says_so_once() -> None:
    client = Client(Collecting("3.6.2"))
    client.run(1000.0)
    assert not client.broker.asked
    assert isinstance(client.telemetry.refusal, errors.broker.UNSUPPORTED_VERSION)
    assert sum("enable_metrics_push" in text for _, text in client.world.warned) == 1
    client.broker.versions = protocol.versions_of("4.4.0")
    client.world.lose_all(HERE)
    client.run(2000.0)
    assert client.broker.pushes


def test_a_first_question_that_finds_no_broker_is_asked_again() -> None:
    client = Client()
    client.broker.refuses = "refused"
    client.run(1.0)
    client.broker.refuses = ""
    client.run(RETRY_S + 15.0)
    assert client.ask_times == pytest.approx([RETRY_S], abs=1)
    assert client.broker.pushes


@pytest.mark.parametrize("key", [GET_TELEMETRY_SUBSCRIPTIONS, PUSH_TELEMETRY])
def test_whatever_an_answer_says_the_client_keeps_its_pace_and_its_work(key: int) -> None:
    for lie in itertools.chain.from_iterable(lies_in(protocol.APIS[key].response)):
        client = Client()
        told = client.broker.handlers[key]

        def lying(message: Any, version: int, now: float, told: Any = told, lie: Lie = lie) -> Any:
            response = told(message, version, now)
            lie(response)
            return response

        client.broker.handlers[key] = lying
        client.run(30.0)
        assert len(client.broker.asked) + len(client.broker.pushes) <= 30 / MIN_INTERVAL_S + 2, lie.words
        asked = client.world.ask(ANY, METADATA, protocol.MetadataRequest(topics=[]))
        client.run(lambda asked=asked: asked.ended)  # type: ignore[misc]
        assert asked.response is not None, lie.words


@pytest.mark.parametrize("key", [GET_TELEMETRY_SUBSCRIPTIONS, PUSH_TELEMETRY])
def test_whatever_error_comes_for_ever_the_client_keeps_its_pace(key: int) -> None:
    for code in range(-1, 140):
        client = Client()
        client.broker.says = {"error_code": code} if key == GET_TELEMETRY_SUBSCRIPTIONS else {}
        client.broker.codes = [code] * 100
        client.run(100.0)
        assert len(client.broker.asked) + len(client.broker.pushes) <= 22, code


# -- the client's own work ---------------------------------------------------------------------------------------------


def test_a_push_that_is_never_answered_holds_up_no_other_request() -> None:
    client = Client()
    client.run(lambda: client.telemetry.state == SUBSCRIBED)
    client.broker.silent = True
    client.run(lambda: client.telemetry.state == PUSHING and len(client.broker.pushes) == 1)
    asked = client.world.ask(ANY, METADATA, protocol.MetadataRequest(topics=[]))
    began = client.world.now
    client.run(lambda: asked.ended)
    assert client.world.now - began < 1
    assert asked.response is not None
    client.run(lambda: client.telemetry.state == SUBSCRIBED)
    assert client.world.now - began == pytest.approx(client.world.core.settings.request_timeout_ms / 1000, abs=2)
    client.broker.silent = False
    client.run(lambda: len(client.broker.pushes) == 2)
    client.run(lambda: client.telemetry.state == SUBSCRIBED)


# -- the end -----------------------------------------------------------------------------------------------------------


def test_a_client_that_closes_between_two_pushes_pushes_once_more() -> None:
    client = Client()
    client.run(12.0)
    client.telemetry.end(client.world.now)
    client.run(lambda: client.telemetry.is_over)
    assert [push.terminating for _, push in client.broker.pushes] == [False, True]
    client.run(100.0)
    assert len(client.broker.pushes) == 2


def test_a_client_that_closes_during_a_push_counts_nothing_twice() -> None:
    client = Client()
    client.broker.says = {"delta_temporality": True}
    client.run(lambda: client.telemetry.state == PUSHING)
    client.telemetry.end(client.world.now)
    client.run(lambda: client.telemetry.is_over)
    assert client.values() == [1, 1]
    assert [push.terminating for _, push in client.broker.pushes] == [False, True]


def test_a_client_that_closes_before_it_has_a_subscription_pushes_nothing() -> None:
    asking, unsubscribed = Client(), Client()
    asking.run(lambda: asking.telemetry.state == "asking")
    for client in (asking, unsubscribed):
        assert not client.telemetry.has_last_push
        client.telemetry.end(client.world.now)
        assert client.telemetry.is_over
        client.run(100.0)
        assert not client.broker.pushes


def test_a_last_push_that_is_not_answered_is_given_up() -> None:
    client = Client()
    client.run(12.0)
    client.broker.silent = True
    client.telemetry.end(client.world.now)
    assert client.telemetry.state == ENDING
    client.telemetry.give_up(client.world.now)
    assert client.telemetry.is_over
    client.world.core.close(client.world.now)


@pytest.mark.parametrize("state", ["asking", PUSHING, ENDING])
def test_a_core_that_closes_ends_what_is_on_its_way(state: str) -> None:
    client = Client()
    if state == ENDING:
        client.run(12.0)
        client.telemetry.end(client.world.now)
    else:
        client.run(lambda: client.telemetry.state == state)
    client.world.core.close(client.world.now)
    assert client.telemetry.state == ENDED


# -- interrupts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["unsubscribed", "asking", SUBSCRIBED, PUSHING])
def test_a_step_that_is_cut_costs_one_interval_at_most(state: str) -> None:
    client = Client()
    client.run(lambda: client.telemetry.state == state)
    client.world.open.clear()
    client.world.core.recover(client.world.now)
    before = len(client.broker.pushes)
    client.run(lambda: len(client.broker.pushes) > before + 1)
    assert client.world.now - client.began < DEFAULT_INTERVAL_S + 40


def test_a_last_push_that_is_cut_is_over() -> None:
    client = Client()
    client.run(12.0)
    client.telemetry.end(client.world.now)
    client.world.open.clear()
    client.world.core.recover(client.world.now)
    assert client.telemetry.is_over


def test_a_connection_that_is_lost_during_a_push_costs_that_push() -> None:
    client = Client()
    client.run(lambda: client.telemetry.state == PUSHING)
    client.world.lose_all(HERE)
    assert client.telemetry.state == SUBSCRIBED
    assert isinstance(client.world.core.last_trouble and client.world.core.last_trouble.error, ConnectError)
    client.run(25.0)
    assert client.values()[-1] == 2


def test_each_move_of_the_table_was_made_and_no_other(moves: MadeMoves) -> None:
    assert moves.are_all_of(Telemetry)
