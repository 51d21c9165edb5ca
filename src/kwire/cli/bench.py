"""`kwire bench`: how much a cluster takes and gives, and how long that takes."""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from kwire.cli.connecting import add_compression_option, add_connection_options, opened, producing, waiting
from kwire.cli.output import FAILED
from kwire.cli.rendering import table
from kwire.cli.terminal import Progress, draws, print_error, progress
from kwire.cli.trouble import trouble_on_stderr
from kwire.cli.usage import Commands, UsageError, per_second, positive, seconds
from kwire.engine.common.numbers import whole_number
from kwire.errors import KafkaError
from kwire.errors.listing import counted

if TYPE_CHECKING:
    from kwire.admin import Admin
    from kwire.cli.benching.work import Done
    from kwire.producer import Producer

_EPILOG = """\
examples:
  kwire bench produce                              ten seconds of records of 100 bytes, by one client
  kwire bench produce --clients 4 --size 1000 --compression lz4 --acks 1
  kwire bench consume --clients 2 --duration 30    of a topic that it fills first
  kwire bench consume --topic orders               of records that are there
  kwire bench latency --rate 100                   one record at a time, until it is read again
  kwire bench produce --json | jq .records_per_s

The topic is made for the run and deleted after it, unless --topic names one; to that 'produce' and 'latency' write.
Clients are processes of their own, or threads of this one with --threads. Ctrl-C ends it with what was measured so far.
Times are those of one record in 16, of all where there are few; percentiles are right to 3 %. A consumer's are
those of its polls. Values compress to about half.
"""
_FILL_BYTES = 128 << 20
_READY_WITHIN_S = 30.0
_CLEAN_UP_S = 5.0


def add_parser(commands: Commands) -> None:
    """Adds the command and its options."""
    parser = commands.add_parser(
        "bench",
        help="measure how fast a cluster and its clients are",
        description="Measures throughput and latency of a cluster, for ten seconds unless --duration says otherwise.",
        epilog=_EPILOG,
    )
    parser.add_argument("mode", choices=("produce", "consume", "latency"))
    parser.add_argument("--topic", metavar="TOPIC", help="an existing topic (default: one for this run alone)")
    parser.add_argument(
        "--partitions", type=positive, default=6, metavar="N", help="of the run's own topic (default 6)"
    )
    parser.add_argument("--replication", type=positive, metavar="N", help="of that (default: the cluster's)")
    parser.add_argument("--size", type=positive, default=100, metavar="BYTES", help="of each value (default 100)")
    parser.add_argument("--duration", type=seconds, default=10.0, metavar="SECONDS", help="(default 10)")
    parser.add_argument(
        "--warm-up", type=_seconds_from_0, default=1.0, metavar="SECONDS", help="not counted (default 1)"
    )
    parser.add_argument(
        "--records", type=positive, metavar="N", help="end after so many records, all of which are counted"
    )
    parser.add_argument("--rate", type=per_second, metavar="N", help="so many records per second (default: all it can)")
    parser.add_argument("--clients", type=positive, default=1, metavar="N", help="(default 1)")
    parser.add_argument("--threads", action="store_true", help="clients are threads, not processes")
    parser.add_argument("--acks", choices=("0", "1", "all"), help="(default: all)")
    parser.add_argument("--batch", type=positive, metavar="BYTES", help="the greatest batch (default: 1 MiB)")
    add_compression_option(parser)
    parser.add_argument("--json", action="store_true", help="the result as one JSON object")
    add_connection_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """130 where Ctrl-C ended it, after the result so far."""
    from kwire.admin import Admin

    with trouble_on_stderr("bench"), opened(Admin, options, **waiting(options), shared=True) as admin:
        with _topic(options, admin) as topic:
            return _measure(options, topic)


@contextmanager
def _topic(options: argparse.Namespace, admin: Admin) -> Iterator[str]:
    """The topic of the run; one of its own is there only meanwhile."""
    if options.topic is not None:
        admin.describe_topics([options.topic])
        yield options.topic
        return
    topic = f"kwire-bench-{secrets.token_hex(4)}"
    admin.create_topics(
        {topic: {"num_partitions": options.partitions, "replication_factor": options.replication or -1}}
    )
    try:
        yield topic
    finally:
        try:
            admin.delete_topics([topic], timeout=_CLEAN_UP_S)
        except KafkaError as error:
            print_error(f"kwire bench: topic {topic} is left over: {error}")


def _measure(options: argparse.Namespace, topic: str) -> int:
    from kwire.cli.benching.team import Team
    from kwire.cli.benching.work import Done

    with ExitStack() as stack:
        clients = _clients(options, stack)
        if options.mode == "consume" and options.topic is None:
            _fill(options, topic, stack)
        team = Team(_jobs(options, topic, clients), threads=options.threads)
        total, complete = Done(), False
        began = time.monotonic()
        try:
            team.wait_until_ready(_READY_WITHIN_S)
            began = time.monotonic() + _warm_up(options)
            with progress(f"{options.mode} {topic}") as bar:
                view = _View(options, bar, began)
                for done in team.results():
                    total.add(done)
                    view.show(done, total)
            complete = True
        except KeyboardInterrupt:
            for done in team.last_words():
                total.add(done)
        finally:
            took = max(time.monotonic() - began, 0.001)
            with suppress(KeyboardInterrupt):
                team.end(at_once=not complete)
    _print(options, topic, total, took, complete=complete)
    if not total.records:
        print_error("kwire bench: nothing was measured")
    return 130 if not complete else 0 if total.records else FAILED


def _clients(options: argparse.Namespace, stack: ExitStack) -> list[Any]:
    """Clients that each worker opens anew: they check the settings here, and do nothing."""
    from kwire.consumer import Consumer
    from kwire.producer import Producer

    found: list[Any] = []
    shared = options.mode == "latency"
    if options.mode != "consume":
        settings: dict[str, Any] = producing(options)
        if options.acks is not None:
            settings["acks"] = options.acks if options.acks == "all" else int(options.acks)
        if options.batch is not None:
            settings["batch_size"] = options.batch
        producer = stack.enter_context(opened(Producer, options, shared=shared, **settings))
        _check_size(options, producer)
        found.append(producer)
    if options.mode != "produce":
        more = {"group_id": None, "group_instance_id": None, "allow_auto_create_topics": False, **waiting(options)}
        found.append(stack.enter_context(opened(Consumer, options, shared=shared, **more)))
    return found


def _jobs(options: argparse.Namespace, topic: str, clients: list[Any]) -> list[Any]:
    from kwire.cli.benching.work import Job

    count = options.clients
    return [
        Job(
            kind=options.mode,
            topic=topic,
            clients=clients,
            size=options.size,
            seconds=options.duration,
            warm_up=_warm_up(options),
            rate=None if options.rate is None else options.rate / count,
            records=None if options.records is None else -(-options.records // count),
            share=share,
            of=count,
        )
        for share in range(count)
    ]


def _seconds_from_0(text: str) -> float:
    return 0.0 if whole_number(text) == 0 else seconds(text)


def _warm_up(options: argparse.Namespace) -> float:
    """Of a number of records all are counted."""
    return 0.0 if options.records is not None else options.warm_up


def _fill(options: argparse.Namespace, topic: str, stack: ExitStack) -> None:
    """Records to read: as many as are asked for, or 128 MiB; those read faster are read again."""
    from kwire.cli.benching.work import payloads
    from kwire.producer import Producer

    producer = stack.enter_context(opened(Producer, options, shared=True, **producing(options)))
    _check_size(options, producer)
    values = payloads(options.size)
    count = options.records or max(_FILL_BYTES // (options.size + 20), 1)
    deadline = time.monotonic() + options.duration
    with progress(f"fill {topic}", count) as bar:
        for number in range(count):
            producer.send(topic, values[number % len(values)])
            if number % 1000 == 999:
                bar.advance(1000)
                if time.monotonic() > deadline and options.records is None:
                    break
        producer.flush()


def _check_size(options: argparse.Namespace, producer: Producer) -> None:
    """Raises UsageError for values that no record can hold, before any is made."""
    most = producer.settings.max_request_size
    if options.size > most:
        raise UsageError(f"--size {options.size}: a record may have max.request.size={most} bytes")


class _View:
    """How it goes: a line on a terminal, else one for each second on standard error."""

    def __init__(self, options: argparse.Namespace, bar: Progress, began: float) -> None:
        self._bar = bar
        self._is_plain = not draws(sys.stderr)
        self._mode = options.mode
        self._began = began
        self._next = began + 1.0
        self._since = began
        self._records = self._bytes = 0

    def show(self, done: Done, total: Done) -> None:
        """Takes in what came, of `total`."""
        self._bar.advance(done.records)
        now = time.monotonic()
        if now < self._next:
            return
        took = now - self._since
        records, size = (total.records - self._records) / took, (total.bytes - self._bytes) / took / 1e6
        times = "".join(
            f"  {name.replace('_', ' ')} p50 {found['p50']} p99 {found['p99']} ms"
            for name, found in ((name, each.milliseconds()) for name, each in total.times.items())
        )
        text = f"{size:.1f} MB/s{times}"
        if self._is_plain:
            print(f"{now - self._began:6.1f} s  {records:10.0f} records/s  {text}", file=sys.stderr, flush=True)
        else:
            self._bar.describe(f"{self._mode}: {text}")
        self._next, self._since, self._records, self._bytes = now + 1.0, now, total.records, total.bytes


def _print(options: argparse.Namespace, topic: str, total: Done, took: float, *, complete: bool) -> None:
    result = {
        "mode": options.mode,
        "topic": topic,
        "clients": options.clients,
        "threads": options.threads,
        "size": options.size,
        "seconds": round(took, 3),
        "records": total.records,
        "bytes": total.bytes,
        "records_per_s": round(total.records / took, 1),
        "mb_per_s": round(total.bytes / took / 1e6, 3),
        "cpu_s": round(total.cpu_s / (options.clients if options.threads else 1), 3),
        "times_ms": {name: each.milliseconds() for name, each in total.times.items()},
        "complete": complete,
    }
    if options.json:
        print(json.dumps(result), flush=True)
        return
    cpu = f", {result['cpu_s']} s of CPU"
    print(
        f"{counted(total.records, 'record')}, {total.bytes} bytes in {took:.2f} s{cpu}"
        f"{'' if complete else ' (interrupted)'}"
    )
    print(f"{result['records_per_s']:.0f} records/s, {result['mb_per_s']:.2f} MB/s")
    rows = [[name.replace("_", " "), *found.values()] for name, found in result["times_ms"].items()]
    if rows:
        print(table(["ms", "p50", "p95", "p99", "p99.9", "max", "mean"], rows), flush=True)
