"""What the clients do in a soak run: each function below is one program, of a thread or of an event loop.

A program runs until `over`. Errors of the package are part of the load, since connections are broken all the while; it
counts them, and goes on. Clients that live as long as the run are beside others that come and go.
"""

import asyncio
import os
import random
import socket
import threading
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, TypeVar

import kwire
from kwire import aio
from kwire.errors import KafkaError, TransactionError
from kwire.registry import AvroDeserializer, AvroSerializer, Registry

Client = TypeVar("Client")

TOPICS = {"plain": 4, "copied": 4, "valued": 2}
PATIENCE_S = 10.0
_PASSING_EVERY = 500
_REQUESTS: dict[str, Any] = {"request_timeout_ms": 3_000}
_OFTEN: dict[str, Any] = {**_REQUESTS, "linger_ms": 5}
_GROUPS: dict[str, Any] = {**_REQUESTS, "auto_offset_reset": "earliest"}
_PASSING: tuple[dict[str, Any], ...] = ({"group_id": "classic"}, {"group_id": "new", "group_protocol": "consumer"})
_SCHEMA = """{"type": "record", "name": "Reading", "fields": [
    {"name": "sensor", "type": "string"}, {"name": "value", "type": "double"}]}"""


class Load:
    """What the programs share: addresses, the clients that are open, what was done and what went wrong."""

    def __init__(self, servers: str, registry: str) -> None:
        self.servers = servers
        self.registry = registry
        self.over = threading.Event()
        self.done: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.crashes: list[str] = []
        self.clients: list[Any] = []

    @contextmanager
    def open(self, client: Client) -> Iterator[Client]:
        """A client for threads among those that are asked for their metrics; closed in the end, come what may."""
        self.clients.append(client)
        try:
            yield client
        finally:
            self.clients.remove(client)
            with self.tolerating():
                client.close()  # type: ignore[attr-defined]

    @contextmanager
    def tolerating(self) -> Iterator[None]:
        """Errors of the package are counted."""
        try:
            yield
        except (KafkaError, BaseExceptionGroup) as error:
            self.errors[type(error).__name__] += 1

    def run(self, program: Callable[["Load"], None]) -> None:
        """On a thread: any other error is kept, with its traceback."""
        try:
            program(self)
        except BaseException:
            self.crashes.append(traceback.format_exc())


def writer(load: Load) -> None:
    """The idempotent producer of the topic that all others read; some records to topics that come and go."""
    passing = passing_topics()
    with load.open(kwire.Producer(load.servers, metadata_max_idle_ms=10_000, compression="lz4", **_OFTEN)) as producer:
        for number in count():
            if load.over.wait(0.02):
                return
            with load.tolerating():
                rows = [producer.send("plain", b"%d" % number, key=b"%d" % (number % 50)) for _ in range(10)]
                if number % 10 == 0:
                    rows[-1].result(timeout=PATIENCE_S)
                if number % _PASSING_EVERY == _PASSING_EVERY // 2:
                    pass_through(load, producer, next(passing))
                load.done["written"] += len(rows)


def passing_topics() -> Iterator[str]:
    """Names that nobody has used before."""
    return (f"passing-{os.getpid()}-{number}" for number in count())


def pass_through(load: Load, producer: kwire.Producer, topic: str) -> None:
    """A topic is made, written to, and deleted."""
    with load.open(kwire.Admin(load.servers, **_REQUESTS)) as admin:
        admin.create_topics({topic: 2}, timeout=PATIENCE_S)
        producer.send(topic, b"passing").result(timeout=PATIENCE_S)
        admin.delete_topics([topic], timeout=PATIENCE_S)
        load.done["topics passed"] += 1


def classic_reader(load: Load) -> None:
    """One of a classic group that stays."""
    with load.open(kwire.Consumer(load.servers, group_id="classic", **_GROUPS)) as consumer:
        consumer.subscribe(["plain"])
        read(load, consumer, "read by the classic group", None)


def passing_reader(load: Load) -> None:
    """Joins that group and another one for some seconds, again and again, and sends with a client for each time."""
    while not load.over.is_set():
        for options in _PASSING:
            with load.open(kwire.Consumer(load.servers, **_GROUPS, **options)) as consumer:
                consumer.subscribe(["plain"])
                read(load, consumer, "read by members that leave", 40)
        with load.open(kwire.Producer(load.servers, **_REQUESTS)) as producer, load.tolerating():
            producer.send("plain", b"once").result(timeout=PATIENCE_S)
            load.done["clients come and gone"] += 3


def read(load: Load, consumer: kwire.Consumer, what: str, polls: int | None) -> None:
    """So many polls, or until the end, with a commit now and then; records as objects, as values and as columns."""
    for number in count():
        if load.over.is_set() or number == polls:
            return
        with load.tolerating():
            records = consumer.poll(timeout=0.2)
            load.done[what] += len(records.values() if number % 2 else list(records))
            if number % 5 == 0:
                consumer.commit(records, timeout=PATIENCE_S)


def copier(load: Load) -> None:
    """Copies in transactions; one in ten is aborted."""
    options = {"enable_auto_commit": False, "isolation_level": "read_committed", **_GROUPS}
    while not load.over.is_set():
        with (
            load.open(kwire.Producer(load.servers, transactional_id="copier", linger_ms=5, **_REQUESTS)) as producer,
            load.open(kwire.Consumer(load.servers, group_id="copiers", **options)) as consumer,
        ):
            try:
                producer.init_transactions(timeout=PATIENCE_S)
                consumer.subscribe(["plain"])
                for number in count():
                    if load.over.is_set():
                        break
                    copy(load, consumer, producer, gives_up=number % 10 == 9)
            except KafkaError as error:
                load.errors[type(error).__name__] += 1  # fenced, or in doubt: as another producer


def copy(load: Load, consumer: kwire.Consumer, producer: kwire.Producer, *, gives_up: bool) -> None:
    """One transaction of what one poll returned."""
    records = consumer.poll(timeout=0.5, max_records=200)
    if not records:
        return
    producer.begin_transaction()
    try:
        for record in records:
            producer.send("copied", record.value, partition=record.partition)
        metadata = consumer.group_metadata()
        producer.send_offsets_to_transaction(records, metadata, timeout=PATIENCE_S)
        if not gives_up:
            producer.commit_transaction(timeout=PATIENCE_S)
            load.done["copied"] += len(records)
            return
    except TransactionError as error:
        if not error.abortable:
            raise
    producer.abort_transaction(timeout=PATIENCE_S)
    load.done["transactions aborted"] += 1


def sharer(load: Load) -> None:
    """One of a share group."""
    options = {"share_acknowledgement_mode": "explicit", **_REQUESTS}
    with load.open(kwire.ShareConsumer(load.servers, group_id="sharers", **options)) as consumer:
        consumer.subscribe(["plain"])
        while not load.over.is_set():
            with load.tolerating():
                records = consumer.poll(timeout=0.5)
                for number, record in enumerate(records):
                    consumer.acknowledge(record, "release" if number % 20 == 0 else "accept")
                consumer.commit(timeout=PATIENCE_S)
                load.done["shared"] += len(records)


def administrator(load: Load) -> None:
    """Asks for what a dashboard shows, by a client that stays."""
    with load.open(kwire.Admin(load.servers, **_REQUESTS)) as admin:
        while not load.over.wait(0.5):
            with load.tolerating():
                names = admin.list_topics(timeout=PATIENCE_S)
                admin.describe_topics([name for name in names if name in TOPICS], timeout=PATIENCE_S)
                groups = admin.list_groups(timeout=PATIENCE_S)
                admin.describe_consumer_groups(["classic", "new"], timeout=PATIENCE_S)
                admin.incremental_alter_configs({("topic", "copied"): {"retention.ms": "3600000"}}, timeout=PATIENCE_S)
                load.done["admin calls"] += 5
                load.done["groups seen"] = max(load.done["groups seen"], len(groups))


def valuer(load: Load) -> None:
    """Avro by the schemas of a registry, out and in; a registry's client that stays, and one for each turn."""
    registry = Registry(load.registry)
    producer = kwire.Producer(load.servers, value_serializer=AvroSerializer(registry, _SCHEMA), **_REQUESTS)
    consumer = kwire.Consumer(load.servers, group_id="valued", value_deserializer=AvroDeserializer(registry), **_GROUPS)
    with load.open(producer), load.open(consumer):
        consumer.subscribe(["valued"])
        for number in count():
            if load.over.wait(0.1):
                return
            with load.tolerating():
                producer.send("valued", {"sensor": f"s{number % 9}", "value": float(number)})
                load.done["values read"] += len([record.value for record in consumer.poll()])
                if number % 50 == 0:
                    Registry(load.registry).subjects()


def watcher(load: Load) -> None:
    """Asks all clients for metrics and health, as exporters do."""
    while not load.over.wait(1.0):
        for client in list(load.clients):
            with load.tolerating():
                load.done["metrics"] += len(client.metrics()) > 0
                repr(client.health())


def breaker(load: Load) -> None:
    """Ends one of the process's connections to the brokers every few seconds."""
    ports = {int(server.rpartition(":")[2]) for server in load.servers.split(",")}
    rng = random.Random(2)
    while not load.over.wait(2.0):
        descriptors = [int(name) for name in os.listdir("/proc/self/fd")]
        rng.shuffle(descriptors)
        load.done["connections cut"] += any(cut(descriptor, ports) for descriptor in descriptors)


def cut(descriptor: int, ports: set[int]) -> bool:
    """Shuts a connection to one of these ports down; whether it is one."""
    try:
        if not os.readlink(f"/proc/self/fd/{descriptor}").startswith("socket:"):
            return False
        with socket.fromfd(descriptor, socket.AF_INET, socket.SOCK_STREAM) as same:
            peer = same.getpeername()
            if not isinstance(peer, tuple) or peer[1] not in ports:
                return False
            same.shutdown(socket.SHUT_RDWR)
    except OSError:
        return False  # not connected, or gone meanwhile
    return True


def looped(load: Load) -> None:
    """The clients for asyncio, on one loop."""
    asyncio.run(all_looped(load))


async def all_looped(load: Load) -> None:
    """A producer and a member of a KIP-848 group that stay, a share consumer and an admin that come and go."""
    async with (
        aio.Producer(load.servers, linger_ms=5, **_REQUESTS) as producer,
        aio.Consumer(load.servers, group_id="looped", group_protocol="consumer", **_GROUPS) as consumer,
    ):
        load.clients += [producer, consumer]
        consumer.subscribe(["plain"])
        await asyncio.gather(
            *(
                repeated(load, turn)
                for turn in (send_some(load, producer), poll_some(load, consumer), come_and_go(load))
            )
        )
        load.clients.remove(producer)
        load.clients.remove(consumer)


async def repeated(load: Load, turn: Callable[[], Awaitable[None]]) -> None:
    """Awaits turns until the run is over."""
    while not load.over.is_set():
        with load.tolerating():
            await turn()


def send_some(load: Load, producer: aio.Producer) -> Callable[[], Awaitable[None]]:
    async def turn() -> None:
        deliveries = [producer.send("plain", b"looped", key=b"%d" % number) for number in range(10)]
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*deliveries)
        load.done["written on the loop"] += len(deliveries)
        await asyncio.sleep(0.05)

    return turn


def poll_some(load: Load, consumer: aio.Consumer) -> Callable[[], Awaitable[None]]:
    async def turn() -> None:
        records = await consumer.poll(timeout=0.2)
        load.done["read on the loop"] += len(records)
        if records:
            await consumer.commit(records, timeout=PATIENCE_S)

    return turn


def come_and_go(load: Load) -> Callable[[], Awaitable[None]]:
    async def turn() -> None:
        async with (
            aio.Admin(load.servers, **_REQUESTS) as admin,
            aio.ShareConsumer(load.servers, group_id="looped-sharers", **_REQUESTS) as sharing,
        ):
            await admin.list_topics(timeout=PATIENCE_S)
            sharing.subscribe(["plain"])
            for _ in range(10):
                load.done["shared on the loop"] += len(await sharing.poll(timeout=0.2))
        load.done["clients come and gone on the loop"] += 2

    return turn


PROGRAMS: tuple[Callable[[Load], None], ...] = (
    writer,
    classic_reader,
    passing_reader,
    copier,
    sharer,
    administrator,
    valuer,
    watcher,
    breaker,
    looped,
)
