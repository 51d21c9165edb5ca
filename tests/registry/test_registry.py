"""The calls of a Registry, for threads and for asyncio, against a registry that answers as Confluent's does."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any

import pytest

from kwire import aio
from kwire.drivers.http_exchange import exchange
from kwire.errors import ConfigError, IncompatibleSchemaError, KafkaError, RegistryError, UnknownSchemaError
from kwire.registry import Registry, Schema, SchemaReference, requests
from kwire.registry.cache import Cache
from kwire.registry.door import ThreadDoor
from kwire.registry.flows import Apart, Flow, Once
from tests.interrupts import Cut, Interruptions
from tests.registry.server import RegistryServer, serving
from tests.timing import PATIENT, SOON

ORDER = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'
WIDER = '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"},{"name":"n","type":"int","default":0}]}'
OTHER = '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"},{"name":"must","type":"int"}]}'


class Blocking:
    """`kwire.aio.Registry` with the calls of the other one."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        self._registry = aio.Registry(*arguments, **settings)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        call: Callable[..., Coroutine[Any, Any, Any]] = getattr(self._registry, name)
        return lambda *arguments, **keywords: asyncio.run(call(*arguments, **keywords))


@pytest.fixture(params=[Registry, Blocking], ids=["threads", "asyncio"])
def made(request: pytest.FixtureRequest) -> Callable[..., Any]:
    return lambda *arguments, **settings: request.param(*arguments, **{"retry_backoff_ms": 1, **settings})


@pytest.fixture
def registry(made: Callable[..., Any], server: RegistryServer) -> Any:
    return made(server.url)


def test_a_schema_is_registered_found_and_listed(registry: Any, server: RegistryServer) -> None:
    id_ = registry.register("orders-value", ORDER)
    assert json.loads(registry.by_id(id_).text) == json.loads(ORDER)
    found = registry.lookup("orders-value", ORDER)
    assert (found.id, found.version, found.subject) == (id_, 1, "orders-value")
    assert registry.by_guid(found.guid) == registry.by_id(id_)
    assert registry.register("orders-value", WIDER) == id_ + 1
    assert registry.latest("orders-value").version == 2
    assert registry.version("orders-value", 1).id == id_
    assert registry.versions("orders-value") == [1, 2]
    registry.register("other-value", ORDER)
    assert registry.subjects() == ["orders-value", "other-value"]
    assert registry.subjects("other") == ["other-value"]
    assert server.asked[0] == "POST /subjects/orders-value/versions"


def test_what_does_not_change_is_asked_for_once(registry: Any, server: RegistryServer) -> None:
    for _ in range(3):
        id_ = registry.register("s", ORDER)
        registry.lookup("s", ORDER)
        registry.by_id(id_)
    assert server.asked == ["POST /subjects/s/versions", "POST /subjects/s", f"GET /schemas/ids/{id_}"]


def test_what_may_change_is_asked_for_each_time(registry: Any, server: RegistryServer) -> None:
    registry.register("s", ORDER)
    assert registry.latest("s").version == 1
    server.model.answer("POST", ["subjects", "s", "versions"], {}, {"schema": WIDER})
    assert registry.latest("s").version == 2


def test_a_subject_may_have_any_name(registry: Any, server: RegistryServer) -> None:
    registry.register("a/b ?c-value", ORDER)
    assert registry.subjects() == ["a/b ?c-value"]
    assert registry.versions("a/b ?c-value") == [1]


def test_a_schema_that_refers_to_others_in_every_kind(registry: Any) -> None:
    registry.register("cents", '{"type":"fixed","name":"Cents","size":2}')
    cents = SchemaReference("Cents", "cents", 1)
    registry.register("money", '{"type":"record","name":"Money","fields":[{"name":"c","type":"Cents"}]}', None, [cents])
    money = SchemaReference("Money", "money", 1)
    bill = Schema('{"type":"record","name":"Bill","fields":[{"name":"m","type":"Money"}]}', "AVRO", (money, cents))
    kept = registry.by_id(registry.register("bill", bill))
    assert kept.references == (money, cents)
    assert list(registry.resolve(kept)) == [cents, money]
    proto = registry.by_id(registry.register("p", 'syntax = "proto3";', "PROTOBUF"))
    assert (proto.schema_type, proto.text) == ("PROTOBUF", 'syntax = "proto3";')
    with pytest.raises(RegistryError, match="no reference found for cents version 9") as caught:
        registry.register("x", '"int"', None, [SchemaReference("Cents", "cents", 9)])
    assert (caught.value.status, caught.value.error_code) == (422, 42201)


def test_references_that_never_end(server: RegistryServer, registry: Any) -> None:
    for version in range(500):
        below = {"schema": '"int"', "references": [{"name": "x", "subject": "x", "version": version + 1}]}
        server.answers[f"/subjects/x/versions/{version}"] = (200, below)
    for _ in range(2):
        with pytest.raises(RegistryError, match="refers to more than 200 schemas"):
            registry.resolve(Schema('"int"', "AVRO", (SchemaReference("x", "x", 0),)))


def test_a_schema_that_the_subject_does_not_take(registry: Any) -> None:
    registry.register("s", ORDER)
    with pytest.raises(IncompatibleSchemaError, match=r"the schema of s cannot be registered at http.*409") as caught:
        registry.register("s", OTHER)
    assert (caught.value.status, caught.value.error_code) == (409, 409)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again), again.status) == (IncompatibleSchemaError, str(caught.value), 409)


def test_compatibility_is_asked_for_and_set(registry: Any) -> None:
    assert registry.compatible("s", OTHER), "a subject without versions takes anything"
    registry.register("s", ORDER)
    assert registry.compatible("s", WIDER)
    assert not registry.compatible("s", OTHER)
    assert not registry.compatible("s", OTHER, version=1)
    assert not registry.compatible("s", OTHER, version=None)
    assert registry.incompatibilities("s", WIDER) == []
    assert registry.incompatibilities("s", OTHER) == ["the reader's schema lacks a default, as s needs it"]
    assert registry.compatibility("s") == registry.compatibility() == "BACKWARD"
    assert registry.set_compatibility("forward", "s") == "FORWARD"
    assert registry.compatibility("s") == "FORWARD"
    assert registry.compatibility() == "BACKWARD"
    assert registry.compatible("s", OTHER)
    assert registry.set_compatibility("NONE") == registry.compatibility() == "NONE"
    with pytest.raises(RegistryError, match="Invalid compatibility level") as caught:
        registry.set_compatibility("sideways")
    assert caught.value.error_code == 42203
    with pytest.raises(UnknownSchemaError):
        registry.compatible("s", ORDER, version=9)


def test_an_older_registry_that_does_not_know_the_subject(registry: Any, server: RegistryServer) -> None:
    path = "/compatibility/subjects/s/versions/latest"
    server.answers[path] = (404, {"error_code": 40401, "message": "Subject not found."})
    assert registry.compatible("s", ORDER)


def test_what_is_deleted_is_gone_and_can_be_registered_again(registry: Any, server: RegistryServer) -> None:
    registry.register("s", ORDER)
    registry.register("s", WIDER)
    assert registry.delete_version("s", 1) == 1
    assert registry.versions("s") == [2]
    assert registry.versions("s", deleted=True) == [1, 2]
    assert registry.delete_subject("s") == [2]
    with pytest.raises(UnknownSchemaError) as caught:
        registry.versions("s")
    assert caught.value.error_code == 40401
    registry.register("s", ORDER)
    assert registry.versions("s") == [3]
    registry.delete_subject("s")
    assert registry.delete_subject("s", permanent=True) == [1, 2, 3]
    assert registry.subjects(deleted=True) == []


@pytest.mark.parametrize("call", ["register", "by_id"])
def test_what_was_asked_before_a_delete_and_answered_after_it_is_not_kept(
    call: str, server: RegistryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def held(asked: Any, *given: Any) -> Any:
        answer = exchange(asked, *given)
        if threading.current_thread() is not threading.main_thread():
            answered.set()
            assert deleted.wait(PATIENT)
        return answer

    monkeypatch.setattr(requests, "exchange", held)
    answered, deleted = threading.Event(), threading.Event()
    registry = Registry(server.url)
    id_ = Registry(server.url).register("s", ORDER)
    ask = partial(registry.register, "s", ORDER) if call == "register" else partial(registry.by_id, id_)
    late = threading.Thread(target=ask, daemon=True)
    late.start()
    assert answered.wait(PATIENT)
    registry.delete_subject("s")
    registry.delete_subject("s", permanent=True)
    deleted.set()
    late.join(PATIENT)
    before = len(server.asked)
    with suppress(UnknownSchemaError):
        ask()
    assert len(server.asked) == before + 1


def test_a_version_that_is_deleted_for_good_may_come_back_as_another_schema(registry: Any) -> None:
    reference = SchemaReference("N", "n", 1)
    for text in ('{"type":"enum","name":"N","symbols":["A"]}', '{"type":"enum","name":"N","symbols":["B"]}'):
        registry.register("n", text)
        assert json.loads(registry.resolve(Schema('"N"', "AVRO", (reference,)))[reference].text) == json.loads(text)
        registry.delete_subject("n")
        registry.delete_subject("n", permanent=True)


def test_schemas_that_differ_in_order_only_are_one_when_normalized(registry: Any) -> None:
    one, other = '{"type":"int","doc":"x"}', '{"doc":"x","type":"int"}'
    assert registry.register("s", one, normalize=True) == registry.register("s", other, normalize=True)
    assert registry.register("s", other) != registry.register("s", one)


def test_an_interface_below_a_path(made: Callable[..., Any]) -> None:
    with serving(prefix="/apis/ccompat/v7") as server:
        registry = made(f"{server.url}/")
        assert registry.by_id(registry.register("s", ORDER)).schema_type == "AVRO"
        assert server.asked[0] == "POST /subjects/s/versions"


def test_an_answer_of_an_older_registry_that_has_the_id_alone(registry: Any, server: RegistryServer) -> None:
    server.answers["/subjects/s/versions"] = (200, {"id": 12})
    assert registry.register("s", ORDER) == 12


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda r: r.register("s", "{"), "Invalid schema"),
        (lambda r: r.lookup("s", ORDER), "this schema of s is not in the registry"),
        (lambda r: r.latest("s"), "the subject s is not in the registry"),
        (lambda r: r.version("s", 3), "version 3 of s is not in the registry"),
        (lambda r: r.by_id(9), "schema 9 is not in the registry"),
    ],
)
def test_what_the_registry_has_not(registry: Any, call: Callable[[Any], Any], said: str) -> None:
    with pytest.raises(RegistryError, match=said):
        call(registry)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda r: r.register("s", "1", "XML"), "schema_type='XML': expected one of AVRO, PROTOBUF, JSON"),
        (lambda r: r.register("s", Schema("1"), "JSON"), "a Schema has its own"),
        (lambda r: r.register("s", {"type": "int"}), "expected its text or a Schema, got dict"),
        (lambda r: r.register("", ORDER), "expected a name"),
        (lambda r: r.by_id("7"), "expected an int"),
    ],
)
def test_arguments_that_cannot_be(registry: Any, call: Callable[[Any], Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        call(registry)


# --- one request for many callers ---


def test_threads_that_want_the_same_schema_send_one_request(server: RegistryServer) -> None:
    server.add(7, "int")
    server.pause_s = 0.2
    registry, found = Registry(server.url), []
    threads = [threading.Thread(target=lambda: found.append(registry.by_id(7).text)) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == ['"int"'] * 8
    assert len(server.requests) == 1


def test_threads_that_want_what_is_not_there_all_hear_of_it(server: RegistryServer) -> None:
    server.pause_s = 0.2
    registry = Registry(server.url)
    errors: list[Exception] = []

    def ask() -> None:
        try:
            registry.by_id(7)
        except KafkaError as error:
            errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [type(each) for each in errors] == [UnknownSchemaError] * 4
    assert len(server.requests) == 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_does_not_wait_for_a_thread_that_it_has_not(server: RegistryServer) -> None:
    server.add(7, "int")
    server.pause_s = 0.5
    registry = Registry(server.url)
    thread = threading.Thread(target=registry.by_id, args=(7,))
    thread.start()
    while not server.requests:
        time.sleep(0.01)
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        os._exit(0 if registry.by_id(7).text == '"int"' else 1)
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


def test_tasks_that_want_the_same_schema_send_one_request(server: RegistryServer) -> None:
    server.add(7, "int")
    server.pause_s = 0.1

    async def main() -> list[Schema]:
        registry = aio.Registry(server.url)
        return await asyncio.gather(*(registry.by_id(7) for _ in range(8)))

    assert [each.text for each in asyncio.run(main())] == ['"int"'] * 8
    assert len(server.requests) == 1


def test_a_task_that_is_cancelled_leaves_its_request_to_those_who_wait(server: RegistryServer) -> None:
    server.add(7, "int")
    server.pause_s = 0.2

    async def main() -> Schema:
        registry = aio.Registry(server.url)
        first = asyncio.create_task(registry.by_id(7))
        await asyncio.sleep(0.05)
        second = asyncio.create_task(registry.by_id(7))
        await asyncio.sleep(0.05)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        return await second

    assert asyncio.run(main()).text == '"int"'


def test_the_event_loop_goes_on_while_a_registry_takes_its_time(server: RegistryServer) -> None:
    server.add(7, "int")
    server.pause_s = 0.3

    async def main() -> int:
        asked = asyncio.create_task(aio.Registry(server.url).by_id(7))
        turns = 0
        while not asked.done():
            await asyncio.sleep(0.01)
            turns += 1
        return turns

    assert asyncio.run(main()) > 5


def test_what_is_kept_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache()
    for i in range(2500):
        cache.put(i, "x", 1, cache.generation)
        assert len(cache) <= 1000
    for i in range(40):
        cache.put(i, "x", 1 << 20, cache.generation)
        assert cache.characters <= 16 << 20
    assert cache.get(39) == "x"


def test_a_registry_pickles_as_its_configuration(server: RegistryServer) -> None:
    registry = Registry(server.url, username="me", password="s3cret", retries=0)
    again = pickle.loads(pickle.dumps(registry))
    assert again.settings == registry.settings
    again.subjects()
    assert server.requests[0][1] == "Basic bWU6czNjcmV0"
    assert "s3cret" not in repr(registry) + repr(registry.settings)


def test_a_token_of_a_callable_does_not_hold_up_the_event_loop(server: RegistryServer) -> None:
    asked_in: list[threading.Thread] = []

    def token() -> str:
        asked_in.append(threading.current_thread())
        return "t"

    asyncio.run(aio.Registry(server.url, token=token).subjects())
    assert asked_in != [threading.current_thread()]


def test_both_registries_have_the_same_calls() -> None:
    def calls(kind: type) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")}

    assert calls(Registry) == calls(aio.Registry)


def test_an_interrupt_at_any_moment_leaves_nobody_waiting() -> None:
    def told() -> Flow[Any]:
        return (yield Apart(lambda: 7))

    def asked() -> Flow[Any]:
        return (yield Once("k", told))

    def ask() -> None:
        answers.append(door.run(asked()))

    for moment in count(1):
        door, answers = ThreadDoor(), list[Any]()
        with Interruptions(moment) as interruptions:
            try:
                door.run(asked())
            except Cut:
                pass
        threads = [threading.Thread(target=ask, daemon=True) for _ in range(2)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(SOON)
        assert answers == [7, 7], interruptions.place
        if not interruptions.happened:
            break
    assert moment > 20
