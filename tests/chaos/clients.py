"""The programs that run under faults, each a process of its own that writes down what it does and sees.

    python -m tests.chaos.clients '{"role": "writer", "form": "asyncio", "who": "writer-0.1", "history": "...", ...}'

One text serves both forms: `call` awaits what is awaitable, so a client for threads blocks the loop, on which nothing
else runs. SIGTERM ends a program in order; with exit code 3 it asks to be started again, as after being fenced.
"""

import asyncio
import inspect
import json
import logging
import os
import random
import signal
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import kwire
from kwire.errors import KafkaError, KafkaTimeoutError, ProducerFencedError, TransactionError
from tests.chaos import habits
from tests.chaos.history import History
from tests.chaos.passwords import MECHANISM, USER
from tests.chaos.schedule import PARTITIONS

AGAIN = 3
"""The exit code that asks for a new process."""
DELIVERED_WITHIN_S = 30.0
BLOCKS_FOR_S = 5.0
CALL_S = 10.0
CLOSE_S = 20.0
_BY_TOKENS = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "OAUTHBEARER",
    "sasl_oauthbearer_unsecured_claims": {"sub": "chaos"},
    "sasl_oauthbearer_unsecured_lifetime_ms": 4_000,
}


class StartAgain(Exception):  # noqa: N818 - no error
    """This client can go on only as a new one."""


class Program:
    """What the roles share: the history, the calls, whether it is time to end."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.who: str = given["who"]
        self.rng = random.Random(f"{given['seed']} {self.who}")
        self.over = False
        self._history = History(Path(given["history"]), self.who)
        self.note = self._history.note
        self._calls = count()
        self._is_async = given["form"] == "asyncio"
        self._clients = kwire.aio if self._is_async else kwire
        signal.signal(signal.SIGTERM, lambda number, frame: setattr(self, "over", True))
        facts = ("role", "group", "topic", "target", "transactional", "form", "group_protocol", "commits", "habit")
        self.note("started", **{key: given[key] for key in facts if key in given})

    async def call(self, name: str, within: float | None, function: Callable[..., Any], *args: Any, **more: Any) -> Any:
        """Calls, awaits if need be, and writes down when it began and ended."""
        number = next(self._calls)
        waited = waited_for_processor()
        self.note("begun", call=number, name=name, within=within)
        try:
            result = function(*args, **more)
            # A Delivery of the client for threads can be awaited, too, and is not to be.
            if self._is_async and inspect.isawaitable(result):
                result = await result
        except Exception as error:
            self.note("ended", call=number, waited=waited_for_processor() - waited, error=told(error))
            raise
        self.note("ended", call=number, waited=waited_for_processor() - waited)
        return result

    @property
    def way(self) -> dict[str, Any]:
        """How its clients come to the cluster."""
        found = {"bootstrap_servers": self.given["servers"], "client_id": self.given["name"]}
        if self.given["logs_in"] == "tokens":
            return found | _BY_TOKENS
        return found | self._by_passwords() if self.given["logs_in"] else found

    def _by_passwords(self) -> dict[str, Any]:
        file = Path(self.given["password_file"])
        return {
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": MECHANISM,
            "sasl_credentials": lambda: (USER, file.read_text()),
        }

    def producer(self, **settings: Any) -> Any:
        return self._clients.Producer(
            **self.way,
            request_timeout_ms=5_000,
            delivery_timeout_ms=round(DELIVERED_WITHIN_S * 1000),
            max_block_ms=round(BLOCKS_FOR_S * 1000),
            buffer_memory=1 << 20,
            **settings,
        )

    def consumer(self, **settings: Any) -> Any:
        consumer = self._clients.Consumer(
            **self.way,
            group_id=self.given["group"],
            request_timeout_ms=5_000,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            **({"group_protocol": "consumer"} if "group_protocol" in self.given else self._classic()),
            **settings,
        )
        consumer.subscribe([self.given["topic"]])
        return consumer

    def _classic(self) -> dict[str, Any]:
        strategy = self.given["partition_assignment_strategy"]
        return {"partition_assignment_strategy": strategy, "session_timeout_ms": 6_000, "heartbeat_interval_ms": 1_000}

    def sharer(self) -> Any:
        consumer = self._clients.ShareConsumer(
            **self.way,
            group_id=self.given["group"],
            request_timeout_ms=5_000,
            share_acknowledgement_mode="explicit",
            share_acquire_mode=self.given["acquires"],
        )
        consumer.subscribe([self.given["topic"]])
        return consumer

    async def send(self, producer: Any, topic: str, partition: int, value: str) -> None:
        """Sends one record; its fate is written down when it is known."""
        about = {"topic": topic, "partition": partition, "value": value}

        def known(delivery: Any) -> None:
            error = delivery.exception()
            if error is None:
                self.note("delivered", offset=delivery.result().offset, **about)
            else:
                self.note("failed", error=told(error), **about)

        self.note("sent", within=DELIVERED_WITHIN_S, **about)
        if self.given["form"] == "asyncio":
            try:
                delivery = producer.send(topic, value.encode(), partition=partition)
            except kwire.errors.BufferFull:
                await asyncio.wait_for(producer.drain(), DELIVERED_WITHIN_S)
                delivery = producer.send(topic, value.encode(), partition=partition)
        else:
            try:
                delivery = await self.call(
                    "send", BLOCKS_FOR_S, producer.send, topic, value.encode(), partition=partition
                )
            except KafkaError as error:
                self.note("failed", error=told(error), **about)
                return
        delivery.add_done_callback(known)

    def handed_out(self, records: Any) -> None:
        """Writes down what a poll returned."""
        for tp, part in records.by_partition().items():
            pairs = [[record.offset, text(record.value)] for record in part]
            self.note("handed_out", group=self.given["group"], topic=tp.topic, partition=tp.partition, records=pairs)

    def committing(self, records: Iterable[Any]) -> str:
        """Writes down what is about to be committed; the name of that commit."""
        name = f"{self.who} {next(self._calls)}"
        positions = {record.partition: record.offset + 1 for record in records}
        self.note("committing", commit=name, group=self.given["group"], topic=self.given["topic"], positions=positions)
        return name

    @property
    def group(self) -> dict[str, str]:
        """What an event of its group names."""
        return {"group": self.given["group"], "topic": self.given["topic"]}

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def waited_for_processor() -> float:
    """The seconds in which this thread could have run and the machine let it wait (Linux; else 0)."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    except OSError:
        return 0.0


def told(error: BaseException) -> dict[str, Any]:
    """An error as the history has it."""
    return {"type": type(error).__name__, "own": isinstance(error, KafkaError), "text": str(error)[:500]}


def text(value: bytes | None) -> str:
    return (value or b"").decode(errors="backslashreplace")


async def writer(program: Program) -> None:
    """Numbered records to each partition, a few at a time."""
    producer = program.producer(
        linger_ms=program.rng.choice((0, 5, 50)), compression=program.rng.choice(("none", "lz4"))
    )
    numbers = count()
    while not program.over:
        for _ in range(program.rng.randint(1, 20)):
            number = next(numbers)
            await program.send(producer, program.given["topic"], number % PARTITIONS, f"{program.who} {number}")
        await habits.follow(program, producer)
        await program.pause(program.rng.uniform(0.02, 0.2))
    await ending(program, producer.flush, "flush", DELIVERED_WITHIN_S)
    await ending(program, producer.close, "close", DELIVERED_WITHIN_S)


async def member(program: Program) -> None:
    """Reads as one of a group, and commits: after each poll, after some, or automatically."""
    commits = program.given["commits"]
    consumer = program.consumer(enable_auto_commit=commits == "auto", auto_commit_interval_ms=1_000)
    while not program.over:
        records = await polled(program, consumer)
        if records and (commits == "each" or (commits == "some" and program.rng.random() < 0.3)):
            name = program.committing(records)
            try:
                await program.call("commit", CALL_S, consumer.commit, records, timeout=CALL_S)
                program.note("committed", commit=name)
            except KafkaError:
                pass  # the records are handed out again, to whoever has the partition
        await habits.follow(program, consumer)
    await ending(program, consumer.close, "close", CLOSE_S)


async def polled(program: Program, consumer: Any) -> Any:
    """What one poll returns, written down; nothing where it raises an error of the package."""
    try:
        records = await program.call("poll", 0.5, consumer.poll, 0.5, max_records=program.rng.choice((5, 50, 500)))
    except KafkaError:
        await program.pause(0.1)
        return ()
    program.handed_out(records)
    return records


async def ending(program: Program, function: Callable[..., Any], name: str, timeout: float) -> None:
    """A call at the end, whose errors are in the history and change nothing."""
    try:
        await program.call(name, timeout, function, timeout=timeout)
    except KafkaError:
        pass
    except BaseExceptionGroup as group:
        if not isinstance(group, KafkaError):
            raise


async def transactor(program: Program) -> None:
    """Transactions over all partitions; one in five is aborted."""
    producer = program.producer(transactional_id=program.given["transactional"], transaction_timeout_ms=10_000)
    try:
        await initialised(program, producer)
        for number in count():
            if program.over:
                break
            name = f"{program.who} {number}"
            values = [f"{name}/{place}" for place in range(program.rng.randint(1, 12))]
            program.note("transaction", transaction=name, topic=program.given["topic"], values=values)

            async def work(values: list[str] = values) -> None:
                for place, value in enumerate(values):
                    await program.send(producer, program.given["topic"], place % PARTITIONS, value)

            await transaction(program, producer, name, work, gives_up=program.rng.random() < 0.2)
            await program.pause(program.rng.uniform(0.0, 0.3))
    finally:
        await ending(program, producer.close, "close", CLOSE_S)


async def copier(program: Program) -> None:
    """Copies in transactions with the offsets of its group."""
    producer = program.producer(transactional_id=program.given["transactional"], transaction_timeout_ms=10_000)
    consumer = program.consumer(enable_auto_commit=False)
    try:
        await initialised(program, producer)
        for number in count():
            if program.over:
                break
            if records := await polled(program, consumer):
                await copy(program, consumer, producer, records, f"{program.who} {number}")
    finally:
        await ending(program, consumer.close, "close", CLOSE_S)
        await ending(program, producer.close, "close", CLOSE_S)


async def copy(program: Program, consumer: Any, producer: Any, records: Any, name: str) -> None:
    """One transaction of what one poll returned; read again where that is aborted."""
    commit = program.committing(records)

    async def work() -> None:
        for record in records:
            producer.send(program.given["target"], record.value, partition=record.partition)
        await program.call(
            "send_offsets_to_transaction",
            CALL_S,
            producer.send_offsets_to_transaction,
            records,
            consumer.group_metadata(),
            timeout=CALL_S,
        )

    if await transaction(program, producer, name, work, gives_up=False):
        program.note("committed", commit=commit)
        return
    while not program.over:
        try:
            mine = [tp for tp in records.by_partition() if tp in consumer.assignment()]
            committed = await program.call("committed", CALL_S, consumer.committed, mine, timeout=CALL_S)
            for tp, where in committed.items():
                if tp in consumer.assignment():
                    consumer.seek(tp, "earliest" if where is None else where.offset)
            return
        except KafkaError:
            await program.pause(0.2)


async def transaction(program: Program, producer: Any, name: str, work: Callable[[], Any], *, gives_up: bool) -> bool:
    """Whether it was committed; StartAgain where this producer cannot go on or does not know."""
    try:
        await program.call("begin_transaction", CALL_S, producer.begin_transaction)
        await work()
        if not gives_up:
            await insisting(program, "commit_transaction", producer.commit_transaction)
            program.note("resolved", transaction=name, outcome="committed")
            return True
    except ProducerFencedError as error:
        raise StartAgain from error
    except TransactionError as error:
        if not error.abortable:
            raise StartAgain from error
    except KafkaError:
        pass
    try:
        await insisting(program, "abort_transaction", producer.abort_transaction)
    except KafkaError as error:
        raise StartAgain from error
    program.note("resolved", transaction=name, outcome="aborted")
    return False


async def insisting(program: Program, name: str, function: Callable[..., Any]) -> None:
    """An end of a transaction whose answer does not come in time is asked for again."""
    for _ in range(6):
        try:
            await program.call(name, CALL_S, function, timeout=CALL_S)
            return
        except KafkaTimeoutError:
            continue
    raise StartAgain


async def initialised(program: Program, producer: Any) -> None:
    """With a transactional id of its own, once a coordinator says so."""
    while not program.over:
        try:
            await program.call("init_transactions", CALL_S, producer.init_transactions, timeout=CALL_S)
            return
        except ProducerFencedError as error:
            raise StartAgain from error
        except KafkaTimeoutError:
            continue
        except KafkaError as error:
            raise StartAgain from error


async def sharer(program: Program) -> None:
    """One of a share group: accepts most, releases some of what comes for the first time, and renews a few locks.

    What is acknowledged is told by a commit after each poll, after some, or by the polls that follow.
    """
    consumer, commits = program.sharer(), program.given["commits"]
    said = Said(program)
    consumer.set_acknowledgement_commit_callback(said.on_acknowledged)
    while not program.over:
        if records := await polled(program, consumer):
            said.acknowledge(consumer, records)
            await program.pause(program.rng.choice((0.0, 0.0, 0.0, 0.3)))
        if commits == "each" or (commits == "some" and program.rng.random() < 0.3):
            with suppress(KafkaError):
                await program.call("commit", CALL_S, consumer.commit, timeout=CALL_S)
        await habits.follow(program, consumer)
    await ending(program, consumer.close, "close", CLOSE_S)


class Said:
    """What a sharer has said of records and its brokers have not answered yet: of a record one kind after another."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._open: dict[tuple[int, int], list[str]] = {}

    def acknowledge(self, consumer: Any, records: Any) -> None:
        """Decides about each record, and writes down which ones are accepted before anything is sent."""
        accepted: dict[int, list[int]] = {}
        for record in records:
            again = records.delivery_count(record) == 1 and self._program.rng.random() < 0.1
            kind = self._program.rng.choice(("release", "renew")) if again else "accept"
            consumer.acknowledge(record, kind)
            self._open.setdefault((record.partition, record.offset), []).append(kind)
            if kind == "accept":
                accepted.setdefault(record.partition, []).append(record.offset)
        for partition, offsets in accepted.items():
            self._program.note("accepting", partition=partition, offsets=offsets, **self._program.group)

    def on_acknowledged(self, told: dict[Any, set[int]], error: KafkaError | None) -> None:
        """Writes down what a broker has taken for accepted. A record that is renewed may be handed out again, and be
        accepted, before the program is told of the renewal."""
        for tp, offsets in told.items():
            known = [offset for offset in sorted(offsets) if (tp.partition, offset) in self._open]
            accepted = [offset for offset in known if self._open[tp.partition, offset].pop(0) == "accept"]
            for offset in known:
                if not self._open[tp.partition, offset]:
                    del self._open[tp.partition, offset]
            if accepted and error is None:
                self._program.note("accepted", partition=tp.partition, offsets=accepted, **self._program.group)


ROLES = {"writer": writer, "member": member, "transactor": transactor, "copier": copier, "sharer": sharer}


def main(given: dict[str, Any]) -> int:
    """Runs the role that is named."""
    logging.basicConfig(level=os.environ.get("CHAOS_LOG", "WARNING"), format="%(created).3f %(name)s %(message)s")
    program = Program(given)
    try:
        asyncio.run(ROLES[given["role"]](program))
    except StartAgain:
        return AGAIN
    return 0


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
