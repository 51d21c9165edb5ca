"""What outlives what: views and columns a client, a client its process and its pickle, and nothing a close."""

from __future__ import annotations

import gc
import hashlib
import multiprocessing
import operator
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kwire import Admin, Consumer, Producer, TopicPartition, errors, records
from kwire import producer as producer_module
from kwire._codec import pool_statistics
from kwire.testing import Broker
from tests.thorough import THOROUGH
from tests.timing import PATIENT

T0 = TopicPartition("t", 0)
CLIENTS: list[Callable[..., Any]] = [Producer, Consumer, Admin]


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics={"t": 1}) as running:
        yield running


def use(client: Any) -> None:
    """Some exchange with the broker."""
    if isinstance(client, Producer):
        client.send("t", b"v").result(60)
    elif isinstance(client, Consumer):
        assert client.end_offsets([T0], timeout=60)[T0] >= 0
        client.assign([T0])
        client.poll(timeout=0)
    else:
        assert client.list_topics(timeout=60) == ["t"]


# -- views and columns ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compression", ["none", "lz4"])
def test_records_stay_the_same_while_the_client_goes_on_and_after_its_close(broker: Broker, compression: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    expected: list[bytes] = []
    held: list[tuple[Any, Any, Any, Any]] = []
    with Consumer(broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([T0])
        for turn in range(30):
            values = [hashlib.sha256(b"%d %d" % (turn, number)).digest() * (1 + number % 40) for number in range(60)]
            broker.append("t", records.encode(values, compression=compression))
            expected += values
            count = 0
            while count < len(values):
                got = consumer.poll(timeout=60)
                count += len(got)
                batch = pyarrow.record_batch(got)
                held.append((got, list(got), batch, batch.slice(len(got) // 2)))
    del consumer
    gc.collect()
    assert [value for got, *_ in held for value in got.values()] == expected
    assert [record.value for _, each, *_ in held for record in each] == expected
    assert [value for _, _, batch, _ in held for value in batch.column("value").to_pylist()] == expected
    slices = [part for *_, part in held]
    batches = [batch for _, _, batch, _ in held]
    del held, got, batch
    gc.collect()
    for batch, part in zip(batches, slices, strict=True):
        assert part.column("value").to_pylist() == batch.column("value").to_pylist()[batch.num_rows // 2 :]


# -- processes --------------------------------------------------------------------------------------------------------


def in_child(work: Callable[[], object]) -> str:
    """What the work says or raises in a forked child, which is given a minute."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = repr(work())
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(child, 0)
    return said


@pytest.mark.parametrize("client", CLIENTS)
def test_a_forked_child_is_told_to_make_its_own_and_the_parent_is_unharmed(
    broker: Broker, client: Callable[..., Any]
) -> None:
    with client(broker.bootstrap_servers) as parents:
        use(parents)

        def own() -> str:
            parents.close()
            with pickle.loads(pickle.dumps(parents)) as mine:
                use(mine)
            return "worked"

        assert "fork" in in_child(lambda: use(parents))
        assert in_child(own) == "'worked'"
        assert in_child(lambda: parents.__exit__(None, None, None)) == "None"
        use(parents)
        use(parents)


def test_a_child_forked_while_other_threads_are_in_the_middle_of_sending_is_told(broker: Broker) -> None:
    stop = threading.Event()
    with Producer(broker.bootstrap_servers) as producer:

        def work() -> None:
            while not stop.is_set():
                producer.send("t", b"v").result(60)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(10):
                assert "fork" in in_child(lambda: use(producer))
                assert in_child(producer.close) == "None"
        finally:
            stop.set()
            for thread in threads:
                thread.join(60)
        assert not any(thread.is_alive() for thread in threads)


def used_elsewhere(client: Any, answers: Any) -> None:
    try:
        with client:
            use(client)
        answers.put("worked")
    except BaseException as error:
        answers.put(repr(error))


@pytest.mark.parametrize("client", CLIENTS if THOROUGH else CLIENTS[:1])
def test_a_client_goes_to_a_spawned_process_as_its_settings(broker: Broker, client: Callable[..., Any]) -> None:
    spawn = multiprocessing.get_context("spawn")
    answers = spawn.Queue()
    with client(broker.bootstrap_servers, client_id="travels") as here:
        use(here)
        process = spawn.Process(target=used_elsewhere, args=(here, answers))
        process.start()
        assert answers.get(timeout=100) == "worked"
        process.join(60)
        assert process.exitcode == 0
        use(here)


# -- open and close ---------------------------------------------------------------------------------------------------


def resident() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")


@pytest.mark.parametrize("client", CLIENTS)
def test_clients_opened_and_closed_a_hundred_times_leave_nothing(broker: Broker, client: Callable[..., Any]) -> None:
    def cycle(times: int) -> None:
        for _ in range(times):
            with client(broker.bootstrap_servers) as opened:
                use(opened)
        gc.collect()

    def left() -> tuple[int, int, int]:
        threads = [thread for thread in threading.enumerate() if thread.name.startswith("kwire-")]
        return len(threads), len(os.listdir("/proc/self/fd")), pool_statistics()["live_blocks"]

    cycle(20 if THOROUGH else 5)
    settle(left)
    before = left()
    for _ in range(3):  # what leaks does so each time; the allocator may take its share once
        memory = resident()
        cycle(100 if THOROUGH else 15)
        if resident() - memory < 4 * 2**20:
            break
    else:
        raise AssertionError(f"{resident() - memory} bytes more")
    give_up = time.monotonic() + 60
    now = left()
    # The broker sees the last connection end a little later; a thread that began late ends at once.
    while any(map(operator.gt, now, before)) and time.monotonic() < give_up:
        time.sleep(0.01)
        gc.collect()
        now = left()
    assert not any(map(operator.gt, now, before)), (now, before)


def settle(left: Callable[[], tuple[int, int, int]]) -> None:
    """Until what is left behind has been the same for some time."""
    same = 0
    last = left()
    give_up = time.monotonic() + PATIENT
    while same < 10 and time.monotonic() < give_up:
        time.sleep(0.01)
        now = left()
        same, last = (same + 1, last) if now == last else (0, now)


# -- one thread at a time ---------------------------------------------------------------------------------------------


def test_a_consumer_refuses_a_second_thread_and_neither_breaks(broker: Broker) -> None:
    refused = 0
    got: list[bytes | None] = []
    lock = threading.Lock()
    values = [b"%d" % number for number in range(2000)]
    for first in range(0, 2000, 20):
        broker.append("t", records.encode(values[first : first + 20]))
    with Consumer(broker.bootstrap_servers, auto_offset_reset="earliest", max_poll_records=10) as consumer:
        consumer.assign([T0])

        def work() -> None:
            nonlocal refused
            while len(got) < len(values):
                mine = None
                try:
                    mine = consumer.poll(timeout=0.05)
                except errors.ConcurrentUseError:
                    refused += 1
                    time.sleep(0.0005)
                if mine is not None:
                    with lock:
                        got.extend(mine.values())

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(100)
        assert not any(thread.is_alive() for thread in threads)
        assert sorted(got, key=str) == sorted(values, key=str)
        broker.append("t", records.encode([b"last"]))
        assert consumer.poll(timeout=60).values() == [b"last"]


# -- a client that the end of the process closes ----------------------------------------------------------------------

AT_EXIT = """
import builtins
from kwire import {client}

client = {client}({servers!r})
client.list_topics() if {client!r} == "Admin" else client.partitions_for("t")
builtins.kept_until_the_end = client
"""


@pytest.mark.parametrize("client", ["Admin", "Consumer"])
def test_a_client_that_is_never_closed_ends_silently(broker: Broker, client: str) -> None:
    code = AT_EXIT.format(client=client, servers=broker.bootstrap_servers)
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def sends_and_leaves(servers: str) -> None:
    producer = Producer(servers, linger_ms=60_000)
    for number in range(10):
        producer.send("t", b"%d" % number)
    vars(sys)["kept_until_the_end"] = producer


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_worker_of_multiprocessing_delivers_at_its_end_what_it_has_sent(broker: Broker, method: str) -> None:
    numbers = [b"%d" % number for number in range(10)]
    with Producer(broker.bootstrap_servers, linger_ms=60_000) as parents:
        parents.send("t", b"the parent's")
        process = multiprocessing.get_context(method).Process(target=sends_and_leaves, args=(broker.bootstrap_servers,))
        process.start()
        process.join(PATIENT)
        assert process.exitcode == 0
        assert [value for value in broker.values("t") if value in numbers] == numbers
    assert sorted(broker.values("t")) == [*numbers, b"the parent's"]


def test_a_process_ends_in_time_though_a_broker_does_not_answer(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(producer_module, "EXIT_TIMEOUT_S", 0.3)
    broker.faults.mute("Produce")
    producer = Producer(broker.bootstrap_servers)
    delivery = producer.send("t", b"lost")
    began = time.monotonic()
    with pytest.warns(ResourceWarning, match="1 record in 1 batch could not be delivered"):
        producer_module._at_exit()
    assert 0.2 < time.monotonic() - began < PATIENT
    assert "was not closed; 1 record in 1 batch could not be delivered" in capfd.readouterr().err
    assert "the process ended" in str(delivery.exception())
